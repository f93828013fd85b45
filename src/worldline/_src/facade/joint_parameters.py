# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a joint's degrees of freedom: read from the model, written to model and description.

In the description a joint has scalars for all of its freedoms, or a list `dofs` with settings of their own.
Writing through a handle fills that list first, so that every freedom can differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, UnknownCapabilityError
from worldline._src.facade import values
from worldline._src.facade.kinds import ActuatorType, drive_type
from worldline._src.facade.runtime import MOTORS
from worldline._src.facade.values import VectorLike
from worldline._src.scene.joints import FreeJoint, JointDof, TargetMode
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.values import Range
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.runtime import Runtime

_DESCRIBED = {
    "joint_target_ke": "target_stiffness",
    "joint_target_kd": "target_damping",
    "joint_stiffness": "stiffness",
    "joint_damping": "damping",
    "joint_friction": "friction_loss",
    "joint_armature": "armature",
    "joint_velocity_limit": "velocity_limit",
    "joint_effort_limit": "effort_limit",
    "joint_velocity_lower": "velocity_lower",
    "joint_effort_lower": "effort_lower",
}
"""Array of the model, and its field in a JointDof."""
_LOWER = {"joint_velocity_limit": "joint_velocity_lower", "joint_effort_limit": "joint_effort_lower"}
"""Upper limits and lower ones."""
_IN_ROWS = frozenset(("joint_limit_lower", "joint_friction", "joint_velocity_limit"))
"""Arrays that rows of a step are made of."""
_FREE = {"joint_stiffness", "joint_damping", "joint_friction", "joint_armature"}
"""Arrays that a floating base takes numbers for."""
_OF_FREE = ("spring_stiffness", "damping_coefficient", "coulomb_friction", "armature")
"""The same, as properties of a Joint."""


def get(joint: Joint, name: str) -> Array:
    """One parameter, a number for every degree of freedom."""
    runtime = joint._live()
    return getattr(runtime.model, name)[runtime.v_slice(joint._joint)].copy()


def is_settable(joint: Joint, name: str) -> bool:
    """Whether a joint of this type takes numbers for a property.

    A floating base has neither drives nor limits; springs of joints with quaternions are relaxed at zero.
    """
    if name == "rest_position":
        return _has_vector_coordinates(joint)
    return not isinstance(joint._joint, FreeJoint) or name in _OF_FREE


def _has_vector_coordinates(joint: Joint) -> bool:
    """Whether there is one coordinate for every degree of freedom."""
    q = joint._live().q_slice(joint._joint)
    return q.stop - q.start == joint.num_dofs


def spread(joint: Joint, value: float | VectorLike, what: str) -> Array:
    """A number for all degrees of freedom, or one for each."""
    return values.spread(value, joint.num_dofs, f"{what} of joint '{joint.name}'")


def set_non_negative(joint: Joint, name: str, value: float | VectorLike, what: str) -> None:
    """A finite parameter that is zero or more."""
    numbers = spread(joint, value, what)
    if (numbers < 0.0).any() or not np.isfinite(numbers).all():
        raise ArgumentError(
            f"{what} of joint '{joint.name}' must be non-negative and finite, got {numbers.tolist()}"
        )
    _write(joint, {name: numbers})


def set_limit(joint: Joint, name: str, value: float | VectorLike, what: str) -> None:
    """A bound that is zero or more, infinity for none."""
    numbers = spread(joint, value, what)
    if (numbers < 0.0).any():
        raise ArgumentError(f"{what} of joint '{joint.name}' must be non-negative, got {numbers.tolist()}")
    _write(joint, {name: numbers, _LOWER[name]: -numbers})


def get_largest(joint: Joint, name: str) -> Array:
    """The larger of both limits of every degree of freedom, as a size."""
    return np.maximum(get(joint, name), -get(joint, _LOWER[name]))


def set_two_limits(
    joint: Joint, name: str, lower: float | VectorLike, upper: float | VectorLike, what: str
) -> None:
    """Limits from both sides, of which zero must be within."""
    low, high = spread(joint, lower, f"lower {what}"), spread(joint, upper, f"upper {what}")
    if (low > high).any():
        raise ArgumentError(
            f"lower {what} {low.tolist()} of '{joint.name}' must not exceed upper limits {high.tolist()}"
        )
    if (low > 0.0).any() or (high < 0.0).any():
        raise ArgumentError(
            f"zero must be within the {what} of joint '{joint.name}', got {low.tolist()} and {high.tolist()}"
        )
    _write(joint, {name: high, _LOWER[name]: low})


def require_unbreakable(joint: Joint, value: float, what: str) -> None:
    """Joints of a tree take no other strength than an infinite one."""
    joint._require_alive()
    if not values.any_number(value, f"{what} of joint '{joint.name}'") == np.inf:
        raise UnknownCapabilityError(
            f"joint '{joint.name}' of a tree cannot break, its {what} cannot be {value}; "
            "World.add_joint makes joints that can"
        )


def set_position_limits(joint: Joint, lower: float | VectorLike, upper: float | VectorLike) -> None:
    """Both position limits."""
    low, high = spread(joint, lower, "lower limits"), spread(joint, upper, "upper limits")
    if (low > high).any():
        raise ArgumentError(
            f"lower limits {low.tolist()} of '{joint.name}' must not exceed upper limits {high.tolist()}"
        )
    _write(joint, {"joint_limit_lower": low, "joint_limit_upper": high})


def get_limit_margin(joint: Joint) -> float:
    """Distance from a limit at which it begins to act."""
    joint._require_alive()
    return 0.0 if isinstance(joint._joint, FreeJoint) else joint._joint.margin


def set_limit_margin(joint: Joint, value: float) -> None:
    """Where limits begin to act."""
    joint._require_alive()
    margin = values.real(value, f"limit margin of joint '{joint.name}'")
    if isinstance(joint._joint, FreeJoint):
        raise ArgumentError(f"the floating base '{joint.name}' has no limits")
    joint._world._require_idle()
    joint._joint.margin = margin
    # which rows there are is settled when the description is compiled
    joint._world._topology_changed()


def get_acceleration_limits(joint: Joint) -> Array:
    """Bounds of commanded accelerations, infinity for none."""
    joint._require_alive()
    given = joint._joint
    if isinstance(given, FreeJoint):
        return np.full(joint.num_dofs, np.inf)
    own = [] if given.frozen is not None else [dof.acceleration_limit for dof in given.dofs]
    return np.array(own) if own else np.full(joint.num_dofs, given.acceleration_limit)


def set_acceleration_limits(joint: Joint, value: float | VectorLike) -> None:
    """Bounds of commanded accelerations; those commanded now move within them."""
    numbers = spread(joint, value, "acceleration limits")
    if (numbers < 0.0).any():
        raise ArgumentError(
            f"acceleration limits of joint '{joint.name}' must be non-negative, got {numbers.tolist()}"
        )
    runtime = joint._live()
    for dof, number in zip(_own_dofs(joint, runtime), numbers.tolist(), strict=True):
        dof.acceleration_limit = number
    runtime.read_acceleration_limits()
    joint._world._configuration_changed()


def set_actuator_type(joint: Joint, index: int, kind: ActuatorType) -> None:
    """What one degree of freedom makes of its command."""
    runtime, given = joint._live(), joint._joint
    if isinstance(given, FreeJoint):
        if kind is not ActuatorType.FORCE:
            raise ArgumentError(f"the floating base '{joint.name}' only takes ActuatorType.FORCE")
        return
    if ActuatorType.MIMIC in (kind, joint._actuator_types()[index]):
        raise ArgumentError(
            f"joint '{joint.name}' follows another as a whole or not at all: use its own type"
        )
    motors = not {kind, joint._actuator_types()[index]}.isdisjoint(MOTORS)
    _own_dofs(joint, runtime)[index].drive = drive_type(kind)
    if motors:
        # which rows there are is settled when the description is compiled
        joint._world._topology_changed()
        return
    runtime.set_drive(given)
    joint._world._configuration_changed()


def get_rest(joint: Joint) -> Array:
    """Where the spring is relaxed."""
    if not _has_vector_coordinates(joint):
        return np.zeros(joint.num_dofs)
    runtime = joint._live()
    return runtime.model.joint_spring_ref[runtime.q_slice(joint._joint)].copy()


def set_rest(joint: Joint, value: VectorLike) -> None:
    """Where the spring is relaxed, of joints whose coordinates are numbers."""
    numbers = values.dof_vector(value, joint.num_dofs, f"Joint rest position of '{joint.name}'")
    if not _has_vector_coordinates(joint):
        raise ArgumentError(f"springs of the {joint.type.name} joint '{joint.name}' are relaxed at zero")
    runtime = joint._live()
    dofs = _own_dofs(joint, runtime)
    row = np.array(runtime.model.joint_spring_ref)
    row[runtime.q_slice(joint._joint)] = numbers
    runtime.update(joint_spring_ref=row)
    for dof, number in zip(dofs, numbers.tolist(), strict=True):
        dof.rest_position = number


def _write(joint: Joint, changes: dict[str, Array]) -> None:
    """The same numbers into the model and into the description; the model refuses first."""
    runtime = joint._live()
    given = joint._joint
    if isinstance(given, FreeJoint):
        _write_free(joint, runtime, given, changes)
        return
    driven = {"joint_target_ke", "joint_target_kd"} & set(changes)
    dofs = _own_dofs(joint, runtime)
    runtime.update_rows(runtime.v_slice(given), changes)
    if "joint_limit_lower" in changes:
        pairs = zip(changes["joint_limit_lower"].tolist(), changes["joint_limit_upper"].tolist(), strict=True)
        for dof, (low, high) in zip(dofs, pairs, strict=True):
            dof.pos_limit = Range(lower=low, upper=high)
    for name, field in _DESCRIBED.items():
        if name in changes:
            for dof, number in zip(dofs, changes[name].tolist(), strict=True):
                setattr(dof, field, number)
    _leave_alike(dofs)
    if driven:
        _set_modes(joint, runtime, dofs)
    _rows_changed(joint, runtime, changes)


def _rows_changed(joint: Joint, runtime: Runtime, changes: dict[str, Array]) -> None:
    """Limits and friction go into the rows there are; where others are needed the World is compiled anew."""
    if not _IN_ROWS.isdisjoint(changes) and not runtime.take_joint_rows(changes):
        joint._world._topology_changed()


def _leave_alike(dofs: list[JointDof]) -> None:
    """Lower limits that are minus the upper ones are not written down."""
    for dof in dofs:
        if dof.velocity_lower == -dof.velocity_limit:
            dof.velocity_lower = None
        if dof.effort_lower == -dof.effort_limit:
            dof.effort_lower = None


def _set_modes(joint: Joint, runtime: Runtime, dofs: list[JointDof]) -> None:
    """A drive follows what it has gains for."""
    for dof in dofs:
        if dof.target_stiffness > 0.0:
            dof.target_mode = TargetMode.PositionVelocity
        else:
            dof.target_mode = TargetMode.Velocity if dof.target_damping > 0.0 else TargetMode.None_
    runtime.set_target_modes(joint._joint, [dof.target_mode for dof in dofs])


def _write_free(joint: Joint, runtime: Runtime, given: FreeJoint, changes: dict[str, Array]) -> None:
    for name, numbers in changes.items():
        if name not in _FREE:
            what = _DESCRIBED.get(name, "position limits").replace("_", " ")
            raise ArgumentError(
                f"the floating base '{joint.name}' has no {what}; it has {', '.join(_OF_FREE)}"
            )
        if (numbers != numbers[0]).any():
            raise ArgumentError(
                f"the floating base '{joint.name}' takes one number for all of its freedoms, "
                f"got {numbers.tolist()}"
            )
    for name, numbers in changes.items():
        runtime.update_dofs(name, given, numbers)
        setattr(given, _DESCRIBED[name], float(numbers[0]))
    _rows_changed(joint, runtime, changes)


def _own_dofs(joint: Joint, runtime: Runtime) -> list[JointDof]:
    """The joint's list of own settings, filled from its scalars when it has none."""
    given = joint._joint
    if isinstance(given, FreeJoint):
        raise ArgumentError(f"the floating base '{joint.name}' has no settings of this kind")
    if given.frozen is not None:
        raise OperationError(f"joint '{joint.name}' is frozen; Multibody.unfreeze lets it go first")
    if not given.dofs:
        given.dofs = described(given, runtime)
    return given.dofs


def described(given: SceneJoint, runtime: Runtime) -> list[JointDof]:
    """One JointDof for every freedom, with the numbers the model has."""
    model, dofs = runtime.model, runtime.v_slice(given)
    q = runtime.q_slice(given)
    scalar = q.stop - q.start == dofs.stop - dofs.start
    made: list[JointDof] = []
    for k, d in enumerate(range(dofs.start, dofs.stop)):
        low, high = float(model.joint_limit_lower[d]), float(model.joint_limit_upper[d])
        dof = JointDof(
            pos_limit=Range(lower=low, upper=high),
            rest_position=float(model.joint_spring_ref[q.start + k]) if scalar else 0.0,
            acceleration_limit=given.acceleration_limit,
        )
        for name, field in _DESCRIBED.items():
            setattr(dof, field, float(getattr(model, name)[d]))
        made.append(dof)
    _leave_alike(made)
    return made
