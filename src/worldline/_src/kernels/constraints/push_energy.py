# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whether pushing overlap apart would leave an island with more energy than a slow push can explain.

A push up to SLOW stays in the velocity (`impacts.py`). Where bodies are jammed into each other, such pushes
work against each other across long arms, and forces grow until something spins away: slow contacts, fast
bodies. So the gain of an island is compared with that of all its mass at the speed SLOW. An island beyond
that is moved apart and keeps none of it as speed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.impacts import SLOW
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, PARTS, TREE_END, TREE_FIRST


class Masses(NamedTuple):
    """Masses of links [kg], and where the links of a tree start; one past the last behind."""

    link_mass: Any
    tree_links: Any


class Motion(NamedTuple):
    """Velocities at the start of a step, its accelerations, by degrees of freedom, and its length [s]."""

    v: Any
    a: Any
    h: Any


@inline
def _pushes_too_much(island, frames, records, masses, motion, columns):
    """Whether contacts of a solved island push apart with more energy than its mass has at the speed SLOW."""
    counter, h = island.counter, motion.h

    # what the pushes do; most steps have none
    pushed = 0.0
    for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        k = island.contact_order[i]
        if frames.contact_row[k, 0] >= 0:
            pushed += h * records.contact_force[k, 0] * frames.mu[k, 5]
    if pushed <= 0.0:
        return False
    mass = 0.0
    for i in range(counter[TREE_FIRST], counter[TREE_END]):
        t = island.island_tree[i]
        for link in range(masses.tree_links[t], masses.tree_links[t + 1]):
            mass += masses.link_mass[link]
    allowed = 0.5 * mass * SLOW * SLOW
    if pushed <= allowed:
        return False

    # an impact takes more than its push gives: all rows together
    work = 0.0
    for j in range(columns.shape[0]):
        d = columns[j]
        work += h * records.qfrc[d] * (motion.v[d] + 0.5 * h * motion.a[d])
    return work > allowed


@kernel
def part_jammed(island, frames, records, masses, motion, columns, tree_slow_out):
    """Let an island that pushes too much have no push in its velocity; the step is solved once more then.

    columns: (n,) degrees of freedom of the island. tree_slow_out: (trees,) pushes that stay in the velocity
    [m/s]. O(contacts + columns).
    """
    if _pushes_too_much(island, frames, records, masses, motion, columns):
        counter = island.counter
        counter[PARTS] = 1
        for i in range(counter[TREE_FIRST], counter[TREE_END]):
            tree_slow_out[island.island_tree[i]] = 0.0
