# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of pairs of shapes that touch by parameters of their own."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints.contact.columns import ContactColumns
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_joints import law_rows


class PairKeys(NamedTuple):
    """Keys of pairs in the collision tables, each with its row of `Model.contact_pairs`."""

    keys: np.ndarray
    rows: np.ndarray


def _parts(shapes: np.ndarray) -> dict[int, list[int]]:
    """Rows of the collision tables by row of the model: a mesh in convex parts has several."""
    parts: dict[int, list[int]] = {}
    for i, k in enumerate(shapes.tolist()):
        parts.setdefault(k, []).append(i)
    return parts


def pair_keys(model: Model, shapes: np.ndarray) -> PairKeys:
    """All pairs of parts of the pairs of a model, sorted; of pairs that are given twice the later one counts.

    shapes: row of the model of every shape of the collision tables.
    """
    table = model.contact_pairs
    found: dict[int, int] = {}
    if table is not None and len(table):
        parts = _parts(shapes)
        for row, (a, b) in enumerate(table.shapes.tolist()):
            for i in parts.get(a, ()):
                for j in parts.get(b, ()):
                    found[min(i, j) * len(shapes) + max(i, j)] = row
    keys = np.array(sorted(found), np.int64)
    return PairKeys(keys, np.array([found[key] for key in keys.tolist()], np.int64))


def pack_pairs(model: Model, column: ContactColumns, pairs: PairKeys, margin: float | None = None) -> None:
    """Columns of the pairs; `margin` is where all of them begin to push, whatever their gaps."""
    table, rows = model.contact_pairs, pairs.rows
    if table is None or not rows.size:
        return
    column.pair_key[:] = pairs.keys
    column.pair_condim[:] = table.condim[rows]
    column.pair_friction[:] = table.friction[rows]
    column.pair_law[:] = law_rows(table.force)[rows]
    column.pair_friction_law[:] = law_rows(table.friction_force)[rows]
    column.pair_margin[:] = table.margin[rows] - table.gap[rows] if margin is None else margin


def pair_reach(model: Model, shapes: np.ndarray, margins: Array, override: float | None = None) -> Array:
    """Margins of shapes, grown such that those of a pair add up to at least that of the pair.

    `override` is where all of them begin to push; gaps come on top of it.
    """
    grown, table = margins.copy(), model.contact_pairs
    if table is None or not len(table) or not len(shapes):
        return grown
    parts = _parts(shapes)
    seen = table.margin if override is None else override + table.gap
    for ends, margin in zip(table.shapes.tolist(), seen.tolist(), strict=True):
        for k in (i for end in ends for i in parts[end]):
            grown[k] = max(grown[k], 0.5 * margin)
    return grown


class ContactMargins(NamedTuple):
    """Distances below which shapes of the collision tables push each other [m].

    shape: of each shape; those of two add up.
    pair: of pairs with parameters of their own, by the rows of their shapes, lower first.
    """

    shape: Array
    pair: dict[tuple[int, int], float]


def contact_margins(model: Model, shapes: np.ndarray) -> ContactMargins:
    """Where contact begins to push: margins less gaps, or what the scene sets for all contacts at once."""
    table, option = model.shapes, model.option
    override = None if option is None else option.override_contact_margin
    if table is None or not len(shapes):
        return ContactMargins(np.zeros(len(shapes)), {})
    own = (
        table.margin[shapes] - table.gap[shapes] if override is None else np.full(len(shapes), 0.5 * override)
    )
    keys, pairs = pair_keys(model, shapes), model.contact_pairs
    found: dict[tuple[int, int], float] = {}
    if pairs is not None:
        margin = pairs.margin - pairs.gap if override is None else np.full(len(pairs), override)
        ends = (divmod(key, len(shapes)) for key in keys.keys.tolist())
        found = dict(zip(ends, margin[keys.rows].tolist(), strict=True))
    return ContactMargins(own, found)
