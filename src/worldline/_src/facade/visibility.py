# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which bodies a camera sees: rays through a grid of pixels, to the first collision shape each meets.

No picture is drawn and nothing is solved; a query sees every write at once, as all reads do. Shapes that are
only drawn and touch nothing are in no one's way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, nearest_name
from worldline._src.facade import queries, values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame import Frame
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.scene_frames import camera_of, camera_pose
from worldline._src.facade.values import TransformLike
from worldline._src.spatial.poses import Array, rotation

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

_FAR = 1e3
"""How far is looked when nothing is said [m]."""
_MOST_RAYS = 1 << 24
"""Most rays of a picture."""


@dataclass(frozen=True, eq=False)
class VisibleBody:
    """A body in view.

    Attributes:
        body: rigid body or link; None for shapes of the world itself.
        share: of the picture that it fills, 0 to 1.
        distance: from the camera to the nearest point of it that is seen [m].
        point: that point, world [m], (3,).
    """

    body: RigidBody | Link | None
    share: float
    distance: float
    point: Array


class VisibilityQueries(KnownNames):
    """What cameras of a World see; `World.visibility`.

    Example:
        >>> from worldline import collision, simulation as sx
        >>> world = sx.World()
        >>> for name, height in (("near", 2.0), ("hidden", 0.0)):
        ...     ball = world.add_rigid_body(name, position=(0, 0, height))
        ...     ball.add_collision_shape(collision.CollisionShape.sphere(0.5))
        >>> camera = world.add_free_frame("camera")  # looks along -z
        >>> camera.transform = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 6], [0, 0, 0, 1]]
        >>> [(seen.body.name, round(seen.distance, 2)) for seen in world.visibility.query(camera)]
        [('near', 3.5)]
    """

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world

    @exclusive
    def query(
        self,
        camera: Frame | str | TransformLike,
        *,
        fovy: float | None = None,
        width: int = 64,
        height: int = 48,
        far: float = _FAR,
    ) -> list[VisibleBody]:
        """Bodies in view, the one that fills most of the picture first.

        Args:
            camera: a frame, the name of a camera of the scene, or a pose, 4x4. Cameras look along -z of
                their frame with y up.
            fovy: vertical field of view [degrees]; that of the camera of the scene, or 45, when None.
            width, height: rays along each side of the picture; what is smaller than a pixel may be missed.
            far: how far is looked [m].
        """
        world = self._world
        p, R, lens = self._pose(camera)
        opening = values.positive(lens if fovy is None else fovy, "fovy")
        if opening >= 180.0:
            raise ArgumentError(f"fovy must be below 180 degrees, got {opening:g}")
        columns, rows = values.count(width, "width"), values.count(height, "height")
        if columns < 1 or rows < 1:
            raise ArgumentError(f"width and height must be at least 1, got {columns} and {rows}")
        if columns * rows > _MOST_RAYS:
            raise ArgumentError(f"width times height must be at most {_MOST_RAYS}, got {columns} and {rows}")
        reach = values.positive(far, "far")
        tall = np.tan(0.5 * np.radians(opening))
        x: Array = (2.0 * (np.arange(columns) + 0.5) / columns - 1.0) * tall * columns / rows
        y: Array = (1.0 - 2.0 * (np.arange(rows) + 0.5) / rows) * tall
        across: tuple[Array, ...] = np.meshgrid(x, y)
        ahead = np.stack([*across, np.full((rows, columns), -1.0)], axis=-1).reshape(-1, 3)
        ways = ahead / np.linalg.norm(ahead, axis=1, keepdims=True) @ R.T
        found = queries.raycast(world, np.broadcast_to(p, ways.shape), p + reach * ways)
        hit = np.isfinite(found.fractions)
        seen: dict[RigidBody | Link | None, list[int]] = {}
        for k in np.flatnonzero(hit).tolist():
            seen.setdefault(found.bodies[k], []).append(k)
        made: list[VisibleBody] = []
        for body, pixels in seen.items():
            nearest = pixels[int(np.argmin(found.fractions[pixels]))]
            made.append(
                VisibleBody(
                    body,
                    len(pixels) / len(ways),
                    float(reach * found.fractions[nearest]),
                    found.points[nearest].copy(),
                )
            )
        return sorted(made, key=lambda item: -item.share)

    def _pose(self, camera: Frame | str | TransformLike) -> tuple[Array, Array, float]:
        """Position, axes and field of view [degrees]."""
        world = self._world
        if isinstance(camera, Frame):
            world._own_frame(camera, "camera")
            return camera.translation, camera.rotation, 45.0
        if isinstance(camera, str):
            runtime = world._live()
            table = runtime.model.cameras
            names = [] if table is None else list(table.label)
            if camera not in names:
                raise NotFoundError(f"no camera '{camera}'{nearest_name(camera, names)}")
            index = names.index(camera)
            return *camera_pose(runtime, index), float(camera_of(runtime, index).fovy)
        pose = values.pose_of(camera, "camera")
        return pose[:3], rotation(pose), 45.0

    def __repr__(self) -> str:
        return f"VisibilityQueries({self._world!r})"
