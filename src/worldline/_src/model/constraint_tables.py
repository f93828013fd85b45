# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint tables of a Model: equalities, closures, couplers, springs.

An end of a constraint is a body (-1 for the world) and a pose in it. Whatever a scene leaves to its start,
such as the relative pose of a weld, is filled in from the pose in which the scene is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from worldline._src.model.force_tables import ForceModels, FrictionModels
from worldline._src.model.tables import Table
from worldline._src.spatial.poses import Array


@dataclass(eq=False)
class Equalities(Table):
    """Equality constraints: points, then welds, then joints, then tendons."""

    label: list[str]
    kind: np.ndarray
    """`EqualityKind`."""
    active: np.ndarray
    body_a: np.ndarray
    """First body of CONNECT and WELD, -1 for the world; also -1 where there is none."""
    X_a: Array
    """Frame of the first body, position [m] and xyzw, shape (n, 7)."""
    body_b: np.ndarray
    X_b: Array
    """Frame of the second body, shape (n, 7)."""
    torque_scale: Array
    """Weight of the rotation of WELD against its translation [m]."""
    first: np.ndarray
    """Joint or tendon that follows, -1 for CONNECT and WELD."""
    second: np.ndarray
    """Joint or tendon that leads, -1 for none: the first does not move."""
    polynomial: Array
    """First as a polynomial of second, both from the start, constant first, shape (n, 5)."""
    data: list[tuple[float, ...]]
    """Numbers of kinds that have many."""
    force: ForceModels
    break_force: Array
    """[N, or N m of a joint that turns]; 0 never breaks."""
    break_torque: Array
    """[N m]; 0 never breaks."""


class ClosureFamily(IntEnum):
    """What the ends of a closure share: pose, point, distance of points, point and direction of z; the rest
    are joints that are cut, about, along or across z."""

    RIGID, POINT, DISTANCE, AXIS, REVOLUTE, UNIVERSAL, PRISMATIC, PLANAR = range(8)


@dataclass(eq=False)
class Closures(Table):
    """Closures of loops."""

    label: list[str]
    family: np.ndarray
    """`ClosureFamily`."""
    body_a: np.ndarray
    X_a: Array
    """First end in its body, position [m] and xyzw, shape (n, 7)."""
    body_b: np.ndarray
    X_b: Array
    distance: Array
    """[m], of DISTANCE."""
    enabled: np.ndarray
    projected: np.ndarray
    """True when a kinematics update closes it."""
    solved: np.ndarray
    """True when a step keeps it closed."""
    collides: np.ndarray
    """True when the two bodies may touch."""
    force: ForceModels


@dataclass(eq=False)
class Couplers(Table):
    """Gears: coordinate = multiplier * reference + offset."""

    label: list[str]
    dof: np.ndarray
    """Degree of freedom that follows, in the layout of joint_qd."""
    reference: np.ndarray
    """Degree of freedom that leads."""
    coordinate: np.ndarray
    """Coordinate that follows, in the layout of joint_q."""
    reference_coordinate: np.ndarray
    multiplier: Array
    offset: Array
    """[m, rad]."""
    one_way: np.ndarray
    """True when the leading joint feels nothing of it."""
    active: np.ndarray
    force: ForceModels


@dataclass(eq=False)
class DistanceSprings(Table):
    """Springs along the line between two points."""

    label: list[str]
    body_a: np.ndarray
    X_a: Array
    body_b: np.ndarray
    X_b: Array
    rest: Array
    """Length at rest [m]."""
    stiffness: Array
    """[N/m]."""
    damping: Array
    """[N s/m]."""
    active: np.ndarray


@dataclass(eq=False)
class LoopJoints(Table):
    """Joints between bodies that trees move already."""

    label: list[str]
    kind: np.ndarray
    """`JointType`."""
    body_a: np.ndarray
    """Parent, -1 for the world."""
    X_a: Array
    """Joint frame in the parent, shape (n, 7)."""
    body_b: np.ndarray
    """Child."""
    X_b: Array
    axis: Array
    """In the joint frame, shape (n, 3)."""
    axis2: Array
    pitch: Array
    """[m/rad]."""
    limit: Array
    """Bounds of the coordinate [m, rad], shape (n, 2)."""
    drive: np.ndarray
    """`JointDrive`, PASSIVE where there is no single coordinate."""
    effort: Array
    """Bounds of the effort of its motor [N, N m], shape (n, 2)."""
    speed: Array
    """Bounds of the rate of the coordinate [m/s, rad/s], shape (n, 2)."""
    spring: Array
    """Stiffness [N/m, N m/rad], coordinate at rest [m, rad] and damping [N s/m, N m s/rad], shape (n, 3)."""
    friction: Array
    """Dry friction [N, N m]."""
    friction_force: FrictionModels
    armature: Array
    """Inertia of the coordinate [kg, kg m^2]."""
    command: Array
    """Effort, velocity and acceleration that its motor starts with, shape (n, 3)."""
    break_force: Array
    """[N]; 0 never breaks."""
    break_torque: Array
    """[N m]; 0 never breaks."""
    stiffness: Array
    """At first, of translation [N/m], of rotation [N m/rad], shape (n, 3); infinite is hard."""


@dataclass(eq=False)
class GroundPoints(Table):
    """Points of links on a ground plane; kernels/ground_contact.py has the force law."""

    label: list[str]
    body: np.ndarray
    position: Array
    """In the body frame [m], shape (n, 3)."""
    normal: Array
    """Unit normal of the plane, world axes, shape (n, 3)."""
    plane_point: Array
    """A point of the plane, world frame [m], shape (n, 3)."""
    stiffness: Array
    """[N/m]."""
    friction: Array
    """Coefficient of friction."""
    regularization: Array
    """Speed below which friction is viscous [m/s]."""
    damping: Array
    """[N s/m]."""
    cadence: np.ndarray
    """Steps from one update of the dual force to the next; 0 for none."""
