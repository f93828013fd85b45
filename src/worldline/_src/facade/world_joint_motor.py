# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Motors of world-owned joints: commands, actuator types, limits of effort and velocity."""

from __future__ import annotations

import math

import numpy as np

from worldline._src.errors import ArgumentError, UnknownCapabilityError
from worldline._src.facade import values
from worldline._src.facade.handle import Handle
from worldline._src.facade.kinds import ActuatorType, JointType, actuator_type, drive_type, member
from worldline._src.facade.known_names import returns_read_only
from worldline._src.facade.quantities import Quantity, Reading, quantity, reading
from worldline._src.facade.values import VectorLike
from worldline._src.scene import closures as described
from worldline._src.scene.values import Range
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_equalities import Owner

DRIVEN = (JointType.REVOLUTE, JointType.PRISMATIC)
"""Joints between bodies that have a single axis, and so may have a motor."""
_FORCE, _VELOCITY, _ACCELERATION = range(3)
_UNDRIVEN = (ActuatorType.FORCE, ActuatorType.PASSIVE)


def checked_drive(kind: ActuatorType, joint: JointType, name: str) -> ActuatorType:
    """An actuator type that a joint between bodies can have; those without a single axis are PASSIVE."""
    if kind is ActuatorType.MIMIC:
        raise UnknownCapabilityError(f"joint '{name}' between bodies cannot follow another joint (MIMIC)")
    if joint in DRIVEN:
        return kind
    if kind in _UNDRIVEN:
        return ActuatorType.PASSIVE
    names = " and ".join(one.name for one in DRIVEN)
    raise UnknownCapabilityError(
        f"joint '{name}' between bodies of type {joint.name} has no motor, so it takes no {kind.name}; "
        f"{names} joints have one"
    )


def checked_range(lower: float, upper: float, what: str) -> Range:
    """Bounds with zero between them."""
    if not lower <= 0.0 <= upper:
        raise ArgumentError(f"zero must be within the {what}, got {lower} and {upper}")
    return Range(lower=lower, upper=upper)


def _command(which: int, what: str, doc: str) -> Quantity[Array, VectorLike]:
    return quantity(
        lambda joint: values.read_only(joint._get_command(which)),
        lambda joint, value: joint._set_command(which, value, what),
        doc,
    )


def _limit(field: str, upper: bool, doc: str) -> Reading[Array]:
    return reading(lambda joint: joint._limit_ends(field, upper), doc)


class WorldJointMotor(Handle):
    """The motor of a REVOLUTE or PRISMATIC joint between bodies."""

    _described: described.WorldJoint

    @property
    def name(self) -> str:
        """Unique among the joints of the description."""
        raise NotImplementedError

    @property
    def type(self) -> JointType:
        """What motion the joint leaves free."""
        raise NotImplementedError

    @property
    def num_dofs(self) -> int:
        """Number of freedoms that the joint leaves."""
        raise NotImplementedError

    @property
    def actuator_type(self) -> ActuatorType:
        """What the joint makes of its commands; joints without a single axis are PASSIVE.

        FORCE applies `force` within the effort limits. SERVO follows `command_velocity` within them, VELOCITY
        does so with whatever effort it takes; ACCELERATION realises `command_acceleration`, LOCKED keeps the
        joint where it is. All act on child and parent alike, wake both, and let go when the joint breaks.
        With the Runge-Kutta family a velocity is reached over several steps. May be changed in any mode.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(gravity=(0, 0, 0))
            >>> wheel = world.add_rigid_body("wheel", mass=1.0, inertia=(0.5, 0.5, 0.5))
            >>> hub = world.add_joint(wheel, sx.JointSpec(name="hub", axis=(0, 0, 1)))
            >>> hub.actuator_type = sx.ActuatorType.SERVO
            >>> hub.set_effort_limits(-1.0, 2.0)
            >>> hub.command_velocity = [3.0]
            >>> world.step(n=500)
            >>> hub.velocity.round(6).tolist(), hub.effort.round(6).tolist()
            ([2.0], [2.0])
        """
        self._require_alive()
        return actuator_type(self._described.joint.drive) if self._has_motor else ActuatorType.PASSIVE

    @actuator_type.setter
    def actuator_type(self, value: ActuatorType) -> None:
        self._require_alive()
        kind = member(ActuatorType, value, f"actuator_type of joint '{self.name}'")
        chosen = checked_drive(kind, self.type, self.name)
        if chosen is self.actuator_type:
            return
        self._world._require_idle()
        self._described.joint.drive = drive_type(chosen)
        # which rows there are is settled when the description is compiled
        self._world._topology_changed()

    @property
    def _has_motor(self) -> bool:
        return self.type in DRIVEN

    def _require_motor(self, what: str) -> None:
        self._require_alive()
        if not self._has_motor:
            names = " and ".join(one.name for one in DRIVEN)
            raise UnknownCapabilityError(
                f"joint '{self.name}' between bodies of type {self.type.name} takes no {what}: only {names} "
                "joints have a motor"
            )

    # ---- commands

    def _index(self) -> int:
        """Row of the joint among those that the World owns."""
        table = self._live().model.loop_joints
        assert table is not None
        return table.label.index(self.name)

    def _get_command(self, which: int) -> Array:
        runtime = self._live()
        if not self._has_motor:
            return np.zeros(self.num_dofs)
        return runtime.joint_commands[self._index(), which : which + 1].copy()

    def _set_command(self, which: int, value: VectorLike, what: str) -> None:
        self._require_motor(what)
        number = values.dof_vector(value, 1, f"{what} of joint '{self.name}'")[0]
        self._world._require_idle()
        runtime, k = self._live(), self._index()
        if runtime.joint_commands[k, which] != number:
            runtime.joint_commands[k, which] = number
            runtime.joints_commanded()
            runtime.sim.wake()

    force = _command(
        _FORCE,
        "force",
        "Effort that FORCE applies to the child along the axis, until changed [N or N m], (num_dofs,).",
    )
    command_velocity = _command(
        _VELOCITY, "command velocity", "Velocity that SERVO and VELOCITY follow [m/s or rad/s], (num_dofs,)."
    )
    command_acceleration = _command(
        _ACCELERATION,
        "command acceleration",
        "Acceleration that ACCELERATION realises [m/s^2 or rad/s^2], (num_dofs,).",
    )

    @property
    @returns_read_only
    def effort(self) -> Array:
        """What the motor did to the child along the axis in the last step [N or N m], (num_dofs,).

        The parent feels the opposite; `wrench` is what holds the joint together beside it. Zero before the
        first step, without a motor and when the joint is broken.
        """
        runtime = self._live()
        made = np.zeros(self.num_dofs)
        if self._has_motor and runtime.constraints is not None:
            row = runtime.constraints.row_of(Owner.LOOP_JOINT, self._index())
            if row is not None:
                made[:] = runtime.constraints.column.equality_drive[row, 1]
        return values.read_only(made)

    # ---- limits of effort and velocity

    def _limit_ends(self, field: str, upper: bool) -> Array:
        self._require_alive()
        limit = getattr(self._described, field)
        size = getattr(self._described.joint, field)
        number = min(limit.upper, size) if upper else max(limit.lower, -size)
        none = math.inf if upper else -math.inf
        return values.read_only(np.full(self.num_dofs, number if self._has_motor else none))

    def _set_limits(
        self, field: str, lower: float | VectorLike, upper: float | VectorLike, what: str
    ) -> None:
        self._require_motor(what)
        low, high = (float(values.spread(x, 1, f"{what} of joint '{self.name}'")[0]) for x in (lower, upper))
        limit = checked_range(low, high, f"{what} of joint '{self.name}'")
        self._world._require_idle()
        setattr(self._described, field, limit)
        setattr(self._described.joint, field, math.inf)
        self._world._topology_changed()

    effort_lower_limits = _limit(
        "effort_limit",
        False,
        "Least effort of FORCE and SERVO [N or N m], (num_dofs,), minus infinity for none.",
    )
    effort_upper_limits = _limit(
        "effort_limit", True, "Largest effort of FORCE and SERVO [N or N m], (num_dofs,), infinity for none."
    )

    def set_effort_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Bounds of the effort of FORCE and SERVO [N or N m], zero within them; infinity for none."""
        self._set_limits("effort_limit", lower, upper, "effort limits")

    velocity_lower_limits = _limit(
        "velocity_limit", False, "Least velocity [m/s or rad/s], (num_dofs,), minus infinity for none."
    )
    velocity_upper_limits = _limit(
        "velocity_limit", True, "Largest velocity [m/s or rad/s], (num_dofs,), infinity for none."
    )

    def set_velocity_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Bounds of the velocity, whatever drives the joint [m/s or rad/s], zero within them."""
        self._set_limits("velocity_limit", lower, upper, "velocity limits")
