# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small dense quadratic programs, and least squares of several priorities within bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

_TINY = 1e-12
"""Violation of a unit row that counts as none."""
_ROUNDED = 1e-13
"""Violation that rounding causes, as a share of the largest multiplier."""
_DEPENDENT = 1e-18
"""Squared part of a unit row across the active ones below which it depends on them."""
_REGULAR = 1e-8
"""Least damping of a level, as a share of its squared rows: free directions need some."""
_INDEPENDENT = 1e-8
"""Singular values below this share of the largest leave a direction free for later levels."""


def quadratic_program(H: Array, g: Array, G: Array, h: Array) -> Array:
    """x that minimizes x H x / 2 - g x with G x <= h, by the dual active-set method [Goldfarb, Idnani 1983].

    H is positive definite. The method starts at the free minimum and adds the most violated row, dropping
    rows whose multiplier would change its sign. Rows that contradict each other are refused.
    """
    # coordinates u in which H is the identity: x = D u
    values, vectors = np.linalg.eigh(H)
    D = vectors / np.sqrt(values)
    u = D.T @ g
    if not len(G):
        return D @ u
    rows = G @ D
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    rows, room = rows / size[:, None], h / size
    active: list[int] = []
    force = np.zeros(0)
    for _ in range(20 * (len(G) + len(u))):
        slack = room - rows @ u
        p = int(np.argmin(slack))
        if slack[p] >= -_TINY * max(1.0, abs(room[p]), float(np.linalg.norm(u))) or p in active:
            break
        n, own = -rows[p], 0.0
        while True:
            # z: the way that lowers the violation along all active rows; r: how their multipliers change
            r, z = np.zeros(0), n
            if active:
                Q, R = np.linalg.qr(-rows[active].T)
                part = Q.T @ n
                r, z = np.linalg.solve(R, part), n - Q @ part
            down = np.flatnonzero(r > 1e-14)
            dual, drop = np.inf, -1
            if len(down):
                drop = int(down[np.argmin(force[down] / r[down])])
                dual = float(force[drop] / r[drop])
            slope = float(z @ z)
            primal = np.inf if slope <= _DEPENDENT else float(rows[p] @ u - room[p]) / slope
            t = min(dual, primal)
            if not np.isfinite(t):
                if slack[p] > -_ROUNDED * max(1.0, float(force.max(initial=0.0))):
                    # a corner of more rows than dimensions, met but for rounding
                    return D @ u
                raise ArgumentError("a quadratic program has bounds that contradict each other")
            force, own = force - t * r, own + t
            if np.isfinite(primal):
                u = u + t * z
            if primal <= dual:
                active.append(p)
                force = np.append(force, own)
                break
            force = np.delete(force, drop)
            del active[drop]
    return D @ u


class Level(NamedTuple):
    """Rows of one priority: A x = b as well as can be, and C x <= d violated as little as can be."""

    A: Array
    b: Array
    C: Array
    d: Array
    damping: float


def lexicographic_least_squares(levels: Sequence[Level], low: Array, high: Array) -> Array:
    """x within bounds that serves the first level as well as can be, then the next without loss to it.

    Each level is a quadratic program over what the levels above leave free: the null space of their
    equations, and their inequalities relaxed by what they had to be violated [Kanoun 2011; Escande 2014].
    Bounds hold in all of them. x is 0, moved into the bounds, where no level requests more.
    """
    n = len(low)
    x = np.clip(np.zeros(n), low, high)
    Z = np.eye(n)
    upper, lower = np.isfinite(high), np.isfinite(low)
    G = np.vstack([np.eye(n)[upper], -np.eye(n)[lower]])
    h = np.concatenate([high[upper], -low[lower]])
    for level in levels:
        m, k = Z.shape[1], len(level.d)
        if m == 0:
            break
        AZ, CZ = level.A @ Z, level.C @ Z
        scale = max(float(np.sum(AZ * AZ)), float(np.sum(CZ * CZ)), 1e-300)
        # min |A x - b|^2 + |w|^2 + damping |y|^2 with C x - w <= d, over y and w, where x is x + Z y
        H = np.zeros((m + k, m + k))
        H[:m, :m] = AZ.T @ AZ + (level.damping + _REGULAR * scale) * np.eye(m)
        H[m:, m:] = np.eye(k)
        g = np.concatenate([AZ.T @ (level.b - level.A @ x), np.zeros(k)])
        rows = np.vstack([np.hstack([G @ Z, np.zeros((len(G), k))]), np.hstack([CZ, -np.eye(k)])])
        room = np.concatenate([np.maximum(h - G @ x, 0.0), level.d - level.C @ x])
        y = quadratic_program(H, g, rows, room)
        x = np.clip(x + Z @ y[:m], low, high)
        # what was reached stays: inequalities with their violation, equations by their null space
        G = np.vstack([G, level.C])
        h = np.concatenate([h, np.maximum(level.d, level.C @ x)])
        if len(AZ):
            _, S, V = np.linalg.svd(AZ)
            rank = int(np.sum(S > _INDEPENDENT * max(float(S.max(initial=0.0)), 1e-300)))
            Z = Z @ V[rank:].T
    return x
