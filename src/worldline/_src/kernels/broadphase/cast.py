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
from worldline._src.kernels.broadphase.bvh import inverse_of, ray_bounds, ray_box
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
from worldline._src.kinds import float64, int64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, matrix, pointer
from worldline._src.scalar.ops import absolute, maximum, minimum
from worldline._src.spatial.rotation import load_position, load_rotation, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, load_vec3, store_vec3, sub

INFINITE = float("inf")
"""Share of the way at which a ray that misses hits."""


# how the interpreter stores tuples and floats, and NumPy its arrays: see `collision/single_ray.py`
_HEADER, _ITEMS, _TUPLE, _FLOAT, _ARRAY, _DOUBLES = range(6)
SINGLE_RAY_SIZE = 9
"""Numbers that `cast_single_ray` writes: share of the way, point, normal, shape, triangle."""


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
def _bounds(box, tree):
    """Corners of a box around all shapes but half spaces."""
    root, order = tree.tree_root, tree.tree_order
    low, high = Vec3(INFINITE, INFINITE, INFINITE), Vec3(-INFINITE, -INFINITE, -INFINITE)
    for k in range(root[trees.MOVING] + root[trees.FIXED]):
        s = order[k]
        low = Vec3(minimum(low.x, box[s, 0]), minimum(low.y, box[s, 1]), minimum(low.z, box[s, 2]))
        high = Vec3(maximum(high.x, box[s, 3]), maximum(high.y, box[s, 4]), maximum(high.z, box[s, 5]))
    return low, high


@inline
def _nearest(views, tree, stack, o, d, only, low, high):
    """The nearest hit of one ray, or of one object alone when `only` is one.

    Returns share, shape, triangle and normal; a MISS has no shape. A ray that misses the box from `low` to
    `high` meets half spaces only. Of few shapes all boxes are looked at, of many those that the trees lead
    to.
    """
    best, hit, triangle, normal = MISS, -1, -1, Vec3(0.0, 0.0, 0.0)
    inverse = inverse_of(d)
    root = tree.tree_root
    solids = root[trees.MOVING] + root[trees.FIXED]
    far_away = ray_bounds(low, high, o, inverse, 1.0) > 1e299
    next_shape = solids if far_away or solids > trees.FEW else 0
    top = 0
    if solids > trees.FEW and not far_away:
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
def _views(m, c, args, d):
    return Views(
        shape_view(m, c, args, d),
        geom_view(m, c, args, d),
        surface_view(m, c, args, d),
        shape_box_view(m, c, args, d).box,
    )


@inline
def _cast(m, c, args, d, rays, only, outs):
    start, end = rays
    out, point_out, normal_out, hit_out = outs
    views = _views(m, c, args, d)
    tree, stack = tree_view(m, c, args, d), work_view(m, c, args, d).iwork
    low, high = _bounds(views.box, tree)
    for k in range(start.shape[0]):
        o, tip = load_vec3(start, k), load_vec3(end, k)
        way = sub(tip, o)
        t, s, tri, n = _nearest(views, tree, stack, o, way, only, low, high)
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


@inline
def _point_of(layout, given):
    """The numbers of a Python object: (whether it is a tuple or an array of 3 floats, point)."""
    header = layout[_HEADER]
    kind = address_as(given + header - 8, int64)[0]
    body = address_as(given + header, int64)
    if kind == layout[_TUPLE] and body[0] == 3:
        items = address_as(given + layout[_ITEMS], int64)
        good, wanted = True, layout[_FLOAT]
        for k in range(3):
            good = good and address_as(items[k] + header - 8, int64)[0] == wanted
        if good:
            x = address_as(items[0] + header, float64)[0]
            y = address_as(items[1] + header, float64)[0]
            return True, Vec3(x, y, address_as(items[2] + header, float64)[0])
    # NumPy: address of the numbers, dimensions, sizes, strides, base, type
    if kind == layout[_ARRAY] and (body[1] & 0xFFFFFFFF) == 1 and body[5] == layout[_DOUBLES]:
        if address_as(body[2], int64)[0] == 3 and body[0] % 8 == 0:
            numbers, stride = body[0], address_as(body[3], int64)[0]
            x, y = address_as(numbers, float64)[0], address_as(numbers + stride, float64)[0]
            return stride % 8 == 0, Vec3(x, y, address_as(numbers + 2 * stride, float64)[0])
    return False, Vec3(0.0, 0.0, 0.0)


@entry(
    signature="int64[::1] float64[::1] int64[::1] float64[::1] int64[::1] float64[::1] int64",
    label="one ray",
)
def cast_single_ray(m, c, args, d, layout, out, given):
    """Cast the ray in a list of two Python objects, start and end; False, and nothing, if it is not plain."""
    ends = address_as(address_as(given + layout[_HEADER], int64)[1], int64)
    good_start, o = _point_of(layout, ends[0])
    good_end, tip = _point_of(layout, ends[1])
    way = sub(tip, o)
    # differences of what is not finite are not finite either
    finite = absolute(way.x) < INFINITE and absolute(way.y) < INFINITE and absolute(way.z) < INFINITE
    if not (good_start and good_end and finite):
        return False
    m, c, args, d = pointer(m), pointer(c), pointer(args), pointer(d)
    views = _views(m, c, args, d)
    tree, stack = tree_view(m, c, args, d), work_view(m, c, args, d).iwork
    # one ray is not worth a box around everything
    low, high = Vec3(-INFINITE, -INFINITE, -INFINITE), Vec3(INFINITE, INFINITE, INFINITE)
    t, s, tri, n = _nearest(views, tree, stack, o, way, -1, low, high)
    hit = t <= 1.0
    out[0] = t if hit else INFINITE
    store_vec3(matrix(pointer(out), 1, 2, 3), 0, add_scaled(o, way, t) if hit else tip)
    store_vec3(matrix(pointer(out), 1, 2, 3), 1, n if hit else Vec3(0.0, 0.0, 0.0))
    out[7], out[8] = (s, tri) if hit else (-1, -1)
    return True
