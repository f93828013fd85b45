# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Named frames and cameras of a compiled world, at their present poses in the description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.errors import CapabilityError
from worldline._src.model.scene_index import pose
from worldline._src.scene.cameras import Camera, PositionTrack, RotationTrack
from worldline._src.scene.kinds import WORLD
from worldline._src.spatial.poses import Array, compose, rotation

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime


def named_frame(runtime: Runtime, index: int) -> tuple[int, Array]:
    """Body and pose of a named frame as its description has it now: free frames may be moved any time."""
    scene, table = runtime.scene, runtime.model.frames
    assert table is not None
    frames = {frame.name: frame for frame in scene.frames}
    here = frames[table.label[index]]
    local = pose(here.position, here.orientation)
    while here.parent_frame is not None:
        here = frames[here.parent_frame]
        local = compose(pose(here.position, here.orientation), local)
    if here.parent_link in (None, WORLD):
        return -1, local
    link = next(link for link in scene.hierarchy.links() if link.name == here.parent_link)
    return runtime.link_body[id(link)], local


def camera_of(runtime: Runtime, index: int) -> Camera:
    """The description of a camera of the model."""
    table, hierarchy = runtime.model.cameras, runtime.scene.hierarchy
    assert table is not None
    every = [*hierarchy.cameras, *(camera for link in hierarchy.links() for camera in link.cameras)]
    return next(camera for camera in every if camera.name == table.label[index])


def camera_pose(runtime: Runtime, index: int) -> tuple[Array, Array]:
    """Position and axes of a camera now, (3,) and (3, 3); refuses those that follow something."""
    camera, table = camera_of(runtime, index), runtime.model.cameras
    turning = camera.rotation_track in (RotationTrack.FixedWorld, RotationTrack.LookAtLink)
    if turning or camera.position_track is PositionTrack.FixedWorld:
        raise CapabilityError(f"camera '{camera.name}' follows something; sensors support fixed cameras only")
    assert table is not None
    body, X = int(table.body[index]), table.xform[index]
    X_W = X if body < 0 else compose(runtime.sim.fresh_poses().reshape(-1, 7)[body], X)
    return X_W[:3], rotation(X_W)
