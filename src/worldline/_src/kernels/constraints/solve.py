# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Hand the rows of an island to the solver, and what comes back to the trees."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.coulomb import TURNS, guess_de_saxce, update_de_saxce
from worldline._src.kernels.constraints.jacobians import hide_prescribed, row_velocity
from worldline._src.kernels.constraints.newton import NewtonOptions, newton
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky_solve
from worldline._src.kernels.constraints.row_packs import add_row
from worldline._src.kernels.constraints.rows import CONE, EQUALITY
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    BUDGET,
    CONTACT_END,
    CONTACT_FIRST,
    CONVERGED,
    DROPPED,
    GRAVITY,
    ITERATIONS,
    LINE_STEPS,
    LINE_TOLERANCE,
    NEWTON_STEPS,
    OF_CONTACT,
    RESIDUAL,
    RESIDUAL_BOUND,
    ROWS,
    TOLERANCE,
    TREE_END,
    TREE_FIRST,
    UNCONVERGED,
)
from worldline._src.named_tuple import NamedTuple


class IslandRows(NamedTuple):
    """The rows of an island: who is in it, the rows, what they belong to, frames of contacts."""

    members: Any
    rows: Any
    notes: Any
    frames: Any


@inline
def gather_accelerations(a_smooth, solution_out):
    """Accelerations without rows and those of the last step by columns of the island."""
    for i in range(solution_out.island_a.shape[0]):
        d = solution_out.column_dof[i]
        solution_out.island_smooth[i] = a_smooth[d]
        solution_out.island_a[i] = solution_out.a_last[d]


@inline
def record_rows(rows, solution, notes, sum_out, records_out):
    """Put the rows of the island behind those of the islands before it; sum_out is scratch, (width,)."""
    counter = solution.counter
    base, n = counter[ALL_ROWS], counter[ROWS]
    if base + n > records_out.force.shape[0]:
        # more rows than a world has room for: forces act, their record is left out and counted
        counter[DROPPED] += n
        n = 0
    for j in range(sum_out.shape[0]):
        sum_out[j] = 0.0
    for k in range(n):
        f = solution.row_force[k]
        records_out.force[base + k] = f
        records_out.missed[base + k] = f / rows.D[k]
        records_out.residual[base + k] = notes.row_residual[k]
        records_out.row_of[base + k, 0] = notes.row_note[k, 0]
        records_out.row_of[base + k, 1] = notes.row_note[k, 1]
        if f != 0.0:
            first, end = 0, sum_out.shape[0]
            if notes.row_note[k, 0] == OF_CONTACT:
                first, end = notes.row_first[k], notes.row_end[k]
            add_row(rows.J, k, first, end, f, sum_out)
    for j in range(solution.island_a.shape[0]):
        records_out.qfrc[solution.column_dof[j]] += sum_out[j]
    counter[ALL_ROWS] = base + n


@inline
def record_contacts(rows, island_rows, force, contact_force_out):
    """Forces of contacts in their axes, whatever their rows are."""
    frames, island = island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        for j in range(6):
            contact_force_out[k, j] = 0.0
        if first >= 0:
            if condim == 1 or rows.kind[first] == CONE:
                for j in range(condim):
                    contact_force_out[k, j] = force[first + j]
            else:
                for j in range(1, condim):
                    up, down = force[first + 2 * j - 2], force[first + 2 * j - 1]
                    contact_force_out[k, 0] += up + down
                    contact_force_out[k, j] = frames.mu[k, j - 1] * (up - down)


@inline
def give_back(chain, solution, a_io):
    """Accelerations of the island to the degrees of freedom that are not prescribed."""
    for j in range(solution.island_a.shape[0]):
        d = solution.column_dof[j]
        if chain.dof_mobile[d] != 0.0:
            a_io[d] = solution.island_a[j]


@inline
def record_residual(residual, solution_out):
    """Count an island that is not solved; residuals are shares of gravity."""
    counter, option = solution_out.counter, solution_out.option
    option[RESIDUAL] = max(option[RESIDUAL], residual)
    if not residual <= option[RESIDUAL_BOUND]:
        counter[CONVERGED] = 0
        counter[UNCONVERGED] += 1


@inline
def _count_rigid(rows, n):
    """How many rows are equalities, and how many of them are rigid."""
    equalities, rigid = 0, 0
    for k in range(n):
        if rows.kind[k] == EQUALITY:
            equalities += 1
            rigid += 1 if rows.bound[k] != 0.0 else 0
    return equalities, rigid


@inline
def raise_rigid(rows, n, force):
    """Targets of rigid equalities that a solve with their regularizers misses by nothing; returns how many.

    Method of multipliers [Bertsekas 1982]: aref + f / D in the place of aref leaves of the error the share
    that the regularizer has of what the row sees.
    """
    count = 0
    for k in range(n):
        if rows.kind[k] == EQUALITY and rows.bound[k] != 0.0:
            rows.aref[k] += force[k] / rows.D[k]
            count += 1
    return count


@inline
def mark_closed(rows, island_io):
    """Say of the trees of the island at hand whether rigid equalities are all of its rows."""
    counter, closed = island_io.counter, 1
    for k in range(counter[ROWS]):
        if rows.kind[k] != EQUALITY or rows.bound[k] == 0.0:
            closed = 0
    for k in range(counter[TREE_FIRST], counter[TREE_END]):
        island_io.tree_closed[island_io.island_tree[k]] = closed


@inline
def _harden(rows, n, work, force_io, a_io):
    """Take the regularizers off rigid rows where all rows are equalities, with the last factor of all.

    As in `raise_rigid`, by which the gradient grows by -J^T f.
    """
    nv, p, inverse = a_io.shape[0], work.vectors[3], work.vectors[5]
    for j in range(p.shape[0]):
        p[j] = 0.0
    for k in range(n):
        if rows.bound[k] != 0.0:
            add_row(rows.J, k, 0, p.shape[0], force_io[k], p)
    reverse_cholesky_solve(nv, work.L_first, work.L, inverse, p)
    for i in range(nv):
        a_io[i] += p[i]
    for k in range(n):
        change = -rows.D[k] * row_velocity(rows.J, k, p)
        if rows.bound[k] != 0.0:
            rows.aref[k] += force_io[k] / rows.D[k]
            change += force_io[k]
        force_io[k] += change


@kernel
def solve_rows(chain, prescribed, island_io, work_out, solution_out, records_out, a_io):
    """Accelerations of an island that satisfy its rows, from the smooth ones in a_io.

    The mass matrix is in solution_out.M; the accelerations of the last step are the guess.
    """
    counter, option, rows = solution_out.counter, solution_out.option, island_io.rows
    island, notes, frames = island_io.members, island_io.notes, island_io.frames
    n = counter[ROWS]
    columns, mobile = solution_out.column_dof, chain.dof_mobile
    gather_accelerations(a_io, solution_out)
    smooth, a = solution_out.island_smooth, solution_out.island_a
    hide_prescribed(columns[: a.shape[0]], mobile, prescribed, n, rows.J, rows.aref)
    # makers of contact rows come last, and they know which columns they write
    spanned = n
    while spanned > 0 and notes.row_note[spanned - 1, 0] == OF_CONTACT:
        spanned -= 1
    options = NewtonOptions(
        option[TOLERANCE],
        int(option[NEWTON_STEPS]),
        option[LINE_TOLERANCE],
        int(option[LINE_STEPS]),
        spanned,
        option[GRAVITY],
    )
    guess_de_saxce(frames, island, a, rows, work_out.slack[0])
    iterations, share, residual, raised = 0, 0.0, 0.0, False
    for turn in range(TURNS + 1):
        stats = newton(solution_out.M, smooth, rows, n, options, work_out, solution_out.row_force, a)
        if raised:
            break
        iterations += stats.iterations
        share, left = update_de_saxce(frames, island, option[GRAVITY], share, work_out.slack[0], rows)
        residual = max(stats.unbalanced, left) / option[GRAVITY]
        if share == 0.0 or iterations >= option[BUDGET] or turn == TURNS - 1:
            # rigid equalities hold to rounding
            equalities, rigid = _count_rigid(rows, n)
            if rigid == 0:
                break
            if equalities == n and stats.iterations > 0:
                _harden(rows, n, work_out, solution_out.row_force, a)
                break
            raised = raise_rigid(rows, n, solution_out.row_force) > 0
    counter[ITERATIONS] = max(counter[ITERATIONS], iterations)
    record_residual(residual, solution_out)

    # forces and accelerations back to the world
    record_rows(rows, solution_out, notes, work_out.vectors[7], records_out)
    record_contacts(rows, island_io, solution_out.row_force, records_out.contact_force)
    give_back(chain, solution_out, a_io)
