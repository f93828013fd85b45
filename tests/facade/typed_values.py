# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Value objects that say what to make or how to step; type checkers pass on it in strict mode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldline import msd
from worldline import simulation as sx
from worldline.msd import SiteShape
from worldline.simulation import compute

Array = NDArray[np.float64]


def of_bodies(world: sx.World) -> list[object]:
    """Mass properties of bodies and links."""
    ball: sx.Inertia = sx.Inertia.from_sphere(0.1, mass=2.0)
    options = sx.RigidBodyOptions(inertia=ball, position=(0, 0, 1))
    body = world.add_rigid_body("ball", options)
    body.mass_properties = ball
    told: sx.Inertia = body.mass_properties
    link_options = sx.LinkOptions(mass=1.0, center_of_mass=(0, 0, 0.1), gravity_compensation=0.5)
    centers: list[Array | None] = [options.center_of_mass, link_options.center_of_mass, link_options.inertia]
    share: float = link_options.gravity_compensation
    arm = world.add_multibody("arm")
    tip = arm.add_link("tip", joint=joint_spec(), options=link_options)
    other = arm.add_link("other", parent=tip, inertia=ball)
    joint = arm.joints[0]
    joint.limit_margin = 0.1
    margin: float = joint.limit_margin
    return [told.mass, centers, share, other.mass_properties, margin]


def joint_spec() -> sx.JointSpec:
    """Joint data from the start."""
    spec = sx.JointSpec(
        position_lower_limits=-1.0,
        position_upper_limits=[1.0],
        velocity_limits=2.0,
        acceleration_limits=3.0,
        effort_limits=4.0,
        limit_margin=0.01,
        spring_stiffness=5.0,
        rest_position=0.1,
        damping_coefficient=0.2,
        coulomb_friction=0.3,
        armature=0.4,
        actuator_type=sx.ActuatorType.FORCE,
    )
    numbers: list[Array | None] = [
        spec.position_lower_limits,
        spec.position_upper_limits,
        spec.velocity_limits,
        spec.acceleration_limits,
        spec.effort_limits,
        spec.spring_stiffness,
        spec.rest_position,
        spec.damping_coefficient,
        spec.coulomb_friction,
        spec.armature,
    ]
    margin: float = spec.limit_margin
    kind: sx.ActuatorType = spec.actuator_type
    assert len(numbers) == 10 and margin > 0.0 and kind is sx.ActuatorType.FORCE
    return spec


def of_worlds(world: sx.World) -> list[object]:
    """Options of a World and of a step."""
    options: sx.WorldOptions = sx.WorldOptions(dtype=np.float64, strict_solver_resolution=False)
    scalar: np.dtype[np.float64] = options.dtype
    world.strict_solver_resolution = options.strict_solver_resolution
    chosen = sx.StepOptions(n=2, profile=True)
    world.step(options=chosen, executor=compute.SequentialExecutor())
    told: tuple[int, bool] = (chosen.n, chosen.profile)
    mixed: list[bool] = [row.is_substituted for row in world.resolved_configuration]
    corners = [(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (0.0, 1.0, 0.0)]
    polygon: Array = world.get_support_polygon(corners)
    point: Array = world.get_zero_moment_point(height=0.0)
    margin: float = world.get_balance_margin(point, points=corners)
    return [scalar, told, mixed, polygon, margin]


def of_places(world: sx.World) -> list[object]:
    """Markers and end effectors."""
    mark: sx.Marker = world.add_marker("mark", world.rigid_bodies[0], position=(0, 0, 0.1))
    mark.rgba = (1, 0, 0, 1)
    mark.local_transform = np.eye(4)
    looks: list[Array] = [mark.size, mark.rgba]
    shape: SiteShape = mark.shape
    arm = world.multibodies["arm"]
    tool: sx.EndEffector = arm.add_end_effector("tool", arm.links[0], np.eye(4))
    tool.ik.use_chain()
    tool.local_transform = np.eye(4)
    jacobians: list[Array] = [
        tool.jacobian,
        tool.world_jacobian,
        tool.linear_jacobian,
        tool.angular_jacobian,
        tool.jacobian_derivative,
    ]
    link: sx.Link = tool.link
    owner: sx.Multibody = tool.multibody
    chain: sx.Chain = tool.chain
    names: list[str] = arm.end_effectors.names + world.markers.names
    arm.freeze([arm.joints[0]], [0.2])
    frozen: bool = arm.joints[0].is_frozen
    where: Array | None = arm.joints[0].frozen_position
    arm.unfreeze(arm.joints)
    free: int = arm.num_dofs
    rows: Array = arm.compute_delassus_matrix(np.eye(free))
    held = arm.compute_constrained_dynamics(np.zeros(free), np.eye(free), np.zeros(free))
    second = arm.compute_inverse_dynamics_second_derivatives(np.zeros(free))
    terms: list[Array] = [rows, held.acceleration, held.force, second.dq_dq, second.dq_dqdd]
    mark.remove()
    unit: sx.Sensor = world.sensors.add_imu("unit", attach_to=link)
    unit.remove()
    spring = world.remove_rigid_body_distance_spring
    return [terms, held.residual, frozen, where, looks, shape, jacobians, owner, chain, names, spring]


def of_world_joints(joint: sx.WorldJoint) -> list[object]:
    """Stiffness of joints between bodies."""
    policy: sx.JointConstraintProjectionPolicy = joint.constraint_projection_policy
    policy.check_stiffness()
    joint.constraint_projection_policy = policy
    d6 = sx.JointSpec(type=sx.JointType.D6, linear_axes=[(1, 0, 0)], angular_axes=np.eye(3))
    axes: list[Array] = [d6.linear_axes, d6.angular_axes]
    turn = msd.MotionAxis.turn((0, 0, 1), msd.CoordinateFunction.linear(2.0))
    custom: tuple[msd.MotionAxis, ...] = sx.JointSpec(type=sx.JointType.CUSTOM, motion=[turn]).motion
    order: str = d6.euler_order
    bounds: tuple[float, float] = d6.distance_limits
    return [
        policy.start_stiffness,
        policy.linear_stiffness,
        policy.angular_stiffness,
        axes,
        order,
        bounds,
        custom,
    ]


def of_queries(world: sx.World) -> list[object]:
    """What cameras see, and states as a whole."""
    queries: sx.VisibilityQueries = world.visibility
    seen: list[sx.VisibleBody] = queries.query(np.eye(4), fovy=60.0, width=4, height=4)
    told = [(item.body, item.share, item.distance, item.point) for item in seen]
    joints = world.multibodies["arm"].joints
    forces: list[Array] = [joints.constraint_force, joints[0].constraint_force]
    state = world.get_state(world.state_space())
    other: sx.WorldState = sx.state.random(state, np.random.default_rng(0))
    far: float = sx.state.distance(sx.state.neutral(state), sx.state.normalize(other))
    baked: int = world.replay.bake()
    frames: int = world.recording.num_frames
    return [baked, frames, told, forces, far, sx.sensors.Sensor, sx.rendering.render]


def run() -> int:
    """A world that has all of it."""
    world = sx.World()
    pinned = world.add_rigid_body("pinned")
    weld = world.add_joint(pinned, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    return (
        len(of_world_joints(weld))
        + len(of_bodies(world))
        + len(of_places(world))
        + len(of_queries(world))
        + len(of_worlds(world))
    )
