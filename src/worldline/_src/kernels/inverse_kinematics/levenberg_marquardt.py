# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by Levenberg and Marquardt's method within bounds, with restarts."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.configuration import integrate
from worldline._src.kernels.inverse_kinematics.least_squares import (
    add_normal_equations,
    leave_out,
    solve_cholesky,
)
from worldline._src.kernels.inverse_kinematics.rows import evaluate
from worldline._src.kernels.inverse_kinematics.tables import (
    COST,
    ERROR,
    ITERATIONS,
    LARGEST_STEP,
    NREQUIRED,
    RESTART_LIMIT,
    RESTARTS,
    SLOW_GAIN,
    SLOW_LIMIT,
    SOLVED,
    STEPS,
)
from worldline._src.scalar.ops import any_of, clamp, constant, maximum, minimum, nearest, where

_HUGE = 1e300
_SHRINK, _GROW = 0.2, 4.0
_LEAST, _MOST = 1e-6, 1e8
"""Range of the factor between damping and cost."""
_FLOOR = 1e-12
"""Least damping, as a share of the mean diagonal of J^T J: redundant mechanisms have no full rank."""


@inline
def _normal_equations(problem, better, work_io):
    """A = J^T J, its upper triangle, and g = J^T r where the trial is better, unchanged elsewhere."""
    A, g = work_io.A, work_io.g
    zero = constant(0.0, g[0])
    n = A.shape[0]
    for i in range(n):
        g[i] = where(better, zero, g[i])
        for j in range(i, n):
            A[i, j] = where(better, zero, A[i, j])
    add_normal_equations(problem, better, work_io)


@inline
def _blocked(problem, j, q_kept, g):
    """Whether a column is at a bound and descent leads out."""
    c = problem.coordinate[j]
    q = q_kept[c]
    return ((q <= problem.low[j]) & (g > 0.0)) | ((q >= problem.high[j]) & (g < 0.0))


@inline
def _damped_step(problem, damping, work_io):
    """step = -(A + damping I)^-1 g over the columns that no bound blocks, by Cholesky's method."""
    A, g, L, step = work_io.A, work_io.g, work_io.L, work_io.step
    n = A.shape[0]
    one = constant(1.0, damping)
    zero = constant(0.0, damping)
    for i in range(n):
        step[i] = -g[i]
        for j in range(i, n):
            L[i, j] = A[i, j]
        L[i, i] = L[i, i] + damping
    for i in range(n):
        if problem.coordinate[i] >= 0:
            blocked = _blocked(problem, i, work_io.q_kept, g[i])
            if any_of(blocked):
                leave_out(i, blocked, one, zero, L, step)
    solve_cholesky(1e-3 * damping, L, step)


@inline
def _move(mechanism, problem, limit, work_io):
    """q = q_kept moved by the step, no column by more than `limit`, and into the bounds."""
    step, move, q = work_io.step, work_io.move, work_io.q
    largest = constant(0.0, limit)
    for j in range(step.shape[0]):
        largest = maximum(largest, maximum(step[j], -step[j]) * problem.scale[j])
    share = minimum(constant(1.0, limit), limit / maximum(largest, constant(1e-300, limit)))
    for d in range(move.shape[0]):
        move[d] = constant(0.0, limit)
    for j in range(step.shape[0]):
        move[problem.velocity[j]] = share * step[j] * problem.scale[j]
    integrate(mechanism.tree, work_io.q_kept, move, 1.0, q)
    _into_bounds(problem, work_io)


@inline
def _into_bounds(problem, work_io):
    q = work_io.q
    for j in range(problem.coordinate.shape[0]):
        c = problem.coordinate[j]
        if c >= 0:
            q[c] = clamp(q[c], problem.low[j], problem.high[j])


@inline
def _start_anew(mechanism, problem, again, work_io):
    """Where `again` holds, q is another start: the next point of an additive recurrence modulo 1."""
    q, u, move, fresh = work_io.q, work_io.u, work_io.move, work_io.scratch
    for d in range(move.shape[0]):
        move[d] = constant(0.0, q[0])
    for j in range(u.shape[0]):
        # x - nearest(x) is between -1/2 and 1/2
        x = u[j] + problem.stride[j]
        u[j] = where(again, x - nearest(x), u[j])
        move[problem.velocity[j]] = u[j] * problem.span[j]
    # orientations and free positions start around the given ones
    integrate(mechanism.tree, problem.start, move, 1.0, fresh)
    for j in range(u.shape[0]):
        c = problem.coordinate[j]
        if c >= 0:
            fresh[c] = problem.middle[j] + u[j] * problem.span[j]
    for c in range(q.shape[0]):
        q[c] = where(again, fresh[c], q[c])


@kernel
def levenberg_marquardt(mechanism, problem, best_out, work_io):
    """Minimize half the sum of squared residuals within bounds [Levenberg 1944; Sugihara 2011], with
    restarts.

    The damping follows the cost, so that convergence is quadratic where all tasks can be met; columns at a
    bound that descent leads out of are fixed (projected Levenberg-Marquardt). Where progress is slow the
    search starts anew from the next point of a sequence that fills the range of the joints. The best
    coordinates found and their report go to best_out: coordinates, cost, largest squared ratio of error to
    tolerance, iterations, restarts, 1 when solved.
    """
    q, q_kept, sums = work_io.q, work_io.q_kept, work_io.scratch
    nq = q.shape[0]
    zero = constant(0.0, q[0])
    one = constant(1.0, q[0])
    for c in range(nq):
        q[c] = problem.start[c]
        q_kept[c] = problem.start[c]
        best_out[c] = problem.start[c]
    for j in range(problem.seed.shape[0]):
        work_io.u[j] = problem.seed[j]
        work_io.g[j] = zero
        work_io.step[j] = zero
        for i in range(problem.seed.shape[0]):
            work_io.A[i, j] = zero
    _into_bounds(problem, work_io)

    kept, best, error = constant(_HUGE, zero), constant(_HUGE, zero), constant(_HUGE, zero)
    factor, slow, solved, over, steps, restarts = one, zero, zero, zero, zero, zero
    for _ in range(problem.header[ITERATIONS]):
        evaluate(mechanism, problem, work_io)
        cost, worst = sums[0], sums[1]
        open_ = over < 0.5
        steps = where(open_, steps + 1.0, steps)

        # accept what lowers the cost; remember the best of all starts
        better = cost < kept
        gains = better & (kept - cost > problem.option[SLOW_GAIN] * kept)
        slow = where(gains, zero, slow + 1.0)
        factor = where(better, maximum(factor * _SHRINK, constant(_LEAST, one)), factor * _GROW)
        record = (cost < best) & open_
        if any_of(record):
            for c in range(nq):
                best_out[c] = where(record, q[c], best_out[c])
            best, error = where(record, cost, best), where(record, worst, error)
        if any_of(better):
            for c in range(nq):
                q_kept[c] = where(better, q[c], q_kept[c])
            _normal_equations(problem, better, work_io)
            kept = where(better, cost, kept)
        if problem.header[NREQUIRED] > 0:
            solved = where(error <= 1.0, one, solved)
        # this problem is over when it is solved, or no start is left; a lane waits for the others
        again = (slow > problem.option[SLOW_LIMIT]) | (factor > _MOST)
        over = maximum(over, solved)
        over = where(again & (restarts >= problem.option[RESTART_LIMIT]), one, over)
        if not any_of(over < 0.5):
            break

        # a damped step from the accepted point, or another start
        mean = zero
        for j in range(problem.seed.shape[0]):
            mean = mean + work_io.A[j, j]
        mean = mean / (1.0 * problem.seed.shape[0])
        damping = factor * 2.0 * kept + _FLOOR * mean + 1e-30
        _damped_step(problem, damping, work_io)
        _move(mechanism, problem, problem.option[LARGEST_STEP], work_io)
        if any_of(again):
            _start_anew(mechanism, problem, again, work_io)
            kept = where(again, constant(_HUGE, one), kept)
            factor, slow = where(again, one, factor), where(again, zero, slow)
            restarts = where(again & (over < 0.5), restarts + 1.0, restarts)

    best_out[nq + COST] = best
    best_out[nq + ERROR] = error
    best_out[nq + STEPS] = steps
    best_out[nq + RESTARTS] = restarts
    best_out[nq + SOLVED] = solved
