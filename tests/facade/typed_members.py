# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of the public classes that `typed_use` has no use for; type checkers pass on it in strict mode.

A test sees to it that every public method and property is in one of the two files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldline import simulation as sx
from worldline.simulation import compute

Array = NDArray[np.float64]


def of_options(options: sx.WorldOptions, spec: sx.JointSpec, read: sx.ReadOptions) -> list[object]:
    """Value objects."""
    sleep: sx.DeactivationOptions = options.deactivation_options
    speeds: list[float] = [
        sleep.linear_speed_threshold,
        sleep.angular_speed_threshold,
        sleep.generalized_speed_threshold,
        sleep.disturbance_force_threshold,
        sleep.wake_threshold_scale,
        sleep.time_until_sleep,
        options.time_step,
        options.multibody_options.variational_tolerance,
    ]
    iterations: int = options.multibody_options.variational_max_iterations
    flags: list[bool] = [sleep.enabled, options.differentiable, read.allow_outside, read.strict]
    kind: sx.JointType = spec.type
    axes: list[Array] = [spec.axis, spec.axis2, spec.transform_from_parent]
    anchors: list[Array | None] = [spec.parent_anchor, spec.child_anchor]
    pitch: float = spec.pitch
    spec.check_axes()
    format: sx.ModelFormat = read.format
    root: sx.RootJointType | None = read.root_joint
    return [speeds, iterations, flags, kind, axes, anchors, pitch, format, root]


def of_inertias() -> list[object]:
    """Mass properties."""
    made: list[sx.Inertia] = [
        sx.Inertia(1.0, (0, 0, 0), np.eye(3)),
        sx.Inertia.from_box((1, 1, 1)),
        sx.Inertia.from_sphere(1.0, density=1.0),
        sx.Inertia.from_cylinder(1.0, 2.0, mass=1.0),
        sx.Inertia.from_capsule(1.0, 2.0),
        sx.Inertia.from_spatial_tensor(np.eye(6)),
        sx.Inertia.from_points([(0.0, 0.0, 1.0)], [1.0]),
    ]
    both: sx.Inertia = made[0].transformed(np.eye(4)) + made[1]
    arrays: list[Array] = [both.center_of_mass, both.moment, both.spatial_tensor, both.principal_moments]
    return [arrays, both.mass, both.is_valid]


def of_frames(frame: sx.Frame, other: sx.Frame) -> list[Array]:
    """Frames, which bodies and links are too."""
    assert frame.is_valid and not frame.is_world and frame.is_same_instance_as(frame)
    above: sx.Frame = frame.parent_frame
    return [
        above.translation,
        frame.linear_acceleration,
        frame.angular_acceleration,
        frame.relative_linear_acceleration(other),
        frame.relative_angular_acceleration(other, expressed_in=frame),
    ]


def of_links(link: sx.Link, box: sx.RigidBody) -> list[object]:
    """Links and rigid bodies."""
    owner: sx.Multibody = link.multibody
    parent: sx.Link | None = link.parent_link
    children: list[sx.Link] = link.child_links
    joints: list[sx.Joint] = link.parent_joints
    if link.is_mocap:
        link.mocap_transform = np.eye(4)
    return [owner, parent, children, joints, link.collision_shape, box.collision_shape]


def of_joints(joint: sx.Joint, dof: sx.DegreeOfFreedom) -> list[object]:
    """Joints and degrees of freedom."""
    joint.acceleration_limits = 1e6
    dof.acceleration_limit = 1e5
    dof.velocity_limit, dof.effort_limit = 9.0, 8.0
    dof.set_velocity_limits(-1.0, 2.0)
    dof.set_effort_limits(-1.0, 2.0)
    least: float = dof.velocity_lower_limit + dof.effort_lower_limit
    most: float = dof.velocity_upper_limit + dof.effort_upper_limit
    assert least == -2.0 and most == 4.0
    dof.actuator_type = sx.ActuatorType.FORCE
    vectors: list[Array] = [
        joint.acceleration,
        joint.acceleration_limits,
        joint.position_lower_limits,
        joint.position_upper_limits,
        joint.compute_wrench_to_child(),
        joint.compute_wrench_to_parent(sx.Frame.world()),
        joint.axis,
    ]
    numbers: list[float] = [
        dof.acceleration,
        dof.position_lower_limit,
        dof.position_upper_limit,
        joint.break_force,
        joint.break_torque,
    ]
    ends: tuple[sx.Link, sx.Link] = (joint.parent_link, joint.child_link)
    kind: sx.JointType = joint.type
    owner: sx.Multibody = joint.multibody
    assert not joint.is_broken and dof.joint is joint and dof.index_in_joint < joint.num_dofs and dof.is_valid
    others = (sx.Joint.axis2, sx.Joint.pitch, sx.Joint.parent_rigid_body, sx.Joint.child_rigid_body)
    return [vectors, numbers, ends, kind, owner, others]


def of_multibodies(arm: sx.Multibody, tip: sx.Link) -> list[object]:
    """Multibodies, their collections and their parts."""
    base = arm.links[0]
    chain: sx.Chain = arm.chain(base, tip)
    branch: sx.Branch = arm.branch(base, include_parent_joint=False)
    linkage: sx.Linkage = arm.linkage(tip, [base])
    group: sx.Group = arm.group(links=[tip], joints=[arm.joints[0]])
    group.position, group.velocity, group.force = group.position, group.velocity, group.force
    arm.set_ground_contact((0, 0, 1), (0, 0, 0), 1e4, 0.5, 1e-4, 10.0, 0)
    arm.add_ground_contact_point(arm.links[0], (0, 0, 0))
    # a new plane drops the point, which other families would refuse to step
    arm.set_ground_contact((0, 0, 1), (0, 0, 0), 1e4)
    assert chain.is_valid and branch.multibody is arm and linkage.num_dofs == group.num_links == 1
    arrays: list[Array] = [
        group.acceleration,
        group.mass_matrix,
        group.coriolis_and_gravity_forces,
        group.get_world_jacobian(tip),
        group.center_of_mass,
        arm.get_jacobian_classic_derivative(tip),
        arm.get_jacobian_spatial_derivative(tip, (0, 0, 1)),
        arm.inertial_parameters,
        arm.compute_joint_torque_regressor([0.0]),
        arm.kinetic_energy_regressor,
        arm.potential_energy_regressor,
        arm.compute_inverse_dynamics_derivatives([0.0]).dtau_dq,
        arm.compute_forward_dynamics_derivatives([0.0]).dqdd_dq,
        arm.compute_centroidal_derivatives().momentum_dq,
        arm.get_support_polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)]),
        arm.get_zero_moment_point([0.0], height=0.1),
        arm.links.masses,
        arm.links.translations,
        arm.joints.acceleration,
        arm.joints.position_lower_limits,
        arm.joints.position_upper_limits,
    ]
    rows: NDArray[np.int64] = group.dof_indices
    parts: tuple[list[sx.Link], list[sx.Joint], list[sx.DegreeOfFreedom]] = (
        group.links,
        group.joints,
        group.dofs,
    )
    names: list[str] = arm.link_names + arm.joint_names
    margin: float = arm.get_balance_margin((0, 0, 1), points=[(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    counts: list[int] = [arm.num_links, arm.num_joints, arm.num_dofs]
    found: tuple[sx.Link | None, sx.Joint | None] = (arm.get_link("x"), arm.get_joint("x"))
    flags: list[bool] = [arm.has_link("tip"), arm.has_joint("x"), arm.is_valid]
    return [arrays, rows, parts, names, counts, found, flags, margin, group.mass]


def of_closures(closure: sx.LoopClosure) -> list[object]:
    """Loop closures."""
    closure.enabled = closure.enabled
    closure.initial_tolerance = closure.initial_tolerance
    closure.kinematics, closure.dynamics = closure.kinematics, closure.dynamics
    policy: sx.LoopClosureRuntimePolicy = closure.runtime_policy
    allowed: float | None = policy.initial_tolerance
    residual: sx.LoopClosureResidual = closure.compute_residual()
    ends: tuple[sx.Frame, sx.Frame] = (closure.frame_a, closure.frame_b)
    offsets: tuple[Array, Array] = (closure.offset_a, closure.offset_b)
    family: sx.LoopClosureFamily = closure.family
    norm: float = residual.norm
    flags: list[bool] = [policy.enabled, residual.enabled, residual.active, closure.allow_collision]
    return [ends, offsets, family, norm, flags, allowed, policy.kinematics, policy.dynamics]


def of_worlds(world: sx.World) -> list[object]:
    """Worlds."""
    world.actuator_controls = world.actuator_controls
    world.actuator_activations = world.actuator_activations
    world.control_vector = world.control_vector
    world.rigid_body_state_vector = world.rigid_body_state_vector
    world.rigid_body_control_vector = world.rigid_body_control_vector
    twin: sx.World = world.clone()
    for name in world.keyframes:
        world.apply_keyframe(name)
    found: list[object] = [
        world.get_frame("x"),
        world.get_loop_closure("x"),
        world.get_multibody("x"),
        world.get_rigid_body("x"),
        world.frames.get("x"),
        world.loop_closures.get("x"),
        world.rigid_bodies.get("x"),
    ]
    flags: list[bool] = [
        world.has_frame("x"),
        world.has_loop_closure("x"),
        world.has_multibody("x"),
        world.has_rigid_body("x"),
        world.is_differentiable,
        world.is_simulation_mode,
        world.deactivation_enabled,
    ]
    counts: list[int] = [
        world.num_dofs,
        world.num_efforts,
        world.num_loop_closures,
        world.num_rigid_bodies,
        world.num_rigid_body_dofs,
        world.num_rigid_body_efforts,
        world.replay_frame_count,
    ]
    names: list[str] = [*world.actuator_names, *world.get_rigid_body_names()]
    options: sx.WorldOptions = world.options
    times: tuple[float, float] = (world.time, world.time_step)
    cursor: int | None = world.replay_cursor
    return [twin, found, flags, counts, names, options, times, cursor]


async def wait_for(world: sx.World) -> int:
    """Steps in the background."""
    job: sx.StepJob = world.start_step(n=2)
    if not job.wait(timeout=60.0):
        assert job.cancel()
    assert job.done and not job.cancelled and job.progress.asked == 2
    return await world.step_async(n=1)


def of_state(world: sx.World) -> list[object]:
    """State spaces, states and metrics."""
    space: sx.StateSpace = world.state_space()
    by_hand = sx.StateSpace().add_variables(["arm.q"])
    variable: sx.StateVariable = space.variables[0]
    now: sx.WorldState = world.get_state(space)
    now.vector = now.vector
    metrics: sx.StepMetrics = world.compute_step_metrics()
    arrays: list[Array] = [space.lower_bounds, space.upper_bounds]
    counts: list[int] = [space.num_variables, variable.start_index, metrics.active_contact_count]
    numbers: list[float] = [metrics.max_penetration_depth, metrics.last_step_residual]
    place: slice = variable.slice
    where: int | None = space.get_variable_index("x")
    flags: list[bool] = [by_hand.is_finalized, space.has_variable("x"), now.is_within_bounds()]
    sizes: dict[str, int] = now.tangent_sizes
    more = (variable.lower_bound, variable.upper_bound, metrics.last_step_iterations)
    notes: list[str] = [row.note for row in sx.capabilities()]
    return [arrays, counts, numbers, place, where, flags, sizes, more, space.variable_names, notes]


def of_replay(world: sx.World, folder: Path) -> list[object]:
    """Replays and recordings."""
    world.replay_recording_enabled = True
    world.step()
    replay: sx.Replay = world.replay
    replay.label("here")
    added: str = replay.add(world.recording, "copy")
    check: sx.ReplayCheck = replay.verify()
    difference: sx.ReplayDifference = replay.compare(0, 1)
    touching: list[sx.Contact] = replay.contacts(0)
    assert not touching
    recording: sx.Recording = replay.recording()
    recording.to_csv(folder / "motion.csv")
    recording.to_npz(folder / "motion.npz")
    assert sx.Recording.load_npz(folder / "motion.npz")
    recording.to_html(folder / "motion.html", world)
    plot = recording.plot
    arrays: dict[str, NDArray[np.generic]] = dict(recording.to_numpy())
    times: Array = recording.times
    frames: int = len(recording.frames)
    told: list[object] = [
        replay.branches,
        replay.branch,
        replay.cursor,
        replay.enabled,
        replay.frame_count,
        replay.frame_time(1),
        replay.simulation_frame(1),
        replay.labels,
        check.frames,
        check.first_mismatch,
        check.largest_error,
        difference.time,
        difference.largest,
        world.get_replay_frame_time(1),
        world.get_replay_simulation_frame(1),
    ]
    replay.restore(0)
    world.clear_replay_recording()
    world.replay_recording_enabled = False
    return [added, arrays, times, frames, told, plot]


def of_steps(world: sx.World, box: sx.RigidBody) -> list[object]:
    """What a step tells of itself."""
    world.step_profiling_enabled = True
    world.step()
    report: sx.StepReport = world.step_report()
    pairs: list[sx.PairForce] = list(report.pairs)
    pushed = [(pair.body_a, pair.body_b, pair.depth) for pair in pairs]
    breaks: list[sx.BreakEvent] = world.break_events
    assert all(event.force >= 0.0 for event in breaks)
    events: list[sx.ContactEvent] = world.contact_events
    begun = [(event.body_a, event.body_b) for event in events if event.kind is sx.ContactEventKind.BEGIN]
    ledger: sx.EnergyLedger = world.energy_ledger()
    left: float = ledger.unexplained
    why: sx.Explanation = world.explain(box, None)
    world.step_profiling_enabled = False
    machinery = (world.pipeline, world.last_step_profile, world.memory_diagnostics)
    return [pushed, begun, ledger.causes, left, str(why), machinery]


def of_compute(world: sx.World) -> list[object]:
    """The step as something to look at."""
    world.step_profiling_enabled = True
    world.step(executor=compute.SequentialExecutor())
    pipeline: compute.WorldStepPipeline = world.pipeline
    profile: compute.WorldStepProfile = world.last_step_profile
    bundles: dict[str, compute.WorldStepPipeline] = world.pipelines
    memory: compute.WorldMemoryDiagnostics = world.memory_diagnostics
    enabled: bool = world.step_profiling_enabled
    world.step_profiling_enabled = False
    stages: tuple[compute.StageMetadata, ...] = pipeline.stages
    times: list[float] = [stage.duration_us for stage in profile.stages]
    return [pipeline.names, stages, bundles, times, profile.summary(), memory.total_bytes, enabled]


def of_sensors(world: sx.World) -> list[object]:
    """Sensors of a description."""
    sensors: sx.SensorCollection = world.sensors
    assert sx.SensorCollection.add_imu is not None
    everything: Array = sensors.values
    assert sensors.refused == {}
    assert sensors.dim == len(everything)
    found: list[object] = []
    for sensor in sensors:
        one: sx.Sensor = sensor
        span: slice = one.span
        reading: sx.SensorReading = one.read()
        one.noise = one.noise
        numbers: list[float] = [one.noise, one.gyro_noise, one.cutoff, reading.time, float(reading.frame)]
        value: Array = one.value + reading.value
        words: tuple[str, str, int] = (one.name, one.kind, one.dim)
        assert one.is_valid and not one.needs_dynamics
        found += [span, numbers, value, words]
    return found


def of_exports(recording: sx.Recording, world: sx.World, folder: Path) -> list[object]:
    """Recordings leave the program; plots are for those who have matplotlib."""
    recording.to_npz(folder / "run.npz")
    recording.to_html(folder / "run.html", world, frames_per_second=30.0, title="run")
    return [recording.plot, (folder / "run.html").exists()]


def of_pictures(look: sx.LookAt, picture: sx.Picture) -> list[object]:
    """Cameras and pictures."""
    return [look.fovy, look.orthographic, look.target, look.up, picture.body_names, picture.shape_names]


def of_world_joints(world: sx.World, joint: sx.WorldJoint) -> list[object]:
    """Joints between bodies, equalities and springs by name."""
    joint.reset_breakage()
    return [
        joint.wrench,
        world.add_joint,
        world.is_equality_active,
        world.set_equality_active,
        world.get_equality_force,
        world.add_rigid_body_distance_spring,
        world.has_rigid_body_distance_spring,
        world.get_rigid_body_distance_spring_parameters,
        world.set_rigid_body_distance_spring_parameters,
    ]


def run(folder: Path) -> int:
    """A world that has all of it."""
    world = sx.World()
    box = world.add_rigid_body("box", position=(0, 0, 2))
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    spec = sx.JointSpec(name="elbow", axis=(0, 1, 0))
    tip = arm.add_link("tip", parent=base, joint=spec)
    tool = world.add_fixed_frame("tool", tip)
    closure = world.add_loop_closure("pin", sx.LoopClosureSpec(tool, box, sx.LoopClosureFamily.POINT))
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    copy: sx.Multibody = arm.clone("copy", translation=(0, 1, 0))
    copy.joints[0].set_mimic_joint(arm.joints[0], multiplier=-1.0, offset=0.1)
    copy.joints[0].use_coupler_constraint = False
    copy.joints[0].actuator_type = sx.ActuatorType.FORCE
    found = of_options(world.options, spec, sx.ReadOptions())
    found += of_inertias()
    found += of_frames(tool, box)
    found += of_links(tip, box)
    found += of_joints(arm.joints[0], arm.dofs[0])
    found += of_multibodies(copy, copy.links["tip"])
    found += of_closures(closure)
    found += of_worlds(world)
    found += of_state(world)
    found += of_replay(world, folder)
    found += of_steps(world, box)
    queries: sx.CollisionQueries = world.collision
    assert queries.query(update=sx.UpdatePolicy.NEVER) == []
    found += of_compute(world)
    world.replay_recording_enabled = True
    found += of_sensors(world)
    found += of_exports(world.recording, world, folder)
    world.replay_recording_enabled = False
    assert not world.raycast((9.0, 9.0, 3.0), (9.0, 9.0, -3.0)).has_hit
    return len(found)
