# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations as matrices, quaternions xyzw, rotation vectors, axis and angle, and Euler angles.

All functions accept any leading dimensions, which broadcast, and return new float64 arrays. Angles are in
radians. Quaternions that stand for rotations are normalized on the way in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.math.arrays import operand, rotation_matrix, together, unit_quaternion, unit_vector
from worldline._src.spatial import poses
from worldline._src.spatial.poses import Array

EULER_ORDERS: tuple[str, ...] = tuple(
    "".join(letters)
    for axes in ("xyz", "XYZ")
    for letters in [(a, b, c) for a in axes for b in axes for c in axes]
    if letters[0] != letters[1] != letters[2]
)
"""The 24 orders of Euler angles: 12 about fixed axes (lower case), 12 about moving axes (upper case)."""

_LOCK = 4.0 * float(np.finfo(np.float64).eps)
"""Sine of the angle to gimbal lock below which the third angle is set to zero."""


# ---- quaternions


def quaternion_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """The product a b of quaternions xyzw, (..., 4): first the rotation b, then a.

    Example:
        >>> from worldline import math as wm
        >>> wm.quaternion_multiply([1, 0, 0, 0], [0, 1, 0, 0]).tolist()
        [0.0, 0.0, 1.0, 0.0]
    """
    p, q = together(operand(a, (4,), "a"), operand(b, (4,), "b"), (1, 1), "quaternion_multiply")
    u, v = p[..., :3], q[..., :3]
    vector = p[..., 3:] * v + q[..., 3:] * u + np.cross(u, v)
    scalar = p[..., 3:] * q[..., 3:] - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def quaternion_conjugate(q: ArrayLike) -> Array:
    """Quaternions with the opposite vector part, (..., 4); of a unit quaternion, the inverse."""
    return operand(q, (4,), "q") * np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_normalize(q: ArrayLike) -> Array:
    """Quaternions of length 1, (..., 4); zero is refused."""
    return unit_quaternion(q, "q")


def quaternion_rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Vectors (..., 3) turned by quaternions xyzw (..., 4).

    Example:
        >>> from worldline import math as wm
        >>> wm.quaternion_rotate([0, 0, 1, 1], [1, 0, 0]).round(12).tolist()
        [0.0, 1.0, 0.0]
    """
    p, w = together(unit_quaternion(q, "q"), operand(v, (3,), "v"), (1, 1), "quaternion_rotate")
    twice = 2.0 * np.cross(p[..., :3], w)
    return w + p[..., 3:] * twice + np.cross(p[..., :3], twice)


def quaternion_to_matrix(q: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions xyzw (..., 4)."""
    p = unit_quaternion(q, "q")
    rows = np.zeros((p.size // 4, 7))
    rows[:, 3:] = p.reshape(-1, 4)
    return poses.rotations(rows).reshape(*p.shape[:-1], 3, 3)


def matrix_to_quaternion(R: ArrayLike) -> Array:
    """Quaternions xyzw (..., 4), w >= 0, of rotation matrices (..., 3, 3)."""
    M = rotation_matrix(R, "R")
    return poses.quaternions(M.reshape(-1, 3, 3)).reshape(*M.shape[:-2], 4)


def quaternion_distance(a: ArrayLike, b: ArrayLike) -> Array:
    """Angle of the rotation between two orientations given as quaternions, 0 to pi, shape (...)."""
    p = unit_quaternion(a, "a")
    turn = quaternion_multiply(quaternion_conjugate(p), unit_quaternion(b, "b"))
    return 2.0 * np.arctan2(np.linalg.norm(turn[..., :3], axis=-1), np.abs(turn[..., 3]))


# ---- rotation vectors, axis and angle


def rotation_vector_to_quaternion(w: ArrayLike) -> Array:
    """Quaternions xyzw (..., 4) of rotation vectors (..., 3): axis times angle.

    The angle may exceed pi; w of the quaternion is then negative.
    """
    vector = operand(w, (3,), "w")
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    # sin(half) / (2 half), which sinc knows at zero
    return np.concatenate([0.5 * np.sinc(half / np.pi) * vector, np.cos(half)], axis=-1)


def quaternion_to_rotation_vector(q: ArrayLike) -> Array:
    """Rotation vectors (..., 3), length 0 to pi, of quaternions xyzw (..., 4); exact near 0 and near pi."""
    p = unit_quaternion(q, "q")
    p = np.where(p[..., 3:] < 0.0, -p, p)
    s, c = np.linalg.norm(p[..., :3], axis=-1, keepdims=True), p[..., 3:]
    small = s < 1e-8
    # angle / sin(angle / 2); the series of 2 atan(s/c) / s where s^2 is below rounding
    factor = np.where(small, 2.0 / np.where(small, c, 1.0), 2.0 * np.arctan2(s, c) / np.where(small, 1.0, s))
    return factor * p[..., :3]


def axis_angle_to_quaternion(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Quaternions xyzw (..., 4) of turns by angles (...) about axes (..., 3) of any length but zero."""
    direction = unit_vector(axis, "axis")
    n, turn = together(direction, operand(angle, (), "angle")[..., None], (1, 1), "axis_angle_to_quaternion")
    return np.concatenate([np.sin(0.5 * turn) * n, np.cos(0.5 * turn)], axis=-1)


def quaternion_to_axis_angle(q: ArrayLike) -> tuple[Array, Array]:
    """Unit axes (..., 3) and angles (...), 0 to pi, of quaternions; the axis of no rotation is x."""
    vector = quaternion_to_rotation_vector(q)
    angle = np.linalg.norm(vector, axis=-1)
    none = angle == 0.0
    axis = np.where(
        none[..., None], np.array([1.0, 0.0, 0.0]), vector / np.where(none, 1.0, angle)[..., None]
    )
    return axis, angle


# ---- Euler angles


def _order(order: str) -> tuple[int, int, int, bool]:
    if not isinstance(order, str) or order not in EULER_ORDERS:
        raise ArgumentError(
            f"order of Euler angles must be three axes of which neighbours differ, in lower case about fixed "
            f"axes ('xyz', 'zxz', ...), in upper case about moving axes ('ZYX', ...), got {order!r}"
        )
    i, j, k = ("xyz".index(letter) for letter in order.lower())
    return i, j, k, order.islower()


def _about(axis: int, angle: Array) -> Array:
    """Quaternions of turns about a coordinate axis."""
    q = np.zeros((*angle.shape, 4))
    q[..., axis], q[..., 3] = np.sin(0.5 * angle), np.cos(0.5 * angle)
    return q


def euler_to_quaternion(angles: ArrayLike, order: str) -> Array:
    """Quaternions xyzw (..., 4) of Euler angles (..., 3) in the order of turning.

    Args:
        angles: the three angles, the first turn first [rad].
        order: axes of the turns: lower case about fixed axes (extrinsic), upper case about the axes that move
            with the body (intrinsic). One of `EULER_ORDERS`.

    Example:
        >>> import numpy as np
        >>> from worldline import math as wm
        >>> roll_pitch_yaw = [0.1, 0.2, 0.3]
        >>> a = wm.euler_to_quaternion(roll_pitch_yaw, "xyz")
        >>> b = wm.euler_to_quaternion(roll_pitch_yaw[::-1], "ZYX")
        >>> bool(np.allclose(a, b, atol=1e-15))
        True
    """
    i, j, k, fixed = _order(order)
    a = operand(angles, (3,), "angles")
    first, second, third = _about(i, a[..., 0]), _about(j, a[..., 1]), _about(k, a[..., 2])
    if fixed:
        first, third = third, first
    return quaternion_multiply(quaternion_multiply(first, second), third)


def euler_to_matrix(angles: ArrayLike, order: str) -> Array:
    """Rotation matrices (..., 3, 3) of Euler angles (..., 3); see `euler_to_quaternion`."""
    return quaternion_to_matrix(euler_to_quaternion(angles, order))


def matrix_to_euler(R: ArrayLike, order: str) -> Array:
    """Euler angles (..., 3) of rotation matrices (..., 3, 3), which they reproduce to rounding.

    The first and the third angle are in [-pi, pi]. The second is in [-pi/2, pi/2] for three different axes,
    in [0, pi] where the first axis returns. In gimbal lock, at the ends of that range, only the sum or the
    difference of the others is known: the third is set to 0.
    """
    i, j, k, fixed = _order(order)
    M = rotation_matrix(R, "R")
    if fixed:
        # turns about fixed axes are turns about moving axes in the opposite order
        i, k = k, i
    proper = i == k
    if proper:
        k = 3 - i - j
    s = 1.0 if (j - i) % 3 == 1 else -1.0
    if proper:
        # R = R_i(a) R_j(b) R_i(c):  R_ii = cos b,  R_ji = sin a sin b,  R_ki = -s cos a sin b
        across = np.hypot(M[..., j, i], M[..., k, i])
        b = np.arctan2(across, M[..., i, i])
        a = np.arctan2(M[..., j, i], -s * M[..., k, i])
    else:
        # R = R_i(a) R_j(b) R_k(c):  R_ik = s sin b,  R_jk = -s sin a cos b,  R_kk = cos a cos b
        across = np.hypot(M[..., i, i], M[..., i, j])
        b = np.arctan2(s * M[..., i, k], across)
        a = np.arctan2(-s * M[..., j, k], M[..., k, k])
    # in lock: the first moving turn takes all, or none where it is the third of the fixed ones
    alone = np.zeros_like(a) if fixed else np.arctan2(s * M[..., k, j], M[..., j, j])
    locked = across < _LOCK
    a = np.where(locked, alone, a)
    # what is left after the first turn, row j of R_i(-a) R, has the third angle however close to lock
    row = np.cos(a)[..., None] * M[..., j, :] + s * np.sin(a)[..., None] * M[..., k, :]
    c = np.arctan2(-s * row[..., k], row[..., j]) if proper else np.arctan2(s * row[..., i], row[..., j])
    angles = [c, b, a] if fixed else [a, b, np.where(locked, 0.0, c)]
    return np.stack(angles, axis=-1)


def quaternion_to_euler(q: ArrayLike, order: str) -> Array:
    """Euler angles (..., 3) of quaternions xyzw (..., 4); see `matrix_to_euler`."""
    return matrix_to_euler(quaternion_to_matrix(q), order)


# ---- interpolation, chance, repair


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Orientations on the shortest turn from a (t = 0) to b (t = 1) at constant rate, xyzw (..., 4).

    Args:
        a: first orientations, (..., 4).
        b: last orientations, (..., 4).
        t: how far, shape (...); values outside of 0 to 1 extrapolate.

    Example:
        >>> from worldline import math as wm
        >>> half = wm.slerp([0, 0, 0, 1], [0, 0, 1, 0], 0.5)
        >>> wm.quaternion_to_rotation_vector(half).round(6).tolist()
        [0.0, 0.0, 1.570796]
    """
    start = unit_quaternion(a, "a")
    turn = quaternion_to_rotation_vector(
        quaternion_multiply(quaternion_conjugate(start), unit_quaternion(b, "b"))
    )
    part = operand(t, (), "t")[..., None]
    turn, part = together(turn, part, (1, 1), "slerp")
    return quaternion_multiply(start, rotation_vector_to_quaternion(part * turn))


def random_quaternion(rng: np.random.Generator, shape: int | tuple[int, ...] = ()) -> Array:
    """Orientations that are uniform over all rotations, quaternions xyzw (..., 4) of a shape."""
    if not isinstance(rng, np.random.Generator):
        raise ArgumentError(f"rng must be a numpy.random.Generator, got {rng!r}")
    lead = shape if isinstance(shape, tuple) else (shape,)
    for size in lead:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 0 <= size < 1 << 31:
            raise ArgumentError(f"shape must be whole numbers that are not negative, got {shape!r}")
    return unit_quaternion(rng.normal(size=(*lead, 4)))


def nearest_rotation(M: ArrayLike) -> Array:
    """The rotation matrices closest to matrices (..., 3, 3) in the Frobenius norm."""
    U, _, V = np.linalg.svd(operand(M, (3, 3), "M"))
    U[..., :, 2] *= np.linalg.det(U @ V)[..., None]
    return U @ V


def wrap_angle(angle: ArrayLike) -> Array:
    """Angles moved by whole turns into [-pi, pi)."""
    return (operand(angle, (), "angle") + np.pi) % (2.0 * np.pi) - np.pi
