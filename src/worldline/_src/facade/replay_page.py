# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A recording as one page that replays in a browser, with nothing installed and no network.

The page is `data/replay.html`, which draws triangles; this module puts the motion into it: surfaces of the
shapes, colours, and the poses of the bodies at a few frames per second, in single precision.
"""

from __future__ import annotations

import base64
import html
import json
import os
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import require_kind
from worldline._src.facade import values
from worldline._src.facade.shape_triangles import shape_triangles
from worldline._src.facade.world_kind import kind_named
from worldline._src.model.kinds import ShapeKind
from worldline._src.scene.formats.atomic_write import atomic_file
from worldline._src.spatial.poses import Array
from worldline._src.step.dynamics import forward_kinematics

if TYPE_CHECKING:
    from worldline._src.facade.recording import Recording
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

FRAMES_PER_SECOND = 60.0
_PALETTE = ("4e79a7", "f28e2b", "59a14f", "e15759", "76b7b2", "edc948", "b07aa1", "9c755f")
_GROUND = (0.62, 0.65, 0.68, 1.0)


def write_page(
    world: WorldRuntime,
    path: str | os.PathLike[str],
    recording: Recording | None = None,
    *,
    frames_per_second: float = FRAMES_PER_SECOND,
    title: str | None = None,
) -> None:
    """Write the page of a recording of a World, the World's own when None; see `Recording.to_html`."""
    require_kind(world, kind_named("World"), "world", "to_html")
    frames_per_second = values.positive(frames_per_second, "frames_per_second")
    if title is not None:
        values.text(title, "title of a page")
    chosen = world._replay.recording() if recording is None else recording
    runtime = world._live()
    chosen._layout.require(world._replay._layout_now(runtime), "the recording")
    rows = world._replay._frame_rows(runtime)
    kept = thinned(chosen.times, frames_per_second)
    q = np.ascontiguousarray(chosen._rows[kept][:, rows.parts["q"]])
    poses = forward_kinematics(runtime.model, q).reshape(len(kept), -1, 7)
    data = {
        "times": chosen.times[kept].tolist(),
        "bodies": list(runtime.model.body_label),
        "poses": _packed(poses, "<f4"),
        **_drawn_shapes(runtime),
    }
    name = title if title is not None else (world._scene.name or "recording")
    text = resources.files("worldline._src.facade").joinpath("data/replay.html").read_text("utf-8")
    text = text.replace("{{title}}", html.escape(name)).replace("{{data}}", _embedded(data))
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def thinned(times: Array, frames_per_second: float) -> np.ndarray:
    """Frames to keep: the first, the last, and in between no more than so many a second."""
    ticks = np.floor((times - times[0]) * frames_per_second + 1e-9)
    keep = np.concatenate([[True], np.diff(ticks) > 0])
    keep[-1] = True
    return np.flatnonzero(keep)


def _embedded(data: dict[str, Any]) -> str:
    # "</script>" and "<!--" would end or change the element that the data stands in
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _packed(numbers: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()


def _drawn_shapes(runtime: Runtime) -> dict[str, Any]:
    """Surfaces, and the shapes that show them; shapes of the same form share one surface."""
    model = runtime.model
    shapes = model.shapes
    if shapes is None:
        return {"meshes": [], "shapes": []}
    meshes: list[dict[str, str]] = []
    known: dict[tuple[Any, ...], int] = {}
    drawn: list[dict[str, Any]] = []
    for k in visible(shapes):
        key = (
            int(shapes.kind[k]),
            *shapes.size[k].tolist(),
            int(shapes.source[k]),
            *shapes.scale[k].tolist(),
        )
        if key not in known:
            known[key] = len(meshes)
            surface = shape_triangles(model, k)
            meshes.append({"v": _packed(surface.vertices, "<f4"), "i": _packed(surface.corners, "<u4")})
        drawn.append(
            {
                "mesh": known[key],
                "body": int(shapes.body[k]),
                "pose": shapes.xform[k].tolist(),
                "color": shape_color(runtime, k),
                "ground": bool(shapes.kind[k] == ShapeKind.PLANE),
                "name": shapes.label[k],
            }
        )
    return {"meshes": meshes, "shapes": drawn}


def visible(shapes: Any) -> list[int]:
    """Shapes to draw: those of the groups 0 to 2, which viewers show at first; all when there are none."""
    rows = np.flatnonzero((shapes.visual_group >= 0) & (shapes.visual_group <= 2))
    return (rows if rows.size else np.arange(len(shapes))).tolist()


def shape_color(runtime: Runtime, k: int) -> list[float]:
    """Colour of a shape, RGBA: its own, that of its material, or one by its body."""
    model, shapes = runtime.model, runtime.model.shapes
    assert shapes is not None
    if np.isfinite(shapes.rgba[k]).all():
        return shapes.rgba[k].tolist()
    material = int(shapes.material[k])
    if material >= 0:
        found = runtime.scene.assets.materials.get(model.material_label[material])
        if found is not None:
            return [float(x) for x in found.color]
    body = int(shapes.body[k])
    if body < 0:
        return list(_GROUND)
    text = _PALETTE[body % len(_PALETTE)]
    return [int(text[i : i + 2], 16) / 255.0 for i in (0, 2, 4)] + [1.0]
