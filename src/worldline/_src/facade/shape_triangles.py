# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes as triangles, for pictures: corners counter-clockwise seen from outside, long shapes along z."""

from __future__ import annotations

import numpy as np

from worldline._src.model.kinds import ShapeKind
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.hfields import grid_triangles
from worldline._src.spatial.poses import Array

_AROUND = 24
"""Corners of a circle."""
_DOME = 6
"""Rings of half a sphere."""
PLANE_HALF_SIZE = 10.0
"""Half size of the piece of an infinite plane that is drawn [m]."""


class Triangles(NamedTuple):
    """A surface."""

    vertices: Array
    """[m], (n, 3)."""
    corners: np.ndarray
    """Indices of vertices, (m, 3)."""


def shape_triangles(model: Model, k: int) -> Triangles:
    """Row `k` of the shapes of a model, in the frame of the shape."""
    shapes = model.shapes
    assert shapes is not None
    kind, (x, y, z) = ShapeKind(int(shapes.kind[k])), shapes.size[k].tolist()
    if kind is ShapeKind.PLANE:
        return plane(x if 0.0 < x < np.inf else PLANE_HALF_SIZE, y if 0.0 < y < np.inf else PLANE_HALF_SIZE)
    if kind is ShapeKind.SPHERE:
        return _turned(*_dome(x, 0.0))
    if kind is ShapeKind.CAPSULE:
        return _turned(*_dome(x, y))
    if kind is ShapeKind.BOX:
        return box(x, y, z)
    if kind is ShapeKind.CYLINDER:
        return _turned([0.0, x, x, 0.0], [-y, -y, y, y])
    if kind is ShapeKind.CONE:
        return _turned([0.0, x, 0.0], [-y, -y, y])
    if kind is ShapeKind.ELLIPSOID:
        ball = _turned(*_dome(1.0, 0.0))
        return Triangles(ball.vertices * (x, y, z), ball.corners)
    source = int(shapes.source[k])
    if kind is ShapeKind.HFIELD:
        field = model.assets.hfield(source)
        return _field(np.asarray(field.heights), np.asarray(field.size))
    mesh = model.assets.mesh(source)
    corners = mesh.triangles.astype(np.int64)
    scale = shapes.scale[k]
    # a mirror turns surfaces inside out
    return Triangles(mesh.vertices * scale, corners if np.prod(scale) > 0.0 else corners[:, ::-1])


def plane(half_x: float, half_y: float) -> Triangles:
    """A rectangle that faces z."""
    at = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * (half_x, half_y, 0.0)
    return Triangles(at, np.array([[0, 1, 2], [0, 2, 3]]))


def box(half_x: float, half_y: float, half_z: float) -> Triangles:
    """A box of half sizes."""
    signs = np.array([[sx, sy, sz] for sz in (-1, 1) for sy in (-1, 1) for sx in (-1, 1)], np.float64)
    faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    corners = [(a, b, c) for a, b, c, _ in faces] + [(a, c, d) for a, _, c, d in faces]
    return Triangles(signs * (half_x, half_y, half_z), np.array(corners))


def _dome(radius: float, half_height: float) -> tuple[list[float], list[float]]:
    """Radii and heights of the outline of a sphere, or of a capsule when half_height is positive."""
    up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * _DOME + 1)
    if half_height > 0.0:
        up = np.insert(up, _DOME, 0.0)
    heights = radius * np.sin(up) + np.where(np.arange(len(up)) > _DOME, half_height, -half_height)
    if half_height == 0.0:
        heights = radius * np.sin(up)
    radii = radius * np.cos(up)
    radii[0] = radii[-1] = 0.0
    return radii.tolist(), heights.tolist()


def _turned(radii: list[float], heights: list[float]) -> Triangles:
    """What an outline sweeps about z; it begins and ends on the axis, from the bottom up."""
    angle = np.arange(_AROUND) * (2.0 * np.pi / _AROUND)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    at = [np.array([[0.0, 0.0, heights[0]]])]
    for radius, height in zip(radii[1:-1], heights[1:-1], strict=True):
        at.append(np.column_stack([radius * ring, np.full(_AROUND, height)]))
    at.append(np.array([[0.0, 0.0, heights[-1]]]))
    rings = len(radii) - 2
    here = np.arange(_AROUND)
    after = (here + 1) % _AROUND
    last = 1 + rings * _AROUND
    parts = [np.stack([np.zeros(_AROUND, np.int64), 1 + after, 1 + here], axis=1)]
    for r in range(rings - 1):
        low, high = 1 + r * _AROUND, 1 + (r + 1) * _AROUND
        parts.append(np.stack([low + here, low + after, high + after], axis=1))
        parts.append(np.stack([low + here, high + after, high + here], axis=1))
    top = last - _AROUND
    parts.append(np.stack([top + here, top + after, np.full(_AROUND, last)], axis=1))
    return Triangles(np.concatenate(at), np.concatenate(parts))


def _field(heights: Array, size: Array) -> Triangles:
    """The top of a height field: row 0 at -y, columns toward +x."""
    rows, columns = heights.shape
    x: Array = np.linspace(-0.5, 0.5, columns) * size[0]
    y: Array = np.linspace(-0.5, 0.5, rows) * size[1]
    across: tuple[Array, ...] = np.meshgrid(x, y)
    grid = np.stack([*across, heights], axis=-1).reshape(-1, 3)
    return Triangles(grid, grid_triangles(rows, columns))
