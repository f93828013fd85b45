# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact parameters that a scene gives for all contacts at once, in place of those of geoms and pairs."""

from __future__ import annotations

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.columns import ContactColumns
from worldline._src.model.force_tables import force_models
from worldline._src.model.shape_tables import CombineKind
from worldline._src.scene.contact import ConstraintForceModel, ForceOverride
from worldline._src.scene.options import SimulateOption
from worldline._src.scene.values import ImpedanceSpring, StiffnessDamping
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_joints import law_rows


def override_contacts(option: SimulateOption, column: ContactColumns) -> None:
    """Write what `SimulateOption.override_*` says over the columns of shapes and pairs.

    Margins of pairs are those that `pack_pairs` was given.
    """
    force, margin, friction = (
        option.override_contact_force,
        option.override_contact_margin,
        option.override_friction,
    )
    if force is not None:
        for laws in (column.shape_law, column.pair_law, column.pair_friction_law):
            _override_laws(force, laws)
    if margin is not None:
        # margins of two shapes add up, and their gaps are taken off: contacts are seen that much earlier
        column.shape_contact[:, 0] = 0.5 * margin + column.shape_contact[:, 1]
    if friction is not None:
        slide, other, spin, roll, last = friction if len(friction) == 5 else _expanded(friction)
        column.shape_friction[:] = slide, spin, roll
        # of equal numbers the largest is the same number; their product is not
        column.shape_rule[:, 0] = CombineKind.MAXIMUM
        column.pair_friction[:] = slide, other, spin, roll, last


def _expanded(friction: list[float]) -> tuple[float, float, float, float, float]:
    slide, spin, roll = friction
    return slide, slide, spin, roll, roll


def _override_laws(force: ForceOverride, laws: Array) -> None:
    """One law for all rows; an impedance may come without a spring or a profile, which then stay."""
    if force.variant == "impedance":
        given = force.value
        assert isinstance(given, dict)
        spring, profile = given["spring"], given["impedance"]
        plain = law_rows(force_models([ImpedanceSpring()]))[0]
        # what was of another kind has neither
        laws[laws[:, t.KIND] != t.IMPEDANCE] = plain
        if spring is not None:
            laws[:, t.STIFFNESS], laws[:, t.DAMPING], laws[:, t.DIRECT] = spring.k, spring.d, 0.0
        if profile is not None:
            laws[:, t.D0 : t.POWER + 1] = (
                profile.d0,
                profile.dmax,
                profile.width,
                profile.middle,
                profile.power,
            )
    else:
        laws[:] = law_rows(force_models([_same_law(force)]))[0]


def _same_law(force: ForceOverride) -> ConstraintForceModel:
    value = force.value
    if force.variant == "hard":
        assert isinstance(value, dict)
        return ConstraintForceModel.hard(**value)
    assert isinstance(value, StiffnessDamping)
    if force.variant == "force_spring":
        return ConstraintForceModel.force_spring(value)
    return ConstraintForceModel.acceleration_spring(value)
