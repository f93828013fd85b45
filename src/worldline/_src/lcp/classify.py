# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Classification of an LCP by its matrix, and the solvers that are guaranteed to solve it."""

from __future__ import annotations

import numpy as np

from worldline._src.errors import require_kind
from worldline._src.lcp.problem import LcpKind, LcpProblem
from worldline._src.named_tuple import NamedTuple

LARGEST_P_TEST = 12
"""Rows up to which all principal minors are computed; there are 2^n - 1 of them."""


class LcpClass(NamedTuple):
    """Properties of a problem that decide which method is sure to work.

    Attributes:
        kind: Shape of the bounds.
        size: Number of rows.
        equality_rows: Rows without any bound.
        fixed_rows: Rows with lo = hi.
        friction_rows: Rows whose bounds depend on another row.
        symmetric: A equals its transpose up to rounding.
        positive_definite: x A x > 0 for all x but zero.
        positive_semidefinite: x A x >= 0 for all x, up to rounding.
        p_matrix: All principal minors are positive, so that a solution exists and is unique whatever b;
            None when the matrix is too large to decide and is not positive definite.
        rank: Numerical rank of A.
    """

    kind: LcpKind
    size: int
    equality_rows: int
    fixed_rows: int
    friction_rows: int
    symmetric: bool
    positive_definite: bool
    positive_semidefinite: bool
    p_matrix: bool | None
    rank: int


def classify(problem: LcpProblem) -> LcpClass:
    """Classify a problem; O(n^3), and O(2^n) minors for small indefinite matrices.

    Example:
        >>> from worldline.lcp import LcpProblem, classify
        >>> found = classify(LcpProblem.standard([[1, 0], [2, 1]], [-1, -1]))
        >>> found.kind.name, found.symmetric, found.positive_semidefinite, found.p_matrix
        ('STANDARD', False, True, True)
    """
    require_kind(problem, LcpProblem, "problem", "classify")
    A = problem.A
    n = len(problem)
    scale = float(np.abs(A).max()) if n else 0.0
    tolerance = 1e-12 * n * scale
    eigenvalues = np.linalg.eigvalsh(0.5 * (A + A.T)) if n else np.ones(1)
    definite = bool(eigenvalues[0] > tolerance)
    return LcpClass(
        kind=problem.kind,
        size=n,
        equality_rows=int((np.isneginf(problem.lo) & np.isposinf(problem.hi)).sum()),
        fixed_rows=int(((problem.lo == problem.hi) & (problem.findex < 0)).sum()),
        friction_rows=int((problem.findex >= 0).sum()),
        symmetric=bool((np.abs(A - A.T) <= 1e-12 * scale).all()),
        positive_definite=definite,
        positive_semidefinite=bool(eigenvalues[0] >= -tolerance),
        p_matrix=True if definite else _is_p_matrix(A),
        rank=int(np.linalg.matrix_rank(A)) if n else 0,
    )


def _is_p_matrix(A: np.ndarray) -> bool | None:
    """Whether all principal minors are positive, by Schur complements; None when that is too much work."""
    n = A.shape[0]
    if (np.diag(A) <= 0.0).any():
        return False
    if n > LARGEST_P_TEST:
        return None
    # minors with the first row are its pivot times minors of the Schur complement [Tsatsomeros, Li 2000]
    stack = [A]
    while stack:
        B = stack.pop()
        if B[0, 0] <= 1e-14 * np.abs(B).max():
            return False
        if B.shape[0] > 1:
            stack.append(B[1:, 1:])
            stack.append(B[1:, 1:] - np.outer(B[1:, 0], B[0, 1:]) / B[0, 0])
    return True
