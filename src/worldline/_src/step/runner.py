# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Run a program of stages over one world, or over many in lanes.

A call enters compiled code once. For every world, or every group of lanes, the runner copies the
operands into the data arena, calls the stages by address, and copies the result out. Groups at the end
are filled up by repeating the last world, so every world takes the same path through the arithmetic and
the result does not depend on how worlds are grouped.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from worldline._src.errors import BusyError
from worldline._src.jit import DISABLED, entry, inline, outline
from worldline._src.kernels.constraints.tables import SHORT
from worldline._src.kinds import DUAL, LANES4, LANES8, float64, int64
from worldline._src.scalar import memory
from worldline._src.spatial.poses import Array

_EXPONENT = 0x7FF0000000000000
"""All exponent bits of a double set: infinity or not a number."""

CHECK = 16
"""Flag of a run: look for operands that are not finite first; bits 0 to 3 mark operands by world."""

_FLOATS, _INTS = "float64[::1] ", "int64[::1] "
_RUN = 2 * _INTS + _FLOATS + _INTS + _FLOATS + _INTS + 5 * _FLOATS + _INTS
_TABLE, _ROWS = "int64[:,::1] ", "float64[:,::1] "


@inline
def call_on_set(address, sets, s, scalar):
    """Call a stage on the arenas m, c, args, d of set `s`; numbers in d are of `scalar`."""
    memory.call_stage(
        address,
        memory.address_as(sets[s, 0], int64),
        memory.address_as(sets[s, 1], float64),
        memory.address_as(sets[s, 2], int64),
        memory.address_as(sets[s, 3], scalar),
    )


@outline
def _bad_row(x, n):
    """The first row of `n` numbers with one that is not finite, or -1."""
    bits = memory.vector(memory.pointer_as(x, int64), 0, x.shape[0])
    bad = 0
    for k in range(x.shape[0]):
        bad |= 1 if (bits[k] & _EXPONENT) == _EXPONENT else 0
    if bad != 0:
        for k in range(x.shape[0]):
            if (bits[k] & _EXPONENT) == _EXPONENT:
                return k // n
    return -1


@inline
def _first_bad(table, x0, x1, x2, x3):
    """-1 when all operands are finite, otherwise 4 * row + operand of the first number that is not."""
    row = _bad_row(x0, table[5])
    if row >= 0:
        return 4 * row
    row = _bad_row(x1, table[6])
    if row >= 0:
        return 4 * row + 1
    row = _bad_row(x2, table[7])
    if row >= 0:
        return 4 * row + 2
    row = _bad_row(x3, table[8])
    if row >= 0:
        return 4 * row + 3
    return -1


@entry(signature=_INTS + 4 * _FLOATS, label="the check of operands")
def _first_bad_entry(table, x0, x1, x2, x3):
    return _first_bad(table, x0, x1, x2, x3)


def first_bad(table: np.ndarray, x0: Array, x1: Array, x2: Array, x3: Array) -> int:
    """-1 when all operands are finite, otherwise 4 * row + operand of the first number that is not."""
    if not DISABLED:
        return _first_bad_entry(table, x0, x1, x2, x3)
    for k, x in enumerate((x0, x1, x2, x3)):
        bad = np.flatnonzero(~np.isfinite(x))
        if bad.size:
            return 4 * int(bad[0] // table[5 + k]) + k
    return -1


@outline
def _copy_in(d, offset, x, n, by_world, w):
    """Copy one operand of one world into the arena."""
    if offset >= 0:
        start = w * n if by_world else 0
        for k in range(n):
            d[offset + k] = x[start + k]


@entry(signature=_RUN, label="the loop over worlds (float)")
def _run_float(program, m, c, args, d, table, x0, x1, x2, x3, out, span):
    """One world after the other.

    table: offsets of the four operands and of the result, then how many numbers each has. span: the first
    world, the one after the last, and flags; an array, since numbers cost more in a call from Python.
    """
    low, high, flags = span[0], span[1], span[2]
    if flags & CHECK:
        bad = _first_bad(table, x0, x1, x2, x3)
        if bad >= 0:
            return bad
    result, n = table[4], table[9]
    for w in range(low, high):
        _copy_in(d, table[0], x0, table[5], flags & 1, w)
        _copy_in(d, table[1], x1, table[6], flags & 2, w)
        _copy_in(d, table[2], x2, table[7], flags & 4, w)
        _copy_in(d, table[3], x3, table[8], flags & 8, w)
        for k in range(program.shape[0]):
            memory.call_stage(
                program[k], memory.pointer(m), memory.pointer(c), memory.pointer(args), memory.pointer(d)
            )
        for k in range(n):
            out[w * n + k] = d[result + k]
    return -1


@entry(signature=_INTS, label="a bound call")
def _run_bound(call):
    """One world, with the addresses of arrays that were checked when they were bound; see `_addresses`.

    Returns the number of the first operand that is not finite, or -1.
    """
    program, d = memory.vector(memory.address_as(call[0], int64), 0, call[1]), call[5]
    table = memory.vector(memory.address_as(call[6], int64), 0, 10)
    for k in range(4):
        x = memory.vector(memory.address_as(call[7 + k], float64), 0, table[5 + k])
        if _bad_row(x, table[5 + k]) >= 0:
            return k
    for k in range(4):
        if table[k] >= 0:
            x = memory.vector(memory.address_as(call[7 + k], float64), 0, table[5 + k])
            y = memory.vector(memory.address_as(d, float64), table[k], table[5 + k])
            for j in range(x.shape[0]):
                y[j] = x[j]
    for k in range(program.shape[0]):
        memory.call_stage(
            program[k],
            memory.address_as(call[2], int64),
            memory.address_as(call[3], float64),
            memory.address_as(call[4], int64),
            memory.address_as(d, float64),
        )
    result = memory.vector(memory.address_as(d, float64), table[4], table[9])
    out = memory.vector(memory.address_as(call[11], float64), 0, table[9])
    for k in range(out.shape[0]):
        out[k] = result[k]
    return -1


def _addresses(call: tuple[Any, ...]) -> np.ndarray:
    """Addresses of the arrays of a call, without those that say which worlds it is for."""
    program, *arrays = call[:-1]
    return np.array([program.ctypes.data, len(program), *(one.ctypes.data for one in arrays)], np.int64)


@outline
def _gather(data, d, width, offset, x, n, by_world, w, last):
    """Copy one operand of `width` worlds from `w` on into lanes."""
    if offset >= 0:
        done = 0
        if by_world and w + width - 1 <= last:
            while done + width <= n:
                memory.gather_block(data, offset + done, x, w * n + done, n)
                done += width
        for lane in range(width):
            start = min(w + lane, last) * n if by_world else 0
            for k in range(done, n):
                d[(offset + k) * width + lane] = x[start + k]


@inline
def _run_lanes(program, m, c, args, data, d, table, x0, x1, x2, x3, out, low, high, flags, width):
    """`width` worlds at a time; a last group that is not full repeats its last world."""
    if flags & CHECK:
        bad = _first_bad(table, x0, x1, x2, x3)
        if bad >= 0:
            return bad
    result, n = table[4], table[9]
    for w in range(low, high, width):
        _gather(data, d, width, table[0], x0, table[5], flags & 1, w, high - 1)
        _gather(data, d, width, table[1], x1, table[6], flags & 2, w, high - 1)
        _gather(data, d, width, table[2], x2, table[7], flags & 4, w, high - 1)
        _gather(data, d, width, table[3], x3, table[8], flags & 8, w, high - 1)
        for k in range(program.shape[0]):
            memory.call_stage(program[k], memory.pointer(m), memory.pointer(c), memory.pointer(args), data)
        done = 0
        if w + width <= high:
            while done + width <= n:
                memory.scatter_block(data, result + done, out, w * n + done, n)
                done += width
        for lane in range(min(width, high - w)):
            for k in range(done, n):
                out[(w + lane) * n + k] = d[(result + k) * width + lane]
    return -1


@entry(signature=_RUN, label="the loop over worlds (lanes4)")
def _run_lanes4(program, m, c, args, d, table, x0, x1, x2, x3, out, span):
    data = memory.pointer_as(d, LANES4)
    low, high, flags = span[0], span[1], span[2]
    return _run_lanes(program, m, c, args, data, d, table, x0, x1, x2, x3, out, low, high, flags, 4)


@entry(signature=_RUN, label="the loop over worlds (lanes8)")
def _run_lanes8(program, m, c, args, d, table, x0, x1, x2, x3, out, span):
    data = memory.pointer_as(d, LANES8)
    low, high, flags = span[0], span[1], span[2]
    return _run_lanes(program, m, c, args, data, d, table, x0, x1, x2, x3, out, low, high, flags, 8)


@entry(signature=_RUN, label="the loop over worlds (dual)")
def _run_dual(program, m, c, args, d, table, x0, x1, x2, x3, out, span):
    """Operands and result alternate value and slope: a number is two doubles of one world."""
    data = memory.pointer_as(d, DUAL)
    low, high, flags = span[0], span[1], span[2]
    n = 2 * table[9]
    for w in range(low, high):
        _copy_in(d, 2 * table[0], x0, 2 * table[5], flags & 1, w)
        _copy_in(d, 2 * table[1], x1, 2 * table[6], flags & 2, w)
        _copy_in(d, 2 * table[2], x2, 2 * table[7], flags & 4, w)
        _copy_in(d, 2 * table[3], x3, 2 * table[8], flags & 8, w)
        for k in range(program.shape[0]):
            memory.call_stage(program[k], memory.pointer(m), memory.pointer(c), memory.pointer(args), data)
        for k in range(n):
            out[w * n + k] = d[2 * table[4] + k]
    return -1


@outline
def beyond(d, at, n, stride, limit):
    """The first of `n` numbers from `at` on, `stride` apart, that is not within +-limit, or -1."""
    for k in range(n):
        if not abs(d[at + k * stride]) <= limit:
            return k
    return -1


@outline
def within(d, at, n, limit):
    """True when all of `n` numbers are within +-limit, which no number is that is not one."""
    bad = 0
    for k in range(n):
        bad |= 0 if abs(d[at + k]) <= limit else 1
    return bad == 0


@inline
def _copy_rows(sets, keep, back):
    """Copy the parts that a diverged step puts back to where they are kept, or back."""
    for r in range(keep.shape[0]):
        n, at, kept = keep[r, 2], keep[r, 1], keep[r, 4]
        block = memory.vector(memory.address_as(sets[keep[r, 0], 3], float64), at, n)
        copy = memory.vector(memory.address_as(sets[keep[r, 3], 3], float64), kept, n)
        for k in range(n):
            if back:
                block[k] = copy[k]
            else:
                copy[k] = block[k]


@inline
def _first_beyond(sets, checks, limits, record_out):
    """Quantity, index and value of the first number beyond its limit."""
    for r in range(checks.shape[0]):
        at, n = checks[r, 1], checks[r, 2]
        d = memory.vector(memory.address_as(sets[checks[r, 0], 3], float64), 0, at + n)
        k = beyond(d, at, n, 1, limits[r])
        if k >= 0:
            record_out[1], record_out[2], record_out[3] = checks[r, 3], k, d[at + k]
            return


@inline
def _good(sets, checks, limits):
    """Whether every number that is checked is within its limit."""
    good = True
    for r in range(checks.shape[0]):
        d = memory.vector(memory.address_as(sets[checks[r, 0], 3], float64), 0, checks[r, 1] + checks[r, 2])
        good &= within(d, checks[r, 1], checks[r, 2], limits[r])
    return good


@entry(
    signature=4 * _TABLE + _ROWS + 2 * _FLOATS + _INTS + "int64",
    label="the loop over steps",
)
def _advance(program, sets, keep, checks, limits, clock, record, resume, n):
    """Up to `n` steps of one world in place; returns how many were good.

    program: address and set of arenas of every stage, and for stages that look whether there is room the
    stage that goes on once there is, otherwise -1. sets: addresses of m, c, args, d of every set. keep:
    what is put back when a step diverges: its set, where it is, how many numbers, set and place of the copy.
    checks: set, place, count and quantity of numbers that must be within +-limits; a limit on velocities
    would hide an acceleration that is not finite. clock: counters of steps. record: number of the first step
    of this call that diverged, its quantity, index and value; where record[4] is 1 it is kept while it is
    finite. resume: the stage that the first step begins with, which is not 0 for a step that ran out of room
    and goes on.
    """
    for step in range(n):
        first, resume[0] = resume[0], 0
        if first == 0:
            _copy_rows(sets, keep, False)
        for k in range(first, program.shape[0]):
            s = program[k, 1]
            call_on_set(program[k, 0], sets, s, float64)
            if program[k, 2] >= 0 and memory.vector(memory.address_as(sets[s, 2], int64), SHORT, 1)[0] != 0:
                resume[0] = program[k, 2]
                return step
        if not _good(sets, checks, limits[0]):
            lost = record[4] == 0.0 or not _good(sets, checks, limits[1])
            if lost or record[0] == 0.0:
                _first_beyond(sets, checks, limits[0], record)
                record[0] = clock[0] + 1.0
            if lost:
                _copy_rows(sets, keep, True)
                return step
        clock[0] += 1.0
        clock[1] += 1.0
    return n


def first_beyond(sets: Any, checks: np.ndarray, limits: Array) -> tuple[float, ...] | None:
    """Quantity, index and value of the first number beyond its limit, in plain Python; None without one."""
    for (s, at, n, quantity), limit in zip(checks.tolist(), limits.tolist(), strict=True):
        numbers = sets[s][3][at : at + n]
        bad = np.flatnonzero(~(np.abs(numbers) <= limit))
        if bad.size:
            return float(quantity), float(bad[0]), float(numbers[bad[0]])
    return None


def put_back(sets: Any, keep: np.ndarray, back: bool) -> None:
    """Copy the parts that a diverged step puts back to where they are kept, or back, in plain Python."""
    for s, at, n, other, kept in keep.tolist():
        block, copy = sets[s][3][at : at + n], sets[other][3][kept : kept + n]
        if back:
            block[:] = copy
        else:
            copy[:] = block


def judge(
    sets: Any, keep: np.ndarray, checks: np.ndarray, limits: Array, clock: Array, record: Array
) -> bool:
    """Whether a step that was just made stays, in plain Python; a step that diverged is put back."""
    bad = first_beyond(sets, checks, limits[0])
    if bad is not None:
        lost = record[4] == 0.0 or first_beyond(sets, checks, limits[1]) is not None
        if lost or record[0] == 0.0:
            record[0], record[1:4] = clock[0] + 1.0, bad
        if lost:
            put_back(sets, keep, True)
            return False
    clock[:2] += 1.0
    return True


def _advance_python(program, sets, keep, checks, limits, clock, record, resume, n):
    """The same loop as plain Python; program has stages instead of addresses, sets are tuples of arrays."""
    for step in range(n):
        first, resume[0] = int(resume[0]), 0
        if first == 0:
            put_back(sets, keep, False)
        for stage, s, goes_on in program[first:]:
            stage(*sets[s])
            if goes_on >= 0 and sets[s][2][SHORT] != 0:
                resume[0] = goes_on
                return step
        if not judge(sets, keep, checks, limits, clock, record):
            return step
    return n


def _run_python(program, m, c, args, d, table, x0, x1, x2, x3, out, span):
    """The same loop as plain Python, for tracing and debugging; program is a tuple of stages."""
    low, high, flags = span.tolist()
    if flags & CHECK:
        bad = first_bad(table, x0, x1, x2, x3)
        if bad >= 0:
            return bad
    n = int(table[9])
    for w in range(low, high):
        for k, x in enumerate((x0, x1, x2, x3)):
            offset, size = int(table[k]), int(table[5 + k])
            if offset >= 0:
                start = w * size if flags & (1 << k) else 0
                d[offset : offset + size] = x[start : start + size]
        for stage in program:
            stage(m, c, args, d)
        out[w * n : (w + 1) * n] = d[table[4] : table[4] + n]
    return -1


RUNNERS = {
    "float": _run_float,
    "lanes4": _run_lanes4,
    "lanes8": _run_lanes8,
    "dual": _run_dual,
}


def advancer() -> Any:
    """The compiled loop over steps of one world; compiled on first use and announced then."""
    return _advance_python if DISABLED else _advance.ready()


def once(advance: Any, call: tuple[Any, ...]) -> Callable[[], int]:
    """One step of a loop over steps with these operands: of `advancer`, or one that does more."""
    if not DISABLED and advance is _advance.ready():
        return _advance.bound(*call, 1, alone=False)
    return functools.partial(advance, *call, 1)


def bound(call: tuple[Any, ...]) -> Callable[[], int]:
    """The loop over one world with these operands, which returns -1 or the number of one that is not finite.

    The operands live as long as what is returned.
    """
    if DISABLED:
        return _one_at_a_time(functools.partial(_run_python, *call))
    made = _run_bound.bound(_addresses(call))
    made.operands = call  # type: ignore[attr-defined]
    return made


def _one_at_a_time(run: Callable[[], int]) -> Callable[[], int]:
    """A call that refuses a second thread, which plain Python lets in, and compiled code does not."""
    lock = threading.Lock()

    def call() -> int:
        if not lock.acquire(blocking=False):
            raise BusyError("another thread is inside this bound call; bind one for each thread")
        try:
            return run()
        finally:
            lock.release()

    return call


def runner(name: str) -> Any:
    """The compiled loop for a scalar; compiled on first use and announced then."""
    if DISABLED:
        return _run_python
    _first_bad_entry.ready()
    return RUNNERS[name].ready()
