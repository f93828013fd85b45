# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The line of a tendon through space: straight between sites, around what it wraps as it does in a step.

Around a cylinder the line is a helix, around a sphere an arc of a great circle. Where it touches comes from
the kernel that the step uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.drawing.placement import composed, points_of
from worldline._src.kernels.tendon_touch import tendon_touch
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
    R, center, radius = rotation(pose), pose[:3], float(table.size[shape, 0])
    cylinder = bool(table.kind[shape] != ShapeKind.SPHERE)
    touch = np.empty((2, 3))
    points = np.stack([a, b, center, center if side is None else side])
    length = tendon_touch(points, R.reshape(1, 9), radius, cylinder, side is not None, touch)
    if length < 0.0:
        return np.zeros((0, 3))
    first, last = (touch - center) @ R
    arc = helix(first, last, length, radius) if cylinder else great_circle(first, last, length / radius)
    return points_of(np.tile(pose, (len(arc), 1)), arc)


def helix(first: Array, last: Array, length: float, radius: float) -> Array:
    """From one point to another on a cylinder about z, the way of the given length, (n, 3)."""
    rise = last[2] - first[2]
    sweep = np.sqrt(max(length * length - rise * rise, 0.0)) / radius
    start, end = np.arctan2(first[1], first[0]), np.arctan2(last[1], last[0])
    # the sense of rotation that gets to the end
    missed = [abs(np.angle(np.exp(1j * (start + sign * sweep - end)))) for sign in (1.0, -1.0)]
    share = np.linspace(0.0, 1.0, _ARC)
    angles = start + (sweep if missed[0] <= missed[1] else -sweep) * share
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), first[2] + share * rise], axis=1)


def great_circle(first: Array, last: Array, sweep: float) -> Array:
    """From one point to another on a sphere by an angle of at least that between them [rad], (n, 3)."""
    normal = np.cross(first, last)
    size = float(np.linalg.norm(normal))
    if size == 0.0:
        return np.stack([first, last])
    # more than half a turn leaves to the other side
    across = np.cross(normal / (size if sweep <= np.pi else -size), first)
    angles = np.linspace(0.0, sweep, _ARC)[:, None]
    return np.cos(angles) * first + np.sin(angles) * across
