# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Interrupts during work on several threads: raised after all threads have finished."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread


def watched(work: Callable[[], None], done: Event, failed: list[BaseException]) -> Callable[[], None]:
    """Work for another thread: `done` is set at its end, and what it raised is in `failed`."""

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    return run


def uninterrupted(work: Callable[[], None]) -> None:
    """Do work in a thread of its own; an interrupt of this one is raised when the work is done."""
    failed: list[BaseException] = []
    # an interrupted Thread.join() takes a thread for ended that still runs
    done = Event()
    thread, interrupt = Thread(target=watched(work, done, failed), name="worldline steps in lanes"), None
    while not done.is_set():
        try:
            if thread.ident is None:
                thread.start()
            done.wait()
        except KeyboardInterrupt as error:
            interrupt = error
    if failed:
        raise failed[0]
    if interrupt is not None:
        raise interrupt
