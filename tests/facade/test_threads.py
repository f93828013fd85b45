# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One thread at a time: a World refuses a second one, and never loses or mixes steps."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldline import ArgumentError, BusyError, OperationError
from worldline import simulation as sx
from worldline.collision import CollisionShape


def _heap(bodies: int = 5) -> sx.World:
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(bodies):
        body = world.add_rigid_body(f"box{k}", position=(0.01 * k, 0, 0.15 + 0.25 * k))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return world


def _together(*work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_four_threads_make_the_steps_of_one_or_are_refused() -> None:
    world = _heap()
    world.step()
    made, refused = [0] * 4, [0] * 4

    def steps(k: int) -> None:
        for _ in range(150):
            try:
                world.step()
                made[k] += 1
            except BusyError:
                refused[k] += 1

    _together(*(lambda k=k: steps(k) for k in range(4)))
    assert sum(made) + sum(refused) == 600
    assert world.frame == 1 + sum(made)
    alone = _heap()
    for _ in range(1 + sum(made)):
        alone.step()
    assert world.state_vector.tobytes() == alone.state_vector.tobytes()


def _in_a_step(world: sx.World, call: Callable[[], Any]) -> BaseException | None:
    """What a call raises while another thread is inside a long step."""
    world.step()
    done = threading.Event()

    def run() -> None:
        world.step(n=20_000)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    runtime = world._runtime
    assert runtime is not None
    while not runtime.guard.busy and not done.is_set():
        pass
    caught: BaseException | None = None
    try:
        call()
    except BaseException as error:
        caught = error
    assert not done.is_set(), "the step was over too soon to tell"
    thread.join()
    return caught


READS: dict[str, Callable[[sx.World], Any]] = {
    "step": lambda w: w.step(),
    "start_step": lambda w: w.start_step(),
    "sync": lambda w: w.sync(),
    "step_report": lambda w: w.step_report(),
    "contacts": lambda w: w.contacts,
    "collide": lambda w: w.collide(),
    "state_vector": lambda w: w.state_vector,
    "get_state": lambda w: w.get_state(w.state_space()),
    "transform": lambda w: w.rigid_bodies[0].transform,
    "linear_velocity": lambda w: w.rigid_bodies[0].linear_velocity,
    "bulk": lambda w: w.rigid_bodies.translations,
    "metrics": lambda w: w.compute_step_metrics(),
    "ledger": lambda w: w.energy_ledger(),
    "clone": lambda w: w.clone(),
    "reset": lambda w: w.reset(),
    "write": lambda w: setattr(w.rigid_bodies[0], "translation", (0, 0, 9)),
    "mass": lambda w: setattr(w.rigid_bodies[0], "mass", 3.0),
    "gravity": lambda w: setattr(w, "gravity", (0, 0, 0)),
    "time_step": lambda w: setattr(w, "time_step", 0.1),
    "state": lambda w: setattr(w, "state_vector", np.zeros(13)),
    "edit": lambda w: w.edit().__enter__(),
    "clear": lambda w: w.clear(),
}


@pytest.mark.parametrize("name", READS)
def test_a_call_while_another_thread_steps_is_refused(name: str) -> None:
    world = _heap(1)
    error = _in_a_step(world, lambda: READS[name](world))
    assert isinstance(error, BusyError)
    assert isinstance(error, OperationError)
    assert "one thread at a time" in str(error)
    assert world.frame == 20_001
    alone = _heap(1)
    alone.step(n=20_001)
    assert world.state_vector.tobytes() == alone.state_vector.tobytes()


def test_time_and_frame_show_any_thread_how_far_a_step_is() -> None:
    world = _heap(1)
    seen: list[tuple[int, float]] = []
    assert _in_a_step(world, lambda: seen.append((world.frame, world.time))) is None
    assert 1 <= seen[0][0] <= 20_001
    assert 0.0 < seen[0][1] <= world.time


def test_readers_and_a_stepper_end_with_the_bits_of_the_stepper_alone() -> None:
    world = _heap()
    world.step()
    stop = threading.Event()
    looks = [
        lambda: world.step_report(),
        lambda: world.contacts,
        lambda: world.rigid_bodies.transforms,
        lambda: world.collide(),
        lambda: world.compute_step_metrics(),
        lambda: world.state_vector,
    ]
    seen: list[BaseException] = []
    count = [0]

    def reads() -> None:
        while not stop.is_set():
            for look in looks:
                try:
                    look()
                    count[0] += 1
                except BusyError:
                    pass
                except BaseException as error:
                    seen.append(error)
                    return

    def steps() -> None:
        try:
            for k in range(400):
                world.step()
                if k % 5 == 0:
                    time.sleep(2e-4)
        finally:
            stop.set()

    _together(steps, reads, reads)
    assert not seen
    assert count[0] > 0
    assert world.frame == 401
    alone = _heap()
    for _ in range(401):
        alone.step()
    assert world.state_vector.tobytes() == alone.state_vector.tobytes()


def test_recorded_and_profiled_steps_and_jobs_are_guarded_and_go_on_working() -> None:
    world = _heap(2)
    world.replay_recording_enabled = True
    world.step_profiling_enabled = True
    world.step(n=3)
    assert world.replay_frame_count == 4
    assert world.last_step_profile.frame == 3
    job = world.start_step(n=2000)
    with pytest.raises(BusyError, match="step job"):
        world.step()
    assert job.result() == 2000
    world.step()
    assert world.frame == 2004
    assert world.rigid_bodies[0].translation.shape == (3,)


def test_an_executor_steps_worlds_in_threads() -> None:
    worlds = [_heap(2) for _ in range(4)]
    with sx.compute.ParallelExecutor(2) as executor:
        executor.step(worlds, n=50)
        executor.step(worlds, n=50)
    alone = _heap(2)
    alone.step(n=100)
    assert all(w.state_vector.tobytes() == alone.state_vector.tobytes() for w in worlds)


def test_a_read_that_raises_leaves_the_world_free() -> None:
    world = _heap(1)
    world.step()
    with pytest.raises(ArgumentError):
        world.explain(world.rigid_bodies[0], sx.World().add_rigid_body("stranger"))
    world.step()
    with pytest.raises(sx.StepFailure):
        world.rigid_bodies[0].force = (1e308, 1e308, 1e308)
        world.rigid_bodies[0].mass = 1e-6
        world.step(n=10)
    assert world.rigid_bodies[0].translation.shape == (3,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_starts_executors_anew_and_refuses_running_jobs() -> None:
    program = """
        import os, sys, time
        from worldline import simulation as sx, BusyError

        def world():
            made = sx.World()
            made.add_rigid_body("box")
            made.step()
            return made

        worlds = [world() for _ in range(4)]
        executor = sx.compute.ParallelExecutor(2)
        executor.step(worlds, n=10)
        busy = world()
        job = busy.start_step(n=10**7)
        child = os.fork()
        if child == 0:
            executor.step(worlds, n=10)
            executor.close()
            code = 0 if all(w.frame == 21 for w in worlds) else 3
            if not job.wait(5.0):
                code = 4
            for call in (busy.step, job.result):
                try:
                    call()
                    code = 5
                except BusyError as error:
                    code = code if "forked" in str(error) else 6
            sys.stdout.flush()
            # exit handlers run too: they must not wait for threads of the parent
            raise SystemExit(code)
        _, status = os.waitpid(child, 0)
        job.cancel()
        job.wait()
        executor.step(worlds, n=10)
        assert all(w.frame == 21 for w in worlds)
        print(os.waitstatus_to_exitcode(status))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["0"], ran.stderr
