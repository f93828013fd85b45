# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import argparse
import importlib
import platform
from pathlib import Path

from benchmarks import everything
from benchmarks.saved import Keeper

NAMES = (
    "tree_dynamics",
    "growth",
    "call_cost",
    "python_calls",
    "start_up",
    "stepping",
    "sensors",
    "controllers",
    "derivatives",
    "dynamics_derivatives",
    "contact_scenes",
    "real_robots",
    "heaps",
    "many_robots",
    "lanes",
    "batches",
    "batch_costs",
    "precision",
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
    parser.add_argument(
        "--parts", nargs="+", choices=everything.PARTS, help="of everything: those to run; all by default"
    )
    parser.add_argument("--minutes", type=float, help="of everything: longest time of a part")
    arguments = parser.parse_args()
    limits = {"parts": arguments.parts, "minutes": arguments.minutes}
    limits = {name: value for name, value in limits.items() if value is not None}
    if limits and arguments.names != ["everything"]:
        parser.error("--parts and --minutes are for: python -m benchmarks everything")
    # after each table: a run of all takes long, and may be interrupted
    console = Keeper(width=110, path=arguments.save)
    console.print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}\n")
    for name in arguments.names or NAMES:
        importlib.import_module(f"benchmarks.{name}").run(console, **limits)
        console.save()


main()
