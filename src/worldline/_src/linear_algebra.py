# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of small matrices with the same bits on every processor.

NumPy leaves `@`, `dot`, the length of a vector and systems of equations to a numerical library that chooses
its code by the processor, and with it the order of sums and whether products are fused with them. What a
Model and the start of a run are made of must not depend on it: here products and sums are rounded one by one,
in one order.

>>> from worldline._src.linear_algebra import matmul
>>> matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0]).tolist()
[-1.0, -1.0]
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def matmul(*factors: ArrayLike) -> Array:
    """The product of matrices, or of stacks of them, from left to right; the last may be a vector.

    Shapes are those of `numpy.matmul`: (..., n, k) and (..., k, m), or (..., n, k) and (k,).
    """
    return reduce(_matmul, (np.asarray(factor, np.float64) for factor in factors))


def _matmul(A: Array, B: Array) -> Array:
    if B.ndim == 1:
        return (A * B).sum(axis=-1)
    # sum over k of A[..., n, k] B[..., k, m]
    return (A[..., :, :, None] * B[..., None, :, :]).sum(axis=-2)


def dot(a: Array, b: Array) -> float:
    """The sum of a_i b_i."""
    return float((a * b).sum())


def norm(v: Array) -> float:
    """The Euclidean length of a vector."""
    return math.sqrt(dot(v, v))


def unit_vector(v: Array) -> Array:
    """A vector divided by its length."""
    return v / norm(v)


def weighted_sum(weights: Array, rows: Array) -> Array:
    """The sum of w_i r_i over rows (n, k), of shape (k,); n may be large."""
    return (weights[:, None] * rows).sum(axis=0)


def solve(A: Array, b: Array) -> Array:
    """The solution of A x = b by Gaussian elimination with row exchanges [Golub and Van Loan 2013, 3.4].

    For (n, n) and (n,) or (n, k). A singular matrix gives values that are not finite.
    """
    n = len(A)
    columns = b.reshape(n, -1)
    work = np.hstack([A, columns])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(n):
            at = k + int(np.argmax(np.abs(work[k:, k])))
            work[[k, at]] = work[[at, k]]
            # rows below lose their entry of column k
            factor = work[k + 1 :, k] / work[k, k]
            work[k + 1 :, k:] -= factor[:, None] * work[k, k:]
        x = np.zeros(columns.shape)
        for k in reversed(range(n)):
            known = (work[k, k + 1 : n, None] * x[k + 1 :]).sum(axis=0)
            x[k] = (work[k, n:] - known) / work[k, k]
    return x.reshape(b.shape)
