# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Timing on a machine that is not quiet: take turns, keep the best of many."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table


def table_of(title: str, columns: str) -> Table:
    """A table with these columns, `name | one | other`; the first is text, the others are numbers."""
    table = Table(title=title)
    for k, column in enumerate(columns.split(" | ")):
        table.add_column(column, justify="right" if k else "left")
    return table


def mujoco_of(console: Console) -> Any:
    """The module of MuJoCo; None where it is not installed, which is printed."""
    try:
        import mujoco
    except ImportError:
        console.print("MuJoCo is not installed")
        return None
    return mujoco


def best_of(
    jobs: dict[str, Callable[[], object]],
    *,
    rounds: int = 15,
    least: float = 0.02,
    before: Callable[[], object] | None = None,
) -> dict[str, float]:
    """The shortest time of each job [s]; see `turns_of`."""
    times = turns_of(jobs, rounds=rounds, least=least, before=before)
    return {name: float(found.min()) for name, found in times.items()}


def microseconds_of(
    jobs: dict[str, Callable[[], object]], count: int, before: Callable[[], object]
) -> dict[str, float]:
    """The shortest time of each job divided by what it does `count` times [us]; see `turns_of`."""
    times = best_of(jobs, rounds=6, before=before)
    return {name: 1e6 * seconds / count for name, seconds in times.items()}


def turns_of(
    jobs: dict[str, Callable[[], object]],
    *,
    rounds: int = 15,
    least: float = 0.02,
    before: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, np.ndarray]:
    """Times of each job [s] in every turn; jobs take turns so that all meet the same disturbances.

    `before` runs ahead of every job and is not timed; a job is then not repeated within a turn.
    `clock` may be `time.process_time`, which other programs disturb less.
    """
    repeats = {}
    for name, job in jobs.items():
        if before is not None:
            before()
        job()
        start = clock()
        if before is None:
            job()
        spent = clock() - start
        repeats[name] = 1 if before is not None else max(1, int(least / max(spent, 1e-9)))
    times = {name: np.zeros(rounds) for name in jobs}
    for turn in range(rounds):
        for name, job in jobs.items():
            if before is not None:
                before()
            start = clock()
            for _ in range(repeats[name]):
                job()
            times[name][turn] = (clock() - start) / repeats[name]
    return times


AGAINST_MUJOCO = ("Worldline", "median", "MuJoCo", "median", "ratio, best", "ratio, median")
"""Columns of a table of times beside those of MuJoCo."""


def against_mujoco(table: Table, subject: str) -> None:
    """Give a table the columns of a comparison; `subject` names what a row is about."""
    table.add_column(subject)
    for column in (*AGAINST_MUJOCO, "asked"):
        table.add_column(column, justify="right")
