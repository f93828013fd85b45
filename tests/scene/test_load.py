# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Files: which format they have, how they are written, and where their assets are."""

from __future__ import annotations

import json
import os
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from random_scenes import Generator

from worldline import msd
from worldline._src.errors import ArgumentError, SceneError
from worldline._src.scene.formats.detect import detect
from worldline._src.scene.limits import Limits


def world_with_files() -> msd.World:
    world = msd.World(name="files")
    world.assets.meshes["m"] = msd.MeshSource.path("meshes/m.stl")
    world.assets.meshes["far"] = msd.MeshSource.path("/data/far.stl")
    world.assets.meshes["pkg"] = msd.MeshSource.path("package://robot/m.stl")
    world.assets.textures["t"] = msd.Texture(source=msd.TextureSource.file("t.png"))
    world.assets.hfields["h"] = msd.HFieldSource(source_type=msd.HFieldSourceType.path("h.png"))
    return world


@pytest.mark.parametrize("suffix", [".json", ".msd", ".JSON", ".msgpack", ".mpk"])
def test_files_are_written_and_read_by_suffix(tmp_path: Path, suffix: str) -> None:
    world = world_with_files()
    file = tmp_path / f"scene{suffix}"
    world.to_file(file)
    again = msd.from_file(file)
    assert again == world
    assert again.source_path == str(file)
    assert os.listdir(tmp_path) == [file.name]
    assert msd.from_file(str(file)) == world


def test_json_files_are_indented_for_people(tmp_path: Path) -> None:
    world = msd.World(name="a")
    world.add_ground_plane(1.0)
    world.to_file(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    assert text == world.to_str(indented=True)
    assert text.splitlines() == [
        "{",
        ' "hierarchy": {',
        '  "geoms": [',
        "   {",
        '    "name": "ground_0",',
        '    "position": [0.0,0.0,1.0],',
        '    "shape": "InfinitePlane"',
        "   }",
        "  ]",
        " },",
        ' "name": "a"',
        "}",
    ]


def test_indented_text_says_the_same(tmp_path: Path) -> None:
    for seed in range(5):
        world = Generator(seed).world()
        text = world.to_str(indented=True)
        assert json.loads(text) == json.loads(world.to_str())
    link = msd.Link()
    for _ in range(1000):
        link = msd.Link(children=[link])
    world = msd.World(hierarchy=msd.Hierarchy(bodies=[msd.Body(link=link)]))
    assert msd.from_str(world.to_str(indented=True), format="msd") == world


def test_another_suffix_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"scene\.txt.*allowed: a file name ending in \.json"):
        msd.World().to_file(tmp_path / "scene.txt")
    broken = msd.World()
    broken.add_ground_plane(0.0).position[0] = float("nan")
    (tmp_path / "scene.json").write_text("before")
    with pytest.raises(SceneError):
        broken.to_file(tmp_path / "scene.json")
    assert (tmp_path / "scene.json").read_text() == "before"
    assert os.listdir(tmp_path) == ["scene.json"]


def test_relative_assets_follow_the_file(tmp_path: Path) -> None:
    world = world_with_files()
    world.source_path = str(tmp_path / "a" / "scene.json")
    (tmp_path / "b").mkdir()
    world.to_file(tmp_path / "b" / "copy.json")
    again = msd.from_file(tmp_path / "b" / "copy.json")
    paths = {name: mesh.value["path"] for name, mesh in again.assets.meshes.items()}
    expected = {"m": "../a/meshes/m.stl", "far": "/data/far.stl", "pkg": "package://robot/m.stl"}
    assert paths == expected
    assert again.assets.textures["t"].source.value == "../a/t.png"
    assert again.assets.hfields["h"].source_type.value["path"] == "../a/h.png"
    assert world.assets.meshes["m"].value["path"] == "meshes/m.stl"
    text = world.to_str(file_path=tmp_path / "scene.json")
    assert "a/meshes/m.stl" in text


def test_source_path_comes_from_the_caller(tmp_path: Path) -> None:
    text = msd.World(source_path="/somewhere/scene.json").to_str()
    assert msd.from_str(text, format="msd").source_path == "/somewhere/scene.json"
    assert msd.from_str(text, format="msd", file_path="/else/a.json").source_path == "/else/a.json"
    assert msd.from_str(text, format="msd", file_path="a.json").source_path == os.path.abspath("a.json")
    assert msd.World(source_path="a") == msd.World(source_path="b")


FORMATS = [
    (b'{"name": "a"}', "a.json", "msd"),
    (b"  \n{}", None, "msd"),
    (b"\xef\xbb\xbf{}", "a.json", "msd"),
    (b"<mujoco/>", "a.xml", "mjcf"),
    (b'<?xml version="1.0"?>\n<!-- <robot> -->\n<!DOCTYPE mujoco>\n<mujoco model="a">', None, "mjcf"),
    (b"<robot name='a'>", "a.xml", "urdf"),
    (b"<robot>", "a.urdf", "urdf"),
    (b"<robot>", "a.json", "urdf"),
    (b"<sdf version='1.9'>", "a.world", "sdf"),
    (b"<mujoco>", "a.urdf", "mjcf"),
    (b"\x80", None, "msgpack"),
    (b"\xde\x00\x00", "scene", "msgpack"),
    (b"\x80", "a.msgpack", "msgpack"),
    (b"junk", "a.urdf", "urdf"),
]


@pytest.mark.parametrize(("data", "name", "format"), FORMATS)
def test_the_format_is_told_by_content_and_suffix(data: bytes, name: str | None, format: str) -> None:
    assert detect(data, None if name is None else Path(name)) == format


@pytest.mark.parametrize("data", [b"", b"hello", b"<html>", b"\xff\xff", b"<!--" + b"-" * 70000])
def test_an_unknown_format_is_refused(data: bytes) -> None:
    with pytest.raises(SceneError, match=r"a\.txt: given .*allowed: "):
        detect(data, Path("a.txt"))


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "a\0b", Path("/dev/zero")):
        with pytest.raises(SceneError, match="cannot be read"):
            msd.from_file(path)
    big = tmp_path / "big.json"
    big.write_bytes(b" " * 2000)
    with pytest.raises(SceneError, match="given 2000 bytes; allowed: 1000"):
        msd.from_file(big, limits=Limits(file_bytes=1000))
    with pytest.raises(SceneError, match="given 2000 bytes of JSON; allowed: 1000"):
        msd.from_str(" " * 2000, format="msd", limits=Limits(file_bytes=1000))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for a reader of a foreign format, and what it was called with."""
    calls: dict[str, Any] = {}
    module = types.ModuleType("worldline._src.scene.formats.sdf.read")

    def read(source: str, *, file_path: Path | None, options: msd.ReadOptions) -> msd.World:
        calls.update(source=source, file_path=file_path, options=options)
        world = msd.World(name="read")
        if "loss" in source:
            world.report.approximated("sdf/model", "made round", file="a.sdf", line=3)
        if "broken" in source:
            world.actuators.append(msd.Actuator(target=msd.ActuatorTarget.joint("none")))
        return world

    module.read = read  # type: ignore[attr-defined]
    parent = types.ModuleType("worldline._src.scene.formats.sdf")
    monkeypatch.setitem(sys.modules, parent.__name__, parent)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def test_foreign_formats_go_to_their_reader(tmp_path: Path, reader: dict[str, Any]) -> None:
    file = tmp_path / "a.sdf"
    file.write_text("<sdf>ü</sdf>", encoding="utf-8")
    world = msd.from_file(file, asset_dirs=[tmp_path], allow_outside=True)
    assert world.name == "read"
    assert world.source_path == str(file)
    assert reader["source"] == "<sdf>ü</sdf>"
    assert reader["file_path"] == file
    assert reader["options"].asset_dirs == (tmp_path,)
    assert reader["options"].allow_outside
    assert msd.from_str("<sdf/>", format="sdf").source_path is None
    assert reader["file_path"] is None


def test_strict_loading_raises_what_a_reader_reported(reader: dict[str, Any]) -> None:
    assert len(msd.from_str("<sdf>loss</sdf>", format="sdf").report.losses) == 1
    with pytest.raises(SceneError, match=r"a\.sdf:3: sdf/model: approximated: made round"):
        msd.from_str("<sdf>loss</sdf>", format="sdf", strict=True)
    assert reader["options"].strict


def test_what_a_reader_returns_is_validated(reader: dict[str, Any]) -> None:
    with pytest.raises(SceneError, match="which is no joint"):
        msd.from_str("<sdf>broken</sdf>", format="sdf")
    assert msd.from_str("<sdf>broken</sdf>", format="sdf", validate=False).actuators


def test_a_format_without_reader_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from worldline._src.scene.formats import load

    monkeypatch.setattr(load, "TEXT_FORMATS", ("usd",))
    with pytest.raises(NotImplementedError, match="reading USD is not part of this build"):
        msd.from_str("", format="usd")


def test_a_slow_load_shows_a_line(tmp_path, monkeypatch, capsys) -> None:
    from worldline._src import progress
    from worldline._src.scene.formats.mjcf import read as mjcf

    read = mjcf.read
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.delenv("WORLDLINE_QUIET", raising=False)
    monkeypatch.setattr(mjcf, "read", lambda *given, **more: (time.sleep(0.3), read(*given, **more))[1])
    text = "<mujoco model='slow line'/>"
    (tmp_path / "robot.xml").write_text(text)
    msd.from_file(tmp_path / "robot.xml")
    assert "loading robot.xml" in capsys.readouterr().err
    msd.from_str(text)
    assert "loading" in capsys.readouterr().err
