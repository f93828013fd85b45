# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that solves a large island of free bodies by rows of two bodies each.

The stages that make rows of contacts and mass matrices are those of other islands. They are called for one
contact or one body at a time, as if it were the island, so that a row has the columns of its two bodies alone
(`kernels/constraints/body_rows.py`).
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import body_rows
from worldline._src.kernels.constraints.body_blocks import BODY_COLUMNS, SIDE, FreeTrees, keep_mass
from worldline._src.kernels.constraints.body_rows import BodyRowWork
from worldline._src.kernels.constraints.contact.recovery_energy import IslandTrees, Motion, part_jammed_bodies
from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.solve import IslandRows, gather_accelerations, give_back
from worldline._src.kernels.constraints.tables import (
    COLLISION_ARGS,
    COLLISION_M,
    CONTACT_END,
    CONTACT_FIRST,
    CONTACT_LINK,
    ISLAND_COLUMNS,
    ISLAND_WIDTH,
    MASS_LINK,
    ROWS,
    TREE_END,
    TREE_FIRST,
    body_factor_view,
    bounce_view,
    contact_frame_view,
    contact_memory_view,
    free_tree_view,
    island_view,
    link_view,
    member_view,
    motion_view,
    pair_block_view,
    program_view,
    record_view,
    row_note_view,
    row_view,
    slip_view,
    solve_view,
    split_view,
    sweep_view,
    tree_span_view,
    work_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import int64
from worldline._src.model.views import chain_view, control_view, inertia_view, operand_view
from worldline._src.scalar.memory import address_as, matrix
from worldline._src.step.island_stages import call_linked
from worldline._src.step.reaching import trees_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]


@inline
def row_columns(island, a, b):
    """Columns of the rows of a contact between trees `a` and `b` while they are made.

    Those of two bodies, and behind them those of a prescribed tree that has more than a body has.
    """
    columns = BODY_COLUMNS
    for side in range(2):
        t = a if side == 0 else b
        if t >= 0 and island.tree_dof[t + 1] - island.tree_dof[t] > SIDE:
            columns = BODY_COLUMNS + island.tree_dof[t + 1] - island.tree_dof[t]
    return columns


@inline
def _first_column(island, t, side):
    """Where the columns of tree `t` begin, which is on this side of a contact."""
    return SIDE * side if island.tree_dof[t + 1] - island.tree_dof[t] <= SIDE else BODY_COLUMNS


@inline
def _open_side(island_io, t, side, v, island_v_out):
    """Columns of tree `t` on this side of a contact, with their velocities; zeros in those of no tree."""
    for j in range(SIDE * side, SIDE * side + SIDE):
        island_v_out[j], island_io.column_dof[j] = 0.0, 0
    if t >= 0:
        at, first = _first_column(island_io, t, side), island_io.tree_dof[t]
        for d in range(first, island_io.tree_dof[t + 1]):
            island_v_out[at + d - first], island_io.column_dof[at + d - first] = v[d], d
            island_io.dof_column[d] = at + d - first


@inline
def _hide_prescribed(rows, first, end, at, tree_dof, t, prescribed):
    """Take a prescribed tree out of rows; what it does goes to the reference acceleration."""
    for j in range(tree_dof[t + 1] - tree_dof[t]):
        for k in range(first, end):
            rows.aref[k] -= rows.J[k, at + j] * prescribed[tree_dof[t] + j]
            rows.J[k, at + j] = 0.0


@inline
def _make_rows(m, c, args, d, pair):
    """Rows of all contacts of the island at hand, with the columns of their two bodies."""
    tm, tc, td = trees_of(args, d)
    program, island = program_view(m, c, args, d).program, island_view(m, c, args, d)
    counter, v, prescribed = island.counter, operand_view(tm, tc, td).v, control_view(tm, tc, td).a_target
    begin, end = counter[CONTACT_FIRST], counter[CONTACT_END]
    args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = BODY_COLUMNS, BODY_COLUMNS
    kept = row_view(m, c, args, d)
    for i in range(begin, end):
        k, first = island.contact_order[i], counter[ROWS]
        columns = row_columns(island, island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]])
        args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = columns, padded_columns(columns)
        rows, island_v = row_view(m, c, args, d), motion_view(m, c, args, d).island_v
        for side in range(2):
            _open_side(island, island.body_tree[pair[k, 2 + side]], side, v, island_v)
        counter[CONTACT_FIRST], counter[CONTACT_END] = i, i + 1
        call_linked(program[CONTACT_LINK], m, c, args, d)
        for side in range(2):
            t = island.body_tree[pair[k, 2 + side]]
            if t >= 0 and island.tree_prescribed[t] != 0:
                at = _first_column(island, t, side)
                _hide_prescribed(rows, first, counter[ROWS], at, island.tree_dof, t, prescribed)
        if columns > BODY_COLUMNS:
            # the columns of both bodies come first in rows, so rows move towards the start of the storage
            for row in range(first, counter[ROWS]):
                for j in range(BODY_COLUMNS):
                    kept.J[row, j] = rows.J[row, j]
    counter[CONTACT_FIRST], counter[CONTACT_END] = begin, end


@inline
def _keep_masses(m, c, args, d):
    """Mass matrices of the bodies of the island at hand and their inverse; returns the trace of them all."""
    program, island = program_view(m, c, args, d).program, island_view(m, c, args, d)
    counter, block = island.counter, free_tree_view(m, c, args, d).tree_block
    begin, end = counter[TREE_FIRST], counter[TREE_END]
    args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = SIDE, padded_columns(SIDE)
    M, trace = solve_view(m, c, args, d).M, 0.0
    for i in range(begin, end):
        t = island.island_tree[i]
        for j in range(SIDE):
            island.dof_column[island.tree_dof[t] + j] = j
        counter[TREE_FIRST], counter[TREE_END] = i, i + 1
        call_linked(program[MASS_LINK], m, c, args, d)
        trace += keep_mass(M, t, block)
    counter[TREE_FIRST], counter[TREE_END] = begin, end
    return trace


@inline
def _number_columns(island_io):
    """Columns of all bodies of the island at hand; returns how many there are."""
    n = 0
    for i in range(island_io.counter[TREE_FIRST], island_io.counter[TREE_END]):
        t = island_io.island_tree[i]
        for d in range(island_io.tree_dof[t], island_io.tree_dof[t + 1]):
            island_io.dof_column[d], island_io.column_dof[n] = n, d
            n += 1
    return n


@stage
def solve_body_rows(m, c, args, d):
    """contacts, v, a of a large island of free bodies -> a with contacts and their forces, by rows."""
    tm, tc, td = trees_of(args, d)
    hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
    pair = matrix(ha, hm[_CONTACT_ID], hm[_NCONTACT], 6)
    operands, island = operand_view(tm, tc, td), island_view(m, c, args, d)
    _make_rows(m, c, args, d, pair)
    n = 0
    if island.counter[ROWS] > 0:
        trace = _keep_masses(m, c, args, d)
        n = _number_columns(island)
        # vectors of all columns and two more, rows of two bodies
        args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, padded_columns(n + 2)
        vectors = work_view(m, c, args, d).vectors
        args[ISLAND_WIDTH] = BODY_COLUMNS
        trees, solution = free_tree_view(m, c, args, d), solve_view(m, c, args, d)
        gather_accelerations(operands.a, solution)
        body_rows.solve_body_rows(
            FreeTrees(
                pair,
                trees.body_tree,
                trees.tree_dof,
                trees.dof_column,
                trees.tree_prescribed,
                trees.tree_block,
                trace,
            ),
            contact_memory_view(m, c, args, d),
            work_view(m, c, args, d),
            IslandRows(
                member_view(m, c, args, d),
                row_view(m, c, args, d),
                row_note_view(m, c, args, d),
                contact_frame_view(m, c, args, d),
            ),
            BodyRowWork(
                sweep_view(m, c, args, d),
                slip_view(m, c, args, d).slip_work,
                bounce_view(m, c, args, d),
                vectors,
                pair_block_view(m, c, args, d),
                body_factor_view(m, c, args, d),
            ),
            solution,
            record_view(m, c, args, d),
        )
        give_back(chain_view(tm, tc, td), solution, operands.a)
    part_jammed_bodies(
        member_view(m, c, args, d),
        contact_frame_view(m, c, args, d),
        record_view(m, c, args, d),
        Motion(operands.v, operands.a),
        link_view(m, c, args, d).option,
        motion_view(m, c, args, d).column_dof[:n],
        IslandTrees(
            inertia_view(tm, tc, td).link_mass,
            tree_span_view(m, c, args, d).tree_links,
            split_view(m, c, args, d).tree_recovery,
        ),
    )
