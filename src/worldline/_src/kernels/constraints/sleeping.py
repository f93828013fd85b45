# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands that rest fall asleep as a whole, and wake as a whole.

An island whose degrees of freedom have all been slower than their thresholds for long enough is put to rest:
velocities become zero and it is no longer solved. It wakes when something awake touches it, when what it
stands on is moved, when a force or command other than gravity acts on it, and when its state is written. The
contact forces that held it are kept while it sleeps.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.rows import first_tangent, set_frame
from worldline._src.kernels.constraints.tables import (
    CONTACT_END,
    CONTACT_FIRST,
    DISTURBANCE,
    ISLANDS,
    QUIET_TIME,
    STEP,
    TREE_END,
    TREE_FIRST,
    WAKE_SCALE,
)
from worldline._src.spatial.vec3 import Vec3

AWAKE = -1
FRESH = -1.0
"""Quiet time of what has just fallen asleep: its commands are not noted yet."""


@inline
def wake_group(group, sleep_io):
    """Everything that fell asleep together wakes together."""
    for t in range(sleep_io.tree_group.shape[0]):
        if sleep_io.tree_group[t] == group:
            sleep_io.tree_group[t] = AWAKE
            sleep_io.tree_quiet[t] = 0.0


@kernel
def wake_disturbed(body_tree, body_f, tau, speed, option, sleep_io):
    """Wake what forces on bodies act upon, and what gets another command than the one it fell asleep with.

    body_f: (bodies, 6) without the world; tau: (nv,) of drives and actuators; speed: (nv,) commanded.
    """
    least, group, kept = option[DISTURBANCE], sleep_io.tree_group, sleep_io.dof_kept
    for b in range(body_f.shape[0]):
        t = body_tree[b + 1]
        if t >= 0 and group[t] != AWAKE:
            for j in range(6):
                if abs(body_f[b, j]) > least and group[t] != AWAKE:
                    wake_group(group[t], sleep_io)
    for t in range(group.shape[0]):
        if group[t] == AWAKE:
            continue
        fresh = sleep_io.tree_quiet[t] == FRESH
        for d in range(sleep_io.tree_dof[t], sleep_io.tree_dof[t + 1]):
            if fresh:
                kept[d, 0], kept[d, 1] = tau[d], speed[d]
            elif abs(tau[d] - kept[d, 0]) > least or abs(speed[d] - kept[d, 1]) > least:
                if group[t] != AWAKE:
                    wake_group(group[t], sleep_io)
        if fresh:
            sleep_io.tree_quiet[t] = 0.0


@inline
def _pushed(island, body_tree, tree_prescribed, pair, tree_dof, v):
    """Whether anything prescribed that moves touches the island at hand."""
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        for side in range(2, 4):
            t = body_tree[pair[k, side]]
            if t >= 0 and tree_prescribed[t] != 0:
                for d in range(tree_dof[t], tree_dof[t + 1]):
                    if v[d] != 0.0:
                        return True
    return False


@inline
def is_asleep(island, body_tree, tree_prescribed, pair, v, sleep_io):
    """Whether the island at hand sleeps; one of which a part is awake wakes up."""
    group = sleep_io.tree_group
    asleep, awake = 0, 0
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        if group[island.island_tree[i]] == AWAKE:
            awake += 1
        else:
            asleep += 1
    if asleep == 0:
        return False
    if awake == 0 and not _pushed(island, body_tree, tree_prescribed, pair, sleep_io.tree_dof, v):
        return True
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        if group[t] != AWAKE:
            wake_group(group[t], sleep_io)
    return False


@kernel
def rest(island, tree_dof, v_out, a_out):
    """No motion of the island at hand."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for d in range(tree_dof[t], tree_dof[t + 1]):
            v_out[d] = 0.0
            a_out[d] = 0.0


@kernel
def rest_in_place(sleep, move_out):
    """No displacement and no momentum of what sleeps, in variational steps."""
    for t in range(sleep.tree_group.shape[0]):
        if sleep.tree_group[t] != AWAKE:
            for d in range(sleep.tree_dof[t], sleep.tree_dof[t + 1]):
                move_out.displacement[d] = 0.0
                move_out.impulse[d] = 0.0
                move_out.p_start[d] = 0.0


@kernel
def keep_forces(found, island, memory, frames_out, contact_force_out):
    """The contact forces of the island at hand stay what they were."""
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        match = memory.contact_match[k]
        for j in range(6):
            contact_force_out[k, j] = memory.last_force[match, j] if match >= 0 else 0.0
        if match >= 0:
            normal = Vec3(found.contact[k, 3], found.contact[k, 4], found.contact[k, 5])
            a, b = found.contact_id[k, 0], found.contact_id[k, 1]
            set_frame(normal, first_tangent(found, a, b, normal), k, frames_out.frame)
            frames_out.contact_row[k, 0], frames_out.contact_row[k, 1] = 0, 3
            frames_out.de_saxce_error[k] = 0.0


@kernel
def fall_asleep(island, threshold, option, sleep_io, v_io):
    """After a step: islands that have been quiet for long enough are put to rest."""
    h, group, quiet = option[STEP], sleep_io.tree_group, sleep_io.tree_quiet
    for i in range(island.counter[ISLANDS]):
        first, end = island.island_trees[i], island.island_trees[i + 1]
        shortest = option[QUIET_TIME]
        for k in range(first, end):
            t = island.island_tree[k]
            # hysteresis: what is quiet already may be faster by a factor and stays so
            scale = option[WAKE_SCALE] if quiet[t] > 0.0 else 1.0
            still = True
            for d in range(sleep_io.tree_dof[t], sleep_io.tree_dof[t + 1]):
                still = still and abs(v_io[d]) <= scale * threshold[d]
            if group[t] == AWAKE:
                quiet[t] = quiet[t] + h if still else 0.0
                shortest = min(shortest, quiet[t])
        if shortest >= option[QUIET_TIME]:
            for k in range(first, end):
                t = island.island_tree[k]
                if group[t] == AWAKE:
                    quiet[t] = FRESH
                group[t] = island.island_tree[first]
                for d in range(sleep_io.tree_dof[t], sleep_io.tree_dof[t + 1]):
                    v_io[d] = 0.0
