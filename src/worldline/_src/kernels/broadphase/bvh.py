# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Build a bounding-volume tree over boxes by the surface-area heuristic, and walk rays through triangles.

The two children of a node lie next to each other. A node is two integers, first child and 0, or first item
and how many, and a box of six numbers. Items are reordered so that a leaf's lie together.
"""

from __future__ import annotations

from worldline._src.jit import entry, inline
from worldline._src.scalar.ops import absolute, maximum, minimum
from worldline._src.spatial.vec3 import Vec3, cross, dot, sub

BINS = 16
LEAF = 4
"""Items in a leaf, at most."""
BUILD_STACK = 128
RAY_STACK = 1024
"""Where the stack over triangles begins in the integer work space, behind the one over shapes."""


@inline
def _half_area(work, at):
    """Half the surface of the box in six numbers from `at` on."""
    x, y, z = work[at + 3] - work[at], work[at + 4] - work[at + 1], work[at + 5] - work[at + 2]
    return x * y + y * z + z * x


@inline
def _clear(work, at):
    for e in range(3):
        work[at + e] = 1e300
        work[at + 3 + e] = -1e300


@inline
def _grow(work, at, box, i):
    for e in range(3):
        if box[i, e] < work[at + e]:
            work[at + e] = box[i, e]
        if box[i, 3 + e] > work[at + 3 + e]:
            work[at + 3 + e] = box[i, 3 + e]


@inline
def _grow_bin(work, at, other):
    for e in range(3):
        if work[other + e] < work[at + e]:
            work[at + e] = work[other + e]
        if work[other + 3 + e] > work[at + 3 + e]:
            work[at + 3 + e] = work[other + 3 + e]


@inline
def _bin(value, low, inverse):
    k = int((value - low) * inverse)
    return 0 if k < 0 else (BINS - 1 if k >= BINS else k)


@inline
def _middle(box, i, axis):
    return 0.5 * (box[i, axis] + box[i, 3 + axis])


# work space of the build: boxes of the bins, their counts, the areas from the right, a running box, centres
_BIN, _COUNT, _RIGHT, _RUN, _CENTRE = 0, 6 * BINS, 7 * BINS, 8 * BINS, 8 * BINS + 6
BUILD_WORK = 8 * BINS + 16


@inline
def _best_split(box, order, start, end, work):
    """The axis and bin after which to split, and the cost; axis -1 when all centres coincide."""
    best_axis, best_bin, best_cost = -1, 0, 1e300
    for axis in range(3):
        low, high = 1e300, -1e300
        for k in range(start, end):
            x = _middle(box, order[k], axis)
            low, high = minimum(low, x), maximum(high, x)
        if not high - low > 1e-300:
            continue
        inverse = BINS / (high - low)
        for k in range(BINS):
            _clear(work, _BIN + 6 * k)
            work[_COUNT + k] = 0.0
        for k in range(start, end):
            i = order[k]
            b = _bin(_middle(box, i, axis), low, inverse)
            work[_COUNT + b] += 1.0
            _grow(work, _BIN + 6 * b, box, i)
        # areas of everything right of a split, then the same from the left
        _clear(work, _RUN)
        count = 0.0
        for k in range(BINS - 1, 0, -1):
            count += work[_COUNT + k]
            _grow_bin(work, _RUN, _BIN + 6 * k)
            work[_RIGHT + k] = count * _half_area(work, _RUN) if count > 0.0 else 0.0
        _clear(work, _RUN)
        count = 0.0
        for k in range(BINS - 1):
            count += work[_COUNT + k]
            _grow_bin(work, _RUN, _BIN + 6 * k)
            if count > 0.0 and count < end - start:
                cost = count * _half_area(work, _RUN) + work[_RIGHT + k + 1]
                if cost < best_cost:
                    best_axis, best_bin, best_cost = axis, k, cost
    return best_axis, best_bin, best_cost


@inline
def _partition(box, order, start, end, axis, last_bin):
    """Move the items of the bins up to `last_bin` to the front; returns where the rest begins."""
    low, high = 1e300, -1e300
    for k in range(start, end):
        x = _middle(box, order[k], axis)
        low, high = minimum(low, x), maximum(high, x)
    inverse = BINS / (high - low)
    i, j = start, end - 1
    while i <= j:
        if _bin(_middle(box, order[i], axis), low, inverse) <= last_bin:
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@entry(
    signature="float64[:,::1] int64[::1] int64[::1] float64[::1] int64[:,::1] float64[:,::1]",
    label="trees of triangles",
)
def build_tree(box, order, stack, work, node_index_out, node_box_out):
    """Build the tree over `box` (n, 6); `order`, 0 to n - 1, is rearranged. Returns the number of nodes."""
    n = order.shape[0]
    nodes = 1
    stack[0], stack[1], stack[2] = 0, 0, n
    top = 1
    while top > 0:
        top -= 1
        node, start, end = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        _clear(work, _RUN)
        for k in range(start, end):
            _grow(work, _RUN, box, order[k])
        for e in range(6):
            node_box_out[node, e] = work[_RUN + e]
        count = end - start
        leaf_cost = count * _half_area(work, _RUN)
        axis, last_bin, cost = -1, 0, 1e300
        if count > 1:
            axis, last_bin, cost = _best_split(box, order, start, end, work)
        # a step down costs about as much as a triangle
        if count <= LEAF and (axis < 0 or cost + 1.0 * leaf_cost / count >= leaf_cost):
            node_index_out[node, 0], node_index_out[node, 1] = start, count
            continue
        middle = (start + end) // 2
        if axis >= 0 and top < BUILD_STACK - 20:
            middle = _partition(box, order, start, end, axis, last_bin)
        node_index_out[node, 0], node_index_out[node, 1] = nodes, 0
        # the larger half waits on the stack, so the stack stays short
        small, large = nodes, nodes + 1
        a0, a1, b0, b1 = start, middle, middle, end
        if a1 - a0 > b1 - b0:
            small, large = large, small
            a0, a1, b0, b1 = b0, b1, a0, a1
        stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = large, b0, b1
        stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = small, a0, a1
        top += 2
        nodes += 2
    return nodes


@inline
def inverse_of(d):
    """1 / d, with a huge number where d is zero: nothing may become NaN."""
    return Vec3(
        1.0 / (d.x if d.x != 0.0 else 1e-290),
        1.0 / (d.y if d.y != 0.0 else 1e-290),
        1.0 / (d.z if d.z != 0.0 else 1e-290),
    )


@inline
def ray_bounds(low, high, o, inverse, limit):
    """Where a ray enters the box between two corners, or a number above `limit` when it misses."""
    x0, x1 = (low.x - o.x) * inverse.x, (high.x - o.x) * inverse.x
    y0, y1 = (low.y - o.y) * inverse.y, (high.y - o.y) * inverse.y
    z0, z1 = (low.z - o.z) * inverse.z, (high.z - o.z) * inverse.z
    near = maximum(maximum(minimum(x0, x1), minimum(y0, y1)), maximum(minimum(z0, z1), 0.0))
    far = minimum(minimum(maximum(x0, x1), maximum(y0, y1)), minimum(maximum(z0, z1), limit))
    return near if near <= far * (1.0 + 4e-16) else 1e300


@inline
def ray_box(box, node, o, inverse, limit):
    """Where a ray enters a node's box, or a number above `limit` when it misses."""
    low, high = Vec3(box[node, 0], box[node, 1], box[node, 2]), Vec3(box[node, 3], box[node, 4], box[node, 5])
    return ray_bounds(low, high, o, inverse, limit)


@inline
def ray_triangle(edge, t, o, d, limit):
    """Where a ray meets triangle `t` [Moeller and Trumbore 1997], or 1e300; both sides count."""
    e1 = Vec3(edge[t, 3], edge[t, 4], edge[t, 5])
    e2 = Vec3(edge[t, 6], edge[t, 7], edge[t, 8])
    p = cross(d, e2)
    determinant = dot(e1, p)
    s = sub(o, Vec3(edge[t, 0], edge[t, 1], edge[t, 2]))
    # compare before dividing: most triangles are missed
    sign = -1.0 if determinant < 0.0 else 1.0
    size = absolute(determinant)
    u = dot(s, p) * sign
    if u < 0.0 or u > size or size == 0.0:
        return 1e300
    q = cross(s, e1)
    v = dot(d, q) * sign
    if v < 0.0 or u + v > size:
        return 1e300
    x = dot(e2, q) * sign / size
    return x if 0.0 <= x <= limit else 1e300


@inline
def ray_surface(surfaces, first_node, first_tri, o, d, limit, stack):
    """The first triangle a ray from `o` along `d` meets within `limit`: (parameter, triangle or -1)."""
    box, index = surfaces.node_box, surfaces.node_index
    inverse = inverse_of(d)
    best, hit = limit, -1
    top = RAY_STACK
    node = first_node
    if ray_box(box, node, o, inverse, best) > 1e299:
        return best, hit
    while True:
        start, count = index[node, 0], index[node, 1]
        if count == 0:
            left = first_node + start
            a, b = ray_box(box, left, o, inverse, best), ray_box(box, left + 1, o, inverse, best)
            if a <= b:
                if a < 1e299:
                    node = left
                    if b < 1e299:
                        stack[top] = left + 1
                        top += 1
                    continue
            elif b < 1e299:
                node = left + 1
                if a < 1e299:
                    stack[top] = left
                    top += 1
                continue
        else:
            for t in range(first_tri + start, first_tri + start + count):
                x = ray_triangle(surfaces.tri_edge, t, o, d, best)
                if x <= best and (x < best or hit < 0):
                    best, hit = x, t
        if top == RAY_STACK:
            break
        top -= 1
        node = stack[top]
    return best, hit
