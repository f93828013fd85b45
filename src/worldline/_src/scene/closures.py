# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Connections that are not part of a tree: closures, couplers, springs, joints between bodies.

All of this is Worldline's. Endpoints are symmetric: `frame_a` and `frame_b`, never parent and
child, except for a joint, whose coordinate is the motion of the child against the parent.
"""

from __future__ import annotations

import math
from enum import auto

from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.containers import Nested, OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.joints import Joint
from worldline._src.scene.kinds import COUNT, LIMIT, NON_NEGATIVE, POSITIVE
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.values import RANGE, ImpedanceSpring, Range
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, Vector


class FrameRef(Struct):
    """A pose fixed to a link, to a frame, or to the world when neither is named."""

    link: str | None = optional(Ref("link"), "Link.")
    frame: str | None = optional(Ref("frame"), "Frame.")
    position: Array = field(default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Offset in its axes, m, (3,).")
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation of the offset, xyzw, (4,)."
    )

    @property
    def owner(self) -> tuple[str | None, str | None]:
        """What the pose is fixed to: (link, frame), both None for the world."""
        return self.link, self.frame


class LoopClosureFamily(SceneEnum):
    """What two endpoints share."""

    Rigid, Point, Distance, Axis = auto(), auto(), auto(), auto()
    Revolute, Universal, Prismatic, Planar = auto(), auto(), auto(), auto()


class ClosureKinematicsPolicy(SceneEnum):
    """What a kinematics update does about a closure."""

    ResidualOnly, Project = auto(), auto()


class ClosureDynamicsPolicy(SceneEnum):
    """What a step does about a closure."""

    ResidualOnly, Solve = auto(), auto()


class LoopClosure(Struct):
    """Closes a loop between two frames, beside the trees.

    Rigid shares position and rotation (6 rows), Point the position (3), Axis a point and the
    direction of z (5), Distance keeps the points a distance apart (1). The others are joints that
    are cut: Revolute turns about z (5), Universal shares a point and keeps z of the first endpoint
    square to x of the second (4), Prismatic slides along z (5) and Planar across z (3) of the second.

    Example:
        >>> LoopClosure(
        ...     name="four_bar",
        ...     frame_a=FrameRef(link="ground"),
        ...     frame_b=FrameRef(link="coupler", position=(0.5, 0, 0)),
        ...     family="Point",
        ... ).family
        LoopClosureFamily.Point
    """

    name: str | None = optional(Name("closure"), "Name.")
    frame_a: FrameRef = part(FrameRef, "First endpoint.")
    frame_b: FrameRef = part(FrameRef, "Second endpoint.")
    family: Choice[LoopClosureFamily] = field(default=LoopClosureFamily.Rigid, doc="Family.")
    distance: float = value(NON_NEGATIVE, 0.0, "Distance kept by the Distance family, m.")
    enabled: bool = field(default=True, doc="Whether its policies apply.")
    kinematics: Choice[ClosureKinematicsPolicy] = field(
        default=ClosureKinematicsPolicy.ResidualOnly, doc="Policy of a kinematics update."
    )
    dynamics: Choice[ClosureDynamicsPolicy] = field(
        default=ClosureDynamicsPolicy.Solve, doc="Policy of a step."
    )
    spring: ImpedanceSpring | None = optional(Nested(ImpedanceSpring), "Softness when solved; None is hard.")
    allow_collision: bool = field(default=False, doc="Whether the two connected links may touch.")
    initial_tolerance: float | None = optional(
        NON_NEGATIVE, "Largest residual with which a simulation may start, m or rad; None for any."
    )


class CouplerMode(SceneEnum):
    """Whether the reference joint feels the coupling."""

    Coupler, Mimic = auto(), auto()


class JointCoupler(Struct):
    """A gear: joint = multiplier * reference + offset."""

    name: str | None = optional(Name("coupler"), "Name.")
    joint: str = value(Ref("joint"), "", "The joint that follows.")
    reference: str = value(Ref("joint"), "", "The joint that leads.")
    joint_dof: int = value(COUNT, 0, "Which freedom of the joint follows.")
    reference_dof: int = value(COUNT, 0, "Which freedom leads.")
    multiplier: float = field(default=1.0, doc="Ratio.")
    offset: float = field(default=0.0, doc="Offset, m or rad.")
    mode: Choice[CouplerMode] = field(
        default=CouplerMode.Coupler,
        doc="Coupler acts on both joints; Mimic drives the follower alone, within its limits.",
    )
    active: bool = field(default=True, doc="Whether it acts.")
    spring: ImpedanceSpring | None = optional(Nested(ImpedanceSpring), "Softness; None is hard.")


class DistanceSpring(Struct):
    """A spring along the line between two points: force = stiffness (length - rest) + damping."""

    name: str | None = optional(Name("spring"), "Name.")
    frame_a: FrameRef = part(FrameRef, "First endpoint.")
    frame_b: FrameRef = part(FrameRef, "Second endpoint.")
    rest_length: float = value(NON_NEGATIVE, 0.0, "Length at rest, m.")
    stiffness: float = value(POSITIVE, 1.0, "Stiffness, N/m.")
    damping: float = value(NON_NEGATIVE, 0.0, "Damping, N s/m.")
    active: bool = field(default=True, doc="Whether it acts.")


class GroundContact(Struct):
    """A ground plane and how points of links meet it, in the variational integrator alone.

    The normal force is `stiffness` times the depth, and damping that never pulls; friction is Coulomb's above
    `friction_regularization` and viscous below. With `dual_update_cadence` the force that a point needs at
    rest becomes part of it, so that the depth goes to zero.
    """

    plane_normal: Array = field(
        default=(0.0, 0.0, 1.0), converter=VECTOR3, doc="Out of the ground, world axes, (3,); of any length."
    )
    plane_point: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="A point of the plane, world frame, m, (3,)."
    )
    stiffness: float = value(NON_NEGATIVE, 0.0, "Stiffness of every point, N/m.")
    friction_coefficient: float = value(NON_NEGATIVE, 0.0, "Coefficient of friction.")
    friction_regularization: float = value(POSITIVE, 1.0e-4, "Speed below which friction is viscous, m/s.")
    damping_coefficient: float = value(NON_NEGATIVE, 0.0, "Damping along the normal, N s/m.")
    dual_update_cadence: int = value(
        COUNT, 0, "Steps from one update of the dual force to the next; 0 for none."
    )


class GroundPoint(Struct):
    """A point of a link that may touch a ground plane."""

    link: str = value(Ref("link"), "", "Link.")
    position: Array = field(default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="In the link frame, m, (3,).")
    contact: GroundContact = part(GroundContact, "Plane and force law.")


class ProjectionPolicy(Struct):
    """How stiff a joint between bodies is when its error is removed."""

    start_stiffness: float = value(LIMIT, 1.0, "Stiffness at first.")
    linear_stiffness: float = value(LIMIT, math.inf, "Translation, N/m.")
    angular_stiffness: float = value(LIMIT, math.inf, "Rotation, N m/rad.")


class WorldJoint(Struct):
    """A joint that the world owns, between two bodies that may already be in trees.

    `parent` and `child` place the joint frame on both; the `pos` and `orientation` of the joint
    itself stay at their defaults.
    """

    parent: FrameRef = part(FrameRef, "Joint frame on the parent.")
    child: FrameRef = part(FrameRef, "Joint frame on the child.")
    joint: Joint = part(Joint, "Name, type, axes, position limits, drive.")
    effort_limit: Range = field(
        default_factory=Range, converter=RANGE, doc="Bounds of the effort of its motor, N or N m."
    )
    velocity_limit: Range = field(
        default_factory=Range, converter=RANGE, doc="Bounds of the velocity, m/s or rad/s."
    )
    command: Array = field(
        default=(0.0, 0.0, 0.0),
        converter=VECTOR3,
        doc="Effort, velocity and acceleration that its motor starts with, (3,).",
    )
    break_force: float = value(NON_NEGATIVE, 0.0, "Force at which it breaks, N; 0 is never.")
    break_torque: float = value(NON_NEGATIVE, 0.0, "Torque at which it breaks, N m; 0 is never.")
    projection: ProjectionPolicy = part(ProjectionPolicy, "Stiffness.")


class PhysicalParameter(SceneEnum):
    """A parameter that derivatives are taken against."""

    Mass, CenterOfMass, Inertia, Friction = auto(), auto(), auto(), auto()


class DifferentiableParameter(Struct):
    """A parameter of a link that a differentiable world offers derivatives for."""

    link: str = value(Ref("link"), "", "Link.")
    parameter: Choice[PhysicalParameter] = field(default=PhysicalParameter.Mass, doc="Which one.")
    lower: Array | None = field(
        default=None, converter=OptionalOf(Vector()), doc="Lower bounds, None for none."
    )
    upper: Array | None = field(
        default=None, converter=OptionalOf(Vector()), doc="Upper bounds, None for none."
    )
