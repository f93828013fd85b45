# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiling on several processors, the first time a machine runs something.

The compiler works on one stage at a time in a process, whatever the number of threads. So what a world is
about to need is handed to processes beside this one, which put it into the cache on disk, while this one goes
on with what it needs first. A stage that nobody has begun when it is needed is compiled here; one that is
being compiled elsewhere is waited for. Where everything is in the cache nothing of this happens.

WORLDLINE_COMPILE_JOBS says how many processes may compile, this one included. The commands of `worldline` set
it to the number of processors. Without it a program that uses the library starts no other programs: who knows
what `sys.executable` is where Python is a part of something else.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from typing import IO

import numba

from worldline._src.jit import DISABLED, Stage
from worldline._src.kernel_cache import cache_usable
from worldline._src.progress import say

_FEWEST = 3
"""Stages for which it is worth to start a process, which takes two seconds."""
_SERVE = "from worldline._src.compile_ahead import serve; serve()"

_lock = threading.Lock()
_waiting: deque[_Task] = deque()
_workers = 0


class _Task:
    """A stage to be compiled elsewhere."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.done = threading.Event()

    def settle(self) -> None:
        """Return when the stage is in the cache, or when nobody has begun with it."""
        with _lock:
            if self in _waiting:
                _waiting.remove(self)
                return
        if not self.done.wait(0.2):
            say(f"worldline: {self.stage.name} is being compiled on another processor ...", end="")
            self.done.wait()
            say(" done")


def jobs() -> int:
    """How many processes may compile."""
    told = os.environ.get("WORLDLINE_COMPILE_JOBS", "")
    return int(told) if told.isdigit() else 1


def compile_ahead(stages: Iterable[Stage]) -> None:
    """Let other processes compile stages for one world, the first of the list first; returns at once."""
    global _workers
    if DISABLED or jobs() < 2 or not cache_usable():
        return
    missing = [stage for stage in dict.fromkeys(stages) if not stage.is_compiled(numba.float64)]
    if len(missing) < _FEWEST:
        return
    with _lock:
        for stage in missing:
            if (stage, numba.float64) not in Stage.elsewhere:
                task = _Task(stage)
                Stage.elsewhere[stage, numba.float64] = task.settle
                _waiting.append(task)
        wanted = min(jobs() - 1, len(_waiting)) - _workers
        _workers += max(wanted, 0)
    for _ in range(wanted):
        # nobody waits for these at the end of the program
        threading.Thread(target=_work, name="worldline compiler", daemon=True).start()


def _work() -> None:
    """Feed one process until nothing waits."""
    global _workers
    process = _started()
    while process is not None:
        with _lock:
            if not _waiting:
                break
            task = _waiting.popleft()
        if not _compiled(process, task.stage):
            # whatever became of it, the process that needs the stage compiles it
            process.kill()
            process = None
        task.done.set()
    with _lock:
        _workers -= 1
    if process is not None:
        # it ends with what it reads
        process.communicate()


def _started() -> subprocess.Popen[str] | None:
    """A process that compiles what it reads; None where programs may not start others."""
    beside = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WORLDLINE_COMPILE_JOBS": "1"}
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **beside, "WORLDLINE_QUIET": "1"},
            text=True,
        )
    except OSError:
        return None


def _compiled(process: subprocess.Popen[str], stage: Stage) -> bool:
    """Whether a process has compiled a stage."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(f"{stage.function.__module__} {stage.name}\n")
        process.stdin.flush()
        return process.stdout.readline().strip() == stage.name
    except OSError:
        return False


def serve(orders: IO[str] | None = None, answers: IO[str] | None = None) -> None:
    """Compile the stages that lines name, module and name, and answer each with its name."""
    for line in orders or sys.stdin:
        module, name = line.split()
        importlib.import_module(module)
        Stage.registry[name].address(numba.float64)
        print(name, file=answers or sys.stdout, flush=True)


def _forget() -> None:
    """A forked process has none of the threads, and so nobody else compiles for it."""
    global _lock, _workers
    _lock, _workers = threading.Lock(), 0
    _waiting.clear()
    Stage.elsewhere.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
