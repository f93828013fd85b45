# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision queries of a World: they see every write at once and change nothing.

The shapes of the model are objects of a collision group of their own, one for each, with the pair filters
that a step has. The group is made on first use and lives as long as the compiled world.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.detector import rays_of
from worldline._src.collision.group import CollisionGroup
from worldline._src.collision.native import NativeDetector
from worldline._src.collision.results import CollisionOption, CollisionResult
from worldline._src.collision.scene import NativeScene, Rays
from worldline._src.collision.shapes import CollisionShape
from worldline._src.collision.single_ray import SingleRay
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.contacts import Contact, Owners, owners, surface_points
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame import Frame
from worldline._src.facade.kinds import UpdatePolicy, member
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.link import Link
from worldline._src.facade.quantities import Reading, attribute
from worldline._src.facade.query_options import CollisionQueryOptions
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.kernels.broadphase.cast import SINGLE_RAY_SIZE
from worldline._src.kernels.narrowphase.dispatch import (
    pair_family,  # pyright: ignore[reportUnknownVariableType] # compiled code
)
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.spatial.poses import IDENTITY, Array, compose, rotation
from worldline._src.step.collision_rows import body_rows, shape_rows
from worldline._src.step.pack_pairs import contact_margins
from worldline._src.step.thread_guard import FREE, READ

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_SINGLE_RAY = Struct(f"{SINGLE_RAY_SIZE}d")
BodyLike = RigidBody | Link | Frame | None


@dataclass(frozen=True, eq=False)
class BodyDistance:
    """How far two bodies are apart.

    Attributes:
        distance: signed [m]; negative for the deepest overlap.
        normal: unit vector from the first to the second, world, (3,).
        point_a, point_b: closest points, or the deepest, world [m], (3,).
    """

    distance: float
    normal: Array
    point_a: Array
    point_b: Array


@dataclass(frozen=True, eq=False)
class RayHit:
    """Where a ray meets a body.

    Attributes:
        body: rigid body or link; None for shapes of the world itself.
        fraction: share of the way from start to end.
        point: world [m], (3,).
        normal: outward unit normal, world, (3,).
        shape_index: which of the `collision_shapes` of the body.
    """

    body: RigidBody | Link | None
    fraction: float
    point: Array
    normal: Array
    shape_index: int


class RayHits:
    """The nearest hits of rays; one entry for each ray, None in an iteration where it missed.

    `World.raycast` makes it; arrays and objects are made on request.
    """

    __slots__ = ("_found", "_scene")

    def __init__(self, found: Rays | bytes, scene: QueryScene) -> None:
        # of a single ray the numbers as `cast_single_ray` wrote them
        self._found = found
        self._scene = scene

    @property
    def _rays(self) -> Rays:
        found = self._found
        if isinstance(found, bytes):
            row = np.frombuffer(bytearray(found))
            hit = row[7:].astype(np.int64).reshape(1, 2)
            found = self._found = Rays(row[:1], row[1:4].reshape(1, 3), row[4:7].reshape(1, 3), hit)
        return found

    fractions: Reading[Array] = attribute(
        "_rays.share", "Share of the way from start to end, (n,); infinity for a miss."
    )

    points: Reading[Array] = attribute(
        "_rays.point", "Where they hit, world [m], (n, 3); the end of the ray for a miss."
    )

    normals: Reading[Array] = attribute("_rays.normal", "Outward unit normals, (n, 3); zero for a miss.")

    @property
    def bodies(self) -> list[RigidBody | Link | None]:
        """Rigid body or link of every ray; None for a miss and for shapes of the world itself."""
        # a miss is -1, the last entry of both tables; every object has one shape
        return list(map(self._scene.owners.__getitem__, self._rays.hit[:, 0].tolist()))

    @property
    def shape_indices(self) -> np.ndarray:
        """Which of the `collision_shapes` of the body, (n,); -1 for a miss."""
        return self._scene.places[self._rays.hit[:, 0]]

    def __repr__(self) -> str:
        hits = int(np.isfinite(self.fractions).sum())
        return f"RayHits({len(self)} rays, {hits} hits)"

    @property
    def has_hit(self) -> bool:
        """Whether any ray hit anything."""
        found = self._found
        if isinstance(found, bytes):
            return _SINGLE_RAY.unpack(found)[7] >= 0.0
        return bool((found.hit[:, 0] >= 0).any())

    def __len__(self) -> int:
        return 1 if isinstance(self._found, bytes) else len(self._found.share)

    def __iter__(self) -> Iterator[RayHit | None]:
        for k in range(len(self)):
            yield self[k]

    def __getitem__(self, k: int) -> RayHit | None:
        if not -len(self) <= values.count(k, "index of a ray") < len(self):
            raise IndexError(f"there are {len(self)} rays, got index {k}")
        found, scene = self._found, self._scene
        if isinstance(found, bytes):
            share, x, y, z, *normal, shape, _ = _SINGLE_RAY.unpack(found)
            shape, point, normal = int(shape), np.array((x, y, z)), np.array(normal)
        else:
            share, shape = float(found.share[k]), int(found.hit[k, 0])
            point, normal = found.point[k].copy(), found.normal[k].copy()
        return (
            RayHit(scene.owners[shape], share, point, normal, int(scene.places[shape]))
            if shape >= 0
            else None
        )


class QueryScene:
    """The shapes of a compiled world as a collision group."""

    # what a single ray reads has slots, which are faster
    __slots__ = ("__dict__", "_guard", "_poses_seen", "_sim", "_single")

    def __init__(self, world: WorldRuntime, runtime: Runtime) -> None:
        self.runtime = runtime
        self.who: Owners = owners(world, runtime)
        self.detector = NativeDetector()
        self.group = CollisionGroup()
        model, rules = runtime.model, self.group.filter
        rows = shape_rows(model)
        parents = model.option is None or not model.option.disable_parent_filter
        bodies = body_rows(model, parents=parents)
        self.body = np.array([row.body - 1 for _, row in rows], np.int64)
        """Body of the model by object, -1 for the world."""
        self.place = np.array([self.who.place[k] for k, _ in rows], np.int64)
        """Place among the shapes of its body by object."""
        bodies_of: list[int] = self.body.tolist()
        self.owners: list[RigidBody | Link | None] = [*(self.who.body[b] for b in bodies_of), None]
        """Handle by object, and None behind the last."""
        self.places = np.append(self.place, -1)
        """`place` by object, and -1 behind the last."""
        self._poses_seen = -1
        self._single: SingleRay | None = None
        self._sim, self._guard = runtime.sim, runtime.guard
        self.touching: set[frozenset[int]] = set()
        """Pairs of bodies, by identity of their handles, that touched in the last kinematics report."""
        self.margins = contact_margins(model, np.array([k for k, _ in rows], np.int64))
        """Distances at which contact begins to push, as in a step."""
        reach = np.maximum(self.margins.shape, 0.0)
        for pair, margin in self.margins.pair.items():
            reach[list(pair)] = np.maximum(reach[list(pair)], 0.5 * margin)
        rules.explicit |= self.margins.pair.keys()
        first: dict[int, int] = {}
        for i, (_, row) in enumerate(rows):
            first.setdefault(bodies[row.body].weld, i)
            self.group.add(
                row.shape,
                static=bodies[row.body].fixed,
                margin=float(reach[i]),
                collide_group=row.group,
                collide_with=row.collides_with,
            )
        for i, (_, row) in enumerate(rows):
            info = bodies[row.body]
            rules.weld[i] = first[info.weld]
            if info.parent >= 0 and info.parent in first:
                rules.parent[i] = first[info.parent]
            if info.tree >= 0:
                rules.quiet[i] = info.tree
        if model.excluded_bodies is not None:
            for a, b in model.excluded_bodies.tolist():
                rules.ignored |= {(min(i, j), max(i, j)) for i in self.objects(a) for j in self.objects(b)}
        self.group.changed()

    @functools.cached_property
    def native(self) -> NativeScene:
        """The tables of the group, whose objects and filters do not change."""
        return self.detector.scene(self.group)

    def objects(self, body: int) -> list[int]:
        """Objects of a body of the model, -1 for the world."""
        return np.flatnonzero(self.body == body).tolist()

    def contacts(self, option: CollisionOption) -> tuple[CollisionResult, list[int]]:
        """What was found; which of it pushes in a step or is closer than the margin of the query."""
        found = self.detector.collide(self.group, option=CollisionOption(margin=option.margin))
        a, b = found.objects.T
        margin = self.margins.shape[a] + self.margins.shape[b]
        if self.margins.pair:
            pairs = zip(np.minimum(a, b).tolist(), np.maximum(a, b).tolist(), margin.tolist(), strict=True)
            margin = np.array([self.margins.pair.get((i, j), own) for i, j, own in pairs])
        kept = np.flatnonzero(-found.depths <= np.maximum(margin, option.margin))
        limit = 1 if option.stop_at_first else option.max_contacts
        if limit is not None:
            kept = np.sort(kept[np.argsort(-found.depths[kept], kind="stable")[:limit]])
        return found, kept.tolist()

    def placed(self, index: int) -> Array:
        """Pose of the shape of an object in the world: position, rotation matrix by rows, (12,)."""
        pose = compose(self.group.poses[index], self.group[index].shapes[0].local_pose)
        return np.concatenate([pose[:3], rotation(pose).ravel()])

    def refresh(self) -> QueryScene:
        """Poses as they are now."""
        if len(self.body):
            sim = self.runtime.sim
            poses = sim.fresh_poses()
            if sim.pose_evaluations != self._poses_seen:
                self.group.poses = np.vstack([poses.reshape(-1, 7), IDENTITY])[self.body]
                self._poses_seen = sim.pose_evaluations
                self._single = None
        return self

    def cast_single(self, start: object, end: object) -> RayHits | None:
        """Cast a ray of plain numbers in the poses of the last cast; None where that takes more."""
        single, sim, guard = self._single, self._sim, self._guard
        if (
            single is None
            or guard.busy
            or sim.unsettled
            or not sim.poses_fresh
            or sim.pose_evaluations != self._poses_seen
        ):
            return None
        guard.busy = READ
        try:
            ends = single.ends
            ends[0] = start
            ends[1] = end
            found = single.result() if single.run() else None
        finally:
            guard.busy = FREE
        return None if found is None else RayHits(found, self)

    def cast(self, start: Array, end: Array) -> Rays:
        """Cast rays in the present poses."""
        if not len(self.body):
            nowhere = np.full(len(start), np.inf), end.copy(), np.zeros_like(start)
            return Rays(*nowhere, np.full((len(start), 2), -1))
        self.refresh()
        found = self.native.cast(start, end)
        self._single = self.native.single_ray()
        return found


def scene_of(world: WorldRuntime, update: UpdatePolicy = UpdatePolicy.IF_STALE) -> QueryScene:
    """The group of a World, with the present poses; with those of the last query if never to be updated."""
    runtime = world._live()
    known = runtime.queries
    if known is None:
        known = runtime.queries = QueryScene(world, runtime)
    elif update is UpdatePolicy.NEVER:
        return known
    if update is UpdatePolicy.ALWAYS:
        runtime.sim.written()
    return known.refresh()


class CollisionQueries(KnownNames):
    """Where bodies of a World touch; `World.collision`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> world.collision.query(update=sx.UpdatePolicy.IF_STALE)
        []
    """

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world

    def query(
        self,
        options: CollisionOption | CollisionQueryOptions | None = None,
        *,
        update: UpdatePolicy = UpdatePolicy.IF_STALE,
        include: CollisionQueryOptions | None = None,
    ) -> list[Contact]:
        """Where bodies touch; nothing is solved and nothing changes.

        Args:
            options: margin, largest number of contacts, see `worldline.collision.CollisionOption`; or a
                `CollisionQueryOptions`, the same as `include`.
            update: IF_STALE sees every write, as all reads do, and does no work twice; ALWAYS places shapes
                again in any case; NEVER leaves them where the last query had them, maybe out of date.
            include: which pairs to report; all when None.
        """
        return collide(self._world, options, member(UpdatePolicy, update, "update"), include)

    def __repr__(self) -> str:
        return f"CollisionQueries({self._world!r})"


@exclusive
def collide(
    world: WorldRuntime,
    options: CollisionOption | CollisionQueryOptions | None,
    update: UpdatePolicy = UpdatePolicy.IF_STALE,
    include: CollisionQueryOptions | None = None,
) -> list[Contact]:
    """See `World.collide`."""
    if isinstance(options, CollisionQueryOptions):
        if include is not None:
            raise ArgumentError("give collide its CollisionQueryOptions once, as options or as include")
        options, include = None, options
    if options is not None and not isinstance(options, CollisionOption):
        raise values.ShapeError(
            f"options must be a CollisionOption or CollisionQueryOptions, got {options!r}"
        )
    if include is not None and not isinstance(include, CollisionQueryOptions):
        raise values.ShapeError(f"include must be a CollisionQueryOptions, got {include!r}")
    scene = scene_of(world, update)
    found, kept = scene.contacts(options or CollisionOption())
    made: list[Contact] = []
    for k in kept:
        a, b = found.objects[k].tolist()
        body_a, body_b = scene.who.body[scene.body[a]], scene.who.body[scene.body[b]]
        if include is not None and not include.includes(body_a, body_b):
            continue
        made.append(
            Contact(
                body_a,
                body_b,
                found.points[k].copy(),
                found.normals[k].copy(),
                float(found.depths[k]),
                np.zeros(3),
                int(scene.place[a]),
                int(scene.place[b]),
                int(found.features[k]),
                *surface_points(
                    found.points[k],
                    found.normals[k],
                    float(found.depths[k]),
                    scene.placed(a),
                    scene.placed(b),
                ),
            )
        )
    return made


@exclusive
def distance(world: WorldRuntime, a: BodyLike, b: BodyLike) -> BodyDistance:
    """See `World.distance`."""
    scene = scene_of(world)
    first, second = (_shaped(world, scene, body, what) for body, what in ((a, "a"), (b, "b")))
    if first[0] == second[0]:
        raise ArgumentError("a distance needs two different bodies")
    kinds = [int(item.shapes[0].type) for item in scene.group]
    pairs = [(i, j) for i in first for j in second if pair_family(kinds[i], kinds[j]) != SKIP]
    if not pairs:
        raise ArgumentError("planes and height fields have no distance from each other")
    rows = scene.detector.distances(scene.group, np.array(pairs, np.int64))
    k = int(np.argmin(rows.distance))
    return BodyDistance(
        float(rows.distance[k]), rows.normal[k].copy(), rows.point_a[k].copy(), rows.point_b[k].copy()
    )


def raycast(world: WorldRuntime, start: VectorLike, end: VectorLike) -> RayHits:
    """See `World.raycast`, which tries `QueryScene.cast_single` first."""
    a, b = rays_of(start, end)
    runtime = world._live()
    with runtime.guard:
        scene = runtime.queries or scene_of(world)
        return RayHits(scene.cast(a, b), scene)


@dataclass(frozen=True, eq=False)
class BodyPoint:
    """The point of a body's surface that is closest to a point.

    Attributes:
        body: rigid body or link; None for shapes of the world itself.
        point: on its surface, world [m], (3,).
        distance: signed [m]; negative when the point is inside.
    """

    body: RigidBody | Link | None
    point: Array
    distance: float


@exclusive
def closest_point(world: WorldRuntime, point: VectorLike) -> BodyPoint:
    """See `World.closest_point`."""
    scene = scene_of(world)
    if not len(scene.group):
        raise OperationError("closest_point needs a collision shape, and no body of this World has one")
    found = scene.detector.closest_point(scene.group, values.vector3(point, "point"))
    assert found.object_a is not None
    body = int(scene.body[found.object_a.index])
    return BodyPoint(scene.who.body[body], found.point_a.copy(), float(found.distance))


@exclusive
def overlap(
    world: WorldRuntime, shape: CollisionShape, pose: TransformLike | None
) -> list[RigidBody | Link | None]:
    """See `World.overlap`."""
    if not isinstance(shape, CollisionShape):
        raise values.ShapeError(f"a CollisionShape is needed, got {shape!r}")
    where = IDENTITY if pose is None else values.pose_of(pose, "pose")
    scene = scene_of(world)
    probe = CollisionGroup()
    probe.add(shape, pose=where)
    found = scene.detector.collide(scene.group, probe)
    bodies = scene.body[found.objects[found.depths >= 0.0, 0]]
    return [scene.who.body[b] for b in dict.fromkeys(bodies.tolist())]


def body_index(world: WorldRuntime, body: BodyLike, what: str) -> int:
    """Body of the model, -1 for the world; refuses what is no body of this World."""
    if body is None or (isinstance(body, Frame) and body.is_world):
        return -1
    if not isinstance(body, (RigidBody, Link)):
        raise values.ShapeError(f"{what} must be a rigid body, a link, or None for the world, got {body!r}")
    world._own_frame(body, what)
    return world._live().body(body._link)


def _shaped(world: WorldRuntime, scene: QueryScene, body: BodyLike, what: str) -> list[int]:
    found = scene.objects(body_index(world, body, what))
    if not found:
        name = "the world" if body is None else f"'{body.name}'"
        raise ArgumentError(f"{what}: {name} has no collision shapes")
    return found
