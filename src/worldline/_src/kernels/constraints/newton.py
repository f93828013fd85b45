# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A primal Newton method for constraint rows: the acceleration that minimises

    (a - a_smooth)^T M (a - a_smooth) / 2 + sum of the potentials s(J a - aref) of all rows.

The potentials are convex with a continuous gradient, so Newton steps with an exact line search find the
one minimum from anywhere, and from a good guess one or two steps do. The Hessian M + J^T D J changes only by
the rows that changed sides; it is factored anew in each iteration, since for the sizes of robots a dense
factorisation of machine vectors costs no more than a few rank-one updates of it.

A stage keeps the arrays of `NewtonWork` in its data arena, hands the acceleration of the last step in a_io
as the guess, and reads forces of all rows from force_out.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.cone import SLIDING, cone_measures, sliding_hessian
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky, reverse_cholesky_solve
from worldline._src.kernels.constraints.row_forces import first_plain, row_forces, row_slopes
from worldline._src.kernels.constraints.row_packs import copy_row, row_times
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import sqrt
from worldline._src.scalar.packed import (
    PACK,
    is_zero_pack,
    load_pack,
    load_row,
    store_pack,
    store_row,
)


class NewtonOptions(NamedTuple):
    """When to stop.

    tolerance: relative to the trace of M, of both the gradient and the fall of the cost in a step.
    iterations: most Newton steps.
    line_tolerance: slope left by the line search, relative to the slope at its start.
    line_iterations: most evaluations in a line search.
    spanned: from this row on row_first and row_end say already where rows are not zero.
    gravity: accelerations are measured by it. A light body next to heavy ones has no part in the trace of M,
        so no degree of freedom of its own may be out of balance by GENTLE or ROUGH times gravity.
    """

    tolerance: float
    iterations: int
    line_tolerance: float
    line_iterations: int
    spanned: int
    gravity: float = 1e300


GENTLE, ROUGH = 1e-3, 1.0
"""Largest |gradient_i| / M_ii over gravity when the gradient or the fall of the cost is small enough."""


class NewtonWork(NamedTuple):
    """Scratch for nv padded to `width` and a capacity of rows.

    H, L: (width, width). vectors: (8, width). cone: (6, width) and (6, 6). slack: (5, capacity).
    changed, row_first, row_end: (capacity,) integers. M_first, M_end, H_first, L_first: (width,) integers.
    """

    H: Any
    L: Any
    vectors: Any
    cone_J: Any
    cone_C: Any
    slack: Any
    changed: Any
    row_first: Any
    row_end: Any
    M_first: Any
    M_end: Any
    H_first: Any
    L_first: Any


class NewtonStats(NamedTuple):
    """How a solve went: steps taken, whether a stopping rule was met, scaled gradient, final cost.

    unbalanced: what forces and accelerations are out of balance by, g = M (a - a_smooth) - J^T force, as an
    acceleration [m/s^2]: sqrt(sum of g_i^2 / M_ii over the trace of M), the mean over all inertia, or a
    hundredth of the largest |g_i| / M_ii, whichever is more.
    """

    iterations: int
    converged: bool
    gradient: float
    cost: float
    unbalanced: float


@inline
def _spans(matrix, n, first_out, end_out):
    """Where the packs of each row that are not zero begin and end."""
    width = matrix.shape[1]
    for i in range(n):
        low = 0
        while low < width - PACK and is_zero_pack(load_row(matrix, i, low)):
            low += PACK
        high = width
        while high > low + PACK and is_zero_pack(load_row(matrix, i, high - PACK)):
            high -= PACK
        first_out[i] = low
        end_out[i] = high


@inline
def _times(matrix, n, first, end, x, y_out):
    """y = matrix x for the first n rows, over their spans."""
    for i in range(n):
        y_out[i] = row_times(matrix, i, first[i], end[i], x)


@inline
def _add_row(J, k, weight, first, end, H_io):
    """H += weight J_k^T J_k, lower triangle in whole packs."""
    for i in range(first, end):
        x = J[k, i]
        if x != 0.0:
            x = x * weight
            for j in range(first, i + 1, PACK):
                store_row(H_io, i, j, load_row(H_io, i, j) + x * load_row(J, k, j))


@inline
def _add_four_rows(J, four, weights, first, end, H_io):
    """The same for four rows at once, which saves three of four passes over H."""
    k0, k1, k2, k3 = four
    w0, w1, w2, w3 = weights
    for i in range(first, end):
        x0, x1, x2, x3 = J[k0, i] * w0, J[k1, i] * w1, J[k2, i] * w2, J[k3, i] * w3
        if x0 != 0.0 or x1 != 0.0 or x2 != 0.0 or x3 != 0.0:
            for j in range(first, i + 1, PACK):
                h = load_row(H_io, i, j) + x0 * load_row(J, k0, j) + x1 * load_row(J, k1, j)
                h = h + x2 * load_row(J, k2, j) + x3 * load_row(J, k3, j)
                store_row(H_io, i, j, h)


@inline
def _widen(first_io, low, high):
    """Rows low to high - 1 of H now begin at column `low` at the latest."""
    for i in range(low, high):
        if first_io[i] > low:
            first_io[i] = low


@inline
def _change_rows(rows, n, weight, spans, old_io, changed_out, H_io):
    """Bring H to the present weights of springs; only rows whose weight changed cost anything."""
    first, end = spans.row_first, spans.row_end
    count = 0
    for k in range(n):
        # sliding cones are marked by a negative weight and are no part of H
        if weight[k] < 0.0:
            weight[k] = 0.0
        if weight[k] != old_io[k]:
            changed_out[count] = k
            count += 1
    at = 0
    while at < count:
        k0 = changed_out[at]
        low, high = first[k0], end[k0]
        if at + 4 <= count and first[changed_out[at + 3]] == low and end[changed_out[at + 3]] == high:
            k1, k2, k3 = changed_out[at + 1], changed_out[at + 2], changed_out[at + 3]
            low = min(low, min(first[k1], first[k2]))
            high = max(high, max(end[k1], end[k2]))
            change = (
                weight[k0] - old_io[k0],
                weight[k1] - old_io[k1],
                weight[k2] - old_io[k2],
                weight[k3] - old_io[k3],
            )
            _add_four_rows(rows.J, (k0, k1, k2, k3), change, low, high, H_io)
            at += 4
        else:
            _add_row(rows.J, k0, weight[k0] - old_io[k0], low, high, H_io)
            at += 1
        _widen(spans.H_first, low, high)
    for at in range(count):
        k = changed_out[at]
        old_io[k] = weight[k]


@inline
def _add_cone(rows, k, low, high, C, CJ_out, H_io):
    """H += J^T C J of a sliding cone."""
    J = rows.J
    dim = rows.dim[k]
    for i in range(dim):
        for j in range(low, high, PACK):
            total = C[i, 0] * load_row(J, k, j)
            for r in range(1, dim):
                total = total + C[i, r] * load_row(J, k + r, j)
            store_row(CJ_out, i, j, total)
    for i in range(low, high):
        x0, x1, x2 = J[k, i], J[k + 1, i], J[k + 2, i]
        for j in range(low, i + 1, PACK):
            h = load_row(H_io, i, j) + x0 * load_row(CJ_out, 0, j)
            store_row(H_io, i, j, h + x1 * load_row(CJ_out, 1, j) + x2 * load_row(CJ_out, 2, j))
        for r in range(3, dim):
            x = J[k + r, i]
            for j in range(low, i + 1, PACK):
                store_row(H_io, i, j, load_row(H_io, i, j) + x * load_row(CJ_out, r, j))


@inline
def _add_sliding_cones(rows, n, jar, weight, spans, work_out, L_io, first_io):
    """Add the blocks of all sliding cones to the matrix to be factored."""
    k = 0
    while k < n:
        dim = rows.dim[k]
        if dim > 0 and weight[k] == 0.0:
            zone, N, T = cone_measures(rows, k, jar)
            if zone == SLIDING:
                low, high = spans.row_first[k], spans.row_end[k]
                for r in range(k + 1, k + dim):
                    low = min(low, spans.row_first[r])
                    high = max(high, spans.row_end[r])
                sliding_hessian(rows, k, jar, N, T, work_out.cone_C)
                _add_cone(rows, k, low, high, work_out.cone_C, work_out.cone_J, L_io)
                _widen(first_io, low, high)
        k += max(dim, 1)


@inline
def _gradient(rows, n, spans, force, Ma, out):
    """M (a - a_smooth) - J^T force."""
    for j in range(0, Ma.shape[0], PACK):
        store_pack(out, j, load_pack(Ma, j))
    for k in range(n):
        f = force[k]
        if f != 0.0:
            for j in range(spans.row_first[k], spans.row_end[k], PACK):
                store_pack(out, j, load_pack(out, j) - f * load_row(rows.J, k, j))


@inline
def line_search(rows, n, plain, jar, jv, slope, bend, options, trial_out):
    """The step that brings the slope of the cost along jv to zero.

    `slope` and `bend` are those of the quadratic part. Newton iterations on the slope, inside a bracket.
    Where the slope is steep in a narrow place, as where a cone ceases to slide, Newton's method jumps to and
    fro between the sides of it and the bracket hardly shrinks; so when it does not halve, its middle is next.
    """
    first, second = row_slopes(rows, n, plain, jar, jv, 0.0, trial_out)
    start = slope + first
    if not start < 0.0:
        return 0.0
    low, high = 0.0, 0.0
    step = -start / (bend + second)
    for _ in range(options.line_iterations):
        first, second = row_slopes(rows, n, plain, jar, jv, step, trial_out)
        here = slope + step * bend + first
        if abs(here) <= -options.line_tolerance * start:
            return step
        width = high - low
        if here < 0.0:
            low = step
        else:
            high = step
        step = step - here / (bend + second)
        if high == 0.0:
            if step <= low:
                step = 2.0 * low
        elif step <= low or step >= high or (width > 0.0 and high - low > 0.5 * width):
            step = 0.5 * (low + high)
    # the cost falls all the way to here
    return low


@inline
def _worst(M, nv, gradient):
    """Largest |gradient_i| / M_ii."""
    worst = 0.0
    for i in range(nv):
        if M[i, i] > 0.0:
            worst = max(worst, abs(gradient[i]) / M[i, i])
    return worst


@kernel
def newton(M, a_smooth, rows, n, options, work_out, force_out, a_io):
    """Solve `n` rows from the guess in a_io; see the module.

    M is (nv, width), symmetric, zero past column nv; a_smooth, a_io (nv,); force_out (capacity,). The guess
    is the start without being compared with a_smooth: in steps that hardly ever saves an iteration, and
    it costs as much as a third of one. O(nv^3 / 6 + rows nv^2 / 2) for the first iteration.
    """
    H, L, vectors, slack = work_out.H, work_out.L, work_out.vectors, work_out.slack
    nv = a_smooth.shape[0]
    width = vectors.shape[1]
    delta, Ma, gradient, p, Mp, inverse, guess = (
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        vectors[4],
        vectors[5],
        vectors[6],
    )
    jar, jv, weight, old, trial = slack[0], slack[1], slack[2], slack[3], slack[4]

    # where rows are not zero
    M_first, M_end, H_first, L_first = work_out.M_first, work_out.M_end, work_out.H_first, work_out.L_first
    row_first, row_end = work_out.row_first, work_out.row_end
    _spans(M, nv, M_first, M_end)
    _spans(rows.J, min(n, options.spanned), row_first, row_end)

    # the guess: slacks, forces, cost
    trace = 0.0
    for i in range(width):
        delta[i] = 0.0
        Ma[i] = 0.0
        p[i] = 0.0
        guess[i] = 0.0
    for i in range(nv):
        trace += M[i, i]
        guess[i] = a_io[i]
        delta[i] = a_io[i] - a_smooth[i]
    scale = 1.0 / trace
    plain = first_plain(rows, n)
    _times(rows.J, n, row_first, row_end, guess, jar)
    for k in range(n):
        jar[k] -= rows.aref[k]
    _times(M, nv, M_first, M_end, delta, Ma)
    cost = row_forces(rows, n, plain, jar, force_out, weight)
    for i in range(nv):
        cost += 0.5 * delta[i] * Ma[i]

    converged = False
    iteration = 0
    norm = 0.0
    while True:
        _gradient(rows, n, work_out, force_out, Ma, gradient)
        norm = 0.0
        for i in range(nv):
            norm += gradient[i] * gradient[i]
        norm = scale * sqrt(norm)
        if norm < options.tolerance:
            converged = _worst(M, nv, gradient) <= GENTLE * options.gravity
        elif converged:
            converged = _worst(M, nv, gradient) <= ROUGH * options.gravity
        if converged or iteration >= options.iterations:
            break

        # the Hessian starts as M without rows
        if iteration == 0:
            for i in range(nv):
                H_first[i] = M_first[i]
                copy_row(M, i, i + 1, H)
            for k in range(n):
                old[k] = 0.0

        # Hessian, factor, direction
        _change_rows(rows, n, weight, work_out, old, work_out.changed, H)
        for i in range(nv):
            L_first[i] = H_first[i]
            copy_row(H, i, i + 1, L)
        _add_sliding_cones(rows, n, jar, weight, work_out, work_out, L, L_first)
        reverse_cholesky(nv, L_first, L, inverse)
        for i in range(nv):
            p[i] = -gradient[i]
        reverse_cholesky_solve(nv, L_first, L, inverse, p)

        # exact line search
        _times(M, nv, M_first, M_end, p, Mp)
        _times(rows.J, n, row_first, row_end, p, jv)
        slope = 0.0
        bend = 0.0
        for i in range(nv):
            slope += p[i] * Ma[i]
            bend += p[i] * Mp[i]
        step = line_search(rows, n, plain, jar, jv, slope, bend, options, trial)
        iteration += 1
        if step == 0.0:
            # no descent is left beyond rounding; the balance says how good that is
            converged = _worst(M, nv, gradient) <= ROUGH * options.gravity
            break

        # move; products follow without new multiplications
        kinetic = 0.0
        for i in range(nv):
            delta[i] += step * p[i]
            Ma[i] += step * Mp[i]
            kinetic += 0.5 * delta[i] * Ma[i]
        for k in range(n):
            jar[k] += step * jv[k]
        before = cost
        cost = kinetic + row_forces(rows, n, plain, jar, force_out, weight)
        if scale * (before - cost) < options.tolerance:
            converged = True

    unbalanced = 0.0
    for i in range(nv):
        a_io[i] = a_smooth[i] + delta[i]
        if M[i, i] > 0.0:
            unbalanced += gradient[i] * gradient[i] / M[i, i]
    unbalanced = max(sqrt(scale * unbalanced), 0.01 * _worst(M, nv, gradient))
    return NewtonStats(iteration, converged, norm, cost, unbalanced)
