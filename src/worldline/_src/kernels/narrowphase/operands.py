# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What parameters of kernels mean in stages over the collision tables: operands by name."""

from __future__ import annotations

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker
from worldline._src.kernels.narrowphase import tables
from worldline._src.kernels.narrowphase.convex import arena

COLLISION: dict[str, Operand] = {
    "arena": Cut(arena),
    "shapes": Cut(tables.shape_view),
    "geoms": Cut(tables.geom_view),
    "geom": Cut(tables.geom_view, "geom"),
    "surfaces": Cut(tables.surface_view),
    "buckets": Cut(tables.bucket_view),
    "space": Cut(tables.work_view),
    "work": Cut(tables.work_view, "work"),
    "contacts": Cut(tables.contact_view),
    "fixed": Cut(tables.fixed_contact_view),
}

collision_stage = StageMaker(Part(COLLISION, tables))
"""Stages over the collision tables."""
