# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Slow work shows a line, quick work does not."""

from __future__ import annotations

import os
import re
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
    assert "[#############.......] 2 of 3, about " in last
    bar.advance()
    assert capsys.readouterr().err.rstrip().endswith("worldline: compiling kernels: 3 in 0 s")


@pytest.mark.parametrize("columns", [200, 80, 40])
def test_a_bar_fits_the_terminal(capsys, terminal, monkeypatch, columns):
    """A line that is longer than the terminal is wide cannot be drawn anew: it would be one for each piece."""
    monkeypatch.setattr(progress.os, "get_terminal_size", lambda fd: os.terminal_size((columns, 24)))
    monkeypatch.setattr(progress.sys.stderr, "fileno", lambda: 2)
    bar = progress.Bar("compiling kernels (once per machine)")
    bar.expect(73)
    for _ in range(60):
        bar.advance()
    drawn = capsys.readouterr().err.split("\r")
    assert max(map(len, drawn)) < columns
    assert "[####" in drawn[-1] or columns < 80
    # it goes where something else is written
    bar.hide()
    said = capsys.readouterr().err
    assert said.startswith("\r ") and said.endswith(" \r") and not said.strip()
    bar.hide()
    assert capsys.readouterr().err == ""


def test_a_kernel_alone_leaves_no_line_on_a_terminal(capsys, terminal, monkeypatch):
    monkeypatch.setattr(progress, "_one_line", False)
    with progress.compiling("the loop over steps of worlds of many lanes, which is a long name"):
        said = capsys.readouterr().err
        assert said.startswith("worldline: compiling the loop") and len(said) == 79
    assert capsys.readouterr().err == f"\r{' ' * 79}\r"


# fmt: off
TIMES = [
    1.9, 0.3, 1.4, 0.4, 0.1, 0.3, 10.4, 12.7, 3.6, 3.4, 2.2, 0.9, 3.1, 1.8, 3.0, 1.5, 0.6, 0.4, 0.1, 0.3, 0.2, 0.1, 0.2,
    0.1, 0.7, 0.4, 0.1, 2.8, 0.1, 0.2, 0.2, 0.4, 2.9, 0.2, 0.6, 1.4, 0.6, 0.1, 1.2, 1.7, 1.0, 0.5, 0.5, 0.2, 1.1, 0.1, 0.1, 0.2,
    0.2, 0.1, 0.5, 0.2, 0.2, 0.2, 0.1, 0.3, 0.5, 0.1, 0.3, 1.7, 2.0, 0.4, 0.6, 0.3, 1.3, 0.3, 0.1, 0.1, 0.3, 0.1, 1.5,
]
"""Seconds of the kernels of `worldline demo`, in the order they are compiled."""
# fmt: on


def test_the_time_left_knows_that_slow_pieces_come_first(capsys, terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    bar = progress.Bar("compiling kernels")
    bar.expect(len(TIMES))
    for k, seconds in enumerate(TIMES[:-1], 1):
        now[0] += seconds
        bar.advance()
        last = capsys.readouterr().err.split("\r")[-1]
        if k < bar.FEWEST:
            # a guess from one or two would be far off
            assert "left" not in last
        else:
            stated = float(re.search(r"about (\d+) s left", last)[1])
            left = sum(TIMES[k:])
            assert 0.5 * left - 1.0 < stated < 1.5 * left + 1.0


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
