# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of form that every kernel keeps: signatures, outputs, allocation, scalars."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import worldline

SOURCE = Path(worldline.__file__).parent / "_src"
FILES = sorted((SOURCE / "kernels").rglob("*.py"))
KERNELS = [
    pytest.param(node, id=f"{path.stem}.{node.name}")
    for path in FILES
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef)
    and any(getattr(d, "id", "") == "kernel" for d in node.decorator_list)
]


@pytest.mark.parametrize("node", KERNELS)
def test_signature(node):
    names = [a.arg for a in node.args.args]
    assert len(names) <= 8
    marked = [n.endswith(("_out", "_io")) for n in names]
    assert any(marked), "a kernel writes something"
    assert marked == sorted(marked), "outputs come last"
    assert node.args.kwonlyargs == []
    assert node.args.vararg is None


@pytest.mark.parametrize("node", KERNELS)
def test_docstring_and_pass_comments(node):
    assert ast.get_docstring(node)


@pytest.mark.parametrize("path", [*FILES, *sorted((SOURCE / "spatial").glob("*.py"))], ids=lambda p: p.stem)
def test_kernels_use_only_the_scalar_operations(path):
    if path.name == "poses.py" and path.parent.name == "spatial":
        return  # NumPy values at the edges of the package
    tree = ast.parse(path.read_text())
    modules = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert modules <= {"__future__", "typing", "worldline"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_stay_short(path):
    # the public names of World with their documentation are one table
    most = 2500 if path.relative_to(SOURCE).as_posix() == "facade/world.py" else 700
    assert len(path.read_text().splitlines()) <= most
