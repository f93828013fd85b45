# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sparse moments of actuators and tendons: which degrees of freedom can change their lengths.

Moments are one flat column with a range a row and the degree of freedom of every entry, ascending in a row:
memory grows with what the rows reach and not with rows times degrees of freedom. An adhesive actuator may
touch anything, so its row has every degree of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from worldline._src.kernels import transmissions as holds
from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.kernels.tendons import PULLEY
from worldline._src.model.model import Model
from worldline._src.model.tables import TargetKind, Tendons
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_anchors import Anchors

_TENDON = int(TargetKind.TENDON)
Rows = list[np.ndarray]
"""Degrees of freedom of every row, ascending."""


def entries(rows: Rows) -> int:
    """How many moments all rows have."""
    return sum(len(row) for row in rows)


def pack_rows(column: ConstraintColumns, name: str, rows: Rows) -> None:
    """Write ranges and degrees of freedom of the rows of "act" or "tendon"."""
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    column[f"{name}_span"][:, 1] = ends
    column[f"{name}_span"][:, 0] = ends - [len(row) for row in rows]
    column[f"{name}_dof"][:] = np.concatenate([np.zeros(0, np.int64), *rows])


def coefficients(tendons: Tendons, k: int) -> tuple[np.ndarray, Array]:
    """Degrees of freedom of a fixed tendon, and length per coordinate of each."""
    part = slice(int(tendons.coefficient_start[k]), int(tendons.coefficient_start[k + 1]))
    return tendons.coefficient_dof[part], tendons.coefficient[part]


def tendon_rows(model: Model, anchors: Anchors, nodes: Sequence[tuple[int, int, int, float]]) -> Rows:
    """Of all tendons: those of the coefficients, or those that move a anchor or shape of the path."""
    table = model.tendons
    assert table is not None
    chain, rows = _Chain(model), []
    for k in range(len(table)):
        if table.spatial[k]:
            path = [nodes[j] for j in range(int(table.path_start[k]), int(table.path_start[k + 1]))]
            rows.append(chain.above(anchors.links[node[1]] for node in path if node[0] != PULLEY))
        else:
            rows.append(coefficients(table, k)[0])
    return rows


def actuator_rows(
    model: Model, working: np.ndarray, held: list[tuple[int, int, int, int]], anchors: Anchors, tendons: Rows
) -> Rows:
    """Of the actuators that act; `tendons` are the rows of spatial tendons that they hold."""
    table = model.actuators
    if table is None:
        return []
    chain, rows = _Chain(model), []
    for u, (kind, first, second, _) in zip(working.tolist(), held, strict=True):
        target = int(table.target[u])
        if kind == holds.LINEAR:
            rows.append(linear_moment(model, u)[0])
        elif kind in (holds.BALL, holds.FREE):
            rows.append(np.arange(model.joint_qd_start[target], model.joint_qd_start[target + 1]))
        elif kind == holds.TENDON:
            rows.append(tendons[target])
        elif kind == holds.ADHESION:
            rows.append(np.arange(model.joint_dof_count))
        else:
            rows.append(chain.above(anchors.links[anchor] for anchor in (first, second) if anchor >= 0))
    return rows


def linear_moment(model: Model, u: int) -> tuple[np.ndarray, Array]:
    """Degrees of freedom and moments of an actuator whose length is linear in coordinates; none are zero."""
    table, tendons = model.actuators, model.tendons
    assert table is not None
    target = int(table.target[u])
    if table.target_kind[u] == _TENDON:
        assert tendons is not None
        dofs, moment = coefficients(tendons, target)
        moment = table.gear[u, 0] * moment
    else:
        dofs = np.arange(model.joint_qd_start[target], model.joint_qd_start[target + 1])
        moment = table.gear[u, : len(dofs)]
    kept = moment != 0.0
    return dofs[kept], moment[kept]


class _Chain:
    """Degrees of freedom that move a link."""

    def __init__(self, model: Model) -> None:
        view = model.constants
        self._last, self._parent = view["link_last"], view["dof_parent"]

    def above(self, links: Iterable[int]) -> np.ndarray:
        """Of any of several links, ascending."""
        found: set[int] = set()
        for link in links:
            # -1 of the world, which nothing moves
            d = int(self._last[link])
            while d >= 0 and d not in found:
                found.add(d)
                d = int(self._parent[d])
        return np.array(sorted(found), np.int64)


def row_of(column: ConstraintColumns, name: str, k: int) -> tuple[np.ndarray, Array]:
    """Degrees of freedom and moments of row `k` of "act" or "tendon"."""
    part = slice(*column[f"{name}_span"][k].tolist())
    return column[f"{name}_dof"][part], column[f"{name}_moment"][part]


def owners(column: ConstraintColumns, name: str) -> np.ndarray:
    """The row that every moment of "act" or "tendon" belongs to."""
    span = column[f"{name}_span"]
    return np.repeat(np.arange(len(span)), span[:, 1] - span[:, 0])


def generalized(column: ConstraintColumns, name: str, forces: Array, dofs: int) -> Array:
    """moment^T forces of "act" or "tendon", (dofs,)."""
    made = np.zeros(dofs)
    np.add.at(made, column[f"{name}_dof"], column[f"{name}_moment"] * forces[owners(column, name)])
    return made
