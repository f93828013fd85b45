# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The table of speed beside the peers in one run, as one page with pictures.

`python -m benchmarks everything` runs the benchmarks of `PARTS` and writes `build/benchmarks/index.md`:
first all that is asked with what was measured, best and median, then every table, bars of the ratios to the
peers and curves of what grows. The page names the machine, how many worlds an instruction steps in lanes,
and versions. Each part runs in a process of its own, for at most `--minutes`; a part that fails or takes
longer is named on the page with the tables it made, and the others run.

All of them take about ten minutes on a quiet machine with compiled kernels, and the loops of Pinocchio two
more to build, once; `--parts sensors heaps` runs some of them. The Menagerie's robots need its folder in
WORLDLINE_MENAGERIE, the C++ loops `pip install cmeel-eigen`. With `--save docs/data/benchmarks.json`,
`python -m benchmarks.saved` puts the figures into README.md and docs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.saved import Keeper, described

PARTS = (
    "python_calls",
    "sensors",
    "controllers",
    "real_robots",
    "heaps",
    "contact_scenes",
    "many_robots",
    "batches",
    "batch_costs",
    "tree_dynamics",
    "growth",
    "stepping",
    "loading",
    "rendering",
    "collision",
)
FOLDER = Path("build") / "benchmarks"
MINUTES = 10.0
"""Longest time of a part."""
_GROWS = ("bodies", "links", "robots")
_RATIOS = ("ratio, best", "ratio", "C++ / ours", "one / asked")
_MEDIANS = ("ratio, median", "median")


class Goal(NamedTuple):
    """A row of a table for which something is asked."""

    table: str
    row: str
    asked: str
    best: str
    median: str
    met: bool | None
    """None where what is asked is no single number."""


def number(cell: str) -> float | None:
    """The number that a cell begins with, None without one."""
    found = re.match(r"-?[\d,]*\.?\d+", cell)
    return float(found[0].replace(",", "")) if found else None


def _label(table: dict[str, Any], row: Sequence[str], count: int) -> str:
    """The words among the first cells of a row, or the first of them and what it counts."""
    words = [cell for cell in row[:count] if cell and number(cell) is None]
    return ", ".join(words) or f"{row[0]} {table['columns'][0]}"


def _ratio_column(columns: list[str]) -> int | None:
    return next((columns.index(name) for name in _RATIOS if name in columns), None)


def _goal_of(table: dict[str, Any], row: list[str]) -> Goal | None:
    """What is asked of a row; a plain number is a ratio, one with a unit a largest time."""
    columns, title = table["columns"], table["title"]
    if "one / asked" in columns:
        # "1.19 x (1.5) below": ratio and goal in one cell, its median in the next
        column = columns.index("one / asked")
        asked = re.search(r"\(([\d.]+)\)", row[column])
        if asked is None:
            return None
        met = "below" not in row[column]
        best = f"{number(row[column])}"
        return Goal(title, _label(table, row, 2), f"{asked[1]} x", best, row[column + 1], met)
    if "asked" not in columns or not (asked_cell := row[columns.index("asked")]):
        return None
    wanted = number(asked_cell)
    ratio = _ratio_column(columns)
    if ratio is not None and re.fullmatch(r"[\d.]+", asked_cell):
        after = next((k for k in range(ratio + 1, len(columns)) if columns[k] in _MEDIANS), ratio)
        best = number(row[ratio])
        met = None if best is None or wanted is None else best >= wanted
        return Goal(title, _label(table, row, ratio), f"{asked_cell} x", row[ratio], row[after], met)
    timed = next((columns.index(name) for name in ("best", "measured") if name in columns), None)
    if timed is None:
        return None
    best, plain = number(row[timed]), re.fullmatch(r"[\d.]+( [a-z]+)?", asked_cell)
    median = row[columns.index("median")] if "median" in columns else ""
    met = None if best is None or wanted is None or plain is None else best <= wanted
    return Goal(title, _label(table, row, timed), asked_cell, row[timed], median, met)


def goals(tables: list[dict[str, Any]]) -> list[Goal]:
    """All that is asked in these tables."""
    found = (_goal_of(table, row) for table in tables for row in table["rows"])
    return [goal for goal in found if goal is not None]


def _summary(tables: list[dict[str, Any]]) -> str:
    """All that is asked, in one table."""
    words = {True: "yes", False: "**no**", None: ""}
    lines = ["| what | asked | best | median | met |", "|---|---|---|---|---|"]
    for goal in goals(tables):
        what = f"{goal.table}: {goal.row}".replace("|", "/")
        lines.append(f"| {what} | {goal.asked} | {goal.best} | {goal.median} | {words[goal.met]} |")
    return "## Asked and measured\n\n" + "\n".join(lines)


def _draw_bars(table: dict[str, Any], column: int, path: Path) -> bool:
    """Ratios of a table as bars beside what is asked; False where it has none."""
    from matplotlib.figure import Figure

    asked = table["columns"].index("asked") if "asked" in table["columns"] else None
    rows = []
    for row in table["rows"]:
        ratio = number(row[column])
        if ratio is not None:
            rows.append((_label(table, row, column), ratio, None if asked is None else number(row[asked])))
    if not rows:
        return False
    figure = Figure(figsize=(8.0, 0.6 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    colours = ["#2a7" if wanted is None or ratio >= wanted else "#c63" for _, ratio, wanted in rows]
    axes.barh(range(len(rows)), [ratio for _, ratio, _ in rows], color=colours)
    for k, (_, _, wanted) in enumerate(rows):
        if wanted is not None:
            axes.plot([wanted, wanted], [k - 0.4, k + 0.4], color="black")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("time of the peer over ours; a black line is what is asked")
    figure.savefig(path, dpi=110)
    return True


def _draw_curves(table: dict[str, Any], path: Path) -> bool:
    """Columns of times over the first column; False where that does not count something."""
    from matplotlib.figure import Figure

    names = table["columns"]
    counts = [number(row[0]) for row in table["rows"]]
    if names[0] not in _GROWS or len(counts) < 3 or len(set(counts)) < len(counts):
        return False
    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.add_subplot()
    for k, name in enumerate(names[1:], start=1):
        values = [number(row[k]) for row in table["rows"]]
        if None not in values and not any(
            word in name for word in ("ratio", "asked", "contacts", "median", "/")
        ):
            axes.loglog(counts, values, marker="o", label=name)
    axes.set_xlabel(names[0])
    axes.set_title(table["title"], fontsize=8)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    return True


def write_page(folder: Path, tables: list[dict[str, Any]], failures: list[str]) -> Path:
    """The page and its pictures; returns where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = ["# Speed beside the peers", described()]
    if failures:
        parts.append("Not measured:\n\n" + "\n".join(f"- {failure}" for failure in failures))
    parts.append(_summary(tables))
    for k, table in enumerate(tables):
        cells = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
        lines = ["| " + " | ".join(cell.replace("|", "/") or " " for cell in row) + " |" for row in cells]
        part = f"## {table['title']}\n\n" + "\n".join(lines)
        ratio = _ratio_column(table["columns"])
        picture = folder / f"table_{k}.png"
        if ratio is not None and _draw_bars(table, ratio, picture):
            part += f"\n\n![ratios]({picture.name})"
        curve = folder / f"curve_{k}.png"
        if _draw_curves(table, curve):
            part += f"\n\n![growth]({curve.name})"
        parts.append(part)
    page = folder / "index.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _measure(name: str, folder: Path, minutes: float) -> tuple[list[dict[str, Any]], str]:
    """The tables of a part that runs in a process of its own, and what kept it from its end."""
    kept = folder / f"{name}.json"
    kept.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks", name, "--save", str(kept)]
    failure = ""
    try:
        status = subprocess.run(command, check=False, timeout=60.0 * minutes).returncode
        if status:
            failure = f"{name}: ended with status {status}; the console says why"
    except subprocess.TimeoutExpired:
        failure = f"{name}: not done within {minutes:g} minutes"
    return json.loads(kept.read_text("utf-8"))["tables"] if kept.exists() else [], failure


def run(console: Console, parts: Sequence[str] = PARTS, minutes: float = MINUTES) -> None:
    """Run parts one after another and write the page after each of them."""
    keeper = console if isinstance(console, Keeper) else Keeper(width=110)
    first, failures, begin = len(keeper.tables), [], time.perf_counter()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in parts:
        start = time.perf_counter()
        tables, failure = _measure(name, FOLDER, minutes)
        keeper.tables += tables
        if failure:
            failures.append(failure)
            console.print(failure)
        page = write_page(FOLDER, keeper.tables[first:], failures)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s, written: {page}\n")
    console.print(f"all parts: {(time.perf_counter() - begin) / 60.0:.1f} minutes")
