# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rules a model's numbers must obey, used when it is built and when it is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, nearest_name
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
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
)
UPDATABLE = (
    *NON_NEGATIVE,
    "body_mass",
    "body_com",
    "body_inertia",
    "body_q",
    "body_qd",
    "joint_X_p",
    "joint_X_c",
    "joint_q",
    "joint_qd",
    "joint_f",
    "joint_pitch",
    "joint_limit_lower",
    "joint_limit_upper",
    "joint_target_pos",
    "joint_target_vel",
    "joint_spring_ref",
    "joint_distance",
    "gravity",
)


def check_body(mass: float, inertia: Array, what: str) -> None:
    """Mass and inertia that some body can have; zero mass needs zero inertia."""
    if not np.isfinite(mass) or mass < 0.0:
        raise ArgumentError(f"{what}: mass must be finite and not negative, got {mass}")
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
        array = np.array(value, dtype=np.float64)
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
        checked[name] = array

    lower = checked.get("joint_limit_lower", model.joint_limit_lower)
    upper = checked.get("joint_limit_upper", model.joint_limit_upper)
    if (lower > upper).any():
        d = int(np.flatnonzero(lower > upper)[0])
        raise ArgumentError(f"lower limit {lower[d]} of degree of freedom {d} exceeds upper {upper[d]}")
    if "body_mass" in checked or "body_inertia" in checked:
        mass = checked.get("body_mass", model.body_mass)
        inertia = checked.get("body_inertia", model.body_inertia)
        for b, label in enumerate(model.body_label):
            check_body(float(mass[b]), inertia[b], f"body '{label}'")
    return checked
