# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A sphere against a box, a cylinder, a cone or an ellipsoid: the closest surface point, exactly.

`*_surface(size, p)` returns, in the shape's frame, the signed distance of a point `p` (negative inside) and
the outward unit normal at the closest surface point. On a medial surface (the axis of a cylinder, say) the
closest point is not unique and one of them is returned.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.narrowphase.tables import BOX, CONE, CYLINDER
from worldline._src.kernels.narrowphase.values import Closest, add_scaled, negative, unit_or
from worldline._src.scalar.ops import absolute, clamp, sqrt, where
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, dot, scale, sub

_NEWTON_STEPS = 60
"""Bound on the steps of the ellipsoid's root; it takes about 6, more only for needles and flakes."""


@inline
def box_surface(size, p):
    """Signed distance to a box and the outward normal."""
    q = Vec3(clamp(p.x, -size.x, size.x), clamp(p.y, -size.y, size.y), clamp(p.z, -size.z, size.z))
    gap = sub(p, q)
    n2 = dot(gap, gap)
    if n2 > 0.0:
        length = sqrt(n2)
        return length, scale(gap, 1.0 / length)
    # inside: out through the nearest face
    x, y, z = size.x - absolute(p.x), size.y - absolute(p.y), size.z - absolute(p.z)
    if x <= y and x <= z:
        return -x, Vec3(where(p.x < 0.0, -1.0, 1.0), 0.0, 0.0)
    if y <= z:
        return -y, Vec3(0.0, where(p.y < 0.0, -1.0, 1.0), 0.0)
    return -z, Vec3(0.0, 0.0, where(p.z < 0.0, -1.0, 1.0))


@inline
def cylinder_surface(size, p):
    """Signed distance to a cylinder (radius, half length) and the outward normal."""
    rho = sqrt(p.x * p.x + p.y * p.y)
    out = unit_or(Vec3(p.x, p.y, 0.0), Vec3(1.0, 0.0, 0.0))
    side, cap = rho - size.x, absolute(p.z) - size.y
    sign = where(p.z < 0.0, -1.0, 1.0)
    if side > 0.0 and cap > 0.0:
        length = sqrt(side * side + cap * cap)
        s = side / length
        return length, Vec3(out.x * s, out.y * s, sign * (cap / length))
    if side > cap:
        return side, out
    return cap, Vec3(0.0, 0.0, sign)


@inline
def cone_surface(size, p):
    """Signed distance to a cone (base radius at z = -half, apex at z = half) and the outward normal."""
    radius, half = size.x, size.y
    rho = sqrt(p.x * p.x + p.y * p.y)
    out = unit_or(Vec3(p.x, p.y, 0.0), Vec3(1.0, 0.0, 0.0))
    # in the half plane (rho, z): the slant runs from the apex (0, half) to the rim (radius, -half)
    slant = sqrt(radius * radius + 4.0 * half * half)
    tr, tz = radius / slant, -2.0 * half / slant
    nr, nz = -tz, tr
    along = clamp(rho * tr + (p.z - half) * tz, 0.0, slant)
    # what lies outside the slant's plane or beyond the rim is closest to the slant or to the base disc
    gr, gz = rho - along * tr, p.z - half - along * tz
    slant_gap = sqrt(gr * gr + gz * gz)
    disc = where(rho < radius, rho, radius)
    br, bz = rho - disc, p.z + half
    base_gap = sqrt(br * br + bz * bz)
    above = rho * nr + (p.z - half) * nz
    if above < 0.0 and bz > 0.0:
        # inside: the nearer of the slant and the base
        if above > -bz:
            return above, Vec3(out.x * nr, out.y * nr, nz)
        return -bz, Vec3(0.0, 0.0, -1.0)
    if slant_gap <= base_gap:
        if slant_gap > 0.0:
            r, z = gr / slant_gap, gz / slant_gap
            return slant_gap, Vec3(out.x * r, out.y * r, z)
        return slant_gap, Vec3(out.x * nr, out.y * nr, nz)
    r, z = br / base_gap, bz / base_gap
    return base_gap, Vec3(out.x * r, out.y * r, z)


@outline
def ellipsoid_surface(size, p):
    """Signed distance to an ellipsoid and the outward normal.

    The closest point is e_i^2 p_i / (t + e_i^2) for the largest root t of a function that is convex and
    falls; Newton's method climbs to it from below without overshooting. Measured from the pole of the
    smallest axis, the denominators keep all their digits.
    """
    # coordinates are kept off the planes of symmetry, where the root meets the pole
    least = where(size.x < size.y, size.x, size.y)
    least = where(least < size.z, least, size.z)
    tiny = 1e-13 * least
    px = where(absolute(p.x) < tiny, tiny, absolute(p.x))
    py = where(absolute(p.y) < tiny, tiny, absolute(p.y))
    pz = where(absolute(p.z) < tiny, tiny, absolute(p.z))
    pole = least * least
    hx, hy, hz = size.x * size.x - pole, size.y * size.y - pole, size.z * size.z - pole
    kx, ky, kz = size.x * px, size.y * py, size.z * pz
    # each term alone bounds the root from below
    u = where(kx - hx > ky - hy, kx - hx, ky - hy)
    u = where(u > kz - hz, u, kz - hz)
    for _ in range(_NEWTON_STEPS):
        x, y, z = kx / (u + hx), ky / (u + hy), kz / (u + hz)
        x2, y2, z2 = x * x, y * y, z * z
        value = x2 + y2 + z2 - 1.0
        slope = 2.0 * (x2 / (u + hx) + y2 / (u + hy) + z2 / (u + hz))
        step = value / slope
        u += step
        if step <= 1e-15 * u:
            break
    qx, qy, qz = size.x * kx / (u + hx), size.y * ky / (u + hy), size.z * kz / (u + hz)
    gap = Vec3(px - qx, py - qy, pz - qz)
    inside = kx * kx / (hx + pole) ** 2 + ky * ky / (hy + pole) ** 2 + kz * kz / (hz + pole) ** 2 < 1.0
    length = sqrt(dot(gap, gap))
    n = unit_or(Vec3(qx / (hx + pole), qy / (hy + pole), qz / (hz + pole)), Vec3(0.0, 0.0, 1.0))
    normal = Vec3(where(p.x < 0.0, -n.x, n.x), where(p.y < 0.0, -n.y, n.y), where(p.z < 0.0, -n.z, n.z))
    return where(inside, -length, length), normal


@inline
def ball_surface(kind, size, p):
    """Signed distance and outward normal for any of the four types."""
    if kind == BOX:
        return box_surface(size, p)
    if kind == CYLINDER:
        return cylinder_surface(size, p)
    if kind == CONE:
        return cone_surface(size, p)
    return ellipsoid_surface(size, p)


@inline
def ball_other(radius, kind, size, R_WB, p_AB):
    """Closest points of a sphere, the first, and a shape of type `kind`."""
    distance, out = ball_surface(kind, size, rotate_back(R_WB, negative(p_AB)))
    normal = negative(rotate(R_WB, out))
    return Closest(
        distance - radius, normal, scale(normal, radius), add_scaled(Vec3(0.0, 0.0, 0.0), normal, distance)
    )
