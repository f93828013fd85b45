# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coulomb's law from a convex solver: the bipotential of De Saxce and Feng (1998) as a fixed point.

A solver over friction cones finds forces that are normal to the dual cone, and so lets a contact that slides
with speed s separate with speed mu s. Coulomb's law has no such dilation: a sliding contact stays closed. The
De Saxce correction takes mu s off the normal target; as s follows from the solution, rows are solved and
targets moved by turns. The relaxation step of a turn follows from the two before it (Aitken's rule for
vectors), as plain turns oscillate or creep where contacts are coupled. Sticking contacts need no correction.

The impedance model keeps the dilation, which is part of its definition; contacts of all other laws are cones.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.constraints.jacobians import row_velocity
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST
from worldline._src.scalar.ops import sqrt

TURNS = 30
"""Most solves of one step."""
TOLERANCE = 1e-6
"""Lift that needs no other turn, as a share of the largest slip or of gravity, whichever is more."""
LEAST_STEP, MOST_STEP = 0.1, 1.5
"""Bounds of the relaxation step of an iteration."""
NONE = -1.0
"""Lift of a contact whose law has none to undo."""


@inline
def slip_norm(rows, first, condim, slack):
    """Friction times slip of a contact, from the slacks of its rows, in the norm dual to its cone."""
    total = 0.0
    for k in range(first + 1, first + condim):
        u = rows.bound[k] * slack[k]
        total += u * u
    return sqrt(total)


@inline
def guess_de_saxce(frames, island, a_guess, rows_io, slack_out):
    """Lower targets by the slip that a guess of the acceleration leads to."""
    contact_row, de_saxce = frames.contact_row, frames.de_saxce
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = contact_row[k, 0], contact_row[k, 1]
        if first >= 0 and de_saxce[k] >= 0.0:
            for j in range(first, first + condim):
                slack_out[j] = row_velocity(rows_io.J, j, a_guess) - rows_io.aref[j]
            de_saxce[k] = slip_norm(rows_io, first, condim, slack_out)
            rows_io.aref[first] -= de_saxce[k]


@inline
def update_de_saxce(frames_io, island, gravity, share, slack, rows_io):
    """Move the targets of sliding contacts towards the slip of the last solve.

    Returns the relaxation step, 0 when there is no need to solve again, and the largest correction that
    the last solve left [m/s^2]. `share` is that of the turn before, 0 for the first. What rests has a slip of
    rounding only, which never settles: it is measured by gravity.
    """
    contact_row, de_saxce, error = frames_io.contact_row, frames_io.de_saxce, frames_io.de_saxce_error
    first_contact, end = island.counter[CONTACT_FIRST], island.counter[CONTACT_END]
    change, largest, turned, bend = 0.0, gravity, 0.0, 0.0
    for i in range(first_contact, end):
        k = island.contact_order[i]
        first, condim = contact_row[k, 0], contact_row[k, 1]
        if first >= 0 and de_saxce[k] >= 0.0:
            slip = slip_norm(rows_io, first, condim, slack)
            off = slip - de_saxce[k]
            change = max(change, abs(off))
            largest = max(largest, slip, de_saxce[k])
            last = error[k]
            turned += last * (off - last)
            bend += (off - last) * (off - last)
            error[k] = off
    if change <= TOLERANCE * largest:
        return 0.0, 0.0
    step = 1.0
    if share > 0.0 and bend > 0.0:
        step = min(max(-share * turned / bend, LEAST_STEP), MOST_STEP)
    for i in range(first_contact, end):
        k = island.contact_order[i]
        first = contact_row[k, 0]
        if first >= 0 and de_saxce[k] >= 0.0:
            by = max(step * error[k], -de_saxce[k])
            rows_io.aref[first] -= by
            de_saxce[k] += by
    return step, change
