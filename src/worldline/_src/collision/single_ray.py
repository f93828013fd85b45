# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Casts of one ray at a time at the lowest cost of a call from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldline._src.kernels.broadphase.cast import SINGLE_RAY_SIZE, cast_single_ray

_LAYOUT = np.array(
    [
        object.__basicsize__,  # bytes of the header of an object, whose last 8 are the address of its type
        tuple.__basicsize__,  # where the items of a tuple begin
        id(tuple),
        id(float),
        id(np.ndarray),
        id(np.dtype(np.float64)),
    ],
    np.int64,
)
"""How the interpreter stores tuples and floats, and NumPy its arrays."""


class SingleRay:
    """Casts of one ray at a time in arenas that stay where they are.

    `ends` takes start and end; `run` casts and returns whether both are tuples of finite floats or such
    arrays; `result` returns what it found, see `SINGLE_RAY_SIZE`. No other thread runs meanwhile.
    """

    __slots__ = ("ends", "result", "run")

    def __init__(self, m: Any, c: Any, args: Any, d: Any) -> None:
        out = np.zeros(SINGLE_RAY_SIZE)
        self.ends: list[Any] = [None, None]
        self.result: Callable[[], bytes] = out.data.tobytes
        entry: Any = cast_single_ray
        self.run: Callable[[], int] = entry.bound(m, c, args, d, _LAYOUT, out, id(self.ends))
