# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The commands on scene files: what they tell, how they end, and what a program can read of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import get_type_hints

import numpy as np
import pytest
from typer.testing import CliRunner

from worldline import msd
from worldline import simulation as sx
from worldline._src.cli import checks, doctor
from worldline._src.cli.demo import WALKER
from worldline._src.cli.main import app

FALL = """<mujoco model="fall"><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 0.1"/>
  <body name="crate" pos="0 0 0.15"><freejoint/><geom name="crate" type="box" size="0.1 0.1 0.1" mass="2"/></body>
  <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0" range="-60 60"/>
    <geom name="arm" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/></body>
</worldbody>
<actuator><motor name="motor" joint="hinge" ctrlrange="-5 5"/></actuator>
<sensor><jointpos name="angle" joint="hinge"/></sensor>
<keyframe><key name="up" qpos="0 0 0.5 1 0 0 0 0.3"/></keyframe></mujoco>"""
LOSSY = """<robot name="lossy"><link name="base"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <gazebo><plugin name="p" filename="f"/></gazebo></robot>"""
STIFF = """<mujoco><option timestep="0.01"/><worldbody><body name="bob" pos="0 0 1">
  <joint name="hinge" axis="0 1 0" stiffness="16000" springref="5"/><geom size="0.1" pos="0 0 -0.5" mass="1"/>
  </body></worldbody></mujoco>"""
OVERLAP = """<mujoco><worldbody><geom type="plane" size="1 1 0.1"/><body name="ball" pos="0 0 0.05"><freejoint/>
  <geom size="0.1"/></body></worldbody></mujoco>"""
BROKEN = """<mujoco><worldbody><body name="a"><joint type="hinge" axis="0 0 0"/><geom size="-1"/></body>
  </worldbody></mujoco>"""


@pytest.fixture
def scene(tmp_path):
    def write(text, name="scene.xml"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return str(path)

    return write


def call(*arguments, columns=160):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(columns), "TERM": "dumb"})


def call_json(*arguments, code=0):
    done = call(*arguments, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


# ---- run


def test_run_reports_what_a_world_of_its_own_would_do(scene):
    path = scene(FALL)
    report = call_json("run", path, "--steps", "150", "--control", "motor=0.5")
    world = sx.World.from_file(path)
    world.actuator_controls = [0.5]
    start = world.compute_step_metrics().total_energy
    world.step(n=150)
    assert report["steps"] == 150 and report["simulated_time"] == pytest.approx(0.3)
    assert report["energy_start"] == start
    assert report["energy_end"] == world.compute_step_metrics().total_energy
    assert report["contacts_end"] == 4 and report["failure"] is None
    assert report["center_of_mass_end"] == world.center_of_mass.tolist()


def test_run_for_a_duration_from_a_keyframe(scene):
    report = call_json("run", scene(FALL), "-d", "0.1", "--keyframe", "up", "--time-step", "0.001")
    assert report["steps"] == 100 and report["time_step"] == 0.001
    assert report["contacts_end"] == 0  # half a metre up


def test_run_tells_people_too(scene):
    done = call("run", scene(FALL), "-n", "20")
    assert done.exit_code == 0, done.output
    for word in ("20 of 0.002 s", "steps/s", "energy", "deepest overlap"):
        assert word in done.stdout


@pytest.mark.parametrize("suffix", [".wlr", ".npz", ".csv", ".html"])
def test_run_writes_recordings(scene, tmp_path, suffix):
    output = tmp_path / f"run{suffix}"
    report = call_json("run", scene(FALL), "-n", "25", "-o", output)
    assert report["output"] == str(output)
    if suffix == ".wlr":
        assert len(sx.Recording.load(output)) == 26
    elif suffix == ".npz":
        with np.load(output) as data:
            assert data["crate.pose"].shape == (26, 7) and data["time"][-1] == pytest.approx(0.05)
    elif suffix == ".csv":
        assert len(output.read_text().splitlines()) == 27
    else:
        assert "<canvas" in output.read_text("utf-8")


def test_run_ends_with_1_when_a_step_fails(scene, tmp_path):
    text = FALL.replace('ctrlrange="-5 5"', "")
    output = tmp_path / "run.wlr"
    report = call_json("run", scene(text), "-n", "100", "--control", "motor=1e308", "-o", output, code=1)
    assert "not finite" in report["failure"] and report["steps"] < 100
    assert output.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-d", "1", "-n", "5"], "not both"),
        (["-d", "-1"], "Invalid value"),
        (["--keyframe", "upp"], "did you mean 'up'"),
        (["--control", "moter=1"], "did you mean 'motor'"),
        (["--control", "motor=fast"], "got 'motor=fast'"),
        (["--control", "motor"], "ACTUATOR=VALUE"),
        (["-o", "run.txt"], ".wlr"),
    ],
)
def test_run_refuses_wrong_usage(scene, arguments, said):
    done = call("run", scene(FALL), *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.output and "Traceback" not in done.output


# ---- info


def test_info_as_json(scene):
    data = call_json("info", scene(FALL))
    assert data["mass"] == pytest.approx(3.0) and data["num_dofs"] == 7
    assert [body["name"] for body in data["bodies"]] == ["crate", "arm"]
    assert data["actuators"][0]["target"] == "hinge" and data["actuators"][0]["control_range"] == [-5, 5]
    assert data["actuators"][0]["force_range"] == [None, None]
    assert data["sensors"] == [{"name": "angle", "kind": "joint_position", "size": 1}]
    assert data["keyframes"] == ["up"] and data["obstacle"] is None


def test_info_draws_the_tree():
    done = call("info", WALKER)
    assert done.exit_code == 0, done.output
    for word in ("33.9", "left_knee revolute (0 to 2.44)", "servo", "read without loss"):
        assert word in done.stdout
    assert "left_knee revolute" not in call("info", WALKER, "--no-tree").stdout


def test_info_tells_what_was_left_out(scene):
    path = scene(LOSSY, "robot.urdf")
    data = call_json("info", path)
    assert data["losses"] and any("gazebo" in loss["path"] for loss in data["losses"])
    assert "approximated or left out" in call("info", path).stdout


# ---- convert


def test_convert_keeps_everything(scene, tmp_path):
    path, output = scene(FALL), tmp_path / "scene.json"
    report = call_json("convert", path, output)
    assert report["bytes"] == output.stat().st_size
    assert msd.from_file(output) == msd.from_file(path)
    packed = tmp_path / "scene.msgpack"
    assert call("convert", output, packed).exit_code == 0
    assert msd.from_file(packed) == msd.from_file(path)


def test_convert_tells_losses_and_can_insist(scene, tmp_path):
    path, output = scene(LOSSY, "robot.urdf"), tmp_path / "robot.json"
    done = call("convert", path, output, "--strict")
    assert done.exit_code == 1 and not output.exists()
    report = call_json("convert", path, output)
    assert report["losses"] and output.exists()


def test_convert_does_not_replace_files_by_accident(scene, tmp_path):
    path, output = scene(FALL), tmp_path / "scene.json"
    output.write_text("precious")
    assert call("convert", path, output).exit_code == 2
    assert output.read_text() == "precious"
    assert call("convert", path, output, "--force").exit_code == 0
    assert call("convert", output, output, "--force").exit_code == 2


def test_convert_names_formats_it_cannot_write(scene, tmp_path):
    done = call("convert", scene(FALL), tmp_path / "scene.xyz")
    assert done.exit_code == 1 and "xyz" in done.output and "Traceback" not in done.output


def test_convert_writes_mjcf_and_back(scene, tmp_path):
    path, output = scene(FALL), tmp_path / "again.xml"
    report = call_json("convert", path, output, "--strict")
    assert report["losses"] == report["written_losses"] == []
    assert msd.from_file(output) == msd.from_file(path)
    assert "read without loss\nwritten without loss" in call("convert", path, output, "--force").stdout


def test_convert_shows_what_the_new_format_cannot_say(scene, tmp_path):
    world = msd.from_str(FALL)
    world.hierarchy.bodies[0].restitution = 0.5
    source, output = tmp_path / "scene.json", tmp_path / "scene.xml"
    world.to_file(source)
    done = call("convert", source, output, "--strict")
    assert done.exit_code == 1 and "$.hierarchy.bodies[0].restitution" in done.output and not output.exists()
    done = call("convert", source, output)
    assert "written: 1 parts approximated or left out, 1 may change motion" in done.stdout
    assert "$.hierarchy.bodies[0].restitution" in done.stdout
    report = call_json("convert", source, output, "--force")
    assert report["losses"] == [] and report["written_losses"][0]["fate"] == "left out"


def test_convert_takes_a_format_by_name(scene, tmp_path):
    output = tmp_path / "scene.txt"
    assert call("convert", scene(FALL), output, "--format", "mjcf").exit_code == 0
    assert msd.from_str(output.read_text()) == msd.from_str(FALL)
    done = call("convert", scene(FALL), tmp_path / "other.txt", "--format", "usd")
    assert done.exit_code == 1 and "allowed: msd, msgpack, mjcf, urdf, sdf" in done.output
    done = call("convert", scene(FALL), tmp_path / "other.xml", "--defaults")
    assert done.exit_code == 1 and "defaults" in done.output


def test_convert_help_names_every_suffix():
    from worldline._src.scene.formats.writing import SUFFIXES

    text = call("convert", "--help").stdout
    assert all(suffix in text for suffix in SUFFIXES)


# ---- check


def levels(data):
    return {(finding["level"], finding["kind"]) for finding in data["findings"]}


def test_check_finds_nothing_wrong_with_a_sound_scene(scene):
    data = call_json("check", scene(FALL), "-d", "0.5")
    assert data["good"] and not [f for f in data["findings"] if f["level"] == "error"]
    assert data["trial"]["simulated_time"] == pytest.approx(0.5)


def test_check_finds_springs_that_are_too_stiff(scene):
    data = call_json("check", scene(STIFF), code=1)
    assert ("error", "stiff spring") in levels(data)
    message = next(f["message"] for f in data["findings"] if f["kind"] == "stiff spring")
    # sqrt(k / I) of a ball of 1 kg half a metre away
    assert f"{np.sqrt(16000 / (0.25 + 0.4 * 0.01)):.4g} rad/s" in message
    # and it is true: the trial blows up
    assert ("error", "energy") in levels(data) or ("error", "not finite") in levels(data)


def test_check_agrees_that_a_shorter_step_is_sound(scene):
    data = call_json("check", scene(STIFF.replace('timestep="0.01"', 'timestep="0.001"')))
    assert data["good"]


def test_check_finds_overlaps(scene):
    path = scene(OVERLAP)
    data = call_json("check", path, "-d", "0.1")
    assert ("warning", "overlap at the start") in levels(data)
    assert "50 mm" in next(f["message"] for f in data["findings"] if f["kind"] == "overlap at the start")
    assert call("check", path, "-d", "0.1", "--strict").exit_code == 1


def test_check_finds_what_is_invalid(scene):
    done = call("check", scene(BROKEN))
    assert done.exit_code == 1 and "invalid" in done.stdout and "Traceback" not in done.output


def test_check_starts_from_a_keyframe(scene):
    data = call_json("check", scene(FALL), "-d", "0.02", "--keyframe", "up")
    assert data["trial"]["speed_most"] > 0.1  # half a metre up, so it falls
    assert call("check", scene(FALL), "--keyframe", "upp").exit_code == 2


def test_check_finds_losses(scene):
    path = scene(LOSSY, "robot.urdf")
    data = call_json("check", path, "-d", "0.1")
    assert ("warning", "lost at loading") in levels(data)


def test_energy_that_grows_without_a_reason_is_an_error():
    world = sx.World(time_step=0.02)
    robot = world.add_multibody("pendulum")
    bob = robot.add_link("bob", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)), mass=1.0)
    bob.center_of_mass = (0.0, 0.0, -1.0)
    robot.joints["hinge"].spring_stiffness = [1e6]
    robot.joints["hinge"].position = [0.01]
    _, found = checks.while_it_runs(world, 0.5)
    assert {finding.kind for finding in found} & {"energy", "not finite"}


def test_falling_for_ever_is_noted():
    world = sx.World(time_step=0.01)
    world.add_rigid_body("box")
    watch, found = checks.while_it_runs(world, 4.0)
    assert [finding.kind for finding in found] == ["falls"]
    assert watch.growth < 1e-6 * watch.kinetic + 1e-9 or watch.growth < checks.GROWTH * watch.kinetic


# ---- bench, doctor


def test_bench_alone(scene):
    report = call_json("bench", scene(FALL), "-d", "0.1", "--rounds", "1", "--no-peer")
    own = report["engines"]["worldline"]
    assert own["steps_per_second"] == pytest.approx(1e6 / own["microseconds_per_step"])
    assert report["steps"] == 50 and report["ratio_to_mujoco"] is None


def test_bench_beside_mujoco(scene):
    pytest.importorskip("mujoco", reason="the peer is not installed")
    report = call_json("bench", scene(FALL), "-d", "0.05", "--rounds", "1")
    theirs, ours = report["engines"]["mujoco"], report["engines"]["worldline"]
    assert report["ratio_to_mujoco"] == pytest.approx(ours["steps_per_second"] / theirs["steps_per_second"])


def test_bench_says_why_there_is_no_peer(scene, tmp_path):
    pytest.importorskip("mujoco", reason="the peer is not installed")
    output = tmp_path / "scene.json"
    call("convert", scene(FALL), output)
    done = call("bench", output, "-d", "0.05", "--rounds", "1")
    assert done.exit_code == 0 and "does not read .json files" in done.stdout


def test_doctor_is_well_here():
    data = call_json("doctor")
    found = {finding["what"]: finding for finding in data["findings"]}
    assert data["good"]
    assert found["self-check"]["good"] and "0.0e+00" in found["self-check"]["value"]
    for what in (
        "python",
        "numba (optional)",
        "processor",
        "machine code",
        "still to compile",
        "threads",
        "compile cache",
        "cache size",
        "viser (optional)",
    ):
        assert what in found
    assert "all is well" in call("doctor").stdout


def test_doctor_sees_a_cache_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    done = subprocess.run(
        [sys.executable, "-m", "worldline", "doctor", "--json"],
        capture_output=True,
        text=True,
        env=os.environ | {"WORLDLINE_CACHE_DIR": str(blocked), "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 1, done.stderr
    found = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert not found["compile cache"]["good"] and "WORLDLINE_CACHE_DIR" in found["compile cache"]["advice"]
    assert not found["compiled code"]["good"] and found["self-check"]["good"]


def test_doctor_gives_its_advice_to_the_letter(monkeypatch):
    """Extras stand in brackets, which are markup to the console."""
    advice = "pip install 'worldline[compiler]'"
    bad = doctor.Finding("still to compile", "1 of 212 for float", False, advice)
    monkeypatch.setattr(doctor, "_machine_code", lambda: iter([bad]))
    monkeypatch.setattr(doctor, "_self_check", lambda: doctor.Finding("self-check", "left out"))
    done = call("doctor", columns=40)
    assert done.exit_code == 1 and f"still to compile: {advice}" in done.stdout


# ---- all of them


@pytest.mark.parametrize("command", ["run", "info", "check", "convert", "bench", "doctor", "capabilities"])
def test_help_teaches(command):
    done = call(command, "--help")
    assert done.exit_code == 0
    assert done.stdout.count(f"worldline {command}") >= 2  # examples
    assert "--json" in done.stdout


@pytest.mark.parametrize("command", ["demo", "warmup", "schema"])
def test_help_of_the_others_has_examples_too(command):
    assert call(command, "--help").stdout.count(f"worldline {command}") >= 2


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda command: command.callback.__name__)
def test_help_loses_nothing_on_a_narrow_screen(command):
    examples = command.help.split("Examples:")[1].strip("\n").splitlines()
    shown = call(command.callback.__name__, "--help", columns=80).stdout
    # examples stand on lines of their own, to be copied
    for example in examples:
        assert example.strip() in shown, example
    # words in brackets are taken for colours, and vanish
    hints = get_type_hints(command.callback, include_extras=True).values()
    texts = [getattr(note, "help", None) for hint in hints for note in getattr(hint, "__metadata__", ())]
    assert [text for text in texts if text and "[" in text] == []


@pytest.mark.parametrize("command", ["view", "render", "run", "check"])
def test_keyframes_that_are_not_there_are_wrong_usage(command, scene, tmp_path):
    output = ("-o", str(tmp_path / "x.png")) if command == "render" else ()
    done = call(command, scene(FALL), "--keyframe", "nowhere", *output)
    assert done.exit_code == 2
    assert "no keyframe 'nowhere'" in " ".join(done.stderr.replace("│", " ").split())


def test_nothing_but_results_in_a_pipe(scene):
    program = (sys.executable, "-m", "worldline")
    file = scene(FALL)
    done = subprocess.run([*program, "run", file, "-n", "3"], capture_output=True, text=True, check=True)
    assert done.stderr == "" and "e-2" not in done.stdout
    # a reader that has seen enough
    with subprocess.Popen(
        [*program, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_capabilities_as_json():
    rows = call_json("capabilities")
    assert [row["row"] for row in rows] == [row.row for row in sx.capabilities()]
    assert rows[0]["available"]


@pytest.mark.parametrize("command", ["run", "info", "check", "convert", "bench"])
def test_a_file_that_is_not_there_is_wrong_usage(command, tmp_path):
    extra = [tmp_path / "out.json"] if command == "convert" else []
    done = call(command, tmp_path / "missing.xml", *extra)
    assert done.exit_code == 2 and "missing.xml" in done.output


@pytest.mark.parametrize("command", ["run", "info", "bench"])
def test_a_file_that_cannot_be_read_is_a_problem(command, scene):
    done = call(command, scene(BROKEN))
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert "worldline: " in done.stderr


def test_a_real_process_keeps_results_and_remarks_apart(scene):
    done = subprocess.run(
        [sys.executable, "-m", "worldline", "run", scene(FALL), "-n", "50", "--json"],
        capture_output=True,
        text=True,
        env=os.environ | {"TERM": "dumb"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 50


def test_an_output_that_cannot_be_written_is_one_line(scene, tmp_path):
    done = call("run", scene(FALL), "-n", "2", "-o", tmp_path / "no" / "folder" / "x.csv")
    assert done.exit_code == 2 and "--output must be in a folder that exists" in done.stderr
