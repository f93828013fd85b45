# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Anderson acceleration of damped sweeps: for contacts that friction makes drift or go round in a cycle.

Damped sweeps over contacts that much friction wedges drift for ten thousands of sweeps, and some never end,
although Coulomb's law has a solution. A sweep from impulses x ends at g(x) with the residual f = g(x) - x; a
solution is a fixed point. The next sweep starts at the mixture of the last ones whose residual is least if f
is linear between them [Anderson 1965; Walker and Ni 2011],

    x <- g - sum of c_j dg_j,    c = argmin |f - sum of c_j df_j|,    dg_j, df_j: differences between sweeps,

projected onto the cones. Where f grows, the differences are forgotten. What a solve ends with was made by a
sweep, so impulses are in their cones, and where no sweep changes them they solve the contacts as they are.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_pgs import apply_impulse, solve_contact
from worldline._src.kernels.constraints.projections import onto_disc
from worldline._src.scalar.ops import sqrt

MIXED = 8
"""Most differences between sweeps that are mixed."""
HISTORY = 2 * MIXED + 3
"""Vectors kept: differences of residuals and of results, the last of both, and what a sweep starts at."""
_RESIDUAL, _RESULT, _START = 2 * MIXED, 2 * MIXED + 1, 2 * MIXED + 2
_GROWTH = 2.25
"""Square of the growth of the residual past the least so far at which differences are forgotten."""
_RIDGE = 1e-10
"""Regularizer of the mixture, as a share of the trace of its matrix."""


@inline
def _solve_mixture(history, count, held, mix_out):
    """Coefficients c in the last column of `mix_out`, by Cholesky's method on the normal equations."""
    trace = 0.0
    for i in range(held):
        for j in range(i + 1):
            total = 0.0
            for k in range(3 * count):
                total += history[i, k] * history[j, k]
            mix_out[i, j] = total
        total = 0.0
        for k in range(3 * count):
            total += history[i, k] * history[_RESIDUAL, k]
        mix_out[i, MIXED] = total
        trace += mix_out[i, i]
    for i in range(held):
        mix_out[i, i] += _RIDGE * trace
        for j in range(i + 1):
            total = mix_out[i, j]
            for k in range(j):
                total -= mix_out[i, k] * mix_out[j, k]
            mix_out[i, j] = sqrt(total) if i == j else total / mix_out[j, j]
        for j in range(i):
            mix_out[i, MIXED] -= mix_out[i, j] * mix_out[j, MIXED]
        mix_out[i, MIXED] /= mix_out[i, i]
    for i in range(held - 1, -1, -1):
        for j in range(i + 1, held):
            mix_out[i, MIXED] -= mix_out[j, i] * mix_out[j, MIXED]
        mix_out[i, MIXED] /= mix_out[i, i]


@inline
def _move(contacts, count, held, history, mix, bodies_io, impulse_io):
    """Impulses -> their mixture, in its cones; velocities of bodies follow."""
    for c in range(count):
        k = 3 * c
        normal, x, y = impulse_io[k], impulse_io[k + 1], impulse_io[k + 2]
        for i in range(held):
            normal -= mix[i, MIXED] * history[MIXED + i, k]
            x -= mix[i, MIXED] * history[MIXED + i, k + 1]
            y -= mix[i, MIXED] * history[MIXED + i, k + 2]
        normal = max(normal, 0.0)
        x, y = onto_disc(x, y, contacts.mu[c] * normal)
        apply_impulse(
            contacts, c, normal - impulse_io[k], x - impulse_io[k + 1], y - impulse_io[k + 2], bodies_io
        )
        impulse_io[k], impulse_io[k + 1], impulse_io[k + 2] = normal, x, y


@kernel
def mixed_sweeps(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io):
    """Sweep until no velocity is changed by more than a tolerance in a sweep, mixing the last sweeps.

    limits: the tolerance [m/s], sweeps before the first mixture, most sweeps. Bodies have the velocities that
    belong to impulse_io. sweeps_out[0]: sweeps taken are added. Returns the largest change in the last sweep
    [m/s]. O(contacts) a sweep.
    """
    tolerance, plain, most = limits
    history, mix = work_out.history, work_out.mix
    moved, least, held, slot = 0.0, 0.0, 0, 0
    for taken in range(most):
        for k in range(3 * count):
            history[_START, k] = impulse_io[k]
        moved = 0.0
        for c in range(count):
            moved = max(moved, solve_contact(contacts, c, 0.0, bodies_io, impulse_io))
        sweeps_out[0] += 1.0
        if moved <= tolerance:
            break
        if taken < plain:
            continue
        square = 0.0
        for k in range(3 * count):
            f = impulse_io[k] - history[_START, k]
            history[slot, k] = f - history[_RESIDUAL, k]
            history[MIXED + slot, k] = impulse_io[k] - history[_RESULT, k]
            history[_RESIDUAL, k], history[_RESULT, k] = f, impulse_io[k]
            square += f * f
        if taken == plain or square > _GROWTH * least:
            # no difference, or one that begins anew
            least, held, slot = square, 0, 0
            continue
        least = min(least, square)
        held, slot = min(held + 1, MIXED), (slot + 1) % MIXED
        _solve_mixture(history, count, held, mix)
        _move(contacts, count, held, history, mix, bodies_io, impulse_io)
    return moved
