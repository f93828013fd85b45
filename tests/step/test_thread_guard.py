# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of `ThreadGuard` one by one: who waits, who is refused, and what is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from worldline import model as wm
from worldline._src.errors import ArgumentError, BusyError
from worldline._src.step.thread_guard import FREE, READ, STEP, ThreadGuard

SOON = 0.05
"""Time in which a thread that is not kept waiting is done [s]."""
LATE = 20.0
"""Time after which a thread that should be done hangs [s]."""


class Other:
    """A call in another thread: its error, and whether it has returned."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.error = error

    def waits(self) -> bool:
        self._thread.join(SOON)
        return self._thread.is_alive()

    def done(self) -> BaseException | None:
        self._thread.join(LATE)
        assert not self._thread.is_alive()
        return self.error


def read(guard: ThreadGuard) -> None:
    with guard:
        assert guard.busy == READ


def step(guard: ThreadGuard) -> None:
    guard.take()
    guard.end()


def test_reads_of_one_thread_nest_and_leave_nothing_behind():
    guard = ThreadGuard()
    with guard:
        with guard:
            assert guard.busy == READ
        # the inner read ended, the outer one goes on: a step of another thread still waits
        assert guard.busy == READ
        stepper = Other(lambda: step(guard))
        assert stepper.waits()
        assert guard.busy == READ
    assert stepper.done() is None
    assert guard.busy == FREE
    assert Other(lambda: read(guard)).done() is None
    # this thread owns nothing any more
    step(guard)


def test_a_read_that_raises_ends():
    guard = ThreadGuard()
    with pytest.raises(KeyError), guard:
        raise KeyError
    assert guard.busy == FREE
    assert Other(lambda: step(guard)).done() is None


def test_reads_of_two_threads_come_one_after_the_other():
    guard = ThreadGuard()
    with guard:
        reader = Other(lambda: read(guard))
        assert reader.waits()
    assert reader.done() is None
    assert guard.busy == FREE


def test_single_reads_wait_for_reads_and_pass_in_their_own():
    guard = ThreadGuard()
    guard.wait()
    with guard:
        guard.wait()
        single = Other(guard.wait)
        assert single.waits()
    assert single.done() is None


def test_everything_of_another_thread_is_refused_during_a_step():
    guard = ThreadGuard()
    guard.take()
    assert guard.busy == STEP
    for call in (lambda: read(guard), guard.wait, guard.take):
        error = Other(call).done()
        assert isinstance(error, BusyError) and "one thread at a time" in str(error)
        assert guard.busy == STEP
    guard.end()
    assert guard.busy == FREE
    for call in (lambda: read(guard), guard.wait, lambda: step(guard)):
        assert Other(call).done() is None
    # a refused step waits no more, or reads would wait for it for ever
    read(guard)


def test_a_step_within_a_read_of_its_own_thread_is_refused():
    """It would wait for itself."""
    guard = ThreadGuard()
    with guard:
        with pytest.raises(BusyError):
            guard.take()
        assert guard.busy == READ
    step(guard)


def test_a_waiting_step_goes_before_new_reads():
    guard = ThreadGuard()
    with guard:
        stepper = Other(lambda: step(guard))
        assert stepper.waits()
        assert guard._steps_waiting == [None]
    assert stepper.done() is None and guard._steps_waiting == []
    # a step that is about to enter: nobody is inside, and a read waits all the same
    guard._steps_waiting.append(None)
    reader = Other(lambda: read(guard))
    assert reader.waits()
    guard._steps_waiting.pop()
    assert reader.done() is None


def test_between_the_steps_of_many_their_thread_may_read():
    guard = ThreadGuard()
    guard.take()
    with guard.reading():
        guard.wait()
        with guard:
            assert guard.busy == STEP
        assert guard.busy == STEP
        assert isinstance(Other(guard.wait).done(), BusyError)
    # the block is over: the thread that steps may not read any more
    with pytest.raises(BusyError):
        guard.wait()
    guard.end()


def test_a_step_that_ends_is_owned_by_nobody():
    guard = ThreadGuard()
    guard.take()
    guard.adopt()
    guard.wait()
    guard.end()
    assert guard.busy == FREE
    step(guard)
    with guard:
        assert guard.busy == READ
    assert guard.busy == FREE


# ---- simulations without a World


def ball_model() -> wm.Model:
    builder = wm.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(mass=1.0), radius=0.1)
    builder.add_ground_plane()
    return builder.finalize()


SIMULATIONS: dict[str, Callable[[wm.Model], Any]] = {
    "Simulation": lambda model: wm.Simulation(model, 0.001),
    "LaneSimulation": lambda model: wm.LaneSimulation(model, 64, time_step=0.001),
}


@pytest.mark.parametrize("name", SIMULATIONS)
def test_threads_that_step_one_simulation_lose_no_step(name: str) -> None:
    # four threads in one Simulation were a bus error, and a LaneSimulation lost frames
    model = ball_model()
    shared, alone = SIMULATIONS[name](model), SIMULATIONS[name](model)
    for simulation in (shared, alone):
        simulation.q[..., 2] = 0.5
    made: list[int] = []
    refused: list[str] = []

    def work() -> None:
        for _ in range(40):
            try:
                shared.step(25)
                made.append(25)
            except BusyError as error:
                refused.append(str(error))

    calls = [Other(work) for _ in range(4)]
    assert [call.done() for call in calls] == [None] * 4
    assert all(f"this {name}" in words for words in refused)
    alone.step(sum(made))
    assert shared.frame == sum(made) == 25 * (160 - len(refused))
    np.testing.assert_array_equal(shared.q, alone.q)


@pytest.mark.parametrize("name", SIMULATIONS)
@pytest.mark.parametrize("call", ["step", "reset", "deepcopy"])
def test_a_simulation_refuses_calls_while_another_thread_steps(name: str, call: str) -> None:
    simulation = SIMULATIONS[name](ball_model())
    calls = {"step": simulation.step, "reset": simulation.reset, "deepcopy": lambda: deepcopy(simulation)}
    simulation.guard.take()
    assert isinstance(Other(calls[call]).done(), BusyError)
    simulation.guard.end()
    calls[call]()


@pytest.mark.parametrize("name", SIMULATIONS)
def test_a_step_that_fails_leaves_the_simulation_free(name: str) -> None:
    simulation = SIMULATIONS[name](ball_model())
    with pytest.raises(ArgumentError, match="step count"):
        simulation.step(-1)
    assert simulation.guard.busy == FREE
    simulation.divergence_policy = "reset"
    simulation.v[..., 0] = 1e11
    simulation.step(3)
    assert simulation.guard.busy == FREE
    np.testing.assert_array_equal(simulation.v[..., 0], 0.0)
