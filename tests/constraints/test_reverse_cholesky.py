# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The dense factorisation from the tips, with and without a tree's zeros."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky, reverse_cholesky_solve
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.scalar.packed import padded


@entry
def solve(n, first, H, inverse, x):
    reverse_cholesky(n, first, H, inverse)
    reverse_cholesky_solve(n, first, H, inverse, x)


def run(full, right, first=None):
    n = len(right)
    width = padded(n)
    H = aligned_zeros(width * width).reshape(width, width)
    H[:n, :n] = np.tril(full)
    x, inverse = aligned_zeros(width), aligned_zeros(width)
    x[:n] = right
    solve(n, np.zeros(width, dtype=np.int64) if first is None else first, H, inverse, x)
    return x[:n], H


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 27, 60])
def test_dense(n):
    rng = np.random.default_rng(n)
    J = rng.normal(size=(n, n))
    full = J @ J.T + np.eye(n)
    right = rng.normal(size=n)
    x, _ = run(full, right)
    assert full @ x == pytest.approx(right, abs=1e-10)


def test_spans_of_separate_bodies_and_links_between_them():
    rng = np.random.default_rng(2)
    n = 24
    full = np.zeros((n, n))
    first = np.zeros(padded(n), dtype=np.int64)
    for start in range(0, n, 6):
        J = rng.normal(size=(6, 6))
        full[start : start + 6, start : start + 6] = J @ J.T + np.eye(6)
        first[start : start + 6] = start // 4 * 4
    # one row that couples the second and the last body: it fills in as it is eliminated
    row = np.zeros(n)
    row[[7, 8, 20]] = 1.0, -2.0, 0.5
    full += np.outer(row, row)
    first[20] = 4
    right = rng.normal(size=n)
    x, H = run(full, right, first)
    assert full @ x == pytest.approx(right, abs=1e-10)
    # nothing outside the bodies that are coupled was touched
    assert (H[12:18, :12] == 0.0).all()
