# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of state and inputs of many worlds, and where their parts go in the arenas of a group of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from worldline._src.spatial.poses import Array


class RowPart(NamedTuple):
    """Numbers of a row: how many, and where in the arenas they go."""

    name: str
    count: int
    place: int
    at: int
    runs: tuple[tuple[int, int, int], ...] | None = None
    """Where not all of them go to one place: first number, where it goes, how many, of every run."""


def some_of(name: str, count: int, place: int, at: int, used: Sequence[int]) -> RowPart:
    """A part of `count` numbers of which only those in `used` go to the arena, one after the other."""
    if len(used) == count:
        return RowPart(name, count, place, at)
    return RowPart(name, count, place, at, tuple((u, at + k, 1) for k, u in enumerate(used)))


def rows_of(parts: Sequence[RowPart], worlds: int) -> tuple[Array, np.ndarray, dict[str, Array]]:
    """An array with a row a world, the table of its parts for the loop over steps, and views by name."""
    starts = np.cumsum([0, *(part.count for part in parts)])
    rows = np.zeros((worlds, int(starts[-1])))
    spans = zip(parts, starts.tolist(), strict=False)
    views = {part.name: rows[:, start : start + part.count] for part, start in spans}
    table = [
        (p.place, at, count, start + first)
        for p, start in zip(parts, starts.tolist(), strict=False)
        for first, at, count in (((0, p.at, p.count),) if p.runs is None else p.runs)
    ]
    return rows, np.array(table, np.int64), views
