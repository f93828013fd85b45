# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The compile cache: named by the kernel sources, where the user wants it, seen while it is filled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from worldline._src import jit

SOURCE = Path(jit.__file__).parent

TINY = '''
import sys
import numba
import numba.core.event as event

setting = numba.config.CACHE_DIR
from worldline._src.jit import announced, cache_folder, entry, inline, stage


@inline
def twice(x):
    return 2.0 * x


@entry
def total(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += twice(x[k])
    return s


@stage
def tiny(m, c, args, d):
    """d[0] doubled."""
    d[0] = twice(d[0])


@numba.njit(cache=True)
def of_the_user(x):
    return x + 1


class Count(event.Listener):
    seen = 0

    def on_start(self, e):
        Count.seen += 1

    def on_end(self, e):
        pass


assert numba.config.CACHE_DIR == setting
event.register("numba:compile", Count())
with announced("a sum"):
    total.compile("(float64[::1],)")
assert tiny.address(numba.float64) == tiny.address(numba.float64) != 0
print(Count.seen, cache_folder(), of_the_user._cache._impl.locator.get_cache_path(), sep="\\n")
'''


@pytest.fixture
def run(tmp_path):
    """Run the little module above in a new process: compilations, folder, folder of others, stderr."""
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
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*.nb?")}


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
    assert re.fullmatch(r"kernels-[0-9a-f]{16}", folder.name)
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
    assert jit.cache_root() == Path("/somewhere")
    monkeypatch.delenv("WORLDLINE_CACHE_DIR")
    assert jit.cache_root() == Path("/xdg/worldline")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert jit.cache_root() == tmp_path / ".cache" / "worldline"


# ---- the name of the folder


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the package that the fingerprint is taken of."""
    copy = tmp_path / "_src"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(copy / "jit.py"))
    return copy


KERNEL_SOURCES = [
    "jit.py",
    "scalar/ops.py",
    "scalar/lanes.py",
    "spatial/vec3.py",
    "kernels/aba.py",
    "kernels/maximal.py",
    "model/fields.py",
    "model/views.py",
    "step/stages.py",
    "step/runner.py",
]


def test_fingerprint_of_a_copy_is_the_same(sources):
    assert f"kernels-{jit.source_fingerprint()}" == jit.cache_folder().name


@pytest.mark.parametrize("name", KERNEL_SOURCES)
def test_any_kernel_source_changes_the_name(sources, name):
    before = jit.source_fingerprint()
    source = sources / name
    text = source.read_text()
    source.write_text(text + "\n# one more line\n")
    assert jit.source_fingerprint() != before
    source.write_text(text)
    assert jit.source_fingerprint() == before


def test_new_removed_and_renamed_kernels_change_the_name(sources):
    seen = {jit.source_fingerprint()}
    (sources / "kernels" / "extra.py").write_text("# a new kernel\n")
    seen.add(jit.source_fingerprint())
    (sources / "kernels" / "extra.py").rename(sources / "kernels" / "other.py")
    seen.add(jit.source_fingerprint())
    (sources / "kernels" / "crba.py").unlink()
    seen.add(jit.source_fingerprint())
    assert len(seen) == 4


@pytest.mark.parametrize("name", ["model/builder.py", "model/checks.py", "errors.py", "cli/demo.py"])
def test_other_sources_do_not(sources, name):
    before = jit.source_fingerprint()
    (sources / name).write_text("# something else\n")
    assert jit.source_fingerprint() == before


def test_the_compiler_is_part_of_the_name(sources, monkeypatch):
    before = jit.source_fingerprint()
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    assert jit.source_fingerprint() != before
