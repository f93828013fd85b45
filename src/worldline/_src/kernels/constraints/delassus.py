# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The Delassus matrix of constraint rows, dense."""

from __future__ import annotations

from worldline._src.jit import kernel


@kernel
def delassus(J, K, R, n, A_out):
    """A = J M^-1 J^T + diag(R) from the rows of J and K = (M^-1 J^T)^T, both with one row per constraint row.

    Generic over the scalar. O(n^2 nv / 2).
    """
    for i in range(n):
        for k in range(i + 1):
            total = J[i, 0] * K[k, 0]
            for j in range(1, J.shape[1]):
                total = total + J[i, j] * K[k, j]
            A_out[i, k] = total
            A_out[k, i] = total
        A_out[i, i] = A_out[i, i] + R[i]
