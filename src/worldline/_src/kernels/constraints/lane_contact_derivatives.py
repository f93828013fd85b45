# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the forces of contacts of the fixed layout, of worlds in lanes.

A contact pushes with forces f_k along rows that have the directions e_k, pairs of a linear and an angular
part at the contact point p: edges n +- mu t of a linearised cone, or its normal alone. The wrench of the
contact on its second body is W = sum_k f_k e_k, and that on the first body -W. With Y the motion of the
second body relative to the first one, of accelerations plus b times that of velocities, the slack of a row
changes by ds_k = d(e_k . Y) and its force by df_k = g_k dr - w_k ds_k, where r is the distance of the
contact, g_k the derivative of the force by it, and w_k the inverse regularizer of a row that pushes, zero for
one that does not. In all, with S the columns of a body at p,

    displacement x of a body    dW = sum_k (df_k e_k + f_k de_k) + (dp x F, 0),  F the force,
    motion of columns           dW = -sum_k w_k e_k (e_k . D_i Y),  see `contact_derivatives.py`,
    velocities                  dW = -b sum_k w_k e_k (e_k . S_i),
    Hessian                     H += S^T (sum_k w_k e_k e_k^T) S.

In a world without a contact w, g and f are zero. Nothing branches on a number but to leave out what is zero
in all worlds.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    Motion,
    add_motion,
    add_to_force,
    cross_motion,
    load_motion,
    scale_motion,
    velocity_at,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, sub

SLOPES = 13
"""Numbers of a contact that depend on poses: its point, its depth, its axes in rows."""
SIDES, DIRECTIONS = 2, 6
"""Bodies of a contact, and displacements of each: rotations and translations along the axes of the world."""


class LaneTrees(NamedTuple):
    """Trees as contacts see them: rate, rate_a are V_c x S of columns by velocities and by accelerations."""

    dof_parent: Any
    link_last: Any
    link_root: Any
    origin: Any
    S: Any
    link_V: Any
    rate: Any
    link_Va: Any
    rate_a: Any


class LaneContact(NamedTuple):
    """A contact: links, condim, first row, friction and axes in rows, damping b, point and slopes.

    slopes: (SIDES * DIRECTIONS, SLOPES), by displacements of bodies about the reference points of their
    trees.
    """

    links: Any
    condim: Any
    first: Any
    mu: Any
    axes: Any
    b: Any
    point: Any
    slopes: Any


class LaneForces(NamedTuple):
    """Forces f of rows, their weights w, and what they change by with distance, g."""

    force: Any
    weight: Any
    by_distance: Any


class LaneScratch(NamedTuple):
    """Of one contact: columns, wrenches by displacements (SIDES * DIRECTIONS, 6), stiffness (6, 6), motions
    of columns at the point, changes of the wrench by their coordinates, and stiffness times motions, (nv,
    6)."""

    dofs: Any
    G: Any
    K: Any
    base: Any
    change: Any
    push: Any


class LaneSums(NamedTuple):
    """What contacts add to: derivatives of the residual by q and v, Hessian, wrenches of links."""

    dq: Any
    dv: Any
    H: Any
    link_W: Any


@inline
def _row_count(condim):
    return 1 if condim == 1 else 2 * (condim - 1)


@inline
def _direction(axes, condim, mu, i):
    """Row `i` of a contact as a motion is multiplied by it: linear in the axes."""
    lin = load_vec3(axes, 0)
    none = scale(lin, 0.0)
    ang = none
    if condim > 1:
        j = i // 2
        along = scale(load_vec3(axes, (j + 1) % 3 if j < 2 else j - 2), mu[j])
        if i % 2 == 1:
            along = scale(along, -1.0)
        if j < 2:
            lin = add(lin, along)
        else:
            ang = along
    return Motion(ang, lin)


@inline
def _arm(trees, link, point):
    return sub(point, load_vec3(trees.origin, trees.link_root[link]))


@inline
def _relative_motion(trees, contact):
    """Y at the contact point."""
    zero = constant(0.0, contact.point.x)
    none = Vec3(zero, zero, zero)
    Y = Motion(none, none)
    for side in range(SIDES):
        link = contact.links[side]
        if link > 0:
            by_v = scale_motion(load_motion(trees.link_V, link), contact.b)
            V = add_motion(load_motion(trees.link_Va, link), by_v)
            sign = 2.0 * side - 1.0
            lin = velocity_at(V, _arm(trees, link, contact.point))
            Y = add_motion(Y, Motion(scale(V.ang, sign), scale(lin, sign)))
    return Y


@inline
def _store(out, i, a, b):
    out[i, 0], out[i, 1], out[i, 2] = a.x, a.y, a.z
    out[i, 3], out[i, 4], out[i, 5] = b.x, b.y, b.z


@inline
def _add_wrench(trees, contact, forces, scratch, link_W_io):
    """The wrench at the point, summed by link, and K = sum_k w_k e_k e_k^T; returns moment and force."""
    K = scratch.K
    zero = constant(0.0, contact.point.x)
    F, moment = Vec3(zero, zero, zero), Vec3(zero, zero, zero)
    for i in range(6):
        for j in range(6):
            K[i, j] = zero
    for i in range(_row_count(contact.condim)):
        e, k = _direction(contact.axes, contact.condim, contact.mu, i), contact.first + i
        F, moment = add(F, scale(e.lin, forces.force[k])), add(moment, scale(e.ang, forces.force[k]))
        _store(scratch.push, 0, e.ang, e.lin)
        for r in range(6):
            x = forces.weight[k] * scratch.push[0, r]
            for s in range(6):
                K[r, s] = K[r, s] + x * scratch.push[0, s]
    for side in range(SIDES):
        link, sign = contact.links[side], 2.0 * side - 1.0
        if link > 0:
            about = add(moment, cross(_arm(trees, link, contact.point), F))
            add_to_force(link_W_io, link, Force(scale(about, sign), scale(F, sign)))
    return Force(moment, F)


@inline
def _add_geometry(contact, forces, W, Y, scratch):
    """Changes of the wrench by displacements of both bodies."""
    slopes = contact.slopes
    for m in range(SIDES * DIRECTIONS):
        if contact.links[m // DIRECTIONS] == 0:
            continue
        dp, axes = Vec3(slopes[m, 0], slopes[m, 1], slopes[m, 2]), matrix(pointer(slopes[m]), 4, 3, 3)
        zero = constant(0.0, dp.x)
        dF, moment = Vec3(zero, zero, zero), cross(dp, W.lin)
        for i in range(_row_count(contact.condim)):
            k = contact.first + i
            e = _direction(contact.axes, contact.condim, contact.mu, i)
            turned = _direction(axes, contact.condim, contact.mu, i)
            # ds = de . Y + e . (w x dp), df = g dr - w ds
            slack = dot(turned.lin, Y.lin) + dot(turned.ang, Y.ang) + dot(e.lin, cross(Y.ang, dp))
            df = -(forces.by_distance[k] * slopes[m, 3] + forces.weight[k] * slack)
            dF = add(dF, add(scale(e.lin, df), scale(turned.lin, forces.force[k])))
            moment = add(moment, add(scale(e.ang, df), scale(turned.ang, forces.force[k])))
        _store(scratch.G, m, moment, dF)


@inline
def _gather(trees, contact, dofs_out):
    """Degrees of freedom that move one of the two links, each once; returns how many."""
    count = 0
    for side in range(SIDES):
        link = contact.links[side]
        if link > 0:
            d = trees.link_last[link]
            while d >= 0:
                known = False
                for t in range(count):
                    known = known or dofs_out[t] == d
                if known:
                    break
                dofs_out[count] = d
                count += 1
                d = trees.dof_parent[d]
    return count


@inline
def _moves(trees, link, d):
    """Whether a degree of freedom moves a link."""
    e = trees.link_last[link]
    while e > d:
        e = trees.dof_parent[e]
    return e == d


@inline
def _turn(trees, link, d, b):
    """How the motion of a link, by accelerations and b times velocities, changes with q_d."""
    S = load_motion(trees.S, d)
    by_a = add_motion(cross_motion(S, load_motion(trees.link_Va, link)), load_motion(trees.rate_a, d))
    by_v = add_motion(cross_motion(S, load_motion(trees.link_V, link)), load_motion(trees.rate, d))
    return add_motion(by_a, scale_motion(by_v, b))


@inline
def _add_column(trees, contact, t, scratch):
    """Motion of column `t` at the point, and the change of the wrench by its coordinate."""
    d, base, change, K, G = scratch.dofs[t], scratch.base, scratch.change, scratch.K, scratch.G
    zero = constant(0.0, contact.point.x)
    for r in range(6):
        base[t, r], change[t, r] = zero, zero
    for side in range(SIDES):
        link, sign = contact.links[side], 2.0 * side - 1.0
        if link == 0 or not _moves(trees, link, d):
            continue
        arm, S, D = (
            _arm(trees, link, contact.point),
            load_motion(trees.S, d),
            _turn(trees, link, d, contact.b),
        )
        S_point, D_point = velocity_at(S, arm), velocity_at(D, arm)
        by_S = (S.ang.x, S.ang.y, S.ang.z, S.lin.x, S.lin.y, S.lin.z)
        at_S = (S.ang.x, S.ang.y, S.ang.z, S_point.x, S_point.y, S_point.z)
        at_D = (D.ang.x, D.ang.y, D.ang.z, D_point.x, D_point.y, D_point.z)
        for r in range(6):
            base[t, r] = base[t, r] + sign * at_S[r]
            moved = zero
            for s in range(6):
                moved = moved + (G[DIRECTIONS * side + s, r] * by_S[s] - K[r, s] * (sign * at_D[s]))
            change[t, r] = change[t, r] + moved
    for r in range(6):
        total = zero
        for s in range(6):
            total = total + K[r, s] * base[t, s]
        scratch.push[t, r] = total


@kernel
def linearize_lane_contact(trees, contact, forces, scratch, sums_io):
    """Add what one contact makes of the derivatives of the residual, of the Hessian and of held wrenches.

    O(n^2) for n degrees of freedom that move its bodies.
    """
    W = _add_wrench(trees, contact, forces, scratch, sums_io.link_W)
    _add_geometry(contact, forces, W, _relative_motion(trees, contact), scratch)
    count = _gather(trees, contact, scratch.dofs)
    for t in range(count):
        _add_column(trees, contact, t, scratch)
    dofs, base, change, push = scratch.dofs, scratch.base, scratch.change, scratch.push
    dq, dv, H = sums_io.dq, sums_io.dv, sums_io.H
    for s in range(count):
        i = dofs[s]
        for t in range(count):
            j = dofs[t]
            stiff, moved = base[s, 0] * push[t, 0], base[s, 0] * change[t, 0]
            for r in range(1, 6):
                stiff, moved = stiff + base[s, r] * push[t, r], moved + base[s, r] * change[t, r]
            # r = RNEA - tau - S^T W
            H[i, j] = H[i, j] + stiff
            dv[i, j] = dv[i, j] + contact.b * stiff
            dq[i, j] = dq[i, j] - moved
