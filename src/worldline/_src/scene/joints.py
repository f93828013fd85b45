# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints: how a link moves against its parent.

Revolute, slide and ball joints are those of the file format; the other types and the fields after `type_` are
Worldline's. A link with several joints moves by all of them in order; a link with none is welded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from enum import auto
from typing import Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.base import Choice, Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.contact import ConstraintForceModel, default_force_model
from worldline._src.scene.containers import Nested, OptionalOf
from worldline._src.scene.contexts import Probe
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.geometry import GROUP
from worldline._src.scene.kinds import COUNT, LIMIT, NON_NEGATIVE, NON_POSITIVE_LIMIT
from worldline._src.scene.texts import Enumeration, Name
from worldline._src.scene.values import RANGE, ImpedanceDamping, Range, SpringDamper
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, Numbers, VectorLike


class JointType(SceneEnum):
    """What motion a joint leaves free."""

    Ball, Revolute, Slide = auto(), auto(), auto()
    # Worldline's own
    Fixed, Free, Screw, Universal, Planar, Euler = auto(), auto(), auto(), auto(), auto(), auto()
    Translational, Translational2D, D6, Distance, Cable = auto(), auto(), auto(), auto(), auto()
    Custom = auto()


class EulerOrder(SceneEnum):
    """The axes of an Euler joint, in the order of its coordinates, each carried by those before it."""

    XYZ, XZY, YXZ, YZX, ZXY, ZYX = auto(), auto(), auto(), auto(), auto(), auto()
    XYX, XZX, YXY, YZY, ZXZ, ZYZ = auto(), auto(), auto(), auto(), auto(), auto()


class DriveType(SceneEnum):
    """What a joint makes of its command."""

    Force, Passive, Servo, Velocity = auto(), auto(), auto(), auto()
    Acceleration, Locked, Mimic = auto(), auto(), auto()


class TargetMode(SceneEnum):
    """Which targets the spring-damper drive of a degree of freedom follows."""

    None_, Position, Velocity, PositionVelocity, Effort = auto(), auto(), auto(), auto(), auto()


class JointDof(Struct):
    """One degree of freedom of a joint: an axis of a D6 joint, or own settings within any other.

    Linear axes come before angular ones.
    """

    axis: Array = field(
        default=(0.0, 0.0, 1.0), converter=VECTOR3, doc="Axis in the joint frame, (3,); D6 only."
    )
    angular: bool = field(default=True, doc="A rotation, else a translation; D6 only.")
    pos_limit: Range = field(default_factory=Range, converter=RANGE, doc="Limits, m or rad.")
    velocity_limit: float = value(LIMIT, math.inf, "Speed limit, m/s or rad/s.")
    velocity_lower: float | None = optional(
        NON_POSITIVE_LIMIT, "Least velocity, m/s or rad/s; None is minus the limit."
    )
    acceleration_limit: float = value(LIMIT, math.inf, "Acceleration limit, m/s^2 or rad/s^2.")
    effort_limit: float = value(LIMIT, math.inf, "Effort limit, N or N m.")
    effort_lower: float | None = optional(
        NON_POSITIVE_LIMIT, "Least effort, N or N m; None is minus the limit."
    )
    limit_stiffness: float | None = optional(
        NON_NEGATIVE, "Stiffness of its limits, N/m or N m/rad; None is the law of the joint."
    )
    limit_damping: float = value(
        NON_NEGATIVE, 10.0, "Damping of limits with a stiffness, N s/m or N m s/rad."
    )
    stiffness: float = value(NON_NEGATIVE, 0.0, "Spring, N/m or N m/rad.")
    rest_position: float = field(default=0.0, doc="Rest of the spring, m or rad.")
    damping: float = value(NON_NEGATIVE, 0.0, "Damping, N s/m or N m s/rad.")
    friction_loss: float = value(NON_NEGATIVE, 0.0, "Dry friction, N or N m.")
    armature: float = value(NON_NEGATIVE, 0.0, "Rotor inertia, kg or kg m^2.")
    drive: DriveType | None = field(
        default=None,
        converter=OptionalOf(Enumeration(DriveType)),
        doc="What it makes of its command; None is what the joint does.",
    )
    target_mode: Choice[TargetMode] = field(default=TargetMode.None_, doc="Which targets it follows.")
    target_position: float = field(default=0.0, doc="Target, m or rad.")
    target_velocity: float = field(default=0.0, doc="Target, m/s or rad/s.")
    target_stiffness: float = value(NON_NEGATIVE, 0.0, "Gain on position error, N/m or N m/rad.")
    target_damping: float = value(NON_NEGATIVE, 0.0, "Gain on velocity error, N s/m or N m s/rad.")


class CoordinateFunction(Struct):
    """A function of one coordinate of a custom joint: a polynomial, or a cubic spline through points.

    The spline is natural: without curvature at its ends, beyond which it goes on along its tangents.

    Example:
        >>> CoordinateFunction.polynomial([0.0, 0.0, 0.5]).coefficients
        [0.0, 0.0, 0.5]
        >>> CoordinateFunction.spline([-2.0, 0.0, 1.0], [0.01, 0.0, 0.02], coordinate=1).coordinate
        1
    """

    coordinate: int = value(COUNT, 0, "Which coordinate of the joint, from 0.")
    coefficients: list[float] = field(
        default=(), converter=Numbers(), doc="Polynomial of up to 8 numbers, constant first; or knots."
    )
    knots: list[float] = field(
        default=(), converter=Numbers(), doc="Coordinates of the points of a spline, ascending, m or rad."
    )
    values: list[float] = field(default=(), converter=Numbers(), doc="Values there, m or rad.")

    @staticmethod
    def linear(slope: float = 1.0, offset: float = 0.0, coordinate: int = 0) -> CoordinateFunction:
        """slope * q + offset."""
        return CoordinateFunction(coordinate=coordinate, coefficients=(offset, slope))

    @staticmethod
    def polynomial(coefficients: VectorLike, coordinate: int = 0) -> CoordinateFunction:
        """A polynomial, constant first, at most 8 numbers."""
        return CoordinateFunction(coordinate=coordinate, coefficients=coefficients)

    @staticmethod
    def spline(knots: VectorLike, values: VectorLike, coordinate: int = 0) -> CoordinateFunction:
        """A natural cubic spline through at least two points."""
        return CoordinateFunction(coordinate=coordinate, knots=knots, values=values)


class MotionTerm(Struct):
    """A term of the amount by which an axis of a custom joint moves: the product of its factors."""

    factors: Parts[CoordinateFunction] = parts(CoordinateFunction, "Functions of different coordinates.")


class MotionAxis(Struct):
    """One of the successive axes of a custom joint and the amount by which it turns or slides.

    Example:
        >>> f = CoordinateFunction
        >>> roll = MotionAxis.turn((1, 0, 0), f.linear(0.5, coordinate=0), f.linear(coordinate=1))
        >>> len(roll.terms)
        2
    """

    axis: Array = field(
        default=(0.0, 0.0, 1.0),
        converter=VECTOR3,
        doc="Axis in the joint frame before any motion, carried by the axes before it, (3,).",
    )
    angular: bool = field(default=True, doc="A rotation, else a translation.")
    terms: Parts[MotionTerm] = parts(MotionTerm, "The amount is their sum, rad or m.")

    @staticmethod
    def turn(axis: VectorLike, *terms: CoordinateFunction | tuple[CoordinateFunction, ...]) -> MotionAxis:
        """A rotation by the sum of some functions; a tuple of functions is their product."""
        return MotionAxis(axis=axis, angular=True, terms=_terms(terms))

    @staticmethod
    def slide(axis: VectorLike, *terms: CoordinateFunction | tuple[CoordinateFunction, ...]) -> MotionAxis:
        """A translation by the sum of some functions; a tuple of functions is their product."""
        return MotionAxis(axis=axis, angular=False, terms=_terms(terms))


def _terms(given: tuple[CoordinateFunction | tuple[CoordinateFunction, ...], ...]) -> list[MotionTerm]:
    return [MotionTerm(factors=list(f) if isinstance(f, tuple) else [f]) for f in given]


def coordinate_count(motion: Sequence[MotionAxis]) -> int:
    """How many coordinates some axes refer to."""
    factors = [f.coordinate for axis in motion for term in axis.terms for f in term.factors]
    return 1 + max(factors, default=-1)


def motion_faults(motion: Sequence[MotionAxis]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with the axes of a custom joint: the path in the list, what is given, what is allowed."""
    if not 1 <= len(motion) <= 6:
        yield "", f"{len(motion)} axes", "1 to 6 axes"
    used: set[int] = set()
    for k, axis in enumerate(motion):
        if not axis.axis.any():
            yield f"[{k}].axis", "a zero axis", "a direction"
        for t, term in enumerate(axis.terms):
            path = f"[{k}].terms[{t}].factors"
            seen = [f.coordinate for f in term.factors]
            used.update(seen)
            if not seen or len(set(seen)) < len(seen):
                yield path, f"functions of coordinates {seen}", "one or more, of different coordinates"
            for n, f in enumerate(term.factors):
                yield from _function_faults(f, f"{path}[{n}]")
    missing = sorted(set(range(max(used, default=0) + 1)) - used)
    if missing:
        yield "", f"no function of coordinate {missing[0]}", "functions of all coordinates from 0 on"


def _function_faults(f: CoordinateFunction, path: str) -> Iterator[tuple[str, str, str]]:
    if f.coordinate > 5:
        yield f"{path}.coordinate", str(f.coordinate), "0 to 5"
    if bool(f.coefficients) == bool(f.knots):
        yield path, f"{len(f.coefficients)} coefficients and {len(f.knots)} knots", "one of the two"
    if len(f.coefficients) > 8:
        yield f"{path}.coefficients", f"{len(f.coefficients)} numbers", "at most 8"
    if len(f.values) != len(f.knots) or len(f.knots) == 1:
        yield f"{path}.values", f"{len(f.values)} values, {len(f.knots)} knots", "as many, at least 2"
    if any(b <= a for a, b in itertools.pairwise(f.knots)):
        yield f"{path}.knots", str(f.knots), "ascending numbers"


class FreeJoint(Struct):
    """The six free directions of a body's base link; replaces the joints of that link."""

    armature: float = value(NON_NEGATIVE, 0.0, "Added inertia, kg and kg m^2.")
    friction_loss: float = value(NON_NEGATIVE, 0.0, "Dry friction, N and N m.")
    name: str | None = optional(Name("joint"), "Name.")
    damping: float = value(NON_NEGATIVE, 0.0, "Damping, N s/m and N m s/rad.")
    stiffness: float = value(NON_NEGATIVE, 0.0, "Spring to the initial pose, N/m and N m/rad.")
    friction_damping: ImpedanceDamping = part(ImpedanceDamping, "Softness of the dry friction.")


class Joint(Struct):
    """A joint between a link and its parent, seen from the link.

    With the link at its `local_*` pose every coordinate equals `ref_` (zero where that does not apply). `pos`
    and `orientation` place the joint frame in the link; `axis` is in link axes, before `orientation`.

    Example:
        >>> Joint(name="elbow", axis=(0, 1, 0), pos_limit=(-2.0, 2.0))
        Joint(axis=[0.0, 1.0, 0.0], name='elbow', pos_limit=Range(lower=-2.0, upper=2.0))
    """

    actuator_force_limit: Range | None = field(
        default=None, converter=OptionalOf(RANGE), doc="Bounds on the sum of actuator forces, N or N m."
    )
    armature: float = value(NON_NEGATIVE, 0.0, "Rotor inertia on each freedom, kg or kg m^2.")
    axis: Array = field(
        default=(0.0, 0.0, 0.0),
        converter=VECTOR3,
        doc="Axis in the link frame, (3,); need not be of unit length.",
    )
    friction_damping: ImpedanceDamping = part(ImpedanceDamping, "Softness of the dry friction.")
    friction_loss: float = value(NON_NEGATIVE, 0.0, "Dry friction, N or N m.")
    limit_force: ConstraintForceModel = field(
        default_factory=default_force_model, doc="How the limits answer."
    )
    margin: float = field(default=0.0, doc="Distance from a limit at which it becomes active, m or rad.")
    name: str | None = optional(Name("joint"), "Name.")
    pos: Array = field(default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Anchor in the link frame, m, (3,).")
    pos_limit: Range = field(
        default_factory=Range,
        converter=RANGE,
        doc="Limits, m or rad; a ball joint limits its angle by the upper one.",
    )
    ref_: float = field(default=0.0, doc="Coordinate of a revolute or slide joint at the drawn pose.")
    spring_damper: SpringDamper | None = optional(Nested(SpringDamper), "Spring and damper.")
    type_: Choice[JointType] = field(default=JointType.Revolute, doc="Which motion is free.")
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0),
        converter=QUATERNION,
        doc="Rotation of the joint frame in the link, xyzw, (4,).",
    )
    axis2: Array = field(
        default=(1.0, 0.0, 0.0),
        converter=VECTOR3,
        doc="Second axis of universal, planar and 2-D translational joints, (3,).",
    )
    pitch: float = field(default=0.0, doc="Advance of a screw joint, m/rad.")
    euler_order: Choice[EulerOrder] = field(default=EulerOrder.XYZ, doc="Axes of an Euler joint.")
    distance_limit: Range = field(
        default_factory=Range, converter=RANGE, doc="Bounds of a distance joint, m."
    )
    dofs: Parts[JointDof] = parts(
        JointDof,
        "Axes of a D6 joint; else empty, or one entry for each freedom that replaces the scalars above.",
    )
    velocity_limit: float = value(LIMIT, math.inf, "Speed limit, m/s or rad/s.")
    acceleration_limit: float = value(LIMIT, math.inf, "Acceleration limit, m/s^2 or rad/s^2.")
    effort_limit: float = value(LIMIT, math.inf, "Bound on the commanded effort, N or N m.")
    drive: Choice[DriveType] = field(default=DriveType.Force, doc="What it makes of a command.")
    actuator_gravcomp: bool = field(default=False, doc="Gravity compensation counts as actuator force.")
    group: int = value(GROUP, 0, "Visibility group 0 to 7.")
    frozen: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers()),
        doc="Coordinates at which the joint is welded, quaternions xyzw; None lets it move.",
    )
    motion: Parts[MotionAxis] = parts(MotionAxis, "Successive axes of a custom joint, at most 6.")

    @property
    def sizes(self) -> tuple[int, int]:
        """How many coordinates and how many velocities the joint has; none while it is frozen."""
        return (0, 0) if self.frozen is not None else self.full_sizes

    @property
    def full_sizes(self) -> tuple[int, int]:
        """The same when it is not frozen."""
        found = JOINT_SIZES.get(self.type_)
        if found is None:
            count = JOINTS[self.type_].count(self)
            return count, count
        return found


def _usual_rule(joint: Joint, probe: Probe, path: str) -> None:
    if joint.motion:
        given, allowed = f"{len(joint.motion)} axes", f"none, since the type is {joint.type_.name}"
        probe.reject(f"{path}.motion", given, allowed)


def _custom_rule(joint: Joint, probe: Probe, path: str) -> None:
    for where, given, allowed in motion_faults(joint.motion):
        probe.reject(f"{path}.motion{where}", given, allowed)


def _d6_rule(joint: Joint, probe: Probe, path: str) -> None:
    _usual_rule(joint, probe, path)
    angular = [dof.angular for dof in joint.dofs]
    if angular != sorted(angular):
        probe.reject(f"{path}.dofs", "an angular axis before a linear one", "linear axes first")
    if sum(angular) > 3 or len(angular) - sum(angular) > 3:
        probe.reject(f"{path}.dofs", f"{len(angular)} axes", "at most 3 linear and 3 angular axes")
    for index, dof in enumerate(joint.dofs):
        if not dof.axis.any():
            probe.reject(f"{path}.dofs[{index}].axis", "a zero axis", "a direction")


def _dof_count(joint: Joint) -> int:
    return len(joint.dofs)


def _motion_count(joint: Joint) -> int:
    return coordinate_count(joint.motion)


class JointKind(NamedTuple):
    """What is known of a joint type, from which sizes, rules and the names of other layers follow."""

    public: str
    """Its name in `worldline.simulation`."""
    sizes: tuple[int, int] | None
    """Coordinates and velocities; None where `count` gives those of each joint."""
    axes: int = 0
    """How many of `axis` and `axis2` it needs."""
    is_turn: bool = False
    """Whether it turns only, so that a ball joint of the same link replaces it."""
    has_quaternion: bool = False
    """Whether its coordinates end in a quaternion."""
    own: tuple[str, ...] = ()
    """Fields of a joint that this type alone reads."""
    count: Callable[[Joint], int] = _dof_count  # type: ignore[assignment] # a field, not the method of tuples
    """Coordinates of a joint, as many as velocities, where `sizes` is None."""
    rule: Callable[[Joint, Probe, str], None] = _usual_rule
    """What a valid joint of this type must keep."""
    is_portable: bool = True
    """Whether formats other than Worldline's own can express it, at least as a chain of other joints."""


JOINTS: Final[dict[JointType, JointKind]] = {
    JointType.Ball: JointKind("SPHERICAL", (4, 3), has_quaternion=True),
    JointType.Revolute: JointKind("REVOLUTE", (1, 1), axes=1, is_turn=True),
    JointType.Slide: JointKind("PRISMATIC", (1, 1), axes=1),
    JointType.Fixed: JointKind("FIXED", (0, 0)),
    JointType.Free: JointKind("FLOATING", (7, 6), has_quaternion=True),
    JointType.Screw: JointKind("SCREW", (1, 1), axes=1, is_turn=True, own=("pitch",)),
    JointType.Universal: JointKind("UNIVERSAL", (2, 2), axes=2, is_turn=True),
    JointType.Planar: JointKind("PLANAR", (3, 3), axes=2),
    JointType.Euler: JointKind("EULER", (3, 3), is_turn=True, own=("euler_order",)),
    JointType.Translational: JointKind("TRANSLATIONAL", (3, 3)),
    JointType.Translational2D: JointKind("TRANSLATIONAL_2D", (2, 2), axes=2),
    JointType.D6: JointKind("D6", None, rule=_d6_rule),
    JointType.Distance: JointKind("DISTANCE", (7, 6), has_quaternion=True, own=("distance_limit",)),
    JointType.Cable: JointKind("CABLE", (2, 2), axes=1),
    JointType.Custom: JointKind(
        "CUSTOM", None, own=("motion",), count=_motion_count, rule=_custom_rule, is_portable=False
    ),
}
"""Every joint type."""

JOINT_SIZES: Final = {kind: facts.sizes for kind, facts in JOINTS.items() if facts.sizes is not None}
"""Coordinates and velocities of each joint type that has a fixed number."""
QUATERNION_JOINTS: Final = frozenset(kind for kind, facts in JOINTS.items() if facts.has_quaternion)
"""Types whose coordinates end in a quaternion."""
GEOMETRY_FIELDS: Final = (
    *("name", "type_", "axis", "axis2", "pos", "orientation", "ref_", "frozen"),
    *(name for facts in JOINTS.values() for name in facts.own),
)
"""Fields that say where a joint is and what it leaves free; axes of a D6 joint are in `dofs`."""
