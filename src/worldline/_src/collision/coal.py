# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A second detector behind the same interface: the Coal library, where it is installed.

One contact a pair of shapes. Its rounded shapes and tolerances are Coal's own; it serves as a yardstick. Coal
has no distances of height fields, so they are given to it as what they are: prisms, two a cell.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from worldline._src.collision import results
from worldline._src.collision.arenas import pose12
from worldline._src.collision.detector import CollisionDetector, check_pairs, check_query
from worldline._src.collision.group import CollisionGroup, OtherGroup
from worldline._src.collision.shapes import CollisionShape, CollisionShapeType
from worldline._src.errors import CapabilityError
from worldline._src.spatial.poses import compose


def load_coal() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import coal
    except ImportError as error:
        raise CapabilityError("the detector 'coal' needs the package coal: pip install coal") from error
    return coal


def coal_geometry(shape: CollisionShape) -> Any:
    """The shape in Coal's terms, about the origin its vertices are centred on."""
    coal = load_coal()
    kind, size = shape.type, shape._size
    if kind == CollisionShapeType.SPHERE:
        return coal.Sphere(size[0])
    if kind == CollisionShapeType.BOX:
        return coal.Box(*(2.0 * size))
    if kind == CollisionShapeType.CAPSULE:
        return coal.Capsule(size[0], 2.0 * size[1])
    if kind == CollisionShapeType.CYLINDER:
        return coal.Cylinder(size[0], 2.0 * size[1])
    if kind == CollisionShapeType.CONE:
        return coal.Cone(size[0], 2.0 * size[1])
    if kind == CollisionShapeType.ELLIPSOID:
        return coal.Ellipsoid(*size)
    if kind == CollisionShapeType.PLANE:
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if kind == CollisionShapeType.CONVEX:
        return _coal_hull(coal, shape)
    if kind == CollisionShapeType.MESH:
        return _coal_mesh(coal, shape)
    raise CapabilityError(f"the detector 'coal' has no {kind.name.lower()} as one shape")


def coal_geometries(shape: CollisionShape) -> list[Any]:
    """The shape in Coal's terms, in as many parts as it takes."""
    if shape.type != CollisionShapeType.HEIGHT_FIELD:
        return [coal_geometry(shape)]
    coal, geometry = load_coal(), shape.geometry
    floor = -geometry.half_size[2]
    return [_coal_prism(coal, geometry.vertices[row[:3]], floor) for row in geometry.tri]


_PRISM = ((0, 1, 2), (5, 4, 3), (0, 3, 4), (0, 4, 1), (1, 4, 5), (1, 5, 2), (2, 5, 3), (2, 3, 0))


def _coal_prism(coal: Any, top: np.ndarray, floor: float) -> Any:
    """The ground below one triangle."""
    bottom = np.column_stack([top[:, :2], np.full(3, floor)])
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in np.vstack([top, bottom]):
        points.append(vertex)
    for corners in _PRISM:
        triangles.append(coal.Triangle(*corners))
    return coal.Convex(points, triangles)


def _coal_hull(coal: Any, shape: CollisionShape) -> Any:
    geometry = shape.geometry
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in geometry.vertices:
        points.append(vertex)
    for first, last in zip(geometry.face_start[:-1], geometry.face_start[1:], strict=True):
        ring = geometry.face_corner[first:last].tolist()
        for k in range(1, len(ring) - 1):
            triangles.append(coal.Triangle(ring[0], ring[k], ring[k + 1]))
    return coal.Convex(points, triangles)


def _coal_mesh(coal: Any, shape: CollisionShape) -> Any:
    geometry = shape.geometry
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(geometry.tri), len(geometry.vertices))
    model.addVertices(geometry.vertices)
    for row in geometry.tri.tolist():
        model.addTriangle(*(geometry.vertices[k] for k in row[:3]))
    model.endModel()
    return model


class CoalDetector(CollisionDetector):
    """Queries answered by Coal, pair by pair."""

    name: ClassVar[str] = "coal"

    def __init__(self) -> None:
        self._coal = load_coal()

    def _parts(
        self, group: CollisionGroup, known: dict[int, Any] | None = None
    ) -> list[list[tuple[Any, Any, int]]]:
        """Coal's geometry, its pose and the shape's number for every part of every object.

        Shapes used twice are made once.
        """
        made = []
        known = {} if known is None else known
        for item in group:
            parts = []
            for number, shape in enumerate(item.shapes):
                local = shape.local_pose
                if shape.type >= CollisionShapeType.CONVEX:
                    move = np.concatenate([shape.geometry.centre, [0.0, 0.0, 0.0, 1.0]])
                    local = compose(local, move)
                row = pose12(compose(item.pose, local))
                if id(shape) not in known:
                    known[id(shape)] = coal_geometries(shape)
                place = self._coal.Transform3s(row[3:].reshape(3, 3), row[:3])
                parts += [(geometry, place, number) for geometry in known[id(shape)]]
            made.append(parts)
        return made

    def _pairs(self, group: CollisionGroup, other: CollisionGroup | None) -> list[tuple[int, int]]:
        """Pairs of objects that masks and the group's filter allow."""
        if other is not None:
            return [(a.index, b.index) for a in group for b in other if _masks(a, b)]
        rules = group.filter
        found = []
        for a in group:
            for b in list(group)[a.index + 1 :]:
                pair = (a.index, b.index)
                welded = rules.weld.get(a.index, a.index) == rules.weld.get(b.index, b.index)
                quiet = a.index in rules.quiet and rules.quiet.get(a.index) == rules.quiet.get(b.index)
                related = rules.parent.get(a.index) == b.index or rules.parent.get(b.index) == a.index
                out = not _masks(a, b) or welded or quiet or related or (a.is_static and b.is_static)
                if pair in rules.explicit or not (out or pair in rules.ignored):
                    found.append(pair)
        return found

    def collide(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.CollisionOption | None = None
    ) -> results.CollisionResult:
        check_query("collide", group, other, option, results.CollisionOption)
        option, coal = option or results.CollisionOption(), self._coal
        request = coal.CollisionRequest()
        request.enable_contact = True
        request.security_margin = option.margin
        first = self._parts(group)
        second = first if other is None else self._parts(other)
        rows, objects, shapes = [], [], []
        for a, b in self._pairs(group, other):
            for g1, t1, s in first[a]:
                for g2, t2, t in second[b]:
                    result = coal.CollisionResult()
                    coal.collide(g1, t1, g2, t2, request, result)
                    if result.isCollision():
                        contact = result.getContact(0)
                        rows.append([*contact.pos, *contact.normal, -contact.penetration_depth])
                        objects.append((a, b))
                        shapes.append((s, t))
        table = np.array(rows).reshape(-1, 7)
        limit = 1 if option.stop_at_first else (option.max_contacts or len(table))
        keep = np.sort(np.argsort(-table[:, 6], kind="stable")[:limit])
        table = table[keep]
        return results.CollisionResult(
            table[:, :3],
            table[:, 3:6],
            table[:, 6],
            np.array(objects, np.int64).reshape(-1, 2)[keep],
            np.array(shapes, np.int64).reshape(-1, 2)[keep],
            np.zeros(len(table), np.int64),
            (group, other or group),
        )

    def distances(self, group: CollisionGroup, pairs: results.PairsLike) -> results.PairDistances:
        wanted = check_pairs(group, pairs)
        parts = self._parts(group)
        rows = np.array([self._closest(parts[a], parts[b]) for a, b in wanted.tolist()])
        rows = rows.reshape(-1, 10)
        return results.PairDistances(rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10])

    def _closest(self, first: list[tuple[Any, Any, int]], second: list[tuple[Any, Any, int]]) -> list[float]:
        coal = self._coal
        request = coal.DistanceRequest()
        request.enable_signed_distance = True
        best = [np.inf] * 10
        for g1, t1, _ in first:
            for g2, t2, _ in second:
                result = coal.DistanceResult()
                distance = coal.distance(g1, t1, g2, t2, request, result)
                if distance < best[0]:
                    points = (*result.getNearestPoint1(), *result.getNearestPoint2())
                    best = [distance, *result.normal, *points]
        return best

    def distance(
        self, group: CollisionGroup, other: OtherGroup = None, option: results.DistanceOption | None = None
    ) -> results.DistanceResult:
        check_query("distance", group, other, option, results.DistanceOption)
        option = option or results.DistanceOption()
        first = self._parts(group)
        second = first if other is None else self._parts(other)
        best, found = [np.inf] * 10, None
        for a, b in self._pairs(group, other):
            row = self._closest(first[a], second[b])
            if row[0] < best[0] and row[0] <= option.upper_bound:
                best, found = row, (a, b)
        values = np.array(best) if found else np.concatenate([[np.inf], np.zeros(9)])
        a = group[found[0]] if found else None
        b = (other or group)[found[1]] if found else None
        return results.DistanceResult(float(values[0]), values[1:4], values[4:7], values[7:10], a, b)


def _masks(a: Any, b: Any) -> bool:
    return bool((a.collide_group & b.collide_with) | (b.collide_group & a.collide_with))


CollisionDetector.register("coal", CoalDetector)
