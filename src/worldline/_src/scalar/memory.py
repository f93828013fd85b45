# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arenas: flat blocks of memory and the array views into them.

A stage receives four pointers. `vector` and `matrix` turn an offset into a contiguous array of the
pointer's element type without touching reference counts. As plain Python the pointers are flat NumPy
arrays and the views are slices of them; compiled forms are in `lowering/memory.py`.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.jit import DISABLED


class _FromStart(np.ndarray):
    """An array as plain Python, without what kernels of this package do not have: indices from the end.

    Compiled, they would reach what is in memory before the array (`compiler.py`).
    """

    def __getitem__(self, key):
        _require_from_start(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _require_from_start(key)
        super().__setitem__(key, value)


def _require_from_start(key):
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, int | np.integer) and k < 0:
            # functions of users may count from the end
            if sys._getframe(2).f_globals.get("__name__", "").startswith("worldline."):
                raise IndexError(f"an array of a kernel has no index {k}: compiled ones count from the start")


def vector(arena, offset, count):
    """The `count` elements from `offset` on, as a 1-D array."""
    made = arena[offset : offset + count]
    return made.view(_FromStart) if DISABLED else made


def matrix(arena, offset, rows, columns):
    """`rows * columns` elements from `offset` on, as a 2-D array."""
    # a matrix with a capacity has rows past the end of its arena that no stage looks at
    rows = min(rows, (arena.size - offset) // max(columns, 1))
    return vector(arena, offset, rows * columns).reshape(rows, columns)


def shared_vector(arena, offset, count):
    """`vector` of constants that all worlds have in common: plain numbers, also in an arena of lanes."""
    return vector(arena, offset, count)


def shared_matrix(arena, offset, rows, columns):
    """`matrix` of constants that all worlds have in common: plain numbers, also in an arena of lanes."""
    return matrix(arena, offset, rows, columns)


def pointer(array):
    """The address of an array's first element, typed by its elements; as plain Python the array."""
    return array


def pointer_as(array, scalar):
    """The address of an array's first element, seen as another scalar, e.g. `LANES4`."""
    return array


def pointer_to_worlds(array):
    """The address of the numbers of single worlds that an array of scalars consists of, the world innermost.

    Doubles, or numbers of single precision where the scalars are lanes of these.
    """
    return array


_known_blocks: dict[int, np.ndarray] = {}


def address_as(address, scalar):
    """An integer as the address of elements of a scalar, e.g. `int64`."""
    return _known_blocks[int(address)]


def address_like(address, arena):
    """An integer as the address of elements of the kind that `arena` holds."""
    return _known_blocks[int(address)]


def constants_like(address, arena):
    """An integer as the address of constants for stages over the data in `arena`.

    Doubles, or lanes where every world has parameters of its own.
    """
    return _known_blocks[int(address)]


def address_of(block: np.ndarray) -> int:
    """The address of a block of memory, to be reached through `address_as`; keep the block alive."""
    address = block.ctypes.data
    if DISABLED:
        _known_blocks[address] = block
    return address


def call_stage(address, m, c, args, d):
    """Call a stage through the address of its machine code; as plain Python the address is the stage."""
    address(m, c, args, d)


def atomic_load(array, k):
    """Element `k` of an array of int64 that other threads write."""
    return array[k]


def atomic_store(array, k, value):
    """Write element `k` of an array of int64 that other threads read; they see what was written before."""
    array[k] = value


def atomic_add(array, k, value):
    """Add to element `k` of an array of int64 that other threads add to; returns what it was before."""
    before = array[k]
    array[k] = before + value
    return before


def wait_a_moment():
    """Tell the processor that this thread waits for another: the other one goes first where both share it."""


def gather_block(lanes, at, array, start, stride):
    """Move a square block from one row per world into lanes; compiled code only.

    Element `at + k` of the lanes gets element `start + lane * stride + k` of the array in every lane.
    """
    raise NotImplementedError("there are no lanes in plain Python")


def scatter_block(lanes, at, array, start, stride):
    """Move a square block from lanes back to one row per world; the inverse of `gather_block`."""
    raise NotImplementedError("there are no lanes in plain Python")


def aligned_zeros(count: int, dtype: DTypeLike = np.float64) -> np.ndarray:
    """`count` numbers, zero, on a 64-byte boundary as vector loads need it."""
    size = np.dtype(dtype).itemsize
    block = np.zeros(count + 64 // size, dtype)
    start = (-block.ctypes.data % 64) // size
    return block[start : start + count]
