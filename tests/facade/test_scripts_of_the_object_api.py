# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whole scripts in the words of the object API: construction, control, replay, closures, joints, executors."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx


def test_an_arm_and_a_ball_from_construction_to_state_vectors():
    world = sx.World(
        time_step=0.001,
        multibody_options=sx.MultibodyOptions(integration_family="semi-implicit"),
        rigid_body_solver=sx.RigidBodySolver.SEQUENTIAL_IMPULSE,
        contact_solver_method=sx.ContactSolverMethod.SEQUENTIAL_IMPULSE,
        contact_gradient_mode=sx.ContactGradientMode.ANALYTIC,
    )
    ground = world.add_rigid_body("ground", sx.RigidBodyOptions(position=(0, 0, -0.5)))
    ground.set_collision_shape(sx.CollisionShape.box((5.0, 5.0, 0.5)))
    ground.is_static = True
    ball = world.add_rigid_body("ball", sx.RigidBodyOptions(mass=1.0, position=(3.0, 0.0, 0.5)))
    ball.set_collision_shape(sx.CollisionShape.sphere(0.1))
    assert ball.has_collision_shape

    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    hinge = sx.JointSpec(name="shoulder", type=sx.JointType.REVOLUTE, axis=(0.0, 1.0, 0.0))
    upper = arm.add_link("upper", parent=base, joint=hinge)
    upper.mass, upper.inertia = 1.5, np.eye(3) * 0.2
    shoulder = arm.joints["shoulder"]
    shoulder.set_position_limits([-2.0], [2.0])
    shoulder.set_effort_limits([-30.0], [30.0])
    shoulder.set_velocity_limits([-5.0], [5.0])
    shoulder.damping_coefficient = [0.1]
    shoulder.actuator_type = sx.ActuatorType.FORCE
    assert (world.num_multibodies, world.num_rigid_bodies) == (1, 2)
    assert (arm.num_dofs, arm.num_links, list(arm.link_names)) == (1, 2, ["base", "upper"])

    world.enter_simulation_mode()
    shoulder.position = [0.3]
    world.sync(sx.WorldSyncStage.KINEMATICS)
    world.update_kinematics()
    assert upper.rotation[0, 0] == pytest.approx(np.cos(0.3), rel=1e-12)

    world.replay_recording_enabled = True
    world.step(n=100)
    assert world.replay_frame_count == 101
    # semi-implicit Euler falls by g h^2 k (k + 1) / 2
    assert ball.translation[2] == pytest.approx(0.5 - 9.81e-6 * 100 * 101 / 2, rel=1e-12)
    world.restore_replay_frame(50)
    assert world.time == pytest.approx(world.get_replay_frame_time(50), rel=1e-12)
    assert ball.translation[2] == pytest.approx(0.5 - 9.81e-6 * 50 * 51 / 2, rel=1e-12)
    shoulder.force = [1.0]
    world.step()
    # (I + h d) dv = h (f - d v), at rest: the damper acts at the end of the step or at its start
    assert shoulder.velocity[0] == pytest.approx(0.001 * 1.0 / 0.2, rel=1e-3)
    world.step(n=400)
    assert ball.translation[2] == pytest.approx(0.1, abs=1e-3)
    assert len(world.collide()) == 1

    space = sx.StateSpace()
    space.add_variable("arm.q", dimension=1)
    space.add_variable("arm.dq", dimension=1)
    space.finalize()
    state = world.get_state(space)
    assert state["arm.q"].tolist() == shoulder.position.tolist()
    world.clear()
    assert world.num_rigid_bodies == 0


def test_a_closed_chain_a_joint_between_bodies_and_executors():
    world = sx.World(time_step=0.001)
    bars = world.add_multibody("bars")
    base = bars.add_link("base")
    hinge = sx.JointSpec(name="crank_joint", type=sx.JointType.REVOLUTE, axis=(0, 1, 0))
    crank = bars.add_link("crank", parent=base, joint=hinge)
    ground_frame = world.add_free_frame("ground_frame")
    unit = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    closure = world.add_loop_closure(
        "closure", frame_a=ground_frame, frame_b=crank, offset_a=unit, family=sx.LoopClosureFamily.RIGID
    )
    closure.enabled = True
    closure.kinematics = sx.ClosureKinematicsPolicy.RESIDUAL_ONLY
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    residual = closure.compute_residual()
    assert (residual.active, residual.force_available, residual.norm) == (False, False, 0.0)
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(
        enabled=True,
        kinematics=sx.ClosureKinematicsPolicy.PROJECT,
        dynamics=sx.ClosureDynamicsPolicy.SOLVE,
    )
    second = world.add_loop_closure("second", sx.LoopClosureSpec(frame_a=ground_frame, frame_b=base))
    second.enabled = False
    assert world.get_loop_closure("closure") is closure
    assert world.has_loop_closure("second") and world.num_loop_closures == 2
    assert world.get_loop_closure("none") is None

    a = world.add_rigid_body("a", mass=1.0)
    b = world.add_rigid_body("b", mass=1.0, position=(1, 0, 0))
    door = world.add_joint(a, b, sx.JointSpec(type=sx.JointType.REVOLUTE, axis=(0, 0, 1)))
    assert door.name == "joint_001" and door.axis.tolist() == [0, 0, 1]
    assert door.actuator_type is sx.ActuatorType.FORCE and not door.is_broken
    door.break_force = 1e9
    door.reset_breakage()

    world.validate_topology()
    world.enter_simulation_mode()
    world.reset()
    world.step(n=100)
    assert closure.compute_residual().norm < 1e-9
    world.step_profiling_enabled = True
    world.step()
    assert isinstance(world.last_step_profile, sx.WorldStepProfile)
    assert world.multibodies.names == ["bars"] and world.multibodies.get("none") is None
    with pytest.raises(KeyError):
        world.multibodies["none"]
    with sx.compute.ParallelExecutor(2) as executor:
        world.step(executor=executor)
    world.step(executor=sx.compute.SequentialExecutor())
    assert (world.frame, world.is_simulation_mode) == (103, True)
    # both bodies fall together, and the push moves their common center
    before = a.linear_velocity + b.linear_velocity
    a.apply_force((2.0, 0.0, 0.0))
    world.step()
    gained = a.linear_velocity + b.linear_velocity - before
    np.testing.assert_allclose(gained, (0.002, 0.0, -2 * 0.00981), atol=1e-9)
