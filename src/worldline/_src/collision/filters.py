# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision filters: pairs of objects that are never tested.

In this order: masks, the same object, parent and child, welded objects, ignored pairs, groups without
collisions among themselves, and last the explicit pairs, which are tested whatever the others say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError, require_kind

if TYPE_CHECKING:
    from worldline._src.collision.group import CollisionGroup, CollisionObject


class CollisionFilter(FixedAttributes):
    """The filter of one group.

    Example:
        >>> from worldline.collision import CollisionDetector, CollisionShape
        >>> group = CollisionDetector.create("native").create_group()
        >>> a, b = group.add(CollisionShape.sphere(1.0)), group.add(CollisionShape.sphere(1.0))
        >>> group.filter.set_ignored(a, b)
        >>> group.filter.is_ignored(b, a), group.filter.num_ignored
        (True, 1)
    """

    def __init__(self, group: CollisionGroup) -> None:
        self._group = group
        self.ignored: set[tuple[int, int]] = set()
        self.explicit: set[tuple[int, int]] = set()
        self.weld: dict[int, int] = {}
        self.parent: dict[int, int] = {}
        self.quiet: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"CollisionFilter({len(self.ignored)} pairs ignored, {len(self.explicit)} explicit)"

    def set_ignored(self, a: CollisionObject, b: CollisionObject, ignored: bool = True) -> None:
        """Leave a pair out, or take it in again; the order does not matter."""
        self._set(self.ignored, a, b, ignored, "ignored")

    def is_ignored(self, a: CollisionObject, b: CollisionObject) -> bool:
        """Whether a pair was set to be ignored."""
        return self._pair(a, b) in self.ignored

    def clear_ignored(self) -> None:
        """Ignore no pairs."""
        self.ignored.clear()
        self._group.changed()

    @property
    def num_ignored(self) -> int:
        """How many pairs are ignored."""
        return len(self.ignored)

    def set_explicit(self, a: CollisionObject, b: CollisionObject, explicit: bool = True) -> None:
        """Test a pair whatever the other filters say, or no longer."""
        self._set(self.explicit, a, b, explicit, "explicit")

    def _set(
        self, pairs: set[tuple[int, int]], a: CollisionObject, b: CollisionObject, on: bool, what: str
    ) -> None:
        """Put a pair into a set or take it out."""
        pair = self._pair(a, b)
        _flag(on, what)
        (pairs.add if on else pairs.discard)(pair)
        self._group.changed()

    def set_parent(self, child: CollisionObject, parent: CollisionObject | None) -> None:
        """Never test a child against its parent; a static parent is no hindrance."""
        self._own(child)
        if parent is None:
            self.parent.pop(child.index, None)
        else:
            self._pair(child, parent)
            self.parent[child.index] = parent.index
        self._group.changed()

    def weld_together(self, objects: Iterable[CollisionObject]) -> None:
        """Treat objects as one body: never tested against each other."""
        self._join(self.weld, objects)

    def disable_self_collision(self, objects: Iterable[CollisionObject]) -> None:
        """Never test these objects against each other."""
        self._join(self.quiet, objects)

    def _join(self, table: dict[int, int], objects: Iterable[CollisionObject]) -> None:
        if not isinstance(objects, Iterable) or isinstance(objects, (str, bytes, np.ndarray)):
            raise ArgumentError(f"objects must be several CollisionObject, got {objects!r}")
        members = list(objects)
        for member in members:
            self._own(member)
        for member in members:
            table[member.index] = members[0].index
        self._group.changed()

    def _own(self, item: CollisionObject) -> None:
        # a group is made with a filter: the other module has been imported by now
        from worldline._src.collision.group import CollisionObject as kind

        require_kind(item, kind, "object", "CollisionFilter")
        if item.group is not self._group:
            raise OperationError(f"{item.name!r} belongs to another group")

    def _pair(self, a: CollisionObject, b: CollisionObject) -> tuple[int, int]:
        self._own(a)
        self._own(b)
        if a is b:
            raise ArgumentError(f"a pair needs two objects, got {a.name!r} twice")
        return min(a.index, b.index), max(a.index, b.index)


def _flag(value: object, what: str) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{what} must be True or False, got {value!r}")
