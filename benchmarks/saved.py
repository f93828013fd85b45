# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Figures kept with their date and kind of machine, and the page of the documentation made from them.

`python -m benchmarks --save docs/data/benchmarks.json` measures and keeps; `python -m benchmarks.saved` makes
`docs/comparison.md` of what was kept, and puts the figures of README.md between their marks.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldline._src.scalar.lanes import native_width

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT / "docs" / "data" / "benchmarks.json", ROOT / "docs" / "comparison.md"
README = ROOT / "README.md"
_HEAD = """\
`python -m benchmarks --save` measured these figures and `python -m benchmarks.saved` generated this
page. Both engines run in one process, alternately, on one thread unless a table states otherwise;
each figure is the best of many runs. Shared machines are noisy: compare ratios rather than times,
and reproduce them on your machine with `make bench`."""
_FOOT = """\
`worldline bench FILE` compares Worldline with MuJoCo on your own file.
[Capabilities](capabilities.md) lists the supported features."""
_LANE_ROBOTS = ("hopper", "half_cheetah", "walker2d", "ant")
PEERS = ("numpy", "numba", "mujoco", "pin", "coal")


class Keeper(Console):
    """A console that also keeps the tables that are printed, in a file if one is named."""

    def __init__(self, path: Path | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.path, self.tables = path, list[dict[str, Any]]()

    def print(self, *objects: Any, **options: Any) -> None:
        tables = [_kept(item) for item in objects if isinstance(item, Table)]
        self.tables += tables
        super().print(*objects, **options)
        if tables:
            self.save()

    def save(self) -> None:
        """Write the tables of so far to the file."""
        if self.path is not None:
            save(self.path, self.tables)


def _kept(table: Table) -> dict[str, Any]:
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return {
        "title": _plain(table.title or ""),
        "columns": [_plain(column.header) for column in table.columns],
        "rows": [list(row) for row in zip(*columns, strict=True)],
    }


def _plain(text: Any) -> str:
    return Text.from_markup(str(text)).plain


def save(path: Path, tables: list[dict[str, Any]]) -> None:
    """Keep tables with the date, the kind of machine and the versions they were measured with."""
    data = {**_circumstances(), "tables": tables}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _circumstances() -> dict[str, Any]:
    versions = {}
    for name in PEERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    lanes = f"{native_width()} worlds in an instruction"
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} shared processors, {_processor()}, {lanes}",
        "python": platform.python_version(),
        "versions": versions,
    }


def described(data: dict[str, Any] | None = None) -> str:
    """When, on which machine and with which versions figures were measured; now, by default."""
    data = _circumstances() if data is None else data
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return f"Measured {data['date']} on {data['machine']}, Python {data['python']}, {versions}."


def _processor() -> str:
    import llvmlite.binding

    return llvmlite.binding.get_host_cpu_name()


def markdown(data: dict[str, Any]) -> str:
    """The page of the documentation."""
    parts = ["# Comparison with other engines", _HEAD, described(data)]
    for table in map(_figures_alone, data["tables"]):
        rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
        lines = ["| " + " | ".join(cell.replace("|", "/") or " " for cell in row) + " |" for row in rows]
        title = table["title"]
        parts.append(f"## {title[:1].upper()}{title[1:]}\n\n" + "\n".join(lines))
    parts.append(_FOOT)
    return "\n\n".join(parts) + "\n"


def _figures_alone(table: dict[str, Any]) -> dict[str, Any]:
    """A table without the goals that its benchmark measures itself by."""
    keep = [k for k, name in enumerate(table["columns"]) if name != "asked"]
    return {
        "title": re.sub(r"; \(iterations\)$|[;,] asked.*$", "", table["title"]),
        "columns": [table["columns"][k].replace(" / asked", ", ratio") for k in keep],
        "rows": [[re.sub(r" \(\S+\)( below)?$", "", row[k]) for k in keep] for row in table["rows"]],
    }


def with_figures(readme: str, data: dict[str, Any]) -> str:
    """README.md with the figures of the data between its marks."""
    for mark, lines in (("steps", _steps(data)), ("lanes", _lanes(data)), ("dynamics", _dynamics(data))):
        first, last = f"<!-- figures: {mark} -->\n", f"<!-- end of {mark} -->"
        before, found, rest = readme.partition(first)
        _, ended, after = rest.partition(last)
        if not (found and ended):
            raise ValueError(f"README.md has no marks of the figures '{mark}'")
        readme = before + first + "\n" + "\n".join(lines) + "\n\n" + last + after
    return readme


def _table(data: dict[str, Any], title: str) -> list[dict[str, str]]:
    """Rows of the table that has this in its title, by column."""
    for table in map(_figures_alone, data["tables"]):
        if title in table["title"]:
            return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    raise ValueError(f"no table '{title}' was kept; there are {[table['title'] for table in data['tables']]}")


def _steps(data: dict[str, Any]) -> list[str]:
    calls = {row["call"]: row["measured"] for row in _table(data, "calls from Python, microseconds")}
    one = calls["world.step() of one rigid body"]
    lines = [
        "| | Worldline |",
        "|---|---|",
        f"| `world.step()` of one rigid body, called from Python | {one} microseconds |",
    ]
    for row in _table(data, "falling and lying"):
        scene = row["scene"].replace("_", "-")
        lines.append(f"| {scene} | {row['ratio']} x the steps per second of MuJoCo |")
    return lines


def _lanes(data: dict[str, Any]) -> list[str]:
    lines = ["| robot | steps per second in lanes, over MuJoCo's |", "|---|---|"]
    for row in _table(data, "us a step of a world"):
        if row["scene"] in _LANE_ROBOTS:
            lines.append(f"| {row['scene'].replace('_', '-')} | {row['over MuJoCo']} x |")
    return lines


def _dynamics(data: dict[str, Any]) -> list[str]:
    pin = data["versions"].get("pin", "")
    lines = [
        f"| microseconds per evaluation | Pinocchio {pin} (C++) | Worldline, one world | Worldline, lanes |",
        "|---|---|---|---|",
    ]
    for row in _table(data, "tree algorithms"):
        if row["algorithm"] == "forward dynamics":
            one = f"{row['one world']} ({row['one, ratio']})"
            lanes = f"{row['lanes']} ({row['lanes, ratio']})"
            lines.append(f"| {row['model']} | {row['Pinocchio']} | {one} | {lanes} |")
    return lines


def main() -> None:
    data = json.loads(DATA.read_text("utf-8"))
    README.write_text(with_figures(README.read_text("utf-8"), data), encoding="utf-8")
    PAGE.write_text(markdown(data), encoding="utf-8")
    print(f"written: {PAGE}, {README}")


if __name__ == "__main__":
    main()
