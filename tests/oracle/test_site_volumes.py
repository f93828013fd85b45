# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Volumes of sites against points: inside by inequalities of NumPy, rays by the points along them."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE
from worldline._src.kernels.sensors.volumes import contains, meets
from worldline._src.spatial.vec3 import Vec3

SIZE = np.array([0.5, 0.8, 1.1])
"""Radius and half length, or half sizes."""
MEASURES = {
    SPHERE: lambda p: np.linalg.norm(p, axis=-1) / 0.5,
    ELLIPSOID: lambda p: np.linalg.norm(p / SIZE, axis=-1),
    BOX: lambda p: np.abs(p / SIZE).max(axis=-1),
    CYLINDER: lambda p: np.maximum(np.hypot(p[..., 0], p[..., 1]) / 0.5, np.abs(p[..., 2]) / 0.8),
    CAPSULE: lambda p: (
        np.linalg.norm(
            np.stack([p[..., 0], p[..., 1], np.maximum(np.abs(p[..., 2]) - 0.8, 0.0)], axis=-1), axis=-1
        )
        / 0.5
    ),
}
"""At most 1 inside of a volume."""


def vector(x) -> Vec3:
    return Vec3(*map(float, x))


@pytest.mark.parametrize("kind", MEASURES)
def test_points_are_inside_where_their_measure_is_at_most_one(kind):
    rng = np.random.default_rng(kind)
    points = rng.uniform(-1.3, 1.3, (400, 3))
    expected = MEASURES[kind](points) <= 1.0
    assert 5 < expected.sum() < 395
    found = [contains(kind, vector(SIZE), vector(p)) == 1.0 for p in points]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", MEASURES)
def test_rays_meet_what_holds_a_point_along_them(kind):
    """Random rays, rays along the axes, and rays that start inside; glancing ones are left out."""
    rng = np.random.default_rng(10 + kind)
    starts = rng.uniform(-2.0, 2.0, (300, 3))
    along = rng.normal(size=(300, 3))
    along[:60] = np.sign(along[:60]) * np.eye(3)[np.arange(60) % 3]
    starts[:30] *= (0.2, 0.2, 0.4)
    way = np.linspace(0.0, 8.0, 8001)
    counts = [0, 0]
    for p, d in zip(starts, along, strict=True):
        d = d / np.linalg.norm(d)
        least = MEASURES[kind](p + way[:, None] * d).min()
        if abs(least - 1.0) > 0.01:
            met = bool(least < 1.0)
            assert meets(kind, vector(SIZE), vector(p), vector(d)) == met, (p, d, least)
            counts[int(met)] += 1
    assert min(counts) > 20


@pytest.mark.parametrize("kind", MEASURES)
def test_rays_without_a_direction_meet_what_contains_their_start(kind):
    """p + t 0 = p for all t: the sign of c in a t^2 + 2 b t + c decides, and planes hold p always or never."""
    points = np.random.default_rng(20 + kind).uniform(-1.3, 1.3, (400, 3))
    expected = MEASURES[kind](points) <= 1.0
    assert 5 < expected.sum() < 395
    found = [meets(kind, vector(SIZE), vector(p), vector(np.zeros(3))) == 1.0 for p in points]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("end", [-0.8, 0.8])
def test_rays_across_the_ends_of_a_capsule_meet_it_below_its_tangent_planes(end):
    """A ray in the plane n . (x - o) = s r, n a unit normal of the end at o: met for s < 1, missed for s > 1."""
    rng = np.random.default_rng(30)
    for _ in range(100):
        n, across = rng.normal(size=(2, 3))
        n[2] = np.copysign(n[2], end)
        n /= np.linalg.norm(n)
        d = np.cross(n, across)
        for share, met in ((0.98, 1.0), (1.02, 0.0)):
            p = np.array([0.0, 0.0, end]) + share * 0.5 * n - 2.0 * d
            assert meets(CAPSULE, vector(SIZE), vector(p), vector(d)) == met, (n, d, share)
