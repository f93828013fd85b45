# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of the energy that hard contacts of an island bring in: by penetration recovery, by being unsolved.

Recovery up to SLOW stays in the velocity (`impacts.py`). Where bodies are jammed into each other, contacts
work against each other across long arms, and forces grow until something spins away: slow contacts, fast
bodies. So the gain of an island is compared with the energy that all its mass has at the speed SLOW. An
island beyond that is jammed: it is separated in the position pass and its velocity has no recovery.

Rows of a jam may contradict each other so much that a solver gives up on them. What it has then may be
anything, so forces of an island that is not solved are scaled down until they gain no more than that; its
position pass is bounded by the speed FASTEST. Integrators with one velocity for both passes are
scaled down in any case. Work is quadratic in the scale, which has a closed form.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.impacts import FASTEST, POSITION_PASS, SLOW
from worldline._src.kernels.constraints.restitution import forget_rows, most_restitution
from worldline._src.kernels.constraints.solve import give_back, record_contacts, record_rows
from worldline._src.kernels.constraints.tables import (
    CONTACT_END,
    CONTACT_FIRST,
    DROPPED,
    IS_SPLIT,
    RECOVERY_SPEED,
    ROWS,
    SOLVE_PASS,
    STEP,
    TREE_END,
    TREE_FIRST,
    UNCONVERGED,
    UNCONVERGED_BEFORE,
)
from worldline._src.named_tuple import NamedTuple


class IslandTrees(NamedTuple):
    """Masses of links [kg], first links of trees, and the recovery in the velocity of trees [m/s].

    Behind the starts is one past the last link.
    """

    link_mass: Any
    tree_links: Any
    tree_recovery: Any


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


@kernel
def part_jammed_bodies(island, frames, records, motion, option, columns, trees_out):
    """Mark an island of free bodies that is jammed, after the position pass.

    columns: (n,) degrees of freedom of the island. O(contacts + columns).
    """
    h = option[STEP]
    pushed = _recovery_work(island, frames, records.contact_force, h)
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
    counter = solution.counter
    solved = counter[UNCONVERGED] == counter[UNCONVERGED_BEFORE]
    pushed = _recovery_work(island, frames, contact_force, solution.option[STEP])
    if solved and pushed <= 0.0:
        return Doubt(False, 0.0, pushed)
    mass = _mass(island, trees)
    return Doubt(not (solved and pushed <= 0.5 * mass * SLOW * SLOW), mass, pushed)


@inline
def allowed_share(island, doubt, slope, bend, solution, trees_out):
    """Share of all forces that gains no more than it may; marks a jammed island. See `_work`."""
    counter, option = solution.counter, solution.option
    solved = counter[UNCONVERGED] == counter[UNCONVERGED_BEFORE]
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
    if not doubt.is_doubtful:
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
