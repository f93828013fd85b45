# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of range finders, and of distances between shapes, in one world.

Rays see shapes that have a colour which is not wholly transparent, meshes by their triangles, and nothing of
the body they are mounted on. A ray that starts in a solid meets it from within.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline
from worldline._src.kernels.narrowphase.emit import load_size
from worldline._src.kernels.narrowphase.rays import ray_shape
from worldline._src.kernels.narrowphase.tables import PLANE
from worldline._src.kernels.narrowphase.values import add_scaled
from worldline._src.kernels.sensors.tables import NORMAL, SEPARATION
from worldline._src.scalar.ops import absolute, sqrt
from worldline._src.spatial.rotation import load_position, load_rotation, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, dot, load_vec3, scale, store_three, sub

REACH = 1e8
"""Length of a ray [m]."""
_MISS = 1e299


@inline
def _plane(o, d, bound, s):
    """Distance to the front of a plane, within its size where it has one."""
    if d.z >= 0.0 or o.z < 0.0:
        return REACH
    # o_z + t d_z = 0
    t = -o.z / d.z
    x, y = absolute(o.x + t * d.x), absolute(o.y + t * d.y)
    inside = (bound[s, 0] <= 0.0 or x <= bound[s, 0]) and (bound[s, 1] <= 0.0 or y <= bound[s, 1])
    return t if inside else REACH


@outline
def _solid(shapes, geoms, surfaces, s, o, d, limit, radius, stack):
    """Distance to the surface of a solid; of one that the ray starts in, where it leaves it."""
    kind, size, g = shapes.shape_type[s], load_size(shapes, s), shapes.shape_geom[s]
    t, _, _ = ray_shape(kind, size, g, geoms, surfaces, o, d, limit, stack)
    if t == 0.0:
        # solids are convex: where a ray leaves is where the same ray from the other side enters
        far = 4.0 * radius
        back, _, _ = ray_shape(
            kind, size, g, geoms, surfaces, add_scaled(o, d, far), scale(d, -1.0), far, stack
        )
        t = far - back if back < _MISS else 0.0
    return t


@kernel
def read_rays(frames, shapes, geoms, surfaces, stack, rows, reading_out):
    """Distance along every ray to the nearest surface, -1 when there is none."""
    X = shapes.shape_X_W
    for n in range(rows.ray_row.shape[0]):
        at, frame, own = rows.ray_row[n, 0], rows.ray_row[n, 1], rows.ray_row[n, 2]
        start = load_position(frames.frame_X, frame)
        along = rotate(load_rotation(frames.frame_X, frame), load_vec3(rows.ray_direction, n))
        best = REACH
        for s in range(shapes.shape_type.shape[0]):
            if shapes.shape_body[s] == own:
                continue
            # in the frame of the shape: o = R^T (start - p), d = R^T along
            arm = sub(start, load_position(X, s))
            if shapes.shape_type[s] != PLANE:
                # the line passes the ball about a shape, or all of it lies behind or beyond what was found
                middle, radius = -dot(arm, along), rows.seen_bound[s, 2]
                if dot(arm, arm) - middle * middle > radius * radius:
                    continue
                if middle + radius < 0.0 or middle - radius > best:
                    continue
            R = load_rotation(X, s)
            o, d = rotate_back(R, arm), rotate_back(R, along)
            if shapes.shape_type[s] == PLANE:
                t = _plane(o, d, rows.seen_bound, s)
            else:
                t = _solid(shapes, geoms, surfaces, s, o, d, best, rows.seen_bound[s, 2], stack)
            if t < best:
                best = t
        reading_out[at] = best if best < REACH else -1.0


@kernel
def read_distances(closest, rows, reading_out):
    """Distance, direction or ends of the shortest connection of two sets of shapes, within a reach.

    Beyond it the distance is the reach, and the others are zero.
    """
    for n in range(rows.distance_row.shape[0]):
        at, quantity, reach = rows.distance_row[n, 0], rows.distance_row[n, 1], rows.distance_reach[n]
        best, k = 1e300, -1
        for j in range(rows.distance_row[n, 2], rows.distance_row[n, 3]):
            if closest[j, 0] < best:
                best, k = closest[j, 0], j
        a, b = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        near = k >= 0 and best < reach
        if near:
            a = Vec3(closest[k, 4], closest[k, 5], closest[k, 6])
            b = Vec3(closest[k, 7], closest[k, 8], closest[k, 9])
        if quantity == SEPARATION:
            reading_out[at] = best if near else reach
        elif quantity == NORMAL:
            line = sub(b, a)
            length = sqrt(dot(line, line))
            axis = Vec3(1.0, 0.0, 0.0) if near else Vec3(0.0, 0.0, 0.0)
            store_three(reading_out, at, scale(line, 1.0 / length) if length > 0.0 else axis)
        else:
            store_three(reading_out, at, a)
            store_three(reading_out, at + 3, b)
