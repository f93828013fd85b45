# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pieces of arenas that are copied or compared together, in one call of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from worldline._src.jit import DISABLED, entry
from worldline._src.kinds import int64
from worldline._src.scalar.memory import address_as, address_of, vector

ONCE, CONTACT, ROW, PAIR = range(4)
"""What pieces of arenas are counted by."""


@entry(signature="int64[:,::1] int64[::1]", label="copies of arenas")
def _copy_runs(runs, counts):
    """Copy runs of 8-byte numbers: address, address of the copy, how many a piece, which count of pieces."""
    for r in range(runs.shape[0]):
        n = runs[r, 2] * counts[runs[r, 3]]
        old, new = vector(address_as(runs[r, 0], int64), 0, n), vector(address_as(runs[r, 1], int64), 0, n)
        for k in range(n):
            new[k] = old[k]


@entry(signature="int64[:,::1]", label="comparisons of arenas")
def _same_runs(runs):
    """Whether runs of numbers have the bits of their copies."""
    differs = 0
    for r in range(runs.shape[0]):
        n = runs[r, 2]
        old, new = vector(address_as(runs[r, 0], int64), 0, n), vector(address_as(runs[r, 1], int64), 0, n)
        for k in range(n):
            differs |= old[k] ^ new[k]
    return differs == 0


def compile_runs() -> None:
    """Compile what copies and compares arenas."""
    if not DISABLED:
        _copy_runs.ready()  # type: ignore[attr-defined]
        _same_runs.ready()  # type: ignore[attr-defined]


class Run(NamedTuple):
    """A piece of an arena, and its copy."""

    old: np.ndarray
    new: np.ndarray
    by: int = ONCE
    """What its rows are counted by."""


class Runs:
    """Pieces of arenas that are copied or compared together."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = [run for run in runs if run.old.size]
        table = [
            (address_of(a), address_of(b), a.size if by == ONCE else a[0].size, by) for a, b, by in self.runs
        ]
        self.table = np.array(table, np.int64).reshape(-1, 4)
        self._counts: np.ndarray | None = None
        self._copy: Callable[[], int] = int
        self._same: Callable[[], bool] | None = None

    def copy(self, counts: np.ndarray) -> None:
        """Copy them all; `counts` are those of `ONCE`, `CONTACT`, `ROW` and `PAIR`."""
        if not DISABLED:
            if counts is not self._counts:
                self._copy, self._counts = _copy_runs.bound(self.table, counts), counts  # type: ignore[attr-defined]
            self._copy()
            return
        for old, new, by in self.runs:
            new[: None if by == ONCE else counts[by]] = old[: None if by == ONCE else counts[by]]

    def are_same(self) -> bool:
        """Whether all have the bits of their copies."""
        if not DISABLED:
            same = self._same
            if same is None:
                same = self._same = _same_runs.bound(self.table)  # type: ignore[attr-defined]
            return same() != 0
        return all(a.tobytes() == b.tobytes() for a, b, _ in self.runs)
