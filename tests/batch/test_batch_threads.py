# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One thread at a time is inside a batch: others are refused, in lanes and on threads, and nothing is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from batch_scenes import lane_batch, robot, scatter, thread_batch

from worldline import BusyError
from worldline import simulation as sx

LATE = 60.0
"""Time after which a thread that should go on hangs [s]."""


def during_a_step(batch: sx.WorldBatch, call) -> BaseException | None:
    """What a call in another thread raises while this thread is inside of a step of the batch."""
    found: list[BaseException | None] = []

    with ThreadPoolExecutor() as pool:
        batch.add_controller("meanwhile", lambda step: found.append(pool.submit(call).exception(LATE)))
        batch.step()
    batch.remove_step_function("meanwhile")
    (error,) = found
    return error


@pytest.mark.parametrize("make", [lane_batch, thread_batch])
@pytest.mark.parametrize(
    "call",
    [
        lambda batch: batch.step(3),
        lambda batch: batch.reset(),
        lambda batch: batch.body_poses,
        lambda batch: batch.contacts,
        lambda batch: batch.sensor_values,
        lambda batch: batch.joint_positions,
        lambda batch: batch.fingerprint(),
        lambda batch: batch.extract(0),
        lambda batch: batch.select([0]).kinetic_energy,
        lambda batch: batch.multibodies[0].joints.position,
        lambda batch: batch.step_kinematics(),
        lambda batch: batch.parameters["multibodies.trunk.links.trunk.mass"],
    ],
)
def test_other_threads_are_refused_during_a_step(make, call):
    batch, alone = make(2), make(2)
    error = during_a_step(batch, lambda: call(batch))
    assert isinstance(error, BusyError) and "batch" in str(error).lower()
    alone.step()
    assert (batch.joint_positions == alone.joint_positions).all()
    assert batch.frame.tolist() == alone.frame.tolist()


@pytest.mark.parametrize("make", [lane_batch, thread_batch])
def test_steps_of_two_threads_are_made_whole_or_refused(make):
    batch, alone = make(8), make(8)
    scatter(batch)
    scatter(alone)
    refused = []

    def work() -> None:
        for _ in range(60):
            try:
                batch.step(2)
            except BusyError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LATE)
    alone.step(2 * (120 - len(refused)))
    assert (batch.frame == alone.frame).all()
    assert (batch.joint_positions == alone.joint_positions).all()


def test_the_thread_that_steps_may_read():
    batch, seen = sx.WorldBatch(robot(), 2), []
    batch.add_observer("look", lambda step: seen.append(batch.body_poses[0, 0, 2]))
    batch.step(3)
    assert len(seen) == 3 and np.isfinite(seen).all()
