# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bad and extreme input: refused when the shape is made, or answered with finite numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from test_properties import DETECTOR, PAIRS, SHAPES, distances

from worldline.collision import CollisionDetector, CollisionOption, CollisionShape, DistanceOption

REFUSED = {
    "zero radius": lambda: CollisionShape.sphere(0.0),
    "negative radius": lambda: CollisionShape.capsule(-1.0, 1.0),
    "NaN": lambda: CollisionShape.box((1.0, np.nan, 1.0)),
    "infinite": lambda: CollisionShape.ellipsoid((1.0, np.inf, 1.0)),
    "flat cylinder": lambda: CollisionShape.cylinder(1.0, 0.0),
    "huge": lambda: CollisionShape.sphere(1e12),
    "no normal": lambda: CollisionShape.plane((0, 0, 0)),
    "points on a line": lambda: CollisionShape.convex(np.outer(np.arange(5.0), [1, 2, 3])),
    "no points": lambda: CollisionShape.convex(np.zeros((0, 3))),
    "no area": lambda: CollisionShape.mesh(np.outer(np.arange(3.0), [1, 2, 3]), [[0, 1, 2]]),
    "missing vertex": lambda: CollisionShape.mesh(np.eye(3), [[0, 1, 3]]),
    "float triangles": lambda: CollisionShape.mesh(np.eye(3), [[0.0, 1.0, 2.0]]),
    "one row of heights": lambda: CollisionShape.height_field(np.zeros((1, 4)), (1, 1)),
    "zero quaternion": lambda: CollisionShape.sphere(1.0, local_transform=(0, 0, 0, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_a_reason(make):
    with pytest.raises(ValueError, match=r"must|no convex hull|needs"):
        make()


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
@pytest.mark.parametrize("where", [0.0, 1e5])
def test_one_centre_aligned_and_far_away(kinds, where):
    a, b = (SHAPES[k] for k in kinds)
    turns = [(0, 0, 0, 1), (0.5**0.5, 0, 0, 0.5**0.5), (0.5, 0.5, 0.5, 0.5), (1, 0, 0, 0)]
    poses = np.array([[where, -where, where, *q, *p] for q, p in itertools.product(turns, turns)])
    found = distances(a, b, poses[:, :7], np.hstack([poses[:, :3], poses[:, 7:]]))
    for value in (found.distance, found.normal, found.point_a, found.point_b):
        assert np.isfinite(value).all()
    assert np.allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-9)
    here = distances(a, b, poses[:, :7] * [0, 0, 0, 1, 1, 1, 1], np.hstack([0 * poses[:, :3], poses[:, 7:]]))
    assert np.allclose(found.distance, here.distance, rtol=0, atol=1e-9)


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_huge_ratios_of_size(ratio):
    rng = np.random.default_rng(0)
    big = {
        "sphere": CollisionShape.sphere(ratio),
        "box": CollisionShape.box((ratio, ratio, ratio)),
        "cylinder": CollisionShape.cylinder(ratio, ratio),
        "convex": CollisionShape.convex(ratio * rng.normal(size=(20, 3))),
    }
    for a, b in itertools.product(big.values(), SHAPES.values()):
        turn = rng.normal(size=(20, 4))
        turn /= np.linalg.norm(turn, axis=1)[:, None]
        first = np.hstack([ratio * rng.normal(size=(20, 3)), turn])
        second = np.tile([0, 0, 0, 0, 0, 0, 1.0], (20, 1))
        found = distances(a, b, first, second)
        assert np.isfinite(found.distance).all()
        assert np.isfinite(found.normal).all()


def test_flat_hull_and_broken_mesh():
    plate = CollisionShape.convex([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    # three triangles at one edge, one repeated, one without area
    soup = CollisionShape.mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0], [2, 0, 0]],
        [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 2], [0, 1, 5]],
    )
    ball = CollisionShape.sphere(0.25)
    for shape, height in ((plate, 0.5), (soup, 1.25)):
        group = DETECTOR.create_group()
        group.add(shape)
        group.add(ball, pose=(0.2, 0.2, height, 0, 0, 0, 1))
        found = DETECTOR.distances(group, np.array([[0, 1]]))
        assert found.distance[0] > 0.1
        group[1].pose = (0.2, 0.2, 0.1, 0, 0, 0, 1)
        assert DETECTOR.collide(group).is_collision


def test_planes_have_no_distance_from_each_other():
    group = DETECTOR.create_group()
    group.add(CollisionShape.plane())
    group.add(CollisionShape.plane((0, 1, 0)))
    with pytest.raises(ValueError, match="no distance"):
        DETECTOR.distances(group, np.array([[0, 1]]))
    assert len(DETECTOR.collide(group)) == 0
    assert DETECTOR.distance(group).distance == np.inf


def test_bad_arguments_change_nothing():
    group = DETECTOR.create_group()
    item = group.add(CollisionShape.sphere(1.0))
    before = item.pose
    with pytest.raises(ValueError, match="finite"):
        item.pose = (np.nan, 0, 0, 0, 0, 0, 1)
    with pytest.raises(ValueError, match="7"):
        group.poses = np.zeros((2, 7))
    with pytest.raises(ValueError, match="margin"):
        group.add(CollisionShape.sphere(1.0), margin=-1.0)
    with pytest.raises(ValueError, match="CollisionShape"):
        group.add([])
    with pytest.raises(ValueError, match="did you mean"):
        CollisionDetector.create("nativ")
    with pytest.raises(ValueError, match="max_contacts"):
        CollisionOption(max_contacts=0)
    with pytest.raises(ValueError, match="upper_bound"):
        DistanceOption(upper_bound=-1.0)
    assert np.array_equal(item.pose, before)
    assert len(group) == 1
