# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dense factorisation of a symmetric positive definite matrix, from its last row to its first.

H = sum_k row_k^T row_k / d_k with row_k ending at column k: the order of elimination that keeps a tree's
mass matrix free of fill-in, as every row only touches its ancestors. The matrix is stored densely and
rows with a zero multiplier are skipped, so a tree's sparsity is used without being told. Rows start at
column zero and are padded to whole packs: every inner loop is whole machine vectors.
"""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack


@kernel
def tip_factor(n, H_io, inverse_out):
    """Factor the lower triangle of H in place; inverse_out[k] = 1 / d_k. At most O(n^3 / 6)."""
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / H_io[k, k]
        inverse_out[k] = inverse
        for i in range(k):
            x = H_io[k, i]
            if x != 0.0:
                x = x * inverse
                for j in range(0, i + 1, PACK):
                    store_row(H_io, i, j, load_row(H_io, i, j) - x * load_row(H_io, k, j))


@kernel
def tip_solve(n, H, inverse, x_io):
    """x = H^-1 x with the factor of `tip_factor`. x has the padded length, zero past n. O(n^2)."""
    # tips to base
    for k in range(n - 1, 0, -1):
        y = x_io[k] * inverse[k]
        whole = k - k % PACK
        for j in range(0, whole, PACK):
            store_pack(x_io, j, load_pack(x_io, j) - y * load_row(H, k, j))
        for j in range(whole, k):
            x_io[j] = x_io[j] - y * H[k, j]

    # base to tips
    for k in range(n):
        whole = k - k % PACK
        total = pack_of(0.0)
        for j in range(0, whole, PACK):
            total = total + load_row(H, k, j) * load_pack(x_io, j)
        x = x_io[k] - sum_pack(total)
        for j in range(whole, k):
            x = x - H[k, j] * x_io[j]
        x_io[k] = x * inverse[k]
