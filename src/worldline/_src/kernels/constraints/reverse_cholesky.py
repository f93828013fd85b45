# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dense factorisation of a symmetric positive definite matrix, from its last row to its first.

H = sum_k row_k^T row_k / d_k with row_k ending at column k: the order of elimination that keeps a tree's
mass matrix free of fill-in, as every row only touches its ancestors. The matrix is stored densely in rows of
whole packs and eliminated four rows at a time: one pass over the rows above for four. Packs and pairs of rows
that the four do not touch are skipped, so a tree's sparsity is used as it is found, and four rows begin
at their first pack that is not zero, so that separate bodies cost what they are worth.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.packed import (
    PACK,
    is_zero_pack,
    load_pack,
    load_row,
    pack_of,
    store_pack,
    store_row,
    sum_pack,
)


@inline
def _fill_up(n, first_io, H_io):
    """Unit rows past the last one, to whole packs."""
    for k in range(n, H_io.shape[0]):
        start = k - k % PACK
        store_row(H_io, k, start, pack_of(0.0))
        H_io[k, k] = 1.0
        for j in range(0, start, PACK):
            store_row(H_io, k, j, pack_of(0.0))
        first_io[k] = start


@inline
def _factor_four(H_io, k, first, inverse_out):
    """Eliminate the last of rows k to k + 3 from the three before it, and so on, from column `first` on."""
    a, b, c, d = k, k + 1, k + 2, k + 3
    # the corner, where the multipliers come from
    inverse_d = 1.0 / H_io[d, d]
    dc, db, da = H_io[d, c], H_io[d, b], H_io[d, a]
    xc, xb, xa = dc * inverse_d, db * inverse_d, da * inverse_d
    inverse_c = 1.0 / (H_io[c, c] - xc * dc)
    cb, ca = H_io[c, b] - xc * db, H_io[c, a] - xc * da
    yb, ya = cb * inverse_c, ca * inverse_c
    inverse_b = 1.0 / (H_io[b, b] - xb * db - yb * cb)
    ba = H_io[b, a] - xb * da - yb * ca
    za = ba * inverse_b
    H_io[c, b], H_io[c, a], H_io[b, a] = cb, ca, ba
    inverse_out[d], inverse_out[c], inverse_out[b] = inverse_d, inverse_c, inverse_b
    inverse_out[a] = 1.0 / (H_io[a, a] - xa * da - ya * ca - za * ba)

    # the packs before it
    for j in range(first, k, PACK):
        row_d = load_row(H_io, d, j)
        row_c = load_row(H_io, c, j) - xc * row_d
        row_b = load_row(H_io, b, j) - xb * row_d - yb * row_c
        row_a = load_row(H_io, a, j) - xa * row_d - ya * row_c - za * row_b
        store_row(H_io, c, j, row_c)
        store_row(H_io, b, j, row_b)
        store_row(H_io, a, j, row_a)


@inline
def _eliminate_four(H_io, k, i, first, inverse):
    """Rows i and i + 1 minus what rows k to k + 3 leave in them; returns whether there was anything."""
    a, b, c, d = k, k + 1, k + 2, k + 3
    xa, ya = H_io[a, i] * inverse[a], H_io[a, i + 1] * inverse[a]
    xb, yb = H_io[b, i] * inverse[b], H_io[b, i + 1] * inverse[b]
    xc, yc = H_io[c, i] * inverse[c], H_io[c, i + 1] * inverse[c]
    xd, yd = H_io[d, i] * inverse[d], H_io[d, i + 1] * inverse[d]
    size = abs(xa) + abs(ya) + abs(xb) + abs(yb) + abs(xc) + abs(yc) + abs(xd) + abs(yd)
    if size == 0.0:
        return False
    for j in range(first, i + 1, PACK):
        row_a, row_b = load_row(H_io, a, j), load_row(H_io, b, j)
        row_c, row_d = load_row(H_io, c, j), load_row(H_io, d, j)
        x = load_row(H_io, i, j) - xa * row_a - xb * row_b
        y = load_row(H_io, i + 1, j) - ya * row_a - yb * row_b
        store_row(H_io, i, j, x - xc * row_c - xd * row_d)
        store_row(H_io, i + 1, j, y - yc * row_c - yd * row_d)
    return True


@inline
def _touches(H, k, i):
    """Whether rows k to k + 3 have anything in columns i to i + 3."""
    touches = not is_zero_pack(load_row(H, k, i)) or not is_zero_pack(load_row(H, k + 1, i))
    return touches or not is_zero_pack(load_row(H, k + 2, i)) or not is_zero_pack(load_row(H, k + 3, i))


@kernel
def reverse_cholesky(n, first_io, H_io, inverse_out):
    """Factor the lower triangle of H in place; inverse_out[k] = 1 / d_k. At most O(n^3 / 6).

    H_io is (width, width) and inverse_out (width,) with a width of whole packs. first_io[i] is the column, a
    multiple of the pack, before which row i is zero; it moves forward as rows fill in. The diagonal
    of the factor is in inverse_out alone.
    """
    _fill_up(n, first_io, H_io)
    for k in range(H_io.shape[0] - PACK, -1, -PACK):
        first = min(min(first_io[k], first_io[k + 1]), min(first_io[k + 2], first_io[k + 3]))
        for i in range(k, k + PACK):
            first_io[i] = first
        _factor_four(H_io, k, first, inverse_out)
        for above in range(k - PACK, first - PACK, -PACK):
            if _touches(H_io, k, above):
                for i in range(above + PACK - 2, above - 2, -2):
                    if _eliminate_four(H_io, k, i, first, inverse_out):
                        first_io[i] = min(first_io[i], first)
                        first_io[i + 1] = min(first_io[i + 1], first)


@inline
def _take_out(H, k, first, inverse, x_io):
    """Let rows k to k + 3 act on x before them; their own entries become those of L^-T x."""
    a, b, c, d = k, k + 1, k + 2, k + 3
    yd = x_io[d] * inverse[d]
    xc = x_io[c] - yd * H[d, c]
    yc = xc * inverse[c]
    xb = x_io[b] - yd * H[d, b] - yc * H[c, b]
    yb = xb * inverse[b]
    xa = x_io[a] - yd * H[d, a] - yc * H[c, a] - yb * H[b, a]
    ya = xa * inverse[a]
    x_io[c], x_io[b], x_io[a] = xc, xb, xa
    for j in range(first, k, PACK):
        x = load_pack(x_io, j) - yd * load_row(H, d, j) - yc * load_row(H, c, j)
        store_pack(x_io, j, x - yb * load_row(H, b, j) - ya * load_row(H, a, j))


@inline
def _put_in(H, k, first, inverse, x_io):
    """Solve for x in rows k to k + 3 from all before them."""
    a, b, c, d = k, k + 1, k + 2, k + 3
    sum_a, sum_b, sum_c, sum_d = pack_of(0.0), pack_of(0.0), pack_of(0.0), pack_of(0.0)
    for j in range(first, k, PACK):
        x = load_pack(x_io, j)
        sum_a = sum_a + load_row(H, a, j) * x
        sum_b = sum_b + load_row(H, b, j) * x
        sum_c = sum_c + load_row(H, c, j) * x
        sum_d = sum_d + load_row(H, d, j) * x
    xa = (x_io[a] - sum_pack(sum_a)) * inverse[a]
    xb = (x_io[b] - sum_pack(sum_b) - H[b, a] * xa) * inverse[b]
    xc = (x_io[c] - sum_pack(sum_c) - H[c, a] * xa - H[c, b] * xb) * inverse[c]
    xd = (x_io[d] - sum_pack(sum_d) - H[d, a] * xa - H[d, b] * xb - H[d, c] * xc) * inverse[d]
    x_io[a], x_io[b], x_io[c], x_io[d] = xa, xb, xc, xd


@kernel
def reverse_cholesky_solve(n, first, H, inverse, x_io):
    """x = H^-1 x with the factor of `reverse_cholesky`. x has the padded length, zero past n. O(n^2)."""
    end = (n + PACK - 1) // PACK * PACK
    # tips to base
    for k in range(end - PACK, -1, -PACK):
        _take_out(H, k, first[k], inverse, x_io)

    # base to tips
    for k in range(0, end, PACK):
        _put_in(H, k, first[k], inverse, x_io)
