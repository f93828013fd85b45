# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How bodies and joints move, with no contact and no closure: numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from facade.scenes import moved, pendulum, rich
from worldline import msd
from worldline import simulation as sx
from worldline.model import step as step_arrays

H = 0.001
G = 9.81


def hanging(axis=(0, 1, 0), kind=sx.JointType.REVOLUTE, **world):
    made = sx.World(**world)
    robot = made.add_multibody("robot")
    link = robot.add_link("link", joint=sx.JointSpec("joint", kind, axis), inertia=np.eye(3))
    return made, robot, link, robot.joints["joint"]


def test_a_free_body_falls_by_semi_implicit_euler():
    world = sx.World(time_step=H)
    light, heavy = (
        world.add_rigid_body(mass=0.1, position=(0, 0, 1)),
        world.add_rigid_body(mass=50.0, position=(0, 0, 1)),
    )
    world.step(100)
    # v after n steps is -n g h, x is the sum of all h v: -g h^2 n (n + 1) / 2
    assert light.linear_velocity[2] == pytest.approx(-100 * G * H, rel=1e-13)
    assert light.translation[2] == pytest.approx(1 - G * H * H * 5050, rel=1e-13)
    assert (heavy.translation == light.translation).all()


def test_force_and_gravity_accelerate_a_free_body():
    world = sx.World(time_step=H)
    box = world.add_rigid_body(mass=2.0)
    box.force = (4, 0, 0)
    world.step()
    assert box.linear_velocity == pytest.approx([2 * H, 0, -G * H], rel=1e-14)
    assert box.translation == pytest.approx([2 * H * H, 0, -G * H * H], rel=1e-14)


def test_held_forces_stay_until_cleared():
    world = sx.World(time_step=H, gravity=(0, 0, 0))
    box = world.add_rigid_body()
    box.apply_force((1, 0, 0))
    box.apply_force((1, 0, 0))
    box.apply_torque((0, 0, 1))
    world.step(10)
    assert box.force.tolist() == [2, 0, 0] and box.linear_velocity[0] == pytest.approx(20 * H)
    box.clear_force()
    box.clear_torque()
    world.step(10)
    assert box.linear_velocity[0] == pytest.approx(20 * H) and box.angular_velocity[2] == pytest.approx(
        10 * H
    )


def test_a_static_body_keeps_its_velocity_value_and_stays():
    world = sx.World()
    box = world.add_rigid_body(fixed=True, linear_velocity=(1, 0, 0))
    box.force = (5, 0, 0)
    box.apply_linear_impulse((9, 0, 0))
    world.step(10)
    assert box.translation.tolist() == [0, 0, 0] and box.linear_velocity.tolist() == [1, 0, 0]
    box.is_static = False
    world.step()
    assert box.translation[0] > 0.0


def test_a_kinematic_body_follows_its_velocity_and_feels_nothing():
    world = sx.World(time_step=H)
    belt = world.add_rigid_body(kinematic=True, linear_velocity=(1, 0, 0), angular_velocity=(0, 0, 2))
    belt.force = (5, 0, 0)
    world.step(100)
    assert belt.translation == pytest.approx([0.1, 0, 0], abs=1e-14)
    assert belt.linear_velocity.tolist() == [1, 0, 0]
    assert np.arctan2(belt.rotation[1, 0], belt.rotation[0, 0]) == pytest.approx(0.2, rel=1e-12)


def test_impulses_change_velocity_at_once():
    world = sx.World(gravity=(0, 0, 0))
    box = world.add_rigid_body(mass=2.0, inertia=np.diag([1.0, 2.0, 2.0]))
    box.apply_linear_impulse((4, 0, 0))
    box.apply_angular_impulse((0, 4, 0))
    assert box.linear_velocity.tolist() == [2, 0, 0] and box.angular_velocity.tolist() == [0, 2, 0]
    assert box.linear_momentum.tolist() == [4, 0, 0] and box.angular_momentum.tolist() == [0, 4, 0]
    assert box.kinetic_energy == pytest.approx(0.5 * 2 * 4 + 0.5 * 2 * 4)


def test_potential_energy_is_zero_at_the_origin():
    box = sx.World().add_rigid_body(mass=2.0, position=(0, 0, 3))
    assert box.potential_energy == pytest.approx(2 * G * 3)


def test_fast_free_bodies_are_not_slowed_down():
    world = sx.World(gravity=(0, 0, 0))
    ray = world.add_rigid_body(linear_velocity=(3e8, 0, 0))
    world.step()
    assert ray.linear_velocity[0] == 3e8


# ---- joints


def test_gravity_forces_stand_on_the_left():
    arm = pendulum(sx.World(), length=1.0, mass=2.0)
    # M a + C v + g = tau: a bob at +x on a +y hinge needs -m g L to stay
    assert arm.gravity_forces == pytest.approx([-2 * G], rel=1e-12)
    assert arm.compute_inverse_dynamics([0.0]) == pytest.approx(arm.gravity_forces, rel=1e-12)


def test_coriolis_forces_stand_on_the_left():
    world = sx.World(gravity=(0, 0, 0))
    robot = rich(world)
    rng = np.random.default_rng(1)
    robot.joints.position, robot.joints.velocity = rng.normal(size=6 - 1), rng.normal(size=5)
    robot.joints["h"].spring_stiffness = robot.joints["l"].damping_coefficient = 0.0
    a = rng.normal(size=5)
    total = robot.mass_matrix @ a + robot.coriolis_forces + robot.gravity_forces
    assert robot.compute_inverse_dynamics(a) == pytest.approx(total, rel=1e-10, abs=1e-12)
    assert robot.coriolis_and_gravity_forces == pytest.approx(
        robot.coriolis_forces + robot.gravity_forces, abs=1e-13
    )


def test_jacobian_rows_are_angular_first():
    _world, robot, link, joint = hanging(axis=(0, 0, 1))
    assert robot.get_world_jacobian(link, (1, 0, 0))[:, 0] == pytest.approx([0, 0, 1, 0, 1, 0], abs=1e-15)
    joint.position = [np.pi / 2]
    assert robot.get_world_jacobian(link, (1, 0, 0))[:, 0] == pytest.approx([0, 0, 1, -1, 0, 0], abs=1e-15)
    assert robot.get_jacobian(link, (1, 0, 0))[:, 0] == pytest.approx([0, 0, 1, 0, 1, 0], abs=1e-15)
    assert (robot.get_linear_jacobian(link) == robot.get_world_jacobian(link)[3:]).all()


def test_jacobians_give_velocities_and_their_change_accelerations():
    world = sx.World(gravity=(0, 0, 0))
    robot = rich(world)
    rng = np.random.default_rng(2)
    robot.joints.position, robot.joints.velocity = rng.normal(size=5), rng.normal(size=5)
    hand = robot.links["hand"]
    twist = robot.get_world_jacobian(hand) @ robot.joints.velocity
    assert twist[:3] == pytest.approx(hand.angular_velocity, abs=1e-13)
    assert twist[3:] == pytest.approx(hand.linear_velocity, abs=1e-13)
    # J' v by a difference along the motion at constant joint velocities; scalar joints only here
    v = robot.joints.velocity.copy()
    v[1:4] = 0.0
    robot.joints.velocity = v
    exact = robot.get_jacobian_derivative_times_velocity(hand)
    q, e = robot.joints.position, 1e-6
    ends = []
    for sign in (1, -1):
        robot.joints.position = q + sign * e * v
        ends.append(robot.get_world_jacobian(hand) @ v)
    assert exact == pytest.approx((ends[0] - ends[1]) / (2 * e), abs=1e-8)


def test_force_drives_apply_their_command_and_hold_it():
    world, _robot, _link, joint = hanging(
        axis=(1, 0, 0), kind=sx.JointType.PRISMATIC, gravity=(0, 0, 0), time_step=H
    )
    joint.force = [3.0]
    world.step(10)
    assert joint.velocity == pytest.approx([30 * H]) and joint.force.tolist() == [3.0]
    assert joint.acceleration == pytest.approx([3.0])


def test_passive_joints_ignore_commands_and_keep_springs():
    world, _robot, _link, joint = hanging(
        axis=(1, 0, 0), kind=sx.JointType.PRISMATIC, gravity=(0, 0, 0), time_step=H
    )
    joint.actuator_type = sx.ActuatorType.PASSIVE
    joint.force, joint.spring_stiffness, joint.rest_position = [100.0], 2.0, [1.0]
    world.step()
    assert joint.velocity == pytest.approx([2 * H])


def test_velocity_drives_reach_their_speed_in_one_step_whatever_the_load():
    world = sx.World(time_step=H)
    arm = pendulum(world, mass=1000.0)
    hinge = arm.joints["hinge"]
    hinge.actuator_type, hinge.command_velocity = sx.ActuatorType.VELOCITY, [0.7]
    world.step()
    assert hinge.velocity == pytest.approx([0.7], rel=1e-12)


def test_acceleration_drives_realise_their_command():
    world = sx.World(time_step=H)
    hinge = pendulum(world, mass=1000.0).joints["hinge"]
    hinge.actuator_type, hinge.command_acceleration = sx.ActuatorType.ACCELERATION, [0.5]
    world.step(100)
    assert hinge.velocity == pytest.approx([0.05], rel=1e-12) and hinge.acceleration == pytest.approx([0.5])


def test_locked_joints_keep_their_position():
    world = sx.World(time_step=H)
    hinge = pendulum(world).joints["hinge"]
    hinge.position, hinge.velocity = [0.3], [2.0]
    hinge.actuator_type = sx.ActuatorType.LOCKED
    world.step(200)
    assert hinge.position == pytest.approx([0.3], abs=1e-10)


def test_position_limits_hold_and_stop():
    world = sx.World(time_step=H)
    hinge = pendulum(world).joints["hinge"]
    hinge.set_position_limits(-0.5, 0.5)
    world.step(2000)
    assert hinge.position == pytest.approx([0.5], abs=1e-9) and hinge.velocity == pytest.approx(
        [0.0], abs=1e-9
    )


def test_velocity_limits_hold():
    world, _robot, _link, joint = hanging(axis=(1, 0, 0), kind=sx.JointType.PRISMATIC, time_step=H)
    joint.velocity_limits, joint.force = 0.01, [100.0]
    world.step(50)
    # a row of an impulse within what its regularizer gives, 1e-7 of the inertia against 100 N
    assert joint.velocity == pytest.approx([0.01], rel=2e-6)


def test_effort_limits_bound_the_command_and_not_the_spring():
    world, _robot, _link, joint = hanging(
        axis=(1, 0, 0), kind=sx.JointType.PRISMATIC, gravity=(0, 0, 0), time_step=H
    )
    joint.effort_limits, joint.force = 2.0, [100.0]
    joint.spring_stiffness, joint.rest_position = 10.0, [1.0]
    world.step()
    assert joint.velocity == pytest.approx([12 * H])


def test_armature_adds_to_the_diagonal_and_to_inverse_dynamics():
    _world, robot, _link, joint = hanging(gravity=(0, 0, 0))
    before = robot.mass_matrix[0, 0]
    joint.armature = 0.25
    assert robot.mass_matrix[0, 0] == pytest.approx(before + 0.25)
    assert robot.compute_inverse_dynamics([1.0]) == pytest.approx([before + 0.25])


def test_damping_takes_speed():
    world, _robot, _link, joint = hanging(
        axis=(1, 0, 0), kind=sx.JointType.PRISMATIC, gravity=(0, 0, 0), time_step=H
    )
    joint.velocity, joint.damping_coefficient = [1.0], 2.0
    world.step()
    assert joint.velocity == pytest.approx([1 - 2 * H])


def test_link_forces_act_for_one_step():
    world, _robot, link, joint = hanging(axis=(0, 0, 1), gravity=(0, 0, 0), time_step=H)
    link.apply_force((0, 2, 0), point=(1, 0, 0))
    link.apply_torque((0, 0, 1))
    world.step(2)
    # inertia 1 about the axis, moment 2 + 1 for one step
    assert joint.velocity == pytest.approx([3 * H])


def test_link_forces_in_either_frame():
    speeds = []
    for force, point, in_world, point_in_world in (
        ((0, 2, 0), (1, 0, 0), False, False),
        ((-2, 0, 0), (0, 1, 0), True, True),
        ((-2, 0, 0), (1, 0, 0), True, False),
    ):
        world, _robot, link, joint = hanging(axis=(0, 0, 1), gravity=(0, 0, 0), time_step=H)
        joint.position = [np.pi / 2]
        link.apply_force(force, point, in_world, point_in_world)
        world.step()
        speeds.append(joint.velocity[0])
    assert speeds == pytest.approx([2 * H] * 3)


def test_gravity_compensation_makes_a_body_float():
    world = sx.World()
    box = world.add_rigid_body()
    box.gravity_compensation = 1.0
    world.step(10)
    assert box.linear_velocity == pytest.approx([0, 0, 0], abs=1e-15)


# ---- coordinates of joint types


def turn(axis, angle):
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def placed(kind, q, **spec):
    world = sx.World()
    robot = world.add_multibody()
    link = robot.add_link(joint=sx.JointSpec("j", kind, **spec))
    robot.joints["j"].position = q
    return link


def test_universal_turns_about_axis_then_axis2():
    link = placed(sx.JointType.UNIVERSAL, [0.4, 0.7], axis=(1, 0, 0), axis2=(0, 1, 0))
    assert link.rotation == pytest.approx(turn((1, 0, 0), 0.4) @ turn((0, 1, 0), 0.7), abs=1e-14)


def test_planar_moves_along_axis2_and_its_cross_product_and_turns_about_axis():
    link = placed(sx.JointType.PLANAR, [0.3, 0.5, 0.7], axis=(0, 0, 1), axis2=(1, 0, 0))
    assert link.translation == pytest.approx([0.3, 0.5, 0], abs=1e-14)
    assert link.rotation == pytest.approx(turn((0, 0, 1), 0.7), abs=1e-14)


def test_screw_advances_by_its_pitch():
    link = placed(sx.JointType.SCREW, [0.6], axis=(0, 0, 1), pitch=0.5)
    assert link.translation == pytest.approx([0, 0, 0.3], abs=1e-14)
    assert link.rotation == pytest.approx(turn((0, 0, 1), 0.6), abs=1e-14)


def test_spherical_position_is_a_rotation_vector():
    r = np.array([0.3, -0.4, 0.5])
    link = placed(sx.JointType.SPHERICAL, r)
    assert link.rotation == pytest.approx(turn(r, np.linalg.norm(r)), abs=1e-14)
    assert link.parent_joint.position == pytest.approx(r, abs=1e-14)


def test_floating_position_is_a_translation_and_a_rotation_vector():
    q = np.array([1, 2, 3, 0.3, -0.4, 0.5])
    link = placed(sx.JointType.FLOATING, q)
    assert link.translation == pytest.approx(q[:3]) and link.parent_joint.position == pytest.approx(
        q, abs=1e-14
    )


def test_a_child_is_at_to_parent_times_motion_times_from_parent():
    to_parent, from_parent = moved(1, 2, 3), moved(0.1, 0, 0)
    link = placed(
        sx.JointType.REVOLUTE,
        [0.5],
        axis=(0, 1, 0),
        transform_to_parent=to_parent,
        transform_from_parent=from_parent,
    )
    motion = np.eye(4)
    motion[:3, :3] = turn((0, 1, 0), 0.5)
    assert link.transform == pytest.approx(to_parent @ motion @ from_parent, abs=1e-14)
    assert link.local_transform == pytest.approx(link.transform, abs=1e-14)


# ---- frames and the whole


def test_frames_on_bodies_move_with_them():
    world = sx.World(gravity=(0, 0, 0))
    disc = world.add_rigid_body(position=(1, 0, 0), linear_velocity=(0, 1, 0), angular_velocity=(0, 0, 2))
    rim = world.add_fixed_frame("rim", disc, moved(x=0.5))
    assert rim.linear_velocity == pytest.approx([0, 2, 0]) and rim.angular_velocity == pytest.approx(
        [0, 0, 2]
    )
    # one who rides on the disc sees the rim at rest
    assert rim.relative_linear_velocity(disc) == pytest.approx([0, 0, 0], abs=1e-15)
    assert disc.relative_angular_velocity(sx.Frame.world()) == pytest.approx([0, 0, 2])
    still = world.add_free_frame("still")
    # seen from the disc, the world's origin turns the other way around
    assert still.relative_linear_velocity(disc, expressed_in=sx.Frame.world()) == pytest.approx(
        [0, -1 + 2, 0]
    )


def test_metrics_of_a_world_are_sums_and_asking_changes_nothing():
    world = sx.World()
    robot = rich(world)
    robot.joints.velocity = np.linspace(-1, 1, 5)
    world.step(5)
    before = robot.joints.position.tobytes(), world.time
    metrics = world.compute_step_metrics()
    assert (robot.joints.position.tobytes(), world.time) == before
    parts = [*world.rigid_bodies, robot]
    assert metrics.kinetic_energy == pytest.approx(sum(p.kinetic_energy for p in parts), rel=1e-12)
    assert metrics.potential_energy == pytest.approx(sum(p.potential_energy for p in parts), rel=1e-12)
    assert metrics.linear_momentum == pytest.approx(sum(p.linear_momentum for p in parts), abs=1e-12)
    assert metrics.total_energy == metrics.kinetic_energy + metrics.potential_energy
    assert metrics.active_contact_count == 0 and metrics.max_penetration_depth == 0.0
    assert world.kinetic_energy == metrics.kinetic_energy


def test_metrics_count_the_contacts_of_the_last_step():
    text = """<mujoco><worldbody><geom type="plane" size="5 5 0.1"/><body name="crate" pos="0 0 0.35">
      <freejoint/><geom type="box" size="0.3 0.2 0.1" mass="2"/></body></worldbody></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(50)
    flying = world.compute_step_metrics()
    assert (flying.active_contact_count, flying.max_penetration_depth) == (0, 0.0)
    iterations = []
    for _ in range(500):
        world.step()
        iterations.append(world.compute_step_metrics().last_step_iterations)
    assert iterations[0] == 0 and max(iterations) >= 1
    lying = world.compute_step_metrics()
    assert lying.active_contact_count == 4
    height = lying.potential_energy / (2.0 * G)
    assert lying.max_penetration_depth == pytest.approx(0.1 - height, abs=1e-9)
    assert 0.0 < lying.max_penetration_depth < 0.01


def test_momentum_about_the_origin_is_kept_without_forces():
    world = sx.World(gravity=(0, 0, 0))
    world.add_rigid_body(position=(1, 0, 0), linear_velocity=(0, 3, 0), mass=2.0)
    assert world.angular_momentum == pytest.approx([0, 0, 6])
    world.step(50)
    assert world.angular_momentum == pytest.approx([0, 0, 6], rel=1e-12)


def test_centers_of_mass():
    world = sx.World(gravity=(0, 0, 0))
    arm = pendulum(world, mass=3.0)
    assert arm.center_of_mass == pytest.approx([0.75, 0, 0])
    assert arm.get_subtree_center_of_mass(arm.links["bob"]) == pytest.approx([1, 0, 0])
    assert arm.get_subtree_center_of_mass(arm.links["base"]) == pytest.approx([0.75, 0, 0])
    assert world.center_of_mass == pytest.approx([0.75, 0, 0])
    arm.joints["hinge"].actuator_type, arm.joints["hinge"].command_acceleration = (
        sx.ActuatorType.ACCELERATION,
        [2.0],
    )
    world.step()
    assert arm.center_of_mass_acceleration[2] == pytest.approx(-1.5, abs=1e-2)


def test_facade_and_arrays_agree_to_the_last_bit():
    world = sx.World(time_step=0.002)
    robot = rich(world)
    for body in ("ground", "belt"):
        world.rigid_bodies[body].remove()
    world.rigid_bodies["box"].clear_force()
    robot.joints.velocity = np.linspace(-1, 1, 5)
    model = world._live().model
    state, control = model.state(), model.control()
    state.joint_q[:], state.joint_qd[:] = world._live().sim.q, world._live().sim.v
    control.joint_f[:] = world._live().sim.force
    control.joint_target_vel[:] = world._live().sim.v_target
    control.joint_target_pos[:] = 0.0
    start = int(model.joint_qd_start[world._live().joint(robot.joints["l"]._joint)])
    control.joint_target_pos[start] = 0.4
    box = world._live().v_slice(world.rigid_bodies["box"]._body.free)
    control.joint_target_pos[box] = 0.0
    for _ in range(5):
        world.step(20)
        step_arrays(model, state, control, steps=20, dt=0.002)
        assert state.joint_q.tobytes() == world._live().sim.q.tobytes()
        assert state.joint_qd.tobytes() == world._live().sim.v.tobytes()
