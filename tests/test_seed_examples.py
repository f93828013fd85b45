# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worked examples, as users will type them: articulations as arrays with poses of 7 numbers, and the World."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wl
from worldline import simulation as sx
from worldline.model import ArticulationView, Axis, JointType, eval_fk, eval_ik

BOX = np.eye(3) / 6.0


def quat_from_axis_angle(axis, angle):
    return (*(np.sin(0.5 * angle) * np.asarray(axis, float)), np.cos(0.5 * angle))


TF = (1.0, 2.0, 3.0, *quat_from_axis_angle((0.0, 0.0, 1.0), 0.5 * np.pi))


def test_initialise_by_joint_coordinates():
    builder = wl.ModelBuilder()

    # create an articulation with a single revolute joint
    body = builder.add_link(mass=1.0, inertia=BOX)
    joint = builder.add_joint_revolute(parent=-1, child=body, axis=(0.0, 0.0, 1.0))
    builder.add_articulation([joint])

    builder.joint_q[-1] = 0.5
    builder.joint_qd[-1] = 10.0

    model = builder.finalize()
    state = model.state()

    # The generalized coordinates have been initialized by the revolute joint:
    assert all(state.joint_q == [0.5])
    assert all(state.joint_qd == [10.0])

    # the body poses are still those given to add_link, the identity
    assert all(state.body_q[0] == [0, 0, 0, 0, 0, 0, 1])
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(state.body_q[0], [0, 0, 0, *quat_from_axis_angle((0, 0, 1), 0.5)], atol=1e-15)
    assert np.allclose(state.body_qd[0], [0, 0, 0, 0, 0, 10.0], atol=1e-15)


def test_initialise_by_pose():
    builder = wl.ModelBuilder()

    body = builder.add_body(xform=TF, mass=1.0, inertia=BOX)

    model = builder.finalize()
    state = model.state()

    # The body poses (maximal coordinates) are initialized by the xform argument:
    assert all(state.body_q[body] == [*TF])

    # Note: add_body() automatically creates a free joint, so generalized coordinates exist:
    assert len(state.joint_q) == 7


def test_free_joint_starts_at_the_pose_of_its_child():
    builder = wl.ModelBuilder()

    body = builder.add_link(xform=TF, mass=1.0, inertia=BOX)
    joint = builder.add_joint_free(body)
    builder.add_articulation([joint])

    # The free joint's coordinates (joint_q) are initialized by its child body's pose,
    # so we do not need to specify them here
    # builder.joint_q[-7:] = *tf

    model = builder.finalize()
    state = model.state()

    assert all(state.body_q[0] == [*TF])
    assert len(state.joint_q) == 7
    assert all(state.joint_q == [*TF])


def test_kinematic_links():
    builder = wl.ModelBuilder()

    # 1) Kinematic free-base body (add_body creates free joint + articulation)
    kinematic_free = builder.add_body(is_kinematic=True, mass=1.0)

    # 2) Kinematic revolute root with a dynamic child
    root = builder.add_link(is_kinematic=True, mass=1.0)
    child = builder.add_link(mass=1.0)
    j_root = builder.add_joint_revolute(parent=-1, child=root, axis=Axis.Z)
    j_child = builder.add_joint_revolute(parent=root, child=child, axis=Axis.Z)
    builder.add_articulation([j_root, j_child])

    # 3) Static fixed-root body (zero joint DOFs)
    static_root = builder.add_link(is_kinematic=True, mass=1.0)
    j_static = builder.add_joint_fixed(parent=-1, child=static_root)
    builder.add_articulation([j_static])

    model = builder.finalize()
    assert model.body_kinematic[[kinematic_free, root, child, static_root]].tolist() == [
        True,
        True,
        False,
        True,
    ]
    assert model.joint_dof_dim[j_static].tolist() == [0, 0]

    wrong = wl.ModelBuilder()
    root, child = wrong.add_link(mass=1.0), wrong.add_link(mass=1.0, is_kinematic=True)
    joints = [wrong.add_joint_revolute(-1, root), wrong.add_joint_revolute(root, child)]
    with pytest.raises(ValueError, match="kinematic"):
        wrong.add_articulation(joints)


def test_coordinates_of_every_joint_type():
    """The table of joint types: coordinates in joint_q, degrees of freedom in joint_qd."""
    table = {
        "prismatic": (JointType.PRISMATIC, 1, 1),
        "revolute": (JointType.REVOLUTE, 1, 1),
        "ball": (JointType.BALL, 4, 3),
        "fixed": (JointType.FIXED, 0, 0),
        "free": (JointType.FREE, 7, 6),
        "distance": (JointType.DISTANCE, 7, 6),
        "cable": (JointType.CABLE, 2, 2),
    }
    for name, (kind, coordinates, velocities) in table.items():
        builder = wl.ModelBuilder()
        joint = getattr(builder, f"add_joint_{name}")(parent=-1, child=builder.add_link(mass=1.0))
        builder.add_articulation([joint])
        model = builder.finalize()
        assert model.joint_type[joint] == kind
        assert (model.joint_coord_count, model.joint_dof_count) == (coordinates, velocities)
    axes = [wl.JointDofConfig(axis=axis) for axis in Axis]
    for linear in range(4):
        for angular in range(4 if linear else 1, 4):
            builder = wl.ModelBuilder()
            body = builder.add_link(mass=1.0)
            builder.add_articulation([builder.add_joint_d6(-1, body, axes[:linear], axes[:angular])])
            model = builder.finalize()
            assert model.joint_coord_count == model.joint_dof_count == linear + angular


def test_reading_the_arrays_of_a_joint():
    builder = wl.ModelBuilder()
    builder.add_body(mass=1.0, inertia=BOX)  # so that nothing starts at zero
    body = builder.add_link(mass=1.0, inertia=BOX)
    joint_id = builder.add_joint_d6(
        parent=-1,
        child=body,
        linear_axes=[wl.ModelBuilder.JointDofConfig(axis=Axis.X, limit_lower=-0.5, limit_upper=0.5)],
        angular_axes=[wl.ModelBuilder.JointDofConfig(axis=Axis.Z, limit_lower=-1.0, limit_upper=1.0)],
    )
    builder.add_articulation([joint_id])
    builder.joint_q[-2:] = [0.1, 0.2]
    builder.joint_qd[-2:] = [0.3, 0.4]
    model = builder.finalize()
    state, control = model.state(), model.control()
    control.joint_f[-2:] = [5.0, 6.0]

    q_start = model.joint_q_start[joint_id]
    coord_count = model.joint_dof_dim[joint_id, 0] + model.joint_dof_dim[joint_id, 1]
    # now the positional coordinates can be queried as follows:
    q = state.joint_q[q_start : q_start + coord_count]
    assert (q[0], q[1]) == (0.1, 0.2)

    qd_start = model.joint_qd_start[joint_id]
    dof_count = model.joint_dof_dim[joint_id, 0] + model.joint_dof_dim[joint_id, 1]
    # now the velocity DOFs can be queried as follows:
    qd = state.joint_qd[qd_start : qd_start + dof_count]
    assert (qd[0], qd[1]) == (0.3, 0.4)
    # the generalized joint forces can be queried as follows:
    f = control.joint_f[qd_start : qd_start + dof_count]
    assert (f[0], f[1]) == (5.0, 6.0)

    num_linear_dofs = model.joint_dof_dim[joint_id, 0]
    num_angular_dofs = model.joint_dof_dim[joint_id, 1]
    # all per-DOF arrays for this joint start at this index:
    dof_start = model.joint_qd_start[joint_id]
    # the axis vector for the first linear DOF
    first_lin_axis = model.joint_axis[dof_start]
    # the position target for this linear DOF
    first_lin_target = control.joint_target_pos[dof_start]
    # the joint limit of this linear DOF
    first_lin_limit = model.joint_limit_lower[dof_start]
    # the axis vector for the first angular DOF comes after all linear DOFs
    first_ang_axis = model.joint_axis[dof_start + num_linear_dofs]
    # the position target for this angular DOF
    first_ang_target = control.joint_target_pos[dof_start + num_linear_dofs]
    # the joint limit of this angular DOF
    first_ang_limit = model.joint_limit_lower[dof_start + num_linear_dofs]

    assert (num_linear_dofs, num_angular_dofs) == (1, 1)
    assert np.allclose(first_lin_axis, [1.0, 0.0, 0.0])
    assert np.allclose(first_ang_axis, [0.0, 0.0, 1.0])
    assert np.allclose([first_lin_limit, first_ang_limit], [-0.5, -1.0])
    assert (first_lin_target, first_ang_target) == (0.0, 0.0)


def center_joint_q_from_limits(
    joint_id,
    joint_q_start,
    joint_qd_start,
    joint_dof_dim,
    joint_type,
    joint_limit_lower,
    joint_limit_upper,
    joint_q,
):
    # First DOF index for this joint in qd-order arrays (limits/axes/forces)
    qd_begin = joint_qd_start[joint_id]
    dof_count = joint_dof_dim[joint_id, 0] + joint_dof_dim[joint_id, 1]
    # Start index for this joint in generalized coordinates q
    q_begin = joint_q_start[joint_id]
    # Skip free/ball joints because their q entries include quaternion coordinates.
    jt = joint_type[joint_id]
    if jt == JointType.FREE or jt == JointType.BALL or jt == JointType.DISTANCE:
        return
    # For scalar joints, q coordinates align with this joint's total DOF count.
    for local_dof in range(dof_count):
        qd_idx = qd_begin + local_dof
        q_idx = q_begin + local_dof
        lower = joint_limit_lower[qd_idx]
        upper = joint_limit_upper[qd_idx]
        if np.isfinite(lower) and np.isfinite(upper):
            joint_q[q_idx] = 0.5 * (lower + upper)


def test_center_joint_q_between_joint_limits():
    builder = wl.ModelBuilder()
    base, arm = builder.add_link(mass=1.0, inertia=BOX), builder.add_link(mass=1.0, inertia=BOX)
    builder.add_articulation(
        [
            builder.add_joint_free(base),
            builder.add_joint_revolute(base, arm, axis=Axis.Y, limit_lower=0.0, limit_upper=1.0),
        ]
    )
    model = builder.finalize()
    state = model.state()
    for joint_id in range(model.joint_count):
        center_joint_q_from_limits(
            joint_id,
            model.joint_q_start,
            model.joint_qd_start,
            model.joint_dof_dim,
            model.joint_type,
            model.joint_limit_lower,
            model.joint_limit_upper,
            state.joint_q,
        )
    # Recompute transforms after editing generalized coordinates
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert state.joint_q.tolist() == [0, 0, 0, 0, 0, 0, 1, 0.5]
    assert np.allclose(state.body_q[1, 3:], quat_from_axis_angle((0, 1, 0), 0.5), atol=1e-15)


@pytest.fixture
def robots():
    """Two robots, each a floating base and an arm."""
    builder = wl.ModelBuilder()
    for i in range(2):
        base = builder.add_link(xform=(2.0 * i, 0, 0, 0, 0, 0, 1), mass=1.0, inertia=BOX)
        arm = builder.add_link(mass=1.0, inertia=BOX)
        joints = [builder.add_joint_free(base), builder.add_joint_revolute(base, arm, axis=Axis.Z)]
        builder.add_articulation(joints, label=f"robot_{i}")
    builder.add_body(mass=1.0, label="ball")
    model = builder.finalize()
    return model, model.state()


def test_articulation_view(robots):
    model, state = robots
    # select all articulations whose key starts with "robot"
    view = ArticulationView(model, pattern="robot*")
    assert view.count == 2
    # select only scalar-joint articulations (exclude quaternion-root joint types)
    scalar_view = ArticulationView(
        model,
        pattern="robot*",
        include_joint_types=[JointType.PRISMATIC, JointType.REVOLUTE],
        exclude_joint_types=[JointType.FREE, JointType.BALL],
    )
    assert scalar_view.get_dof_positions(state).shape == (1, 2, 1)


def test_move_articulations_in_world_space(robots):
    model, state = robots
    view = ArticulationView(model, pattern="robot*")
    root_tf = view.get_root_transforms(state)
    # shift +0.2 m along world x for all selected articulations
    root_tf[..., 0] += 0.2
    view.set_root_transforms(state, root_tf)
    # recompute link transforms from generalized coordinates
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(view.get_root_transforms(state)[0, :, 0], [0.2, 2.2])
    assert np.allclose(view.get_link_transforms(state)[0, :, :, 0], [[0.2, 0.2], [2.2, 2.2]])


def test_inspect_and_modify_selected_articulations(robots):
    model, state = robots
    view = ArticulationView(model, pattern="robot*")
    scalar_view = ArticulationView(
        model,
        pattern="robot*",
        include_joint_types=[JointType.PRISMATIC, JointType.REVOLUTE],
        exclude_joint_types=[JointType.FREE, JointType.BALL],
    )
    state.joint_q[:] = 0.3
    # inspect
    q = scalar_view.get_dof_positions(state)  # shape [world_count, articulation_count, dof_count]
    qd = scalar_view.get_dof_velocities(state)  # shape [world_count, articulation_count, dof_count]
    link_q = view.get_link_transforms(state)  # shape [world_count, articulation_count, link_count]
    assert q.shape == (1, 2, 1)
    assert qd.shape == (1, 2, 1)
    assert link_q.shape[:3] == (1, 2, 2)
    # edit selected articulation values in-place
    q[..., 0] = 0.0
    scalar_view.set_dof_positions(state, q)
    assert np.allclose(scalar_view.get_dof_positions(state)[0, :, 0], 0.0)


def test_root_transforms_of_roots_that_do_not_float():
    builder = wl.ModelBuilder()
    for i in range(2):
        body = builder.add_link(mass=1.0, inertia=BOX)
        joint = builder.add_joint_revolute(-1, body, axis=Axis.Z, parent_xform=(i, 0, 0, 0, 0, 0, 1))
        builder.add_articulation([joint], label=f"door_{i}")
    model = builder.finalize()
    state = model.state()
    view = ArticulationView(model, pattern="door*")
    root_tf = view.get_root_transforms(state)
    root_tf[..., 2] = 1.0
    view.set_root_transforms(state, root_tf)
    assert model.joint_X_p[:, 2].tolist() == [1.0, 1.0]
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert state.body_q[:, 2].tolist() == [1.0, 1.0]


def test_forward_and_inverse_kinematics():
    """x_wc = x_wp x_pj x_j inverse(x_cj), and back."""
    builder = wl.ModelBuilder()
    base = builder.add_link(mass=1.0, inertia=BOX)
    arm = builder.add_link(mass=1.0, inertia=BOX)
    joints = [
        builder.add_joint_revolute(parent=-1, child=base, axis=Axis.Z),
        builder.add_joint_revolute(
            parent=base,
            child=arm,
            axis=Axis.Z,
            parent_xform=(1.0, 0, 0, 0, 0, 0, 1),
            child_xform=(-0.5, 0, 0, 0, 0, 0, 1),
        ),
    ]
    builder.add_articulation(joints)
    model = builder.finalize()
    state = model.state()
    state.joint_q[:], state.joint_qd[:] = [0.5 * np.pi, -0.5 * np.pi], [1.0, 0.0]
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(state.body_q[1], [0.5, 1.0, 0.0, 0, 0, 0, 1], atol=1e-15)
    assert np.allclose(state.body_qd[1], [-1.0, 0.5, 0, 0, 0, 1.0], atol=1e-15)
    joint_q, joint_qd = np.zeros(2), np.zeros(2)
    eval_ik(model, state, joint_q, joint_qd)
    assert np.allclose(joint_q, state.joint_q, atol=1e-14)
    assert np.allclose(joint_qd, state.joint_qd, atol=1e-14)
    with pytest.raises(ValueError, match="not both"):
        eval_fk(model, joint_q, joint_qd, state, mask=[True], indices=[0])


def test_orphan_joints():
    builder = wl.ModelBuilder()
    body = builder.add_link(mass=1.0, inertia=BOX)
    builder.add_joint_revolute(parent=-1, child=body, axis=Axis.Z, label="orphan")
    with pytest.raises(ValueError, match="orphan"):
        builder.finalize()
    model = builder.finalize(skip_validation_joints=True)
    assert model.orphan_joints == [0]
    assert model.state().joint_q.shape == (1,)


# ---- the object facade: the common path, as users will type it


def test_the_common_path():
    world = sx.World(time_step=0.001)
    box = world.add_rigid_body(
        "box",
        mass=1.0,
        position=(0.0, 0.0, 0.5),
    )
    world.step(n=100)
    assert world.time == pytest.approx(0.1) and box.translation[2] == pytest.approx(0.4504595)


def test_common_workflow():
    world = sx.World(time_step=0.001)
    world.time_step = 0.002
    assert (world.time, world.frame, world.is_simulation_mode) == (0.0, 0, False)
    world.add_rigid_body("box", mass=1.0)
    world.add_multibody("arm")
    world.enter_simulation_mode()
    world.sync(sx.WorldSyncStage.KINEMATICS)
    world.step()
    world.step(n=100)
    assert world.frame == 101
    world.clear()
    assert world.frame == 0 and world.num_rigid_bodies == 0


def test_lifecycle_and_finalization():
    world = sx.World(time_step=0.001)
    world.add_multibody("arm")
    world.validate_topology()
    world.enter_simulation_mode()
    world.reset()
    world.step(n=100)
    assert world.frame == 100


def arm_of_example():
    world = sx.World()
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    forearm = arm.add_link(
        "forearm",
        parent=base,
        joint=sx.JointSpec(
            name="elbow",
            type=sx.JointType.REVOLUTE,
            axis=(0.0, 0.0, 1.0),
        ),
    )
    return world, arm, base, forearm


def test_programmatic_construction():
    world, arm, base, forearm = arm_of_example()
    world.enter_simulation_mode()
    world.sync(sx.WorldSyncStage.KINEMATICS)
    assert arm.joints["elbow"].child_link is forearm and forearm.parent_link is base


def test_first_class_objects_and_collections():
    world, robot, base, _ = arm_of_example()
    assert len(world.multibodies) == 1 and world.multibodies.names == ["arm"]
    assert world.multibodies.get("arm") is robot and world.multibodies["arm"] is robot
    assert len(robot.links) == 2 and robot.links.names == ["base", "forearm"] and robot.links["base"] is base
    assert len(robot.joints) == 1 and robot.joints.names == ["elbow"]
    robot.name = "arm"
    assert (robot.num_links, robot.num_joints, robot.num_dofs) == (2, 1, 1)
    joint = robot.joints["elbow"]
    assert (joint.name, joint.type) == ("elbow", sx.JointType.REVOLUTE) and joint.axis.tolist() == [0, 0, 1]


def test_a_fixed_ground_and_a_tool_without_a_joint():
    world = sx.World()
    ground = world.add_rigid_body("ground", fixed=True)
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    tool = arm.add_link("tool", parent=base)
    world.step()
    assert ground.is_static and tool.relative_transform(base).tolist() == np.eye(4).tolist()


def test_kinematics_only_and_freshness():
    world, robot, _, forearm = arm_of_example()
    world.enter_simulation_mode()
    joint, q = robot.joints["elbow"], [0.3]
    joint.position = q
    tool_pose = robot.links["forearm"].transform  # Fresh by default.
    world.sync(sx.WorldSyncStage.KINEMATICS)
    poses = robot.links.transforms
    assert np.array_equal(tool_pose, forearm.transform) and np.allclose(poses[1], tool_pose, atol=1e-15)
    assert tool_pose[0, 0] == pytest.approx(np.cos(0.3))


def test_bulk_properties():
    _, robot, _, _ = arm_of_example()
    targets = [0.7]
    robot.joints.target_position = targets
    assert robot.joints.position.tolist() == robot.joints.velocity.tolist() == [0.0]
    assert robot.joints.target_position.tolist() == targets


def test_closed_chain_structure():
    world, _, ground_frame, coupler = arm_of_example()
    closure = world.add_loop_closure(
        "four_bar_closure",
        frame_a=ground_frame,
        frame_b=coupler,
        offset_a=(
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
        family=sx.LoopClosureFamily.RIGID,
    )
    closure.enabled = True
    closure.kinematics = sx.ClosureKinematicsPolicy.PROJECT
    closure.dynamics = sx.ClosureDynamicsPolicy.SOLVE
    residual = closure.compute_residual()
    assert residual.value.tolist() == [0.0] * 6 and residual.norm == 0.0
    spec = sx.LoopClosureSpec(frame_a=ground_frame, frame_b=coupler)
    world.add_loop_closure("another", spec)
    assert world.get_loop_closure("four_bar_closure") is closure
    assert world.has_loop_closure("four_bar_closure") and world.num_loop_closures == 2


def test_configuration_value_objects():
    world = sx.World(
        time_step=0.001,
        gravity=(0.0, 0.0, -9.81),
        rigid_body_solver=sx.RigidBodySolver.SEQUENTIAL_IMPULSE,
        multibody_options=sx.MultibodyOptions(integration_family="semi-implicit"),
        contact_solver_method=sx.ContactSolverMethod.SEQUENTIAL_IMPULSE,
        contact_gradient_mode=sx.ContactGradientMode.ANALYTIC,
    )
    body = world.add_rigid_body(
        "box",
        sx.RigidBodyOptions(
            mass=1.0,
            position=(0.0, 0.0, 0.5),
            linear_velocity=(0.0, 0.0, 0.0),
        ),
    )
    body.apply_force((1.0, 0.0, 0.0))
    world.step()
    assert body.linear_velocity[0] == pytest.approx(0.001)
