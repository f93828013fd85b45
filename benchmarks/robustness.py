# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Thousands of random heaps: what is lost, what explodes, how deep bodies sink, what the solver leaves open.

Shapes, masses, laws of contact, friction from none to 3, overlap at the start and steps from 0.1 to 20 ms are
drawn at random; every method takes its turn. An explosion is twice the energy that falling and overlap at the
start explain; "gained" are heaps with any more energy than explained, "most %" is the largest energy as a
share of what is explained, "spin" are heaps where a body turned more than a radian a step. "worst" is the
deepest overlap of heaps that start apart, "late" the median of the deepest in the last tenth. WORLDLINE_HEAPS
sets how many heaps there are, 2400 unless said otherwise.
WORLDLINE_FIGURES names a file that gets the table in Markdown.
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
FIGURES = os.environ.get("WORLDLINE_FIGURES", "")


COLUMNS = (
    "",
    "heaps",
    "steps",
    "lost",
    "exploded",
    "gained",
    "most %",
    "spin",
    "worst mm",
    "late mm",
    "unsolved %",
)


def _row(name: str, measured: list[tuple[Case, Outcome]]) -> list[str]:
    steps = sum(outcome.steps for _, outcome in measured)
    shallow = [outcome.deepest for case, outcome in measured if not case.deep]
    rest = [outcome.at_rest for _, outcome in measured]
    return [
        name,
        f"{len(measured)}",
        f"{steps}",
        f"{sum(not outcome.finite for _, outcome in measured)}",
        f"{sum(outcome.finite and outcome.exploded for _, outcome in measured)}",
        f"{sum(outcome.energy > outcome.allowed for _, outcome in measured)}",
        f"{100.0 * max(outcome.energy / outcome.allowed for _, outcome in measured):.1f}",
        f"{sum(outcome.spins for _, outcome in measured)}",
        f"{1e3 * max(shallow, default=0.0):.1f}",
        f"{1e3 * float(np.median(rest)):.2f}",
        f"{100.0 * sum(outcome.unconverged for _, outcome in measured) / max(steps, 1):.1f}",
    ]


def _rows(groups: dict[str, list[tuple[Case, Outcome]]]) -> list[list[str]]:
    """One row a group, all of them last."""
    return [_row(name, groups[name]) for name in sorted(groups, key=lambda name: (name == "all", name))]


def _markdown(rows: list[list[str]]) -> str:
    """The table as the documentation has it."""
    lines = [f"Random heaps: {rows[-1][1]}, of {STEPS} steps each.", ""]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


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
        if not outcome.finite or outcome.energy > outcome.allowed:
            console.print(f"  {case}: {outcome}", highlight=False)
        if FIGURES and seed % 48 == 47:
            # a run takes an hour: what there is can be looked at
            Path(FIGURES).write_text(_markdown(_rows(groups)))
    rows = _rows(groups)
    table = Table(title=f"{HEAPS} random heaps of {STEPS} steps")
    for column in COLUMNS:
        table.add_column(column, justify="left" if not column else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if FIGURES:
        Path(FIGURES).write_text(_markdown(rows))
