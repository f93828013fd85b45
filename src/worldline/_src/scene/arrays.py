# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds for large arrays: tables of vertices and triangles, and height fields.

In JSON they are lists of numbers. In msgpack a table is its raw little-endian bytes, 32-bit when
that loses nothing, else an object with its own type; the reader takes every form.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from worldline._src.masked import is_masked_array
from worldline._src.scene.contexts import Probe, Rejected, Source, Writer
from worldline._src.scene.kinds import FAILED, Kind, describe
from worldline._src.scene.vectors import Array, IntArray, TableLike, VectorLike

Given = TypeVar("Given")
Kept = TypeVar("Kept", bound=np.ndarray[Any, Any])


def _numbers(value: Any, kinds: str) -> np.ndarray | None:
    """A NumPy array of numbers from nested sequences, None for anything else."""
    if isinstance(value, str | bytes | dict) or is_masked_array(value):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.dtype.kind in kinds or (array.size == 0 and array.ndim) else None


def _little(array: np.ndarray, dtype: str) -> bytes:
    return np.ascontiguousarray(array, dtype=dtype).tobytes()


class _ArrayKind(Kind[Given, Kept]):
    """An array: compared and copied with all of its numbers."""

    def identical(self, a: Kept, b: Kept) -> bool:
        return a.shape == b.shape and a.tobytes() == b.tobytes()

    def copy(self, value: Kept, writer: Writer) -> Kept:
        return value.copy()


class Table(_ArrayKind[TableLike, Array]):
    """Rows of a fixed number of reals, as a double array (N, columns)."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.allowed = f"an array of shape (N, {columns}) of finite numbers"

    def __call__(self, value: TableLike) -> Array:
        array = _numbers(value, "fiu")
        if array is not None and array.size == 0:
            return np.empty((0, self.columns))
        if array is None or array.ndim != 2 or array.shape[1] != self.columns:
            raise self.reject(value)
        return np.array(array, dtype=np.float64)

    def plain(self, value: Array, writer: Writer) -> Any:
        if not writer.binary:
            return value.tolist()
        with np.errstate(all="ignore"):
            single = value.astype(np.float32)
        if np.array_equal(single, value):
            return _little(single, "<f4")
        return {"dtype": "<f8", "data": _little(value, "<f8")}

    def read(self, raw: Any, source: Source, path: str) -> Any:
        dtype = "<f4"
        table: dict[str, Any] = raw
        if isinstance(raw, dict) and table.get("dtype") == "<f8":
            dtype, raw = "<f8", table.get("data")
        if not isinstance(raw, bytes):
            return super().read(raw, source, path)
        width = self.columns * np.dtype(dtype).itemsize
        if len(raw) % width:
            source.reject(path, f"{len(raw)} bytes", f"rows of {width} bytes")
            return FAILED
        return np.frombuffer(raw, dtype).astype(np.float64).reshape(-1, self.columns)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        array: Array = value
        fits = isinstance(value, np.ndarray) and array.dtype == np.float64
        if not fits or array.ndim != 2 or array.shape[1] != self.columns:
            probe.reject(path, describe(array), self.allowed)
        elif not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            probe.reject(f"{path}[{row}]", str(array[row].tolist()), "finite numbers")

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        row = {"type": "array", "items": {"type": "number"}}
        row |= {"minItems": self.columns, "maxItems": self.columns}
        return {"type": "array", "items": row}


class Triangles(_ArrayKind[TableLike, IntArray]):
    """Triples of vertex indices, as a 32-bit array (N, 3)."""

    allowed = "an array of shape (N, 3) of vertex indices"

    def __call__(self, value: TableLike) -> IntArray:
        array = _numbers(value, "iu")
        if array is not None and array.size == 0:
            return np.empty((0, 3), np.int32)
        if array is None or array.ndim != 2 or array.shape[1] != 3:
            raise self.reject(value)
        if array.min() < 0 or array.max() >= 2**31:
            raise Rejected(f"indices {array.min()} to {array.max()}", "0 to 2147483647")
        return np.array(array, dtype=np.int32)

    def plain(self, value: IntArray, writer: Writer) -> Any:
        return _little(value, "<u4") if writer.binary else value.tolist()

    def read(self, raw: Any, source: Source, path: str) -> Any:
        if not isinstance(raw, bytes):
            return super().read(raw, source, path)
        if len(raw) % 12:
            source.reject(path, f"{len(raw)} bytes", "rows of 12 bytes")
            return FAILED
        return super().read(np.frombuffer(raw, "<u4").reshape(-1, 3), source, path)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        array: Array = value
        fits = isinstance(value, np.ndarray) and array.dtype == np.int32
        if not fits or array.ndim != 2 or array.shape[1] != 3:
            probe.reject(path, describe(array), self.allowed)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        row = {"type": "array", "items": {"type": "integer", "minimum": 0}}
        return {"type": "array", "items": row | {"minItems": 3, "maxItems": 3}}


class Grid(_ArrayKind["VectorLike | TableLike", Array]):
    """Heights, as a double array of one or two dimensions."""

    allowed = "an array of heights of one or two dimensions"

    def __call__(self, value: VectorLike | TableLike) -> Array:
        array = _numbers(value, "fiu")
        if array is None or array.ndim not in (1, 2):
            raise self.reject(value)
        return np.array(array, dtype=np.float64)

    def plain(self, value: Array, writer: Writer) -> Any:
        return value.tolist()

    def check(self, value: Any, probe: Probe, path: str) -> None:
        array: Array = value
        fits = isinstance(value, np.ndarray) and array.dtype == np.float64
        if not fits or array.ndim not in (1, 2):
            probe.reject(path, describe(array), self.allowed)
        elif not np.isfinite(array).all():
            probe.reject(path, "a height that is not finite", "finite numbers")

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        number = {"type": "number"}
        return {"type": "array", "items": {"anyOf": [number, {"type": "array", "items": number}]}}
