# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Restitution of an island, cut down where it would bring in energy that was not there.

Newton's law gives every closing contact a share of its speed back. One push without friction loses by that.
Where contacts close together, others just part, or friction turns one direction into another, all shares
together can be more than there was (Kane and Levinson 1985). An island that gains is solved again without
restitution, which never gains, and gets the blend of both with the most restitution that adds no energy.

Forces that rows allow are convex sets, so a blend stays in its cones and lets nothing pass. Momentum is
linear. The work along the way is a quadratic, so the share has a closed form. The work of a contact is its
impulse times the mean of its speeds before and after: exact for kinetic energy, and relative, so that what a
moved body does to those it pushes is no gain. Islands that do not gain keep their bits.

Only hard contacts bounce. Their rows are the normal and, with friction, the tangents of a cone.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.jacobians import row_velocity
from worldline._src.kernels.constraints.solve import give_back, record_contacts, record_rows
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    CONTACT_END,
    CONTACT_FIRST,
    ROWS,
    ROWS_BEFORE,
    STEP,
)
from worldline._src.scalar.ops import constant, maximum, minimum, sqrt, where

GAIN = 1e-6
"""Work that solvers may leave, as a share of what restitution brings in."""


@inline
def most_restitution(start, slope, bend, allowed):
    """Largest share s up to 1 with start + slope s + bend s^2 <= allowed, from s = 0 on.

    start <= allowed. Generic over the scalar.
    """
    # bend s^2 + slope s + (start - allowed) = 0
    below, zero, one = start - allowed, constant(0.0, start), constant(1.0, start)
    root = sqrt(maximum(slope * slope - 4.0 * bend * below, zero))
    # the form of the root that subtracts nothing alike
    falls = slope < 0.0
    over, under = where(falls, root - slope, -2.0 * below), where(falls, 2.0 * bend, slope + root)
    share = where(under > 0.0, over / where(under > 0.0, under, one), zero)
    return where(below + slope + bend > 0.0, minimum(share, one), one)


@inline
def _impact_speed(island_rows, contact, first, row, taken, a, h):
    """Speeds of a row before and after the impact, added. taken: restitution missing in the targets."""
    rows, frames = island_rows.rows, island_rows.frames
    aref = rows.aref[row]
    if row == first:
        # targets as they were made
        aref += max(frames.de_saxce[contact], 0.0) + taken / h
    return h * (row_velocity(rows.J, row, a) - aref) + island_rows.notes.row_impact[row]


@kernel
def gains_energy(island_rows, solution, bounce_out):
    """Whether contacts of a solved island do more work than solvers leave; keeps the solution if so.

    `bounce_out` gets forces, speeds and accelerations.
    """
    frames, island = island_rows.frames, island_rows.members
    h, force, a = solution.option[STEP], solution.row_force, solution.island_a
    work, given = 0.0, 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0 and frames.bounce[k] >= 0.0:
            for row in range(first, first + condim):
                speed = _impact_speed(island_rows, k, first, row, 0.0, a, h)
                bounce_out.bounce_speed[row] = speed
                # work of an impact: impulse times the mean of the velocities before and after
                work += 0.5 * h * force[row] * speed
            given += h * force[first] * frames.bounce[k]
    if work <= GAIN * given:
        return False
    for row in range(island.counter[ROWS]):
        bounce_out.bounce_force[row] = force[row]
    for j in range(a.shape[0]):
        bounce_out.bounce_a[j] = a[j]
    return True


@kernel
def take_restitution(solution, island_rows_io, a_io):
    """Rows and accelerations as they were before the solve, but for restitution."""
    rows, frames, island = island_rows_io.rows, island_rows_io.frames, island_rows_io.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first = frames.contact_row[k, 0]
        if first >= 0:
            rows.aref[first] += (
                max(frames.de_saxce[k], 0.0) - max(frames.bounce[k], 0.0) / solution.option[STEP]
            )
            if frames.de_saxce[k] >= 0.0:
                frames.de_saxce[k] = 0.0
    for j in range(solution.island_a.shape[0]):
        a_io[solution.column_dof[j]] = solution.island_smooth[j]


@kernel
def forget_rows(rows, solution, records_io):
    """Take the rows of the island, the last ones, off the records."""
    counter, force = solution.counter, solution.row_force
    for k in range(counter[ALL_ROWS] - counter[ROWS_BEFORE]):
        for j in range(solution.island_a.shape[0]):
            records_io.qfrc[solution.column_dof[j]] -= force[k] * rows.J[k, j]
    counter[ALL_ROWS] = counter[ROWS_BEFORE]


@inline
def _blend_share(island_rows, solution, bounce):
    """How much of the restitution an island may keep."""
    frames, island = island_rows.frames, island_rows.members
    h, force, a = solution.option[STEP], solution.row_force, solution.island_a
    start, slope, bend = 0.0, 0.0, 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        if first >= 0 and frames.bounce[k] >= 0.0:
            for row in range(first, first + condim):
                speed = _impact_speed(island_rows, k, first, row, frames.bounce[k], a, h)
                more, faster = bounce.bounce_force[row] - force[row], bounce.bounce_speed[row] - speed
                # work(s) = (f + s df) . (v + s dv) = start + slope s + bend s^2
                start += force[row] * speed
                slope += force[row] * faster + more * speed
                bend += more * faster
    # what gravity does to slow contacts within a step counts as work too: what there is without restitution
    return most_restitution(start, slope, bend, max(start, 0.0))


@kernel
def blend(chain, island_rows, bounce, scratch, solution_io, records_io, a_io):
    """Forces and accelerations between those without restitution in solution_io and those with all of it.

    Returns the share of restitution.
    """
    share = _blend_share(island_rows, solution_io, bounce)
    force, a = solution_io.row_force, solution_io.island_a
    for row in range(solution_io.counter[ROWS]):
        # f = f_0 + s (f_1 - f_0),  a = a_0 + s (a_1 - a_0)
        force[row] += share * (bounce.bounce_force[row] - force[row])
    for j in range(a.shape[0]):
        a[j] += share * (bounce.bounce_a[j] - a[j])
    record_rows(island_rows.rows, solution_io, island_rows.notes, scratch, records_io)
    record_contacts(island_rows.rows, island_rows, force, records_io.contact_force)
    give_back(chain, solution_io, a_io)
    return share
