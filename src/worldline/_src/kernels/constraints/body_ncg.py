# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Nonsmooth nonlinear conjugate gradients over sequential impulses [Silcowitz, Niebe, Erleben 2010].

A sweep of projected Gauss-Seidel from impulses x ends at x + r; r takes the role of a negative gradient.
Between two sweeps the impulses go on along

    d <- r + beta d,    beta = |r|^2 / |r of the sweep before|^2    (Fletcher and Reeves)

and where r grows, beta > 1, the direction starts anew. Large heaps need half to two thirds of the sweeps.
What a solve ends with was made by a sweep, so impulses are in their cones.

Only islands that plain sweeps leave unsolved come here. Small islands go on to a finer tolerance, as long as
that does not take too many sweeps.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import kernel
from worldline._src.kernels.constraints.body_pgs import apply_impulse, body_pgs, solve_contact
from worldline._src.named_tuple import NamedTuple

MORE = 50
"""Most sweeps, as a multiple of those without conjugate directions."""
FINE_MORE = 10
"""The same from the tolerance on to the finer one."""


class SweepWork(NamedTuple):
    """Scratch, (3 capacity,) each: impulses before a sweep, and the direction beyond it; that of
    `mixed_sweeps.py`, (HISTORY, 3 capacity) and (MIXED, MIXED + 1)."""

    before: Any
    direction: Any
    history: Any
    mix: Any


@kernel
def solve_impulses(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io):
    """Impulses of contacts: sweeps, then conjugate directions where those were not enough.

    limits: largest change of a velocity in a sweep that counts as solved [m/s], sweeps without conjugate
    directions, and the change at which sweeps end, the same or less [m/s]. sweeps_out[0]: sweeps taken.
    Returns the largest change in the last sweep [m/s]. O(contacts) a sweep.
    """
    tolerance, sweeps, fine = limits
    moved = body_pgs(contacts, count, fine, sweeps, sweeps_out, bodies_io, impulse_io)
    before, direction = work_out.before, work_out.direction
    last = 0.0
    while moved > fine:
        for k in range(3 * count):
            before[k] = impulse_io[k]
        moved = 0.0
        for c in range(count):
            moved = max(moved, solve_contact(contacts, c, 0.0, bodies_io, impulse_io))
        sweeps_out[0] += 1.0
        # a solve ends with a sweep: impulses along a direction may be outside their cones
        if moved <= fine or sweeps_out[0] >= (FINE_MORE if moved <= tolerance else MORE) * sweeps:
            break
        # beta, and the move along the direction so far
        square = 0.0
        for k in range(3 * count):
            r = impulse_io[k] - before[k]
            square += r * r
        beta = 0.0
        if square < last:
            beta = square / last
        last = square
        for c in range(count):
            k = 3 * c
            for j in range(k, k + 3):
                r = impulse_io[j] - before[j]
                before[j] = beta * direction[j] if beta > 0.0 else 0.0
                direction[j] = r + before[j]
                impulse_io[j] += before[j]
            if beta > 0.0:
                apply_impulse(contacts, c, before[k], before[k + 1], before[k + 2], bodies_io)
    return moved
