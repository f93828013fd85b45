# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole-body control on four legs, the IK handle of end effectors, and all of them together."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline.collision import CollisionShape


def shift(x=0.0, y=0.0, z=0.0):
    return wmath.make_transform(np.eye(3), [x, y, z])


def quadruped():
    """A trunk of 8 kg on four legs of three hinges with balls for feet, standing on a floor."""
    world = sx.World(time_step=0.002)
    robot = world.add_multibody("robot")
    trunk = robot.add_link(
        "trunk",
        joint=sx.JointSpec("base", type=sx.JointType.FLOATING),
        mass=8.0,
        inertia=np.diag([0.1, 0.2, 0.25]),
    )
    feet, bar = [], {"mass": 0.4, "inertia": 2e-3 * np.eye(3), "center_of_mass": (0, 0, -0.1)}
    for k, (x, y) in enumerate([(0.25, 0.15), (0.25, -0.15), (-0.25, 0.15), (-0.25, -0.15)]):
        hip = robot.add_link(
            f"hip_{k}",
            trunk,
            sx.JointSpec(f"roll_{k}", axis=(1, 0, 0), transform_to_parent=shift(x, y)),
            mass=0.3,
            inertia=1e-3 * np.eye(3),
        )
        thigh = robot.add_link(f"thigh_{k}", hip, sx.JointSpec(f"pitch_{k}", axis=(0, 1, 0)), **bar)
        spec = sx.JointSpec(f"knee_{k}", axis=(0, 1, 0), transform_to_parent=shift(z=-0.2))
        shank = robot.add_link(f"shank_{k}", thigh, spec, **bar)
        shank.add_collision_shape(CollisionShape.sphere(0.02, shift(z=-0.2)))
        feet.append(shank)
        robot.joints[f"pitch_{k}"].position = [0.7]
        robot.joints[f"knee_{k}"].position = [-1.4]
    height = 0.4 * np.cos(0.7) + 0.02
    robot.joints["base"].position = [0, 0, height, 0, 0, 0]
    floor = world.add_rigid_body("floor", position=(0, 0, -0.5))
    floor.is_static = True
    floor.add_collision_shape(CollisionShape.box((4, 4, 0.5)))
    for joint in robot.joints:
        if joint.name != "base":
            joint.actuator_type = sx.ActuatorType.FORCE
    contacts = [wk.PositionTask(foot, (0, 0, 0), point=(0, 0, -0.2)) for foot in feet]
    return world, robot, trunk, feet, contacts


def test_a_quadruped_moves_its_trunk_and_keeps_its_feet():
    world, robot, trunk, feet, contacts = quadruped()
    start = trunk.transform
    goal = start @ shift(0.03, 0.02, -0.05)
    goal[:3, :3] = wmath.so3_exp([0.05, 0.1, -0.08])
    standing = [foot.transform @ [0, 0, -0.2, 1] for foot in feet]
    control = wk.WholeBodyController(world, wk.PoseTask(trunk, goal), contacts, friction=0.5)
    world.add_controller("stand", control)
    world.step(n=1000)
    np.testing.assert_allclose(trunk.transform, goal, atol=2e-3)
    for foot, at in zip(feet, standing, strict=True):
        np.testing.assert_allclose(foot.transform @ [0, 0, -0.2, 1], at, atol=5e-3)
    # at rest contacts carry the weight, by forces within the cone
    weight = 9.81 * robot.mass
    assert control.contact_forces[:, 2].sum() == pytest.approx(weight, rel=1e-3)
    sideways = np.linalg.norm(control.contact_forces[:, :2], axis=1)
    assert (sideways <= 0.5 * control.contact_forces[:, 2] + 1e-9).all()
    assert len(control.tasks) == 1


def test_without_a_base_it_is_operational_space_control():
    """A robot that is bolted down has neither contacts nor joints without motors."""
    world = sx.World(time_step=0.001)
    arm = world.add_multibody("arm")
    link = arm.add_link("base")
    for k in range(2):
        spec = sx.JointSpec(f"j{k}", axis=(0, 1, 0), transform_to_parent=shift(0.3 if k else 0.0))
        bar = {"mass": 1.0, "inertia": 0.01 * np.eye(3), "center_of_mass": (0.15, 0, 0)}
        link = arm.add_link(f"l{k}", link, spec, **bar)
    arm.joints.position = [0.3, 0.8]
    goal = wk.PositionTask(link, (0.2, 0, -0.3), point=(0.3, 0, 0), weight=(1, 0, 1))
    whole = wk.WholeBodyController(world, goal, posture_weight=0.0)
    space = wk.OperationalSpaceController(world, goal, stiffness=100.0)
    q, v = np.array([0.3, 0.8]), np.array([0.4, -0.2])
    np.testing.assert_allclose(whole.forces(q, v), space.forces(q, v), atol=1e-6)


def test_efforts_stay_below_their_limit_and_what_cannot_stand_is_said():
    world, _, trunk, _, contacts = quadruped()
    goal = trunk.transform @ shift(0, 0, 0.02)
    q, v = wk.solve_ik(world, wk.PoseTask(trunk, trunk.transform)).q, np.zeros(24)
    control = wk.WholeBodyController(
        world, wk.PoseTask(trunk, goal), contacts, max_effort=12.0, stiffness=1e4
    )
    tau = control.forces(q, v)
    assert np.abs(tau).max() == pytest.approx(12.0, abs=1e-6) and not tau[:6].any()
    hanging = wk.WholeBodyController(world, wk.PoseTask(trunk, goal), contacts, min_force=1e4, max_effort=1.0)
    with pytest.raises(OperationError, match="cannot hold the robot"):
        hanging.forces(q, v)
    with pytest.raises(ArgumentError, match="contacts are position tasks"):
        control.set_contacts([wk.PoseTask(trunk, goal)])
    control.set_contacts(contacts[:3])
    assert control.contact_forces.shape == (3, 3)


def arm_with_tool():
    world = sx.World()
    arm = world.add_multibody("arm")
    link = arm.add_link("base")
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]):
        height = (0.3, 0.1, 0.4, 0.3, 0.0, 0.0)[k]
        link = arm.add_link(
            f"l{k}", link, sx.JointSpec(f"j{k}", axis=axis, transform_to_parent=shift(z=height))
        )
    return world, arm, arm.add_end_effector("tool", link, shift(z=0.1))


def test_an_end_effector_keeps_its_own_ik():
    world, arm, tool = arm_with_tool()
    assert tool.ik is tool.ik and tool.ik.end_effector is tool
    np.testing.assert_allclose(tool.ik.target[:3], tool.translation)
    goal = wmath.make_transform(wmath.so3_exp([0, 1.2, 0.3]), (0.3, 0.2, 0.6))
    tool.ik.target = goal
    before = world.state_vector
    found = tool.ik.find_solution()
    assert found.success
    np.testing.assert_array_equal(world.state_vector, before)
    assert tool.ik.solve_and_apply().success
    np.testing.assert_allclose(tool.transform, goal, atol=1e-7)
    assert tool.ik.analytic().family == "6R spherical wrist"
    # a position alone leaves the orientation free; a frame is followed where it is
    tool.ik.target = (0.35, 0.1, 0.5)
    assert tool.ik.solve_and_apply().success
    np.testing.assert_allclose(tool.translation, (0.35, 0.1, 0.5), atol=1e-7)
    with world.edit():
        ball = world.add_rigid_body("ball", position=(0.3, -0.2, 0.6))
    tool.ik.target = ball
    assert tool.ik.reference is ball and tool.ik.solve_and_apply().success
    np.testing.assert_allclose(tool.translation, ball.translation, atol=1e-7)
    # out of reach: nothing moves
    before = world.state_vector
    tool.ik.target = (3.0, 0, 0)
    assert not tool.ik.solve_and_apply(max_restarts=2).success
    np.testing.assert_array_equal(world.state_vector, before)
    tool.ik.joints = [arm.joints["j0"]]
    assert len(tool.ik.joints) == 1
    tool.ik.use_chain()
    assert len(tool.ik.joints) == 6
    for name, wrong in (("hierarchy_level", -1), ("active", 1), ("weight", [1, 2]), ("tolerance", -1.0)):
        with pytest.raises(ArgumentError):
            setattr(tool.ik, name, wrong)


def test_all_end_effectors_together_by_their_levels():
    world = sx.World()
    robot = world.add_multibody("robot")
    torso = robot.add_link("torso", robot.add_link("root"), sx.JointSpec("turn", axis=(0, 0, 1)))
    tools = []
    for name, y in (("left", 0.2), ("right", -0.2)):
        upper = robot.add_link(
            f"{name}_upper", torso, sx.JointSpec(f"{name}_a", axis=(0, 0, 1), transform_to_parent=shift(0, y))
        )
        lower = robot.add_link(
            f"{name}_lower", upper, sx.JointSpec(f"{name}_b", axis=(0, 0, 1), transform_to_parent=shift(0.4))
        )
        tools.append(robot.add_end_effector(f"{name}_hand", lower, shift(0.4)))
    both = {"left": (0.5, 0.3, 0.0), "right": (0.4, -0.4, 0.0)}
    for tool, goal in zip(tools, both.values(), strict=True):
        tool.ik.target = goal
    whole = wk.WholeBodyIk(robot, wk.PostureTask(tolerance=None, weight=1e-3, priority=5))
    assert whole.solve_and_apply().success and len(whole.tasks) == 3
    for tool, goal in zip(tools, both.values(), strict=True):
        np.testing.assert_allclose(tool.translation, goal, atol=1e-6)
    # a goal that the second cannot reach costs the first nothing
    tools[0].ik.hierarchy_level, tools[1].ik.hierarchy_level = 0, 1
    tools[1].ik.target = (2.0, -2.0, 0.0)
    found = wk.WholeBodyIk(robot).find_solution()
    assert not found.success and [task.met for task in found.tasks] == [True, False]
    tools[1].ik.active = False
    assert wk.WholeBodyIk(robot).find_solution().success
