# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Import time, first results in a new process, and the cold compile of every kernel.

    python -m benchmarks start_up

With the Python of an environment that has a wheel it measures machine code of the package. Seconds are those
of the clock and of the processor, best and median of fifteen processes; beside other work the latter say
more. WORLDLINE_MENAGERIE names the folder of robots with meshes, g1 and aloha.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

import worldline
from benchmarks.timing import table_of
from worldline._src.kernel_cache import compiler_version
from worldline._src.machine_code import package

ROUNDS = 15
"""Processes of which the best and the median count."""

TIMED = """import time; start = time.perf_counter(), time.process_time()
{code}
print(time.perf_counter() - start[0], time.process_time())"""
IMPORT = "import {module}"
FIRST = """import worldline.model as wm
from worldline._src.step.samples import chain
m = chain(7); q = wm.neutral(m)
wm.forward_dynamics(m, q, q, q)"""
FIRST_CONTACT = """from worldline import msd, simulation as sx
world = sx.World.from_scene(msd.from_file({path!r}))
while not world.compute_step_metrics().active_contact_count: world.step(n=5)"""
COLD = """from worldline._src.cli.warmup import warm
if __name__ == '__main__': warm()"""


def robots() -> list[tuple[str, Path, str]]:
    """Robots, their files and the seconds asked for; those of Menagerie where WORLDLINE_MENAGERIE is."""
    data = Path(worldline.__file__).parent / "_src/cli/data"
    found = [("humanoid", data / "humanoid.xml", "0.3")]
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        for name, folder in (("g1", "unitree_g1"), ("aloha", "aloha")):
            found.append((name, Path(menagerie) / folder / "scene.xml", "0.6"))
    return found


def seconds(code: str, **environment: str) -> tuple[float, float]:
    """Wall-clock time of some code in a new process, and time of a processor of all of that process."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(TIMED.format(code=code))
        script.flush()
        run = subprocess.run(
            [sys.executable, script.name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "WORLDLINE_QUIET": "1", **environment},
        )
    wall, processor = map(float, run.stdout.split()[-2:])
    return wall, processor


def summary(code: str) -> list[str]:
    """Best and median of wall-clock time and of time of a processor."""
    seconds(code)
    columns = list(zip(*(seconds(code) for _ in range(ROUNDS)), strict=True))
    return [f"{min(column):.3f} ({statistics.median(column):.3f})" for column in columns]


def run(console: Console) -> None:
    """Print the table."""
    table = table_of(f"start-up, seconds, best (median) of {ROUNDS}", "what | wall clock | processor | asked")
    for module, asked in (("worldline", "0.15"), ("worldline.simulation", "0.15"), ("worldline.model", "")):
        table.add_row(f"import {module}", *summary(IMPORT.format(module=module)), asked)
    table.add_row("first result in a new process", *summary(FIRST), "")
    for name, path, asked in robots():
        what = f"first contact step in a new process, {name}"
        table.add_row(what, *summary(FIRST_CONTACT.format(path=str(path))), asked)
    came = package().level
    table.add_row("machine code", f"package, {came}" if came else "compile cache", "", "")
    if compiler_version() is not None and came is None:
        with tempfile.TemporaryDirectory() as folder:
            wall, _ = seconds(COLD, WORLDLINE_CACHE_DIR=folder)
        table.add_row("cold compile of every kernel", f"{wall:.1f}", "", "45")
    console.print(table)
