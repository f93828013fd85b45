# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the shapes of a Model to the columns of their laws of contact."""

from __future__ import annotations

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.collision.arenas import ShapeRow
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.columns import ContactColumns
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.model.model import Model
from worldline._src.scalar.columns import Block
from worldline._src.scene.options import SimulateOption
from worldline._src.step.collision_rows import shape_rows
from worldline._src.step.pack_joints import law_rows
from worldline._src.step.pack_overrides import override_contacts
from worldline._src.step.pack_pairs import pack_pairs, pair_keys, pair_reach
from worldline._src.step.packer import Packer, Packing

_REACH = 1e-4
"""How far ahead of touching a hard shape is seen [m]."""
_BOUNCE_SPEED, _BOUNCE_REACH = 10.0, 0.02
"""One that bounces is seen as far as it gets at this speed in a step [m/s], but not further than this [m]."""


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


class ShapePacker(Packer):
    """Shapes that can touch, and pairs with parameters of their own."""

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        off = self.option.disable_constraints or self.option.disable_contacts
        known = None if packing.like is None else packing.like.of(ShapePacker).kept
        self.kept: list[tuple[int, ShapeRow]] = [] if off else shape_rows(self.model, known)
        """Rows of `Model.shapes` with their shapes in the collision tables."""
        self.shapes = np.array([k for k, _ in self.kept], np.int64)
        """Rows of `Model.shapes` in the order of the collision tables."""
        self.pairs = pair_keys(self.model, self.shapes)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        return {"nshape": len(self.shapes), "npair": len(self.pairs.keys)}

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns."""
        pack_shapes(self.model, block.column, self.shapes, self.option)
        pack_pairs(self.model, block.column, self.pairs, self.option.override_contact_margin)
        override_contacts(self.option, block.column)

    def take_friction(self, column: ConstraintColumns) -> None:
        """Take over coefficients of friction of shapes, unless the scene overrides them."""
        shapes = self.model.shapes
        if shapes is not None and len(self.shapes) and self.option.override_friction is None:
            column.shape_friction[:] = shapes.friction[self.shapes]

    @property
    def families(self) -> list[int]:
        """Families of pairs that the shapes may form."""
        return families_of(self.kept)

    def set_reach(
        self, column: ConstraintColumns, collision: CollisionArenas, h: float, *, splits: bool
    ) -> bool:
        """Hard shapes are found shortly before they touch, so that what rests or slides keeps its contacts.

        Those that bounce must be seen in the step in which they touch, where positions and velocities are
        solved apart. True if the sets of arenas are others afterwards.
        """
        laws = column.shape_law
        hard = laws[:, t.KIND] == t.HARD
        bounces = laws[:, t.BOUNCINESS] > 0.0
        ahead = min(_BOUNCE_SPEED * h, _BOUNCE_REACH) if splits else 0.0
        reach = np.where(bounces, ahead, _REACH)
        own, override = column.shape_contact[:, 0], self.option.override_contact_margin
        margin = pair_reach(self.model, self.shapes, own, override) + np.where(hard, reach, 0.0)
        if np.array_equal(margin, collision.column.shape_margin):
            return False
        changed = collision.own()
        collision.column.shape_margin[:] = margin
        return changed
