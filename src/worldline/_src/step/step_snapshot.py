# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of arrays of a step, taken and put back by one call of compiled code."""

from __future__ import annotations

import numpy as np

from worldline._src.jit import DISABLED
from worldline._src.scalar.memory import address_of
from worldline._src.step.dual_step import INTEGERS, OPERATION, run_once

_NO_SETS = np.zeros((0, 4), np.int64)


class Snapshot:
    """Values of named arrays of doubles or integers, as they were when `take` was called last.

    Attributes:
        values: copies of the arrays, by name; the same arrays for as long as the Snapshot lives.
        taking, putting: the operations of `take` and `put`; other ones after `bind`.
    """

    values: dict[str, np.ndarray]

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.values = {name: np.empty_like(one) for name, one in arrays.items()}
        self.bind(arrays)

    def bind(self, arrays: dict[str, np.ndarray]) -> None:
        """Take and put back other arrays from now on, of the same names and sizes."""
        self._arrays = arrays
        self.taking = self.putting = np.zeros((0, OPERATION), np.int64)
        if DISABLED:
            # plain Python knows a block by its address, and an array at the start of an arena has the same
            return
        pairs = [(one, self.values[name]) for name, one in arrays.items() if one.size]
        # doubles are copied as integers are
        take = [(INTEGERS, address_of(one), address_of(copy), one.size) for one, copy in pairs]
        put = [(kind, target, source, count) for kind, source, target, count in take]
        self.taking, self.putting = (np.array(made, np.int64).reshape(-1, OPERATION) for made in (take, put))

    def take(self) -> None:
        """Copy the arrays."""
        if DISABLED:
            for name, one in self._arrays.items():
                self.values[name][...] = one
            return
        run_once(self.taking, _NO_SETS)

    def put(self) -> None:
        """Give the arrays the values of the copies."""
        if DISABLED:
            for name, one in self._arrays.items():
                one[...] = self.values[name]
            return
        run_once(self.putting, _NO_SETS)
