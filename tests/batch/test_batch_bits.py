# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""World i has the same bits in a batch of any size, at any position, on any threads, beside any neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import lane_batch, scatter, thread_batch

MAKERS = {
    "lanes": lane_batch,
    "lanes, cones": lambda count: lane_batch(count, 'cone="elliptic"'),
    "lanes, Runge-Kutta": lambda count: lane_batch(count, 'integrator="RK4"'),
    "threads": thread_batch,
}
STEPS = 120


def state(batch, w):
    return np.concatenate([batch.joint_positions[w], batch.joint_velocities[w], batch.activations[w]])


def start(batch):
    """A start for every world, by its index, whatever the number of worlds."""
    for w in range(batch.num_worlds):
        rng = np.random.default_rng([7, w])
        batch.joint_velocities[w] = rng.normal(size=batch.joint_velocities.shape[1])
        batch.controls[w] = rng.uniform(-1, 1, 2)


@pytest.mark.parametrize("name", MAKERS)
def test_bits_do_not_depend_on_the_batch(name):
    make = MAKERS[name]
    whole = make(11)
    start(whole)
    whole.step(STEPS)
    assert len(whole.contacts.world), "nothing touches: the test would show little"
    for count, threads in ((1, 1), (2, 1), (7, 2), (11, 3)):
        batch = make(count)
        start(batch)
        batch.step(STEPS, threads=threads)
        for w in range(count):
            assert np.array_equal(state(batch, w), state(whole, w)), (count, threads, w)
    # another position, other neighbours
    moved = make(5)
    for to, w in enumerate((9, 3, 0, 10, 4)):
        for array in ("joint_velocities", "controls"):
            rng = np.random.default_rng([7, w])
            velocity = rng.normal(size=moved.joint_velocities.shape[1])
            getattr(moved, array)[to] = velocity if array == "joint_velocities" else rng.uniform(-1, 1, 2)
    moved.step(STEPS)
    for to, w in enumerate((9, 3, 0, 10, 4)):
        assert np.array_equal(state(moved, to), state(whole, w)), (to, w)


@pytest.mark.parametrize("name", MAKERS)
def test_a_world_alone_has_the_bits_of_its_row(name):
    batch, one = MAKERS[name](6), MAKERS[name](1)
    start(batch)
    one.joint_velocities[0], one.controls[0] = batch.joint_velocities[4], batch.controls[4]
    batch.step(STEPS)
    one.step(STEPS)
    assert np.array_equal(state(batch, 4), state(one, 0))


@pytest.mark.parametrize("name", ["lanes", "threads"])
def test_a_neighbour_that_fails_changes_no_bit(name):
    batch, other = MAKERS[name](5), MAKERS[name](5)
    for each in (batch, other):
        start(each)
    batch.joint_velocities[2, 6] = 1e12
    with pytest.raises(Exception, match="world 2"):
        batch.step(STEPS)
    other.step(STEPS)
    for w in (0, 1, 3, 4):
        assert np.array_equal(state(batch, w), state(other, w))


def test_a_world_of_threads_has_the_bits_of_a_world():
    batch = thread_batch(3)
    scatter(batch)
    world = batch.extract(2)
    batch.step(200)
    world.step(n=200)
    own = world._live().sim
    assert np.array_equal(batch.joint_positions[2], own.q) and np.array_equal(
        batch.joint_velocities[2], own.v
    )


def test_an_extracted_world_goes_on():
    batch = thread_batch(2)
    scatter(batch)
    batch.step(100)
    world = batch.extract(1)
    assert world.divergence_policy is batch.divergence_policy
    batch.step(50)
    world.step(n=50)
    assert np.array_equal(batch.joint_positions[1], world._live().sim.q) and world.frame == 150
    lanes = lane_batch(3)
    scatter(lanes)
    lanes.step(100)
    world = lanes.extract(2)
    assert np.array_equal(lanes.joint_positions[2], world._live().sim.q)
    lanes.step(3)
    world.step(n=3)
    np.testing.assert_allclose(lanes.joint_positions[2], world._live().sim.q, atol=1e-9)
    # a copy: the batch does not follow it
    world.step(n=10)
    assert lanes.frame.tolist() == [103] * 3
