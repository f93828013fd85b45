# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The compile cache: named by the kernel sources, where the user wants it, seen while it is filled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from worldline._src import jit, kernel_cache, machine_code
from worldline._src.kernel_cache import SOURCES, Sources
from worldline._src.kernels.kinematics import kinematics
from worldline._src.kinds import float64
from worldline._src.step import constraint_stages, stages, step_stages
from worldline._src.step.tree_operands import tree_stage

TINY = '''
import sys

import numpy as np

from worldline._src.jit import entry, inline, stage
from worldline._src.kernel_cache import cache_folder
from worldline._src.kinds import float64


@inline
def twice(x):
    return 2.0 * x


@entry(signature="float64[::1]", label="a sum")
def total(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += twice(x[k])
    return s


@stage
def tiny(m, c, args, d):
    """d[0] doubled."""
    d[0] = twice(d[0])


assert total(np.array([1.0, 2.5])) == 7.0
assert tiny.address(float64) == tiny.address(float64) != 0
compiled = "numba" in sys.modules

import numba


@numba.njit(cache=True)
def of_the_user(x):
    return x + 1


print(int(compiled), cache_folder(), of_the_user._cache._impl.locator.get_cache_path(), sep="\\n")
'''


@pytest.fixture
def run(tmp_path):
    """Run the little module above in a new process: whether it loaded the compiler, folder, folder of others, stderr."""
    (tmp_path / "tiny_kernels.py").write_text(TINY)

    def once(**environment):
        env = {k: v for k, v in os.environ.items() if k != "WORLDLINE_QUIET"}
        env |= {"WORLDLINE_CACHE_DIR": str(tmp_path / "cache"), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
        env |= environment
        done = subprocess.run(
            [sys.executable, "-c", "import tiny_kernels"],
            cwd=tmp_path,
            env={k: v for k, v in env.items() if v},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        count, folder, elsewhere = done.stdout.split()
        return int(count), Path(folder), Path(elsewhere), done.stderr

    return once


def files(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*.code")}


def test_compiles_once_and_says_so(run, tmp_path):
    count, folder, elsewhere, said = run()
    assert count > 0
    lines = said.splitlines()
    assert re.fullmatch(r"worldline: compiling a sum \(once per machine\) \.\.\. \d+\.\d s", lines[0])
    assert re.fullmatch(
        r"worldline: compiling tiny for float64 \(once per machine\) \.\.\. \d+\.\d s", lines[1]
    )
    assert len(lines) == 2
    assert folder.parent == tmp_path / "cache"
    assert all(re.fullmatch(r"[0-9a-f]{16}", path.name) for path in folder.iterdir())
    written = files(folder)
    assert any("total" in name for name in written)
    assert any("tiny" in name for name in written)
    # kernels of others keep their own place
    assert folder not in elsewhere.parents

    count, again, _, said = run()
    assert (count, again, said) == (0, folder, "")
    assert files(folder) == written

    count, other, _, _ = run(WORLDLINE_CACHE_DIR=str(tmp_path / "other"))
    assert count > 0
    assert other == tmp_path / "other" / folder.name


def test_folder_of_the_user_in_silence(run, tmp_path):
    count, folder, _, said = run(WORLDLINE_CACHE_DIR="", WORLDLINE_QUIET="1")
    assert folder.parent == tmp_path / "xdg" / "worldline"
    assert files(folder)
    assert count > 0
    assert said == ""


def test_cache_root(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLINE_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert kernel_cache.cache_root() == Path("/somewhere")
    monkeypatch.delenv("WORLDLINE_CACHE_DIR")
    assert kernel_cache.cache_root() == Path("/xdg/worldline")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kernel_cache.cache_root() == tmp_path / ".cache" / "worldline"


# ---- the name a function is kept under


@pytest.fixture
def sources(tmp_path):
    """A copy of the package that fingerprints are taken of."""
    copy = tmp_path / "_src"
    shutil.copytree(SOURCES.root, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def copied(function, root: Path):
    """The same function as if it had been loaded from the copy."""
    path = root / Path(function.__code__.co_filename).relative_to(SOURCES.root)
    code = function.__code__.replace(co_filename=str(path))
    twin = types.FunctionType(code, function.__globals__, function.__name__)
    twin.__module__ = function.__module__
    vars(twin).update(vars(function))
    return twin


def fingerprint(function, root: Path) -> str:
    return Sources(root).fingerprint(copied(function, root))


def written(stage: jit.Stage):
    """The function of a stage; that of a derived one is written when it is asked for."""
    return getattr(stage.function, "py_func", stage.function)


POSITIONS = written(stages.positions)
SOLVE = written(constraint_stages.solve_rows)


def test_a_copy_has_the_same_name(sources):
    assert fingerprint(POSITIONS, sources) == SOURCES.fingerprint(POSITIONS)


@pytest.mark.parametrize(
    ("function", "name", "changes"),
    [
        *(
            (POSITIONS, name, True)
            for name in (
                "compiler.py",
                "helpers.py",
                "kinds.py",
                "scalar/lowering/lanes.py",
                "spatial/vec3.py",
            )
        ),
        *((POSITIONS, name, True) for name in ("kernels/kinematics.py", "model/fields.py", "model/views.py")),
        *(
            (POSITIONS, name, False)
            for name in (
                "jit.py",
                "kernel_cache.py",
                "step/stages.py",
                "kernels/crba.py",
                "kernels/constraints/newton.py",
                "model/builder.py",
            )
        ),
        *((SOLVE, name, True) for name in ("kernels/constraints/newton.py", "kernels/constraints/cone.py")),
        *((SOLVE, name, True) for name in ("step/reaching.py", "kernels/constraints/reverse_cholesky.py")),
        *((SOLVE, name, False) for name in ("kernels/aba.py", "kernels/narrowphase/gjk.py", "cli/demo.py")),
    ],
)
def test_a_function_is_kept_by_the_sources_it_can_see(sources, function, name, changes):
    before = fingerprint(function, sources)
    source = sources / name
    text = source.read_text()
    source.write_text(text + "\n# one more line\n")
    assert (fingerprint(function, sources) != before) is changes
    source.write_text(text)
    assert fingerprint(function, sources) == before


def test_every_kernel_a_stage_runs_is_among_its_sources():
    """Taken from the compiler's view: the files of all functions reached through globals."""
    for one in (stages, step_stages, constraint_stages):
        for each in [s for s in vars(one).values() if isinstance(s, jit.Stage)]:
            seen = SOURCES.of(each.function)
            assert {Path(f.__code__.co_filename) for f in reached(written(each))} <= seen, each


def reached(function) -> set:
    """Every function of the package that can be reached through the globals a function names."""
    found, left = {function}, [function]
    while left:
        current = left.pop()
        for name in current.__code__.co_names:
            value = current.__globals__.get(name)
            value = getattr(value, "py_func", value)
            if isinstance(value, types.FunctionType) and value not in found:
                if str(value.__code__.co_filename).startswith(str(SOURCES.root)):
                    found.add(value)
                    left.append(value)
    return found


def test_a_derived_stage_is_kept_by_what_it_does(monkeypatch):
    """The same kernel with other operands is other code, though no file differs."""
    monkeypatch.setattr(jit.Stage, "registry", {})
    stages_of = [tree_stage.of(kinematics, name="place", **given) for given in ({}, {"q": "q_rest"})]
    one, other = (stage.function for stage in stages_of)
    assert SOURCES.of(one) == SOURCES.of(other)
    assert SOURCES.fingerprint(one) != SOURCES.fingerprint(other)
    assert machine_code.unit(one, "float64") != machine_code.unit(other, "float64")


def test_an_unknown_operand_is_named(monkeypatch):
    monkeypatch.setattr(jit.Stage, "registry", {})
    made = tree_stage.of(kinematics, name="place", q="nowhere")
    with pytest.raises(LookupError, match="no part of this stage has an operand 'nowhere'"):
        _ = made.function


def test_the_compiler_is_part_of_the_name(monkeypatch):
    before = SOURCES.fingerprint(POSITIONS)
    monkeypatch.setattr(kernel_cache, "compiler_version", lambda: "another")
    assert SOURCES.fingerprint(POSITIONS) != before


def test_a_constant_of_another_file_counts():
    # contact_rows reads offsets that its file takes from the collision tables when it is imported
    behind = SOURCES.of(constraint_stages.contact_rows.function)
    assert SOURCES.path("kernels.narrowphase.tables") in behind
    assert SOURCES.path("kernels.narrowphase.gjk") not in behind


def test_threads_that_meet_at_new_code_share_one_copy(monkeypatch):
    # the first of two copies would be freed while a world has its address
    obtained = []

    def slow(unit):
        time.sleep(0.05)
        obtained.append(unit.label)
        return kernel_cache.Code(1000 + len(obtained), "i", None, "test")

    monkeypatch.setattr(jit.Unit, "obtain", slow)
    monkeypatch.setattr(jit.Stage, "registry", {})

    def fresh_stage(m, c, args, d):
        """Nothing."""

    def fresh_entry(n):
        return n

    made = jit.stage(fresh_stage)
    called = jit.Entry(fresh_entry, None, "fresh entry")
    monkeypatch.setattr(jit, "_caller", lambda entry, code, kinds: lambda n: code.address)
    with ThreadPoolExecutor(4) as pool:
        addresses = set(pool.map(made.address, [float64] * 4))
        calls = set(pool.map(called, range(4)))
    assert len(obtained) == 2, obtained
    assert addresses == {1001}
    assert calls == {1002}
