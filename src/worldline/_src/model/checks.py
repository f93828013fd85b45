# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rules a model's numbers must obey, used when it is built and when it is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from worldline._src.errors import ArgumentError, nearest_name
from worldline._src.masked import has_masked_entries
from worldline._src.model.kinds import QUATERNION_JOINTS
from worldline._src.scene.bodies import LEAST_INERTIA, has_small_moment
from worldline._src.spatial.poses import Array, VectorLike, float_array, numbers

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder
    from worldline._src.model.model import Model

NON_NEGATIVE = (
    "joint_armature",
    "joint_damping",
    "joint_stiffness",
    "joint_friction",
    "joint_effort_limit",
    "joint_velocity_limit",
    "joint_limit_ke",
    "joint_limit_kd",
    "joint_target_ke",
    "joint_target_kd",
)
MAY_BE_INFINITE = (
    "joint_limit_lower",
    "joint_limit_upper",
    "joint_effort_limit",
    "joint_velocity_limit",
    "joint_effort_lower",
    "joint_velocity_lower",
    "joint_limit_ke",
)
UPDATABLE = (
    *NON_NEGATIVE,
    "body_mass",
    "body_com",
    "body_inertia",
    "body_q",
    "body_qd",
    "body_gravcomp",
    "joint_X_p",
    "joint_X_c",
    "joint_q",
    "joint_qd",
    "joint_f",
    "joint_pitch",
    "joint_limit_lower",
    "joint_limit_upper",
    "joint_effort_lower",
    "joint_velocity_lower",
    "joint_target_pos",
    "joint_target_vel",
    "joint_spring_ref",
    "joint_distance",
    "gravity",
)


INERTIAL = frozenset(
    (
        "body_mass",
        "body_com",
        "body_inertia",
        "body_q",
        "joint_X_p",
        "joint_X_c",
        "joint_q",
        "joint_pitch",
        "joint_armature",
    )
)
"""Arrays that the mass matrix at the start depends on."""
_PAIRS = (("joint_effort_limit", "joint_effort_lower"), ("joint_velocity_limit", "joint_velocity_lower"))
"""Upper limits and lower ones."""


def flag(value: Any, what: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{what} must be True or False, got {value!r}")
    return bool(cast("Any", value))


def positive_number(value: Any, what: str) -> float:
    """A finite number above zero."""
    number = float_array(value, what, "a number")
    if number.ndim or not 0.0 < number < np.inf:
        raise ArgumentError(f"{what} must be positive and finite, got {value!r}")
    return float(number)


def whole_numbers(value: Any, what: str) -> np.ndarray:
    """Whole numbers in one dimension as a new int64 array."""
    if has_masked_entries(value):
        raise ArgumentError(f"{what} must not have masked entries; fill them first, got {value!r}")
    try:
        made = np.array(cast("Any", value) if isinstance(value, np.ndarray) else list(value))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} must be whole numbers, got {value!r}") from error
    if made.ndim != 1 or (made.size and made.dtype.kind not in "iu"):
        raise ArgumentError(f"{what} must be whole numbers in one dimension, got {value!r}")
    return made.astype(np.int64)


def check_least(mass: float, inertia: Array, what: str) -> None:
    """A mass and moments of inertia about the axes that are zero, or large enough for a step to move."""
    if 0.0 < mass < LEAST_INERTIA:
        raise ArgumentError(f"{what}: mass must be 0 or at least {LEAST_INERTIA} kg, got {mass}")
    if has_small_moment(inertia.diagonal().tolist()):
        raise ArgumentError(
            f"{what}: moments of inertia must be 0 or at least {LEAST_INERTIA} kg m^2, got {inertia.tolist()}"
        )


def check_body(mass: float, inertia: Array, what: str) -> None:
    """Mass and inertia that some body can have; zero mass needs zero inertia."""
    if _is_plain_body(mass, inertia):
        return
    _check_mass(mass, what)
    if not np.isfinite(inertia).all():
        raise ArgumentError(f"{what}: inertia must be finite, got {inertia.tolist()}")
    size = float(np.abs(inertia).max())
    if float(np.abs(inertia - inertia.T).max()) > 1e-9 * size:
        raise ArgumentError(f"{what}: inertia must be symmetric, got {inertia.tolist()}")
    if mass == 0.0 and size > 0.0:
        raise ArgumentError(f"{what}: a body without mass has no inertia, got {inertia.tolist()}")
    moments = np.linalg.eigvalsh(inertia)
    slack = 1e-9 * size
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ArgumentError(
            f"{what}: no body has the principal moments {moments.tolist()}; they must not be negative "
            "and none may exceed the sum of the other two"
        )


def _check_mass(mass: float, what: str) -> None:
    if not np.isfinite(mass) or mass < 0.0:
        raise ArgumentError(f"{what}: mass must be finite and not negative, got {mass}")


def _is_plain_body(mass: float, inertia: Array) -> bool:
    """Whether a body obviously has these; `check_body` finds the words for what it does not.

    Moments obey all rules when the second moments of mass, half the trace less the inertia, are positive
    definite, which the leading minors of that matrix tell.
    """
    (a, d, e), (d2, b, f), (e2, f2, c) = inertia.tolist()
    if mass == 0.0:
        return not (a or b or c or d or e or f or d2 or e2 or f2)
    if not (0.0 < mass < np.inf and d == d2 and e == e2 and f == f2):
        return False
    half = 0.5 * (a + b + c)
    x, y, z = half - a, half - b, half - c
    least = 1e-12 * half
    minor = x * y - d * d
    whole = z * minor - x * f * f - y * e * e - 2.0 * d * e * f
    return x > least and minor > least * half and whole > least * half * half and half < np.inf


def check_angle_limits(lower: VectorLike, upper: VectorLike, what: str) -> None:
    """Limits of the three freedoms of an orientation: all alike, since they bound the angle of rotation."""
    low, high = {float(x) for x in lower}, {float(x) for x in upper}
    if low == {-np.inf} and high == {np.inf}:
        return
    top = max(high)
    if len(high) > 1 or len(low) > 1 or not (0.0 <= top < np.inf) or not low <= {-np.inf, 0.0, -top}:
        raise ArgumentError(
            f"limits of the orientation of {what} bound the angle of its rotation: the same upper limit, 0 "
            "rad or more, for all three axes, and as lower limit 0, minus the upper one or minus infinity; "
            f"got {[float(x) for x in lower]} and {[float(x) for x in upper]}"
        )


def unit_quaternions(q: Array, ends: Iterable[int], what: str) -> None:
    """Make the quaternions that end before `ends` unit, in place; those that are keep their bits."""
    for end in ends:
        xyzw = q[end - 4 : end]
        x, y, z, w = xyzw.tolist()
        if abs(x * x + y * y + z * z + w * w - 1.0) < 1e-12:
            continue
        length = float(np.linalg.norm(xyzw))
        if length < 1e-12:
            raise ArgumentError(f"{what} needs a quaternion (xyzw) that is not zero at {end - 4}")
        if abs(length - 1.0) > 1e-12:
            xyzw /= length


def initial_values(builder: ModelBuilder) -> tuple[Array, Array, Array]:
    """joint_q, joint_qd and joint_f of a builder, checked: users may have written to them."""
    last = builder.joints[-1] if builder.joints else None
    nq, nv = (0, 0) if last is None else (last.start + last.coordinates, last.v_start + last.velocities)
    q = numbers(builder.joint_q, (nq,), "joint_q of the builder")
    ends = [j.start + j.coordinates for j in builder.joints if j.kind in QUATERNION_JOINTS]
    unit_quaternions(q, ends, "joint_q of the builder")
    qd = numbers(builder.joint_qd, (nv,), "joint_qd of the builder")
    return q, qd, numbers(builder.joint_f, (nv,), "joint_f of the builder")


def check_update(model: Model, arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """New values for a model's arrays, all checked before any is used."""
    checked: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        if name not in UPDATABLE:
            raise ArgumentError(
                f"Model.update cannot change '{name}'{nearest_name(name, UPDATABLE)}; "
                f"it changes {', '.join(sorted(UPDATABLE))}"
            )
        present = getattr(model, name)
        array = float_array(value, f"Model.{name}")
        if array.shape != present.shape:
            raise ArgumentError(f"Model.{name} has shape {present.shape}, got {array.shape}")
        if np.isnan(array).any() or (name not in MAY_BE_INFINITE and np.isinf(array).any()):
            raise ArgumentError(f"Model.{name} must be finite")
        if name in NON_NEGATIVE and (array < 0.0).any():
            raise ArgumentError(f"Model.{name} must not be negative, got {array.min()}")
        if name in ("joint_X_p", "joint_X_c", "body_q"):
            lengths = np.linalg.norm(array[:, 3:], axis=1)
            if (lengths < 1e-12).any():
                raise ArgumentError(f"Model.{name} needs quaternions (xyzw) that are not zero")
            array[:, 3:] /= lengths[:, None]
        if name in ("joint_q", "joint_spring_ref"):
            turning = np.isin(model.joint_type, list(QUATERNION_JOINTS))
            unit_quaternions(array, model.joint_q_start[1:][turning].tolist(), f"Model.{name}")
        checked[name] = array

    for upper, lower in _PAIRS:
        if lower in checked:
            if (checked[lower] > 0.0).any():
                raise ArgumentError(f"Model.{lower} must not be positive")
        elif upper in checked:
            # limits that are alike in both directions stay so
            old = getattr(model, lower)
            checked[lower] = np.where(old == -getattr(model, upper), -checked[upper], old)
    if "joint_limit_lower" in checked or "joint_limit_upper" in checked:
        lower = checked.get("joint_limit_lower", model.joint_limit_lower)
        upper = checked.get("joint_limit_upper", model.joint_limit_upper)
        empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
        if empty.any():
            d = int(np.flatnonzero(empty)[0])
            raise ArgumentError(
                f"no position is between limits {lower[d]} and {upper[d]} of degree of freedom {d}"
            )
        for j in np.flatnonzero(np.isin(model.joint_type, list(QUATERNION_JOINTS))).tolist():
            d = int(model.joint_qd_start[j + 1])
            check_angle_limits(lower[d - 3 : d], upper[d - 3 : d], f"joint '{model.joint_label[j]}'")
    if "joint_distance" in checked:
        near, far = checked["joint_distance"].T
        if ((far >= 0.0) & (near > far)).any():
            j = int(np.flatnonzero((far >= 0.0) & (near > far))[0])
            raise ArgumentError(
                f"smallest distance {near[j]} of joint '{model.joint_label[j]}' exceeds {far[j]}"
            )
    if "body_mass" in checked or "body_inertia" in checked:
        mass = checked.get("body_mass", model.body_mass)
        inertia = checked.get("body_inertia", model.body_inertia)
        # invalid moments from a file stay until they are changed
        changed = (inertia != model.body_inertia).any(axis=(1, 2))
        for b in np.flatnonzero(changed | (mass != model.body_mass)).tolist():
            what = f"body '{model.body_label[b]}'"
            _check_mass(float(mass[b]), what)
            if changed[b] or mass[b] == 0.0:
                check_body(float(mass[b]), inertia[b], what)
            check_least(float(mass[b]), inertia[b], what)
        if "body_inertia" in checked:
            checked["body_inertia"] = 0.5 * (inertia + inertia.transpose(0, 2, 1))
    return checked
