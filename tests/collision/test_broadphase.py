# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Candidate pairs against all pairs of boxes, over many steps, and every filter."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.collision.native import NativeDetector
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.broadphase.tree import BUILT
from worldline._src.kernels.narrowphase.tables import CONTACTS, FAT, MOVED, PAIRS
from worldline.collision import CollisionShape


def empty():
    """A detector and a group without shapes."""
    detector = NativeDetector()
    return detector, detector.create_group()


def boxes_that_meet(scene, count):
    """All pairs of boxes that overlap, by looking at every pair."""
    box = scene.arenas.column["box"]
    i, j = np.triu_indices(count, 1)
    meet = ((box[i, :3] <= box[j, 3:]) & (box[j, :3] <= box[i, 3:])).all(axis=1)
    return set(zip(i[meet].tolist(), j[meet].tolist(), strict=True))


def test_pairs_are_those_of_brute_force_step_after_step():
    rng = np.random.default_rng(0)
    detector, group = empty()
    count = 300
    for k in range(count):
        r = 0.05 * 10 ** rng.uniform(0, 1)
        shape = CollisionShape.sphere(r) if k % 2 else CollisionShape.box((r, r, r))
        group.add(shape, static=k % 10 == 0)
    poses = np.hstack([rng.random((count, 3)) * 3.0, np.tile([0, 0, 0, 1.0], (count, 1))])
    # slow against the skin of the smallest box, 0.01 m
    velocity = 0.002 * rng.normal(size=(count, 3))
    velocity[::10] = 0.0
    quiet = 0
    for step in range(60):
        poses[:, :3] += velocity
        if step == 30:
            # a few jump far, one static object is moved
            poses[5:9, :3] += 2.0
            poses[20, :3] += 0.5
        group.poses = poses
        scene = detector.scene(group)
        scene.find_pairs()
        pairs = scene.candidates()
        expected = {(i, j) for i, j in boxes_that_meet(scene, count) if i % 10 or j % 10}
        found = [tuple(p) for p in pairs.tolist()]
        assert found == sorted(expected)
        quiet += int(scene.arenas.column["counter"][MOVED]) < count // 2
    assert quiet > 40  # the list really lasts


def test_candidates_do_not_depend_on_history():
    rng = np.random.default_rng(1)
    detector, group = empty()
    for _ in range(100):
        group.add(CollisionShape.sphere(0.2))
    poses = np.hstack([rng.random((100, 3)) * 2.0, np.tile([0, 0, 0, 1.0], (100, 1))])
    for _ in range(5):
        poses[:, :3] += 0.05 * rng.normal(size=(100, 3))
        group.poses = poses
        here = detector.collide(group)
        fresh = NativeDetector().collide(group)
        assert np.array_equal(here.points, fresh.points)
        assert np.array_equal(here.features, fresh.features)


def test_fast_shapes_above_half_spaces():
    # shapes that leave their boxes every few steps, along either normal, and turn back
    rng = np.random.default_rng(2)
    detector, group = empty()
    count = 60
    for _ in range(count):
        group.add(CollisionShape.sphere(0.1))
    group.add(CollisionShape.plane((0, 0, 1)), static=True)
    group.add(CollisionShape.plane((1, 0, 0)), static=True)
    poses = np.hstack([rng.random((count + 2, 3)), np.tile([0, 0, 0, 1.0], (count + 2, 1))])
    poses[count:, :3] = 0.0
    velocity = 0.05 * rng.normal(size=(count, 3))
    velocity[::2, :2] = velocity[1::2, 1:] = 0.0
    moved = 0
    for step in range(60):
        poses[:count, :3] += velocity * (1.0 if step < 40 else -1.0)
        group.poses = poses
        scene = detector.scene(group)
        scene.find_pairs()
        found = [tuple(pair) for pair in scene.candidates().tolist()]
        p = poses[:count, :3]
        floor = {(k, count) for k in np.flatnonzero(p[:, 2] <= 0.1).tolist()}
        wall = {(k, count + 1) for k in np.flatnonzero(p[:, 0] <= 0.1).tolist()}
        assert found == sorted(boxes_that_meet(scene, count) | floor | wall)
        moved += int(scene.arenas.column["counter"][MOVED])
    # they left their boxes, and not in every step
    assert 60 * count // 10 < moved < 60 * count // 2


@pytest.mark.parametrize("room", [110, 40])
def test_without_room_for_all_pairs(room):
    # what a step does with less room than it needs: no list, and pairs that do not fit are left out
    rng = np.random.default_rng(2)
    _, group = empty()
    group.add(CollisionShape.plane(), static=True)
    for k in range(60):
        group.add(CollisionShape.sphere(0.1), static=k % 7 == 0)
    poses = np.hstack([rng.random((61, 3)) * [1.0, 1.0, 0.8], np.tile([0, 0, 0, 1.0], (61, 1))])
    poses[0, :3] = 0.0
    group.poses = poses
    scene = NativeDetector().scene(group)
    scene.find_pairs()
    expected = scene.candidates().tolist()
    assert int(scene.arenas.column["counter"][FAT]) > 110 > len(expected) > 40
    scene.arenas.sizes["npair"] = room
    scene.arenas._lay_out()
    scene.arenas.column["tree_root"][BUILT] = 0
    for _ in range(3):
        scene._run(shape_poses, broad, *scene.narrow)
        assert int(scene.arenas.column["counter"][PAIRS]) == len(expected)
        found = scene.arenas.column["pair"][: min(room, len(expected))].tolist()
        assert found == sorted(found)
        assert {tuple(p) for p in found} <= {tuple(p) for p in expected}
    if room >= len(expected):
        assert found == expected
    ids = scene.arenas.column["contact_id"][: int(scene.arenas.column["counter"][CONTACTS])]
    assert len(ids) and ids[:, 5].max() < room


@pytest.fixture
def three():
    detector, group = empty()
    items = [group.add(CollisionShape.sphere(1.0), pose=(0.5 * k, 0, 0, 0, 0, 0, 1)) for k in range(3)]
    return detector, group, items


def touching(detector, group):
    return sorted(map(tuple, detector.collide(group).objects.tolist()))


def test_ignored_pairs(three):
    detector, group, (a, b, c) = three
    assert touching(detector, group) == [(0, 1), (0, 2), (1, 2)]
    group.filter.set_ignored(b, a)
    assert group.filter.is_ignored(a, b)
    assert touching(detector, group) == [(0, 2), (1, 2)]
    group.filter.clear_ignored()
    assert len(touching(detector, group)) == 3
    with pytest.raises(ValueError, match="twice"):
        group.filter.set_ignored(c, c)
    with pytest.raises(RuntimeError, match="another group"):
        group.filter.set_ignored(a, detector.create_group().add(CollisionShape.sphere(1.0)))


def test_parents_welds_and_quiet_groups(three):
    detector, group, (a, b, c) = three
    group.filter.set_parent(b, a)
    assert touching(detector, group) == [(0, 2), (1, 2)]
    group.filter.weld_together([a, c])
    # the parent's weld counts as the parent
    assert touching(detector, group) == []
    group.filter.set_explicit(a, c)
    assert touching(detector, group) == [(0, 2)]


def test_self_collision_off(three):
    detector, group, (a, b, _) = three
    group.filter.disable_self_collision([a, b])
    assert touching(detector, group) == [(0, 2), (1, 2)]


def test_masks():
    detector, group = empty()
    group.add(CollisionShape.sphere(1.0), collide_group=1, collide_with=2)
    group.add(CollisionShape.sphere(1.0), collide_group=2, collide_with=0)
    group.add(CollisionShape.sphere(1.0), collide_group=4, collide_with=0)
    # one side saying so is enough
    assert touching(detector, group) == [(0, 1)]


def test_shapes_of_one_object_do_not_touch():
    detector, group = empty()
    group.add([CollisionShape.sphere(1.0), CollisionShape.box((1, 1, 1))])
    assert len(detector.collide(group)) == 0
    group.add(CollisionShape.sphere(1.0), pose=(0, 0, 1.5, 0, 0, 0, 1))
    assert {tuple(s) for s in detector.collide(group).shapes.tolist()} == {(0, 0), (1, 0)}
