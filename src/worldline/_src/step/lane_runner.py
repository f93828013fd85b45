# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of many worlds in rows: a group of lanes at a time, from the first step to the last.

A group is copied into its arenas once, steps there, and is copied back. Groups at the end are filled up by
repeating the last world, so every world takes the same path through the arithmetic and the result does not
depend on how worlds are grouped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.jit import DISABLED, Stage, entry, inline, outline
from worldline._src.kernels.constraints.tables import SHORT
from worldline._src.kinds import LANES4, LANES8, SINGLE8, SINGLE16, float32, float64, int64
from worldline._src.scalar import memory
from worldline._src.step.evaluate import stage_addresses
from worldline._src.step.runner import beyond, call_on_set, first_beyond, within
from worldline._src.step.step_table import CONSTRAINT

# columns of a table of parts: set of arenas, where in its data arena, how many numbers, where in a row
_SET, _AT, _COUNT, _START = range(4)

STATUS, FRAME, QUANTITY, INDEX, VALUE, STEPS, MODE, MISSING = range(8)
"""Columns of the marks of a world: status, the step that diverged first, quantity, index and value of its
first number beyond a limit, steps made, 1 where steps that diverged are kept while they are finite, what its
group was short of in these steps, which were not made then."""
MARKS = 8
_SIGNATURE = 6 * "int64[:,::1] " + 5 * "float64[:,::1] " + 3 * "int64 "

NOTED, FROZEN = 1.0, 2.0
"""Statuses beside 0: a step diverged and was kept; the world is at the last state before it diverged."""


@outline
def _spread(d, width, at, n, x, start, stride, w, last, done):
    """Copy numbers of `width` worlds from `w` on into lanes, from the number `done` on."""
    for lane in range(width):
        row = min(w + lane, last) * stride + start
        for k in range(done, n):
            d[(at + k) * width + lane] = x[row + k]


@outline
def _collect(d, width, at, n, x, start, stride, w, last, done):
    """The inverse of `_spread`; worlds past the last one are left out."""
    for lane in range(min(width, last + 1 - w)):
        row = (w + lane) * stride + start
        for k in range(done, n):
            x[row + k] = d[(at + k) * width + lane]


@outline
def _save(sets, state, width, number):
    """Copy the state of a group to where a diverged step is put back from: the last of the sets."""
    saved = memory.address_as(sets[sets.shape[0] - 1, 3], number)
    for p in range(state.shape[0]):
        n = state[p, _COUNT] * width
        d = memory.vector(memory.address_as(sets[state[p, _SET], 3], number), state[p, _AT] * width, n)
        copy = memory.vector(saved, state[p, _START] * width, n)
        for k in range(n):
            copy[k] = d[k]


@outline
def _put_back(sets, state, width, number, lane):
    """The inverse of `_save` for one world of a group."""
    saved = memory.address_as(sets[sets.shape[0] - 1, 3], number)
    for p in range(state.shape[0]):
        n = state[p, _COUNT] * width
        d = memory.vector(memory.address_as(sets[state[p, _SET], 3], number), state[p, _AT] * width, n)
        copy = memory.vector(saved, state[p, _START] * width, n)
        for k in range(lane, n, width):
            d[k] = copy[k]


@outline
def _good(sets, checks, limits, width, number):
    """Whether every number that is checked is within its limit in all worlds of a group."""
    good = True
    for r in range(checks.shape[0]):
        n = checks[r, _COUNT] * width
        d = memory.vector(memory.address_as(sets[checks[r, _SET], 3], number), checks[r, _AT] * width, n)
        good &= within(d, 0, n, limits[r])
    return good


@outline
def _judge(sets, checks, limits, width, number, lane, mark_io):
    """Note the first number of a world that is beyond its limit; returns 0 when there is none.

    1 when the step is kept although one is, 2 when it is lost.
    """
    for r in range(checks.shape[0]):
        n = checks[r, _COUNT]
        d = memory.vector(
            memory.address_as(sets[checks[r, _SET], 3], number), checks[r, _AT] * width, n * width
        )
        k = beyond(d, lane, n, width, limits[0, r])
        if k >= 0:
            lost = mark_io[MODE] == 0.0
            for q in range(checks.shape[0]):
                m = checks[q, _COUNT]
                e = memory.vector(
                    memory.address_as(sets[checks[q, _SET], 3], number), checks[q, _AT] * width, m * width
                )
                lost |= beyond(e, lane, m, width, limits[1, q]) >= 0
            if lost or mark_io[STATUS] == 0.0:
                mark_io[FRAME], mark_io[QUANTITY] = mark_io[STEPS] + 1.0, checks[r, 3]
                mark_io[INDEX], mark_io[VALUE] = k, d[lane + k * width]
            return 2 if lost else 1
    return 0


@outline
def _settle(sets, state, checks, limits, width, number, marks_io):
    """After a step of a group: count it, and put back the worlds in which it diverged."""
    good = _good(sets, checks, limits[0], width, number)
    for lane in range(marks_io.shape[0]):
        mark = marks_io[lane]
        if mark[STATUS] != FROZEN and not good:
            verdict = _judge(sets, checks, limits, width, number, lane, mark)
            if verdict == 2:
                mark[STATUS] = FROZEN
            elif verdict == 1:
                mark[STATUS] = NOTED
        if mark[STATUS] == FROZEN:
            _put_back(sets, state, width, number, lane)
        mark[STEPS] += 1.0


@inline
def _is_short(sets, marks_io):
    """Whether arrays were too small for a step of a group, which is noted and forgotten."""
    args = memory.address_as(sets[CONSTRAINT, 2], int64)
    short = args[SHORT]
    if short != 0:
        args[SHORT] = 0
        for lane in range(marks_io.shape[0]):
            marks_io[lane, MISSING] = short
    return short != 0


@inline
def _enter(sets, parts, x, w):
    """Copy the row of one world into its arenas."""
    for p in range(parts.shape[0]):
        at, n = parts[p, _AT], parts[p, _COUNT]
        d = memory.vector(memory.address_as(sets[parts[p, _SET], 3], float64), 0, at + n)
        _spread(
            d, 1, at, n, memory.vector(memory.pointer(x), 0, x.size), parts[p, _START], x.shape[1], w, w, 0
        )


@entry(signature=_SIGNATURE, label="the loop over steps of worlds (float)")
def _advance_float(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    """One world after the other; see `_advance_lanes`."""
    for w in range(low, high):
        _enter(sets, own, y, w)
        _enter(sets, state, x, w)
        _enter(sets, inputs, u, w)
        short = False
        for _ in range(steps):
            _save(sets, state, 1, float64)
            for k in range(program.shape[0]):
                call_on_set(program[k, 0], sets, program[k, 1], float64)
            short = _is_short(sets, marks[w : w + 1])
            if short:
                break
            _settle(sets, state, checks, limits, 1, float64, marks[w : w + 1])
        for p in range(0 if short else state.shape[0]):
            at, n = state[p, _AT], state[p, _COUNT]
            d = memory.vector(memory.address_as(sets[state[p, _SET], 3], float64), 0, at + n)
            _collect(
                d,
                1,
                at,
                n,
                memory.vector(memory.pointer(x), 0, x.size),
                state[p, _START],
                x.shape[1],
                w,
                high - 1,
                0,
            )


@inline
def move_rows(sets, parts, x, scalar, number, width, w, last, outward):
    """Copy rows of `width` worlds into their arenas or out of them; squares are transposed in registers."""
    for p in range(parts.shape[0]):
        address, at, n, start = sets[parts[p, _SET], 3], parts[p, _AT], parts[p, _COUNT], parts[p, _START]
        done, flat, stride = 0, memory.vector(memory.pointer(x), 0, x.size), x.shape[1]
        if w + width - 1 <= last:
            while done + width <= n:
                data, row = memory.address_as(address, scalar), w * stride + start + done
                if outward:
                    memory.scatter_block(data, at + done, flat, row, stride)
                else:
                    memory.gather_block(data, at + done, flat, row, stride)
                done += width
        d = memory.vector(memory.address_as(address, number), 0, (at + n) * width)
        if outward:
            _collect(d, width, at, n, flat, start, stride, w, last, done)
        else:
            _spread(d, width, at, n, flat, start, stride, w, last, done)


@inline
def _advance_lanes(
    program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps, scalar, number, width
):
    """`steps` steps of worlds `low` to `high`, `width` at a time; `number` is what scalars consist of.

    program: address and set of arenas of every stage. sets: addresses of m, c, args, d of every set, last
    that of room for the state before a step. state, inputs, own: which parts of the rows of x, read and
    written, of u and of y, read only, go where; y has the parameters of every world, and the sets of its
    parts have constants in the place of data. checks: set, place, count and quantity of numbers that must be
    within +-limits[0]; a step with a number beyond limits[1] is lost. marks: how every world fares, a row
    each; a world that lost a step stays at the state before it. Worlds of a group whose arrays were too small
    for a step keep their rows and are marked.
    """
    for w in range(low, high, width):
        move_rows(sets, own, y, scalar, number, width, w, high - 1, False)
        move_rows(sets, state, x, scalar, number, width, w, high - 1, False)
        move_rows(sets, inputs, u, scalar, number, width, w, high - 1, False)
        short, group = False, marks[w : min(w + width, high)]
        for _ in range(steps):
            _save(sets, state, width, number)
            for k in range(program.shape[0]):
                call_on_set(program[k, 0], sets, program[k, 1], scalar)
            short = _is_short(sets, group)
            if short:
                break
            _settle(sets, state, checks, limits, width, number, group)
        if not short:
            move_rows(sets, state, x, scalar, number, width, w, high - 1, True)


@entry(signature=_SIGNATURE, label="the loop over steps of worlds (lanes4)")
def _advance_lanes4(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    _advance_lanes(
        *(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps),
        LANES4,
        float64,
        4,
    )


@entry(signature=_SIGNATURE, label="the loop over steps of worlds (lanes8)")
def _advance_lanes8(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    _advance_lanes(
        *(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps),
        LANES8,
        float64,
        8,
    )


@entry(signature=_SIGNATURE, label="the loop over steps of worlds (single8)")
def _advance_single8(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    _advance_lanes(
        *(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps),
        SINGLE8,
        float32,
        8,
    )


@entry(signature=_SIGNATURE, label="the loop over steps of worlds (single16)")
def _advance_single16(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    _advance_lanes(
        *(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps),
        SINGLE16,
        float32,
        16,
    )


def _advance_python(program, sets, state, inputs, own, checks, limits, x, u, y, marks, low, high, steps):
    """The same as plain Python; program is pairs of stage and set, sets are tuples of arrays."""
    for w in range(low, high):
        for parts, rows in ((own, y), (state, x), (inputs, u)):
            for s, at, n, start in parts.tolist():
                sets[s][3][at : at + n] = rows[w, start : start + n]
        for _ in range(steps):
            saved = [sets[s][3][at : at + n].copy() for s, at, n, _ in state.tolist()]
            for stage, s in program:
                stage(*sets[s])
            marks[w, MISSING] = sets[CONSTRAINT][2][SHORT]
            if marks[w, MISSING]:
                sets[CONSTRAINT][2][SHORT] = 0
                break
            _settle_python(sets, checks, limits, marks[w])
            if marks[w, STATUS] == FROZEN:
                for (s, at, n, _), numbers in zip(state.tolist(), saved, strict=True):
                    sets[s][3][at : at + n] = numbers
        for s, at, n, start in [] if marks[w, MISSING] else state.tolist():
            x[w, start : start + n] = sets[s][3][at : at + n]


def _settle_python(sets, checks, limits, mark):
    """Count a step of one world, and note whether it diverged."""
    bad = first_beyond(sets, checks, limits[0])
    if mark[STATUS] != FROZEN and bad is not None:
        lost = mark[MODE] == 0.0 or first_beyond(sets, checks, limits[1]) is not None
        if lost or mark[STATUS] == 0.0:
            mark[FRAME], mark[QUANTITY : VALUE + 1] = mark[STEPS] + 1.0, bad
        mark[STATUS] = FROZEN if lost else NOTED
    mark[STEPS] += 1.0


RUNNERS = {
    "float": _advance_float,
    "lanes4": _advance_lanes4,
    "lanes8": _advance_lanes8,
    "single8": _advance_single8,
    "single16": _advance_single16,
}


def lane_runner(scalar: str) -> Any:
    """The compiled loop for a scalar; compiled on first use and announced then."""
    return _advance_python if DISABLED else RUNNERS[scalar].ready()


def program_table(program: Sequence[tuple[Stage, int]], scalar: str, own: bool = False) -> Any:
    """A program as the loop wants it: address and set of every stage, or the pairs without a compiler.

    own: whether every world has parameters of its own, so that constants are of the scalar as well.
    """
    if DISABLED:
        return tuple(program)
    kind = f"{scalar}own" if own and scalar != "float" else scalar
    stages = stage_addresses(tuple(stage for stage, _ in program), kind)
    return np.ascontiguousarray(np.stack([stages, [place for _, place in program]], axis=1))


def set_table(sets: list[tuple[np.ndarray, ...]]) -> Any:
    """Sets of arenas as the loop wants them; they must outlive the table."""
    if DISABLED:
        return sets
    return np.array([[memory.address_of(block) for block in row] for row in sets], np.int64)
