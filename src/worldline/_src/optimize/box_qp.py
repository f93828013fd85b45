# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small quadratic programs with bounds, by projected Newton steps [Bertsekas 1982; Tassa et al. 2014]."""

from __future__ import annotations

import numpy as np

from worldline._src.spatial.poses import Array

_ITERATIONS = 100
_ARMIJO = 0.1
_GRADIENT = 1e-10


def solve_box_qp(H: Array, g: Array, lower: Array, upper: Array, start: Array) -> tuple[Array, np.ndarray]:
    """The x that minimises x^T H x / 2 + g^T x within bounds, and which of its numbers are free.

    H is symmetric and positive definite. Every turn finds the variables at a bound that the gradient holds
    there, makes a Newton step in the others, and searches along its projection.
    """
    x = np.clip(start, lower, upper)
    free = np.ones(len(x), bool)
    for _ in range(_ITERATIONS):
        gradient = H @ x + g
        held = ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0))
        free = ~held
        if not free.any() or np.abs(gradient[free]).max() < _GRADIENT * (1.0 + np.abs(g).max()):
            break
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], gradient[free])
        value, size = 0.5 * x @ H @ x + g @ x, 1.0
        while True:
            trial = np.clip(x + size * step, lower, upper)
            gain = value - (0.5 * trial @ H @ trial + g @ trial)
            if gain >= _ARMIJO * float(gradient @ (x - trial)) or size < 1e-12:
                break
            size *= 0.5
        if np.array_equal(trial, x):
            break
        x = trial
    return x, free
