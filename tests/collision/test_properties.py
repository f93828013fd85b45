# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold for every pair of shapes: symmetry, invariance, continuity, finite answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from worldline._src.spatial.poses import compose
from worldline.collision import CollisionDetector, CollisionOption, CollisionShape

RNG = np.random.default_rng(7)
SHAPES = {
    "plane": CollisionShape.plane(),
    "sphere": CollisionShape.sphere(0.5),
    "capsule": CollisionShape.capsule(0.3, 0.5),
    "box": CollisionShape.box((0.4, 0.5, 0.6)),
    "cylinder": CollisionShape.cylinder(0.4, 0.5),
    "cone": CollisionShape.cone(0.5, 0.6),
    "ellipsoid": CollisionShape.ellipsoid((0.3, 0.5, 0.7)),
    "convex": CollisionShape.convex(RNG.normal(size=(40, 3)) * 0.4),
    "mesh": CollisionShape.mesh([[-1, -1, 0], [1, -1, 0.1], [1, 1, 0], [-1, 1, 0.2]], [[0, 1, 2], [0, 2, 3]]),
    "height_field": CollisionShape.height_field(0.2 * RNG.random((4, 5)), (2.0, 2.0), base=0.5),
}
PAIRS = [
    p
    for p in itertools.combinations_with_replacement(SHAPES, 2)
    if p not in {("plane", "plane"), ("plane", "height_field"), ("height_field", "height_field")}
]
DETECTOR = CollisionDetector.create("native")
PROVEN = 2e-8
"""Depths of round shapes are proven to 1e-8 of the extent of both shapes together, about 2 m here."""


def random_pose(rng, spread=1.0):
    q = rng.normal(size=4)
    return np.concatenate([spread * rng.normal(size=3), q / np.linalg.norm(q)])


def distances(a, b, poses_a, poses_b):
    """Signed distances of one pair of shapes at many poses."""
    group = DETECTOR.create_group()
    for _ in poses_a:
        group.add(a)
        group.add(b)
    group.poses = np.stack([poses_a, poses_b], axis=1).reshape(-1, 7)
    return DETECTOR.distances(group, np.arange(2 * len(poses_a)).reshape(-1, 2))


def many(rng, count=60):
    return np.array([random_pose(rng) for _ in range(count)]), np.array(
        [random_pose(rng) for _ in range(count)]
    )


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_swapping_a_pair_mirrors_it(kinds):
    a, b = (SHAPES[k] for k in kinds)
    poses_a, poses_b = many(np.random.default_rng(1))
    one, two = distances(a, b, poses_a, poses_b), distances(b, a, poses_b, poses_a)
    assert np.allclose(one.distance, two.distance, rtol=0, atol=PROVEN)
    clear = np.abs(one.distance) > 1e-3
    same = np.linalg.norm(one.normal + two.normal, axis=1) < 1e-4
    # of two equally short ways out either may be taken
    assert same[clear].mean() > 0.97


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_rigid_motion_moves_the_answer_along(kinds):
    a, b = (SHAPES[k] for k in kinds)
    rng = np.random.default_rng(2)
    poses_a, poses_b = many(rng)
    move = random_pose(rng, 3.0)
    one = distances(a, b, poses_a, poses_b)
    two = distances(a, b, *(np.array([compose(move, p) for p in poses]) for poses in (poses_a, poses_b)))
    assert np.allclose(one.distance, two.distance, rtol=0, atol=PROVEN)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_distance_is_continuous_along_a_sweep(kinds):
    a, b = (SHAPES[k] for k in kinds)
    rng = np.random.default_rng(3)
    steps = 400
    start = random_pose(rng)
    path = np.repeat(random_pose(rng)[None], steps, axis=0)
    path[:, :3] = start[:3] + np.linspace(-2.0, 2.0, steps)[:, None] * np.array([0.6, 0.0, 0.8])
    found = distances(a, b, np.repeat(start[None], steps, axis=0), path)
    jump = np.abs(np.diff(found.distance))
    if "mesh" in kinds or "height_field" in kinds:
        # through a surface the side changes: the depth may fall from that of one side to the other's
        jump = jump[(found.distance[1:] > 0) & (found.distance[:-1] > 0)]
    # a distance changes no faster than the shape moves
    assert jump.max(initial=0.0) <= 4.0 / (steps - 1) + 1e-9


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_contacts_agree_with_distances(kinds):
    a, b = (SHAPES[k] for k in kinds)
    rng = np.random.default_rng(4)
    poses_a, poses_b = many(rng)
    found = distances(a, b, poses_a, poses_b)
    for k in range(len(poses_a)):
        first, second = DETECTOR.create_group(), DETECTOR.create_group()
        first.add(a, pose=poses_a[k])
        second.add(b, pose=poses_b[k])
        result = DETECTOR.collide(first, second, CollisionOption(margin=0.05))
        if abs(found.distance[k]) < 1e-9 or abs(found.distance[k] - 0.05) < 1e-9:
            continue
        assert (len(result) > 0) == (found.distance[k] <= 0.05)
        if len(result):
            assert np.isfinite(result.points).all()
            assert np.allclose(np.linalg.norm(result.normals, axis=1), 1.0, atol=1e-9)
            depth = -found.distance[k]
            if depth > 0.0 and ("mesh" in kinds or "height_field" in kinds):
                # within a surface a contact pushes the surface's way, which is longer than a triangle's own
                continue
            assert result.depths.max() == pytest.approx(depth, abs=2e-3 * abs(depth) + 1e-6)
            assert result.depths.min() >= -0.05 - 1e-12


@pytest.mark.parametrize(
    "kinds", [p for p in PAIRS if not {"plane", "mesh", "height_field"} & set(p)], ids="-".join
)
def test_points_lie_on_the_surfaces(kinds):
    shapes = [SHAPES[k] for k in kinds]
    poses = many(np.random.default_rng(5), 40)
    found = distances(*shapes, *poses)
    for side, points in enumerate((found.point_a, found.point_b)):
        group = DETECTOR.create_group()
        item = group.add(shapes[side])
        for pose, point in zip(poses[side], points, strict=True):
            item.pose = pose
            assert abs(DETECTOR.closest_point(group, point).distance) < 1e-6
    apart = np.linalg.norm(found.point_b - found.point_a, axis=1)
    assert np.allclose(apart, np.abs(found.distance), rtol=0, atol=1e-9)


def slides(group):
    """A box in a slow slide and turn, with the jitter of a solver, and its contacts."""
    box = group.add(CollisionShape.box((0.5, 0.3, 0.2)), margin=0.01)
    rng = np.random.default_rng(0)
    for step in range(1000):
        half = 0.5 * 1e-3 * step
        tilt = 1e-7 * rng.normal(size=2)
        box.pose = (1e-3 * step, 2e-4 * step, 0.2 - 1e-6 * rng.random(), *tilt, np.sin(half), np.cos(half))
        yield box, DETECTOR.collide(group)


def test_a_box_sliding_on_a_plane_keeps_its_contacts():
    group = DETECTOR.create_group()
    group.add(CollisionShape.plane())
    names = None
    for box, result in slides(group):
        assert len(result) == 4
        features = result.features.tolist()
        names = names or features
        assert features == names
        corners = result.points[:, :2] - box.pose[:2]
        assert np.allclose(np.linalg.norm(corners, axis=1), np.hypot(0.5, 0.3), atol=1e-5)


def test_a_box_sliding_on_a_box_keeps_its_contacts():
    group = DETECTOR.create_group()
    group.add(CollisionShape.box((5.0, 5.0, 0.5)), pose=(0, 0, -0.5, 0, 0, 0, 1), static=True)
    names = None
    for _, result in slides(group):
        features = sorted(result.features.tolist())
        names = names or features
        assert features == names
        assert len(names) == 4
