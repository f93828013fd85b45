# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every option of every command refuses values that it cannot use, by name, and then writes nothing.

Options are found by introspection; a command that is new has to be named in `PLAIN`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest
from typer.models import OptionInfo
from typer.testing import CliRunner

from worldline._src.cli.main import app

SCENE = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><camera name="eye" pos="0 -2 1"/>
  <body pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <keyframe><key name="up" qpos=".3"/></keyframe></mujoco>"""
HUGE = "1" + "0" * 400
NUMBERS = ("abc", "", "nan", "inf", "-inf", "-1", HUGE, "-" + HUGE, "1e999", "1j", "0x10", "1,5", "\ud800")
WORDS = ("", "no such word", "a\0b", "\ud800", "nan", HUGE)
FILES = ("", "a\0b", "no folder/out{}", "folder{}", "\ud800{}", "x" * 300 + "{}", "scene.xml/below{}")
PLAIN = {
    "bench": ("scene.xml", "-d", "0.01", "--rounds", "1", "--no-peer"),
    "capabilities": (),
    "check": ("scene.xml", "-d", "0.01"),
    "convert": ("scene.xml", "out.json"),
    "demo": (),
    "doctor": (),
    "info": ("scene.xml",),
    "render": ("scene.xml", "-o", "out.gif", "--width", "16", "--height", "12", "--position", "1", "1", "1"),
    "rollout": ("scene.xml", "-w", "4", "-n", "2"),
    "run": ("scene.xml",),
    "schema": (),
    "view": ("scene.xml", "--no-browser", "--seconds", "0"),
    "warmup": (),
}
"""Arguments that a command needs, and with which it is quick."""
SUFFIX = {"render": ".png", "rollout": ".npz", "run": ".csv"}
"""A suffix that the output of a command may have."""
TAKEN = {
    ("render", "--target"): ("-1",),
    ("render", "--position"): ("-1",),
    # a folder that is made where there is none
    ("demo", "--output"): ("", "no folder/out", "folder"),
}
"""Values of the tables that an option takes."""


def commands() -> dict[str, Callable[..., None]]:
    return {item.callback.__name__: item.callback for item in app.registered_commands if item.callback}


def options() -> list[tuple[str, str, str]]:
    """Command, option and kind of value of every option that takes a value."""
    found = []
    for name, command in commands().items():
        for argument, kind in get_type_hints(command, include_extras=True).items():
            given, about = get_args(kind)[:2] if get_origin(kind) is Annotated else (kind, None)
            if isinstance(about, OptionInfo) and given is not bool:
                flags = about.param_decls or (f"--{argument.replace('_', '-')}",)
                found.append((name, flags[-1], str(given)))
    return found


def hostile(kind: str) -> tuple[str, ...]:
    return FILES if "Path" in kind else WORDS if "str" in kind else NUMBERS


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scene.xml").write_text(SCENE, "utf-8")
    for suffix in {"", *SUFFIX.values()}:
        Path(f"folder{suffix}").mkdir()
    return tmp_path


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


def test_every_command_is_here():
    assert set(commands()) == set(PLAIN)


@pytest.mark.parametrize(("name", "flag", "kind"), options())
def test_values_that_an_option_cannot_use_are_refused(name, flag, kind):
    for value in hostile(kind):
        text = value.format(SUFFIX.get(name, "")) if flag == "--output" else value.replace("{}", "")
        if text in TAKEN.get((name, flag), ()) or (flag == "--assets" and text in ("", "folder")):
            continue
        before = files()
        given = [text] * (3 if "tuple" in kind else 1)
        done = CliRunner().invoke(app, [name, *PLAIN[name], flag, *given], env={"COLUMNS": "1000"})
        said = f"{flag} {text[:20]!r} ended with {done.exit_code}: {done.exception!r} {done.output[-300:]!r}"
        assert isinstance(done.exception, SystemExit) and done.exit_code in (1, 2), said
        named = (flag, flag.strip("-"), repr(text)[1:-1], text)
        assert any(word in done.output for word in named if word), said
        assert files() == before, said


@pytest.mark.parametrize("name", [name for name, given in PLAIN.items() if given])
@pytest.mark.parametrize("given", ["missing.xml", "folder", "a\0b", "text.xml", "empty.xml", "\ud800.xml"])
def test_files_that_are_no_scenes_are_refused(name, given):
    Path("text.xml").write_text("no markup", "utf-8")
    Path("empty.xml").write_text("", "utf-8")
    before = files()
    done = CliRunner().invoke(app, [name, given, *PLAIN[name][1:]], env={"COLUMNS": "1000"})
    assert isinstance(done.exception, SystemExit) and done.exit_code in (1, 2), done.output
    assert files() == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("-o", "a.png", "--duration", "1"), "--duration acts only with a film"),
        (("-o", "a.png", "--fps", "10"), "--fps acts only with a film"),
        (("-o", "a.png", "--speed", "2"), "--speed acts only with a film"),
        (("-o", "a.png", "--fovy", "30"), "--fovy acts only with --position"),
        (("-o", "a.png", "--camera", "eye", "--target", "0", "0", "1"), "--target acts only with --position"),
        (("-o", "a.png", "--camera", "eye", "--position", "0", "0", "1"), "not both"),
    ],
)
def test_options_that_would_not_act_are_refused(given, words):
    done = CliRunner().invoke(app, ["render", "scene.xml", *given], env={"COLUMNS": "1000"})
    assert done.exit_code == 2 and words in done.output
    assert not Path("a.png").exists()


@pytest.mark.parametrize(
    "value", ["motor=nan", "motor=inf", "motor=", "motor=1j", "motor=abc", "motor", "x=1"]
)
def test_controls_are_numbers_of_actuators(value):
    done = CliRunner().invoke(
        app, ["run", "scene.xml", "-n", "1", "--control", value], env={"COLUMNS": "1000"}
    )
    assert isinstance(done.exception, SystemExit) and done.exit_code in (1, 2), done.output
