# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The table of speed beside the peers in one run, as one page with pictures.

`python -m benchmarks everything` runs the benchmarks of `PARTS` and writes `build/benchmarks/index.md`:
every table with what is asked and what was measured, bars of the ratios to the peers, curves of what grows.
The page names the machine, how many worlds an instruction steps in lanes, and versions. A part that fails
is named on the page and the others run; the page is written after each of them. All of them take about ten
minutes on a quiet machine with compiled kernels, and the loops of Pinocchio another two to build, once. With
`--save docs/data/benchmarks.json`, `python -m benchmarks.saved` puts the figures into README.md and docs.
"""

from __future__ import annotations

import importlib
import re
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.saved import Keeper, described

PARTS = (
    "python_calls",
    "sensors",
    "real_robots",
    "heaps",
    "contact_scenes",
    "many_robots",
    "tree_dynamics",
    "growth",
    "stepping",
    "loading",
    "rendering",
    "collision",
)
FOLDER = Path("build") / "benchmarks"
_GROWS = ("bodies", "links", "robots")
_RATIOS = ("ratio, best", "ratio", "C++ / ours", "one / asked")


def number(cell: str) -> float | None:
    """The number that a cell begins with, None without one."""
    found = re.match(r"-?[\d,]*\.?\d+", cell)
    return float(found[0].replace(",", "")) if found else None


def _draw_bars(table: dict[str, Any], column: int, path: Path) -> bool:
    """Ratios of a table as bars beside what is asked; False where it has none."""
    from matplotlib.figure import Figure

    asked = table["columns"].index("asked") if "asked" in table["columns"] else None
    rows = []
    for row in table["rows"]:
        ratio = number(row[column])
        if ratio is not None:
            label = ", ".join(cell for cell in row[:column] if number(cell) is None) or row[0]
            rows.append((label, ratio, None if asked is None else number(row[asked])))
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
    if names[0] not in _GROWS or len(table["rows"]) < 3:
        return False
    counts = [number(row[0]) for row in table["rows"]]
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
    for k, table in enumerate(tables):
        cells = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
        lines = ["| " + " | ".join(cell.replace("|", "/") or " " for cell in row) + " |" for row in cells]
        part = f"## {table['title']}\n\n" + "\n".join(lines)
        ratio = next((table["columns"].index(name) for name in _RATIOS if name in table["columns"]), None)
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


def run(console: Console) -> None:
    """Run all parts and write the page after each of them."""
    keeper = console if isinstance(console, Keeper) else Keeper(width=110)
    first, failures, page = len(keeper.tables), [], FOLDER / "index.md"
    for name in PARTS:
        start = time.perf_counter()
        try:
            importlib.import_module(f"benchmarks.{name}").run(keeper)
        except Exception as failure:
            # a peer that is missing or fails must not cost the figures of the others; the page says so
            failures.append(f"{name}: {type(failure).__name__}: {failure}")
            console.print(f"{name} failed: {failure}")
        page = write_page(FOLDER, keeper.tables[first:], failures)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s\n")
    console.print(f"written: {page}")
