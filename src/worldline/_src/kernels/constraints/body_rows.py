# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands of free bodies by rows of twelve columns each: memory linear in the number of contacts.

A large island of free bodies whose contacts have more than sliding friction, parameters of their own or
sweeps against slip needs rows, and rows over all columns of the island would grow with the square of its
bodies. A row of a contact touches the six degrees of freedom of each of its two bodies and no others, and the
mass matrix has a block for every body, so

    J_k = [J_a  J_b],    K_k = J_k M^-1 = [J_a M_a^-1  J_b M_b^-1]

are all there is. Islands whose contacts are all of the impedance model are solved by Newton's method
(`body_newton.py`). Hard contacts are too stiff for its conjugate gradients, and all but the impedance model
obey Coulomb's law: theirs is the method of `row_pgs.py`, projected Gauss-Seidel without the lift of the
convex cone, with conjugate directions between sweeps as in `body_ncg.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    BODY_COLUMNS,
    INVERSE_MASS,
    SIDE,
    load_side,
    record_body_rows,
    row_count,
    side_column,
    side_tree,
    store_side,
)
from worldline._src.kernels.constraints.body_newton import BodyNewtonWork, body_newton
from worldline._src.kernels.constraints.contact.impacts import POSITION_PASS
from worldline._src.kernels.constraints.dual_pgs import (
    DualRows,
    DualWork,
    add_row_force,
    prepare_rows,
    visit_rows,
)
from worldline._src.kernels.constraints.jacobians import part_velocity
from worldline._src.kernels.constraints.newton import NewtonOptions
from worldline._src.kernels.constraints.no_slip import stop_cone, stop_edges
from worldline._src.kernels.constraints.restitution import GAIN, most_restitution
from worldline._src.kernels.constraints.row_pgs import (
    DIAGONAL,
    END,
    FIRST,
    LIFTED,
    STEP_LENGTH,
    R,
    guess_forces,
)
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.solve import record_contacts, record_residual
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    BY_NEWTON,
    BY_SWEEPS,
    COLD,
    CONTACT_END,
    CONTACT_FIRST,
    GRAVITY,
    ITERATIONS,
    LINE_STEPS,
    LINE_TOLERANCE,
    NEWTON_STEPS,
    RESIDUAL_BOUND,
    RESTITUTION_LIMITED,
    ROWS,
    SLIP_SWEEPS,
    SLIP_TOLERANCE,
    SOLVE_PASS,
    SPEED_TOLERANCE,
    SPLIT,
    STEP,
    SWEEPS,
    TOLERANCE,
    TREE_END,
    TREE_FIRST,
)

FINE = 1e-8
"""Sweeps end when no acceleration along a row changes by more than this share of gravity,"""
FINE_MORE = 5
"""or after so many times the sweeps that are asked for, if the residual is below its bound by then;"""
MORE = 50
"""and after so many in any case."""


class BodyRowWork(NamedTuple):
    """Arrays of the sweeps, scratch of a cone for sweeps against slip, room for a solution with restitution;
    of Newton's method: vectors (8, columns + 2), `PairBlockView`, `BodyFactorView`."""

    sweep: Any
    slip: Any
    bounce: Any
    vectors: Any
    blocks: Any
    factor: Any


class Solve(NamedTuple):
    """A problem as its sweeps see it: who is in it, rows in dual form, their scratch, (12,) of a contact."""

    trees: Any
    island_rows: Any
    dual: Any
    work: Any
    local: Any


@inline
def _responses(trees, island_rows, sweep_out):
    """K = J M^-1 row by row, the regularizers, and the columns of a row: all twelve."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first < 0:
            continue
        for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
            for side in range(2):
                at, t = SIDE * side, side_tree(trees, c, side)
                for j in range(SIDE):
                    total = 0.0
                    if t >= 0:
                        for d in range(SIDE):
                            total += trees.block[t, INVERSE_MASS + SIDE * j + d] * rows.J[k, at + d]
                    sweep_out.sweep_K[k, at + j] = total
            sweep_out.sweep_dual[R, k] = 1.0 / rows.D[k]
            sweep_out.sweep_row[FIRST, k], sweep_out.sweep_row[END, k] = 0, BODY_COLUMNS
            sweep_out.sweep_row[LIFTED, k] = 0


@kernel
def _apply_change(solve, scale, change, force_io, a_io):
    """Forces grow by scale times `change`, and accelerations follow."""
    island, frames = solve.island_rows.members, solve.island_rows.frames
    rows, local = solve.island_rows.rows, solve.local
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            a, b = side_column(solve.trees, c, 0), side_column(solve.trees, c, 1)
            load_side(a_io, a, 0, local)
            load_side(a_io, b, SIDE, local)
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                force_io[k] += scale * change[k]
                add_row_force(solve.dual, k, scale * change[k], local)
            store_side(local, a, 0, a_io)
            store_side(local, b, SIDE, a_io)


@kernel
def _sweep(solve, force_io, a_io):
    """Visit all contacts once; returns how much slacks moved [m/s^2]."""
    island, frames, moved = solve.island_rows.members, solve.island_rows.frames, 0.0
    rows, local = solve.island_rows.rows, solve.local
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            a, b = side_column(solve.trees, c, 0), side_column(solve.trees, c, 1)
            load_side(a_io, a, 0, local)
            load_side(a_io, b, SIDE, local)
            end = first + row_count(rows, first, frames.contact_row[c, 1])
            moved = max(moved, visit_rows(solve.dual, first, end, 0.0, solve.work, force_io, local))
            store_side(local, a, 0, a_io)
            store_side(local, b, SIDE, a_io)
    return moved


@kernel
def _stop_slip(solve, option, slip_work, force_io, a_io):
    """Sweeps over friction without regularizers, normal forces as they are; see `no_slip.py`."""
    island, frames = solve.island_rows.members, solve.island_rows.frames
    rows, local, K = solve.island_rows.rows, solve.local, solve.dual.K
    for _ in range(int(option[SLIP_SWEEPS])):
        gain = 0.0
        for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
            c = island.contact_order[i]
            first, condim = frames.contact_row[c, 0], frames.contact_row[c, 1]
            if first >= 0 and condim > 1:
                a, b = side_column(solve.trees, c, 0), side_column(solve.trees, c, 1)
                load_side(a_io, a, 0, local)
                load_side(a_io, b, SIDE, local)
                if rows.kind[first] == CONE:
                    gain += stop_cone(rows, first, BODY_COLUMNS, K, slip_work, force_io, local)
                else:
                    for j in range(condim - 1):
                        gain += stop_edges(rows, first + 2 * j, BODY_COLUMNS, K, force_io, local)
                store_side(local, a, 0, a_io)
                store_side(local, b, SIDE, a_io)
        if gain < option[SLIP_TOLERANCE] * solve.trees.trace:
            break


@kernel
def _settle(solve, option, scratch, force_io, a_io):
    """Forces and the accelerations that belong to them, from those in force_io and a_io.

    scratch: (2, rows): forces before a sweep, and the conjugate direction. Returns how much slacks moved in
    the last sweep [m/s^2] and the number of sweeps.
    """
    before, direction, n = scratch[0], scratch[1], solve.island_rows.members.counter[ROWS]
    gravity, most = option[GRAVITY], int(option[SWEEPS])
    taken, moved, last = 0, 0.0, 0.0
    # a negative number is a bound
    while taken < (-most if most < 0 else MORE * most):
        for k in range(n):
            before[k] = force_io[k]
        moved = _sweep(solve, force_io, a_io)
        taken += 1
        if moved <= FINE * gravity:
            break
        if taken >= max(FINE_MORE * most, 1) and moved <= option[RESIDUAL_BOUND] * gravity:
            break
        # beta = r D r / (r D r of the sweep before), D the diagonal: forces and torques by what they move
        square = 0.0
        for k in range(n):
            r = force_io[k] - before[k]
            square += solve.work.diagonal[k] * r * r
        beta = square / last if square < last else 0.0
        last = square
        for k in range(n):
            r = force_io[k] - before[k]
            before[k] = beta * direction[k] if beta > 0.0 else 0.0
            direction[k] = r + before[k]
        if beta > 0.0:
            _apply_change(solve, 1.0, before, force_io, a_io)
    return moved, taken


@inline
def _impact_speeds(solve, h, a, speed_out):
    """Speeds of the rows of hard contacts before and after the impact, added."""
    island, frames = solve.island_rows.members, solve.island_rows.frames
    rows, notes, local = solve.island_rows.rows, solve.island_rows.notes, solve.local
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.bounce[c] >= 0.0:
            load_side(a, side_column(solve.trees, c, 0), 0, local)
            load_side(a, side_column(solve.trees, c, 1), SIDE, local)
            for k in range(first, first + frames.contact_row[c, 1]):
                along = part_velocity(rows.J, k, local, 0, BODY_COLUMNS)
                speed_out[k] = h * (along - rows.aref[k]) + notes.row_impact[k]


@kernel
def _limit_restitution(solve, option, scratch, work_out, force_io, a_io):
    """Cut restitution down where contacts gain energy by it; see `restitution.py`.

    Returns the share that is left, and how much slacks moved in the last sweep, 0 when there was none.
    """
    island, frames = solve.island_rows.members, solve.island_rows.frames
    rows, h = solve.island_rows.rows, option[STEP]
    first_force, first_speed = work_out.bounce.bounce_force, work_out.bounce.bounce_speed
    begin, end = island.counter[CONTACT_FIRST], island.counter[CONTACT_END]
    work, given = 0.0, 0.0
    _impact_speeds(solve, h, a_io, first_speed)
    for i in range(begin, end):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.bounce[c] >= 0.0:
            for k in range(first, first + frames.contact_row[c, 1]):
                work += 0.5 * h * force_io[k] * first_speed[k]
            # sweeps end with speeds that far off
            given += h * force_io[first] * (GAIN * frames.bounce[c] + option[SPEED_TOLERANCE])
    if work <= given:
        return 1.0, 0.0

    # once more without restitution
    for k in range(island.counter[ROWS]):
        first_force[k] = force_io[k]
    for i in range(begin, end):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            rows.aref[first] -= max(frames.bounce[c], 0.0) / h
    moved, _ = _settle(solve, option, scratch, force_io, a_io)
    if option[SLIP_SWEEPS] > 0.0:
        _stop_slip(solve, option, work_out.slip, force_io, a_io)
    for i in range(begin, end):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            rows.aref[first] += max(frames.bounce[c], 0.0) / h

    # the blend with the most restitution that adds no energy
    speed = scratch[0]
    _impact_speeds(solve, h, a_io, speed)
    start, slope, bend = 0.0, 0.0, 0.0
    for i in range(begin, end):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.bounce[c] >= 0.0:
            for k in range(first, first + frames.contact_row[c, 1]):
                more, faster = first_force[k] - force_io[k], first_speed[k] - speed[k]
                start += force_io[k] * speed[k]
                slope += force_io[k] * faster + more * speed[k]
                bend += more * faster
    share = most_restitution(start, slope, bend, max(start, 0.0))
    for k in range(island.counter[ROWS]):
        first_force[k] -= force_io[k]
    _apply_change(solve, share, first_force, force_io, a_io)
    return share, moved


@inline
def _is_soft(island_rows):
    """Whether all contacts are of the impedance model: none is hard, and none has a De Saxce correction."""
    frames, island, soft = island_rows.frames, island_rows.members, True
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        if frames.contact_row[c, 0] >= 0 and (frames.de_saxce[c] >= 0.0 or frames.bounce[c] >= 0.0):
            soft = False
    return soft


@kernel
def _solve_hard(solve, memory, slack, work_out, solution_out):
    """Sweeps from the forces of the last step, then the bound of restitution; records the residual."""
    counter, option, island_rows = solution_out.counter, solution_out.option, solve.island_rows
    force, a = solution_out.row_force, solution_out.island_a
    guess_forces(island_rows.rows, island_rows, memory, option[COLD] != 0.0, work_out.sweep, force)
    prepare_rows(solve.dual, counter[ROWS], solve.work)

    # a = a_smooth + K^T f, then sweeps
    for i in range(a.shape[0]):
        a[i] = solution_out.island_smooth[i]
    for k in range(counter[ROWS]):
        slack[0, k], force[k] = force[k], 0.0
    _apply_change(solve, 1.0, slack[0], force, a)
    moved, taken = _settle(solve, option, slack, force, a)
    if option[SLIP_SWEEPS] > 0.0:
        _stop_slip(solve, option, work_out.slip, force, a)
    if counter[BOUNCED] == BOUNCES or (
        counter[BOUNCED] == BOUNCES | SPLIT and option[SOLVE_PASS] != POSITION_PASS
    ):
        share, again = _limit_restitution(solve, option, slack, work_out, force, a)
        moved = max(moved, again)
        if share < 1.0 and counter[BOUNCED] != BOUNCES:
            counter[RESTITUTION_LIMITED] = 1
            for i in range(counter[TREE_FIRST], counter[TREE_END]):
                work_out.bounce.tree_share[island_rows.members.island_tree[i]] = share
    counter[ITERATIONS] = max(counter[ITERATIONS], taken)
    record_residual(moved / option[GRAVITY], solution_out)


@kernel
def _solve_soft(solve, newton_work, work_out, solution_out):
    """Newton's method from the accelerations of the last step; records the residual."""
    counter, option = solution_out.counter, solution_out.option
    options = NewtonOptions(
        option[TOLERANCE],
        int(option[NEWTON_STEPS]),
        option[LINE_TOLERANCE],
        int(option[LINE_STEPS]),
        0,
        option[GRAVITY],
    )
    force, a = solution_out.row_force, solution_out.island_a
    stats = body_newton(
        solve.trees, solve.island_rows, solution_out.island_smooth, options, newton_work, force, a
    )
    if option[SLIP_SWEEPS] > 0.0:
        _stop_slip(solve, option, work_out.slip, force, a)
    counter[ITERATIONS] = max(counter[ITERATIONS], stats.iterations)
    record_residual(stats.unbalanced / option[GRAVITY], solution_out)


@kernel
def solve_body_rows(trees, memory, scratch, island_io, work_out, solution_out, records_out):
    """Contacts of an island of free bodies: forces, and accelerations from the smooth ones, by columns.

    `island_io` has rows of twelve columns. scratch: `WorkView` of the same width. Contacts of the impedance
    model alone are solved by Newton's method, all others by sweeps. O(contacts + bodies) memory.
    """
    counter, rows, sweep = solution_out.counter, island_io.rows, work_out.sweep
    force, soft = solution_out.row_force, _is_soft(island_io)
    if not soft or solution_out.option[SLIP_SWEEPS] > 0.0:
        _responses(trees, island_io, sweep)
    dual = DualRows(
        rows.J,
        sweep.sweep_K,
        sweep.sweep_row[FIRST],
        sweep.sweep_row[END],
        rows.aref,
        sweep.sweep_dual[R],
        rows.bound,
        island_io.notes.row_active,
        rows.kind,
        rows.dim,
        sweep.sweep_row[LIFTED],
    )
    work = DualWork(
        sweep.sweep_dual[DIAGONAL], sweep.sweep_dual[STEP_LENGTH], sweep.sweep_block, sweep.dual_local
    )
    local = island_io.frames.base[0]
    solve = Solve(trees, island_io, dual, work, local)
    if soft:
        blocks = work_out.blocks
        newton_work = BodyNewtonWork(
            work_out.vectors,
            scratch.slack,
            blocks.contact_block,
            scratch.cone_C,
            local,
            blocks.contact_pair,
            blocks.pair_body,
            work_out.factor,
            blocks.row_block,
        )
        _solve_soft(solve, newton_work, work_out, solution_out)
        counter[BY_NEWTON] += 1
    else:
        _solve_hard(solve, memory, scratch.slack, work_out, solution_out)
        counter[BY_SWEEPS] += 1
    record_body_rows(trees, island_io, force, solution_out.column_dof, counter, records_out)
    record_contacts(rows, island_io, force, records_out.contact_force)
