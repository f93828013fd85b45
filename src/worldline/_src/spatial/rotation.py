# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations: matrices inside the kernels, xyzw quaternions at the edges."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant, maximum, sqrt, where
from worldline._src.scalar.trigonometry import atan2, sincos
from worldline._src.spatial.vec3 import Vec3


class Mat3(NamedTuple):
    """A 3x3 matrix, row by row; for rotations the columns are the axes of the turned frame."""

    xx: Any
    xy: Any
    xz: Any
    yx: Any
    yy: Any
    yz: Any
    zx: Any
    zy: Any
    zz: Any


class Quat(NamedTuple):
    """A unit quaternion, vector part first."""

    x: Any
    y: Any
    z: Any
    w: Any


@inline
def rotate(R, a):
    """R a."""
    return Vec3(
        R.xx * a.x + R.xy * a.y + R.xz * a.z,
        R.yx * a.x + R.yy * a.y + R.yz * a.z,
        R.zx * a.x + R.zy * a.y + R.zz * a.z,
    )


@inline
def rotate_back(R, a):
    """R^T a."""
    return Vec3(
        R.xx * a.x + R.yx * a.y + R.zx * a.z,
        R.xy * a.x + R.yy * a.y + R.zy * a.z,
        R.xz * a.x + R.yz * a.y + R.zz * a.z,
    )


@inline
def mat_mul(A, B):
    """A B."""
    return Mat3(
        A.xx * B.xx + A.xy * B.yx + A.xz * B.zx,
        A.xx * B.xy + A.xy * B.yy + A.xz * B.zy,
        A.xx * B.xz + A.xy * B.yz + A.xz * B.zz,
        A.yx * B.xx + A.yy * B.yx + A.yz * B.zx,
        A.yx * B.xy + A.yy * B.yy + A.yz * B.zy,
        A.yx * B.xz + A.yy * B.yz + A.yz * B.zz,
        A.zx * B.xx + A.zy * B.yx + A.zz * B.zx,
        A.zx * B.xy + A.zy * B.yy + A.zz * B.zy,
        A.zx * B.xz + A.zy * B.yz + A.zz * B.zz,
    )


@inline
def transpose(A):
    """A^T."""
    return Mat3(A.xx, A.yx, A.zx, A.xy, A.yy, A.zy, A.xz, A.yz, A.zz)


@inline
def relative_rotation(A, B):
    """A^T B: the rotation B in the axes of A."""
    return mat_mul(transpose(A), B)


@inline
def turn_about_z(R, s, c):
    """R Rz(angle), given the sine and cosine of the angle: only the first two columns change."""
    return Mat3(
        R.xx * c + R.xy * s,
        R.xy * c - R.xx * s,
        R.xz,
        R.yx * c + R.yy * s,
        R.yy * c - R.yx * s,
        R.yz,
        R.zx * c + R.zy * s,
        R.zy * c - R.zx * s,
        R.zz,
    )


@inline
def load_mat3(X, i):
    """Row `i` of an (n, 9) array."""
    return Mat3(X[i, 0], X[i, 1], X[i, 2], X[i, 3], X[i, 4], X[i, 5], X[i, 6], X[i, 7], X[i, 8])


@inline
def store_mat3(array, i, A):
    """Write row `i` of an (n, 9) array."""
    array[i, 0], array[i, 1], array[i, 2] = A.xx, A.xy, A.xz
    array[i, 3], array[i, 4], array[i, 5] = A.yx, A.yy, A.yz
    array[i, 6], array[i, 7], array[i, 8] = A.zx, A.zy, A.zz


@inline
def load_position(X, i):
    """The position in row `i` of an (n, 12) array of poses."""
    return Vec3(X[i, 0], X[i, 1], X[i, 2])


@inline
def load_rotation(X, i):
    """The rotation matrix in row `i` of an (n, 12) array of poses."""
    return Mat3(X[i, 3], X[i, 4], X[i, 5], X[i, 6], X[i, 7], X[i, 8], X[i, 9], X[i, 10], X[i, 11])


@inline
def load_axis(X, i):
    """The local z axis of row `i` of an (n, 12) array of poses."""
    return Vec3(X[i, 5], X[i, 8], X[i, 11])


@inline
def store_pose(X, i, p, R):
    """Write row `i` of an (n, 12) array of poses."""
    X[i, 0], X[i, 1], X[i, 2] = p.x, p.y, p.z
    X[i, 3], X[i, 4], X[i, 5] = R.xx, R.xy, R.xz
    X[i, 6], X[i, 7], X[i, 8] = R.yx, R.yy, R.yz
    X[i, 9], X[i, 10], X[i, 11] = R.zx, R.zy, R.zz


@inline
def relative_pose(X, a, b):
    """Position and rotation of pose `a`, and rotation and position of pose `b` in it."""
    # R = R_a^T R_b,  p = R_a^T (p_b - p_a)
    p_a, R_a, p_b = load_position(X, a), load_rotation(X, a), load_position(X, b)
    p = rotate_back(R_a, Vec3(p_b.x - p_a.x, p_b.y - p_a.y, p_b.z - p_a.z))
    return p_a, R_a, relative_rotation(R_a, load_rotation(X, b)), p


@inline
def load_quat(array, start):
    """Four consecutive numbers of a 1-D array."""
    return Quat(array[start], array[start + 1], array[start + 2], array[start + 3])


@inline
def store_quat(array, start, q):
    """Write four consecutive numbers of a 1-D array."""
    array[start], array[start + 1], array[start + 2], array[start + 3] = q.x, q.y, q.z, q.w


@inline
def normalized(q):
    """q / |q|; the identity when q is zero."""
    n2 = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w
    zero = n2 == 0.0
    inverse = 1.0 / sqrt(where(zero, constant(1.0, n2), n2))
    return Quat(q.x * inverse, q.y * inverse, q.z * inverse, where(zero, constant(1.0, n2), q.w * inverse))


@inline
def quat_mul(a, b):
    """The rotation b followed by a."""
    return Quat(
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )


@inline
def conjugate(q):
    """The inverse rotation of a unit quaternion."""
    return Quat(-q.x, -q.y, -q.z, q.w)


@inline
def quat_to_matrix(q):
    """The rotation matrix of a unit quaternion."""
    x2 = q.x + q.x
    y2 = q.y + q.y
    z2 = q.z + q.z
    xx = q.x * x2
    yy = q.y * y2
    zz = q.z * z2
    xy = q.x * y2
    xz = q.x * z2
    yz = q.y * z2
    wx = q.w * x2
    wy = q.w * y2
    wz = q.w * z2
    return Mat3(
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )


@inline
def matrix_to_quat(R):
    """The unit quaternion of a rotation matrix, w >= 0.

    Shepperd's method: 4 q_k^2 is known for all four components; the largest is the safe divisor.
    """
    tw = 1.0 + R.xx + R.yy + R.zz
    tx = 1.0 + R.xx - R.yy - R.zz
    ty = 1.0 - R.xx + R.yy - R.zz
    tz = 1.0 - R.xx - R.yy + R.zz
    a = R.zy - R.yz
    b = R.xz - R.zx
    c = R.yx - R.xy
    d = R.xy + R.yx
    e = R.xz + R.zx
    f = R.yz + R.zy

    # pick the row of the outer product 4 q q^T that belongs to the largest component
    best = maximum(maximum(tw, tx), maximum(ty, tz))
    use_x = tx == best
    use_y = ty == best
    use_z = tz == best
    x = where(use_x, tx, where(use_y, d, where(use_z, e, a)))
    y = where(use_x, d, where(use_y, ty, where(use_z, f, b)))
    z = where(use_x, e, where(use_y, f, where(use_z, tz, c)))
    w = where(use_x, a, where(use_y, b, where(use_z, c, tw)))
    q = normalized(Quat(x, y, z, w))
    flip = q.w < 0.0
    return Quat(
        where(flip, -q.x, q.x),
        where(flip, -q.y, q.y),
        where(flip, -q.z, q.z),
        where(flip, -q.w, q.w),
    )


@inline
def rotation_vector_to_quat(r):
    """The exponential map: a turn by |r| about r."""
    n2 = r.x * r.x + r.y * r.y + r.z * r.z
    small = n2 < 1e-8
    angle = sqrt(where(small, constant(1.0, n2), n2))
    s, c = sincos(0.5 * angle)
    # series of sin(a/2)/a and cos(a/2) below 1e-4 rad, exact to the last digit there
    k = where(small, 0.5 - n2 * (1.0 / 48.0 - n2 * (1.0 / 3840.0)), s / angle)
    w = where(small, 1.0 - n2 * (0.125 - n2 * (1.0 / 384.0)), c)
    return Quat(r.x * k, r.y * k, r.z * k, w)


@inline
def quat_to_rotation_vector(q):
    """The logarithm: the rotation vector of length at most pi of a unit quaternion."""
    sign = where(q.w < 0.0, constant(-1.0, q.w), constant(1.0, q.w))
    s2 = q.x * q.x + q.y * q.y + q.z * q.z
    small = s2 < 1e-16
    s = sqrt(where(small, constant(1.0, s2), s2))
    w = q.w * sign
    # angle / sin(angle/2) tends to 2 (1 + s^2/6) / 1 where the vector part vanishes
    k = where(small, 2.0 + s2 * (1.0 / 3.0), 2.0 * atan2(s, w) / s) * sign
    return Vec3(q.x * k, q.y * k, q.z * k)


@inline
def matrix_to_rotation_vector(R):
    """The logarithm of a rotation matrix."""
    return quat_to_rotation_vector(matrix_to_quat(R))
