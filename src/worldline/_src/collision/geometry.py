# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Precomputed collision geometry of hulls, triangle surfaces and height fields.

Vertices are moved so that the middle of their box is the origin; `centre` says where it was. Hulls get
polygonal faces (coplanar triangles joined), surfaces a tree of boxes and what lies beyond every edge; both
the neighbours of every vertex.
"""

from __future__ import annotations

import functools

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.kernels.broadphase.bvh import BUILD_STACK, BUILD_WORK, build_tree
from worldline._src.kernels.narrowphase.tables import START_SIDE
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.cache import AssetCache, NoCache, content_key
from worldline._src.scene.assets.hfields import grid_triangles
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.vectors import Array

_COPLANAR = 1.0e-9
"""Relative height below which neighbouring triangles of a hull are one face."""
_NO_INTS = np.zeros(0, np.int64)
_HULL_ARRAYS = (
    "centre",
    "half_size",
    "vertices",
    "face_plane",
    "face_start",
    "face_corner",
    "near_start",
    "near",
    "start",
)


class GeometryData(NamedTuple):
    """Arrays of one hull or surface, indices from zero; see the columns of the collision tables."""

    centre: Array
    half_size: Array
    vertices: Array
    face_plane: Array = np.zeros((0, 4))
    face_start: np.ndarray = _NO_INTS
    face_corner: np.ndarray = _NO_INTS
    near_start: np.ndarray = _NO_INTS
    near: np.ndarray = _NO_INTS
    start: np.ndarray = _NO_INTS
    tri: np.ndarray = np.zeros((0, 4), np.int64)
    tri_across: np.ndarray = np.zeros((0, 3), np.int64)
    tri_edge: Array = np.zeros((0, 9))
    node_index: np.ndarray = np.zeros((0, 2), np.int64)
    node_box: Array = np.zeros((0, 6))


def centred(vertices: Array) -> tuple[Array, Array, Array]:
    """The vertices about the middle of their box, that middle, and half the box's size."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centre = 0.5 * (low + high)
    return np.ascontiguousarray(vertices - centre), centre, 0.5 * (high - low)


def hull_geometry(points: Array, cache: AssetCache | None = None) -> GeometryData:
    """The convex hull of points: vertices, faces and neighbours.

    Args:
        points: Points, m, (n, 3).
        cache: Where to keep the result; nowhere unless given.

    Raises:
        SceneError: The points lie on one line.
    """
    points = np.asarray(points, dtype=np.float64)

    def make() -> dict[str, np.ndarray]:
        mesh = convex_hull(points, where="convex shape")
        vertices, centre, half = centred(mesh.vertices)
        triangles = mesh.triangles.astype(np.int64)
        faces, planes = _polygons(vertices, triangles)
        face_start = np.cumsum([0, *(len(face) for face in faces)])
        near_start, near = _neighbours(len(vertices), triangles)
        directions = _cell_directions()
        along = sum(np.outer(vertices[:, k], directions[:, k]) for k in range(3))
        made = GeometryData(
            *(centre, half, vertices, planes, face_start, np.concatenate(faces), near_start, near),
            start=np.argmax(along, axis=0),
        )
        return {name: getattr(made, name) for name in _HULL_ARRAYS}

    return GeometryData(**(cache or NoCache()).fetch("hull_tables", content_key(points), make))


@functools.cache
def _cell_directions() -> Array:
    """The middle of every cell of directions, in the order of `direction_cell`, (START_CELLS, 3)."""
    middles = (np.arange(START_SIDE) + 0.5) * (2.0 / START_SIDE) - 1.0
    u, v = (grid.ravel() for grid in np.meshgrid(middles, middles, indexing="ij"))
    ones = np.ones_like(u)
    faces = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            # the face along `axis`, then the two axes after it in cyclic order
            columns = {axis: sign * ones, (axis + 1) % 3: u, (axis + 2) % 3: v}
            faces.append(np.stack([columns[k] for k in range(3)], axis=1))
    return np.concatenate(faces)


def _neighbours(count: int, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that share an edge, listed vertex by vertex."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    a, b = edges.T
    first, second = np.divmod(np.unique(np.concatenate([count * a + b, a + count * b])), count)
    start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(first, minlength=count), out=start[1:])
    return start, second


def _polygons(vertices: Array, triangles: np.ndarray) -> tuple[list[np.ndarray], Array]:
    """Join coplanar neighbouring triangles; corner lists and (normal, offset) of every face.

    Faces grow from the largest triangle that has none yet, whose plane is that of the face. Nearly all
    triangles of a scanned hull are a face of their own, which one test of all edges at once finds.
    """
    extent = float(np.abs(vertices).max())
    corners = vertices[triangles]
    a, b, c = (corners[:, k] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    units = normals / np.where(areas > 0.0, areas, 1.0)[:, None]
    thin = areas <= 1e-12 * extent * extent
    across = _triangles_across(len(vertices), triangles)
    offsets = _dot(units, a)

    def joins(seeds: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Whether triangles lie in the planes of seeds, facing the same side."""
        n = units[seeds]
        height = _dot(corners[others], n[:, None]) - offsets[seeds][:, None]
        flat = np.abs(height).max(axis=1) <= _COPLANAR * extent
        return flat & (thin[others] | (_dot(units[others], n) > 0.5))

    alone = np.ones(len(triangles), np.bool_)
    seed, side = np.nonzero(across >= 0)
    alone[seed[joins(seed, across[seed, side])]] = False
    face = np.full(len(triangles), -1)
    rings, seeds = [], []
    # the smallest corner first, as outlines of joined triangles start
    turned = np.argmin(triangles, axis=1)[:, None] + np.arange(3)
    single = np.take_along_axis(triangles, turned % 3, axis=1)
    for seed in np.argsort(-areas, kind="stable").tolist():
        if face[seed] >= 0 or thin[seed]:
            continue
        number = face[seed] = len(seeds)
        seeds.append(seed)
        if alone[seed]:
            rings.append(single[seed])
            continue
        members, queue = [seed], [seed]
        while queue:
            # the edges of a triangle in the order of its corners; no triangle joins twice
            for t in across[queue.pop()].tolist():
                if t >= 0 and face[t] < 0 and joins(np.array([seed]), np.array([t]))[0]:
                    face[t] = number
                    members.append(t)
                    queue.append(t)
        rings.append(_ring(triangles[members]))
    return rings, _face_planes(vertices, rings, units[seeds])


def _triangles_across(count: int, triangles: np.ndarray) -> np.ndarray:
    """The triangle beyond each edge (k to k + 1), -1 where there is none; of several, the last."""
    start, end = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    keys = start * count + end
    order = np.argsort(keys, kind="stable")
    wanted = end * count + start
    # the last entry with this key
    found = np.searchsorted(keys[order], wanted, side="right") - 1
    edge = order[found]
    there = (found >= 0) & (keys[edge] == wanted)
    return np.where(there, edge // 3, -1).reshape(-1, 3)


def _face_planes(vertices: Array, rings: list[np.ndarray], normals: Array) -> Array:
    """Normal and largest height of the corners of every face, (faces, 4)."""
    counts = np.array([len(ring) for ring in rings])
    owner = np.repeat(np.arange(len(rings)), counts)
    heights = _dot(vertices[np.concatenate(rings)], normals[owner])
    tops = np.maximum.reduceat(heights, np.cumsum(counts) - counts)
    return np.concatenate([normals, tops[:, None]], axis=1)


def _dot(a: Array, b: Array) -> Array:
    """Dot products along the last axis, summed in the same order whatever the library of linear algebra."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def _ring(triangles: np.ndarray) -> np.ndarray:
    """The outline of triangles that hang together, counter-clockwise."""
    edges = {(i, j) for t in triangles.tolist() for i, j in zip(t, t[1:] + t[:1], strict=True)}
    step = {i: j for i, j in edges if (j, i) not in edges}
    first = min(step)
    ring, here = [first], step[first]
    while here != first and len(ring) <= len(step):
        ring.append(here)
        here = step[here]
    return np.array(ring, np.int64)


def surface_geometry(vertices: Array, triangles: np.ndarray) -> GeometryData:
    """A triangle surface with its tree; triangles without area are left out.

    Raises:
        ArgumentError: No triangle has any area.
    """
    points, centre, half = centred(np.asarray(vertices, dtype=np.float64))
    return _with_tree(points, np.asarray(triangles, np.int64), centre, half, base=None)


def field_geometry(heights: Array, size: Array, base: float) -> GeometryData:
    """A height field: two triangles a cell, solid from the surface down to `base` below zero height.

    Row 0 lies at -y, columns run along +x. Half the field's box is its half size, with the base as bottom.
    """
    rows, columns = heights.shape
    x = np.linspace(-0.5 * size[0], 0.5 * size[0], columns)
    y = np.linspace(-0.5 * size[1], 0.5 * size[1], rows)
    grid_x, grid_y = np.meshgrid(x, y)
    points = np.stack([grid_x, grid_y, heights], axis=-1).reshape(-1, 3)
    triangles = grid_triangles(rows, columns)
    bottom = min(-base, float(heights.min()))
    low, high = points.min(axis=0), points.max(axis=0)
    low[2] = bottom
    centre = 0.5 * (low + high)
    half = 0.5 * (high - low)
    return _with_tree(points - centre, triangles, centre, half, base=-half[2])


def _welded(points: Array) -> np.ndarray:
    """For every vertex the first one at the same place: files often repeat vertices triangle by triangle."""
    grid = np.round(points * (1.0 / max(1e-9 * float(np.abs(points).max()), 1e-300)))
    _, first, group = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    return first[group.reshape(-1)]


def _across(triangles: np.ndarray) -> np.ndarray:
    """The third corner of the triangle beyond each edge (k to k + 1), -1 where there is not exactly one."""
    count = len(triangles)
    start, end = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    third = np.roll(triangles, -2, axis=1).reshape(-1)
    low, high = np.minimum(start, end), np.maximum(start, end)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    same = np.concatenate([[False], (low[1:] == low[:-1]) & (high[1:] == high[:-1]), [False]])
    # edges that exactly two triangles have: equal to the next, but the run goes no further either way
    two = np.flatnonzero(same[1:-1] & ~same[:-2] & ~same[2:])
    found = np.full(3 * count, -1, np.int64)
    found[order[two]], found[order[two + 1]] = third[order[two + 1]], third[order[two]]
    return found.reshape(count, 3)


def _with_tree(
    points: Array, triangles: np.ndarray, centre: Array, half: Array, base: float | None
) -> GeometryData:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    # twice the area over the longest edge squared; below this the normal is undefined
    longest = np.maximum(((b - a) ** 2).sum(1), np.maximum(((c - b) ** 2).sum(1), ((a - c) ** 2).sum(1)))
    proper = np.flatnonzero(np.linalg.norm(normals, axis=1) > 1e-14 * longest)
    if not len(proper):
        raise ArgumentError(f"a mesh needs a triangle with some area; all {len(triangles)} given have none")
    a, b, c = a[proper], b[proper], c[proper]
    box = np.concatenate([np.minimum(a, np.minimum(b, c)), np.maximum(a, np.maximum(b, c))], axis=1)
    if base is not None:
        box[:, 2] = base
    count = len(proper)
    order = np.arange(count)
    node_index = np.zeros((2 * count, 2), np.int64)
    node_box = np.zeros((2 * count, 6))
    nodes = build_tree(
        box, order, np.zeros(3 * BUILD_STACK, np.int64), np.zeros(BUILD_WORK), node_index, node_box
    )
    chosen = proper[order]
    tri = np.concatenate([triangles[chosen], chosen[:, None]], axis=1)
    welded = _welded(points)
    joined = welded[triangles[proper]]
    near_start, near = _neighbours(len(points), joined)
    # a repeated vertex has the neighbours of the first at its place
    counts = np.diff(near_start)[welded]
    ring = np.concatenate([[0], np.cumsum(counts)])
    near = near[np.repeat(near_start[welded] - ring[:-1], counts) + np.arange(ring[-1])]
    a, b, c = a[order], b[order], c[order]
    edge = np.concatenate([a, b - a, c - a], axis=1)
    return GeometryData(
        centre,
        half,
        np.ascontiguousarray(points),
        near_start=ring,
        near=near,
        tri=tri,
        tri_across=_across(joined)[order],
        tri_edge=edge,
        node_index=node_index[:nodes].copy(),
        node_box=node_box[:nodes].copy(),
    )
