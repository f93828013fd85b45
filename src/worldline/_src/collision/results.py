# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options and results of collision queries, as arrays and as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import ArgumentError
from worldline._src.spatial.poses import Array, float_array, numbers

PairsLike = Sequence[Sequence[int]] | NDArray[Any]
"""n pairs of numbers of objects in a group, (n, 2)."""

if TYPE_CHECKING:
    from worldline._src.collision.group import CollisionObject


def _require_flag(value: object, what: str) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{what} must be True or False, got {value!r}")


@dataclass(frozen=True)
class CollisionOption:
    """What a collision query should find.

    Attributes:
        max_contacts: The deepest contacts up to this number are kept; None keeps all.
        margin: Contacts of shapes closer than this are reported too, with negative depth [m].
        stop_at_first: Only say whether anything touches; at most one contact is kept.
    """

    max_contacts: int | None = None
    margin: float = 0.0
    stop_at_first: bool = False

    def __post_init__(self) -> None:
        most = self.max_contacts
        whole = isinstance(most, (int, np.integer)) and not isinstance(most, bool)
        if most is not None and not (whole and most >= 1):
            raise ArgumentError(f"max_contacts must be 1 or more, or None, got {most!r}")
        _require_flag(self.stop_at_first, "stop_at_first")
        if not 0.0 <= float(numbers(self.margin, (), "margin")) < 1e9:
            raise ArgumentError(f"margin must be a distance of 0 m or more, got {self.margin}")


@dataclass(frozen=True)
class DistanceOption:
    """What a distance query should find.

    Attributes:
        upper_bound: Pairs farther apart than this are left out [m].
    """

    upper_bound: float = np.inf

    def __post_init__(self) -> None:
        bound = float_array(self.upper_bound, "upper_bound", "a distance")
        if bound.ndim or not bound >= 0.0:
            raise ArgumentError(f"upper_bound must be a distance of 0 m or more, got {self.upper_bound}")


@dataclass(frozen=True)
class RaycastOption:
    """What a ray query should find.

    Attributes:
        all_hits: Report every object on the ray, nearest first, instead of the nearest only.
    """

    all_hits: bool = False

    def __post_init__(self) -> None:
        _require_flag(self.all_hits, "all_hits")


@dataclass(frozen=True)
class Contact:
    """One contact.

    Attributes:
        object_a, object_b: The two objects, in the order of the group.
        point: Halfway between the two surfaces, world, [m], (3,).
        normal: Unit vector from object_a to object_b, world, (3,).
        depth: How deep they overlap [m]; negative for a gap within the margin.
        shape_index_a, shape_index_b: Which shapes of the objects touch.
        feature: Which features of the shapes touch; stays while they do.
    """

    object_a: CollisionObject
    object_b: CollisionObject
    point: Array
    normal: Array
    depth: float
    shape_index_a: int
    shape_index_b: int
    feature: int


@dataclass(frozen=True)
class CollisionResult:
    """Contacts of a query as arrays; iterate for `Contact` objects.

    Attributes:
        points: (n, 3) positions halfway between the surfaces, world [m].
        normals: (n, 3) unit vectors from the first object to the second, world.
        depths: (n,) overlaps [m].
        objects: (n, 2) numbers of the objects in their groups.
        shapes: (n, 2) numbers of the shapes within the objects.
        features: (n,) identity of the touching features.
    """

    points: Array
    normals: Array
    depths: Array
    objects: np.ndarray
    shapes: np.ndarray
    features: np.ndarray
    groups: tuple[Any, Any] = field(repr=False)

    @property
    def is_collision(self) -> bool:
        """Whether anything overlaps."""
        return bool((self.depths >= 0.0).any())

    def __len__(self) -> int:
        return len(self.depths)

    def __iter__(self) -> Iterator[Contact]:
        first, second = self.groups
        for k in range(len(self)):
            a, b = self.objects[k].tolist()
            s, t = self.shapes[k].tolist()
            yield Contact(
                first[a],
                second[b],
                self.points[k].copy(),
                self.normals[k].copy(),
                float(self.depths[k]),
                s,
                t,
                int(self.features[k]),
            )

    @property
    def contacts(self) -> list[Contact]:
        """All contacts as objects."""
        return list(self)


@dataclass(frozen=True)
class DistanceResult:
    """The closest pair of a query.

    Attributes:
        distance: Signed distance [m], negative for the deepest overlap; infinity when there is no pair.
        normal: Unit vector from object_a to object_b, world, (3,).
        point_a, point_b: Closest points, or the deepest, world [m], (3,).
        object_a, object_b: The objects, None when there is no pair.
    """

    distance: float
    normal: Array
    point_a: Array
    point_b: Array
    object_a: CollisionObject | None
    object_b: CollisionObject | None


@dataclass(frozen=True)
class PairDistances:
    """Signed distances of many pairs: distance (n,), normal, point_a, point_b (n, 3), world [m]."""

    distance: Array
    normal: Array
    point_a: Array
    point_b: Array


@dataclass(frozen=True)
class RayHit:
    """Where a ray meets an object: the fraction of the way from its start to its end, point and normal."""

    object: CollisionObject
    fraction: float
    point: Array
    normal: Array
    shape_index: int


@dataclass(frozen=True)
class RaycastResult:
    """Nearest hits of many rays.

    Attributes:
        fractions: (n,) share of the way from start to end; infinity for a miss.
        points: (n, 3) where they hit, world [m]; the end of the ray for a miss.
        normals: (n, 3) outward unit normals; zero for a miss.
        objects: (n,) numbers of the objects hit, -1 for a miss.
        shapes: (n,) numbers of the shapes within the objects, -1 for a miss.
        triangles: (n,) triangles of meshes as given, else -1.
    """

    fractions: Array
    points: Array
    normals: Array
    objects: np.ndarray
    shapes: np.ndarray
    triangles: np.ndarray
    group: Any = field(repr=False)

    @property
    def has_hit(self) -> bool:
        """Whether any ray hit anything."""
        return bool((self.objects >= 0).any())

    @property
    def hits(self) -> list[RayHit]:
        """The hits as objects, in the order of the rays."""
        return [
            RayHit(
                self.group[int(self.objects[k])],
                float(self.fractions[k]),
                self.points[k].copy(),
                self.normals[k].copy(),
                int(self.shapes[k]),
            )
            for k in np.flatnonzero(self.objects >= 0)
        ]
