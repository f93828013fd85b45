# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors as columns: measured quantity, object, reference frame, and position in the reading."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

from worldline._src.model.tables import Table
from worldline._src.spatial.poses import Array

THE_WORLD = -2
"""The world as a body that a contact sensor looks for."""


class SensorKind(IntEnum):
    """Families of sensors; `Sensors.quantity` counts within a family, in the order of the scene's enum."""

    CONTACT = 0
    FRAME = 1
    JOINT = 2
    SUBTREE = 3
    TOUCH = 4
    ACTUATOR = 5
    TENDON = 6
    SITE = 7
    DISTANCE = 8
    INSIDE = 9
    PROJECTION = 10
    WORLD = 11
    IMU = 12


class ObjectKind(IntEnum):
    """What an index of a sensor counts."""

    NONE = 0
    BODY = 1
    INERTIA = 2
    """The principal frame of a body at its centre of mass."""
    SHAPE = 3
    SITE = 4
    CAMERA = 5
    FRAME = 6
    JOINT = 7
    ACTUATOR = 8
    TENDON = 9
    LOCAL = 10
    """As a reference: the frame of the object itself; a world frame is NONE."""


class ContactReport(IntFlag):
    """What a contact sensor reports of every contact, in this order."""

    FOUND = 1
    FORCE = 2
    TORQUE = 4
    DISTANCE = 8
    POSITION = 16
    NORMAL = 32
    TANGENT = 64


@dataclass(eq=False)
class Sensors(Table):
    """Sensors in the order of the reading."""

    label: list[str]
    word: list[str]
    """What is measured, such as "joint_position" or "gyro"."""
    problem: list[str]
    """Why the description of a sensor gives no reading; empty where it does."""
    kind: np.ndarray
    """`SensorKind`."""
    quantity: np.ndarray
    """What is measured: the place of the word in the scene's enum of that family, 0 where there is none."""
    start: np.ndarray
    """First number of every sensor in the reading, then the length of the reading."""
    object_kind: np.ndarray
    """`ObjectKind` of what is measured."""
    object: np.ndarray
    """Its index, -1 for none."""
    reference_kind: np.ndarray
    """`ObjectKind` of the reference frame, of the other object, or of the camera."""
    reference: np.ndarray
    xform: Array
    """Pose of an inertial unit in its body, else the identity, shape (n, 7)."""
    inertial: Array
    """Rotations of the inertial frames of object and reference in their bodies, xyzw, shape (n, 2, 4); the
    identity where they are not requested."""
    lens: Array
    """Of a camera: focal lengths and centre of the image [pixels], shape (n, 4)."""
    ray_start: np.ndarray
    """First ray of every sensor in `ray`, then how many there are."""
    ray: Array
    """Unit vectors of rays in the frame of the object, shape (rays, 3)."""
    seen: np.ndarray
    """Shapes that rays can see."""
    noise: Array
    """Standard deviation, in the unit of the reading."""
    gyro_noise: Array
    """Standard deviation of the rate of an inertial unit [rad/s]."""
    cutoff: Array
    """Readings are clipped to this size; 0 is none."""
    period: Array
    """Time between readings [s]; 0 is every step."""
    delay: Array
    """Age of a reading [s]."""
    contact_match: np.ndarray
    """Of a contact sensor: shape a, body a, subtree a, shape b, body b, subtree b, site that encloses it;
    -1 where anything will do, `THE_WORLD` for the world, shape (n, 7)."""
    contact_most: np.ndarray
    """Contacts reported at most."""
    contact_reduce: np.ndarray
    """Which are kept when there are more: largest force 0, least distance 1, net force 2, any 3."""
    contact_report: np.ndarray
    """`ContactReport`."""

    @property
    def size(self) -> int:
        """Length of the reading of one world."""
        return int(self.start[-1])
