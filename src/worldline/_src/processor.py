# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Instruction sets of the processor, detected without the compiler."""

from __future__ import annotations

import functools
import os
import re

from worldline._src.named_tuple import NamedTuple

LEVELS = {
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe",
}
"""Levels of processors, highest first, and the features each adds to the next."""


def machine() -> str:
    """The kind of processor, as "x86_64"."""
    if hasattr(os, "uname"):
        return os.uname().machine.lower()
    import platform

    return platform.machine().lower()


def is_x86() -> bool:
    """Whether this is a 64-bit x86 processor."""
    return machine() in ("x86_64", "amd64")


@functools.cache
def flags() -> frozenset[str]:
    """Features of the processor, by the names Linux uses; empty where they cannot be found."""
    try:
        with open("/proc/cpuinfo") as file:
            # one processor's entry is enough, and the file is long where there are many
            text = file.read(1 << 14)
    except OSError:
        return _from_compiler()
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def _from_compiler() -> frozenset[str]:
    """The same as the compiler names them, for systems without a list of their own."""
    try:
        from llvmlite import binding
    except ImportError:
        return frozenset()
    names = {"bmi": "bmi1", "lzcnt": "abm"}
    found = binding.get_host_cpu_features().items()
    return frozenset(str(names.get(k, k)) for k, there in found if there)


@functools.cache
def levels() -> tuple[str, ...]:
    """Levels whose machine code runs here, highest first."""
    if not is_x86():
        return ()
    found: list[str] = []
    for level in reversed(LEVELS):
        if not flags() >= set(LEVELS[level].split()):
            break
        found.insert(0, level)
    return tuple(found)


class Target(NamedTuple):
    """A processor that code is compiled for, as the compiler names it and its features."""

    name: str
    features: str


@functools.cache
def target() -> Target:
    """What code is compiled for: the level of this processor, as in wheels, so that both run the same code.

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another. A processor below all levels is its own target.
    """
    given = os.environ.get("NUMBA_CPU_NAME")
    if given:
        return Target(given, os.environ.get("NUMBA_CPU_FEATURES", ""))
    if levels():
        return Target(levels()[0], "")
    from llvmlite import binding

    return Target(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
