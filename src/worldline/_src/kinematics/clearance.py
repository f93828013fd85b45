# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Distances between the shapes of a World at given coordinates, without changing its state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.frame import Frame
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.queries import QueryScene, body_index
from worldline._src.kernels.narrowphase.dispatch import pair_family
from worldline._src.kernels.narrowphase.tables import SKIP
from worldline._src.kinematics.subjects import WorldSubject
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step.dynamics import forward_kinematics


class NearPairs(NamedTuple):
    """Pairs of shapes that are close to each other."""

    body_a: np.ndarray
    """Bodies of the model, -1 for the world, (pairs,)."""
    body_b: np.ndarray
    distance: Array
    """Signed, negative for the deepest overlap [m], (pairs,)."""
    normal: Array
    """Unit vectors from the first to the second, world, (pairs, 3)."""
    point_a: Array
    """Closest points, world [m], (pairs, 3)."""
    point_b: Array


class Clearance:
    """The shapes of a World, with the pair filters of its steps, placed at any coordinates."""

    def __init__(self, subject: WorldSubject) -> None:
        self._query = QueryScene(subject.world, subject._runtime)
        self._model = subject.model
        self.shaped = np.zeros(subject.model.body_count + 1, bool)
        """Which bodies of the model have shapes, the last for the world."""
        self.shaped[self._query.body] = True
        if not len(self._query.group):
            self._kinds = np.zeros(0, np.int64)
            return
        self._kinds = np.array([int(item.shapes[0].type) for item in self._query.group])

    def place(self, q: Array) -> None:
        """Move all shapes to where they are at coordinates q."""
        if len(self._query.group):
            poses = forward_kinematics(self._model, q).reshape(-1, 7)
            self._query.group.poses = np.vstack([poses, IDENTITY])[self._query.body]

    def near(self, margin: float, first: np.ndarray, second: np.ndarray) -> NearPairs:
        """Pairs of a body of the first set and one of the second within a margin of each other.

        Sets are flags by body of the model, the last for the world.
        """
        none = np.zeros(0, np.int64)
        if not len(self._query.group):
            return NearPairs(none, none, np.zeros(0), *(np.zeros((0, 3)) for _ in range(3)))
        scene = self._query.detector.scene(self._query.group)
        scene.find_pairs(margin=max(margin, 0.0))
        pairs = scene.candidates().copy()
        a, b = self._query.body[pairs[:, 0]], self._query.body[pairs[:, 1]]
        wanted = (first[a] & second[b]) | (first[b] & second[a])
        kinds = self._kinds[pairs]
        wanted &= np.array([pair_family(i, j) != SKIP for i, j in kinds.tolist()], bool).reshape(-1)
        pairs = pairs[wanted]
        if not len(pairs):
            return NearPairs(none, none, np.zeros(0), *(np.zeros((0, 3)) for _ in range(3)))
        rows = scene.distances(pairs).copy()
        close = rows[:, 0] <= margin
        rows, bodies = rows[close], self._query.body[pairs[close]]
        return NearPairs(bodies[:, 0], bodies[:, 1], rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10])


def body_flags(subject: WorldSubject, given: Any, what: str) -> np.ndarray:
    """Flags by body of the model, the last for the world, of bodies, links, multibodies and None."""
    flags = np.zeros(subject.model.body_count + 1, bool)
    if isinstance(given, (Frame, Multibody)) or given is None or not isinstance(given, Iterable):
        given = [given]
    for each in values.several(given, what):
        if isinstance(each, Multibody):
            subject._require_mine(each, what)
            for link in each.links:
                flags[subject.frame(link, what)[0]] = True
        elif each is None or isinstance(each, Frame):
            flags[body_index(subject.world, each, what)] = True
        else:
            raise ArgumentError(f"{what} must be bodies, links or multibodies of the World, got {each!r}")
    return flags
