# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The line of a tendon through space: straight between sites, along the shortest way around what it wraps.

Around a cylinder the line is a helix, around a sphere an arc of a great circle; seen along the axis (or in
the plane through both ends and the centre) both are two tangents of a circle and the arc between them. This
is for drawing: lengths and forces of tendons are the business of the step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.drawing.placement import composed, points_of
from worldline._src.model.kinds import ShapeKind
from worldline._src.model.model import Model
from worldline._src.model.tables import PathKind
from worldline._src.spatial.poses import Array, rotation

_ARC = 12
"""Points of an arc."""


def tendon_lines(model: Model, bodies: Array) -> list[list[Array]]:
    """For every tendon the lines it is drawn as, each (n, 3) in the world [m]; none for fixed tendons."""
    tendons, sites = model.tendons, model.sites
    if tendons is None or sites is None or not len(tendons):
        return []
    places = composed(bodies[sites.body], sites.xform)[:, :3] if len(sites) else np.zeros((0, 3))
    found = []
    for k in range(len(tendons)):
        start, end = int(tendons.path_start[k]), int(tendons.path_start[k + 1])
        found.append(_line(model, bodies, places, range(start, end)))
    return found


def _line(model: Model, bodies: Array, places: Array, nodes: Sequence[int]) -> list[Array]:
    tendons = model.tendons
    assert tendons is not None
    lines: list[list[Array]] = [[]]
    around: list[int] = []
    for node in nodes:
        kind, index = tendons.path_kind[node], int(tendons.path_index[node])
        if kind == PathKind.PULLEY:
            lines.append([])
            around = []
        elif kind == PathKind.SHAPE:
            around = [index, int(tendons.path_side[node])]
        else:
            point = places[index]
            if around and lines[-1]:
                side = places[around[1]] if around[1] >= 0 else None
                lines[-1] += list(_bent(model, bodies, around[0], lines[-1][-1], point, side))
            lines[-1].append(point)
            around = []
    return [np.array(line) for line in lines if len(line) > 1]


def _bent(model: Model, bodies: Array, shape: int, a: Array, b: Array, side: Array | None) -> Array:
    """Points between a and b on the surface of a sphere or a cylinder; none where the line passes it."""
    table = model.shapes
    assert table is not None
    pose = composed(bodies[table.body[shape]][None], table.xform[shape][None])[0]
    radius = float(table.size[shape, 0])
    R = rotation(pose)
    local = [(p - pose[:3]) @ R for p in (a, b)]
    told = None if side is None else (side - pose[:3]) @ R
    if table.kind[shape] == ShapeKind.SPHERE:
        axes = _plane(*local, told)
        if axes is None:
            return np.zeros((0, 3))
        flat = around_circle(axes @ local[0], axes @ local[1], radius, None if told is None else axes @ told)
        points = flat @ axes
    else:
        flat = around_circle(local[0][:2], local[1][:2], radius, None if told is None else told[:2])
        if not len(flat):
            return np.zeros((0, 3))
        # height grows in proportion to the way along the flat line
        way = np.concatenate([local[0][None, :2], flat, local[1][None, :2]])
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
        share = along[1:-1, None] / along[-1]
        points = np.concatenate([flat, (1.0 - share) * local[0][2] + share * local[1][2]], axis=1)
    return points_of(np.tile(pose, (len(points), 1)), points)


def _plane(a: Array, b: Array, side: Array | None) -> Array | None:
    """Two axes of the plane through the centre and both ends, (2, 3)."""
    normal = np.cross(a, b)
    if np.linalg.norm(normal) < 1e-12:
        # both ends on one line through the centre: the side tells which way around
        normal = np.cross(a, side if side is not None else (0.0, 0.0, 1.0))
        if np.linalg.norm(normal) < 1e-12:
            return None
    x = a / (np.linalg.norm(a) or 1.0)
    y = np.cross(normal, x)
    return np.stack([x, y / np.linalg.norm(y)])


def around_circle(a: Array, b: Array, radius: float, side: Array | None = None) -> Array:
    """The arc of the shortest line from a to b that stays out of a circle about the origin, (n, 2).

    Empty where the straight line passes the circle, or an end is within it. With a side the line keeps to
    that side of the circle.
    """
    nothing = np.zeros((0, 2))
    da, db = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if min(da, db) <= radius or (side is not None and np.linalg.norm(side) < radius):
        return nothing
    line = b - a
    share = float(np.clip(-(a @ line) / ((line @ line) or 1.0), 0.0, 1.0))
    nearest = a + share * line
    free = float(np.linalg.norm(nearest)) >= radius
    if free and (side is None or nearest @ side >= 0.0):
        return nothing
    ways = []
    for sign in (1.0, -1.0):
        first = np.arctan2(a[1], a[0]) + sign * np.arccos(radius / da)
        last = np.arctan2(b[1], b[0]) - sign * np.arccos(radius / db)
        sweep = (sign * (last - first)) % (2.0 * np.pi)
        angles = first + sign * np.linspace(0.0, sweep, _ARC)
        ways.append((sweep, radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)))
    if side is None:
        return min(ways, key=lambda way: way[0])[1]
    return max(ways, key=lambda way: float(way[1][_ARC // 2] @ side))[1]
