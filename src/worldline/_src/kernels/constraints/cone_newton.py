# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for plain rows and elliptic cones of several worlds at once, with a line search.

What `newton.py` does for one world, generic over the scalar, over rows that are packed world by world
(`packed_rows.py`). The minimum of

    (a - a_smooth)^T M (a - a_smooth) / 2 + sum of the potentials s(J a - aref)

is found from a = a_smooth + M^-1 J^T f with the forces f of the last step. A sliding cone, whose potential is
D_m (N - mu T)^2 / 2 (`cone.py`), brings J^T C J to the Hessian, and C is a sum of squares: with
u = S r_t / T, S the diagonal of the coefficients mu_j,

    C = D_m g g^T + bend S (I - u u^T) S,    g = (mu, -mu S u),    bend = -mu D_m (N - mu T) / T >= 0,

and I - u u^T is its own square. So a sliding cone is as many weighted rows as it has directions, combinations
of its own, and the Hessian is a sum over weighted rows as for all others.

A world that has converged keeps its state while others go on. It has converged when no degree of freedom is
out of balance by more than a tolerance, |gradient_i| <= tolerance M_ii, or when a step changes no
acceleration by more. In single precision stiff rows round to an imbalance far above the tolerance, and the
tolerance of changes is a share of the largest acceleration.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.active_sets import row_piece
from worldline._src.kernels.constraints.packed_rows import PLAIN, SIXES, THREES
from worldline._src.kernels.constraints.projections import TINY
from worldline._src.kernels.constraints.sparse_hessian import (
    add_row_forces,
    add_weighted_rows,
    factor_solve,
    find_pattern,
    mass_times,
    row_slacks,
    start_hessian,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, any_of, constant, is_single, maximum, sqrt, where

ITERATIONS = 20
"""Most Newton steps."""
LINE_STEPS = 60
"""Most evaluations of a line search."""
LINE_TOLERANCE = 0.01
"""Slope that a line search leaves, as a share of that at its start."""
ROUNDING_SINGLE = 1e-5
"""Change of accelerations that is rounding in single precision, as a share of the largest one."""
ROUGH = 1e6
"""Imbalance over the tolerance up to which a step that changes nothing is the last one."""


class ConeWork(NamedTuple):
    """Scratch: H (nv, nv), G (capacity, width), vectors (6 or more, nv), slack, change and weight
    (capacity,)."""

    H: Any
    G: Any
    vectors: Any
    slack: Any
    change: Any
    weight: Any


class ConeProblem(NamedTuple):
    """Mass matrix, room for the pattern of H, M^-1 J^T force of the guess, tolerance [m/s^2]."""

    M: Any
    pattern: Any
    respond: Any
    tolerance: Any


class _Cone(NamedTuple):
    """A cone at some slacks: 1 where it sticks or slides, else 0; N - mu T, 1 / T, D_m, mu; see `cone.py`."""

    sticks: Any
    slides: Any
    gap: Any
    over_T: Any
    Dm: Any
    mu: Any


@inline
def kind_of_cones(ends, g):
    """First row, end and rows a cone of the packed cones of kind `g`, 0 to 2."""
    return ends[PLAIN + g], ends[THREES + g], 3 + g + g // 2


@inline
def _cone_at(rows, k, dim, slack, change, step):
    """A cone at the slacks `slack + step change`."""
    mu = rows.low[k]
    N, squared = mu * (slack[k] + step * change[k]), constant(0.0, mu)
    for j in range(k + 1, k + dim):
        u = rows.low[j] * (slack[j] + step * change[j])
        squared = squared + u * u
    T = sqrt(squared)
    one, zero = constant(1.0, mu), constant(0.0, mu)
    is_open = N >= mu * T
    sticks = where(is_open, zero, where(mu * N + T <= 0.0, one, zero))
    slides = where(is_open, zero, one - sticks)
    return _Cone(sticks, slides, N - mu * T, 1.0 / maximum(T, constant(TINY, mu)), rows.high[k], mu)


@inline
def _forces(rows, work_io):
    """Forces of all rows at the present slacks, and weights of plain ones."""
    ends, slack, force = rows.end, work_io.slack, rows.force
    for k in range(ends[PLAIN]):
        spring = -(rows.D[k] * slack[k])
        weight, fixed_force = row_piece(rows, k, spring)
        work_io.weight[k] = weight
        force[k] = where(weight > 0.0, spring, fixed_force)
    for g in range(3):
        first, end, dim = kind_of_cones(ends, g)
        for k in range(first, end, dim):
            cone = _cone_at(rows, k, dim, slack, slack, 0.0)
            sticks, slides = cone.sticks > 0.5, cone.slides > 0.5
            zero, pull = constant(0.0, cone.mu), cone.Dm * cone.gap * cone.mu
            force[k] = where(sticks, -(rows.D[k] * slack[k]), where(slides, -pull, zero))
            pull = pull * cone.over_T
            for j in range(k + 1, k + dim):
                along = pull * rows.low[j] * rows.low[j] * slack[j]
                force[j] = where(sticks, -(rows.D[j] * slack[j]), where(slides, along, zero))


@inline
def _weigh_cone(rows, k, dim, work_out):
    """Weighted rows of the Hessian of a cone; see the module. Its directions of slip stay in `change`."""
    J, G, weight, slip = rows.J, work_out.G, work_out.weight, work_out.change
    cone = _cone_at(rows, k, dim, work_out.slack, work_out.slack, 0.0)
    sticks, slides = cone.sticks > 0.5, cone.slides > 0.5
    zero = constant(0.0, cone.mu)
    bend = -(cone.gap * cone.mu * cone.Dm * cone.over_T)
    weight[k] = where(sticks, rows.D[k], where(slides, cone.Dm, zero))
    for j in range(k + 1, k + dim):
        weight[j] = where(sticks, rows.D[j], where(slides, bend, zero))
        slip[j] = rows.low[j] * work_out.slack[j] * cone.over_T
    if any_of(slides):
        for e in range(rows.count[k]):
            d = rows.column[k, e]
            along = zero
            for j in range(k + 1, k + dim):
                along = along + slip[j] * rows.low[j] * J[j, d]
            G[k, d] = where(slides, cone.mu * J[k, d] - cone.mu * along, J[k, d])
            for j in range(k + 1, k + dim):
                G[j, d] = where(slides, rows.low[j] * J[j, d] - slip[j] * along, J[j, d])


@inline
def _hessian(rows, n, M, pattern, work_io):
    """H at the present slacks."""
    ends = rows.end
    for k in range(ends[PLAIN], n):
        work_io.weight[k] = constant(0.0, work_io.slack[0])
        for d in range(M.shape[0]):
            work_io.G[k, d] = rows.J[k, d]
    for g in range(3):
        first, end, dim = kind_of_cones(ends, g)
        for k in range(first, end, dim):
            _weigh_cone(rows, k, dim, work_io)
    start_hessian(M, pattern, work_io.H)
    add_weighted_rows(work_io.G, rows, work_io.weight, n, work_io.H)


@inline
def _cone_slopes(rows, k, dim, slack, change, step):
    """First and second derivative of the cost of a cone along the step."""
    cone = _cone_at(rows, k, dim, slack, change, step)
    sticks, slides = cone.sticks > 0.5, cone.slides > 0.5
    cross, speed = constant(0.0, cone.mu), constant(0.0, cone.mu)
    stiff = rows.D[k] * change[k]
    spring, stiff = stiff * (slack[k] + step * change[k]), stiff * change[k]
    for j in range(k + 1, k + dim):
        now = slack[j] + step * change[j]
        pull = rows.D[j] * change[j]
        spring, stiff = spring + pull * now, stiff + pull * change[j]
        du = rows.low[j] * change[j]
        cross, speed = cross + rows.low[j] * now * du, speed + du * du
    T1 = cross * cone.over_T
    T2 = (speed - T1 * T1) * cone.over_T
    gap1 = cone.mu * change[k] - cone.mu * T1
    first, second = cone.Dm * cone.gap * gap1, cone.Dm * (gap1 * gap1 - cone.gap * cone.mu * T2)
    zero = constant(0.0, cone.mu)
    return where(sticks, spring, where(slides, first, zero)), where(
        sticks, stiff, where(slides, second, zero)
    )


@inline
def _slopes(rows, work, slope, bend, step):
    """First and second derivative of the cost along the step; `slope` and `bend` are those of inertia."""
    slack, change, ends = work.slack, work.change, rows.end
    first, second = slope + step * bend, bend
    for k in range(ends[PLAIN]):
        spring = -(rows.D[k] * (slack[k] + step * change[k]))
        weight, fixed_force = row_piece(rows, k, spring)
        first = first - where(weight > 0.0, spring, fixed_force) * change[k]
        second = second + weight * change[k] * change[k]
    for g in range(3):
        begin, end, dim = kind_of_cones(ends, g)
        for k in range(begin, end, dim):
            x, y = _cone_slopes(rows, k, dim, slack, change, step)
            first, second = first + x, second + y
    return first, second


@inline
def _line_search(rows, work, slope, bend, solved):
    """The step to where the slope of the cost is zero; 0 in worlds that are solved or have no descent.

    Newton's method on the slope inside a bracket; where the bracket does not halve, its middle is next. Where
    the cost is steep in a narrow place the method would jump between its sides.
    """
    zero = constant(0.0, slope)
    step, low, high, best, start, done = zero, zero, zero, zero, zero, solved
    for turn in range(LINE_STEPS + 1):
        here, second = _slopes(rows, work, slope, bend, step)
        following = step - here * (1.0 / second)
        if turn == 0:
            start = here
            done = where(start < 0.0, done, constant(1.0, zero))
            step = where(done > 0.5, zero, following)
        else:
            good = absolute(here) <= -LINE_TOLERANCE * start
            best = where(done > 0.5, best, where(good | (here < 0.0), step, best))
            done = where(good, constant(1.0, zero), done)
            width = high - low
            low = where(here < 0.0, step, low)
            high = where(here < 0.0, high, step)
            unbounded = where(following <= low, 2.0 * low, following)
            stalls = (following <= low) | (following >= high) | ((width > 0.0) & (high - low > 0.5 * width))
            bounded = where(stalls, 0.5 * (low + high), following)
            step = where(done > 0.5, step, where(high > 0.0, bounded, unbounded))
        if not any_of(done < 0.5):
            break
    return best


@inline
def _dot(x, y):
    total = x[0] * y[0]
    for i in range(1, x.shape[0]):
        total = total + x[i] * y[i]
    return total


@kernel
def cone_newton(rows, n, problem, done, work_out, tries_out, a_io):
    """Forces and accelerations of `n` packed rows, from the guess in rows.force and the smooth ones in a_io.

    Forces become those of the last iterate, accelerations stay as they were in worlds that are not solved.
    Returns 1 where a world is solved, 0 where it is not. O((n + nv) w^2) an iteration, w columns of a row.
    """
    nv, M, pattern = a_io.shape[0], problem.M, problem.pattern
    respond, tolerance = problem.respond, problem.tolerance
    vectors, slack, change = work_out.vectors, work_out.slack, work_out.change
    delta, Ma, p = vectors[0][:nv], vectors[1][:nv], vectors[2][:nv]
    gradient, Mp = vectors[3][:nv], vectors[4][:nv]
    solved, taken = done, constant(0.0, a_io[0])
    for i in range(nv):
        delta[i] = respond[i]
        p[i] = a_io[i] + respond[i]
    mass_times(M, pattern.above, delta, Ma)
    row_slacks(rows, n, rows.aref, p, slack)
    find_pattern(rows, n, nv, pattern)
    for k in range(rows.end[PLAIN]):
        for d in range(nv):
            work_out.G[k, d] = rows.J[k, d]
    for turn in range(ITERATIONS + 1):
        _forces(rows, work_out)
        for i in range(nv):
            gradient[i] = Ma[i]
        add_row_forces(rows, rows.end[SIXES], rows.force, -1.0, gradient)
        worst = constant(0.0, taken)
        for i in range(nv):
            worst = maximum(worst, absolute(gradient[i]) * (1.0 / M[i, i]))
            p[i] = -gradient[i]
        solved = where(worst <= tolerance, constant(1.0, solved), solved)
        if turn == ITERATIONS or not any_of(solved < 0.5):
            break
        taken = taken + (1.0 - solved)
        _hessian(rows, n, M, pattern, work_out)
        factor_solve(pattern, work_out.H, p)
        mass_times(M, pattern.above, p, Mp)
        for k in range(n):
            change[k] = constant(0.0, taken)
        row_slacks(rows, n, change, p, change)
        step = _line_search(rows, work_out, _dot(p, Ma), _dot(p, Mp), solved)
        most, enough = constant(0.0, taken), constant(tolerance, taken)
        if is_single(taken):
            for i in range(nv):
                enough = maximum(enough, ROUNDING_SINGLE * absolute(a_io[i] + delta[i]))
        for i in range(nv):
            delta[i] = delta[i] + step * p[i]
            Ma[i] = Ma[i] + step * Mp[i]
            most = maximum(most, absolute(step * p[i]))
        for k in range(n):
            slack[k] = slack[k] + step * change[k]
        small = (most <= enough) & (worst <= ROUGH * tolerance)
        solved = where(small, constant(1.0, solved), solved)
    fresh = (solved > 0.5) & (done < 0.5)
    for i in range(nv):
        a_io[i] = where(fresh, a_io[i] + delta[i], a_io[i])
    tries_out[0] = taken
    return solved
