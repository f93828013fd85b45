# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sequential impulses over the rows of one island: projected Gauss-Seidel in generalized coordinates.

The method of `dual_pgs.py` for islands that are not free bodies alone, or whose contacts have more than
sliding friction: with A = J M^-1 J^T + R and c = J a_smooth - aref, rows are visited in turn and each force
is set to what its row asks for within its bounds. It solves the problem that Newton's method solves, contacts
of Coulomb's law without the dilation of the convex cone.

Where sweeps stand in for Newton's method, conjugate directions between them bring stiff islands further.
Sweeps that do not end are damped; contacts that friction locks against each other are regularized more; see
`jams.py`. Where damped sweeps over Coulomb's law go round in a cycle too, turns of convex sweeps and De Saxce
corrections end; see `body_turns.py`.

A negative number of sweeps is a bound: no more are made, solved or not.

Contacts start from the forces of the last step unless every solve starts from zero; other rows start from
zero.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_turns import ALL_MORE, NEARER, TURN_MORE, TURNS
from worldline._src.kernels.constraints.boxed import factor_mass, solve_mass
from worldline._src.kernels.constraints.dual_pgs import (
    DualRows,
    DualWork,
    add_row_force,
    damp_cones,
    prepare_rows,
    sweep_rows,
)
from worldline._src.kernels.constraints.jacobians import hide_prescribed, part_velocity
from worldline._src.kernels.constraints.jams import DAMPED_MORE, DAMPING, SOFT, SOFT_MORE, SOFTER
from worldline._src.kernels.constraints.rows import CONE, next_row
from worldline._src.kernels.constraints.solve import (
    record_contacts,
    record_residual,
    record_rows,
)
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    COLD,
    CONTACT_END,
    CONTACT_FIRST,
    GRAVITY,
    ITERATIONS,
    OF_CONTACT,
    RESIDUAL_BOUND,
    ROWS,
    SWEEPS,
    SWEPT,
)
from worldline._src.kernels.lcp.problem import INFINITY
from worldline._src.scalar.ops import sqrt

TOLERANCE = 1e-7
"""Sweeps end when no acceleration along a row changes by more than this share of gravity."""
MORE = 50
"""Most sweeps, as a multiple of those that are asked for, of an island whose residual is above its bound,"""
STAND_IN_MORE = 20
"""and where sweeps stand in for another method: rows that contradict each other are not solved by more."""
STALL = 4
"""Sweeps in which changes should halve where sweeps stand in, as a multiple of those that are asked for,"""
LAST_MORE, LAST_STALL = 100, 20
"""and both for contacts that are no jam: they stay hard, and are swept on."""

# rows of `sweep_row` and of `sweep_dual`
FIRST, END, LIFTED = range(3)
R, DIAGONAL, STEP_LENGTH = range(3)


@inline
def _responses(rows, n, M, work_out, sweep_out):
    """K = J M^-1 row by row, and the regularizers."""
    nv, p = M.shape[0], work_out.vectors[3]
    factor_mass(M, work_out)
    for k in range(n):
        for j in range(rows.J.shape[1]):
            p[j] = rows.J[k, j]
        solve_mass(work_out, nv)
        # trees that a row does not touch have no part in it
        first, end = nv, 0
        for j in range(nv):
            sweep_out.sweep_K[k, j] = p[j]
            if p[j] != 0.0 or rows.J[k, j] != 0.0:
                first, end = min(first, j), j + 1
        sweep_out.sweep_dual[R, k] = 1.0 / rows.D[k]
        sweep_out.sweep_row[FIRST, k], sweep_out.sweep_row[END, k] = first, max(first, end)
        sweep_out.sweep_row[LIFTED, k] = 0


@inline
def _guess_contact(rows, frames, k, last, force_out):
    """Forces of the rows of contact `k` from its force in the last step, by axes."""
    first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
    if condim == 1 or rows.kind[first] == CONE:
        for j in range(condim):
            force_out[first + j] = last[j]
    else:
        # two opposite edges of a pyramid: their sum is a share of the normal force, mu times their difference
        # the friction
        share = last[0] / (condim - 1)
        for j in range(1, condim):
            mu = frames.mu[k, j - 1]
            side = last[j] / mu if mu > 0.0 else 0.0
            force_out[first + 2 * j - 2] = max(0.5 * (share + side), 0.0)
            force_out[first + 2 * j - 1] = max(0.5 * (share - side), 0.0)


@inline
def guess_forces(rows, island_rows, memory, cold, sweep_out, force_out):
    """Guesses of all forces, and which contacts obey Coulomb's law."""
    frames, island = island_rows.frames, island_rows.members
    for k in range(island.counter[ROWS]):
        force_out[k] = 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first = frames.contact_row[k, 0]
        if first >= 0:
            if frames.de_saxce[k] >= 0.0:
                sweep_out.sweep_row[LIFTED, first] = 1
            match = memory.contact_match[k]
            if match >= 0 and not cold:
                _guess_contact(rows, frames, k, memory.last_force[match], force_out)


@inline
def _go_on(problem, n, diagonal, last, before_io, direction_io, force_io, a_io):
    """Forces go on along the conjugate direction of the last sweep, before_io the forces it began with.

    See `body_ncg.py`; with r of the sweep in the measure of the diagonal, beta = r D r / last. Returns r D r.
    """
    square = 0.0
    for k in range(n):
        r = force_io[k] - before_io[k]
        square += diagonal[k] * r * r
    beta = square / last if square < last else 0.0
    for k in range(n):
        r = force_io[k] - before_io[k]
        further = beta * direction_io[k] if beta > 0.0 else 0.0
        direction_io[k] = r + further
        if further != 0.0:
            force_io[k] += further
            add_row_force(problem, k, further, a_io)
    return square


@kernel
def _sweep(problem, n, limits, scale, work, scratch, force_io, a_io):
    """Sweep over all rows until they are solved.

    limits: sweeps to make at least, unless nothing moves any more, and at most; sweeps in which changes
    should halve; whether forces go on along conjugate directions. scale: gravity, and the change that counts
    as solved [m/s^2]. Returns the largest change in the last sweep [m/s^2], and how many were made.
    """
    least, most, stall, conjugate = limits
    gravity, bound = scale
    before, direction = scratch
    taken, moved, last, half, at = 0, 0.0, 0.0, INFINITY, 0
    while taken < most and not taken - at > stall:
        for k in range(n):
            before[k] = force_io[k]
        moved = sweep_rows(problem, n, 0.0, work, force_io, a_io)
        taken += 1
        if moved <= TOLERANCE * gravity or (taken >= least and moved <= bound):
            break
        if moved <= half:
            half, at = 0.5 * moved, taken
        # the last forces are those of a sweep: along a direction they may be outside their cones
        if conjugate and taken < most and not taken - at > stall:
            last = _go_on(problem, n, work.diagonal, last, before, direction, force_io, a_io)
    return moved, taken


@inline
def _correct(problem, n, a, correction_io):
    """Targets of contacts follow their slip; returns the largest change [m/s^2].

    correction_io: De Saxce corrections by the first row of a contact, -1 in the other rows.
    """
    off = 0.0
    for k in range(n):
        if correction_io[k] >= 0.0:
            total = 0.0
            for j in range(k + 1, k + problem.dim[k]):
                slack = part_velocity(problem.J, j, a, problem.first[j], problem.end[j]) - problem.aref[j]
                total += (problem.bound[j] * slack) ** 2
            # s = |mu w_t|
            change = sqrt(total) - correction_io[k]
            off = max(off, abs(change))
            problem.aref[k] -= change
            correction_io[k] += change
    return off


@inline
def _by_turns(problem, n, most, scale, smooth, work, correction, kept, scratch, force_io, a_io):
    """Forces by turns of convex sweeps and De Saxce corrections; those there were where turns do not end.

    most: sweeps that are asked for. scale: as of `_sweep`. correction, kept: scratch, (rows,). Returns the
    largest of what the last sweep changed and what the corrections of the last turn were off [m/s^2], and the
    number of sweeps.
    """
    gravity, bound = scale
    for k in range(n):
        kept[k], correction[k] = force_io[k], 0.0 if problem.coulomb[k] > 0 else -1.0
        problem.coulomb[k] = 0
    _correct(problem, n, a_io, correction)
    prepare_rows(problem, n, work)
    moved, off, enough, taken = INFINITY, INFINITY, bound, 0
    for _ in range(TURNS):
        limits = 0, TURN_MORE * most, INFINITY, True
        moved, more = _sweep(problem, n, limits, (gravity, enough), work, scratch, force_io, a_io)
        taken += more
        off = _correct(problem, n, a_io, correction)
        if max(off, moved) <= bound or taken > ALL_MORE * most:
            break
        enough = min(max(NEARER * off, NEARER * bound), bound)
    # targets and the law as they were
    for k in range(n):
        if correction[k] >= 0.0:
            problem.aref[k] += correction[k]
            problem.coulomb[k] = 1
    if not max(off, moved) <= bound:
        for j in range(a_io.shape[0]):
            a_io[j] = smooth[j]
        for k in range(n):
            force_io[k] = kept[k]
            add_row_force(problem, k, force_io[k], a_io)
    return max(off, moved), taken


@inline
def _soften(rows_io, notes, n, share, problem_io, work_io):
    """Raise the regularizers of contacts to a share of the inverse inertia of their normals."""
    k = 0
    while k < n:
        end = next_row(rows_io, k)
        if notes.row_note[k, 0] == OF_CONTACT:
            least = share * (work_io.diagonal[k] - problem_io.R[k])
            for j in range(k, end):
                problem_io.R[j] = max(problem_io.R[j], least)
                rows_io.D[j] = 1.0 / problem_io.R[j]
        k = end
    prepare_rows(problem_io, n, work_io)


@inline
def _most_given(problem, notes, n, force):
    """The most that a regularizer takes off the acceleration of a contact [m/s^2]."""
    most = 0.0
    for k in range(n):
        if notes.row_note[k, 0] == OF_CONTACT:
            most = max(most, problem.R[k] * abs(force[k]))
    return most


@kernel
def solve_swept(chain, prescribed, memory, island_io, work_out, sweep_out, solution_out, records_out):
    """Accelerations of an island that satisfy its rows, by projected Gauss-Seidel; see `dual_pgs.py`.

    `solution_out` has the smooth accelerations in `island_smooth` and gets those with forces in `island_a`.
    O(rows columns) a sweep, O(rows columns^2) to prepare.
    """
    counter, option, rows = solution_out.counter, solution_out.option, island_io.rows
    n, gravity = counter[ROWS], option[GRAVITY]
    smooth, a, force = solution_out.island_smooth, solution_out.island_a, solution_out.row_force
    hide_prescribed(solution_out.column_dof[: a.shape[0]], chain.dof_mobile, prescribed, n, rows.J, rows.aref)
    _responses(rows, n, solution_out.M, work_out, sweep_out)
    guess_forces(rows, island_io, memory, option[COLD] != 0.0, sweep_out, force)

    problem = DualRows(
        rows.J,
        sweep_out.sweep_K,
        sweep_out.sweep_row[FIRST],
        sweep_out.sweep_row[END],
        rows.aref,
        sweep_out.sweep_dual[R],
        rows.bound,
        island_io.notes.row_active,
        rows.kind,
        rows.dim,
        sweep_out.sweep_row[LIFTED],
    )
    work = DualWork(
        sweep_out.sweep_dual[DIAGONAL],
        sweep_out.sweep_dual[STEP_LENGTH],
        sweep_out.sweep_block,
        sweep_out.dual_local,
    )

    # a = a_smooth + K^T f, then sweeps
    prepare_rows(problem, n, work)
    for j in range(a.shape[0]):
        a[j] = smooth[j]
    for k in range(n):
        add_row_force(problem, k, force[k], a)
    most, stands_in, bound = int(option[SWEEPS]), option[SWEPT] == 0.0, option[RESIDUAL_BOUND] * gravity
    scratch, bounded = (work_out.slack[2], work_out.slack[3]), most < 0
    limit = -most if bounded else (STAND_IN_MORE if stands_in else MORE) * most
    stall = float(STALL * most) if stands_in and not bounded else INFINITY
    limits = max(most, 0), limit, stall, stands_in
    moved, taken = _sweep(problem, n, limits, (gravity, bound), work, scratch, force, a)
    hard, jammed, (kept_force, kept_R) = moved, not (bounded or moved <= bound), scratch
    for k in range(n):
        kept_force[k], kept_R[k] = force[k], problem.R[k]
    for attempt in range(3):
        if jammed and not moved <= bound:
            if attempt == 0:
                damp_cones(problem, n, DAMPING, work)
            else:
                share = SOFT if attempt == 1 else SOFTER
                _soften(rows, island_io.notes, n, share, problem, work)
            for k in range(n):
                force[k] = 0.0
            for j in range(a.shape[0]):
                a[j] = smooth[j]
            limit = taken + (DAMPED_MORE if attempt == 0 else SOFT_MORE) * most
            while taken < limit and not moved <= bound:
                moved = sweep_rows(problem, n, 0.0, work, force, a)
                taken += 1
            if attempt == 0:
                prepare_rows(problem, n, work)
    # hard contacts where they miss less than those that give way
    if jammed and _most_given(problem, island_io.notes, n, force) > max(gravity, hard):
        for j in range(a.shape[0]):
            a[j] = smooth[j]
        for k in range(n):
            force[k], problem.R[k], rows.D[k] = kept_force[k], kept_R[k], 1.0 / kept_R[k]
            add_row_force(problem, k, force[k], a)
        prepare_rows(problem, n, work)
        limits = 0, LAST_MORE * most, float(LAST_STALL * most), True
        moved, more = _sweep(problem, n, limits, (gravity, bound), work, scratch, force, a)
        taken += more
    base = counter[ALL_ROWS]
    if not (bounded or moved <= bound) and base + n <= records_out.missed.shape[0]:
        # the record of these rows is written after the solve
        kept = records_out.missed[base : base + n]
        turned, more = _by_turns(
            problem, n, most, (gravity, bound), smooth, work, work_out.slack[0], kept, scratch, force, a
        )
        moved = turned if turned <= bound else moved
        taken += more
    counter[ITERATIONS] = max(counter[ITERATIONS], taken)
    record_residual(moved / gravity, solution_out)
    record_rows(rows, solution_out, island_io.notes, work_out.vectors[7], records_out)
    record_contacts(rows, island_io, force, records_out.contact_force)
