# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coulomb's law between free bodies by turns: sweeps over convex cones, De Saxce corrections between them.

Sweeps over Coulomb's law itself (`body_pgs.py`) may go round in a cycle where friction is large, although
there is a solution: what a contact does to the slip of another is not the gradient of anything. With the
correction s held, impulses r of

    min  r^T (W + R) r / 2 + (q + sum of s_c n_c)^T r,    r_c in the cone |r_t| <= mu r_n

are those of a convex problem, on which sweeps of projected gradient steps always descend. The solution obeys
Coulomb's law where s_c = mu |w_t|, w the velocity of the contact beyond its target: a fixed point, found by
turns [De Saxce and Feng 1998; Acary, Cadoux, Lemarechal and Malick 2011].
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_pgs import apply_impulse, approach_speed
from worldline._src.kernels.constraints.projections import TINY, onto_cone
from worldline._src.scalar.ops import sqrt
from worldline._src.spatial.vec3 import load_vec3, sub

TURNS = 60
"""Most turns of a solve."""
TURN_MORE = 10
"""Most sweeps of a turn, as a multiple of the plain sweeps of a solve."""
ALL_MORE = 150
"""Most sweeps of all turns but the last, as the same multiple."""
NEARER = 0.1
"""Change of a velocity at which the sweeps of a turn end, as a share of the last change of a correction."""


@inline
def _misses(contacts, c, bodies, impulse):
    """w = v + R r - target of the three rows of contact `c`."""
    a, b, k = contacts.a[c], contacts.b[c], 3 * c
    v = sub(load_vec3(bodies.linear, b), load_vec3(bodies.linear, a))
    wa, wb = load_vec3(bodies.angular, a), load_vec3(bodies.angular, b)
    return (
        approach_speed(contacts, k, v, wa, wb) + contacts.R[k] * impulse[k] - contacts.target[k],
        approach_speed(contacts, k + 1, v, wa, wb)
        + contacts.R[k + 1] * impulse[k + 1]
        - contacts.target[k + 1],
        approach_speed(contacts, k + 2, v, wa, wb)
        + contacts.R[k + 2] * impulse[k + 2]
        - contacts.target[k + 2],
    )


@inline
def _visit(contacts, c, correction, bodies_io, impulse_io):
    """A projected gradient step of contact `c`; returns the largest change of a velocity."""
    k, mu = 3 * c, max(contacts.mu[c], TINY)
    miss, miss_x, miss_y = _misses(contacts, c, bodies_io, impulse_io)
    # the trace of the block is no less than its largest eigenvalue
    bound = contacts.block[c, 7] + contacts.block[c, 8] + contacts.block[c, 9]
    axial = impulse_io[k] - (miss + correction) / bound
    x, y = impulse_io[k + 1] - miss_x / bound, impulse_io[k + 2] - miss_y / bound
    axial, factor = onto_cone(axial, sqrt(x * x + y * y) / mu, mu * mu)
    push, push_x, push_y = (
        axial - impulse_io[k],
        factor * x - impulse_io[k + 1],
        factor * y - impulse_io[k + 2],
    )
    impulse_io[k] += push
    impulse_io[k + 1] += push_x
    impulse_io[k + 2] += push_y
    apply_impulse(contacts, c, push, push_x, push_y, bodies_io)
    return bound * max(abs(push), abs(push_x), abs(push_y))


@kernel
def solve_by_turns(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io):
    """Impulses of contacts from those in impulse_io, which stay where turns do not end.

    Operands are those of `solve_impulses`. Returns the largest of what the last sweep changed and what the
    corrections of the last turn were off [m/s]. O(contacts) a sweep.
    """
    tolerance, sweeps, _ = limits
    kept, correction = work_out.before, work_out.direction
    for k in range(3 * count):
        kept[k] = impulse_io[k]
    moved, off, enough, taken = 0.0, tolerance, tolerance, sweeps_out[0]
    for turn in range(TURNS + 1):
        off = 0.0
        for c in range(count):
            # s = mu |w_t|
            _, x, y = _misses(contacts, c, bodies_io, impulse_io)
            slip = contacts.mu[c] * sqrt(x * x + y * y)
            off = max(off, abs(slip - correction[c])) if turn > 0 else tolerance
            correction[c] = slip
        if turn > 0 and (max(off, moved) <= tolerance or sweeps_out[0] - taken > ALL_MORE * sweeps):
            break
        if turn > 0:
            enough = min(max(NEARER * off, NEARER * tolerance), tolerance)
        for _ in range(TURN_MORE * sweeps):
            moved = 0.0
            for c in range(count):
                moved = max(moved, _visit(contacts, c, correction[c], bodies_io, impulse_io))
            sweeps_out[0] += 1.0
            if moved <= enough:
                break
    if not max(off, moved) <= tolerance:
        for c in range(count):
            k = 3 * c
            push, x, y = (
                kept[k] - impulse_io[k],
                kept[k + 1] - impulse_io[k + 1],
                kept[k + 2] - impulse_io[k + 2],
            )
            apply_impulse(contacts, c, push, x, y, bodies_io)
            for j in range(k, k + 3):
                impulse_io[j] = kept[j]
    return max(off, moved)
