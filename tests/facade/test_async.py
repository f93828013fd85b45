# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps in the background: the same bits, progress, cancelling, errors, and a World that refuses meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from facade_worlds import lasting
from worldline import simulation as sx

LONG = 10**9
"""More steps than any test waits for."""


@pytest.fixture
def world():
    made, _ = lasting()
    made.step()
    yield made
    if made._job is not None:
        job = made._job
        job.cancel()
        job.wait()


def test_a_job_makes_the_steps_of_step(world):
    other, _ = lasting()
    other.step(n=501)
    assert world.start_step(n=500).result() == 500
    assert world.frame == 501
    assert world.state_vector.tobytes() == other.state_vector.tobytes()


def test_a_job_enters_simulation_mode():
    world, _ = lasting()
    world.start_step(n=2).result()
    assert world.is_simulation_mode and world.frame == 2


def test_a_job_of_no_steps_is_done_and_changes_nothing():
    world, _ = lasting()
    job = world.start_step(n=0)
    assert job.done and job.result() == 0
    assert not world.is_simulation_mode


def test_a_negative_count_is_refused(world):
    with pytest.raises(ValueError, match="non-negative step count"):
        world.start_step(n=-1)


def test_what_cannot_be_stepped_is_refused_before_the_job_starts():
    world = sx.World(rigid_body_solver=sx.RigidBodySolver.IPC)
    world.add_rigid_body("box")
    with pytest.raises(NotImplementedError, match="barrier method"):
        world.start_step()
    assert world._job is None


def test_progress_and_cancel_at_the_end_of_a_step(world):
    job = world.start_step(n=LONG)
    assert not job.done
    assert not job.wait(timeout=0.1)
    made, asked = job.progress
    assert made > 0 and asked == LONG
    assert job.cancel()
    made = job.result(timeout=60)
    assert job.cancelled and job.done
    assert world.frame == 1 + made
    assert np.isfinite(world.state_vector).all()
    assert not job.cancel()


def test_a_cancelled_world_continues_as_if_nothing_had_been():
    world, _ = lasting()
    job = world.start_step(n=LONG)
    job.wait(timeout=0.02)
    job.cancel()
    made = job.result()
    other, _ = lasting()
    other.step(n=made)
    assert world.state_vector.tobytes() == other.state_vector.tobytes()
    assert world.time == other.time


def test_waiting_too_long_leaves_the_job_running(world):
    job = world.start_step(n=LONG)
    with pytest.raises(TimeoutError, match="runs on"):
        job.result(timeout=0.01)
    assert not job.done


def touch(world):
    """Ways to use a World, by name."""
    arm, box = world.multibodies["arm"], world.rigid_bodies["box"]
    return {
        "step": lambda: world.step(),
        "no second job": lambda: world.start_step(),
        "tick": lambda: world.step_kinematics(),
        "read a pose": lambda: box.translation,
        "write a pose": lambda: setattr(box, "translation", (0, 0, 0)),
        "read joints": lambda: arm.joints.position,
        "write joints": lambda: setattr(arm.joints, "position", [0, 0]),
        "write a joint": lambda: setattr(arm.joints["elbow"], "velocity", [0]),
        "force": lambda: setattr(box, "force", (0, 0, 1)),
        "parameter": lambda: setattr(arm.joints["elbow"], "damping_coefficient", 1.0),
        "kind": lambda: setattr(box, "is_static", True),
        "state vector": lambda: world.state_vector,
        "state": lambda: world.get_state(world.state_space()),
        "gravity": lambda: setattr(world, "gravity", (0, 0, 0)),
        "time step": lambda: setattr(world, "time_step", 1.0),
        "time": lambda: setattr(world, "time", 1.0),
        "options": lambda: setattr(world, "multibody_options", sx.MultibodyOptions()),
        "topology": lambda: world.add_rigid_body("ball"),
        "remove": lambda: box.remove(),
        "reset": lambda: world.reset(),
        "clear": lambda: world.clear(),
        "sync": lambda: world.sync(),
        "recording": lambda: setattr(world, "replay_recording_enabled", True),
        "clear recording": lambda: world.clear_replay_recording(),
    }


def test_the_world_belongs_to_the_job_while_it_runs(world):
    before = world.time_step, world.gravity.tolist()
    uses = touch(world)
    job = world.start_step(n=LONG)
    for name, use in uses.items():
        with pytest.raises(RuntimeError, match="step job"):
            use()
            pytest.fail(f"not refused: {name}")
    job.cancel()
    job.result()
    assert (world.time_step, world.gravity.tolist()) == before
    assert world.rigid_bodies["box"].is_valid
    world.step()


def test_time_and_frame_show_the_start_of_the_job(world):
    job = world.start_step(n=LONG)
    job.wait(timeout=0.05)
    assert (world.frame, world.time) == (1, 0.01)
    job.cancel()
    job.wait()
    assert world.frame > 1


def unstable():
    """A world whose velocities grow without bound."""
    world = sx.World(time_step=1.0, gravity=(0, 0, 0))
    box = world.add_rigid_body("box", linear_velocity=(1, 0, 0))
    box.force = (1e308, 0, 0)
    return world


def test_errors_come_out_of_result():
    world = unstable()
    job = world.start_step(n=100)
    assert job.wait(timeout=60)
    with pytest.raises(sx.StepFailure) as caught:
        job.result()
    assert caught.value.body == "box"
    assert job.progress.made == world.frame == caught.value.frame - 1
    assert np.isfinite(world.state_vector).all()


def test_jobs_record_frames(world):
    world.replay_recording_enabled = True
    world.start_step(n=50).result()
    assert world.replay_frame_count == 51
    assert world.verify_replay()


def test_two_worlds_step_at_the_same_time():
    worlds = [lasting()[0] for _ in range(2)]
    jobs = [world.start_step(n=2000) for world in worlds]
    assert [job.result() for job in jobs] == [2000, 2000]
    assert worlds[0].state_vector.tobytes() == worlds[1].state_vector.tobytes()


# ---- asyncio


def test_awaiting_steps(world):
    assert asyncio.run(world.step_async(n=100)) == 100
    assert world.frame == 101


def test_the_event_loop_runs_meanwhile(world):
    async def main():
        task = asyncio.create_task(world.step_async(n=LONG))
        turns = 0
        for _ in range(5):
            await asyncio.sleep(0.01)
            turns += 1
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return turns

    assert asyncio.run(main()) == 5
    assert world.frame > 1
    world.step()


def test_errors_come_out_of_await():
    with pytest.raises(sx.StepFailure):
        asyncio.run(unstable().step_async(n=100))


def test_worlds_awaited_together():
    worlds = [lasting()[0] for _ in range(3)]

    async def main():
        return await asyncio.gather(*(world.step_async(n=200) for world in worlds))

    assert asyncio.run(main()) == [200, 200, 200]


# ---- Ctrl-C

SCRIPT = """
from facade_worlds import lasting
world, arm = lasting()
world.step(n=10)
{prepare}
print("ready", flush=True)
try:
    world.step(n=10**9)
except KeyboardInterrupt:
    assert 10 < world.frame < 10**9
    assert abs(world.time - 0.01 * world.frame) < 1e-9 * world.frame
    other, _ = lasting()
    other.step(n=world.frame)
    assert other.state_vector.tobytes() == world.state_vector.tobytes()
    {check}
    world.step()
    print("stopped", flush=True)
"""


def interrupted(prepare="", check="pass"):
    script = textwrap.dedent(SCRIPT).format(prepare=prepare, check=check)
    path = os.pathsep.join(p for p in sys.path if p)
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        # let it get well into the compiled loop
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
        child.wait()
    assert out == "stopped\n", err


def test_interrupting_a_long_step_leaves_a_whole_number_of_steps():
    interrupted()


def test_interrupting_while_recording_leaves_a_frame_for_every_step():
    interrupted(
        "world.replay_recording_enabled = True",
        "assert world.replay_frame_count == world.frame - 9",
    )


def test_a_program_that_ends_does_not_wait_for_its_job():
    script = "from facade_worlds import lasting\nworld, _ = lasting()\nworld.start_step(n=10**10)\n"
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", script], timeout=120, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0
