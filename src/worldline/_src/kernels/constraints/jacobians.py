# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Jacobian rows of points and axes of links, written along the way from the link to the world."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, sub


@inline
def clear_rows(J_out, first, count):
    """Zeros in whole rows."""
    for r in range(first, first + count):
        for j in range(J_out.shape[1]):
            J_out[r, j] = 0.0


@inline
def add_point_motion(bodies, link, point, axes, count, sign, J_io, first):
    """Rows first ... first + count - 1 grow by sign times the motion of a link at a point.

    The first three rows take the velocity of the point along the rows of `axes`, the next three the angular
    velocity. `point` is in the world frame.
    """
    dof, tree, pos, column = bodies.dof, bodies.tree, bodies.pos, bodies.column
    if link > 0:
        root = tree.link_root[link]
        origin = pos.link_origin
        p = sub(point, Vec3(origin[root, 0], origin[root, 1], origin[root, 2]))
        d = dof.link_last[link]
        while d >= 0:
            S = load_motion(pos.dof_S, d)
            v = add(S.lin, cross(S.ang, p))
            at = column[d]
            for r in range(count):
                k = r if r < 3 else r - 3
                e = Vec3(axes[k, 0], axes[k, 1], axes[k, 2])
                J_io[first + r, at] += sign * (dot(e, v) if r < 3 else dot(e, S.ang))
            d = dof.dof_parent[d]


@inline
def row_velocity(J, r, v):
    """J_r v."""
    total = 0.0
    for d in range(v.shape[0]):
        total += J[r, d] * v[d]
    return total


@inline
def hide_held(columns, mobile, held, count, J_io, aref_io):
    """Take prescribed degrees of freedom out of rows; what they do goes to the reference acceleration.

    columns: degree of freedom of every column.
    """
    for j in range(columns.shape[0]):
        d = columns[j]
        if mobile[d] == 0.0:
            for r in range(count):
                aref_io[r] -= J_io[r, j] * held[d]
                J_io[r, j] = 0.0
