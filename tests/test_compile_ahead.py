# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages compiled by other processes: they come through the cache, and nobody depends on those processes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worldline._src import compile_ahead, kernel_cache
from worldline._src.cli.compile_units import scalars, units
from worldline._src.jit import DISABLED, Stage, Unit
from worldline._src.kernels import program
from worldline._src.kinds import float64

pytestmark = pytest.mark.skipif(DISABLED, reason="there is no compiler")

NAMES = ("first_of_four", "second_of_four", "third_of_four", "last_of_four")
STAGES = "from worldline._src.jit import stage\n" + "".join(
    f"\n@stage\ndef {name}(m, c, args, d):\n    d[{k}] = {k + 1}.0\n" for k, name in enumerate(NAMES)
)
PROGRAM = """
import time
import numpy as np
import four_stages as f
from worldline._src import compile_ahead
from worldline._src.collision.run import fill_poses
from worldline._src.jit import ELSEWHERE
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64
{before}
stages = (f.first_of_four, f.second_of_four, f.third_of_four, f.last_of_four)
compile_ahead.compile_ahead((*stages, fill_poses))
units = [*(stage.unit(float64) for stage in stages), fill_poses.unit()]
print("asked", len(ELSEWHERE))
end = time.monotonic() + {patience}
while not all(unit.is_ready() for unit in units) and time.monotonic() < end:
    time.sleep(0.05)
print("cached", sum(unit.is_ready() for unit in units))
fill_poses(np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]]), np.zeros((1, 12)))
addresses = np.array([stage.address(float64) for stage in stages], np.int64)
numbers = np.zeros(4)
caller()(addresses, np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64), numbers)
print("ran", numbers.tolist(), len(ELSEWHERE))
"""


def run(tmp_path: Path, jobs: str, before: str = "", patience: float = 120.0) -> list[str]:
    (tmp_path / "four_stages.py").write_text(STAGES)
    given = {"WORLDLINE_COMPILE_JOBS": jobs, "WORLDLINE_CACHE_DIR": str(tmp_path / "cache")}
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before, patience=patience)],
        env={**os.environ, **given, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:3]


def test_another_process_fills_the_cache(tmp_path):
    # this process only waits, so whatever is in the cache came from another one
    assert run(tmp_path, "2") == ["asked 5", "cached 5", "ran [1.0, 2.0, 3.0, 4.0] 0"]


def test_one_job_starts_nobody(tmp_path):
    assert run(tmp_path, "1", patience=0.0) == ["asked 0", "cached 0", "ran [1.0, 2.0, 3.0, 4.0] 0"]


@pytest.mark.parametrize(
    "fault",
    [
        "compile_ahead._SERVE = 'raise SystemExit(3)'",
        "import sys; sys.executable = '/there/is/no/such/program'",
        "compile_ahead._SERVE = 'print(input().upper())'",
    ],
    ids=["it ends", "it does not start", "it answers something else"],
)
def test_what_others_fail_at_is_compiled_here(tmp_path, fault):
    assert run(tmp_path, "3", fault, patience=1.0) == ["asked 5", "cached 0", "ran [1.0, 2.0, 3.0, 4.0] 0"]


def test_a_unit_is_compiled_and_answered_by_its_line(monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_cache, "is_cached", lambda function, variant: False)
    monkeypatch.setattr(Unit, "compile", lambda self: asked.append((self.function.__name__, self.variant)))
    answers = io.StringIO()
    module = "worldline._src.kernels.broadphase.aabb"
    entry = program._call.unit()
    lines = f"{module} shape_poses float64\n{module} shape_poses lanes4\n{program.__name__} _call {entry.variant}\n"
    compile_ahead.serve(io.StringIO(lines), answers)
    assert asked == [("shape_poses", "float64"), ("shape_poses", "lanes4"), ("_call", entry.variant)]
    assert answers.getvalue() == lines
    # what is in the cache is not compiled again
    monkeypatch.setattr(kernel_cache, "is_cached", lambda function, variant: True)
    compile_ahead.serve(io.StringIO(lines), io.StringIO())
    assert len(asked) == 3


@pytest.mark.parametrize("scalar", scalars())
def test_other_processes_find_every_unit(scalar):
    """They import the module that the order names, and nothing else; it must be the one that makes the unit."""
    for unit in units(scalar):
        module = vars(sys.modules[unit.function.__module__])
        made = [one for one in module.values() if isinstance(one, Stage) and one.function is unit.function]
        made += [one for one in module.values() if getattr(one, "py_func", None) is unit.function]
        assert made, f"{unit.function.__module__} does not have {unit.label}"


FAILS_ONCE = """
import os
from worldline._src import compile_ahead
from worldline._src.jit import Unit
usual = Unit.compile
def compile(self):
    if self.function.__name__ == "second_of_four":
        os._exit(3)
    return usual(self)
Unit.compile = compile
compile_ahead.serve()
"""


def test_a_process_that_fails_is_replaced(tmp_path, monkeypatch):
    """One unit that ends a process is compiled here; the rest by another process, not by this one."""
    (tmp_path / "four_stages.py").write_text(STAGES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("WORLDLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_ahead, "_SERVE", FAILS_ONCE)
    import four_stages

    here = []
    usual = Unit.compile
    monkeypatch.setattr(Unit, "compile", lambda self: (here.append(self.function.__name__), usual(self))[1])
    names = ("first", "second", "third", "last")
    units = [getattr(four_stages, f"{name}_of_four").unit(float64) for name in names]
    compile_ahead.compile_all(units, 1)
    assert here == ["second_of_four"]
    assert all(unit.is_ready() for unit in units)


def test_all_of_a_list_is_compiled_by_others(tmp_path, monkeypatch):
    (tmp_path / "four_stages.py").write_text(STAGES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("WORLDLINE_CACHE_DIR", str(tmp_path / "cache"))
    import four_stages

    units = [
        getattr(four_stages, f"{name}_of_four").unit(float64) for name in ("first", "second", "third", "last")
    ]
    done = []
    compile_ahead.compile_all(units, 2, lambda unit, seconds: done.append(unit.label))
    assert sorted(done) == sorted(unit.label for unit in units)
    assert all(unit.is_ready() for unit in units)
    # a process that fails leaves it to this one
    monkeypatch.setattr(compile_ahead, "_SERVE", "raise SystemExit(3)")
    monkeypatch.setenv("WORLDLINE_CACHE_DIR", str(tmp_path / "other"))
    compile_ahead.compile_all(units, 2)
    assert all(unit.is_ready() for unit in units)


def test_who_waits_for_a_stage_compiles_another(monkeypatch):
    made, tasks = [], {}

    def unit(name: str, then: str | None = None) -> Any:
        def compile() -> None:
            made.append(name)
            if then:
                tasks[then].done.set()

        return SimpleNamespace(compile=compile)

    tasks["elsewhere"] = compile_ahead._Task(unit("elsewhere"))
    tasks["first"] = compile_ahead._Task(unit("first"))
    tasks["last"] = compile_ahead._Task(unit("last", then="elsewhere"))
    waiting = deque([tasks["first"], tasks["last"]])
    monkeypatch.setattr(compile_ahead, "_waiting", waiting)
    tasks["elsewhere"].settle()
    # the other process was done with its stage meanwhile, so nothing else was begun
    assert made == ["last"] and tasks["last"].done.is_set()
    assert list(waiting) == [tasks["first"]]
    # what nobody has begun is left to who needs it
    tasks["first"].settle()
    assert made == ["last"] and not waiting


@pytest.mark.parametrize(("told", "expected"), [("", 1), ("3", 3), ("many", 1), ("0", 0), ("-2", 1)])
def test_how_many_may_compile(monkeypatch, told, expected):
    monkeypatch.setenv("WORLDLINE_COMPILE_JOBS", told)
    assert compile_ahead.jobs() == expected
