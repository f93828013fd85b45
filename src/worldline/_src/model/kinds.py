# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of joints, bodies and drives, and how many numbers each joint takes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, IntFlag
from itertools import chain

import numpy as np


class JointType(IntEnum):
    """What a joint lets its child do relative to its parent."""

    PRISMATIC = 0
    REVOLUTE = 1
    BALL = 2
    FIXED = 3
    FREE = 4
    DISTANCE = 5
    D6 = 6
    CABLE = 7
    SCREW = 8
    UNIVERSAL = 9
    PLANAR = 10
    EULER = 11
    TRANSLATIONAL = 12
    CUSTOM = 13


class BodyFlags(IntFlag):
    """How a body moves; filters of `eval_fk` and `eval_ik` combine them."""

    DYNAMIC = 1
    KINEMATIC = 2
    ALL = 3


class ShapeKind(IntEnum):
    """Shapes; sizes are half sizes, long shapes lie along their z axis.

    PLANE: half x, half y, both 0 for an infinite one, normal z; SPHERE: radius; CAPSULE, CYLINDER, CONE:
    radius, half length; BOX: half x, y, z; ELLIPSOID: semi-axes; HFIELD: half x, half y.
    Meshes have none.
    """

    PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, HULL, MESH, HFIELD = range(10)


class ShapeFlags(IntFlag):
    """What a shape takes part in."""

    NONE = 0
    COLLIDES = 1
    """It can touch something: its collision group or its mask is not empty."""
    DECOMPOSED = 2
    """Its mesh is to be cut into convex parts."""
    SURFACE = 4
    """Its mesh touches by its triangles."""


class Axis(IntEnum):
    """A coordinate axis, wherever a unit vector is accepted."""

    X, Y, Z = range(3)


class ActuatorMode(IntEnum):
    """How the targets of a degree of freedom drive it.

    NONE: not at all. POSITION: ke (target_pos - q) - kd v. VELOCITY: kd (target_vel - v). POSITION_VELOCITY:
    ke (target_pos - q) + kd (target_vel - v). EFFORT: by commanded forces alone.
    """

    NONE, POSITION, VELOCITY, POSITION_VELOCITY, EFFORT = range(5)


class JointDrive(IntEnum):
    """What a degree of freedom makes of its command; the first five are those of `kernels/drives.py`."""

    FORCE, PASSIVE, VELOCITY, ACCELERATION, LOCKED, SERVO, MIMIC = range(7)


def codes(members: Iterable[int]) -> np.ndarray:
    """Numbers of members of enumerations; NumPy alone takes long to see that these are whole numbers."""
    return np.array(list(map(int, members)), np.int64)


def rows_of_numbers(rows: Iterable[Iterable[float]], columns: int) -> np.ndarray:
    """Rows of as many floats each, (n, columns); NumPy alone takes half as long again for lists in a list."""
    return np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, columns)


QUATERNION_JOINTS = frozenset({JointType.BALL, JointType.FREE, JointType.DISTANCE})
"""Joints whose coordinates end in a quaternion; their coordinates do not line up with velocities."""


def coordinate_count(kind: JointType, linear: int, angular: int) -> int:
    """How many coordinates a joint has, given its linear and angular velocities."""
    return linear + angular + (1 if kind in QUATERNION_JOINTS else 0)
