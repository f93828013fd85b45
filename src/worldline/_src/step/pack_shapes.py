# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the shapes of a Model to the columns of their laws of contact."""

from __future__ import annotations

import numpy as np

from worldline._src.collision.arenas import ShapeRow
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.columns import ContactColumns
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.model.model import Model
from worldline._src.scene.options import SimulateOption
from worldline._src.step.pack_joints import law_rows


def pack_shapes(model: Model, column: ContactColumns, rows: np.ndarray, option: SimulateOption) -> None:
    """Laws, friction and margins of shapes; `rows` are those of `Model.shapes` that can touch."""
    shapes = model.shapes
    if shapes is None or not len(rows):
        return
    column.shape_priority[:] = shapes.priority[rows]
    column.shape_condim[:] = shapes.condim[rows]
    column.shape_rule[:, 0] = shapes.friction_rule[rows]
    column.shape_rule[:, 1] = shapes.restitution_rule[rows]
    column.shape_friction[:] = shapes.friction[rows]
    column.shape_law[:] = law_rows(shapes.force)[rows]
    column.shape_contact[:, 0] = shapes.margin[rows]
    column.shape_contact[:, 1] = shapes.gap[rows]
    column.shape_contact[:, 2] = shapes.mix[rows]
    bouncing = np.isfinite(shapes.restitution[rows])
    column.shape_law[bouncing, t.BOUNCINESS] = shapes.restitution[rows][bouncing]
    share = option.policy.contact.error_reduction
    if share is not None:
        column.shape_law[column.shape_law[:, t.KIND] == t.HARD, t.ERP] = share
    if option.friction_model == 0:
        column.shape_condim[:] = 1


def families_of(kept: list[tuple[int, ShapeRow]]) -> list[int]:
    """Families of pairs that shapes may form."""
    types = sorted({int(row.shape.type) for _, row in kept})
    return sorted({pair_family(a, b) for a in types for b in types} - {SKIP})
