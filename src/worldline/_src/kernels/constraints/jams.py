# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Jams: contacts that sequential impulses do not solve, by damped sweeps, then with larger regularizers.

Friction makes sweeps over hard contacts go round in a cycle, although Coulomb's law has a solution. Damped
sweeps start anew from zero and go part of the way in every visit of a contact: its response to its own
impulse counts more than once, what it misses does not. That is a proximal point step a visit [Rockafellar
1976]. Mixtures of the last sweeps (`mixed_sweeps.py`) end most cycles and the slow drift of wedged bodies;
impulses at which sweeps end solve the contacts as they are.

Much friction can lock bodies that overlap against each other: no velocity lets all contacts part as fast as
they should, so Coulomb's law has no solution but for regularizers [Acary and Brogliato 2008, ch. 13], and
impulses grow by the same amount in every sweep. Such a jam starts anew from zero with a larger regularizer, a
share of the inverse inertia that a contact sees: every contact gives way by R times its impulse, and growth
ends.

A hard impact on a tower and a light body below a heavy one take many sweeps as well, but what is left to do
is little, and contacts that give way would miss more. So an island stays hard where its softer contacts give
way by more than gravity makes in a step and by more than the last sweep over hard ones changed; hard contacts
are then swept on, for as long as that brings them nearer. What is still unsolved then is solved by turns
(`body_turns.py`), which end where sweeps go round in a cycle, if there is a solution.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_ncg import solve_impulses
from worldline._src.kernels.constraints.body_pgs import apply_impulse, body_pgs, fill_block
from worldline._src.kernels.constraints.body_turns import solve_by_turns
from worldline._src.kernels.constraints.mixed_sweeps import mixed_sweeps

DAMPING, MORE_DAMPING = 0.1, 0.3
"""Damping of sweeps, as shares of the inverse inertia along the normal, tried in turn."""
DAMPED_MORE = 20
"""Most sweeps with each of them, as a multiple of the plain sweeps of a solve,"""
UNMIXED_MORE = 2
"""and those before the first mixture."""
SOFT, SOFTER = 1e-2, 1e-1
"""Regularizers of a jam, tried in turn, as shares of the inverse inertia along the normal."""
SOFT_MORE = 20
"""Most sweeps with each of them, as a multiple of the plain sweeps of a solve."""
AGAIN = 3
"""Rounds of sweeps over contacts that stay hard, each with as many as the first; changes halve in each."""
GIVEN = 100.0
"""Velocity that a contact may give way by, in units of what counts as solved: a step of gravity."""


@inline
def _start_softer(contacts, count, share, bodies_io, impulse_io):
    """Take all impulses back, and raise regularizers to a share of the inverse inertia along the normal."""
    for c in range(count):
        k = 3 * c
        apply_impulse(contacts, c, -impulse_io[k], -impulse_io[k + 1], -impulse_io[k + 2], bodies_io)
        least = share * (contacts.block[c, 7] - contacts.R[k])
        for j in range(k, k + 3):
            contacts.R[j] = max(contacts.R[j], least)
            impulse_io[j] = 0.0
        fill_block(bodies_io, c, contacts)


@inline
def _given(contacts, count, impulse):
    """The most that regularizers take off the velocities that contacts ask for [m/s]."""
    most = 0.0
    for c in range(count):
        most = max(most, contacts.R[3 * c] * impulse[3 * c])
    return most


@inline
def _start_damped(contacts, count, damping, bodies_io, impulse_io):
    """Take all impulses back, and raise the responses of contacts but not what they miss."""
    for c in range(count):
        k = 3 * c
        apply_impulse(contacts, c, -impulse_io[k], -impulse_io[k + 1], -impulse_io[k + 2], bodies_io)
        normal, x, y = contacts.R[k], contacts.R[k + 1], contacts.R[k + 2]
        more = damping * (contacts.block[c, 7] - normal)
        for j in range(k, k + 3):
            contacts.R[j] += more
            impulse_io[j] = 0.0
        fill_block(bodies_io, c, contacts)
        contacts.R[k], contacts.R[k + 1], contacts.R[k + 2] = normal, x, y


@inline
def _take_back(contacts, count, kept, bodies_io, impulse_io):
    """Impulses and regularizers as they were."""
    for c in range(count):
        k = 3 * c
        normal, x = kept.before[k] - impulse_io[k], kept.before[k + 1] - impulse_io[k + 1]
        apply_impulse(contacts, c, normal, x, kept.before[k + 2] - impulse_io[k + 2], bodies_io)
        for j in range(k, k + 3):
            impulse_io[j], contacts.R[j] = kept.before[j], kept.direction[j]
        fill_block(bodies_io, c, contacts)


@kernel
def solve_contacts(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io):
    """Impulses of contacts by `solve_impulses`, else by damped sweeps, else with larger regularizers.

    Operands and what is returned are those of `solve_impulses`; `contacts.R` has the regularizers that the
    impulses belong to. A negative number of sweeps is a bound: no more of them are made, solved or not.
    O(contacts) a sweep.
    """
    tolerance, sweeps, _ = limits
    if sweeps < 0:
        return body_pgs(contacts, count, tolerance, -sweeps, sweeps_out, bodies_io, impulse_io)
    moved = solve_impulses(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io)
    if moved <= tolerance:
        return moved
    hard = moved
    for k in range(3 * count):
        work_out.before[k], work_out.direction[k] = impulse_io[k], contacts.R[k]
    mixed = tolerance, UNMIXED_MORE * sweeps, DAMPED_MORE * sweeps
    for attempt in range(2):
        if moved > tolerance:
            damping = DAMPING if attempt == 0 else MORE_DAMPING
            _start_damped(contacts, count, damping, bodies_io, impulse_io)
            moved = mixed_sweeps(contacts, count, mixed, work_out, sweeps_out, bodies_io, impulse_io)
            for c in range(count):
                fill_block(bodies_io, c, contacts)
    # mixtures solve contacts that contradict each other too, by impulses without bounds
    if moved <= tolerance and _given(contacts, count, impulse_io) <= GIVEN * tolerance:
        return moved
    moved = max(moved, hard)
    for attempt in range(2):
        if moved > tolerance:
            taken, most = sweeps_out[0], SOFT_MORE * sweeps
            _start_softer(contacts, count, SOFT if attempt == 0 else SOFTER, bodies_io, impulse_io)
            moved = body_pgs(contacts, count, tolerance, most, sweeps_out, bodies_io, impulse_io)
            sweeps_out[0] += taken
    if _given(contacts, count, impulse_io) > max(GIVEN * tolerance, hard):
        _take_back(contacts, count, work_out, bodies_io, impulse_io)
        moved = hard
        plain = tolerance, sweeps, tolerance
        for _ in range(AGAIN):
            taken = sweeps_out[0]
            moved = solve_impulses(contacts, count, plain, work_out, sweeps_out, bodies_io, impulse_io)
            sweeps_out[0] += taken
            if moved <= tolerance or moved > 0.5 * hard:
                break
            hard = moved
    if not moved <= tolerance:
        turned = solve_by_turns(contacts, count, limits, work_out, sweeps_out, bodies_io, impulse_io)
        if turned <= tolerance:
            moved = turned
    return moved
