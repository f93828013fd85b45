# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics in closed form: every branch reproduces the pose, and none is missing."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from kinematic_robots import chain_of, finger, humanoid_arm, iiwa, panda, quadruped_leg, ur5

import worldline.model as wm
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline._src.kinematics.subproblems import circle_angles

PI = np.pi
Z = (0, 0, 1)
WIDE = (-PI, PI)


def puma():
    """Denavit and Hartenberg's parameters of the PUMA 560 as poses of hinges."""
    joints = [
        ((0, 0, 0.6718), (0, 0, 0), Z),
        ((0, 0, 0), (PI / 2, 0, 0), Z),
        ((0.4318, 0, 0.15005), (0, 0, 0), Z),
        ((0.0203, 0, 0), (-PI / 2, 0, 0), Z),
        ((0, 0, 0.4318), (PI / 2, 0, 0), Z),
        ((0, 0, 0), (-PI / 2, 0, 0), Z),
    ]
    return chain_of("puma", joints, [WIDE] * 6, ((0, 0, 0.05), (0.1, 0.2, 0.3)))


def skew_wrist(seed):
    """Three hinges anyhow in space, and three that meet with anyhow directions."""
    rng = np.random.default_rng(seed)
    joints = [(rng.uniform(-0.4, 0.4, 3), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)) for _ in range(4)]
    joints += [((0, 0, 0), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)) for _ in range(2)]
    return chain_of("skew", joints, [WIDE] * 6, (rng.uniform(-0.2, 0.2, 3), (0, 0, 0)))


def planar():
    joints = [((0, 0, 0.1), (0.3, 0, 0), Z), ((0.5, 0, 0.05), (0, 0, 0), Z), ((0.4, 0, 0), (PI, 0, 0), Z)]
    return chain_of("planar", joints, [WIDE] * 3, ((0.2, 0.1, 0), (0, 0, 0)))


CASES = {
    "puma": (puma, None, "6R spherical wrist", 8),
    "skew": (lambda: skew_wrist(1), None, "6R spherical wrist", 8),
    "ur5": (ur5, None, "6R parallel axes", 8),
    "panda": (panda, range(6), "6R spherical shoulder", 8),
    "iiwa": (iiwa, None, "7R spherical shoulder and wrist", 8),
    "humanoid": (humanoid_arm, None, "7R spherical shoulder and wrist", 8),
    "planar": (planar, None, "3R planar", 2),
    "leg": (quadruped_leg, None, "3R point", 4),
}


def task_of(robot, goal=None):
    if robot.position_only:
        return wk.PositionTask(robot.tip, (0, 0, 0) if goal is None else goal[:3])
    return wk.PoseTask(robot.tip, [0, 0, 0, 0, 0, 0, 1] if goal is None else goal)


@pytest.mark.parametrize("name", CASES)
def test_every_branch_reproduces_the_pose_and_the_one_it_came_from_is_among_them(name):
    make, joints, family, most = CASES[name]
    robot = make()
    model = robot.model
    low, high = np.array(model.joint_limit_lower), np.array(model.joint_limit_upper)
    arm = wk.AnalyticIk(model, task_of(robot), joints=joints)
    assert arm.family == family
    rng = np.random.default_rng(5)
    counts = []
    for _ in range(40):
        q = rng.uniform(low, high)
        goal = wm.forward_kinematics(model, q)[robot.tip]
        start = np.zeros(len(q)) if joints is None else np.where(np.arange(len(q)) < 6, 0.0, q)
        elbow = {"elbow_angle": arm.elbow_angle(q)} if family.startswith("7R") else {}
        made = arm.solve(goal[:3] if robot.position_only else goal, start=start, **elbow)
        assert (made.q >= low).all() and (made.q <= high).all()
        far = np.abs(wmath.wrap_angle(made.q - q)).max(axis=1)
        assert far.min() < 1e-7
        wanted = wmath.pose_to_transform(goal)
        for x, error in zip(made.q, made.error, strict=True):
            T = wmath.pose_to_transform(wm.forward_kinematics(model, x)[robot.tip])
            gap = np.abs((T - wanted)[:3, 3] if robot.position_only else T - wanted).max()
            assert gap < 1e-12 and error == pytest.approx(gap, abs=1e-15)
            if elbow:
                assert wmath.wrap_angle(arm.elbow_angle(x) - elbow["elbow_angle"]) == pytest.approx(
                    0, abs=1e-8
                )
        # sorted by the distance from the start
        lengths = np.linalg.norm(made.q - start, axis=1)
        assert (np.diff(lengths) >= -1e-12).all()
        counts.append(
            len(arm.solve(goal[:3] if robot.position_only else goal, start=start, limits=False, **elbow).q)
        )
    assert max(counts) == most and min(counts) >= 1
    if name in ("ur5", "puma", "iiwa", "humanoid", "planar"):
        assert np.mean(counts) > 0.7 * most


def test_no_branch_is_missing():
    """The numerical method from many starts finds no other solution."""
    robot = skew_wrist(3)
    rng = np.random.default_rng(0)
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    for _ in range(3):
        goal = wm.forward_kinematics(robot.model, rng.uniform(-PI, PI, 6))[robot.tip]
        all_of_them = arm.solve(goal).q
        starts = rng.uniform(-PI, PI, (200, 6))
        found = wk.solve_ik_batch(
            robot.model, task_of(robot), np.tile(goal, (200, 1)), starts=starts, max_restarts=0
        )
        for q in found.q[found.success]:
            assert np.abs(wmath.wrap_angle(all_of_them - q)).max(axis=1).min() < 1e-5


def test_two_links_in_a_plane():
    """Law of cosines: elbow up and down."""
    robot = quadruped_leg()
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    q = np.array([0.2, 0.5, -1.4])
    foot = wm.forward_kinematics(robot.model, q)[robot.tip][:3]
    hip = wm.forward_kinematics(robot.model, q)[1][:3]
    made = arm.solve(foot, limits=False)
    squared = np.sum((foot - hip) ** 2)
    wanted = np.arccos((squared - 0.08) / 0.08)
    # the two that keep the hip have the knee angles of the law of cosines
    same = made.q[np.abs(wmath.wrap_angle(made.q[:, 0] - 0.2)) < 1e-9]
    np.testing.assert_allclose(sorted(wmath.wrap_angle(same[:, 2])), [-wanted, wanted], atol=1e-12)


def test_singular_poses_keep_the_angle_of_the_start_that_does_not_matter():
    robot = puma()
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    q = np.array([0.3, -0.4, 0.8, 0.7, 0.0, -0.2])
    goal = wm.forward_kinematics(robot.model, q)[robot.tip]
    for guess in (0.7, -1.1):
        start = q.copy()
        start[3] = guess
        made = arm.solve(goal, start=start)
        assert made.success and made.error.max() < 1e-12
        assert made.q[0][3] == pytest.approx(guess, abs=1e-6)
        assert made.q[0][3] + made.q[0][5] == pytest.approx(0.5, abs=1e-6)
    # stretched out: the edge of the range
    edge = wm.forward_kinematics(iiwa().model, np.zeros(7))[7]
    made = wk.AnalyticIk(iiwa().model, wk.PoseTask(7, edge)).solve(start=np.full(7, 0.1), elbow_angle=0.4)
    assert made.success and made.error.max() < 1e-12


def test_targets_out_of_reach_have_no_branch():
    for robot in (puma(), ur5(), iiwa(), planar()):
        arm = wk.AnalyticIk(robot.model, wk.PoseTask(robot.tip, [5, 0, 0, 0, 0, 0, 1]))
        made = arm.solve()
        assert not made.success and made.q.shape == (0, robot.model.joint_coord_count)
    # a pose that is not in the plane of a planar arm
    robot = planar()
    goal = wm.forward_kinematics(robot.model, [0.1, 0.2, 0.3])[robot.tip].copy()
    goal[2] += 0.01
    assert not wk.AnalyticIk(robot.model, wk.PoseTask(robot.tip, goal)).solve().success


def test_limits_of_several_turns_and_limits_that_leave_branches_out():
    robot = ur5()
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    q = np.array([0.3, -1.0, 1.2, -0.4, 0.9, 0.2])
    goal = wm.forward_kinematics(robot.model, q)[robot.tip]
    start = q + 2 * PI * np.array([0, 0, 0, 0, 0, -1])
    near = arm.solve(goal, start=start).q[0]
    np.testing.assert_allclose(near, start, atol=1e-9)
    # beyond the limit of two turns a turn is taken off
    far = arm.solve(goal, start=q + 2 * PI * np.array([0, 0, 0, 0, 0, 3])).q
    assert (np.abs(far) <= 2 * PI).all()
    robot = humanoid_arm()
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    q = np.array([-0.5, -0.4, 0.2, -1.0, 0.3, 0.1, 0.4])
    goal = wm.forward_kinematics(robot.model, q)[robot.tip]
    free = arm.solve(goal, start=q, limits=False)
    assert len(free.q) == 8 and len(arm.solve(goal, start=q).q) < 8


def test_rounded_axes_still_give_all_digits():
    """Files often have angles of five digits: axes miss each other by micrometres."""
    joints = [
        ((0, 0, 0.6718), (0, 0, 0), Z),
        ((0, 0, 0), (1.5708, 0, 0), Z),
        ((0.4318, 0, 0.15005), (0, 0, 0), Z),
        ((0.0203, 0, 0), (-1.5708, 0, 0), Z),
        ((1e-6, 0, 0.4318), (1.5708, 0, 0), Z),
        ((0, -2e-6, 0), (-1.5708, 0, 0), Z),
    ]
    robot = chain_of("rounded", joints, [WIDE] * 6, ((0, 0, 0.05), (0, 0, 0)))
    arm = wk.AnalyticIk(robot.model, task_of(robot))
    goal = wm.forward_kinematics(robot.model, [0.3, -1.0, 1.2, -0.4, 0.9, 0.2])[robot.tip]
    made = arm.solve(goal)
    assert len(made.q) == 8 and made.error.max() < 1e-12


def test_an_arm_of_a_world_on_a_base_that_moved():
    world = sx.World()
    arm = world.add_multibody("arm")
    link = arm.add_link("base", joint=sx.JointSpec("free", sx.JointType.FLOATING))
    base = link
    offsets = [(0, 0, 0.3), (0, 0, 0.1), (0, 0, 0.4), (0, 0, 0.3), (0, 0, 0), (0, 0, 0)]
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]
    for k, (p, axis) in enumerate(zip(offsets, axes, strict=True)):
        X = wmath.make_transform(np.eye(3), p)
        link = arm.add_link(f"l{k}", link, sx.JointSpec(f"j{k}", axis=axis, transform_to_parent=X))
    tool = world.add_fixed_frame("tool", link, wmath.make_transform(np.eye(3), (0, 0, 0.1)))
    hinges = [arm.joints[f"j{k}"] for k in range(6)]
    for k, joint in enumerate(hinges):
        joint.position = [0.2 + 0.1 * k]
    arm.joints["free"].position = [0.4, -0.2, 0.3, 0.1, 0.2, 0.3]
    local = wmath.se3_inverse(base.transform) @ tool.transform
    task = wk.PoseTask(tool, local, reference=base)
    with pytest.raises(ArgumentError, match="hinges"):
        wk.AnalyticIk(world, task)
    solver = wk.AnalyticIk(world, task, joints=hinges)
    assert solver.family == "6R spherical wrist"
    # the base moves on, the goal moves with it
    arm.joints["free"].position = [-0.3, 0.5, 0.1, -0.4, 0.1, 0.9]
    made = solver.solve()
    assert made.success and made.error.max() < 1e-12
    np.testing.assert_allclose(made.q[0][-6:], [0.2 + 0.1 * k for k in range(6)], atol=1e-9)
    with pytest.raises(ArgumentError, match="must not move"):
        wk.AnalyticIk(world, wk.PoseTask(tool, np.eye(4), reference=arm.links["l2"]), joints=hinges).solve()


def test_what_has_no_closed_form_is_refused():
    with pytest.raises(ArgumentError, match="no closed form"):
        wk.AnalyticIk(panda().model, wk.PoseTask(7, [0, 0, 0, 0, 0, 0, 1]))
    with pytest.raises(ArgumentError, match="4 joints"):
        wk.AnalyticIk(finger().model, wk.PositionTask(4, (0, 0, 0)))
    with pytest.raises(ArgumentError, match="pose or position"):
        wk.AnalyticIk(ur5().model, wk.CenterOfMassTask((0, 0, 0)))
    with pytest.raises(ArgumentError, match="positive"):
        wk.AnalyticIk(ur5().model, wk.PoseTask(6, [0, 0, 0, 0, 0, 0, 1], weight=[1, 1, 1, 1, 1, 0]))
    arm = wk.AnalyticIk(ur5().model, wk.PoseTask(6, [0, 0, 0, 0, 0, 0, 1]))
    with pytest.raises(ArgumentError, match="no elbow angle"):
        arm.solve(elbow_angle=0.1)
    with pytest.raises(ArgumentError, match="no elbow angle"):
        arm.elbow_angle(np.zeros(6))


def test_examples_of_analytic_inverse_kinematics():
    done = doctest.testmod(importlib.import_module("worldline._src.kinematics.analytic"))
    assert done.failed == 0 and done.attempted > 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_target_that_rounding_puts_past_the_edge_has_the_angle_of_the_edge(sign):
    """c cos + s sin = d has the extreme values +-|(c, s)|, at the angle of (c, s) and opposite to it."""
    c, s = 0.6, 0.8
    angles = circle_angles(c, s, sign * (1.0 + 1e-12), 1.0)
    assert angles
    for angle in angles:
        assert (np.cos(angle), np.sin(angle)) == pytest.approx((sign * c, sign * s), abs=1e-12)
    assert circle_angles(c, s, sign * 1.001, 1.0) == []
