# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of all bodies and of the objects attached to them, many at once.

Poses are computed from a copy of the coordinates in memory of their own. Drawing may therefore run in
another thread than the one that steps, and never marks a pose of the World as read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import state_binding
from worldline._src.facade.world_state import WorldState
from worldline._src.model.model import Model
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step.dynamics import forward_kinematics

if TYPE_CHECKING:
    from worldline._src.facade.world import World


def coordinates(world: World, state: WorldState | None = None) -> Array:
    """A copy of all joint coordinates of a World, now or in a state; what a state does not name is as now."""
    runtime = world._live()
    q = runtime.sim.q.copy()
    if state is None:
        return q
    if not isinstance(state, WorldState):
        raise ArgumentError(f"a WorldState is needed, got {state!r}")
    binding = state_binding.bind(world, state.space, control=False)[1]
    numbers = binding.checked(state.vector)[binding.in_arena]
    rows = binding.rows - runtime.model.arenas.offsets["q"]
    ours = (rows >= 0) & (rows < len(q))
    q[rows[ours]] = numbers[ours]
    return q


def body_poses(model: Model, q: Array) -> Array:
    """Position and xyzw of every body, the world's own last, so that body -1 is the world; (n + 1, 7)."""
    poses = np.empty((model.body_count + 1, 7))
    poses[-1] = IDENTITY
    if model.body_count:
        forward_kinematics(model, q, out=poses[:-1])
    return poses


def composed(a: Array, b: Array) -> Array:
    """Poses b seen from where the poses a are seen from, row by row, (n, 7)."""
    made = np.empty(np.broadcast_shapes(a.shape, b.shape))
    made[:, :3] = a[:, :3] + turned_by(a[:, 3:], b[:, :3])
    u, v, s, t = a[:, 3:6], b[:, 3:6], a[:, 6:], b[:, 6:]
    made[:, 3:6] = s * v + t * u + _cross(u, v)
    made[:, 6:] = s * t - (u * v).sum(axis=1, keepdims=True)
    return made


def turned_by(xyzw: Array, vectors: Array) -> Array:
    """Vectors (n, 3), each turned by its quaternion (n, 4)."""
    u, w = xyzw[:, :3], xyzw[:, 3:]
    twice = 2.0 * _cross(u, vectors)
    return vectors + w * twice + _cross(u, twice)


def points_of(poses: Array, points: Array) -> Array:
    """Points (n, 3) given in the frames of poses (n, 7), in the world."""
    return poses[:, :3] + turned_by(poses[:, 3:], points)


def _cross(a: Array, b: Array) -> Array:
    # twice as fast as numpy.cross on a few hundred rows
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
