# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision shapes: what touches, without mass, material or motion."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldline._src.collision.geometry import (
    GeometryData,
    field_geometry,
    hull_geometry,
    surface_geometry,
)
from worldline._src.collision.transforms import pose_of_matrix
from worldline._src.errors import ArgumentError, refuse_unknown_attribute
from worldline._src.kernels.narrowphase import tables
from worldline._src.linear_algebra import dot, norm
from worldline._src.masked import has_masked_entries
from worldline._src.scene.assets.cache import AssetCache
from worldline._src.spatial.poses import (
    IDENTITY,
    Array,
    VectorLike,
    compose,
    float_array,
    numbers,
    read_only,
    rotation,
    transform,
)

PoseLike = VectorLike | Sequence[Sequence[float]]
"""7 numbers (position, xyzw) or a 4x4 transform."""
PointsLike = Sequence[Sequence[float]] | Array
"""n points, (n, 3)."""
TrianglesLike = Sequence[Sequence[int]] | NDArray[Any]
"""n triples of vertices, (n, 3)."""

MAX_SIZE = 1.0e9
MIN_SIZE = 1.0e-9
"""Sizes outside these bounds [m] are refused: squares and cubes of them would leave the range of doubles."""


class CollisionShapeType(enum.IntEnum):
    """The kinds of collision shape."""

    PLANE = tables.PLANE
    SPHERE = tables.SPHERE
    CAPSULE = tables.CAPSULE
    BOX = tables.BOX
    CYLINDER = tables.CYLINDER
    CONE = tables.CONE
    ELLIPSOID = tables.ELLIPSOID
    CONVEX = tables.HULL
    MESH = tables.MESH
    HEIGHT_FIELD = tables.HFIELD


class CollisionShape:
    """An immutable shape with a pose in its body. Make one with the class methods.

    All sizes are metres and half sizes where there is a choice; long shapes lie along z.

    Example:
        >>> CollisionShape.box((0.5, 0.5, 0.25)).half_extents
        array([0.5 , 0.5 , 0.25])
        >>> CollisionShape.sphere(0.1, local_transform=(0, 0, 1, 0, 0, 0, 1))
        CollisionShape.sphere(0.1)
    """

    def __init__(self, kind: CollisionShapeType, size: VectorLike, local: Array, label: str) -> None:
        self._kind = kind
        self._size = np.array(size, dtype=np.float64)
        self._local = local
        self._label = label
        self._points = np.zeros((0, 3))
        self._triangles = np.zeros((0, 3), np.int64)
        self._base = 0.0

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_":
            refuse_unknown_attribute(self, name, dir(type(self)))
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"CollisionShape.{self._label}"

    @classmethod
    def sphere(cls, radius: float, local_transform: PoseLike | None = None) -> CollisionShape:
        """A ball of a radius [m] about the origin."""
        r = _length(radius, "the radius of a sphere")
        return cls(CollisionShapeType.SPHERE, (r, 0, 0), _local(local_transform), f"sphere({r:g})")

    @classmethod
    def box(cls, half_extents: VectorLike, local_transform: PoseLike | None = None) -> CollisionShape:
        """A box of half sizes [m], (3,)."""
        h = _lengths(half_extents, 3, "the half extents of a box")
        return cls(CollisionShapeType.BOX, h, _local(local_transform), f"box({h.tolist()})")

    @classmethod
    def capsule(
        cls, radius: float, half_height: float, local_transform: PoseLike | None = None
    ) -> CollisionShape:
        """A capsule along z: a radius [m] about a segment of half length `half_height` [m]."""
        r = _length(radius, "the radius of a capsule")
        h = _length(half_height, "the half height of a capsule", least=0.0)
        return cls(CollisionShapeType.CAPSULE, (r, h, 0), _local(local_transform), f"capsule({r:g}, {h:g})")

    @classmethod
    def cylinder(
        cls, radius: float, half_height: float, local_transform: PoseLike | None = None
    ) -> CollisionShape:
        """A cylinder along z of a radius and a half height [m]."""
        r = _length(radius, "the radius of a cylinder")
        h = _length(half_height, "the half height of a cylinder")
        return cls(CollisionShapeType.CYLINDER, (r, h, 0), _local(local_transform), f"cylinder({r:g}, {h:g})")

    @classmethod
    def cone(
        cls, radius: float, half_height: float, *, local_transform: PoseLike | None = None
    ) -> CollisionShape:
        """A cone along z: its base of a radius [m] at z = -half_height, its apex at z = half_height."""
        r = _length(radius, "the radius of a cone")
        h = _length(half_height, "the half height of a cone")
        return cls(CollisionShapeType.CONE, (r, h, 0), _local(local_transform), f"cone({r:g}, {h:g})")

    @classmethod
    def ellipsoid(cls, semi_axes: VectorLike, *, local_transform: PoseLike | None = None) -> CollisionShape:
        """An ellipsoid of semi-axes [m], (3,)."""
        s = _lengths(semi_axes, 3, "the semi-axes of an ellipsoid")
        return cls(CollisionShapeType.ELLIPSOID, s, _local(local_transform), f"ellipsoid({s.tolist()})")

    @classmethod
    def plane(
        cls,
        normal: VectorLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        local_transform: PoseLike | None = None,
        *,
        half_extents: VectorLike | None = None,
    ) -> CollisionShape:
        """The solid below a plane: all points x with normal . x <= offset [m].

        With `half_extents` (2,) it ends: a block with that top about the foot of the offset, as deep as the
        longer of its sides is wide.
        """
        n = numbers(normal, (3,), "the normal of a plane")
        length = norm(n)
        if not length > 1e-12:
            raise ArgumentError(f"the normal of a plane must not be zero, got {n.tolist()}")
        n = n / length
        h = float(numbers(offset, (), "the offset of a plane"))
        pose = np.concatenate([n * h, _turn_z_to(n)])
        if half_extents is None:
            pose = compose(_local(local_transform), pose)
            shape = cls(CollisionShapeType.PLANE, (0, 0, 0), pose, f"plane({n.tolist()}, {h:g})")
        else:
            half = _lengths(half_extents, 2, "the half extents of a plane")
            depth = float(half.max())
            pose[:3] -= n * depth
            pose = compose(_local(local_transform), pose)
            shape = cls(
                CollisionShapeType.BOX, (*half, depth), pose, f"plane({n.tolist()}, {h:g}, {half.tolist()})"
            )
        return shape

    @classmethod
    def convex(cls, vertices: PointsLike, *, local_transform: PoseLike | None = None) -> CollisionShape:
        """The convex hull of points [m], (n, 3); points in one plane make a flat plate."""
        return hull_shape(vertices, local_transform)

    @classmethod
    def mesh(
        cls, vertices: PointsLike, triangles: TrianglesLike, local_transform: PoseLike | None = None
    ) -> CollisionShape:
        """A surface of triangles with two sides and no inside, (n, 3) points [m] and (m, 3) indices.

        Any soup of triangles will do. For a solid body use `convex`, or `decomposed` for several.
        """
        points = _points(vertices, "the vertices of a mesh")
        corners = _corners(triangles, len(points))
        label = f"mesh({len(points)} vertices, {len(corners)} triangles)"
        shape = cls(CollisionShapeType.MESH, (0, 0, 0), _local(local_transform), label)
        shape._points, shape._triangles = points, corners
        shape._geometry  # noqa: B018 - refuses a mesh without area now
        return shape

    @classmethod
    def height_field(
        cls,
        heights: VectorLike,
        size: VectorLike,
        *,
        base: float = 0.0,
        local_transform: PoseLike | None = None,
    ) -> CollisionShape:
        """Ground of heights [m], (rows, columns), over a rectangle of size x, y [m] about the origin.

        Row 0 lies at -y and columns run toward +x. The ground is solid down to z = -base, or to its lowest
        point.
        """
        table = float_array(heights, "the heights of a height field")
        if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
            raise ArgumentError(
                "the heights of a height field must be 2 or more finite rows and columns, "
                f"got shape {table.shape}"
            )
        if np.abs(table).max() > MAX_SIZE:
            raise ArgumentError(f"the heights of a height field must be below {MAX_SIZE:g} m")
        extent = _lengths(size, 2, "the size of a height field")
        depth = _length(base, "the base of a height field", least=0.0)
        label = f"height_field({table.shape[0]} x {table.shape[1]})"
        shape = cls(CollisionShapeType.HEIGHT_FIELD, (*extent, 0), _local(local_transform), label)
        shape._points, shape._base = table, depth
        shape._geometry  # noqa: B018 - builds its tree now
        return shape

    @classmethod
    def decomposed(
        cls, vertices: PointsLike, triangles: TrianglesLike, *, local_transform: PoseLike | None = None
    ) -> list[CollisionShape]:
        """Convex shapes whose union is close to a mesh; needs the package `coacd`."""
        from worldline._src.scene.assets.decomposition import decomposed
        from worldline._src.scene.assets.mesh import Mesh
        from worldline._src.scene.options import CoACDConfig

        points = _points(vertices, "the vertices of a mesh")
        corners = _corners(triangles, len(points)).astype(np.int32)
        parts = decomposed(Mesh(points, corners), CoACDConfig())
        return [cls.convex(part.vertices, local_transform=local_transform) for part in parts]

    @property
    def type(self) -> CollisionShapeType:
        """What kind of shape it is; a finite plane is a box."""
        return self._kind

    @property
    def local_transform(self) -> Array:
        """Pose in the body, 4x4; of a plane it includes normal and offset."""
        made = np.eye(4)
        made[:3, :3], made[:3, 3] = rotation(self._local), self._local[:3]
        return read_only(made)

    @property
    def local_pose(self) -> Array:
        """Pose in the body: position [m] and quaternion xyzw, (7,)."""
        return read_only(self._local.copy())

    @property
    def radius(self) -> float:
        """Radius [m] of a sphere, capsule, cylinder or cone."""
        self._need("radius", (1, 2, 4, 5))
        return float(self._size[0])

    @property
    def half_height(self) -> float:
        """Half height [m] of a capsule (its segment), cylinder or cone."""
        self._need("half_height", (2, 4, 5))
        return float(self._size[1])

    @property
    def height(self) -> float:
        """Height [m] of a capsule (its segment), cylinder or cone."""
        self._need("height", (2, 4, 5))
        return 2.0 * self.half_height

    @property
    def half_extents(self) -> Array:
        """Half sizes [m] of a box, (3,)."""
        self._need("half_extents", (3,))
        return read_only(self._size.copy())

    @property
    def semi_axes(self) -> Array:
        """Semi-axes [m] of an ellipsoid, (3,)."""
        self._need("semi_axes", (6,))
        return read_only(self._size.copy())

    @property
    def normal(self) -> Array:
        """Unit normal of a plane in the body, (3,)."""
        self._need("normal", (0,))
        x, y, z, w = self._local[3:]
        return read_only(np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]))

    @property
    def offset(self) -> float:
        """Distance [m] of a plane from the body's origin along its normal."""
        self._need("offset", (0,))
        return dot(self.normal, self._local[:3])

    @property
    def vertices(self) -> Array:
        """Vertices [m] of a convex shape (those of its hull) or a mesh, (n, 3)."""
        self._need("vertices", (7, 8))
        geometry = self.geometry
        return read_only(geometry.vertices + geometry.centre)

    @property
    def triangles(self) -> np.ndarray:
        """Triangles of a mesh as given, (n, 3)."""
        self._need("triangles", (8,))
        return read_only(self._triangles.copy())

    @property
    def heights(self) -> Array:
        """Heights [m] of a height field, (rows, columns); row 0 lies at -y."""
        self._need("heights", (9,))
        return read_only(self._points.copy())

    @property
    def field_size(self) -> tuple[float, float]:
        """Size [m] of a height field along x and y."""
        self._need("field_size", (9,))
        return float(self._size[0]), float(self._size[1])

    @property
    def base(self) -> float:
        """How far [m] the ground of a height field goes below zero height."""
        self._need("base", (9,))
        return self._base

    @property
    def geometry(self) -> GeometryData:
        """Vertices, faces and trees in the layout of the collision tables; not for other shapes."""
        self._need("geometry", (7, 8, 9))
        return self._geometry

    @functools.cached_property
    def _geometry(self) -> GeometryData:
        if self._kind == CollisionShapeType.MESH:
            return surface_geometry(self._points, self._triangles)
        return field_geometry(self._points, self._size[:2], self._base)

    @property
    def extent(self) -> float:
        """The largest half size [m]; a length to measure tolerances by."""
        if self._kind >= CollisionShapeType.CONVEX:
            return float(self._geometry.half_size.max())
        return float(self._size.max()) if self._kind else 1.0

    def _need(self, what: str, kinds: Iterable[int]) -> None:
        if int(self._kind) not in kinds:
            raise AttributeError(f"a {self._kind.name.lower()} shape has no {what}")


def hull_shape(
    vertices: PointsLike, local_transform: PoseLike | None = None, cache: AssetCache | None = None
) -> CollisionShape:
    """The convex hull of points [m], (n, 3), whose faces are kept in `cache` for the next one of the same."""
    points = _points(vertices, "the vertices of a convex shape")
    label = f"convex({len(points)} points)"
    shape = CollisionShape(CollisionShapeType.CONVEX, (0, 0, 0), _local(local_transform), label)
    shape._points = points
    # points on a line are refused now, not at the first query
    shape._geometry = hull_geometry(points, cache)
    return shape


def _length(value: float, what: str, least: float = MIN_SIZE) -> float:
    # nearly always a plain number
    is_plain = type(value) is float and math.isfinite(value)
    number = value if is_plain else float(numbers(value, (), what))
    if not least <= number <= MAX_SIZE:
        raise ArgumentError(f"{what} must lie between {least:g} and {MAX_SIZE:g} m, got {number!r}")
    return number


def _lengths(value: VectorLike, count: int, what: str) -> Array:
    array = numbers(value, (count,), what)
    if not ((array >= MIN_SIZE) & (array <= MAX_SIZE)).all():
        raise ArgumentError(f"{what} must lie between {MIN_SIZE:g} and {MAX_SIZE:g} m, got {array.tolist()}")
    return array


def _points(value: PointsLike, what: str) -> Array:
    points = float_array(value, what)
    if points.ndim != 2 or points.shape[1:] != (3,) or not len(points):
        raise ArgumentError(f"{what} must be n x 3 numbers, got shape {points.shape}")
    if not (np.abs(points) <= MAX_SIZE).all():
        raise ArgumentError(f"{what} must be finite and below {MAX_SIZE:g} m")
    return points


def _corners(value: TrianglesLike, count: int) -> np.ndarray:
    if has_masked_entries(value):
        raise ArgumentError("the triangles of a mesh must not have masked entries; fill them first")
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"the triangles of a mesh must be n x 3 integers, got {value!r}") from error
    if given.ndim != 2 or given.shape[1] != 3 or not len(given) or not np.issubdtype(given.dtype, np.integer):
        raise ArgumentError(
            f"the triangles of a mesh must be n x 3 integers, got {given.dtype} {given.shape}"
        )
    if given.min() < 0 or given.max() >= count:
        raise ArgumentError(
            f"the triangles of a mesh must name vertices 0 to {count - 1}, got {given.min()} to {given.max()}"
        )
    return given.astype(np.int64)


def _local(value: PoseLike | None) -> Array:
    """A pose from 7 numbers (position, xyzw) or from a 4x4 transform."""
    if value is None:
        return IDENTITY.copy()
    if type(value) is np.ndarray and value.shape == (7,):
        return transform(value, "local_transform")
    given = float_array(value, "local_transform", "7 numbers or a 4x4 transform")
    if given.shape == (4, 4):
        return pose_of_matrix(numbers(given, (4, 4), "local_transform"), "local_transform")
    return transform(given, "local_transform")


def _turn_z_to(n: Array) -> Array:
    """The shortest rotation, xyzw, that turns z to the unit vector `n`."""
    q = np.array([-n[1], n[0], 0.0, 1.0 + n[2]])
    if norm(q) < 1e-7:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return q / norm(q)
