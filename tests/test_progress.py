# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Slow work shows a line, quick work does not."""

from __future__ import annotations

import time

import pytest

from worldline._src import progress


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.delenv("WORLDLINE_QUIET", raising=False)


def test_slow_work_is_announced_and_timed(capsys):
    with progress.slow("loading robot.xml"):
        time.sleep(0.2)
        assert "worldline: loading robot.xml ..." in capsys.readouterr().err
    assert capsys.readouterr().err.strip().endswith("s")


def test_quick_work_is_silent(capsys):
    with progress.slow("loading robot.xml"):
        pass
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_quiet_means_quiet(capsys, monkeypatch):
    monkeypatch.setenv("WORLDLINE_QUIET", "1")
    with progress.slow("loading robot.xml"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


# ---- many pieces on one line


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "_on_terminal", lambda: True)


def test_a_bar_is_one_line_with_the_time_left(capsys, terminal):
    bar = progress.Bar("compiling kernels")
    bar.expect(3)
    bar.advance()
    bar.expect(1)
    bar.advance()
    bar.expect(-1)
    said = capsys.readouterr().err
    assert "\n" not in said
    last = said.split("\r")[-1].rstrip()
    assert last.startswith("worldline: compiling kernels [") and last.endswith("s left")
    assert last.count("#") == 20 and last.count("....") == 2 and "2 of 3, about " in last
    bar.advance()
    assert capsys.readouterr().err.rstrip().endswith("worldline: compiling kernels: 3 in 0 s")


def test_a_bar_is_two_lines_in_a_pipe_and_nothing_for_nothing(capsys):
    bar = progress.Bar("compiling kernels")
    bar.expect(0)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        bar.expect(2)
        bar.advance()
        bar.advance()
        lines = capsys.readouterr().err.splitlines()
        assert lines == ["worldline: compiling kernels ...", "worldline: compiling kernels: 2 in 0 s"]
