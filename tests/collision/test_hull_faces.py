# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Faces of convex hulls: polygons that close the surface, lie in their planes, and are made once."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from worldline._src.collision import geometry
from worldline._src.collision.geometry import hull_geometry
from worldline._src.scene.assets.cache import AssetCache


def _clouds():
    rng = np.random.default_rng(7)
    yield "cube", np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float), 6
    angles = np.arange(12) * (np.pi / 6.0)
    ring = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    yield "prism", np.concatenate([ring, ring + np.array([0.0, 0.0, 1.0])]), 14
    yield "pyramid", np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0], [0, 0, 2.0]]), 5
    for k in range(6):
        yield f"normal {k}", rng.normal(size=(40, 3)), None
        yield f"grid {k}", rng.integers(0, 4, size=(60, 3)).astype(float), None


@pytest.mark.parametrize(
    ("points", "count"), [(p, n) for _, p, n in _clouds()], ids=[k for k, *_ in _clouds()]
)
def test_faces_close_the_hull_and_lie_in_their_planes(points, count):
    found = hull_geometry(points)
    rings = np.split(found.face_corner, found.face_start[1:-1])
    # coplanar triangles are one face: no two faces share a plane
    planes = np.round(found.face_plane, 9)
    assert len(np.unique(planes, axis=0)) == len(planes) == (count or len(planes))
    edges = [(int(a), int(b)) for ring in rings for a, b in zip(ring, np.roll(ring, -1), strict=True)]
    assert len(set(edges)) == len(edges)
    assert set(edges) == {(b, a) for a, b in edges}
    # V - E + F = 2, with the vertices that are a corner of some face
    assert len(set(found.face_corner.tolist())) - len(edges) // 2 + len(rings) == 2
    heights = found.vertices @ found.face_plane[:, :3].T - found.face_plane[:, 3]
    assert heights.max() <= 1e-9
    volume = 0.0
    for k, ring in enumerate(rings):
        assert np.abs(heights[ring, k]).max() <= 1e-8
        corners = found.vertices[ring]
        for b, c in itertools.pairwise(corners[1:]):
            volume += np.dot(corners[0], np.cross(b, c)) / 6.0
    assert volume == pytest.approx(ConvexHull(points).volume, rel=1e-9)


def test_neighbours_are_the_vertices_that_share_an_edge():
    found = hull_geometry(np.random.default_rng(3).normal(size=(30, 3)))
    rings = np.split(found.face_corner, found.face_start[1:-1])
    expected = {(int(a), int(b)) for ring in rings for a, b in zip(ring, np.roll(ring, -1), strict=True)}
    near = np.split(found.near, found.near_start[1:-1])
    assert {(a, int(b)) for a, others in enumerate(near) for b in others} == expected
    assert all((np.diff(others) > 0).all() for others in near)


def test_a_cache_keeps_the_faces(tmp_path, monkeypatch):
    points = np.random.default_rng(5).normal(size=(50, 3))
    fresh = hull_geometry(points)
    first = hull_geometry(points, AssetCache(tmp_path))

    def refuse(*_):
        raise AssertionError("the faces are made again")

    monkeypatch.setattr(geometry, "_polygons", refuse)
    again = hull_geometry(points, AssetCache(tmp_path))
    for made, kept, expected in zip(first, again, fresh, strict=True):
        np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(kept, expected)
        assert kept.dtype == expected.dtype
    with pytest.raises(AssertionError, match="made again"):
        hull_geometry(points * 2.0, AssetCache(tmp_path))
