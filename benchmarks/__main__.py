# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import argparse
import importlib
import platform

from rich.console import Console

NAMES = (
    "tree_dynamics",
    "growth",
    "call_cost",
    "start_up",
    "stepping",
    "loading",
    "lcp",
    "integrators",
    "constraint_solvers",
    "collision",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help=f"any of: {', '.join(NAMES)}")
    console = Console(width=110)
    console.print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}\n")
    for name in parser.parse_args().names or NAMES:
        importlib.import_module(f"benchmarks.{name}").run(console)


main()
