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
_layout = attrgetter("dtype", "shape")
_DOUBLE: Final = np.dtype(np.float64)


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
        vectors: Every double array of one dimension in the scene.
        arrays: Every other array in the scene.
        numbers: Those of all vectors, one after another.
    """

    __slots__ = (
        "_arrays",
        "_entries",
        "_lengths",
        "_lists",
        "_mark",
        "_others",
        "_tables",
        "_values",
        "_vectors",
    )

    def __init__(
        self,
        mark: object,
        lists: list[list[Any]],
        tables: list[dict[str, Any]],
        vectors: list[np.ndarray],
        arrays: list[np.ndarray],
        numbers: np.ndarray,
    ) -> None:
        self._mark = mark
        self._lists, self._tables, self._vectors, self._arrays = lists, tables, vectors, arrays
        self._lengths = self._counted()
        self._entries = list(self._held())
        self._values = numbers.tobytes()
        self._others = self._contents()

    def is_whole(self) -> bool:
        """Whether nothing has changed."""
        return (
            Edits.mark is self._mark
            and self._counted() == self._lengths
            and all(map(is_, self._held(), self._entries))
            and self._has_same_numbers()
            and self._contents() == self._others
        )

    def _counted(self) -> list[int]:
        return list(map(len, chain(self._lists, self._tables, self._vectors)))

    def _held(self) -> Iterable[Any]:
        tables = chain.from_iterable(table.items() for table in self._tables)
        return chain(chain.from_iterable(self._lists), chain.from_iterable(tables))

    def _has_same_numbers(self) -> bool:
        if not self._vectors:
            return True
        try:
            # fails for vectors that have got another type or shape
            return np.concatenate(self._vectors, dtype=_DOUBLE, casting="no").tobytes() == self._values
        except (TypeError, ValueError):
            return False

    def _contents(self) -> list[tuple[Any, bytes]]:
        return [(_layout(array), array.tobytes()) for array in self._arrays]


def keep_seal(scene: Any, seal: Seal | None) -> None:
    """Keeps the seal of a scene that was found sound; None for one that cannot have any."""
    scene.__dict__[SEAL] = seal


def is_sealed(scene: Any) -> bool:
    """Whether a scene was found sound, and certainly is as it was then."""
    seal: Seal | None = scene.__dict__.get(SEAL)
    return seal is not None and seal.is_whole()
