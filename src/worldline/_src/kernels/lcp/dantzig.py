# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dantzig's principal pivoting for boxed problems with friction index.

Rows are settled one after another: the variable of a new row is driven until its slack vanishes or it
meets a bound, while all settled rows keep their conditions. The tableau is the principal pivot transform
of A, so that a change of the free set is one rank-one update.

Friction bounds need the normal forces they limit. A first sweep takes the normal force as it is when the
friction row comes up; then the system of the active set is solved with sliding rows tied to their normal
rows, which is exact once the set is right; if it is not, sweeps go on with the new bounds.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.lcp.active_set import solve_active
from worldline._src.kernels.lcp.problem import (
    AT_HIGH,
    AT_LOW,
    FREE,
    INFINITY,
    LIMIT_REACHED,
    RAY,
    SINGULAR,
    SOLVED,
    UNDECIDED,
    bounds_of,
    clamped,
    natural_residual,
    place,
    slack,
)

SWEEPS = 30
"""Most sweeps over friction bounds; problems without friction need one."""


@inline
def exchange(T_io, k):
    """Swap the roles of x_k and w_k in the tableau; doing it twice changes nothing."""
    pivot = T_io[k]
    inverse = 1.0 / pivot[k]
    for i in range(T_io.shape[0]):
        # rows as arrays of their own: the compiler then sees that they do not overlap, and vectorises
        target = T_io[i]
        factor = target[k] * inverse
        if i != k and factor != 0.0:
            for j in range(pivot.shape[0]):
                target[j] -= factor * pivot[j]
            target[k] = factor
    for j in range(pivot.shape[0]):
        pivot[j] *= -inverse
    pivot[k] = inverse


@inline
def _first_event(T, state, low, high, x, w, i, toward, tiny):
    """How far x_i can move in the direction `toward`, and the row that stops it.

    The row is `i` itself when its slack vanishes or it meets its bound, -1 when nothing stops it.
    """
    room = high[i] - x[i] if toward > 0.0 else x[i] - low[i]
    step = room
    blocker = i if room < INFINITY else -1
    if T[i, i] > tiny:
        reach = abs(w[i]) / T[i, i]
        if reach < step:
            step = reach
            blocker = i
    for k in range(x.shape[0]):
        rate = T[k, i] * toward
        if k == i or state[k] == UNDECIDED or abs(rate) <= tiny:
            continue
        if state[k] == FREE:
            reach = (high[k] - x[k]) / rate if rate > 0.0 else (low[k] - x[k]) / rate
        elif low[k] == high[k] or (state[k] == AT_LOW) == (rate > 0.0):
            continue
        else:
            reach = -w[k] / rate
        if reach < step:
            step = max(reach, 0.0)
            blocker = k
    return step, blocker


@inline
def _settle(T_io, state_io, low, high, x_io, w_io, i, tiny, budget):
    """Drive row `i` to its condition, pivoting as settled rows get in the way. Returns (code, pivots)."""
    n = x_io.shape[0]
    for used in range(budget):
        if w_io[i] >= 0.0 and x_io[i] <= low[i]:
            state_io[i] = AT_LOW
            return SOLVED, used
        if w_io[i] <= 0.0 and x_io[i] >= high[i]:
            state_io[i] = AT_HIGH
            return SOLVED, used
        if abs(w_io[i]) <= tiny and T_io[i, i] <= tiny:
            # nothing to drive and nothing to pivot on: a redundant row, content where it is
            state_io[i] = UNDECIDED
            return SOLVED, used
        toward = 1.0 if w_io[i] < 0.0 else -1.0
        step, blocker = _first_event(T_io, state_io, low, high, x_io, w_io, i, toward, tiny)
        if blocker < 0:
            return RAY, used

        # move
        for k in range(n):
            change = T_io[k, i] * (toward * step)
            if state_io[k] == FREE:
                x_io[k] += change
            else:
                w_io[k] += change
        x_io[i] += toward * step

        # one row changes sides
        if blocker == i:
            if x_io[i] >= high[i] and toward > 0.0:
                x_io[i] = high[i]
                state_io[i] = AT_HIGH
            elif x_io[i] <= low[i] and toward < 0.0:
                x_io[i] = low[i]
                state_io[i] = AT_LOW
            else:
                w_io[i] = 0.0
                state_io[i] = FREE
                exchange(T_io, i)
            return SOLVED, used + 1
        if not abs(T_io[blocker, blocker]) > tiny:
            return SINGULAR, used
        if state_io[blocker] == FREE:
            rising = T_io[blocker, i] * toward > 0.0
            x_io[blocker] = high[blocker] if rising else low[blocker]
            state_io[blocker] = AT_HIGH if rising else AT_LOW
        else:
            state_io[blocker] = FREE
        w_io[blocker] = 0.0
        exchange(T_io, blocker)
    return LIMIT_REACHED, budget


@inline
def _sweep(problem, blend, tiny, budget, T_out, state_out, low_io, high_io, x_io, w_out):
    """Settle every row once: unbounded rows, then plain rows, then friction rows.

    Friction bounds move by `blend` to what x asks for; in the first sweep, blend = 0, they are taken when
    their row comes up.
    """
    A = problem.A
    first = blend == 0.0
    n = x_io.shape[0]
    pivots = 0
    for i in range(n):
        state_out[i] = UNDECIDED
        for j in range(n):
            T_out[i, j] = A[i, j]
        if problem.findex[i] < 0:
            low_io[i], high_io[i] = problem.lo[i], problem.hi[i]
        elif not first:
            low, high = bounds_of(problem, x_io, i)
            low_io[i] += blend * (low - low_io[i])
            high_io[i] += blend * (high - high_io[i])
    slack(problem, x_io, w_out)

    for group in range(3):
        for i in range(n):
            unbounded = problem.lo[i] == -INFINITY and problem.hi[i] == INFINITY
            mine = 2 if problem.findex[i] >= 0 else (0 if unbounded else 1)
            if mine != group:
                continue
            if first and group == 2:
                low_io[i], high_io[i] = bounds_of(problem, x_io, i)
            before = x_io[i]
            x_io[i] = clamped(before, low_io[i], high_io[i])
            if x_io[i] != before:
                for k in range(n):
                    change = T_out[k, i] * (x_io[i] - before)
                    if state_out[k] == FREE:
                        x_io[k] += change
                    else:
                        w_out[k] += change
            code, used = _settle(T_out, state_out, low_io, high_io, x_io, w_out, i, tiny, budget - pivots)
            pivots += used
            if code != SOLVED:
                return code, pivots
    return SOLVED, pivots


@inline
def _keep_best(problem, x, lowest, w_out, best_io):
    """The residual of x and the lowest so far; x is kept where its residual is that."""
    slack(problem, x, w_out)
    error = natural_residual(problem, x, w_out)
    if error < lowest:
        lowest = error
        for i in range(x.shape[0]):
            best_io[i] = x[i]
    return error, lowest


@kernel
def dantzig(problem, tolerance, max_iterations, work_out, state_out, x_io):
    """Solve the boxed problem from the guess in x [Cottle, Dantzig 1968; Baraff 1994].

    Ends for every P-matrix and every symmetric positive semidefinite matrix without friction rows; with
    them it ends or says so. `work_out` is (n + 5, n): tableau, then bounds, slacks and candidates.
    Returns (code, pivots). O(n^2) a pivot.
    """
    n = x_io.shape[0]
    T = work_out[:n]
    low, high, w = work_out[n], work_out[n + 1], work_out[n + 2]
    best, candidate = work_out[n + 3], work_out[n + 4]
    largest = 0.0
    has_friction = False
    for i in range(n):
        largest = max(largest, abs(problem.A[i, i]))
        has_friction = has_friction or problem.findex[i] >= 0
    tiny = 1e-11 * largest

    place(problem, x_io)
    pivots = 0
    code = LIMIT_REACHED
    lowest = INFINITY
    for sweep in range(SWEEPS if has_friction else 1):
        # full steps first; they can alternate between two sets for ever, half steps settle
        blend = 0.0 if sweep == 0 else (1.0 if sweep < 6 else 0.5)
        code, used = _sweep(problem, blend, tiny, max_iterations - pivots, T, state_out, low, high, x_io, w)
        pivots += used
        error, lowest = _keep_best(problem, x_io, lowest, w, best)

        # exact numbers for the set of active bounds that was found
        if code == SOLVED and not error <= 1e-3 * tolerance:
            for i in range(n):
                # a redundant row stays where it is
                if state_out[i] == UNDECIDED:
                    state_out[i] = FREE
            if solve_active(problem, state_out, x_io, T, candidate):
                _, lowest = _keep_best(problem, candidate, lowest, w, best)
        if lowest <= tolerance or pivots >= max_iterations or code != SOLVED:
            break
    for i in range(n):
        x_io[i] = best[i]
    return code, pivots
