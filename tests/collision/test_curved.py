# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Curved shapes and large hulls against answers that are worked out another way.

A direction proves a lower bound of the distance, two points an upper bound: equal bounds prove the answer.
The least penetration is compared with a search over directions by SciPy.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from worldline.collision import CollisionDetector, CollisionShape

RNG = np.random.default_rng(3)
HULL = RNG.normal(size=(300, 3))
HULL *= np.array([0.3, 0.4, 0.6]) / np.linalg.norm(HULL, axis=1)[:, None]
BOX = np.array(list(itertools.product((-0.3, 0.3), (-0.5, 0.5), (-0.4, 0.4))))
DETECTOR = CollisionDetector.create("native")


def ellipsoid(d):
    size = np.array([0.2, 0.45, 0.6])
    return size * size * d / np.linalg.norm(size * d)


def cylinder(d):
    rho = np.hypot(d[0], d[1]) or 1.0
    return np.array([0.3 * d[0] / rho, 0.3 * d[1] / rho, np.copysign(0.5, d[2])])


def cone(d):
    rho = np.hypot(d[0], d[1]) or 1.0
    base = np.array([0.4 * d[0] / rho, 0.4 * d[1] / rho, -0.5])
    apex = np.array([0.0, 0.0, 0.5])
    return apex if apex @ d > base @ d else base


SHAPES = {
    "ellipsoid": (CollisionShape.ellipsoid((0.2, 0.45, 0.6)), ellipsoid),
    "cylinder": (CollisionShape.cylinder(0.3, 0.5), cylinder),
    "cone": (CollisionShape.cone(0.4, 0.5), cone),
    "box": (CollisionShape.box((0.3, 0.5, 0.4)), lambda d: BOX[np.argmax(BOX @ d)]),
    "hull": (CollisionShape.convex(HULL), lambda d: HULL[np.argmax(HULL @ d)]),
}
CURVED = [
    pair
    for pair in itertools.combinations_with_replacement(SHAPES, 2)
    if {"ellipsoid", "cylinder", "cone"} & set(pair)
]


def reach(kinds, poses, n):
    """How far A - B reaches along the world direction `n`: minus a lower bound of the distance."""
    sides = []
    for kind, pose, sign in zip(kinds, poses, (1.0, -1.0), strict=True):
        R = Rotation.from_quat(pose[3:]).as_matrix()
        sides.append(sign * (pose[:3] + R @ SHAPES[kind][1](sign * R.T @ n)))
    return float(n @ (sides[0] + sides[1]))


def found(kinds, spread, count=60, seed=0):
    """Random poses of a pair, and the answers for them."""
    rng = np.random.default_rng(seed)
    aside = rng.normal(size=(count, 3))
    aside *= spread * rng.uniform(0.2, 1.0, (count, 1)) / np.linalg.norm(aside, axis=1)[:, None]
    poses = np.zeros((count, 2, 7))
    poses[:, 1, :3] = aside
    poses[:, :, 3:] = rng.normal(size=(count, 2, 4))
    poses[:, :, 3:] /= np.linalg.norm(poses[:, :, 3:], axis=2, keepdims=True)
    group = DETECTOR.create_group()
    for _ in range(count):
        group.add(SHAPES[kinds[0]][0])
        group.add(SHAPES[kinds[1]][0])
    group.poses = poses.reshape(-1, 7)
    return poses, DETECTOR.distances(group, np.arange(2 * count).reshape(-1, 2))


@pytest.mark.parametrize("kinds", CURVED, ids="-".join)
def test_a_plane_proves_every_distance(kinds):
    poses, answer = found(kinds, spread=2.0)
    apart = np.flatnonzero(answer.distance > 1e-6)
    assert len(apart) > 20
    for k in apart:
        bound = -reach(kinds, poses[k], answer.normal[k])
        between = answer.point_b[k] - answer.point_a[k]
        assert bound == pytest.approx(answer.distance[k], abs=1e-10)
        assert between == pytest.approx(answer.distance[k] * answer.normal[k], abs=1e-10)


@pytest.mark.parametrize("kinds", CURVED, ids="-".join)
def test_no_direction_has_less_penetration(kinds):
    poses, answer = found(kinds, spread=0.7, count=25)
    deep = np.flatnonzero(answer.distance < -1e-3)
    assert len(deep) > 8
    directions = np.random.default_rng(1).normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for k in deep:
        here, n = poses[k], answer.normal[k]
        assert reach(kinds, here, n) == pytest.approx(-answer.distance[k], abs=2e-8)
        depths = [reach(kinds, here, x) for x in directions]
        for start in [*directions[np.argsort(depths)[:4]], n]:
            other = minimize(
                lambda x, here=here: reach(kinds, here, x / np.linalg.norm(x)),
                start,
                method="Nelder-Mead",
                options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 600},
            )
            assert other.fun >= -answer.distance[k] - 2e-6


def test_the_normal_of_curved_shapes_has_all_digits():
    poses, answer = found(("ellipsoid", "ellipsoid"), spread=0.7)
    deep = np.flatnonzero(answer.distance < -1e-3)
    for k in deep:
        # at the least penetration the deepest points lie along the normal
        between = answer.point_b[k] - answer.point_a[k]
        assert between == pytest.approx(answer.distance[k] * answer.normal[k], abs=1e-12)
        n = answer.normal[k]
        R = Rotation.from_quat(poses[k, 0, 3:]).as_matrix()
        assert answer.point_a[k] == pytest.approx(R @ ellipsoid(R.T @ n), abs=1e-10)


@pytest.mark.parametrize("other", ["box", "cylinder", "hull"])
def test_the_deepest_point_of_an_ellipsoid_has_all_digits(other):
    # the point of an ellipsoid farthest along the normal, in closed form, whatever face, edge or corner it is in
    poses, answer = found(("ellipsoid", other), spread=0.8, count=600)
    deep = np.flatnonzero(answer.distance < -1e-3)
    assert len(deep) > 300
    R = Rotation.from_quat(poses[deep, 0, 3:]).as_matrix()
    wanted = np.array([r @ ellipsoid(r.T @ n) for r, n in zip(R, answer.normal[deep], strict=True)])
    np.testing.assert_allclose(answer.point_a[deep], wanted, atol=1e-9)


def test_climbing_a_large_hull_finds_its_farthest_vertex():
    # the lowest vertex over a plane, from wherever the climb starts
    rng = np.random.default_rng(5)
    quaternions = rng.normal(size=(500, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    # along axes and diagonals too, where directions lie between cells
    axes = Rotation.create_group("O").as_quat()
    quaternions = np.concatenate([quaternions, axes])
    group = DETECTOR.create_group()
    plane = group.add(CollisionShape.plane())
    hulls = [group.add(CollisionShape.convex(HULL)) for _ in quaternions]
    poses = np.zeros((len(group), 7))
    poses[:, 6] = 1.0
    poses[1:, 2] = 3.0
    poses[1:, 3:] = quaternions
    group.poses = poses
    answer = DETECTOR.distances(group, [(plane.index, hull.index) for hull in hulls])
    lowest = [3.0 + (Rotation.from_quat(q).apply(HULL))[:, 2].min() for q in quaternions]
    assert answer.distance == pytest.approx(np.array(lowest), abs=1e-14)


def ring(count, height):
    """Corners of a disc of radius 0.4 m."""
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    around = np.stack([0.4 * np.cos(angle), 0.4 * np.sin(angle)], axis=1)
    return np.concatenate([np.hstack([around, np.full((count, 1), z)]) for z in (-height, height)])


@pytest.mark.parametrize("points", [HULL, ring(100, 0.1)], ids=["stone", "disc"])
def test_contacts_of_a_large_hull_on_a_plane_are_low_vertices(points):
    rng = np.random.default_rng(6)
    for _ in range(40):
        R = Rotation.from_quat(rng.normal(size=4))
        heights = R.apply(points)[:, 2]
        lift = -heights.min() - 0.03
        group = DETECTOR.create_group()
        group.add(CollisionShape.plane())
        group.add(CollisionShape.convex(points))
        group.poses = [[0, 0, 0, 0, 0, 0, 1], [0.2, 0.1, lift, *R.as_quat()]]
        contacts = list(DETECTOR.collide(group))
        # of many, the deepest is kept but for a thousandth of their range
        assert max(contact.depth for contact in contacts) == pytest.approx(0.03, abs=1e-4)
        for contact in contacts:
            foot = (contact.point - (0.2, 0.1, lift))[:2]
            nearest = np.linalg.norm(R.apply(points)[:, :2] - foot, axis=1).argmin()
            assert contact.depth == pytest.approx(-(heights + lift)[nearest], abs=1e-12)
            assert np.linalg.norm(R.apply(points)[nearest, :2] - foot) < 1e-12


@pytest.mark.parametrize("turn", np.linspace(0.0, 0.5, 7))
def test_a_large_flat_hull_rests_on_four_spread_points(turn):
    group = DETECTOR.create_group()
    group.add(CollisionShape.plane())
    group.add(CollisionShape.convex(ring(100, 0.1)))
    group.poses = [[0, 0, 0, 0, 0, 0, 1], [0, 0, 0.099, *Rotation.from_euler("z", turn).as_quat()]]
    contacts = list(DETECTOR.collide(group))
    assert len(contacts) == 4
    points = np.array([contact.point[:2] for contact in contacts])
    assert np.linalg.norm(points, axis=1) == pytest.approx(0.4, abs=1e-12)
    # the centre of the disc is well inside of what it rests on
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    assert np.diff([*angles, angles[0] + 2.0 * np.pi]).max() < 0.6 * np.pi


def test_a_turned_box_near_a_curved_shape_is_not_left_out():
    # boxes around the shapes overlap, the shapes do not, or just so
    for gap in (-1e-6, 1e-6):
        group = DETECTOR.create_group()
        group.add(CollisionShape.ellipsoid((0.2, 0.45, 0.6)))
        group.add(CollisionShape.box((0.3, 0.5, 0.4)))
        turned = Rotation.from_euler("xyz", (0.3, 0.7, 0.2))
        n = turned.as_matrix()[:, 0]
        point = ellipsoid(n)
        centre = point + n * (0.3 + gap)
        group.poses = [[0, 0, 0, 0, 0, 0, 1], [*centre, *turned.as_quat()]]
        contacts = list(DETECTOR.collide(group))
        assert (len(contacts) > 0) == (gap < 0.0)
        if contacts:
            assert max(contact.depth for contact in contacts) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize(
    "size", [(0.4, 0.4, 0.4), (0.4, 0.4001, 0.4), (0.2, 0.5, 0.6), (0.03, 0.4, 0.5)], ids=str
)
@pytest.mark.parametrize("depth", [1e-9, 1e-4, 0.01, 0.05])
def test_ellipsoids_side_by_side_have_the_depth_of_their_axes(size, depth):
    # of two that are pushed together along their least axis, by symmetry; shallow and deeper than their cores
    offset = np.array([2.0 * size[0] - min(depth, size[0]), 0.0, 0.0])
    group = DETECTOR.create_group()
    for _ in range(2):
        group.add(CollisionShape.ellipsoid(size))
    turn = Rotation.from_rotvec([0.3, -1.1, 0.7])
    start = np.array([0.1, 0.2, 0.3])
    group.poses = np.array([[*p, *turn.as_quat()] for p in (start, start + turn.apply(offset))])
    answer = DETECTOR.distances(group, np.array([[0, 1]]))
    assert answer.distance[0] == pytest.approx(-min(depth, size[0]), abs=1e-14)
    assert answer.normal[0] == pytest.approx(turn.apply((1.0, 0.0, 0.0)), abs=1e-9)


@pytest.mark.parametrize("kinds", CURVED, ids="-".join)
def test_an_answer_does_not_depend_on_the_pairs_before(kinds):
    poses, answer = found(kinds, spread=0.7, count=40)
    for k in range(0, 40, 3):
        group = DETECTOR.create_group()
        group.add(SHAPES[kinds[0]][0])
        group.add(SHAPES[kinds[1]][0])
        group.poses = poses[k]
        alone = DETECTOR.distances(group, np.array([[0, 1]]))
        assert alone.distance[0] == answer.distance[k]
        assert np.array_equal(alone.normal[0], answer.normal[k])
