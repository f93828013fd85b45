# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Axes that separated pairs in an earlier step: they spare searches, and results do not depend on them."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.kernels.narrowphase.links import _AXES, AXIS_ROWS
from worldline._src.kernels.narrowphase.tables import VERTEX_COUNT, VERTEX_FIRST
from worldline.collision import CollisionShape


def _cloud(seed: int, count: int = 60) -> np.ndarray:
    """Points on a bumpy ellipsoid about the origin."""
    x = np.random.default_rng(seed).normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * (0.3, 0.25, 0.2)


def _heap(count: int) -> sx.World:
    """Hulls that turn and fall on a plane in a heap, side by side."""
    world, rng = sx.World(time_step=0.005), np.random.default_rng(3)
    world.add_ground_plane()
    for k in range(count):
        place = (0.45 * (k % 2), 0.4 * (k // 2 % 2), 0.25 + 0.4 * (k // 4))
        body = world.add_rigid_body(f"hull_{k}", mass=1.0, position=place)
        body.add_collision_shape(CollisionShape.convex(_cloud(k)))
        body.angular_velocity = 3.0 * rng.normal(size=3)
    return world


def _coordinates(world: sx.World) -> np.ndarray:
    return world._live().sim.q.copy()


def _rows(world: sx.World) -> np.ndarray:
    collision = world._live().sim.constraints.collision
    return collision.column.work[_AXES : _AXES + 4 * AXIS_ROWS].reshape(AXIS_ROWS, 4)


def test_an_axis_that_is_kept_separates_its_pair() -> None:
    world = _heap(4)
    world.step()
    column = world._live().sim.constraints.collision.column
    # -1 for the plane, which keeps no axes
    hulls = column.geom[column.shape_geom][:, [VERTEX_FIRST, VERTEX_COUNT]].tolist()
    clouds = [column.vertex[first : first + count] for first, count in hulls]
    seen = 0
    for _ in range(60):
        world.step()
        poses = column.shape_X_W
        for key, *axis in _rows(world):
            if key == 0.0:
                continue
            a, b = divmod(int(key) - 1, len(hulls))
            assert np.linalg.norm(axis) == pytest.approx(1.0, abs=1e-12)
            n = poses[a, 3:].reshape(3, 3) @ np.array(axis)
            low = min((clouds[b] @ poses[b, 3:].reshape(3, 3).T + poses[b, :3]) @ n)
            high = max((clouds[a] @ poses[a, 3:].reshape(3, 3).T + poses[a, :3]) @ n)
            seen += low > high
    # all but those of pairs that touch now
    assert seen > 60


@pytest.mark.parametrize("count", [4, 14])
def test_results_do_not_depend_on_axes_of_earlier_steps(count: int) -> None:
    # 14 hulls are 91 pairs, more than there are places for axes
    world, touched = _heap(count), 0
    for _ in range(150):
        fresh = world.clone()
        world.step()
        fresh.step()
        touched += len(world.contacts) > 0
        np.testing.assert_array_equal(_coordinates(world), _coordinates(fresh))
        assert [c.depth for c in world.contacts] == [c.depth for c in fresh.contacts]
    assert touched > 10


def test_axes_of_others_do_no_harm() -> None:
    world, other = _heap(4), _heap(4)
    rng = np.random.default_rng(0)
    for _ in range(80):
        rows = _rows(world)
        axes = rng.normal(size=(AXIS_ROWS, 3))
        # of any pair, in any direction
        rows[:, 1:] = axes / np.linalg.norm(axes, axis=1)[:, None]
        world.step()
        other.step()
        np.testing.assert_array_equal(_coordinates(world), _coordinates(other))
