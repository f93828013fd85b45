# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing in any format: suffixes, names of formats, strictness, and atomic writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worldline import msd
from worldline._src.errors import ArgumentError, SceneError
from worldline._src.scene.formats import atomic_write, writing
from worldline._src.scene.formats.atomic_write import write_atomically


def ball(**fields: object) -> msd.World:
    """A free ball, all of which MJCF can say, but for the fields given."""
    text = "<mujoco model='ball'><worldbody><body name='ball' pos='0 0 1'><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    world = msd.from_str(text)
    for name, value in fields.items():
        setattr(world.hierarchy.bodies[0], name, value)
    return world


@pytest.mark.parametrize("suffix", [".json", ".msd", ".msgpack", ".mpk", ".xml", ".mjcf", ".XML"])
def test_the_suffix_tells_the_format(tmp_path: Path, suffix: str) -> None:
    world = ball()
    report = world.to_file(tmp_path / f"scene{suffix}")
    assert len(report) == 0 and isinstance(report, msd.Report)
    assert msd.from_file(tmp_path / f"scene{suffix}") == world
    assert os.listdir(tmp_path) == [f"scene{suffix}"]


def test_a_named_format_wins_over_the_suffix(tmp_path: Path) -> None:
    ball().to_file(tmp_path / "scene.txt", format="mjcf")
    assert (tmp_path / "scene.txt").read_text().startswith("<?xml")
    ball().to_file(tmp_path / "scene.xml", format="msd")
    assert (tmp_path / "scene.xml").read_text().startswith("{")


def test_what_is_not_known_is_refused_with_what_is(tmp_path: Path) -> None:
    world = ball()
    with pytest.raises(
        ArgumentError, match=r"scene\.obj.*\.json, \.msd, .*\.xml, \.mjcf, \.urdf, \.sdf, \.world$"
    ):
        world.to_file(tmp_path / "scene.obj")
    with pytest.raises(
        ArgumentError, match=r"format: given 'mjfc' .*allowed: msd, msgpack, mjcf.*did you mean 'mjcf'\?"
    ):
        world.to_file(tmp_path / "scene.xml", format="mjfc")
    with pytest.raises(ArgumentError, match=r"format: given 'msgpack' .*allowed: msd, mjcf, urdf, sdf"):
        world.to_str(format="msgpack")
    with pytest.raises(ArgumentError, match="defaults: given True; allowed: False for MJCF"):
        world.to_file(tmp_path / "scene.xml", defaults=True)
    with pytest.raises(ArgumentError, match="defaults"):
        world.to_str(format="mjcf", defaults=True)
    assert os.listdir(tmp_path) == []


def test_losses_are_told_and_strict_writing_refuses_them(tmp_path: Path) -> None:
    world = ball(restitution=0.5)
    report = world.to_file(tmp_path / "loose.xml")
    assert [entry.path for entry in report.losses] == ["$.hierarchy.bodies[0].restitution"]
    assert report.losses[0].may_move
    notes = msd.Report()
    world.to_str(format="mjcf", report=notes)
    assert str(notes) == str(report)
    with pytest.raises(SceneError, match="strict writing as MJCF: 1 part would be lost") as caught:
        world.to_file(tmp_path / "strict.xml", strict=True)
    assert caught.value.problems[0].path == "$.hierarchy.bodies[0].restitution"
    with pytest.raises(SceneError, match="strict writing"):
        world.to_str(format="mjcf", strict=True)
    assert os.listdir(tmp_path) == ["loose.xml"]
    assert world.to_file(tmp_path / "all.json", strict=True).is_exact


def test_looks_do_not_count_as_motion() -> None:
    report = msd.Report()
    report.left_out("$.hierarchy.bodies[0].link.geoms[1].visual.group", "no place")
    report.left_out("$.assets.materials['a.material'].ior", "no place")
    report.left_out("$.hierarchy.bodies[0].link.joints[1].armature", "no place")
    report.left_out("$.assets.meshes['visual'].acd", "no place")
    assert [entry.may_move for entry in report] == [False, False, True, True]


def test_an_invalid_scene_is_not_written(tmp_path: Path) -> None:
    world = ball()
    world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.joint("nobody")))
    with pytest.raises(SceneError, match="nobody"):
        world.to_file(tmp_path / "scene.xml")
    world = ball()
    world.hierarchy.bodies[0].link.name = "bell \x07"
    with pytest.raises(
        SceneError, match=r"cannot be written as MJCF\n.*link\.name.*characters that XML knows"
    ):
        world.to_file(tmp_path / "scene.xml")
    assert os.listdir(tmp_path) == []


def test_writing_does_not_change_the_scene(tmp_path: Path) -> None:
    world = ball(restitution=0.5)
    world.source_path = str(tmp_path / "elsewhere" / "a.xml")
    before = world.to_str()
    world.to_file(tmp_path / "scene.xml")
    world.to_str(format="mjcf")
    assert world.to_str() == before


# several files at once


def test_files_appear_together_and_replace_old_ones(tmp_path: Path) -> None:
    main, part = tmp_path / "a.xml", tmp_path / "a_assets" / "deep" / "m.obj"
    write_atomically({main: b"1", part: b"2"})
    assert (main.read_bytes(), part.read_bytes()) == (b"1", b"2")
    write_atomically({main: b"3", part: b"4"})
    assert (main.read_bytes(), part.read_bytes()) == (b"3", b"4")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.xml", "a_assets", "deep", "m.obj"]


def test_a_failure_on_the_way_leaves_everything_as_it_was(tmp_path: Path, monkeypatch) -> None:
    main, old, new = tmp_path / "a.xml", tmp_path / "a_assets" / "old.obj", tmp_path / "b" / "new.obj"
    write_atomically({main: b"1", old: b"2"})
    before = {p: p.read_bytes() for p in (main, old)}
    real = os.replace
    for failing in range(1, 6):
        calls = []

        def replace(source, target, calls=calls, failing=failing):
            calls.append(target)
            if len(calls) == failing:
                raise OSError("the disk is full")
            real(source, target)

        monkeypatch.setattr(atomic_write.os, "replace", replace)
        with pytest.raises(OSError, match="full"):
            write_atomically({main: b"3", old: b"4", new: b"5"})
        assert {p: p.read_bytes() for p in (main, old)} == before, failing
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.xml", "a_assets", "old.obj"], failing


def test_a_target_that_cannot_be_replaced_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.xml").mkdir()
    with pytest.raises(OSError):
        write_atomically({tmp_path / "a.xml": b"1", tmp_path / "x" / "m.obj": b"2"})
    assert [p.name for p in tmp_path.rglob("*")] == ["a.xml"]
    with pytest.raises(OSError):
        ball().to_file(tmp_path / "no" / "folder.xml")
    assert [p.name for p in tmp_path.rglob("*")] == ["a.xml"]


def test_files_beside_have_names_of_their_own(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    file = tmp_path / "robot.urdf"
    names = [
        writing.file_beside(files, file, name, ".obj", b"") for name in ("arm", "ARM", "../a/b", "", "arm")
    ]
    assert names[0] == "robot_assets/arm.obj" and names[2] == "robot_assets/a_b.obj"
    assert names[3] == "robot_assets/asset.obj"
    assert len({name.lower() for name in names}) == 5
