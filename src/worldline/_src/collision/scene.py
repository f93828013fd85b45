# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The native engine behind the detector: arenas of one or two groups, and the stages run on them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from worldline._src.collision.arenas import Arenas, BodyRow, ShapeRow
from worldline._src.collision.group import CollisionGroup
from worldline._src.collision.run import fill_poses, run_stages, set_links
from worldline._src.collision.single_ray import SingleRay
from worldline._src.jit import DISABLED, Stage
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.broadphase.cast import cast_rays
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.narrowphase.dispatch import (
    FAMILY_LINKS,
    FAMILY_STAGES,
    narrow_sort,
    pair_family,
)
from worldline._src.kernels.narrowphase.tables import (
    CONTACT_MODE,
    CONTACTS,
    DISTANCE_MODE,
    FAT,
    MODE,
    PAIRS,
    SKIP,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array


class Rays(NamedTuple):
    """Nearest hits of rays: shares of the way, points, normals, (shape, triangle); see `cast_rays`."""

    share: Array
    point: Array
    normal: Array
    hit: np.ndarray


class NativeScene:
    """Tables of the objects of a group, or of two groups of which only mixed pairs are tested."""

    def __init__(self, first: CollisionGroup, second: CollisionGroup | None = None) -> None:
        self.groups = (first,) if second is None else (first, second)
        self.versions = tuple(group.version for group in self.groups)
        objects = [item for group in self.groups for item in group]
        starts = [0, len(first)]
        bodies, ignored, explicit = [], [], []
        for side, group in enumerate(self.groups):
            rules, at = group.filter, starts[side]
            for item in group:
                quiet = rules.quiet.get(item.index, -1)
                parent = rules.parent.get(item.index, -1)
                if parent >= 0:
                    parent = at + rules.weld.get(parent, parent)
                bodies.append(
                    BodyRow(
                        fixed=item.is_static and second is None,
                        weld=at + rules.weld.get(item.index, item.index),
                        parent=parent,
                        tree=side if second is not None else quiet,
                    )
                )
        rows = [
            ShapeRow(shape, body, item.margin, item.collide_group, item.collide_with)
            for body, item in enumerate(objects)
            for shape in item.shapes
        ]
        self.shape_body = np.array([row.body for row in rows], np.int64)
        self.first_shape = np.searchsorted(self.shape_body, np.arange(len(objects)))
        if second is None:
            ignored = self._shape_keys(first.filter.ignored, len(rows))
            explicit = self._shape_keys(first.filter.explicit, len(rows))
        self.arenas = Arenas(rows, bodies, ignored=ignored, explicit=explicit)
        self.margins = self.arenas.column.shape_margin.copy()
        types = sorted({int(row.shape.type) for row in rows})
        present = {pair_family(a, b) for a in types for b in types}
        self.has_skipped = SKIP in present
        """Whether there are shapes without a distance from each other."""
        families = sorted(present - {SKIP})
        self.narrow: tuple[Stage, ...] = (narrow_sort, *(FAMILY_STAGES[f] for f in families))
        self.links = tuple(sorted({link for f in families for link in FAMILY_LINKS.get(f, ())}))
        self._cast_at: tuple[int, ...] | None = None
        self._single: tuple[Array, SingleRay] | None = None

    def _shape_keys(self, pairs: Iterable[tuple[int, int]], count: int) -> list[int]:
        """Pairs of objects as keys of all their pairs of shapes."""
        keys = []
        for a, b in pairs:
            for i in np.flatnonzero(self.shape_body == a).tolist():
                for j in np.flatnonzero(self.shape_body == b).tolist():
                    keys.append(min(i, j) * count + max(i, j))
        return keys

    @property
    def is_current(self) -> bool:
        """Whether the groups have the objects and filters this was built from."""
        return self.versions == tuple(group.version for group in self.groups)

    def _run(self, *stages: Stage) -> None:
        a = self.arenas
        run_stages(stages, a.m, a.c, a.args, a.d)

    def _place(self, margin: float) -> None:
        self._cast_at = None
        column = self.arenas.column
        at = 0
        for group in self.groups:
            fill_poses(group.pose_table, column.body_X_W[at : at + len(group)])
            at += len(group)
        # each of a pair brings half of the query's own margin
        column.shape_margin[...] = self.margins + 0.5 * margin

    def find_pairs(self, margin: float = 0.0) -> int:
        """Candidate pairs for the groups' poses; returns how many."""
        self._place(margin)
        self._run(shape_poses, broad)
        while (needed := int(self.arenas.column.counter[[PAIRS, FAT]].max())) > self.arenas.sizes["npair"]:
            self.arenas.make_room(pairs=needed)
            self._run(shape_poses, broad)
        return int(self.arenas.column.counter[PAIRS])

    def contacts(self, margin: float = 0.0) -> tuple[Array, np.ndarray]:
        """All contacts: rows of position, normal, depth, and of identity; views of the tables."""
        self.find_pairs(margin)
        while True:
            column = self.arenas.column
            column.counter[MODE] = CONTACT_MODE
            set_links(self.links, self.arenas.args)
            self._run(*self.narrow)
            count = int(column.counter[CONTACTS])
            if count <= self.arenas.sizes["ncontact"]:
                return column.contact[:count], column.contact_id[:count]
            self.arenas.make_room(contacts=count)

    def distances(self, pairs: np.ndarray) -> Array:
        """Rows of distance, normal and points of given pairs of shapes: a view of the tables."""
        if len(pairs) > self.arenas.sizes["npair"]:
            self.arenas.make_room(pairs=len(pairs))
        column = self.arenas.column
        self._place(0.0)
        column.pair[: len(pairs)] = pairs
        column.counter[PAIRS] = len(pairs)
        column.counter[MODE] = DISTANCE_MODE
        set_links(self.links, self.arenas.args)
        self._run(shape_poses, *self.narrow)
        return column.closest[: len(pairs)]

    def candidates(self) -> np.ndarray:
        """Pairs of shapes found last: a view of the tables."""
        column = self.arenas.column
        return column.pair[: int(column.counter[PAIRS])]

    def cast(self, start: Array, end: Array, only: int = -1) -> Rays:
        """Nearest hits of rays of all objects, or of one alone."""
        poses = tuple([group.pose_version for group in self.groups])
        if poses != self._cast_at:
            self.find_pairs()
            self._cast_at = poses
        count = len(start)
        outs = Rays(
            np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 2), np.int64)
        )
        a = self.arenas
        cast_rays(a.m, a.c, a.args, a.d, start, end, only, *outs)
        return outs

    def single_ray(self) -> SingleRay | None:
        """Casts of one ray at a time, after a `cast` and until the poses change; None as plain Python."""
        a = self.arenas
        if DISABLED:
            return None
        if self._single is None or self._single[0] is not a.d:
            self._single = a.d, SingleRay(a.m, a.c, a.args, a.d)
        return self._single[1]
