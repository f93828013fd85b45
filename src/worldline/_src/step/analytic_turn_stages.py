# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of analytic derivatives of a step that differentiate springs and limits of orientations.

They act on the three degrees of freedom of an orientation and depend on its displacement and velocity alone,
so all of them are differentiated in one pass, with every orientation turned about its axes along the first
three directions and its velocities along the next three. They run after `linearize_joints`, which has what
generalized forces do with velocities.
"""

from __future__ import annotations

from worldline._src.duals.kind import DOUBLES, value_of
from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints import tables as t
from worldline._src.kinds import float64, int64
from worldline._src.model import views
from worldline._src.scalar import memory
from worldline._src.scalar.ops import constant
from worldline._src.step.analytic_row_stages import rows_of_maker, solved_rows
from worldline._src.step.analytic_stages import (
    HAS_ROWS,
    LIMIT_MAKER,
    NV,
    ROW_ARGS,
    ROW_C,
    ROW_D,
    ROW_M,
    TREE_C,
    TREE_M,
    TURN_COUNT,
    TURNS,
    grouping_of,
    limits_turn,
    linear_of,
)
from worldline._src.step.reaching import pairs_of


@stage
def seed_turns(m, c, args, d):
    """q, v -> the same along directions of orientations."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    operands = views.operand_view(tm, tc, d)
    turns = memory.matrix(memory.address_as(m[TURNS], int64), 0, m[TURN_COUNT], 2)
    Q = memory.matrix(memory.pointer_as(operands.q, float64), 0, operands.q.shape[0], DOUBLES)
    V = memory.matrix(memory.pointer_as(operands.v, float64), 0, operands.v.shape[0], DOUBLES)
    for i in range(Q.shape[0]):
        for j in range(1, DOUBLES):
            Q[i, j] = 0.0
    for i in range(V.shape[0]):
        for j in range(1, DOUBLES):
            V[i, j] = 0.0
    for k in range(turns.shape[0]):
        i, d0 = turns[k, 0], turns[k, 1]
        x, y, z, w = 0.5 * Q[i, 0], 0.5 * Q[i + 1, 0], 0.5 * Q[i + 2, 0], 0.5 * Q[i + 3, 0]
        # dq = q (e, 0) / 2
        Q[i, 1], Q[i + 1, 1], Q[i + 2, 1], Q[i + 3, 1] = w, z, -y, -x
        Q[i, 2], Q[i + 1, 2], Q[i + 2, 2], Q[i + 3, 2] = -z, w, x, -y
        Q[i, 3], Q[i + 1, 3], Q[i + 2, 3], Q[i + 3, 3] = y, -x, w, -z
        for j in range(3):
            V[d0 + j, 4 + j] = 1.0


@stage
def linearize_turns(m, c, args, d):
    """tau, q, v along directions of orientations -> r and its derivatives, Hessians."""
    tm, tc = memory.address_as(m[TREE_M], int64), memory.constants_like(m[TREE_C], d)
    operands, nv, lin = views.operand_view(tm, tc, d), m[NV], linear_of(m)
    u = views.articulated_view(tm, tc, d).dof_u
    slopes = memory.matrix(memory.pointer_as(u, float64), 0, nv, DOUBLES)
    turns = memory.matrix(memory.address_as(m[TURNS], int64), 0, m[TURN_COUNT], 2)
    # dr/dq -= dtau/dq
    for k in range(nv):
        u[k] = -operands.tau[k]
    _add_slopes(turns, slopes, 1, lin.dq)
    for k in range(nv):
        u[k] = constant(0.0, u[k])
    if m[HAS_ROWS] == 1 and m[LIMIT_MAKER] >= 0:
        rows_m, rows_c = memory.address_as(m[ROW_M], int64), memory.constants_like(m[ROW_C], d)
        rows_args, rows_d = memory.address_as(m[ROW_ARGS], int64), memory.address_like(m[ROW_D], d)
        _limit_rows(m, rows_m, rows_c, rows_args, rows_d, operands.v, u)
        _add_slopes(turns, slopes, 1, lin.dq)
        _add_slopes(turns, slopes, 4, lin.dv)
        for k in range(nv):
            lin.residual[k] += slopes[k, 0]


@inline
def _add_slopes(turns, slopes, first, out_io):
    """Add three directions of the forces on every orientation, from `first` on."""
    for k in range(turns.shape[0]):
        d = turns[k, 1]
        for i in range(3):
            for j in range(3):
                out_io[d + i, d + j] += slopes[d + i, first + j]


@inline
def _limit_rows(header, m, c, args, d, v, residual_io):
    """Forces of the rows of limits of angles, and the Hessians of islands with them."""
    island, pair = t.island_view(m, c, args, d), pairs_of(m, c, args, d).ids
    counter, groups = island.counter, grouping_of(header)
    lin, limit = linear_of(header), t.limit_view(m, c, args, d)
    for i in range(counter[t.ISLANDS]):
        n = islands.open_island(pair, i, island)
        made = rows_of_maker(header, header[LIMIT_MAKER], n, v, m, c, args, d)
        rows, dofs, solved = made.rows, made.motion.column_dof, solved_rows(made)
        H = memory.matrix(memory.pointer_as(lin.H, float64), groups.of[i, 2], n, n)
        for k in range(made.count):
            if limits_turn(limit, made.notes, k):
                # r -= J^T f, H += J^T D J
                for j in range(n):
                    x = value_of(rows.J[k, j])
                    dof = dofs[j]
                    residual_io[dof] = residual_io[dof] - rows.J[k, j] * solved.force[k]
                    if x != 0.0:
                        for e in range(n):
                            H[j, e] += solved.weight[k] * x * value_of(rows.J[k, e])
