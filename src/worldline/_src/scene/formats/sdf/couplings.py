# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF joints whose coordinates are tied: mimic axes and gearboxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.linear_algebra import dot
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.closures import CouplerMode, JointCoupler
from worldline._src.scene.formats.sdf.frames import SEPARATOR, Scope
from worldline._src.scene.formats.sdf.joints import LinkKey, SdfJoint
from worldline._src.scene.formats.sdf.trees import Placed
from worldline._src.scene.formats.xml import Log
from worldline._src.scene.kinds import hint
from worldline._src.scene.vectors import Array
from worldline._src.scene.world import World

Joints = Sequence[tuple[SdfJoint, str]]
_HINGES = ("revolute", "continuous")


class Hinge(NamedTuple):
    """A hinge between two given links: its name, and +1 or -1 for the direction its coordinate counts in."""

    name: str
    sign: float


def add_couplers(world: World, joints: Joints, placed: dict[int, Placed], log: Log) -> None:
    """Adds a coupler for every mimic axis and every gearbox."""
    known = {(joint.scope, joint.name): joint for joint, _ in joints}
    for joint, name in joints:
        if joint.kind == "gearbox":
            _gearbox(world, joint, name, joints, placed, log)
            continue
        for index, axis in enumerate(joint.axes):
            mimic = axis.mimic
            if mimic is None:
                continue
            leader = _find(joint.scope, mimic.joint, known)
            here = placed.get(id(joint))
            there = None if leader is None else placed.get(id(leader))
            if here is None or there is None or leader is joint:
                near = hint(mimic.joint, joint.scope.frames)
                log.left_out(mimic.element, f"no joint {mimic.joint!r} to follow{near}")
                continue
            world.couplers.append(
                JointCoupler(
                    name=f"{here.name}_mimic" if index == 0 else f"{here.name}_mimic_{index + 1}",
                    joint=here.name,
                    reference=there.name,
                    joint_dof=_position(joint, index, here),
                    reference_dof=_position(leader, 0, there) if leader is not None else 0,
                    multiplier=mimic.multiplier,
                    offset=mimic.offset,
                    mode=CouplerMode.Mimic,
                )
            )


def _position(joint: SdfJoint, index: int, place: Placed) -> int:
    """Which freedom an axis is; those of a joint taken the other way round come in reverse."""
    return len(joint.axes) - 1 - index if place.turned_around else index


def _find(scope: Scope, name: str, known: dict[tuple[Scope, str], SdfJoint]) -> SdfJoint | None:
    *models, last = name.split(SEPARATOR)
    for model in models:
        scope = _home(scope, model)
        if model not in scope.models:
            return None
        scope = scope.models[model]
    return known.get((_home(scope, last), last))


def _home(scope: Scope, name: str) -> Scope:
    """The scope that a name stands in: a merged model, or else the scope itself."""
    while name in scope.merged:
        scope = scope.merged[name]
    return scope


def _gearbox(
    world: World, joint: SdfJoint, name: str, joints: Joints, placed: dict[int, Placed], log: Log
) -> None:
    """The angle of the child against the reference link is -ratio times that of the parent."""
    gearbox = joint.gearbox
    first = second = None
    if gearbox is not None and joint.parent is not None:
        first = _hinge(gearbox.reference, joint.parent, joint.axes[0].direction, joints, placed)
        second = _hinge(gearbox.reference, joint.child, joint.axes[1].direction, joints, placed)
    if gearbox is None or first is None or second is None:
        log.left_out(
            joint.element, "a gearbox needs a hinge from its reference body to its parent and to its child"
        )
        return
    world.couplers.append(
        JointCoupler(
            name=name,
            joint=second.name,
            reference=first.name,
            multiplier=-gearbox.ratio * first.sign * second.sign,
        )
    )


def _hinge(
    reference: LinkKey, link: LinkKey, direction: Array, joints: Joints, placed: dict[int, Placed]
) -> Hinge | None:
    """The hinge of the tree by which a link turns against the reference about a direction."""
    for joint, _ in joints:
        place = placed.get(id(joint))
        if place is None or joint.kind not in _HINGES:
            continue
        cosine = dot(joint.axes[0].direction, direction)
        if abs(cosine) < 1.0 - 1.0e-6:
            continue
        if (joint.parent, joint.child) == (reference, link):
            return Hinge(place.name, float(np.sign(cosine)))
        if (joint.parent, joint.child) == (link, reference):
            return Hinge(place.name, -float(np.sign(cosine)))
    return None
