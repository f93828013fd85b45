# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The native detector: Worldline's own kernels."""

from __future__ import annotations

import weakref
from typing import ClassVar

import numpy as np

from worldline._src.collision import results
from worldline._src.collision.detector import CollisionDetector, check_pairs, check_query, rays_of
from worldline._src.collision.group import CollisionGroup, OtherGroup
from worldline._src.collision.scene import NativeScene, Rays
from worldline._src.errors import ArgumentError, require_kind
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.spatial.poses import VectorLike, numbers

_NO_POINT = np.zeros(3)


class NativeDetector(CollisionDetector):
    """Worldline's own detector: every shape against every other, compiled once per machine."""

    name: ClassVar[str] = "native"

    def __init__(self) -> None:
        self._scenes: weakref.WeakKeyDictionary[CollisionGroup, NativeScene] = weakref.WeakKeyDictionary()

    def scene(self, group: CollisionGroup, other: OtherGroup = None) -> NativeScene:
        """The tables of a group, kept while its objects and filters stay; those of two are made anew."""
        require_kind(group, CollisionGroup, "group", "scene")
        if other is not None:
            require_kind(other, CollisionGroup, "other", "scene")
            return NativeScene(group, other)
        scene = self._scenes.get(group)
        if scene is None or not scene.is_current:
            scene = self._scenes[group] = NativeScene(group)
        return scene

    def collide(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.CollisionOption | None = None
    ) -> results.CollisionResult:
        check_query("collide", group, other, option, results.CollisionOption)
        option = option or results.CollisionOption()
        groups = (group, other or group)
        if not len(group) or (other is not None and not len(other)):
            return _contacts(None, np.zeros((0, 7)), np.zeros((0, 6), np.int64), groups)
        scene = self.scene(group, other)
        rows, ids = scene.contacts(option.margin)
        limit = 1 if option.stop_at_first else option.max_contacts
        if limit is not None and len(rows) > limit:
            # the deepest, in the order they were found
            chosen = np.sort(np.argsort(-rows[:, 6], kind="stable")[:limit])
            rows, ids = rows[chosen], ids[chosen]
        return _contacts(scene, rows, ids, groups)

    def distances(self, group: CollisionGroup, pairs: results.PairsLike) -> results.PairDistances:
        wanted = check_pairs(group, pairs)
        scene = self.scene(group)
        if len(scene.shape_body) == len(group):
            _refuse_skipped(scene, wanted)
            # one copy of the table's rows; the parts of the answer are columns of it
            rows = scene.distances(wanted).copy()
        else:
            rows = _of_compounds(scene, wanted)
        return results.PairDistances(rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10])

    def near(self, group: CollisionGroup, reach: float) -> tuple[np.ndarray, results.PairDistances]:
        """Pairs of objects whose shapes are within a distance of each other, (n, 2), with these distances.

        Objects of several shapes stand in it with every pair of them.
        """
        require_kind(group, CollisionGroup, "group", "near")
        reach = float(numbers(reach, (), "reach"))
        if not 0.0 <= reach < 1e9:
            raise ArgumentError(f"reach must be a distance of 0 m or more, got {reach}")
        if not len(group):
            rows, pairs = np.zeros((0, 10)), np.zeros((0, 2), np.int64)
        else:
            scene = self.scene(group)
            scene.find_pairs(margin=reach)
            pairs = _measured(scene, scene.candidates().copy())
            rows = scene.distances(pairs).copy() if len(pairs) else np.zeros((0, 10))
            close = rows[:, 0] <= reach
            rows, pairs = rows[close], scene.shape_body[pairs[close]]
        return pairs, results.PairDistances(rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10])

    def distance(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.DistanceOption | None = None
    ) -> results.DistanceResult:
        check_query("distance", group, other, option, results.DistanceOption)
        option = option or results.DistanceOption()
        nothing = results.DistanceResult(
            np.inf, _NO_POINT.copy(), _NO_POINT.copy(), _NO_POINT.copy(), None, None
        )
        if not len(group) or (other is not None and not len(other)):
            return nothing
        scene = self.scene(group, other)
        pairs = _all_pairs(scene, option.upper_bound)
        if not len(pairs):
            return nothing
        rows = scene.distances(pairs)
        best = int(np.argmin(rows[:, 0]))
        if not rows[best, 0] <= option.upper_bound:
            return nothing
        row, (i, j) = rows[best].copy(), scene.shape_body[pairs[best]].tolist()
        second = other if other is not None else group
        flip = other is not None and i >= len(group)
        if flip:
            i, j = j, i
            row = np.concatenate([row[:1], -row[1:4], row[7:10], row[4:7]])
        if other is not None:
            j -= len(group)
        return results.DistanceResult(float(row[0]), row[1:4], row[4:7], row[7:10], group[i], second[j])

    def raycast(
        self,
        group: CollisionGroup,
        start: VectorLike,
        end: VectorLike,
        option: results.RaycastOption | None = None,
    ) -> results.RaycastResult:
        check_query("raycast", group, None, option, results.RaycastOption)
        a, b = rays_of(start, end)
        if option is not None and option.all_hits:
            return self._all_hits(group, a, b)
        if not len(group):
            none = Rays(np.full(len(a), np.inf), b.copy(), np.zeros_like(a), np.full((len(a), 2), -1))
            return _hits(None, none, group)
        scene = self.scene(group)
        return _hits(scene, scene.cast(a, b), group)

    def _all_hits(self, group: CollisionGroup, a: np.ndarray, b: np.ndarray) -> results.RaycastResult:
        """Every object on one ray, nearest first."""
        if len(a) != 1:
            raise ArgumentError(f"all_hits takes one ray at a time, got {len(a)}")
        scene = self.scene(group)
        parts = [scene.cast(a, b, only=k) for k in range(len(group))]
        if not parts:
            return _hits(
                scene, Rays(np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 2), int)), group
            )
        every = Rays(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        hitting = np.flatnonzero(every.share <= 1.0)
        order = hitting[np.argsort(every.share[hitting], kind="stable")]
        return _hits(scene, Rays(*(column[order] for column in every)), group)


def _contacts(
    scene: NativeScene | None, rows: np.ndarray, ids: np.ndarray, groups: tuple
) -> results.CollisionResult:
    objects = ids[:, 2:4].copy()
    shapes = ids[:, 0:2].copy()
    if scene is not None:
        shapes -= scene.first_shape[objects]
        if groups[0] is not groups[1]:
            objects[:, 1] -= len(groups[0])
    return results.CollisionResult(
        rows[:, 0:3].copy(), rows[:, 3:6].copy(), rows[:, 6].copy(), objects, shapes, ids[:, 4].copy(), groups
    )


def _refuse_skipped(scene: NativeScene, pairs: np.ndarray) -> None:
    """Half spaces among themselves, and height fields with them, have no distance."""
    if not scene.has_skipped:
        return
    kinds = scene.arenas.column.shape_type
    present = np.unique(kinds)
    bad = [(a, b) for a in present for b in present if pair_family(int(a), int(b)) == SKIP]
    for a, b in bad:
        if ((kinds[pairs[:, 0]] == a) & (kinds[pairs[:, 1]] == b)).any():
            raise ArgumentError("planes and height fields have no distance from each other")


def _of_compounds(scene: NativeScene, pairs: np.ndarray) -> np.ndarray:
    """The closest two shapes of every pair of objects."""
    best = np.full((len(pairs), 10), np.inf)
    shapes = [np.flatnonzero(scene.shape_body == k) for k in range(int(scene.shape_body[-1]) + 1)]
    every, owner = [], []
    for row, (a, b) in enumerate(pairs.tolist()):
        for i in shapes[a].tolist():
            for j in shapes[b].tolist():
                every.append((i, j))
                owner.append(row)
    table = np.array(every, np.int64).reshape(-1, 2)
    _refuse_skipped(scene, table)
    rows = scene.distances(table)
    for row, found in zip(owner, rows, strict=True):
        if found[0] < best[row, 0]:
            best[row] = found
    return best


def _all_pairs(scene: NativeScene, bound: float) -> np.ndarray:
    """Pairs of shapes the filters allow and whose boxes are within a distance of each other."""
    bound = min(bound, 1e9)
    reach = min(bound, _reach(scene))
    while True:
        count = scene.find_pairs(margin=reach)
        if count or reach >= bound:
            pairs = _measured(scene, scene.candidates().copy())
            if len(pairs) or reach >= bound:
                return _within(scene, pairs, bound)
        reach = min(bound, 8.0 * reach)


def _within(scene: NativeScene, pairs: np.ndarray, bound: float) -> np.ndarray:
    """Widen the search to the distance of the best pair found: a pair farther by box may be closer."""
    if not len(pairs):
        return pairs
    best = float(scene.distances(pairs)[:, 0].min())
    scene.find_pairs(margin=min(bound, max(best, 0.0)))
    wide = _measured(scene, scene.candidates().copy())
    return wide if len(wide) else pairs


def _measured(scene: NativeScene, pairs: np.ndarray) -> np.ndarray:
    """Those pairs of shapes that have a distance."""
    kinds = scene.arenas.column.shape_type
    keep = [pair_family(int(kinds[i]), int(kinds[j])) != SKIP for i, j in pairs.tolist()]
    return pairs[np.array(keep, bool)]


def _reach(scene: NativeScene) -> float:
    """A first guess of the distance to look within: a typical size."""
    scene.find_pairs()
    box = scene.arenas.column.box
    sides = np.minimum((box[:, 3:] - box[:, :3]).max(axis=1), 1e6)
    return float(max(np.median(sides), 1e-6))


def _hits(scene: NativeScene | None, rays: Rays, group: CollisionGroup) -> results.RaycastResult:
    shapes, triangles = rays.hit[:, 0].copy(), rays.hit[:, 1].copy()
    objects = shapes.copy()
    if scene is not None and len(shapes):
        missed = shapes < 0
        objects = np.where(missed, -1, scene.shape_body[shapes])
        shapes -= np.where(missed, 0, scene.first_shape[objects])
    return results.RaycastResult(rays.share, rays.point, rays.normal, objects, shapes, triangles, group)


CollisionDetector.register("native", NativeDetector)
