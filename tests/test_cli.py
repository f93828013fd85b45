# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: help, the demo on small numbers, warming the cache, and errors in one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from worldline._src.cli import main as command
from worldline._src.errors import ArgumentError
from worldline._src.jit import cache_folder

SCRIPT = Path(sys.executable).with_name("worldline")


def worldline(*arguments: str, start: tuple[str, ...] = (sys.executable, "-m", "worldline")):
    return subprocess.run(
        [*start, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"COLUMNS": "160", "TERM": "dumb"},
    )


@pytest.mark.parametrize(
    "start",
    [
        (sys.executable, "-m", "worldline"),
        pytest.param((str(SCRIPT),), marks=pytest.mark.skipif(not SCRIPT.exists(), reason="not installed")),
    ],
    ids=["python -m worldline", "worldline"],
)
def test_help_lists_the_commands(start):
    done = worldline("--help", start=start)
    assert done.returncode == 0, done.stderr
    for word in ("demo", "warmup", "Usage"):
        assert word in done.stdout
    assert done.stderr == ""


def test_without_arguments_it_helps():
    done = worldline()
    assert "Usage" in done.stdout + done.stderr
    assert "demo" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "option"), [("demo", "--worlds"), ("demo", "--seconds"), ("warmup", "--jobs")]
)
def test_help_of_a_command(name, option):
    done = CliRunner().invoke(command.app, [name, "--help"], env={"COLUMNS": "160", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    assert option in done.output


def test_demo():
    done = worldline("demo", "--worlds", "9", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    assert "after 0.1 s" in done.stdout
    off = re.search(r"energy off by (\S+) J", done.stdout)
    assert off is not None
    assert float(off[1]) < 1e-8
    assert "9 worlds" in done.stdout
    rows = [
        line
        for line in done.stdout.splitlines()
        if re.search(r"(kinematics|dynamics|mass matrix)\b.*\d", line)
    ]
    assert len(rows) == 4
    assert all("yes" in row for row in rows), rows


def test_warmup_is_quick_when_warm():
    done = worldline("warmup", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert str(cache_folder()) in done.stdout.replace("\n", "")
    for seconds in re.findall(r": (\d+\.\d) s", done.stdout):
        assert float(seconds) < 10.0
    assert "compiling" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("demo", "--worlds", "0"), ("demo", "--seconds", "-1"), ("demo", "--worlds", "many"), ("dance",)],
)
def test_bad_arguments(arguments):
    done = CliRunner().invoke(command.app, list(arguments), env={"COLUMNS": "160", "TERM": "dumb"})
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_errors_are_one_line(monkeypatch, capsys):
    def fail():
        raise ArgumentError("the arm is too long")

    monkeypatch.setattr(command, "app", fail)
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 1
    assert capsys.readouterr().err == "worldline: the arm is too long\n"
