# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Three-vectors of any scalar."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple


class Vec3(NamedTuple):
    """Three components of one scalar kind."""

    x: Any
    y: Any
    z: Any


@inline
def add(a, b):
    return Vec3(a.x + b.x, a.y + b.y, a.z + b.z)


@inline
def sub(a, b):
    return Vec3(a.x - b.x, a.y - b.y, a.z - b.z)


@inline
def scale(a, s):
    return Vec3(a.x * s, a.y * s, a.z * s)


@inline
def dot(a, b):
    return a.x * b.x + a.y * b.y + a.z * b.z


@inline
def cross(a, b):
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@inline
def load_vec3(array, i):
    """Row `i` of an (n, 3) array."""
    return Vec3(array[i, 0], array[i, 1], array[i, 2])


@inline
def store_vec3(array, i, a):
    """Write row `i` of an (n, 3) array."""
    array[i, 0], array[i, 1], array[i, 2] = a.x, a.y, a.z


@inline
def load_three(array, start):
    """Three consecutive numbers of a 1-D array."""
    return Vec3(array[start], array[start + 1], array[start + 2])


@inline
def store_three(array, start, a):
    """Write three consecutive numbers of a 1-D array."""
    array[start], array[start + 1], array[start + 2] = a.x, a.y, a.z
