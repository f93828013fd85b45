# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a World: colours, depth and segmentation from cameras of the scene or free ones.

A renderer builds its actors once and only moves them afterwards. It reads coordinates of the World and
changes nothing in it. Colours are drawn at twice the size and averaged; depth and segmentation are drawn
once, at the requested size, so that no pixel mixes two shapes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.drawing import cameras
from worldline._src.drawing.cameras import CameraLike, View
from worldline._src.drawing.items import SHOWN_GROUPS, Items, items_of
from worldline._src.drawing.marks import TendonLines, tendons_of
from worldline._src.drawing.placement import body_poses, coordinates
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.closing import Closing
from worldline._src.facade.copying import NotCopied
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.world_kind import require_world
from worldline._src.facade.world_state import WorldState
from worldline._src.named_tuple import NamedTuple
from worldline._src.render import light
from worldline._src.render.pictures import Picture, buffer
from worldline._src.render.render_scene import Kind, RenderScene
from worldline._src.render.window import off_screen_window, require_vtk
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_MOST = 8192
"""Pixels along a side."""
_SMOOTH = 2
"""Colours are drawn this many times larger."""


class _Scene(NamedTuple):
    """What is drawn in one picture."""

    view: View
    near: float
    far: float
    poses: Array
    bounds: tuple[Array, Array]
    tendons: Sequence[TendonLines] = ()


class Renderer(NotCopied, KnownNames, Closing):
    """Makes pictures of one World of one size; for many pictures, and to say when memory is given back.

    Use it from the thread that made it. What is added to the World later is seen in the next picture.

    Args:
        world: what to draw.
        width, height: of the pictures [pixels]; those a camera requests, or 640 x 480, when None.
        groups: visibility groups that are shown.
        shadows: whether the sun casts shadows.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> world.add_rigid_body("ball").add_collision_shape(sx.CollisionShape.sphere(0.5))
        >>> with sx.Renderer(world, 64, 48) as renderer:  # doctest: +SKIP
        ...     picture = renderer.render(sx.LookAt((3, 0, 0)), depth=True)
        ...     round(float(picture.depth[24, 32]), 1)
        2.5
    """

    _instead = "it has buffers of its own; make another Renderer"

    def __init__(
        self,
        world: World,
        width: int | None = None,
        height: int | None = None,
        *,
        groups: Sequence[int] = SHOWN_GROUPS,
        shadows: bool = True,
    ) -> None:
        require_world(world, "Renderer")
        require_vtk()
        self._world = weakref.ref(world)
        self._asked = tuple(None if n is None else _pixels(n) for n in (width, height))
        self._groups = _groups(groups)
        self._shadows = values.flag(shadows, "shadows")
        self._thread = threading.get_ident()
        self._runtime: Any = None
        self._items = Items([])
        self._stages: dict[tuple[Kind, int, int], RenderScene] = {}

    def __repr__(self) -> str:
        return f"Renderer({self._world()!r}, {self._asked[0]}, {self._asked[1]})"

    def render(
        self,
        camera: CameraLike = None,
        *,
        rgb: bool = True,
        depth: bool = False,
        segmentation: bool = False,
        state: WorldState | None = None,
        out: Picture | None = None,
    ) -> Picture:
        """A picture of the World as it is now.

        Args:
            camera: name or index of a camera of the scene, a `LookAt`, or None for one that has all in view.
            rgb, depth, segmentation: what the picture holds.
            state: draw this state instead of the present one; the World stays as it is.
            out: arrays to write into, with the shapes and types of `Picture`.
        """
        if self._thread != threading.get_ident():
            raise OperationError("a Renderer can only be used from the thread that made it")
        for name, wanted in (("rgb", rgb), ("depth", depth), ("segmentation", segmentation)):
            values.flag(wanted, name)
        world = self._alive()
        self._refresh(world)
        model = world._live().model
        q = coordinates(world, state)
        bodies = body_poses(model, q)
        view = cameras.view_of(world, camera, self._items, bodies, self._groups)
        width, height = self._size(view)
        poses = self._items.poses(bodies)
        bounds = self._items.bounds(bodies, self._groups)
        near, far = self._range(view, poses)
        names = tuple(item.label for item in self._items.rows)
        owners = tuple("world" if item.body < 0 else model.body_label[item.body] for item in self._items.rows)
        made: dict[str, Any] = {
            name: buffer(out, name, (height, width, 3) if name == "rgb" else (height, width))
            for name, wanted in (("rgb", rgb), ("depth", depth), ("segmentation", segmentation))
            if wanted
        }
        scene = _Scene(view, near, far, poses, bounds, tendons_of(world, bodies) if rgb else ())
        if rgb:
            made["rgb"][:] = self._colours(scene, width, height)
        if depth or segmentation:
            seen, away = self._numbers(scene, width, height)
            if segmentation:
                made["segmentation"][:] = seen
            if depth:
                made["depth"][:] = np.where(seen >= 0, away, np.inf)
        return Picture(made.get("rgb"), made.get("depth"), made.get("segmentation"), names, owners)

    def close(self) -> None:
        """Give the memory of the graphics back; the renderer may be used again afterwards."""
        for stage in self._stages.values():
            stage.close()
        self._stages.clear()

    # ---- inside

    def _alive(self) -> World:
        world = self._world()
        if world is None:
            raise OperationError("the World of this Renderer is gone")
        return world

    def _refresh(self, world: World) -> None:
        """Make everything again when the World was changed."""
        runtime = world._live()
        if runtime is not self._runtime:
            self.close()
            self._items, self._runtime = items_of(world), runtime

    def _size(self, view: View) -> tuple[int, int]:
        width, height = self._asked
        wanted = view.resolution or (640, 480)
        if width is None and height is None:
            return min(wanted[0], _MOST), min(wanted[1], _MOST)
        if width is None or height is None:
            aspect = wanted[0] / wanted[1]
            given = width or height or 1
            return (
                (given, max(1, round(given / aspect)))
                if height is None
                else (max(1, round(given * aspect)), given)
            )
        return width, height

    def _stage(self, kind: Kind, width: int, height: int) -> RenderScene:
        key = (kind, width, height)
        if key not in self._stages:
            window = off_screen_window(width, height)
            window.SetMultiSamples(0)
            self._stages[key] = RenderScene(window, self._items, kind)
        return self._stages[key]

    def _numbers(
        self, scene: _Scene, width: int, height: int, kind: Kind = Kind.NUMBERS
    ) -> tuple[np.ndarray, Array]:
        """Which item every pixel shows, and how far away it is."""
        stage = self._stage(kind, width, height)
        stage.place(scene.poses, self._groups)
        stage.aim(scene.view, scene.near, scene.far, width / height)
        return stage.numbers(scene.view, scene.near, scene.far)

    def _colours(self, scene: _Scene, width: int, height: int) -> np.ndarray:
        """Colours, (height, width, 3) bytes; edges are smooth because they are drawn at twice the size."""
        toward = self._sun()
        stage = self._stage(Kind.COLOURS, _SMOOTH * width, _SMOOTH * height)
        stage.place(scene.poses, self._groups)
        stage.aim(scene.view, scene.near, scene.far, width / height)
        below, above = light.ray(scene.view, 0.0, -1.0), light.ray(scene.view, 0.0, 1.0)
        stage.hang_sky(*light.sky(np.array([below, above], np.float32)).tolist())
        stage.draw_tendons(scene.tendons)
        stage.shine(toward, True)
        bright = _averaged(stage.colours())
        if not self._shadows:
            return np.round(bright).astype(np.uint8)
        stage.shine(toward, False)
        dark = _averaged(stage.colours()).reshape(-1, 3)
        bright = bright.reshape(-1, 3)
        seen, away = (part.ravel() for part in self._numbers(scene, width, height))
        start, ray = light.rays(scene.view, width, height)
        solid = np.flatnonzero(seen >= 0)
        # rays of an orthographic camera start at a point of their own each
        points = (start if len(start) == 1 else start[solid]) + away[solid, None] * ray[solid]
        lit = self._lit(points, toward, scene)[:, None]
        bright[solid] = dark[solid] + lit * (bright[solid] - dark[solid])
        for k, item in enumerate(self._items.rows):
            if item.is_endless:
                at = np.flatnonzero(seen == k)
                share = light.haze(away[at] * np.linalg.norm(ray[at], axis=1), float(item.scale[:2].min()))
                bright[at] += share[:, None] * (light.sky(ray[at]) - bright[at])
                # where the plane ends in half a pixel there is the horizon
                edge = at[(at >= width) & (seen[at - width] < 0)] - width
                bright[edge] = light.sky(ray[edge])
        return np.round(bright).astype(np.uint8).reshape(height, width, 3)

    def _lit(self, points: Array, toward: Array, scene: _Scene) -> Array:
        """How much of the sun reaches points."""
        sun = light.sun_view(toward, *scene.bounds)
        side = light.SHADOW_PIXELS
        _, distance = self._numbers(_Scene(*sun, scene.poses, scene.bounds), side, side, Kind.SHADOWS)
        return light.shade(points, sun, distance)

    def _sun(self) -> Array:
        """Where the light comes from: as a light of the scene says that casts shadows, or from above."""
        for lamp in self._runtime.scene.hierarchy.lights:
            if (
                lamp.active
                and lamp.cast_shadows
                and lamp.direction[2] < -0.2 * np.linalg.norm(lamp.direction)
            ):
                return -lamp.direction
        return light.SUN

    def _range(self, view: View, poses: Array) -> tuple[float, float]:
        """Nearest and farthest distance that must be drawn [m]; the closer they are, the finer is depth."""
        near, far = np.inf, 0.0
        for item, pose in zip(self._items.rows, poses, strict=True):
            if item.group not in self._groups:
                continue
            reach = float(np.linalg.norm(np.abs(item.mesh.vertices).max(axis=0) * item.scale))
            along = float((pose[:3] - view.position) @ view.forward)
            if not item.is_endless:
                near = min(near, along - reach)
            else:
                near = min(near, 0.0)
            far = max(far, along + reach)
        far = max(far, 1e-3) * 1.01
        # a depth buffer resolves about a millionth of the nearest distance
        near = max(0.99 * near if np.isfinite(near) else 0.0, 1e-3 * min(far, 20.0), 1e-4)
        near, far = view.near or near, view.far or far
        if far <= near:
            far = 2.0 * near
        return near, far


def _averaged(pixels: np.ndarray) -> np.ndarray:
    """Means of two by two pixels, as numbers 0 to 255."""
    wide = pixels.astype(np.uint16)
    total = wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]
    return total.astype(np.float32) * 0.25


def _pixels(n: Any) -> int:
    count = values.count(n, "size of a picture")
    if not 1 <= count <= _MOST:
        raise ArgumentError(f"a side of a picture has 1 to {_MOST} pixels, got {count}")
    return count


def _group(g: Any) -> int:
    group = values.count(g, "visibility group")
    if not 0 <= group <= 7:
        raise ArgumentError(f"visibility groups are 0 to 7, got {group}")
    return group


def _groups(given: Any) -> tuple[int, ...]:
    return tuple(_group(g) for g in values.several(given, "visibility groups"))


class _Kept(threading.local):
    """Renderers of `render`, by World, in every thread its own."""

    def __init__(self) -> None:
        self.by_world: weakref.WeakKeyDictionary[World, dict[Any, Renderer]] = weakref.WeakKeyDictionary()


_kept = _Kept()


def render(
    world: World,
    camera: CameraLike = None,
    *,
    width: int | None = None,
    height: int | None = None,
    rgb: bool = True,
    depth: bool = False,
    segmentation: bool = False,
    groups: Sequence[int] = SHOWN_GROUPS,
    shadows: bool = True,
    state: WorldState | None = None,
    out: Picture | None = None,
) -> Picture:
    """A picture of a World as it is now, drawn without a screen; the World stays as it is.

    Args:
        world: what to draw.
        camera: name or index of a camera of the scene, a `LookAt`, or None for one that has all in view.
        width, height: of the picture [pixels]; those the camera requests, or 640 x 480, when None.
        rgb, depth, segmentation: what the picture holds.
        groups: visibility groups that are shown.
        shadows: whether the sun casts shadows.
        state: draw this state instead of the present one.
        out: arrays to write into, with the shapes and types of `Picture`.

    Raises:
        CapabilityError: VTK or a library it draws with is not installed.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> world.add_rigid_body("ball").add_collision_shape(sx.CollisionShape.sphere(0.5))
        >>> picture = sx.render(world, sx.LookAt((3, 0, 0)), depth=True, segmentation=True)  # doctest: +SKIP
        >>> picture.rgb.shape, round(float(picture.depth[240, 320]), 2)  # doctest: +SKIP
        ((480, 640, 3), 2.5)
        >>> int(picture.mask("ball").sum()) > 1000  # doctest: +SKIP
        True
    """
    require_world(world, "render")
    kept = _kept.by_world.setdefault(world, {})
    size = tuple(None if n is None else _pixels(n) for n in (width, height))
    key = (*size, _groups(groups), values.flag(shadows, "shadows"))
    if key not in kept:
        made = Renderer(world, *size, groups=groups, shadows=shadows)
        if len(kept) >= 4:
            # the oldest goes, so that pictures of many sizes do not add up
            kept.pop(next(iter(kept))).close()
        kept[key] = made
    return kept[key].render(camera, rgb=rgb, depth=depth, segmentation=segmentation, state=state, out=out)
