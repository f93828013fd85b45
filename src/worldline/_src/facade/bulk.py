# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bulk properties: one quantity of every member of a collection as one array.

Reading gives a read-only copy. Writing goes through the property of every member, with its checks; when one
member refuses, those written before get their old values back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, cast, overload

import numpy as np

from worldline._src.errors import ArgumentError, ShapeError
from worldline._src.facade import values
from worldline._src.facade.array_property import ArrayProperty
from worldline._src.facade.values import VectorLike
from worldline._src.masked import has_masked_entries
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.joint_stiffness import JointConstraintProjectionPolicy
    from worldline._src.facade.kinds import ActuatorType, JointType

T = TypeVar("T")


class Jointed(Protocol):
    """A collection with joints, for `PerFreedom`."""

    def _bulk_joints(self) -> Sequence[Any]: ...


class _Bulk(ArrayProperty):
    """A property of all members, which has a name of its own."""

    _of: str
    _settable: bool
    _label: str

    def __set_name__(self, owner: type, name: str) -> None:
        self._label = name

    @property
    def member_property(self) -> str:
        """Name of the property of a member."""
        return self._of

    def _require_settable(self, instance: object) -> str:
        """What the property is called in messages."""
        label = f"{type(instance).__name__}.{self._label}"
        if not self._settable:
            raise AttributeError(f"{label} can be read only")
        return label


class Stacked(_Bulk):
    """One entry for each member, stacked along the first axis; `of` is the property of a member.

    Args:
        of: name of the property of a member.
        doc: unit and meaning of one entry.
        shape: of one entry.
        settable: whether members can be written.
        kind: type of one number, float or bool.
    """

    def __init__(
        self,
        of: str,
        doc: str,
        shape: tuple[int, ...] = (),
        *,
        settable: bool = False,
        kind: type[float] | type[bool] = float,
    ) -> None:
        self._of, self._shape, self._settable, self._kind = of, shape, settable, kind
        self._label = of
        sizes = ", ".join(["len", *map(str, shape)])
        self.__doc__ = f"{doc}, ({sizes}{')' if shape else ',)'}; one entry for each member."

    def _value(self, instance: Any) -> Array:
        rows = [getattr(member, self._of) for member in instance]
        return values.read_only(np.array(rows, self._kind).reshape(len(rows), *self._shape))

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: Any, value: float | bool | VectorLike | Sequence[Any]) -> None:
        label = self._require_settable(instance)
        members = list(instance)
        write_all(members, self._of, self._rows(value, len(members), label))

    def _rows(self, value: Any, count: int, label: str) -> list[Any]:
        whole = (count, *self._shape)
        if self._kind is bool:
            given = _flags(value)
            if given is None or given.shape not in ((), whole):
                raise ShapeError(f"{label} must be True or False, or {count} of them, got {value!r}")
            return np.broadcast_to(given, whole).tolist()
        numbers = values.array(value, label)
        if numbers.shape == () and not self._shape:
            numbers = np.full(count, float(numbers))
        if numbers.shape != whole:
            raise ShapeError(f"{label} must have shape {whole}, got shape {numbers.shape}")
        return numbers.tolist() if not self._shape else list(numbers)


class Listed(Generic[T]):
    """One entry for each member, in a tuple: enumerations and value objects.

    Args:
        of: name of the property of a member.
        doc: meaning of one entry.
        settable: whether members can be written.
    """

    def __init__(self, of: str, doc: str, *, settable: bool = True) -> None:
        self._of, self._settable, self._label = of, settable, of
        more = "; writing takes one for all, or one for each" if settable else ""
        self.__doc__ = f"{doc}, (len,){more}."

    def __set_name__(self, owner: type, name: str) -> None:
        self._label = name

    @property
    def member_property(self) -> str:
        """Name of the property of a member."""
        return self._of

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> tuple[T, ...]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return tuple(getattr(member, self._of) for member in _members(instance))

    def __set__(self, instance: object, value: T | Sequence[T]) -> None:
        label = f"{type(instance).__name__}.{self._label}"
        if not self._settable:
            raise AttributeError(f"{label} can be read only")
        members = _members(instance)
        rows = (
            list(cast("Sequence[T]", value)) if isinstance(value, (list, tuple)) else [value] * len(members)
        )
        if len(rows) != len(members):
            raise ShapeError(f"{label} must be one value or {len(members)}, got {len(rows)}")
        write_all(members, self._of, rows)


def _members(instance: Any) -> list[Any]:
    """Members of a collection, or the joints of a chain or a group."""
    joints = getattr(instance, "_bulk_joints", None)
    return list(instance if joints is None else joints())


def _flags(value: Any) -> np.ndarray | None:
    """True and False as an array; None when they are not."""
    try:
        given = np.asarray(value)
    except ValueError:
        return None
    return given if given.dtype == bool and not has_masked_entries(value) else None


class PerFreedom(_Bulk):
    """One number for each degree of freedom, joint after joint; `of` is the property of a joint.

    Args:
        of: name of the property of a joint, an array of `num_dofs` numbers.
        doc: unit and meaning of one number.
        settable: whether joints can be written.
    """

    def __init__(self, of: str, doc: str, *, settable: bool = True) -> None:
        self._of, self._settable, self._label = of, settable, of
        more = "; writing takes one number for all, or one for each" if settable else ""
        self.__doc__ = f"{doc}, (num_dofs,){more}."

    def _value(self, instance: Any) -> Array:
        rows = [getattr(joint, self._of) for joint in instance._bulk_joints()]
        return values.read_only(np.concatenate([np.zeros(0), *rows]))

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: Jointed, value: float | VectorLike) -> None:
        label = self._require_settable(instance)
        joints = [joint for joint in instance._bulk_joints() if joint.num_dofs]
        sizes = [joint.num_dofs for joint in joints]
        numbers = values.spread(value, sum(sizes), label)
        write_all(joints, self._of, split(numbers, sizes))


class PerFreedomLimits(PerFreedom):
    """Limits of a size in both directions, `<quantity>_limits` of a joint."""

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: Jointed, value: float | VectorLike) -> None:
        joints = [joint for joint in instance._bulk_joints() if joint.num_dofs]
        label = f"{type(instance).__name__}.{self._label}"
        numbers = values.spread(value, sum(joint.num_dofs for joint in joints), label)
        if (numbers < 0.0).any():
            raise ArgumentError(f"{label} must be non-negative, got {numbers.tolist()}")
        set_limits(joints, self._of.removesuffix("_limits"), -numbers, numbers)


def split(numbers: Array, sizes: Sequence[int]) -> list[Array]:
    """A vector cut into parts of given sizes."""
    return np.split(numbers, np.cumsum(sizes)[:-1]) if sizes else []


def write_all(members: Sequence[Any], name: str, rows: Sequence[Any]) -> None:
    """Set a property of every member, or of none when one of them refuses."""
    if len(rows) != len(members):
        raise ArgumentError(f"{name}: {len(rows)} values for {len(members)} members")
    before = [getattr(member, name) for member in members]
    done = 0
    try:
        for member, row in zip(members, rows, strict=True):
            setattr(member, name, row)
            done += 1
    except BaseException:
        for member, row in zip(members[:done], before[:done], strict=True):
            setattr(member, name, row)
        raise


def set_limits(
    joints: Iterable[Any], quantity: str, lower: float | VectorLike, upper: float | VectorLike
) -> None:
    """Both limits of all joints, or of none when one of them refuses.

    quantity: position, velocity or effort.
    """
    moving = [joint for joint in joints if joint.num_dofs]
    sizes = [joint.num_dofs for joint in moving]
    low = split(values.spread(lower, sum(sizes), "lower limits"), sizes)
    high = split(values.spread(upper, sum(sizes), "upper limits"), sizes)
    ends = f"{quantity}_lower_limits", f"{quantity}_upper_limits"
    before = [tuple(getattr(joint, end) for end in ends) for joint in moving]
    done = 0
    try:
        for joint, pair in zip(moving, zip(low, high, strict=True), strict=True):
            getattr(joint, f"set_{quantity}_limits")(*pair)
            done += 1
    except BaseException:
        for joint, pair in zip(moving[:done], before[:done], strict=True):
            getattr(joint, f"set_{quantity}_limits")(*pair)
        raise


class MotorParameters:
    """Springs, friction and limits of joints of any kind, one number for each degree of freedom."""

    def _bulk_joints(self) -> Sequence[Any]:
        raise NotImplementedError

    types: Listed[JointType] = Listed("type", "Types of the joints", settable=False)
    actuator_type: Listed[ActuatorType] = Listed("actuator_type", "How joints are commanded")
    constraint_projection_policy: Listed[JointConstraintProjectionPolicy] = Listed(
        "constraint_projection_policy", "Stiffnesses of joints between bodies"
    )
    spring_stiffness = PerFreedom("spring_stiffness", "[N/m or N m/rad]")
    rest_position = PerFreedom("rest_position", "Where springs are relaxed [m or rad]")
    damping_coefficient = PerFreedom("damping_coefficient", "[N s/m or N m s/rad]")
    coulomb_friction = PerFreedom("coulomb_friction", "Dry friction [N or N m]")
    armature = PerFreedom("armature", "Inertia added to the diagonal of the mass matrix [kg or kg m^2]")
    velocity_lower_limits = PerFreedom("velocity_lower_limits", "[m/s or rad/s]", settable=False)
    velocity_upper_limits = PerFreedom("velocity_upper_limits", "[m/s or rad/s]", settable=False)
    effort_lower_limits = PerFreedom("effort_lower_limits", "[N or N m]", settable=False)
    effort_upper_limits = PerFreedom("effort_upper_limits", "[N or N m]", settable=False)

    def set_velocity_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits [m/s or rad/s], each one number for all freedoms or (num_dofs,); infinity for none."""
        set_limits(self._bulk_joints(), "velocity", lower, upper)

    def set_effort_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits [N or N m], each one number for all freedoms or (num_dofs,); infinity for none."""
        set_limits(self._bulk_joints(), "effort", lower, upper)


class JointParameters(MotorParameters):
    """Parameters of joints of a multibody, one number for each degree of freedom."""

    target_stiffness = PerFreedom("target_stiffness", "Gains of drives on position error [N/m or N m/rad]")
    target_damping = PerFreedom("target_damping", "Gains of drives on velocity error [N s/m or N m s/rad]")
    velocity_limits = PerFreedomLimits("velocity_limits", "Largest speeds [m/s or rad/s], infinity for none")
    acceleration_limits = PerFreedom(
        "acceleration_limits", "Largest commanded accelerations [m/s^2 or rad/s^2], infinity for none"
    )
    effort_limits = PerFreedomLimits(
        "effort_limits", "Largest commanded efforts [N or N m], infinity for none"
    )

    def set_position_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits [m or rad], each one number for all freedoms or (num_dofs,); infinity for none."""
        set_limits(self._bulk_joints(), "position", lower, upper)
