# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reduced models: the same links with some joints welded where they are.

A joint at given coordinates is a pose between its two frames. That pose goes into the frame on the parent,
the joint becomes a weld, and its coordinates, drive and passive forces are gone. Links, shapes, labels and
the order of everything stay, so what refers to links goes on doing so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.checks import initial_values
from worldline._src.model.composition import copy_into
from worldline._src.model.kinds import JointType
from worldline._src.model.records import JointRecord
from worldline._src.spatial.poses import Array, compose, inverse

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def frozen(builder: ModelBuilder, joints: Iterable[int], made: ModelBuilder, poses: Array) -> None:
    """Fill an empty builder with a copy of another whose `joints` are welded.

    Args:
        builder: what is copied.
        joints: checked indices.
        made: an empty builder with the same gravity.
        poses: of all links in the configuration the joints are frozen in, position and xyzw, (links, 7).
    """
    chosen = set(joints)
    copy_into(made, builder, "", _IDENTITY)
    made.world_count = builder.world_count
    q, qd, force = initial_values(builder)
    kept_q: list[float] = []
    kept_v: list[tuple[float, float]] = []
    for j, joint in enumerate(made.joints):
        if j in chosen:
            made.joints[j] = joint = _welded(joint, poses)
        n, m = joint.coordinates, joint.velocities
        old = builder.joints[j]
        made.joints[j] = replace(joint, start=len(kept_q), v_start=len(kept_v))
        if j not in chosen:
            kept_q += q[old.start : old.start + n].tolist()
            rows = slice(old.v_start, old.v_start + m)
            kept_v += list(zip(qd[rows].tolist(), force[rows].tolist(), strict=True))
    made.joint_q[:] = kept_q
    made.joint_qd[:] = [speed for speed, _ in kept_v]
    made.joint_f[:] = [push for _, push in kept_v]


def _welded(joint: JointRecord, poses: Array) -> JointRecord:
    """The joint as a weld, whose frame on the parent is X_PJ X_J = X_WP^-1 X_WL X_LJ."""
    X_WP = _IDENTITY if joint.parent < 0 else poses[joint.parent]
    X_PJ = compose(inverse(X_WP), compose(poses[joint.child], joint.X_c))
    welded = replace(joint, kind=JointType.FIXED, X_p=X_PJ, linear=[], angular=[], axes=[])
    welded.pitch, welded.distance, welded.data = 0.0, (-1.0, -1.0), None
    return welded


def chosen_joints(builder: ModelBuilder, joints: Iterable[int | str]) -> list[int]:
    """Indices of joints given by index or label, each once."""
    labels = {joint.label: j for j, joint in enumerate(builder.joints)}
    found: list[int] = []
    for joint in joints:
        if isinstance(joint, str):
            if joint not in labels:
                raise ArgumentError(f"there is no joint '{joint}'; there are {', '.join(labels) or 'none'}")
            found.append(labels[joint])
        else:
            found.append(builder._joint(joint, "freeze"))
    if len(set(found)) < len(found):
        raise ArgumentError(f"freeze takes every joint once, got {list(joints)!r}")
    loose = [builder.joints[j].label for j in found if builder.joints[j].articulation < 0]
    if loose:
        raise ArgumentError(f"only joints of an articulation can be frozen, not {', '.join(loose)}")
    return found
