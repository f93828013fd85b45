# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of limits: of a number, of the angle of a rotation, of a distance.

Generic over the scalar: a row is made when any world needs it, and `row_active` says in which it counts.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.jacobians import clear_rows
from worldline._src.kernels.constraints.laws import load_law
from worldline._src.kernels.constraints.limit.stops import looks_ahead, mark_split, resting_gap, stop_row
from worldline._src.kernels.constraints.rows import UNILATERAL
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    ANGLE,
    DROPPED,
    NUMBER,
    OF_LIMIT,
    ROWS,
    STEP,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, minimum, sqrt, where
from worldline._src.spatial.rotation import Quat, normalized, quat_to_rotation_vector
from worldline._src.spatial.vec3 import Vec3

_NO_DIRECTION = 1e-12
"""Angle or distance below which it has no direction [rad or m]."""


class LimitError(NamedTuple):
    """Distance from one side of a limit, negative beyond it, and its derivative by three velocities.

    Of a coordinate that is a number only the first counts.
    """

    r: Any
    x: Any
    y: Any
    z: Any


@inline
def limit_error(limit, k, side, q):
    """How far limit `k` is on one side, 0 the lower and 1 the upper.

    A number: s (q - bound). An angle of rotation or a distance: s (|w| - bound) with w the rotation vector of
    a quaternion or a position, and s w / |w| its derivative.
    """
    i, kind, margin = limit.limit_q[k], limit.limit_kind[k], limit.limit_bound[k, 2]
    s = 1.0 if side == 0 else -1.0
    zero = constant(0.0, q[i])
    if kind == NUMBER:
        return LimitError(s * (q[i] - limit.limit_bound[k, side]) - margin, constant(s, q[i]), zero, zero)
    w = Vec3(q[i], q[i + 1], q[i + 2])
    if kind == ANGLE:
        w = quat_to_rotation_vector(normalized(Quat(q[i], q[i + 1], q[i + 2], q[i + 3])))
    size = sqrt(w.x * w.x + w.y * w.y + w.z * w.z)
    # at zero every direction is as good
    known = size > _NO_DIRECTION
    scale = s / where(known, size, constant(1.0, size))
    return LimitError(
        s * (size - limit.limit_bound[k, side]) - margin,
        where(known, w.x * scale, constant(s, size)),
        where(known, w.y * scale, zero),
        where(known, w.z * scale, zero),
    )


@inline
def _limit(limit, k, weights, column, q, v, rows_out, notes_out):
    """Rows of both sides of limit `k`."""
    counter, h, d = notes_out.counter, weights.option[STEP], limit.limit_dof[k]
    law, scalar = load_law(limit.limit_law, k), limit.limit_kind[k] == NUMBER
    for side in range(2):
        error = limit_error(limit, k, side, q)
        # dr/dt = J v
        speed = error.x * v[column[d]]
        if not scalar:
            speed = speed + (error.y * v[column[d + 1]] + error.z * v[column[d + 2]])
        ahead = error.r
        if looks_ahead(law):
            # hard law: active where r + h dr/dt < 0, before the limit is passed
            ahead = minimum(ahead, ahead + h * speed) - resting_gap(weights.option)
        if any_of(ahead < 0.0):
            n = counter[ROWS]
            clear_rows(rows_out.J, n, 1)
            rows_out.J[n, column[d]] = error.x
            if not scalar:
                rows_out.J[n, column[d + 1]], rows_out.J[n, column[d + 2]] = error.y, error.z
            # J a >= aref(r, dr/dt) with the force D (aref - J a), never negative
            made = stop_row(
                law, error.r, speed, weights.dof_invweight[d], limit.limit_bound[k, 3], 0.0, weights.option
            )
            mark_split(made, counter)
            rows_out.aref[n], rows_out.D[n], rows_out.bound[n] = made.aref, 1.0 / made.R, 0.0
            rows_out.kind[n], rows_out.dim[n] = UNILATERAL, 0
            notes_out.row_residual[n] = error.r
            notes_out.row_active[n] = where(ahead < 0.0, 1.0, constant(0.0, ahead))
            notes_out.row_note[n, 0], notes_out.row_note[n, 1] = OF_LIMIT, k
            counter[ROWS] = n + 1
            counter[ACTIVE_LIMITS] += 1


@kernel
def limit_rows(limit, weights, island, q, v, rows_out, notes_out):
    """A row for every limit that is reached, or that this step would reach when the law is hard.

    q: (nq,) of the whole model; v: (columns,) of the island.
    """
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for k in range(island.tree_limit[t], island.tree_limit[t + 1]):
            if notes_out.counter[ROWS] + 2 > rows_out.kind.shape[0]:
                notes_out.counter[DROPPED] += 1
            else:
                _limit(limit, k, weights, island.dof_column, q, v, rows_out, notes_out)
