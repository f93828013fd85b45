# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands of one world solved by several threads, with the bits of one.

The thread that steps writes the number of islands on a *board*, an array that all threads see. Every thread
takes the next island until none is left, so that none waits for another except at the end. Islands write to
different elements of the arrays of a step, apart from scratch and counters, of which every thread has its own
(`island_helpers.py`). Rows are recorded thread by thread and put in the order of islands at the end.
"""

from __future__ import annotations

from worldline._src.jit import entry, inline
from worldline._src.kernels.constraints import tables as r
from worldline._src.kinds import float64, int64
from worldline._src.scalar.memory import (
    address_as,
    atomic_add,
    atomic_load,
    atomic_store,
    call_stage,
    matrix,
    vector,
    wait_a_moment,
)

# the board: islands that nobody has taken yet, islands that are solved, 1 while a call of steps is open; each
# on a cache line of its own
LEFT, DONE, OPEN = 0, 8, 16
# islands of the step, threads that help, fewest islands to be shared, address of the notes on islands, m of
# the thread that steps, c and d of all
COUNT, HELPERS, LEAST, NOTES, OWN_M, SHARED_C, SHARED_D = range(24, 31)
HELPER, HELPER_SIZE = 32, 2
"""Where the addresses of m and args of the first thread that helps stand, and how many numbers each has."""
THREAD, FIRST_ROW, LAST_ROW, ORDER = range(4)
"""Notes on an island: who solved it, and its rows in the records of that thread; the order of islands."""
NOTE = 4
PATIENCE = 5_000
"""How often a thread looks for islands before it lets go of the processor: some tenths of a millisecond."""

_ADDED = (
    *(r.ALL_ROWS, r.UNCONVERGED, r.SUBSTITUTED, r.DROPPED, r.ACTIVE_LIMITS, r.LOCKED, r.JAMMED),
    *(r.BY_NEWTON, r.BY_IMPULSES, r.BY_SWEEPS, r.BY_PIVOTING),
)
"""Counters that islands add to."""
_LARGEST = (r.ITERATIONS, r.IS_SPLIT, r.RESTITUTION_LIMITED)
"""Counters that islands raise."""


@inline
def are_shared(args, island):
    """Whether several threads solve the islands of this step.

    Prescribed trees may touch several islands, which then share columns.
    """
    if args[r.BOARD] == 0:
        return False
    board = vector(address_as(args[r.BOARD], int64), 0, HELPER)
    shared = island.counter[r.ISLANDS] >= board[LEAST]
    for t in range(island.tree_prescribed.shape[0]):
        if island.tree_prescribed[t] != 0:
            shared = False
    return shared


@inline
def _order_islands(island, note_out):
    """Islands of more contacts and trees than the mean come first, so that no thread ends with such a one."""
    count = note_out.shape[0]
    total, n = island.island_trees[count] + island.island_contacts[count], 0
    for rest in range(2):
        for i in range(count):
            own = island.island_trees[i + 1] - island.island_trees[i]
            own += island.island_contacts[i + 1] - island.island_contacts[i]
            if (own * count <= total) == (rest == 1):
                note_out[n, ORDER] = i
                n += 1


@inline
def _solve_taken(board, left, thread, m, c, args, d):
    """Solve the island that was taken when `left` were left, and note where its rows are."""
    counter = r.link_view(m, c, args, d).counter
    note = matrix(address_as(board[NOTES], int64), 0, board[COUNT], NOTE)
    i = note[board[COUNT] - left, ORDER]
    counter[r.ISLAND] = i
    note[i, THREAD], note[i, FIRST_ROW] = thread, counter[r.ALL_ROWS]
    call_stage(r.program_view(m, c, args, d).program[r.ISLAND_LINK], m, c, args, d)
    note[i, LAST_ROW] = counter[r.ALL_ROWS]
    atomic_add(board, DONE, 1)


@inline
def _open_helper(links, m, c, args, d):
    """Options and counters of a thread that helps, at the beginning of a step."""
    own = r.link_view(m, c, args, d)
    for k in range(r.BOARD):
        args[k] = links.link[k]
    for k in range(r.OPTIONS):
        own.option[k] = links.option[k]
    for k in range(r.COUNTERS):
        own.counter[k] = links.counter[k]
    for k in _ADDED:
        own.counter[k] = 0


@inline
def _close_helper(links, m, c, args, d):
    """What a thread counted."""
    own = r.link_view(m, c, args, d)
    for k in _ADDED:
        links.counter[k] += own.counter[k]
    for k in _LARGEST:
        links.counter[k] = max(links.counter[k], own.counter[k])
    links.option[r.RESIDUAL] = max(links.option[r.RESIDUAL], own.option[r.RESIDUAL])


@inline
def _take_rows(records, own, first, last, at):
    """Rows of an island from the records of the thread that solved it to those of all."""
    for k in range(first, last):
        row = at + k - first
        records.row_of[row, 0], records.row_of[row, 1] = own.row_of[k, 0], own.row_of[k, 1]
        records.residual[row], records.force[row] = own.residual[k], own.force[k]
        records.missed[row] = own.missed[k]


@inline
def _shift_equalities(island, members, equality_row_io, i, shift):
    """Rows of equalities of island `i` are `shift` further on."""
    for k in range(island.island_trees[i], island.island_trees[i + 1]):
        t = island.island_tree[k]
        for j in range(members.tree_equality[t], members.tree_equality[t + 1]):
            equality = members.equality_order[j]
            if equality_row_io[equality] >= 0:
                equality_row_io[equality] += shift


@inline
def share_islands(m, c, args, d):
    """Solve all islands of the step together with the threads that help."""
    links, island = r.link_view(m, c, args, d), r.island_view(m, c, args, d)
    counter, records = links.counter, r.record_view(m, c, args, d)
    members, equality_row = r.member_view(m, c, args, d), r.equality_view(m, c, args, d).equality_row
    board = vector(address_as(args[r.BOARD], int64), 0, HELPER)
    helpers, count = board[HELPERS], counter[r.ISLANDS]
    ends = vector(address_as(args[r.BOARD], int64), HELPER, HELPER_SIZE * helpers)
    own_m = address_as(board[OWN_M], int64)
    for k in range(helpers):
        _open_helper(links, address_as(ends[2 * k], int64), c, address_as(ends[2 * k + 1], int64), d)

    # rows of this thread come first, as those of every other do in its own records
    before, counter[r.ALL_ROWS] = counter[r.ALL_ROWS], 0
    board[COUNT] = count
    note, at = matrix(address_as(board[NOTES], int64), 0, count, NOTE), before
    _order_islands(island, note)
    atomic_store(board, DONE, 0)
    atomic_store(board, LEFT, count)
    left = atomic_add(board, LEFT, -1)
    while left > 0:
        _solve_taken(board, left, 0, own_m, c, args, d)
        left = atomic_add(board, LEFT, -1)
    while atomic_load(board, DONE) < count:
        wait_a_moment()

    for k in range(helpers):
        _close_helper(links, address_as(ends[2 * k], int64), c, address_as(ends[2 * k + 1], int64), d)
    counter[r.ALL_ROWS] += before
    for i in range(count):
        if island.island_asleep[i] != 0:
            continue
        k, first, last = note[i, THREAD] - 1, note[i, FIRST_ROW], note[i, LAST_ROW]
        if k < 0:
            _take_rows(records, r.record_view(own_m, c, args, d), first, last, at)
        else:
            own = r.record_view(address_as(ends[2 * k], int64), c, address_as(ends[2 * k + 1], int64), d)
            _take_rows(records, own, first, last, at)
        _shift_equalities(island, members, equality_row, i, at - first)
        at += last - first


@entry(signature="int64[::1] int64", label="solving islands on another thread")
def help_islands(board, helper):
    """Take islands from the board until there have been none for a while, or the call of steps is over."""
    at, idle = HELPER + HELPER_SIZE * helper, 0
    while idle < PATIENCE:
        left = atomic_add(board, LEFT, -1) if atomic_load(board, LEFT) > 0 else 0
        if left > 0:
            m, args = address_as(board[at], int64), address_as(board[at + 1], int64)
            c, d = address_as(board[SHARED_C], float64), address_as(board[SHARED_D], float64)
            _solve_taken(board, left, 1 + helper, m, c, args, d)
            idle = 0
        else:
            idle += 1
            wait_a_moment()
    return 0
