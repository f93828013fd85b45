# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts on workers of Ray: bits of a rollout here, lost workers, errors; one local Ray for all tests."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from processes import loaded_by
from worldline import ArgumentError, OperationError, distributed, msd
from worldline import simulation as sx

ray = pytest.importorskip("ray", reason="clusters need ray")

TEXT = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 0.1"/>
  <body name="ball" pos="0 0 0.3"><freejoint/><geom size="0.1"/></body>
  <body name="pole" pos="2 0 1"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0 0 0.5"/></body></worldbody>
  <actuator><motor joint="hinge" gear="2"/></actuator><sensor><jointpos joint="hinge"/></sensor></mujoco>"""
WORLDS, STEPS = 23, 40


@pytest.fixture(scope="module")
def cluster():
    """A local Ray that pools find and leave alone."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def scene():
    return msd.from_str(TEXT, format="mjcf")


def inputs():
    rng = np.random.default_rng(0)
    start = {"joint_velocities": rng.normal(size=(WORLDS, 7))}
    return start, rng.uniform(-1, 1, (WORLDS, STEPS, 1))


def same(a, b):
    for name in ("joint_positions", "joint_velocities", "controls", "time", "sensor_values"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize(("workers", "share"), [(1, 100), (2, 5)])
def test_the_result_does_not_depend_on_the_workers(cluster, scene, workers, share):
    start, control = inputs()
    here = sx.state.rollout(scene, start, control, sensors=True, contacts=True)
    with distributed.WorkerPool(scene, workers=workers, share=share) as pool:
        assert pool.num_workers == workers
        there = pool.rollout(start, control, sensors=True, contacts=True)
    same(here, there)
    assert len(here.contacts) == len(there.contacts) == STEPS + 1
    for a, b in zip(here.contacts, there.contacts, strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(one, other)
    assert sum(c.count for c in here.contacts) > 0
    assert ray.is_initialized()  # it was there before the pool


def test_a_worker_that_is_killed_is_replaced_and_its_share_done_again(cluster, scene):
    start, control = inputs()
    told = []
    with distributed.WorkerPool(scene, workers=2, share=3) as pool:
        before = pool.pids

        def kill(done, total):
            told.append((done, total))
            if done == 2:
                os.kill(before[0], signal.SIGKILL)

        there = pool.rollout(start, control, sensors=True, on_share=kill)
        after = pool.pids
    same(sx.state.rollout(scene, start, control, sensors=True), there)
    assert told == [(k + 1, 8) for k in range(8)]
    assert before[0] not in after and before[1] in after


def test_a_share_that_is_lost_again_and_again_is_an_error(cluster, scene):
    with distributed.WorkerPool(scene, workers=1, share=100, retries=0) as pool:
        os.kill(pool.pids[0], signal.SIGKILL)
        with pytest.raises(OperationError, match="worlds from 0 on was lost 1 times"):
            pool.rollout(steps=2000)


def test_failures_have_the_index_among_all_worlds(cluster, scene):
    start, _ = inputs()
    start["joint_velocities"][17, 6] = 1e12
    there = distributed.rollout(scene, start, steps=5, workers=2, share=6)
    assert [(f.world, f.quantity) for f in there.failures] == [(17, "velocity")]


def test_errors_of_workers_and_arguments_are_those_of_a_rollout_here(cluster, scene):
    with pytest.raises(ArgumentError, match="rollout needs steps"):
        distributed.rollout(scene, workers=1)
    with pytest.raises(ArgumentError, match="no array 'joint_position'"):
        distributed.rollout(scene, {"joint_position": np.zeros(8)}, steps=3, workers=1)
    for wrong in ({"workers": 0}, {"share": 0}):
        with pytest.raises(ArgumentError, match="at least 1"):
            distributed.WorkerPool(scene, **wrong)
    with pytest.raises(ArgumentError, match="at most 2"):
        distributed.WorkerPool(scene, workers=3)
    pool = distributed.WorkerPool(scene, workers=1)
    pool.close()
    with pytest.raises(OperationError, match="closed"):
        pool.rollout(steps=1)


def test_a_world_and_numbers_that_all_worlds_share(cluster):
    world = sx.World(gravity=(0, 0, 0), time_step=0.01)
    world.add_rigid_body("box")
    start = {"joint_velocities": np.arange(5.0)[:, None] * [1, 0, 0, 0, 0, 0]}
    there = distributed.rollout(world, start, steps=100, workers=2, share=2)
    assert there.joint_positions[:, -1, 0].round(9).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    alone = distributed.rollout(world, steps=3, workers=1)
    assert alone.num_worlds == 1 and alone.num_steps == 3


def test_the_library_does_not_load_ray_by_itself():
    assert loaded_by("import worldline.distributed", "ray") == []
