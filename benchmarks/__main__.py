# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import argparse
import importlib
import platform
from pathlib import Path

from benchmarks.saved import Keeper, save

NAMES = (
    "tree_dynamics",
    "growth",
    "call_cost",
    "python_calls",
    "start_up",
    "stepping",
    "sensors",
    "derivatives",
    "dynamics_derivatives",
    "contact_scenes",
    "real_robots",
    "heaps",
    "many_robots",
    "lanes",
    "batches",
    "layouts",
    "loading",
    "lcp",
    "integrators",
    "kinematics",
    "constraint_solvers",
    "collision",
    "robustness",
    "rendering",
    "viewer",
)
OTHERS = ("everything",)
"""Runs of several of them, which are not run when none is named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, *OTHERS, []], help=f"any of: {', '.join((*NAMES, *OTHERS))}"
    )
    parser.add_argument("--save", type=Path, help="file to keep the figures in")
    arguments = parser.parse_args()
    console = Keeper(width=110)
    console.print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}\n")
    for name in arguments.names or NAMES:
        importlib.import_module(f"benchmarks.{name}").run(console)
        # after each of them: a run of all takes long, and may be interrupted
        if arguments.save is not None:
            save(arguments.save, console.tables)


main()
