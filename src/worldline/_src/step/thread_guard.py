# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One thread at a time: exclusive access to the arenas of a `Simulation` or a `LaneSimulation`.

Compiled code runs without the interpreter's lock, so a step in one thread and a read in another would meet in
the same memory. `ThreadGuard.busy` says who is inside: nobody, a step, or a read of several parts. Steps wait
for reads and reads for each other; a call that finds a step of another thread is refused.

CPython changes threads at calls and backward jumps, never between a test of an attribute and the assignment
that follows it, nor between a test and the copy of one array. So testing and setting `busy` needs no lock,
which would cost a tenth of a small step, and a read or write of one array only has to test `busy` right
before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any, TypeVar

from worldline._src.errors import BusyError

FREE, STEP, READ = 0, 1, 2
_RULE = (
    "another thread is inside a step of this {0}; one thread at a time may use a {0}: "
    "wait until that step returns, or give every thread a {0} of its own ({1})"
)
_Method = TypeVar("_Method", bound=Callable[..., Any])
_POLL_SECONDS = 1e-5


class ThreadGuard:
    """Access of several threads to one Simulation; a context manager around reads of several parts.

    Args:
        guarded: What the user knows it as.
        copied: How the user gets another one.
    """

    __slots__ = ("_depth", "_owner", "_rule", "_steps_waiting", "busy")

    def __init__(self, guarded: str = "Simulation", copied: str = "copy.deepcopy") -> None:
        self.busy = FREE
        """FREE, STEP or READ."""
        self._owner = 0
        """Thread that is inside and may read; 0 for none, and in a plain step."""
        self._depth = 0
        self._rule = _RULE.format(guarded, copied)
        self._steps_waiting: list[None] = []
        """One entry for each step that waits for reads; new reads let them go first."""

    def __enter__(self) -> None:
        thread = get_ident()
        if self._owner == thread:
            self._depth += 1
            return
        while self.busy == READ or self._steps_waiting:
            time.sleep(_POLL_SECONDS)
        if self.busy:
            raise BusyError(self._rule)
        self.busy = READ
        self._owner, self._depth = thread, 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self.busy = FREE

    def _await_reads(self) -> None:
        while self.busy == READ:
            time.sleep(_POLL_SECONDS)

    def wait(self) -> None:
        """Return when no other thread reads; refuse while another thread steps."""
        if self._owner != get_ident():
            self._await_reads()
            if self.busy:
                raise BusyError(self._rule)

    def take(self) -> None:
        """Enter for a step: waits for reads of other threads, refuses when another step runs."""
        if self._owner == get_ident():
            raise BusyError(self._rule)
        self._steps_waiting.append(None)
        try:
            self._await_reads()
            if self.busy:
                raise BusyError(self._rule)
            self.busy = STEP
        finally:
            self._steps_waiting.pop()

    def adopt(self) -> None:
        """The calling thread may read between the steps that `take` began."""
        self._owner, self._depth = get_ident(), 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A block within a step in which the calling thread, which steps, may read."""
        before = self._owner, self._depth
        self.adopt()
        try:
            yield
        finally:
            self._owner, self._depth = before

    def end(self) -> None:
        """Leave after `take`."""
        self._owner = self._depth = 0
        self.busy = FREE

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """A block that steps: one thread at a time is inside, and may read."""
        self.take()
        try:
            self.adopt()
            yield
        finally:
            self.end()


def exclusive_step(method: _Method) -> _Method:
    """A method of an object with a `guard` that steps: one thread at a time is inside."""

    @wraps(method)
    def step(self: Any, *given: Any, **named: Any) -> Any:
        guard: ThreadGuard = self.guard
        with guard.stepping():
            return method(self, *given, **named)

    return step  # pyright: ignore[reportReturnType]


def between_steps(method: _Method) -> _Method:
    """A method of an object with a `guard` that reads or writes several parts: refused during a step."""

    @wraps(method)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        with self.guard:
            return method(self, *given, **named)

    return call  # pyright: ignore[reportReturnType]
