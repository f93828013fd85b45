# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which normals a triangle may push with when it is part of a surface.

Alone, a triangle pushes away from its edges and corners too. Within a surface that makes bumps where there
are none: a shape that slides over a flat sheet meets the edge of every next triangle. A direction is real
where no triangle around the touched edge or corner lies in front of it: then that point is the closest of
the surface, not of one triangle alone. Any other direction is replaced by the triangle's own normal, and
what is not above the triangle is left to its neighbours.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.narrowphase.values import add_scaled, negative
from worldline._src.scalar.ops import absolute, sqrt
from worldline._src.spatial.vec3 import Vec3, cross, dot, load_vec3, scale, sub

AS_FOUND, OF_FACE, REPLACED, NONE = 0, 1, 2, 3

_UPRIGHT = 1.0 - 1.0e-6
"""Cosine to the triangle's normal above which a direction is that normal."""
_AT_EDGE = 1.0e-6
"""Weight of a corner below which a point lies on the edge across from it."""
_IN_FRONT = 1.0e-4
"""Sine of the angle by which a neighbour may lie in front of an edge: rounding of nearly flat surfaces."""


@inline
def corner_weights(a, b, c, q):
    """Weights of the corners of a triangle for the foot of `q` on its plane."""
    u, v, w = sub(b, a), sub(c, a), sub(q, a)
    uu, uv, vv = dot(u, u), dot(u, v), dot(v, v)
    wu, wv = dot(w, u), dot(w, v)
    inverse = 1.0 / (uu * vv - uv * uv)
    y = (vv * wu - uv * wv) * inverse
    z = (uu * wv - uv * wu) * inverse
    return 1.0 - y - z, y, z


@inline
def _flat(a):
    return Vec3(a.x, a.y, 0.0)


@inline
def _rises(u, o, along, x):
    """Whether the point `x` lies in front of an edge through `o`, seen against the direction `u`."""
    h = sub(x, o)
    h = add_scaled(h, along, -dot(h, along) / dot(along, along))
    return dot(u, h) > _IN_FRONT * sqrt(dot(h, h))


@inline
def _edge_blocked(surfaces, t, k, u):
    """Whether a triangle at edge `k` of triangle `t` lies in front of the edge."""
    tri, vertex = surfaces.tri, surfaces.vertex
    o = load_vec3(vertex, tri[t, k])
    along = sub(load_vec3(vertex, tri[t, (k + 1) % 3]), o)
    if _rises(u, o, along, load_vec3(vertex, tri[t, (k + 2) % 3])):
        return True
    beyond = surfaces.tri_across[t, k]
    return beyond >= 0 and _rises(u, o, along, load_vec3(vertex, beyond))


@inline
def _corner_blocked(surfaces, t, k, u):
    """Whether an edge at corner `k` of triangle `t` lies in front of the corner."""
    v = surfaces.tri[t, k]
    o = load_vec3(surfaces.vertex, v)
    for e in range(surfaces.near_start[v], surfaces.near_start[v + 1]):
        w = sub(load_vec3(surfaces.vertex, surfaces.near[e]), o)
        if dot(u, w) > _IN_FRONT * sqrt(dot(w, w)):
            return True
    return False


@inline
def _feature_blocked(surfaces, t, wa, wb, wc, u):
    """The test for the edge or corner of triangle `t` that a point with these weights lies on."""
    on_a, on_b, on_c = wa < _AT_EDGE, wb < _AT_EDGE, wc < _AT_EDGE
    if on_b and on_c:
        return _corner_blocked(surfaces, t, 0, u)
    if on_c and on_a:
        return _corner_blocked(surfaces, t, 1, u)
    if on_a and on_b:
        return _corner_blocked(surfaces, t, 2, u)
    if on_c:
        return _edge_blocked(surfaces, t, 0, u)
    if on_a:
        return _edge_blocked(surfaces, t, 1, u)
    if on_b:
        return _edge_blocked(surfaces, t, 2, u)
    # inside a triangle only its normal is real
    return True


@inline
def _wall_is_border(surfaces, t, wa, wb, wc):
    """Whether a point on the upright side of a prism is on the border of its height field."""
    across = surfaces.tri_across
    return (
        (wc < _AT_EDGE and across[t, 0] < 0)
        or (wa < _AT_EDGE and across[t, 1] < 0)
        or (wb < _AT_EDGE and across[t, 2] < 0)
    )


@outline
def surface_direction(surfaces, t, ground, u, q, centre):
    """What triangle `t` makes of a contact at its point `q` that pushes along the unit vector `u`.

    Everything in the frame of the surface; `centre` is the other shape's and tells the sides of a sheet
    apart. `ground` is the base of a height field, above 1e299 for a sheet. Returns a verdict and the
    direction: AS_FOUND, OF_FACE (it was the triangle's normal but for rounding), REPLACED by the triangle's
    normal, or NONE, where there is no contact.
    """
    a = load_vec3(surfaces.vertex, surfaces.tri[t, 0])
    b = load_vec3(surfaces.vertex, surfaces.tri[t, 1])
    c = load_vec3(surfaces.vertex, surfaces.tri[t, 2])
    m = cross(sub(b, a), sub(c, a))
    m = scale(m, 1.0 / sqrt(dot(m, m)))
    along = dot(u, m)
    solid = ground < 1e299
    if along > _UPRIGHT:
        return OF_FACE, m
    if not solid and along < -_UPRIGHT:
        return OF_FACE, negative(m)
    if solid:
        # seen from above, the sides of a prism are the edges of its triangle
        wa, wb, wc = corner_weights(_flat(a), _flat(b), _flat(c), _flat(q))
        thick = absolute(a.z - ground) + absolute(b.z - ground) + absolute(c.z - ground)
        if dot(m, sub(q, a)) < -1e-9 * thick:
            if u.z < -_UPRIGHT or _wall_is_border(surfaces, t, wa, wb, wc):
                return AS_FOUND, u
            if q.z <= ground + 1e-9 * thick:
                return NONE, u
            return REPLACED, m
    else:
        wa, wb, wc = corner_weights(a, b, c, q)
    if not _feature_blocked(surfaces, t, wa, wb, wc, u):
        return AS_FOUND, u
    if not solid and dot(m, sub(centre, a)) < 0.0:
        m = negative(m)
    return REPLACED, m
