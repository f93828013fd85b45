# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The potential of a contact with an elliptic friction cone, and its derivatives [Todorov 2014].

With slacks r_0 (normal) and r_j (friction), scaled as N = mu r_0 and T = |mu_j r_j|, there are three zones:
N >= mu T, no force; mu N + T <= 0, every row a spring of its own; and between them the distance to the
cone, D_m (N - mu T)^2 / 2 with D_m = D_0 / (mu^2 (1 + mu^2)). Continuous with its gradient.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import sqrt

OPEN, STICKING, SLIDING = 0, 1, 2


@inline
def cone_measures(rows, k, jar):
    """(zone, N, T) of the cone that starts with row `k`."""
    mu = rows.bound[k]
    N = mu * jar[k]
    squared = 0.0
    for j in range(k + 1, k + rows.dim[k]):
        u = rows.bound[j] * jar[j]
        squared += u * u
    T = sqrt(squared)
    if N >= mu * T:
        return OPEN, N, T
    if mu * N + T <= 0.0:
        return STICKING, N, T
    return SLIDING, N, T


@inline
def cone_stiffness(rows, k):
    """D_m of the sliding zone."""
    squared = rows.bound[k] * rows.bound[k]
    return rows.D[k] / (squared * (1.0 + squared))


@inline
def sliding_forces(rows, k, jar, N, T, force_out):
    """Forces of a sliding cone; returns its cost."""
    mu = rows.bound[k]
    Dm = cone_stiffness(rows, k)
    gap = N - mu * T
    force_out[k] = -Dm * gap * mu
    along = Dm * gap * mu / T
    for j in range(k + 1, k + rows.dim[k]):
        force_out[j] = along * rows.bound[j] * rows.bound[j] * jar[j]
    return 0.5 * Dm * gap * gap


@inline
def sliding_slopes(rows, k, jar, jv, N, T):
    """First and second derivative of a sliding cone's cost along jv."""
    mu = rows.bound[k]
    Dm = cone_stiffness(rows, k)
    N1 = mu * jv[k]
    cross = 0.0
    speed = 0.0
    for j in range(k + 1, k + rows.dim[k]):
        u = rows.bound[j] * jar[j]
        d = rows.bound[j] * jv[j]
        cross += u * d
        speed += d * d
    T1 = cross / T
    T2 = (speed - T1 * T1) / T
    gap, gap1 = N - mu * T, N1 - mu * T1
    return Dm * gap * gap1, Dm * (gap1 * gap1 - gap * mu * T2)


@inline
def sliding_hessian(rows, k, jar, N, T, C_out):
    """Second derivative of a sliding cone's cost by its slacks, (dim, dim), positive semidefinite."""
    mu = rows.bound[k]
    dim = rows.dim[k]
    Dm = cone_stiffness(rows, k)
    inverse = 1.0 / T
    bend = -(N - mu * T) * mu * Dm * inverse
    C_out[0, 0] = Dm * mu * mu
    for i in range(1, dim):
        gi = rows.bound[k + i] * rows.bound[k + i] * jar[k + i] * inverse
        C_out[i, 0] = -Dm * mu * mu * gi
        C_out[0, i] = C_out[i, 0]
        for j in range(1, i + 1):
            gj = rows.bound[k + j] * rows.bound[k + j] * jar[k + j] * inverse
            C_out[i, j] = (Dm * mu * mu - bend) * gi * gj
            C_out[j, i] = C_out[i, j]
        C_out[i, i] += bend * rows.bound[k + i] * rows.bound[k + i]
