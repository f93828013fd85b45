# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of every integration family on motions that are known without a simulator, and their order.

Writes the table of errors to docs/integrators.md between its two marks; the references are those of the
tests. The time of a step is printed only: it needs a quiet machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from benchmarks.timing import best_of, table_of
from worldline._src.step.samples import chain, humanoid
from worldline._src.step.simulation import Simulation
from worldline._src.step.stepping import MultibodyIntegrationFamily

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "integrators.md"
HALVINGS = 4


def errors() -> list[tuple[str, str, float, list[float]]]:
    """Problem, family, largest step and the errors at it and at halves of it."""
    sys.path.insert(0, str(ROOT / "tests"))
    from problems import error_of, problems  # pyright: ignore[reportMissingImports]

    rows = []
    for problem in problems():
        for family in MultibodyIntegrationFamily:
            counts = [problem.steps * 2**k for k in range(HALVINGS)]
            found = [error_of(problem, family.value, n) for n in counts]
            rows.append((problem.name, family.value, problem.until / problem.steps, found))
    return rows


def observed_order(found: list[float]) -> str:
    """From the last pair of errors that rounding does not reach."""
    clear = [e for e in found if e > 1e-11]
    return f"{np.log2(clear[-2] / clear[-1]):.2f}" if len(clear) > 1 else "-"


def costs() -> list[tuple[str, str, float]]:
    """Microseconds of a step of one world, in the same run: the ratio is what to read."""
    rows = []
    for name, model in (("chain of 7 hinges", chain(7)), ("humanoid, 38 links", humanoid())):
        rng = np.random.default_rng(0)
        q, v = wm.random_configuration(model, rng), 0.5 * rng.normal(size=model.joint_dof_count)
        jobs = {}
        for family in MultibodyIntegrationFamily:
            world = Simulation(model, 1e-3, family)

            def job(world=world, q=q, v=v):
                world.q[:], world.v[:] = q, v
                world.step(50)

            jobs[family.value] = job
        rows += [(name, family, t / 50 * 1e6) for family, t in best_of(jobs).items()]
    return rows


def run(console: Console) -> None:
    """Print the tables and write the errors to the documentation."""
    steps = ["h", *(f"h/{2**k}" for k in range(1, HALVINGS))]
    lines = [
        f"| problem | family | h [ms] | {' | '.join(f'error at {s}' for s in steps)} | order |",
        "|---|---|---|" + "---|" * (HALVINGS + 1),
    ]
    table = Table(title="largest error at the end, by step")
    for column in ("problem", "family", "h [ms]", *steps, "order"):
        table.add_column(column)
    for problem, family, h, found in errors():
        cells = [problem, family, f"{1e3 * h:.3g}", *(f"{e:.1e}" for e in found), observed_order(found)]
        lines.append(f"| {' | '.join(cells)} |")
        table.add_row(*cells)
    console.print(table)

    table = table_of("time of a step of one world", "model | family | us | semi-implicit = 1")
    base: dict[str, float] = {}
    for model, family, cost in costs():
        base.setdefault(model, cost)
        table.add_row(model, family, f"{cost:.1f}", f"{cost / base[model]:.1f}")
    console.print(table)

    begin, end = "<!-- begin measured -->\n", "<!-- end measured -->\n"
    text = PAGE.read_text()
    head, rest = text.split(begin)
    PAGE.write_text(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])
