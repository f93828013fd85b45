# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Ends of solved closures: on frames that move, with axes that point the other way, on bodies that overlap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from worldline import simulation as sx
from worldline.collision import CollisionShape

SOLVE = sx.LoopClosureRuntimePolicy(dynamics=sx.ClosureDynamicsPolicy.SOLVE)
Family = sx.LoopClosureFamily


def at(x=0.0, y=0.0, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def turned(axis, angle):
    """Rotation about x or y as a pose."""
    c, s = np.cos(angle), np.sin(angle)
    pose = np.eye(4)
    pose[:3, :3] = [[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    return pose


def solved(world, frame_a, frame_b, family=Family.POINT, **options):
    closure = world.add_loop_closure("closure", frame_a=frame_a, frame_b=frame_b, family=family, **options)
    closure.runtime_policy = SOLVE
    return closure


# ---- frames that move


def test_a_closure_follows_its_free_frame():
    world = sx.World(time_step=0.001)
    hand = world.add_free_frame("hand")
    body = world.add_rigid_body("body", mass=2.0, inertia=0.1 * np.eye(3))
    closure = solved(world, hand, body)
    world.step(n=10)
    for k in range(1, 200):
        hand.local_transform = at(x=0.001 * k, z=0.0005 * k)
        world.step()
    assert closure.compute_residual().norm < 2e-3, "no further than it moves in a step or two"
    world.step(n=500)
    np.testing.assert_allclose(body.translation, hand.translation, atol=1e-6)
    np.testing.assert_allclose(closure.compute_residual().force[:3], (0, 0, -2.0 * 9.81), atol=1e-6)


def test_moving_a_frame_gives_the_motion_of_a_world_built_with_it_there():
    def built(where):
        world = sx.World(time_step=0.001)
        carrier = world.add_rigid_body("carrier", mass=1.0, inertia=np.eye(3), position=(0, 0, 1))
        tool = world.add_free_frame("tool", parent=carrier)
        tip = world.add_fixed_frame("tip", tool, at(y=0.2))
        tool.local_transform = where
        solved(world, tip, world.add_rigid_body("body", mass=1.0, inertia=np.eye(3)))
        return world, tool

    moved, tool = built(at(x=0.3))
    moved.enter_simulation_mode()
    tool.local_transform = at(x=-0.1, z=0.2)
    fresh, _ = built(at(x=-0.1, z=0.2))
    moved.step(n=50)
    fresh.step(n=50)
    np.testing.assert_array_equal(moved.state_vector, fresh.state_vector)


def test_a_restored_frame_of_a_recording_takes_the_closure_back():
    world = sx.World(time_step=0.001)
    stand = world.add_free_frame("stand")
    hand = world.add_free_frame("hand", parent=stand)
    body = world.add_rigid_body("body", mass=2.0, inertia=0.1 * np.eye(3))
    solved(world, hand, body)
    world.replay_recording_enabled = True
    world.step(n=5)
    stand.local_transform = at(x=0.3)
    hand.local_transform = at(z=0.1)
    world.step(n=400)
    np.testing.assert_allclose(body.translation, (0.3, 0.0, 0.1), atol=1e-6)
    assert world.verify_replay().matches
    world.restore_replay_frame(5)
    world.step(n=400)
    np.testing.assert_allclose(body.translation, (0.0, 0.0, 0.0), atol=1e-6)


def test_a_frame_put_on_another_body_takes_the_closure_along():
    world = sx.World(gravity=(0, 0, 0))
    first, second = world.add_rigid_body("first"), world.add_rigid_body("second", position=(1, 0, 0))
    tool = world.add_free_frame("tool", parent=first)
    third = world.add_rigid_body("third", position=(1.5, 0, 0))
    closure = solved(world, tool, third)
    world.step()
    tool.parent_frame = second
    world.step(n=200)
    assert closure.compute_residual().norm < 1e-9
    assert np.linalg.norm(third.translation - second.translation) < 1e-9


def test_a_marker_moved_before_the_start_takes_the_closure_along():
    world = sx.World()
    body = world.add_rigid_body("body", mass=1.0, inertia=np.eye(3))
    marker = world.add_marker("grip", body, position=(0.1, 0, 0))
    closure = solved(world, marker, world.add_free_frame("anchor"))
    marker.local_transform = at(x=-0.4)
    world.step(n=300)
    assert closure.compute_residual().norm < 1e-8, "half a metre where the end stays behind"


# ---- axes


@pytest.mark.parametrize(
    ("turn", "residual"),
    [
        (np.eye(4), (0.0, 0.0)),
        (turned("y", 0.1), (np.sin(0.1), 0.0)),
        (turned("y", 2.5), (2.0 - np.sin(2.5), 0.0)),
        (turned("x", -2.5), (0.0, 2.0 - np.sin(2.5))),
        (turned("x", np.pi), (2.0, 0.0)),
    ],
)
def test_the_residual_of_an_axis_tells_its_opposite_from_itself(turn, residual):
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b")
    closure = world.add_loop_closure(frame_a=a, frame_b=b, family=Family.AXIS, offset_a=turn)
    value = closure.compute_residual().value
    assert np.linalg.norm(value[3:]) == pytest.approx(np.linalg.norm(residual), abs=1e-12)
    if abs(turn[2, 2]) < 1.0 - 1e-9:
        np.testing.assert_allclose(value[3:], residual, atol=1e-12)


@pytest.mark.parametrize("coordinates", sx.LoopClosureResidualCoordinates)
@pytest.mark.parametrize("family", Family)
def test_residuals_of_two_frames_anywhere(family, coordinates):
    """By a reference: gap and rotation from B to A in the axes asked for, what A's axes have of B's in those of B."""
    world = sx.World()
    R_A, R_B = Rotation.from_rotvec([0.3, -0.2, 0.5]), Rotation.from_rotvec([0.1, 0.4, -0.3])
    p_A, p_B = np.array([0.4, -0.1, 0.7]), np.array([0.1, 0.3, 0.2])
    a, b = (
        world.add_rigid_body(name, position=p, orientation=R.as_quat())
        for name, p, R in (("a", p_A, R_A), ("b", p_B, R_B))
    )
    distance = {"distance": 0.25} if family is Family.DISTANCE else {}
    closure = world.add_loop_closure("closure", frame_a=a, frame_b=b, family=family, **distance)
    found = closure.compute_residual(coordinates)
    axes = {"world": Rotation.identity(), "endpoint-a": R_A, "endpoint-b": R_B}[coordinates.value].inv()
    gap, rotation = axes.apply(p_A - p_B), axes.apply((R_A * R_B.inv()).as_rotvec())
    local, z = R_B.inv().apply(p_A - p_B), (R_B.inv() * R_A).as_matrix()[:, 2]
    expected = {
        Family.RIGID: [*gap, *rotation],
        Family.POINT: gap,
        Family.DISTANCE: [np.sqrt(0.09 + 0.16 + 0.25) - 0.25],
        Family.AXIS: [*gap, *z[:2]],
        Family.REVOLUTE: [*gap, *z[:2]],
        Family.UNIVERSAL: [*gap, z[0]],
        Family.PRISMATIC: [*local[:2], *rotation],
        Family.PLANAR: [local[2], *z[:2]],
    }[family]
    assert found.value.shape == (len(expected),)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.norm == pytest.approx(np.linalg.norm(expected), abs=1e-12)
    assert found.translation == pytest.approx(gap, abs=1e-12)
    assert found.rotation == pytest.approx(rotation, abs=1e-12)


@pytest.mark.parametrize("axis", ["x", (0.6, 0.8, 0.0), (0.5, -0.5, 0.7)])
@pytest.mark.parametrize("angle", [0.3, 1.4, 1.7, 3.0, np.pi])
def test_a_solved_axis_is_led_to_the_same_direction(angle, axis):
    """At a bounded speed, so that the turn takes many steps: the opposite direction is no place to rest."""
    world = sx.World(gravity=(0, 0, 0), time_step=0.001)
    a = world.add_rigid_body("a", mass=1.0, inertia=np.diag([0.2, 0.3, 0.4]))
    start = turned("x", angle)
    if axis != "x":
        start[:3, :3] = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis)).as_matrix()
    a.transform = start
    closure = solved(world, a, sx.Frame.world(), Family.AXIS)
    largest = closure.compute_residual().norm
    for _ in range(40):
        world.step(n=50)
        now = closure.compute_residual().norm
        assert now <= largest + 1e-6
    assert now < 1e-6 and a.rotation[2, 2] > 0.999


# ---- bodies that are tied do not touch


def overlapping(**options):
    world = sx.World(gravity=(0, 0, 0))
    bodies = [world.add_rigid_body(name, mass=1.0, inertia=0.4 * np.eye(3)) for name in "ab"]
    bodies[1].translation = (0.5, 0, 0)
    for body in bodies:
        body.add_collision_shape(CollisionShape.sphere(1.0))
    closure = solved(world, *bodies, Family.RIGID, offset_a=at(x=0.5), **options)
    return world, closure


def test_bodies_of_a_solved_closure_do_not_fight():
    world, closure = overlapping()
    assert world.collide() == []
    world.step(n=100)
    assert world.contacts == [] and closure.compute_residual().norm < 1e-12
    assert "connected by a closure" in str(world.explain(*world.rigid_bodies))


def test_bodies_of_a_closure_touch_when_asked_or_when_it_is_only_measured():
    world, _ = overlapping(allow_collision=True)
    assert len(world.collide()) == 1
    world, closure = overlapping()
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    assert len(world.collide()) == 1
    closure.dynamics = sx.ClosureDynamicsPolicy.SOLVE
    assert world.collide() == []


@pytest.mark.parametrize("breakable", [False, True])
def test_joints_of_the_world_filter_unless_they_can_break(breakable):
    world = sx.World(gravity=(0, 0, 0))
    bodies = [world.add_rigid_body(name, mass=1.0, inertia=0.4 * np.eye(3)) for name in "ab"]
    bodies[1].translation = (0.5, 0, 0)
    for body in bodies:
        body.add_collision_shape(CollisionShape.sphere(1.0))
    joint = world.add_joint(*bodies, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    if breakable:
        joint.break_force = 10.0
    assert len(world.collide()) == int(breakable)


def test_what_is_closed_to_the_world_still_touches_its_shapes():
    world = sx.World()
    world.add_ground_plane()
    body = world.add_rigid_body("body", mass=1.0, inertia=np.eye(3), position=(0, 0, 0.9))
    body.add_collision_shape(CollisionShape.sphere(1.0))
    solved(world, sx.Frame.world(), body, Family.DISTANCE, distance=0.9)
    assert len(world.collide()) == 1
