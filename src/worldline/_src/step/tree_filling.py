# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a Model to the columns of trees and islands: what belongs to which tree, and what ties trees."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.joints import FREE
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step.joint_filling import Columns


def tree_starts(model: Model) -> np.ndarray:
    """First degree of freedom of every tree that can move, and one past the last behind them.

    Degrees of freedom that depend on each other are in one tree, as are those between them in number.
    """
    parent = dof_parents(model)
    count = len(parent)
    lowest = np.arange(count)
    for d in range(count):
        if parent[d] >= 0:
            lowest[d] = lowest[parent[d]]
    # a tree starts where nothing later reaches back across
    reach = np.minimum.accumulate(lowest[::-1])[::-1]
    return np.append(np.flatnonzero(reach == np.arange(count)), count).astype(np.int64)


def dof_parents(model: Model) -> np.ndarray:
    """The degree of freedom above each, -1 for the first of a tree."""
    return constant_views(model.arenas)["dof_parent"]


def tree_ties(starts: np.ndarray, spans: list[np.ndarray]) -> list[tuple[int, int]]:
    """Pairs of trees that rows tie together; a span is the degrees of freedom of one row."""
    tree = tree_of_dofs(starts)
    pairs = {(int(tree[span[0]]), int(tree[d])) for span in spans if len(span) for d in span[1:]}
    return sorted(pair for pair in pairs if pair[0] != pair[1])


def by_first_dof(moments: Array) -> np.ndarray:
    """Order of rows by the first degree of freedom that each moves."""
    return np.argsort([first_dof(moment) for moment in moments], kind="stable").astype(np.int64)


def first_dof(moment: Array) -> int:
    """The first degree of freedom that a row moves; 0 for one that moves nothing."""
    moved = np.flatnonzero(moment)
    return int(moved[0]) if moved.size else 0


def fill_trees(model: Model, column: Columns, starts: np.ndarray, ties: list[tuple[int, int]]) -> None:
    """Trees of degrees of freedom, bodies, limits, friction and tendons, which are sorted by their first."""
    column["tree_dof"][:] = starts
    column["tree_limit"][:] = np.searchsorted(column["limit_dof"], starts)
    column["tree_friction"][:] = np.searchsorted(column["friction_dof"], starts)
    first = np.array([first_dof(moment) for moment in column["tendon_moment"]], np.int64)
    column["tree_tendon"][:] = np.searchsorted(first, starts)
    column["tie"][:] = np.reshape(ties, (-1, 2))
    last = constant_views(model.arenas)["link_last"][column["body_link"]]
    tree = np.append(tree_of_dofs(starts), -1)
    column["body_tree"][:] = np.where(column["body_link"] > 0, tree[last], -1)
    column["tree_link"][:] = _free_links(model, column, starts)
    column["tree_links"][:] = _first_links(model, starts)


def _first_links(model: Model, starts: np.ndarray) -> np.ndarray:
    """Links are in tree order: those of a tree come before all of the next."""
    view = constant_views(model.arenas)
    if len(starts) == 1:
        return np.zeros(1, np.int64)
    first = np.minimum.reduceat(view["dof_link"], starts[:-1])
    return np.append(first, len(view["link_kind"]))


def _free_links(model: Model, column: Columns, starts: np.ndarray) -> np.ndarray:
    """The link of every tree that is a free body with no rows but those of contacts; 0 for other trees."""
    view = constant_views(model.arenas)
    links = view["dof_link"][starts[:-1]]
    alone = np.diff(starts) == 6
    alone &= view["link_kind"][links] == FREE
    for name in ("tree_limit", "tree_friction", "tree_tendon", "tree_equality"):
        alone &= np.diff(column[name]) == 0
    alone &= ~np.isin(np.arange(len(links)), column["tie"])
    # rotor inertia is no part of a body's own
    alone &= np.add.reduceat(view["dof_armature"], starts[:-1]) == 0.0 if len(links) else alone
    carried = np.bincount(view["link_parent"], minlength=len(view["link_kind"]))
    alone &= carried[links] == 0
    return np.where(alone, links, 0)


def tree_of_dofs(starts: np.ndarray) -> np.ndarray:
    """Tree of every degree of freedom."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
