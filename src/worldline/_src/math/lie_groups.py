# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The groups SO(3) and SE(3): exponential, logarithm, Jacobians, adjoints [Barfoot 2017, ch. 7; Sola 2018].

Rotations are 3x3 matrices and rigid transforms 4x4 matrices. Twists are angular first, then linear, as all
spatial vectors of the package are. Coefficients such as (1 - cos x) / x^2 come from series below two radians
and from closed forms above, so nothing loses digits near zero; logarithms go through quaternions and keep
them near pi.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.math.arrays import operand, rotation_matrix, together, transform_matrix
from worldline._src.math.rotations import (
    matrix_to_quaternion,
    quaternion_to_matrix,
    quaternion_to_rotation_vector,
    rotation_vector_to_quaternion,
)
from worldline._src.spatial.poses import Array

_TERMS = 14


def _series(x2: Array, coefficients: list[float]) -> Array:
    """A polynomial of x^2 by Horner's rule."""
    total = np.zeros_like(x2)
    for c in reversed(coefficients):
        total = total * x2 + c
    return total


def _coefficient(x2: Array, n: int) -> Array:
    """sum (-1)^k x^2k / (2k + n)!: n = 1 sin x / x, 2 (1 - cos x) / x^2, 3 (x - sin x) / x^3, and so on."""
    near = x2 < 4.0
    made = _series(np.where(near, x2, 0.0), [(-1) ** k / factorial(2 * k + n) for k in range(_TERMS)])
    far2 = np.where(near, 4.0, x2)
    x = np.sqrt(far2)
    if n == 1:
        far = np.sin(x) / x
    elif n == 2:
        far = 2.0 * np.sin(0.5 * x) ** 2 / far2
    elif n == 3:
        far = (x - np.sin(x)) / (far2 * x)
    elif n == 4:
        far = (np.cos(x) - 1.0 + 0.5 * far2) / far2**2
    else:
        far = (np.sin(x) - x + far2 * x / 6.0) / (far2**2 * x)
    return np.where(near, made, far)


def _square(w: Array) -> Array:
    return np.sum(w * w, axis=-1)[..., None, None]


def skew(w: ArrayLike) -> Array:
    """The matrix (..., 3, 3) whose product with x is the cross product of w (..., 3) and x.

    Example:
        >>> from worldline import math as wm
        >>> (wm.skew([1, 2, 3]) @ [4, 5, 6]).tolist()
        [-3.0, 6.0, -3.0]
    """
    v = operand(w, (3,), "w")
    S = np.zeros((*v.shape, 3))
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    return S - np.swapaxes(S, -1, -2)


def unskew(S: ArrayLike) -> Array:
    """The vector (..., 3) of the antisymmetric part of matrices (..., 3, 3)."""
    M = operand(S, (3, 3), "S")
    return 0.5 * np.stack(
        [M[..., 2, 1] - M[..., 1, 2], M[..., 0, 2] - M[..., 2, 0], M[..., 1, 0] - M[..., 0, 1]], axis=-1
    )


# ---- SO(3)


def so3_exp(w: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) [rad].

    Example:
        >>> import numpy as np
        >>> from worldline import math as wm
        >>> wm.so3_exp([0, 0, np.pi / 2]).round(12).tolist()
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return quaternion_to_matrix(rotation_vector_to_quaternion(w))


def so3_log(R: ArrayLike) -> Array:
    """Rotation vectors (..., 3), length 0 to pi [rad], of rotation matrices (..., 3, 3).

    At exactly pi both directions of the axis are right; one of them is returned.
    """
    return quaternion_to_rotation_vector(matrix_to_quaternion(R))


def so3_left_jacobian(w: ArrayLike) -> Array:
    """J with exp(w + dw) = exp(J dw) exp(w) to first order, (..., 3, 3)."""
    v = operand(w, (3,), "w")
    S, x2 = skew(v), _square(v)
    return np.eye(3) + _coefficient(x2, 2) * S + _coefficient(x2, 3) * (S @ S)


def so3_left_jacobian_inverse(w: ArrayLike) -> Array:
    """The inverse of `so3_left_jacobian`, (..., 3, 3); singular at angles 2 pi, 4 pi and so on."""
    v = operand(w, (3,), "w")
    S, x2 = skew(v), _square(v)
    # (1 - x/2 cot(x/2)) / x^2 = (B - A/2) / (x^2 B) with A = sin x / x, B = (1 - cos x) / x^2
    near = x2 < 4.0
    terms = [(-1) ** k * (0.5 / factorial(2 * k + 3) - 1.0 / factorial(2 * k + 4)) for k in range(_TERMS)]
    B, far2 = _coefficient(x2, 2), np.where(near, 4.0, x2)
    difference = np.where(
        near, _series(np.where(near, x2, 0.0), terms), (B - 0.5 * _coefficient(x2, 1)) / far2
    )
    return np.eye(3) - 0.5 * S + difference / B * (S @ S)


def so3_right_jacobian(w: ArrayLike) -> Array:
    """J with exp(w + dw) = exp(w) exp(J dw) to first order, (..., 3, 3)."""
    return so3_left_jacobian(-operand(w, (3,), "w"))


def so3_right_jacobian_inverse(w: ArrayLike) -> Array:
    """The inverse of `so3_right_jacobian`, (..., 3, 3); singular at angles 2 pi, 4 pi and so on."""
    return so3_left_jacobian_inverse(-operand(w, (3,), "w"))


# ---- SE(3)


def make_transform(R: ArrayLike, p: ArrayLike) -> Array:
    """Transforms (..., 4, 4) of rotation matrices (..., 3, 3) and positions (..., 3) [m]."""
    M, x = together(rotation_matrix(R, "R"), operand(p, (3,), "p"), (2, 1), "make_transform")
    return _joined(M, x)


def _joined(R: Array, p: Array) -> Array:
    T = np.zeros((*R.shape[:-2], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T


def pose_to_transform(pose: ArrayLike) -> Array:
    """Transforms (..., 4, 4) of poses (..., 7): position [m] and quaternion xyzw."""
    x = operand(pose, (7,), "pose")
    return _joined(quaternion_to_matrix(x[..., 3:]), x[..., :3])


def transform_to_pose(T: ArrayLike) -> Array:
    """Poses (..., 7), position and quaternion xyzw with w >= 0, of transforms (..., 4, 4)."""
    M = transform_matrix(T, "T")
    return np.concatenate([M[..., :3, 3], matrix_to_quaternion(M[..., :3, :3])], axis=-1)


def se3_inverse(T: ArrayLike) -> Array:
    """Inverses of transforms (..., 4, 4)."""
    M = transform_matrix(T, "T")
    back = np.swapaxes(M[..., :3, :3], -1, -2)
    return _joined(back, -(back @ M[..., :3, 3:])[..., 0])


def se3_exp(twist: ArrayLike) -> Array:
    """Transforms (..., 4, 4) of twists (..., 6), angular [rad], then linear [m]: the motion of a screw.

    Example:
        >>> import numpy as np
        >>> from worldline import math as wm
        >>> wm.se3_exp([0, 0, np.pi, 0, np.pi, 0]).round(12)[:3, 3].tolist()  # half a circle about (-1, 0, 0)
        [-2.0, 0.0, 0.0]
    """
    x = operand(twist, (6,), "twist")
    return _joined(so3_exp(x[..., :3]), (so3_left_jacobian(x[..., :3]) @ x[..., 3:, None])[..., 0])


def se3_log(T: ArrayLike) -> Array:
    """Twists (..., 6), angular, then linear, of transforms (..., 4, 4); the angle is 0 to pi."""
    M = transform_matrix(T, "T")
    w = so3_log(M[..., :3, :3])
    return np.concatenate([w, (so3_left_jacobian_inverse(w) @ M[..., :3, 3:])[..., 0]], axis=-1)


def _blocks(A: Array, B: Array) -> Array:
    """The 6x6 matrix [[A, 0], [B, A]]."""
    M = np.zeros((*A.shape[:-2], 6, 6))
    M[..., :3, :3], M[..., 3:, 3:], M[..., 3:, :3] = A, A, B
    return M


def se3_adjoint(T: ArrayLike) -> Array:
    """Ad_T (..., 6, 6), which takes twists from the inner frame of T to the outer one.

    T exp(x) T^-1 = exp(Ad_T x). Wrenches, moment first, go the same way by the inverse transpose.
    """
    M = transform_matrix(T, "T")
    R = M[..., :3, :3]
    return _blocks(R, skew(M[..., :3, 3]) @ R)


def se3_bracket(twist: ArrayLike) -> Array:
    """ad_x (..., 6, 6): the rate of Ad at the identity, which takes a twist y to the Lie bracket [x, y]."""
    x = operand(twist, (6,), "twist")
    return _blocks(skew(x[..., :3]), skew(x[..., 3:]))


def se3_left_jacobian(twist: ArrayLike) -> Array:
    """J with exp(x + dx) = exp(J dx) exp(x) to first order, (..., 6, 6) [Barfoot 2017, eq. 7.86]."""
    x = operand(twist, (6,), "twist")
    W, V, x2 = skew(x[..., :3]), skew(x[..., 3:]), _square(x[..., :3])
    c3, c4, c5 = _coefficient(x2, 3), _coefficient(x2, 4), _coefficient(x2, 5)
    WVW = W @ V @ W
    Q = 0.5 * V + c3 * (W @ V + V @ W + WVW)
    Q = Q + c4 * (W @ W @ V + V @ W @ W - 3.0 * WVW)
    Q = Q + 0.5 * (c4 - 3.0 * c5) * (WVW @ W + W @ WVW)
    return _blocks(so3_left_jacobian(x[..., :3]), Q)


def se3_left_jacobian_inverse(twist: ArrayLike) -> Array:
    """The inverse of `se3_left_jacobian`, (..., 6, 6); singular as that of SO(3) is."""
    x = operand(twist, (6,), "twist")
    inverse, Q = so3_left_jacobian_inverse(x[..., :3]), se3_left_jacobian(x)[..., 3:, :3]
    return _blocks(inverse, -inverse @ Q @ inverse)


def se3_right_jacobian(twist: ArrayLike) -> Array:
    """J with exp(x + dx) = exp(x) exp(J dx) to first order, (..., 6, 6)."""
    return se3_left_jacobian(-operand(twist, (6,), "twist"))


def se3_right_jacobian_inverse(twist: ArrayLike) -> Array:
    """The inverse of `se3_right_jacobian`, (..., 6, 6); singular as that of SO(3) is."""
    return se3_left_jacobian_inverse(-operand(twist, (6,), "twist"))


def se3_interpolate(A: ArrayLike, B: ArrayLike, t: ArrayLike) -> Array:
    """Transforms (..., 4, 4) on the screw motion from A (t = 0) to B (t = 1) at constant twist.

    Args:
        A: first transforms, (..., 4, 4).
        B: last transforms, (..., 4, 4).
        t: how far, shape (...); values outside of 0 to 1 extrapolate.

    Example:
        >>> import numpy as np
        >>> from worldline import math as wm
        >>> A, B = np.eye(4), wm.make_transform(wm.so3_exp([0, 0, np.pi / 2]), [1, 1, 0])
        >>> wm.se3_interpolate(A, B, 0.5)[:3, 3].round(6).tolist()  # on the circle, not on the chord
        [0.707107, 0.292893, 0.0]
    """
    first = transform_matrix(A, "A")
    twist = se3_log(se3_inverse(first) @ transform_matrix(B, "B"))
    twist, part = together(twist, operand(t, (), "t")[..., None], (1, 1), "se3_interpolate")
    return first @ se3_exp(part * twist)
