# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Graph rules of articulations."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder


def check_articulation(builder: ModelBuilder, joints: list[int], label: str) -> None:
    """The rules of one articulation; raises for the first that is broken, naming the offender."""
    what = f"articulation '{label}'"
    if not joints:
        raise ArgumentError(f"{what} is empty: it needs at least one joint")
    moved_by: dict[int, int] = {}
    for before, here in itertools.pairwise(joints):
        if here <= before:
            raise ArgumentError(
                f"{what}: joints must ascend, but '{builder.joints[here].label}' ({here}) comes after "
                f"'{builder.joints[before].label}' ({before})"
            )
        if here != before + 1:
            raise ArgumentError(
                f"{what}: joints must be contiguous, but {before} is followed by {here}; "
                f"'{builder.joints[before + 1].label}' is left out"
            )
    for j in joints:
        joint = builder.joints[j]
        if joint.articulation >= 0:
            owner = builder.articulations[joint.articulation][0]
            raise ArgumentError(f"{what}: joint '{joint.label}' already belongs to '{owner}'")
        child = builder.links[joint.child]
        first = max(child.moved_by, moved_by.get(joint.child, -1))
        if first >= 0:
            raise ArgumentError(
                f"{what}: link '{child.label}' has a second parent through joint '{joint.label}'; "
                f"joint '{builder.joints[first].label}' is the first"
            )
        if joint.parent >= 0 and joint.parent not in moved_by:
            parent = builder.links[joint.parent].label
            raise ArgumentError(
                f"{what}: joint '{joint.label}' is out of order: its parent link '{parent}' is not the "
                "child of an earlier joint of this articulation"
            )
        if child.is_kinematic and joint.parent >= 0:
            raise ArgumentError(
                f"{what}: link '{child.label}' is kinematic but not a root; only children of the world "
                "may be kinematic"
            )
        moved_by[joint.child] = j
    if builder.articulations and joints[0] < builder.articulations[-1][1][-1]:
        raise ArgumentError(
            f"{what}: articulations must be added in the order of their joints, but joint "
            f"'{builder.joints[joints[0]].label}' comes before those of '{builder.articulations[-1][0]}'"
        )


def check_complete(builder: ModelBuilder, skip_validation_joints: bool) -> None:
    """Every joint and every link belongs to an articulation, unless that is waived."""
    orphans = [joint.label for joint in builder.joints if joint.articulation < 0]
    if orphans and not skip_validation_joints:
        raise ArgumentError(
            f"joints in no articulation: {', '.join(orphans)}; add them with add_articulation, or pass "
            "skip_validation_joints=True"
        )
    moved = {joint.child for joint in builder.joints}
    loose = [link.label for i, link in enumerate(builder.links) if i not in moved]
    if loose and not skip_validation_joints:
        raise ArgumentError(
            f"links with no joint: {', '.join(loose)}; use add_body for a free body or add a joint"
        )
    for joint in builder.joints:
        if builder.links[joint.child].is_kinematic and joint.parent >= 0:
            raise ArgumentError(
                f"link '{builder.links[joint.child].label}' is kinematic but joint '{joint.label}' "
                "hangs it on another link; only children of the world may be kinematic"
            )


def chain_dofs(model: Any, body: int) -> set[int]:
    """Degrees of freedom of a model between a body and the world."""
    found: set[int] = set()
    above = {int(c): j for j, c in enumerate(model.joint_child)}
    while body >= 0 and body in above:
        j = above[body]
        found |= set(range(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])))
        body = int(model.joint_parent[j])
    return found
