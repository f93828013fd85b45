# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts: pure, batch first, and the trajectories of Worlds that are stepped one by one."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import BOXES, lane_batch, robot

from worldline import ArgumentError, ShapeError
from worldline import simulation as sx

rollout = sx.state.rollout


@pytest.mark.parametrize("more", ["", BOXES])
def test_a_rollout_is_the_run_of_a_batch(more):
    rng = np.random.default_rng(0)
    scene = robot("", more)
    controls = rng.uniform(-1, 1, (3, 40, 2))
    batch = sx.WorldBatch(scene, 3)
    v = rng.normal(size=batch.joint_velocities.shape)
    run = rollout(scene, {"joint_velocities": v}, controls)
    batch.joint_velocities[:] = v
    for k in range(40):
        assert np.array_equal(run.joint_positions[:, k], batch.joint_positions)
        batch.controls[:] = controls[:, k]
        batch.step()
    assert np.array_equal(run.joint_positions[:, -1], batch.joint_positions)
    assert np.array_equal(run.joint_velocities[:, -1], batch.joint_velocities)
    assert np.array_equal(run.activations[:, -1], batch.activations)
    assert np.array_equal(run.controls, controls) and not run.failures
    assert run.time[:, -1] == pytest.approx(40 * 0.002)
    assert (run.num_worlds, run.num_steps) == (3, 40)


def test_nothing_that_is_given_changes():
    world = sx.World.from_scene(robot())
    world.step(n=5)
    before = world.fingerprint()
    v = np.ones((2, 11))
    controls = np.full((2, 10, 2), 0.3)
    run = rollout(world, {"joint_velocities": v}, controls)
    assert world.fingerprint() == before and (v == 1.0).all() and (controls == 0.3).all()
    # worlds start where the World is
    assert np.array_equal(run.joint_positions[1, 0], world._live().sim.q) and run.time[0, 0] == world.time
    model = world.model()
    rollout(model, {"joint_velocities": v}, controls)


def test_a_model_rolls_out_as_its_world():
    world = sx.World.from_scene(robot())
    world.gravity, world.time_step = (0, 0, -5.0), 0.001
    controls = np.full((30, 2), 0.5)
    a, b = rollout(world, control=controls), rollout(world.model(), control=controls)
    assert np.array_equal(a.joint_positions, b.joint_positions)
    assert a.time[0, -1] == pytest.approx(0.03) == b.time[0, -1]
    assert world.model().body_label == world.model().body_label and world.model() is not world.model()


def test_states_of_a_world_are_accepted():
    world = sx.World.from_scene(robot())
    space, states = world.state_space(), []
    for speed in (0.5, 1.0):
        other = world.clone()
        other.multibodies["trunk"].joints["hip"].velocity = [speed]
        states.append(other.get_state(space))
    run = rollout(world, states, steps=10)
    for w, state in enumerate(states):
        other = world.clone()
        other.set_state(state)
        other.step(n=10)
        np.testing.assert_allclose(run.joint_positions[w, -1], other._live().sim.q, atol=1e-12)
    whole = np.concatenate(
        [run.joint_positions[:, 0], run.joint_velocities[:, 0], run.activations[:, 0]], axis=1
    )
    again = rollout(world, whole, steps=10)
    assert np.array_equal(again.joint_positions, run.joint_positions)
    assert rollout(world, states[0], steps=1).num_worlds == 1
    with pytest.raises(ArgumentError, match="of a World"):
        rollout(world.model(), states[0], steps=1)


def test_feedback_follows_the_difference_of_states():
    """u = u0 - K (x - x0), with rotations as tangents; checked by stepping with the same controls."""
    rng = np.random.default_rng(2)
    scene, batch = robot(), lane_batch(2)
    x0 = sx.state.Feedback(
        0.3 * rng.normal(size=(2, 22)), batch.joint_positions[0].copy(), np.zeros(11), np.array([0.1, -0.1])
    )
    v = rng.normal(size=(2, 11))
    run = rollout(scene, {"joint_velocities": v}, x0, steps=20)
    open_loop = rollout(scene, {"joint_velocities": v}, run.controls)
    assert np.array_equal(open_loop.joint_positions, run.joint_positions)
    # the first controls by hand: coordinates are those of x0
    np.testing.assert_allclose(run.controls[:, 0], x0.control - v @ x0.gain[:, 11:].T, atol=1e-14)
    world = batch.extract(0)
    space = world.state_space()
    start = world.get_state(space)
    sim = world._live().sim
    sim.q[:], sim.v[:] = run.joint_positions[0, 10], run.joint_velocities[0, 10]
    sim.written()
    apart = sx.state.difference(start, world.get_state(space))
    np.testing.assert_allclose(run.controls[0, 10], x0.control - x0.gain @ apart[:22], atol=1e-12)


def test_out_is_written_and_checked():
    scene, controls = robot(), np.zeros((2, 5, 2))
    run = rollout(scene, control=controls)
    for array in run[:5]:
        array[...] = -1.0
    again = rollout(scene, control=controls, out=run)
    assert all(a is b for a, b in zip(again[:5], run[:5], strict=True))
    assert np.array_equal(again.joint_positions, rollout(scene, control=controls).joint_positions)
    for wrong in (
        run._replace(joint_positions=run.joint_positions[:, :-1]),
        run._replace(joint_positions=run.joint_positions.astype(np.float32)),
        run._replace(time=run.time.tolist()),
    ):
        with pytest.raises(ShapeError, match="of out must be a float64 array of shape"):
            rollout(scene, control=controls, out=wrong)
    run.time.setflags(write=False)
    with pytest.raises(ArgumentError, match="writable"):
        rollout(scene, control=controls, out=run)
    with pytest.raises(ShapeError, match="RolloutTrajectory"):
        rollout(scene, control=controls, out=np.zeros(3))


def test_wrong_arguments_are_refused():
    scene = robot()
    for call in (
        lambda: rollout(scene),
        lambda: rollout(scene, steps=-1),
        lambda: rollout(scene, control=np.zeros((2, 5, 2)), steps=4),
        lambda: rollout(scene, control=np.zeros((2, 5, 3))),
        lambda: rollout(scene, control=np.full((2, 5, 2), np.nan)),
        lambda: rollout(scene, {"joint_velocities": np.zeros((3, 11))}, np.zeros((2, 5, 2))),
        lambda: rollout(scene, {"joint_velocity": np.zeros(11)}, steps=1),
        lambda: rollout(scene, {"joint_velocities": np.zeros(10)}, steps=1),
        lambda: rollout(scene, np.zeros(7), steps=1),
        lambda: rollout(
            scene, None, sx.state.Feedback(np.zeros((2, 3)), np.zeros(13), np.zeros(11), np.zeros(2)), steps=1
        ),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_sensors_contacts_and_failures_on_request():
    scene = robot("", BOXES)
    v = np.zeros((2, 23))
    v[1, 6] = 1e12
    run = rollout(scene, {"joint_velocities": v}, steps=200, sensors=True, contacts=True)
    assert run.sensor_values is not None and run.contacts is not None
    assert run.sensor_values.shape == (2, 201, 2) and len(run.contacts) == 201
    assert np.array_equal(run.sensor_values[0, :, 0], run.joint_positions[0, :, 7])
    assert run.contacts[0].count == 0 and run.contacts[-1].of_world(0).count > 0
    assert [failure.world for failure in run.failures] == [1]
    assert np.array_equal(run.joint_positions[1, 1], run.joint_positions[1, -1])
    plain = rollout(scene, {"joint_velocities": v}, steps=1)
    assert plain.sensor_values is None and plain.contacts is None
