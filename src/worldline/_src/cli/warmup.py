# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline warmup`: compile every kernel ahead of time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from worldline._src.cli import common

if TYPE_CHECKING:
    from worldline._src.jit import Unit


def to_compile() -> list[Unit]:
    """What is not compiled yet, for one world and for the lanes that this processor prefers."""
    from worldline._src.cli.compile_units import missing
    from worldline._src.scalar.lanes import native_width

    return [unit for scalar in ("float", f"lanes{native_width()}") for unit in missing(scalar)]


def warm(jobs: int | None = None, report: Callable[[Unit, float], None] = lambda unit, seconds: None) -> None:
    """Compile for one world and for lanes, on all processors or on `jobs` of them."""
    from worldline._src.compile_ahead import compile_all

    compile_all(to_compile(), jobs or os.cpu_count() or 1, report)


def warmup(
    jobs: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes to use; all processors by default.")
    ] = None,
) -> None:
    """Compile every kernel now, so that no first call has to wait.

    \b
    Examples:
      worldline warmup
      WORLDLINE_CACHE_DIR=/opt/kernels worldline warmup     for a container
    """
    from worldline._src.compile_ahead import compile_all
    from worldline._src.kernel_cache import cache_folder

    console = common.results()
    start = time.perf_counter()
    units = to_compile()
    compile_all(units, jobs or os.cpu_count() or 1)
    seconds = time.perf_counter() - start
    console.print(f"{len(units)} kernels compiled, all ready after {seconds:.1f} s in {cache_folder()}")
