# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A gripper holds a box for a minute, and a rod meets Painleve's paradox."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import METHODS, set_materials

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

GRIPPER = """<mujoco>
  <option timestep="0.002" cone="elliptic"/>
  <default><geom friction="1 0.01 0.001"/></default>
  <worldbody>
    <body name="left" pos="0.05 0 1"><joint name="left" type="slide" axis="-1 0 0" damping="5"/>
      <geom type="box" size="0.01 0.03 0.06" mass="0.2"/></body>
    <body name="right" pos="-0.05 0 1"><joint name="right" type="slide" axis="1 0 0" damping="5"/>
      <geom type="box" size="0.01 0.03 0.06" mass="0.2"/></body>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size="0.04 0.03 0.03" mass="0.3"/></body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>"""
HARD = msd.ConstraintForceModel.hard(bounciness=0.0, erp=0.2)


def held(law, force, ratio=1.0, seconds=60.0, method=sx.ContactSolverMethod.NEWTON):
    """How far a box of 0.3 kg creeps between fingers that press with a force, after a second to settle."""
    scene = msd.from_str(GRIPPER, format="mjcf")
    set_materials(scene, law)
    scene.simulate_option.impedance_ratio = ratio
    world = sx.World.from_scene(scene)
    world.contact_solver_method = method
    world.actuator_controls = [force, force]
    world.step(n=500)
    body = world.rigid_bodies["box"]
    there = body.translation.copy()
    world.step(n=round(seconds / 0.002))
    return float(np.linalg.norm(body.translation - there)), body


@pytest.mark.parametrize("method", METHODS)
def test_a_gripper_holds_a_box_for_a_minute(method):
    creep, body = held(HARD, 10.0, method=method)
    assert creep < 1e-3
    assert np.abs(body.angular_velocity).max() < 1e-6


def test_a_gripper_lets_go_of_what_is_too_heavy():
    # friction of 1 on both sides: 2 F must bear 2.943 N
    assert held(HARD, 1.6, seconds=1.0)[0] < 1e-3
    _, body = held(HARD, 1.3, seconds=0.2)
    assert body.translation[2] < 0.999


def test_soft_contact_creeps_less_with_more_impedance_of_friction():
    """Soft friction is a damper: it creeps by its nature, and the ratio of impedances says how fast."""
    slow, fast = (held(None, 10.0, ratio, seconds=2.0)[0] for ratio in (100.0, 1.0))
    assert slow < 0.1 * fast


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("friction", [1.3, 1.4, 2.5])
def test_a_rod_that_slides_into_painleves_paradox(friction, method):
    """Above 4/3 no finite force solves the rod's sliding: no number is lost and no energy made."""
    angle, length = np.radians(63.4349488), 1.0
    world = sx.World(contact_solver_method=method)
    world.add_ground_plane(friction=friction)
    radius = 0.01
    # slender along x, its lower end ahead on the ground: friction turns that end into it
    body = world.add_rigid_body(
        "rod",
        mass=1.0,
        inertia=np.diag([1e-4, length**2 / 12, length**2 / 12]),
        position=(0, 0, 0.5 * length * np.sin(angle) + radius),
        orientation=(0, np.sin(angle / 2), 0, np.cos(angle / 2)),
        linear_velocity=(5.0, 0, 0),
    )
    turned = (0, 0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5))
    body.add_collision_shape(
        CollisionShape.capsule(radius, 0.5 * length, local_transform=turned), friction=friction
    )
    before = highest = world.kinetic_energy + world.potential_energy
    for _ in range(300):
        world.step(n=5)
        highest = max(highest, world.kinetic_energy + world.potential_energy)
    assert np.isfinite(world.state_vector).all()
    assert world.step_report().failure is None
    assert highest <= before + 1e-2
