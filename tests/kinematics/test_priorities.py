# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Strict priorities, bounds of distances, self-collision and manipulability."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from kinematic_robots import iiwa, panda

import worldline.model as wm
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline._src.kinematics.quadratic_program import Level, lexicographic_least_squares, quadratic_program
from worldline.collision import CollisionShape

# ---- quadratic programs


def test_quadratic_programs_meet_the_optimality_conditions():
    """Karush, Kuhn and Tucker: the gradient is a sum of active rows with multipliers that are not negative."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, m = rng.integers(1, 8), rng.integers(0, 12)
        B = rng.normal(size=(n, n))
        H, g, G = B @ B.T + 1e-3 * np.eye(n), rng.normal(size=n), rng.normal(size=(m, n))
        h = G @ rng.normal(size=n) + rng.uniform(0, 1, m) * (rng.random(m) < 0.7)
        x = quadratic_program(H, g, G, h)
        assert (G @ x - h).max(initial=-1.0) < 1e-9
        active = np.flatnonzero(G @ x - h > -1e-8)
        rest = np.linalg.norm(g - H @ x)
        if len(active):
            rest = scipy.optimize.nnls(G[active].T, g - H @ x)[1]
        assert rest < 1e-7


def test_contradicting_rows_are_refused():
    with pytest.raises(ArgumentError, match="contradict"):
        quadratic_program(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))


def test_each_level_is_the_best_that_the_levels_above_leave():
    rng = np.random.default_rng(1)
    none = np.zeros((0, 5)), np.zeros(0)
    for _ in range(30):
        A, B = rng.normal(size=(2, 5)), rng.normal(size=(4, 5))
        a, b = 3 * rng.normal(size=2), rng.normal(size=4)
        low, high = -rng.uniform(0, 1, 5), rng.uniform(0, 1, 5)
        x = lexicographic_least_squares([Level(A, a, *none, 0.0), Level(B, b, *none, 0.0)], low, high)
        assert (x >= low).all() and (x <= high).all()
        best = scipy.optimize.lsq_linear(A, a, (low, high), tol=1e-14)
        assert np.sum((A @ x - a) ** 2) == pytest.approx(2 * best.cost, rel=1e-6, abs=1e-8)
        # the second level: the same with the image of the first held
        second = scipy.optimize.minimize(
            lambda y, B=B, b=b: np.sum((B @ y - b) ** 2),
            np.clip(best.x, low, high),
            method="SLSQP",
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "eq", "fun": lambda y, A=A, x=x: A @ (y - x)},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert np.sum((B @ x - b) ** 2) <= second.fun * (1 + 1e-5) + 1e-7


def test_inequalities_of_a_level_are_violated_no_more_below():
    C, d = np.array([[1.0, 0.0]]), np.array([-2.0])
    none = np.zeros((0, 2)), np.zeros(0)
    levels = [Level(*none, C, d, 0.0), Level(np.eye(2), np.array([1.0, 0.5]), *none, 0.0)]
    # x <= -2 is out of reach of the bound: x stays at -1, and y is free
    np.testing.assert_allclose(
        lexicographic_least_squares(levels, np.full(2, -1.0), np.full(2, 1.0)), [-1, 0.5], atol=1e-8
    )


# ---- poses


def test_a_posture_below_a_pose_is_the_closest_of_all_solutions():
    robot = iiwa()
    rng = np.random.default_rng(3)
    rest = np.full(7, 0.3)
    for _ in range(4):
        q = rng.uniform(-1, 1, 7)
        goal = wm.forward_kinematics(robot.model, q)[robot.tip]
        tasks = [wk.PoseTask(robot.tip, goal), wk.PostureTask(rest, weight=1.0, priority=1)]
        made = wk.solve_ik(robot.model, tasks, start=q)
        assert made.success and made.method == "hierarchical" and made.tasks[0].error <= 1e-8
        # stationary: what is left of the posture is across the directions in which the pose stays
        J = wm.jacobian(robot.model, made.q, robot.tip)
        free = np.linalg.svd(J)[2][6:]
        assert np.abs(free @ (made.q - rest)).max() < 2e-5
        assert np.linalg.norm(made.q - rest) <= np.linalg.norm(q - rest) + 1e-9


def test_the_first_priority_is_met_where_the_second_contradicts_it():
    robot = panda()
    low, high = np.array(robot.model.joint_limit_lower), np.array(robot.model.joint_limit_upper)
    q = 0.5 * (low + high)
    point = wm.forward_kinematics(robot.model, q)[robot.tip][:3]
    tasks = [
        wk.PositionTask(robot.tip, point + np.array([0, 0, 2.0]), name="far", priority=5),
        wk.PositionTask(robot.tip, point + np.array([0.05, 0, 0]), name="near", priority=1),
    ]
    made = wk.solve_ik(robot.model, tasks, start=q)
    assert not made.success and made.tasks[1].met and not made.tasks[0].met
    assert made.tasks[0].alone is False and "'far'" in made.message
    # by weights alone neither would be met
    mixed = wk.solve_ik(robot.model, [wk.PositionTask(t.frame, t.target) for t in tasks], start=q)
    assert not any(task.met for task in mixed.tasks)
    assert (made.q >= low).all() and (made.q <= high).all()
    with pytest.raises(ArgumentError, match="neither priorities"):
        wk.solve_ik(robot.model, tasks, start=q, method="levenberg-marquardt")


def test_manipulability_is_kept_and_its_derivative_is_right():
    robot = panda()
    # stretched arms are singular
    q = np.array([0.0, 0.1, 0.0, -0.15, 0.0, 1.6, 0.7])
    goal = wm.forward_kinematics(robot.model, q)[robot.tip]

    def measure(at):
        J = wm.jacobian(robot.model, at, robot.tip)
        return np.sqrt(np.linalg.det(J @ J.T))

    before = measure(q)
    tasks = [
        wk.OrientationTask(robot.tip, goal[3:]),
        wk.ManipulabilityTask(robot.tip, 0.06, priority=1, tolerance=1e-6),
    ]
    made = wk.solve_ik(robot.model, tasks, start=q)
    assert before < 0.03 and made.success
    assert measure(made.q) >= 0.06 - 1e-6


def reach_around(distance):
    """A ball on three slides, a wall with a hole, and an arm's worth of obstacles between it and its goal."""
    world = sx.World(gravity=(0, 0, 0), time_step=0.01)
    robot = world.add_multibody("robot")
    link = robot.add_link("base")
    for k in range(3):
        spec = sx.JointSpec(f"slide_{k}", sx.JointType.PRISMATIC, axis=np.eye(3)[k])
        link = robot.add_link(f"link_{k}", link, spec, mass=1.0)
        robot.joints[f"slide_{k}"].actuator_type = sx.ActuatorType.VELOCITY
    link.add_collision_shape(CollisionShape.sphere(0.1))
    post = world.add_rigid_body("post", position=(1.0, 0.01, 0.0))
    post.is_static = True
    post.add_collision_shape(CollisionShape.sphere(0.3))
    return world, robot, link, post


def test_an_obstacle_is_kept_away_from_in_a_pose():
    world, robot, ball, post = reach_around(0.05)
    goal = wk.PositionTask(ball, (0.9, 0.0, 0.0), priority=1, name="goal")
    made = wk.solve_ik(world, [goal, wk.ObstacleTask(ball, post, distance=0.05)])
    assert not made.success and made.tasks[1].met and not made.tasks[0].met and made.tasks[0].alone
    for k in range(3):
        robot.joints[f"slide_{k}"].position = made.q[k : k + 1]
    assert world.distance(ball, post).distance == pytest.approx(0.05, abs=1e-6)
    # the closest point of the shell of radius 0.45 about the post to the goal is on the line through both
    away = np.array([0.9, 0, 0]) - post.translation
    np.testing.assert_allclose(
        ball.translation, post.translation + 0.45 * away / np.linalg.norm(away), atol=2e-3
    )


def test_a_controller_never_comes_closer_than_the_distance():
    world, _, ball, _ = reach_around(0.05)
    tasks = [
        wk.PositionTask(ball, (2.0, 0.0, 0.0), priority=1),
        wk.ObstacleTask(ball, distance=0.05, reach=0.3),
    ]
    world.add_controller(
        "ik", wk.DifferentialIk(world, tasks, gain=5.0, max_velocity=1.0, max_acceleration=50.0)
    )
    least = np.inf
    for _ in range(600):
        world.step()
        least = min(least, world.distance(ball, world.rigid_bodies["post"]).distance)
    assert 0.05 - 1e-3 < least < 0.06
    np.testing.assert_allclose(ball.translation, [2.0, 0.0, 0.0], atol=1e-3)


def test_links_keep_from_each_other():
    world = sx.World(gravity=(0, 0, 0))
    arm = world.add_multibody("arm")
    link, links = arm.add_link("base"), []
    for k in range(4):
        X = wmath.make_transform(np.eye(3), (0.3 if k else 0.0, 0, 0))
        link = arm.add_link(
            f"l{k}", link, sx.JointSpec(f"j{k}", axis=(0, 0, 1), transform_to_parent=X), mass=1.0
        )
        along = wmath.make_transform(wmath.so3_exp([0, np.pi / 2, 0]), (0.15, 0, 0))
        link.add_collision_shape(CollisionShape.capsule(0.03, 0.12, along))
        links.append(link)
    for joint in arm.joints:
        joint.position = [0.4] if joint.num_dofs else []
    # the tip at the middle of the first link, wherever that is
    goal = wk.PositionTask(
        links[3], (0.15, 0.0, 0.0), reference=links[0], point=(0.27, 0, 0), priority=1, name="fold"
    )
    folded = wk.solve_ik(world, [goal])
    assert folded.success
    made = wk.solve_ik(world, [goal, wk.SelfCollisionTask(arm, distance=0.01)], max_restarts=2)
    assert made.tasks[1].met and not made.tasks[0].met
    for k, joint in enumerate(arm.joints[-4:]):
        joint.position = made.q[k : k + 1]
    gaps = [world.distance(links[a], links[b]).distance for a in range(4) for b in range(a + 2, 4)]
    assert 0.01 - 1e-6 <= min(gaps) < 0.02


def test_the_mass_centre_stays_above_the_support_at_a_higher_priority():
    robot = iiwa()
    square = [(-0.05, -0.05), (0.05, -0.05), (0.05, 0.05), (-0.05, 0.05)]
    tasks = [wk.BalanceTask(square), wk.PositionTask(robot.tip, (0.7, 0.2, 0.6), priority=1, name="reach")]
    made = wk.solve_ik(robot.model, tasks, start=np.full(7, 0.2))
    c = wm.center_of_mass(robot.model, made.q)
    assert np.abs(c[:2]).max() <= 0.05 + 1e-7 and made.tasks[0].met and not made.tasks[1].met


def test_velocities_of_a_lower_priority_do_no_harm():
    robot = iiwa()
    rng = np.random.default_rng(2)
    for _ in range(10):
        q = rng.uniform(-1, 1, 7)
        goal = wm.forward_kinematics(robot.model, rng.uniform(-1, 1, 7))[robot.tip][:3]
        first = wk.PositionTask(robot.tip, goal)
        both = [first, wk.PostureTask(np.zeros(7), weight=1.0, priority=1)]
        J = wm.jacobian(robot.model, q, robot.tip)[3:]
        one = wk.DifferentialIk(robot.model, first, damping=1e-9).velocity(q, 0.01)
        two = wk.DifferentialIk(robot.model, both, damping=1e-9).velocity(q, 0.01)
        np.testing.assert_allclose(J @ two, J @ one, rtol=1e-4, atol=1e-5)
        # and what is left does what it can
        free = np.linalg.svd(J)[2][3:]
        np.testing.assert_allclose(free @ two, -10.0 * free @ q, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda m: wk.PositionTask(0, (0, 0, 0), priority=0.5), "whole number"),
        (lambda m: wk.ObstacleTask("x", reach=0.0), "reach"),
        (lambda m: wk.solve_ik(m, wk.ObstacleTask("x")), "need a World"),
        (lambda m: wk.solve_ik(m, wk.ManipulabilityTask("x", rows="all")), "'pose', 'position'"),
        (lambda m: wk.solve_ik(m, wk.ManipulabilityTask("nobody")), "no body 'nobody'"),
        (lambda m: wk.ManipulabilityTask("x", 0.0), "must be positive, got 0.0"),
        (lambda m: wk.solve_ik(m, []), "at least one"),
        (lambda m: wk.solve_ik(m, ["x", wk.PostureTask(priority=3)]), "tasks of worldline.kinematics"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call(iiwa().model)


def test_distances_that_do_not_exist_are_refused():
    world, robot, ball, post = reach_around(0.05)
    bare = world.add_rigid_body("bare")
    for task, words in (
        (wk.ObstacleTask(bare, post), "bodies of an obstacle task must have collision shapes"),
        (wk.ObstacleTask(ball, bare), "must be other bodies with collision shapes"),
        (wk.ObstacleTask(ball, ball), "must be other bodies with collision shapes"),
        (wk.SelfCollisionTask(robot), "shapes on two links, got one link"),
    ):
        with pytest.raises(ArgumentError, match=words):
            wk.solve_ik(world, task)


def test_bodies_of_other_worlds_are_refused():
    world, _, ball, post = reach_around(0.05)
    _, other, foreign, _ = reach_around(0.05)
    for task in (
        wk.ObstacleTask(foreign),
        wk.ObstacleTask(ball, other),
        wk.ObstacleTask(ball, "post"),
        wk.SelfCollisionTask(other),
    ):
        with pytest.raises(ArgumentError):
            wk.solve_ik(world, task)
    controller = wk.DifferentialIk(world, [wk.ObstacleTask(ball, post), wk.PositionTask(ball, (0, 0, 0))])
    with pytest.raises(ArgumentError, match="make a new controller"):
        controller.set_task(0, wk.ObstacleTask(ball, post, distance=0.2))
    with pytest.raises(ArgumentError, match="priority stay"):
        controller.set_task(1, wk.PositionTask(ball, (0, 0, 0), priority=2))
    controller.set_task(1, wk.PositionTask(ball, (0.1, 0, 0)))
