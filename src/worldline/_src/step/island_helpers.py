# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Threads that solve islands beside the one that steps, and the memory that each of them needs.

A thread has its own scratch and counters. They are reached by the stages of one thread through another header
of the arena m: there the offsets of scratch lead to memory of the thread, those of all other columns to the
arenas of the world. What islands have of their own is shared, scratch is not.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.scalar.columns import Block, Column
from worldline._src.scalar.memory import address_of, aligned_zeros
from worldline._src.step import island_sharing as sharing

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation

_SCRATCH = (
    *(t.RowView, t.RowNoteView, t.PgsView, t.PgsWorkView, t.PgsBounceView, t.BoxedView),
    *(t.SolveView, t.BounceView, t.SlipView, t.SweepView, t.MotionView, t.WorkView),
    *(t.BodyTreeView, t.PairBlockView, t.BodyFactorView),
)
"""Views that declare columns of the island at hand."""
_RECORDS = ("row_of", "residual", "force", "missed")
"""Rows of all islands one after the other."""
_OTHERS = ("option", "counter", "column_dof", "base", "equality_bound_axis", "dual_local", *_RECORDS)
"""Columns that more than one island of a step writes to, and that no view above declares."""
_POLL_SECONDS = 1e-4


def scratch_columns() -> tuple[Column, ...]:
    """Columns of which each thread has its own, beside those of the arena m."""
    names = {one.name for view in _SCRATCH for one in vars(view).values() if isinstance(one, Column)}
    names = (names | set(_OTHERS)) - {"a_last"}
    return tuple(one for one in t.TABLE.columns if one.name in names and one.space != "m")


class HelperMemory:
    """What the threads that share the islands of a block have of their own."""

    def __init__(self, block: Block[t.ConstraintColumns], helpers: int) -> None:
        self.block = block
        self.notes = np.zeros((max(block.column.island_trees.size, 1), sharing.NOTE), np.int64)
        records = [t.TABLE.by_name[name] for name in _RECORDS]
        self.own = _Own(block, records, block.args)
        """Of the thread that steps: records of rows, which it puts in order at the end."""
        self.helpers = [_Own(block, scratch_columns()) for _ in range(helpers)]

    @property
    def nbytes(self) -> int:
        """Bytes of it."""
        return self.notes.nbytes + sum(own.nbytes for own in (self.own, *self.helpers))

    def enter(self, board: np.ndarray) -> None:
        """Write the addresses of all of it on a board, and take over the index columns as they are now."""
        for own in (self.own, *self.helpers):
            own.refresh()
        helpers = self.helpers[: int(board[sharing.HELPERS])]
        board[sharing.NOTES], board[sharing.OWN_M] = address_of(self.notes), address_of(self.own.m)
        board[sharing.SHARED_C], board[sharing.SHARED_D] = address_of(self.block.c), address_of(self.block.d)
        ends = [address_of(arena) for own in helpers for arena in (own.m, own.args)]
        board[sharing.HELPER :] = ends


class _Own:
    """The arenas m and args of a thread, and columns of its own.

    args: that of the block where the thread has no other.
    """

    def __init__(
        self, block: Block[t.ConstraintColumns], columns: Sequence[Column], args: np.ndarray | None = None
    ) -> None:
        self._block = block
        # whole cache lines, so that threads do not write to the same
        sizes = {one: -(-block.column[one.name].size // 8) * 8 for one in columns}
        integers = sum(size for one, size in sizes.items() if one.space == "args")
        self._integers = aligned_zeros(t.LINKS + integers, np.int64)
        self._numbers = aligned_zeros(sum(sizes.values()) - integers)
        self.args = self._integers if args is None else args
        self.m = np.zeros_like(block.m)

        # offsets count from the arena that a stage is called with, whatever memory they lead to
        places = {
            t.TABLE.entry[one.name]: int(block.m[t.TABLE.entry[one.name]]) + _between(self.args, block.args)
            for one in t.TABLE.columns
            if one.space == "args"
        }
        integer, number = t.LINKS, 0
        for one, size in sizes.items():
            if one.space == "args":
                place, integer = _between(self.args, self._integers) + integer, integer + size
            else:
                arena = block.c if one.space == "c" else block.d
                place, number = _between(arena, self._numbers) + number, number + size
            places[t.TABLE.entry[one.name]] = place
        self._entries, self._places = np.array(list(places)), np.array(list(places.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        return self.m.nbytes + self._integers.nbytes + self._numbers.nbytes

    def refresh(self) -> None:
        """Take over sizes, offsets and index columns of the block."""
        self.m[:] = self._block.m
        self.m[self._entries] = self._places


def _between(first: np.ndarray, second: np.ndarray) -> int:
    """How many numbers of eight bytes the second block of memory begins after the first."""
    return (address_of(second) - address_of(first)) // 8


class IslandCrew:
    """Threads that solve islands of one Simulation at a time beside the thread that steps it.

    Threads begin with the first steps. Between calls of steps they wait; a crew that was forked has none of
    them, and the thread that steps does all the work.
    """

    def __init__(self, helpers: int) -> None:
        self.board = aligned_zeros(sharing.HELPER + sharing.HELPER_SIZE * helpers, np.int64)
        self.board[sharing.HELPERS] = helpers
        self.process = os.getpid()
        self._wakes = [threading.Lock() for _ in range(helpers)]
        self._threads: list[threading.Thread] = []
        self._closed = False
        for wake in self._wakes:
            wake.acquire()

    def connect(self, sim: Simulation) -> None:
        """Share the islands of a Simulation as its arenas are now."""
        constraints = sim.constraints
        if constraints is None or constraints.is_fixed:
            return
        memory, helpers = sim.helper_memory, int(self.board[sharing.HELPERS])
        if memory is None or memory.block is not constraints.block or len(memory.helpers) < helpers:
            memory = sim.helper_memory = HelperMemory(constraints.block, helpers)
        memory.enter(self.board)
        constraints.block.args[t.BOARD] = address_of(self.board)

    @contextmanager
    def sharing(self, sim: Simulation, least: int) -> Generator[None]:
        """Steps of a Simulation in this block share islands, if there are `least` of them.

        For a caller that has entered the guard of the Simulation.
        """
        self.board[sharing.LEAST] = max(least, 2)
        sim.crew = self
        try:
            self.connect(sim)
            self._wake()
            yield
        finally:
            self.board[sharing.OPEN] = 0
            sim.crew = None
            if sim.constraints is not None:
                sim.constraints.block.args[t.BOARD] = 0

    def _wake(self) -> None:
        """Let the threads look at the board."""
        self.board[sharing.OPEN] = 1
        if not self._threads:
            run = [sharing.help_islands.bound(self.board, k, alone=False) for k in range(len(self._wakes))]
            for k, wake in enumerate(self._wakes):
                name = f"worldline-islands-{k}"
                thread = threading.Thread(target=self._serve, args=(run[k], wake), name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
        for wake in self._wakes:
            if wake.locked():
                wake.release()

    def _serve(self, run: Callable[[], int], wake: threading.Lock) -> None:
        """What a thread does: solve islands during calls of steps, wait between them."""
        while True:
            wake.acquire()
            if self._closed:
                return
            run()
            while self.board[sharing.OPEN] != 0:
                # the steps do something else for long
                time.sleep(_POLL_SECONDS)
                run()

    def close(self) -> None:
        """End the threads."""
        self._closed = True
        if self.process == os.getpid():
            for wake, thread in zip(self._wakes, self._threads, strict=False):
                if wake.locked():
                    wake.release()
                thread.join()
