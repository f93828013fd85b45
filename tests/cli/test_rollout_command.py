# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline rollout`: what it reports, how it ends, and that draws do not depend on the number of worlds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from worldline._src.cli.main import app

TEXT = """<mujoco><option timestep="0.002"/><worldbody>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size="0.05" pos="0.3 0 0" mass="1"/></body>
  </worldbody><actuator><motor name="motor" joint="hinge" ctrlrange="-2 3"/></actuator>
  <keyframe><key name="up" qpos="1.5"/></keyframe></mujoco>"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(TEXT, "utf-8")
    return path


def call(*arguments):
    return CliRunner().invoke(app, ["rollout", *map(str, arguments)], env={"COLUMNS": "160", "TERM": "dumb"})


def test_report_and_final_states(scene, tmp_path):
    done = call(scene, "-w", 6, "-n", 50, "--threads", 1, "-o", tmp_path / "end.npz", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["worlds"], report["steps"], report["layout"], report["failures"]) == (6, 50, "lanes", [])
    assert report["world_steps_per_second"] > 0 and len(report["fingerprint"]) == 64
    end = np.load(tmp_path / "end.npz")
    assert end["joint_positions"].shape == (6, 1) and end["time"] == pytest.approx(0.1)
    assert (end["controls"] >= -2).all() and (end["controls"] <= 3).all() and np.ptp(end["controls"]) > 0.1
    call(scene, "-w", 2, "-n", 50, "-o", tmp_path / "two.npz")
    two = np.load(tmp_path / "two.npz")
    assert np.array_equal(two["joint_positions"], end["joint_positions"][:2])


def test_options_act(scene, tmp_path):
    def ends(*options):
        done = call(scene, "-w", 2, "-n", 20, "-o", tmp_path / "x.npz", *options)
        assert done.exit_code == 0, done.output
        return np.load(tmp_path / "x.npz")["joint_positions"], done.stdout

    plain, text = ends()
    assert "world-steps/s" in text and "2 in lanes" in text
    for option in (["--seed", 1], ["--spread", 0.5], ["--idle"], ["--keyframe", "up"]):
        assert not np.array_equal(ends(*option)[0], plain), option
    assert "2 in threads: as requested" in ends("--layout", "threads")[1]


def test_wrong_usage_and_failures(scene, tmp_path):
    assert call(scene, "-o", tmp_path / "x.csv").exit_code == 2
    assert call(scene, "--layout", "rows").exit_code == 2
    assert call(scene, "--keyframe", "down").exit_code == 2
    done = call(scene, "-w", 2, "-n", 3, "--spread", 1e13, "--json")
    assert done.exit_code == 1
    failures = json.loads(done.stdout)["failures"]
    assert len(failures) == 2 and "world 0" in failures[0] and "'arm'" in failures[0]
