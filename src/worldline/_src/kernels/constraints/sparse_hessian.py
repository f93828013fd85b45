# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""H = M + J^T W J of packed rows, its factor, and products of M and J, for several worlds at once.

Generic over the scalar. H = L^T D L is factored from the tips of the tree to its base. A row that touches one
branch alone makes no entry of H that M does not have, and factoring adds none [Featherstone 2008, ch. 6.4];
rows between branches add entries, found as bits of integers. Where a world has zeros that others do not have,
zeros are added, exactly, so the pattern of a group changes no bits. Where it is nearly full, all of H is
taken, and rows are eliminated GROUP at a time; every entry meets the same numbers in the same order.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.constraints.packed_rows import GROUP, SINGLES
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, any_of, unsigned


class Pattern(NamedTuple):
    """Columns below the diagonal of H: column (nv, nv), row k has count[k]; mask (nv,): all of them as bits.

    above: the degree of freedom before each one on its chain to the world.
    """

    column: Any
    count: Any
    mask: Any
    above: Any


@inline
def _add_clique(rows, p, pattern_io):
    """Entries of packed rows that share the list of row `p`; returns whether M does not have one of them."""
    new = 0
    for e in range(rows.count[p]):
        i = unsigned(rows.column[p, e])
        lower, known = rows.mask[p] & ((2 << rows.column[p, e]) - 1), pattern_io.mask[i]
        new |= lower & ~known
        pattern_io.mask[i] = known | lower
    return new


@inline
def find_pattern(rows, n, nv, pattern_out):
    """Entries of H and of its factor, for `n` packed rows."""
    mask, above, fills = pattern_out.mask, pattern_out.above, 0
    for d in range(nv):
        mask[d] = (1 << d) | (mask[above[d]] if above[d] >= 0 else 0)
    for p in range(rows.end[SINGLES]):
        # a row of one column is on the diagonal
        if rows.count[p] > 1:
            fills |= _add_clique(rows, p, pattern_out)
    for p in range(rows.end[SINGLES], n, GROUP):
        fills |= _add_clique(rows, p, pattern_out)
    if fills != 0:
        # eliminating k ties all of its columns together
        for k in range(nv - 1, 0, -1):
            for i in range(k):
                if (mask[k] >> i) & 1 != 0:
                    mask[i] |= mask[k] & ((2 << i) - 1)
    total = 0
    for k in range(nv):
        count = 0
        for d in range(k):
            # overwritten by the next column when this one is not in the mask
            pattern_out.column[k, count] = d
            count += (mask[k] >> d) & 1
        pattern_out.count[k] = count
        total += count
    if 5 * total >= 2 * nv * (nv - 1):
        for k in range(nv):
            pattern_out.count[k] = k
            for d in range(k):
                pattern_out.column[k, d] = d


@inline
def start_hessian(M, pattern, H_out):
    """H = M."""
    for i in range(M.shape[0]):
        H_out[i, i] = M[i, i]
        for e in range(pattern.count[i]):
            j = unsigned(pattern.column[i, e])
            H_out[i, j] = M[i, j]


@inline
def add_weighted_rows(J, rows, weight, n, H_io):
    """H += J^T W J over `n` packed rows; rows and groups that no world weights cost nothing."""
    first = rows.end[SINGLES]
    for k in range(first):
        if any_of(weight[k] > 0.0):
            for e in range(rows.count[k]):
                i = unsigned(rows.column[k, e])
                x = weight[k] * J[k, i]
                for f in range(e + 1):
                    j = unsigned(rows.column[k, f])
                    H_io[i, j] = H_io[i, j] + x * J[k, j]
    for k in range(first, n, GROUP):
        w0, w1, w2, w3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        if any_of(w0 + w1 + w2 + w3 > 0.0):
            for e in range(rows.count[k]):
                i = unsigned(rows.column[k, e])
                x0, x1 = w0 * J[k, i], w1 * J[k + 1, i]
                x2, x3 = w2 * J[k + 2, i], w3 * J[k + 3, i]
                for f in range(e + 1):
                    j = unsigned(rows.column[k, f])
                    h = H_io[i, j] + x0 * J[k, j]
                    h = h + x1 * J[k + 1, j]
                    h = h + x2 * J[k + 2, j]
                    H_io[i, j] = h + x3 * J[k + 3, j]


@inline
def _eliminate_listed(pattern, H_io, x_io):
    """From H = L^T D L and x: L, with the inverse of D on the diagonal, and L^-T x; row by row."""
    column, count = pattern.column, pattern.count
    for k in range(x_io.shape[0] - 1, -1, -1):
        inverse = 1.0 / H_io[k, k]
        H_io[k, k] = inverse
        y = x_io[k]
        for e in range(count[k]):
            i = unsigned(column[k, e])
            whole = H_io[k, i]
            x = whole * inverse
            # columns before this one are scaled by the inverse already
            for f in range(e):
                j = unsigned(column[k, f])
                H_io[i, j] = H_io[i, j] - whole * H_io[k, j]
            H_io[i, i] = H_io[i, i] - whole * x
            x_io[i] = x_io[i] - x * y
            H_io[k, i] = x


@inline
def _eliminate_all(H_io, x_io):
    """`_eliminate_listed` of a full matrix, GROUP rows at a time; rows as they were go above the diagonal."""
    end = x_io.shape[0]
    while end > 0:
        first = max(end - GROUP, 0)
        for k in range(end - 1, first - 1, -1):
            inverse = 1.0 / H_io[k, k]
            H_io[k, k] = inverse
            y = x_io[k]
            for i in range(k):
                whole = H_io[k, i]
                x = whole * inverse
                x_io[i] = x_io[i] - x * y
                H_io[k, i], H_io[i, k] = x, whole
            for i in range(first, k):
                for j in range(i + 1):
                    H_io[i, j] = H_io[i, j] - H_io[i, k] * H_io[k, j]
        # H_ij -= sum_k H_ki L_kj; only the last group has fewer rows, and none before it
        for i in range(first):
            w0, w1, w2, w3 = H_io[i, end - 1], H_io[i, end - 2], H_io[i, end - 3], H_io[i, end - 4]
            for j in range(i + 1):
                h = H_io[i, j] - w0 * H_io[end - 1, j]
                h = h - w1 * H_io[end - 2, j]
                h = h - w2 * H_io[end - 3, j]
                H_io[i, j] = h - w3 * H_io[end - 4, j]
        end = first


@inline
def factor_solve(pattern, H_io, x_io):
    """x = H^-1 x; H becomes its factor L, with the inverse of D on the diagonal."""
    n, column, count = x_io.shape[0], pattern.column, pattern.count
    full = True
    for k in range(n):
        full = full and count[k] == k
    if full:
        _eliminate_all(H_io, x_io)
    else:
        _eliminate_listed(pattern, H_io, x_io)
    for k in range(n):
        x = x_io[k] * H_io[k, k]
        for e in range(count[k]):
            i = unsigned(column[k, e])
            x = x - H_io[k, i] * x_io[i]
        x_io[k] = x


@inline
def mass_times(M, above, x, y_out):
    """y = M x over the entries of the tree."""
    for i in range(x.shape[0]):
        y_out[i] = M[i, i] * x[i]
    for i in range(x.shape[0]):
        total = y_out[i]
        j = above[i]
        while j >= 0:
            total = total + M[i, j] * x[j]
            y_out[j] = y_out[j] + M[i, j] * x[i]
            j = above[j]
        y_out[i] = total


@inline
def row_slacks(rows, n, aref, a, slack_out):
    """J a - aref."""
    first = rows.end[SINGLES]
    for k in range(first):
        slack = -aref[k]
        for e in range(rows.count[k]):
            d = unsigned(rows.column[k, e])
            slack = slack + rows.J[k, d] * a[d]
        slack_out[k] = slack
    for k in range(first, n, GROUP):
        s0, s1, s2, s3 = -aref[k], -aref[k + 1], -aref[k + 2], -aref[k + 3]
        for e in range(rows.count[k]):
            d = unsigned(rows.column[k, e])
            s0, s1 = s0 + rows.J[k, d] * a[d], s1 + rows.J[k + 1, d] * a[d]
            s2, s3 = s2 + rows.J[k + 2, d] * a[d], s3 + rows.J[k + 3, d] * a[d]
        slack_out[k], slack_out[k + 1], slack_out[k + 2], slack_out[k + 3] = s0, s1, s2, s3


@inline
def add_row_forces(rows, n, force, sign, x_io):
    """x += sign J^T force; rows and groups without a force in any world cost nothing."""
    first = rows.end[SINGLES]
    for k in range(first):
        f = sign * force[k]
        if any_of(absolute(f) > 0.0):
            for e in range(rows.count[k]):
                d = unsigned(rows.column[k, e])
                x_io[d] = x_io[d] + rows.J[k, d] * f
    for k in range(first, n, GROUP):
        f0, f1, f2, f3 = sign * force[k], sign * force[k + 1], sign * force[k + 2], sign * force[k + 3]
        if any_of(absolute(f0) + absolute(f1) + absolute(f2) + absolute(f3) > 0.0):
            for e in range(rows.count[k]):
                d = unsigned(rows.column[k, e])
                x = x_io[d] + rows.J[k, d] * f0
                x = x + rows.J[k + 1, d] * f1
                x = x + rows.J[k + 2, d] * f2
                x_io[d] = x + rows.J[k + 3, d] * f3
