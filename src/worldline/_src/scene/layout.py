# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinate layout of a scene and its keyframes.

Free bases come first (place, then xyzw), then all joints, both parents first in the order of the
scene. A free base replaces the joints of its link; a ball joint replaces the other rotations of
its link, and a free joint everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import Body, Link
from worldline._src.scene.joints import JOINTS, QUATERNION_JOINTS, FreeJoint, Joint, JointType
from worldline._src.scene.poses import normalized
from worldline._src.scene.vectors import Array

if TYPE_CHECKING:
    from worldline._src.scene.world import World

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_SHIFTED = (JointType.Revolute, JointType.Slide)
_TURNING = {kind for kind, facts in JOINTS.items() if facts.is_turn}
_SPECIAL = {JointType.Fixed, JointType.Free, JointType.Ball}
"""Those that do not move a link, or replace others."""


_UPRIGHT = [0.0, 0.0, 0.0, 1.0]


class JointSpan(NamedTuple):
    """The coordinates of one joint or free base.

    Attributes:
        link: The link that moves.
        joint: What moves it.
        q_start: First of its coordinates.
        q_count: How many coordinates it has.
        v_start: First of its velocities.
        v_count: How many velocities it has.
    """

    link: Link
    joint: Joint | FreeJoint
    q_start: int
    q_count: int
    v_start: int
    v_count: int

    def reference(self) -> Array:
        """The coordinates at the pose in which the scene is drawn."""
        return np.array(self.reference_values())

    def reference_values(self) -> list[float]:
        """The same as plain numbers."""
        if isinstance(self.joint, FreeJoint):
            rotation = self.link.local_rotation.tolist()
            if rotation != _UPRIGHT:
                rotation = normalized(self.link.local_rotation).tolist()
            return self.link.local_translation.tolist() + rotation
        start = [0.0] * self.q_count
        if not start:
            return start
        if self.joint.type_ in QUATERNION_JOINTS:
            start[-1] = 1.0
        elif self.joint.type_ in _SHIFTED:
            start[0] = self.joint.ref_
        return start


def active_joints(link: Link, body: Body) -> list[Joint]:
    """The joints of a link that move it; see above for those that others replace."""
    if body.free is not None and link is body.link:
        return []
    return _active(link.joints)


def _active(joints: list[Joint]) -> list[Joint]:
    if not joints or _SPECIAL.isdisjoint([joint.type_ for joint in joints]):
        return joints.copy()
    joints = [joint for joint in joints if joint.type_ is not JointType.Fixed]
    for joint in joints:
        if joint.type_ is JointType.Free:
            return [joint]
    balls = [joint for joint in joints if joint.type_ is JointType.Ball]
    if balls:
        return [j for j in joints if j is balls[0] or j.type_ not in _TURNING | {JointType.Ball}]
    return joints


def layout(world: World) -> list[JointSpan]:
    """The coordinates of a scene in the order of a keyframe."""
    spans: list[JointSpan] = []
    q = v = 0
    for link, joint, (q_count, v_count) in moving_joints(world):
        spans.append(JointSpan(link, joint, q, q_count, v, v_count))
        q += q_count
        v += v_count
    return spans


def moving_joints(world: World) -> list[tuple[Link, Joint | FreeJoint, tuple[int, int]]]:
    """Links, what moves them, and how many coordinates and velocities it has, in the order of a keyframe."""
    bodies = world.hierarchy.bodies
    found: list[tuple[Link, Joint | FreeJoint, tuple[int, int]]] = [
        (body.link, body.free, (7, 6)) for body in bodies if body.free is not None
    ]
    for body in bodies:
        base = None if body.free is None else body.link
        for link in body.link.walk():
            if link.joints and link is not base:
                found += [(link, joint, joint.sizes) for joint in _active(link.joints)]
    return found


def sizes(world: World) -> tuple[int, int]:
    """How many coordinates and how many velocities a scene has."""
    q = v = 0
    for _, _, (q_count, v_count) in moving_joints(world):
        q += q_count
        v += v_count
    return q, v
