# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators of single degrees of freedom, acceleration limits, mocap bodies and keyframes."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, NotFoundError, OperationError

FORCE, VELOCITY, LOCKED = sx.ActuatorType.FORCE, sx.ActuatorType.VELOCITY, sx.ActuatorType.LOCKED


@pytest.fixture
def universal():
    world = sx.World(time_step=0.01)
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    spec = sx.JointSpec(name="cross", type=sx.JointType.UNIVERSAL, axis=(1, 0, 0), axis2=(0, 1, 0))
    robot.add_link("tip", parent=base, joint=spec, center_of_mass=(0.1, 0.2, -0.3))
    return world, robot.joints["cross"]


def test_every_degree_of_freedom_has_its_own_actuator(universal):
    world, joint = universal
    first, second = joint.dofs
    assert first.actuator_type is FORCE and joint.actuator_type is FORCE
    first.actuator_type, second.actuator_type = VELOCITY, LOCKED
    assert (first.actuator_type, second.actuator_type) == (VELOCITY, LOCKED)
    with pytest.raises(OperationError, match="differ: LOCKED, VELOCITY"):
        _ = joint.actuator_type
    joint.command_velocity = [0.7, 0.9]
    joint.position = [0.0, 0.4]
    world.step(n=10)
    assert joint.velocity.tolist() == pytest.approx([0.7, 0.0], abs=1e-12)
    assert joint.position.tolist() == pytest.approx([0.07, 0.4], abs=1e-12)
    joint.actuator_type = FORCE
    assert [dof.actuator_type for dof in joint.dofs] == [FORCE, FORCE]


def test_one_freedom_of_a_joint_may_be_a_servo(universal):
    world, joint = universal
    world.gravity = (0, 0, 0)
    joint.dofs[0].actuator_type = sx.ActuatorType.SERVO
    joint.effort_limits = 50.0
    joint.command_velocity = [0.5, 0.9]
    world.step(n=50)
    assert joint.velocity[0] == pytest.approx(0.5, abs=1e-6)
    assert abs(joint.velocity[1]) < 0.4
    joint.dofs[0].actuator_type = FORCE
    world.step()
    with pytest.raises(ArgumentError, match="follows another as a whole"):
        joint.dofs[1].actuator_type = sx.ActuatorType.MIMIC
    assert joint.actuator_type is FORCE


def test_actuators_of_single_freedoms_are_saved(universal, tmp_path):
    world, joint = universal
    joint.dofs[1].actuator_type = LOCKED
    joint.acceleration_limits = [3.0, 5.0]
    for again in (sx.World.from_scene(world.to_scene()), world.clone()):
        kept = again.multibodies["robot"].joints["cross"]
        assert [dof.actuator_type for dof in kept.dofs] == [FORCE, LOCKED]
        assert kept.acceleration_limits.tolist() == [3.0, 5.0]


def test_a_floating_base_takes_forces_only():
    world = sx.World()
    bird = world.add_multibody("bird")
    bird.add_link("body", joint=sx.JointSpec(name="base", type=sx.JointType.FLOATING))
    dof = bird.joints["base"].dofs[0]
    with pytest.raises(ArgumentError):
        dof.actuator_type = "locked"
    assert dof.actuator_type is FORCE


def test_commanded_accelerations_stay_within_their_limits(universal):
    world, joint = universal
    assert joint.acceleration_limits.tolist() == [np.inf, np.inf]
    joint.actuator_type = sx.ActuatorType.ACCELERATION
    joint.command_acceleration = [10.0, -10.0]
    joint.acceleration_limits = [4.0, np.inf]
    assert joint.command_acceleration.tolist() == [4.0, -10.0]
    joint.dofs[1].acceleration_limit = 6.0
    joint.command_acceleration = [-5.0, 50.0]
    assert joint.command_acceleration.tolist() == [-4.0, 6.0]
    joint.multibody.joints.command_acceleration = [9.0, -9.0]
    assert joint.command_acceleration.tolist() == [4.0, -6.0]
    world.step()
    assert joint.acceleration.tolist() == pytest.approx([4.0, -6.0])
    space = sx.StateSpace()
    space.add_variable("robot.command_acceleration", 2)
    space.finalize()
    control = world.get_control(space)
    control["robot.command_acceleration"] = [1.0, 77.0]
    world.set_control(control)
    assert joint.command_acceleration.tolist() == [1.0, 6.0]
    with pytest.raises(ArgumentError, match="non-negative"):
        joint.acceleration_limits = -1.0


def test_acceleration_limits_come_with_files():
    scene = msd.World()
    joint = msd.Joint(name="j", axis=(0, 0, 1), acceleration_limit=2.5)
    scene.hierarchy.bodies.append(
        msd.Body(link=msd.Link(name="l", joints=[joint], geoms=[msd.Geometry(size=(0.1, 0, 0))]))
    )
    joint = sx.World.from_scene(scene).multibodies["l"].joints["j"]
    assert joint.acceleration_limits.tolist() == [2.5]
    joint.command_acceleration = [4.0]
    assert joint.command_acceleration.tolist() == [2.5]


MOCAP = """<mujoco><worldbody>
<body name="hand" mocap="true" pos="0 0 1"><geom size="0.1"/>
<body name="finger" pos="0.5 0 0"><geom size="0.05"/></body></body>
<body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0 0 -1"/></body></worldbody>
<actuator><motor name="m" joint="hinge" ctrlrange="-9 9"/>
<general name="slow" joint="hinge" dyntype="filter" dynprm="0.5"/></actuator>
<keyframe><key name="up" time="3" qpos="0.4" qvel="0.6" ctrl="1 2" act="0.7" mpos="1 2 3" mquat="0 0 0 2"/>
<key name="plain"/></keyframe></mujoco>"""


def pose(x, y, z):
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


def test_mocap_bodies_stand_where_they_are_put():
    world = sx.World.from_scene(msd.from_str(MOCAP))
    hand = world.multibodies["hand"].links["hand"]
    assert hand.is_mocap and not world.multibodies["hand"].links["finger"].is_mocap
    hand.mocap_transform = pose(3, 0, 2)
    world.step(n=5)
    assert hand.translation.tolist() == [3, 0, 2]
    assert world.multibodies["hand"].links["finger"].translation.tolist() == [3.5, 0, 2]
    hand.mocap_transform = pose(4, 0, 2)
    assert hand.translation.tolist() == [4, 0, 2]
    assert world.clone().multibodies["hand"].links["hand"].translation.tolist() == [4, 0, 2]
    arm = world.multibodies["arm"].links["arm"]
    with pytest.raises(ArgumentError, match="'arm' is not the base of a mocap body"):
        arm.mocap_transform = np.eye(4)


def test_reset_and_saved_worlds_put_mocap_bodies_back(tmp_path):
    world = sx.World.from_scene(msd.from_str(MOCAP))
    hand = world.multibodies["hand"].links["hand"]
    world.enter_simulation_mode()
    hand.mocap_transform = pose(3, 0, 2)
    world.step()
    world.save_binary(tmp_path / "world.bin")
    world.reset()
    assert hand.translation.tolist() == [0, 0, 1]
    world.load_binary(tmp_path / "world.bin")
    hand = world.multibodies["hand"].links["hand"]
    assert hand.translation.tolist() == [3, 0, 2]
    world.reset()
    assert hand.translation.tolist() == [0, 0, 1]


def test_replay_puts_mocap_bodies_back():
    world = sx.World.from_scene(msd.from_str(MOCAP))
    hand = world.multibodies["hand"].links["hand"]
    world.replay_recording_enabled = True
    world.step()
    hand.mocap_transform = pose(3, 0, 2)
    world.step()
    world.restore_replay_frame(1)
    assert hand.translation.tolist() == [0, 0, 1]
    world.restore_replay_frame(2)
    assert hand.translation.tolist() == [3, 0, 2]


def test_what_a_mocap_body_touches_moves():
    world = sx.World.from_scene(
        msd.from_str(
            "<mujoco><option gravity='0 0 0'/><worldbody><body name='hand' mocap='true' pos='-2 0 0'>"
            "<geom size='0.5'/></body><body name='ball'><freejoint/><geom size='0.5'/></body></worldbody></mujoco>"
        )
    )
    ball = world.rigid_bodies["ball"]
    world.step(n=20)
    assert ball.translation.tolist() == [0, 0, 0]
    for x in np.linspace(-2.0, -0.5, 100):
        world.multibodies["hand"].links["hand"].mocap_transform = pose(x, 0, 0)
        world.step(n=2)
    assert ball.translation[0] > 0.3


def test_keyframes_hold_everything():
    world = sx.World.from_scene(msd.from_str(MOCAP))
    assert world.keyframes == ["up", "plain"]
    world.apply_keyframe("up")
    hinge, runtime = world.multibodies["arm"].joints["hinge"], world._live()
    assert (hinge.position[0], hinge.velocity[0], world.time) == (0.4, 0.6, 3.0)
    assert runtime.control.tolist() == [1.0, 2.0] and runtime.activation.tolist() == [0.7]
    hand = world.multibodies["hand"].links["hand"]
    assert hand.translation.tolist() == [1, 2, 3]
    np.testing.assert_allclose(np.abs(hand.quaternion), [0, 0, 1, 0])
    world.step(n=3)
    world.apply_keyframe("plain")
    assert hinge.position[0] == hinge.velocity[0] == 0.0
    assert runtime.control.tolist() == [0.0, 0.0] and runtime.activation.tolist() == [0.0]
    assert hand.translation.tolist() == [0, 0, 1]
    with pytest.raises(NotFoundError, match="plain"):
        world.apply_keyframe("plane")


def test_keyframes_hold_commands_and_held_forces():
    scene = msd.from_str(MOCAP)
    scene.keyframes = [
        msd.Keyframe(
            name="push",
            dof_force=[5.0],
            dof_command=[6.0],
            dof_acceleration=[7.0],
            dof_target=[0.8],
            link_force=np.arange(18.0).reshape(3, 6),
        )
    ]
    world = sx.World.from_scene(scene)
    world.apply_keyframe("push")
    hinge = world.multibodies["arm"].joints["hinge"]
    assert (hinge.force[0], hinge.command_velocity[0], hinge.command_acceleration[0]) == (5.0, 6.0, 7.0)
    assert hinge.target_position[0] == 0.8
    assert world._live().persistent_wrench[world._live().body(hinge.child_link._link)].tolist() == list(
        range(12, 18)
    )


def test_controls_and_activations_are_state_of_a_description():
    world = sx.World.from_scene(msd.from_str(MOCAP))
    world.actuator_controls = [0.5, 0.25]
    world.step(n=7)
    again = sx.World.from_scene(world.to_scene())
    assert again.actuator_controls.tolist() == [0.5, 0.25]
    assert again._live().activation.tolist() == world._live().activation.tolist() != [0.0]
    world.step(n=5)
    again.step(n=5)
    assert again.state_vector.tolist() == world.state_vector.tolist()


def test_controls_come_with_a_scene_that_is_added():
    part = sx.World.from_scene(msd.from_str(MOCAP))
    part.actuator_controls = [0.5, 0.25]
    world = sx.World.from_scene(msd.from_str(MOCAP))
    world.actuator_controls = [3.0, 4.0]
    world.add_scene(part.to_scene(), prefix="b_")
    assert world.actuator_names == ["m", "slow", "b_m", "b_slow"]
    assert world.actuator_controls.tolist()[2:] == [0.5, 0.25]
