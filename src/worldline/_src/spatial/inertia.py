# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body inertias as ten numbers: mass, first moment, rotational inertia about a point."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.motion import Force
from worldline._src.spatial.vec3 import Vec3, add, cross, scale, sub


class Sym3(NamedTuple):
    """A symmetric 3x3 matrix."""

    xx: Any
    yy: Any
    zz: Any
    xy: Any
    xz: Any
    yz: Any


class Inertia(NamedTuple):
    """Mass, mass times centre of mass, rotational inertia; all about one point in one set of axes."""

    mass: Any
    h: Vec3
    J: Sym3


@inline
def sym_mul(S, a):
    """S a."""
    return Vec3(
        S.xx * a.x + S.xy * a.y + S.xz * a.z,
        S.xy * a.x + S.yy * a.y + S.yz * a.z,
        S.xz * a.x + S.yz * a.y + S.zz * a.z,
    )


@inline
def load_sym3(array, i):
    """Row `i` of an (n, 6) array."""
    return Sym3(array[i, 0], array[i, 1], array[i, 2], array[i, 3], array[i, 4], array[i, 5])


@inline
def store_sym3(array, i, S):
    """Write row `i` of an (n, 6) array."""
    array[i, 0], array[i, 1], array[i, 2] = S.xx, S.yy, S.zz
    array[i, 3], array[i, 4], array[i, 5] = S.xy, S.xz, S.yz


@inline
def turned(S, R):
    """R S R^T."""
    # rows of R S
    a0 = R.xx * S.xx + R.xy * S.xy + R.xz * S.xz
    a1 = R.xx * S.xy + R.xy * S.yy + R.xz * S.yz
    a2 = R.xx * S.xz + R.xy * S.yz + R.xz * S.zz
    b0 = R.yx * S.xx + R.yy * S.xy + R.yz * S.xz
    b1 = R.yx * S.xy + R.yy * S.yy + R.yz * S.yz
    b2 = R.yx * S.xz + R.yy * S.yz + R.yz * S.zz
    c0 = R.zx * S.xx + R.zy * S.xy + R.zz * S.xz
    c1 = R.zx * S.xy + R.zy * S.yy + R.zz * S.yz
    c2 = R.zx * S.xz + R.zy * S.yz + R.zz * S.zz
    return Sym3(
        a0 * R.xx + a1 * R.xy + a2 * R.xz,
        b0 * R.yx + b1 * R.yy + b2 * R.yz,
        c0 * R.zx + c1 * R.zy + c2 * R.zz,
        a0 * R.yx + a1 * R.yy + a2 * R.yz,
        a0 * R.zx + a1 * R.zy + a2 * R.zz,
        b0 * R.zx + b1 * R.zy + b2 * R.zz,
    )


@inline
def inertia_about(mass, c, J):
    """The inertia about the reference point of a body with its centre of mass at `c`.

    `J` is the rotational inertia about the centre of mass (parallel-axis theorem).
    """
    h = scale(c, mass)
    hx = h.x * c.x
    hy = h.y * c.y
    hz = h.z * c.z
    return Inertia(
        mass,
        h,
        Sym3(
            J.xx + (hy + hz),
            J.yy + (hx + hz),
            J.zz + (hx + hy),
            J.xy - h.x * c.y,
            J.xz - h.x * c.z,
            J.yz - h.y * c.z,
        ),
    )


@inline
def momentum(I, v):
    """The momentum of a body with inertia `I` moving with `v`, about the same point."""
    return Force(
        add(sym_mul(I.J, v.ang), cross(I.h, v.lin)),
        sub(scale(v.lin, I.mass), cross(I.h, v.ang)),
    )


@inline
def load_inertia(array, i):
    """Row `i` of an (n, 10) array."""
    return Inertia(
        array[i, 0],
        Vec3(array[i, 1], array[i, 2], array[i, 3]),
        Sym3(array[i, 4], array[i, 5], array[i, 6], array[i, 7], array[i, 8], array[i, 9]),
    )


@inline
def store_inertia(array, i, I):
    """Write row `i` of an (n, 10) array."""
    array[i, 0] = I.mass
    array[i, 1], array[i, 2], array[i, 3] = I.h.x, I.h.y, I.h.z
    array[i, 4], array[i, 5], array[i, 6] = I.J.xx, I.J.yy, I.J.zz
    array[i, 7], array[i, 8], array[i, 9] = I.J.xy, I.J.xz, I.J.yz


@inline
def add_sym3(a, b):
    return Sym3(a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz)


@inline
def add_inertia(a, b):
    return Inertia(a.mass + b.mass, add(a.h, b.h), add_sym3(a.J, b.J))
