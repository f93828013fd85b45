# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What range finders and sensors of distance read: all shapes count, also those that are only to be seen.

Range finders see what has a colour that is not wholly transparent, meshes by their triangles, and nothing of
the body they are mounted on. Distances take meshes by their convex hull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.group import CollisionGroup
from worldline._src.collision.native import NativeDetector
from worldline._src.collision.shapes import CollisionShape
from worldline._src.errors import CapabilityError
from worldline._src.facade.sensor_moment import Moment
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.model.kinds import ShapeKind
from worldline._src.model.sensor_tables import ObjectKind, Sensors
from worldline._src.scene.sensor_types import DistanceSensorType
from worldline._src.spatial.poses import Array
from worldline._src.step.collision_rows import collision_shape

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime

_DISTANCE = tuple(DistanceSensorType)
_REACHES = (1e2, 1e5, 1e8)
"""Lengths of rays [m]: what is near is found with all digits, what is far is found."""
_MESHES = (ShapeKind.MESH, ShapeKind.HULL)


class SensedShapes:
    """The shapes of a compiled world as range finders and distances see them; made when first asked for."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._detector = NativeDetector()
        self._rays: dict[int, tuple[CollisionGroup, np.ndarray]] = {}
        self._solid: tuple[CollisionGroup, np.ndarray] | None = None

    # ---- rays

    def ahead(self, moment: Moment, start: Array, along: Array, without: int) -> float:
        """Distance to the nearest shape along a ray, -1 for none; shapes of one body do not count."""
        group, bodies = self._seen(without)
        if len(group):
            group.poses = moment.poses[bodies]
        nearest = self._planes(moment, start, along, without)
        for reach in _REACHES:
            found = reach * float(self._detector.raycast(group, start, start + reach * along).fractions[0])
            if found == 0.0:
                found = self._way_out(group, start, start + reach * along, reach)
            if found <= reach:
                nearest = min(nearest, found)
            if nearest <= reach:
                return nearest
        return -1.0

    def _way_out(self, group: CollisionGroup, start: Array, end: Array, reach: float) -> float:
        """Nearest surface along a ray that starts within shapes; of those, where it leaves them.

        They are convex: where a ray leaves is where the same ray met from behind enters.
        """
        ways = []
        scene = self._detector.scene(group)
        for k in range(len(group)):
            share = float(scene.cast(start[None], end[None], only=k)[0][0])
            if share == 0.0:
                share = 1.0 - float(scene.cast(end[None], start[None], only=k)[0][0])
            ways.append(reach * share)
        return min(ways)

    def _seen(self, without: int) -> tuple[CollisionGroup, np.ndarray]:
        """All that a ray from a body can hit, but planes, and the bodies they are on."""
        known = self._rays.get(without)
        if known is None:
            shapes, group, bodies = self.runtime.model.shapes, CollisionGroup(), []
            if shapes is not None:
                for k in range(len(shapes)):
                    if shapes.body[k] != without and shapes.kind[k] != ShapeKind.PLANE and self._shows(k):
                        group.add(self._surface(k))
                        bodies.append(int(shapes.body[k]))
            known = self._rays[without] = (group, np.array(bodies, np.int64))
        return known

    def _surface(self, k: int) -> CollisionShape:
        model = self.runtime.model
        assert model.shapes is not None
        if model.shapes.kind[k] not in _MESHES:
            return collision_shape(model, k)
        assert model.assets is not None
        mesh = model.assets.mesh(int(model.shapes.source[k]))
        place = model.shapes.xform[k]
        return CollisionShape.mesh(
            mesh.vertices * model.shapes.scale[k], mesh.triangles, local_transform=place
        )

    def _shows(self, k: int) -> bool:
        """Whether a shape can be seen at all."""
        model = self.runtime.model
        assert model.shapes is not None
        alpha = float(model.shapes.rgba[k, 3])
        if np.isnan(alpha) and model.shapes.material[k] >= 0:
            material = self.runtime.scene.assets.materials[model.material_label[model.shapes.material[k]]]
            alpha = float(material.color[3])
        return alpha != 0.0

    def _planes(self, moment: Moment, start: Array, along: Array, without: int) -> float:
        """Nearest hit of planes, from their front, within their size where they have one."""
        shapes, nearest = self.runtime.model.shapes, np.inf
        if shapes is None:
            return nearest
        for k in np.flatnonzero((shapes.kind == ShapeKind.PLANE) & (shapes.body != without)).tolist():
            if not self._shows(k):
                continue
            plane = moment.place(ObjectKind.SHAPE, k)
            p, d = plane.R_W.T @ (start - plane.p_W), plane.R_W.T @ along
            if d[2] < 0.0 and p[2] >= 0.0:
                way = -p[2] / d[2]
                spot, size = np.abs(p[:2] + way * d[:2]), shapes.size[k, :2]
                if ((size <= 0.0) | (spot <= size)).all():
                    nearest = min(nearest, float(way))
        return nearest

    # ---- distances

    def closest(self, moment: Moment, first: list[int], second: list[int]) -> tuple[float, Array, Array]:
        """Least distance of two sets of shapes, with its points; infinity when none has one."""
        group, bodies = self._solids()
        pairs = [(i, j) for i in first for j in second if self._family(i, j) != SKIP]
        if not pairs:
            return np.inf, np.zeros(3), np.zeros(3)
        group.poses = moment.poses[bodies]
        rows = self._detector.distances(group, np.array(pairs, np.int64))
        k = int(np.argmin(rows.distance))
        return float(rows.distance[k]), rows.point_a[k].copy(), rows.point_b[k].copy()

    def _family(self, i: int, j: int) -> int:
        group = self._solids()[0]
        return pair_family(int(group[i].shapes[0].type), int(group[j].shapes[0].type))

    def _solids(self) -> tuple[CollisionGroup, np.ndarray]:
        if self._solid is None:
            model, group = self.runtime.model, CollisionGroup()
            assert model.shapes is not None
            for k in range(len(model.shapes)):
                group.add(collision_shape(model, k))
            self._solid = group, model.shapes.body
        return self._solid


def range_reading(moment: Moment, table: Sensors, k: int, seen: SensedShapes) -> Array:
    """Distance along z of a site to the next shape, -1 when there is none."""
    site = moment.place(int(table.object_kind[k]), int(table.object[k]))
    return np.array([seen.ahead(moment, site.p_W, site.R_W[:, 2], site.body)])


def distance_reading(moment: Moment, table: Sensors, k: int, seen: SensedShapes) -> Array:
    """Distance, normal or ends of the shortest connection, looked for within the cut-off.

    Beyond it the distance is the cut-off, and the others are zero.
    """
    word, reach = _DISTANCE[table.quantity[k]], float(table.cutoff[k])
    first = _shapes_of(moment, int(table.object_kind[k]), int(table.object[k]))
    second = _shapes_of(moment, int(table.reference_kind[k]), int(table.reference[k]))
    distance, a, b = seen.closest(moment, first, second)
    if distance >= reach:
        return np.array([reach]) if word is DistanceSensorType.Distance else np.zeros(_LONG[word])
    if word is DistanceSensorType.Distance:
        return np.array([distance])
    if word is DistanceSensorType.FromTo:
        return np.concatenate([a, b])
    line = b - a
    length = float(np.linalg.norm(line))
    return line / length if length > 0.0 else np.array([1.0, 0.0, 0.0])


_LONG = {DistanceSensorType.Normal: 3, DistanceSensorType.FromTo: 6}


def _shapes_of(moment: Moment, kind: int, index: int) -> list[int]:
    """A shape, or all shapes of a body."""
    shapes = moment.model.shapes
    if kind == ObjectKind.SHAPE:
        return [index]
    if kind not in (ObjectKind.BODY, ObjectKind.INERTIA) or shapes is None:
        raise CapabilityError(f"a distance is measured between geoms and links, not {ObjectKind(kind).name}")
    return np.flatnonzero(shapes.body == index).tolist()
