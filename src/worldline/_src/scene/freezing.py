# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reduced scenes: joints welded at values, and released again.

A frozen joint keeps all it says and has no coordinates. What acts on its coordinate or measures it (an
actuator, a sensor, a tendon, an equality) has nothing left to refer to and is taken out; the caller gets
it back in hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError, listed, nearest_name, require_kind
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.joints import Joint
from worldline._src.scene.keyframe_resize import fitted_keyframes
from worldline._src.scene.merging import MERGED_LISTS, entries, resolve
from worldline._src.scene.pruning import prune

if TYPE_CHECKING:
    from worldline._src.scene.world import World


class TakenOut(NamedTuple):
    """A part of a scene that referred to a frozen joint."""

    path: str
    """The list it was in, such as "sensors.joint"."""
    item: Any


def joints_of(world: World) -> dict[str, Joint]:
    """All joints with a name, those of free bases left out."""
    return {
        joint.name: joint
        for link in world.hierarchy.links()
        for joint in link.joints
        if joint.name is not None
    }


def _known(name: Any, known: dict[str, Joint]) -> Joint:
    joint = known.get(name) if isinstance(name, str) else None
    if joint is None:
        raise ArgumentError(f"no joint '{name}' that could be frozen{nearest_name(str(name), known)}")
    return joint


def freeze(world: World, joints: Mapping[str, Sequence[float]]) -> list[TakenOut]:
    """Weld joints at coordinates, by name; returns what was taken out."""
    known = joints_of(world)
    require_kind(joints, Mapping, "joints", "freeze")
    wanted: dict[str, list[float]] = {}
    for name, given in joints.items():
        joint = _known(name, known)
        coordinates = listed(given, f"coordinates of joint '{name}'")
        if len(coordinates) != joint.full_sizes[0]:
            raise ArgumentError(
                f"joint '{name}' has {joint.full_sizes[0]} coordinates, got {len(coordinates)}"
            )
        wanted[name] = Joint(frozen=coordinates).frozen or []
    before = {path: list(resolve(world, path)) for path in MERGED_LISTS}
    with fitted_keyframes(world):
        for name, coordinates in wanted.items():
            known[name].frozen = coordinates
        for path in prune(world, {("joint", name) for name in wanted}, still_there=True):
            world.report.left_out(path, "its joint is frozen")
    taken: list[TakenOut] = []
    for path, rows in before.items():
        left = {id(row) for row in resolve(world, path)}
        taken += [TakenOut(path, row) for row in rows if id(row) not in left]
    return taken


def unfreeze(world: World, joints: Iterable[str], given_back: Iterable[TakenOut] = ()) -> None:
    """Let joints move again, by name, and put back what was taken out for them."""
    known = joints_of(world)
    chosen = listed(joints, "joints to let go")
    for name in chosen:
        _known(name, known)
    returned = listed(given_back, "what is given back")
    for part in returned:
        require_kind(part, TakenOut, "given_back", "unfreeze")
    with fitted_keyframes(world):
        for name in chosen:
            known[name].frozen = None
        for path, item in returned:
            resolve(world, path).append(item)


def references_to_frozen(world: World) -> list[str]:
    """Paths of what refers to a frozen joint, which a model cannot have."""
    frozen = {("joint", name) for name, joint in joints_of(world).items() if joint.frozen is not None}
    if not frozen:
        return []
    return [
        f"$.{entry.path}[{entry.index}]"
        for entry in entries(world)
        if any(("joint", name) in frozen and "joint" in spaces for spaces, name in entry.references)
    ]
