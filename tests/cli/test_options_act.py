# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every option of every command acts: it changes the report, the files or the exit code, or is refused.

Options are found by introspection. What differs between two plain runs, such as times, does not count.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from test_hostile_options import SCENE, commands
from typer.models import OptionInfo
from typer.testing import CliRunner

from worldline._src.cli.main import app

MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
RUN = ("run", "scene.xml", "-n", "3", "--json")
ROLLOUT = ("rollout", "scene.xml", "-w", "2", "-n", "3", "--json", "-o", "end.npz")
FILM = (
    "render",
    "scene.xml",
    "-o",
    "a.gif",
    "--width",
    "16",
    "--height",
    "12",
    "--duration",
    "0.4",
    "--camera",
    "eye",
)
PICTURE = ("render", "scene.xml", "-o", "a.png", "--width", "16", "--height", "12")
SEEN = (*PICTURE, "--position", "0", "-2", "1")
CHECK = ("check", "scene.xml", "-d", "0.01", "--json")
CONVERT = ("convert", "scene.xml", "out.json")
BENCH = ("bench", "scene.xml", "-d", "0.01", "--rounds", "1", "--no-peer", "--json")

CASES: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("render", "output"): (PICTURE, ("--output", "b.png")),
    ("render", "camera"): (PICTURE, ("--camera", "eye")),
    ("render", "position"): (PICTURE, ("--position", "0", "-2", "1")),
    ("render", "target"): (SEEN, ("--target", "0.3", "0", "0.5")),
    ("render", "fovy"): (SEEN, ("--fovy", "20")),
    ("render", "width"): (PICTURE, ("--width", "20")),
    ("render", "height"): (PICTURE, ("--height", "20")),
    ("render", "start"): (SEEN, ("--start", "0.3")),
    ("render", "duration"): (FILM, ("--duration", "0.8")),
    ("render", "fps"): (FILM, ("--fps", "5")),
    ("render", "speed"): (FILM, ("--speed", "3")),
    ("render", "keyframe"): (SEEN, ("--keyframe", "up")),
    ("render", "shadows"): (
        (
            "render",
            "light.xml",
            "-o",
            "a.png",
            "--width",
            "64",
            "--height",
            "48",
            "--position",
            "0",
            "-3",
            "2",
        ),
        ("--no-shadows",),
    ),
    ("run", "duration"): (("run", "scene.xml", "--json"), ("--duration", "0.01")),
    ("run", "steps"): (RUN, ("--steps", "5")),
    ("run", "time_step"): (RUN, ("--time-step", "0.001")),
    ("run", "keyframe"): (RUN, ("--keyframe", "up")),
    ("run", "control"): (RUN, ("--control", "motor=1")),
    ("run", "output"): (RUN, ("--output", "a.csv")),
    ("run", "as_json"): (("run", "scene.xml", "-n", "3"), ("--json",)),
    ("rollout", "worlds"): (ROLLOUT, ("--worlds", "3")),
    ("rollout", "steps"): (ROLLOUT, ("--steps", "4")),
    ("rollout", "keyframe"): (ROLLOUT, ("--keyframe", "up")),
    ("rollout", "seed"): (ROLLOUT, ("--seed", "1")),
    ("rollout", "spread"): (ROLLOUT, ("--spread", "0.5")),
    ("rollout", "idle"): (ROLLOUT, ("--idle",)),
    ("rollout", "threads"): (ROLLOUT, ("--threads", "1")),
    ("rollout", "layout"): (ROLLOUT, ("--layout", "threads")),
    ("rollout", "output"): (ROLLOUT, ("--output", "b.npz")),
    ("rollout", "picture"): (ROLLOUT, ("--picture", "a.png")),
    ("rollout", "as_json"): (("rollout", "scene.xml", "-w", "2", "-n", "3"), ("--json",)),
    ("info", "tree"): (("info", "scene.xml"), ("--no-tree",)),
    ("info", "as_json"): (("info", "scene.xml"), ("--json",)),
    ("check", "duration"): (("check", "falling.xml", "-d", "0.01"), ("-d", "1")),
    ("check", "keyframe"): (("check", "falling.xml", "-d", "0.01"), ("--keyframe", "fast")),
    ("check", "strict"): (("check", "falling.xml", "-d", "0.01", "--keyframe", "fast"), ("--strict",)),
    ("check", "as_json"): (CHECK[:-1], ("--json",)),
    ("convert", "strict"): (("convert", "scene.xml", "out.urdf"), ("--strict",)),
    ("convert", "defaults"): (CONVERT, ("--defaults",)),
    ("convert", "format"): (("convert", "scene.xml", "out.xml"), ("--format", "urdf")),
    ("convert", "force"): (("convert", "scene.xml", "there.json"), ("--force",)),
    ("convert", "as_json"): (CONVERT, ("--json",)),
    ("bench", "duration"): (BENCH, ("--duration", "0.02")),
    ("bench", "rounds"): (BENCH, ("--rounds", "2")),
    ("bench", "peer"): (BENCH, ("--peer",)),  # without MuJoCo it says why there is none
    ("bench", "as_json"): (BENCH[:-1], ("--json",)),
    ("doctor", "as_json"): (("doctor",), ("--json",)),
    ("capabilities", "as_markdown"): (("capabilities",), ("--markdown",)),
    ("capabilities", "as_json"): (("capabilities",), ("--json",)),
    ("capabilities", "output"): (("capabilities",), ("--output", "a.json")),
    ("schema", "output"): (("schema",), ("--output", "a.json")),
    ("view", "keyframe"): (("view", "scene.xml", "--no-browser", "--seconds", "0"), ("--keyframe", "no")),
    ("view", "seconds"): (("view", "scene.xml", "--no-browser", "--seconds", "0"), ("--seconds", "-1")),
}
"""By command and parameter: plain arguments, and what the option adds."""
MESHES = {
    "view": ("view", "below/mesh.xml", "--no-browser", "--seconds", "0"),
    "render": ("render", "below/mesh.xml", "-o", "a.png", "--width", "16", "--height", "12"),
    "run": ("run", "below/mesh.xml", "-n", "1"),
    "rollout": ("rollout", "below/mesh.xml", "-w", "2", "-n", "1"),
    "info": ("info", "below/mesh.xml"),
    "check": ("check", "below/mesh.xml", "-d", "0.01"),
    "convert": ("convert", "below/mesh.xml", "out.json"),
    "bench": ("bench", "below/mesh.xml", "-d", "0.01", "--rounds", "1", "--no-peer"),
}
"""Commands on a scene with a mesh that lies outside its folder."""
SHOWN = {
    "host": (("--host", "::1"), "::1"),
    "port": (("--port", "8123"), 8123),
    "fps": (("--fps", "10"), 10.0),
    "play": (("--play",), True),
    "shadows": (("--no-shadows",), False),
    "browser": (("--browser",), True),
}
"""Options of `view` and what the viewer gets; its own tests show that each acts."""
ELSEWHERE = {
    ("demo", "worlds"),
    ("demo", "seconds"),
    ("demo", "pieces"),
    ("demo", "output"),
    ("warmup", "jobs"),
}
"""Options of commands that take long: `tests/test_cli.py` calls them."""


def parameters() -> list[tuple[str, str]]:
    found = []
    for name, command in commands().items():
        for argument, kind in get_type_hints(command, include_extras=True).items():
            if get_origin(kind) is Annotated and isinstance(get_args(kind)[1], OptionInfo):
                found.append((name, argument))
    return found


def leaves(value: Any, path: str = "") -> dict[str, object]:
    """Numbers and texts of a report by their path."""
    if isinstance(value, dict):
        return {k: v for key, part in value.items() for k, v in leaves(part, f"{path}/{key}").items()}
    if isinstance(value, list):
        return {k: v for n, part in enumerate(value) for k, v in leaves(part, f"{path}/{n}").items()}
    return {path: value}


def seen(arguments: tuple[str, ...], kept: set[Path]) -> dict[str, object]:
    """Exit code, lines or values of the output, and files of one call, which are taken away again."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "300", "TERM": "dumb"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    try:
        found = leaves(json.loads(done.stdout))
    except ValueError:
        lines = re.sub(r"token=\S+", "token", done.output).splitlines()
        found = {f"line {n}": line for n, line in enumerate(lines)}
    found["exit code"] = done.exit_code
    for path in [p for p in Path().rglob("*") if p.is_file() and p not in kept]:
        found[f"file {path}"] = path.read_bytes()
        path.unlink()
    if Path("there.json").read_text("utf-8") != "{}":
        found["there.json"] = "replaced"
        Path("there.json").write_text("{}", "utf-8")
    return found


@functools.cache
def plainly(arguments: tuple[str, ...]) -> dict[str, object]:
    """What two calls without an option have in common."""
    kept = set(Path().rglob("*"))
    first, again = seen(arguments, kept), seen(arguments, kept)
    return {key: value for key, value in first.items() if again.get(key) == value or key.startswith("file ")}


def need_drawing(arguments: tuple[str, ...]) -> None:
    """Skip calls that draw on machines that cannot."""
    if arguments[0] == "render" or "--picture" in arguments:
        from render.needs import WHY_NOT

        if WHY_NOT is not None:
            pytest.skip(WHY_NOT)


def check(plain: tuple[str, ...], given: tuple[str, ...]) -> None:
    need_drawing((*plain, *given))
    kept = set(Path().rglob("*"))
    first, other = plainly(plain), seen((*plain, *given), kept)
    new = {key for key in other if key.startswith("file ") and key not in first}
    assert new or any(other.get(key) != value for key, value in first.items()), (plain, given, first)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scene.xml").write_text(SCENE, "utf-8")
    Path("falling.xml").write_text(
        '<mujoco><worldbody><body name="ball"><freejoint/><geom size=".1"/></body></worldbody>'
        '<keyframe><key name="fast" qpos="0 0 0 1 0 0 0" qvel="0 0 -1e5 0 0 0"/></keyframe></mujoco>',
        "utf-8",
    )
    Path("light.xml").write_text(
        '<mujoco><worldbody><light pos="0 0 4" dir="0 0 -1"/><geom type="plane" size="5 5 .1"/>'
        '<geom size=".3" pos="0 0 1"/></worldbody></mujoco>',
        "utf-8",
    )
    Path("mesh.obj").write_text(MESH, "utf-8")
    Path("below").mkdir()
    Path("below/mesh.xml").write_text(
        '<mujoco><asset><mesh name="m" file="../mesh.obj"/></asset><worldbody><body><freejoint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
        "utf-8",
    )
    Path("there.json").write_text("{}", "utf-8")


@pytest.mark.parametrize(("command", "parameter"), CASES)
def test_an_option_acts(command, parameter):
    check(*CASES[command, parameter])


@pytest.mark.parametrize("option", [("--assets", "."), ("--allow-outside",)])
@pytest.mark.parametrize("command", MESHES)
def test_folders_of_assets_are_read(command, option):
    check(MESHES[command], option)


@pytest.mark.parametrize("parameter", SHOWN)
def test_an_option_reaches_the_viewer(parameter, monkeypatch):
    from worldline._src.viewer import viewer

    calls = []

    class Shown(Exception):
        """The viewer has all its options."""

    def show(world, **given):
        calls.append(given)
        raise Shown

    monkeypatch.setattr(viewer, "view", show)
    given, expected = SHOWN[parameter]
    word = "open_browser" if parameter == "browser" else parameter
    for extra in ((), given):
        plain = () if parameter == "browser" and extra else ("--no-browser",)
        done = CliRunner().invoke(app, ["view", "scene.xml", *plain, "--seconds", "0", *extra])
        assert isinstance(done.exception, Shown), done.output
    assert calls[0][word] != expected and calls[1][word] == expected


def test_every_option_is_here():
    here = {*CASES, *ELSEWHERE, *(("view", name) for name in SHOWN)}
    here |= {(name, option) for name in MESHES for option in ("assets", "allow_outside")}
    assert set(parameters()) == here
    text = (Path(__file__).parents[1] / "test_cli.py").read_text("utf-8")
    flags = {"output": "-o"}
    assert all(f'"{flags.get(option, f"--{option}")}"' in text for _, option in ELSEWHERE)
