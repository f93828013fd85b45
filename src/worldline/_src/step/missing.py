# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Capability check: features of a Model that no stage implements."""

from __future__ import annotations

import numpy as np

from worldline._src.model.equality_kinds import EqualityKind
from worldline._src.model.model import Model
from worldline._src.model.tables import BiasKind, GainKind
from worldline._src.scene.options import SimulateOption
from worldline._src.step.pack_actuators import muscle_range, working_actuators
from worldline._src.step.pack_equalities import equality_on_quaternion, unheld_joints

_NOT_CONTACT = ("penetration_allowance", "max_correction_speed", "restitution_threshold", "regularization")
"""Constants of hard contact that a scene may give and no law of contact has."""


def missing_parts(model: Model, option: SimulateOption) -> list[str]:
    """What the tables ask for that no stage does, each as a few words."""
    found: list[str] = []
    if not option.disable_constraints:
        if not option.disable_equality:
            names = equality_on_quaternion(model)
            found += [f"joint equality '{name}' of a ball or free joint" for name in names]
            found += _missing_breaks(model)
        found += unheld_joints(model)
    slides = option.override_friction
    if slides is not None and len(slides) == 5 and (slides[0] != slides[1] or slides[3] != slides[4]):
        found.append("friction for all contacts that differs by direction")
    found += [
        f"policy.contact.{name}" for name in _NOT_CONTACT if getattr(option.policy.contact, name) is not None
    ]
    found += _missing_actuators(model, option)
    if model.tendons is not None:
        heavy = np.flatnonzero(model.tendons.spatial & (model.tendons.armature != 0.0)).tolist()
        found += [f"armature of the spatial tendon '{model.tendons.label[k]}'" for k in heavy]
    if (option.density > 0.0 or option.viscosity > 0.0) and model.shapes is not None:
        for k in np.flatnonzero(np.isfinite(model.shapes.fluid).any(axis=1)).tolist():
            name = model.shapes.label[k]
            found.append(
                f"drag and lift of single shapes in a fluid: fluid_coefficients of '{name}' "
                "(fluidshape and fluidcoef in MJCF)"
            )
    return found


def _missing_breaks(model: Model) -> list[str]:
    """Torques that break what bears none: only welds do."""
    table = model.equalities
    if table is None:
        return []
    breaks = np.flatnonzero((table.break_torque > 0.0) & (table.kind != EqualityKind.WELD)).tolist()
    return [f"break_torque of equality '{table.label[k]}', which bears no torque" for k in breaks]


def _missing_actuators(model: Model, option: SimulateOption) -> list[str]:
    table, found = model.actuators, []
    if table is None or option.disable_actuators:
        return found
    working = working_actuators(model, option)
    is_muscle = (table.gain_kind == GainKind.MUSCLE) | (table.bias_kind == BiasKind.MUSCLE)
    for u in working[is_muscle[working]].tolist():
        if not np.isfinite(muscle_range(model, u)).all():
            found.append(f"muscle '{table.label[u]}' without a range of lengths")
    return found
