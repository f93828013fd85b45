# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Paths, their timing, planning around obstacles, and inverse kinematics over a horizon."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from kinematic_robots import iiwa, panda

import worldline.model as wm
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline.collision import CollisionShape


def slider(mass=1.0, damping=0.0, axis="x"):
    builder = wm.ModelBuilder()
    link = builder.add_link(mass=mass, inertia=np.eye(3))
    joint = builder.add_joint_prismatic(-1, link, axis=axis, damping=damping)
    builder.add_articulation([joint])
    return builder.finalize()


# ---- paths


def test_a_spline_passes_its_points_and_derivatives_are_those_of_the_coordinates():
    robot = iiwa()
    points = np.random.default_rng(0).uniform(-1, 1, (6, 7))
    path = wk.interpolate_joints(robot.model, points)
    np.testing.assert_allclose(path.coordinates(path.knots), points, atol=1e-12)
    s, h = np.linspace(0.1, path.length - 0.1, 50), 1e-5
    rate = (path.coordinates(s + h) - path.coordinates(s - h)) / (2 * h)
    np.testing.assert_allclose(path.derivative(s), rate, atol=1e-8)
    bend = (path.derivative(s + h) - path.derivative(s - h)) / (2 * h)
    np.testing.assert_allclose(path.derivative(s, 2), bend, atol=1e-4)
    assert len(path.stops) == 0 and path.dofs.tolist() == list(range(7))


def test_blended_lines_leave_corners_by_no_more_than_half_the_blend():
    model = iiwa().model
    points = np.zeros((3, 7))
    points[1, 0], points[2, :2] = 1.0, 1.0
    path = wk.interpolate_joints(model, points, blend=0.2)
    assert len(path.stops) == 0
    q = path.coordinates(np.linspace(0, path.length, 400))
    # closest approach to the corner of a right angle: half of r / sqrt(2)
    assert np.linalg.norm(q[:, :2] - [1, 0], axis=1).min() == pytest.approx(
        0.2 / np.sqrt(2) / 2 * 1.0, rel=1e-3
    )
    steps = np.linalg.norm(np.diff(path.derivative(np.linspace(0, path.length, 4000)), axis=0), axis=1)
    assert steps.max() < 0.02
    corner = wk.interpolate_joints(model, points, blend=0.0)
    assert corner.stops.tolist() == [1.0] and corner.length == pytest.approx(2.0)


def test_a_frame_moves_on_a_line_and_keeps_its_branch():
    robot = panda()
    q = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.5])
    start = wm.forward_kinematics(robot.model, q)[robot.tip]
    goal = start.copy()
    goal[:3] += [0.05, -0.2, 0.1]
    turn = wmath.rotation_vector_to_quaternion([0.1, 0.2, -0.3])
    goal[3:] = wmath.quaternion_multiply(turn, start[3:])
    path = wk.interpolate_frame(robot.model, wk.PoseTask(robot.tip, goal), start=q, tolerance=1e-4)
    at = wm.forward_kinematics(robot.model, path.coordinates(np.linspace(0, path.length, 101)))[:, robot.tip]
    np.testing.assert_allclose(at[0], start, atol=1e-9)
    np.testing.assert_allclose(at[-1, :3], goal[:3], atol=1e-7)
    along = goal[:3] - start[:3]
    share = (at[:, :3] - start[:3]) @ along / (along @ along)
    off = at[:, :3] - start[:3] - share[:, None] * along
    assert np.linalg.norm(off, axis=1).max() < 2e-4
    # the orientation turns about one axis, in the same shares
    for k in range(0, 101, 10):
        wanted = wmath.slerp(start[3:], goal[3:], np.clip(share[k], 0, 1))
        assert wmath.quaternion_distance(wanted, at[k, 3:]) < 4e-4
    assert np.abs(np.diff(path.coordinates(np.linspace(0, path.length, 101)), axis=0)).max() < 0.1


def test_a_frame_that_only_turns_stays_at_its_point_and_turns_about_one_axis():
    robot = panda()
    q = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.5])
    start = wm.forward_kinematics(robot.model, q)[robot.tip]
    axis = np.array([0.6, 0.0, 0.8])
    goal = start.copy()
    goal[3:] = wmath.quaternion_multiply(wmath.rotation_vector_to_quaternion(0.7 * axis), start[3:])
    path = wk.interpolate_frame(robot.model, wk.PoseTask(robot.tip, goal), start=q, tolerance=1e-6)
    assert len(path.knots) < 400
    at = wm.forward_kinematics(robot.model, path.coordinates(np.linspace(0, path.length, 101)))[:, robot.tip]
    assert np.abs(at[:, :3] - start[:3]).max() < 1.5e-6
    turns = [
        wmath.quaternion_to_rotation_vector(
            wmath.quaternion_multiply(now, start[3:] * np.array([-1, -1, -1, 1]))
        )
        for now in at[:, 3:]
    ]
    angles = np.array(turns) @ axis
    assert np.abs(np.array(turns) - angles[:, None] * axis).max() < 3e-6
    assert angles[-1] == pytest.approx(0.7, abs=1e-6) and (np.diff(angles) > 0.0).all()


def test_a_line_that_leaves_the_reach_says_how_far_it_goes():
    robot = panda()
    q = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.5])
    point = wm.forward_kinematics(robot.model, q)[robot.tip][:3]
    with pytest.raises(OperationError, match=r"cannot follow its line beyond \d+"):
        wk.interpolate_frame(robot.model, wk.PositionTask(robot.tip, point + np.array([1.0, 0, 0])), start=q)


# ---- timing


@pytest.mark.parametrize("v, a", [(1.0, 2.0), (10.0, 2.0), (0.3, 0.5)])
def test_a_line_is_as_fast_as_its_closed_form(v, a):
    """Bang-bang, or a trapezoid of velocities."""
    path = wk.interpolate_joints(slider(), [[0.0], [2.0]])
    made = wk.time_optimal(path, max_velocity=v, max_acceleration=a)
    best = 2.0 / v + v / a if v * v / a < 2.0 else 2.0 * np.sqrt(2.0 / a)
    assert best * (1 - 1e-9) <= made.duration < best * 1.001
    q, qd, qdd = made.sample(np.linspace(0, made.duration, 5001))
    assert np.abs(qd).max() <= v * (1 + 1e-6) and np.abs(qdd).max() <= a * (1 + 1e-6)
    np.testing.assert_allclose(q[[0, -1], 0], [0.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(np.gradient(q[:, 0], made.duration / 5000), qd[:, 0], atol=5e-3 * v)


def best_with_damper():
    """Full force forth, then back, against a damper of 5 N s/m: 1 kg over 4 m with 10 N, by small steps."""
    h, forth, back = 1e-4, [(0.0, 0.0)], [(4.0, 0.0)]
    while forth[-1][0] < 4.0:
        s, v = forth[-1]
        forth.append((s + h * v, v + h * (10.0 - 5.0 * v)))
    while back[-1][1] < 1.9999:
        s, v = back[-1]
        back.append((s - h * v, v + h * (10.0 + 5.0 * v)))
    s, v = np.array(forth).T
    s_back, v_back = np.array(back).T
    # where the velocity forth has become that from which braking ends in time
    k = int(np.argmax(v >= np.interp(s, s_back[::-1], v_back[::-1], left=np.inf)))
    return h * (k + int(np.argmin(np.abs(v_back - v[k]))))


def test_torque_with_gravity_and_dampers():
    # upwards with f = 3 m g and down again with 0: accelerations 2 g and -g
    path = wk.interpolate_joints(slider(mass=2.0, axis="z"), [[0.0], [1.5]])
    limit = 3 * 2.0 * 9.81
    made = wk.time_optimal(path, max_torque=limit)
    up, down = 2 * 9.81, 4 * 9.81
    assert made.duration == pytest.approx(np.sqrt(2 * 1.5 * (1 / up + 1 / down)), rel=1e-3)
    # a damper as strong as the motor at 2 m/s: v = 2 (1 - exp(-t / tau)) while it drives
    model = slider(damping=5.0)
    path = wk.interpolate_joints(model, [[0.0], [4.0]])
    made = wk.time_optimal(path, max_torque=10.0, grid=1000)
    t = np.linspace(0, made.duration, 4001)
    q, v, a = made.sample(t)
    tau = np.array([wm.inverse_dynamics(model, *row) for row in zip(q, v, a, strict=True)])
    assert np.abs(tau).max() <= 10.0 * (1 + 1e-6)
    early = t < 0.5 * made.duration
    np.testing.assert_allclose(v[early, 0], 2.0 * (1 - np.exp(-5.0 * t[early])), atol=5e-2)
    assert made.duration == pytest.approx(best_with_damper(), rel=5e-3)
    with pytest.raises(OperationError, match="limits"):
        wk.time_optimal(
            wk.interpolate_joints(slider(mass=2.0, axis="z"), [[0.0], [1.5]]), max_torque=0.9 * 2.0 * 9.81
        )


def test_limits_hold_on_a_spline_of_an_arm_with_torques():
    robot = iiwa()
    points = np.random.default_rng(0).uniform(-1, 1, (4, 7))
    path = wk.interpolate_joints(robot.model, points)
    made = wk.time_optimal(path, max_velocity=2.0, max_acceleration=6.0, max_torque=40.0, grid=150)
    q, v, a = made.sample(np.linspace(0, made.duration, 3001))
    tau = wm.inverse_dynamics(robot.model, q, v, a, lanes=1)
    assert np.abs(v).max() <= 2.0 * (1 + 1e-6)
    assert np.abs(a).max() <= 6.0 * (1 + 1e-6)
    assert np.abs(tau).max() <= 40.0 * (1 + 1e-6)
    # time-optimal: somewhere a limit is always reached
    ratio = np.max(
        [np.abs(v).max(axis=1) / 2, np.abs(a).max(axis=1) / 6, np.abs(tau).max(axis=1) / 40], axis=0
    )
    assert np.mean(ratio > 0.97) > 0.95


def test_as_fast_as_toppra():
    """Durations of toppra 0.6 with 2001 grid points and its interpolation scheme."""
    robot = iiwa()
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (5, 7))
    path = wk.interpolate_joints(robot.model, points)
    made = wk.time_optimal(path, max_velocity=2.0, max_acceleration=5.0, grid=300)
    assert made.duration == pytest.approx(5.363748123500788, rel=2e-3)


def test_motion_stops_at_corners():
    model = iiwa().model
    points = np.zeros((3, 7))
    points[1, 0], points[2, :2] = 1.0, 1.0
    corner = wk.time_optimal(wk.interpolate_joints(model, points, blend=0.0), max_acceleration=2.0)
    # twice from rest to rest over 1 rad
    assert corner.duration == pytest.approx(2 * 2 * np.sqrt(1 / 2.0), rel=1e-6)
    cut = wk.time_optimal(wk.interpolate_joints(model, points, blend=0.3), max_acceleration=2.0)
    assert cut.duration < corner.duration
    a = cut.sample(np.linspace(0, cut.duration, 4001))[2]
    assert np.abs(a).max() <= 2.0 * (1 + 1e-6)
    assert not corner.sample(-1.0)[1].any() and not corner.sample(99.0)[2].any()


# ---- planning


def maze():
    """A ball on two slides in front of a wall with a gap."""
    world = sx.World(gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    link = robot.add_link("root")
    for k in range(2):
        link = robot.add_link(
            f"link_{k}", link, sx.JointSpec(f"slide_{k}", sx.JointType.PRISMATIC, axis=np.eye(3)[k]), mass=1.0
        )
    link.add_collision_shape(CollisionShape.sphere(0.1))
    for joint in robot.joints:
        if joint.num_dofs:
            joint.set_position_limits([-2.0], [2.0])
    for k, y in enumerate((-1.15, 1.55)):
        wall = world.add_rigid_body(f"wall_{k}", position=(0, y, 0))
        wall.is_static = True
        wall.add_collision_shape(CollisionShape.box((0.1, 1.15, 0.5)))
    robot.joints["slide_0"].position = [-1.0]
    return world, robot, link


def test_a_path_through_a_gap():
    world, robot, ball = maze()
    q = np.array(world.model().joint_q)
    before = world.state_vector.copy()
    goal = q.copy()
    goal[:2] = [1.0, -0.5]
    first = q.copy()
    first[:2] = [-1.0, 0.0]
    plan = wk.plan_path(world, goal, joints=robot, start=first, margin=0.02, seed=1)
    assert plan.success and plan.goal == 0, plan
    np.testing.assert_array_equal(world.state_vector, before)
    np.testing.assert_array_equal(plan.waypoints[[0, -1]], [first, goal])
    # checked by the queries of the World itself, finer than planning did
    path = plan.path()
    for s in np.linspace(0, path.length, 60):
        x = path.coordinates(s)
        for k in range(2):
            robot.joints[f"slide_{k}"].position = x[k : k + 1]
        gaps = [world.distance(ball, world.rigid_bodies[f"wall_{k}"]).distance for k in range(2)]
        assert min(gaps) > 0.015
    assert wk.find_collision(world, path, margin=0.01) is None
    # not much longer than the shortest: two lines by way of the gap
    assert path.length < 1.25 * (np.hypot(1.0, 0.15) + np.hypot(1.0, 0.65))
    again = wk.plan_path(world, goal, joints=robot, start=first, margin=0.02, seed=1)
    np.testing.assert_array_equal(again.waypoints, plan.waypoints)
    motion = wk.time_optimal(plan.path(), max_velocity=1.0, max_acceleration=2.0)
    assert motion.duration > path.length


def test_why_there_is_no_path():
    world, robot, _ = maze()
    first = np.array(world.model().joint_q)
    first[:2] = [-1.0, 0.0]
    inside, beyond = first.copy(), first.copy()
    inside[:2], beyond[:2] = [0.0, 1.0], [3.0, 0.0]
    plan = wk.plan_path(world, [inside, beyond], joints=robot, start=first)
    assert not plan.success and "wall_1" in plan.message and "limits" in plan.message
    with pytest.raises(OperationError, match="no path"):
        plan.path()
    # a third goal will do
    other = first.copy()
    other[:2] = [-1.5, 0.5]
    plan = wk.plan_path(world, [inside, other], joints=robot, start=first)
    assert plan.success and plan.goal == 1 and len(plan.waypoints) == 2
    # the gap is closed: the ball with its margin is wider
    goal = first.copy()
    goal[0] = 1.0
    closed = wk.plan_path(world, goal, joints=robot, start=first, margin=0.11, max_iterations=60)
    assert not closed.success and "did not meet in 60" in closed.message
    # a line through the wall collides where the ball meets it
    line = wk.interpolate_joints(world, [first + np.eye(len(first))[1], goal + np.eye(len(first))[1]])
    s, _, b = wk.find_collision(world, line, resolution=0.001)
    assert s == pytest.approx(0.8, abs=2e-3) and "wall" in b
    for call, words in (
        (lambda: wk.plan_path(iiwa().model, np.zeros(7)), "needs a World"),
        (lambda: wk.plan_path(world, goal, start=first, joints=[robot.joints["slide_1"]]), "may not move"),
        (lambda: wk.plan_path(world, first, start=first), "is its goal"),
        (lambda: wk.plan_path(world, goal, start=first, resolution=0.0), "resolution"),
        (lambda: wk.plan_path(world, goal, start=first, seed=-1), "seed"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()


# ---- horizons


def test_a_motion_follows_its_targets_without_jumps():
    robot = iiwa()
    t = np.linspace(0, 2 * np.pi, 60)
    center = wm.forward_kinematics(robot.model, [0.2, 0.6, -0.1, -1.2, 0.1, 0.9, 0.0])[robot.tip]
    targets = np.tile(center, (60, 1))
    targets[:, 0] += 0.1 * np.cos(t)
    targets[:, 1] += 0.1 * np.sin(t)
    task = wk.PoseTask(robot.tip, center, tolerance=2e-4)
    made = wk.solve_ik_motion(robot.model, task, targets, start=[0.2, 0.6, -0.1, -1.2, 0.1, 0.9, 0.0])
    assert made.success and made.converged and made.error.shape == (60, 1)
    at = wm.forward_kinematics(robot.model, made.q)[:, robot.tip]
    np.testing.assert_allclose(at[:, :3], targets[:, :3], atol=3e-4)
    assert np.abs(np.diff(made.q, axis=0)).max() < 0.1
    low, high = np.array(robot.model.joint_limit_lower), np.array(robot.model.joint_limit_upper)
    assert (made.q >= low).all() and (made.q <= high).all()


def test_markers_with_noise_and_gaps_give_the_joint_angles():
    """Fifty frames of ten markers, noise of a millimetre, a tenth of them not seen."""
    robot = panda()
    rng = np.random.default_rng(0)
    bodies = [1, 2, 3, 3, 4, 4, 5, 6, 6, 7]
    t = np.linspace(0, 1, 50)
    middle = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.5])
    truth = middle + 0.4 * np.sin(2 * np.pi * t[:, None] + np.arange(7))
    poses = wm.forward_kinematics(robot.model, truth)
    seen = poses[:, bodies, :3] + 1e-3 * rng.normal(size=(50, 10, 3))
    seen[rng.random((50, 10)) < 0.1] = np.nan
    smooth = wk.fit_markers(robot.model, bodies, seen, start=middle, smoothness=2e-2)
    rough = wk.fit_markers(robot.model, bodies, seen, start=middle, smoothness=1e-6)
    there = ~np.isnan(seen).any(axis=2)
    assert np.isnan(smooth.error[~there]).all() and np.nanmax(smooth.error) < 8e-3
    # of the last joint no marker knows, and of the one before only the last body's position
    gap = np.abs(smooth.q - truth)[:, :5]
    assert np.sqrt(np.mean(gap**2)) < 0.02
    assert np.sqrt(np.mean(gap**2)) < np.sqrt(np.mean((rough.q - truth)[:, :5] ** 2))


def test_a_horizon_of_one_frame_is_a_pose():
    robot = panda()
    q = np.array([0.1, 0.3, -0.2, -1.8, 0.1, 2.0, 0.5])
    goal = wm.forward_kinematics(robot.model, q + 0.1)[robot.tip]
    made = wk.solve_ik_motion(robot.model, wk.PoseTask(robot.tip, goal), goal[None], start=q)
    assert made.success and made.q.shape == (1, 7)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda m: wk.interpolate_joints(m, [[0.0] * 7]), "2 or more rows"),
        (lambda m: wk.interpolate_joints(m, np.zeros((2, 7))), "all the same"),
        (lambda m: wk.interpolate_joints(m, np.eye(7), blend=-1.0), "negative"),
        (lambda m: wk.interpolate_frame(m, wk.PostureTask()), "pose or position"),
        (lambda m: wk.time_optimal(wk.interpolate_joints(m, np.eye(7)), max_velocity=1.0), "acceleration or"),
        (lambda m: wk.time_optimal(wk.interpolate_joints(m, np.eye(7)), max_acceleration=-1.0), "positive"),
        (lambda m: wk.time_optimal(wk.interpolate_joints(m, np.eye(7)), max_acceleration=1, grid=0), "grid"),
        (lambda m: wk.time_optimal("x", max_acceleration=1.0), "JointPath"),
        (lambda m: wk.interpolate_joints(m, np.eye(7)).coordinates(99.0), "between 0 and"),
        (lambda m: wk.solve_ik_motion(m, wk.PostureTask(), np.zeros((3, 7))), "whose target moves"),
        (lambda m: wk.solve_ik_motion(m, wk.PoseTask(7, np.eye(4)), np.zeros((3, 6))), "shape"),
        (lambda m: wk.fit_markers(m, [1, 2], np.zeros((5, 3, 3))), "2 markers"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call(iiwa().model)


def test_paths_of_orientations_are_refused():
    world = sx.World()
    world.add_rigid_body("box")
    q = np.array([[0, 0, 0, 0, 0, 0, 1.0], [1, 0, 0, 0, 0, 0, 1]])
    with pytest.raises(ArgumentError, match="turn or slide"):
        wk.interpolate_joints(world, q)


@pytest.mark.parametrize("name", ["paths", "timing", "planning", "horizon"])
def test_examples_of_motion(name):
    done = doctest.testmod(importlib.import_module(f"worldline._src.kinematics.{name}"))
    assert done.failed == 0 and done.attempted > 1


def test_closures_on_the_way():
    """Lines of a frame keep closures; planning refuses joints that one ties, and not those before both ends."""
    world = sx.World()
    ends, base = [], world.add_multibody("arm").add_link("base", joint=sx.JointSpec("turn", axis=(0, 0, 1)))
    for name, x in (("left", -0.2), ("right", 0.2)):
        link, along = base, x
        for joint in ("upper", "lower"):
            spec = sx.JointSpec(
                f"{name} {joint}",
                axis=(0, 0, 1),
                transform_to_parent=wmath.make_transform(np.eye(3), [along, 0, 0]),
            )
            link, along = world.multibodies["arm"].add_link(f"{name} {joint}", link, spec), 0.3
        ends.append(link)
    arm, tip = world.multibodies["arm"], wmath.make_transform(np.eye(3), [0.5, 0, 0])
    arm.joints.position = [0.0, 2.2, -1.4, 0.9, 1.4]
    pin = world.add_loop_closure("pin", sx.LoopClosureSpec(*ends, sx.LoopClosureFamily.POINT, tip, tip))
    task = wk.PositionTask(ends[0], (0.05, 0.6, 0), point=(0.5, 0, 0))
    first = wk.solve_ik(world, wk.PositionTask(ends[0], (0, 0.55, 0), point=(0.5, 0, 0))).q
    path = wk.interpolate_frame(world, task, start=first, joints=list(arm.joints)[1:])
    for s in np.linspace(0.0, path.length, 20):
        world._live().sim.q[:] = path.coordinates(s)
        world._live().sim.written()
        assert pin.compute_residual().norm < 1e-4
    goal = first.copy()
    goal[1] += 0.3
    with pytest.raises(NotImplementedError, match="loop closure 'pin' ties some of them"):
        wk.plan_path(world, goal, start=first)
    goal = first.copy()
    goal[0] += 0.3
    assert wk.plan_path(world, goal, start=first).success
