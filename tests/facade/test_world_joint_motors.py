# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Motors of joints between bodies against closed forms and a MuJoCo model."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, SceneError, UnknownCapabilityError

TYPE, SPEC = sx.ActuatorType, sx.JointSpec
KINDS = {"hinge": sx.JointType.REVOLUTE, "slide": sx.JointType.PRISMATIC}
INERTIA = (0.3, 0.4, 0.5)
H = 0.001


def pair(kind: str, **options) -> tuple[sx.World, sx.WorldJoint]:
    """Two free bodies without gravity: masses 2 and 3, moments 0.5 and 1.0 about z, joined along z."""
    world = sx.World(time_step=H, gravity=(0, 0, 0), **options)
    a = world.add_rigid_body("a", mass=2.0, inertia=(0.3, 0.4, 0.5))
    b = world.add_rigid_body("b", mass=3.0, inertia=(0.8, 0.9, 1.0))
    return world, world.add_joint(a, b, SPEC(name="joint", type=KINDS[kind], axis=(0, 0, 1)))


def felt(kind: str) -> float:
    """Inertia that the coordinate of `pair` has: the reduced mass or moment."""
    m, n = (2.0, 3.0) if kind == "slide" else (0.5, 1.0)
    return m * n / (m + n)


def momenta(world: sx.World) -> np.ndarray:
    bodies = world.rigid_bodies
    linear = sum(body.mass * body.linear_velocity for body in bodies)
    angular = sum(
        body.angular_momentum + np.cross(body.translation, body.mass * body.linear_velocity)
        for body in bodies
    )
    return np.r_[linear, angular]


@pytest.mark.parametrize("kind", KINDS)
def test_a_force_acts_on_both_bodies(kind):
    world, joint = pair(kind)
    joint.force = [1.5]
    world.step(200)
    assert joint.velocity[0] == pytest.approx(1.5 / felt(kind) * 0.2, rel=1e-9)
    assert joint.effort[0] == 1.5 and joint.acceleration[0] == pytest.approx(1.5 / felt(kind), rel=1e-9)
    assert np.abs(momenta(world)).max() < 1e-9
    joint.set_effort_limits(-0.2, 0.5)
    world.step()
    assert joint.effort[0] == 0.5 and world.step_report().clamped_efforts == ("joint",)
    joint.force = [-4.0]
    world.step()
    assert joint.effort[0] == -0.2
    joint.actuator_type = TYPE.PASSIVE
    before = joint.velocity[0]
    world.step(10)
    assert joint.effort[0] == 0.0 and joint.velocity[0] == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [(-0.5, 2.0), (-np.inf, 2.0), (-0.5, np.inf), (0.0, 2.0)])
def test_a_servo_has_its_efforts_within_limits(kind, limits):
    world, joint = pair(kind)
    joint.actuator_type = TYPE.SERVO
    joint.set_effort_limits(*limits)
    low, high = limits
    joint.command_velocity = [1.0]
    world.step(100)
    if np.isfinite(high):
        # it pulls with all it has
        assert joint.velocity[0] == pytest.approx(min(1.0, high / felt(kind) * 0.1), rel=1e-6)
        assert joint.effort[0] == pytest.approx(high, rel=1e-6)
        world.step(2000)
    assert joint.velocity[0] == pytest.approx(1.0, rel=1e-6)
    assert joint.effort[0] == pytest.approx(0.0, abs=1e-4)
    joint.command_velocity = [0.0]
    world.step(100)
    slower = max(0.0, 1.0 + low / felt(kind) * 0.1) if low else 1.0
    assert joint.velocity[0] == pytest.approx(slower, abs=1e-6)
    assert np.abs(momenta(world)).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_velocity_is_reached_within_a_step_whatever_the_load(kind):
    world, joint = pair(kind)
    joint.actuator_type = TYPE.VELOCITY
    joint.set_effort_limits(-1e-3, 1e-3)
    joint.command_velocity = [2.0]
    world.step()
    assert joint.velocity[0] == pytest.approx(2.0, rel=1e-6)
    # limits are those of FORCE and SERVO
    assert joint.effort[0] == pytest.approx(2.0 * felt(kind) / H, rel=1e-6)
    world.step(100)
    assert joint.position[0] == pytest.approx(2.0 * 101 * H, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_an_acceleration_is_realised_and_a_lock_holds(kind):
    world, joint = pair(kind)
    joint.actuator_type = TYPE.ACCELERATION
    joint.command_acceleration = [3.0]
    world.step(100)
    assert joint.velocity[0] == pytest.approx(0.3, rel=1e-6)
    assert joint.effort[0] == pytest.approx(3.0 * felt(kind), rel=1e-6)
    at = joint.position[0]
    joint.actuator_type = TYPE.LOCKED
    # a command of another type is not followed
    joint.command_velocity = [5.0]
    body = world.rigid_bodies["b"]
    body.force, body.torque = (0, 0, 7.0), (0, 0, 7.0)
    world.step(500)
    assert joint.position[0] == pytest.approx(at, abs=1e-6) and abs(joint.velocity[0]) < 1e-6


def test_a_spinning_pair_keeps_its_momentum():
    """The axis turns with the bodies: Coriolis terms belong to the row."""
    world, joint = pair("slide")
    for body in world.rigid_bodies:
        body.angular_velocity = (0.0, 2.0, 0.0)
    joint.actuator_type = TYPE.VELOCITY
    joint.command_velocity = [0.5]
    before = momenta(world)
    world.step(400)
    assert momenta(world) == pytest.approx(before, abs=1e-6)
    assert joint.velocity[0] == pytest.approx(0.5, rel=1e-4)


ARM = """<mujoco><compiler angle="radian"/><option timestep="0.0005" gravity="0 0 -9.81"/><worldbody>
<body name="bar"><joint name="hinge" axis="0 1 0"/>
  <inertial pos="0.5 0 0" mass="2" diaginertia="0.02 0.1 0.1"/>
  <body name="rider" pos="1 0 0"><joint name="rail" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></worldbody>
<actuator><motor joint="hinge" name="hinge"/><motor joint="rail" name="rail"/></actuator></mujoco>"""


def test_efforts_move_an_arm_as_in_mujoco():
    """The same arm of two free bodies on a hinge and a rail, and as a tree in MuJoCo."""
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    world = sx.World(time_step=0.0005)
    bar = world.add_rigid_body("bar", mass=2.0, position=(0.5, 0, 0), inertia=(0.02, 0.1, 0.1))
    rider = world.add_rigid_body("rider", mass=0.5, position=(1, 0, 0), inertia=(0.01, 0.01, 0.01))
    hinge = world.add_joint(
        bar, SPEC(name="hinge", axis=(0, 1, 0), parent_anchor=(0, 0, 0), child_anchor=(-0.5, 0, 0))
    )
    rail = world.add_joint(bar, rider, SPEC(name="rail", type=sx.JointType.PRISMATIC, axis=(1, 0, 0)))
    rng = np.random.default_rng(2)
    for _ in range(20):
        efforts = rng.normal(size=2) * (15.0, 4.0)
        data.ctrl[:] = efforts
        hinge.force, rail.force = efforts[:1], efforts[1:]
        mujoco.mj_step(model, data, 50)
        world.step(50)
    # two integrators of first order over half a second
    assert hinge.position[0] == pytest.approx(data.qpos[0], abs=2e-3)
    assert rail.position[0] == pytest.approx(data.qpos[1], abs=2e-3)
    assert hinge.velocity[0] == pytest.approx(data.qvel[0], abs=2e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_velocity_limit_holds_whatever_pulls(kind):
    world, joint = pair(kind)
    joint.set_velocity_limits(-0.25, 1.0)
    joint.force = [20.0]
    world.step(500)
    assert joint.velocity[0] == pytest.approx(1.0, rel=1e-6)
    joint.force = [-20.0]
    world.step(500)
    assert joint.velocity[0] == pytest.approx(-0.25, rel=1e-6)
    assert np.abs(momenta(world)).max() < 1e-6


@pytest.mark.parametrize("share", [1e-3, 1e3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_velocity_limit_is_as_hard_for_light_and_heavy_bodies(kind, share):
    world, joint = pair(kind)
    for body in world.rigid_bodies:
        body.mass, body.inertia = share * body.mass, share * np.asarray(body.inertia)
    joint.set_velocity_limits(-0.25, 1.0)
    joint.force = [20.0 * share]
    world.step(500)
    assert joint.velocity[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("family", [f for f in sx.MultibodyIntegrationFamily if "VARIATIONAL" not in f.name])
@pytest.mark.parametrize("kind", KINDS)
def test_every_integrator_moves_motors(kind, family):
    options = sx.MultibodyOptions(integration_family=family)
    world, joint = pair(kind)
    world.multibody_options = options
    joint.force = [1.5]
    world.step(100)
    assert joint.velocity[0] == pytest.approx(1.5 / felt(kind) * 0.1, rel=1e-6)
    joint.actuator_type = TYPE.SERVO
    joint.set_effort_limits(-8.0, 3.0)
    joint.command_velocity = [-0.5]
    world.step(200)
    assert joint.velocity[0] == pytest.approx(-0.5, rel=1e-5)
    assert np.abs(momenta(world)).max() < 1e-8


@pytest.mark.parametrize("method", sx.ContactSolverMethod)
def test_every_solver_keeps_efforts_within_limits(method):
    world, joint = pair("hinge")
    world.contact_solver_method = method
    joint.actuator_type = TYPE.SERVO
    joint.set_effort_limits(-0.5, 2.0)
    joint.command_velocity = [10.0]
    world.step(50)
    assert joint.velocity[0] == pytest.approx(2.0 / felt("hinge") * 0.05, rel=1e-6)


def test_a_broken_joint_has_no_motor():
    world, joint = pair("hinge")
    joint.force = [1.0]
    joint.break_force = 1.0
    world.rigid_bodies["a"].force = (9.0, 0, 0)
    world.step(2)
    assert joint.is_broken
    before = world.rigid_bodies["b"].angular_velocity[2]
    world.step(10)
    assert world.rigid_bodies["b"].angular_velocity[2] == before and joint.effort[0] == 0.0


def test_a_command_wakes_what_sleeps():
    world, joint = pair("hinge")
    world.deactivation_options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.05)
    world.step(200)
    assert world.rigid_bodies["a"].is_sleeping
    joint.force = [0.0]
    assert world.rigid_bodies["a"].is_sleeping
    joint.force = [2.0]
    world.step(10)
    assert joint.velocity[0] == pytest.approx(2.0 / felt("hinge") * 0.01, rel=1e-9)


def driven() -> tuple[sx.World, sx.WorldJoint]:
    world, joint = pair("slide")
    joint.actuator_type = TYPE.SERVO
    joint.set_effort_limits(-1.0, 2.0)
    joint.set_velocity_limits(-3.0, 4.0)
    joint.command_velocity, joint.force, joint.command_acceleration = [1.0], [0.25], [0.125]
    world.step(20)
    return world, joint


def settings(joint: sx.WorldJoint) -> tuple:
    arrays = (
        joint.command_velocity,
        joint.force,
        joint.command_acceleration,
        joint.effort_lower_limits,
        joint.effort_upper_limits,
        joint.velocity_lower_limits,
        joint.velocity_upper_limits,
    )
    return (joint.actuator_type, *(float(array[0]) for array in arrays))


def saved(world, path):
    world.save_binary(path / "world.bin")
    made = sx.World()
    made.load_binary(path / "world.bin")
    return made


def written(world, path):
    world.to_scene().to_file(path / "scene.json")
    return sx.World.from_scene(msd.from_file(path / "scene.json"))


COPIES = {
    "clone": lambda world, path: world.clone(),
    "deepcopy": lambda world, path: copy.deepcopy(world),
    "pickle": lambda world, path: pickle.loads(pickle.dumps(world)),
    "binary": saved,
    "scene": written,
}


@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_with_the_same_motor(way, tmp_path):
    world, joint = driven()
    made = COPIES[way](world, tmp_path)
    again = made.joints["joint"]
    assert settings(again) == settings(joint) == (TYPE.SERVO, 1.0, 0.25, 0.125, -1.0, 2.0, -3.0, 4.0)
    world.step(50)
    made.step(50)
    assert joint.velocity[0] > 0.05 and again.velocity[0] == joint.velocity[0]


def test_commands_are_part_of_reset_replay_and_edits():
    world, joint = pair("hinge")
    joint.force = [1.0]
    world.enter_simulation_mode()
    world.replay_recording_enabled = True
    world.step(5)
    joint.force = [3.0]
    world.step(5)
    end = joint.velocity[0]
    world.restore_replay_frame(4)
    assert joint.force.tolist() == [1.0]
    world.restore_replay_frame(10)
    assert joint.force.tolist() == [3.0] and joint.velocity[0] == end
    with world.edit():
        world.add_rigid_body("other", position=(5, 0, 0))
    assert joint.force.tolist() == [3.0]
    world.reset()
    assert joint.force.tolist() == [1.0]


def test_the_ledger_books_motors_as_actuators():
    for kind in KINDS:
        world, joint = pair(kind)
        joint.actuator_type = TYPE.SERVO
        joint.set_effort_limits(-0.5, 2.0)
        joint.command_velocity = [1.0]
        world.step(50)
        ledger = world.energy_ledger()
        mean = joint.velocity[0] - 0.5 * H * joint.acceleration[0]
        assert ledger.actuators == pytest.approx(2.0 * mean * H, rel=1e-6)
        assert abs(ledger.unexplained) < 1e-12 and abs(ledger.limits) < 1e-9
        joint.actuator_type = TYPE.FORCE
        joint.force = [1.25]
        world.step()
        ledger = world.energy_ledger()
        mean = joint.velocity[0] - 0.5 * H * joint.acceleration[0]
        assert ledger.actuators == pytest.approx(1.25 * mean * H, rel=1e-6)
        assert abs(ledger.unexplained) < 1e-12 and abs(ledger.prescribed) < 1e-12


@pytest.mark.parametrize("kind", ["FIXED", "SPHERICAL", "UNIVERSAL", "PLANAR", "SCREW"])
def test_joints_without_a_single_axis_refuse_motors_by_name(kind):
    world = sx.World()
    body = world.add_rigid_body("body")
    joint = world.add_joint(body, SPEC(name="joint", type=sx.JointType[kind]))
    assert joint.actuator_type is TYPE.PASSIVE
    assert not joint.force.any() and np.isinf(joint.effort_upper_limits).all()
    for name in ("force", "command_velocity", "command_acceleration"):
        with pytest.raises(UnknownCapabilityError, match=f"'joint'.*{kind}"):
            setattr(joint, name, np.ones(joint.num_dofs))
    for name in ("set_effort_limits", "set_velocity_limits"):
        with pytest.raises(UnknownCapabilityError, match=f"'joint'.*{kind}"):
            getattr(joint, name)(-1.0, 1.0)
    with pytest.raises(UnknownCapabilityError, match=f"'joint'.*{kind}.*SERVO"):
        joint.actuator_type = TYPE.SERVO
    with pytest.raises(UnknownCapabilityError, match=f"{kind}.*VELOCITY"):
        world.add_joint(body, SPEC(type=sx.JointType[kind], actuator_type=TYPE.VELOCITY))


def test_what_a_motor_refuses():
    world, joint = pair("hinge")
    with pytest.raises(UnknownCapabilityError, match="MIMIC"):
        joint.actuator_type = TYPE.MIMIC
    for wrong in ((0.5, 1.0), (-1.0, -0.5), (1.0, -1.0)):
        with pytest.raises(ArgumentError, match="zero must be within"):
            joint.set_effort_limits(*wrong)
    for wrong in ([np.nan], [np.inf], [1.0, 2.0]):
        with pytest.raises(ValueError, match="joint"):
            joint.force = wrong
    assert joint.force.tolist() == [0.0] and joint.effort_upper_limits.tolist() == [np.inf]
    scene = world.to_scene()
    scene.joints[0].joint.drive = "Mimic"
    with pytest.raises(SceneError, match="drive"):
        scene.validate()


def test_a_spec_says_the_motor():
    world = sx.World(gravity=(0, 0, 0), time_step=H)
    body = world.add_rigid_body("body", mass=1.0, inertia=INERTIA)
    spec = SPEC(actuator_type=TYPE.SERVO, effort_limits=2.0, velocity_limits=0.5, axis=(0, 0, 1))
    joint = world.add_joint(body, spec)
    assert joint.actuator_type is TYPE.SERVO and joint.effort_lower_limits.tolist() == [-2.0]
    joint.command_velocity = [3.0]
    world.step(10)
    assert joint.velocity[0] == pytest.approx(2.0 / 0.5 * 0.01, rel=1e-6)
    world.step(500)
    assert joint.velocity[0] == pytest.approx(0.5, rel=1e-5)


def test_the_collection_has_the_motors_of_all():
    world, joint = pair("hinge")
    world.joints.force = [2.0]
    world.joints.set_effort_limits(-1.0, 1.5)
    world.step()
    assert joint.force.tolist() == [2.0] and world.joints.effort.tolist() == [1.5]
    assert world.joints.effort_lower_limits.tolist() == [-1.0]


def test_limits_of_a_file_are_read_and_replaced_by_those_that_are_set():
    world = sx.World(time_step=H, gravity=(0, 0, 0))
    wheel = world.add_rigid_body("wheel", mass=1.0, inertia=(0.5, 0.5, 0.5))
    world.add_joint(wheel, SPEC(name="hub", axis=(0, 0, 1), actuator_type=TYPE.SERVO))
    scene = world.to_scene()
    # a joint of a file has one number for both directions
    scene.joints[0].joint.effort_limit, scene.joints[0].joint.velocity_limit = 2.0, 50.0
    world = sx.World.from_scene(scene)
    hub = world.joints["hub"]
    assert hub.effort_upper_limits.tolist() == [2.0] and hub.effort_lower_limits.tolist() == [-2.0]
    assert hub.velocity_upper_limits.tolist() == [50.0]
    hub.command_velocity = [1e3]
    world.step(n=100)
    # alpha = effort / I
    assert hub.velocity[0] == pytest.approx(2.0 / 0.5 * 100 * H, rel=1e-6)
    hub.set_effort_limits(-3.0, 8.0)
    hub.set_velocity_limits(-60.0, 70.0)
    assert hub.effort_upper_limits.tolist() == [8.0] and hub.effort_lower_limits.tolist() == [-3.0]
    assert hub.velocity_upper_limits.tolist() == [70.0] and hub.velocity_lower_limits.tolist() == [-60.0]
    before = hub.velocity[0]
    world.step(n=100)
    assert hub.velocity[0] - before == pytest.approx(8.0 / 0.5 * 100 * H, rel=1e-6)
