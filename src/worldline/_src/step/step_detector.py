# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a step from a registered collision detector, in the place of the native broad and narrow phase.

The step returns to Python once in every evaluation. The detector gets a group with one object for every shape
that may touch, at the poses of the evaluation; pairs that the rules of the scene leave out are ignored pairs
of the group. What it finds becomes rows of the collision tables, and everything behind them (islands, laws,
solvers, reports, sensors) is the same as with native contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.detector import CollisionDetector
from worldline._src.collision.results import CollisionOption, CollisionResult
from worldline._src.errors import OperationError
from worldline._src.kernels.narrowphase.tables import CONTACTS, FAT, PAIRS, CollisionColumns
from worldline._src.spatial.poses import IDENTITY
from worldline._src.step.collision_rows import shape_rows

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation


class StepDetector:
    """A collision detector at work in the steps of one Simulation."""

    def __init__(self, sim: Simulation, detector: CollisionDetector) -> None:
        assert sim.constraints is not None and sim.constraints.collision is not None
        self._sim, self._constraints, self._detector = sim, sim.constraints, detector
        column = sim.constraints.collision.column
        chosen = set(sim.constraints.shapes.tolist())
        rows = [row for k, row in shape_rows(sim.model) if k in chosen]
        assert len(rows) == len(column.shape_body), "one row for every shape of the tables"
        self._body = column.shape_body.copy()
        self._group = detector.create_group()
        for row in rows:
            self._group.add(row.shape, static=bool(column.body_fixed[row.body]))
        for i, j in _left_out(column):
            self._group.filter.set_ignored(self._group[i], self._group[j])
        self._poses = np.tile(IDENTITY, (sim.model.body_count + 1, 1))

    def run(self) -> None:
        """Find the contacts of the evaluation at hand."""
        collision = self._constraints.collision
        assert collision is not None
        self._poses[1:] = self._sim.body_q
        self._group.poses = self._poses[self._body]
        margin = collision.column.shape_margin
        option = CollisionOption(margin=2.0 * float(margin.max(initial=0.0)))
        ids, rows = self._rows(self._detector.collide(self._group, None, option), margin)
        counter, room = collision.column.counter, len(collision.column.contact)
        # with more contacts than rows the next stage requests room, and the detector is called once more
        counter[CONTACTS], counter[PAIRS], counter[FAT] = len(rows), 0, 0
        kept = min(len(rows), room)
        collision.column.contact[:kept] = rows[:kept]
        collision.column.contact_id[:kept] = ids[:kept]

    def _rows(self, found: CollisionResult, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Identities and numbers of contacts, sorted by their shapes; refuses what is no contact."""
        pair = np.asarray(found.objects, np.int64).reshape(-1, 2)
        rows = np.column_stack([found.points, found.normals, found.depths]).reshape(-1, 7)
        if len(pair) and not (0 <= pair.min() and pair.max() < len(self._body)):
            raise OperationError(f"{self._detector!r} found a contact of an object that is not in the group")
        lengths = np.linalg.norm(rows[:, 3:6], axis=1)
        if not np.isfinite(rows).all() or (np.abs(lengths - 1.0) > 1e-6).any():
            raise OperationError(
                f"{self._detector!r} found a contact that is not finite or has no unit normal"
            )
        # normals are from the first shape to the second
        turned = pair[:, 0] > pair[:, 1]
        rows[turned, 3:6] *= -1.0
        pair = np.sort(pair, axis=1)
        near = rows[:, 6] >= -margin[pair].sum(axis=1)
        features = np.asarray(found.features, np.int64).reshape(-1)
        order = np.lexsort((features, pair[:, 1], pair[:, 0]))
        order = order[near[order]]
        pair, rows, features = pair[order], rows[order], features[order]
        ids = np.column_stack([pair, self._body[pair], features, np.zeros(len(pair), np.int64)])
        # the order of points distinguishes those of a pair that the detector numbers alike
        same = np.zeros(len(ids), np.int64)
        for k in range(1, len(ids)):
            if (ids[k, [0, 1, 4]] == ids[k - 1, [0, 1, 4]]).all():
                same[k] = same[k - 1] + 1
        ids[:, 4] += same
        return ids, rows


def _left_out(column: CollisionColumns) -> list[tuple[int, int]]:
    """Pairs of shapes that the rules of the scene leave out, as the native broad phase does."""
    body, group, mask = column.shape_body, column.shape_group, column.shape_with
    fixed, weld = column.body_fixed[body] != 0, column.body_weld[body]
    parent, tree = column.body_parent[body], column.body_tree[body]
    masks = (group[:, None] & mask[None]) | (group[None] & mask[:, None])
    related = (parent[:, None] == weld[None]) & ~fixed[None]
    related |= related.T
    out = (masks == 0) | (body[:, None] == body[None]) | (fixed[:, None] & fixed[None]) | related
    out |= (weld[:, None] == weld[None]) | ((tree[:, None] >= 0) & (tree[:, None] == tree[None]))
    n = len(body)
    for key in column.ignored.tolist():
        out[key // n, key % n] = True
    for key in column.explicit.tolist():
        out[key // n, key % n] = False
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(out, 1)), strict=True)]
