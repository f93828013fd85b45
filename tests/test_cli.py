# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: help, the demo on small numbers, warming the cache, and errors in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from worldline import msd
from worldline import simulation as sx
from worldline._src.cli import main as command
from worldline._src.cli.demo import WALKER, build_arm
from worldline._src.cli.demo_falls import drop_humanoid
from worldline._src.errors import ArgumentError
from worldline._src.kernel_cache import cache_folder

SCRIPT = Path(sys.executable).with_name("worldline")


def worldline(
    *arguments: str, start: tuple[str, ...] = (sys.executable, "-m", "worldline"), timeout: float = 120
):
    return subprocess.run(
        [*start, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
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


@pytest.fixture(scope="module")
def demo_text():
    # the time is for a first run, which compiles
    done = worldline("demo", "--worlds", "9", "--seconds", "0.5", "--pieces", "4", timeout=400)
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    assert found is not None, (pattern, text)
    return float(found[1])


def test_demo_drops_a_box(demo_text):
    h, n = 0.001, 100
    fallen = 0.5 - 9.81 * h * h * n * (n + 1) / 2
    assert number(r"free fall: height (\S+) m", demo_text) == pytest.approx(fallen, abs=5e-5)


def test_demo_drops_a_humanoid_and_a_pile(demo_text):
    for name in ("a humanoid", "a pile of 4"):
        found = re.search(
            rf"{name} after 0.5 s: (\S+) J lost of (\S+) J.*?(\d+) contacts.*?overlap (\S+) mm",
            demo_text,
            re.DOTALL,
        )
        assert found, demo_text
        lost, had, contacts, depth = map(float, found.groups())
        assert 0.0 < lost < had and contacts >= 1 and depth < 15.0


def test_the_humanoid_of_the_demo_lies_down(tmp_path):
    world = drop_humanoid()
    person = world.multibodies["pelvis"]
    assert person.num_links == 14 and 60.0 < person.mass < 75.0
    heights = [float(world.center_of_mass[2])]
    for _ in range(8):
        world.step(n=250)
        heights.append(float(world.center_of_mass[2]))
        assert world.compute_step_metrics().max_penetration_depth < 0.015
    assert heights[0] > 1.3 and heights[-1] < 0.4


def test_demo_writes_pages(tmp_path):
    done = CliRunner().invoke(
        command.app,
        ["demo", "--worlds", "1", "--seconds", "0.1", "--pieces", "2", "-o", str(tmp_path / "pages")],
    )
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {"a_humanoid.html", "a_pile_of_2.html"}


def test_demo_swings_a_chain(demo_text):
    assert "after 0.5 s: last link" in demo_text
    assert number(r"energy off by (\S+) J", demo_text) < 1e-8


def test_demo_tells_what_the_robot_did(demo_text):
    rows = re.findall(r"│ +([\d.]+) │ +([\d.]+) │ +(\d+) │ +([\d.]+) │ +([\d.]+) │ (.+?) +│", demo_text)
    assert [row[-1] for row in rows] == ["let go", "before the push", "after the push", "at the end"]
    time, energy, contacts, depth, height = np.array([row[:-1] for row in rows], float).T
    assert time[0] == 0.0 and time[-1] == 0.5 and (np.diff(time) > 0.0).all()
    assert contacts[0] == 0 and contacts[-1] >= 3  # in the air, then on its feet
    assert depth[0] == 0.0 and 0.0 < depth[-1] < 5.0
    assert height[0] == 1.15 and 0.85 < height[-1] < 0.95
    assert energy[-1] < energy[0]


def test_demo_runs_many_worlds(demo_text):
    assert "9 worlds" in demo_text
    rows = [
        line for line in demo_text.splitlines() if re.search(r"(kinematics|dynamics|mass matrix)\b.*\d", line)
    ]
    assert len(rows) == 4
    assert all("yes" in row for row in rows), rows


def test_the_arm_of_the_demo_reaches_its_targets():
    world, arm = build_arm()
    arm.joints.target_position = [0.3, -0.4, 0.9]
    world.step(n=4000)
    assert arm.joints.position == pytest.approx([0.3, -0.4, 0.9], abs=1e-6)


def test_the_robot_of_the_demo_stands():
    world = sx.World.from_scene(msd.from_str(WALKER.read_text("utf-8"), format="mjcf"))
    robot = world.multibodies["pelvis"]
    world.step(n=400)
    metrics = world.compute_step_metrics()
    assert metrics.active_contact_count == 8  # four corners of both feet
    assert metrics.kinetic_energy < 0.1
    assert robot.links["pelvis"].translation[2] == pytest.approx(0.93, abs=0.005)
    # left and right are alike
    assert world.center_of_mass[1] == pytest.approx(0.0, abs=1e-6)


RECORDED_DEMO = """
import json, os, sys
os.environ["WORLDLINE_COMPILE_JOBS"] = "1"
from worldline._src.cli import demo
from worldline._src.jit import Unit
met, obtain = [], Unit.obtain
Unit.obtain = lambda self: (met.append((self.function.__name__, self.variant)), obtain(self))[1]
demo.demo(worlds=16, seconds=1.0, pieces=20, output=None)
print(json.dumps(met), file=sys.stderr)
"""


def test_the_demo_names_what_it_compiles():
    """What it does not name is compiled by one process while the others have nothing to do."""
    from worldline._src.cli import demo

    done = subprocess.run(
        [sys.executable, "-c", RECORDED_DEMO], capture_output=True, text=True, check=True, timeout=300
    )
    met = json.loads(done.stderr.splitlines()[-1])
    # what comes first is compiled by the first process, while others start
    alone = {"positions"}
    assert {name for name, kind in met if kind == "float64"} - alone == {*demo.FIRST_STAGES, *demo.STAGES}
    assert {name for name, kind in met if kind.startswith("lanes")} == {*demo.LANE_STAGES}


def test_the_demo_names_stages_that_there_are():
    from worldline._src.cli import demo
    from worldline._src.cli.compile_units import units

    stages = [*demo.FIRST_STAGES, *demo.STAGES]
    assert {*stages} <= {unit.function.__name__ for unit in units("float")}
    assert {*demo.LANE_STAGES} <= {unit.function.__name__ for unit in units("lanes4")}
    for names in (stages, demo.LANE_STAGES):
        assert len({*names}) == len(names)


def test_warmup_is_quick_when_warm():
    done = worldline("warmup", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert str(cache_folder()) in done.stdout.replace("\n", "")
    (seconds,) = re.findall(
        r"0 kernels compiled, all ready after (\d+\.\d) s", done.stdout.replace("\n", " ")
    )
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
