# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers of joint forces: operational space and impedance."""

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


def states(robot, count=5):
    rng = np.random.default_rng(4)
    low, high = np.array(robot.model.joint_limit_lower), np.array(robot.model.joint_limit_upper)
    for _ in range(count):
        middle, half = 0.5 * (low + high), 0.3 * (high - low)
        yield middle + rng.uniform(-half, half), rng.uniform(-1, 1, len(low))


def test_rows_and_drift_are_those_of_the_jacobian():
    robot = panda()
    for q, v in states(robot):
        controller = wk.OperationalSpaceController(robot.model, wk.PositionTask(robot.tip, (0.3, 0.1, 0.5)))
        state = controller.state(q, v)
        J = wm.jacobian(robot.model, q, robot.tip)[3:]
        np.testing.assert_allclose(state.J, J, atol=1e-12)
        np.testing.assert_allclose(state.rate, J @ v, atol=1e-12)
        drift = wm.jacobian_dot_times_v(robot.model, q, v, robot.tip)[3:]
        np.testing.assert_allclose(state.drift, drift, atol=1e-6)
        np.testing.assert_allclose(
            state.inverse_mass, np.linalg.inv(wm.mass_matrix(robot.model, q)), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("posture_stiffness", [0.0, 50.0])
def test_errors_of_tasks_obey_their_equation_of_motion(posture_stiffness):
    """Forward dynamics under the forces: r'' = -k r - 2 sqrt(k) r', whatever the posture asks."""
    robot = iiwa()
    for q, v in states(robot):
        goal = wm.forward_kinematics(robot.model, q + 0.2)[robot.tip]
        controller = wk.OperationalSpaceController(
            robot.model,
            wk.PoseTask(robot.tip, goal),
            stiffness=[80, 80, 80, 150, 150, 150],
            posture=np.zeros(7),
            posture_stiffness=posture_stiffness,
        )
        a = wm.forward_dynamics(robot.model, q, v, controller.forces(q, v))
        state = controller.state(q, v)
        k = np.array([80, 80, 80, 150, 150, 150.0])
        wanted = -k * state.error - 2 * np.sqrt(k) * state.rate
        np.testing.assert_allclose(state.J @ a + state.drift, wanted, atol=1e-5)


def test_what_is_left_free_has_the_least_kinetic_energy():
    robot = iiwa()
    q, v = next(states(robot))
    controller = wk.OperationalSpaceController(
        robot.model, wk.PositionTask(robot.tip, (0.4, 0.1, 0.6)), posture_stiffness=0.0
    )
    a = wm.forward_dynamics(robot.model, q, v, controller.forces(q, v))
    # across the null space of J in the metric of M
    free = np.linalg.svd(controller.state(q, v).J)[2][3:]
    np.testing.assert_allclose(free @ wm.mass_matrix(robot.model, q) @ a, 0.0, atol=1e-7)


def arm_world(actuator=sx.ActuatorType.FORCE, time_step=0.001):
    world = sx.World(time_step=time_step)
    arm = world.add_multibody("arm")
    link = arm.add_link("base")
    offsets = [0.3, 0.1, 0.2, 0.2, 0.2, 0.2, 0.1]
    axes = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]
    for k, (h, axis) in enumerate(zip(offsets, axes, strict=True)):
        X = wmath.make_transform(np.eye(3), (0, 0, h))
        spec = sx.JointSpec(f"j{k}", axis=axis, transform_to_parent=X, actuator_type=actuator)
        link = arm.add_link(f"l{k}", link, spec, mass=2.0 - 0.2 * k, inertia=0.02 * np.eye(3))
        arm.joints[f"j{k}"].position = [[0.2, 0.6, -0.1, 1.2, 0.1, 0.9, 0.0][k]]
    tool = world.add_fixed_frame("tool", link, wmath.make_transform(np.eye(3), (0, 0, 0.1)))
    return world, arm, link, tool


def test_an_arm_of_a_world_moves_like_a_mass_on_a_spring():
    world, _, _, tool = arm_world()
    start = tool.transform.copy()
    goal = start.copy()
    goal[:3, 3] += [0.05, -0.08, 0.04]
    world.add_controller(
        "osc", wk.OperationalSpaceController(world, wk.PoseTask(tool, goal), stiffness=100.0)
    )
    for steps in (100, 100, 200):
        world.step(n=steps)
        t = world.time
        left = (1 + 10 * t) * np.exp(-10 * t)
        np.testing.assert_allclose(
            tool.translation - goal[:3, 3], left * (start - goal)[:3, 3], atol=0.02 * 0.1
        )
    world.step(n=1600)
    np.testing.assert_allclose(tool.transform, goal, atol=1e-5)


def test_a_push_moves_the_tool_by_force_over_stiffness():
    world, arm, link, tool = arm_world(time_step=0.002)
    start = tool.transform.copy()
    stiffness = np.array([50, 50, 50, 400, 800, 200.0])
    world.add_controller(
        "impedance", wk.ImpedanceController(world, wk.PoseTask(tool, start), stiffness=stiffness)
    )
    world.step(n=50)
    np.testing.assert_allclose(tool.transform, start, atol=1e-4)
    push = np.array([2.0, -4.0, 3.0])
    world.add_force_element("push", lambda step: step.add_force(link, push, tool_point(step, link)))
    world.step(n=1500)
    # rows of a pose task are along the axes of the goal
    R = start[:3, :3]
    wanted = R @ (R.T @ push / stiffness[3:])
    np.testing.assert_allclose(tool.translation - start[:3, 3], wanted, rtol=2e-2, atol=1e-5)
    assert np.abs(arm.joints.velocity).max() < 1e-3


def tool_point(step, link):
    pose = step.body_q[step.body_row(link)]
    return pose[:3] + wmath.quaternion_rotate(pose[3:], [0, 0, 0.1])


def test_a_goal_that_moves_and_a_world_that_is_compiled_anew():
    world, _, _, tool = arm_world()
    controller = wk.OperationalSpaceController(
        world, wk.PositionTask(tool, tool.translation), stiffness=400.0
    )
    world.add_controller("osc", controller)
    world.step(n=10)
    goal = tool.translation + np.array([0.0, 0.05, 0.0])
    controller.set_task(0, wk.PositionTask(tool, goal))
    with world.edit():
        world.add_rigid_body("late", position=(3, 0, 0))
    world.step(n=1500)
    np.testing.assert_allclose(tool.translation, goal, atol=1e-4)
    other, *_ = arm_world()
    other.add_controller("osc", controller)
    with pytest.raises(OperationError, match="no other"):
        other.step()


@pytest.mark.parametrize("kind", [wk.OperationalSpaceController, wk.ImpedanceController])
def test_what_controllers_refuse(kind):
    world, _, _, tool = arm_world()
    task = wk.PositionTask(tool, (0, 0, 1))
    for call, words in (
        (lambda: kind(world, wk.PostureTask()), "tasks of frames"),
        (lambda: kind(world, wk.ObstacleTask(tool)), "tasks of frames"),
        (lambda: kind(world, []), "at least one task"),
        (lambda: kind(world, [task, wk.PositionTask(tool, (0, 0, 1), priority=1)]), "one priority"),
        (lambda: kind(world, wk.PositionTask(tool, (0, 0, 1), weight=0.5)), "weights 0 and 1"),
        (lambda: kind(world, task, stiffness=-1.0), "stiffness"),
        (lambda: kind(world, task, stiffness=[1.0, 2.0]), "a number or 3"),
        (lambda: kind(world, task, posture=[0.0]), "posture"),
        (lambda: kind(world, task).set_task(1, task), "index 1"),
        (lambda: kind(world, task).set_task(0, wk.OrientationTask(tool, [0, 0, 0, 1])), "kind stays"),
        (lambda: kind(arm_world(sx.ActuatorType.VELOCITY)[0], task), "another World"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
    servo, _, _, servo_tool = arm_world(sx.ActuatorType.VELOCITY)
    with pytest.raises(ArgumentError, match="FORCE; joint 'j0' has VELOCITY"):
        kind(servo, wk.PositionTask(servo_tool, (0, 0, 1)))


def test_examples_of_controllers():
    done = doctest.testmod(importlib.import_module("worldline._src.kinematics.controllers"))
    assert done.failed == 0 and done.attempted > 10
