# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Jacobian rows of points and axes of links, written along the way from the link to the world."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import constant
from worldline._src.scalar.wide_rows import clear_row
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, sub


@inline
def clear_rows(J_out, first, count):
    """Zeros in whole rows."""
    for r in range(first, first + count):
        clear_row(J_out, r)


@inline
def add_point_motion(bodies, link, point, axes, count, sign, J_io, first):
    """Rows first ... first + count - 1 grow by sign times the motion of a link at a point.

    The first three rows take the velocity of the point along the rows of `axes`, the next three the angular
    velocity. `point` is in the world frame. Returns the first column written and the one after the last.
    """
    dof, tree, pos, column = bodies.dof, bodies.tree, bodies.pos, bodies.column
    low, high = J_io.shape[1], 0
    if link > 0:
        root = tree.link_root[link]
        origin = pos.link_origin
        p = sub(point, Vec3(origin[root, 0], origin[root, 1], origin[root, 2]))
        x, y, z = load_vec3(axes, 0), load_vec3(axes, 1), load_vec3(axes, 2)
        d = dof.link_last[link]
        while d >= 0:
            S = load_motion(pos.dof_S, d)
            v = add(S.lin, cross(S.ang, p))
            at = column[d]
            low, high = min(low, at), max(high, at + 1)
            J_io[first, at] = J_io[first, at] + sign * dot(x, v)
            if count > 1:
                J_io[first + 1, at] = J_io[first + 1, at] + sign * dot(y, v)
            if count > 2:
                J_io[first + 2, at] = J_io[first + 2, at] + sign * dot(z, v)
            for r in range(3, count):
                e = load_vec3(axes, r - 3)
                J_io[first + r, at] = J_io[first + r, at] + sign * dot(e, S.ang)
            d = dof.dof_parent[d]
    return low, high


@inline
def row_velocity(J, r, v):
    """J_r v."""
    return part_velocity(J, r, v, 0, v.shape[0])


@inline
def part_velocity(J, r, v, first, end):
    """J_r v over columns first to end - 1, in four sums that do not wait for each other."""
    whole = end - (end - first) % 4
    zero = constant(0.0, v[0])
    s, t, u, w = zero, zero, zero, zero
    for d in range(first, whole, 4):
        s = s + J[r, d] * v[d]
        t = t + J[r, d + 1] * v[d + 1]
        u = u + J[r, d + 2] * v[d + 2]
        w = w + J[r, d + 3] * v[d + 3]
    for d in range(whole, end):
        s = s + J[r, d] * v[d]
    return (s + u) + (t + w)


@inline
def hide_prescribed(columns, mobile, prescribed, count, J_io, aref_io):
    """Take prescribed degrees of freedom out of rows; what they do goes to the reference acceleration.

    columns: degree of freedom of every column.
    """
    for j in range(columns.shape[0]):
        d = columns[j]
        if mobile[d] == 0.0:
            for r in range(count):
                aref_io[r] = aref_io[r] - J_io[r, j] * prescribed[d]
                J_io[r, j] = 0.0
