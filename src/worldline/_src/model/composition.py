# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copy one builder into another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.kinds import JointType
from worldline._src.spatial.poses import Array, compose, inverse, rotation

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder


def copy_into(builder: ModelBuilder, other: ModelBuilder, prefix: str, xform: Array) -> None:
    """Append copies of all records of `other`, moved by `xform`; checks before it changes anything."""
    for what, mine, theirs in (
        ("link", [x.label for x in builder.links], [x.label for x in other.links]),
        ("joint", [x.label for x in builder.joints], [x.label for x in other.joints]),
        (
            "articulation",
            [label for label, _ in builder.articulations],
            [label for label, _ in other.articulations],
        ),
    ):
        twice = sorted(set(mine) & {prefix + label for label in theirs})
        if twice:
            raise ArgumentError(f"a {what} with the label '{twice[0]}' already exists; choose another prefix")

    links, joints = len(builder.links), len(builder.joints)
    q0, v0 = len(builder.joint_q), len(builder.joint_qd)
    builder.joint_q.extend(other.joint_q)
    builder.joint_qd.extend(other.joint_qd)
    builder.joint_f.extend(other.joint_f)
    for link in other.links:
        pose = compose(xform, link.xform)
        builder.links.append(
            replace(
                link,
                label=prefix + link.label,
                xform=pose,
                com=link.com.copy(),
                inertia=link.inertia.copy(),
            )
        )
    for joint in other.joints:
        copied = replace(
            joint,
            label=prefix + joint.label,
            parent=joint.parent + links if joint.parent >= 0 else -1,
            child=joint.child + links,
            start=joint.start + q0,
            v_start=joint.v_start + v0,
        )
        if joint.parent < 0:
            if joint.kind in (JointType.FREE, JointType.DISTANCE):
                _move_free(builder, copied.start, copied.v_start, joint.X_p, xform)
            else:
                copied.X_p = compose(xform, joint.X_p)
        builder.joints.append(copied)
    for label, owned in other.articulations:
        builder.articulations.append((prefix + label, [j + joints for j in owned]))


def _move_free(builder: ModelBuilder, start: int, v_start: int, X_p: Array, xform: Array) -> None:
    """Move a free root by its coordinates: seen from the joint, the motion is X_p^-1 xform X_p."""
    motion = compose(inverse(X_p), compose(xform, X_p))
    pose = compose(motion, np.array(builder.joint_q[start : start + 7]))
    builder.joint_q[start : start + 7] = pose.tolist()
    velocity = rotation(motion) @ np.array(builder.joint_qd[v_start : v_start + 3])
    builder.joint_qd[v_start : v_start + 3] = velocity.tolist()
