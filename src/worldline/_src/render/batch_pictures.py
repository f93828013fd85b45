# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One picture of many worlds of a batch: a tile each, and a red frame about those that failed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import ArgumentError, require_kind
from worldline._src.facade import values
from worldline._src.facade.batch.selecting import WhichWorlds, indices_of
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.render.renderer import Renderer

if TYPE_CHECKING:
    from worldline._src.drawing.cameras import CameraLike

MOST = 64
"""Worlds of a picture when none are named."""
_FRAME, _RED = 3, (220, 40, 40)


def render_batch(
    batch: WorldBatch,
    worlds: WhichWorlds = None,
    *,
    camera: CameraLike = None,
    width: int = 160,
    height: int = 120,
    columns: int | None = None,
    shadows: bool = False,
) -> NDArray[np.uint8]:
    """A picture of worlds of a batch side by side, in rows from the upper left.

    Worlds that failed have a red frame.

    Args:
        batch: the worlds.
        worlds: indices, or a mask of bools with one entry a world; the first 64 when None.
        camera: as `Renderer.render` takes it, for every world by itself.
        width, height: of the picture of one world [pixels].
        columns: worlds beside each other; about as many as rows when None.
        shadows: whether the sun casts shadows.

    Returns:
        Colours, (rows * height, columns * width, 3) bytes, the upper row first.

    Raises:
        CapabilityError: VTK is not installed.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> world.add_rigid_body("ball").add_collision_shape(sx.CollisionShape.sphere(0.5))
        >>> sx.render_batch(sx.WorldBatch(world, 6)).shape  # doctest: +SKIP
        (240, 480, 3)
    """
    require_kind(batch, WorldBatch, "batch", "render_batch")
    every = np.arange(batch.num_worlds)
    which = every[:MOST] if worlds is None else every[indices_of(worlds, batch.num_worlds, least=1)]
    if not len(which):
        raise ArgumentError("a picture needs at least one world")
    across = math.ceil(math.sqrt(len(which))) if columns is None else values.count(columns, "columns")
    if across < 1:
        raise ArgumentError(f"columns must be at least 1, got {across}")
    across = min(across, len(which))
    failed = {failure.world for failure in batch.failures}
    tiles = _tiles(batch, which, camera, width, height, shadows)
    made: Any = None
    for k, (w, tile) in enumerate(zip(which.tolist(), tiles, strict=True)):
        if made is None:
            rows = -(-len(which) // across)
            made = np.zeros((rows * tile.shape[0], across * tile.shape[1], 3), np.uint8)
        row, column = divmod(k, across)
        if w in failed:
            for edge in (tile[:_FRAME], tile[-_FRAME:], tile[:, :_FRAME], tile[:, -_FRAME:]):
                edge[:] = _RED
        made[
            row * tile.shape[0] : (row + 1) * tile.shape[0],
            column * tile.shape[1] : (column + 1) * tile.shape[1],
        ] = tile
    return made


def _tiles(
    batch: WorldBatch, which: np.ndarray, camera: CameraLike, width: int, height: int, shadows: bool
) -> Any:
    """Pictures of worlds one after the other."""
    size = {"width": width, "height": height, "shadows": shadows}
    if batch._worlds.has_own_parameters or batch._has("mocap_poses"):
        # shapes or the poses of bodies without a joint may differ from world to world
        for w in which.tolist():
            with Renderer(batch.extract(w), **size) as renderer:
                yield renderer.render(camera).rgb
        return
    world = batch.extract(int(which[0]))
    with Renderer(world, **size) as renderer:
        for w in which.tolist():
            world._live().sim.q[:] = batch.joint_positions[w]
            yield renderer.render(camera).rgb
