# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Records of a ModelBuilder: links, joints, and the configuration of degrees of freedom."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, TypedDict, cast

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.kinds import ActuatorMode, Axis, JointType, coordinate_count
from worldline._src.spatial.poses import Array, VectorLike, numbers

AxisLike = Axis | str | VectorLike
PerDof = float | Sequence[float] | Array
"""One number for all degrees of freedom of a joint, or one each."""


# looking up a member of an enumeration takes Python ten times as long as looking up a name
_NO_DRIVE = ActuatorMode.NONE
_LARGEST = np.finfo(float).max
_SIZES = itemgetter("limit_kd", "target_ke", "target_kd", "damping", "stiffness", "armature", "friction")
_PLACES = itemgetter("target_pos", "target_vel", "spring_ref")
_BOUNDS = itemgetter("limit_lower", "limit_upper", "effort_limit", "velocity_limit", "limit_ke")


@dataclass(frozen=True, kw_only=True)
class JointDofConfig:
    """One degree of freedom of a joint: its axis, limits, drive and passive forces.

    Units follow the degree of freedom: metres and newtons when it slides, radians and newton metres when
    it turns. A position target outside the limits is moved to their middle. Beyond a limit a spring-damper
    pushes back with `limit_ke` times the violation plus `limit_kd` times its rate, never pulling;
    an infinite `limit_ke` is a hard stop.
    """

    axis: AxisLike = Axis.X
    limit_lower: float = -np.inf
    limit_upper: float = np.inf
    limit_ke: float = 1e4
    limit_kd: float = 1e1
    target_pos: float = 0.0
    target_vel: float = 0.0
    target_ke: float = 0.0
    target_kd: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    spring_ref: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    effort_limit: float = 1e6
    velocity_limit: float = 1e6
    effort_lower: float | None = None
    """Least commanded effort; None is minus `effort_limit`."""
    velocity_lower: float | None = None
    """Least velocity; None is minus `velocity_limit`."""
    actuator_mode: ActuatorMode | None = None

    @property
    def least_effort(self) -> float:
        """Least commanded effort."""
        return -self.effort_limit if self.effort_lower is None else self.effort_lower

    @property
    def least_velocity(self) -> float:
        """Least velocity."""
        return -self.velocity_limit if self.velocity_lower is None else self.velocity_lower

    def checked(self, what: str) -> JointDofConfig:
        """This configuration with every rule checked and the target inside its limits."""
        if self.is_plain():
            return self
        for name in ("limit_kd", "target_ke", "target_kd", "damping", "stiffness"):
            _non_negative(getattr(self, name), f"{what}: {name}")
        for name in ("armature", "friction"):
            _non_negative(getattr(self, name), f"{what}: {name}")
        for name in ("effort_limit", "velocity_limit", "limit_ke"):
            _non_negative(getattr(self, name), f"{what}: {name}", largest=math.inf)
        for name in ("effort_lower", "velocity_lower"):
            least = getattr(self, name)
            if least is not None and not (_is_number(least) and least <= 0.0):
                raise ArgumentError(f"{what}: {name} must be None or a number of at most 0, got {least!r}")
        for name in ("target_pos", "target_vel", "spring_ref"):
            numbers(getattr(self, name), (), f"{what}: {name}")
        if self.actuator_mode not in (None, *ActuatorMode):
            allowed = ", ".join(mode.name for mode in ActuatorMode)
            raise ArgumentError(
                f"{what}: actuator_mode must be None or one of {allowed}, got {self.actuator_mode!r}"
            )
        lower, upper = self.limit_lower, self.limit_upper
        if not (_is_number(lower) and _is_number(upper)):
            raise ArgumentError(f"{what}: limits must be numbers, got {lower!r} and {upper!r}")
        if not lower <= upper or lower == math.inf or upper == -math.inf:
            raise ArgumentError(
                f"{what}: lower limit {lower} must not exceed upper limit {upper} and must leave room"
            )
        if not lower <= self.target_pos <= upper:
            return replace(self, target_pos=target_within(lower, upper))
        return self

    def is_plain(self) -> bool:
        """Whether it obviously keeps every rule; the long way round finds the words for what does not."""
        values = self.__dict__
        sizes, places = _SIZES(values), _PLACES(values)
        lower, upper, effort, velocity, stiffness = _BOUNDS(values)
        return (
            {float}.issuperset(map(type, (*sizes, *places, lower, upper, effort, velocity, stiffness)))
            # a sum is finite when its terms are, or nearly so
            and math.isfinite(sum(sizes) + sum(places))
            and min(sizes) >= 0.0
            and effort >= 0.0
            and velocity >= 0.0
            and stiffness >= 0.0
            and lower <= self.target_pos <= upper
            and self.effort_lower is None
            and self.velocity_lower is None
            and (self.actuator_mode is None or type(self.actuator_mode) is ActuatorMode)
        )

    def mode(self) -> ActuatorMode:
        """The drive mode: what was requested, else what the gains imply."""
        if self.actuator_mode is not None:
            return ActuatorMode(self.actuator_mode)
        position, velocity = self.target_ke > 0.0, self.target_kd > 0.0
        if position:
            return ActuatorMode.POSITION_VELOCITY if velocity else ActuatorMode.POSITION
        return ActuatorMode.VELOCITY if velocity else _NO_DRIVE


class DofOptions(TypedDict, total=False):
    """The fields of `JointDofConfig` as keywords: one value for all degrees of freedom, or one each."""

    limit_lower: PerDof
    limit_upper: PerDof
    limit_ke: PerDof
    limit_kd: PerDof
    target_pos: PerDof
    target_vel: PerDof
    target_ke: PerDof
    target_kd: PerDof
    damping: PerDof
    stiffness: PerDof
    spring_ref: PerDof
    armature: PerDof
    friction: PerDof
    effort_limit: PerDof
    velocity_limit: PerDof
    effort_lower: PerDof
    velocity_lower: PerDof
    actuator_mode: ActuatorMode | Sequence[ActuatorMode] | None


_DOF_OPTIONS = frozenset(DofOptions.__annotations__)


class JointOptions(TypedDict, total=False):
    """Keywords shared by all joints."""

    parent_xform: VectorLike | None
    child_xform: VectorLike | None
    label: str | None


class ShapeOptions(TypedDict, total=False):
    """Keywords shared by all shapes: pose in the body, material, label."""

    xform: VectorLike | None
    cfg: Any
    label: str | None


@dataclass
class LinkRecord:
    """A link as it was added."""

    label: str
    xform: Array
    mass: float
    com: Array
    inertia: Array
    is_kinematic: bool
    moved_by: int = -1
    """The joint of an articulation that moves it."""
    gravcomp: float = 0.0
    is_point: bool = False
    """Mass was given without inertia, and no shape brought any: shapes without density give it their form."""


@dataclass
class JointRecord:
    """A joint as it was added; `start` and `v_start` are its place in joint_q and joint_qd."""

    label: str
    kind: JointType
    parent: int
    child: int
    X_p: Array
    X_c: Array
    linear: list[JointDofConfig]
    angular: list[JointDofConfig]
    axes: list[Array]
    start: int
    v_start: int
    pitch: float = 0.0
    distance: tuple[float, float] = (-1.0, -1.0)
    articulation: int = -1
    data: Any = None
    """What its type needs beside axes."""

    @property
    def coordinates(self) -> int:
        return coordinate_count(self.kind, len(self.linear), len(self.angular))

    @property
    def velocities(self) -> int:
        return len(self.linear) + len(self.angular)


def target_within(lower: float, upper: float) -> float:
    """The target of a joint whose limits leave out the one it has."""
    middle = 0.5 * (lower + upper)
    if math.isfinite(middle):
        return middle
    return lower if math.isfinite(lower) else upper


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)


def _non_negative(value: float, what: str, largest: float = np.finfo(float).max) -> None:
    if not _is_number(value) or not 0.0 <= value <= largest:
        finite = "" if largest == math.inf else "finite and "
        raise ArgumentError(f"{what} must be a number that is {finite}not negative, got {value!r}")


_UNIT = np.eye(3)


def axis_vector(axis: AxisLike, what: str) -> Array:
    """A unit vector from an `Axis`, one of "x", "y", "z", or three numbers."""
    if isinstance(axis, str):
        if axis.lower() not in ("x", "y", "z"):
            raise ArgumentError(f"{what} must be x, y, z or 3 numbers, got '{axis}'")
        axis = Axis("xyz".index(axis.lower()))
    if isinstance(axis, Axis):
        return _UNIT[int(axis)].copy()
    vector = numbers(axis, (3,), what)
    length = math.hypot(*vector)
    if length < 1e-12:
        raise ArgumentError(f"{what} must not be zero, got {vector.tolist()}")
    # coordinate axes stay exact
    return vector / length if length != 1.0 else vector


class AxisJointOptions(JointOptions, DofOptions, total=False):
    """Frames, label and the configuration of the degrees of freedom."""


def split_options(options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of the frames and unknown ones, keywords of the degrees of freedom."""
    dof = dict(options)
    frames = {name: dof.pop(name) for name in options.keys() - _DOF_OPTIONS}
    return frames, dof


_PLAIN = vars(JointDofConfig())


def configuration(axis: AxisLike, options: dict[str, Any]) -> JointDofConfig:
    """A configuration by keywords that are known to exist; a frozen dataclass takes its time to be made."""
    made = object.__new__(JointDofConfig)
    values = made.__dict__
    values.update(_PLAIN)
    values.update(options)
    values["axis"] = axis
    return made


def configured(axes: Sequence[AxisLike], options: dict[str, Any]) -> list[JointDofConfig]:
    """One configuration per axis; an option is one value for all of them, or one each."""
    if not any(isinstance(value, (list, tuple, np.ndarray)) for value in options.values()):
        return [configuration(axis, options) for axis in axes]
    rows: list[dict[str, Any]] = [{} for _ in axes]
    for name, value in options.items():
        values: list[Any] = [value] * len(axes)
        if isinstance(value, (list, tuple, np.ndarray)):
            listed = cast("Sequence[Any]", value)
            values = list(listed) if not isinstance(listed, np.ndarray) or listed.ndim == 1 else [listed]
            if len(values) != len(axes):
                raise ArgumentError(f"{name} must be one value or {len(axes)}, one per axis, got {value!r}")
        for row, one in zip(rows, values, strict=True):
            row[name] = one
    return [configuration(axis, row) for axis, row in zip(axes, rows, strict=True)]


def configurations(given: Sequence[JointDofConfig], what: str) -> list[JointDofConfig]:
    """The same list, or an ArgumentError that says what came instead."""
    if isinstance(given, (list, tuple)) and all(isinstance(d, JointDofConfig) for d in given):
        return list(given)
    raise ArgumentError(f"{what} must be given as JointDofConfig, got {given!r}")


def require_not_parallel(axis: AxisLike, axis2: AxisLike, what: str) -> None:
    a, b = axis_vector(axis, f"axis of {what}"), axis_vector(axis2, f"axis2 of {what}")
    if float(np.linalg.norm(np.cross(a, b))) < 1e-6:
        raise ArgumentError(f"axis and axis2 of a {what} must not be parallel, got {a} and {b}")


def require_independent(axes: list[Array], what: str) -> None:
    if len(axes) > 1 and np.linalg.matrix_rank(np.array(axes), tol=1e-6) < len(axes):
        raise ArgumentError(f"{what} must be independent, got {[a.tolist() for a in axes]}")


def require_turning(axes: list[Array], what: str) -> None:
    """Turns about neighbouring axes that are parallel, to a micro-radian, are the same turn twice."""
    for a, b in itertools.pairwise(axes):
        if abs(a @ b) > 1.0 - 5e-13:
            raise ArgumentError(
                f"neighbours among {what} must not be parallel, got {a.tolist()} and {b.tolist()}"
            )
