# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes, bodies of contacts, executors, profiles and loading, as a user with a strict type checker writes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldline import msd
from worldline import simulation as sx

Array = NDArray[np.float64]
CUBE = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]


def of_shapes() -> list[object]:
    """Every kind of shape, and what it knows of itself."""
    X = np.eye(4)
    ball = sx.CollisionShape.sphere(0.5, X)
    box = sx.CollisionShape.box((0.1, 0.2, 0.3), X)
    rod = sx.CollisionShape.capsule(0.1, 0.4, X)
    can = sx.CollisionShape.cylinder(0.1, 0.4, X)
    ground = sx.CollisionShape.plane((0, 0, 1), 0.5, X)
    surface = sx.CollisionShape.mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [[0, 1, 2]], X)
    hull = sx.CollisionShape.convex(CUBE)
    hat, egg = sx.CollisionShape.cone(0.1, 0.2), sx.CollisionShape.ellipsoid((0.1, 0.2, 0.3))
    field = sx.CollisionShape.height_field(np.zeros((3, 3)), (1.0, 1.0))
    parts: list[sx.CollisionShape] = sx.CollisionShape.decomposed(CUBE, [[0, 1, 2]]) if not CUBE else [hull]
    kind: sx.CollisionShapeType = ball.type
    numbers: list[float] = [ball.radius, rod.half_height, can.height, ground.offset, field.base]
    arrays: list[Array] = [
        box.half_extents,
        ground.normal,
        surface.vertices,
        egg.semi_axes,
        field.heights,
        ball.local_transform,
        ball.local_pose,
    ]
    return [
        kind,
        numbers,
        arrays,
        surface.triangles,
        field.field_size,
        hat.type,
        parts,
        hull.geometry,
        ball.extent,
    ]


def of_bodies(world: sx.World) -> list[object]:
    """Bodies of contacts, and limits from both sides."""
    box: sx.CollisionBody = world.add_rigid_body("box")
    arm = world.add_multibody("arm")
    tip = arm.add_link("tip", joint=sx.JointSpec("hinge"))
    found: list[sx.RigidBody | sx.Link | None] = [box.as_rigid_body(), box.as_link(), tip.as_link()]
    kinds: list[bool] = [box.is_rigid_body, tip.is_link]
    hinge = arm.joints["hinge"]
    hinge.set_velocity_limits(-2.0, 2.0)
    hinge.set_effort_limits([-3.0], [3.0])
    limits: list[Array] = [
        hinge.velocity_lower_limits,
        hinge.velocity_upper_limits,
        hinge.effort_lower_limits,
        hinge.effort_upper_limits,
    ]
    return [found, kinds, limits]


def of_executors(world: sx.World) -> list[object]:
    """Who steps, and how the time went."""
    executors: list[sx.ComputeExecutor] = [sx.SequentialExecutor(), sx.ParallelExecutor(2)]
    parallel = sx.ParallelExecutor(1)
    parallel.inline_threshold = 4
    profile: sx.ComputeExecutionProfile = executors[0].step(world, 2)
    node: sx.ComputeNodeExecutionProfile = profile.get_node(profile.nodes[0].name)
    world.step_profiling_enabled = True
    world.step(executors[0], 2)
    world.sync(executors[0], sx.WorldSyncStage.KINEMATICS)
    world.update_kinematics(executors[0])
    measured: sx.WorldStepProfile = world.last_step_profile
    stage: sx.WorldStepStageProfile = measured.get_stage("kinematics")
    times: list[float] = [
        profile.wall_time_us,
        profile.wall_time_ms,
        profile.total_node_time_us,
        profile.critical_path_time_us,
        profile.average_parallelism,
        node.start_time_us,
        node.end_time_us,
        node.duration_ms,
        measured.wall_time_us,
        measured.wall_time_ms,
        measured.total_stage_time_us,
        stage.duration_ms,
        stage.total_graph_wall_time_us,
    ]
    counts: list[int] = [
        executors[1].worker_count,
        parallel.inline_threshold,
        profile.max_parallelism,
        node.topological_index,
        node.dependency_count,
        node.dependent_count,
        node.level,
        node.worker_index,
        measured.step_count,
        stage.calls,
        stage.max_graph_worker_count,
        stage.max_graph_parallelism,
    ]
    graph = sx.compute.ComputeGraph()
    graph.add("nothing", lambda: None)
    again: sx.ComputeExecutionProfile = parallel.run(graph)
    parallel.close()
    texts: list[str] = [stage.domain, profile.summary(), again.summary()]
    return [times, counts, texts, stage.graph_profiles, profile.is_empty(), measured.is_empty()]


def of_loading() -> list[object]:
    """Robots from descriptions."""
    reading = sx.ReadOptions(sdf_default_root_joint_type=sx.RootJointType.FIXED)
    reading.add_package_directory("robots", "/opt/robots")
    scene = msd.from_str("<robot name='rod'><link name='tip'/></robot>", format="urdf")
    world = sx.World()
    first: sx.Multibody = sx.add_skeleton(
        world, scene, sx.SkeletonLoadOptions(root_anchor_prefix="anchor_", name="a")
    )
    options = sx.SkeletonToMultibodyOptions(
        base_link_name="base", copy_state=False, copy_joint_properties=False, load_collision_shapes=False
    )
    second: sx.Multibody = sx.build_multibody_from_skeleton(world, scene, options)
    names: list[str] = [options.base_link_name, sx.SkeletonLoadOptions().root_anchor_prefix]
    chosen: list[bool] = [options.copy_state, options.copy_joint_properties, options.load_collision_shapes]
    return [reading.sdf_default_root_joint_type, first.links.names, second.links.names, chosen, names]


def of_derivatives() -> list[object]:
    """Derivatives of a step."""
    world = sx.World(differentiable=True)
    box = world.add_rigid_body("box", mass=1.0)
    world.add_differentiable_parameter(box, sx.PhysicalParameter.MASS, lower_bound=0.1, upper_bound=2.0)
    world.step()
    made: sx.StepDerivatives = world.get_step_derivatives()
    back: sx.StepGradient = world.apply_step_vjp(made.state_jacobian[0])
    check: sx.DerivativeCheck = world.check_derivatives(step=1e-6)
    origin: sx.Provenance = made.provenance["state_jacobian"]
    names: list[tuple[str, ...]] = [made.state_names, made.control_names, made.parameter_names]
    errors: list[float] = [check.largest_error, *check.errors.values()]
    sizes: list[int] = [made.control_jacobian.size, made.parameter_jacobian.size, back.parameter.size]
    count: int = world.num_differentiable_parameters
    kinks: tuple[str, ...] = check.changed + check.worst
    forth = world.apply_step_jvp(back.state, back.control)
    return [origin, names, errors, sizes, count, kinks, forth]


def run() -> int:
    """All of it."""
    world = sx.World()
    return len(of_shapes() + of_bodies(world) + of_executors(world) + of_loading() + of_derivatives())
