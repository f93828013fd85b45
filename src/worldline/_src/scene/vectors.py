# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of short vectors: lists of numbers, and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldline._src.masked import is_masked_array
from worldline._src.scene.contexts import Probe, Source, Writer
from worldline._src.scene.kinds import REAL, Kind, Real, describe, short_repr, to_float

Array = NDArray[np.float64]
IntArray = NDArray[np.int32]
VectorLike = Sequence[float] | NDArray[Any]
TableLike = Sequence[Sequence[float]] | NDArray[Any]


_DOUBLE = np.dtype(np.float64)


def _floats(value: Any) -> list[float] | None:
    """A flat sequence of real numbers as a list, None for anything else."""
    given: Any = value
    if type(value) is list or type(value) is tuple:
        return _numbers(given)
    if is_masked_array(value):
        # its data would count where the mask says that there is none
        return None
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array: np.ndarray = np.asarray(given)
        fits = array.ndim == 1 and array.dtype.kind in "fiu"
        with np.errstate(over="ignore"):
            return array.astype(np.float64).tolist() if fits else None
    if isinstance(value, str | bytes | dict | set) or not isinstance(value, Iterable):
        return None
    return _numbers(given)


def _numbers(items: Iterable[Any]) -> list[float] | None:
    """Real numbers as a list, None when something else is among them."""
    found: list[float] = []
    for item in items:
        number = item if type(item) is float else to_float(item)
        if number is None:
            return None
        found.append(number)
    return found


def _length(value: Any) -> int | None:
    """Entries of a list, a tuple or an array, known without looking at them; None for anything else."""
    entries: list[Any] = value
    return len(entries) if isinstance(value, list | tuple) else None


def _array_schema(items: dict[str, Any], length: int | None) -> dict[str, Any]:
    array: dict[str, Any] = {"type": "array", "items": items}
    return array if length is None else array | {"minItems": length, "maxItems": length}


class Numbers(Kind[VectorLike, list[float]]):
    """Real numbers as a list; any count unless `length` is given."""

    def __init__(self, length: int | None = None, *, minimum: float | None = None) -> None:
        self.length = length
        self.item = Real(minimum=minimum)
        count = "numbers" if length is None else f"{length} numbers"
        self.allowed = count if minimum is None else f"{count} >= {minimum:g}"

    def __call__(self, value: VectorLike) -> list[float]:
        if self.length is not None and _length(value) not in (None, self.length):
            raise self.reject(value)
        found = _floats(value)
        if found is None or (self.length is not None and len(found) != self.length):
            raise self.reject(value)
        return found

    def read(self, raw: Any, source: Source, path: str) -> Any:
        entries: list[Any] = raw
        if type(raw) is list:
            source.count_numbers(len(entries), path)
        return super().read(entries, source, path)

    def plain(self, value: list[float], writer: Writer) -> Any:
        # a list edited in place may hold whole numbers or NumPy scalars
        return [float(item) for item in value]

    def identical(self, a: list[float], b: list[float]) -> bool:
        return len(a) == len(b) and all(map(REAL.identical, a, b))

    def copy(self, value: list[float], writer: Writer) -> list[float]:
        return list(value)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        least, greatest = self.item.least, self.item.greatest
        entries: list[Any] = value
        is_list = type(value) is list
        if is_list and self.length in (None, len(entries)):
            for item in entries:
                if type(item) is not float or not least <= item <= greatest:
                    break
            else:
                return
        found = _floats(entries) if is_list else None
        if found is None or (self.length is not None and len(found) != self.length):
            probe.reject(path, describe(entries), self.allowed)
            return
        for index, item in enumerate(found):
            if not self.item.is_valid(item):
                self.item.check(item, probe, f"{path}[{index}]")

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return _array_schema(self.item.schema(definitions), self.length)


class Vector(Kind[VectorLike, Array]):
    """Real numbers as a double array; any count unless `length` is given."""

    def __init__(self, length: int | None = None, *, nonzero: bool = False) -> None:
        self.length = length
        self.nonzero = nonzero
        self._shape = None if length is None else (length,)
        self.allowed = "finite numbers" if length is None else f"{length} finite numbers"
        if nonzero:
            self.allowed += ", not all zero"

    def __call__(self, value: VectorLike) -> Array:
        if self.length is not None and _length(value) not in (None, self.length):
            raise self.reject(value)
        found = _floats(value)
        if found is None or (self.length is not None and len(found) != self.length):
            raise self.reject(value)
        return np.array(found, dtype=np.float64)

    def read(self, raw: Any, source: Source, path: str) -> Any:
        entries: list[Any] = raw
        if type(raw) is list:
            source.count_numbers(len(entries), path)
        return super().read(entries, source, path)

    def plain(self, value: Array, writer: Writer) -> Any:
        return value.tolist()

    def identical(self, a: Array, b: Array) -> bool:
        return a.tobytes() == b.tobytes()

    def copy(self, value: Array, writer: Writer) -> Array:
        return value.copy()

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if type(value) is np.ndarray and value.dtype is _DOUBLE and value.shape == self._shape:
            items = value.tolist()
            # a sum is finite when its terms are, or nearly so: one that overflows is looked at below
            if math.isfinite(sum(items)) and not (self.nonzero and not any(items)):
                return
        array: Array = value
        shape = array.shape if isinstance(value, np.ndarray) and array.dtype == np.float64 else None
        if shape is None or len(shape) != 1 or self.length not in (None, shape[0]):
            probe.reject(path, describe(array), self.allowed)
            return
        items = value.tolist()
        if not all(map(math.isfinite, items)) or (self.nonzero and probe.values and not any(items)):
            probe.reject(path, short_repr(items), self.allowed)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return _array_schema({"type": "number"}, self.length)


VECTOR3 = Vector(3)
QUATERNION = Vector(4, nonzero=True)
