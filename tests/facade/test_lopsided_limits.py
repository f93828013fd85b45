# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of velocity and effort that differ by direction, in a World, in arrays and in lanes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline.model import ModelBuilder

H, INERTIA = 0.001, 0.5
FAMILIES = [f for f in sx.MultibodyIntegrationFamily if "VARIATIONAL" not in f.name]


def wheel(family: sx.MultibodyIntegrationFamily | None = None) -> tuple[sx.World, sx.Joint]:
    world = sx.World(time_step=H, gravity=(0, 0, 0))
    if family is not None:
        world.multibody_options = sx.MultibodyOptions(integration_family=family)
    robot = world.add_multibody("robot")
    link = robot.add_link("wheel", joint=sx.JointSpec(name="hub", axis=(0, 0, 1)))
    link.mass, link.inertia = 1.0, np.diag([INERTIA] * 3)
    return world, robot.joints["hub"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_velocity_stays_within_both_limits(family):
    world, joint = wheel(family)
    joint.set_velocity_limits(-0.25, 1.0)
    for force, bound in ((5.0, 1.0), (-5.0, -0.25)):
        joint.force = [force]
        world.step(500)
        assert joint.velocity[0] == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("limits", [(-np.inf, 1.0), (-0.25, np.inf), (0.0, 1.0)])
def test_one_direction_may_be_free_or_closed(limits):
    world, joint = wheel()
    joint.set_velocity_limits(*limits)
    # other rows of the island make those of the limits stand ready
    joint.coulomb_friction = [1e-9]
    for force, bound in zip((-5.0, 5.0), limits, strict=True):
        joint.velocity, joint.force = [0.0], [force]
        world.step(500)
        free = force / INERTIA * 0.5
        assert joint.velocity[0] == pytest.approx(free if np.isinf(bound) else bound, abs=1e-6)


@pytest.mark.parametrize("family", sx.MultibodyIntegrationFamily)
def test_commands_and_drives_stay_within_both_efforts(family):
    world, joint = wheel(family)
    joint.set_effort_limits(-0.5, 2.0)
    joint.force = [9.0]
    world.step(100)
    assert joint.velocity[0] == pytest.approx(2.0 / INERTIA * 0.1, rel=1e-9)
    assert world.step_report().clamped_efforts == ("robot/hub",)
    joint.force = [-9.0]
    world.step(100)
    assert joint.velocity[0] == pytest.approx((2.0 - 0.5) / INERTIA * 0.1, rel=1e-9)


@pytest.mark.parametrize("limits", [(-0.5, 2.0), (-np.inf, 2.0), (-0.5, np.inf), (0.0, 2.0), (-2.0, 2.0)])
def test_a_servo_stays_within_both_efforts(limits):
    world, joint = wheel()
    joint.actuator_type = sx.ActuatorType.SERVO
    joint.set_effort_limits(*limits)
    low, high = limits
    joint.command_velocity = [10.0]
    world.step(100)
    fast = 10.0 if np.isinf(high) else high / INERTIA * 0.1
    assert joint.velocity[0] == pytest.approx(fast, rel=1e-6)
    cut = world.step_report().clamped_efforts
    assert cut == (("robot/hub",) if np.isfinite(high) else ())
    if np.isfinite(high):
        ledger = world.energy_ledger()
        mean = fast - 0.5 * H * high / INERTIA
        assert ledger.actuators == pytest.approx(high * mean * H, rel=1e-6)
        assert abs(ledger.unexplained) < 1e-12 and abs(ledger.limits) < 1e-9
    # an effort within the limits: half of what the upper one allows
    before, wanted = joint.velocity[0], 0.25 if np.isinf(high) else 0.5 * high
    joint.command_velocity = [before + wanted / INERTIA * H]
    world.step()
    ledger = world.energy_ledger()
    assert ledger.actuators == pytest.approx(wanted * (before + 0.5 * wanted / INERTIA * H) * H, rel=1e-6)
    assert abs(ledger.unexplained) < 1e-12 and abs(ledger.limits) < 1e-9
    fast = joint.velocity[0]
    joint.command_velocity = [0.0]
    world.step(50)
    slow = 0.0 if np.isinf(low) else max(0.0, fast + low / INERTIA * 0.05)
    assert joint.velocity[0] == pytest.approx(slow, abs=1e-5)


def test_degrees_of_freedom_differ():
    world = sx.World(time_step=H, gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    link = robot.add_link("plate", joint=sx.JointSpec(name="p", type=sx.JointType.PLANAR))
    link.mass, link.inertia = 2.0, np.eye(3)
    joint = robot.joints["p"]
    joint.set_velocity_limits([-1.0, -np.inf, -0.5], [0.5, 2.0, np.inf])
    joint.force = [50.0, 50.0, -50.0]
    world.step(500)
    assert joint.velocity == pytest.approx([0.5, 2.0, -0.5], abs=1e-6)
    # one that is set alone leaves the others
    robot.dofs[1].velocity_limit = 3.0
    assert joint.velocity_lower_limits.tolist() == [-1.0, -3.0, -0.5]
    assert joint.velocity_upper_limits.tolist() == [0.5, 3.0, np.inf]
    assert joint.velocity_limits.tolist() == [1.0, 3.0, np.inf]
    robot.dofs[0].set_effort_limits(-1.0, 4.0)
    assert joint.effort_lower_limits.tolist() == [-1.0, -np.inf, -np.inf]
    robot.joints.set_velocity_limits(-1.0, [1.0, 2.0, 3.0])
    assert robot.joints.velocity_upper_limits.tolist() == [1.0, 2.0, 3.0]
    assert robot.joints.velocity_lower_limits.tolist() == [-1.0] * 3


def test_what_limits_refuse():
    world, joint = wheel()
    joint.set_velocity_limits(-1.0, 2.0)
    for wrong in ((0.5, 1.0), (-2.0, -1.0)):
        for name in ("set_velocity_limits", "set_effort_limits"):
            with pytest.raises(ArgumentError, match=r"zero must be within the .* limits of joint 'hub'"):
                getattr(joint, name)(*wrong)
    with pytest.raises(ArgumentError, match="must not exceed"):
        joint.set_effort_limits(1.0, -1.0)
    with pytest.raises(ArgumentError, match="non-negative"):
        joint.velocity_limits = [-1.0]
    with pytest.raises(ArgumentError, match="non-negative"):
        world.multibodies["robot"].joints.velocity_limits = -1.0
    assert joint.velocity_lower_limits.tolist() == [-1.0] and joint.velocity_upper_limits.tolist() == [2.0]


def test_copies_and_files_keep_both_limits(tmp_path):
    world, joint = wheel()
    joint.set_velocity_limits(-1.0, 2.0)
    joint.set_effort_limits(-3.0, 4.0)
    world.to_scene().to_file(tmp_path / "scene.json")
    for made in (world.clone(), sx.World.from_scene(msd.from_file(tmp_path / "scene.json"))):
        copied = made.multibodies["robot"].joints["hub"]
        limits = (
            copied.velocity_lower_limits,
            copied.velocity_upper_limits,
            copied.effort_lower_limits,
            copied.effort_upper_limits,
        )
        assert [float(x[0]) for x in limits] == [-1.0, 2.0, -3.0, 4.0]
    # bounds of a state are those of the velocities, of a control those of the efforts
    states, controls = world.state_space(), world.control_space()
    assert (states.lower_bounds.tolist(), states.upper_bounds.tolist()) == ([-np.inf, -1.0], [np.inf, 2.0])
    assert (controls.lower_bounds.tolist(), controls.upper_bounds.tolist()) == ([-3.0], [4.0])
    text = world.to_scene().to_str(format="mjcf")
    model = mujoco.MjModel.from_xml_string(text)
    assert model.jnt_actfrcrange[0].tolist() == [-3.0, 4.0]


def built(**dof) -> wm.Model:
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=INERTIA * np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link, axis="z", **dof)])
    builder.gravity = (0, 0, 0)
    return builder.finalize()


def test_arrays_and_lanes_have_both_limits():
    model = built(velocity_limit=1.0, velocity_lower=-0.25, effort_limit=2.0, effort_lower=-0.5)
    assert model.joint_velocity_lower.tolist() == [-0.25] and model.joint_effort_lower.tolist() == [-0.5]
    lanes = wm.LaneSimulation(model, 5, time_step=H)
    lanes.force[:, 0] = [-9.0, -0.1, 0.0, 1.0, 9.0]
    lanes.step(50)
    efforts = np.array([-0.5, -0.1, 0.0, 1.0, 2.0])
    expected = np.clip(efforts / INERTIA * 0.05, -0.25, 1.0)
    assert lanes.v[:, 0] == pytest.approx(expected, abs=1e-9)
    lanes.step(1000)
    assert lanes.v[:, 0] == pytest.approx([-0.25, -0.21, 0.0, 1.0, 1.0], abs=1e-6)
    for k, force in enumerate(lanes.force[:, 0].tolist()):
        state, control = model.state(), model.control()
        control.joint_f[:] = force
        wm.step(model, state, control, steps=1050, dt=H)
        assert state.joint_qd[0] == lanes.v[k, 0]


def test_an_update_of_upper_limits_keeps_what_is_alike_alike():
    model = built(velocity_limit=1.0, effort_limit=2.0, effort_lower=-0.5)
    model.update(joint_velocity_limit=[3.0], joint_effort_limit=[4.0])
    assert model.joint_velocity_lower.tolist() == [-3.0] and model.joint_effort_lower.tolist() == [-0.5]
    with pytest.raises(ArgumentError, match="must not be positive"):
        model.update(joint_effort_lower=[1.0])
    with pytest.raises(ArgumentError, match="velocity_lower"):
        built(velocity_lower=0.5)
