# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How many modules a reader must know to understand one."""

from __future__ import annotations

import ast
from pathlib import Path

import worldline

SOURCE = Path(worldline.__file__).parent / "_src"
MOST = 25
VOCABULARY = {"errors", "jit", "keywords", "later", "named_tuple", "spatial.poses"}
"""Words that the whole package is written in; nobody looks them up for one module."""
TABLES = {"facade.world"}
"""Tables, which name each of their entries once and have no algorithm of their own: the public World has one
delegate a line for each of its parts."""


def known(path: Path) -> set[str]:
    """Modules of `_src` that a file imports when it is loaded, without what type checkers alone read."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("worldline._src"):
            base = Path(*node.module.split(".")[2:])
            for alias in node.names:
                inner = SOURCE / base / f"{alias.name}.py"
                found.add(".".join((base / alias.name if inner.exists() else base).parts))
    return found - VOCABULARY


def test_modules_know_few_others():
    counts = {
        ".".join(p.relative_to(SOURCE).with_suffix("").parts): len(known(p)) for p in SOURCE.rglob("*.py")
    }
    crowded = {name: count for name, count in counts.items() if count > MOST and name not in TABLES}
    assert not crowded, f"split by reason to change: {crowded}"


def test_exceptions_are_needed():
    for name in TABLES:
        assert len(known(SOURCE / (name.replace(".", "/") + ".py"))) >= MOST
