# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Files with a flipped byte, and disks that are full."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import numpy as np
import pytest

import worldline
from worldline import ArgumentError, msd
from worldline import simulation as sx
from worldline._src.scene.formats.atomic_write import atomic_file
from worldline.collision import CollisionShape


@pytest.fixture(scope="module")
def world():
    made = sx.World()
    made.add_ground_plane()
    box = made.add_rigid_body("box", position=(0, 0, 0.1))
    box.add_collision_shape(CollisionShape.sphere(0.1))
    made.replay_recording_enabled = True
    made.step(n=20)
    return made


def flipped(data: bytes, count: int):
    """Copies with one byte changed: at every place of both ends, and at random places between."""
    rng = np.random.default_rng(3)
    ends = [*range(min(120, len(data))), *range(max(0, len(data) - 120), len(data))]
    for at in {*ends, *rng.integers(0, len(data), count).tolist()}:
        spoiled = bytearray(data)
        spoiled[at] ^= int(rng.integers(1, 256))
        yield at, bytes(spoiled)


WRITERS = {
    "run.wlr": (lambda w, p: w.recording.save(p), sx.Recording.load),
    "run.npz": (lambda w, p: w.recording.to_npz(p), sx.Recording.load_npz),
    "world.bin": (lambda w, p: w.save_binary(p), lambda p: sx.World().load_binary(p)),
    "scene.msgpack": (lambda w, p: w.to_scene().to_file(p), msd.from_file),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_flipped_byte_is_refused(world, tmp_path, name):
    write, read = WRITERS[name]
    write(world, tmp_path / name)
    read(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    for at, spoiled in flipped(data, 400):
        (tmp_path / name).write_bytes(spoiled)
        try:
            read(tmp_path / name)
        except worldline.WorldlineError:
            continue
        pytest.fail(f"byte {at} of {len(data)} was changed, and {name} was read")


def test_scene_msgpack_without_a_checksum_is_read(world):
    msgspec = pytest.importorskip("msgspec")
    scene = world.to_scene()
    plain = msgspec.msgpack.decode(scene.to_msgpack())
    assert len(plain.pop("checksum")) == 32
    again = msd.from_msgpack(msgspec.msgpack.encode(plain))
    assert again.to_msgpack() == scene.to_msgpack()
    assert not again.report


def test_numpy_reads_the_archive(world, tmp_path):
    world.recording.to_npz(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as arrays:
        assert {*arrays.files} == {"time", "frame", *world.recording.names}
        np.testing.assert_array_equal(arrays["box.pose"], world.recording["box.pose"])
    loaded = sx.Recording.load_npz(tmp_path / "run.npz")
    assert all((loaded[name] == x).all() for name, x in world.recording.to_numpy().items())
    with pytest.raises(FileNotFoundError):
        sx.Recording.load_npz(tmp_path / "none.npz")


@contextmanager
def full_disk(room: int = 512):
    """Files cannot grow beyond so many bytes: a write fails half way."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def picture(path) -> None:
    pytest.importorskip("PIL")
    from worldline._src.render.files import write_film, write_picture

    noise = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    if path.suffix == ".png":
        write_picture(path, noise[0])
    else:
        if path.suffix == ".mp4":
            pytest.importorskip("av")
        write_film(path, list(noise), 10.0)


EXPORTS = {
    "run.csv": lambda w, p: w.recording.to_csv(p),
    "run.npz": lambda w, p: w.recording.to_npz(p),
    "run.wlr": lambda w, p: w.recording.save(p),
    "run.html": lambda w, p: w.recording.to_html(p),
    "world.bin": lambda w, p: w.save_binary(p),
    "scene.msgpack": lambda w, p: w.to_scene().to_file(p),
    "scene.json": lambda w, p: w.to_scene().to_file(p),
    "picture.png": lambda w, p: picture(p),
    "film.gif": lambda w, p: picture(p),
    "film.mp4": lambda w, p: picture(p),
}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("there", [False, True], ids=["new", "replacing"])
def test_a_full_disk_leaves_no_half_file(world, tmp_path, name, there):
    path = tmp_path / name
    if there:
        path.write_text("as it was")
    with full_disk(), pytest.raises(OSError):
        EXPORTS[name](world, path)
    assert [file.name for file in tmp_path.iterdir()] == ([name] if there else [])
    assert not there or path.read_text() == "as it was"
    EXPORTS[name](world, path)
    assert path.stat().st_size > 512


def test_a_file_that_is_written_has_the_usual_permissions(world, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    for name, write in (("run.wlr", world.recording.save), ("world.bin", world.save_binary)):
        write(tmp_path / name)
        assert (tmp_path / name).stat().st_mode == plain.stat().st_mode


def test_what_is_no_regular_file_is_written_directly():
    with atomic_file("/dev/null") as path:
        assert str(path) == "/dev/null"


PATHS = {
    "save_binary": lambda world, path: world.save_binary(path),
    "load_binary": lambda world, path: world.load_binary(path),
    "save": lambda world, path: world.recording.save(path),
    "to_csv": lambda world, path: world.recording.to_csv(path),
    "to_npz": lambda world, path: world.recording.to_npz(path),
    "to_html": lambda world, path: world.recording.to_html(path),
    "load": lambda world, path: sx.Recording.load(path),
    "from_file": lambda world, path: sx.World.from_file(path),
    "to_file": lambda world, path: world.to_scene().to_file(path),
}


@pytest.mark.parametrize("path", ["a\0b.xml", "\ud800.xml", 3.5], ids=["NUL", "surrogate", "number"])
@pytest.mark.parametrize("call", PATHS)
def test_paths_that_no_file_has_are_refused(world, call, path):
    with pytest.raises(ArgumentError):
        PATHS[call](world, path)
