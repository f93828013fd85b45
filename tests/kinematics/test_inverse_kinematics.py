# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: random reachable targets of six robots, every task, limits, reports, refusals."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from kinematic_robots import ROBOTS, iiwa, panda, quadruped_leg

import worldline.model as wm
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.kinematics.solve import Question
from worldline._src.kinematics.subjects import subject_of
from worldline._src.step import ik_problem as ik

COUNT = 10_000


def targets_of(robot, count, seed=1):
    """Poses of the tip at random coordinates within limits, and other random coordinates to start from."""
    rng = np.random.default_rng(seed)
    low, high = robot.model.joint_limit_lower, robot.model.joint_limit_upper
    q, starts = rng.uniform(low, high, (2, count, len(low)))
    return wm.forward_kinematics(robot.model, q)[:, robot.tip], starts


def task_of(robot):
    if robot.position_only:
        return wk.PositionTask(robot.tip, (0, 0, 0))
    return wk.PoseTask(robot.tip, [0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("make", ROBOTS, ids=lambda make: make.__name__)
def test_reachable_targets_are_found_within_limits(make):
    robot = make()
    X, starts = targets_of(robot, COUNT)
    made = wk.solve_ik_batch(
        robot.model, task_of(robot), X[:, :3] if robot.position_only else X, starts=starts
    )
    Y = wm.forward_kinematics(robot.model, made.q)[:, robot.tip]
    found = np.linalg.norm(X[:, :3] - Y[:, :3], axis=1) < 1e-8
    if not robot.position_only:
        found &= wmath.quaternion_distance(X[:, 3:], Y[:, 3:]) < 1e-8
    assert found.mean() >= 0.995 and (found == made.success).all()
    assert (made.q >= robot.model.joint_limit_lower).all() and (made.q <= robot.model.joint_limit_upper).all()
    # an iteration takes 1 to 2 us, so that a solution stays below 150 us
    assert made.iterations.mean() < 60


def test_lanes_and_threads_find_the_same():
    robot = panda()
    X, starts = targets_of(robot, 43)
    problem = ik.IkProblem(
        robot.model,
        range(7),
        [ik.TaskRow(ik.POSE, a=robot.tip)],
        *[np.array(b) for b in limits_of(robot.model)],
    )
    one, lanes = problem.solve(starts, X[:, None], lanes=1), problem.solve(starts, X[:, None], lanes=4)
    threads, wide = problem.solve(starts, X[:, None], threads=2), problem.solve(starts, X[:, None])
    for parts in zip(one, threads, lanes, wide, strict=True):
        for part in parts[1:]:
            np.testing.assert_array_equal(parts[0], part)
    alone = problem.solve(starts[:1], X[:1, None])
    for a, b in zip(one, alone, strict=True):
        np.testing.assert_array_equal(a[:1], b)


def test_starts_in_lanes_find_what_one_after_the_other_find():
    robot = panda()
    X, starts = targets_of(robot, 60)
    low, high = (np.array(b) for b in limits_of(robot.model))
    anew = 0
    for x, start in zip(X, starts, strict=True):
        problem = ik.IkProblem(robot.model, range(7), [ik.TaskRow(ik.POSE, a=robot.tip, target=x)], low, high)
        one, lanes = problem.solve(start[None], None, 0, 2000, 100), problem.search(start, 0, 2000, 100)
        assert one.solved[0] and lanes.solved[0] and lanes.restarts[0] == one.restarts[0]
        assert lanes.iterations[0] == one.iterations[0]
        # starts are rounded otherwise, and seven joints can move without the tip
        np.testing.assert_allclose(lanes.q, one.q, atol=1e-5)
        anew += int(one.restarts[0] > 0)
    assert anew > 20
    # out of reach: as many starts as are allowed, and the best of them
    far = ik.IkProblem(
        robot.model, range(7), [ik.TaskRow(ik.POSITION, a=robot.tip, target=[3, 0, 0, 0, 0, 0, 1])], low, high
    )
    made = far.search(starts[0], 0, 2000, 11)
    assert not made.solved[0] and made.restarts[0] == 11
    assert made.cost[0] <= far.solve(starts[:1], None, 0, 2000, 0).cost[0]


def limits_of(model):
    return model.joint_limit_lower, model.joint_limit_upper


def whole_model():
    """A free base with two arms, one on a ball joint with a slide, and a second tree."""
    builder = wm.ModelBuilder()
    rng = np.random.default_rng(3)

    def link(label):
        return builder.add_link(
            mass=rng.uniform(0.5, 2), com=0.1 * rng.normal(size=3), inertia=np.eye(3), label=label
        )

    def pose():
        return np.concatenate([0.4 * rng.normal(size=3), wmath.random_quaternion(rng)])

    base, a, b, c, d, e = map(link, ("base", "a", "b", "c", "d", "e"))
    joints = [
        builder.add_joint_free(base),
        builder.add_joint_revolute(base, a, axis=(0, 1, 0), parent_xform=pose(), child_xform=pose()),
        builder.add_joint_revolute(
            a, b, axis=(0.6, 0.8, 0), parent_xform=pose(), limit_lower=-1, limit_upper=1
        ),
        builder.add_joint_ball(base, c, parent_xform=pose(), child_xform=pose()),
        builder.add_joint_prismatic(c, d, axis=(0, 0, 1), parent_xform=pose()),
    ]
    builder.add_articulation(joints)
    builder.add_articulation([builder.add_joint_revolute(-1, e, axis=(1, 0, 0), parent_xform=pose())])
    return builder.finalize()


def all_rows(model, rng):
    """A row of every kind."""

    def pose():
        return np.concatenate([rng.normal(size=3), wmath.random_quaternion(rng)])

    weight = tuple(rng.uniform(0.5, 2.0, 6))
    index = {name: k for k, name in enumerate(model.body_label)}
    frames = {"a": index["b"], "X_a": pose(), "b": index["d"], "target": pose(), "weight": weight}
    other = {"a": index["e"], "X_a": pose(), "b": index["b"], "target": pose(), "weight": weight}
    kinds = (ik.POSE, ik.POSITION, ik.ORIENTATION, ik.AXIS, ik.DISTANCE, ik.LOOK_AT)
    rows = [ik.TaskRow(kind, **frames, own=(0.7, 0.0)) for kind in kinds]
    rows += [ik.TaskRow(kind, **other, own=(0.7, 0.0)) for kind in kinds]
    rows += [ik.TaskRow(ik.CENTER_OF_MASS, target=pose(), weight=weight)]
    edges = np.column_stack([np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]), [-3.0, -2.0, 5.0]])
    rows += [ik.TaskRow(ik.POLYGON, weight=(1.3,), edges=edges)]
    first, second = model.joint_q_start[1], model.joint_q_start[5]
    rows += [ik.TaskRow(ik.COUPLING, int(first), b=int(second), weight=(0.9,), own=(1.7, 0.2))]
    posture = np.array(wm.random_configuration(model, 5))
    rows += [ik.TaskRow(ik.POSTURE, posture=posture, posture_weight=rng.uniform(1, 2, model.joint_dof_count))]
    return rows


def test_rows_have_the_derivatives_they_say():
    model, rng = whole_model(), np.random.default_rng(4)
    n = model.joint_dof_count
    rows = all_rows(model, rng)
    problem = ik.IkProblem(model, range(n), rows, np.full(n, -np.inf), np.full(n, np.inf))
    q = wm.random_configuration(model, 2)
    r, J = (part[0] for part in problem.evaluate(q[None]))
    h = 1e-6
    plus = problem.evaluate(wm.integrate(model, np.tile(q, (n, 1)), h * np.eye(n)))[0]
    minus = problem.evaluate(wm.integrate(model, np.tile(q, (n, 1)), -h * np.eye(n)))[0]
    slopes = (plus - minus).T / (2 * h)
    at = 0
    for row, count in zip(rows, problem.row_counts, strict=True):
        part = slice(at, at + count)
        if row.kind in (ik.POSE, ik.ORIENTATION):
            # the derivative is that of the angular velocity: by the left Jacobian of the residual
            weight = np.array(row.weight[:3])
            turn = wmath.so3_left_jacobian(r[at : at + 3] / weight)
            found = weight[:, None] * (turn @ (slopes[at : at + 3] / weight[:, None]))
            np.testing.assert_allclose(J[at : at + 3], found, atol=2e-8)
            part = slice(at + 3, at + count)
        elif row.kind == ik.POSTURE:
            weight = row.posture_weight
            scaled = slopes[part] / weight[:, None]
            plain = [d for d in range(n) if d not in range(3, 6) and d not in range(8, 11)]
            np.testing.assert_allclose(scaled[np.ix_(plain, plain)], np.eye(len(plain)), atol=1e-8)
            np.testing.assert_allclose(J[part], np.diag(weight), atol=0)
            at += count
            continue
        np.testing.assert_allclose(J[part], slopes[part], atol=2e-8)
        at += count
    assert at == len(r)


def test_columns_are_those_of_the_joints_that_may_move():
    model, rng = whole_model(), np.random.default_rng(4)
    n = model.joint_dof_count
    rows, some = all_rows(model, rng)[:-1], [1, 4, 6, 8, 11]
    every = ik.IkProblem(model, range(n), rows, np.full(n, -np.inf), np.full(n, np.inf))
    few = ik.IkProblem(model, some, rows, np.full(n, -np.inf), np.full(n, np.inf))
    q = wm.random_configuration(model, 2)[None]
    np.testing.assert_array_equal(few.evaluate(q)[0], every.evaluate(q)[0])
    np.testing.assert_array_equal(few.evaluate(q)[1], every.evaluate(q)[1][:, :, some])


def frame_matrix(model, q, label):
    return wmath.pose_to_transform(wm.forward_kinematics(model, q)[list(model.body_label).index(label)])


def test_every_task_does_what_it_says():
    model = whole_model()
    q0 = wm.random_configuration(model, 8)
    goal = wmath.se3_exp([0.3, -0.2, 0.5, 0.4, 0.1, -0.2])
    cases = {
        "pose": wk.PoseTask("b", goal, offset=[0.1, 0, 0.2, 0, 0, 0, 1]),
        "relative": wk.PoseTask("b", goal, reference="d"),
        "position": wk.PositionTask("b", (0.2, 0.3, 0.1), reference="e", point=(0, 0, 0.3)),
        "orientation": wk.OrientationTask("d", goal[:3, :3], reference="b"),
        "look": wk.LookAtTask("b", (0.1, 0, 0.2), axis=(1, 2, 3), reference="d", origin=(0.1, 0, 0)),
        "mass": wk.CenterOfMassTask((0.1, 0.2, 0.3)),
        "coupling": wk.CouplingTask(1, 5, ratio=-0.5, offset=0.3),
        "constant": wk.CouplingTask(2, offset=0.7),
        "posture": wk.PostureTask(wm.random_configuration(model, 9), weight=1.0, tolerance=1e-8),
    }
    for name, task in cases.items():
        made = wk.solve_ik(model, task, start=q0)
        assert made.success, (name, made)
        q, T = made.q, lambda label, q=made.q: frame_matrix(model, q, label)
        if name == "pose":
            tool = T("b") @ wmath.make_transform(np.eye(3), [0.1, 0, 0.2])
            np.testing.assert_allclose(tool, goal, atol=1e-8)
        elif name == "relative":
            np.testing.assert_allclose(wmath.se3_inverse(T("d")) @ T("b"), goal, atol=2e-8)
        elif name == "position":
            np.testing.assert_allclose(T("b") @ [0, 0, 0.3, 1], T("e") @ [0.2, 0.3, 0.1, 1], atol=2e-8)
        elif name == "orientation":
            np.testing.assert_allclose(T("b")[:3, :3].T @ T("d")[:3, :3], goal[:3, :3], atol=2e-8)
        elif name == "look":
            view = T("b")[:3, :3] @ np.array([1, 2, 3]) / np.sqrt(14)
            line = (T("d") @ [0.1, 0, 0.2, 1] - T("b") @ [0.1, 0, 0, 1])[:3]
            np.testing.assert_allclose(view, line / np.linalg.norm(line), atol=2e-8)
        elif name == "mass":
            np.testing.assert_allclose(wm.center_of_mass(model, q), [0.1, 0.2, 0.3], atol=1e-8)
        elif name == "coupling":
            assert q[model.joint_q_start[1]] == pytest.approx(
                -0.5 * q[model.joint_q_start[5]] + 0.3, abs=1e-8
            )
        elif name == "constant":
            assert q[model.joint_q_start[2]] == pytest.approx(0.7, abs=1e-8)
        else:
            np.testing.assert_allclose(wm.difference(model, q, task.target), 0.0, atol=2e-8)
        # what no task depends on stays where it was
        if name in ("pose", "mass", "constant"):
            free = [
                c
                for c in range(model.joint_coord_count)
                if name == "constant" and c != model.joint_q_start[2]
            ]
            np.testing.assert_array_equal(q[free], q0[free])


def test_balance_is_a_bound_and_costs_nothing_inside():
    model = whole_model()
    square = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2), (0.0, 0.1)]
    task = wk.BalanceTask(square, margin=0.05)
    assert len(task.edges) == 4
    made = wk.solve_ik(
        model, [task, wk.PositionTask("b", (0.5, 0.1, 0.2))], start=wm.random_configuration(model, 8)
    )
    c = wm.center_of_mass(model, made.q)
    assert made.success and np.abs(c[:2]).max() <= 0.15 + 1e-8
    inside = wk.solve_ik(model, task, start=made.q)
    np.testing.assert_array_equal(inside.q, made.q)


def test_soft_posture_chooses_among_solutions():
    robot = iiwa()
    X, starts = targets_of(robot, 1)
    pose = wk.PoseTask(robot.tip, X[0], tolerance=1e-3)
    rest = np.full(7, 0.3)
    far = wk.solve_ik(robot.model, pose, start=starts[0], method="levenberg-marquardt")
    near = wk.solve_ik(
        robot.model, [pose, wk.PostureTask(rest, weight=1e-3)], start=starts[0], method="levenberg-marquardt"
    )
    assert near.success and np.linalg.norm(near.q - rest) < np.linalg.norm(far.q - rest)


def test_a_target_out_of_reach_is_told_from_tasks_that_contradict_each_other():
    robot = panda()
    X, starts = targets_of(robot, 2)
    far = wk.solve_ik(robot.model, wk.PositionTask(robot.tip, (3, 0, 0), name="far"), start=starts[0])
    assert not far.success and far.tasks[0].alone is False
    assert "'far' is" in far.message and "does not reach alone" in far.message
    # the closest point of the arm is the best answer: stretched out towards the target
    at = wm.forward_kinematics(robot.model, far.q)[robot.tip]
    assert far.tasks[0].error == pytest.approx(np.linalg.norm(at[:3] - [3, 0, 0]), abs=1e-12)
    both = wk.solve_ik(robot.model, [wk.PoseTask(robot.tip, x) for x in X], start=starts[0])
    assert not both.success and [task.alone for task in both.tasks] == [True, True]
    assert "contradict" in both.message
    assert [report.method for report in both.methods] == ["damped-least-squares", "levenberg-marquardt"]
    assert all(report.reason.startswith("rejected") and not report.success for report in both.methods)
    with pytest.raises(OperationError, match="not solved"):
        both.apply()


@pytest.mark.parametrize("far", [1e10, 1e155, 1e300])
def test_a_target_whose_square_overflows_is_out_of_reach(far):
    made = wk.solve_ik(iiwa().model, wk.PositionTask(iiwa().tip, (far, 0, 0)), max_restarts=2)
    assert not made.success and made.tasks[0].error == pytest.approx(far) and not made.tasks[0].alone


def test_the_closest_reachable_point_is_found():
    """A leg of two links in a plane: the best answer to a target out of reach is on the line to it."""
    builder = wm.ModelBuilder()
    a, b = builder.add_link(label="a"), builder.add_link(label="b")
    joints = [builder.add_joint_revolute(-1, a, axis="z")]
    joints += [builder.add_joint_revolute(a, b, axis="z", parent_xform=[1, 0, 0, 0, 0, 0, 1])]
    builder.add_articulation(joints)
    model = builder.finalize()
    made = wk.solve_ik(model, wk.PositionTask("b", (3, 4, 0), point=(1, 0, 0)), start=[0.3, 0.4])
    assert made.tasks[0].error == pytest.approx(3.0, abs=1e-6)
    assert made.q[0] % (2 * np.pi) == pytest.approx(np.arctan2(4, 3), abs=1e-3)


@pytest.mark.parametrize("method", ["damped-least-squares", "levenberg-marquardt"])
def test_limits_hold_in_every_method(method):
    robot = quadruped_leg()
    low, high = limits_of(robot.model)
    rng = np.random.default_rng(0)
    for _ in range(30):
        # most of these are out of reach: the search ends at limits
        goal = rng.uniform(-0.6, 0.6, 3)
        made = wk.solve_ik(
            robot.model,
            wk.PositionTask(robot.tip, goal),
            start=rng.uniform(low, high),
            method=method,
            max_restarts=5,
        )
        assert (made.q >= low).all() and (made.q <= high).all()
    outside = wk.solve_ik(
        robot.model, wk.PositionTask(robot.tip, (0.18, -0.13, -0.35)), start=[9.0, 9.0, 9.0]
    )
    assert (outside.q >= low).all() and (outside.q <= high).all()
    free = wk.solve_ik(
        robot.model, wk.CouplingTask(0, offset=2.0), start=np.zeros(3), limits=False, method=method
    )
    assert free.success and free.q[0] == pytest.approx(2.0)
    assert not wk.solve_ik(
        robot.model, wk.CouplingTask(0, offset=2.0), start=[0, 1, -1], method=method
    ).success


def test_damped_least_squares_stays_close_to_the_start():
    robot = iiwa()
    rng = np.random.default_rng(2)
    q = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.9, 0.1])
    for _ in range(20):
        goal = wm.forward_kinematics(robot.model, q + rng.uniform(-0.05, 0.05, 7))[robot.tip]
        made = wk.solve_ik(robot.model, wk.PoseTask(robot.tip, goal), start=q)
        assert made.success and made.method == "damped-least-squares"
        assert np.abs(made.q - q).max() < 0.3


def test_answers_are_reproducible():
    robot = panda()
    X, starts = targets_of(robot, 200)
    first, again = (
        wk.solve_ik_batch(robot.model, task_of(robot), X, starts=starts, seed=3) for _ in range(2)
    )
    np.testing.assert_array_equal(first.q, again.q)
    other = wk.solve_ik_batch(robot.model, task_of(robot), X, starts=starts, seed=4)
    assert (other.q != first.q).any() and other.success.all()


def two_arms():
    """Two arms of a World, a rigid body, and frames on them."""
    world = sx.World()
    ends = []
    for k in range(2):
        arm = world.add_multibody(f"arm_{k}")
        link = arm.add_link("base")
        for j, axis in enumerate(((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))):
            offset = (0, 0.6 * k, 0.1) if j == 0 else (0, 0, 0.3)
            spec = sx.JointSpec(
                name=f"j{j}", axis=axis, transform_to_parent=wmath.make_transform(np.eye(3), offset)
            )
            link = arm.add_link(f"l{j}", parent=link, joint=spec)
        ends.append(link)
    box = world.add_rigid_body("box", position=(0.4, 0.3, 0.8))
    return world, ends, box


def test_two_arms_of_a_world_hold_a_box():
    world, (left, right), box = two_arms()
    tool = world.add_fixed_frame("tool", left, wmath.make_transform(np.eye(3), [0, 0, 0.1]))
    grip = wmath.make_transform(wmath.so3_exp([0, np.pi / 2, 0]), [0, -0.1, 0])
    tasks = [wk.PoseTask(tool, grip, reference=box), wk.PositionTask(right, (0, 0.1, 0), reference=box)]
    before = world.state_vector.copy()
    arms = [*world.multibodies["arm_0"].joints, *world.multibodies["arm_1"].joints]
    made = wk.solve_ik(world, tasks, joints=arms)
    assert made.success, made
    np.testing.assert_array_equal(world.state_vector, before)
    made.apply()
    np.testing.assert_allclose(tool.transform, box.transform @ grip, atol=1e-7)
    np.testing.assert_allclose(right.translation, box.translation + np.array([0, 0.1, 0]), atol=1e-7)
    np.testing.assert_allclose(box.translation, [0.4, 0.3, 0.8])
    # without a choice of joints the box, which is free, moves as well
    anywhere = wk.solve_ik(world, wk.PoseTask(tool, grip, reference=box))
    assert anywhere.success
    whole = wk.solve_ik(world, wk.PositionTask(left, (0.2, 0.1, 0.9)), joints=world.multibodies["arm_0"])
    assert whole.success


def test_closures_of_a_world_as_tasks():
    for family, distance in (("RIGID", 0), ("POINT", 0), ("DISTANCE", 0.25), ("AXIS", 0)):
        world, (left, right), _ = two_arms()
        closure = world.add_loop_closure(
            "loop",
            frame_a=left,
            frame_b=right,
            family=sx.LoopClosureFamily[family],
            offset_a=wmath.se3_exp([0.1, 0.2, 0.3, 0.05, 0, 0.1]),
            offset_b=wmath.se3_exp([0.4, -0.2, 0.1, 0.0, 0, 0.15]),
            distance=distance,
        )
        closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
        start = np.random.default_rng(1).uniform(-1, 1, world.state_vector.size // 2)
        model = world._live().model
        q = np.array(model.joint_q)
        q[:6], q[6:12] = start[:6], start[6:12]
        made = wk.solve_ik(world, wk.ClosureTask(closure), start=q)
        assert made.success, made
        made.apply()
        residual = closure.compute_residual()
        assert residual.norm < 2e-8, family
        assert made.tasks[0].error == pytest.approx(residual.norm, abs=1e-12)


def test_residuals_of_closures_are_those_of_the_closure():
    for family in sx.LoopClosureFamily:
        world, (left, right), _ = two_arms()
        closure = world.add_loop_closure(
            "loop",
            frame_a=left,
            frame_b=right,
            family=family,
            offset_a=wmath.se3_exp([0.1, 0.2, 0.3, 0.05, 0, 0.1]),
            offset_b=wmath.se3_exp([0.4, -0.2, 0.1, 0.0, 0, 0.15]),
            distance=0.3 if family is sx.LoopClosureFamily.DISTANCE else 0.0,
        )
        model = world._live().model
        q = np.array(model.joint_q)
        q[:12] = np.random.default_rng(1).uniform(-1, 1, 12)
        world._live().sim.q[:] = q
        world._live().sim.written()
        question = Question(subject_of(world), [wk.ClosureTask(closure)], None, q, True)
        error = question.errors(question.problem(), q)[0]
        residual = closure.compute_residual()
        wanted = residual.norm
        # the chord between the axes, which has no kink at a right angle
        a, b = (left.transform @ closure.offset_a)[:3, 2], (right.transform @ closure.offset_b)[:3, 2]
        if family in (sx.LoopClosureFamily.AXIS, sx.LoopClosureFamily.REVOLUTE):
            wanted = np.hypot(np.linalg.norm(residual.translation), np.linalg.norm(a - b))
        elif family is sx.LoopClosureFamily.PLANAR:
            wanted = np.hypot(residual.value[0], np.linalg.norm(a - b))
        elif family is sx.LoopClosureFamily.UNIVERSAL:
            # the tilt towards x, stretched as the chord is
            tilt = residual.value[3] * np.sqrt(2.0 / (1.0 + a @ b))
            wanted = np.hypot(np.linalg.norm(residual.translation), tilt)
        assert error == pytest.approx(wanted, rel=1e-12), family


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda m: wk.solve_ik(m, []), "at least one task"),
        (lambda m: wk.solve_ik(m, ["x"]), "tasks of worldline.kinematics"),
        (lambda m: wk.solve_ik("x", wk.PositionTask(0, (0, 0, 0))), "World or a Model"),
        (lambda m: wk.solve_ik(m, wk.PositionTask("bb", (0, 0, 0))), "no body 'bb'"),
        (lambda m: wk.solve_ik(m, wk.PositionTask(99, (0, 0, 0))), "0 to 5"),
        (lambda m: wk.solve_ik(m, wk.PositionTask("b", (0, 0, 0)), method="newton"), "must be one of"),
        (lambda m: wk.solve_ik(m, wk.PositionTask("b", (0, 0, 0)), start=[0.0]), "start of inverse"),
        (lambda m: wk.solve_ik(m, wk.PositionTask("b", (0, 0, 0)), joints=["hinge"]), "no joint 'hinge'"),
        (lambda m: wk.solve_ik(m, wk.PositionTask("b", (0, 0, 0)), max_iterations=0), "from 1 on"),
        (lambda m: wk.solve_ik(m, wk.ClosureTask("x")), "loop closure of a World"),
        (lambda m: wk.solve_ik(m, wk.CouplingTask(3)), "one degree of freedom"),
        (lambda m: wk.solve_ik(m, [wk.PostureTask(), wk.PostureTask()]), "at most one posture"),
        (lambda m: wk.PositionTask("b", (0, 0)), "3 numbers"),
        (lambda m: wk.PositionTask("b", (0, 0, np.nan)), "finite"),
        (lambda m: wk.PoseTask("b", np.eye(3)), "4x4 matrix or 7 numbers"),
        (lambda m: wk.PoseTask("b", np.eye(4), weight=[1, 2]), "6 numbers"),
        (lambda m: wk.PoseTask("b", np.eye(4), weight=0.0), "not all zero"),
        (lambda m: wk.PoseTask("b", np.eye(4), tolerance=0.0), "tolerance"),
        (lambda m: wk.LookAtTask("b", (0, 0, 1), axis=(0, 0, 0)), "axis"),
        (lambda m: wk.BalanceTask([(0, 0), (1, 1), (2, 2)]), "in line"),
        (lambda m: wk.BalanceTask([(0, 0), (1, 0), (0, 1)], margin=2.0), "leaves nothing"),
        (lambda m: wk.solve_ik_batch(m, wk.PostureTask(), [[0.0]]), "pose or position"),
        (lambda m: wk.solve_ik_batch(m, wk.PositionTask("b", (0, 0, 0)), [[0, 0, np.inf]]), "finite"),
        (lambda m: wk.solve_ik_batch(m, wk.PositionTask("b", (0, 0, 0)), [[0, 0, 1]], threads=-1), "threads"),
        (
            lambda m: wk.solve_ik_batch(m, wk.PositionTask("b", (0, 0, 0)), [[0, 0, 1]], starts=[1.0]),
            "starts",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call(whole_model())


def test_frames_of_other_worlds_are_refused():
    world, (left, _), _ = two_arms()
    _, (foreign, _), _ = two_arms()
    with pytest.raises(ArgumentError, match="another World"):
        wk.solve_ik(world, wk.PositionTask(foreign, (0, 0, 0)))
    with pytest.raises(ArgumentError, match="frame, body or link"):
        wk.solve_ik(world, wk.PositionTask("left", (0, 0, 0)))
    with pytest.raises(OperationError, match="no state of its own"):
        wk.solve_ik(whole_model(), wk.CouplingTask(1, offset=0.1)).apply()
    made = wk.solve_ik(world, wk.PositionTask(left, (0.2, 0.1, 0.9)))
    with world.edit():
        world.add_rigid_body("late")
    with pytest.raises(OperationError, match="compiled anew"):
        made.apply()


@pytest.mark.parametrize("name", ["solve", "tasks"])
def test_examples_of_inverse_kinematics(name):
    done = doctest.testmod(importlib.import_module(f"worldline._src.kinematics.{name}"))
    assert done.failed == 0 and done.attempted > 1
    assert all(getattr(wk, each).__doc__ for each in wk.__all__)


@pytest.mark.parametrize("weight", [0.25, 1.0, 8.0, (4.0, 1.0, 1.0)])
def test_errors_of_tasks_are_without_their_weights(weight):
    """A cart on a slide along x with a goal 0.3 m beside it: what is left is 0.3 m, however much it weighs."""
    world = sx.World()
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
    cart = robot.add_link("cart", robot.add_link("root"), spec, mass=1.0)
    made = wk.solve_ik(world, wk.PositionTask(cart, (0.5, 0.3, 0.0), weight=weight, tolerance=1e-3))
    assert not made.success
    assert made.tasks[0].error == pytest.approx(0.3, rel=1e-6)
    assert made.methods[-1].error == pytest.approx(300.0, rel=1e-6)


def five_bar(shift=0.0):
    """Two arms of two links, shoulders 0.4 m apart, whose ends are pinned together."""
    world, ends = sx.World(), []
    for name, x, angles in (("left", shift, (2.2, -1.4)), ("right", shift + 0.4, (0.9, 1.4))):
        arm, link = world.add_multibody(name), None
        for joint, along in (("shoulder", x), ("elbow", 0.3)):
            spec = sx.JointSpec(
                joint, axis=(0, 0, 1), transform_to_parent=wmath.make_transform(np.eye(3), [along, 0, 0])
            )
            link = arm.add_link(f"{name} {joint}", link, spec)
        arm.joints.position = angles
        ends.append(link)
    tip = wmath.make_transform(np.eye(3), [0.5, 0, 0])
    spec = sx.LoopClosureSpec(*ends, sx.LoopClosureFamily.POINT, tip, tip)
    pin = world.add_loop_closure("pin", spec)
    return world, ends[0], pin


@pytest.mark.parametrize("project", [True, False])
def test_closures_stay_closed(project):
    """The end of a five-bar at a point: elbows where circles about the shoulder and the point meet."""
    world, lower, pin = five_bar()
    if project:
        pin.runtime_policy = sx.LoopClosureRuntimePolicy(
            kinematics=sx.ClosureKinematicsPolicy.PROJECT, dynamics=sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
        )
    task = wk.PositionTask(lower, (0.2, 0.6, 0), point=(0.5, 0, 0))
    answer = wk.solve_ik(world, task)
    assert answer.success and [each.name for each in answer.tasks][1:] == ["closure pin"]
    answer.apply()
    np.testing.assert_allclose((lower.transform @ [0.5, 0, 0, 1])[:2], [0.2, 0.6], atol=2e-8)
    assert pin.compute_residual().norm < 2e-8
    for name, x in (("left", 0.0), ("right", 0.4)):
        shoulder, elbow = world.multibodies[name].joints.position
        assert np.cos(elbow) == pytest.approx(((0.2 - x) ** 2 + 0.36 - 0.34) / 0.3, abs=1e-7)
        assert np.isfinite(shoulder)
    # one arm alone cannot move, and what is not asked for is not closed
    moved = wk.PositionTask(lower, (0.1, 0.6, 0), point=(0.5, 0, 0))
    held = wk.solve_ik(world, moved, joints=world.multibodies["left"])
    assert not held.success and "closure pin" in held.message and "contradict" in held.message
    before = world.multibodies["right"].joints.position
    alone = wk.solve_ik(world, task, closures=False)
    assert alone.success and len(alone.tasks) == 1
    np.testing.assert_array_equal(world.multibodies["right"].joints.position, before)


def test_closures_that_nothing_acts_on_or_of_other_joints_do_not_count():
    world, lower, pin = five_bar()
    world.add_multibody("beside").add_link("cart", joint=sx.JointSpec("slide", axis=(0, 0, 1)))
    cart = world.multibodies["beside"].links["cart"]
    beside = wk.solve_ik(world, wk.PositionTask(cart, (0, 0, 0)))
    assert len(beside.tasks) == 1
    pin.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    task = wk.PositionTask(lower, (0.2, 0.6, 0), point=(0.5, 0, 0))
    assert len(wk.solve_ik(world, task).tasks) == 1
    pin.dynamics = sx.ClosureDynamicsPolicy.SOLVE
    given = wk.solve_ik(world, [task, wk.ClosureTask(pin)])
    assert given.success and len(given.tasks) == 2, "one that is a task already"
    # above lower priorities
    least = wk.PositionTask(lower, (2.0, 0.6, 0), point=(0.5, 0, 0), priority=1)
    ranked = wk.solve_ik(world, [wk.PostureTask(weight=1e-6), least])
    assert not ranked.tasks[1].met and ranked.tasks[2].met and ranked.tasks[2].name == "closure pin"
    with pytest.raises(ValueError, match="closures of inverse kinematics must be True or False"):
        wk.solve_ik(world, task, closures="pin")


def test_motions_keep_closures():
    world, lower, pin = five_bar()
    angle = np.linspace(0.0, 2.0 * np.pi, 30)
    circle = np.stack([0.2 + 0.05 * np.cos(angle), 0.55 + 0.05 * np.sin(angle), 0 * angle], axis=1)
    task = wk.PositionTask(lower, (0, 0, 0), point=(0.5, 0, 0), tolerance=1e-3)
    made = wk.solve_ik_motion(world, task, circle)
    assert made.success and made.error.shape == (30, 2) and made.error[:, 1].max() < 1e-7
    noise = np.random.default_rng(0).normal(size=(30, 1, 3)) * 1e-3
    point = world.add_fixed_frame("point", lower, wmath.make_transform(np.eye(3), [0.5, 0, 0]))
    fitted = wk.fit_markers(world, [point], circle[:, None] + noise, smoothness=1e-4)
    assert fitted.error.shape == (30, 1) and fitted.error.mean() < 3e-3
    for q in fitted.q[::10]:
        world._live().sim.q[:] = q
        world._live().sim.written()
        assert pin.compute_residual().norm < 1e-8
