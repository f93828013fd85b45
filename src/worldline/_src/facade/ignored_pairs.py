# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of bodies that are excluded from collision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.later import DeferredModule

if TYPE_CHECKING:
    from worldline._src.facade import queries
    from worldline._src.facade.queries import BodyLike
    from worldline._src.facade.world_runtime import WorldRuntime
else:
    queries = DeferredModule("facade.queries")


class IgnoredPairs:
    """Pairs of bodies of a World that pass through each other."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world

    def set_collision_pair_ignored(self, first: BodyLike, second: BodyLike, ignored: bool = True) -> None:
        """Let two bodies pass through each other, or no longer; None is the world with its fixed shapes.

        Possible at any time; the order does not matter.
        """
        world = self._world
        world._require_idle()
        if not isinstance(ignored, bool):
            raise values.ShapeError(f"ignored must be True or False, got {ignored!r}")
        pair = self._pair(first, second)
        rows = world._scene.collision_ignores.link_pairs
        kept = [row for row in rows if set(row) != set(pair)]
        if ignored == (len(kept) < len(rows)):
            return
        world._scene.collision_ignores.link_pairs = [*kept, pair] if ignored else kept
        world._topology_changed()

    def is_collision_pair_ignored(self, first: BodyLike, second: BodyLike) -> bool:
        """Whether two bodies are set to pass through each other."""
        pair = set(self._pair(first, second))
        return any(set(row) == pair for row in self._world._scene.collision_ignores.link_pairs)

    def clear_ignored_collision_pairs(self) -> None:
        """Ignore no pairs."""
        world = self._world
        world._require_idle()
        if world._scene.collision_ignores.link_pairs:
            world._scene.collision_ignores.link_pairs = []
            world._topology_changed()

    @property
    def num_ignored_collision_pairs(self) -> int:
        """See `World.num_ignored_collision_pairs`."""
        return len(self._world._scene.collision_ignores.link_pairs)

    def _pair(self, first: BodyLike, second: BodyLike) -> list[str]:
        """The names of two bodies in the description."""
        names: list[str] = []
        for body, what in ((first, "first"), (second, "second")):
            queries.body_index(self._world, body, what)
            names.append((body._link.name or "") if isinstance(body, (RigidBody, Link)) else "world")
        if names[0] == names[1]:
            raise ArgumentError(f"a pair needs two different bodies, got '{names[0]}' twice")
        return names
