# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small scenes full of contact that worlds in lanes can step, as texts and as models."""

from __future__ import annotations

import numpy as np

from worldline import msd

PILE = """<mujoco><option timestep="0.002" {option}/>
<default><geom {geom}/></default>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1" euler="2 -3 0" contype="3" conaffinity="3"/>
  <body pos="0 0 .15"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
  <body pos=".02 .05 .4"><freejoint/><geom type="sphere" size=".08" mass=".4"/></body>
  <body pos="-.03 .1 .6"><freejoint/><geom type="capsule" size=".06 .12" mass=".7"/></body>
  <body pos=".05 -.05 .8" euler="80 10 0"><freejoint/><geom type="capsule" size=".05 .15" mass=".7"/></body>
  <body pos="1 0 .3" euler="20 30 0"><freejoint/>
    <geom type="box" size=".1 .08 .06" mass="2" contype="2" conaffinity="2"/></body>
</worldbody></mujoco>"""
"""Spheres and capsules that fall on each other, and a box beside them, on a floor that is not level."""

MONOPOD = """<mujoco><option timestep="0.002" {option}/>
<compiler angle="degree"/>
<default>
  <joint damping=".2" armature=".01"/>
  <geom {geom} friction=".9 .01 .001" contype="0" conaffinity="1"/>
</default>
<worldbody>
  <geom name="floor" type="plane" size="9 9 .1" contype="1"/>
  <body name="trunk" pos="0 0 .95"><freejoint/>
    <geom type="box" size=".15 .1 .08" mass="4"/>
    <body name="thigh" pos="0 0 -.1"><joint name="hip" axis="0 1 0" range="-60 80" frictionloss=".5"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1.2"/>
      <body name="shin" pos="0 0 -.35"><joint name="knee" axis="0 1 0" range="-120 5"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".03" mass=".6"/>
        <body name="foot" pos="0 0 -.35"><joint name="ankle" axis="0 1 0" range="-40 40" stiffness="4"/>
          <geom type="capsule" fromto="-.08 0 -.03 .14 0 -.03" size=".03" mass=".3"/>
        </body></body></body>
    <body name="tail" pos="-.15 0 0"><joint name="tail" type="ball" range="0 40"/>
      <geom type="sphere" pos="-.2 0 0" size=".05" mass=".3"/></body>
  </body>
</worldbody>
<actuator>
  <position joint="hip" kp="60" kv="2" ctrlrange="-1 1" forcerange="-40 40"/>
  <motor joint="knee" gear="30" ctrllimited="true" ctrlrange="-1 1"/>
  <general joint="ankle" dyntype="filter" dynprm=".05" gainprm="8" biastype="affine" biasprm="0 -8 -.5"/>
</actuator></mujoco>"""
"""A robot on one leg: limits, one of them of a ball joint, dry friction, springs and three kinds of drives."""

IMPEDANCE = 'solref=".02 1" solimp=".9 .95 .001"'
TEXTS = {
    "pile, pyramid": PILE.format(option='cone="pyramidal"', geom=IMPEDANCE),
    "pile, cone": PILE.format(option='cone="elliptic" impratio="3"', geom=IMPEDANCE),
    "monopod, pyramid": MONOPOD.format(option='cone="pyramidal"', geom=IMPEDANCE),
    "monopod, cone": MONOPOD.format(option='cone="elliptic"', geom=IMPEDANCE),
}
HARD = {"hard pile, cone": 1, "hard pile, pyramid": 2}
"""Numbers of the friction models of scenes whose contacts do not give."""


def scene_model(name, restitution=0.0):
    """One of the scenes above as a Model."""
    if name not in HARD:
        return msd.build(msd.from_str(TEXTS[name], format="mjcf"))
    scene = msd.from_str(TEXTS["pile, cone"], format="mjcf")
    scene.simulate_option.friction_model = HARD[name]
    law = msd.ConstraintForceModel.hard(erp=0.2, bounciness=restitution)
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        geom.physics_material.contact_model = law
    return msd.build(scene)


def scatter(worlds, seed):
    """Give every world velocities and controls of its own."""
    rng = np.random.default_rng(seed)
    worlds.v[:] = 0.4 * rng.normal(size=worlds.v.shape)
    worlds.control[:] = rng.uniform(-1.0, 1.0, worlds.control.shape)
