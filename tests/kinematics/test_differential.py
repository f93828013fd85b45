# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: a controller within steps, and its bounded least squares."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from kinematic_robots import panda
from scipy.optimize import lsq_linear

import worldline.model as wm
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.step import ik_problem as ik


def test_velocities_are_the_bounded_least_squares_of_scipy():
    robot = panda()
    model, rng = robot.model, np.random.default_rng(0)
    low, high = model.joint_limit_lower, model.joint_limit_upper
    h, gain, damping = 0.05, 8.0, 1e-3
    active = 0
    for _ in range(200):
        q, goal = rng.uniform(low, high, (2, 7))
        last, top, change = rng.uniform(-0.3, 0.3, 7), rng.uniform(0.3, 2.0), rng.uniform(2.0, 20.0)
        pose = wm.forward_kinematics(model, goal)[robot.tip]
        row = ik.TaskRow(ik.POSE, a=robot.tip, target=pose)
        r, J = (part[0] for part in ik.IkProblem(model, range(7), [row], low, high).evaluate(q[None]))
        task = wk.PoseTask(robot.tip, pose)
        control = wk.DifferentialIk(
            model, task, gain=gain, damping=damping, max_velocity=top, max_acceleration=change
        )
        made = control.velocity(q, h, last)
        # these limits of position are far enough away not to count
        least, most = np.maximum(last - change * h, -top), np.minimum(last + change * h, top)
        if (q + h * least < low).any() or (q + h * most > high).any():
            continue
        room = np.minimum(q - low, high - q)
        if (np.abs(made) > np.sqrt(2.0 * change * room) - change * h).any():
            continue
        whole = np.vstack([J, np.sqrt(damping) * np.eye(7)])
        b = np.concatenate([-gain * r, np.zeros(7)])
        theirs = lsq_linear(whole, b, (least, most), method="bvls", tol=1e-14)
        np.testing.assert_allclose(made, theirs.x, atol=1e-8)
        assert (made >= least).all() and (made <= most).all()
        active += int(((made == least) | (made == most)).sum())
    assert active > 100, "bounds hold"


def test_many_copies_move_as_each_alone():
    robot = panda()
    model, rng = robot.model, np.random.default_rng(3)
    low, high = model.joint_limit_lower, model.joint_limit_upper
    q, goals = rng.uniform(low, high, (2, 21, 7))
    last = rng.uniform(-0.3, 0.3, (21, 7))
    poses = wm.forward_kinematics(model, goals)[:, robot.tip]
    for options in ({}, {"max_velocity": 0.8, "max_acceleration": 10.0}):
        control = wk.DifferentialIk(model, wk.PoseTask(robot.tip, poses[0]), gain=20.0, **options)
        made = control.velocities(q, 0.01, last, poses)
        np.testing.assert_array_equal(made, control.velocities(q, 0.01, last, poses, threads=2))
        matrices = control.velocities(q, 0.01, last, wmath.pose_to_transform(poses))
        np.testing.assert_allclose(made, matrices, rtol=1e-6)
        same = control.velocities(q, 0.01, last)
        for k in range(21):
            np.testing.assert_array_equal(same[k], control.velocity(q[k], 0.01, last[k]))
        for k in range(21):
            control.set_task(0, wk.PoseTask(robot.tip, poses[k]))
            np.testing.assert_array_equal(made[k], control.velocity(q[k], 0.01, last[k]))
    # several priorities, one after the other
    tasks = [wk.PositionTask(robot.tip, poses[0, :3]), wk.PostureTask(goals[0], weight=1.0, priority=1)]
    levels = wk.DifferentialIk(model, tasks)
    made = levels.velocities(q[:3], 0.01, last[0])
    np.testing.assert_array_equal(made, [levels.velocity(each, 0.01, last[0]) for each in q[:3]])
    for call, words in (
        (lambda: levels.velocities(q[:3], 0.01, targets=poses[:3]), "one pose or position task"),
        (lambda: control.velocities(q[0], 0.01), "shape"),
        (lambda: control.velocities(q, 0.01, last[:3]), "last"),
        (lambda: control.velocities(q, 0.01, targets=poses[:3]), "one row a copy"),
        (lambda: control.velocities(q, 0.01, threads=-1), "threads"),
        (lambda: control.velocities(np.where(q > 0, np.nan, q), 0.01), "finite"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()


def driven_arm():
    world = sx.World(gravity=(0, 0, 0), time_step=0.005)
    arm = world.add_multibody("arm")
    link = arm.add_link("base")
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]):
        spec = sx.JointSpec(
            f"j{k}", axis=axis, transform_to_parent=wmath.make_transform(np.eye(3), (0, 0, 0.25))
        )
        link = arm.add_link(f"l{k}", link, spec, mass=1.0, inertia=(0.01, 0.01, 0.01))
    for joint in arm.joints:
        joint.actuator_type = sx.ActuatorType.VELOCITY
    arm.joints.position = [0.2, 0.5, 0.8, 0.3, 0.6, 0.1]
    return world, arm, link


def test_a_hand_follows_a_circle_within_steps():
    world, arm, hand = driven_arm()
    start = hand.transform

    def goal(time):
        turned = start.copy()
        turned[:3, 3] += 0.05 * np.array([np.cos(2 * time) - 1, np.sin(2 * time), 0])
        return wk.PoseTask(hand, turned)

    control = wk.DifferentialIk(world, goal(0.0), gain=100.0)

    def lead(step):
        control.set_task(0, goal(step.time))
        control(step)

    world.add_controller("lead", lead)
    worst = 0.0
    for _ in range(60):
        world.step(n=10)
        worst = max(worst, np.linalg.norm(hand.transform[:3, 3] - goal(world.time).target[:3]))
        assert np.abs(hand.transform[:3, :3] - start[:3, :3]).max() < 2e-3
    # it lags by speed / gain, which is 0.1 m/s over 100/s
    assert worst < 2e-3 and np.abs(arm.joints.velocity).max() > 0.05
    clone = world.clone()
    with pytest.raises(OperationError, match="no other"):
        clone.step()


def test_bounds_of_velocity_acceleration_and_position_hold():
    robot = panda()
    model = robot.model
    low, high = model.joint_limit_lower, model.joint_limit_upper
    rng = np.random.default_rng(1)
    h, top, change = 0.01, 0.8, 4.0
    for _ in range(5):
        q, goal = rng.uniform(low, high, (2, 7))
        pose = wm.forward_kinematics(model, goal)[robot.tip]
        control = wk.DifferentialIk(
            model, wk.PoseTask(robot.tip, pose), gain=20.0, max_velocity=top, max_acceleration=change
        )
        v = np.zeros(7)
        for _ in range(400):
            before, v = v, control.velocity(q, h, v)
            assert np.abs(v).max() <= top + 1e-12
            assert np.abs(v - before).max() <= change * h + 1e-9
            q = q + h * v
            assert (q >= low - 1e-12).all() and (q <= high + 1e-12).all()


def test_a_gain_of_one_step_is_a_step_of_newton():
    robot = panda()
    q = np.array([0.1, 0.3, -0.2, -1.5, 0.2, 1.4, 0.5])
    goal = wm.forward_kinematics(robot.model, q + 1e-4)[robot.tip]
    task = wk.PoseTask(robot.tip, goal)
    v = wk.DifferentialIk(robot.model, task, gain=100.0, damping=1e-12).velocity(q, 0.01)
    after = wm.forward_kinematics(robot.model, q + 0.01 * v)[robot.tip]
    assert np.linalg.norm(after[:3] - goal[:3]) < 1e-7


def test_compiled_anew_it_goes_on():
    world, _, hand = driven_arm()
    goal = wk.PositionTask(hand, hand.translation + np.array([0.05, 0.0, -0.05]))
    world.add_controller("ik", wk.DifferentialIk(world, goal, gain=40.0))
    world.step(n=10)
    with world.edit():
        world.add_rigid_body("first", position=(5, 5, 5))
    world.step(n=200)
    np.testing.assert_allclose(hand.translation, goal.target, atol=1e-5)


def sliding_cart(target):
    """A cart on a slide whose speeds are between -0.2 and 1 m/s, led towards a place by 5/s."""
    world = sx.World(gravity=(0, 0, 0), time_step=0.01)
    robot = world.add_multibody("robot")
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
    cart = robot.add_link("cart", robot.add_link("root"), spec, mass=1.0)
    robot.joints["slide"].set_velocity_limits([-0.2], [1.0])
    world.add_controller("ik", wk.DifferentialIk(world, wk.PositionTask(cart, (target, 0, 0)), gain=5.0))
    return world, robot.joints["slide"]


def test_target_positions_are_one_step_ahead():
    world, slide = sliding_cart(0.1)
    slide.position = [0.02]
    world.step()
    # v = gain (target - q) = 5 (0.1 - 0.02), and q + h v
    np.testing.assert_allclose(slide.target_velocity, 0.4, rtol=1e-5)
    np.testing.assert_allclose(slide.target_position, 0.02 + 0.01 * 0.4, rtol=1e-5)


@pytest.mark.parametrize(("target", "speed"), [(-1.0, -0.2), (1.0, 1.0)])
def test_limits_of_speed_differ_by_direction(target, speed):
    world, slide = sliding_cart(target)
    world.step()
    np.testing.assert_allclose(slide.target_velocity, speed, rtol=1e-12)


def test_what_differential_kinematics_refuses():
    robot = panda()
    task = wk.PositionTask(robot.tip, (0.3, 0, 0.5))
    for call, words in (
        (lambda: wk.DifferentialIk(robot.model, task, gain=0.0), "gain"),
        (lambda: wk.DifferentialIk(robot.model, task, damping=-1.0), "damping"),
        (lambda: wk.DifferentialIk(robot.model, task, max_velocity=[1.0]), "max_velocity"),
        (lambda: wk.DifferentialIk(robot.model, task, max_velocity=np.array(1 + 2j)), "max_velocity.*real"),
        (lambda: wk.DifferentialIk(robot.model, task, max_velocity=10**400), "max_velocity.*larger"),
        (lambda: wk.PoseTask(robot.tip, np.array([0, 0, 0, 0, 0, 0, 1 + 2j])), "pose.*real"),
        (lambda: wk.DifferentialIk(robot.model, task).velocity(np.zeros(3), 0.01), "q must be"),
        (lambda: wk.DifferentialIk(robot.model, task).velocity(np.zeros(7), 0.0), "time_step"),
        (lambda: wk.DifferentialIk(robot.model, task).set_task(1, task), "index 1"),
        (
            lambda: wk.DifferentialIk(robot.model, task).set_task(0, wk.PositionTask(0, (0, 0, 0))),
            "frames, weights and priority stay",
        ),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
    made = wk.DifferentialIk(robot.model, task)
    made.set_task(0, wk.PositionTask(robot.tip, (0.4, 0, 0.5)))
    assert made.tasks[0].target.tolist() == [0.4, 0.0, 0.5]


def test_examples_of_differential_kinematics():
    done = doctest.testmod(importlib.import_module("worldline._src.kinematics.differential"))
    assert done.failed == 0 and done.attempted > 5
