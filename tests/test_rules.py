# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The rules that the library promises, one test each, in the order in which they are written down."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import worldline.model as wm
from facade_worlds import arm_and_box
from processes import loaded_by
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, CapabilityError, OperationError, WorldlineError
from worldline._src.model.sensor_tables import ContactReport
from worldline.collision import CollisionShape

PIN = sx.LoopClosureFamily.POINT


def closed():
    """The arm and the box with a closure between them that only reports."""
    world, arm = arm_and_box()
    spec = sx.LoopClosureSpec(arm.links["lower"], world.rigid_bodies["box"], PIN)
    return world, arm, world.add_loop_closure("pin", spec)


# ---- the World


def test_rule_01_stepping_enters_simulation_mode_zero_does_nothing_negative_raises():
    world, _ = arm_and_box()
    world.step(n=0)
    assert not world.is_simulation_mode and world.time == 0.0
    with pytest.raises(ValueError):
        world.step(n=-1)
    world.step()
    assert world.is_simulation_mode and world.frame == 1


def test_rule_02_sync_needs_simulation_mode_and_moves_nothing():
    world, arm = arm_and_box()
    with pytest.raises(RuntimeError):
        world.sync(sx.WorldSyncStage.KINEMATICS)
    world.enter_simulation_mode()
    before = world.state_vector
    world.sync(sx.WorldSyncStage.KINEMATICS)
    world.update_kinematics()
    assert (world.time, world.frame) == (0.0, 0) and (world.state_vector == before).all()
    assert arm.is_valid


def test_rule_03_topology_changes_only_in_design_mode():
    world, arm = arm_and_box()
    world.step()
    for change in (
        lambda: world.add_rigid_body("late"),
        lambda: arm.add_link("late"),
        lambda: world.add_loop_closure("late", sx.LoopClosureSpec(*arm.links[:2], PIN)),
        lambda: arm.links["lower"].remove(),
    ):
        with pytest.raises(RuntimeError, match="simulation mode"):
            change()
    with world.edit():
        world.add_rigid_body("late")
    world.clear()
    world.add_rigid_body("again")


def test_rule_04_handles_say_whether_they_are_valid_and_clear_ends_all():
    world, arm, closure = closed()
    tool = world.add_fixed_frame("tool", arm.links["lower"])
    handles = [arm, arm.links[0], arm.joints[0], arm.dofs[0], world.rigid_bodies["box"], closure, tool]
    assert all(handle.is_valid for handle in handles)
    world.clear()
    assert not any(handle.is_valid for handle in handles)
    for read in (lambda: arm.num_links, lambda: tool.translation, lambda: closure.compute_residual()):
        with pytest.raises(RuntimeError):
            read()


def test_rule_05_names_are_unique_per_owner_and_made_up_names_skip_taken_ones():
    world = sx.World()
    world.add_rigid_body("rigid_body_001")
    assert world.add_rigid_body().name == "rigid_body_002"
    arm = world.add_multibody("same")
    arm.add_link("same")
    world.add_rigid_body("same")
    for again in (
        lambda: world.add_rigid_body("same"),
        lambda: world.add_multibody("same"),
        lambda: arm.add_link("same"),
    ):
        with pytest.raises(ValueError):
            again()


def test_rule_06_optional_lookups_give_none_required_ones_raise_presence_is_a_bool():
    world, arm = arm_and_box()
    assert world.get_multibody("x") is world.get_rigid_body("x") is arm.get_link("x") is None
    assert world.has_multibody("arm") is True and arm.has_joint("x") is False
    for required in (world.multibodies, world.rigid_bodies, world.loop_closures, arm.links, arm.joints):
        with pytest.raises(KeyError):
            required["x"]


def test_rule_07_ends_of_other_worlds_and_owners_are_refused():
    world, arm = arm_and_box()
    _, foreign = arm_and_box()
    with pytest.raises(ValueError):
        world.add_loop_closure("x", sx.LoopClosureSpec(arm.links[0], foreign.links[0], PIN))
    with pytest.raises(ValueError):
        arm.add_link("x", parent=world.add_multibody("other").add_link("y"))
    assert arm.num_links == 3


# ---- closures


def test_rule_08_closure_ends_are_symmetric_and_distinct():
    world, arm, closure = closed()
    assert closure.frame_a is arm.links["lower"] and closure.frame_b is world.rigid_bodies["box"]
    assert not hasattr(closure, "parent") and not hasattr(closure, "child")
    with pytest.raises(ValueError):
        world.add_loop_closure("x", sx.LoopClosureSpec(arm.links[0], arm.links[0], PIN))


def test_rule_09_closure_policies_are_apart_from_topology_and_wait_while_disabled():
    world, _, closure = closed()
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(
        enabled=False, dynamics=sx.ClosureDynamicsPolicy.SOLVE
    )
    world.step()
    assert closure.dynamics is sx.ClosureDynamicsPolicy.SOLVE and closure.family is PIN
    closure.enabled = True
    gap = closure.compute_residual().norm
    world.step(n=50)
    assert closure.compute_residual().norm < gap, "a stage solves it"
    closure.kinematics = sx.ClosureKinematicsPolicy.PROJECT
    if any("PROJECT" in entry for row in sx.capabilities() for entry in row.unavailable):
        before = world.frame
        with pytest.raises(NotImplementedError):
            world.step_kinematics()
        assert world.frame == before


def test_rule_10_residuals_are_queries_and_forces_absent_when_not_solved():
    world, arm, closure = closed()
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    residual = closure.compute_residual()
    gap = arm.links["lower"].translation - world.rigid_bodies["box"].translation
    np.testing.assert_allclose(residual.value, gap)
    assert not residual.force_available and residual.force is None


def test_rule_11_closures_never_change_the_number_of_freedoms():
    world, arm = arm_and_box()
    before = (arm.num_dofs, world.num_dofs)
    world.add_loop_closure("pin", sx.LoopClosureSpec(arm.links[1], world.rigid_bodies[0], PIN))
    assert (arm.num_dofs, world.num_dofs) == before


# ---- reads


def test_rule_12_reads_are_fresh_and_no_flags_are_public():
    world, arm = arm_and_box()
    for _ in range(2):
        before = arm.links["lower"].translation
        arm.joints["shoulder"].position = arm.joints["shoulder"].position + 0.3
        assert np.abs(arm.links["lower"].translation - before).max() > 0.01
        if not world.is_simulation_mode:
            world.enter_simulation_mode()
    assert not [name for name in dir(world) if "dirty" in name or "stale" in name]


def test_rule_13_joint_numbers_are_vectors():
    _, arm = arm_and_box()
    for name in ("position", "velocity", "acceleration", "force", "target_position"):
        assert getattr(arm.joints["elbow"], name).shape == (1,)
    with pytest.raises(ValueError):
        arm.joints["elbow"].position = 0.5


def test_rule_14_returned_arrays_are_copies():
    world, arm = arm_and_box()
    for read in (
        lambda: arm.joints["elbow"].position,
        lambda: arm.links["lower"].transform,
        lambda: world.rigid_bodies["box"].translation,
        lambda: arm.mass_matrix,
        lambda: world.state_vector,
        lambda: world.gravity,
    ):
        before = read().copy()
        with pytest.raises(ValueError, match="read-only"):
            read()[:] = 77.0
        np.testing.assert_array_equal(read(), before)


def test_rule_15_replay_frames_hold_state_refuse_other_layouts_and_later_frames_go():
    world, arm = arm_and_box()
    world.replay_recording_enabled = True
    world.step(n=4)
    world.restore_replay_frame(2)
    world.step()
    assert world.replay_frame_count == 4
    arm.links["lower"].mass = 9.0
    with pytest.raises(sx.LayoutError, match="mass"):
        world.restore_replay_frame(1)


def test_rule_16_wrong_values_are_refused_before_stepping_and_the_old_one_stays():
    world, _ = arm_and_box()
    before = world.options
    for name in ("rigid_body_solver", "contact_solver_method", "multibody_options"):
        with pytest.raises((ValueError, TypeError)):
            setattr(world, name, "no-such-method")
        assert getattr(world, name) == getattr(before, name)
    with pytest.raises(ValueError):
        sx.MultibodyOptions(integration_family="no-such-family")


def test_rule_17_no_names_of_machinery_in_the_public_face():
    words = ("backend", "entity", "component", "registry", "scheduler", "ecs_", "numba", "executor")
    # who does the work is a choice of the user, and has a public name
    executors = {"ComputeExecutor", "SequentialExecutor", "ParallelExecutor"}
    for name in set(sx.__all__) - executors:
        members = [member for member in dir(getattr(sx, name)) if not member.startswith("_")]
        found = [m for m in (name, *members) if any(word in m.lower() for word in words)]
        assert not found, f"{name}: {found}"


def test_rule_18_async_is_a_layer_around_the_same_step():
    plain, scheduled = arm_and_box()[0], arm_and_box()[0]
    plain.step(n=20)
    assert asyncio.run(scheduled.step_async(n=20)) == 20
    np.testing.assert_array_equal(plain.state_vector, scheduled.state_vector)


def test_rule_19_stepping_needs_no_rendering():
    code = (
        "from worldline import simulation as sx\nworld = sx.World()\nworld.add_rigid_body('b')\nworld.step()"
    )
    assert loaded_by(code, "viser matplotlib OpenGL pyglet ray gymnasium lxml trimesh") == []


def test_rule_20_batch_arrays_lead_with_the_world():
    builder = wm.ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.replicate(3)
    model = builder.finalize()
    assert model.state().joint_q.shape == (3, 7) and model.state().body_q.shape == (3, 1, 7)
    q = np.tile(model.joint_q, (5, 1))
    assert wm.forward_kinematics(model, q).shape == (5, 1, 7)


def test_rule_21_collision_queries_solve_nothing():
    world = sx.World()
    world.add_ground_plane()
    ball = world.add_rigid_body("ball", position=(0, 0, 0.4))
    ball.add_collision_shape(CollisionShape.sphere(0.5))
    before = world.state_vector
    contact = world.collide()[0]
    world.distance(ball, None)
    world.raycast((0, 0, 3), (0, 0, -3))
    assert contact.depth == pytest.approx(0.1) and not contact.force.any() and world.contacts == []
    assert (world.state_vector == before).all() and world.frame == 0


def test_rule_22_other_dtypes_are_errors():
    world, arm = arm_and_box()
    assert world.dtype == sx.float64
    for wrong in (np.array([1j, 0]), np.array(["1", "2"]), np.array([True, False])):
        with pytest.raises(ValueError):
            arm.joints.position = wrong
    model = wm.ModelBuilder().finalize()
    with pytest.raises(ValueError):
        wm.forward_kinematics(model, np.zeros(0), out=np.zeros((0, 7), np.float32))


# ---- the description


def test_rule_23_attach_copies_returns_self_and_paths_follow_the_file(tmp_path):
    other = msd.World(hierarchy=msd.Hierarchy(bodies=[msd.Body(link=msd.Link(name="x"))]))
    scene = msd.World()
    assert scene.attach(other, other_prefix="a_") is scene
    scene.hierarchy.bodies[0].link.name = "changed"
    assert other.hierarchy.bodies[0].link.name == "x"
    text = '<mujoco><asset><mesh name="m" file="m.stl"/></asset></mujoco>'
    with pytest.raises(msd.SceneError, match="absolute"):
        msd.from_str(text)
    assert msd.from_str(text, file_path=tmp_path / "scene.xml").source_path == str(tmp_path / "scene.xml")


def test_rule_24_free_and_ball_joints_win_and_no_joints_is_a_weld():
    hinge, ball = msd.Joint(name="h", axis=(0, 0, 1)), msd.Joint(name="b", type_=msd.JointType.Ball)
    slide = msd.Joint(name="s", type_=msd.JointType.Slide, axis=(1, 0, 0))
    mass = msd.Inertia(mass=1.0, pos=(0, 0, 0), diag_inertia=(1, 1, 1))
    scene = msd.World()
    free = msd.Link(name="free", joints=[hinge], inertial=mass)
    turning = msd.Link(
        name="turning", joints=[msd.Joint(name="h2", axis=(1, 0, 0)), ball, slide], inertial=mass
    )
    turning.children.append(msd.Link(name="welded"))
    scene.hierarchy.bodies += [msd.Body(free=msd.FreeJoint(), link=free), msd.Body(link=turning)]
    model = msd.build(scene)
    assert model.joint_dof_count == 6 + 3 + 1
    assert "h" not in model.joint_label and "h2" not in model.joint_label


def test_rule_25_missing_inertia_is_computed_from_half_sizes_and_density():
    box = msd.Geometry(shape="Box", size=(0.1, 0.2, 0.3))
    scene = msd.World()
    scene.hierarchy.bodies.append(msd.Body(free=msd.FreeJoint(), link=msd.Link(name="b", geoms=[box])))
    model = msd.build(scene)
    mass = box.physics_material.density * 8 * 0.1 * 0.2 * 0.3
    assert model.body_mass[0] == pytest.approx(mass)
    np.testing.assert_allclose(np.diag(model.body_inertia[0]), mass / 3 * np.array([0.13, 0.10, 0.05]))
    cube = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
    data = msd.MeshData(vertices=cube, triangles=_HULL)
    scene.assets.meshes["cube"] = msd.MeshSource.buffer(data)
    box.mesh = "cube"
    assert msd.build(scene).shapes.size[0].tolist() == pytest.approx([0.5, 0.5, 0.5])


_HULL = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip


def test_rule_26_the_geom_of_higher_priority_decides():
    def slides(low: float, high: float, priority: int) -> bool:
        text = (
            f"<mujoco><option gravity='2 0 -9.81'/><worldbody><geom type='plane' size='0 0 1' friction='{low}'/>"
            f"<body name='b' pos='0 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1' friction='{high}'"
            f" priority='{priority}'/></body></worldbody></mujoco>"
        )
        world = sx.World.from_scene(msd.from_str(text))
        world.step(n=150)
        return bool(world.rigid_bodies["b"].linear_velocity[0] > 0.1)

    assert not slides(1.0, 0.01, 0), "the larger coefficient counts"
    assert slides(1.0, 0.01, 1), "that of the higher priority counts"


def test_rule_27_contact_reports_have_a_fixed_order():
    names = [name for name in msd.ContactSensorReport().__dict__ if not name.startswith("_")]
    order = ["found", "force", "torque", "dist", "pos", "normal", "tangent"]
    assert set(order) == set(names)
    scene = msd.from_str(
        "<mujoco><worldbody><geom name='g' type='plane' size='1 1 1'/><body name='b'><freejoint/>"
        "<geom name='s' size='.1'/></body></worldbody><sensor>"
        "<contact name='c' geom1='g' geom2='s' data='found force torque dist pos normal tangent'/>"
        "</sensor></mujoco>"
    )
    report = scene.sensors.contact[0].report
    assert all(getattr(report, name) for name in order)
    sensors = msd.build(scene).sensors
    assert sensors is not None and sensors.start.tolist() == [0, 1 + 3 + 3 + 1 + 3 + 3 + 3]
    assert all(bit.name.lower().startswith(name) for bit, name in zip(ContactReport, order, strict=True))


# ---- the array layer


def test_rule_28_parameters_of_joints_follow_the_velocities_linear_first():
    builder = wm.ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    dof = wm.ModelBuilder.JointDofConfig
    joint = builder.add_joint_d6(
        -1,
        link,
        linear_axes=[dof(axis="x", limit_upper=1.0), dof(axis="y", limit_upper=2.0)],
        angular_axes=[dof(axis="z", limit_upper=3.0)],
    )
    builder.add_articulation([joint])
    model = builder.finalize()
    assert model.joint_limit_upper.tolist() == [1.0, 2.0, 3.0] and model.joint_dof_dim.tolist() == [[2, 1]]
    for name in ("joint_axis", "joint_armature", "joint_target_vel"):
        assert len(getattr(model, name)) == model.joint_dof_count


def test_rule_29_only_root_links_may_be_kinematic():
    builder = wm.ModelBuilder()
    base = builder.add_link(mass=1.0, inertia=np.eye(3), is_kinematic=True)
    tip = builder.add_link(mass=1.0, inertia=np.eye(3), is_kinematic=True)
    joints = [builder.add_joint_fixed(-1, base), builder.add_joint_revolute(base, tip)]
    with pytest.raises(ValueError):
        builder.add_articulation(joints)
        builder.finalize()


def test_rule_30_every_joint_belongs_to_an_articulation():
    builder = wm.ModelBuilder()
    builder.add_joint_revolute(-1, builder.add_link(mass=1.0, inertia=np.eye(3)))
    with pytest.raises(ValueError):
        builder.finalize()
    assert builder.finalize(skip_validation_joints=True).joint_count == 1


def articulated(kind: str = "free"):
    builder = wm.ModelBuilder()
    for _ in range(2):
        base = builder.add_link(mass=1.0, inertia=np.eye(3))
        tip = builder.add_link(mass=1.0, inertia=np.eye(3))
        root = builder.add_joint_free(base) if kind == "free" else builder.add_joint_fixed(-1, base)
        builder.add_articulation([root, builder.add_joint_revolute(base, tip)], label=f"robot{_}")
    return builder.finalize()


def test_rule_31_masks_and_indices_exclude_each_other_and_the_rest_stays():
    model = articulated()
    state = model.state()
    with pytest.raises(ValueError):
        wm.eval_fk(model, state.joint_q, state.joint_qd, state, mask=[True, False], indices=[0])
    before = state.body_q.copy()
    state.joint_q[:3], state.joint_q[8:11] = 5.0, 5.0
    wm.eval_fk(model, state.joint_q, state.joint_qd, state, mask=[True, False])
    assert state.body_q[0, 0] == 5.0 and (state.body_q[2:] == before[2:]).all()


def test_rule_32_root_transforms_go_to_coordinates_or_to_the_anchor():
    pose = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    for kind in ("free", "fixed"):
        model = articulated(kind)
        view, state = wm.ArticulationView(model, "robot1"), model.state()
        view.set_root_transforms(state if kind == "free" else model, pose)
        if kind == "free":
            assert state.joint_q[8:15].tolist() == pose.tolist() and not state.joint_q[:3].any()
        else:
            assert model.joint_X_p[2].tolist() == pose.tolist() and not model.joint_X_p[0, :3].any()


# ---- defaults and documents


def test_rule_33_defaults_and_what_a_step_does_in_its_order():
    world = sx.World()
    assert world.gravity.tolist() == [0.0, 0.0, -9.81] and world.time_step == 0.001
    body = world.add_rigid_body("b")
    world.replay_recording_enabled = True
    world.step()
    # accelerations first, then velocities, then positions with the new velocities, then time, then the frame
    assert body.linear_velocity[2] == pytest.approx(-0.00981) and body.translation[2] == pytest.approx(
        -9.81e-6
    )
    assert (world.time, world.frame, world.replay_frame_count) == (0.001, 1, 2)


def test_rule_34_solvers_are_told_by_the_matrix_of_seven_rows():
    assert len(sx.capabilities()) == 7
    assert all(row.row and (row.available or row.unavailable) for row in sx.capabilities())


def test_rule_35_no_ground_and_no_gravity_by_surprise():
    world = sx.World()
    body = world.add_rigid_body("b")
    body.add_collision_shape(CollisionShape.sphere(0.1))
    world.step(n=100)
    assert body.translation[2] < -0.04 and world.contacts == []
    still = sx.World(gravity=(0, 0, 0))
    floating = still.add_rigid_body("b")
    still.step(n=100)
    assert not floating.translation.any()


def test_errors_keep_the_promises_of_their_kinds():
    assert issubclass(ArgumentError, ValueError) and issubclass(OperationError, RuntimeError)
    assert issubclass(CapabilityError, NotImplementedError)
    assert all(issubclass(kind, WorldlineError) for kind in (ArgumentError, OperationError, CapabilityError))
