# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cutting a link with everything below it out of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError
from worldline._src.scene.bodies import Body, Hierarchy, Link
from worldline._src.scene.cameras import RotationTrack, TrackMode
from worldline._src.scene.closures import DistanceSpring, GroundPoint, LoopClosure, WorldJoint
from worldline._src.scene.constraints import EqualityConnect, EqualityWeld
from worldline._src.scene.hints import hint
from worldline._src.scene.merging import MERGED_LISTS, Entry, entries, look, resolve
from worldline._src.scene.report import Report

if TYPE_CHECKING:
    from worldline._src.scene.world import World

Names = set[tuple[str, str]]
_ASSETS = frozenset(("hfield", "material", "mesh", "texture"))


def find_link(world: World, name: str, argument: str) -> Link:
    """The link of that name; an error that names the argument when there is none."""
    if not isinstance(name, str):
        raise ArgumentError(f"{argument}: given {name!r}; allowed: the name of a link")
    known: list[str] = []
    for link in world.hierarchy.links():
        if link.name == name:
            return link
        if link.name is not None:
            known.append(link.name)
    nearest = hint(name, known)
    raise ArgumentError(f"{argument}: given {name!r}; allowed: a link of that scene{nearest}")


def extract(world: World, link_name: str, report: Report) -> None:
    """Leaves of a scene only one link, all below it, and what refers to nothing else."""
    link = find_link(world, link_name, "other_link_name")
    body = next((b for b in world.hierarchy.bodies if b.link is link), None)
    world.hierarchy = Hierarchy(bodies=[body if body is not None else Body(link=link)])

    names: Names = _defined(link)
    if body is not None and body.free is not None and body.free.name is not None:
        names.add(("joint", body.free.name))
    _cut_views(link, names, report)
    # seen from a link further down, places in the world mean nothing
    candidates = [e for e in entries(world) if body is not None or not _stands_on_world(e.value)]
    kept = _closed_set(candidates, names)

    for path in MERGED_LISTS:
        found = resolve(world, path)
        keep = {entry.index for entry in kept if entry.path == path}
        for index in range(len(found)):
            if index not in keep and path != "sensors.order":
                report.left_out(
                    f"$.{path}[{index}]", f"not attached: it belongs to more than link {link_name!r}"
                )
        found[:] = [value for index, value in enumerate(found) if index in keep]
    _drop_unused_assets(world)


def _defined(link: Link) -> Names:
    probe = look(link)
    return {(space, name) for space, known in probe.names.items() for name in known}


def _cut_views(link: Link, names: Names, report: Report) -> None:
    """Cameras and lights that look at a link left behind look straight ahead instead."""
    for part in link.walk():
        for camera in part.cameras:
            if camera.track_target is not None and ("link", camera.track_target) not in names:
                report.approximated(f"camera {camera.name!r}", f"no longer looks at {camera.track_target!r}")
                camera.track_target = None
                if camera.rotation_track is RotationTrack.LookAtLink:
                    camera.rotation_track = RotationTrack.FixedLocal
        for light in part.lights:
            target = light.mode.value
            if light.mode.variant == "target_body" and ("link", target) not in names:
                report.approximated(f"light {light.name!r}", f"no longer looks at {target!r}")
                light.mode = TrackMode.fixed()


def _closed_set(candidates: list[Entry], names: Names) -> list[Entry]:
    """The entries that refer to the subtree and, through others of them, to nothing else."""
    known = set(names)
    kept: list[Entry] = []
    waiting = candidates
    while True:
        found = [entry for entry in waiting if _belongs(entry, known)]
        if not found:
            return kept
        kept += found
        for entry in found:
            known |= entry.names
        chosen = {id(entry) for entry in found}
        waiting = [entry for entry in waiting if id(entry) not in chosen]


def _stands_on_world(value: Any) -> bool:
    """Whether an entry has an end at a place in the world."""
    if isinstance(value, LoopClosure | DistanceSpring):
        return (None, None) in (value.frame_a.owner, value.frame_b.owner)
    if isinstance(value, GroundPoint):
        return True
    if isinstance(value, WorldJoint):
        return (None, None) in (value.parent.owner, value.child.owner)
    if isinstance(value, EqualityConnect | EqualityWeld):
        held = value.connect_type if isinstance(value, EqualityConnect) else value.weld_type
        return held.variant == "link_anchor" and held.value["link_b"] is None
    return False


def _belongs(entry: Entry, known: Names) -> bool:
    own = False
    for spaces, name in entry.references:
        if any((space, name) in known for space in spaces):
            own = True
        elif not _ASSETS.issuperset(spaces):
            # the world, too, stays behind with all that is fixed to it
            return False
    return own


def _drop_unused_assets(world: World) -> None:
    world.assets.skybox = None
    world.visual.probes.clear()
    world.custom.numeric.clear()
    world.custom.text.clear()
    # a material needs its textures, so look again until nothing more goes
    while True:
        used = {(space, name) for spaces, name, _ in look(world).references for space in spaces}
        gone = 0
        for table, space in (
            (world.assets.hfields, "hfield"),
            (world.assets.materials, "material"),
            (world.assets.meshes, "mesh"),
            (world.assets.textures, "texture"),
        ):
            for name in [name for name in table if (space, name) not in used]:
                del table[name]
                gone += 1
        if not gone:
            return
