# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Batches in single precision: errors against double precision and closed forms, bits, and what is refused."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from worldline import ArgumentError, CapabilityError, SceneError, msd
from worldline import simulation as sx
from worldline.model import LaneSimulation, ModelBuilder, ShapeConfig

WALKER = """<mujoco><option timestep="0.005"/><default><geom density="800" friction="0.8"/></default>
<worldbody><geom type="plane" size="9 9 1"/>
<body name="torso" pos="0 0 0.65"><freejoint/><geom type="capsule" fromto="-.2 0 0 .2 0 0" size=".08"/>
<body name="front" pos=".2 0 0"><joint name="hip" axis="0 1 0" range="-60 60" damping="1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
<body name="foot" pos="0 0 -.3"><joint name="ankle" axis="0 1 0" damping="1"/>
<geom type="box" size=".08 .05 .03" pos=".03 0 -.03"/></body></body>
<body name="back" pos="-.2 0 0"><joint name="tail" axis="0 1 0" range="-60 60" damping="1"/>
<geom type="capsule" fromto="0 0 0 -.1 0 -.3" size=".04"/></body></body></worldbody>
<actuator><motor joint="hip" gear="10"/><motor joint="ankle" gear="5"/></actuator>
<sensor><jointpos name="angle" joint="hip"/><framepos name="place" objtype="body" objname="torso"/></sensor>
</mujoco>"""

PENDULUM = """<mujoco><option timestep="0.001" integrator="RK4"/><worldbody><body name="bob" pos="0 0 1">
<joint name="j" axis="0 1 0"/><geom size="0.1" pos="0 0 -1" mass="1"/></body></worldbody></mujoco>"""


def scene(text: str = WALKER):
    return msd.from_str(text, format="mjcf")


def batch_of(count: int, dtype=np.float32, text: str = WALKER) -> sx.WorldBatch:
    batch = sx.WorldBatch(scene(text), count, dtype=dtype)
    rng = np.random.default_rng(3)
    batch.joint_velocities[:] = 0.3 * rng.normal(size=batch.joint_velocities.shape)
    if batch.actuator_names:
        batch.controls[:] = rng.uniform(-1.0, 1.0, batch.controls.shape)
    return batch


def test_one_step_is_right_to_single_precision():
    single, double = batch_of(21), batch_of(21, np.float64)
    for batch in (single, double):
        batch.step(150)
    # from one state, that of single precision, with contacts
    for name in ("joint_positions", "joint_velocities"):
        getattr(double, name)[:] = getattr(single, name)
    assert single.contacts.world.size > 20
    single.step()
    double.step()
    np.testing.assert_allclose(single.joint_positions, double.joint_positions, atol=2e-6)
    np.testing.assert_allclose(single.joint_velocities, double.joint_velocities, atol=5e-4)
    assert np.any(single.joint_velocities != double.joint_velocities)


def test_states_hold_numbers_of_single_precision():
    batch = batch_of(5)
    assert batch.dtype == np.float32
    assert batch.joint_positions.dtype == np.float64
    batch.joint_positions[:, 0] = 0.1
    batch.step(3)
    for name in ("joint_positions", "joint_velocities"):
        array = getattr(batch, name)
        np.testing.assert_array_equal(array, array.astype(np.float32))


def test_a_world_has_the_same_bits_in_any_batch():
    many = batch_of(37)
    many.step(120)
    assert many.contacts.world.size > 0
    for count in (1, 16, 17):
        few = sx.WorldBatch(scene(), count, dtype=np.float32)
        chosen = np.arange(count) * 2 + 1
        start = batch_of(37)
        few.joint_velocities[:] = start.joint_velocities[chosen % 37]
        few.controls[:] = start.controls[chosen % 37]
        few.step(120, threads=2 if count > 1 else 1)
        np.testing.assert_array_equal(few.joint_positions, many.joint_positions[chosen % 37])
        np.testing.assert_array_equal(few.joint_velocities, many.joint_velocities[chosen % 37])


def test_the_number_of_lanes_does_not_change_bits():
    made = []
    for lanes in (8, None):
        worlds = LaneSimulation(msd.build(scene(PENDULUM)), 19, dtype=np.float32)
        worlds.q[:, 0] = np.linspace(-2.0, 2.0, 19)
        worlds.step(200, lanes=lanes)
        made.append(worlds.q.copy())
    np.testing.assert_array_equal(*made)
    assert np.ptp(made[0]) > 1.0


def test_a_world_that_fails_leaves_its_neighbours_their_bits():
    good, bad = batch_of(18), sx.WorldBatch(scene(), 18, dtype=np.float32, divergence_policy="freeze")
    bad.joint_velocities[:], bad.controls[:] = good.joint_velocities, good.controls
    bad.joint_velocities[4] = 1e9
    bad.step(20)
    good.step(20)
    assert [failure.world for failure in bad.failures] == [4]
    others = np.arange(18) != 4
    np.testing.assert_array_equal(bad.joint_positions[others], good.joint_positions[others])


def test_the_energy_of_a_pendulum_drifts_little_in_ten_seconds():
    batch = sx.WorldBatch(scene(PENDULUM), 16, dtype=np.float32)
    batch.joint_positions[:, 0] = np.linspace(0.1, 2.5, 16)
    before = batch.kinetic_energy + batch.potential_energy
    batch.step(10_000)
    after = batch.kinetic_energy + batch.potential_energy
    # 9.81 J are the scale of the swing
    assert np.abs(after - before).max() < 2e-3 * 9.81


def test_a_box_rests_as_deep_as_in_double_precision():
    text = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 0.2"><freejoint/>
    <geom type="box" size="0.1 0.2 0.15" mass="2"/></body></worldbody></mujoco>"""
    depths = []
    for dtype in (np.float32, np.float64):
        batch = sx.WorldBatch(scene(text), 3, dtype=dtype)
        batch.step(2000)
        depths.append(0.15 - batch.joint_positions[:, 2])
        assert np.abs(batch.joint_velocities).max() < 1e-5
    np.testing.assert_allclose(depths[0], depths[1], atol=1e-6)
    assert depths[1][0] > 1e-5


def test_sweeps_end_where_single_precision_has_no_more_digits():
    """Sweeps that went on to change single bits took all 100 in 49 solves of these, which double never does."""
    hopper = msd.from_file(Path(gymnasium.__file__).parent / "envs/mujoco/assets/hopper.xml")
    hopper.simulate_option.policy.contact_solver_method = msd.ContactSolverMethod.SequentialImpulse
    model = msd.build(hopper)
    double, single = (LaneSimulation(model, 32, dtype=dtype) for dtype in (np.float64, np.float32))
    rng = np.random.default_rng(0)
    for worlds in (single, double):
        worlds.v[:] += 0.3 * rng.normal(size=worlds.v.shape)
        worlds.control[:] = rng.uniform(-1.0, 1.0, worlds.control.shape)
        worlds.step(200)
        assert worlds.solver == "sequential-impulse" and worlds.sweeps.max() > 1
        assert not worlds.unconverged.any()
    # and where they end is right to single precision: against sweeps to the end in double precision
    right = LaneSimulation(model, 32, tolerance=1e-9, sweeps=20_000)
    right.control[:] = single.control
    errors = []
    for _ in range(20):
        right.q[:], right.v[:], right.kept[:] = single.q, single.v, single.kept
        single.step()
        right.step()
        errors.append(np.abs(single.v - right.v).max(axis=1))
    assert np.median(errors) < 1e-6 and np.max(errors) < 1e-4


def test_readings_are_those_of_the_state_in_double_precision():
    single, double = batch_of(9), batch_of(9, np.float64)
    single.step(60)
    for name in ("joint_positions", "joint_velocities"):
        getattr(double, name)[:] = getattr(single, name)
    np.testing.assert_array_equal(single.sensor_values, double.sensor_values)
    np.testing.assert_array_equal(single.body_poses, double.body_poses)


def test_stopped_batches_go_on_to_the_same_bits(tmp_path):
    batch = batch_of(19)
    batch.step(40)
    batch.save(tmp_path / "batch")
    batch.step(40)
    other = sx.WorldBatch(scene(), 19, dtype=np.float32)
    other.load(tmp_path / "batch")
    other.step(40)
    np.testing.assert_array_equal(other.joint_positions, batch.joint_positions)
    assert other.fingerprint() == batch.fingerprint()
    double = sx.WorldBatch(scene(), 19)
    with pytest.raises(SceneError, match="dtype of the checkpoint is float32"):
        double.load(tmp_path / "batch")
    for name in ("joint_positions", "joint_velocities", "controls"):
        getattr(double, name)[:] = getattr(other, name)
    assert double.fingerprint() != other.fingerprint()


def test_reset_and_extract():
    batch = batch_of(18)
    start = batch.joint_positions.copy()
    batch.step(10)
    batch.reset([3, 17])
    np.testing.assert_array_equal(batch.joint_positions[[3, 17]], start[[3, 17]])
    world = batch.extract(5)
    torso = world.multibodies["torso"].links["torso"]
    np.testing.assert_array_equal(torso.translation, batch.multibodies["torso"].links["torso"].translation[5])
    world.step()


def test_parameters_by_world():
    batch = sx.WorldBatch(scene(), 20, dtype=np.float32)
    double = sx.WorldBatch(scene(), 20)
    for one in (batch, double):
        name = next(n for n in one.parameters if n.endswith("links.front.mass"))
        one.parameters[name] = np.linspace(0.5, 2.0, 20)
        one.controls[:, 0] = 1.0
        one.step(30)
        assert one.layout == "lanes"
    np.testing.assert_allclose(batch.joint_positions, double.joint_positions, atol=3e-5)
    assert np.ptp(batch.joint_positions[:, 7]) > 1e-3


def test_the_configuration_tells_the_precision():
    rows = {row.option: row for row in batch_of(2).resolved_configuration}
    assert rows["dtype"].resolved == "float32"
    assert "dtype" not in {row.option for row in batch_of(2, np.float64).resolved_configuration}


def test_contacts_that_obey_coulombs_law_are_solved():
    """A ball that slides on the ground starts to roll; v = 5/7 of its first speed [Coriolis 1835]."""
    builder = ModelBuilder()
    body = builder.add_body((0, 0, 0.1, 0, 0, 0, 1), mass=1.0, inertia=np.diag([0.004] * 3))
    builder.add_shape_sphere(body, radius=0.1, cfg=ShapeConfig(density=0.0, mu=0.5))
    builder.add_ground_plane()
    model = builder.finalize()
    speeds = []
    for dtype in (np.float32, np.float64):
        worlds = LaneSimulation(model, 3, time_step=0.002, dtype=dtype)
        worlds.v[:, 0] = (0.5, 1.0, 2.0)
        worlds.step(600)
        assert not worlds.unconverged.any()
        speeds.append(worlds.v[:, 0].copy())
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-4)
    np.testing.assert_allclose(speeds[0], 5.0 / 7.0 * np.array([0.5, 1.0, 2.0]), rtol=0.01)


def test_what_single_precision_does_not_have_is_refused_by_name():
    with pytest.raises(CapabilityError, match="layout 'threads' has no dtype float32"):
        sx.WorldBatch(scene(), 2, layout="threads", dtype=np.float32)
    with pytest.raises(ArgumentError, match="dtype of WorldBatch must be float64 or float32"):
        sx.WorldBatch(scene(), 2, dtype=np.float16)
    with pytest.raises(ArgumentError, match="dtype of WorldBatch must be float64 or float32"):
        sx.WorldBatch(scene(), 2, dtype=None)
    with pytest.raises(CapabilityError, match=r"float32 runs in lanes.*derivatives of steps"):
        sx.WorldBatch(sx.World(differentiable=True), 2, dtype=np.float32)
    world = sx.World()
    world.add_ground_plane()
    world.add_rigid_body("ball").add_collision_shape(sx.CollisionShape.sphere(0.1))
    with pytest.raises(CapabilityError, match="single precision do not have hard contacts"):
        LaneSimulation(world.model(), 2, dtype=np.float32)
    model = msd.build(scene())
    with pytest.raises(ArgumentError, match="tolerance of float32 must be at least 1e-05"):
        LaneSimulation(model, 2, tolerance=1e-7, dtype=np.float32)
    with pytest.raises(ArgumentError, match="lanes of float32 must be None, 8"):
        LaneSimulation(model, 2, dtype=np.float32).step(lanes=4)


@pytest.mark.parametrize("name", ["joint_velocities", "joint_forces"])
def test_numbers_beyond_single_precision_are_refused_and_change_nothing(name):
    """Rounded they would be infinite, and a frozen world would have no good state."""
    batch = sx.WorldBatch(scene(), 3, divergence_policy="freeze", dtype=np.float32)
    batch.step(5)
    before = batch.joint_positions.copy()
    getattr(batch, name)[1, 2] = -1e300
    with pytest.raises(ArgumentError, match=r"of world 1 must be within 3.4e\+38, which float32 has at most"):
        batch.step(3)
    assert np.array_equal(batch.joint_positions, before) and batch.frame.tolist() == [5, 5, 5]
    assert not batch.frozen.any()
    getattr(batch, name)[1, 2] = 0.0
    batch.step(3)
    assert np.isfinite(batch.joint_velocities).all()
