# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many rays against all shapes of a world: walk the trees of boxes, then ask the shapes.

Needs the trees current. Rays are segments from start to end; results are shares of that way. The nearest
hit wins; of equally near ones, the shape of the lower number.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import DISABLED, entry, inline, outline
from worldline._src.kernels.broadphase import tree as trees
from worldline._src.kernels.broadphase.bvh import inverse_of, ray_box
from worldline._src.kernels.narrowphase.emit import load_size
from worldline._src.kernels.narrowphase.rays import MISS, ray_shape
from worldline._src.kernels.narrowphase.tables import (
    geom_view,
    shape_box_view,
    shape_view,
    surface_view,
    tree_view,
    work_view,
)
from worldline._src.kernels.narrowphase.values import add_scaled
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import pointer
from worldline._src.spatial.rotation import load_position, load_rotation, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, load_vec3, store_vec3, sub

INFINITE = float("inf")
"""Share of the way at which a ray that misses hits."""


class Views(NamedTuple):
    """What rays are asked against: shapes, their geometry, their triangles, their boxes."""

    shapes: Any
    geoms: Any
    surfaces: Any
    box: Any


@outline
def _ask(shapes, geoms, surfaces, s, o, d, limit, stack):
    """Shape `s` against a ray: (parameter, normal in the world, triangle)."""
    X = shapes.shape_X_W
    R = load_rotation(X, s)
    local_o, local_d = rotate_back(R, sub(o, load_position(X, s))), rotate_back(R, d)
    kind, size, g = shapes.shape_type[s], load_size(shapes, s), shapes.shape_geom[s]
    t, n, tri = ray_shape(kind, size, g, geoms, surfaces, local_o, local_d, limit, stack)
    return t, rotate(R, n), tri


@inline
def _nearest(views, tree, stack, o, d, only):
    """The nearest hit of one ray, or of one object alone when `only` is one.

    Returns share, shape, triangle and normal; a MISS has no shape. Of few shapes all boxes are looked at, of
    many those that the trees lead to.
    """
    best, hit, triangle, normal = MISS, -1, -1, Vec3(0.0, 0.0, 0.0)
    inverse = inverse_of(d)
    root = tree.tree_root
    solids = root[trees.MOVING] + root[trees.FIXED]
    next_shape = 0 if solids <= trees.FEW else solids
    top = 0
    if solids > trees.FEW:
        for k in range(2):
            start = root[trees.MOVING_ROOT] if k == 0 else root[trees.FIXED_ROOT]
            if start >= 0:
                stack[top] = start
                top += 1
    while top > 0 or next_shape < solids + root[trees.PLANES]:
        if top > 0:
            top -= 1
            node = stack[top]
            limit = best if best < 1.0 else 1.0
            if ray_box(tree.tree_box, node, o, inverse, limit) > 1e299:
                continue
            s = tree.tree_node[node, trees.LEAF]
            if s < 0:
                # the nearer child on top
                a, b = tree.tree_node[node, trees.CHILD_A], tree.tree_node[node, trees.CHILD_B]
                near_a = ray_box(tree.tree_box, a, o, inverse, limit)
                near_b = ray_box(tree.tree_box, b, o, inverse, limit)
                if near_a < near_b:
                    a, b = b, a
                stack[top], stack[top + 1] = a, b
                top += 2
                continue
        else:
            s = tree.tree_order[next_shape]
            next_shape += 1
        if only >= 0 and views.shapes.shape_body[s] != only:
            continue
        limit = best if best < 1.0 else 1.0
        if ray_box(views.box, s, o, inverse, limit) > 1e299:
            continue
        t, n, tri = _ask(views.shapes, views.geoms, views.surfaces, s, o, d, limit, stack)
        if t < best or (t == best and s < hit):
            best, hit, triangle, normal = t, s, tri, n
    return best, hit, triangle, normal


@inline
def _cast(m, c, args, d, rays, only, outs):
    start, end = rays
    out, point_out, normal_out, hit_out = outs
    views = Views(
        shape_view(m, c, args, d),
        geom_view(m, c, args, d),
        surface_view(m, c, args, d),
        shape_box_view(m, c, args, d).box,
    )
    tree, stack = tree_view(m, c, args, d), work_view(m, c, args, d).iwork
    for k in range(start.shape[0]):
        o, tip = load_vec3(start, k), load_vec3(end, k)
        way = sub(tip, o)
        t, s, tri, n = _nearest(views, tree, stack, o, way, only)
        if t <= 1.0:
            out[k] = t
            store_vec3(point_out, k, add_scaled(o, way, t))
            store_vec3(normal_out, k, n)
            hit_out[k, 0], hit_out[k, 1] = s, tri
        else:
            out[k] = INFINITE
            store_vec3(point_out, k, tip)
            store_vec3(normal_out, k, Vec3(0.0, 0.0, 0.0))
            hit_out[k, 0], hit_out[k, 1] = -1, -1


@entry(
    signature="int64[::1] float64[::1] int64[::1] float64[::1] float64[:,::1] float64[:,::1] "
    "float64[::1] float64[:,::1] float64[:,::1] int64[:,::1] int64",
    label="rays",
)
def _cast_entry(m, c, args, d, start, end, out, point_out, normal_out, hit_out, only):
    outs = (out, point_out, normal_out, hit_out)
    _cast(pointer(m), pointer(c), pointer(args), pointer(d), (start, end), only, outs)


def cast_rays(m: Any, c: Any, args: Any, d: Any, start: Any, end: Any, only: int, *outs: Any) -> None:
    """Cast rays; `only` is an object that alone is asked, or -1.

    Outputs: share of the way, infinite for a miss; point, the end for a miss; normal, zero for a miss; shape
    and triangle, -1 for a miss.
    """
    if DISABLED:
        _cast(m, c, args, d, (start, end), only, outs)
        return
    _cast_entry(m, c, args, d, start, end, *outs, only)
