# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses and numbers as the writers of URDF and SDF need them.

Compositions with the identity keep their bits, so that a scene that came from such a file goes back into
one as it was. Angles are chosen with the fewest digits that give the same rotation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import dot
from worldline._src.scene.assets.rotations import from_rpy
from worldline._src.scene.formats import markup
from worldline._src.scene.poses import IDENTITY, Pose, normalized
from worldline._src.scene.vectors import Array


def finite(value: float) -> str:
    """A number as text.

    Raises:
        SceneError: It is not finite: something computed from the scene went out of range.
    """
    if not math.isfinite(value):
        raise SceneError(f"the scene cannot be written: a computed number is {value}")
    return markup.number(value)


def finites(values: Iterable[float]) -> str:
    """Numbers with a space between them; see `finite`."""
    return " ".join([finite(value) for value in values])


def is_identity(pose: Pose) -> bool:
    """Whether a pose neither moves nor turns, to the last bit."""
    return not pose.position.any() and pose.rotation.tolist() == [0.0, 0.0, 0.0, 1.0]


def product(a: Pose, b: Pose) -> Pose:
    """a * b, with the bits of the other where one is the identity."""
    if is_identity(a):
        return b
    return a if is_identity(b) else a * b


def shifted(pose: Pose, by: Array) -> Pose:
    """A pose seen from a frame moved by `by`, whose axes are the same; the same bits for no shift."""
    return Pose(pose.position - by, pose.rotation) if by.any() else pose


def unit(position: Array, rotation: Array) -> Pose:
    """A pose of a valid scene, whose quaternion may be of any length; one of unit length keeps its bits."""
    near = abs(dot(rotation, rotation) - 1.0) < 1.0e-14
    return Pose(position, rotation if near else normalized(rotation))


def turn_about(axis: Array, angle: float) -> Pose:
    """A turn about a unit axis through the origin, rad."""
    return Pose(IDENTITY.position, np.append(math.sin(0.5 * angle) * axis, math.cos(0.5 * angle)))


def roll_pitch_yaw(rotation: Array) -> tuple[list[float], bool]:
    """Angles about the fixed axes x, y, z that `from_rpy` takes back to a unit quaternion, rad.

    Half the sum and half the difference of roll and yaw are found each by itself, and each is well defined
    where it matters, so no digits are lost at a pitch of 90 degrees. Of all angles that give the same bits
    those with the fewest digits are taken: the `1.5708` of a file stays what it was.

    Returns:
        Roll, pitch and yaw, and whether they give the same rotation to the last bit.
    """
    x, y, z, w = rotation.tolist()
    difference, total = 2.0 * math.atan2(x - z, w + y), 2.0 * math.atan2(x + z, w - y)
    sine = 2.0 * (w * y - z * x)
    # each is accurate where the other loses digits
    if abs(sine) < 0.7:
        pitch = math.asin(sine)
    else:
        pitch = 2.0 * math.atan2(math.hypot(w + y, x - z), math.hypot(w - y, x + z)) - 0.5 * math.pi
    roll, yaw = _wrapped(0.5 * (total + difference)), _wrapped(0.5 * (total - difference))
    # a whole turn more changes the sign of the quaternion and no rotation; a file may have had it
    around = [(roll, yaw), (_turned(roll), yaw), (roll, _turned(yaw))]
    wanted = rotation.tolist()
    for first, last in around:
        for digits in range(1, 18):
            short = [float(f"{angle:.{digits}g}") for angle in (first, pitch, last)]
            if from_rpy(*short).tolist() == wanted:
                return short, True
    return [roll, pitch, yaw], False


def _turned(angle: float) -> float:
    return angle - math.copysign(2.0 * math.pi, angle)


def _wrapped(angle: float) -> float:
    if angle > math.pi:
        return angle - 2.0 * math.pi
    return angle + 2.0 * math.pi if angle < -math.pi else angle
