# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Everything convex against a half space: its lowest points, in closed form.

The plane is the first shape; its normal is its local z and the side below is solid. Spheres, capsules and
boxes are written without branches on numbers, so four worlds run at once. Every function returns four
candidates as (height above the plane, point, feature), unused ones at the height of `BOTTOMLESS`; the
lowest point of the shape is always among them.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.tables import BOTTOMLESS
from worldline._src.kernels.narrowphase.values import across, add_scaled, select, unit_or
from worldline._src.scalar.ops import absolute, constant, sqrt, where
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, dot, scale


@inline
def plane_capsule(n, p, half, radius):
    """Both ends of a capsule with half vector `half`, or a sphere's lowest point when it is zero.

    `n` is the plane's normal and `p` the capsule's centre from a point of the plane, in world axes.
    """
    low = add_scaled(add(p, half), n, -radius)
    high = add_scaled(add_scaled(p, half, -1.0), n, -radius)
    long = dot(half, half) > 0.0
    other = where(long, dot(n, high), constant(BOTTOMLESS, radius))
    return dot(n, low), low, other, high


@inline
def plane_box(n, p, R, size):
    """The four corners of the face that looks at the plane most; the feature is the corner, 0 to 7."""
    d = rotate_back(R, n)
    x, y, z = absolute(d.x), absolute(d.y), absolute(d.z)
    one = constant(1.0, x)
    # the fixed axis of the face, the first free axis and the second
    by_x = where(x < y, 0.0 * one, one) * where(x < z, 0.0 * one, one) > 0.5
    by_y = where(by_x, 0.0 * one, where(y < z, 0.0 * one, one)) > 0.5
    sx, sy, sz = where(d.x > 0.0, -one, one), where(d.y > 0.0, -one, one), where(d.z > 0.0, -one, one)
    ax = scale(Vec3(R.xx, R.yx, R.zx), size.x)
    ay = scale(Vec3(R.xy, R.yy, R.zy), size.y)
    az = scale(Vec3(R.xz, R.yz, R.zz), size.z)
    fixed = select(by_x, scale(ax, sx), select(by_y, scale(ay, sy), scale(az, sz)))
    first = select(by_x, ay, ax)
    second = select(by_y, az, select(by_x, az, ay))
    base = add(p, fixed)
    # bits of the corner: 1 for +x, 2 for +y, 4 for +z
    bit = where(
        by_x,
        where(sx > 0.0, one, 0.0 * one),
        where(by_y, where(sy > 0.0, 2.0 * one, 0.0 * one), where(sz > 0.0, 4.0 * one, 0.0 * one)),
    )
    bit_first = where(by_x, 2.0 * one, one)
    bit_second = where(by_y, 4.0 * one, where(by_x, 4.0 * one, 2.0 * one))
    c0 = add(add_scaled(base, first, -1.0), scale(second, -1.0))
    c1 = add(add(base, first), scale(second, -1.0))
    c2 = add(add_scaled(base, first, -1.0), second)
    c3 = add(add(base, first), second)
    f1 = bit + bit_first
    f2 = bit + bit_second
    return (
        (dot(n, c0), c0, bit),
        (dot(n, c1), c1, f1),
        (dot(n, c2), c2, f2),
        (dot(n, c3), c3, f1 + bit_second),
    )


@inline
def plane_rims(n, p, R, radius_low, radius_high, half):
    """Points of a cylinder or a cone: rims of the given radii at z = -half and z = half.

    Down the rim nearer to the plane and a quarter turn to either side, and the lower of two more: across
    that rim, or straight down the other rim.
    """
    axis = Vec3(R.xz, R.yz, R.zz)
    lean = dot(n, axis)
    # the direction down the discs; a disc level to 1e-7 keeps to its own x axis
    down = add_scaled(scale(axis, lean), n, -1.0)
    level = dot(down, down) < 1e-14
    down = select(level, Vec3(R.xx, R.yx, R.zx), unit_or(down, Vec3(R.xx, R.yx, R.zx)))
    aside = unit_or(
        Vec3(
            axis.y * down.z - axis.z * down.y,
            axis.z * down.x - axis.x * down.z,
            axis.x * down.y - axis.y * down.x,
        ),
        across(axis),
    )
    # heights of the lowest points of both rims decide which is nearer
    fall = dot(n, down)
    low_height = -lean * half + fall * radius_low
    high_height = lean * half + fall * radius_high
    flip = high_height < low_height
    near_radius, far_radius = where(flip, radius_high, radius_low), where(flip, radius_low, radius_high)
    near = where(flip, half, -half)
    code = where(flip, 8.0, 0.0)
    near_centre, far_centre = add_scaled(p, axis, near), add_scaled(p, axis, -near)
    c0 = add_scaled(near_centre, down, near_radius)
    c1 = add_scaled(near_centre, aside, near_radius)
    c2 = add_scaled(near_centre, aside, -near_radius)
    opposite = add_scaled(near_centre, down, -near_radius)
    other = add_scaled(far_centre, down, far_radius)
    point = near_radius <= 0.0
    use_other = dot(n, other) < where(point, BOTTOMLESS, dot(n, opposite))
    c3 = select(use_other, other, opposite)
    empty = constant(BOTTOMLESS, lean)
    return (
        (dot(n, c0), c0, code),
        (where(point, empty, dot(n, c1)), c1, code + 1.0),
        (where(point, empty, dot(n, c2)), c2, code + 2.0),
        (dot(n, c3), c3, code + where(use_other, 4.0, 3.0)),
    )


@inline
def plane_ellipsoid(n, p, R, size):
    """The lowest point of an ellipsoid."""
    d = rotate_back(R, n)
    e = Vec3(size.x * size.x * d.x, size.y * size.y * d.y, size.z * size.z * d.z)
    reach = sqrt(dot(d, e))
    low = add(p, rotate(R, scale(e, -1.0 / where(reach > 0.0, reach, 1.0))))
    return dot(n, low), low
