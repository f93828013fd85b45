# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Time per link of forward dynamics as a chain grows: the algorithm is linear, the caches are not."""

from __future__ import annotations

import numpy as np
from rich.console import Console

import worldline.model as wm
from benchmarks.timing import best_of, table_of
from worldline._src.step.samples import chain

WORLDS = 256


def run(console: Console) -> None:
    """Print the table; the last column is asked to stay below 1.3 for 200 links."""
    table = table_of(
        "forward dynamics of a chain, nanoseconds per link and world",
        "links | one world | lanes | one / 10 links | lanes / 10 links",
    )
    jobs = {}
    for n in (10, 50, 100, 200):
        model = chain(n)
        rng = np.random.default_rng(0)
        q, v, u = rng.normal(size=(3, WORLDS, n))
        out = np.empty((WORLDS, n))
        for lanes in (1, None):
            jobs[n, lanes] = lambda m=model, q=q, v=v, u=u, o=out, k=lanes: wm.forward_dynamics(
                m, q, v, u, out=o, lanes=k
            )
    times = best_of(jobs)
    per_link = {key: t / WORLDS / key[0] * 1e9 for key, t in times.items()}
    for n in (10, 50, 100, 200):
        one, lanes = per_link[n, 1], per_link[n, None]
        table.add_row(
            str(n),
            f"{one:.1f}",
            f"{lanes:.1f}",
            f"{one / per_link[10, 1]:.2f}",
            f"{lanes / per_link[10, None]:.2f}",
        )
    console.print(table)
