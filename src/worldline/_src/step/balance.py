# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Balance: zero moment point, support polygon, and the margin between them.

What stands on the ground is pushed there by one wrench. The zero moment point is where on a level plane its
moment has no level part [Vukobratovic, Stepanenko 1972]; feet can give it only inside the convex hull of the
points they stand on. Level is across `up`, a unit vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.model import Model, takes_model
from worldline._src.spatial.poses import Array, VectorLike, flag_array, float_array, numbers
from worldline._src.step import regressors
from worldline._src.step.dynamics import forward_kinematics, link_accelerations, link_velocities

PointsLike: TypeAlias = VectorLike | Sequence[VectorLike]
"""Points, (n, 3)."""

_UP = (0.0, 0.0, 1.0)


@takes_model
def zero_moment_point(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    qdd: VectorLike,
    *,
    height: float = 0.0,
    up: VectorLike = _UP,
    bodies: np.ndarray | None = None,
) -> Array:
    """Where on a level plane one push would give the motion, world frame [m], (3,).

    It is that of everything in the model, or of some bodies, for one world. At rest it is below the centre of
    mass.

    Args:
        model: the model.
        q: joint coordinates.
        qd: joint velocities.
        qdd: joint accelerations.
        height: of the plane along `up` [m].
        up: unit vector, (3,).
        bodies: which bodies count, (body_count,) of bool; all when None.

    Example:
        >>> from worldline.model import ModelBuilder, zero_moment_point
        >>> builder = ModelBuilder()
        >>> cart = builder.add_link(mass=2.0)
        >>> slide = builder.add_joint_prismatic(-1, cart, axis=(1, 0, 0), parent_xform=(0, 0, 1, 0, 0, 0, 1))
        >>> _ = builder.add_articulation([slide])
        >>> model = builder.finalize()
        >>> zero_moment_point(model, [0.5], [0.0], [9.81]).round(6).tolist()  # x - a z / g
        [-0.5, 0.0, 0.0]
    """
    n = upward(up)
    poses = forward_kinematics(model, q)
    if poses.ndim != 2:
        raise ArgumentError("zero_moment_point is for one world; operands must have no world dimension")
    R = regressors.rotations(poses)
    V, A = link_velocities(model, q, qd), link_accelerations(model, q, qd, qdd)
    A[:, 3:] -= np.asarray(model.gravity)
    Y = regressors.body_regressor(regressors.in_body(R, V), regressors.in_body(R, A))
    wrenches = np.einsum("bij,bj->bi", Y, regressors.inertial_parameters(model).reshape(-1, 10))
    forces = np.einsum("bij,bj->bi", R, wrenches[:, 3:])
    moments = np.einsum("bij,bj->bi", R, wrenches[:, :3]) + np.cross(poses[:, :3], forces)
    if bodies is not None:
        counted = flag_array(bodies, "bodies")
        if counted.shape != (model.body_count,):
            raise ArgumentError(f"bodies must be {model.body_count} flags, got shape {counted.shape}")
        forces, moments = forces[counted], moments[counted]
    force, moment = forces.sum(axis=0), moments.sum(axis=0)
    lift = float(force @ n)
    if abs(lift) <= 1e-12 * (1.0 + float(np.abs(forces).sum())):
        raise ArgumentError("there is no zero moment point: the motion needs no push along `up`")
    origin = float(numbers(height, (), "height")) * n
    level = np.cross(n, moment - np.cross(origin, force)) / lift
    return np.asarray(origin + level, np.float64)


def support_polygon(points: PointsLike, *, up: VectorLike = _UP) -> Array:
    """Those of the points that span their hull seen from above, counterclockwise, (vertices, 3).

    Fewer than three when the points are in one line or in one place; none without points.

    Args:
        points: world frame [m], (n, 3).
        up: unit vector, (3,).

    Example:
        >>> from worldline.model import support_polygon
        >>> support_polygon([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0]]).tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    given = float_array(points, "points")
    if given.size == 0:
        return np.zeros((0, 3))
    if given.ndim != 2 or given.shape[1] != 3 or not np.isfinite(given).all():
        raise ArgumentError(f"points must be finite with shape (n, 3), got shape {given.shape}")
    flat = given @ level_axes(up).T
    order = np.lexsort((flat[:, 1], flat[:, 0]))
    # points that are off a line by rounding only are on it
    slack = 1e-12 * (1.0 + float(np.ptp(flat, axis=0).max()) ** 2)
    lower, upper = _half_hull(flat, order, slack), _half_hull(flat, order[::-1], slack)
    around = lower[:-1] + upper[:-1]
    if not around:
        around = [int(order[0])]
    return given[around]


def balance_margin(point: VectorLike, polygon: PointsLike, *, up: VectorLike = _UP) -> float:
    """How far a point is inside a support polygon seen from above [m]; negative outside.

    Minus infinity without a polygon; a line or a point has no inside.

    Args:
        point: world frame [m], (3,); the zero moment point or the centre of mass.
        polygon: world frame [m], (n, 3); its hull is taken.
        up: unit vector, (3,).

    Example:
        >>> from worldline.model import balance_margin
        >>> square = [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]]
        >>> balance_margin([0.5, 1, 3], square), balance_margin([3, 1, 0], square)
        (0.5, -1.0)
    """
    place = float_array(point, "point")
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ArgumentError(f"point must be finite with shape (3,), got shape {place.shape}")
    hull = support_polygon(polygon, up=up)
    if not len(hull):
        return -np.inf
    axes = level_axes(up)
    start, p = hull @ axes.T, axes @ place
    edge = np.roll(start, -1, axis=0) - start
    lever = p - start
    length = np.maximum(np.sum(edge * edge, axis=1), 1e-300)
    along = np.clip(np.sum(lever * edge, axis=1) / length, 0.0, 1.0)
    away = float(np.linalg.norm(lever - along[:, None] * edge, axis=1).min())
    inside = len(hull) > 2 and bool(np.all(edge[:, 0] * lever[:, 1] - edge[:, 1] * lever[:, 0] >= 0.0))
    return away if inside else -away


def upward(up: VectorLike) -> Array:
    """`up` as a unit vector."""
    n = float_array(up, "up")
    length = float(np.linalg.norm(n)) if n.shape == (3,) else 0.0
    if not (np.isfinite(length) and length > 0.0):
        raise ArgumentError(f"up must be a direction of shape (3,), got {up!r}")
    return n / length


def level_axes(up: VectorLike) -> Array:
    """Two unit vectors across `up`, right-handed with it; x and y when it is z, (2, 3)."""
    n = upward(up)
    x = np.array([1.0, 0.0, 0.0]) if abs(n[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x -= (x @ n) * n
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x)])


def _half_hull(flat: Array, order: np.ndarray, slack: float) -> list[int]:
    """One side of the hull by Andrew's monotone chain: drop what does not turn left."""
    side: list[int] = []
    for k in order.tolist():
        while len(side) > 1:
            (ax, ay), (bx, by) = flat[side[-1]] - flat[side[-2]], flat[k] - flat[side[-2]]
            if ax * by - ay * bx > slack:
                break
            side.pop()
        if not side or not np.array_equal(flat[side[-1]], flat[k]):
            side.append(k)
    return side
