# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every public name of `worldline.simulation`, used as a user would; type checkers pass on it in strict mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldline import simulation as sx
from worldline.collision import CollisionOption, CollisionShape

Array = NDArray[np.float64]
POSE = ((1.0, 0.0, 0.0, 0.1), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def options() -> sx.WorldOptions:
    """Value objects, their fields read and written."""
    chosen = sx.WorldOptions(time_step=0.002, gravity=(0, 0, -1.62))
    chosen.gravity = [0.0, 0.0, -9.81]
    gravity: Array = chosen.gravity
    chosen.rigid_body_solver = sx.RigidBodySolver.SEQUENTIAL_IMPULSE
    chosen.contact_solver_method = sx.ContactSolverMethod.BOXED_LCP
    chosen.contact_gradient_mode = sx.ContactGradientMode.ANALYTIC
    chosen.contact_sweeps = 0
    sweeps: int = chosen.contact_sweeps
    chosen.sensor_noise_seed = None
    chosen.sensor_noise_world = 0
    seed: int | None = chosen.sensor_noise_seed
    index: int = chosen.sensor_noise_world
    fixed: bool = chosen.fixed_layout
    chosen.compute_accelerator_policy = sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED
    chosen.multibody_options = sx.MultibodyOptions(integration_family="semi-implicit")
    family: sx.MultibodyIntegrationFamily = chosen.multibody_options.integration_family
    chosen.divergence_policy, chosen.divergence_limit = sx.DivergencePolicy.FREEZE, 1e8
    policy: sx.DivergencePolicy = chosen.divergence_policy
    assert policy.value == "freeze"
    chosen.divergence_policy, chosen.divergence_limit = "raise", 1e10
    chosen.deactivation_options = sx.DeactivationOptions(enabled=False, time_until_sleep=0.1)
    assert (
        gravity.shape == (3,)
        and sweeps == 0
        and (seed, index, fixed) == (None, 0, False)
        and family is sx.MultibodyIntegrationFamily.SEMI_IMPLICIT
    )
    return chosen.copy()


def rigid_body(world: sx.World) -> sx.RigidBody:
    """A rigid body."""
    told = sx.RigidBodyOptions(mass=2.0, position=(0.0, 0.0, 0.5))
    told.orientation = (0.0, 0.0, 0.0, 1.0)
    told.inertia = np.eye(3)
    box = world.add_rigid_body("box", told, linear_velocity=(1, 0, 0))
    box.transform = POSE
    box.translation = [0.0, 0.0, 1.0]
    box.quaternion = (0.0, 0.0, 0.0, 1.0)
    box.linear_velocity = (0.0, 0.0, 0.0)
    box.angular_velocity = np.zeros(3)
    box.mass, box.inertia, box.center_of_mass = 3.0, np.eye(3), (0.0, 0.0, 0.0)
    box.force, box.torque = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    box.apply_force((1, 0, 0))
    box.apply_torque((1, 0, 0))
    box.clear_force()
    box.clear_torque()
    box.apply_linear_impulse((1, 0, 0))
    box.apply_angular_impulse((1, 0, 0))
    box.friction, box.restitution = 0.5, 0.1
    box.is_kinematic = True
    box.is_kinematic = False
    box.is_static = False
    numbers: list[float] = [box.kinetic_energy, box.potential_energy, box.mass]
    vectors: list[Array] = [box.linear_momentum, box.angular_momentum, box.rotation, box.local_transform]
    assert all(np.isfinite(numbers)) and all(v.dtype == world.dtype for v in vectors)
    assert not box.is_sleeping and box.deactivation_group_index == -1
    return box


def multibody(world: sx.World) -> sx.Multibody:
    """A multibody, its links, joints and degrees of freedom."""
    arm: sx.Multibody = world.add_multibody("arm")
    base: sx.Link = arm.add_link("base")
    spec = sx.JointSpec(name="elbow", type=sx.JointType.REVOLUTE, axis=(0.0, 1.0, 0.0))
    spec.transform_to_parent = POSE
    tip = arm.add_link("tip", parent=base, joint=spec, mass=0.5, center_of_mass=(0.1, 0, 0))
    elbow: sx.Joint = tip.parent_joint
    elbow.position = [0.1]
    elbow.velocity = np.array([0.2])
    elbow.force = [0.0]
    elbow.actuator_type = sx.ActuatorType.FORCE
    elbow.command_velocity, elbow.command_acceleration = [0.0], [0.0]
    elbow.target_position, elbow.target_velocity = [0.0], [0.0]
    elbow.target_stiffness, elbow.target_damping = 1.0, [0.1]
    elbow.spring_stiffness, elbow.rest_position = 0.5, [0.0]
    elbow.damping_coefficient, elbow.coulomb_friction, elbow.armature = 0.1, 0.0, 0.01
    elbow.set_position_limits(-1.0, [1.0])
    elbow.velocity_limits, elbow.effort_limits = 10.0, [20.0]
    dof: sx.DegreeOfFreedom = arm.dofs[0]
    dof.position = 0.2
    dof.set_position_limits(-2.0, 2.0)
    speed: float = dof.velocity
    arm.joints.position = [0.1]
    arm.joints.velocity = arm.joints.velocity * 2.0
    links: sx.LinkCollection = arm.links
    joints: sx.JointCollection = arm.joints
    dofs: sx.DofCollection = arm.dofs
    named: sx.NamedCollection[sx.Multibody] = world.multibodies
    found: sx.Multibody | None = named.get("arm")
    names: list[str] = [*links.names, *joints.names, *dofs.names]
    poses: Array = links.transforms
    matrices: list[Array] = [
        arm.mass_matrix,
        arm.inverse_mass_matrix,
        arm.get_jacobian(tip),
        arm.get_world_jacobian(tip, (0.1, 0, 0)),
        arm.get_linear_jacobian(tip),
        arm.get_angular_jacobian(tip),
        arm.center_of_mass_jacobian,
        arm.centroidal_momentum_matrix,
    ]
    vectors: list[Array] = [
        arm.coriolis_forces,
        arm.gravity_forces,
        arm.coriolis_and_gravity_forces,
        arm.compute_inverse_dynamics([0.0]),
        arm.compute_forward_dynamics([0.0]),
        arm.compute_impulse_response([0.0]),
        arm.get_jacobian_derivative_times_velocity(tip),
        arm.get_subtree_center_of_mass(base),
        arm.center_of_mass,
        arm.center_of_mass_velocity,
        arm.center_of_mass_acceleration,
        arm.linear_momentum,
        arm.angular_momentum,
    ]
    assert found is arm and names and poses.shape == (2, 4, 4) and speed == 0.2
    assert all(m.ndim == 2 for m in matrices) and all(v.ndim == 1 for v in vectors)
    tip.apply_force((0, 0, 1), point=(0.1, 0, 0))
    tip.apply_torque((0, 0, 1), torque_in_world_frame=False)
    tip.gravity_compensation = 0.5
    return arm


def frames(world: sx.World, box: sx.RigidBody, tip: sx.Link) -> sx.LoopClosure:
    """Frames and closures."""
    tool: sx.FixedFrame = world.add_fixed_frame("tool", tip, POSE)
    marker: sx.FreeFrame = world.add_free_frame("marker", parent=box)
    marker.local_transform = POSE
    marker.transform = np.eye(4)
    frame: sx.Frame = sx.Frame.world()
    relative: Array = tool.relative_transform(box, expressed_in=frame)
    moving: Array = tool.relative_linear_velocity(box) + tool.relative_angular_velocity(frame, marker)
    spec = sx.LoopClosureSpec(tool, marker, sx.LoopClosureFamily.POINT)
    closure: sx.LoopClosure = world.add_loop_closure("pin", spec)
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(
        enabled=False,
        kinematics=sx.ClosureKinematicsPolicy.PROJECT,
        dynamics=sx.ClosureDynamicsPolicy.SOLVE,
    )
    options = sx.ClosureProjectionOptions(driving=None, weights={}, tolerance=1e-9, max_iterations=50)
    world.closure_projection = options
    chosen: tuple[float, int] = options.tolerance, options.max_iterations
    assert chosen == (1e-9, 50) and options.driving is None and not options.weights
    report: sx.ClosureProjectionReport | None = world.closure_projection_report
    if report is not None:
        outcome: tuple[int, int, str] = report.rows, report.rank, report.message
        assert outcome and report.converged and report.iterations
    world.closure_projection = sx.ClosureProjectionOptions()
    residual: sx.LoopClosureResidual = closure.compute_residual()
    assert residual.coordinates is sx.LoopClosureResidualCoordinates.WORLD
    assert relative.shape == (4, 4) and moving.shape == (3,) and not residual.force_available
    return closure


def files(world: sx.World, folder: Path) -> sx.LoadResult:
    """Files and descriptions."""
    robot = folder / "rod.urdf"
    robot.write_text("<robot name='rod'><link name='base'/></robot>")
    told = sx.ReadOptions(format=sx.ModelFormat.URDF, root_joint=sx.RootJointType.FIXED)
    told.package_directories = [folder]
    loaded: sx.Multibody = sx.add_skeleton(world, robot, told, sx.SkeletonLoadOptions(name="rod"))
    result: sx.LoadResult = world.add_scene(robot, prefix="b_", translation=(0, 0, 1))
    again: sx.LoadResult = sx.add_world(world, str(robot), prefix="c_")
    copied: sx.World = sx.World.from_scene(world.to_scene())
    opened: sx.World = sx.World.from_file(robot, read_options=told)
    world.save_binary(folder / "world.bin")
    copied.load_binary(folder / "world.bin")
    assert loaded.name == "rod" and again.report.is_exact and opened.num_multibodies == 1
    return result


def state(world: sx.World) -> Array:
    """State and controls by name and as vectors."""
    space: sx.StateSpace = sx.StateSpace().add_variable("arm.q", 1, lower=-1.0, upper=1.0).finalize()
    variable: sx.StateVariable | None = space.get_variable("arm.q")
    now: sx.WorldState = world.get_state(world.state_space())
    world.set_state(sx.state.integrate(now, np.zeros(now.tangent_dimension)))
    control: sx.WorldControl = world.get_control(world.control_space())
    world.set_control(control)
    world.state_vector = world.state_vector
    assert variable is None or variable.dimension == 1
    return sx.state.difference(now, world.get_state(now.space))


def replay(world: sx.World, folder: Path) -> sx.Recording:
    """Frames, branches, recordings, steps in the background."""
    world.replay_recording_enabled = True
    job: sx.StepJob = world.start_step(n=3)
    made: int = job.result()
    progress: sx.StepProgress = job.progress
    frames: sx.Replay = world.replay
    try:
        world.restore_replay_frame(1)
        world.restore_replay_frame(99)
    except (sx.LayoutError, sx.ReplayIndexError) as error:
        print(error)
    check: sx.ReplayCheck = world.verify_replay()
    found: sx.ReplayDifference = frames.compare(0, made)
    world.recording.save(folder / "motion.wlr")
    world.replay_recording_enabled = False
    assert check.matches and not found.is_equal and progress.made == made
    try:
        return sx.Recording.load(folder / "motion.wlr")
    except sx.RecordingError as error:
        raise AssertionError from error


def contacts(world: sx.World) -> list[sx.Contact]:
    """Shapes, contacts and queries."""
    ground: str = world.add_ground_plane(0.0, friction=0.8)
    box = world.add_rigid_body("box", position=(0.0, 0.0, 0.5))
    box.add_collision_shape(CollisionShape.sphere(0.5), name="round", friction=0.5, restitution=0.0)
    box.add_collision_shape(CollisionShape.sphere(0.1))
    box.remove_collision_shape(1)
    box.set_collision_shape(CollisionShape.box((0.5, 0.5, 0.5)))
    shapes: list[CollisionShape] = box.collision_shapes
    assert ground and box.has_collision_shape and box.num_collision_shapes == len(shapes) == 1
    away: sx.BodyDistance = world.distance(box, None)
    rays: sx.RayHits = world.raycast((0.0, 0.0, 3.0), (0.0, 0.0, -3.0))
    hit: sx.RayHit | None = rays[0]
    assert rays.bodies == [box] and rays.shape_indices.tolist() == [0]
    assert rays.fractions.shape == (1,) and rays.points.shape == rays.normals.shape == (1, 3)
    assert hit is not None and hit.body is box and abs(away.distance) < 1e-9
    near: sx.BodyPoint = world.closest_point((9.0, 9.0, 3.0))
    assert near.distance > 0.0 and near.point.shape == (3,) and near.body is None
    inside: list[sx.RigidBody | sx.Link | None] = world.overlap(CollisionShape.sphere(0.1), np.eye(4))
    now: list[sx.Contact] = world.collide(CollisionOption(margin=0.01))
    only = sx.CollisionQueryOptions(include_link_pairs=False)
    now = world.collide(include=only)
    told: bool = only.includes(None, None)
    assert only.include_same_multibody_link_pairs and only.include_rigid_body_pairs and told
    assert only.include_rigid_body_link_pairs and not only.include_link_pairs
    world.step()
    forces: list[sx.ContactForce] = world.get_last_contact_forces()
    assert inside == [None, box] and len(now) == len(forces) == 4 and forces[0].force.shape == (3,)
    found: list[sx.Contact] = world.contacts
    world.set_collision_pair_ignored(box, None, True)
    assert world.is_collision_pair_ignored(None, box) and world.num_ignored_collision_pairs == 1
    world.clear_ignored_collision_pairs()
    return found


def pictures(world: sx.World) -> sx.Picture:
    """Pictures; not run here, because they need more than the core installs."""
    camera = sx.LookAt((3.0, 0.0, 1.0), (0.0, 0.0, 0.5), fovy=60.0)
    first = sx.render(world, camera, width=320, height=240, depth=True, segmentation=True)
    assert first.rgb is not None and first.depth is not None and first.segmentation is not None
    with sx.Renderer(world, 320, 240, groups=(0, 1), shadows=False) as renderer:
        again = renderer.render(camera, depth=True, out=first)
        renderer.close()
    assert again.rgb is first.rgb and again.mask("box").any()
    return again


def page(world: sx.World) -> None:
    """The viewer; not run here either."""
    with sx.view(world, port=8090, fps=20.0) as viewer:
        assert isinstance(viewer, sx.Viewer)
        viewer.speed = 2.0
        viewer.play()
        viewer.pause()
        viewer.step(3)
        viewer.seek(viewer.frame_count - 1)
        viewer.show("Contact forces")
        viewer.plot("height", ("z",), lambda: (float(world.rigid_bodies["box"].translation[2]),))
        with viewer.lock:
            world.step()
        viewer.sync()
        viewer.reset()
        viewer.apply_keyframe("home")
        viewer.wait(0.1)
        viewer.close()
        print(viewer.url, viewer.port, viewer.client_count, viewer.is_playing)


def run(folder: Path) -> str:
    """A whole program."""
    world = sx.World(options=options())
    box, arm = rigid_body(world), multibody(world)
    assert len(contacts(sx.World())) == 4
    closure = frames(world, box, arm.links["tip"])
    files(world, folder)
    world.validate_topology()
    world.enter_simulation_mode()
    world.sync(sx.WorldSyncStage.KINEMATICS)
    world.update_kinematics()
    try:
        world.step(n=10)
    except sx.StepFailure as failure:
        print(failure.body, failure.quantity, failure.frame)
    report: sx.KinematicsReport = world.step_kinematics(2, update_collision=True)
    nearest: sx.BodyClearance | None = report.clearance
    assert report.collision and report.message and report.closures is not None
    assert len(report.first_contacts) <= len(report.contacts)
    if nearest is not None:
        assert nearest.distance > -1.0 and nearest.body_a is not nearest.body_b
    reduced: sx.IndependentCoordinates = world.independent_coordinates(closures=[])
    rates: Array = reduced.velocity
    assert reduced.num_freedoms == len(reduced.names) == reduced.velocity_map.shape[1] == len(rates)
    a: Array = reduced.forward_dynamics(reduced.bias_forces())
    assert reduced.inverse_dynamics(a).shape == reduced.mass_matrix.shape[:1]
    assert reduced.full_acceleration(a).size == reduced.velocity_map.shape[0]
    assert state(world).any() == np.False_
    assert len(replay(world, folder)) == 4
    metrics: sx.StepMetrics = world.compute_step_metrics()
    rows: tuple[sx.Capability, ...] = sx.capabilities()
    resolved: tuple[sx.ResolvedOption, ...] = world.resolved_configuration
    with world.edit() as edited:
        edited.remove(closure)
        edited.add_rigid_body("late")
    world.reset()
    assert len(rows) == 7 and resolved and np.isfinite(metrics.total_energy)
    assert sx.UpdatePolicy.IF_STALE.value and world.dtype == sx.float64
    text = sx.dump_scene_text(world) + sx.dump_scene_json(world)
    world.clear()
    return text
