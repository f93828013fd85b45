# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Types of the operands of compiled functions that Python calls, as text.

An array is "float64[::1]" or "int64[:, ::1]", C-contiguous; a number "float64", "int64" or "boolean"; a named
tuple is a pair of its class and the types of its fields.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

NUMBERS = ("float64", "int64", "boolean")
"""Types of numbers and of the elements of arrays."""
DTYPES = (np.float64, np.int64, np.bool_)
"""The same as NumPy knows them."""
FAILED = -(2**63)
"""Returned by compiled code that raised an error."""
REFUSED = FAILED + 1
"""Returned, plus the number of the operand, by compiled code that was called with arrays of another type."""


def flatten(kinds: tuple[Any, ...], path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], str]]:
    """Descriptions of operands in a row, each with its position in the tuples it is inside of."""
    flat: list[tuple[tuple[int, ...], str]] = []
    for k, one in enumerate(kinds):
        flat += [((*path, k), one)] if isinstance(one, str) else flatten(one[1], (*path, k))
    return flat


def parsed(signature: str | tuple[Any, ...]) -> tuple[Any, ...]:
    """Types of operands from text like "int64[::1] float64[:,::1] int64", or as they are."""
    if isinstance(signature, str):
        signature = tuple(one.replace(":,:", ":, :") for one in signature.split())
    for _, one in flatten(signature):
        dtype, bracket, rest = one.partition("[")
        good = dtype in NUMBERS and rest in (("::1]", ":, ::1]") if bracket else ("",))
        assert good, f"{one!r} is no type of an operand"
    return signature


def described(value: Any) -> Any:
    """The type of an operand, as in a signature."""
    if isinstance(value, np.ndarray):
        if value.dtype not in DTYPES or value.ndim == 0:
            raise TypeError(f"compiled functions take arrays of {', '.join(NUMBERS)}, got {value.dtype}")
        return f"{NUMBERS[DTYPES.index(value.dtype)]}[{':, ' * (value.ndim - 1)}::1]"
    if isinstance(value, tuple):
        return type(value), tuple(described(one) for one in value)
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    return "float64" if isinstance(value, float) else "int64"


def variant(kinds: tuple[Any, ...]) -> str:
    """A short name of the types of operands."""

    def text(one: Any) -> str:
        return one if isinstance(one, str) else f"{one[0].__name__}({', '.join(map(text, one[1]))})"

    return "entry-" + hashlib.sha256(", ".join(map(text, kinds)).encode()).hexdigest()[:12]
