# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The pages that people read: their Python runs, shows what it says it shows, and names files that exist.

Blocks of a page share one namespace, from top to bottom. An expression with a comment after it must have
that as its repr.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from worldline._src.errors import CapabilityError

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "worldline" / "_src"
NEEDS = {"viewing.md": ("viser", "vtkmodules", "PIL"), "learn.md": ("gymnasium",)}
"""Packages beyond the core that a page is about."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page):
    text = page.read_text("utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        # lines keep their numbers, so that a trace points into the page
        yield "\n" * (text[: found.start(1)].count("\n")) + found[1]


def promised(lines, node):
    """What the comment after an expression says it is."""
    found = re.search(r"  # (.+)$", lines[node.end_lineno - 1])
    return found[1] if found and isinstance(node, ast.Expr) else None


def run(page):
    names = {"__name__": page.stem}
    for block in blocks(page):
        lines = block.splitlines()
        for node in ast.parse(block).body:
            said = promised(lines, node)
            if said is None:
                exec(compile(ast.Module([node], []), str(page), "exec"), names)
                continue
            value = eval(compile(ast.Expression(node.value), str(page), "eval"), names)
            assert repr(value) == said, f"{page.name}:{node.lineno}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```python" in p.read_text("utf-8")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_python_of_a_page_runs(page):
    for package in NEEDS.get(page.name, ()):
        pytest.importorskip(package, reason=f"{page.name} needs {package}")
    try:
        run(page)
    except CapabilityError as error:
        if "libEGL" not in str(error):
            raise
        pytest.skip(str(error))


def test_a_wrong_result_or_a_call_that_fails_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n```python\nx = 2\nx + 1  # 3\n```\n")
    run(page)
    page.write_text("```python\n1 + 1  # 3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2"):
        run(page)
    page.write_text("```python\nmissing()\n```\n")
    with pytest.raises(NameError):
        run(page)


def test_the_main_pages_have_examples():
    assert len(list(blocks(ROOT / "README.md"))) >= 3
    for name in ("lifecycle", "freshness", "frames", "state", "contact_models", "determinism"):
        assert len(list(blocks(ROOT / "docs" / "concepts" / f"{name}.md"))) >= 1, name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_leads_to_the_documentation():
    text = (ROOT / "README.md").read_text("utf-8")
    for name in ("index", "getting_started", "capabilities", "integrators", "comparison", "examples"):
        assert f"(docs/{name}.md)" in text, name


def test_every_page_is_in_a_table_of_contents():
    listed = {ROOT / "docs" / "index.md"}
    for page in (ROOT / "docs").rglob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            names = [line for line in tree.split() if not line.startswith(":") and not line.isdigit()]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert sorted(set((ROOT / "docs").rglob("*.md")) ^ listed) == []


def test_examples_are_listed():
    text = (ROOT / "docs" / "examples.md").read_text("utf-8")
    assert [p.name for p in (ROOT / "examples").glob("*.py") if f"`examples/{p.name}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    """Names as `step/runner.py` are under `_src` or the root; a bare name is in some folder below."""
    known = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/**/*.py")]
    for name in re.findall(r"`([\w/.]+\.py)`", page.read_text("utf-8")):
        there = (SOURCE / name).exists() or (ROOT / name).exists()
        assert there or ("/" not in name and any(path.endswith(f"/{name}") for path in known)), name
    for name in re.findall(r"`([\w/]+/)`", page.read_text("utf-8")):
        assert (SOURCE / name).is_dir() or (ROOT / name).is_dir(), name
