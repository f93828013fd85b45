# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Install packages into a virtual environment, which is created when there is none.

    python3 packaging/set_up.py .venv -e .

Needs a Python with the standard library alone. uv installs several times faster than pip: the one on the PATH
is used, or pip fetches it into the environment. It looks for packages where pip is configured to. Where uv
cannot be had or fails, pip does the work: that of the interpreter, or the one that comes with Python. Nothing
is compiled to bytecode ahead of time, since a first run imports a small part of what is installed.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

OLDEST = (3, 11)
UV_OPTIONS = {"index-url": "--default-index", "extra-index-url": "--index", "find-links": "--find-links"}
"""Options of pip that say where packages are, and those of uv."""
PIP_ONLY = {"no-index", "proxy", "client-cert", "trusted-host", "constraint", "require-hashes", "no-binary"}
"""Options of pip under which uv might install something else, or fail late."""


def main(arguments: Sequence[str]) -> None:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        sys.exit(
            f"Python {found} is too old, {'.'.join(map(str, OLDEST))} is needed: make PYTHON=python3.12 ..."
        )
    if len(arguments) < 2:
        sys.exit(f"usage: {sys.argv[0]} ENVIRONMENT PACKAGE ...")
    folder, packages = Path(arguments[0]), arguments[1:]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, symlinks=os.name != "nt")
    said = ""
    for install, environment in ways(python):
        done = subprocess.run(
            [*install, *packages], env=os.environ | environment, capture_output=True, text=True
        )
        if done.returncode == 0:
            return
        said = done.stdout + done.stderr
    sys.exit(f"{said}cannot install {' '.join(packages)} into {folder}")


def ways(python: Path) -> Iterator[tuple[list[str], Mapping[str, str]]]:
    """Commands that install what follows them, and their environment; the fastest first."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True)
    has_pip, configured = listed.returncode == 0, configuration(listed.stdout)
    if configured.keys().isdisjoint(PIP_ONLY):
        # a first failure is enough to try the next way
        uv = shutil.which("uv") or str(python.with_name("uv"))
        fetch = [*pip, "--python", str(python), "install", "--quiet", "--retries", "1", "--no-compile", "uv"]
        if Path(uv).exists() or (has_pip and succeeds(fetch)):
            command = [uv, "pip", "install", "--quiet", "--python", str(python), *places(configured)]
            yield command, {"SSL_CERT_FILE": configured["cert"]} if "cert" in configured else {}
    options = ["install", "--quiet", "--no-compile"]
    if has_pip:
        yield [*pip, "--python", str(python), *options], {}
    if succeeds([str(python), "-m", "ensurepip"]):
        yield [str(python), "-m", "pip", "--disable-pip-version-check", *options], {}


def succeeds(command: Sequence[str]) -> bool:
    """Whether a command can be run and ends with 0."""
    return subprocess.run(command, capture_output=True).returncode == 0


def configuration(listed: str) -> dict[str, str]:
    """What pip is configured to by files, as it lists them, and by the environment, which goes first."""
    found = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if section in ("global", "install"):
            found[option] = str(ast.literal_eval(value))
    for option in [*UV_OPTIONS, *PIP_ONLY, "cert"]:
        given = os.environ.get(f"PIP_{option.upper().replace('-', '_')}")
        if given:
            found[option] = given
    return found


def places(configured: Mapping[str, str]) -> list[str]:
    """Options of uv for the places that pip is configured to look at, all of which count alike for pip."""
    found = ["--index-strategy", "unsafe-best-match"]
    for option, name in UV_OPTIONS.items():
        for place in configured.get(option, "").split():
            found += [name, place]
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
