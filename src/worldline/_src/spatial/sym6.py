# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Articulated inertias: symmetric 6x6 matrices as 21 numbers, blocks (J, H; H^T, M).

J maps angular acceleration to moment, M linear acceleration to force, H linear acceleration to moment.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant
from worldline._src.spatial.inertia import Sym3, add_sym3, sym_mul
from worldline._src.spatial.motion import Force
from worldline._src.spatial.rotation import Mat3, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add


class Sym6(NamedTuple):
    """A symmetric 6x6 matrix by blocks."""

    J: Sym3
    H: Mat3
    M: Sym3


@inline
def sym6_of_inertia(I):
    """The 6x6 matrix of a rigid-body inertia."""
    zero = constant(0.0, I.h.x)
    m = I.mass
    H = Mat3(zero, -I.h.z, I.h.y, I.h.z, zero, -I.h.x, -I.h.y, I.h.x, zero)
    return Sym6(I.J, H, Sym3(m, m, m, zero, zero, zero))


@inline
def sym6_mul(A, v):
    """A v."""
    return Force(
        add(sym_mul(A.J, v.ang), rotate(A.H, v.lin)),
        add(rotate_back(A.H, v.ang), sym_mul(A.M, v.lin)),
    )


@inline
def _rank_one_sym(S, a, b):
    return Sym3(
        S.xx - a.x * b.x,
        S.yy - a.y * b.y,
        S.zz - a.z * b.z,
        S.xy - a.x * b.y,
        S.xz - a.x * b.z,
        S.yz - a.y * b.z,
    )


@inline
def sym6_minus_outer(A, U, s):
    """A - s U U^T."""
    a = Vec3(U.ang.x * s, U.ang.y * s, U.ang.z * s)
    b = Vec3(U.lin.x * s, U.lin.y * s, U.lin.z * s)
    H = A.H
    return Sym6(
        _rank_one_sym(A.J, a, U.ang),
        Mat3(
            H.xx - a.x * U.lin.x,
            H.xy - a.x * U.lin.y,
            H.xz - a.x * U.lin.z,
            H.yx - a.y * U.lin.x,
            H.yy - a.y * U.lin.y,
            H.yz - a.y * U.lin.z,
            H.zx - a.z * U.lin.x,
            H.zy - a.z * U.lin.y,
            H.zz - a.z * U.lin.z,
        ),
        _rank_one_sym(A.M, b, U.lin),
    )


@inline
def sym6_add(A, B):
    """A + B."""
    H = A.H
    K = B.H
    return Sym6(
        add_sym3(A.J, B.J),
        Mat3(
            H.xx + K.xx,
            H.xy + K.xy,
            H.xz + K.xz,
            H.yx + K.yx,
            H.yy + K.yy,
            H.yz + K.yz,
            H.zx + K.zx,
            H.zy + K.zy,
            H.zz + K.zz,
        ),
        add_sym3(A.M, B.M),
    )


@inline
def load_sym6(X, i):
    """Row `i` of an (n, 21) array."""
    return Sym6(
        Sym3(X[i, 0], X[i, 1], X[i, 2], X[i, 3], X[i, 4], X[i, 5]),
        Mat3(X[i, 6], X[i, 7], X[i, 8], X[i, 9], X[i, 10], X[i, 11], X[i, 12], X[i, 13], X[i, 14]),
        Sym3(X[i, 15], X[i, 16], X[i, 17], X[i, 18], X[i, 19], X[i, 20]),
    )


@inline
def store_sym6(array, i, A):
    """Write row `i` of an (n, 21) array."""
    array[i, 0], array[i, 1], array[i, 2] = A.J.xx, A.J.yy, A.J.zz
    array[i, 3], array[i, 4], array[i, 5] = A.J.xy, A.J.xz, A.J.yz
    array[i, 6], array[i, 7], array[i, 8] = A.H.xx, A.H.xy, A.H.xz
    array[i, 9], array[i, 10], array[i, 11] = A.H.yx, A.H.yy, A.H.yz
    array[i, 12], array[i, 13], array[i, 14] = A.H.zx, A.H.zy, A.H.zz
    array[i, 15], array[i, 16], array[i, 17] = A.M.xx, A.M.yy, A.M.zz
    array[i, 18], array[i, 19], array[i, 20] = A.M.xy, A.M.xz, A.M.yz
