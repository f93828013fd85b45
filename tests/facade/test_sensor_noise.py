# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of sensors: off by default, Gaussian, a function of seed, world, frame, sensor and component alone."""

from __future__ import annotations

import pickle
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.kernels.sensors import noise as kernels

SCENE = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
  <geom name="wall" type="plane" size="5 5 .1" pos="0 0 3" zaxis="0 0 -1"/>
  <body name="probe" pos="0 0 1"><freejoint/><geom name="shell" size="0.1"/><site name="tip" pos="0 0 .1"/>
    <site name="down" pos="0 0 -.1" zaxis="0 0 -1"/>
    <body name="eye" pos=".3 0 0"><joint name="ball" type="ball"/><geom size=".05" pos=".1 0 0"/></body></body>
  </worldbody><sensor>
  <velocimeter name="speed" site="tip" noise=".1"/><framepos name="place" objtype="site" objname="tip" noise=".02"/>
  <framequat name="turn" objtype="site" objname="tip" noise=".05"/><ballquat name="socket" joint="ball" noise=".03"/>
  <framexaxis name="axis" objtype="site" objname="tip" noise=".04"/>
  <rangefinder name="above" site="tip" noise=".01"/><rangefinder name="below" site="down" noise=".01"/>
  <touch name="press" site="tip" noise=".5"/><clock name="clock"/>
  <distance name="gap" geom1="shell" geom2="wall" cutoff="9" noise=".01"/>
  <normal name="toward" geom1="shell" geom2="wall" cutoff="9" noise=".02"/></sensor></mujoco>"""


def probe(seed: int | None = 1) -> sx.World:
    world = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    world.sensor_noise_seed = seed
    return world


def read_frames(world: sx.World, name: str, n: int) -> np.ndarray:
    """Readings of a sensor in n frames of a world in which nothing moves."""
    made = np.empty((n, world.sensors[name].dim))
    for row in made:
        row[:] = world.sensors[name].value
        world.step()
    return made


def test_random_bits_are_those_of_the_published_vectors() -> None:
    """Known answers of Philox4x32-10 of the Random123 library."""
    ones = 0xFFFFFFFF
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
    for given, known in (
        ((0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (pi, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ):
        assert tuple(kernels.philox(*given)) == known


def test_normal_numbers_are_those_of_box_and_muller() -> None:
    for frame in (0, 5, 2**40 + 3):
        a, b, c, d = kernels.philox(2, 9, frame % 2**32, frame // 2**32, 11, 12)
        shares = [(2 * (high * 2**20 + low // 2**12) + 1) / 2**53 for high, low in ((a, b), (c, d))]
        assert 0.0 < min(shares) and max(shares) < 1.0
        known = np.sqrt(-2.0 * np.log(shares[0])) * np.cos(2.0 * np.pi * shares[1])
        assert kernels.normal(2, 9, frame, 11, 12) == pytest.approx(known, rel=1e-13)


def test_sensors_have_no_noise_unless_a_seed_is_given() -> None:
    world = probe(None)
    assert world.sensor_noise_seed is None and sx.World().sensor_noise_seed is None
    exact = world.sensors.values
    np.testing.assert_array_equal(world.sensors["speed"].value, 0.0)
    world.sensor_noise_seed = 0
    assert (world.sensors["speed"].value != 0.0).all()
    world.sensor_noise_seed = None
    np.testing.assert_array_equal(world.sensors.values, exact)


def test_mean_and_deviation_are_those_of_the_sensor() -> None:
    """Of n normal numbers the mean is within 5 s / sqrt(n), the variance within 5 s^2 sqrt(2 / n)."""
    world, n = probe(), 3000
    exact = probe(None).sensors["place"].value
    errors = (read_frames(world, "place", n) - exact) / 0.02
    assert (np.abs(errors.mean(axis=0)) < 5.0 / np.sqrt(n)).all()
    assert (np.abs(errors.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / n)).all()
    # the share beyond one and two deviations, and the fourth moment 3 with variance 96 / n
    for size, share in ((1.0, 0.3173105), (2.0, 0.0455003)):
        beyond = (np.abs(errors) > size).mean()
        assert abs(beyond - share) < 5.0 * np.sqrt(share / (3 * n))
    assert abs((errors**4).mean() - 3.0) < 5.0 * np.sqrt(96.0 / (3 * n))


def test_frames_sensors_components_and_worlds_are_independent() -> None:
    """Correlations of n independent numbers are below 5 / sqrt(n)."""
    n = 2000
    first, other = probe(), probe()
    other.sensor_noise_world = 1
    reseeded = probe(2)
    speed = read_frames(first, "speed", n)
    columns = [
        *speed.T,
        read_frames(probe(), "above", n)[:, 0],
        *read_frames(other, "speed", n).T,
        *read_frames(reseeded, "speed", n).T,
        np.roll(speed[:, 0], 1),
    ]
    found = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(found).max() < 5.0 / np.sqrt(n)


def test_readings_are_repeated_within_a_frame() -> None:
    world = probe()
    world.step(n=3)
    first = world.sensors.values
    np.testing.assert_array_equal(world.sensors.values, first)
    np.testing.assert_array_equal(np.concatenate([sensor.value for sensor in world.sensors]), first)
    np.testing.assert_array_equal(world.sensors["turn"].read().value, first[world.sensors["turn"].span])
    world.step()
    assert (world.sensors["speed"].value != first[world.sensors["speed"].span]).all()


def test_noise_changes_no_bit_of_a_step() -> None:
    quiet, noisy = probe(None), probe()
    for world in (quiet, noisy):
        world.multibodies[0].joints["ball"].velocity = (1.0, 2.0, 3.0)
        for _ in range(20):
            world.step()
            world.sensors.values  # noqa: B018
    np.testing.assert_array_equal(quiet.state_vector, noisy.state_vector)


def test_rotations_and_directions_stay_of_unit_length() -> None:
    """Rotation vectors and angles between readings and the exact ones have the deviation of the sensor."""
    world, n = probe(), 1500
    exact = probe(None)
    for name, deviation in (("turn", 0.05), ("socket", 0.03)):
        read = read_frames(probe(), name, n)
        np.testing.assert_allclose(np.linalg.norm(read, axis=1), 1.0, rtol=1e-14)
        x, y, z, w = exact.sensors[name].value
        assert (x, y, z, w) == (0.0, 0.0, 0.0, 1.0)
        angle = 2.0 * np.arctan2(np.linalg.norm(read[:, :3], axis=1), read[:, 3])
        vector = read[:, :3] / np.linalg.norm(read[:, :3], axis=1)[:, None] * angle[:, None] / deviation
        assert (np.abs(vector.mean(axis=0)) < 5.0 / np.sqrt(n)).all()
        assert (np.abs(vector.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / n)).all()
    for name, deviation in (("axis", 0.04), ("toward", 0.02)):
        read, true = read_frames(world, name, n), exact.sensors[name].value
        np.testing.assert_allclose(np.linalg.norm(read, axis=1), 1.0, rtol=1e-14)
        tangent = np.delete(read, int(np.argmax(np.abs(true))), axis=1)
        size = np.linalg.norm(tangent, axis=1)
        flat = tangent / size[:, None] * np.arcsin(size)[:, None] / deviation
        assert (np.abs(flat.mean(axis=0)) < 5.0 / np.sqrt(n)).all()
        assert (np.abs(flat.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / n)).all()


def test_rotations_turn_in_the_axes_of_the_frame_that_turns() -> None:
    """Q exp(n): the rotation vector from the exact reading is the same whatever the exact reading is."""

    def relative(world: sx.World) -> np.ndarray:
        world.sensor_noise_seed = None
        x, y, z, w = world.sensors["turn"].value
        world.sensor_noise_seed = 1
        a, b, c, d = world.sensors["turn"].value
        return np.array(
            [w * a - x * d - y * c + z * b, w * b - y * d - z * a + x * c, w * c - z * d - x * b + y * a]
        )

    level, turned = probe(), probe()
    turned.multibodies[0].joints[0].position = (0.0, 0.0, 1.0, 0.3, -0.4, 1.2)
    assert np.abs(turned.sensors["turn"].value - level.sensors["turn"].value).max() > 0.1
    np.testing.assert_allclose(relative(turned), relative(level), rtol=0.0, atol=1e-15)


def test_what_is_absent_has_no_noise() -> None:
    world = probe()
    for _ in range(20):
        assert world.sensors["below"].value.tolist() == [-1.0]
        assert world.sensors["press"].value.tolist() == [0.0]
        assert world.sensors["above"].value[0] != 1.9
        world.step()
    world.sensors["above"].noise = 100.0
    read = read_frames(world, "above", 200)
    assert (read >= 0.0).all() and (read == 0.0).any() and (read > 100.0).any()


def test_noise_comes_before_the_cutoff() -> None:
    """A saturated sensor tells its cut-off, and no reading is beyond it."""
    text = """<mujoco><worldbody><body><joint name="j" axis="0 0 1"/><geom size=".1"/></body></worldbody><sensor>
      <jointpos name="far" joint="j" cutoff=".5" noise=".01"/><jointpos name="near" joint="j" cutoff="2.01" noise=".1"/>
      </sensor></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.multibodies[0].joints["j"].position = [2.0]
    world.sensor_noise_seed = 4
    assert (read_frames(world, "far", 200) == 0.5).all()
    near = read_frames(world, "near", 400)
    assert near.max() == 2.01 and (near < 2.01).any() and (near == 2.01).mean() < 0.7
    assert near.min() < 1.9


def test_contacts_have_noise_in_what_is_measured() -> None:
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
      <body pos="0 0 .1"><freejoint/><geom name="a" size=".1"/></body></worldbody><sensor>
      <contact name="touching" geom1="floor" geom2="a" num="2" data="found force dist normal" noise=".01"/>
      </sensor></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=20)
    exact = world.sensors["touching"].value.reshape(2, 8)
    world.sensor_noise_seed = 5
    read = world.sensors["touching"].value.reshape(2, 8)
    assert exact[0, 0] == 1.0 and exact[1].tolist() == [0.0] * 8
    assert read[0, 0] == 1.0 and read[1].tolist() == [0.0] * 8
    assert (read[0, 1:5] != exact[0, 1:5]).all() and np.abs(read[0, 1:] - exact[0, 1:]).max() < 0.06
    assert (
        np.linalg.norm(read[0, 5:]) == pytest.approx(1.0, abs=1e-14) and (read[0, 5:] != exact[0, 5:]).all()
    )


def test_an_inertial_unit_has_two_levels() -> None:
    world = sx.World(sensor_noise_seed=8)
    box = world.add_rigid_body("box", fixed=True)
    unit = world.sensors.add_imu("unit", attach_to=box, gyro_noise=0.2)
    assert (unit.noise, unit.gyro_noise) == (0.0, 0.2)
    assert unit.value[:3].tolist() == pytest.approx([0.0, 0.0, 9.81]) and (unit.value[3:] != 0.0).all()
    unit.noise, unit.gyro_noise = 0.3, 0.0
    assert unit.value[3:].tolist() == [0.0, 0.0, 0.0] and (unit.value[:2] != 0.0).all()
    assert world.to_scene().sensors.imu[0].noise == 0.3


def test_levels_are_set_at_any_time_and_kept_by_copies(tmp_path: Path) -> None:
    world = probe()
    world.step(n=2)
    before = world.sensors["speed"].value
    copied = world.clone()
    world.sensors["speed"].noise = 0.2
    np.testing.assert_allclose(world.sensors["speed"].value, 2.0 * before, rtol=1e-15)
    # a clone shares nothing that changes
    np.testing.assert_array_equal(copied.sensors["speed"].value, before)
    assert copied.sensors["speed"].noise == 0.1 and world.sensors["speed"].noise == 0.2
    assert world.model().sensors is not None
    with pytest.raises(ValueError, match="noise of sensor 'speed'"):
        world.sensors["speed"].noise = -1.0
    with pytest.raises(RuntimeError, match="has no gyro_noise"):
        world.sensors["speed"].gyro_noise = 0.1
    assert world.sensors["speed"].noise == 0.2 and world.sensors["speed"].gyro_noise == 0.0
    with world.edit():
        world.add_rigid_body("more", position=(9, 9, 9))
    assert world.sensors["speed"].noise == 0.2


@pytest.mark.parametrize("how", ["clone", "pickle", "binary", "msd", "reset"])
def test_saved_worlds_go_on_with_their_noise(how: str, tmp_path: Path) -> None:
    world = probe(11)
    world.sensor_noise_world = 6
    world.sensors["place"].noise = 0.5
    world.step(n=4)
    known = np.delete(world.sensors.values, world.sensors["clock"].span)
    if how == "clone":
        made = world.clone()
    elif how == "pickle":
        made = pickle.loads(pickle.dumps(world))
    elif how == "binary":
        world.save_binary(tmp_path / "world.bin")
        made = sx.World()
        made.load_binary(tmp_path / "world.bin")
    elif how == "msd":
        made = sx.World.from_scene(msd.from_msgpack(world.to_scene().to_msgpack()))
        made.step(n=4 - made.frame)
    else:
        made = world
        made.reset()
        made.step(n=4)
    assert (made.sensor_noise_seed, made.sensor_noise_world) == (11, 6)
    np.testing.assert_array_equal(np.delete(made.sensors.values, made.sensors["clock"].span), known)


def test_replays_keep_the_seed() -> None:
    world = probe(3)
    world.replay_recording_enabled = True
    seen = []
    for seed in (3, 3, 9, None):
        world.sensor_noise_seed = seed
        world.step()
        seen.append(world.sensors.values)
    for index in (2, 0, 3, 1):
        # the first frame is the start
        world.restore_replay_frame(index + 1)
        assert world.sensor_noise_seed == (3, 3, 9, None)[index]
        np.testing.assert_array_equal(world.sensors.values, seen[index])
    assert bool(world.verify_replay())


def test_recordings_have_the_noise_of_their_frames(tmp_path: Path) -> None:
    world = probe(3)
    world.replay_recording_enabled = True
    seen = []
    for _ in range(4):
        world.step()
        seen.append(world.sensors["place"].value)
    recorded = world.replay.recording()
    np.testing.assert_array_equal(recorded["place.value"][1:], seen)
    recorded.save(tmp_path / "run.rec")
    np.testing.assert_array_equal(sx.Recording.load(tmp_path / "run.rec")["place.value"][1:], seen)


@pytest.mark.parametrize("wrong", [-1, 2**53, 1.5, True, "3"])
def test_seeds_that_cannot_be_kept_are_refused(wrong: object) -> None:
    world = probe(3)
    for name in ("sensor_noise_seed", "sensor_noise_world"):
        before = getattr(world, name)
        with pytest.raises(ValueError, match=name):
            setattr(world, name, wrong)
        assert getattr(world, name) == before


def test_a_switched_off_sensor_reads_zero() -> None:
    scene = msd.from_str(SCENE, format="mjcf")
    scene.simulate_option.disable_sensors = True
    world = sx.World.from_scene(scene)
    world.sensor_noise_seed = 1
    assert not world.sensors.values.any()


def test_options_of_files() -> None:
    """The switch of older MJCF files, and the field of descriptions."""
    flag = SCENE.replace('gravity="0 0 0"/>', 'gravity="0 0 0"><flag sensornoise="enable"/></option>')
    world = sx.World.from_scene(msd.from_str(flag, format="mjcf"))
    assert world.sensor_noise_seed == 0
    np.testing.assert_array_equal(world.sensors.values, probe(0).sensors.values)
    written = sx.World(sensor_noise_seed=7, sensor_noise_world=2).to_scene()
    policy = written.simulate_option.policy
    assert (policy.sensor_noise_seed, policy.sensor_noise_world) == (7, 2)
    policy.sensor_noise_seed = -3
    with pytest.raises(ValueError, match="sensor_noise_seed"):
        written.validate()


def test_functions_add_noise_themselves() -> None:
    world = probe()
    own = world.sensors.add_function("own", lambda _: 1.0)
    assert own.noise == own.gyro_noise == 0.0
    for name in ("noise", "gyro_noise"):
        with pytest.raises(RuntimeError, match="adds noise itself"):
            setattr(own, name, 0.1)
    assert world.sensors.values[own.span].tolist() == [1.0]


def test_other_seeds_and_indices_give_other_noise() -> None:
    made = []
    for seed, index in ((1, 0), (1, 1), (2, 0), (0, 1)):
        world = probe(seed)
        world.sensor_noise_world = index
        made.append(world.sensors["place"].value)
    for a, b in combinations(made, 2):
        assert (a != b).all()
