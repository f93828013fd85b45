# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces, cost and curvature of all rows at given slacks, and their slopes along a line.

Unilateral rows are most of what there is, and they stand last: limits and the edges of contacts. From row
`plain` on there are no others, and they are done four at a time.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.constraints.cone import (
    OPEN,
    SLIDING,
    STICKING,
    cone_measures,
    sliding_forces,
    sliding_slopes,
)
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, UNILATERAL
from worldline._src.scalar.packed import PACK, load_pack, pack_of, store_pack, sum_pack, where_negative


@inline
def first_plain(rows, n):
    """The row from which on all of the first `n` rows are unilateral."""
    plain = n
    while plain > 0 and rows.kind[plain - 1] == UNILATERAL:
        plain -= 1
    return plain


@inline
def plain_zone(rows, k, r):
    """Whether row `k` is a spring at slack `r`, and otherwise its constant force."""
    kind = rows.kind[k]
    if kind == EQUALITY:
        return True, 0.0
    if kind == FRICTION:
        reach = rows.bound[k]
        pull = rows.D[k] * r
        if pull > reach:
            return False, -reach
        if pull < -reach:
            return False, reach
        return True, 0.0
    return r < 0.0, 0.0


@inline
def _plain_forces(rows, first, n, jar, force_out, weight_out):
    """`row_forces` of unilateral rows."""
    whole = n - (n - first) % PACK
    cost = pack_of(0.0)
    for k in range(first, whole, PACK):
        r = load_pack(jar, k)
        # w = D where r < 0, else 0;  f = -w r;  s(r) = w r^2 / 2
        weight = where_negative(r, load_pack(rows.D, k))
        pull = weight * r
        store_pack(weight_out, k, weight)
        store_pack(force_out, k, -pull)
        cost = cost + pull * r
    total = sum_pack(cost)
    for k in range(whole, n):
        weight = rows.D[k] if jar[k] < 0.0 else 0.0
        pull = weight * jar[k]
        weight_out[k], force_out[k] = weight, -pull
        total += pull * jar[k]
    return 0.5 * total


@inline
def _plain_slopes(rows, first, n, trial, jv):
    """`row_slopes` of unilateral rows."""
    whole = n - (n - first) % PACK
    slope, bend = pack_of(0.0), pack_of(0.0)
    for k in range(first, whole, PACK):
        r, v = load_pack(trial, k), load_pack(jv, k)
        # ds/dt = w r v,  d2s/dt2 = w v^2  along r + t v
        pull = where_negative(r, load_pack(rows.D, k)) * v
        slope = slope + pull * r
        bend = bend + pull * v
    first_sum, second_sum = sum_pack(slope), sum_pack(bend)
    for k in range(whole, n):
        pull = (rows.D[k] if trial[k] < 0.0 else 0.0) * jv[k]
        first_sum += pull * trial[k]
        second_sum += pull * jv[k]
    return first_sum, second_sum


@inline
def row_forces(rows, n, plain, jar, force_out, weight_out):
    """Forces at slacks jar, and the weight of each row in the Hessian; returns the cost.

    Rows that are springs have weight D, others zero; a sliding cone has weight -1 in its first row and
    zero in the others: it brings a block of its own.
    """
    cost = _plain_forces(rows, plain, n, jar, force_out, weight_out)
    k = 0
    while k < plain:
        if rows.kind[k] == CONE:
            end = k + rows.dim[k]
            # cone: sticking, f_j = -D_j r_j and s = sum D_j r_j^2 / 2; open, f = 0; sliding, see `cone.py`
            zone, N, T = cone_measures(rows, k, jar)
            for j in range(k, end):
                weight = rows.D[j] if zone == STICKING else 0.0
                pull = weight * jar[j]
                weight_out[j] = weight
                force_out[j] = -pull
                cost += 0.5 * pull * jar[j]
            if zone == SLIDING:
                weight_out[k] = -1.0
                cost += sliding_forces(rows, k, jar, N, T, force_out)
            k = end
        else:
            r = jar[k]
            # spring: f = -D r, s = D r^2 / 2; beyond a friction bound F: f = -+F, s = F |r| - F^2 / (2 D)
            spring, constant = plain_zone(rows, k, r)
            if spring:
                weight_out[k] = rows.D[k]
                force_out[k] = -rows.D[k] * r
                cost += 0.5 * rows.D[k] * r * r
            else:
                weight_out[k] = 0.0
                force_out[k] = constant
                if constant != 0.0:
                    cost -= constant * r + 0.5 * constant * constant / rows.D[k]
            k += 1
    return cost


@inline
def row_slopes(rows, n, plain, jar, jv, step, trial_out):
    """First and second derivative of the cost of all rows at jar + step jv along jv."""
    for i in range(n):
        # r(t) = J a - aref + t J p
        trial_out[i] = jar[i] + step * jv[i]
    first, second = _plain_slopes(rows, plain, n, trial_out, jv)
    k = 0
    while k < plain:
        if rows.kind[k] == CONE:
            end = k + rows.dim[k]
            zone, N, T = cone_measures(rows, k, trial_out)
            if zone == STICKING:
                for j in range(k, end):
                    # ds/dt = sum D_j r_j v_j,  d2s/dt2 = sum D_j v_j^2
                    first += rows.D[j] * trial_out[j] * jv[j]
                    second += rows.D[j] * jv[j] * jv[j]
            elif zone != OPEN:
                slope, bend = sliding_slopes(rows, k, trial_out, jv, N, T)
                first += slope
                second += bend
            k = end
        else:
            spring, constant = plain_zone(rows, k, trial_out[k])
            if spring:
                first += rows.D[k] * trial_out[k] * jv[k]
                second += rows.D[k] * jv[k] * jv[k]
            else:
                # ds/dt = -f v with a constant force f, and no curvature
                first -= constant * jv[k]
            k += 1
    return first, second
