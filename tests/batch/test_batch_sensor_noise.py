# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of sensors in batches: the bits of a World with the index, in every layout, size and order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.model import LaneSimulation

SCENE = """<mujoco><option timestep="0.01"><flag {flag}/></option><worldbody>
  <body name="arm"><joint name="shoulder" axis="0 1 0" damping=".1"/><geom size=".05" pos=".3 0 0"/>
    <site name="tip" pos=".3 0 0"/></body>
  <body name="drone" pos="0 2 1"><freejoint/><geom size=".1"/><site name="top" pos="0 0 .1"/></body></worldbody>
  <sensor><jointpos name="angle" joint="shoulder" noise=".05"/><gyro name="rate" site="top" noise=".1"/>
    <framequat name="turn" objtype="site" objname="top" noise=".02"/>
    <accelerometer name="felt" site="tip" noise=".3" cutoff="9"/></sensor></mujoco>"""
EXACT = ("lanes", "threads")


def scene(flag: str = 'energy="disable"') -> msd.World:
    return msd.from_str(SCENE.format(flag=flag), format="mjcf")


def source(seed: int | None = 5) -> sx.World:
    world = sx.World.from_scene(scene())
    world.sensor_noise_seed = seed
    return world


@pytest.mark.parametrize("layout", EXACT)
def test_world_i_has_the_noise_of_a_world_with_its_index(layout: str) -> None:
    batch = sx.WorldBatch(source(), 11, layout=layout)
    batch.joint_velocities[:, 0] = np.linspace(0.0, 1.0, 11)
    batch.step(7)
    read = batch.sensor_values
    for index in (0, 3, 10):
        alone = source()
        alone.sensor_noise_world = index
        alone.multibodies["arm"].joints["shoulder"].velocity = [batch_start(index)]
        alone.step(n=7)
        np.testing.assert_array_equal(read[index], alone.sensors.values)
        np.testing.assert_array_equal(batch.worlds[index].sensor_values, read[index])
        extracted = batch.extract(index)
        np.testing.assert_array_equal(extracted.sensors.values, read[index])
        batch_of_it = sx.WorldBatch(extracted, 2, layout=layout)
        np.testing.assert_array_equal(batch_of_it.sensor_values[0], read[index])


def batch_start(index: int) -> float:
    return float(np.linspace(0.0, 1.0, 11)[index])


def test_noise_is_the_same_in_batches_of_any_size_layout_and_number_of_threads() -> None:
    made = []
    for layout in EXACT:
        for size, threads in ((3, 1), (9, 2), (20, 1)):
            batch = sx.WorldBatch(source(), size, layout=layout)
            batch.step(5, threads=threads)
            made.append(batch.sensor_values[:3])
            np.testing.assert_array_equal(batch.select([2, 0]).sensor_values, batch.sensor_values[[2, 0]])
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])


def test_models_in_lanes_have_the_noise_of_their_scene() -> None:
    described = scene('sensornoise="enable"')
    lanes = LaneSimulation(msd.build(described), 4)
    for _ in range(3):
        lanes.step()
    batch = sx.WorldBatch(msd.build(described), 4)
    batch.step(3)
    np.testing.assert_array_equal(lanes.sensor_values(), batch.sensor_values)
    world = sx.World.from_scene(described)
    world.sensor_noise_world = 2
    world.step(n=3)
    np.testing.assert_array_equal(lanes.sensor_values(lanes=1)[2], world.sensors.values)


@pytest.mark.parametrize("layout", EXACT)
def test_noise_of_worlds_is_independent(layout: str) -> None:
    """Of n independent normal numbers: mean within 5 / sqrt(n), variance within 5 sqrt(2 / n)."""
    n = 400
    batch = sx.WorldBatch(source(), n, layout=layout)
    exact = sx.WorldBatch(source(None), n, layout=layout)
    found = []
    for _ in range(3):
        found.append((batch.sensor_values - exact.sensor_values)[:, [0, 1, 2]] / [0.05, 0.1, 0.1])
        batch.step()
        exact.step()
    columns = np.concatenate(found, axis=1)
    assert (np.abs(columns.mean(axis=0)) < 5.0 / np.sqrt(n)).all()
    assert (np.abs(columns.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / n)).all()
    assert np.abs(np.corrcoef(columns.T) - np.eye(9)).max() < 5.0 / np.sqrt(n)
    # neighbours
    assert np.abs([np.corrcoef(c[:-1], c[1:])[0, 1] for c in columns.T]).max() < 5.0 / np.sqrt(n)


@pytest.mark.parametrize("layout", EXACT)
def test_levels_are_parameters_by_world(layout: str) -> None:
    batch = sx.WorldBatch(source(), 4, layout=layout)
    assert [name for name in batch.parameters if name.startswith("sensors")] == [
        f"sensors.{name}.noise" for name in ("angle", "rate", "turn", "felt")
    ]
    before, exact = batch.sensor_values[:, 0], sx.WorldBatch(source(None), 4).sensor_values[:, 0]
    batch.parameters["sensors.angle.noise"] = [0.0, 0.05, 0.1, 0.2]
    assert batch.parameters["sensors.angle.noise"].tolist() == [0.0, 0.05, 0.1, 0.2]
    errors = batch.sensor_values[:, 0] - exact
    np.testing.assert_allclose(errors, (before - exact) * [0.0, 1.0, 2.0, 4.0], rtol=1e-12)
    assert batch.extract(3).sensors["angle"].noise == 0.2 and batch.layout == layout
    np.testing.assert_array_equal(batch.extract(3).sensors.values, batch.sensor_values[3])
    for wrong in (-0.1, np.inf):
        with pytest.raises(ValueError, match="noise of sensor 'angle'"):
            batch.parameters["sensors.angle.noise"] = [0.3, 0.3, wrong, 0.3]
    assert batch.parameters["sensors.angle.noise"].tolist() == [0.0, 0.05, 0.1, 0.2]
    # beside a parameter that the step depends on
    masses = batch.parameters["multibodies.arm.links.arm.mass"]
    batch.parameters["multibodies.arm.links.arm.mass"] = masses * [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(batch.sensor_values[:, 0] - exact, errors)


def test_levels_are_randomized_like_other_parameters() -> None:
    line = sx.Randomized("sensors.*.noise", sx.Uniform(0.5, 2.0))
    drawn = sx.Randomization((line,), seed=2)
    small, large = sx.WorldBatch(source(), 3), sx.WorldBatch(source(), 12)
    for batch in (small, large):
        batch.randomize(drawn)
    levels = large.parameters["sensors.rate.noise"]
    assert len(set(levels.tolist())) == 12 and levels.min() >= 0.05 and levels.max() <= 0.2
    np.testing.assert_array_equal(large.sensor_values[:3], small.sensor_values)


def test_an_inertial_unit_has_two_levels() -> None:
    world = sx.World(sensor_noise_seed=1)
    world.sensors.add_imu("unit", attach_to=world.add_rigid_body("box", fixed=True))
    batch = sx.WorldBatch(world, 3)
    exact = batch.sensor_values
    batch.parameters["sensors.unit.gyro_noise"] = [0.0, 0.1, 0.2]
    batch.parameters["sensors.unit.noise"] = [0.1, 0.0, 0.0]
    changed = batch.sensor_values != exact
    assert changed.tolist() == [[True] * 3 + [False] * 3, [False] * 3 + [True] * 3, [False] * 3 + [True] * 3]


@pytest.mark.parametrize("layout", EXACT)
def test_the_seed_of_a_batch_is_set_and_saved(layout: str, tmp_path: Path) -> None:
    batch = sx.WorldBatch(source(None), 4, layout=layout)
    exact = batch.sensor_values
    batch.sensor_noise_seed = 9
    batch.parameters["sensors.rate.noise"] = [0.1, 0.2, 0.3, 0.4]
    batch.step(3)
    known, mark = batch.sensor_values, batch.fingerprint()
    batch.save(tmp_path / "batch.bin")
    other = sx.WorldBatch(source(None), 4, layout=layout)
    other.load(tmp_path / "batch.bin")
    assert other.sensor_noise_seed == 9 and other.fingerprint() == mark
    np.testing.assert_array_equal(other.sensor_values, known)
    other.sensor_noise_seed = 10
    assert (other.sensor_values[:, 0] != known[:, 0]).all() and other.fingerprint() != mark
    with pytest.raises(ValueError, match="sensor_noise_seed"):
        other.sensor_noise_seed = -1
    assert other.sensor_noise_seed == 10
    other.reset()
    other.sensor_noise_seed = None
    np.testing.assert_array_equal(other.sensor_values, exact)


@pytest.mark.parametrize("layout", EXACT)
def test_a_reset_world_repeats_its_noise(layout: str) -> None:
    batch = sx.WorldBatch(source(), 4, layout=layout)
    batch.step(2)
    first = batch.sensor_values
    batch.step(3)
    batch.reset([1, 2])
    batch.step(2)
    np.testing.assert_array_equal(batch.sensor_values[1:3], first[1:3])
    assert (batch.sensor_values[0] != first[0]).any()


def test_worlds_that_go_from_lanes_to_threads_keep_their_noise() -> None:
    batch = sx.WorldBatch(source(), 3)
    batch.parameters["sensors.angle.noise"] = [0.1, 0.2, 0.3]
    batch.step(2)
    before, layout = batch.sensor_values, batch.layout
    batch.parameters["multibodies.arm.links.arm.gravity_compensation"] = [0.0, 1e-9, 0.0]
    assert (layout, batch.layout) == ("lanes", "threads")
    np.testing.assert_array_equal(batch.sensor_values[[0, 2]], before[[0, 2]])
    np.testing.assert_allclose(batch.sensor_values, before, atol=1e-6)


def test_rollouts_and_mixed_batches_count_worlds_as_a_whole() -> None:
    world = source()
    start = {"joint_velocities": np.zeros((5, 7))}
    whole = sx.state.rollout(world, start, steps=3, sensors=True)
    part = sx.state.rollout(
        world, {"joint_velocities": np.zeros((2, 7))}, steps=3, sensors=True, first_world=3
    )
    assert whole.sensor_values is not None and part.sensor_values is not None
    np.testing.assert_array_equal(part.sensor_values, whole.sensor_values[3:])
    with pytest.raises(ValueError, match="first_world"):
        sx.state.rollout(world, start, steps=3, first_world=-1)
    larger = source()
    larger.add_rigid_body("more", position=(5, 5, 5))
    mixed = sx.MixedBatch([world, larger, world])
    read = [mixed.world(k).sensor_values for k in range(3)]
    for k, made in enumerate(read):
        np.testing.assert_array_equal(made, sx.WorldBatch((world, larger, world)[k], 3).sensor_values[k])
