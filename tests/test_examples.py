# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every example runs without a screen, checks its own result, and fits on a screen."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
WITH_OUTPUT = {
    "pendulum_energy.py": ("energy.png", ["energy.png"]),
    "humanoid_falling.py": ("fall.html", ["fall.html"]),
    "cartpole_swing_up.py": ("plan.png", ["plan.png"]),
    "identify_parameters.py": ("fit.png", ["fit.png"]),
    "hopper_gait.py": ("gait.png", ["gait.png"]),
    "quadruped_pushes.py": ("pushes.png", ["pushes.png"]),
    "throw_with_bounce.py": ("throw.png", ["throw.png"]),
    "record_scrub_plot.py": ("out", ["out.csv", "out.html", "out.png", "out.wlr"]),
}


def run(path, *arguments):
    before = sys.argv
    sys.argv = [str(path), *arguments]
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(path)
    assert capsys.readouterr().out.strip()
    assert list(tmp_path.iterdir()) == []  # nothing is written unless asked


@pytest.mark.parametrize("name", WITH_OUTPUT)
def test_an_example_writes_what_it_is_asked_for(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="plots need matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    argument, files = WITH_OUTPUT[name]
    run(FOLDER / name, argument)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_checks_itself(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 80
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    checks = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert len(checks) >= 1


def test_all_that_were_promised_are_there():
    assert {path.stem for path in EXAMPLES} == {
        "arm_circle",
        "box_tower",
        "buoyancy",
        "cartpole_swing_up",
        "combining_scenes",
        "conveyor",
        "first_world",
        "gripper",
        "gyroscope_and_top",
        "hopper_gait",
        "humanoid_falling",
        "identify_parameters",
        "magnet",
        "newtons_cradle",
        "pd_kernel",
        "pendulum_energy",
        "plan_around_obstacle",
        "quadruped_pushes",
        "quadruped_standing",
        "record_scrub_plot",
        "throw_with_bounce",
        "urdf_to_msd",
    }
