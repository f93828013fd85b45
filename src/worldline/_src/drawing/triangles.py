# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Triangles of the shapes a scene can have, in the axes of the shape.

Shapes that are the same but for a stretch share one set of triangles: a sphere is the unit sphere with a
scale, so that a thousand boxes of different sizes are one mesh for the renderer. Normals point outward
and are given where a surface is smooth; edges have their vertices twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from worldline._src.scene.assets.hfields import HeightField, grid_triangles
from worldline._src.spatial.poses import Array

_AROUND = 48
"""Corners of a circle."""
_MOST_CELLS = 256
"""Cells of a height field drawn along an axis; finer ones are thinned out."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface made of triangles.

    Attributes:
        vertices: [m], (n, 3).
        faces: indices of vertices, counter-clockwise seen from outside, (m, 3).
        normals: unit vectors at the vertices, (n, 3).
        texcoords: places in a texture at the vertices, (n, 2), None where a texture has none.
    """

    vertices: Array
    faces: np.ndarray
    normals: Array
    texcoords: Array | None = None


def from_soup(vertices: Array, faces: np.ndarray, texcoords: Array | None = None) -> Triangles:
    """Triangles with normals averaged over the faces around a vertex, by area."""
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], area)
    return Triangles(vertices, faces, _unit(normals), texcoords)


def with_edges(vertices: Array, faces: np.ndarray, degrees: float = 40.0) -> Triangles:
    """Triangles that are smooth where faces meet at less than an angle, with edges where they do not."""
    welded, index = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    faces = index.reshape(-1)[faces]
    corners = welded[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = _unit(area)
    # the faces around every vertex, as one run of a sorted list
    owner = faces.ravel()
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(len(welded) + 1))
    normals = np.empty((3 * len(faces), 3))
    least = np.cos(np.radians(degrees))
    for v in range(len(welded)):
        around = order[start[v] : start[v + 1]]
        near = flat[around // 3] @ flat[around // 3].T >= least
        normals[around] = near @ area[around // 3]
    return Triangles(corners.reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3), _unit(normals))


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.tile((0.0, 0.0, 1.0), (len(rows), 1)), where=length > 0.0)


def _revolved(radius: Array, z: Array, normal_r: Array, normal_z: Array) -> Triangles:
    """A profile, from the lower end to the upper, turned about z."""
    turn = np.linspace(0.0, 2.0 * np.pi, _AROUND + 1)
    cos, sin = np.cos(turn), np.sin(turn)

    def ring(r: Array, h: Array) -> Array:
        h = np.broadcast_to(h[:, None], (len(h), len(turn)))
        return np.stack([r[:, None] * cos, r[:, None] * sin, h], axis=2)

    vertices, normals = ring(radius, z).reshape(-1, 3), ring(normal_r, normal_z).reshape(-1, 3)
    faces = grid_triangles(len(radius), len(turn))
    # cells that end in a pole have one triangle without area
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return Triangles(vertices, faces[area > 1e-12 * max(1.0, float(np.abs(vertices).max()) ** 2)], normals)


@cache
def sphere() -> Triangles:
    """Radius 1."""
    up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, _AROUND // 2 + 1)
    return _revolved(np.cos(up), np.sin(up), np.cos(up), np.sin(up))


@cache
def capsule(half: float) -> Triangles:
    """Radius 1, half length of the straight part `half`, along z."""
    up = np.linspace(0.0, 0.5 * np.pi, _AROUND // 4 + 1)
    angle = np.concatenate([-up[::-1], up])
    side = np.repeat([-half, half], len(up))
    return _revolved(np.cos(angle), side + np.sin(angle), np.cos(angle), np.sin(angle))


@cache
def cylinder() -> Triangles:
    """Radius 1, half length 1, along z."""
    radius = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    z = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    out = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    return _revolved(radius, z, out, np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0]))


@cache
def cone() -> Triangles:
    """Radius 1 at z = -1, tip at z = 1."""
    slope = 1.0 / np.sqrt(5.0)
    out = np.array([0.0, 0.0, 2.0 * slope, 2.0 * slope])
    return _revolved(
        np.array([0.0, 1.0, 1.0, 0.0]),
        np.array([-1.0, -1.0, -1.0, 1.0]),
        out,
        np.array([-1.0, -1.0, slope, slope]),
    )


@cache
def box() -> Triangles:
    """Half sizes 1; a texture lies on every face once."""
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    vertices, normals = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            face = np.zeros((4, 3))
            # the other two axes in an order that keeps the face seen from outside
            face[:, [(axis + 1) % 3, (axis + 2) % 3]] = square if sign > 0.0 else square[:, ::-1]
            face[:, axis] = sign
            vertices.append(face)
            normals.append(np.tile(np.eye(3)[axis] * sign, (4, 1)))
    start = 4 * np.arange(6)[:, None]
    faces = np.concatenate([start + np.array([0, 1, 2]), start + np.array([0, 2, 3])])
    return Triangles(
        np.concatenate(vertices), faces, np.concatenate(normals), np.tile(0.5 * square + 0.5, (6, 1))
    )


@cache
def plane() -> Triangles:
    """A square of half size 1 that faces +z."""
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    vertices = np.concatenate([square, np.zeros((4, 1))], axis=1)
    normals = np.tile((0.0, 0.0, 1.0), (4, 1))
    return Triangles(vertices, np.array([(0, 1, 2), (0, 2, 3)]), normals, 0.5 * square + 0.5)


def height_field(field: HeightField) -> Triangles:
    """The ground of a height field [m], and its sides where it has a base."""
    heights = field.heights
    thin = [max(1, -(-(n - 1) // _MOST_CELLS)) for n in heights.shape]
    # the last row and column stay, so that the ground keeps its size
    rows, columns = (
        np.unique(np.append(np.arange(0, n, k), n - 1)) for n, k in zip(heights.shape, thin, strict=True)
    )
    x = field.size[0] * (columns / (heights.shape[1] - 1) - 0.5)
    y = field.size[1] * (rows / (heights.shape[0] - 1) - 0.5)
    z = heights[np.ix_(rows, columns)]
    grid = np.stack([*np.broadcast_arrays(x[None, :], y[:, None]), z], axis=2)
    faces = grid_triangles(len(rows), len(columns))
    places = np.stack(np.broadcast_arrays(x[None, :] / field.size[0], y[:, None] / field.size[1]), axis=2)
    top = from_soup(grid.reshape(-1, 3), faces, places.reshape(-1, 2) + 0.5)
    if field.base <= 0.0:
        return top
    rim = np.concatenate([grid[0], grid[1:, -1], grid[-1, -2::-1], grid[-2::-1, 0]])
    foot = rim * (1.0, 1.0, 0.0) - (0.0, 0.0, field.base)
    wall = np.stack([foot, rim]).reshape(-1, 3)
    sides = with_edges(wall, grid_triangles(2, len(rim)))
    count = len(top.vertices)
    assert top.texcoords is not None
    return Triangles(
        np.concatenate([top.vertices, sides.vertices]),
        np.concatenate([top.faces, sides.faces + count]),
        np.concatenate([top.normals, sides.normals]),
        np.concatenate([top.texcoords, np.zeros((len(sides.vertices), 2))]),
    )
