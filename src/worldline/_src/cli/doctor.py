# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline doctor`: checks the installation and reports what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Iterator
from typing import Any

import typer
from rich.markup import escape

from worldline import __version__
from worldline._src.cli import common
from worldline._src.named_tuple import NamedTuple

NEEDED = ("numpy", "scipy", "msgspec", "lxml", "trimesh", "typer", "rich")
OPTIONAL = {
    "numba": ("compiler", "the compiler, for kernels that did not come with the package"),
    "viser": ("viewer", "the web viewer"),
    "vtkmodules": ("render", "pictures without a screen"),
    "gymnasium": ("learn", "environments for reinforcement learning"),
    "stable_baselines3": ("baselines", "environments for Stable-Baselines3"),
    "ray": ("distributed", "rollouts on many machines"),
    "matplotlib": ("plot", "Recording.plot"),
    "coacd": ("mesh", "convex decomposition of meshes"),
    "PIL": ("mesh", "height fields from images"),
    "coal": ("coal", "another collision detector"),
    "mujoco": ("bench", "comparison in `worldline bench`"),
    "pinocchio": ("bench", "comparison in `python -m benchmarks`"),
}
"""Modules, the extra that brings each, and what it is for."""


class Finding(NamedTuple):
    """One line of the report."""

    what: str
    value: str
    good: bool = True
    advice: str = ""


def doctor(as_json: common.AsJson = False) -> None:
    """Look at Python, the compiler, the processor, the compile cache, threads and packages; try a step.

    Ends with 1 when something is wrong, and says what to do about it.

    \b
    Examples:
      worldline doctor
      worldline doctor --json > report.json     attach this to a bug report
    """
    findings = [*_python(), *_processor(), *_machine_code(), *_cache(), *_packages(), _self_check()]
    bad = [finding for finding in findings if not finding.good]
    if as_json:
        common.write_json({"good": not bad, "findings": [finding._asdict() for finding in findings]})
    else:
        console = common.results()
        made = common.table(f"worldline {__version__}", "", "")
        made.columns[1].justify = "left"
        for finding in findings:
            mark = "" if finding.good else "[red]problem:[/red] "
            made.add_row(finding.what, mark + escape(finding.value))
        console.print(made)
        for finding in bad:
            console.print(f"{finding.what}: {escape(finding.advice)}", highlight=False, soft_wrap=True)
        console.print("all is well" if not bad else f"{len(bad)} problems")
    if bad:
        raise typer.Exit(1)


def _python() -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding(
        "python", f"{platform.python_version()} ({sys.executable})", good, "use Python 3.11 or later"
    )
    yield Finding("system", platform.platform())
    for name in NEEDED:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "missing", False, f"pip install {name}")
        else:
            yield Finding(name, version)
    from worldline._src.jit import DISABLED

    yield Finding(
        "compiled code",
        "off (NUMBA_DISABLE_JIT is set)" if DISABLED else "on",
        not DISABLED,
        "unset NUMBA_DISABLE_JIT; plain Python is hundreds of times slower",
    )


def _processor() -> Iterator[Finding]:
    from worldline._src.processor import flags, levels
    from worldline._src.scalar.lanes import native_width

    wide = [name for name in ("sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve") if name in flags()]
    level = levels()[0] if levels() else platform.machine()
    yield Finding("processor", f"{level}, {' '.join(wide) or 'no vector features found'}")
    yield Finding("lanes", f"{native_width()} worlds per instruction")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("threads", f"{usable} usable of {os.cpu_count()} processors")


def _machine_code() -> Iterator[Finding]:
    """Where kernels come from, and what would still be compiled."""
    from worldline._src import machine_code
    from worldline._src.cli.compile_units import missing, scalars, units
    from worldline._src.errors import MachineCodeError
    from worldline._src.jit import DISABLED
    from worldline._src.kernel_cache import compiler_version

    if DISABLED:
        return
    try:
        package = machine_code.package()
        package.check()
    except MachineCodeError as error:
        yield Finding("machine code", "damaged", False, str(error))
        return
    came = "none came with the package: kernels are compiled on this machine"
    if package.level:
        came = f"{len(package)} functions for {package.level}, in {package.folder}"
        if foreign := package.count_foreign():
            came += f"; {foreign} of them belong to other sources than those here and are not used"
    yield Finding("machine code", came)
    left = {scalar: (len(missing(scalar)), len(units(scalar))) for scalar in scalars()}
    text = ", ".join(f"{count} of {total} for {scalar}" for scalar, (count, total) in left.items() if count)
    good = not text or compiler_version() is not None
    yield Finding("still to compile", text or "nothing", good, "pip install 'worldline[compiler]'")


def _cache() -> Iterator[Finding]:
    from worldline._src.kernel_cache import cache_folder

    folder = cache_folder()
    writable = _writable(folder)
    advice = f"make {folder} writable or set WORLDLINE_CACHE_DIR; else every process compiles anew"
    yield Finding("compile cache", str(folder) + ("" if writable else " (not writable)"), writable, advice)
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    empty = "; `worldline warmup` fills it" if not files else ""
    yield Finding("cache size", f"{size / 1e6:.1f} MB in {len(files)} files{empty}")


def _writable(folder: Any) -> bool:
    """Whether files can be made there, or the folder itself can be made."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


def _packages() -> Iterator[Finding]:
    for module, (extra, purpose) in OPTIONAL.items():
        found = importlib.util.find_spec(module) is not None
        state = "installed" if found else f"not installed; pip install 'worldline[{extra}]'"
        yield Finding(f"{module} (optional)", f"{state}: {purpose}")


def _self_check() -> Finding:
    """Let a box fall for a tenth of a second and compare with the closed form of the integrator."""
    from worldline._src.facade.world import World

    start = time.perf_counter()
    world = World(time_step=0.001)
    box = world.add_rigid_body("box", position=(0.0, 0.0, 1.0))
    world.step(n=100)
    off = abs(float(box.translation[2]) - (1.0 - 9.81 * 1e-6 * 100 * 101 / 2))
    text = (
        f"a falling box is within {off:.1e} m of the closed form, after {time.perf_counter() - start:.2f} s"
    )
    return Finding(
        "self-check", text, off < 1e-12, "the engine computes wrong results here; please report it"
    )
