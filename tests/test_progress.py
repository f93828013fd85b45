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
