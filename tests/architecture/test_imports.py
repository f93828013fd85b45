# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which module may import which, and what `import worldline` costs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import worldline
from processes import loaded_by, output_of

SOURCE = Path(worldline.__file__).parent / "_src"

# lowest first; a package imports itself and what stands before it in one of these chains
FIRST = "named_tuple later errors masked keywords linear_algebra "
LOWEST = (
    FIRST + "progress processor kernel_cache machine_code kinds operands contraction compiler helpers jit "
    "derived_stages compile_ahead scalar duals spatial kernels "
)
CHAINS = tuple(
    tuple(chain.split())
    for chain in (
        LOWEST + "model step facade drawing viewer",
        LOWEST + "model step facade cli",
        LOWEST + "lcp facade cli",
        LOWEST + "collision step facade cli",
        FIRST + "progress scene model step facade drawing render cli",
        FIRST + "spatial kernels model step facade drawing render",
        FIRST + "scene model step facade drawing viewer cli",
        FIRST + "progress scene collision step facade",
        FIRST + "spatial math kinematics",
        FIRST + "kernels model step facade kinematics",
        FIRST + "spatial model step facade drawing render envs",
        FIRST + "scene model step facade drawing render envs",
        FIRST + "progress spatial facade distributed",
        FIRST + "progress spatial facade optimize",
    )
)
FORBIDDEN = (
    ("kernels", "model"),
    ("scene", "jit"),
    ("scene", "scalar"),
    ("model", "step"),
    ("kernels", "lcp"),
    ("lcp", "model"),
    ("kernels", "collision"),
    ("collision", "step"),
    ("facade", "drawing"),
    ("spatial", "math"),
    ("facade", "kinematics"),
    ("render", "viewer"),
    ("viewer", "render"),
    ("facade", "envs"),
    ("facade", "distributed"),
    ("facade", "optimize"),
    ("cli", "envs"),
)


def imports(path: Path) -> set[str]:
    """Packages of `_src` that a file imports when it is loaded or when it runs."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {n.split(".")[2] for n in names if n.startswith("worldline._src.") and n.count(".") >= 2}
        if isinstance(node, ast.ImportFrom) and node.module == "worldline._src":
            found |= {alias.name for alias in node.names}
    return found


def package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(p for p in SOURCE.rglob("*.py") if p.name != "__init__.py")


def below(name: str) -> set[str]:
    allowed = {name}
    for chain in CHAINS:
        if name in chain:
            allowed |= set(chain[: chain.index(name)])
    return allowed


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_imports_upward(path):
    assert imports(path) <= below(package(path))


def test_rules_are_strict_enough():
    for low, high in FORBIDDEN:
        assert high not in below(low) or low == high


def modules(path: Path) -> set[str]:
    """Modules outside of the package that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_only_one_file_calls_the_compiler():
    for path in FILES:
        text = path.read_text()
        if path.name != "compiler.py":
            assert "njit" not in text, path
            assert "numba.jit" not in text, path


def test_few_files_know_the_compiler():
    """All others can be imported where it is not installed."""
    # helpers.py asks for the type of a helper while a caller of it is being compiled
    allowed = {SOURCE / "compiler.py", SOURCE / "helpers.py", SOURCE / "duals" / "lowering.py"}
    allowed |= {SOURCE / "duals" / f"{name}_lowering.py" for name in ("plain", "parameter", "lane")}
    # operators of kernels that users write, imported when one is compiled
    allowed.add(SOURCE / "step" / "kernel_lowering.py")
    knowing = {path for path in FILES if "numba" in modules(path)}
    assert {path for path in knowing if path.parent != SOURCE / "scalar" / "lowering"} == allowed


def test_scene_does_not_know_the_compiler():
    for path in FILES:
        if package(path) == "scene":
            assert "numba" not in path.read_text(), path


def test_import_is_light():
    heavy = "numba lxml trimesh scipy viser vtkmodules ray gymnasium rich typer"
    assert loaded_by("import worldline", heavy) == []
    assert loaded_by("import worldline.model, typer", heavy) == ["typer"]


def test_loading_the_array_layer_compiles_nothing():
    code = (
        "import numba.core.event as event\n"
        "class Seen(event.Listener):\n"
        "    def on_start(self, e): print('compiled', e.data)\n"
        "    def on_end(self, e): pass\n"
        "event.register('numba:compile', Seen())\n"
        "import worldline.model\n"
    )
    assert output_of(code) == ""
