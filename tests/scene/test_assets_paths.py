# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which files a scene may reach, and what is kept of slow work on them."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from worldline._src.errors import ForbiddenPathError, MissingFileError, SceneError
from worldline._src.scene.assets.cache import VERSION, AssetCache, content_key, default_folder
from worldline._src.scene.assets.paths import PathPolicy

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Two packages, a model, a library outside, and a secret."""
    for variable in (
        "ROS_PACKAGE_PATH",
        "AMENT_PREFIX_PATH",
        "GZ_SIM_RESOURCE_PATH",
        "GAZEBO_MODEL_PATH",
        "SDF_PATH",
    ):
        monkeypatch.delenv(variable, raising=False)
    files = {
        "ws/arm/package.xml": "<package/>",
        "ws/arm/urdf/arm.urdf": "",
        "ws/arm/urdf/near.stl": "near",
        "ws/arm/meshes/far.stl": "far",
        "ws/hand/package.xml": "<package/>",
        "ws/hand/finger.stl": "finger",
        "ws/plain/finger.stl": "no package",
        "models/table/model.config": "",
        "models/table/top.dae": "top",
        "library/tools/tool.stl": "tool",
        "secret.stl": "secret",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "ws/arm/urdf/link.stl").symlink_to(tmp_path / "secret.stl")
    (tmp_path / "ws/arm/urdf/loop.stl").symlink_to(tmp_path / "ws/arm/urdf/loop.stl")
    return tmp_path


def policy(workspace, **more) -> PathPolicy:
    return PathPolicy(workspace / "ws/arm/urdf", **more)


def content(found: PathPolicy, reference: str) -> str:
    return found.read(found.resolve(reference)).decode()


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("near.stl", "near"),
        ("./near.stl", "near"),
        ("../meshes/far.stl", "far"),
        ("package://arm/meshes/far.stl", "far"),
        ("package:///arm/meshes/far.stl", "far"),
        ("package://hand/finger.stl", "finger"),
    ],
)
def test_files_of_the_package_are_found(workspace, reference, expected):
    assert content(policy(workspace), reference) == expected


def test_absolute_paths_and_file_addresses_within_reach(workspace):
    near = workspace / "ws/arm/urdf/near.stl"
    assert content(policy(workspace), str(near)) == "near"
    assert content(policy(workspace), f"file://{near}") == "near"


@pytest.mark.parametrize(
    "reference",
    [
        "../../../secret.stl",
        "link.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://example.org/a.stl",
        "https://example.org/a.stl",
        "package://arm/../../secret.stl",
        "package://../secret.stl",
        "",
        "a\0b",
        "x" * 5000,
    ],
)
def test_paths_that_lead_out_are_refused(workspace, reference):
    with pytest.raises(ForbiddenPathError):
        policy(workspace).resolve(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "nothing.stl",
        "package://arm/nothing.stl",
        "package://plain/finger.stl",
        "package://who/a.stl",
        "loop.stl",
        "/etc/not there",
        "y" * 300,
    ],
)
def test_files_that_are_not_there_are_named(workspace, reference):
    with pytest.raises(MissingFileError, match="no file"):
        policy(workspace).resolve(reference)


def test_directories_of_the_user_are_searched_and_allowed(workspace):
    wide = policy(workspace, asset_dirs=[workspace / "library", workspace / "models"])
    assert content(wide, "tools/tool.stl") == "tool"
    assert content(wide, "package://tools/tool.stl") == "tool"
    assert content(wide, "package://library/tools/tool.stl") == "tool"
    assert content(wide, "model://table/top.dae") == "top"
    assert content(wide, str(workspace / "library/tools/tool.stl")) == "tool"
    with pytest.raises(ForbiddenPathError):
        wide.resolve("package://tools/../../secret.stl")


def test_environment_of_ros_and_gazebo_is_searched(workspace, monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere{os.pathsep}{workspace / 'library'}")
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(workspace / "models"))
    assert content(policy(workspace), "package://tools/tool.stl") == "tool"
    assert content(policy(workspace), "model://table/top.dae") == "top"


def test_everything_is_allowed_when_asked(workspace):
    free = policy(workspace, allow_outside=True)
    assert content(free, "../../../secret.stl") == "secret"
    assert content(free, "link.stl") == "secret"


def test_text_without_a_file_needs_absolute_paths(workspace):
    with pytest.raises(ForbiddenPathError, match="no file"):
        PathPolicy().resolve("near.stl")
    with pytest.raises(ForbiddenPathError):
        PathPolicy().resolve(str(workspace / "secret.stl"))
    assert content(PathPolicy(asset_dirs=[workspace]), str(workspace / "secret.stl")) == "secret"


def test_large_files_pipes_and_directories_are_not_read(workspace):
    small = policy(workspace, file_bytes=3)
    with pytest.raises(SceneError, match="given 4 bytes; allowed: 3"):
        content(small, "near.stl")
    os.mkfifo(workspace / "ws/arm/urdf/pipe.stl")
    start = time.process_time()
    for name in ("pipe.stl", "."):
        with pytest.raises(ForbiddenPathError, match="ordinary"):
            content(policy(workspace), name)
    assert time.process_time() - start < HANG


def test_stored_paths_are_relative_below_the_file(workspace):
    found = policy(workspace)
    assert found.stored(found.resolve("near.stl")) == "near.stl"
    assert found.stored(found.resolve("../meshes/far.stl")) == str(workspace / "ws/arm/meshes/far.stl")


# the cache


def counted(value: float = 1.0):
    calls = []

    def make():
        calls.append(1)
        return {"a": np.full((2, 3), value), "b": np.arange(4, dtype=np.int32)}

    return make, calls


def test_results_are_made_once_and_come_back_equal(tmp_path):
    make, calls = counted()
    first = AssetCache(tmp_path).fetch("hull", "key", make)
    second = AssetCache(tmp_path).fetch("hull", "key", make)
    assert len(calls) == 1
    for name in ("a", "b"):
        assert np.array_equal(first[name], second[name]) and first[name].dtype == second[name].dtype
    AssetCache(tmp_path).fetch("hull", "other key", make)
    AssetCache(tmp_path).fetch("other kind", "key", make)
    assert len(calls) == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "garbage", "directory"])
def test_damaged_entries_are_made_anew(tmp_path, damage):
    make, calls = counted()
    cache = AssetCache(tmp_path)
    cache.fetch("hull", "key", make)
    (entry,) = tmp_path.iterdir()
    data = entry.read_bytes()
    if damage == "directory":
        entry.unlink()
        entry.mkdir()
    else:
        entry.write_bytes(
            {"cut": data[:-5], "flip": data[:-1] + b"\xff", "empty": b"", "garbage": b"\x93" * 500}[damage]
        )
    found = cache.fetch("hull", "key", make)
    assert len(calls) == 2 and found["a"].shape == (2, 3)
    if damage != "directory":
        cache.fetch("hull", "key", make)
        assert len(calls) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    make, _ = counted()
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = AssetCache(blocked / "below")
    assert cache.fetch("hull", "key", make)["a"].shape == (2, 3)
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".part"]


def test_the_oldest_entries_go_first(tmp_path):
    cache = AssetCache(tmp_path)
    for number in range(4):
        cache.fetch("hull", str(number), lambda: {"a": np.zeros(1000)})
        os.utime(tmp_path / f"hull-{number}-{VERSION}", (number, number))
    cache.limit_bytes = 17_000
    cache.trim()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"hull-{n}-{VERSION}" for n in (2, 3)]


def test_keys_tell_contents_apart():
    array = np.arange(6.0)
    keys = [
        content_key(b"ab", b"c"),
        content_key(b"a", b"bc"),
        content_key("ab", "c"),
        content_key(1),
        content_key(1.0),
        content_key(True),
        content_key(None),
        content_key(array),
        content_key(array.reshape(2, 3)),
        content_key(array.astype(np.float32)),
        content_key([array]),
    ]
    assert len(set(keys)) == len(keys)
    assert content_key(array[::2]) == content_key(array[::2].copy())


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLINE_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path / "assets"
    monkeypatch.delenv("WORLDLINE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "worldline" / "assets"
