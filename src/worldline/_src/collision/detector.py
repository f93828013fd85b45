# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The collision detector: an interface, and the makers of what implements it."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from worldline._src.collision import results
from worldline._src.collision.group import CollisionGroup, CollisionObject, OtherGroup
from worldline._src.collision.shapes import CollisionShape
from worldline._src.errors import (
    ArgumentError,
    CapabilityError,
    FixedAttributes,
    UnknownCapabilityError,
    nearest_name,
    require_kind,
)
from worldline._src.masked import has_masked_entries
from worldline._src.scene.texts import unwritable
from worldline._src.spatial.poses import Array, VectorLike, float_array, numbers


class CollisionDetector(FixedAttributes, abc.ABC):
    """Answers collision, distance and ray queries about groups of objects.

    A query reads the poses the objects have now and changes nothing.

    Example:
        >>> from worldline.collision import CollisionDetector, CollisionShape
        >>> detector = CollisionDetector.create("native")
        >>> group = detector.create_group()
        >>> floor = group.add(CollisionShape.plane(), static=True)
        >>> crate = group.add(CollisionShape.box((0.5, 0.5, 0.5)), pose=(0, 0, 0.49, 0, 0, 0, 1))
        >>> result = detector.collide(group)
        >>> len(result), result.depths.round(6).tolist(), result.normals[0].tolist()
        (4, [0.01, 0.01, 0.01, 0.01], [0.0, 0.0, 1.0])
    """

    name: ClassVar[str] = ""
    _makers: ClassVar[dict[str, Callable[[], CollisionDetector]]] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}')"

    def __reduce__(self) -> tuple[type[CollisionDetector], tuple[()]]:
        # tables of groups are made again by a copy: they hold addresses of their own memory
        return type(self), ()

    @staticmethod
    def create(name: str = "native") -> CollisionDetector:
        """The detector of a name: "native", or "coal" where that package is installed."""
        maker = CollisionDetector._makers.get(name) if isinstance(name, str) else None
        if maker is None:
            known = sorted(CollisionDetector._makers)
            hint = nearest_name(str(name), known)
            raise UnknownCapabilityError(
                f"no collision detector {name!r}; there are {', '.join(known)}{hint}"
            )
        return maker()

    @staticmethod
    def register(name: str, maker: Callable[[], CollisionDetector]) -> None:
        """Make a detector available under a name."""
        if not isinstance(name, str) or not name or unwritable(name):
            raise ArgumentError(f"name of a collision detector must be a text, got {name!r}")
        if not callable(maker):
            raise ArgumentError(f"maker of collision detector '{name}' must be callable, got {maker!r}")
        CollisionDetector._makers[name] = maker

    @staticmethod
    def available() -> list[str]:
        """Names that `create` knows."""
        return sorted(CollisionDetector._makers)

    def create_group(self) -> CollisionGroup:
        """A new empty group."""
        return CollisionGroup()

    @abc.abstractmethod
    def collide(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.CollisionOption | None = None
    ) -> results.CollisionResult:
        """Contacts within a group, or between the objects of two groups."""

    @abc.abstractmethod
    def distances(self, group: CollisionGroup, pairs: results.PairsLike) -> results.PairDistances:
        """Signed distances of pairs of objects, (n, 2) numbers in the group, all in one call.

        For objects of several shapes it is that of the closest or deepest two shapes.
        """

    @abc.abstractmethod
    def distance(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.DistanceOption | None = None
    ) -> results.DistanceResult:
        """The closest pair within a group, or between two groups; filters apply."""

    def raycast(
        self,
        group: CollisionGroup,
        start: VectorLike,
        end: VectorLike,
        option: results.RaycastOption | None = None,
    ) -> results.RaycastResult:
        """Nearest hits of rays from `start` to `end`, (3,) or (n, 3), world [m]."""
        raise CapabilityError(f"the {self.name} detector has no ray queries")

    def overlap(
        self, group: CollisionGroup, shape: CollisionShape, pose: VectorLike
    ) -> list[CollisionObject]:
        """Objects of a group that a shape at a pose overlaps."""
        require_kind(group, CollisionGroup, "group", "overlap")
        require_kind(shape, CollisionShape, "shape", "overlap")
        probe = self.create_group()
        probe.add(shape, pose=pose)
        found = self.collide(group, probe)
        hit = np.unique(found.objects[found.depths >= 0.0, 0])
        return [group[int(k)] for k in hit]

    def closest_point(self, group: CollisionGroup, point: VectorLike) -> results.DistanceResult:
        """The object closest to a point: object_a and point_a are it and its surface point.

        The distance is negative inside.
        """
        require_kind(group, CollisionGroup, "group", "closest_point")
        probe = self.create_group()
        tiny, at = 1e-9, numbers(point, (3,), "point")
        probe.add(CollisionShape.sphere(tiny), pose=np.concatenate([at, [0, 0, 0, 1]]))
        found = self.distance(group, probe)
        return results.DistanceResult(
            found.distance + tiny,
            found.normal,
            found.point_a,
            at,
            found.object_a,
            None,
        )


def _numbers(value: VectorLike, what: str) -> Array:
    """What `float_array` makes, quicker for floats in a row; arrays that kernels can read stay."""
    kind = type(value)
    if isinstance(value, np.ndarray) and kind is np.ndarray and value.dtype == np.float64:
        return value if value.flags.c_contiguous and value.flags.aligned else value.copy()
    if (kind is tuple or kind is list) and all(type(x) is float for x in value):  # type: ignore[union-attr]
        return np.array(value, dtype=np.float64)
    return float_array(value, what)


_FLOATS = {float}


def rays_of(start: VectorLike, end: VectorLike) -> tuple[Array, Array]:
    """Starts and ends of rays as two arrays to be read, (n, 3)."""
    ray = (*start, *end) if type(start) is tuple and type(end) is tuple else ()
    if len(ray) == 6 == 2 * len(start) and set(map(type, ray)) == _FLOATS and math.isfinite(sum(ray)):
        # nearly all single rays; a sum is finite when its terms are, or nearly so
        pair = np.array(ray).reshape(2, 1, 3)
        return pair[0], pair[1]
    a, b = _numbers(start, "start of a ray"), _numbers(end, "end of a ray")
    if a.shape == b.shape == (3,) and all(map(math.isfinite, (*a.tolist(), *b.tolist()))):
        return a.reshape(1, 3), b.reshape(1, 3)
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != 3 or b.shape[1] != 3:
        raise ArgumentError(
            f"rays need starts and ends of 3 numbers each, got shapes {a.shape} and {b.shape}"
        )
    rows = max(len(a), len(b))
    if len(a) not in (1, rows) or len(b) not in (1, rows):
        raise ArgumentError(f"rays need as many starts as ends, got {len(a)} and {len(b)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ArgumentError("rays need finite starts and ends")
    shape = (rows, 3)
    return np.ascontiguousarray(np.broadcast_to(a, shape)), np.ascontiguousarray(np.broadcast_to(b, shape))


def check_query(where: str, group: object, other: object, option: object, kind: type) -> None:
    """Refuse what are no groups and no options of a query."""
    require_kind(group, CollisionGroup, "group", where)
    if other is not None:
        require_kind(other, CollisionGroup, "other", where)
    if option is not None:
        require_kind(option, kind, "option", where)


def check_pairs(group: CollisionGroup, pairs: results.PairsLike) -> np.ndarray:
    """Pairs of different objects of a group, (n, 2)."""
    require_kind(group, CollisionGroup, "group", "distances")
    if has_masked_entries(pairs):
        raise ArgumentError("pairs must not have masked entries; fill them first")
    try:
        wanted = np.asarray(pairs)
    except (ValueError, OverflowError):
        raise ArgumentError(f"pairs must be n x 2 integers, got {pairs!r}") from None
    if wanted.ndim != 2 or wanted.shape[1] != 2 or not np.issubdtype(wanted.dtype, np.integer):
        raise ArgumentError(f"pairs must be n x 2 integers, got {wanted.dtype} {wanted.shape}")
    if len(wanted) and (
        wanted.min() < 0 or wanted.max() >= len(group) or (wanted[:, 0] == wanted[:, 1]).any()
    ):
        raise ArgumentError(f"pairs must name two different objects 0 to {len(group) - 1}")
    return wanted
