# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces on bodies that are not recorded per body, which leave joint wrenches undefined."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.model.equality_kinds import EqualityKind
from worldline._src.model.model import Model
from worldline._src.model.tables import TargetKind
from worldline._src.step.constraints import Constraints

_KNOWN = (t.POINT, t.POSE, t.DISTANCE, t.JOINT, t.TENDON)


def odd_equalities(constraints: Constraints | None) -> np.ndarray:
    """Equalities whose force on both ends is not simply opposite, by row of the constraint tables."""
    if constraints is None or not constraints.sizes["nequality"]:
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.isin(constraints.column.equality_kind, _KNOWN))


def unknown_forces(model: Model) -> list[str]:
    """What acts on bodies, past their joints, and is not kept body by body."""
    unknown = []
    if model.distance_springs is not None and model.distance_springs.active.any():
        unknown.append("distance springs")
    if model.ground_points is not None and len(model.ground_points):
        unknown.append("ground contact points")
    if _spatial_tendons_pull(model):
        unknown.append("spatial tendons")
    if model.actuators is not None:
        along = np.isin(model.actuators.target_kind, (TargetKind.JOINT, TargetKind.JOINT_IN_PARENT))
        fixed = model.actuators.target_kind == TargetKind.TENDON
        unknown += ["actuators on sites and bodies"] * bool((~(along | fixed)).any())
    if model.option is not None and (model.option.density > 0.0 or model.option.viscosity > 0.0):
        unknown.append("a fluid")
    return unknown


def _spatial_tendons_pull(model: Model) -> bool:
    """Whether a tendon along a path does more than being measured."""
    table = model.tendons
    if table is None or not table.spatial.any():
        return False
    pulls = np.isfinite(table.limit).any(axis=1)
    for column in (table.stiffness, table.damping, table.friction, table.armature):
        pulls |= column != 0.0
    if model.actuators is not None:
        pulls[model.actuators.target[model.actuators.target_kind == TargetKind.TENDON]] = True
    held = model.equalities is not None and (model.equalities.kind == EqualityKind.TENDON).any()
    return bool((pulls & table.spatial).any() or held)
