# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian elimination with row exchanges, in place on caller-owned arrays."""

from __future__ import annotations

from worldline._src.jit import kernel


@kernel
def eliminate(G_io, x_io):
    """Solve G x = x in place; False when a pivot vanishes against the largest entry of G.

    Rows are exchanged for the largest pivot of a column. G is destroyed. Inner loops run along rows, so
    that they vectorise. O(n^3 / 3).
    """
    n = x_io.shape[0]
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(G_io[i, j]))
    smallest_pivot = 1e-13 * largest

    # triangular form
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(G_io[i, k]) > abs(G_io[best, k]):
                best = i
        if not abs(G_io[best, k]) > smallest_pivot:
            return False
        if best != k:
            for j in range(k, n):
                G_io[k, j], G_io[best, j] = G_io[best, j], G_io[k, j]
            x_io[k], x_io[best] = x_io[best], x_io[k]
        pivot = G_io[k]
        inverse = 1.0 / pivot[k]
        for i in range(k + 1, n):
            # rows as arrays of their own: the compiler then sees that they do not overlap, and vectorises
            target = G_io[i]
            factor = target[k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n):
                    target[j] -= factor * pivot[j]
                x_io[i] -= factor * x_io[k]

    # back substitution
    for k in range(n - 1, -1, -1):
        total = x_io[k]
        for j in range(k + 1, n):
            total -= G_io[k, j] * x_io[j]
        x_io[k] = total / G_io[k, k]
    return True
