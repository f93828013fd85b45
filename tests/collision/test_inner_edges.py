# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that slide over surfaces of triangles feel the surface, not the edges inside it."""

from __future__ import annotations

import numpy as np
import pytest
from test_properties import DETECTOR

from worldline.collision import CollisionShape

CELLS = 8
SIDE = 4.0


def sheet(height, *, repeat=False):
    """A square sheet of 2 cells^2 triangles; heights by a function of x and y."""
    x = np.linspace(-SIDE / 2, SIDE / 2, CELLS + 1)
    gx, gy = np.meshgrid(x, x)
    points = np.stack([gx, gy, height(gx, gy)], axis=-1).reshape(-1, 3)
    i = (np.arange(CELLS)[:, None] * (CELLS + 1) + np.arange(CELLS)).reshape(-1)
    first = np.stack([i, i + 1, i + CELLS + 1], axis=1)
    second = np.stack([i + 1, i + CELLS + 2, i + CELLS + 1], axis=1)
    triangles = np.concatenate([first, second])
    if repeat:
        # as many files have it: every triangle with vertices of its own
        points = points[triangles].reshape(-1, 3)
        triangles = np.arange(len(points)).reshape(-1, 3)
    return CollisionShape.mesh(points, triangles)


def flat(x, y):
    return 0.0 * x


GROUNDS = {
    "mesh": sheet(flat),
    "mesh with repeated vertices": sheet(flat, repeat=True),
    "height field": CollisionShape.height_field(np.zeros((CELLS + 1, CELLS + 1)), (SIDE, SIDE), base=0.5),
}
SHAPES = {
    "sphere": (CollisionShape.sphere(0.3), 0.3),
    "capsule": (CollisionShape.capsule(0.2, 0.4, local_transform=(0, 0, 0, 0, 0.5**0.5, 0, 0.5**0.5)), 0.2),
    "box": (CollisionShape.box((0.35, 0.25, 0.2)), 0.2),
    "cylinder": (CollisionShape.cylinder(0.3, 0.2), 0.2),
    "cone": (CollisionShape.cone(0.3, 0.25), 0.25),
    "ellipsoid": (CollisionShape.ellipsoid((0.4, 0.3, 0.2)), 0.2),
    "convex": (
        CollisionShape.convex([[x, y, z] for x in (-0.3, 0.3) for y in (-0.3, 0.3) for z in (-0.2, 0.2)]),
        0.2,
    ),
}


def slide(ground, shape, height, turn=0.0):
    """Contacts along a way over all sorts of edges, border excluded."""
    group = DETECTOR.create_group()
    group.add(ground, static=True)
    item = group.add(shape, margin=0.01)
    rng = np.random.default_rng(0)
    for k in range(300):
        x, y = np.linspace(-1.3, 1.3, 300)[k], 0.7 * np.sin(0.02 * k) + 1e-3 * rng.normal()
        if k % 7 == 0:
            # right over edges and corners
            x, y = 0.5 * round(2 * x), 0.5 * round(2 * y) if k % 14 else y
        half = 0.5 * turn * k
        item.pose = (x, y, height, 0.0, 0.0, np.sin(half), np.cos(half))
        yield item.pose, DETECTOR.collide(group)


@pytest.mark.parametrize("overlap", [1e-3, 0.0, -5e-3], ids=["overlapping", "touching", "within the margin"])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_normals_of_a_flat_ground_point_up(ground, kind, overlap):
    shape, height = SHAPES[kind]
    for _, found in slide(GROUNDS[ground], shape, height - overlap, turn=0.01):
        assert len(found)
        assert np.allclose(found.normals, [0.0, 0.0, 1.0], rtol=0, atol=1e-12)
        assert np.allclose(found.depths.max(), overlap, rtol=0, atol=1e-9)
        if kind in ("box", "convex", "cylinder"):
            assert len(found) == 4
        elif kind in ("sphere", "ellipsoid"):
            assert len(found) == 1


@pytest.mark.parametrize("kind", ["sphere", "capsule", "ellipsoid"])
def test_a_shape_deep_in_a_valley_is_as_deep_as_along_its_normal(kind):
    """Beneath the crease neither slope has the lowest point above it, and the walls between cells are nearest.

    With slopes z = |x| the depth of the lowest point l along a normal n of a slope is -n . l.
    """
    x = np.linspace(-SIDE / 2, SIDE / 2, CELLS + 1)
    heights = np.tile(np.abs(x), (CELLS + 1, 1))
    valley = CollisionShape.height_field(heights, (SIDE, SIDE), base=2.0)
    group = DETECTOR.create_group()
    group.add(valley, static=True)
    # the capsule lies along the valley: all have the lowest point of an ellipsoid across it
    across, up = {"sphere": (0.3, 0.3), "capsule": (0.2, 0.2), "ellipsoid": (0.4, 0.2)}[kind]
    shape = CollisionShape.capsule(0.2, 0.1) if kind == "capsule" else SHAPES[kind][0]
    item = group.add(shape)
    turned = (0.5**0.5, 0.0, 0.0, 0.5**0.5) if kind == "capsule" else (0.0, 0.0, 0.0, 1.0)
    for sunk in (0.15, 0.3, 0.45):
        for off in (-0.02, 0.01, 0.04):
            item.pose = (off, 0.27, -sunk, *turned)
            found = DETECTOR.collide(group)
            assert len(found) > 0
            for normal, depth in zip(found.normals, found.depths, strict=True):
                assert np.allclose(np.abs(normal), [0.5**0.5, 0, 0.5**0.5], rtol=0, atol=1e-12)
                reach = np.hypot(across * normal[0], up * normal[2])
                expected = reach - normal @ (off, 0.0, -sunk)
                assert normal[2] > 0.0 and np.isclose(depth, expected, rtol=0, atol=1e-9)
