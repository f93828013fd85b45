# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Modules of the facade import each other one way: at their top, and inside of functions.

Imports for types alone (TYPE_CHECKING) are not counted: a handle may name the World that it belongs to.
"""

from __future__ import annotations

import ast
from pathlib import Path

import worldline

FACADE = Path(worldline.__file__).parent / "_src" / "facade"
PREFIX = "worldline._src."


def name_of(path):
    return ".".join(("facade", *path.relative_to(FACADE).with_suffix("").parts))


MODULES = {name_of(path): path for path in FACADE.rglob("*.py") if path.name != "__init__.py"}


def imported(path):
    """Modules of the facade that a file imports when it is loaded or when one of its functions runs."""
    found, left = set(), [ast.parse(path.read_text("utf-8"))]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PREFIX}facade"):
                base = node.module.removeprefix(PREFIX)
                found |= {f"{base}.{item.name}" for item in node.names} | {base}
            elif not typing:
                left.append(node)
    return found & MODULES.keys()


def cycle_of(graph):
    """Modules that lead back to themselves, one after the other; empty without a cycle."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for other in sorted(graph[module]):
            if cycle := visit(other):
                return cycle
        done.add(path.pop())
        return []

    return next((cycle for module in sorted(graph) if (cycle := visit(module))), [])


def test_the_facade_has_no_cycle():
    assert " -> ".join(cycle_of({name: imported(path) - {name} for name, path in MODULES.items()})) == ""


def test_a_cycle_is_found():
    assert cycle_of({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
