# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes written as MJCF and read again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from worldline import msd
from worldline._src.scene.base import clone
from worldline._src.scene.compose import rename
from worldline._src.scene.kinds import Rename


def rooted(world: msd.World) -> msd.World:
    """The scene with the content of asset files in the place of their paths: a copy is the same file."""
    start = os.path.dirname(world.source_path or "")

    def content(path: str) -> str:
        file = Path(start, path)
        return f"{hashlib.sha256(file.read_bytes()).hexdigest()}{file.suffix}" if path else path

    made = clone(world)
    rename(made, Rename(file=content))
    return made


def written(world: msd.World, file: Path, **options: Any) -> tuple[msd.World, msd.Report]:
    """The scene after being written and read again, and the report of the writer."""
    report = world.to_file(file, **options)
    return msd.from_file(file), report


def scene_differences(a: msd.World, b: msd.World, tolerance: float = 0.0) -> list[str]:
    """Where two scenes differ, by path; numbers may differ by a relative tolerance."""
    found: list[str] = []
    stack: list[tuple[str, Any, Any]] = [
        ("$", json.loads(a.to_str(defaults=True)), json.loads(b.to_str(defaults=True)))
    ]
    while stack and len(found) < 10:
        path, x, y = stack.pop()
        if path == "$.source_path":
            continue
        if isinstance(x, dict) and isinstance(y, dict):
            stack += [(f"{path}.{k}", x.get(k), y.get(k)) for k in {**x, **y}]
        elif isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            stack += [(f"{path}[{i}]", p, q) for i, (p, q) in enumerate(zip(x, y, strict=True))]
        elif isinstance(x, float) and isinstance(y, float):
            if abs(x - y) > tolerance * max(abs(x), abs(y)):
                found.append(f"{path}: {x!r} but {y!r}")
        elif x != y:
            found.append(f"{path}: {str(x)[:60]} but {str(y)[:60]}")
    return found
