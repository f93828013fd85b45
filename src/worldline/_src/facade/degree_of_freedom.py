# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One degree of freedom of a joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, overload

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.joint_parameters import set_actuator_type
from worldline._src.facade.kinds import ActuatorType, member
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.quantities import Quantity, Reading, quantity, reading

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint


class _Entry:
    """One entry of a vector of the joint, as a plain number."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: DegreeOfFreedom, owner: type) -> float: ...
    def __get__(self, instance: DegreeOfFreedom | None, owner: type) -> Self | float:
        if instance is None:
            return self
        return float(getattr(instance._joint, self._name)[instance._index])

    def __set__(self, instance: DegreeOfFreedom, value: float) -> None:
        vector = getattr(instance._joint, self._name).copy()
        vector[instance._index] = values.any_number(value, f"{self._name} of {instance.name}")
        setattr(instance._joint, self._name, vector)


def _read_only(name: str, doc: str) -> property:
    def read(self: DegreeOfFreedom) -> float:
        return float(getattr(self._joint, name)[self._index])

    return property(read, doc=doc)


def _largest(name: str, doc: str) -> Any:
    """A limit in either direction."""
    return quantity(
        lambda dof: float(getattr(dof._joint, f"{name}_limits")[dof._index]),
        lambda dof, value: dof._set_size(name, value),
        doc,
    )


class DegreeOfFreedom(KnownNames):
    """One number of a joint: a view of the entry of the joint's vectors, with plain floats.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> _ = arm.add_link("tip", joint=sx.JointSpec(name="hinge"))
        >>> arm.dofs[0].position = 0.3
        >>> arm.joints["hinge"].position.tolist()
        [0.3]
    """

    __slots__ = ("_index", "_joint")

    def __init__(self, joint: Joint, index: int) -> None:
        self._joint = joint
        self._index = index

    @property
    def name(self) -> str:
        """The joint's name; with the number of the freedom where a joint has several.

        Unique in the multibody: where a joint is named like the freedom of another, `p.0` beside `p`, the
        freedom gets an underscore, `p.0_`.
        """
        joint = self._joint
        if joint.num_dofs == 1:
            return joint.name
        name = f"{joint.name}.{self._index}"
        while name in joint.multibody._joints:
            name += "_"
        return name

    joint: Reading[Joint] = reading(lambda dof: dof._joint, "The joint it belongs to.")
    index_in_joint: Reading[int] = reading(
        lambda dof: dof._index, "Which entry of the joint's vectors it is."
    )
    is_valid: Reading[bool] = reading(lambda dof: dof._joint.is_valid, "False once the joint was removed.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DegreeOfFreedom):
            return NotImplemented
        return self._joint is other._joint and self._index == other._index

    def __hash__(self) -> int:
        return hash((id(self._joint), self._index))

    def __repr__(self) -> str:
        return f"DegreeOfFreedom('{self.name}')"

    @property
    def actuator_type(self) -> ActuatorType:
        """What it makes of its command; one of a joint may differ from the others."""
        return self._joint._actuator_types()[self._index]

    @actuator_type.setter
    def actuator_type(self, value: ActuatorType) -> None:
        kind = member(ActuatorType, value, f"actuator_type of {self.name}")
        set_actuator_type(self._joint, self._index, kind)

    position = _Entry("position", "[m or rad]")
    velocity = _Entry("velocity", "[m/s or rad/s]")
    acceleration = _read_only("acceleration", "Of the last step [m/s^2 or rad/s^2].")
    force = _Entry("force", "Commanded effort [N or N m].")
    command_velocity = _Entry("command_velocity", "Speed to follow [m/s or rad/s].")
    command_acceleration = _Entry("command_acceleration", "Acceleration to realise [m/s^2 or rad/s^2].")
    target_position = _Entry("target_position", "Where the drive leads [m or rad].")
    target_velocity = _Entry("target_velocity", "Speed the drive leads to [m/s or rad/s].")
    target_stiffness = _Entry("target_stiffness", "Gain on position error [N/m or N m/rad].")
    target_damping = _Entry("target_damping", "Gain on velocity error [N s/m or N m s/rad].")
    spring_stiffness = _Entry("spring_stiffness", "[N/m or N m/rad]")
    rest_position = _Entry("rest_position", "Where the spring is relaxed [m or rad].")
    damping_coefficient = _Entry("damping_coefficient", "[N s/m or N m s/rad]")
    coulomb_friction = _Entry("coulomb_friction", "Dry friction [N or N m].")
    armature = _Entry("armature", "Added inertia [kg or kg m^2].")
    acceleration_limit = _Entry("acceleration_limits", "Largest commanded acceleration [m/s^2 or rad/s^2].")
    velocity_lower_limit = _read_only("velocity_lower_limits", "[m/s or rad/s]")
    velocity_upper_limit = _read_only("velocity_upper_limits", "[m/s or rad/s]")
    effort_lower_limit = _read_only("effort_lower_limits", "[N or N m]")
    effort_upper_limit = _read_only("effort_upper_limits", "[N or N m]")
    position_lower_limit = _read_only("position_lower_limits", "[m or rad]")
    position_upper_limit = _read_only("position_upper_limits", "[m or rad]")

    def set_position_limits(self, lower: float, upper: float) -> None:
        """Both limits of this degree of freedom [m or rad]; infinity for none."""
        self._set_limits("position", lower, upper)

    def set_velocity_limits(self, lower: float, upper: float) -> None:
        """Both limits of this degree of freedom [m/s or rad/s]; infinity for none."""
        self._set_limits("velocity", lower, upper)

    def set_effort_limits(self, lower: float, upper: float) -> None:
        """Both limits of this degree of freedom [N or N m]; infinity for none."""
        self._set_limits("effort", lower, upper)

    velocity_limit: Quantity[float, float] = _largest(
        "velocity", "Largest speed in either direction [m/s or rad/s]."
    )
    effort_limit: Quantity[float, float] = _largest(
        "effort", "Largest commanded effort in either direction [N or N m]."
    )

    def _set_size(self, quantity: str, value: float) -> None:
        size = values.any_number(value, f"{quantity} limit of {self.name}")
        if size < 0.0:
            raise ArgumentError(f"{quantity} limit of {self.name} must be non-negative, got {size}")
        self._set_limits(quantity, -size, size)

    def _set_limits(self, quantity: str, lower: float, upper: float) -> None:
        low = getattr(self._joint, f"{quantity}_lower_limits").copy()
        high = getattr(self._joint, f"{quantity}_upper_limits").copy()
        low[self._index] = values.any_number(lower, f"lower limit of {self.name}")
        high[self._index] = values.any_number(upper, f"upper limit of {self.name}")
        getattr(self._joint, f"set_{quantity}_limits")(low, high)
