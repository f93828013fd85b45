# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Import time, first results in a new process, and the cold compile of every kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

import worldline
from worldline._src.machine_code import package

IMPORT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
FIRST = (
    "import time; t = time.perf_counter()\n"
    "import worldline.model as wm\n"
    "from worldline._src.step.samples import chain\n"
    "m = chain(7); q = wm.neutral(m)\n"
    "wm.forward_dynamics(m, q, q, q)\n"
    "print(time.perf_counter() - t)"
)
FIRST_CONTACT = (
    "import time; t = time.perf_counter()\n"
    "from worldline import msd, simulation as sx\n"
    "world = sx.World.from_scene(msd.from_file({path!r}))\n"
    "while not world.compute_step_metrics().active_contact_count: world.step(n=5)\n"
    "print(time.perf_counter() - t)"
)
COLD = (
    "import time; from worldline._src.cli.warmup import warm\n"
    "if __name__ == '__main__':\n"
    "    t = time.perf_counter(); warm(); print(time.perf_counter() - t)"
)


def robots() -> list[tuple[str, Path, str]]:
    """Robots, their files and the seconds asked for; those of Menagerie where WORLDLINE_MENAGERIE is."""
    data = Path(worldline.__file__).parent / "_src/cli/data"
    found = [("humanoid", data / "humanoid.xml", "0.3")]
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        for name, folder in (("g1", "unitree_g1"), ("aloha", "aloha")):
            found.append((name, Path(menagerie) / folder / "scene.xml", "0.6"))
    return found


def seconds(code: str, **environment: str) -> float:
    """What a fresh process prints last."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(code)
        script.flush()
        run = subprocess.run(
            [sys.executable, script.name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "WORLDLINE_QUIET": "1", **environment},
        )
    return float(run.stdout.split()[-1])


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title="start-up, seconds")
    for column in ("what", "measured", "asked"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for module, asked in (("worldline", "0.15"), ("worldline.simulation", "0.15"), ("worldline.model", "")):
        best = min(seconds(IMPORT.format(module=module)) for _ in range(5))
        table.add_row(f"import {module}", f"{best:.3f}", asked)
    seconds(FIRST)
    first = min(seconds(FIRST) for _ in range(5))
    table.add_row("first result in a new process", f"{first:.3f}", "")
    for name, path, asked in robots():
        code = FIRST_CONTACT.format(path=str(path))
        seconds(code)
        best = min(seconds(code) for _ in range(5))
        table.add_row(f"first contact step in a new process, {name}", f"{best:.3f}", asked)
    came = package().level
    table.add_row("machine code", f"of the package, {came}" if came else "of the compile cache", "")
    with tempfile.TemporaryDirectory() as folder:
        cold = seconds(COLD, WORLDLINE_CACHE_DIR=folder)
    table.add_row("cold compile of every kernel", f"{cold:.1f}", "45")
    console.print(table)
