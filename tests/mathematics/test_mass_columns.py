# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solves of the mass matrix by tiles of columns, as plain Python, against dense algebra."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worldline._src.kernels import mass_columns, mass_factor

CHAINS = {
    "chain of 9": [-1, *range(8)],
    "limbs of 4, 5 and 2": [-1, 0, 1, 2, 3, 2, 5, 6, 7, 8, 2, 10],
    "alternating": [-1, 0, 0, 1, 2, 3, 4, 5, 6],
    "two trees": [-1, 0, 1, 2, -1, 4, 5, 6, 7],
}


@pytest.mark.parametrize("name", CHAINS)
def test_factor_solve_and_inverse(name):
    rng, above = np.random.default_rng(2), np.array(CHAINS[name])
    n = above.size
    dof = SimpleNamespace(dof_parent=above)
    # a matrix with the pattern of the tree: sums of squares of what ancestors share
    root = np.zeros((n, n))
    for d in range(n):
        e = d
        while e >= 0:
            root[d, e] = rng.normal() + 4.0 * (d == e)
            e = above[e]
    M = root.T @ root
    L, reference = np.tril(M), np.zeros((n, n))
    mass_columns.factor_in_place(dof, L)
    mass_factor.factor(dof, M, reference)
    np.testing.assert_array_equal(L, reference)

    X = rng.normal(size=(n, 3 * mass_columns.TILE))
    expected, last = -np.linalg.solve(M, X), X[:, -1].copy()
    mass_columns.solve_columns(dof, L, X.shape[1] - mass_columns.TILE, X)
    np.testing.assert_allclose(X[:, :8], expected[:, :8], rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(X[:, -1], last)

    tile, inverse = np.full((n, mass_columns.TILE), np.nan), np.full((n, n), np.nan)
    mass_columns.invert_mass(dof, L, mass_columns.Columns(tile, tile), inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(M), rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(inverse, inverse.T)
