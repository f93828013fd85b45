# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes that batches are made of: some that lanes have, some that they do not."""

from __future__ import annotations

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

HOPPER = """<mujoco><option timestep="0.002" {option}/><compiler angle="degree"/>
<default><joint damping=".2" armature=".01"/><geom contype="0" conaffinity="1" friction=".2"/></default>
<worldbody>
  <geom name="floor" type="plane" size="9 9 .1" contype="1" friction="1"/>
  <body name="trunk" pos="0 0 .9"><freejoint name="root"/>
    <geom type="box" size=".15 .1 .08" mass="4"/>
    <body name="thigh" pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 80" frictionloss=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1.2"/>
      <body name="shin" pos="0 0 -.35"><joint name="knee" axis="0 1 0" range="-120 5" stiffness="2"/>
        <geom name="foot" type="capsule" fromto="0 0 0 0 0 -.35" size=".03" mass=".6"/></body></body>
    <body name="tail" pos="-.15 0 0"><joint name="tail" type="ball"/>
      <geom type="sphere" pos="-.2 0 0" size=".05" mass=".3"/></body></body>
  {more}
</worldbody>
<actuator><position name="servo" joint="hip" kp="60" kv="2" ctrlrange="-1 1"/>
  <general name="lag" joint="knee" dyntype="filter" dynprm=".05" gainprm="8" ctrlrange="-1 1"/></actuator>
<sensor><jointpos name="angle" joint="hip"/><clock name="clock"/></sensor>
<keyframe><key name="crouch" time=".5" qpos="0 0 .7 1 0 0 0 .4 -.8 1 0 0 0" ctrl=".4 -.2" act=".1"/></keyframe>
{tie}</mujoco>"""
"""A robot with a free root, hinges, a ball joint, dry friction, a spring, limits and two actuators."""

BOXES = """<body name="crate" pos=".6 0 .5"><freejoint/><geom type="box" size=".1 .1 .1" contype="1"/></body>
  <body name="lid" pos=".6 0 .8"><freejoint/><geom type="box" size=".1 .1 .05" contype="1"/></body>"""
"""Boxes that meet boxes."""
TIE = '<equality><weld body1="crate" body2="lid" active="false"/></equality>'
"""A weld, which lanes do not have even where it is off."""


def robot(option: str = "", more: str = "", tie: str | None = None) -> msd.World:
    """The hopping robot as a scene; with boxes it has an equality, unless `tie` says otherwise."""
    tie = (TIE if more == BOXES else "") if tie is None else tie
    return msd.from_str(HOPPER.format(option=option, more=more, tie=tie), format="mjcf")


def lane_batch(count: int = 5, option: str = "", **options) -> sx.WorldBatch:
    return sx.WorldBatch(robot(option), count, **options)


def thread_batch(count: int = 5, option: str = "", **options) -> sx.WorldBatch:
    return sx.WorldBatch(robot(option, BOXES), count, **options)


def hard_world() -> sx.World:
    """A ball over a floor, with the hard contacts of Worlds that are built by code."""
    world = sx.World(time_step=0.002)
    world.add_ground_plane(restitution=0.5)
    ball = world.add_rigid_body("ball", mass=2.0, position=(0, 0, 0.5))
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    return world


def scatter(batch: sx.WorldBatch, seed: int = 0) -> None:
    """Give every world velocities and controls of its own."""
    import numpy as np

    rng = np.random.default_rng(seed)
    batch.joint_velocities[:] += 0.5 * rng.normal(size=batch.joint_velocities.shape)
    batch.controls[:] = rng.uniform(-1, 1, batch.controls.shape)
