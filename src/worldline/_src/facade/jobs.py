# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps in the background: a job owns the World until it is done.

A job makes the steps `World.step` would make, in the same order and with the same bits. While it runs, the
World belongs to it: reading state, writing and stepping raise an BusyError, `time` and `frame` show
the start of the job. All results become visible together, when the job is done, was cancelled or failed.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError, BusyError
from worldline._src.facade import values
from worldline._src.facade.copying import NotCopied
from worldline._src.facade.known_names import KnownNames
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.portions import portions

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class StepProgress(NamedTuple):
    """How far a job is."""

    made: int
    asked: int


class StepJob(NotCopied, KnownNames):
    """Steps that run in a thread of their own; made by `World.start_step`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> job = world.start_step(n=100)
        >>> job.result()
        100
        >>> job.done, job.progress.made, world.frame
        (True, 100, 100)
    """

    _instead = "it is a thread at work; wait for it and copy the World"

    def __init__(self, world: WorldRuntime, n: int) -> None:
        self._world = world
        self._asked, self._made = n, 0
        self._stop = self._orphaned = False
        self._error: BaseException | None = None
        self._finished = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def _start(self, runtime: Runtime) -> None:
        """Take the World over and begin."""
        world = self._world
        # with the runtime out of the World's hands every path to it ends in World._compile, which refuses
        runtime.guard.take()
        self._runtime = runtime
        self._clock = runtime.sim.clock.copy()
        world._job, world._runtime = self, None
        self._thread = threading.Thread(target=self._run, name="worldline step job", daemon=True)
        _running.add(self)
        self._thread.start()

    def _run(self) -> None:
        runtime, world = self._runtime, self._world
        runtime.guard.adopt()
        advance = runtime.step if world._recorder is None else _recorded(world, runtime)
        before = float(runtime.sim.clock[0])
        try:
            for many in portions(self._asked):
                if self._stop:
                    break
                advance(many)
                self._made += many
        except BaseException as error:
            self._error = error
            self._made = int(float(runtime.sim.clock[0]) - before)
        finally:
            runtime.guard.end()
            world._runtime, world._job = runtime, None
            self._finish()

    def _finish(self) -> None:
        _running.discard(self)
        with self._lock:
            self._finished.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def _refuse(self) -> None:
        """Raise because the World belongs to the job."""
        if self._orphaned:
            raise BusyError(
                "this process was forked while a step job ran in its parent, which owns the steps; "
                "wait for jobs before forking, or build the World in the child"
            )
        raise BusyError(
            f"a step job runs ({self._made} of {self._asked} steps); "
            "wait for it or cancel it before using the World"
        )

    def _when_done(self, callback: Callable[[], None]) -> None:
        """Call from the job's thread when it is done, at once if it is."""
        with self._lock:
            if not self._finished.is_set():
                self._callbacks.append(callback)
                return
        callback()

    @property
    def done(self) -> bool:
        """Whether the World is free again: all steps made, cancelled or failed."""
        return self._finished.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it ended before all steps were made because `cancel` was called."""
        return self.done and self._error is None and self._made < self._asked

    @property
    def progress(self) -> StepProgress:
        """Steps made and steps requested; moves on about fifty times a second."""
        return StepProgress(self._made, self._asked)

    def cancel(self) -> bool:
        """Stop at the end of a step; False when the job is done. `wait` returns once it has stopped."""
        self._stop = True
        return not self.done

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job is done, or for `timeout` seconds; whether it is done. Raises no step error."""
        if timeout is not None:
            timeout = min(values.non_negative(timeout, "timeout"), threading.TIMEOUT_MAX)
        return self._finished.wait(timeout)

    def result(self, timeout: float | None = None) -> int:
        """Wait, then return how many steps were made; fewer than requested after `cancel`.

        Raises:
            StepFailure: what the steps raised.
            TimeoutError: not done within `timeout` seconds; the job runs on.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"{self._made} of {self._asked} steps after {timeout} s; the job runs on")
        if self._error is not None:
            raise self._error
        return self._made

    def __repr__(self) -> str:
        state = "done" if self.done else "running"
        return f"<StepJob {state}, {self._made} of {self._asked} steps>"


_running: weakref.WeakSet[StepJob] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A program that ends does not wait for long jobs, and no thread outlives it within a step."""
    for job in list(_running):
        job.cancel()
        job.wait()


def _forget() -> None:
    """In a forked process: the threads of jobs are gone, so are the steps they were in."""
    for job in list(_running):
        job._orphaned = True
        try:
            job._refuse()
        except BusyError as error:
            job._error = error
        job._finished.set()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _recorded(world: WorldRuntime, runtime: Runtime) -> Callable[[int], None]:
    recorder = world._recorder
    assert recorder is not None
    return lambda n: recorder._step(runtime, n)


def step_count(n: int, what: str) -> int:
    """A number of steps, zero or more."""
    count = values.count(n, f"n of {what}")
    if count < 0:
        raise ArgumentError(f"{what} needs a non-negative step count, got {count}")
    return count


def start_step(world: WorldRuntime, n: int) -> StepJob:
    """Check what `World.step` checks, then step in the background."""
    count = step_count(n, "start_step")
    job = StepJob(world, count)
    if count == 0:
        job._finish()
        return job
    runtime = world._ready()
    # prepared here, so that the thread only steps
    _ = runtime.sim.stages
    world._begin_call(runtime)
    job._start(runtime)
    return job


async def step_async(world: WorldRuntime, n: int) -> int:
    """Step without holding up the event loop; cancelling the task stops at the end of a step."""
    import asyncio

    job = start_step(world, step_count(n, "step_async"))
    loop = asyncio.get_running_loop()
    finished = loop.create_future()

    def wake() -> None:
        if not finished.done():
            finished.set_result(None)

    def wake_loop() -> None:
        loop.call_soon_threadsafe(wake)

    job._when_done(wake_loop)
    try:
        await finished
    except asyncio.CancelledError:
        job.cancel()
        # a portion of steps at most; the World must be free when the caller goes on
        job.wait()
        raise
    return job.result()
