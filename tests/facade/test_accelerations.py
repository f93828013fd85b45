# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Accelerations of frames, wrenches of joints and rates of Jacobians, against Pinocchio and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import CapabilityError
from worldline.collision import CollisionShape

URDF = """<robot name="arm">
<link name="base"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
{links}</robot>"""
LINK = """<link name="l{k}"><inertial><origin xyz="{com}" rpy="0.1 0.2 0.3"/><mass value="{mass}"/>
<inertia ixx="0.31" iyy="0.22" izz="0.27" ixy="0.02" ixz="-0.01" iyz="0.03"/></inertial></link>
<joint name="j{k}" type="{type}"><origin xyz="0.3 {k}.1e-1 0.2" rpy="0.{k} -0.2 0.4"/><parent link="{parent}"/>
<child link="l{k}"/><axis xyz="{axis}"/><limit lower="-9" upper="9" effort="1e9" velocity="1e9"/></joint>"""
TREE = (
    ("base", "revolute", "0 0 1"),
    ("l0", "revolute", "0 1 0"),
    ("l1", "prismatic", "1 0 0"),
    ("l1", "revolute", "0.6 0 0.8"),
    ("l3", "revolute", "1 0 0"),
)


@pytest.fixture
def urdf(tmp_path):
    links = [
        LINK.format(k=k, parent=p, type=t, axis=a, com=f"0.{k} 0.1 -0.2", mass=1.0 + k)
        for k, (p, t, a) in enumerate(TREE)
    ]
    file = tmp_path / "arm.urdf"
    file.write_text(URDF.format(links="".join(links)))
    return file


@pytest.fixture
def robot(urdf):
    """In motion, after a step with commanded accelerations, so that all of them are known."""
    world = sx.World(time_step=1e-3)
    arm = sx.add_skeleton(world, urdf)
    random = np.random.default_rng(1)
    for joint in arm.joints:
        joint.actuator_type = sx.ActuatorType.ACCELERATION
    arm.joints.position, arm.joints.velocity = random.normal(size=(2, 5))
    arm.joints.command_acceleration = random.normal(size=5) * 4
    world.step()
    return arm


def twin(robot, urdf):
    """Pinocchio's model of the same file, its data, and the state in its order."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the yardstick here")
    model = pin.buildModelFromUrdf(str(urdf))
    q, v, a = np.zeros((3, model.nv))
    for joint in robot.joints:
        i = model.joints[model.getJointId(joint.name)].idx_v
        q[i], v[i], a[i] = joint.position[0], joint.velocity[0], joint.acceleration[0]
    return pin, model, model.createData(), q, v, a


def test_frame_accelerations_are_those_of_pinocchio(robot, urdf):
    pin, model, data, q, v, a = twin(robot, urdf)
    pin.forwardKinematics(model, data, q, v, a)
    for link in robot.links:
        frame = model.getFrameId(link.name)
        told = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(link.linear_acceleration, told.linear, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(link.angular_acceleration, told.angular, rtol=1e-9, atol=1e-10)


def test_joint_wrenches_are_those_of_pinocchio(robot, urdf):
    pin, model, data, q, v, a = twin(robot, urdf)
    pin.rnea(model, data, q, v, a)
    for joint in robot.joints:
        told = data.f[model.getJointId(joint.name)]
        both = np.concatenate([told.angular, told.linear])
        np.testing.assert_allclose(joint.compute_wrench_to_child(), both, rtol=1e-9, atol=1e-9)
        world_axes = joint.compute_wrench_to_child(sx.Frame.world())
        np.testing.assert_allclose(joint.compute_wrench_to_parent(sx.Frame.world()), -world_axes)


def test_jacobian_derivatives_are_those_of_pinocchio(robot, urdf):
    pin, model, data, q, v, _ = twin(robot, urdf)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    pin.updateFramePlacements(model, data)
    columns = [model.joints[model.getJointId(joint.name)].idx_v for joint in robot.joints]
    link = robot.links["l4"]
    local = pin.getFrameJacobianTimeVariation(model, data, model.getFrameId("l4"), pin.LOCAL)[:, columns]
    spatial = np.concatenate([local[3:], local[:3]])
    np.testing.assert_allclose(robot.get_jacobian_spatial_derivative(link), spatial, rtol=1e-9, atol=1e-10)
    classic = robot.get_jacobian_classic_derivative(link, (0.1, 0.2, 0.3))
    product = robot.get_jacobian_derivative_times_velocity(link, (0.1, 0.2, 0.3))
    np.testing.assert_allclose(classic @ robot.joints.velocity, product, rtol=1e-9, atol=1e-10)


def test_relative_accelerations_are_slopes_of_relative_velocities(robot):
    world = robot.links["base"]._world
    with world.edit():
        tool = world.add_free_frame("tool", parent=robot.links["l2"])
    tool.local_transform = np.array([[0, -1, 0, 0.3], [1, 0, 0, 0.1], [0, 0, 1, -0.2], [0, 0, 0, 1.0]])
    to = robot.links["l4"]
    q, v, a = robot.joints.position, robot.joints.velocity, robot.joints.acceleration
    linear = tool.relative_linear_acceleration(to)
    angular = tool.relative_angular_acceleration(to)
    in_world = tool.relative_linear_acceleration(to, expressed_in=sx.Frame.world())
    np.testing.assert_allclose(in_world, to.rotation @ linear)
    plain = tool.relative_linear_acceleration(sx.Frame.world())
    np.testing.assert_allclose(plain, tool.linear_acceleration)
    seen = []
    h = 1e-5
    for t in (-h, h):
        robot.joints.position, robot.joints.velocity = q + t * v + 0.5 * t * t * a, v + t * a
        seen.append((tool.relative_linear_velocity(to), tool.relative_angular_velocity(to)))
    np.testing.assert_allclose(linear, (seen[1][0] - seen[0][0]) / (2 * h), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(angular, (seen[1][1] - seen[0][1]) / (2 * h), rtol=1e-6, atol=1e-6)


def test_a_falling_body_accelerates_with_gravity():
    world = sx.World()
    box = world.add_rigid_body("box", angular_velocity=(1, 2, 3))
    mark = world.add_fixed_frame("mark", box, np.diag([1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(box.linear_acceleration, np.zeros(3))
    world.step()
    np.testing.assert_allclose(box.linear_acceleration, [0, 0, -9.81], atol=1e-12)
    np.testing.assert_allclose(mark.linear_acceleration, box.linear_acceleration, atol=1e-12)
    np.testing.assert_array_equal(sx.Frame.world().linear_acceleration, np.zeros(3))


def test_a_joint_carries_what_hangs_on_it_and_what_pushes_it():
    world = sx.World()
    stand = world.add_multibody("stand")
    base = stand.add_link("base", mass=5.0)
    rod = stand.add_link(
        "rod", parent=base, joint=sx.JointSpec(name="weld", type=sx.JointType.FIXED), mass=2.0
    )
    np.testing.assert_allclose(stand.joints["weld"].compute_wrench_to_child()[3:], [0, 0, 2 * 9.81])
    rod.apply_force((3.0, 0.0, 0.0))
    world.step()
    np.testing.assert_allclose(stand.joints["weld"].compute_wrench_to_child(), [0, 0, 0, -3, 0, 2 * 9.81])
    rod.gravity_compensation = 1.0
    world.step()
    np.testing.assert_allclose(stand.joints["weld"].compute_wrench_to_child(), np.zeros(6), atol=1e-12)


def test_a_joint_carries_the_torque_on_what_hangs_on_it():
    """About the joint's own origin a torque, less what turns the rod about its hinge, which is free."""
    world = sx.World(gravity=(0, 0, 0))
    robot = world.add_multibody("robot")
    rod = robot.add_link("rod", joint=sx.JointSpec(name="hinge", axis=(0, 0, 1)), mass=2.0)
    rod.inertia = np.diag([0.3, 0.2, 0.4])
    rod.apply_torque((3.0, -2.0, 1.0))
    world.step()
    wrench = robot.joints["hinge"].compute_wrench_to_child(sx.Frame.world())
    np.testing.assert_allclose(wrench, [-3.0, 2.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)
    assert robot.joints["hinge"].acceleration[0] == pytest.approx(1.0 / 0.4, rel=1e-12)


@pytest.mark.parametrize("condim", [3, 4, 6])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_torsional_friction_turns_and_is_no_load_of_the_joint(condim, cone):
    """A ball that spins on the ground about a free hinge: friction alone brakes it, the hinge carries no torque."""
    touch = f'condim="{condim}" friction="0.5 0.2 0.1"'
    scene = f"""<mujoco><option timestep="0.002" cone="{cone}"/><worldbody>
      <geom type="plane" size="5 5 1" {touch}/><body pos="0 0 0.0995"><joint name="up" type="slide" axis="0 0 1"/>
      <joint name="spin" axis="0 0 1"/><geom size="0.1" mass="1" {touch}/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(scene, format="mjcf"))
    spin = world.multibodies[0].joints["spin"]
    world.step(n=20)
    spin.velocity = [3.0]
    world.step()
    (contact,) = world.contacts
    sign = 1.0 if contact.body_b is not None else -1.0
    np.testing.assert_allclose(spin.compute_wrench_to_child(sx.Frame.world())[:3], np.zeros(3), atol=1e-12)
    torque = 0.4 * 1.0 * 0.1**2 * spin.acceleration[0]
    np.testing.assert_allclose(sign * contact.torque, [0.0, 0.0, torque], atol=1e-12)
    most = 0.0 if condim == 3 else 0.2 * np.linalg.norm(contact.force)
    assert -most * (1.0 + 1e-9) <= torque <= 0.0 and (condim == 3 or torque < -0.1)


def test_a_bar_that_rests_on_its_end_shares_its_weight_with_its_hinge():
    """Uniform, 1 m and 2 kg: each end carries half of the weight, and the free hinge no torque about its axis."""
    scene = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 1"/>
      <body pos="0 0 0.1"><inertial pos="0.5 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
      <joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(scene, format="mjcf"))
    world.step(n=1500)
    wrench = world.multibodies[0].joints["hinge"].compute_wrench_to_child(sx.Frame.world())
    np.testing.assert_allclose(wrench[:3], np.zeros(3), atol=1e-6)
    np.testing.assert_allclose(wrench[5], 9.81, atol=1e-3)


def test_contacts_take_load_off_a_joint():
    world = sx.World(time_step=1e-3)
    world.add_ground_plane()
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    above = np.eye(4)
    above[2, 3] = 0.5
    ball = robot.add_link(
        "ball",
        parent=base,
        joint=sx.JointSpec(
            name="slide", type=sx.JointType.PRISMATIC, axis=(0, 0, 1), transform_to_parent=above
        ),
        mass=2.0,
    )
    ball.add_collision_shape(CollisionShape.sphere(0.5))
    slide = robot.joints["slide"]
    slide.damping_coefficient = 5.0
    world.step(n=2000)
    assert sum(contact.force[2] for contact in world.contacts) == pytest.approx(2 * 9.81, rel=1e-6)
    np.testing.assert_allclose(slide.compute_wrench_to_child(), np.zeros(6), atol=1e-4)


def test_wrenches_are_refused_where_forces_are_not_known(tmp_path):
    file = tmp_path / "cord.xml"
    file.write_text(
        "<mujoco><worldbody><site name='a'/><body name='b' pos='0 0 1'><joint name='j'/><geom size='.1'/>"
        "<site name='c'/></body></worldbody>"
        "<tendon><spatial stiffness='1'><site site='a'/><site site='c'/></spatial></tendon></mujoco>"
    )
    joint = sx.World.from_file(file).multibodies["b"].joints["j"]
    with pytest.raises(CapabilityError, match="spatial tendons"):
        joint.compute_wrench_to_child()
