# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""When islands fall asleep and what wakes them, to the step and to the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import G, ball, box

from worldline import simulation as sx
from worldline.collision import CollisionShape

H = 0.005
QUIET = 4
"""Steps of quiet before sleep."""
LEAST = 0.5
"""Force that wakes [N]."""


def options(**more):
    values = {"time_until_sleep": (QUIET - 0.5) * H, "disturbance_force_threshold": LEAST}
    return sx.DeactivationOptions(enabled=True, **(values | more))


def floating(**more):
    """Two balls apart from each other and from everything, without gravity: an island each."""
    world = sx.World(gravity=(0, 0, 0), time_step=H, deactivation_options=options(**more))
    world.add_ground_plane(-50.0)
    return world, ball(world, "a"), ball(world, "b", position=(1, 0, 0))


def steps_until_sleep(world, body, most=3 * QUIET):
    for k in range(1, most + 1):
        world.step()
        if body.is_sleeping:
            return k
    return None


def test_sleep_comes_after_the_quiet_time_and_not_a_step_sooner():
    world, a, _ = floating()
    assert steps_until_sleep(world, a) == QUIET


@pytest.mark.parametrize(
    ("quantity", "threshold"),
    [("linear_velocity", "linear_speed_threshold"), ("angular_velocity", "angular_speed_threshold")],
)
@pytest.mark.parametrize(("factor", "sleeps"), [(0.99, True), (1.01, False), (-0.99, True), (-1.01, False)])
@pytest.mark.parametrize("which", [1, 2])
def test_speeds_count_against_their_own_threshold(quantity, threshold, factor, sleeps, which):
    made = floating(**{"linear_speed_threshold": 1e-3, "angular_speed_threshold": 1e-3, threshold: 0.02})
    world, a = made[0], made[which]
    setattr(a, quantity, (0.0, 0.0, 0.02 * factor))
    assert (steps_until_sleep(world, a) is not None) == sleeps
    if sleeps:
        assert not getattr(a, quantity).any()
    else:
        np.testing.assert_allclose(getattr(a, quantity), (0.0, 0.0, 0.02 * factor), rtol=1e-12)


def test_a_disturbance_starts_the_quiet_time_anew():
    """What is quiet already may be faster by `wake_threshold_scale`, 2, than what is not."""
    world, a, _ = floating()
    world.step(n=QUIET - 1)
    live = world._live()
    v = live.sim.v[: len(live.sim.v)]
    v[2] = 2.01e-3  # as a solver would: a write through the body starts the quiet time anew by itself
    world.step()
    assert not a.is_sleeping
    v[:] = 0.0
    assert steps_until_sleep(world, a) == QUIET


@pytest.mark.parametrize(("force", "wakes"), [(0.99 * LEAST, False), (1.01 * LEAST, True)])
@pytest.mark.parametrize("axis", range(6))
def test_a_force_on_a_body_wakes_its_island_alone(axis, force, wakes):
    world, a, b = floating()
    world.step(n=QUIET)
    assert a.is_sleeping and b.is_sleeping
    push = np.zeros(6)
    push[axis] = -force
    if axis < 3:
        a.force = push[:3]
    else:
        a.torque = push[3:]
    world.step()
    assert a.is_sleeping != wakes
    assert b.is_sleeping


def test_what_wakes_at_once_has_its_quiet_time_before_it():
    """Woken in the step after it fell asleep, it sleeps again after as many quiet steps as ever."""
    world, a, _ = floating(linear_speed_threshold=0.05)
    world.step(n=QUIET)
    assert a.is_sleeping
    a.force = (2 * LEAST, 0, 0)
    world.step()
    assert not a.is_sleeping
    a.force = (0, 0, 0)
    assert 0.0 < a.linear_velocity[0] < 0.05
    assert steps_until_sleep(world, a) == QUIET - 1


@pytest.mark.parametrize("order", [("low", "high"), ("high", "low")])
def test_an_island_is_one_sleeper(order):
    """The lower box stays awake while the upper one moves, and both sleep and wake together."""
    world = sx.World(time_step=H, deactivation_options=options())
    world.add_ground_plane(friction=0.5)
    heights = {"low": 0.1, "high": 0.3}
    boxes = {name: box(world, name, position=(0, 0, heights[name])) for name in order}
    low, high = boxes["low"], boxes["high"]
    other = box(world, "other", position=(2, 0, 0.1))
    high.angular_velocity = (0, 0, 5.0)
    world.step(n=QUIET)
    assert not low.is_sleeping and not high.is_sleeping
    assert other.is_sleeping
    world.step(n=200)
    assert low.is_sleeping and high.is_sleeping
    assert low.deactivation_group_index == high.deactivation_group_index
    assert low.deactivation_group_index != other.deactivation_group_index
    high.force = (2 * LEAST, 0, 0)
    world.step()
    assert not low.is_sleeping and not high.is_sleeping
    assert other.is_sleeping


def test_what_is_awake_wakes_what_it_touches():
    world, a, b = floating()
    world.step(n=QUIET)
    a.force = (2 * LEAST, 0, 0)
    world.step()
    a.force = (0, 0, 0)
    assert not a.is_sleeping and b.is_sleeping
    a.linear_velocity = (2.0, 0, 0)
    world.step(n=QUIET - 1)
    world.step(n=round(0.8 / 2.0 / H) + 2)
    assert not b.is_sleeping
    assert b.linear_velocity[0] > 0.5


@pytest.mark.parametrize(("speed", "wakes"), [(0.0, False), (1e-3, True), (-1e-3, True)])
def test_a_prescribed_body_that_moves_wakes_what_stands_on_it(speed, wakes):
    world = sx.World(time_step=H, deactivation_options=options())
    table = world.add_rigid_body("table", mass=1.0, inertia=np.eye(3), position=(0, 0, -0.1))
    table.add_collision_shape(CollisionShape.box((1, 1, 0.1)))
    table.is_kinematic = True
    standing = box(world, position=(0, 0, 0.1))
    away = world.add_rigid_body("away", mass=1.0, inertia=np.eye(3), position=(5, 0, -0.1))
    away.add_collision_shape(CollisionShape.box((1, 1, 0.1)))
    away.is_kinematic = True
    far = box(world, "far", position=(5, 0, 0.1))
    world.step(n=20 * QUIET)
    assert standing.is_sleeping and far.is_sleeping
    live = world._live()
    at = int(live.model.joint_qd_start[list(live.model.body_label).index("table")])
    live.sim.v[at + 1] = speed  # as a drive would: writing through the body wakes everything
    world.step()
    assert standing.is_sleeping != wakes
    assert far.is_sleeping


@pytest.mark.parametrize(("change", "wakes"), [(0.99 * LEAST, False), (-1.01 * LEAST, True)])
def test_another_command_wakes_a_robot(change, wakes):
    """The force it fell asleep with does not; what differs from it by more than the threshold does."""
    world = sx.World(gravity=(0, 0, 0), time_step=H, deactivation_options=options())
    world.add_ground_plane(-50.0)
    sleepers = []
    for name in ("one", "two"):
        robot = world.add_multibody(name)
        link = robot.add_link("rod", None, sx.JointSpec(name="j", axis=(0, 1, 0)))
        link.mass, link.inertia = 1.0, np.eye(3)
        joint = robot.joints[0]
        joint.coulomb_friction = [10.0]
        joint.force = [2.0]
        sleepers.append(joint)
    world.step(n=3 * QUIET)
    group = world._live().constraints.column["tree_group"]
    assert (group >= 0).all()
    sleepers[1].force = [2.0 + change]
    world.step()
    assert (group >= 0).tolist() == [True, not wakes]


def test_a_sleeper_stays_where_it_is_and_its_contacts_carry_it():
    """While it sleeps: bits of its pose, no motion, and forces that are its weight."""
    world = sx.World(time_step=H, deactivation_options=options())
    world.add_ground_plane()
    body = box(world, position=(0, 0, 0.1), mass=3.0)
    world.step(n=60)
    assert body.is_sleeping
    pose, forces = body.transform.copy(), [contact.force.copy() for contact in world.contacts]
    np.testing.assert_allclose(np.sum(forces, axis=0), (0, 0, 3.0 * G), rtol=0, atol=1e-5)
    for _ in range(3):
        world.step(n=20)
        assert body.is_sleeping
        assert np.array_equal(body.transform, pose)
        assert not body.linear_velocity.any() and not body.linear_acceleration.any()
        assert np.array_equal([contact.force for contact in world.contacts], forces)


@pytest.mark.parametrize(("change", "wakes"), [(0.0, False), (0.99 * LEAST, False), (1.01 * LEAST, True)])
def test_another_speed_that_is_asked_for_wakes_a_robot(change, wakes):
    """Of a drive without gains yet, which falls asleep with the speed it is asked for."""
    world = sx.World(gravity=(0, 0, 0), time_step=H, deactivation_options=options())
    world.add_ground_plane(-50.0)
    robot = world.add_multibody("robot")
    link = robot.add_link("rod", None, sx.JointSpec(name="j", axis=(0, 1, 0)))
    link.mass, link.inertia = 1.0, np.eye(3)
    joint = robot.joints[0]
    joint.target_velocity = [3.0]
    world.step(n=3 * QUIET)
    group = world._live().constraints.column["tree_group"]
    assert group.tolist() == [0]
    joint.target_velocity = [3.0 - change]
    world.step()
    assert (group[0] < 0) == wakes
