# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Fluids, tendons, equalities of coordinates and lengths, and mimic joints in lanes: as in a World."""

from __future__ import annotations

import re

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import CapabilityError
from worldline._src.jit import DISABLED

WORLDS = 11
HEAD = '<mujoco><option timestep="0.004" tolerance="1e-14" {}/>'
HAND = """<worldbody><geom type="plane" size="3 3 .1"/>
  <body name="palm" pos="0 0 .5"><joint name="lift" type="slide" axis="0 0 1" damping="2"/>
    <geom type="box" size=".1 .1 .03" mass="1"/><site name="knuckle" pos="0 .05 -.03"/>
    <body name="left" pos="-.08 0 -.05"><joint name="left" axis="0 1 0" range="-60 60" damping=".02"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".2"/><site name="tip" pos="0 0 -.2"/></body>
    <body name="right" pos=".08 0 -.05"><joint name="right" axis="0 1 0" range="-60 60" damping=".02"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".2"/></body></body>
  <body name="ball" pos="0 .05 .1"><freejoint/><geom type="sphere" size=".05" mass=".3"/>
    <site name="ball"/></body></worldbody>"""
TENDONS = """<tendon>
    <fixed name="grasp" range="-.3 .4" limited="true" frictionloss=".03" stiffness="2" damping=".05">
      <joint joint="left" coef=".5"/><joint joint="right" coef="-.5"/></fixed>
    <fixed name="sum" armature=".02"><joint joint="left" coef="1"/><joint joint="right" coef="1"/></fixed>
    <spatial name="string" range="0 .25" limited="true"><site site="knuckle"/><site site="ball"/></spatial>
    <spatial name="elastic" stiffness="30" springlength="0 .1"><site site="tip"/><site site="ball"/></spatial>
  </tendon>"""
SCENES = {
    "fluid": HEAD.format('density="1000" viscosity=".05" wind=".3 0 .1"') + HAND + "</mujoco>",
    "tendons": HEAD.format("")
    + HAND
    + TENDONS
    + """<actuator><motor tendon="grasp" gear="2" ctrlrange="-1 1"/></actuator></mujoco>""",
    "followers": HEAD.format("")
    + HAND
    + TENDONS
    + """<equality><joint joint1="left" joint2="right" polycoef="0 -.8 .3 0 0"/>
      <tendon tendon1="sum" tendon2="grasp" polycoef=".05 .4 0 0 0" solref=".01 1"/></equality></mujoco>""",
}
_INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx=".02" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial>'
)
MIMIC = (
    '<robot name="fingers"><link name="base"/>'
    + f'<link name="palm">{_INERTIAL}</link>'
    + '<joint name="lift" type="prismatic"><parent link="base"/><child link="palm"/><axis xyz="0 0 1"/>'
    + '<limit lower="-9" upper="9" effort="50" velocity="900"/></joint>'
    + "".join(f'<link name="finger{k}">{_INERTIAL}</link>' for k in range(3))
    + "".join(
        f'<joint name="j{k}" type="revolute"><parent link="palm"/><child link="finger{k}"/><axis xyz="0 1 0"/>'
        f'<origin xyz="0 {0.2 * k} 0"/><limit lower="-2" upper="2" effort="{effort}" velocity="900"/>{mimic}</joint>'
        for k, (effort, mimic) in enumerate(
            [
                (50, ""),
                (0.6, '<mimic joint="j0" multiplier="-0.7" offset="0.1"/>'),
                (500, '<mimic joint="j0" multiplier="1.5"/>'),
            ]
        )
    )
    + "</robot>"
)


def _scene(name):
    if name == "mimic":
        scene = msd.from_str(MIMIC, format="urdf")
        scene.simulate_option.constraint_solver_tolerance = 1e-14
        return scene
    return msd.from_str(SCENES[name], format="mjcf")


NAMES = [*SCENES, "mimic"]


def _batch(name, count=WORLDS):
    batch = sx.WorldBatch(_scene(name), count, layout="lanes")
    rng = np.random.default_rng(4)
    batch.joint_velocities[:] = 1.5 * rng.normal(size=(WORLDS, batch.joint_velocities.shape[1]))[:count]
    batch.controls[:] = rng.uniform(-1, 1, (WORLDS, batch.controls.shape[1]))[:count]
    return batch


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_that_of_a_world(name):
    batch = _batch(name)
    assert sx.WorldBatch(_scene(name), 2).layout == "lanes"
    world = sx.World.from_scene(_scene(name))
    one = world._live().sim
    for _ in range(40):
        batch.step(4)
        q, v = batch.joint_positions.copy(), batch.joint_velocities.copy()
        batch.step()
        for w in range(0, WORLDS, 4):
            one.q[:], one.v[:] = q[w], v[w]
            one.written()
            if len(batch.controls[w]):
                world.actuator_controls = batch.controls[w]
            world.step()
            assert batch.joint_velocities[w] == pytest.approx(one.v, abs=1e-7)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("name", NAMES)
def test_a_world_has_the_same_bits_in_every_batch(name):
    reference = _batch(name)._worlds.sim
    reference.step(150, lanes=1)
    assert np.isfinite(reference.q).all()
    for count, lanes in ((1, 1), (5, 4), (11, 8)):
        some = _batch(name, count)._worlds.sim
        some.step(150, lanes=lanes)
        for field in ("q", "v", "kept"):
            assert np.array_equal(getattr(some, field), getattr(reference, field)[:count]), (field, lanes)


def test_they_act():
    """Each of them: the drag of water, the string that holds the ball, the finger that follows."""
    batch = _batch("fluid")
    batch.step(250)
    dry = sx.WorldBatch(msd.from_str(HEAD.format("") + HAND + "</mujoco>", format="mjcf"), WORLDS)
    dry.joint_velocities[:] = _batch("fluid").joint_velocities
    dry.step(250)
    assert (batch.kinetic_energy < 0.9 * dry.kinetic_energy.max()).all()
    assert not np.allclose(batch.joint_positions, dry.joint_positions, atol=1e-2)

    batch = _batch("tendons")
    batch.step(500)
    ball, palm = batch.rigid_bodies["ball"].translation, batch.multibodies["palm"].links["palm"].translation
    assert (np.linalg.norm(ball - (palm + np.array([0, 0.05, -0.03])), axis=1) < 0.26).all()

    batch = _batch("mimic")
    free = sx.WorldBatch(msd.from_str(re.sub("<mimic[^>]*/>", "", MIMIC), format="urdf"), WORLDS)
    free.joint_velocities[:] = batch.joint_velocities
    for which in (batch, free):
        which.step(30)
    wanted = 1.5 * batch.joint_positions[:, 1]
    apart = np.abs(batch.joint_positions[:, 3] - wanted).mean()
    assert apart < 0.5 * np.abs(free.joint_positions[:, 3] - 1.5 * free.joint_positions[:, 1]).mean()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ('<equality><connect body1="ball" body2="palm" anchor="0 0 0"/></equality>', "closures"),
        (
            '<tendon><spatial stiffness="9"><site site="tip"/><geom geom="post"/><site site="ball"/></spatial></tendon>',
            "wrap around",
        ),
    ],
)
def test_what_is_left_goes_to_threads_by_name(more, named):
    text = HEAD.format("") + HAND.replace('mass=".3"/>', 'mass=".3" name="post"/>') + more + "</mujoco>"
    scene = msd.from_str(text, format="mjcf")
    batch = sx.WorldBatch(scene, 2)
    assert batch.layout == "threads" and named in batch.resolved_configuration[0].reason
    with pytest.raises(CapabilityError, match=named):
        sx.WorldBatch(scene, 2, layout="lanes")


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("name", ["tendons", "mimic"])
def test_worlds_with_masses_of_their_own_stay_in_lanes(name):
    batch = sx.WorldBatch(_scene(name), WORLDS)
    body = next(p for p in batch.parameters if p.endswith(".mass"))
    batch.parameters[body] = np.linspace(0.5, 1.5, WORLDS)
    batch.step(60)
    moved = batch.joint_positions.copy()
    if batch.layout == "threads":
        # inverse inertias of tendons are shared
        assert "share" in batch.resolved_configuration[0].reason
        return
    alone = sx.WorldBatch(_scene(name), 5)
    alone.parameters[body] = np.linspace(0.5, 1.5, WORLDS)[:5]
    alone.step(60)
    assert np.array_equal(alone.joint_positions, moved[:5])
