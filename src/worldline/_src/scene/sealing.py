# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a scene that was found sound is still the same, without looking at all of it again.

Reading a scene ends with checking it, and building a model of it begins with checking it. Between the two
nothing may have happened. Assignments to fields all leave a mark (`edited`), and so does taking over a part
that was lent. Lists, tables and arrays can be changed without anybody noticing, so a `Seal` keeps what they
held and compares: entries by identity, arrays by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter, is_
from typing import Any, Final

import numpy as np

MOST_NUMBERS: Final = 10_000
"""Larger arrays are looked at again instead of being kept twice."""
SEAL: Final = "_seal"
"""Where a scene keeps its seal."""
layout = attrgetter("dtype", "shape")
"""What the bytes of an array mean."""


def joined(arrays: Sequence[np.ndarray]) -> bytes:
    """The bytes of all arrays, one after another; a third of the time that `np.concatenate` takes."""
    try:
        return b"".join(arrays)  # type: ignore[arg-type]
    except (BufferError, TypeError, ValueError):
        # parts of larger arrays need not lie in one piece
        return b"".join([array.tobytes() for array in arrays])


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
        layouts: The `layout` of each vector.
        values: The vectors, `joined`.
        arrays: Every other array in the scene.
    """

    __slots__ = (
        "_arrays",
        "_entries",
        "_layouts",
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
        layouts: list[tuple[Any, ...]],
        values: bytes,
        arrays: list[np.ndarray],
    ) -> None:
        self._mark = mark
        self._lists, self._tables, self._vectors, self._arrays = lists, tables, vectors, arrays
        self._lengths = self._counted()
        self._entries = list(self._held())
        self._layouts, self._values = layouts, values
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
        return list(map(len, chain(self._lists, self._tables)))

    def _held(self) -> Iterable[Any]:
        tables = chain.from_iterable(table.items() for table in self._tables)
        return chain(chain.from_iterable(self._lists), chain.from_iterable(tables))

    def _has_same_numbers(self) -> bool:
        return list(map(layout, self._vectors)) == self._layouts and joined(self._vectors) == self._values

    def _contents(self) -> list[tuple[Any, bytes]]:
        return [(layout(array), array.tobytes()) for array in self._arrays]


def keep_seal(scene: Any, seal: Seal | None) -> None:
    """Keeps the seal of a scene that was found sound; None for one that cannot have any."""
    scene.__dict__[SEAL] = seal


def is_sealed(scene: Any) -> bool:
    """Whether a scene was found sound, and certainly is as it was then."""
    seal: Seal | None = scene.__dict__.get(SEAL)
    return seal is not None and seal.is_whole()
