# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings: arrays by name, files, and files that are none."""

from __future__ import annotations

import csv

import msgspec
import numpy as np
import pytest

from facade_worlds import arm_and_box, floating
from worldline import simulation as sx
from worldline._src.facade import frame_rows, recording_file
from worldline._src.facade.checked_file import read_checked, write_checked


@pytest.fixture
def recorded():
    world, arm = arm_and_box()
    floating(world)
    world.replay_recording_enabled = True
    arm.joints.force = [0.5, -0.5]
    world.step(n=6)
    return world


def test_times_and_frames(recorded):
    recording = recorded.recording
    assert len(recording) == 7
    assert recording.frames.tolist() == list(range(7))
    np.testing.assert_allclose(recording.times, np.arange(7) * 0.01)


def test_arrays_by_name(recorded):
    recording = recorded.recording
    np.testing.assert_array_equal(recording["arm.q"][-1], recorded.multibodies["arm"].joints.position)
    np.testing.assert_array_equal(recording["arm.dq"][-1], recorded.multibodies["arm"].joints.velocity)
    np.testing.assert_array_equal(recording["arm.ddq"][-1], recorded.multibodies["arm"].joints.acceleration)
    np.testing.assert_array_equal(recording["arm.force"][3], [0.5, -0.5])
    np.testing.assert_array_equal(recording["box.pose"][-1][:3], recorded.rigid_bodies["box"].translation)
    assert recording["bird.q"].shape == (7, 11)


def test_the_rows_of_a_recording_are_the_states(recorded):
    recording = recorded.recording
    state = recorded.replay.state(4)
    for name in state.space.variable_names:
        np.testing.assert_array_equal(recording[name][4], state[name])


def test_held_forces_are_recorded(recorded):
    recorded.rigid_bodies["box"].force = (1, 2, 3)
    recorded.step()
    assert recorded.recording["box.wrench"][-1].tolist() == [0, 0, 0, 1, 2, 3]


def test_arrays_are_copies(recorded):
    recording = recorded.recording
    recording["arm.q"][:] = 9.0
    assert recording["arm.q"].max() < 9.0


def test_unknown_names(recorded):
    with pytest.raises(KeyError, match=r"did you mean 'arm\.q'"):
        recorded.recording["arm.qq"]


def test_a_recording_contains_its_names_alone(recorded):
    recording = recorded.recording
    assert all(name in recording for name in recording.names)
    assert "arm.q" in recording and "imu" not in recording and "" not in recording
    assert 0 not in recording and None not in recording and ("arm.q",) not in recording


def test_nothing_recorded():
    with pytest.raises(KeyError, match="nothing was recorded"):
        _ = sx.World().recording


def test_one_branch_of_several(recorded):
    recorded.restore_replay_frame(2)
    recorded.step()
    assert len(recorded.recording) == 4
    assert len(recorded.replay.recording("main")) == 7


def test_all_arrays_at_once(recorded):
    arrays = recorded.recording.to_numpy()
    assert set(recorded.recording.names) | {"time", "frame"} == set(arrays)


def test_csv_keeps_every_digit(recorded, tmp_path):
    path = tmp_path / "motion.csv"
    recorded.recording.to_csv(path)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    assert [float(row["arm.q[1]"]) for row in rows] == recorded.recording["arm.q"][:, 1].tolist()
    assert [int(row["frame"]) for row in rows] == list(range(7))


# ---- files


def test_a_file_brings_everything_back(recorded, tmp_path):
    path = tmp_path / "motion.wlr"
    recorded.recording.save(path)
    loaded = sx.Recording.load(path)
    assert loaded.names == recorded.recording.names
    for name, array in recorded.recording.to_numpy().items():
        assert loaded.to_numpy()[name].tobytes() == array.tobytes()
    assert [p.name for p in tmp_path.iterdir()] == ["motion.wlr"]


def test_a_loaded_recording_can_be_restored_and_verified_in_another_world(recorded, tmp_path):
    recorded.multibodies["arm"].joints.position = [0.1, 0.1]
    recorded.step(n=3)
    recorded.step_kinematics(n=2)
    recorded.recording.save(tmp_path / "motion.wlr")
    world, _ = arm_and_box()
    floating(world)
    world.replay.add(sx.Recording.load(tmp_path / "motion.wlr"), "loaded")
    assert (world.replay_frame_count, world.replay.branch) == (12, "loaded")
    assert world.verify_replay()
    world.restore_replay_frame(6)
    assert world.state_vector.tobytes() == recorded.replay.state(6).vector.tobytes()


def test_a_recording_of_another_world_is_refused(recorded, tmp_path):
    world, arm = arm_and_box()
    floating(world)
    arm.joints["elbow"].damping_coefficient = 0.7
    with pytest.raises(sx.LayoutError, match="damping coefficient"):
        world.replay.add(recorded.recording)
    assert world.replay.branches == []


def good(recorded, tmp_path):
    recorded.recording.save(tmp_path / "good.wlr")
    return msgspec.msgpack.decode(read_checked(tmp_path / "good.wlr", recording_file._KIND))


def write_spoiled(path, file):
    """A file whose checksum is right, so that only its content can be at fault."""
    write_checked(path, recording_file._KIND, msgspec.msgpack.encode(file))


def spoil(name):
    def change(file):
        if name == "shape":
            file["rows"]["shape"][0] += 1
        elif name == "negative shape":
            file["rows"]["shape"] = [-7, -file["rows"]["shape"][1]]
        elif name == "huge shape":
            file["rows"]["shape"] = [2**62, 4]
        elif name == "flat":
            file["rows"]["shape"] = [file["rows"]["shape"][0] * file["rows"]["shape"][1]]
        elif name == "columns":
            file["columns"]["arm.q"] = [10**9]
        elif name == "negative column":
            file["columns"]["arm.q"] = [-1, -2]
        elif name == "nan":
            file["rows"]["data"] = np.full(file["rows"]["shape"], np.nan).tobytes()
        elif name == "zero":
            file["rows"]["data"] = np.zeros(file["rows"]["shape"]).tobytes()
        elif name == "tick":
            file["ticks"] = [1000]
        elif name == "table":
            file["tables"]["mass"]["owner"] = "nobody"
        elif name == "unknown field":
            file["more"] = 1
        elif name == "type":
            file["columns"] = 5
        elif name == "memory":
            file["memory"] = file["memory"][1:]
        elif name == "memory before":
            file["memory_before"] = [*file["memory_before"], {}]
        elif name == "sensor rows":
            file["sensor_rows"] = {"shape": [1, 0], "data": b""}
        elif name in ("family", "solver"):
            rows = np.frombuffer(file["rows"]["data"]).reshape(file["rows"]["shape"]).copy()
            rows[2, frame_rows.FAMILY if name == "family" else frame_rows.SOLVER.start] = 77.0
            file["rows"]["data"] = rows.tobytes()
        return file

    return change


@pytest.mark.parametrize(
    "name",
    [
        "memory",
        "memory before",
        "sensor rows",
        "family",
        "solver",
        "shape",
        "negative shape",
        "huge shape",
        "flat",
        "columns",
        "negative column",
        "nan",
        "zero",
        "tick",
        "table",
        "unknown field",
        "type",
    ],
)
def test_hostile_files_are_refused(recorded, tmp_path, name):
    path = tmp_path / "bad.wlr"
    write_spoiled(path, spoil(name)(good(recorded, tmp_path)))
    with pytest.raises(sx.RecordingError, match=r"bad\.wlr"):
        sx.Recording.load(path)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xc1", b"PK\x03\x04rest", b"\x91" * 100000])
def test_bytes_that_are_no_recording_are_refused(tmp_path, data):
    path = tmp_path / "bad.wlr"
    path.write_bytes(data)
    with pytest.raises(sx.RecordingError, match="not a recording"):
        sx.Recording.load(path)


def test_another_version_is_refused_by_number(recorded, tmp_path):
    kind = recording_file._KIND._replace(version=99)
    write_checked(tmp_path / "later.wlr", kind, b"")
    with pytest.raises(sx.RecordingError, match=r"later\.wlr: version 99 of a recording; this build reads 4"):
        sx.Recording.load(tmp_path / "later.wlr")


def test_every_flipped_byte_is_refused(recorded, tmp_path):
    recorded.recording.save(tmp_path / "good.wlr")
    data = (tmp_path / "good.wlr").read_bytes()
    path = tmp_path / "flipped.wlr"
    rng = np.random.default_rng(5)
    places = {*range(80), *rng.integers(0, len(data), 1500).tolist()}
    for at in places:
        spoiled = bytearray(data)
        spoiled[at] ^= int(rng.integers(1, 256))
        path.write_bytes(spoiled)
        with pytest.raises(sx.RecordingError):
            sx.Recording.load(path)


def test_every_cut_of_a_file_is_refused(recorded, tmp_path):
    recorded.recording.save(tmp_path / "good.wlr")
    data = (tmp_path / "good.wlr").read_bytes()
    path = tmp_path / "cut.wlr"
    for end in range(0, len(data), max(1, len(data) // 50)):
        path.write_bytes(data[:end])
        with pytest.raises(sx.RecordingError):
            sx.Recording.load(path)


def test_quaternions_of_a_file_must_be_unit(recorded, tmp_path):
    file = good(recorded, tmp_path)
    rows = np.frombuffer(file["rows"]["data"]).reshape(file["rows"]["shape"]).copy()
    rows[3, file["columns"]["box.pose"][6]] = 2.0
    file["rows"]["data"] = rows.tobytes()
    write_spoiled(tmp_path / "bad.wlr", file)
    with pytest.raises(sx.RecordingError, match="unit"):
        recorded.replay.add(sx.Recording.load(tmp_path / "bad.wlr"))
    assert recorded.replay.branches == ["main"]


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        sx.Recording.load(tmp_path / "none.wlr")
