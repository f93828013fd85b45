# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Validation of a model's numbers, when it is built and when it is changed."""

from __future__ import annotations

import math
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
_UPDATABLE, _NON_NEGATIVE, _MAY_BE_INFINITE = map(frozenset, (UPDATABLE, NON_NEGATIVE, MAY_BE_INFINITE))
_PAIRS = (("joint_effort_limit", "joint_effort_lower"), ("joint_velocity_limit", "joint_velocity_lower"))
"""Upper limits and lower ones."""


_ALL = slice(None)


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
    (xx, _, _), (_, yy, _), (_, _, zz) = inertia.tolist()
    if has_small_moment((xx, yy, zz)):
        raise ArgumentError(
            f"{what}: moments of inertia must be 0 or at least {LEAST_INERTIA} kg m^2, got {inertia.tolist()}"
        )


def check_body(mass: float, inertia: Array, what: str) -> None:
    """Mass and inertia that some body can have; zero mass needs zero inertia."""
    if is_plain_body(mass, inertia):
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
    if not 0.0 <= mass < np.inf:
        raise ArgumentError(f"{what}: mass must be finite and not negative, got {mass}")


def is_plain_body(mass: float, inertia: Array) -> bool:
    """Whether a body obviously has these; `check_body` finds the words for what it does not.

    Moments obey all rules when the second moments of mass, half the trace less the inertia, are positive
    definite, which the leading minors of that matrix decide.
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


def _is_finite(array: Array, infinite: bool) -> bool:
    """Whether there is no NaN, and no infinity unless that is allowed."""
    if array.size < 10:
        # plain floats: on arrays this small NumPy's overhead is ten times the arithmetic
        listed = array.ravel().tolist()
        return all(x == x for x in listed) if infinite else all(map(math.isfinite, listed))
    return not np.isnan(array).any() if infinite else bool(np.isfinite(array).all())


def _least(array: Array) -> float:
    """The least number, 0 of none."""
    return min(array.ravel().tolist(), default=0.0) if array.size < 10 else float(array.min(initial=0.0))


def check_update(model: Model, arrays: dict[str, Any], rows: slice = _ALL) -> dict[str, np.ndarray]:
    """New values for some rows of a model's arrays, all checked before any is used."""
    checked: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        if name not in _UPDATABLE:
            raise ArgumentError(
                f"Model.update cannot change '{name}'{nearest_name(name, UPDATABLE)}; "
                f"it changes {', '.join(sorted(UPDATABLE))}"
            )
        present = getattr(model, name)[rows]
        array = float_array(value, f"Model.{name}")
        if array.shape != present.shape:
            raise ArgumentError(f"Model.{name} has shape {present.shape}, got {array.shape}")
        if not _is_finite(array, name in _MAY_BE_INFINITE):
            raise ArgumentError(f"Model.{name} must be finite")
        if name in _NON_NEGATIVE and _least(array) < 0.0:
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
            if _least(-checked[lower]) < 0.0:
                raise ArgumentError(f"Model.{lower} must not be positive")
        elif upper in checked:
            # limits that are alike in both directions stay so
            old = getattr(model, lower)[rows]
            checked[lower] = np.where(old == -getattr(model, upper)[rows], -checked[upper], old)
    if "joint_limit_lower" in checked or "joint_limit_upper" in checked:
        _check_limits(model, checked, rows)
    if "joint_distance" in checked:
        near, far = checked["joint_distance"].T
        if ((far >= 0.0) & (near > far)).any():
            j = int(np.flatnonzero((far >= 0.0) & (near > far))[0])
            raise ArgumentError(
                f"smallest distance {near[j]} of joint '{model.joint_label[j]}' exceeds {far[j]}"
            )
    if "body_mass" in checked or "body_inertia" in checked:
        _check_bodies(model, checked, rows)
    return checked


def _check_limits(model: Model, checked: dict[str, np.ndarray], rows: slice) -> None:
    """Position limits of degrees of freedom, of which something is between."""
    lower, upper = (
        checked[name] if name in checked else getattr(model, name)[rows]
        for name in ("joint_limit_lower", "joint_limit_upper")
    )
    first = rows.start or 0
    for d, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True), first):
        if low > high or low == np.inf or high == -np.inf:
            raise ArgumentError(f"no position is between limits {low} and {high} of degree of freedom {d}")
    for j, d in model.orientations:
        if first <= d < first + len(lower):
            k = d - first
            check_angle_limits(lower[k : k + 3], upper[k : k + 3], f"joint '{model.joint_label[j]}'")


def _check_bodies(model: Model, checked: dict[str, np.ndarray], rows: slice) -> None:
    """Masses and inertias that some bodies can have; inertias become symmetric."""
    mass, inertia = (
        checked[name] if name in checked else getattr(model, name)[rows]
        for name in ("body_mass", "body_inertia")
    )
    first, given = rows.start or 0, "body_inertia" in checked
    several = range(len(mass))
    if len(mass) > 1:
        other = (inertia != model.body_inertia[rows]).any(axis=(1, 2)) | (mass != model.body_mass[rows])
        several = np.flatnonzero(other).tolist()
    for k in several:
        b, weight = first + k, float(mass[k])
        # invalid moments from a file stay until they are changed
        changed = given and inertia[k].tolist() != model.body_inertia[b].tolist()
        if changed or weight != model.body_mass[b]:
            what = f"body '{model.body_label[b]}'"
            _check_mass(weight, what)
            if changed or weight == 0.0:
                check_body(weight, inertia[k], what)
            check_least(weight, inertia[k], what)
    if given:
        checked["body_inertia"] = 0.5 * (inertia + inertia.transpose(0, 2, 1))
