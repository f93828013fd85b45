# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Loops in C++ over the libraries that results are compared with, built with the headers they come with."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def build(
    peer: ModuleType,
    source: Path,
    program: Path,
    library: str,
    *,
    headers: Sequence[Path] = (),
    defines: Sequence[str] = (),
) -> Path | None:
    """The program of a source file, linked with the library that a Python package brings along.

    None where there is no compiler, the package has no headers, or it does not compile.
    """
    # headers may be installed elsewhere than the library
    elsewhere = [Path(path) / "cmeel.prefix" / "include" / "eigen3" for path in sys.path]
    prefix = next((p for p in Path(str(peer.__file__)).parents if p.name == "cmeel.prefix"), None)
    compiler = shutil.which("g++") or shutil.which("clang++")
    if prefix is None or compiler is None:
        return None
    folders = [
        prefix / "include",
        prefix / "include" / "eigen3",
        Path("/usr/include/eigen3"),
        *headers,
        *elsewhere,
    ]
    command = [compiler, "-std=c++17", "-O3", "-DNDEBUG", "-march=native", "-o", str(program), *defines]
    command += [str(source), *(f"-I{path}" for path in folders)]
    command += [f"-L{prefix / 'lib'}", f"-l{library}", f"-Wl,-rpath,{prefix / 'lib'}"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    return program if made.returncode == 0 else None
