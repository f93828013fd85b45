# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Large islands by rows of two trees each: memory linear in the number of contacts.

Rows over all columns of an island would grow with the square of its bodies. A row touches one tree or two,
twelve columns where both are free bodies, and the mass matrix has a block for every tree, so

    J_k = [J_a  J_b],    K_k = J_k M^-1 = [J_a M_a^-1  J_b M_b^-1]

are all there is (`body_blocks.py`). Islands whose contacts are all of the impedance model are solved by
Newton's method (`body_newton.py`), and so are those with other trees than free bodies: where contacts are
hard, by turns with the De Saxce correction of Coulomb's law, as in `solve.py`. Islands of free bodies with
hard contacts, all islands where sequential impulses are asked for, and those on which Newton's method does
not converge have the method of `row_pgs.py`: projected Gauss-Seidel without the dilation of the convex cone,
with conjugate directions between sweeps as in `body_ncg.py`, then damped sweeps as in `jams.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    COLUMN,
    CONTACT,
    END_ROW,
    FIRST_ROW,
    SECOND_SIZE,
    SIZE,
    TREE,
    group_width,
    invert_masses,
    load_sides,
    record_body_rows,
    store_sides,
)
from worldline._src.kernels.constraints.body_newton import (
    BodyNewtonWork,
    body_newton,
    row_motions,
    times_mass,
)
from worldline._src.kernels.constraints.contact.coulomb import TURNS, slip_norm, update_de_saxce
from worldline._src.kernels.constraints.contact.impacts import POSITION_PASS
from worldline._src.kernels.constraints.dual_pgs import (
    DualRows,
    DualWork,
    add_row_force,
    damp_cones,
    prepare_rows,
    visit_rows,
)
from worldline._src.kernels.constraints.jacobians import part_velocity
from worldline._src.kernels.constraints.jams import DAMPED_MORE, DAMPING
from worldline._src.kernels.constraints.newton import NewtonOptions
from worldline._src.kernels.constraints.no_slip import stop_cone, stop_dry, stop_edges
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
from worldline._src.kernels.constraints.rows import CONE, FRICTION
from worldline._src.kernels.constraints.solve import raise_rigid, record_contacts, record_residual
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    BUDGET,
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
    SUBSTITUTED,
    SWEEPS,
    SWEEPS_STAND_IN,
    SWEPT,
    TOLERANCE,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.kernels.lcp.problem import INFINITY
from worldline._src.named_tuple import NamedTuple

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
    """A problem as its sweeps see it: who is in it, rows in dual form, their scratch, (width,) of a group."""

    trees: Any
    island_rows: Any
    dual: Any
    work: Any
    local: Any


@inline
def _responses(trees, rows, sweep_out):
    """K = J M^-1 row by row, the regularizers, and the columns of a row: all of its group."""
    for g in range(trees.groups):
        columns = trees.group[g, SIZE] + trees.group[g, SECOND_SIZE]
        for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
            at = 0
            for side in range(2):
                first, n = trees.group[g, COLUMN + 2 * side], trees.group[g, SIZE + 2 * side]
                inverse = 0
                if first >= 0:
                    inverse = trees.matrix_at[trees.group[g, TREE + side]] + n * n
                for j in range(n):
                    total = 0.0
                    if first >= 0:
                        for d in range(n):
                            total += trees.matrix[inverse + n * j + d] * rows.J[k, at + d]
                    sweep_out.sweep_K[k, at + j] = total
                at += n
            for j in range(columns, group_width(trees, g)):
                sweep_out.sweep_K[k, j] = 0.0
            sweep_out.sweep_dual[R, k] = 1.0 / rows.D[k]
            sweep_out.sweep_row[FIRST, k], sweep_out.sweep_row[END, k] = 0, columns
            sweep_out.sweep_row[LIFTED, k] = 0


@kernel
def _apply_change(solve, scale, change, force_io, a_io):
    """Forces grow by scale times `change`, and accelerations follow."""
    trees, local = solve.trees, solve.local
    for g in range(trees.groups):
        load_sides(trees, g, a_io, local)
        for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
            force_io[k] += scale * change[k]
            add_row_force(solve.dual, k, scale * change[k], local)
        store_sides(trees, g, local, a_io)


@kernel
def _sweep(solve, force_io, a_io):
    """Visit all groups once; returns how much slacks moved [m/s^2]."""
    trees, local, moved = solve.trees, solve.local, 0.0
    for g in range(trees.groups):
        load_sides(trees, g, a_io, local)
        first, end = trees.group[g, FIRST_ROW], trees.group[g, END_ROW]
        moved = max(moved, visit_rows(solve.dual, first, end, 0.0, solve.work, force_io, local))
        store_sides(trees, g, local, a_io)
    return moved


@kernel
def _stop_slip(solve, option, slip_work, force_io, a_io):
    """Sweeps over friction without regularizers, normal forces as they are; see `no_slip.py`."""
    trees, frames = solve.trees, solve.island_rows.frames
    rows, local, K = solve.island_rows.rows, solve.local, solve.dual.K
    for _ in range(int(option[SLIP_SWEEPS])):
        gain = 0.0
        for g in range(trees.groups):
            first, c, width = trees.group[g, FIRST_ROW], trees.group[g, CONTACT], group_width(trees, g)
            load_sides(trees, g, a_io, local)
            if c < 0:
                for k in range(first, trees.group[g, END_ROW]):
                    if rows.kind[k] == FRICTION:
                        gain += stop_dry(rows, k, width, K, force_io, local)
            elif rows.kind[first] == CONE:
                gain += stop_cone(rows, first, width, K, slip_work, force_io, local)
            else:
                for j in range(frames.contact_row[c, 1] - 1):
                    gain += stop_edges(rows, first + 2 * j, width, K, force_io, local)
            store_sides(trees, g, local, a_io)
        if gain < option[SLIP_TOLERANCE] * trees.trace:
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
    limit = -most if most < 0 else MORE * most
    while taken < limit:
        for k in range(n):
            before[k] = force_io[k]
        moved = _sweep(solve, force_io, a_io)
        taken += 1
        if moved <= FINE * gravity:
            break
        if taken >= max(FINE_MORE * most, 1) and moved <= option[RESIDUAL_BOUND] * gravity:
            break
        # the last forces are those of a sweep: along a direction they may be outside their cones
        if taken == limit:
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


@kernel
def _settle_damped(solve, option, scratch, force_io, a_io):
    """Damped sweeps from zero over rows that `_settle` left unsolved; see `jams.py`.

    scratch: (2, rows): a change of forces, and those there were, which stay where damped sweeps do not end
    either. Returns how much slacks moved in the last sweep [m/s^2] and the number of sweeps.
    """
    change, kept, n = scratch[0], scratch[1], solve.island_rows.members.counter[ROWS]
    bound, most = option[RESIDUAL_BOUND] * option[GRAVITY], DAMPED_MORE * int(option[SWEEPS])
    for k in range(n):
        change[k], kept[k] = -force_io[k], force_io[k]
    _apply_change(solve, 1.0, change, force_io, a_io)
    damp_cones(solve.dual, n, DAMPING, solve.work)
    taken, moved = 0, INFINITY
    while taken < most and not moved <= bound:
        moved = _sweep(solve, force_io, a_io)
        taken += 1
    prepare_rows(solve.dual, n, solve.work)
    if not moved <= bound:
        for k in range(n):
            change[k] = kept[k] - force_io[k]
        _apply_change(solve, 1.0, change, force_io, a_io)
    return moved, taken


@inline
def _impact_speeds(solve, h, a, speed_out):
    """Speeds of the rows of hard contacts before and after the impact, added."""
    trees, frames = solve.trees, solve.island_rows.frames
    rows, notes, local = solve.island_rows.rows, solve.island_rows.notes, solve.local
    for g in range(trees.groups):
        c = trees.group[g, CONTACT]
        if c >= 0 and frames.bounce[c] >= 0.0:
            load_sides(trees, g, a, local)
            columns = trees.group[g, SIZE] + trees.group[g, SECOND_SIZE]
            for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
                along = part_velocity(rows.J, k, local, 0, columns)
                speed_out[k] = h * (along - rows.aref[k]) + notes.row_impact[k]


@inline
def _is_soft(island_rows):
    """Whether all contacts are of the impedance model: none is hard, and none has a De Saxce correction."""
    frames, island, soft = island_rows.frames, island_rows.members, True
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        if frames.contact_row[c, 0] >= 0 and (frames.de_saxce[c] >= 0.0 or frames.bounce[c] >= 0.0):
            soft = False
    return soft


@inline
def _options(option):
    """When Newton's method stops."""
    return NewtonOptions(
        option[TOLERANCE],
        int(option[NEWTON_STEPS]),
        option[LINE_TOLERANCE],
        int(option[LINE_STEPS]),
        0,
        option[GRAVITY],
    )


@inline
def _lower_targets(solve, a, slack_out):
    """Lower the targets of Coulomb's contacts by the slip that a guess leads to; see `coulomb.py`."""
    island, frames, rows = solve.island_rows.members, solve.island_rows.frames, solve.island_rows.rows
    row_motions(solve.trees, rows, a, solve.local, slack_out)
    for k in range(island.counter[ROWS]):
        slack_out[k] -= rows.aref[k]
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.de_saxce[c] >= 0.0:
            frames.de_saxce[c] = slip_norm(rows, first, frames.contact_row[c, 1], slack_out)
            rows.aref[first] -= frames.de_saxce[c]


@inline
def _raise_targets(solve):
    """Targets as they were made."""
    island, frames = solve.island_rows.members, solve.island_rows.frames
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.de_saxce[c] >= 0.0:
            solve.island_rows.rows.aref[first] += frames.de_saxce[c]
            frames.de_saxce[c] = 0.0


@kernel
def _by_newton(solve, soft, newton_work, solution_out):
    """Newton's method from the accelerations of the last step; returns the residual [m/s^2].

    Where contacts are not all of the impedance model, by turns with the De Saxce correction. Rigid equalities
    have one solve more, without the effect of their regularizers; see `solve.py`.
    """
    counter, option, island_rows = solution_out.counter, solution_out.option, solve.island_rows
    force, a, slack = solution_out.row_force, solution_out.island_a, newton_work.slack[0]
    options, iterations, share, residual = _options(option), 0, 0.0, 0.0
    if not soft:
        _lower_targets(solve, a, slack)
    turns, hardened = 1 if soft else TURNS, False
    for turn in range(turns + 1):
        stats = body_newton(
            solve.trees, island_rows, solution_out.island_smooth, options, newton_work, force, a
        )
        iterations += stats.iterations
        if hardened:
            break
        residual, last = stats.unbalanced, turn == turns - 1
        if not soft:
            share, left = update_de_saxce(
                island_rows.frames, island_rows.members, option[GRAVITY], share, slack, island_rows.rows
            )
            residual = max(residual, left)
            last = last or share == 0.0 or iterations >= option[BUDGET]
        if last:
            hardened = raise_rigid(island_rows.rows, counter[ROWS], force) > 0
            if not hardened:
                break
    if not soft:
        _raise_targets(solve)
    counter[ITERATIONS] = max(counter[ITERATIONS], iterations)
    return residual


@kernel
def _begin_sweeps(solve, memory, slack, work_out, solution_out):
    """Forces of the last step, and a = a_smooth + K^T f."""
    counter, option, island_rows = solution_out.counter, solution_out.option, solve.island_rows
    force, a = solution_out.row_force, solution_out.island_a
    guess_forces(island_rows.rows, island_rows, memory, option[COLD] != 0.0, work_out.sweep, force)
    prepare_rows(solve.dual, counter[ROWS], solve.work)
    for i in range(a.shape[0]):
        a[i] = solution_out.island_smooth[i]
    for k in range(counter[ROWS]):
        slack[0, k], force[k] = force[k], 0.0
    _apply_change(solve, 1.0, slack[0], force, a)


@inline
def _copy(n, x, y_out):
    for i in range(n):
        y_out[i] = x[i]


@kernel
def _solve_once(solve, soft, again, method, memory, newton_work, work_out, solution_out):
    """Forces by a method; where Newton's does not converge on hard contacts, by the better of it and sweeps.

    again: whether the forces at hand are those of a solve, with other targets. Returns the residual [m/s^2]
    and the counter of the method.
    """
    counter, option, slack = solution_out.counter, solution_out.option, newton_work.slack
    force, a = solution_out.row_force, solution_out.island_a
    # what sweeps do not use
    kept_force, kept_a = slack[2], work_out.vectors[6]
    residual, stands_in = 0.0, False
    if method == BY_NEWTON:
        residual = _by_newton(solve, soft, newton_work, solution_out)
        unsolved = not (soft or again or residual <= option[RESIDUAL_BOUND] * option[GRAVITY])
        stands_in = unsolved and option[SWEEPS_STAND_IN] != 0.0
        if stands_in:
            _copy(counter[ROWS], force, kept_force)
            _copy(a.shape[0], a, kept_a)
    if stands_in or method == BY_SWEEPS:
        if not again:
            _begin_sweeps(solve, memory, slack, work_out, solution_out)
        moved, taken = _settle(solve, option, slack, force, a)
        bound = option[RESIDUAL_BOUND] * option[GRAVITY]
        if option[SWEEPS] > 0.0 and not moved <= bound:
            damped, more = _settle_damped(solve, option, slack, force, a)
            moved, taken = damped if damped <= bound else moved, taken + more
        if not again:
            counter[ITERATIONS] = max(counter[ITERATIONS], taken)
        if stands_in and not moved <= residual:
            _copy(counter[ROWS], kept_force, force)
            _copy(a.shape[0], kept_a, a)
        else:
            counter[SUBSTITUTED] += 1 if stands_in else 0
            residual, method = moved, BY_SWEEPS
    return residual, method


@inline
def _shift_bounces(solve, sign, h):
    """Take restitution off the targets of contacts, sign -1, or put it back, 1."""
    island, frames = solve.island_rows.members, solve.island_rows.frames
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            solve.island_rows.rows.aref[first] += sign * (max(frames.bounce[c], 0.0) / h)


@kernel
def _gains_energy(solve, solution, work_out):
    """Whether contacts gain energy by restitution, with speeds of the impact; see `restitution.py`."""
    island, frames, option = solve.island_rows.members, solve.island_rows.frames, solution.option
    h, force, speed = option[STEP], solution.row_force, work_out.bounce.bounce_speed
    work, given = 0.0, 0.0
    _impact_speeds(solve, h, solution.island_a, speed)
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0 and frames.bounce[c] >= 0.0:
            for k in range(first, first + frames.contact_row[c, 1]):
                work += 0.5 * h * force[k] * speed[k]
            # sweeps end with speeds that far off
            given += h * force[first] * (GAIN * frames.bounce[c] + option[SPEED_TOLERANCE])
    return not work <= given


@kernel
def _blend_restitution(solve, speed, work_out, solution_io):
    """Of solutions with and without restitution the blend with the most that adds no energy.

    speed: scratch, (rows,). Returns the share of restitution that is left.
    """
    island, frames = solve.island_rows.members, solve.island_rows.frames
    force_io, a_io = solution_io.row_force, solution_io.island_a
    first_force, first_speed = work_out.bounce.bounce_force, work_out.bounce.bounce_speed
    _impact_speeds(solve, solution_io.option[STEP], a_io, speed)
    start, slope, bend = 0.0, 0.0, 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
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
    return share


@kernel
def _solve_within_energy(solve, soft, method, memory, newton_work, work_out, solution_out):
    """Solve, once more without restitution where contacts gain energy by it, and blend the two.

    Both solves run the same copy of the code of the methods. Returns the residual [m/s^2] and the counter of
    the method.
    """
    counter, option, island_rows = solution_out.counter, solution_out.option, solve.island_rows
    h, residual, first_force = option[STEP], 0.0, work_out.bounce.bounce_force
    bounces = not soft and (
        counter[BOUNCED] == BOUNCES
        or (counter[BOUNCED] == BOUNCES | SPLIT and option[SOLVE_PASS] != POSITION_PASS)
    )
    for attempt in range(2):
        again = attempt > 0
        found, method = _solve_once(solve, soft, again, method, memory, newton_work, work_out, solution_out)
        residual = max(residual, found) if again else found
        if option[SLIP_SWEEPS] > 0.0:
            _stop_slip(solve, option, work_out.slip, solution_out.row_force, solution_out.island_a)
        if again:
            _shift_bounces(solve, 1.0, h)
            share = _blend_restitution(solve, newton_work.slack[0], work_out, solution_out)
            if share < 1.0 and counter[BOUNCED] != BOUNCES:
                counter[RESTITUTION_LIMITED] = 1
                for i in range(counter[TREE_FIRST], counter[TREE_END]):
                    work_out.bounce.tree_share[island_rows.members.island_tree[i]] = share
        elif not (bounces and _gains_energy(solve, solution_out, work_out)):
            break
        else:
            for k in range(counter[ROWS]):
                first_force[k] = solution_out.row_force[k]
            _shift_bounces(solve, -1.0, h)
    return residual, method


@kernel
def body_work(trees, island, h, v, solution, vectors_out):
    """Work of all rows when their forces are scaled by s, as slope s + bend s^2; see `recovery_energy.py`.

    v: velocities by columns. vectors_out: scratch.
    """
    smooth, a, moved, impulse = solution.island_smooth, solution.island_a, vectors_out[0], vectors_out[1]
    for i in range(a.shape[0]):
        moved[i] = h * (a[i] - smooth[i])
    times_mass(trees, island, moved, impulse)
    slope, bend = 0.0, 0.0
    for i in range(a.shape[0]):
        slope += impulse[i] * (v[i] + 0.5 * h * smooth[i])
        bend += 0.5 * impulse[i] * moved[i]
    return slope, bend


@kernel
def solve_body_rows(trees, free, memory, scratch, island_io, work_out, solution_out):
    """Rows of a large island: forces, and accelerations from the smooth ones, by columns.

    `island_io` has rows of the columns of their groups. free: 1 where all trees are free bodies. scratch:
    `WorkView` of the same width. O(contacts + bodies) memory.
    """
    counter, option, rows = solution_out.counter, solution_out.option, island_io.rows
    sweep, soft = work_out.sweep, _is_soft(island_io)
    if not soft or option[SLIP_SWEEPS] > 0.0 or (option[SWEPT] != 0.0 and free == 0):
        invert_masses(island_io.members, trees)
        _responses(trees, rows, sweep)
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
    blocks = work_out.blocks
    newton_work = BodyNewtonWork(
        work_out.vectors,
        scratch.slack,
        blocks.pair_block,
        scratch.cone_C,
        local,
        blocks.pair_body,
        work_out.factor,
        blocks.row_block,
    )
    swept = (option[SWEPT] != 0.0 and free == 0) or (free != 0 and not soft)
    method = BY_SWEEPS if swept else BY_NEWTON
    residual, method = _solve_within_energy(solve, soft, method, memory, newton_work, work_out, solution_out)
    counter[method] += 1
    record_residual(residual / option[GRAVITY], solution_out)


@kernel
def record_contact_forces(island_rows, solution, records_out):
    """Forces of contacts in their axes."""
    record_contacts(island_rows.rows, island_rows, solution.row_force, records_out.contact_force)


@kernel
def record_row_forces(trees, island_rows, solution, records_out):
    """Forces of rows, and generalized forces."""
    record_body_rows(
        trees, island_rows, solution.row_force, solution.column_dof, solution.counter, records_out
    )
