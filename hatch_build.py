# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Wheels with machine code, and without.

`make wheel` builds libraries with `packaging/machine_code.py` and names their folder in
WORLDLINE_MACHINE_CODE. A wheel that is built then carries them, is for this system and for any Python 3, and
does not need the compiler. Every other wheel has the sources alone, is for all systems, and compiles where it
runs.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMPILER = "numba>=0.61"


def libraries() -> Path | None:
    """The folder of libraries that a wheel is to carry."""
    given = os.environ.get("WORLDLINE_MACHINE_CODE")
    if not given:
        return None
    if not (Path(given) / "manifest.json").is_file():
        raise FileNotFoundError(
            f"WORLDLINE_MACHINE_CODE={given} has no manifest.json: packaging/machine_code.py"
        )
    return Path(given)


class CompilerDependency(MetadataHookInterface):
    """The compiler is needed by installations that have no machine code."""

    def update(self, metadata: dict[str, Any]) -> None:
        needed = self.config["needed"]
        metadata["dependencies"] = needed if libraries() else [*needed, COMPILER]


class MachineCode(BuildHookInterface):
    """Put libraries into a wheel, and the system they are for into its name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = libraries()
        if folder is None or self.target_name != "wheel" or version == "editable":
            return
        build_data["force_include"][str(folder.resolve())] = "worldline/_machine_code"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system_tag(folder)}"


def system_tag(folder: Path) -> str:
    """The oldest C library that has all symbols the libraries ask for."""
    versions = {(2, 17)}
    for library in folder.rglob("*.so"):
        found = re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())
        versions |= {(int(major), int(minor)) for major, minor in found}
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{platform.machine()}"
