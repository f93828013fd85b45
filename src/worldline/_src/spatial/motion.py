# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Spatial motion and force vectors about one point, world axes, angular part first."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale


class Motion(NamedTuple):
    """A twist or its rate: angular part, then the linear part at the reference point."""

    ang: Vec3
    lin: Vec3


class Force(NamedTuple):
    """A wrench or a momentum: moment about the reference point, then the force."""

    ang: Vec3
    lin: Vec3


@inline
def load_motion(array, i):
    """Row `i` of an (n, 6) array as a motion."""
    return Motion(Vec3(array[i, 0], array[i, 1], array[i, 2]), Vec3(array[i, 3], array[i, 4], array[i, 5]))


@inline
def load_force(array, i):
    """Row `i` of an (n, 6) array as a force."""
    return Force(Vec3(array[i, 0], array[i, 1], array[i, 2]), Vec3(array[i, 3], array[i, 4], array[i, 5]))


@inline
def store_spatial(array, i, a):
    """Write a motion or a force to row `i` of an (n, 6) array."""
    array[i, 0], array[i, 1], array[i, 2] = a.ang.x, a.ang.y, a.ang.z
    array[i, 3], array[i, 4], array[i, 5] = a.lin.x, a.lin.y, a.lin.z


@inline
def add_motion(a, b):
    return Motion(add(a.ang, b.ang), add(a.lin, b.lin))


@inline
def scale_motion(a, s):
    return Motion(scale(a.ang, s), scale(a.lin, s))


@inline
def add_joint_motion(a, S, d, x):
    """a + S_d x: the motion `a` and that of column `d` of the joints."""
    return add_motion(a, scale_motion(load_motion(S, d), x))


@inline
def cross_motion(a, b):
    """The rate of `b` when it is carried along by the motion `a`."""
    return Motion(cross(a.ang, b.ang), add(cross(a.ang, b.lin), cross(a.lin, b.ang)))


@inline
def add_force(a, b):
    return Force(add(a.ang, b.ang), add(a.lin, b.lin))


@inline
def add_to_force(array, i, f):
    """Add a force to row `i` of an (n, 6) array."""
    store_spatial(array, i, add_force(load_force(array, i), f))


@inline
def power(f, v):
    """The power of a force on a motion."""
    return dot(f.ang, v.ang) + dot(f.lin, v.lin)


@inline
def velocity_at(v, point):
    """The linear velocity of the body point that is at `point` from the reference point."""
    return add(v.lin, cross(v.ang, point))
