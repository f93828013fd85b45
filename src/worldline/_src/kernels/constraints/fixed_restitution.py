# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`restitution.py` for several worlds at once: what gains energy differs from world to world.

There are no islands in lanes, so those of worlds that may gain are found here, by numbers that trees hand to
each other across the contacts of their world until nothing changes. Shares of restitution are kept by tree. A
world that gains nothing keeps its bits, whatever worlds beside it do.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.contact.impacts import SLOWEST
from worldline._src.kernels.constraints.islands import tree_of
from worldline._src.kernels.constraints.jacobians import part_velocity
from worldline._src.kernels.constraints.restitution import GAIN, most_restitution
from worldline._src.kernels.constraints.tables import GRAVITY, OF_CONTACT, SPEED_TOLERANCE, STEP
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, where


@inline
def _trees(contact_id, made, k):
    """The trees of contact `k` that can move, -1 for others; the first is there whenever one is."""
    tree, prescribed = made.dual.body_tree, made.bounce.tree_prescribed
    a, b = tree[contact_id[k, 2]], tree[contact_id[k, 3]]
    if a >= 0 and prescribed[a] != 0:
        a = -1
    if b >= 0 and prescribed[b] != 0:
        b = -1
    if a < 0:
        a, b = b, -1
    return a, b


@inline
def _bounces(contact_id, made, k):
    """First row of contact `k` when it has rows, its law is hard and something in it can move, else -1."""
    first = made.frames.contact_row[k, 0]
    if first >= 0 and (_trees(contact_id, made, k)[0] < 0 or not any_of(made.frames.bounce[k] >= 0.0)):
        first = -1
    return first


@inline
def _impact_speed(made, first, row, taken, a, h):
    """Speeds of a row before and after the impact, added. taken: restitution missing in the targets."""
    dual, rows = made.dual, made.rows
    aref = rows.aref[row]
    if row == first:
        aref = aref + taken * (1.0 / h)
    after = part_velocity(rows.J, row, a, dual.row_first[row], dual.row_end[row]) - aref
    return h * after + made.notes.row_impact[row]


@inline
def _is(label, t):
    """Whether a tree is in the island of tree `t`."""
    return absolute(label - constant(1.0 * t, label)) < 0.5


@inline
def _find_islands(contact_id, made, like):
    """Number of the lowest tree of its island for every tree."""
    label, frames = made.bounce.tree_label, made.frames
    for t in range(label.shape[0]):
        label[t] = constant(1.0 * t, like)
    changed = True
    while changed:
        changed = False
        for k in range(frames.contact_row.shape[0]):
            first = frames.contact_row[k, 0]
            a, b = _trees(contact_id, made, k)
            if first >= 0 and b >= 0:
                apart = label[a] - label[b]
                counts = (made.notes.row_active[first] > 0.5) & (absolute(apart) > 0.5)
                if any_of(counts):
                    changed = True
                    low = where(apart < 0.0, label[a], label[b])
                    label[a], label[b] = where(counts, low, label[a]), where(counts, low, label[b])


@kernel
def gaining_worlds(contact_id, option, force, a, made_io):
    """1 for worlds with islands whose contacts do more work than solvers leave; keeps forces and speeds.

    Shares of restitution become 0 in those islands and 1 in all others.
    """
    frames, bounce = made_io.frames, made_io.bounce
    h, zero = option[STEP], constant(0.0, a[0])
    gain, most, bounces = frames.de_saxce_error, zero, zero
    slowest = SLOWEST * option[GRAVITY] * h
    for k in range(frames.contact_row.shape[0]):
        first = _bounces(contact_id, made_io, k)
        if first >= 0:
            gain[k] = zero
            for row in range(first, first + frames.contact_row[k, 1]):
                speed = _impact_speed(made_io, first, row, zero, a, h)
                bounce.bounce_speed[row] = speed
                gain[k] = gain[k] + 0.5 * force[row] * speed
                if row == first:
                    # sweeps end with accelerations that far off
                    gain[k] = gain[k] - force[row] * (GAIN * frames.bounce[k] + h * option[SPEED_TOLERANCE])
            most = maximum(most, gain[k])
            mine = (made_io.notes.row_active[first] > 0.5) & (frames.bounce[k] > slowest)
            bounces = where(mine, 1.0, bounces)
    if not any_of(most > 0.0):
        return zero
    _find_islands(contact_id, made_io, zero)
    share, label, found = bounce.tree_share, bounce.tree_label, zero
    for t in range(share.shape[0]):
        share[t] = constant(1.0, zero)
    for t in range(share.shape[0]):
        total = zero
        for k in range(frames.contact_row.shape[0]):
            if _bounces(contact_id, made_io, k) >= 0:
                a_tree, _ = _trees(contact_id, made_io, k)
                total = total + where(_is(label[a_tree], t), gain[k], zero)
        # other worlds may bounce where this one rests
        gains = (total > 0.0) & (bounces > 0.5)
        found = where(gains, 1.0, found)
        for u in range(t, share.shape[0]):
            share[u] = where(gains & _is(label[u], t), zero, share[u])
    return found


@kernel
def take_restitution(contact_id, n, option, force, made_io, a_io):
    """Keep a solution, and make rows and accelerations those before it, but for restitution."""
    rows, frames, bounce = made_io.rows, made_io.frames, made_io.bounce
    for row in range(n):
        bounce.bounce_force[row] = force[row]
    for d in range(a_io.shape[0]):
        bounce.bounce_a[d] = a_io[d]
        a_io[d] = bounce.a_smooth[d]
    for k in range(frames.contact_row.shape[0]):
        first = _bounces(contact_id, made_io, k)
        if first >= 0:
            rows.aref[first] = rows.aref[first] - frames.bounce[k] * (1.0 / option[STEP])


@inline
def _find_shares(contact_id, made, option, force, a):
    """How much of the restitution islands that gain may keep."""
    frames, bounce = made.frames, made.bounce
    share, label, zero = bounce.tree_share, bounce.tree_label, constant(0.0, a[0])
    for t in range(share.shape[0]):
        start, slope, bend = zero, zero, zero
        for k in range(frames.contact_row.shape[0]):
            first = _bounces(contact_id, made, k)
            if first >= 0:
                mine = _is(label[_trees(contact_id, made, k)[0]], t)
                for row in range(first, first + frames.contact_row[k, 1]):
                    speed = _impact_speed(made, first, row, frames.bounce[k], a, option[STEP])
                    f = where(mine, force[row], zero)
                    more = where(mine, bounce.bounce_force[row] - force[row], zero)
                    faster = bounce.bounce_speed[row] - speed
                    start = start + f * speed
                    slope = slope + f * faster + more * speed
                    bend = bend + more * faster
        kept = most_restitution(start, slope, bend, maximum(start, zero))
        for u in range(t, share.shape[0]):
            share[u] = where((share[u] < 0.5) & _is(label[u], t), kept, share[u])


@kernel
def blend(contact_id, made, n, option, force_io, a_io):
    """Forces and accelerations between those without restitution and those that were kept."""
    dual, notes, bounce = made.dual, made.notes, made.bounce
    _find_shares(contact_id, made, option, force_io, a_io)
    share, start = bounce.tree_share, dual.tree_dof
    for row in range(n):
        t = -1
        if notes.row_note[row, 0] == OF_CONTACT:
            t, _ = _trees(contact_id, made, notes.row_note[row, 1])
        else:
            t = tree_of(start, dual.row_first[row])
        if t >= 0:
            whole, part = bounce.bounce_force[row], force_io[row]
            force_io[row] = where(share[t] < 1.0, part + share[t] * (whole - part), whole)
    for t in range(share.shape[0]):
        for d in range(start[t], start[t + 1]):
            whole, part = bounce.bounce_a[d], a_io[d]
            a_io[d] = where(share[t] < 1.0, part + share[t] * (whole - part), whole)
