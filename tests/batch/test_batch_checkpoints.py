# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a batch that loads one goes on bit for bit, and a bad file changes nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from batch_scenes import BOXES, hard_world, lane_batch, robot, scatter, thread_batch

from worldline import SceneError, msd
from worldline import simulation as sx
from worldline._src.facade.batch import checkpoints
from worldline._src.facade.batch.lane_worlds import PARAMETER
from worldline.model import ModelBuilder


def blocks():
    builder = ModelBuilder()
    for k in range(2):
        body = builder.add_body(xform=(0, 0, 0.1 + 0.2 * k, 0, 0, 0, 1))
        builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1)
    builder.add_ground_plane()
    return builder.finalize()


@pytest.mark.parametrize(
    "make",
    [
        lane_batch,
        lambda count: lane_batch(count, 'cone="elliptic"'),
        thread_batch,
        lambda count: sx.WorldBatch(hard_world(), count),
        lambda count: sx.WorldBatch(blocks(), count),
    ],
)
def test_a_loaded_batch_goes_on_bit_for_bit(make, tmp_path):
    batch = make(4)
    scatter(batch)
    batch.step(60)
    batch.reset([2])
    batch.step(20)
    batch.save(tmp_path / "run.batch")
    batch.step(80)
    other = make(4)
    other.step(3)
    other.load(tmp_path / "run.batch")
    assert other.frame.tolist() == [80, 80, 20, 80]
    assert np.array_equal(other.time, batch.time - 80 * batch.time_step) or other.time == pytest.approx(
        batch.time - 80 * batch.time_step
    )
    other.step(80)
    for name in ("joint_positions", "joint_velocities", "controls"):
        assert np.array_equal(getattr(other, name), getattr(batch, name)), name
    assert [path.name for path in tmp_path.iterdir()] == ["run.batch"]


def test_frozen_worlds_are_frozen_after_loading(tmp_path):
    for more in ("", BOXES):
        batches = [sx.WorldBatch(robot("", more), 3, divergence_policy="freeze") for _ in range(2)]
        batches[0].joint_velocities[1, 6] = 1e12
        batches[0].step(5)
        batches[0].save(tmp_path / "a")
        batches[1].load(tmp_path / "a")
        assert batches[1].frozen.tolist() == [False, True, False]
        batches[1].step(5)
        batches[0].step(5)
        assert np.array_equal(batches[0].joint_positions, batches[1].joint_positions)


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_a_frozen_world_that_is_written_after_loading_goes_on(layout, tmp_path):
    batches = [sx.WorldBatch(robot("", ""), 3, layout=layout, divergence_policy="freeze") for _ in range(2)]
    batches[0].joint_velocities[1, 6] = 1e12
    batches[0].step(5)
    batches[0].save(tmp_path / "a")
    for batch in batches:
        batch.load(tmp_path / "a")
        assert batch.frozen.tolist() == [False, True, False]
        batch.joint_velocities[1] = 0.0
        assert not batch.frozen.any()
        at = batch.frame[1]
        batch.step(5)
        assert batch.frame[1] == at + 5
    assert np.array_equal(batches[0].joint_positions, batches[1].joint_positions)


def test_contacts_of_before_are_forgotten_where_a_checkpoint_has_none(tmp_path):
    batch, fresh = sx.WorldBatch(blocks(), 2), sx.WorldBatch(blocks(), 2)
    batch.save(tmp_path / "start")
    batch.joint_velocities[:, 0] = 1.0
    batch.step(40)
    batch.load(tmp_path / "start")
    batch.step(3)
    fresh.step(3)
    assert np.array_equal(batch.joint_positions, fresh.joint_positions)
    assert np.array_equal(batch.joint_velocities, fresh.joint_velocities)


def test_files_that_do_not_fit_are_refused_and_change_nothing(tmp_path):
    batch = lane_batch(3)
    batch.step(10)
    batch.save(tmp_path / "a")
    before = batch.joint_positions.copy()
    with pytest.raises(SceneError, match="num_worlds"):
        lane_batch(2).load(tmp_path / "a")
    with pytest.raises(SceneError, match="layout"):
        sx.WorldBatch(robot(), 3, layout="threads").load(tmp_path / "a")
    world = sx.World.from_scene(robot())
    world.multibodies["trunk"].links["trunk"].mass = 5.0
    with pytest.raises(SceneError, match="model"):
        sx.WorldBatch(world, 3).load(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-9])
    (tmp_path / "bad").write_bytes(content[:-9] + b"x" + content[-8:])
    batch.step(1)
    now = batch.joint_positions.copy()
    for name in ("cut", "bad", "none"):
        with pytest.raises(SceneError):
            batch.load(tmp_path / name)
    assert np.array_equal(batch.joint_positions, now)
    batch.load(tmp_path / "a")
    assert np.array_equal(batch.joint_positions, before)


def test_parameters_of_a_file_that_do_not_fit_are_refused_by_name():
    batch = lane_batch(3)
    trunk = next(name for name in batch.parameters if name.endswith("trunk.mass"))
    batch.parameters[trunk] = [4.0, 4.5, 5.0]
    saved = msgspec.msgpack.decode(checkpoints.packed(batch))
    key = PARAMETER + trunk
    (shape, data), before = saved["arrays"][key], batch.joint_positions.copy()
    for arrays in (
        {key: ([*shape, 1], data)},
        {key: ([2, *shape[1:]], data[: len(data) * 2 // 3])},
        {PARAMETER + "unknown": (shape, data)},
    ):
        changed = saved | {"arrays": saved["arrays"] | arrays}
        name = next(iter(arrays)).removeprefix(PARAMETER)
        with pytest.raises(SceneError, match=f"x: .*parameter '{name}' is not one of this batch"):
            checkpoints.restore(batch, msgspec.msgpack.encode(changed), "x")
        assert batch.parameters[trunk].tolist() == [4.0, 4.5, 5.0]
        assert np.array_equal(batch.joint_positions, before)
    short = saved | {"arrays": saved["arrays"] | {key: (shape, data[:-8])}}
    with pytest.raises(SceneError, match=f"{len(data) - 8} bytes; allowed: {len(data)} bytes"):
        checkpoints.restore(batch, msgspec.msgpack.encode(short), "x")


@pytest.mark.parametrize("source", [hard_world, blocks])
def test_a_checkpoint_of_threads_says_which_worlds_are_frozen(source, tmp_path):
    """Worlds with a description and those of a model alone; frozen and moving ones in one file."""
    batch = sx.WorldBatch(source(), 2, layout="threads", divergence_policy="freeze")
    batch.save(tmp_path / "moving")
    batch.joint_velocities[1, 0] = 1e200
    batch.step(2)
    assert batch.frozen.tolist() == [False, True]
    batch.save(tmp_path / "frozen")
    batch.load(tmp_path / "moving")
    assert not batch.frozen.any()
    batch.load(tmp_path / "frozen")
    assert batch.frozen.tolist() == [False, True]


def test_worlds_of_a_model_keep_broken_welds_and_controls(tmp_path):
    scene = robot("", BOXES)
    weld = scene.equality_constraint_set.welds[0]
    weld.active, weld.break_force = True, 1e-3
    model = msd.build(scene)
    batch, other = (sx.WorldBatch(model, 2, layout="threads") for _ in range(2))
    batch.controls[:] = [[0.2, 0.3], [0.4, 0.5]]
    # the boxes fall, and the weld breaks when the lower one lands
    batch.step(200)
    other.step(1)
    batch.save(tmp_path / "broken")
    other.load(tmp_path / "broken")
    assert np.array_equal(other.controls, batch.controls)
    batch.step(50)
    other.step(50)
    assert np.array_equal(batch.joint_positions, other.joint_positions)


def test_fingerprints_differ_by_seed_and_parameters():
    batch = lane_batch(2)
    plain = batch.fingerprint()
    batch.sensor_noise_seed = 3
    seeded = batch.fingerprint()
    batch.sensor_noise_seed = 4
    assert len({plain, seeded, batch.fingerprint()}) == 3
    batch.sensor_noise_seed = None
    assert batch.fingerprint() == plain
    trunk = next(name for name in batch.parameters if name.endswith("trunk.mass"))
    batch.parameters[trunk] = [4.0, 4.5]
    assert batch.fingerprint(0) != batch.fingerprint(1)
    with pytest.raises(ValueError, match="at least 1"):
        batch.fingerprint([])  # type: ignore[arg-type]


def test_fingerprints_differ_by_options_and_by_time():
    world = sx.World.from_scene(robot())
    first = sx.WorldBatch(world, 2).fingerprint()
    assert sx.WorldBatch(world, 2).fingerprint() == first
    world.contact_sweeps += 1
    assert sx.WorldBatch(world, 2).fingerprint() != first
    empty = sx.World(gravity=(0.0, 0.0, 0.0))
    empty.add_rigid_body("still")
    batch = sx.WorldBatch(empty, 2)
    start = batch.fingerprint()
    batch.step()
    assert batch.fingerprint() != start
