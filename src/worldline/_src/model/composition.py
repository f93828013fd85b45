# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copy one builder into another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.linear_algebra import matmul
from worldline._src.model.checks import initial_values
from worldline._src.model.kinds import JointType
from worldline._src.model.records import JointRecord
from worldline._src.spatial.poses import Array, compose, inverse, rotation

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder


def copy_into(builder: ModelBuilder, other: ModelBuilder, prefix: str, xform: Array) -> None:
    """Append copies of all records of `other`, moved by `xform`; checks before it changes anything."""
    theirs = other._labels
    for what, mine in builder._labels.items():
        twice = sorted(mine & {prefix + label for label in theirs[what]})
        if twice:
            raise ArgumentError(f"a {what} with the label '{twice[0]}' already exists; choose another prefix")
    q, qd, force = initial_values(other)
    for what, mine in builder._labels.items():
        mine |= {prefix + label for label in theirs[what]}

    links, joints, articulations = len(builder.links), len(builder.joints), len(builder.articulations)
    q0, v0 = len(builder.joint_q), len(builder.joint_qd)
    for joint in other.joints:
        if joint.kind == JointType.FREE and joint.parent < 0:
            _move_free(joint, xform, q, qd, force)
    builder.joint_q.extend(q.tolist())
    builder.joint_qd.extend(qd.tolist())
    builder.joint_f.extend(force.tolist())
    for link in other.links:
        pose = compose(xform, link.xform)
        builder.links.append(
            replace(
                link,
                label=prefix + link.label,
                xform=pose,
                com=link.com.copy(),
                inertia=link.inertia.copy(),
                moved_by=_shifted(link.moved_by, joints),
            )
        )
    for joint in other.joints:
        copied = replace(
            joint,
            label=prefix + joint.label,
            parent=_shifted(joint.parent, links),
            child=joint.child + links,
            start=joint.start + q0,
            v_start=joint.v_start + v0,
            articulation=_shifted(joint.articulation, articulations),
        )
        if joint.parent < 0 and joint.kind != JointType.FREE:
            copied.X_p = compose(xform, joint.X_p)
        builder.joints.append(copied)
    _copy_shapes(builder, other, prefix, xform, links)
    for label, owned in other.articulations:
        builder.articulations.append((prefix + label, [j + joints for j in owned]))


def _copy_shapes(builder: ModelBuilder, other: ModelBuilder, prefix: str, xform: Array, links: int) -> None:
    """Shapes of the copies; those of the other world move along. Meshes get names of their own."""
    if not other.shapes:
        return
    from worldline._src.scene.base import clone
    from worldline._src.scene.poses import multiply

    names = {}
    for name, mesh in other.assets.meshes.items():
        names[name] = f"mesh_{len(builder.assets.meshes) + 1:03d}"
        builder.assets.meshes[names[name]] = mesh
    for body, geom in other.shapes:
        copied = clone(geom)
        copied.name = prefix + copied.name
        copied.mesh = None if geom.mesh is None else names[geom.mesh]
        if body < 0:
            copied.position = xform[:3] + matmul(rotation(xform), copied.position)
            copied.orientation = multiply(xform[3:], copied.orientation)
        builder.shapes.append((_shifted(body, links), copied))


def _shifted(index: int, by: int) -> int:
    return index + by if index >= 0 else -1


def _move_free(joint: JointRecord, xform: Array, q: Array, qd: Array, force: Array) -> None:
    """Move a free root by its coordinates: seen from the joint, the motion is X_p^-1 xform X_p."""
    motion = compose(inverse(joint.X_p), compose(xform, joint.X_p))
    at, slides = slice(joint.start, joint.start + 7), slice(joint.v_start, joint.v_start + 3)
    q[at] = compose(motion, q[at])
    qd[slides] = matmul(rotation(motion), qd[slides])
    force[slides] = matmul(rotation(motion), force[slides])
