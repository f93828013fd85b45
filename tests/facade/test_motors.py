# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Servos, mimic motors, gears and speed limits against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError

STEP = 0.001


def wheel(robot, name: str, inertia: float, parent=None):
    link = robot.add_link(name, parent=parent, joint=sx.JointSpec(name=f"{name}_joint", axis=(0, 0, 1)))
    link.mass, link.inertia = 1.0, np.diag([inertia] * 3)
    return robot.joints[f"{name}_joint"]


@pytest.fixture
def world() -> sx.World:
    return sx.World(time_step=STEP, gravity=(0, 0, 0))


@pytest.fixture
def robot(world):
    return world.add_multibody("robot")


def test_a_servo_reaches_its_speed_within_a_step_when_it_is_strong(world, robot):
    joint = wheel(robot, "a", 0.5)
    joint.actuator_type = sx.ActuatorType.SERVO
    joint.command_velocity = [2.0]
    world.step()
    assert joint.velocity[0] == pytest.approx(2.0, rel=1e-6)


def test_a_weak_servo_accelerates_with_its_effort_limit(world, robot):
    joint = wheel(robot, "a", 0.5)
    joint.actuator_type = sx.ActuatorType.SERVO
    joint.effort_limits = [3.0]
    joint.command_velocity = [2.0]
    world.step(100)
    assert joint.velocity[0] == pytest.approx(3.0 / 0.5 * 0.1, rel=1e-9)
    world.step(1000)
    assert joint.velocity[0] == pytest.approx(2.0, rel=1e-6)


def test_a_servo_holds_a_load_up_to_its_effort_limit():
    world = sx.World(time_step=STEP)
    arm = world.add_multibody("arm")
    link = arm.add_link("bar", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)))
    link.mass, link.center_of_mass = 2.0, (0.5, 0, 0)
    link.inertia = np.diag([0.01] * 3)
    hinge = arm.joints["hinge"]
    hinge.actuator_type = sx.ActuatorType.SERVO
    hinge.effort_limits = [12.0]
    world.step(500)
    assert abs(hinge.position[0]) < 1e-6
    hinge.effort_limits = [9.0]
    world.step(1)
    # the weight turns with m g l = 9.81 N m, the inertia about the hinge is 0.51
    assert abs(hinge.acceleration[0]) == pytest.approx((9.81 - 9.0) / 0.51, rel=1e-3)


def test_changing_to_a_servo_and_back_keeps_the_state(world, robot):
    joint = wheel(robot, "a", 0.5)
    joint.velocity = [1.0]
    world.step(10)
    q = joint.position[0]
    joint.actuator_type = sx.ActuatorType.SERVO
    assert joint.position[0] == q and joint.velocity[0] == 1.0
    joint.actuator_type = sx.ActuatorType.FORCE
    joint.force = [0.5]
    world.step(10)
    assert joint.velocity[0] == pytest.approx(1.0 + 10 * STEP)


def test_a_mimic_motor_follows_and_its_leader_feels_nothing(world, robot):
    leader, follower = wheel(robot, "a", 0.5), wheel(robot, "b", 2.0)
    follower.set_mimic_joint(leader, multiplier=-2.0, offset=0.3)
    follower.actuator_type = sx.ActuatorType.MIMIC
    leader.force = [1.0]
    world.step(200)
    assert leader.velocity[0] == pytest.approx(1.0 / 0.5 * 0.2, rel=1e-12)
    assert follower.position[0] == pytest.approx(-2.0 * leader.position[0] + 0.3, abs=1e-6)


def test_a_weak_mimic_motor_lags(world, robot):
    leader, follower = wheel(robot, "a", 0.5), wheel(robot, "b", 2.0)
    follower.set_mimic_joint(leader)
    follower.actuator_type = sx.ActuatorType.MIMIC
    follower.effort_limits = [1.0]
    leader.velocity = [1.0]
    world.step(100)
    assert follower.velocity[0] == pytest.approx(1.0 / 2.0 * 0.1, rel=1e-9)


def test_a_gear_gives_both_joints_equal_and_opposite_efforts(world, robot):
    leader, follower = wheel(robot, "a", 0.5), wheel(robot, "b", 2.0)
    follower.set_mimic_joint(leader, multiplier=3.0)
    follower.use_coupler_constraint = True
    follower.actuator_type = sx.ActuatorType.MIMIC
    leader.force = [1.0]
    world.step(100)
    # power in = power out: the leader carries the follower's inertia times the square of the ratio
    assert leader.velocity[0] == pytest.approx(1.0 / (0.5 + 9.0 * 2.0) * 0.1, rel=1e-6)
    assert follower.velocity[0] == pytest.approx(3.0 * leader.velocity[0], rel=1e-9)


def test_what_a_joint_cannot_follow(world, robot):
    joint, other = wheel(robot, "a", 0.5), wheel(robot, "b", 2.0)
    with pytest.raises(ArgumentError, match="itself"):
        joint.set_mimic_joint(joint)
    with pytest.raises(ArgumentError, match="below 1"):
        joint.set_mimic_joint(other, dof=1)
    with pytest.raises(OperationError, match="follows no other"):
        joint.use_coupler_constraint = True


def test_a_speed_limit_pushes_back_on_the_rest(world, robot):
    """A speed limit is an effort within the tree: angular momentum about the axis stays what it was."""
    first = wheel(robot, "a", 0.5)
    second = wheel(robot, "b", 0.2, parent=robot.links["a"])
    second.velocity_limits = [1.0]
    second.velocity = [0.999]
    first.velocity = [0.5]
    second.force = [4.0]

    def momentum():
        return 0.5 * first.velocity[0] + 0.2 * (first.velocity[0] + second.velocity[0])

    before = momentum()
    world.step(50)
    assert second.velocity[0] == pytest.approx(1.0, abs=1e-6)
    assert momentum() == pytest.approx(before, rel=1e-6)


def test_speed_and_position_limits_act_in_the_variational_family(world, robot):
    joint = wheel(robot, "a", 0.5)
    joint.velocity_limits = [1.0]
    joint.set_position_limits(-2.0, 0.4)
    world.multibody_options = sx.MultibodyOptions(integration_family="variational")
    joint.force = [5.0]
    # the limit of the speed is reached after 0.1 s and 0.05 rad
    while joint.position[0] < 0.3:
        world.step()
        assert joint.velocity[0] < 1.0 + 1e-6
    assert world.time == pytest.approx(0.1 + 0.25 / 1.0, abs=2.0 * world.time_step)
    world.step(500)
    assert joint.position[0] == pytest.approx(0.4, abs=1e-8) and abs(joint.velocity[0]) < 1e-6
