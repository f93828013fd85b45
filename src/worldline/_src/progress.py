# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Progress lines for long work.

Most work is done long before, so waiting for it must cost next to nothing: one thread looks after all of it,
a few times a second, and goes away when there has been nothing to look after for a while.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds before a line appears."""

_GLANCE = 0.1
_IDLE_GLANCES = 30
_lock = threading.Lock()
_jobs: list[_Job] = []
_watched = False


class _Job:
    """Work under way: what it is, when it is to be spoken of, and whether it was."""

    __slots__ = ("due", "said", "what")

    def __init__(self, what: str, due: float) -> None:
        self.what = what
        self.due = due
        self.said = False


def say(text: str, end: str = "\n") -> None:
    """Write to standard error, unless WORLDLINE_QUIET is set."""
    if not os.environ.get("WORLDLINE_QUIET"):
        print(text, end=end, file=sys.stderr, flush=True)


def _on_terminal() -> bool:
    return sys.stderr.isatty()


def _room() -> int:
    """Letters that a line of the terminal has room for; a longer one could not be drawn anew."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = 0
    return (columns or 80) - 1


class Bar:
    """One line for many pieces of work: a bar, how many are done, and the time left.

    Drawn anew on a terminal; elsewhere a line when work begins and one when all of it is done. More may come
    while there is some; when all is done the line ends, and the next piece begins another.
    """

    WIDTH = 20
    FALL = 0.7
    """Slow pieces are begun first: piece k takes k^-FALL of the time of the first."""
    FEWEST = 8
    """Pieces from which the time left is known; half of them where there are few."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._lock = threading.Lock()
        self._total = self._done = self._drawn = 0
        self._start = 0.0

    def expect(self, count: int) -> None:
        """So many pieces more are to be done, or fewer where `count` is negative."""
        with self._lock:
            if count > 0 and self._total == 0:
                self._start = time.perf_counter()
                if not _on_terminal():
                    say(f"worldline: {self.what} ...")
            self._total += count
            self._draw()

    def advance(self) -> None:
        """One piece is done."""
        with self._lock:
            self._done += 1
            self._draw()

    def _draw(self) -> None:
        seconds = time.perf_counter() - self._start
        if self._done >= self._total:
            if self._done:
                text = f"worldline: {self.what}: {self._done} in {seconds:.0f} s"
                say(f"\r{text.ljust(self._drawn)}" if self._drawn else text)
            self._total = self._done = self._drawn = 0
        elif _on_terminal():
            rest = ""
            if self._done >= min(self.FEWEST, 0.5 * self._total):
                left = seconds * (self._work(self._total) / self._work(self._done) - 1.0)
                rest = f", about {left:.0f} s left"
            # the last line has what is in brackets
            head = f"worldline: {self.what.partition(' (')[0]} ["
            tail = f"] {self._done} of {self._total}{rest}"
            width = max(min(self.WIDTH, _room() - len(head) - len(tail)), 0)
            filled = width * self._done // self._total
            text = (head + "#" * filled + "." * (width - filled) + tail)[: _room()]
            say(f"\r{text.ljust(self._drawn)}", end="")
            self._drawn = max(self._drawn, len(text))

    def hide(self) -> None:
        """Take the line off the terminal, before other text is written; the next piece draws it anew."""
        with self._lock:
            if self._drawn:
                say(f"\r{' ' * self._drawn}\r", end="")
                self._drawn = 0

    def _work(self, count: int) -> float:
        """Time that the first pieces take, in times of the first."""
        return sum(k**-self.FALL for k in range(1, count + 1))


compilations = Bar("compiling kernels (once per machine)")
"""What this process and those beside it compile; see `one_line`."""
_one_line = False


def one_line() -> None:
    """From now on, show all that is compiled on one line, as several processes compile at a time."""
    global _one_line
    _one_line = True


@contextlib.contextmanager
def compiling(what: str) -> Iterator[None]:
    """Say that something is compiled here, and how long it took.

    On a terminal the line is gone afterwards, since one program may compile dozens.
    """
    if _one_line:
        compilations.expect(1)
        try:
            yield
        finally:
            compilations.advance()
        return
    text, terminal = f"worldline: compiling {what} (once per machine) ...", _on_terminal()
    text = text[: _room()] if terminal else text
    say(text, end="")
    start = time.perf_counter()
    try:
        yield
    finally:
        if terminal:
            say(f"\r{' ' * len(text)}\r", end="")
        else:
            say(f" {time.perf_counter() - start:.1f} s")


def _watch() -> None:
    global _watched
    idle = 0
    while True:
        time.sleep(_GLANCE)
        with _lock:
            idle = 0 if _jobs else idle + 1
            if idle > _IDLE_GLANCES:
                _watched = False
                return
            now = time.perf_counter()
            for job in _jobs:
                if now >= job.due and not job.said:
                    job.said = True
                    say(f"worldline: {job.what} ...", end="")


def _forget() -> None:
    """A forked process has the list of jobs but not the thread that watches it, nor a sound lock."""
    global _watched, _lock
    _watched, _lock = False, threading.Lock()
    _jobs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def slow(what: str) -> Iterator[None]:
    """Show a line once the work inside has taken a second, and how long it took in the end."""
    global _watched
    start = time.perf_counter()
    job = _Job(what, start + PATIENCE)
    with _lock:
        _jobs.append(job)
        if not _watched:
            _watched = True
            threading.Thread(target=_watch, name="worldline progress", daemon=True).start()
    try:
        yield
    finally:
        with _lock:
            if job in _jobs:
                _jobs.remove(job)
        if job.said:
            say(f" {time.perf_counter() - start:.1f} s")
