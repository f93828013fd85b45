# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dense factorisation of a symmetric positive definite matrix, from its last row to its first.

H = sum_k row_k^T row_k / d_k with row_k ending at column k: the order of elimination that keeps a tree's
mass matrix free of fill-in, as every row only touches its ancestors. The matrix is stored densely and
rows with a zero multiplier are skipped, so a tree's sparsity is used without being told; a row begins at
its first pack that is not zero, so that separate bodies cost what they are worth. Rows are padded to whole
packs: every inner loop is whole machine vectors.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack


@inline
def _eliminate(H_io, k, i, x, first):
    """Row i minus x times row k, from pack `first` on."""
    for j in range(first, i + 1, PACK):
        store_row(H_io, i, j, load_row(H_io, i, j) - x * load_row(H_io, k, j))


@kernel
def tip_factor(n, first_io, H_io, inverse_out):
    """Factor the lower triangle of H in place; inverse_out[k] = 1 / d_k. At most O(n^3 / 6).

    first_io[i] is the column, a multiple of the pack, where row i begins; columns before it are neither
    read nor written, and it moves forward as rows fill in. Rows are eliminated in pairs, which halves
    the passes over those below.
    """
    k = n - 1
    while k >= 0:
        inverse = 1.0 / H_io[k, k]
        inverse_out[k] = inverse
        first = first_io[k]
        if k == 0:
            break
        x = H_io[k, k - 1] if first < k else 0.0
        if x != 0.0:
            _eliminate(H_io, k, k - 1, x * inverse, first)
            first_io[k - 1] = min(first_io[k - 1], first)
        inverse_next = 1.0 / H_io[k - 1, k - 1]
        inverse_out[k - 1] = inverse_next
        first_next = first_io[k - 1]
        begin = min(first, first_next)
        for i in range(begin, k - 1):
            x = H_io[k, i] * inverse if i >= first else 0.0
            y = H_io[k - 1, i] * inverse_next if i >= first_next else 0.0
            if x != 0.0 and y != 0.0 and first == first_next:
                first_io[i] = min(first_io[i], first)
                for j in range(first, i + 1, PACK):
                    h = load_row(H_io, i, j) - x * load_row(H_io, k, j) - y * load_row(H_io, k - 1, j)
                    store_row(H_io, i, j, h)
            else:
                if x != 0.0:
                    first_io[i] = min(first_io[i], first)
                    _eliminate(H_io, k, i, x, first)
                if y != 0.0:
                    first_io[i] = min(first_io[i], first_next)
                    _eliminate(H_io, k - 1, i, y, first_next)
        k -= 2


@kernel
def tip_solve(n, first, H, inverse, x_io):
    """x = H^-1 x with the factor of `tip_factor`. x has the padded length, zero past n. O(n^2)."""
    # tips to base
    for k in range(n - 1, 0, -1):
        y = x_io[k] * inverse[k]
        whole = k - k % PACK
        for j in range(first[k], whole, PACK):
            store_pack(x_io, j, load_pack(x_io, j) - y * load_row(H, k, j))
        for j in range(whole, k):
            x_io[j] = x_io[j] - y * H[k, j]

    # base to tips
    for k in range(n):
        whole = k - k % PACK
        total = pack_of(0.0)
        for j in range(first[k], whole, PACK):
            total = total + load_row(H, k, j) * load_pack(x_io, j)
        x = x_io[k] - sum_pack(total)
        for j in range(whole, k):
            x = x - H[k, j] * x_io[j]
        x_io[k] = x * inverse[k]
