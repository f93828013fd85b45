# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras: those of the scene, free ones, and one that has everything in view.

A camera looks along -z of its frame with y up. `View` is what a renderer needs: a pose, how wide it looks,
and which distances count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.drawing.items import SHOWN_GROUPS, Items
from worldline._src.errors import ArgumentError, CapabilityError, NotFoundError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.values import VectorLike
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.cameras import Camera, PositionTrack, RotationTrack
from worldline._src.spatial.poses import Array, compose, quaternion, rotation

if TYPE_CHECKING:
    from worldline._src.facade.world import World


@dataclass(frozen=True)
class LookAt:
    """A free camera: where it is and what it looks at.

    Attributes:
        position: world [m].
        target: a point in the middle of the picture, world [m].
        fovy: vertical field of view [degrees].
        up: what is up in the picture, world.
        orthographic: parallel projection; `fovy` is then the height of the view [m].

    Example:
        >>> from worldline import simulation as sx
        >>> sx.LookAt((3, 0, 1), (0, 0, 0.5)).fovy
        45.0
    """

    position: VectorLike
    target: VectorLike = (0.0, 0.0, 0.0)
    fovy: float = 45.0
    up: VectorLike = (0.0, 0.0, 1.0)
    orthographic: bool = False

    def __post_init__(self) -> None:
        # a frozen dataclass: values are checked and copied before anybody can see them
        position = values.vector3(self.position, "position of a LookAt")
        target = values.vector3(self.target, "target of a LookAt")
        if np.array_equal(position, target):
            raise ArgumentError(
                f"a LookAt at {position.tolist()} cannot look at itself; give another position or target"
            )
        orthographic = values.flag(self.orthographic, "orthographic of a LookAt")
        fovy = values.positive(self.fovy, "fovy of a LookAt")
        if not orthographic and fovy >= 180.0:
            raise ArgumentError(f"fovy of a LookAt must be below 180 degrees, got {fovy:g}")
        checked = {
            "position": tuple(position.tolist()),
            "target": tuple(target.tolist()),
            "fovy": fovy,
            "up": tuple(values.direction(self.up, "up of a LookAt").tolist()),
            "orthographic": orthographic,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


CameraLike = str | int | LookAt | None
"""A camera: name or index of one of the scene's, a free one, or None for one that has everything in view."""


class View(NamedTuple):
    """What a camera sees, ready to be drawn."""

    position: Array
    """World [m], (3,)."""
    R_WC: Array
    """Axes of the camera in the world: x right, y up, -z forward, (3, 3)."""
    fovy: float
    """Vertical field of view [degrees]; height of the view [m] when orthographic."""
    orthographic: bool = False
    near: float = 0.0
    """Nearest distance drawn [m]; 0 chooses it."""
    far: float = 0.0
    """Farthest distance drawn [m]; 0 chooses it."""
    stretch: float = 1.0
    """Width of a pixel over its height."""
    shift: tuple[float, float] = (0.0, 0.0)
    """Where the optical axis meets the picture, from its middle, in halves of its size; right and up."""
    resolution: tuple[int, int] | None = None
    """Width and height that the scene requests [pixels]."""

    @property
    def forward(self) -> Array:
        """Where it looks, a unit vector."""
        return -self.R_WC[:, 2]

    @property
    def up(self) -> Array:
        """What is up in the picture, a unit vector."""
        return self.R_WC[:, 1]


def facing(forward: Array, up: Array) -> Array:
    """Axes of a camera that looks along a direction; any side is up when both are parallel."""
    back = -forward / np.linalg.norm(forward)
    right = np.cross(up, back)
    if np.linalg.norm(right) < 1e-9 * max(1.0, float(np.linalg.norm(up))):
        right = np.cross((0.0, 1.0, 0.0) if abs(back[1]) < 0.9 else (1.0, 0.0, 0.0), back)
    right = right / np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back], axis=1)


def camera_names(world: World) -> list[str]:
    """Names of the cameras of the scene, made-up ones for those that have none."""
    table = world._live().model.cameras
    return [] if table is None else list(table.label)


def view_of(
    world: World, camera: CameraLike, items: Items, bodies: Array, groups: Sequence[int] = SHOWN_GROUPS
) -> View:
    """What a camera sees of a World whose bodies are where `bodies` says (the world's pose last)."""
    if camera is None:
        return free_view(world, items, bodies, groups)
    if isinstance(camera, LookAt):
        return _looking(camera)
    known = camera_names(world)
    if isinstance(camera, str):
        if camera not in known:
            hint = nearest_name(camera, known)
            raise NotFoundError(f"no camera '{camera}'{hint}; there are: {', '.join(known) or 'none'}")
        camera = known.index(camera)
    index = values.count(camera, "camera")
    if not 0 <= index < len(known):
        raise ArgumentError(f"there is no camera {index}: the scene has {len(known)}")
    return _of_scene(world, index, bodies)


def _looking(camera: LookAt) -> View:
    position = np.array(camera.position)
    axes = facing(np.array(camera.target) - position, np.array(camera.up))
    return View(position, axes, camera.fovy, camera.orthographic)


def usual_distance(reach: float) -> float:
    """How far away a camera of 45 degrees has a scene of half the diagonal `reach` in view [m]."""
    return 1.1 * reach / float(np.sin(np.radians(22.5)))


def free_view(world: World, items: Items, bodies: Array, groups: Sequence[int] = SHOWN_GROUPS) -> View:
    """A camera at the angles of the scene's free camera, far enough away to have everything in view."""
    scene = world._live().scene
    low, high = items.bounds(bodies, groups)
    centre, reach = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    if scene.statistic.center is not None:
        centre = np.array(scene.statistic.center)
    if scene.statistic.extent is not None:
        reach = max(scene.statistic.extent)
    free = scene.free_camera
    # a scene that says nothing is seen from the front, a little to the side and from above
    is_default = (free.azimuth, free.elevation) == (90.0, -45.0)
    azimuth, elevation = np.radians((128.0, -20.0) if is_default else (free.azimuth, free.elevation))
    forward = np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )
    reach = max(reach, 1e-3)
    fovy = 2.0 * reach if free.orthographic else free.fovy
    away = 2.0 * reach if free.orthographic else 1.1 * reach / np.sin(0.5 * np.radians(free.fovy))
    up = np.array([0.0, 0.0, 1.0])
    return View(centre - away * forward, facing(forward, up), fovy, free.orthographic)


def _scene_camera(world: World, index: int) -> Camera:
    """The description of a camera; the order is that of the model's table."""
    hierarchy = world._live().scene.hierarchy
    cameras = [*hierarchy.cameras, *(camera for link in hierarchy.links() for camera in link.cameras)]
    return cameras[index]


def _of_scene(world: World, index: int, bodies: Array) -> View:
    runtime = world._live()
    model, camera = runtime.model, _scene_camera(world, index)
    for name in ("track_position_speed", "track_rotation_speed"):
        if getattr(camera, name):
            raise CapabilityError(f"camera '{camera.name}': {name} is not available, cameras follow at once")
    table = model.cameras
    assert table is not None
    body, local = int(table.body[index]), table.xform[index]
    pose = compose(bodies[body], local)
    position, R_WC = pose[:3], rotation(pose)
    # what keeps its place or turn in world axes keeps that of the pose in which the scene is drawn
    if body >= 0 and camera.position_track is PositionTrack.FixedWorld:
        drawn = compose(model.body_q[body], local)
        position = bodies[body, :3] + drawn[:3] - model.body_q[body, :3]
    if body >= 0 and camera.rotation_track is RotationTrack.FixedWorld:
        R_WC = rotation(compose(model.body_q[body], local))
    if camera.rotation_track is RotationTrack.LookAtLink and camera.track_target is not None:
        target = bodies[model.body_index(camera.track_target), :3]
        if (target != position).any():
            R_WC = facing(target - position, np.array([0.0, 0.0, 1.0]))
    asked = (camera.resolution_x, camera.resolution_y)
    view = View(
        position,
        R_WC,
        camera.fovy,
        camera.orthographic,
        camera.znear,
        camera.zfar,
        resolution=asked if asked != (1, 1) else None,
    )
    return _with_lens(view, camera)


def _with_lens(view: View, camera: Camera) -> View:
    """Focal lengths and the place of the optical axis, where the camera has them."""
    if camera.sensor_size is None or not all(camera.sensor_size):
        return view
    width, height = camera.sensor_size
    if camera.focal_length is not None and all(camera.focal_length):
        along, upright = camera.focal_length
        pixels = (camera.resolution_y * width) / (camera.resolution_x * height)
        view = view._replace(
            fovy=float(np.degrees(2.0 * np.arctan(0.5 * height / upright))), stretch=upright / along * pixels
        )
    if camera.principal_point is not None:
        x, y = camera.principal_point
        # the sensor's x runs against the picture's, as MJCF means it
        view = view._replace(shift=(-2.0 * x / width, 2.0 * y / height))
    return view


def camera_pose(view: View) -> Array:
    """Position and xyzw of a camera, (7,)."""
    return np.concatenate([view.position, quaternion(view.R_WC)])
