# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiling on several processors, the first time a machine runs something.

The compiler works on one stage at a time in a process, whatever the number of threads. So what a world is
about to need is handed to processes beside this one, which put it into the cache on disk, while this one goes
on with what it needs first. A stage that nobody has begun when it is needed is compiled here; while one that
is being compiled elsewhere is waited for, this process compiles others. Where everything is in the cache
nothing of this happens.

WORLDLINE_COMPILE_JOBS says how many processes may compile, this one included. The commands of `worldline` set
it to the number of processors. Without it a program that uses the library starts no other programs: who knows
what `sys.executable` is where Python is a part of something else.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING

from worldline._src import kernel_cache
from worldline._src.jit import DISABLED, ELSEWHERE, Entry, Stage, Unit
from worldline._src.kernel_cache import cache_usable
from worldline._src.kinds import SCALARS, Kind, float64
from worldline._src.progress import compilations, one_line

if TYPE_CHECKING:
    import subprocess

_FEWEST = 3
"""Stages for which it is worth to start a process, which takes two seconds."""
_SERVE = "from worldline._src.compile_ahead import serve; serve()"

_MORE_SCALARS = ("worldline._src.duals.parameter_kind", "worldline._src.duals.lane_kind")
"""What adds to `SCALARS`; it stands above this file, so it is imported by its name."""

_lock = threading.Lock()
_waiting: deque[_Task] = deque()
_workers = 0


class _Task:
    """A unit to be compiled elsewhere."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.done = threading.Event()

    def settle(self) -> None:
        """Return when the unit is in the cache, or when nobody has begun with it.

        While another process has it, this one compiles from the end of what waits.
        """
        with _lock:
            if self in _waiting:
                _waiting.remove(self)
                compilations.expect(-1)
                return
        while not self.done.is_set():
            with _lock:
                other = _waiting.pop() if _waiting else None
            if other is None:
                self.done.wait()
                return
            try:
                other.unit.compile()
            finally:
                compilations.expect(-1)
                other.done.set()


def jobs() -> int:
    """How many processes may compile."""
    asked = os.environ.get("WORLDLINE_COMPILE_JOBS", "")
    return int(asked) if asked.isdigit() else 1


def compile_ahead(wanted: Iterable[Stage | Entry], scalar: Kind = float64) -> None:
    """Let other processes compile stages for a scalar, and entries, the first of the list first.

    Returns at once.
    """
    global _workers
    if DISABLED or jobs() < 2:
        return
    units = [one.unit(scalar) if isinstance(one, Stage) else one.unit() for one in dict.fromkeys(wanted)]
    missing = [unit for unit in units if not unit.is_ready()]
    if len(missing) < _FEWEST or not cache_usable():
        return
    one_line()
    with _lock:
        for unit in missing:
            if (unit.function, unit.variant) not in ELSEWHERE:
                task = _Task(unit)
                ELSEWHERE[unit.function, unit.variant] = task.settle
                _waiting.append(task)
                compilations.expect(1)
        wanted_workers = min(jobs() - 1, len(_waiting)) - _workers
        _workers += max(wanted_workers, 0)
    for _ in range(wanted_workers):
        # nobody waits for these at the end of the program
        threading.Thread(target=_work, name="worldline compiler", daemon=True).start()


def _work() -> None:
    """Feed one process until nothing waits."""
    global _workers

    def take() -> _Task | None:
        with _lock:
            return _waiting.popleft() if _waiting else None

    def finish(task: _Task, good: bool, seconds: float) -> None:
        # whatever became of it, the process that needs the stage compiles it
        compilations.advance()
        task.done.set()

    process = _fed(take, finish)
    with _lock:
        _workers -= 1
    _end(process)


def _fed(
    take: Callable[[], _Task | None], finish: Callable[[_Task, bool, float], None]
) -> subprocess.Popen[str] | None:
    """Let one process compile what `take` returns, until that is None; the process, if it still runs.

    `finish` hears of each whether it is compiled, and after how many seconds. A process that fails is
    replaced, unless it failed at the first unit it was given.
    """
    process, fresh = _started(), True
    while process is not None and (task := take()) is not None:
        start = time.perf_counter()
        good = _compiled(process, task.unit)
        if not good:
            process.kill()
            _end(process)
            process = None if fresh else _started()
        fresh = not good
        finish(task, good, time.perf_counter() - start)
    return process


def _end(process: subprocess.Popen[str] | None) -> None:
    """Wait for a process, which ends with what it reads."""
    if process is not None:
        process.communicate()


def _started() -> subprocess.Popen[str] | None:
    """A process that compiles what it reads; None where programs may not start others."""
    settings = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "WORLDLINE_COMPILE_JOBS": "1"}
    import subprocess

    try:
        return subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **settings, "WORLDLINE_QUIET": "1"},
            text=True,
        )
    except OSError:
        return None


def _compiled(process: subprocess.Popen[str], unit: Unit) -> bool:
    """Whether a process has compiled a unit."""
    assert process.stdin is not None and process.stdout is not None
    order = f"{unit.function.__module__} {unit.function.__name__} {unit.variant}"
    try:
        process.stdin.write(f"{order}\n")
        process.stdin.flush()
        return process.stdout.readline().strip() == order
    except OSError:
        return False


def serve(orders: IO[str] | None = None, answers: IO[str] | None = None) -> None:
    """Compile the units that lines name, by module, function and variant, and answer each with its line."""
    for count, line in enumerate(orders or sys.stdin):
        module, name, variant = line.split()
        importlib.import_module(module)
        if count == 0:
            # the compiler and all stages stay: looking through them again and again is a tenth of the time
            gc.freeze()
        unit = _unit(module, name, variant)
        if not kernel_cache.is_cached(unit.function, unit.variant):
            unit.compile()
        print(line.strip(), file=answers or sys.stdout, flush=True)
    # nor is what the compiler left taken apart at the end, which takes seconds
    gc.freeze()


def _unit(module: str, name: str, variant: str) -> Unit:
    """A unit by its name."""
    for scalars in _MORE_SCALARS:
        importlib.import_module(scalars)
    if variant in SCALARS:
        return Stage.registry[name].unit(SCALARS[variant])
    entries = (one.unit() for one in Entry.registry if (one.__module__, one.__name__) == (module, name))
    return next(unit for unit in entries if unit.variant == variant)


def compile_all(
    units: Sequence[Unit], jobs: int, report: Callable[[Unit, float], None] = lambda unit, seconds: None
) -> None:
    """Compile units into the cache with several processes, the largest first.

    `report` follows each, with the seconds it took.
    """
    waiting = deque(_Task(unit) for unit in sorted(units, key=_size, reverse=True))
    left: list[Unit] = []

    def take() -> _Task | None:
        try:
            return waiting.popleft()
        except IndexError:
            return None

    def finish(task: _Task, good: bool, seconds: float) -> None:
        if good:
            report(task.unit, seconds)
            compilations.advance()
        else:
            left.append(task.unit)
            compilations.expect(-1)

    one_line()
    compilations.expect(len(units))
    count = min(jobs, len(units))
    threads = [threading.Thread(target=lambda: _end(_fed(take, finish)), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compilations.expect(-len(waiting))
    # whatever became of the others, an error of the compiler is to be seen here
    for unit in [*left, *(task.unit for task in waiting)]:
        start = time.perf_counter()
        unit.compile()
        report(unit, time.perf_counter() - start)


def _size(unit: Unit) -> int:
    """How much source a unit is made from, which goes with the time to compile it."""
    return sum(len(kernel_cache.SOURCES.text(path)) for path in kernel_cache.SOURCES.of(unit.function))


def _forget() -> None:
    """A forked process has none of the threads, and so nobody else compiles for it."""
    global _lock, _workers
    _lock, _workers = threading.Lock(), 0
    _waiting.clear()
    ELSEWHERE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
