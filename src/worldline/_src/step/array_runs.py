# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies and comparisons of several pieces of arenas in one call of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from worldline._src.jit import DISABLED, entry, outline
from worldline._src.kinds import int64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, vector

ONCE, CONTACT, ROW, PAIR = range(4)
"""What pieces of arenas are counted by."""
_ALL = 1 << 62
_CACHE_LINE = 64
"""[bytes]"""


@outline
def _copy(runs, counts):
    """Copy runs of 8-byte numbers: address, address of the copy, how many a piece, which count of pieces.

    counts: where the number of pieces stands, and the most that there can be.
    """
    for r in range(runs.shape[0]):
        by = runs[r, 3]
        pieces = vector(address_as(counts[by, 0], int64), 0, 1)[0]
        n = runs[r, 2] * min(pieces, counts[by, 1])
        old, new = vector(address_as(runs[r, 0], int64), 0, n), vector(address_as(runs[r, 1], int64), 0, n)
        for k in range(n):
            new[k] = old[k]


@entry(signature="int64[:,::1] int64[:,::1]", label="copies of arenas")
def _copy_runs(runs, counts):
    _copy(runs, counts)


@outline
def _are_same(runs):
    """Whether runs of numbers have the bits of their copies."""
    differs = 0
    for r in range(runs.shape[0]):
        n = runs[r, 2]
        old, new = vector(address_as(runs[r, 0], int64), 0, n), vector(address_as(runs[r, 1], int64), 0, n)
        for k in range(n):
            differs |= old[k] ^ new[k]
    return differs == 0


@entry(signature="int64[:,::1]", label="comparisons of arenas")
def _same_runs(runs):
    return _are_same(runs)


@entry(signature="int64[:,::1] int64[:,::1] int64[:,::1]", label="copies of arenas that have not changed")
def _copy_if_same(same, runs, counts):
    """Copy runs where others have the bits of their copies; returns whether they have."""
    if _are_same(same):
        _copy(runs, counts)
        return 1
    return 0


def compile_runs() -> None:
    """Compile what copies and compares arenas."""
    if not DISABLED:
        _copy_runs.ready()  # type: ignore[attr-defined]
        _same_runs.ready()  # type: ignore[attr-defined]
        _copy_if_same.ready()  # type: ignore[attr-defined]


class Run(NamedTuple):
    """A piece of an arena, and its copy."""

    old: np.ndarray
    new: np.ndarray
    by: int = ONCE
    """What its rows are counted by."""


class Counts:
    """How many pieces runs of a kind have: what a counter says when they are copied, one without a counter.

    Args:
        counters: array of one integer by kind.
        most: largest number of pieces by kind, where the counter may say more.
    """

    def __init__(
        self, counters: Mapping[int, np.ndarray] | None = None, most: Mapping[int, int] | None = None
    ):
        one, found, limits = np.ones(1, np.int64), counters or {}, most or {}
        self.counters = [found.get(by, one) for by in range(4)]
        self.most = [limits.get(by, _ALL) for by in range(4)]
        self.table = np.array(
            [(c.ctypes.data, most) for c, most in zip(self.counters, self.most, strict=True)], np.int64
        )

    def of(self, by: int) -> int:
        """The number of pieces of a kind now."""
        return min(int(self.counters[by][0]), self.most[by])


def _joined(runs: list[Run]) -> list[tuple[int, int, int, int]]:
    """Address, address of the copy, length and kind of runs; neighbours in the same two arenas are one run.

    Columns of an arena take whole cache lines: less than one between two of them is padding.
    """
    table: list[tuple[int, int, int, int]] = []
    arenas: tuple[Any, Any] | None = None
    for old, new, by in runs:
        a, b, n = old.ctypes.data, new.ctypes.data, old.size if by == ONCE else old[0].size
        if arenas is not None and by == ONCE and old.base is arenas[0] and new.base is arenas[1]:
            first, copy, length, _ = table[-1]
            if 0 <= a - first - 8 * length < _CACHE_LINE and b - copy == a - first:
                table[-1] = first, copy, (a - first) // 8 + n, ONCE
                continue
        table.append((a, b, n, by))
        shared = by == ONCE and old.base is not None and new.base is not None
        arenas = (old.base, new.base) if shared else None
    return table


class Runs:
    """Pieces of arenas that are copied or compared together."""

    def __init__(self, runs: Iterable[Run], counts: Counts | None = None) -> None:
        self.counts = counts or Counts()
        self.runs = [run for run in runs if run.old.size]
        self.table = np.array(_joined(self.runs), np.int64).reshape(-1, 4)
        self._copy: Callable[[], object] | None = None
        self._same: Callable[[], bool] | None = None

    def copy(self) -> None:
        """Copy them all."""
        copy = self._copy
        if copy is None:
            copy = self._copy = self.bound()
        copy()

    def bound(self) -> Callable[[], object]:
        """A function that copies them all."""
        if DISABLED:
            return self._copy_python
        call: Any = _copy_runs.bound(self.table, self.counts.table)  # type: ignore[attr-defined]
        call.kept = self  # what the tables have addresses of
        return call

    def _copy_python(self) -> None:
        for old, new, by in self.runs:
            # as numbers in a row: a piece may be laid out otherwise than its copy
            size = (old.size if by == ONCE else old[0].size) * self.counts.of(by)
            new.reshape(-1)[:size] = old.reshape(-1)[:size]

    def bound_copy(self, same: Runs) -> Callable[[], int]:
        """A function that copies them all if others have the bits of their copies, and returns 0 if not."""
        if not DISABLED:
            call: Any = _copy_if_same.bound(same.table, self.table, self.counts.table)  # type: ignore[attr-defined]
            call.kept = self, same  # what the tables have addresses of
            return call

        def copy() -> int:
            if not same.are_same():
                return 0
            self.copy()
            return 1

        return copy

    def are_same(self) -> bool:
        """Whether all have the bits of their copies."""
        if not DISABLED:
            same = self._same
            if same is None:
                same = self._same = _same_runs.bound(self.table)  # type: ignore[attr-defined]
            return same() != 0
        return all(a.tobytes() == b.tobytes() for a, b, _ in self.runs)
