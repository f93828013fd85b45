# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the tables of a Model ask for and no stage of a step does yet."""

from __future__ import annotations

import numpy as np

from worldline._src.model.kinds import QUATERNION_JOINTS
from worldline._src.model.model import Model
from worldline._src.model.tables import ActivationKind, BiasKind, GainKind, TargetKind
from worldline._src.scene.options import SimulateOption
from worldline._src.step.actuator_filling import JOINT_TARGETS, working_actuators


def _missing_tendons(model: Model) -> list[str]:
    """Tendons with forces that no stage has."""
    table = model.tendons
    if table is None:
        return []
    asked = (table.stiffness != 0.0) | (table.damping != 0.0) | (table.friction != 0.0)
    asked |= (table.armature != 0.0) | (np.isfinite(table.limit).any(axis=1) & table.spatial)
    return [f"tendons: '{table.label[k]}' has forces of its own" for k in np.flatnonzero(asked).tolist()]


def missing_parts(model: Model, option: SimulateOption) -> list[str]:
    """What the tables ask for that no stage does."""
    found: list[str] = []
    off = option.disable_constraints
    if (
        not (off or option.disable_equality)
        and model.equalities is not None
        and model.equalities.active.any()
    ):
        found.append("equality constraints")
    if not (off or option.disable_contacts) and model.contact_pairs is not None and len(model.contact_pairs):
        found.append("contact pairs with parameters of their own")
    for table, what in (
        (model.couplers, "joint couplers"),
        (model.distance_springs, "distance springs"),
        (model.loop_joints, "world-owned joints"),
    ):
        if table is not None and len(table):
            found.append(what)
    table = model.actuators
    if table is not None and len(table) and not option.disable_actuators:
        for u in working_actuators(model, option).tolist():
            name = table.label[u]
            kind, target = table.target_kind[u], int(table.target[u])
            if kind in JOINT_TARGETS and model.joint_type[target] in QUATERNION_JOINTS:
                found.append(f"actuator '{name}' on a ball or free joint")
            elif kind == TargetKind.TENDON and model.tendons is not None and model.tendons.spatial[target]:
                found.append(f"actuator '{name}' on a spatial tendon")
            elif kind not in (*JOINT_TARGETS, TargetKind.TENDON):
                found.append(f"actuator '{name}' on a site, body or slider-crank")
            elif GainKind.MUSCLE == table.gain_kind[u] or BiasKind.MUSCLE == table.bias_kind[u]:
                found.append(f"muscle '{name}'")
            elif table.activation_kind[u] == ActivationKind.MUSCLE:
                found.append(f"muscle '{name}'")
    found += [] if off else _missing_tendons(model)
    if option.density > 0.0 or option.viscosity > 0.0:
        found.append("forces of a medium (density, viscosity)")
    return found
