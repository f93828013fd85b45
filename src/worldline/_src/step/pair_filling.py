# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of pairs of shapes that touch by parameters of their own."""

from __future__ import annotations

import numpy as np

from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step.joint_filling import Columns, law_rows


def pair_keys(model: Model, shapes: np.ndarray) -> np.ndarray:
    """Keys of the pairs in the collision tables, whose shapes are rows `shapes` of the model."""
    table = model.contact_pairs
    if table is None or not len(table) or not len(shapes):
        return np.zeros(0, np.int64)
    place = np.full(int(shapes.max()) + 1, -1, np.int64)
    place[shapes] = np.arange(len(shapes))
    pairs = np.sort(place[table.shapes], axis=1)
    return pairs[:, 0] * len(shapes) + pairs[:, 1]


def fill_pairs(model: Model, column: Columns, keys: np.ndarray, margin: float | None = None) -> None:
    """Pairs sorted by key; of pairs that are given twice the later one counts. `margin` is that of all."""
    table = model.contact_pairs
    if table is None or not keys.size:
        return
    found, first = np.unique(keys[::-1], return_index=True)
    rows = len(keys) - 1 - first
    column["pair_key"][:] = found
    column["pair_condim"][:] = table.condim[rows]
    column["pair_friction"][:] = table.friction[rows]
    column["pair_law"][:] = law_rows(table.force)[rows]
    column["pair_friction_law"][:] = law_rows(table.friction_force)[rows]
    column["pair_margin"][:] = (table.margin[rows] if margin is None else margin) - table.gap[rows]


def pair_reach(model: Model, shapes: np.ndarray, margins: Array) -> Array:
    """Margins of shapes, grown such that those of a pair add up to at least that of the pair."""
    grown, table = margins.copy(), model.contact_pairs
    if table is None or not len(table) or not len(shapes):
        return grown
    place = {int(k): i for i, k in enumerate(shapes.tolist())}
    for (a, b), margin in zip(table.shapes.tolist(), table.margin.tolist(), strict=True):
        for k in (place[a], place[b]):
            grown[k] = max(grown[k], 0.5 * margin)
    return grown
