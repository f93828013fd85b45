# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Import time, first result with a warm cache, and the cold compile of every kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

IMPORT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
FIRST = (
    "import time; t = time.perf_counter()\n"
    "import worldline.model as wm\n"
    "from worldline._src.step.samples import chain\n"
    "m = chain(7); q = wm.neutral(m)\n"
    "wm.forward_dynamics(m, q, q, q)\n"
    "print(time.perf_counter() - t)"
)
COLD = (
    "import time; from worldline._src.cli.warmup import warm\n"
    "if __name__ == '__main__':\n"
    "    t = time.perf_counter(); warm(); print(time.perf_counter() - t)"
)


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
    imports = min(seconds(IMPORT.format(module="worldline")) for _ in range(5))
    table.add_row("import worldline", f"{imports:.3f}", "0.8")
    layer = min(seconds(IMPORT.format(module="worldline.model")) for _ in range(5))
    table.add_row("import worldline.model", f"{layer:.3f}", "")
    seconds(FIRST)
    first = min(seconds(FIRST) for _ in range(5))
    table.add_row("first result in a new process, warm cache", f"{first:.3f}", "1.8 with the import")
    with tempfile.TemporaryDirectory() as folder:
        cold = seconds(COLD, WORLDLINE_CACHE_DIR=folder)
    table.add_row("cold compile of every kernel", f"{cold:.1f}", "45")
    console.print(table)
