# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Machine code that comes with the package: one library for each scalar and level of processors.

`manifest.json` beside the libraries says which source files each function was compiled from, with their
hashes. A function is taken from a library only while all of those files are as they were, so code that does
not belong to the sources beside it is never run: an edited kernel is compiled on the spot. A library is
checked against the checksum in the manifest before it is opened, and the manifest against `manifest.sha256`.
Nothing here needs the compiler.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldline._src.errors import MachineCodeError
from worldline._src.kernel_cache import SOURCES, Code
from worldline._src.processor import levels, machine

FOLDER = Path(__file__).parent.parent / "_machine_code"
"""Where the libraries of a wheel are."""
FORMAT = 1
"""Changes when libraries are called in another way."""


def system() -> str:
    """The system that libraries are for, e.g. "linux-x86_64"."""
    return f"{sys.platform}-{machine()}"


def unit(function: Callable[..., Any], variant: str) -> str:
    """The name of a compiled function in a manifest."""
    derivation = getattr(function, "derivation", None)
    # a derived function is named by what it does
    text = "" if derivation is None else f":{hashlib.sha256(derivation.text.encode()).hexdigest()[:8]}"
    return f"{SOURCES.label(Path(function.__code__.co_filename))}:{function.__name__}:{variant}{text}"


class Package:
    """The libraries in a folder, and the level that runs here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.level: str | None = None
        self._units: dict[str, dict[str, Any]] = {}
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._current: dict[int, bool] = {}
        self._same: set[int] = set()
        self._other: set[int] = set()
        self._root = str(SOURCES.root)
        path = folder / "manifest.json"
        if not path.is_file():
            return
        try:
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() != path.with_suffix(".sha256").read_text():
                raise ValueError("its checksum is not that of manifest.sha256")
            manifest = json.loads(content)
            if manifest["format"] != FORMAT or manifest["system"] != system():
                return
            self._files: list[list[str]] = manifest["files"]
            self._sets: list[list[int]] = manifest["sets"]
            for level in levels():
                if level in manifest["levels"]:
                    self.level = level
                    self._checksums = manifest["levels"][level]["checksums"]
                    self._units = manifest["levels"][level]["units"]
                    break
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise MachineCodeError(f"{path} is damaged ({why}); {_REMEDY}") from error

    def holds(self, function: Callable[..., Any], variant: str) -> bool:
        """Whether there is machine code of `function` as its sources are now."""
        return self._found(function, variant) is not None

    def load(self, function: Callable[..., Any], variant: str) -> Code | None:
        """Machine code of a function; None when the package has none for the present sources."""
        found = self._found(function, variant)
        if found is None:
            return None
        library = self._library(found["file"])
        address = ctypes.cast(getattr(library, found["symbol"]), ctypes.c_void_p).value
        assert address is not None
        return Code(address, found["result"], library, f"package, {self.level}")

    def _found(self, function: Callable[..., Any], variant: str) -> dict[str, Any] | None:
        """What the manifest says of a function, where all of its sources are as they were."""
        found = self._units.get(unit(function, variant)) if self._units else None
        return found if found is not None and self._is_current(found["set"]) else None

    def __len__(self) -> int:
        """How many functions the libraries of this level have."""
        return len(self._units)

    def count_foreign(self) -> int:
        """How many functions were compiled from other sources than those beside them, and are not used."""
        return sum(not self._is_current(one["set"]) for one in self._units.values())

    def check(self) -> None:
        """Read every library of this level, and raise an error for one that is damaged."""
        for name in sorted({unit["file"] for unit in self._units.values()}):
            self._library(name)

    def _is_current(self, number: int) -> bool:
        """Whether all files of a set are as they were when their functions were compiled."""
        known = self._current.get(number)
        if known is None:
            files = set(self._sets[number])
            known = files.isdisjoint(self._other) and all(map(self._is_same, files - self._same))
            self._current[number] = known
        return known

    def _is_same(self, k: int) -> bool:
        """Whether one file is as it was; what `Sources.digest` computes, without its objects for paths."""
        label, digest = self._files[k]
        try:
            with open(os.path.join(self._root, label), "rb") as file:
                text = file.read()
        except OSError:
            text = b""
        same = hashlib.sha256(label.encode() + b" " + text).hexdigest() == digest
        (self._same if same else self._other).add(k)
        return same

    def _library(self, name: str) -> ctypes.CDLL:
        known = self._libraries.get(name)
        if known is None:
            path = self.folder / name
            try:
                content = path.read_bytes()
            except OSError as error:
                raise MachineCodeError(f"cannot read {path}: {error.strerror}; {_REMEDY}") from error
            if hashlib.sha256(content).hexdigest() != self._checksums[name]:
                raise MachineCodeError(
                    f"{path} is damaged: its checksum is not that of the manifest; {_REMEDY}"
                )
            try:
                known = self._libraries[name] = ctypes.CDLL(str(path))
            except OSError as error:
                raise MachineCodeError(f"cannot load {path}: {error}; {_REMEDY}") from error
        return known


_REMEDY = (
    "install worldline again (pip install --force-reinstall --no-deps worldline), or delete the folder "
    "_machine_code of the package to compile kernels on this machine (needs numba)"
)


@functools.cache
def package() -> Package:
    """The machine code beside the sources of this process."""
    return Package(FOLDER)
