# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a Model to the columns of trees and islands: what belongs to which tree, and what ties trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldline._src.kernels.constraints.body_blocks import SIDE
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.kernels.joints import FREE
from worldline._src.model.model import Model


def tree_starts(model: Model) -> np.ndarray:
    """First degree of freedom of every tree that can move, and one past the last behind them.

    Degrees of freedom that depend on each other are in one tree, as are those between them in number.
    """
    parent = dof_parents(model).tolist()
    count = len(parent)
    lowest = list(range(count))
    for d, above in enumerate(parent):
        if above >= 0:
            lowest[d] = lowest[above]
    # a tree starts where nothing later reaches back across
    reach = np.minimum.accumulate(np.array(lowest[::-1], np.int64))[::-1]
    return np.append(np.flatnonzero(reach == np.arange(count)), count).astype(np.int64)


def dof_parents(model: Model) -> np.ndarray:
    """The degree of freedom above each, -1 for the first of a tree."""
    sizes, offsets = model.arenas.sizes, model.arenas.offsets
    return model.arenas.index[offsets["dof_parent"] : offsets["dof_parent"] + sizes["nv"]]


def tree_ties(touched: Mapping[str, Sequence[Sequence[int]]]) -> list[tuple[int, int]]:
    """Pairs of trees that rows tie together, from the trees that each constraint touches."""
    pairs = {(trees[0], b) for table in touched.values() for trees in table for b in trees[1:]}
    return sorted(pairs)


def pack_trees(
    model: Model,
    column: ConstraintColumns,
    starts: np.ndarray,
    ties: list[tuple[int, int]],
    touched: Mapping[str, Sequence[Sequence[int]]],
) -> None:
    """Trees of degrees of freedom, bodies, limits and friction; `touched` are those with other rows."""
    column.tree_dof[:] = starts
    column.tree_limit[:] = np.searchsorted(column.limit_dof, starts)
    column.tree_friction[:] = np.searchsorted(column.friction_dof, starts)
    column.tie[:] = np.reshape(ties, (-1, 2))
    last = model.constants["link_last"][column.body_link]
    tree = np.append(tree_of_dofs(starts), -1)
    column.body_tree[:] = np.where(column.body_link > 0, tree[last], -1)
    column.tree_link[:] = _free_links(model, column, starts, touched)
    column.tree_links[:] = _first_links(model, starts)
    column.tree_node[:] = np.append(0, np.cumsum(nodes_of(np.diff(starts))))
    _pack_tied(column, touched)


def nodes_of(columns: np.ndarray) -> np.ndarray:
    """Nodes of trees with so many degrees of freedom; see `body_blocks.py`."""
    return -(-columns // SIDE)


def _pack_tied(column: ConstraintColumns, touched: Mapping[str, Sequence[Sequence[int]]]) -> None:
    """The trees of every equality and tendon, and those that a row may tie together with two others."""
    for name, tied in (("equality", column.equality_tree), ("tendon", column.tendon_tree)):
        tied[:] = -1
        for k, trees in enumerate(touched.get(name, ())):
            tied[k, : min(len(trees), 2)] = trees[:2]
            if len(trees) > 2:
                column.tree_dense[list(trees)] = 1


def _first_links(model: Model, starts: np.ndarray) -> np.ndarray:
    """Links are in tree order: those of a tree come before all of the next."""
    view = model.constants
    if len(starts) == 1:
        return np.zeros(1, np.int64)
    first = np.minimum.reduceat(view["dof_link"], starts[:-1])
    return np.append(first, len(view["link_kind"]))


def _free_links(
    model: Model,
    column: ConstraintColumns,
    starts: np.ndarray,
    touched: Mapping[str, Sequence[Sequence[int]]],
) -> np.ndarray:
    """The link of every tree that is a free body with no rows but those of contacts; 0 for other trees."""
    view = model.constants
    links = view["dof_link"][starts[:-1]]
    alone = np.diff(starts) == 6
    alone &= view["link_kind"][links] == FREE
    for name in ("tree_limit", "tree_friction"):
        alone &= np.diff(column[name]) == 0
    alone[[tree for table in touched.values() for trees in table for tree in trees]] = False
    # rotor inertia is no part of a body's own
    alone &= np.add.reduceat(view["dof_armature"], starts[:-1]) == 0.0 if len(links) else alone
    carried = np.bincount(view["link_parent"], minlength=len(view["link_kind"]))
    alone &= carried[links] == 0
    return np.where(alone, links, 0)


def tree_of_dofs(starts: np.ndarray) -> np.ndarray:
    """Tree of every degree of freedom."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
