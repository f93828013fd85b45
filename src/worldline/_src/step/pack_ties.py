# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which trees the constraints of a model touch: what ties trees, and where a constraint is looked for.

A constraint makes its rows with the first of its trees whose motion is not prescribed, so that the order
depends on what is prescribed and is made again when that changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.step.moments import coefficients
from worldline._src.step.pack_anchors import Anchors
from worldline._src.step.pack_equalities import Equality
from worldline._src.step.pack_trees import tree_of_dofs

Touched = dict[str, list[list[int]]]
"""Trees of every tendon, equality, motor and speed limit."""


class _Trees:
    """The tree of a link or a degree of freedom."""

    def __init__(self, model: Model, starts: np.ndarray) -> None:
        self._of_dof = tree_of_dofs(starts)
        self._last = constant_views(model.arenas)["link_last"]

    def dofs(self, dofs: Sequence[int]) -> list[int]:
        return sorted({int(self._of_dof[d]) for d in dofs if d >= 0})

    def links(self, links: Sequence[int]) -> list[int]:
        return self.dofs([int(self._last[link]) for link in links if link > 0])


def touched_trees(
    model: Model,
    starts: np.ndarray,
    made: Sequence[Equality],
    anchors: Anchors,
    nodes: Sequence[tuple[int, int, int, float]],
    motors: Sequence[int],
    speeds: Sequence[int],
    tendons: int,
) -> Touched:
    """Trees of all constraints that are not those of one degree of freedom, by table."""
    trees, found = _Trees(model, starts), []
    for k in range(tendons):
        assert model.tendons is not None
        path = range(int(model.tendons.path_start[k]), int(model.tendons.path_start[k + 1]))
        over = trees.links([anchors.links[nodes[j][1]] for j in path])
        found.append(sorted({*over, *trees.dofs(coefficients(model.tendons, k)[0].tolist())}))
    held = []
    for equality in made:
        if equality.kind == t.JOINT:
            held.append(trees.dofs([equality.first, equality.second]))
        elif equality.kind == t.TENDON:
            second = found[equality.second] if equality.second >= 0 else []
            held.append(sorted({*found[equality.first], *second}))
        else:
            held.append(trees.links([anchors.links[equality.first], anchors.links[equality.second]]))
    return {
        "tendon": found,
        "equality": held,
        "motor": [trees.dofs([d]) for d in motors],
        "speed": [trees.dofs([d]) for d in speeds],
    }


def order_rows(column: ConstraintColumns, touched: Touched) -> None:
    """Sort constraints by the tree that makes their rows, from what is prescribed now."""
    prescribed, count = column.tree_prescribed, len(column.tree_prescribed)
    for name, trees in touched.items():
        owner = np.array([next((x for x in some if not prescribed[x]), count) for some in trees], np.int64)
        order = np.argsort(owner, kind="stable")
        column[f"{name}_order"][:] = order
        column[f"tree_{name}"][:] = np.searchsorted(owner[order], np.arange(count + 1))
