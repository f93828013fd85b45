# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a scene that was found sound is still the same, without looking at all of it again.

Reading a scene ends with checking it, and building a model of it begins with checking it. Between the two
nothing may have happened. Assignments to fields all leave a mark (`edited`), and so does taking over a part
that was lent. Lists, tables and arrays can be changed without anybody noticing, so a `Seal` keeps what they
held and compares: entries by identity, arrays by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter, is_
from typing import Any, Final

import numpy as np

MOST_NUMBERS: Final = 10_000
"""Larger arrays are looked at again instead of being kept twice."""
SEAL: Final = "_seal"
"""Where a scene keeps its seal."""
_kind, _dimensions = attrgetter("dtype"), attrgetter("ndim")
_NONE: Final = np.zeros(0)


class Edits:
    """The mark of the last change of any object of any scene; each change leaves another one."""

    mark: object = object()


def edited() -> None:
    """Notes that some scene has changed."""
    Edits.mark = object()


class Seal:
    """What tells whether a sound scene is unchanged.

    Args:
        mark: `Edits.mark` from before the scene was looked at.
        lists: Every list in the scene.
        tables: Every dict in the scene.
        arrays: Every array in the scene.
    """

    __slots__ = ("_arrays", "_bytes", "_entries", "_layouts", "_lengths", "_lists", "_mark", "_tables")

    def __init__(
        self, mark: object, lists: list[list[Any]], tables: list[dict[str, Any]], arrays: list[np.ndarray]
    ) -> None:
        self._mark = mark
        self._lists, self._tables, self._arrays = lists, tables, arrays
        self._lengths = self._counted()
        self._entries = list(self._held())
        self._layouts, self._bytes = self._numbers()

    def is_whole(self) -> bool:
        """Whether nothing has changed."""
        return (
            Edits.mark is self._mark
            and self._counted() == self._lengths
            and all(map(is_, self._held(), self._entries))
            and self._numbers() == (self._layouts, self._bytes)
        )

    def _counted(self) -> list[int]:
        return list(map(len, chain(self._lists, self._tables)))

    def _held(self) -> Iterable[Any]:
        tables = chain.from_iterable(table.items() for table in self._tables)
        return chain(chain.from_iterable(self._lists), chain.from_iterable(tables))

    def _numbers(self) -> tuple[list[Any], bytes]:
        arrays = self._arrays
        layouts = [*map(_kind, arrays), *map(_dimensions, arrays), *map(len, arrays)]
        return layouts, (np.concatenate(arrays, axis=None) if arrays else _NONE).tobytes()


def keep_seal(scene: Any, seal: Seal | None) -> None:
    """Keeps the seal of a scene that was found sound; None for one that cannot have any."""
    scene.__dict__[SEAL] = seal


def is_sealed(scene: Any) -> bool:
    """Whether a scene was found sound, and certainly is as it was then."""
    seal: Seal | None = scene.__dict__.get(SEAL)
    return seal is not None and seal.is_whole()
