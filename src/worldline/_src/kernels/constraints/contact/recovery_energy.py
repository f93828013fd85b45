# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of the energy that hard contacts of an island bring in: by penetration recovery, by being unsolved.

Recovery up to SLOW stays in the velocity (`impacts.py`). Where bodies are jammed into each other, contacts
work against each other across long arms, and forces grow until something spins away: slow contacts, fast
bodies. So the gain of an island is compared with the energy that all its mass has at the speed SLOW. An
island beyond that is jammed: it is separated in the position pass and its velocity has no recovery.

Much friction locks bodies that overlap: no velocity lets all contacts part as fast as they should and obeys
Coulomb's law [Acary and Brogliato 2008, ch. 13]. The solver does not converge then, or its contacts give way.
But only the recovery asks for the impossible: with none of it, bodies that stay as they are to each other
satisfy all rows, so there is a solution [Acary, Cadoux, Lemarechal and Malick 2011]. So the velocity of a
locked island has no recovery, and its position pass is made again with a share of the friction. Where no
solver finds the solution of a velocity pass, that is made again with a share of the friction as well, and
the step has not converged.

Rows of a jam may contradict each other so much that a solver gives up on them. What it has then may be
anything, so forces of an island that is not solved are scaled down until they gain no more than that; its
position pass is bounded by the speed FASTEST. Integrators with one velocity for both passes are
scaled down in any case. Work is quadratic in the scale, which has a closed form.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.impacts import BOTH, FASTEST, POSITION_PASS, SLOW
from worldline._src.kernels.constraints.restitution import forget_rows, most_restitution
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.solve import give_back, record_contacts, record_rows
from worldline._src.kernels.constraints.tables import (
    CONTACT_END,
    CONTACT_FIRST,
    DROPPED,
    FRICTION_SHARE,
    GRAVITY,
    IS_SPLIT,
    LOCKED,
    RECOVERY_SPEED,
    ROWS,
    SOLVE_PASS,
    STEP,
    STRICT,
    SWEEPS,
    TREE_END,
    TREE_FIRST,
    UNCONVERGED,
    UNCONVERGED_BEFORE,
)
from worldline._src.named_tuple import NamedTuple

LESS_FRICTION = 0.25
"""Share of friction in a pass of a locked island, of what it had when it was locked,"""
ROUNDS = 2
"""and how often a pass is made again."""
_LEAST_SHARE = LESS_FRICTION**ROUNDS


class IslandTrees(NamedTuple):
    """Masses of links [kg], first links of trees, the recovery in the velocity of trees [m/s], and the share
    of friction that they have in a pass.

    Behind the starts is one past the last link.
    """

    link_mass: Any
    tree_links: Any
    tree_recovery: Any
    tree_grip: Any


class Motion(NamedTuple):
    """Velocities at the start of a step and its accelerations, by degrees of freedom."""

    v: Any
    a: Any


@inline
def _mass(island, trees):
    """Of all links of an island."""
    total = 0.0
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for link in range(trees.tree_links[t], trees.tree_links[t + 1]):
            total += trees.link_mass[link]
    return total


@inline
def _recovery_work(island, frames, contact_force, h):
    """Work of penetration recovery of all contacts."""
    total = 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        if frames.contact_row[k, 0] >= 0:
            total += h * contact_force[k, 0] * frames.mu[k, 5]
    return total


@inline
def _part(island, trees_out):
    """No recovery in the velocity of an island, which takes a second solve."""
    counter = island.counter
    counter[IS_SPLIT] = 1
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        trees_out.tree_recovery[island.island_tree[i]] = 0.0


@inline
def _is_solved(counter):
    return counter[UNCONVERGED] == counter[UNCONVERGED_BEFORE]


@inline
def note_yielding(island_rows, contact_force):
    """The most that regularizers take off the accelerations of contacts, where impulses leave it as well.

    Friction counts as the normal does: with a coefficient above 1 it gives way by more.
    """
    frames, island = island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        row = frames.contact_row[k, 0]
        if row >= 0:
            # R |f|
            most = contact_force[k, 0] / island_rows.rows.D[row]
            if island_rows.rows.kind[row] == CONE:
                for j in range(1, frames.contact_row[k, 1]):
                    most = max(most, abs(contact_force[k, j]) / island_rows.rows.D[row + j])
            frames.de_saxce_error[k] = most


@inline
def part_locked_bodies(island, frames, pushed, option, trees_out):
    """Mark an island that friction locks, after either pass; True if that is to be made again.

    pushed: work of its recovery [J]. What regularizers take off is in `de_saxce_error`; that of positions
    that are locked with the least friction too is written down.
    """
    counter, most, positions = island.counter, 0.0, option[SOLVE_PASS] == POSITION_PASS
    if option[SOLVE_PASS] == BOTH or (_is_solved(counter) and positions and pushed <= 0.0):
        return False
    # bounded sweeps end before they are solved; a strict method has the friction that it is asked for
    if option[SWEEPS] < 0.0 or option[STRICT] != 0.0:
        return False
    for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        k = island.contact_order[i]
        if frames.contact_row[k, 0] >= 0 and frames.bounce[k] >= 0.0:
            most = max(most, frames.de_saxce_error[k])
    if _is_solved(counter) and most <= option[GRAVITY]:
        return False
    again = option[FRICTION_SHARE] > _LEAST_SHARE
    if again:
        _part(island, trees_out)
        counter[LOCKED] += 1
        for i in range(counter[TREE_FIRST], counter[TREE_END]):
            trees_out.tree_grip[island.island_tree[i]] = LESS_FRICTION * option[FRICTION_SHARE]
    elif positions:
        for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
            k = island.contact_order[i]
            if frames.contact_row[k, 0] >= 0 and frames.bounce[k] >= 0.0:
                frames.position_missed[k] = frames.de_saxce_error[k]
    return again


@kernel
def part_jammed_bodies(island, frames, records, motion, option, columns, trees_out):
    """Mark an island of free bodies that is jammed, after the position pass.

    columns: (n,) degrees of freedom of the island. O(contacts + columns).
    """
    h = option[STEP]
    pushed = _recovery_work(island, frames, records.contact_force, h)
    if part_locked_bodies(island, frames, pushed, option, trees_out):
        return
    if option[SOLVE_PASS] != POSITION_PASS or option[RECOVERY_SPEED] == 0.0 or pushed <= 0.0:
        return
    allowed = 0.5 * _mass(island, trees_out) * SLOW * SLOW
    if pushed > allowed:
        # an impact takes more energy than its recovery gives
        work = 0.0
        for j in range(columns.shape[0]):
            d = columns[j]
            work += h * records.qfrc[d] * (motion.v[d] + 0.5 * h * motion.a[d])
        if work > allowed:
            _part(island, trees_out)


@inline
def _work(solution, v, h):
    """Work of all rows when their forces are scaled by s, as slope s + bend s^2.

    From the motion and not from the forces, which belong to each other only in a solved island.
    """
    M, smooth, a = solution.M, solution.island_smooth, solution.island_a
    slope, bend = 0.0, 0.0
    for i in range(a.shape[0]):
        impulse = 0.0
        for j in range(a.shape[0]):
            impulse += h * M[i, j] * (a[j] - smooth[j])
        slope += impulse * (v[i] + 0.5 * h * smooth[i])
        bend += 0.5 * h * impulse * (a[i] - smooth[i])
    return slope, bend


class Doubt(NamedTuple):
    """Whether an island may have gained too much, its mass [kg], and the work of its recovery [J]."""

    is_doubtful: Any
    mass: Any
    pushed: Any


@inline
def doubt_energy(island, frames, contact_force, solution, trees):
    """Whether to look at the work of an island: O(contacts), and nearly all islands pass."""
    solved = _is_solved(solution.counter)
    pushed = _recovery_work(island, frames, contact_force, solution.option[STEP])
    if solved and pushed <= 0.0:
        return Doubt(False, 0.0, pushed)
    mass = _mass(island, trees)
    return Doubt(not (solved and pushed <= 0.5 * mass * SLOW * SLOW), mass, pushed)


@inline
def allowed_share(island, doubt, slope, bend, solution, trees_out):
    """Share of all forces that gains no more than it may; marks a jammed island. See `_work`."""
    option, solved = solution.option, _is_solved(solution.counter)
    allowed = 0.5 * doubt.mass * SLOW * SLOW
    if slope + bend <= allowed:
        return 1.0
    if option[SOLVE_PASS] == POSITION_PASS and doubt.pushed > allowed:
        # the second position pass of a step is marked already
        if option[RECOVERY_SPEED] > 0.0:
            _part(island, trees_out)
        if solved:
            return 1.0
        allowed = 0.5 * doubt.mass * FASTEST * FASTEST
    return most_restitution(0.0, slope, bend, allowed)


@inline
def scale_forces(scale, solution_io):
    """Forces of an island times `scale`, and the accelerations that they make."""
    for k in range(solution_io.counter[ROWS]):
        solution_io.row_force[k] *= scale
    for j in range(solution_io.island_a.shape[0]):
        smooth = solution_io.island_smooth[j]
        solution_io.island_a[j] = smooth + scale * (solution_io.island_a[j] - smooth)


@kernel
def bound_energy(chain, island_rows, v, scratch, trees_out, solution_io, records_io, a_io):
    """Mark a jammed island, and scale down what gains too much: see the module.

    v: velocities by columns. scratch: (width,). O(contacts) for nearly all islands, then O(columns^2).
    """
    counter, frames, island = solution_io.counter, island_rows.frames, island_rows.members
    doubt = doubt_energy(island, frames, records_io.contact_force, solution_io, trees_out)
    note_yielding(island_rows, records_io.contact_force)
    locked = part_locked_bodies(island, frames, doubt.pushed, solution_io.option, trees_out)
    if locked or not doubt.is_doubtful:
        return
    slope, bend = _work(solution_io, v, solution_io.option[STEP])
    scale = allowed_share(island, doubt, slope, bend, solution_io, trees_out)
    if scale < 1.0:
        dropped = counter[DROPPED]
        forget_rows(island_rows.rows, solution_io, records_io)
        scale_forces(scale, solution_io)
        record_rows(island_rows.rows, solution_io, island_rows.notes, scratch, records_io)
        record_contacts(island_rows.rows, island_rows, solution_io.row_force, records_io.contact_force)
        give_back(chain, solution_io, a_io)
        counter[DROPPED] = dropped
