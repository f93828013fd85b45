# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joint specification: type, frames, limits, drive and passive forces of a new joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.kinds import SCENE_JOINTS, ActuatorType, JointType, member
from worldline._src.facade.options import Options, Setting
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.model.joint_kinds import custom_pose
from worldline._src.scene.base import clone
from worldline._src.scene.joints import JOINTS, EulerOrder, MotionAxis, coordinate_count, motion_faults
from worldline._src.scene.values import Range
from worldline._src.spatial.poses import Array, compose

DofNumbers = float | VectorLike | None
"""One number for all degrees of freedom, one for each, or None for the usual."""
AxesLike = Sequence[VectorLike] | Array
"""Directions, (n, 3)."""


WITH_AXIS2 = {kind for kind, scene in SCENE_JOINTS.items() if JOINTS[scene].axes == 2}
"""Types of joints that have a second axis."""
WITH_AXIS = {kind for kind, scene in SCENE_JOINTS.items() if JOINTS[scene].axes}
"""Types of joints that have an axis."""
_READ_BY = {
    "axis": (WITH_AXIS, (0.0, 0.0, 1.0)),
    "axis2": (WITH_AXIS2, (1.0, 0.0, 0.0)),
    "pitch": ({JointType.SCREW}, 0.0),
    "euler_order": ({JointType.EULER}, "xyz"),
    "distance_limits": ({JointType.DISTANCE}, (0.0, np.inf)),
    "motion": ({JointType.CUSTOM}, ()),
}
"""Fields that only some types read, and their values where they are left out."""


def _optional(check: Callable[[Any, str], Any], what: str) -> Callable[[Any], Any]:
    return lambda v: None if v is None else check(v, what)


def _checked_transform(value: Any, what: str) -> Array:
    values.pose_of(value, what)
    return values.array(value, what)


def _numbers(what: str, *, least: float = -np.inf, finite: bool = True) -> Setting[Array | None, DofNumbers]:
    """A field of joint data: None, a number, or one for every degree of freedom."""

    def check(value: Any) -> Array | None:
        if value is None:
            return None
        made = values.array(value, f"JointSpec {what}")
        if made.ndim > 1 or np.isnan(made).any() or (finite and not np.isfinite(made).all()):
            kind = "finite numbers" if finite else "numbers"
            raise ArgumentError(
                f"JointSpec {what} must be {kind}, one or one for each degree of freedom, got {value!r}"
            )
        if (made < least).any():
            raise ArgumentError(f"JointSpec {what} must be non-negative, got {made.tolist()}")
        return made

    return Setting(check)


def _axes(what: str) -> Setting[Array, AxesLike]:
    """Directions of a D6 joint, one row each."""

    def check(value: Any) -> Array:
        made = [
            values.direction(axis, f"JointSpec {what}") for axis in values.several(value, f"JointSpec {what}")
        ]
        return np.array(made, np.float64).reshape(-1, 3)

    return Setting(check)


def _order(value: Any) -> str:
    text = values.text(value, "JointSpec euler_order").lower()
    if text.upper() not in EulerOrder.__members__:
        raise ArgumentError(
            f"JointSpec euler_order must be three of x, y, z with neighbours different, got {value!r}"
        )
    return text


def _bounds(value: Any) -> tuple[float, float]:
    bounds = [
        values.any_number(x, "JointSpec distance_limits") for x in values.several(value, "distance_limits")
    ]
    if len(bounds) != 2:
        raise values.ShapeError(f"JointSpec distance_limits must be two numbers, got {value!r}")
    low, high = bounds
    if not 0.0 <= low <= high:
        raise ArgumentError(f"JointSpec distance_limits must be 0 <= lower <= upper, got {value!r}")
    return low, high


def _motion(value: Any) -> tuple[MotionAxis, ...]:
    axes = values.several(value, "JointSpec motion")
    if not all(isinstance(axis, MotionAxis) for axis in axes):
        raise values.ShapeError(f"JointSpec motion must be a list of msd.MotionAxis, got {value!r}")
    return tuple(clone(axis) for axis in axes)


class JointSpec(Options):
    """How a link hangs on its parent: child = parent * transform_to_parent * motion * transform_from_parent.

    Mind the names: `transform_to_parent` is the pose of the joint in the parent link,
    `transform_from_parent` the pose of the child link in the moved joint.

    Data of the joint is one number for all degrees of freedom or one for each; what is left out is as `Joint`
    has by default: no limits, no springs, no friction. All of it can be changed later.

    Args:
        name: of the joint; made up when empty.
        type: what motion is free.
        axis: in the joint frame, (3,), any length but zero; z when None. Types without an axis refuse it.
        axis2: second axis of universal, planar and 2-D translational joints, (3,); x when None.
        transform_to_parent: pose of the joint in the parent link, 4x4.
        transform_from_parent: pose of the child link in the moved joint, 4x4.
        parent_anchor: position of the joint in the parent, for joints between bodies, (3,).
        child_anchor: position of the joint in the child, for joints between bodies, (3,).
        pitch: advance of a screw joint [m/rad].
        position_lower_limits: [m or rad], minus infinity for none.
        position_upper_limits: [m or rad], infinity for none. Those of the orientation of SPHERICAL, FLOATING
            and DISTANCE joints bound the angle of rotation: one number for three freedoms, with 0, minus it
            or minus infinity as the lower limit.
        velocity_limits: [m/s or rad/s].
        acceleration_limits: of commands [m/s^2 or rad/s^2].
        effort_limits: of commands [N or N m].
        limit_margin: distance from a limit at which it begins to act [m or rad].
        spring_stiffness: [N/m or N m/rad].
        rest_position: where the spring is relaxed [m or rad].
        damping_coefficient: [N s/m or N m s/rad].
        coulomb_friction: [N or N m].
        armature: [kg or kg m^2].
        actuator_type: what the joint makes of its commands.
        linear_axes: directions in which a D6 joint slides, in the joint frame, (n, 3), n up to 3.
        angular_axes: axes about which it turns after that, each carried by those before it, (n, 3).
        euler_order: axes of an EULER joint, such as "zyx".
        distance_limits: least and largest distance of the anchors of a DISTANCE joint [m].
        motion: successive axes of a CUSTOM joint, up to six `msd.MotionAxis`, each with the amount by which
            it turns or slides as a function of the coordinates of the joint, its degrees of freedom.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.JointSpec(name="elbow", type=sx.JointType.REVOLUTE, axis=(0, 1, 0)).name
        'elbow'
        >>> arm = sx.World().add_multibody("arm")
        >>> tip = arm.add_link("tip", joint=sx.JointSpec(position_upper_limits=2.0, effort_limits=50.0))
        >>> arm.joints[0].position_upper_limits.tolist(), arm.joints[0].effort_limits.tolist()
        ([2.0], [50.0])
    """

    name: Setting[str, str] = Setting(lambda v: values.text(v, "JointSpec name"))
    type: Setting[JointType, JointType] = Setting(lambda v: member(JointType, v, "JointSpec type"))
    axis: Setting[Array, VectorLike] = Setting(lambda v: values.direction(v, "JointSpec axis"))
    axis2: Setting[Array, VectorLike] = Setting(lambda v: values.direction(v, "JointSpec axis2"))
    transform_to_parent: Setting[Array, TransformLike] = Setting(
        lambda v: _checked_transform(v, "JointSpec transform_to_parent")
    )
    transform_from_parent: Setting[Array, TransformLike] = Setting(
        lambda v: _checked_transform(v, "JointSpec transform_from_parent")
    )
    parent_anchor: Setting[Array | None, VectorLike | None] = Setting(
        _optional(values.vector3, "JointSpec parent_anchor")
    )
    child_anchor: Setting[Array | None, VectorLike | None] = Setting(
        _optional(values.vector3, "JointSpec child_anchor")
    )
    pitch: Setting[float, float] = Setting(lambda v: values.real(v, "JointSpec pitch"))
    position_lower_limits: Setting[Array | None, DofNumbers] = _numbers("position_lower_limits", finite=False)
    position_upper_limits: Setting[Array | None, DofNumbers] = _numbers("position_upper_limits", finite=False)
    velocity_limits: Setting[Array | None, DofNumbers] = _numbers("velocity_limits", least=0.0, finite=False)
    acceleration_limits: Setting[Array | None, DofNumbers] = _numbers(
        "acceleration_limits", least=0.0, finite=False
    )
    effort_limits: Setting[Array | None, DofNumbers] = _numbers("effort_limits", least=0.0, finite=False)
    limit_margin: Setting[float, float] = Setting(lambda v: values.real(v, "JointSpec limit_margin"))
    spring_stiffness: Setting[Array | None, DofNumbers] = _numbers("spring_stiffness", least=0.0)
    rest_position: Setting[Array | None, DofNumbers] = _numbers("rest_position")
    damping_coefficient: Setting[Array | None, DofNumbers] = _numbers("damping_coefficient", least=0.0)
    coulomb_friction: Setting[Array | None, DofNumbers] = _numbers("coulomb_friction", least=0.0)
    armature: Setting[Array | None, DofNumbers] = _numbers("armature", least=0.0)
    actuator_type: Setting[ActuatorType, ActuatorType] = Setting(
        lambda v: member(ActuatorType, v, "JointSpec actuator_type")
    )
    linear_axes: Setting[Array, AxesLike] = _axes("linear_axes")
    angular_axes: Setting[Array, AxesLike] = _axes("angular_axes")
    euler_order: Setting[str, str] = Setting(_order)
    distance_limits: Setting[tuple[float, float], tuple[float, float]] = Setting(_bounds)
    motion: Setting[tuple[MotionAxis, ...], Sequence[MotionAxis]] = Setting(_motion)

    def __init__(
        self,
        name: str = "",
        type: JointType = JointType.REVOLUTE,
        axis: VectorLike | None = None,
        axis2: VectorLike | None = None,
        transform_to_parent: TransformLike | None = None,
        transform_from_parent: TransformLike | None = None,
        parent_anchor: VectorLike | None = None,
        child_anchor: VectorLike | None = None,
        pitch: float = 0.0,
        *,
        position_lower_limits: DofNumbers = None,
        position_upper_limits: DofNumbers = None,
        velocity_limits: DofNumbers = None,
        acceleration_limits: DofNumbers = None,
        effort_limits: DofNumbers = None,
        limit_margin: float = 0.0,
        spring_stiffness: DofNumbers = None,
        rest_position: DofNumbers = None,
        damping_coefficient: DofNumbers = None,
        coulomb_friction: DofNumbers = None,
        armature: DofNumbers = None,
        actuator_type: ActuatorType = ActuatorType.FORCE,
        linear_axes: AxesLike = (),
        angular_axes: AxesLike = (),
        euler_order: str = "xyz",
        distance_limits: tuple[float, float] = (0.0, np.inf),
        motion: Sequence[MotionAxis] = (),
    ) -> None:
        axis = (0.0, 0.0, 1.0) if axis is None else axis
        axis2 = (1.0, 0.0, 0.0) if axis2 is None else axis2
        transform_to_parent = np.eye(4) if transform_to_parent is None else transform_to_parent
        transform_from_parent = np.eye(4) if transform_from_parent is None else transform_from_parent
        self._take(locals())
        self.check_axes()

    def check_axes(self) -> None:
        """Axes that must span a plane do, and a type has no field that only others read."""
        for name, (types, usual) in _READ_BY.items():
            if self.type not in types and not np.array_equal(getattr(self, name), usual):
                allowed = ", ".join(kind.name for kind in JointType if kind in types)
                raise ArgumentError(
                    f"JointSpec {name} is for {allowed} joints, the type is {self.type.name}; leave it out"
                )
        linear, angular = len(self.linear_axes), len(self.angular_axes)
        if self.type is JointType.D6:
            if linear > 3 or angular > 3 or linear + angular == 0:
                raise ArgumentError(
                    "JointSpec of a D6 joint: up to three linear_axes and three angular_axes, and one at "
                    f"least; got {linear} and {angular}"
                )
        elif linear or angular:
            raise ArgumentError(
                f"JointSpec: linear_axes and angular_axes are for D6 joints, the type is {self.type.name}"
            )
        if self.type is JointType.CUSTOM:
            for where, given, allowed in motion_faults(self.motion):
                raise ArgumentError(f"JointSpec motion{where}: given {given}; allowed: {allowed}")
        if self.type in WITH_AXIS2:
            a, b = self.axis, self.axis2
            if np.linalg.norm(np.cross(a, b)) < 1e-9 * np.linalg.norm(a) * np.linalg.norm(b):
                raise ArgumentError(
                    f"JointSpec of a {self.type.name} joint: axis and axis2 must not be parallel, "
                    f"got {a.tolist()} and {b.tolist()}"
                )


def own_fields(spec: JointSpec) -> dict[str, Any]:
    """Fields of the described joint that only its type has."""
    if spec.type is JointType.EULER:
        return {"euler_order": EulerOrder[spec.euler_order.upper()]}
    if spec.type is JointType.DISTANCE:
        low, high = spec.distance_limits
        return {"distance_limit": Range(lower=low if low > 0.0 else -np.inf, upper=high)}
    if spec.type is JointType.CUSTOM:
        return {"motion": [clone(axis) for axis in spec.motion]}
    return {}


def drawn_pose(spec: JointSpec) -> Array:
    """Pose of the child in the parent with the joint at zero, position and xyzw, (7,)."""
    to_parent = values.pose_of(spec.transform_to_parent, "transform_to_parent")
    if spec.type is JointType.CUSTOM:
        at_zero = custom_pose(spec.motion, [0.0] * coordinate_count(spec.motion))
        to_parent = compose(to_parent, at_zero)
    return compose(to_parent, values.pose_of(spec.transform_from_parent, "transform_from_parent"))
