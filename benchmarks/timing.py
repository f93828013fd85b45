# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Timing on a machine that is not quiet: take turns, keep the best of many."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(
    jobs: dict[str, Callable[[], object]],
    *,
    rounds: int = 15,
    least: float = 0.02,
    before: Callable[[], object] | None = None,
) -> dict[str, float]:
    """The shortest time of each job [s], measured in turns so that all meet the same disturbances.

    `before` runs ahead of every job and is not timed; a job is then not repeated within a turn.
    """
    repeats = {}
    for name, job in jobs.items():
        if before is not None:
            before()
        job()
        start = time.perf_counter()
        if before is None:
            job()
        spent = time.perf_counter() - start
        repeats[name] = 1 if before is not None else max(1, int(least / max(spent, 1e-9)))
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            if before is not None:
                before()
            start = time.perf_counter()
            for _ in range(repeats[name]):
                job()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return best
