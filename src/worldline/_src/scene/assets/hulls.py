# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Convex hulls of meshes and points.

Qhull does the work. What it refuses, points in one plane, becomes a flat polygon with two sides: real robots
have such collision meshes. Points on one line have no hull.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import dot, matmul, norm, unit_vector
from worldline._src.scene.assets.cache import AssetCache, NoCache, content_key
from worldline._src.scene.assets.mesh import Mesh
from worldline._src.scene.vectors import Array

_FLAT: Final = 1.0e-9
"""Thickness over width below which points count as lying in a plane."""


def convex_hull(
    points: Array, *, max_vertices: int | None = None, cache: AssetCache | None = None, where: str = "mesh"
) -> Mesh:
    """The convex hull of points, its triangles facing outward.

    Args:
        points: Points, m, (N, 3).
        max_vertices: Stop once the hull has this many vertices, 4 at least; None is no bound.
        cache: Where to keep the result.
        where: What the points belong to, for messages.

    Raises:
        SceneError: The points lie on one line.
    """
    if max_vertices is not None and max_vertices < 4:
        raise SceneError(f"{where}: given at most {max_vertices} vertices; allowed: 4 or more")

    def make() -> dict[str, np.ndarray]:
        hull = _hull(points, max_vertices, where)
        return {"vertices": hull.vertices, "triangles": hull.triangles}

    found = (cache or NoCache()).fetch("hull", content_key(points, max_vertices), make)
    return Mesh(found["vertices"], found["triangles"])


def _hull(points: Array, max_vertices: int | None, where: str) -> Mesh:
    from scipy.spatial import ConvexHull, QhullError

    spread, axes = _spread(points)
    if len(points) < 3 or not spread[1] > _FLAT * spread[0]:
        raise SceneError(f"{where}: {len(points)} points on one line have no convex hull")
    if len(points) == 3 or spread[2] <= _FLAT * spread[0]:
        return _flat_hull(points, axes)
    # the points that Qhull starts from are not counted by its bound on added points
    options = "Qt" if max_vertices is None else f"Qt TA{max_vertices - 4}"
    try:
        hull = ConvexHull(points, qhull_options=options)
    except QhullError:
        # thin beyond what rounding allows
        return _flat_hull(points, axes)
    simplices = hull.simplices
    a, b, c = (points[simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    simplices[inward] = simplices[inward][:, ::-1]
    return _compact(points, simplices)


def _spread(points: Array) -> tuple[Array, Array]:
    """Extents of the points along three axes at right angles, largest first, and these axes as rows."""
    centred = points - points.mean(axis=0)
    first = centred[np.argmax(np.einsum("ij,ij->i", centred, centred))]
    extent = norm(first)
    if not extent > 0.0:
        return np.zeros(3), np.eye(3)
    x = first / extent
    rest = centred - np.outer(matmul(centred, x), x)
    second = rest[np.argmax(np.einsum("ij,ij->i", rest, rest))]
    width = norm(second)
    # any direction across will do for points on a line
    y = second / width if width > 0.0 else _across(x)
    y = unit_vector(y - dot(y, x) * x)
    axes = np.array([x, y, np.cross(x, y)])
    return np.array([extent, width, float(np.abs(matmul(centred, axes[2])).max())]), axes


def _across(x: Array) -> Array:
    unit = np.zeros(3)
    unit[np.argmin(np.abs(x))] = 1.0
    return np.cross(x, unit)


def _flat_hull(points: Array, axes: Array) -> Mesh:
    """The convex polygon of points in a plane, as a fan of triangles on either side."""
    from scipy.spatial import ConvexHull

    flat = matmul(points - points.mean(axis=0), axes[:2].T)
    ring = np.arange(3) if len(points) == 3 else ConvexHull(flat).vertices
    # the fans start at different corners, so that no edge has more than two triangles
    return _compact(points, np.concatenate((_fan(ring), _fan(np.roll(ring[::-1], 2)))))


def _fan(ring: np.ndarray) -> np.ndarray:
    return np.array([[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)])


def _compact(points: Array, triangles: np.ndarray) -> Mesh:
    used, inverse = np.unique(triangles, return_inverse=True)
    return Mesh(points[used], inverse.reshape(triangles.shape).astype(np.int32))
