# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of joints: position limits and dry friction.

Generic over the scalar: a row is made when any world needs it, and `row_active` says in which it counts.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.impedance import regularizer
from worldline._src.kernels.constraints.jacobians import clear_rows, row_velocity
from worldline._src.kernels.constraints.laws import HARDNESS, answer, load_law
from worldline._src.kernels.constraints.rows import FRICTION, UNILATERAL
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    DROPPED,
    ROWS,
    SAFE,
    STEP,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.scalar.ops import any_of, constant, minimum, sqrt, where
from worldline._src.spatial.rotation import Quat, normalized, quat_to_rotation_vector

_NO_TURN = 1e-12
"""Angle of a ball joint below which it has no axis [rad]."""


@kernel
def friction_rows(friction, weights, island, v, rows_out, notes_out):
    """One row a degree of freedom with dry friction: it wants to stand still, within a force."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for k in range(island.tree_friction[t], island.tree_friction[t + 1]):
            _friction_row(friction, k, weights, island.dof_column, v, rows_out, notes_out)


@inline
def _friction_row(friction, k, weights, column, v, rows_out, notes_out):
    h, counter = weights.option[STEP], notes_out.counter
    n = counter[ROWS]
    if n >= rows_out.kind.shape[0]:
        counter[DROPPED] += 1
    else:
        d = friction.friction_dof[k]
        j = column[d]
        clear_rows(rows_out.J, n, 1)
        rows_out.J[n, j] = 1.0
        damping, share = friction.friction_law[k, 1], friction.friction_law[k, 2]
        A = weights.dof_invweight[d]
        if share >= 1.0:
            # hard: rest is reached within the step
            rows_out.aref[n], rows_out.D[n] = v[j] * (-1.0 / h), 1.0 / (HARDNESS * A)
        else:
            rows_out.aref[n] = (-damping / friction.friction_law[k, 3]) * v[j]
            rows_out.D[n] = 1.0 / regularizer(share, constant(A, v[j]))
        rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = friction.friction_law[k, 0], FRICTION, 0
        notes_out.row_residual[n], notes_out.row_active[n] = 0.0, 1.0
        notes_out.row_note[n, 0], notes_out.row_note[n, 1] = 1, k
        counter[ROWS] = n + 1


@inline
def _limit_row(limit, k, weights, r, reached, v, rows_out, notes_out):
    """Finish a row of limit `k` whose Jacobian is written; it counts where it is `reached`."""
    counter = notes_out.counter
    n = counter[ROWS]
    made = answer(
        load_law(limit.limit_law, k),
        r,
        row_velocity(rows_out.J, n, v),
        weights.dof_invweight[limit.limit_dof[k]],
        weights.option[STEP],
        weights.option[SAFE] != 0.0,
    )
    rows_out.aref[n], rows_out.D[n], rows_out.bound[n] = made.aref, 1.0 / made.R, 0.0
    rows_out.kind[n], rows_out.dim[n] = UNILATERAL, 0
    notes_out.row_residual[n], notes_out.row_active[n] = r, where(reached, 1.0, constant(0.0, r))
    notes_out.row_note[n, 0], notes_out.row_note[n, 1] = 2, k
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
            elif limit.limit_kind[k] == 0:
                _number_limit(limit, k, weights, island.dof_column, q, v, rows_out, notes_out)
            else:
                _ball_limit(limit, k, weights, island.dof_column, q, v, rows_out, notes_out)


@inline
def _number_limit(limit, k, weights, column, q, v, rows_out, notes_out):
    """Both sides of a coordinate that is a number."""
    counter, h, margin = notes_out.counter, weights.option[STEP], limit.limit_bound[k, 2]
    hard = limit.limit_law[k, 0] == 0.0
    j, x = column[limit.limit_dof[k]], q[limit.limit_q[k]]
    for side in range(2):
        s = 1.0 if side == 0 else -1.0
        r = s * (x - limit.limit_bound[k, side]) - margin
        ahead = r
        if hard:
            ahead = minimum(r, r + h * s * v[j])
        if any_of(ahead < 0.0):
            clear_rows(rows_out.J, counter[ROWS], 1)
            rows_out.J[counter[ROWS], j] = s
            _limit_row(limit, k, weights, r, ahead < 0.0, v, rows_out, notes_out)


@inline
def _ball_limit(limit, k, weights, column, q, v, rows_out, notes_out):
    """The angle of a ball joint from its zero, against the axis of that turn."""
    i, margin = limit.limit_q[k], limit.limit_bound[k, 2]
    w = quat_to_rotation_vector(normalized(Quat(q[i], q[i + 1], q[i + 2], q[i + 3])))
    angle = sqrt(w.x * w.x + w.y * w.y + w.z * w.z)
    turned = angle > _NO_TURN
    # without a turn there is no axis to push against
    r = where(turned, limit.limit_bound[k, 1] - angle - margin, constant(0.0, angle))
    if any_of(r < 0.0):
        row, d = notes_out.counter[ROWS], limit.limit_dof[k]
        size = where(turned, angle, constant(1.0, angle))
        clear_rows(rows_out.J, row, 1)
        rows_out.J[row, column[d]] = -w.x / size
        rows_out.J[row, column[d + 1]] = -w.y / size
        rows_out.J[row, column[d + 2]] = -w.z / size
        _limit_row(limit, k, weights, r, r < 0.0, v, rows_out, notes_out)
