# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Links and joints of a checked scene, added to a builder without looking at them again.

The methods of `ModelBuilder` take any keyword in any form, so they check and convert each one. What comes
from a checked scene has the right form already, and for links and for joints with one axis, which are nearly
all, the checks take longer than all the rest. What is not plainly sound here goes to the builder's methods,
which find the words for what is wrong with it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from worldline._src.model.builder import ModelBuilder
from worldline._src.model.checks import check_body
from worldline._src.model.kinds import Axis, JointType
from worldline._src.model.records import JointDofConfig, JointRecord, LinkRecord, configuration, target_within
from worldline._src.spatial.poses import IDENTITY, Array

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_REVOLUTE = JointType.REVOLUTE
_UNLIMITED = {"effort_limit": math.inf, "velocity_limit": math.inf}
_POINT, _NO_INERTIA = np.zeros(3), np.zeros((3, 3))


def add_massless_link(builder: ModelBuilder, xform: Array, label: str) -> int:
    """A body between two joints of a link."""
    label = builder._label(label, "link")
    builder._labels["link"].add(label)
    builder.links.append(LinkRecord(label, xform, 0.0, _POINT, _NO_INERTIA, False))
    return len(builder.links) - 1


def add_checked_link(
    builder: ModelBuilder,
    xform: Array,
    mass: float,
    com: Array,
    inertia: Array,
    *,
    is_kinematic: bool,
    label: str | None,
    check_inertia: bool,
    gravcomp: float,
) -> int:
    """A link whose pose has a unit quaternion; see `ModelBuilder.add_link`."""
    if not (type(mass) is float and math.isfinite(mass + sum(com.tolist()) + gravcomp)):
        return builder.add_link(
            xform,
            mass=mass,
            com=com,
            inertia=inertia,
            is_kinematic=is_kinematic,
            label=label,
            check_inertia=check_inertia,
            gravcomp=gravcomp,
        )
    label = builder._label(label, "link")
    if check_inertia:
        check_body(mass, inertia, f"link '{label}'")
    (_, a, b), (d, _, c), (e, f, _) = inertia.tolist()
    moments = inertia if a == d and b == e and c == f else 0.5 * (inertia + inertia.T)
    builder._labels["link"].add(label)
    builder.links.append(LinkRecord(label, xform, mass, com, moments, is_kinematic, gravcomp=gravcomp))
    return len(builder.links) - 1


def add_weld(builder: ModelBuilder, parent: int, child: int, X_p: Array) -> int:
    """A fixed joint without a name; see `ModelBuilder.add_joint_fixed`."""
    label = builder._label(None, "joint")
    start, v_start = len(builder.joint_q), len(builder.joint_qd)
    joint = JointRecord(
        label, JointType.FIXED, parent, child, X_p, IDENTITY.copy(), [], [], [], start, v_start
    )
    builder._labels["joint"].add(label)
    builder.joints.append(joint)
    return len(builder.joints) - 1


def add_free_base(
    builder: ModelBuilder, child: int, settings: dict[str, float], label: str | None
) -> int | None:
    """A free joint to the world, at the pose of its link; see `ModelBuilder.add_joint_free`.

    None when the builder has to have a closer look at its settings.
    """
    dofs = [configuration(axis, {**_UNLIMITED, **settings}) for axis in (*Axis, *Axis)]
    if not _is_plain(dofs[0]):
        return None
    label = builder._label(label, "joint")
    start, v_start = len(builder.joint_q), len(builder.joint_qd)
    X_p, X_c, axes = IDENTITY.copy(), IDENTITY.copy(), [*np.eye(3), *np.eye(3)]
    joint = JointRecord(label, JointType.FREE, -1, child, X_p, X_c, dofs[:3], dofs[3:], axes, start, v_start)
    builder._labels["joint"].add(label)
    builder.joints.append(joint)
    builder.joint_q += builder.links[child].xform.tolist()
    builder.joint_qd += [0.0] * 6
    builder.joint_f += [0.0] * 6
    return len(builder.joints) - 1


def _is_plain(dof: JointDofConfig) -> bool:
    """`JointDofConfig.is_plain` for the settings that a scene has; all others are at their defaults."""
    sizes = dof.armature, dof.friction, dof.stiffness, dof.damping
    return (
        min(sizes) >= 0.0
        and math.isfinite(sum(sizes) + dof.spring_ref + dof.target_pos)
        and dof.limit_lower <= dof.target_pos <= dof.limit_upper
        and dof.effort_limit >= 0.0
        and dof.velocity_limit >= 0.0
    )


def add_axis_joint(
    builder: ModelBuilder,
    kind: JointType,
    parent: int,
    child: int,
    axis: Array,
    settings: dict[str, Any],
    *,
    X_p: Array,
    X_c: Array,
    label: str | None,
) -> int:
    """A hinge or a slider; see `ModelBuilder.add_joint_revolute` and `add_joint_prismatic`."""
    lower, upper = settings["limit_lower"], settings["limit_upper"]
    if lower <= upper and not lower <= 0.0 <= upper:
        settings = {**settings, "target_pos": target_within(lower, upper)}
    dof = configuration(axis, settings)
    x, y, z = axis.tolist()
    length = math.hypot(x, y, z)
    if not (_is_plain(dof) and 1e-12 <= length < math.inf):
        add = builder.add_joint_revolute if kind is _REVOLUTE else builder.add_joint_prismatic
        return add(parent, child, axis, parent_xform=X_p, child_xform=X_c, label=label, **settings)
    # coordinate axes stay exact
    unit = axis if length == 1.0 else axis / length
    label = builder._label(label, "joint")
    slides, turns = ([], [dof]) if kind is _REVOLUTE else ([dof], [])
    start, v_start = len(builder.joint_q), len(builder.joint_qd)
    joint = JointRecord(label, kind, parent, child, X_p, X_c, slides, turns, [unit], start, v_start)
    builder._labels["joint"].add(label)
    builder.joints.append(joint)
    builder.joint_q.append(0.0)
    builder.joint_qd.append(0.0)
    builder.joint_f.append(0.0)
    return len(builder.joints) - 1
