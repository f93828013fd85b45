# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Thousands of random heaps: what is lost, what explodes, how deep bodies sink, what the solver leaves open.

Shapes, masses, laws of contact, friction from none to 3, overlap at the start and steps from 0.1 to 20 ms are
drawn at random; every method takes its turn. An explosion is twice the energy that falling and overlap at the
start explain; "by spin" are those where a body turned by more than a radian a step, which gains energy even
without contact; "gained" is the share of heaps with any more energy than explained. "worst" is the deepest
overlap of heaps that start apart, "late" the median of the deepest in the last tenth. WORLDLINE_HEAPS sets
how many heaps there are, 2400 unless said otherwise.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "validation"))

from random_heaps import Case, Outcome, fall, random_case

HEAPS = int(os.environ.get("WORLDLINE_HEAPS", "2400"))
STEPS = 120


def _add_row(table: Table, name: str, told: list[tuple[Case, Outcome]]) -> None:
    steps = sum(outcome.steps for _, outcome in told)
    shallow = [outcome.deepest for case, outcome in told if not case.deep]
    rest = [outcome.at_rest for _, outcome in told]
    table.add_row(
        name,
        f"{len(told)}",
        f"{steps}",
        f"{sum(not outcome.finite for _, outcome in told)}",
        f"{sum(outcome.finite and outcome.exploded for _, outcome in told)}",
        f"{sum((not outcome.finite or outcome.exploded) and outcome.spins for _, outcome in told)}",
        f"{100.0 * sum(outcome.energy > outcome.allowed for _, outcome in told) / len(told):.1f}",
        f"{1e3 * max(shallow, default=0.0):.1f}",
        f"{1e3 * float(np.median(rest)):.2f}",
        f"{100.0 * sum(outcome.unconverged for _, outcome in told) / max(steps, 1):.1f}",
    )


def run(console: Console) -> None:
    """Print the table: by law, by method, by time step, and all."""
    groups: dict[str, list[tuple[Case, Outcome]]] = defaultdict(list)
    for seed in track(range(HEAPS), "dropping heaps", console=console, transient=True):
        case = random_case(seed)
        outcome = fall(case, STEPS)
        band = "below 1 ms" if case.h < 1e-3 else "1 to 5 ms" if case.h < 5e-3 else "5 to 20 ms"
        for name in (
            f"law: {case.law}",
            f"method: {case.method.name.lower()}",
            f"step: {band}",
            f"start: {'deep overlap' if case.deep else 'apart'}",
            f"friction: {case.friction:g}",
            "all",
        ):
            groups[name].append((case, outcome))
        if not outcome.finite or outcome.exploded:
            console.print(f"  {case}: {outcome}", highlight=False)
    table = Table(title=f"{HEAPS} random heaps of {STEPS} steps")
    for column in (
        "",
        "heaps",
        "steps",
        "lost",
        "exploded",
        "by spin",
        "gained %",
        "worst mm",
        "late mm",
        "unsolved %",
    ):
        table.add_column(column, justify="left" if not column else "right")
    for name in sorted(groups, key=lambda name: (name == "all", name)):
        _add_row(table, name, groups[name])
    console.print(table)
