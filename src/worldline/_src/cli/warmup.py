# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline warmup`: compile every kernel ahead of time."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated

import typer
from rich.console import Console


def compile_scalar(scalar: str) -> float:
    """Compile all programs for one scalar in this process; returns the seconds it took."""
    from worldline._src.kernels.program import caller
    from worldline._src.step import lane_simulation, programs, runner, stepping
    from worldline._src.step.constraints import all_stages
    from worldline._src.step.evaluate import compiled, stage_addresses

    start = time.perf_counter()
    runner.runner(scalar)
    if scalar == "float":
        caller()
        runner.advancer()
        stage_addresses(all_stages())
    for program in (*programs.ALL, *stepping.PROGRAMS):
        if scalar == "float" or not program.one_by_one:
            compiled(program, scalar)
    lane_simulation.compile_all(scalar)
    return time.perf_counter() - start


def warm(jobs: int | None = None) -> dict[str, float]:
    """Compile for one world and for lanes, in parallel where there are processors for it."""
    from worldline._src.scalar.lanes import native_width

    scalars = [f"lanes{native_width()}", "float"]
    jobs = min(jobs or os.cpu_count() or 1, len(scalars))
    if jobs == 1:
        return {scalar: compile_scalar(scalar) for scalar in scalars}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        return dict(zip(scalars, pool.map(compile_scalar, scalars), strict=True))


def warmup(
    jobs: Annotated[int | None, typer.Option(help="Processes to use; all processors by default.")] = None,
) -> None:
    """Compile every kernel now, so that no first call has to wait.

    \b
    Examples:
      worldline warmup
      WORLDLINE_CACHE_DIR=/opt/kernels worldline warmup     for a container
    """
    from worldline._src.kernel_cache import cache_folder

    console = Console()
    start = time.perf_counter()
    with console.status("compiling kernels (once per machine) ..."):
        previous = os.environ.get("WORLDLINE_QUIET")
        os.environ["WORLDLINE_QUIET"] = "1"
        try:
            times = warm(jobs)
        finally:
            if previous is None:
                del os.environ["WORLDLINE_QUIET"]
            else:
                os.environ["WORLDLINE_QUIET"] = previous
    for scalar, seconds in times.items():
        console.print(f"{scalar:>8}: {seconds:.1f} s")
    console.print(f"kernels ready after {time.perf_counter() - start:.1f} s in {cache_folder()}")
