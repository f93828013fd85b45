# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms: trees that hard equalities tie, which a step projects at its end."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.equality import loop_columns as loops
from worldline._src.kernels.constraints.equality.kinds import ROW_COUNT
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Block
from worldline._src.step.pack_equalities import EqualityPacker, is_projected
from worldline._src.step.pack_trees import dof_parents, tree_starts
from worldline._src.step.packer import Packer, Packing, Trees


class Mechanism(NamedTuple):
    """Hard equalities, by their numbers in the columns, and the trees they tie, both ascending."""

    equalities: list[int]
    trees: list[int]


def mechanisms(touched: list[list[int]], projected: list[bool]) -> list[Mechanism]:
    """Groups of equalities that are projected and have trees in common; `touched` are the trees of each."""
    above: dict[int, int] = {}

    def root(tree: int) -> int:
        while above.setdefault(tree, tree) != tree:
            tree = above[tree]
        return tree

    chosen = [k for k, trees in enumerate(touched) if projected[k] and trees]
    for k in chosen:
        roots = sorted({root(tree) for tree in touched[k]})
        above.update(dict.fromkeys(roots, roots[0]))
    found: dict[int, Mechanism] = {}
    for tree in sorted(above):
        found.setdefault(root(tree), Mechanism([], [])).trees.append(tree)
    for k in chosen:
        found[root(touched[k][0])].equalities.append(k)
    return list(found.values())


class LoopOutcome(NamedTuple):
    """How the projection of an equality went in the last step."""

    converged: bool
    """Whether it is where it shall be at the end of the step."""
    iterations: int
    """Newton steps of its mechanism."""
    tolerance: float
    """Largest residual that counts as closed [m or rad]."""
    rank: int
    """Independent equations of its mechanism."""


_CLOSED = 1e5
"""Tolerances of the iteration that still count as closed: 1e-8 near the origin."""
_RANK = 1e-9
"""Singular values below this share of the largest do not count."""


def loop_outcome(column: t.ConstraintColumns, equality: int) -> LoopOutcome | None:
    """How the projection of an equality went in the last step; None when steps do not project it."""
    at = np.flatnonzero(column.loop_equality == equality)
    if not len(at):
        return None
    e = int(at[0])
    g = int(np.searchsorted(column.loop_span[:, loops.EQUALITY_END], e, side="right"))
    span = column.loop_span[g]
    counts = [
        ROW_COUNT[column.equality_kind[k]]
        for k in column.loop_equality[span[loops.EQUALITY_FIRST] : e].tolist()
    ]
    first = int(span[loops.ROW_FIRST]) + sum(counts)
    rows = slice(first, first + ROW_COUNT[column.equality_kind[equality]])
    off = np.abs(column.loop_r[rows] - column.loop_goal[rows])
    tolerance = _CLOSED * column.loop_tolerance[rows]
    m, n = (
        int(span[loops.ROW_END] - span[loops.ROW_FIRST]),
        int(span[loops.COLUMN_END] - span[loops.COLUMN_FIRST]),
    )
    J = column.loop_J[span[loops.JACOBIAN_AT] : span[loops.JACOBIAN_AT] + m * n].reshape(m, n)
    values = np.linalg.svd(J, compute_uv=False)
    rank = int((values > _RANK * max(float(values.max(initial=0.0)), 1e-300)).sum())
    rounds = int(column.loop_state[g, loops.ROUNDS])
    return LoopOutcome(bool((off <= tolerance).all()), rounds, float(tolerance.max()), rank)


def open_loops(column: t.ConstraintColumns) -> list[int]:
    """Equalities that the projection of the last step did not bring to where they shall be."""
    off = np.abs(column.loop_r - column.loop_goal) > _CLOSED * column.loop_tolerance
    if not off.any():
        return []
    made = ((k, loop_outcome(column, k)) for k in column.loop_equality.tolist())
    return [k for k, one in made if one is not None and not one.converged]


class LoopPacker(Packer):
    """Closed mechanisms of a model."""

    def __init__(self, packing: Packing) -> None:
        super().__init__(packing)
        self._made: list[Mechanism] | None = None
        self._starts = tree_starts(self.model)

    @property
    def mechanisms(self) -> list[Mechanism]:
        """Closed mechanisms, in the order of the columns; known once all kinds are made."""
        if self._made is None:
            packer = self.packing.of(EqualityPacker)
            touched = packer.touched(Trees(self.model, self._starts))["equality"]
            self._made = mechanisms(touched, [is_projected(one) for one in packer.equalities])
        return self._made

    def _counts(self) -> np.ndarray:
        """Equalities, trees, columns and rows of every mechanism, (mechanisms, 4)."""
        made, sizes = self.packing.of(EqualityPacker).equalities, np.diff(self._starts)
        counts = [
            (len(k), len(trees), int(sizes[trees].sum()), sum(ROW_COUNT[made[e].kind] for e in k))
            for k, trees in self.mechanisms
        ]
        return np.array(counts, np.int64).reshape(-1, 4)

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns."""
        equalities, trees, columns, rows = counts = self._counts().T
        return {
            "nloop": counts.shape[1],
            "nloop_equality": int(equalities.sum()),
            "nloop_tree": int(trees.sum()),
            "nloop_dof": int(columns.sum()),
            "nloop_row": int(rows.sum()),
            "nloop_jacobian": int((rows * columns).sum()),
            "nloop_square": int((rows * rows).sum()),
            "nloop_mass": int((columns * columns).max(initial=0)),
            "nloop_q": self.model.joint_coord_count if counts.shape[1] else 0,
        }

    def _fill_reach(self, column: t.ConstraintColumns) -> None:
        """Which columns rows reach, those of the trees of their equality, and which rows share some."""
        packer, rows = self.packing.of(EqualityPacker), []
        touched = packer.touched(Trees(self.model, self._starts))["equality"]
        for one in self.mechanisms:
            spans = []
            for k in one.equalities:
                first = [column.loop_column[self._starts[tree]] for tree in touched[k]]
                last = [column.loop_column[self._starts[tree + 1] - 1] for tree in touched[k]]
                spans += [(min(first), max(last) + 1)] * ROW_COUNT[packer.equalities[k].kind]
            low, high = np.array(spans, np.int64).reshape(-1, 2).T
            shared = (low[:, None] < high[None]) & (low[None] < high[:, None])
            rows.append(np.stack([low, high, shared.argmax(axis=1)], axis=1))
        column.loop_reach[:] = np.concatenate(rows)

    def fill(self, block: Block[t.ConstraintColumns]) -> None:
        """Fill its columns."""
        column, counts = block.column, self._counts()
        ends = np.cumsum(counts, axis=0)
        column.loop_span[:, :8] = np.stack([ends - counts, ends], axis=2).reshape(-1, 8)
        rows, columns = counts[:, 3], counts[:, 2]
        column.loop_span[:, 8] = np.cumsum(rows * columns) - rows * columns
        column.loop_span[:, 9] = np.cumsum(rows * rows) - rows * rows
        column.loop_column[:] = -1
        if not len(counts):
            return
        column.loop_equality[:] = np.concatenate([one.equalities for one in self.mechanisms])
        column.loop_tree[:] = np.concatenate([one.trees for one in self.mechanisms])
        spans = [
            [np.arange(self._starts[x], self._starts[x + 1]) for x in one.trees] for one in self.mechanisms
        ]
        dofs = [np.concatenate(some) for some in spans]
        column.loop_dof[:] = np.concatenate(dofs)
        for some in dofs:
            column.loop_column[some] = np.arange(len(some))
        self._fill_reach(column)
        above = dof_parents(self.model)[column.loop_dof]
        column.loop_parent[:] = np.where(above >= 0, column.loop_column[above], -1)
