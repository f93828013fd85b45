# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of contacts: touch, lists of contacts, and forces between a body and its parent.

The contacts of a step have rows in their axes: the normal leads from the first body to the second, and forces
act on the second. Body 0 is the world.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.tables import CONTACT_COUNT, DISTANCE, POINT, POSE
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.sensors.subtrees import spin_momentum, world_center
from worldline._src.kernels.sensors.tables import TORQUE
from worldline._src.kernels.sensors.volumes import contains, meets
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant, sqrt, where
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.rotation import Mat3, load_position, load_rotation, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, scale, store_three, sub

# columns of `found_row`
_AT, _END, _MOST, _REDUCE, _REPORT, _MATCH = range(6)
_FRAME, _KIND = 12, 13
MAX_FORCE, MIN_DISTANCE, NET_FORCE = range(3)
"""Ways to choose among contacts; any other keeps their order."""
FOUND_BIT, FORCE_BIT, TORQUE_BIT, DISTANCE_BIT, POSITION_BIT, NORMAL_BIT, TANGENT_BIT = 1, 2, 4, 8, 16, 32, 64
_ANY, _WORLD = -1, -2


class Touching(NamedTuple):
    """Contacts of the present state: geometry, identities, first rows, axes, forces, how many."""

    contact: Any
    contact_id: Any
    contact_row: Any
    frame: Any
    contact_force: Any
    counter: Any


class Moving(NamedTuple):
    """Links: topology, mass, poses, velocities, accelerations."""

    tree: Any
    body: Any
    inertia: Any
    pos: Any
    vel: Any
    A: Any


@inline
def _axes(touching, k):
    """Rows are the normal and two tangents of contact `k`."""
    f = touching.frame
    return Mat3(f[k, 0], f[k, 1], f[k, 2], f[k, 3], f[k, 4], f[k, 5], f[k, 6], f[k, 7], f[k, 8])


@inline
def _point(touching, k):
    return Vec3(touching.contact[k, 0], touching.contact[k, 1], touching.contact[k, 2])


@inline
def _push(touching, k, first):
    """Force (first 0) or torque (first 3) of contact `k` on its second body, world axes."""
    f = touching.contact_force
    # f_W = f_n n + f_1 t_1 + f_2 t_2
    return rotate_back(_axes(touching, k), Vec3(f[k, first], f[k, first + 1], f[k, first + 2]))


@kernel
def read_touch(frames, touching, rows, reading_out):
    """Sum of the normal forces on the body of a site whose line passes through the volume of the site."""
    row, f = rows.touch_row, touching.contact_force
    for n in range(row.shape[0]):
        at, frame, body, kind = row[n, 0], row[n, 1], row[n, 2], row[n, 3]
        p, R = load_position(frames.frame_X, frame), load_rotation(frames.frame_X, frame)
        size = Vec3(rows.touch_size[n, 0], rows.touch_size[n, 1], rows.touch_size[n, 2])
        total = constant(0.0, p.x)
        for k in range(touching.counter[CONTACT_COUNT]):
            first, second = touching.contact_id[k, 2], touching.contact_id[k, 3]
            if touching.contact_row[k, 0] >= 0 and (first == body or second == body):
                # away from the body that feels: out of it, into the other
                line = _axes(touching, k)
                away = Vec3(line.xx, line.xy, line.xz)
                away = scale(away, -1.0) if second == body else away
                met = meets(kind, size, rotate_back(R, sub(_point(touching, k), p)), rotate_back(R, away))
                total = total + where(f[k, 0] > 0.0, met * f[k, 0], constant(0.0, total))
        reading_out[at] = total


# ---- forces between a body and its parent


@inline
def _take(demand, i, center, point, push, twist):
    """Take a force at a point and a torque off what link `i` must get from its joints."""
    # f -= push,  n -= twist + (p - c) x push
    moment = add(twist, cross(sub(point, center), push))
    demand[i, 0], demand[i, 1], demand[i, 2] = (
        demand[i, 0] - push.x,
        demand[i, 1] - push.y,
        demand[i, 2] - push.z,
    )
    demand[i, 3], demand[i, 4], demand[i, 5] = (
        demand[i, 3] - moment.x,
        demand[i, 4] - moment.y,
        demand[i, 5] - moment.z,
    )


@inline
def _demand_center(demand, i):
    return Vec3(demand[i, 6], demand[i, 7], demand[i, 8])


@kernel
def link_demands(moving, gravity, body_f, rows_out):
    """Force and torque at its centre of mass that every link must get from its joints, by Newton and Euler.

    f = m (c'' - compensation g) - f_ext and n = J w' + w x J w - n_ext, world axes.
    """
    demand, inertia, pos = rows_out.link_demand, moving.inertia, moving.pos
    g = Vec3(gravity[0], gravity[1], gravity[2])
    for i in range(1, moving.tree.link_parent.shape[0]):
        V, A = load_motion(moving.vel.link_V, i), load_motion(moving.A, i)
        a = classical_acceleration(V, A, center_of_mass(inertia, pos, i))
        b, m = moving.body.link_body[i], inertia.link_mass[i]
        # f = m (c'' - share g) - f_ext
        f = scale(sub(a, scale(g, rows_out.link_weight_share[i])), m)
        f = sub(f, Vec3(body_f[b, 3], body_f[b, 4], body_f[b, 5]))
        # n = J w' + w x J w - n_ext
        turn = add(spin_momentum(inertia, pos, i, A.ang), cross(V.ang, spin_momentum(inertia, pos, i, V.ang)))
        turn = sub(turn, Vec3(body_f[b, 0], body_f[b, 1], body_f[b, 2]))
        c = world_center(moving.tree, inertia, pos, i)
        demand[i, 0], demand[i, 1], demand[i, 2] = f.x, f.y, f.z
        demand[i, 3], demand[i, 4], demand[i, 5] = turn.x, turn.y, turn.z
        demand[i, 6], demand[i, 7], demand[i, 8] = c.x, c.y, c.z


@kernel
def contact_demands(touching, body_link, rows_io):
    """Take the forces of contacts off what links must get from their joints."""
    demand = rows_io.link_demand
    for k in range(touching.counter[CONTACT_COUNT]):
        if touching.contact_row[k, 0] >= 0:
            push, twist, point = _push(touching, k, 0), _push(touching, k, 3), _point(touching, k)
            a, b = body_link[touching.contact_id[k, 2]], body_link[touching.contact_id[k, 3]]
            if a > 0:
                _take(demand, a, _demand_center(demand, a), point, scale(push, -1.0), scale(twist, -1.0))
            if b > 0:
                _take(demand, b, _demand_center(demand, b), point, push, twist)


@kernel
def equality_demands(equality, anchor_X, body_link, rows_io):
    """Take the forces of equalities between points and poses off what links must get from their joints."""
    demand, wrench = rows_io.link_demand, equality.equality_wrench
    for n in range(equality.equality_kind.shape[0]):
        kind = equality.equality_kind[n]
        if kind == POINT or kind == POSE or kind == DISTANCE:
            push, twist = (
                Vec3(wrench[n, 0], wrench[n, 1], wrench[n, 2]),
                Vec3(wrench[n, 3], wrench[n, 4], wrench[n, 5]),
            )
            for side in range(2):
                end = equality.equality_first[n] if side == 0 else equality.equality_second[n]
                i, sign = body_link[equality.equality_body[n, side]], 1.0 if side == 0 else -1.0
                if i > 0:
                    point = load_position(anchor_X, end)
                    _take(demand, i, _demand_center(demand, i), point, scale(push, sign), scale(twist, sign))


@kernel
def read_forces(frames, rows, reading_out):
    """Force or torque from the parent of a body on it: what it and all that hangs on it demand."""
    row, demand = rows.force_row, rows.link_demand
    for n in range(row.shape[0]):
        at, quantity, frame = row[n, 0], row[n, 1], row[n, 2]
        p, R = load_position(frames.frame_X, frame), load_rotation(frames.frame_X, frame)
        zero = constant(0.0, p.x)
        total = Vec3(zero, zero, zero)
        for j in range(row[n, 3], row[n, 4]):
            i = rows.member[j]
            # force: sum f_i;  torque about p: sum n_i + (c_i - p) x f_i
            f = Vec3(demand[i, 0], demand[i, 1], demand[i, 2])
            if quantity == TORQUE:
                f = add(
                    Vec3(demand[i, 3], demand[i, 4], demand[i, 5]),
                    cross(sub(_demand_center(demand, i), p), f),
                )
            total = add(total, f)
        store_three(reading_out, at, rotate_back(R, total))


# ---- lists of contacts, of one world


@inline
def _is_of(shape, body, subtree, bit, below, rows, n, s, b):
    """Whether shape `s` of the tables, on body `b`, is what one side of a match names."""
    if shape >= 0:
        return rows.shape_row[s] == shape
    if body != _ANY:
        return b == (0 if body == _WORLD else body + 1)
    return subtree < 0 or (below[n, b] & bit) != 0


@inline
def _matches(rows, n, touching, k):
    """1 when contact `k` matches row `n`, 2 when it does with its sides exchanged, else 0."""
    row, ids = rows.found_row, touching.contact_id
    s, t, a, b = ids[k, 0], ids[k, 1], ids[k, 2], ids[k, 3]
    for turn in range(2):
        first = _is_of(row[n, _MATCH], row[n, _MATCH + 1], row[n, _MATCH + 2], 1, rows.below, rows, n, s, a)
        second = _is_of(
            row[n, _MATCH + 3], row[n, _MATCH + 4], row[n, _MATCH + 5], 2, rows.below, rows, n, t, b
        )
        if first and second:
            return turn + 1
        s, t, a, b = t, s, b, a
    return 0


@inline
def _counts(rows, touching, k):
    """Whether a contact has rows; hard ones count when they overlap or push."""
    if touching.contact_row[k, 0] < 0:
        return False
    f = touching.contact_force
    quiet = touching.contact[k, 6] < 0.0
    for j in range(6):
        quiet = quiet and f[k, j] == 0.0
    s, t = touching.contact_id[k, 0], touching.contact_id[k, 1]
    return not (quiet and (rows.shape_hard[s] != 0 or rows.shape_hard[t] != 0))


@inline
def _find(frames, touching, rows_io, n):
    """List the contacts that match row `n`, in order; returns how many. Exchanged ones count from -1 down."""
    row, X, count = rows_io.found_row, frames.frame_X, 0
    for k in range(touching.counter[CONTACT_COUNT]):
        if not _counts(rows_io, touching, k):
            continue
        frame = row[n, _FRAME]
        if frame >= 0:
            local = rotate_back(load_rotation(X, frame), sub(_point(touching, k), load_position(X, frame)))
            size = Vec3(rows_io.found_size[n, 0], rows_io.found_size[n, 1], rows_io.found_size[n, 2])
            if contains(row[n, _KIND], size, local) == 0.0:
                continue
        turn = _matches(rows_io, n, touching, k)
        if turn > 0:
            rows_io.found_order[count] = k if turn == 1 else -1 - k
            f = touching.contact_force
            key = f[k, 0] * f[k, 0] + f[k, 1] * f[k, 1] + f[k, 2] * f[k, 2]
            rows_io.found_key[count] = key if row[n, _REDUCE] == MAX_FORCE else touching.contact[k, 6]
            count += 1
    return count


@inline
def _order(count, rows_io):
    """Stable insertion sort of the contacts found, largest key first."""
    order, key = rows_io.found_order, rows_io.found_key
    for i in range(1, count):
        k, x = order[i], key[i]
        j = i
        while j > 0 and key[j - 1] < x:
            order[j], key[j] = order[j - 1], key[j - 1]
            j -= 1
        order[j], key[j] = k, x


@inline
def _net(touching, rows_io, count):
    """Sum of contacts in world axes, at the mean of the points, weighted by the forces."""
    weight, middle = 0.0, Vec3(0.0, 0.0, 0.0)
    for i in range(count):
        k = rows_io.found_order[i] if rows_io.found_order[i] >= 0 else -1 - rows_io.found_order[i]
        f = touching.contact_force
        # p = sum |f_k| p_k / sum |f_k|
        w = sqrt(f[k, 0] * f[k, 0] + f[k, 1] * f[k, 1] + f[k, 2] * f[k, 2])
        weight, middle = weight + w, add(middle, scale(_point(touching, k), w))
    # without a force there is no such point: the origin stands for it
    point = scale(middle, 1.0 / weight) if weight > 0.0 else Vec3(0.0, 0.0, 0.0)
    push, twist = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for i in range(count):
        entry = rows_io.found_order[i]
        k, sign = (entry, 1.0) if entry >= 0 else (-1 - entry, -1.0)
        # f = sum f_k,  n = sum n_k + (p_k - p) x f_k
        f = scale(_push(touching, k, 0), sign)
        push = add(push, f)
        twist = add(twist, add(scale(_push(touching, k, 3), sign), cross(sub(_point(touching, k), point), f)))
    return point, push, twist


@inline
def _write_number(asked, at, x, reading_out):
    """Write a number where it is asked for; returns where the next field begins."""
    if asked:
        reading_out[at] = x
        at += 1
    return at


@inline
def _write_vector(asked, at, a, reading_out):
    """Write a vector where it is asked for; returns where the next field begins."""
    if asked:
        store_three(reading_out, at, a)
        at += 3
    return at


@inline
def _write(report, at, found, reading_out, values):
    """Write the fields of one contact that are asked for, in their order; returns where the next begins."""
    force, torque, distance, point, normal, tangent = values
    at = _write_number(report & FOUND_BIT, at, found, reading_out)
    at = _write_vector(report & FORCE_BIT, at, force, reading_out)
    at = _write_vector(report & TORQUE_BIT, at, torque, reading_out)
    at = _write_number(report & DISTANCE_BIT, at, distance, reading_out)
    at = _write_vector(report & POSITION_BIT, at, point, reading_out)
    at = _write_vector(report & NORMAL_BIT, at, normal, reading_out)
    return _write_vector(report & TANGENT_BIT, at, tangent, reading_out)


@inline
def _contact_values(touching, entry):
    """Fields of one contact; exchanged ones turn half about the second tangent."""
    k, s = (entry, 1.0) if entry >= 0 else (-1 - entry, -1.0)
    f, axes = touching.contact_force, _axes(touching, k)
    return (
        Vec3(f[k, 0], f[k, 1], s * f[k, 2]),
        Vec3(f[k, 3], f[k, 4], s * f[k, 5]),
        -touching.contact[k, 6],
        _point(touching, k),
        Vec3(s * axes.xx, s * axes.xy, s * axes.xz),
        Vec3(s * axes.yx, s * axes.yy, s * axes.yz),
    )


@kernel
def read_contacts(frames, touching, rows_io, reading_out):
    """Contacts that match, as many as there is room for: all fields of one, then of the next, then zeros."""
    row = rows_io.found_row
    for n in range(row.shape[0]):
        at, end, reduce, report = row[n, _AT], row[n, _END], row[n, _REDUCE], row[n, _REPORT]
        count = _find(frames, touching, rows_io, n)
        if reduce == NET_FORCE and count > 0:
            point, push, twist = _net(touching, rows_io, count)
            x, y = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)
            at = _write(report, at, float(count), reading_out, (push, twist, -0.0, point, x, y))
        elif count > 0:
            if reduce == MAX_FORCE or reduce == MIN_DISTANCE:
                _order(count, rows_io)
            for i in range(min(count, row[n, _MOST])):
                values = _contact_values(touching, rows_io.found_order[i])
                at = _write(report, at, float(count), reading_out, values)
        for k in range(at, end):
            reading_out[k] = 0.0
