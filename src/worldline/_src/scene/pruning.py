# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pruning: removes references to removed parts of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.scene.cameras import Camera, Light, RotationTrack, TrackMode
from worldline._src.scene.merging import MERGED_LISTS, Entry, entries, look, resolve

if TYPE_CHECKING:
    from worldline._src.scene.bodies import Body, Link
    from worldline._src.scene.world import World

Names = set[tuple[str, str]]


def names_of(link: Link, body: Body | None = None) -> Names:
    """Everything that a link and all below it define, as (namespace, name)."""
    found = {(space, name) for space, known in look(link).names.items() for name in known}
    if body is not None and body.free is not None and body.free.name is not None:
        found.add(("joint", body.free.name))
    return found


def prune(world: World, gone: Names, *, still_there: bool = False) -> list[str]:
    """Takes out actuators, sensors, constraints and the like that refer to what is gone.

    Cameras and lights that looked at it look straight ahead. Returns the paths of what was taken out. What is
    gone may also be there still, and only be of no use any more: then say so.
    """
    if not gone:
        return []
    gone = set(gone)
    taken: list[str] = []
    while True:
        left = {(space, name) for space, known in look(world).names.items() for name in known}
        if still_there:
            left -= gone
        lost = [entry for entry in entries(world) if _refers(entry, gone, left)]
        if not lost:
            break
        for entry in lost:
            gone |= entry.names
            taken.append(f"$.{entry.path}[{entry.index}]")
        for path in MERGED_LISTS:
            drop = {entry.index for entry in lost if entry.path == path}
            if drop:
                rows = resolve(world, path)
                rows[:] = [row for index, row in enumerate(rows) if index not in drop]
    _look_ahead(world, gone)
    return taken


def _refers(entry: Entry, gone: Names, left: Names) -> bool:
    """Whether an entry names something that is gone; a name of several kinds means the kind that has it."""
    for spaces, name in entry.references:
        candidates = {(space, name) for space in spaces}
        if candidates & gone and not candidates & left:
            return True
    return False


def _look_ahead(world: World, gone: Names) -> None:
    cameras: list[Camera] = list(world.hierarchy.cameras)
    lights: list[Light] = list(world.hierarchy.lights)
    for link in world.hierarchy.links():
        cameras += link.cameras
        lights += link.lights
    for camera in cameras:
        if ("link", camera.track_target) in gone:
            camera.track_target = None
            if camera.rotation_track is RotationTrack.LookAtLink:
                camera.rotation_track = RotationTrack.FixedLocal
    for light in lights:
        if light.mode.variant == "target_body" and ("link", light.mode.value) in gone:
            light.mode = TrackMode.fixed()
