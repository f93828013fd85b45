# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF keeps its values in the text of elements; `nodes.py` reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finites, is_identity, roll_pitch_yaw
from worldline._src.scene.poses import Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement


def put(parent: XmlElement, tag: str, text: str) -> XmlElement:
    """A new last child with a text."""
    made = child(parent, tag)
    made.text = text
    return made


def write_pose(parent: XmlElement, pose: Pose, relative_to: str | None = None) -> None:
    """A <pose>, unless it is the identity in the frame that is meant anyway.

    Angles are used where they give the rotation to the last bit, and a quaternion elsewhere.
    """
    if is_identity(pose) and relative_to is None:
        return
    angles, exact = roll_pitch_yaw(pose.rotation)
    rotation = angles if exact else pose.rotation.tolist()
    made = put(parent, "pose", "" if is_identity(pose) else finites((*pose.position.tolist(), *rotation)))
    if relative_to is not None:
        made.set("relative_to", relative_to)
    if not exact:
        made.set("rotation_format", "quat_xyzw")
