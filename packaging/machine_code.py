# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Build the machine code that a wheel carries: one library for each scalar and level of processors.

    python packaging/machine_code.py build/machine_code --levels x86-64-v3 x86-64-v4

Every unit is compiled for a level into the compile cache, which may have it already: programs compile for the
level of their processor too. Then the object files of a scalar are linked. `manifest.json` names what is in
the libraries and the sources it was made from, `manifest.sha256` is its checksum.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from worldline._src import compile_ahead, kernel_cache, machine_code
from worldline._src.cli.compile_units import scalars, units
from worldline._src.jit import Unit
from worldline._src.kernel_cache import SOURCES
from worldline._src.processor import levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--levels", nargs="+", default=["x86-64-v3", "x86-64-v4"])
    parser.add_argument("--scalars", nargs="+", help="float, lanes4, dual ...; all of a level by default")
    parser.add_argument("--only", nargs="+", help="names of functions; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--from-cache",
        action="store_true",
        help="link what the compile cache has for this processor and compile nothing: for tests alone",
    )
    parser.add_argument("--level", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.from_cache:
        options.levels = [levels()[0]]
        options.level = options.levels[0]
        build_level(options)
        options.level = None
    elif options.level:
        build_level(options)
        return
    for level in [] if options.from_cache else options.levels:
        # the compiler asks for its processor once in a process
        target = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "WORLDLINE_QUIET": "1"}
        command = [sys.executable, __file__, *sys.argv[1:], "--level", level]
        subprocess.run(command, env=os.environ | target, check=True)
    parts = {level: json.loads((options.out / level / "part.json").read_text()) for level in options.levels}
    write_manifest(options.out, parts)
    count = sum(len(part["units"]) for part in parts.values())
    size = sum(path.stat().st_size for path in options.out.rglob("*.so"))
    print(f"{count} functions, {size / 1e6:.1f} MB in {options.out}")


def build_level(options: argparse.Namespace) -> None:
    """Compile and link everything for the processor that the environment names."""
    folder = options.out / options.level
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    checksums, expected = {}, 0
    for scalar in options.scalars or scalars(options.level):
        chosen = units(scalar)
        if options.only:
            chosen = [unit for unit in chosen if unit.function.__name__ in options.only]
        if options.from_cache:
            chosen = [unit for unit in chosen if kernel_cache.is_cached(unit.function, unit.variant)]
        else:
            compile_missing(chosen, f"{options.level} {scalar}", options.jobs)
        library = folder / f"{scalar}.so"
        symbols = link(chosen, library, options)
        name = library.relative_to(options.out).as_posix()
        checksums[name] = hashlib.sha256(library.read_bytes()).hexdigest()
        for unit, (symbol, result) in zip(chosen, symbols, strict=True):
            sources = {SOURCES.label(path): SOURCES.digest(path).hex() for path in SOURCES.of(unit.function)}
            about = {"file": name, "symbol": symbol, "result": result, "sources": sources}
            found[machine_code.unit(unit.function, unit.variant)] = about
        expected += len(chosen)
    assert len(found) == expected, "two functions have one name in the manifest"
    (folder / "part.json").write_text(json.dumps({"checksums": checksums, "units": found}))


def compile_missing(chosen: list[Unit], label: str, jobs: int) -> None:
    """Compile what is not in the cache, and say how far it is.

    On one line of a terminal, with the time left; elsewhere, as in logs, on a line for each function.
    """
    todo = [unit for unit in chosen if not kernel_cache.is_cached(unit.function, unit.variant)]
    start, done, drawn = time.perf_counter(), 0, 0
    on_terminal = sys.stdout.isatty()

    def report(unit: Unit, seconds: float) -> None:
        nonlocal done, drawn
        done += 1
        passed = time.perf_counter() - start
        left = passed / done * (len(todo) - done)
        text = f"{label}: {done} of {len(todo)} in {passed:.0f} s, at most {left:.0f} s left"
        text += f"; {unit.label} took {seconds:.1f} s"
        print(f"\r{text.ljust(drawn)}" if on_terminal else text, end="" if on_terminal else "\n", flush=True)
        drawn = len(text)

    compile_ahead.compile_all(todo, jobs, report)
    took = time.perf_counter() - start
    end = (
        f"{label}: {len(chosen)} functions, {len(todo)} of them compiled in {took:.0f} s by {jobs} processes"
    )
    print(f"\r{end.ljust(drawn)}" if drawn and on_terminal else end, flush=True)


def link(chosen: list[Unit], library: Path, options: argparse.Namespace) -> list[tuple[str, str]]:
    """Link the object code of units into a library; the symbol of each and the form of its result."""
    symbols = []
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for k, unit in enumerate(chosen):
            kept = kernel_cache.read(unit.function, unit.variant)
            assert kept is not None, unit.label
            image, name, result = kept
            symbol = f"worldline_{unit.function.__name__.strip('_')}_{k}"
            raw, file = Path(folder) / f"{k}.raw.o", Path(folder) / f"{k}.o"
            raw.write_bytes(image)
            # helpers of one name stay with their unit: another unit may have optimised them otherwise
            only = [f"--redefine-sym={name}={symbol}", f"--keep-global-symbol={symbol}"]
            subprocess.run(["objcopy", *only, raw, file], check=True)
            files.append(file)
            symbols.append((symbol, result))
        exports = Path(folder) / "exports"
        exports.write_text("{ global: worldline_*; local: *; };")
        flags = ["-shared", "-nostartfiles", "-s", "-Wl,--build-id=none", "-Wl,-z,noexecstack"]
        flags += ["-Wl,--no-undefined", "-Wl,-z,text", f"-Wl,--version-script={exports}", "-o", str(library)]
        subprocess.run([os.environ.get("CC", "cc"), *flags, *files, "-lm", "-lc"], check=True)
    return symbols


def write_manifest(out: Path, parts: dict[str, Any]) -> None:
    """One manifest for all levels: sources are listed once, units refer to sets of them."""
    files: dict[tuple[str, str], int] = {}
    sets: dict[tuple[int, ...], int] = {}
    for part in parts.values():
        for unit in part["units"].values():
            numbers = (files.setdefault(source, len(files)) for source in unit.pop("sources").items())
            unit["set"] = sets.setdefault(tuple(sorted(numbers)), len(sets))
    versions = [f"{name} {version(name)}" for name in ("numba", "llvmlite")]
    manifest = {
        "format": machine_code.FORMAT,
        "system": machine_code.system(),
        "compiler": ", ".join([*versions, f"Python {platform.python_version()}"]),
        "files": list(files),
        "sets": list(sets),
        "levels": parts,
    }
    text = json.dumps(manifest)
    (out / "manifest.json").write_text(text)
    (out / "manifest.sha256").write_text(hashlib.sha256(text.encode()).hexdigest())
    for level in parts:
        (out / level / "part.json").unlink()


if __name__ == "__main__":
    main()
