# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes that MJCF describes by a name and parameters, such as `<mesh builtin="sphere" params="2"/>`.

All of them are centered surfaces of unit size; `scale`, `refpos` and `refquat` apply afterwards. Counts are
truncated to whole numbers and vertices rounded to single precision, as in compiled models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from worldline._src.linear_algebra import unit_vector
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.mesh import Mesh
from worldline._src.scene.vectors import Array, IntArray

MOST_VERTICES: Final = 1_000_000
"""Vertices a generated mesh may have."""


class Parameter(NamedTuple):
    """One number of `params` and its allowed range, ends included."""

    name: str
    low: float
    high: float = np.inf


class BuiltinMesh(NamedTuple):
    """A kind of generated mesh: its parameters, how its size grows with the first one, and how it is made."""

    parameters: tuple[Parameter, ...]
    power: int
    make: Callable[..., Mesh]


def _sphere(subdivision: float) -> Mesh:
    """Icosahedron with every triangle divided into four, `subdivision` times; vertices on the unit sphere."""
    g = 0.5 * (1.0 + np.sqrt(5.0))
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0)]
    points = [np.roll(c, k) / np.hypot(1.0, g) for k in (0, 1, 2) for c in corners]
    triangles = convex_hull(np.array(points), where="icosahedron").triangles
    for _ in range(int(subdivision)):
        middles: dict[tuple[int, int], int] = {}
        finer: list[tuple[int, int, int]] = []
        for a, b, c in triangles.tolist():
            ab, bc, ca = (_middle(points, middles, *edge) for edge in ((a, b), (b, c), (c, a)))
            finer += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        triangles = np.array(finer, np.int32)
    return _mesh(points, triangles)


def _middle(points: list[Array], middles: dict[tuple[int, int], int], a: int, b: int) -> int:
    """Index of the point of the sphere over the middle of an edge, added where it is missing."""
    edge = (min(a, b), max(a, b))
    if edge not in middles:
        # in single precision, as in compiled models: errors of one level go into the next
        middle = points[a].astype(np.float32) + points[b].astype(np.float32)
        middles[edge] = len(points)
        points.append(middle / np.sqrt((middle * middle).sum()))
    return middles[edge]


def _hemisphere(resolution: float) -> Mesh:
    """Upper half of an octahedron in `resolution` + 1 rows, on the unit sphere, closed by a disc at z = 0."""
    rows = int(resolution) + 1
    corners = np.array([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)], float)
    points = [np.array([0.0, 0.0, 1.0])]
    triangles: list[tuple[int, int, int]] = []
    inner, inside = 0, 1
    for row in range(1, rows + 1):
        outer = len(points)
        for side in range(4):
            for k in range(row):
                across = (row - k) * corners[side] + k * corners[side + 1]
                point = np.array([*across, float(rows - row)])
                points.append(unit_vector(point))
                a, b = outer + side * row + k, outer + (side * row + k + 1) % (4 * row)
                c, d = (inner + (side * (row - 1) + m) % inside for m in (k, k + 1))
                triangles += [(c, a, b)] if k == row - 1 else [(c, a, b), (c, b, d)]
        inner, inside = outer, 4 * row
    center = len(points)
    triangles += [(inner + k, center, inner + (k + 1) % inside) for k in range(inside)]
    return _mesh([*points, np.zeros(3)], np.array(triangles, np.int32))


def _cone(sides: float, radius: float) -> Mesh:
    """Regular polygon of radius 1 at z = -1 and of `radius` at z = 1; an apex where that is zero."""
    turn = 2.0 * np.pi * np.arange(int(sides)) / int(sides)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    top = ring * radius if radius > 0.0 else np.zeros((1, 2))
    points = [np.column_stack([part, np.full(len(part), z)]) for part, z in ((ring, -1.0), (top, 1.0))]
    return convex_hull(_rounded(np.concatenate(points)), where="cone")


def _power(x: Array, exponent: float) -> Array:
    """sign(x) |x|^exponent."""
    return np.sign(x) * np.abs(x) ** exponent


def _supersphere(resolution: float, e: float, n: float) -> Mesh:
    """Superellipsoid: (x, y) = cos^n(phi) (cos^e, sin^e)(theta), z = sin^n(phi), phi from pole to pole."""
    size = int(resolution)
    phi = -0.5 * np.pi + np.pi * np.arange(1, size) / size
    theta = -np.pi + 2.0 * np.pi * np.arange(size) / size
    across = _power(np.cos(phi), n)[:, None]
    x, y = across * _power(np.cos(theta), e), across * _power(np.sin(theta), e)
    z = np.broadcast_to(_power(np.sin(phi), n)[:, None], x.shape)
    rings = np.stack([x, y, z], 2).reshape(-1, 3)
    points = np.concatenate([[(0.0, 0.0, -1.0)], rings, [(0.0, 0.0, 1.0)]])
    j = np.arange(size, dtype=np.int32)
    after = (j + 1) % size
    last = len(points) - 1
    upper = last - size
    bottom = np.stack([np.zeros_like(j), 1 + after, 1 + j], 1)
    top = np.stack([upper + j, upper + after, np.full_like(j, last)], 1)
    return _mesh(points, np.concatenate([bottom, 1 + _quads(size - 1, size, wraps=False), top]))


def _supertorus(resolution: float, radius: float, s: float, t: float) -> Mesh:
    """(x, y) = (1 + r cos^s(phi)) (cos^t, sin^t)(theta), z = r sin^s(phi)."""
    size = int(resolution)
    turn = 2.0 * np.pi * np.arange(size) / size
    reach = 1.0 + radius * _power(np.cos(turn), s)
    x, y = np.outer(_power(np.cos(turn), t), reach), np.outer(_power(np.sin(turn), t), reach)
    z = np.broadcast_to(radius * _power(np.sin(turn), s), x.shape)
    return _mesh(np.stack([x, y, z], 2).reshape(-1, 3), _quads(size, size, wraps=True))


def _quads(rows: int, columns: int, *, wraps: bool) -> IntArray:
    """Two triangles for each cell of a grid whose columns wrap around, and whose rows may."""
    i, j = np.indices((rows if wraps else rows - 1, columns), np.int32).reshape(2, -1)
    below, right = (i + 1) % rows, (j + 1) % columns
    a, b = i * columns + j, i * columns + right
    c, d = below * columns + j, below * columns + right
    if wraps:
        return np.concatenate([np.stack([a, c, b], 1), np.stack([c, d, b], 1)])
    return np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])


def _rounded(points: list[Array] | Array) -> Array:
    """Points in single precision, as compiled models hold them."""
    return np.asarray(points, np.float32).astype(np.float64)


def _mesh(points: list[Array] | Array, triangles: IntArray) -> Mesh:
    return Mesh(_rounded(points), triangles, None, None)


_LEAST: Final = float(np.finfo(float).tiny)
_RESOLUTION: Final = Parameter("resolution", 3.0)
_RADIUS: Final = Parameter("radius", 0.0, 1.0)

BUILTIN_MESHES: Final[dict[str, BuiltinMesh]] = {
    "sphere": BuiltinMesh((Parameter("subdivision", 0.0, 4.0),), 0, _sphere),
    "hemisphere": BuiltinMesh((Parameter("resolution", 0.0, 10.0),), 0, _hemisphere),
    "cone": BuiltinMesh((Parameter("number of sides", 3.0), _RADIUS), 1, _cone),
    "supersphere": BuiltinMesh((_RESOLUTION, Parameter("e", 0.0), Parameter("n", 0.0)), 2, _supersphere),
    "supertorus": BuiltinMesh(
        (_RESOLUTION, _RADIUS._replace(low=_LEAST), Parameter("s", _LEAST), Parameter("t", _LEAST)),
        2,
        _supertorus,
    ),
}
"""Generated meshes by their name in MJCF."""
