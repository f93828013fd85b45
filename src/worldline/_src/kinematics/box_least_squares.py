# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares within bounds: a small dense quadratic program."""

from __future__ import annotations

import numpy as np

from worldline._src.spatial.poses import Array


def box_least_squares(J: Array, b: Array, damping: float, low: Array, high: Array) -> Array:
    """x between low and high that minimizes |J x - b|^2 + damping |x|^2, by the primal active-set method.

    The damping is positive, so that the problem is strictly convex and the method ends [Nocedal and Wright
    2006, ch. 16.5]. Bounds are consistent: low <= high.
    """
    n = J.shape[1]
    H, g = J.T @ J + damping * np.eye(n), J.T @ b
    x = np.clip(np.zeros(n), low, high)
    fixed = (x == low) | (x == high)
    for _ in range(20 * (n + 1)):
        free = np.flatnonzero(~fixed)
        step = np.zeros(n)
        if free.size:
            step[free] = np.linalg.solve(H[np.ix_(free, free)], (g - H @ x)[free])
        # as far as the first bound in the way
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0.0, (high - x) / step, np.where(step < 0.0, (low - x) / step, np.inf))
        first = int(np.argmin(room))
        if room[first] < 1.0:
            x = x + room[first] * step
            x[first] = high[first] if step[first] > 0.0 else low[first]
            fixed[first] = True
            continue
        x = x + step
        # release the bound that holds back the most
        slope = H @ x - g
        outward = np.where(x <= low, -slope, np.where(x >= high, slope, 0.0))
        pull = np.where(fixed & (high > low), outward, 0.0)
        worst = int(np.argmax(pull))
        if pull[worst] <= 1e-14 * max(1.0, float(np.abs(g).max())):
            break
        fixed[worst] = False
    return np.clip(x, low, high)
