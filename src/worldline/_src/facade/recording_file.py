# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings in files: one msgpack map behind the header of `checked_file.py`.

It holds numbers and names only, is checked in full when it is read, and runs nothing.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import struct
from collections.abc import Mapping

import msgspec
import numpy as np

from worldline._src.errors import RecordingError, unreadable
from worldline._src.facade.checked_file import FileKind, from_checked, read_checked, to_checked, write_checked
from worldline._src.facade.frame_rows import STEPS_SINCE, bad_settings
from worldline._src.facade.recording_parts import Continuations, SensorReadings
from worldline._src.facade.replay_layout import Layout, Table
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.atomic_write import atomic_file, path_text
from worldline._src.spatial.poses import Array

_COMMENT, _DIGEST = b"sha256=", hashlib.sha256().digest_size
_KIND = FileKind(b"WORLDREC", 4, "recording", RecordingError)


class Parts(NamedTuple):
    """What a recording is made of."""

    rows: Array
    columns: dict[str, list[int]]
    layout: Layout
    continuations: Continuations
    ticks: frozenset[int]
    sensors: SensorReadings


class _Numbers(msgspec.Struct, forbid_unknown_fields=True):
    shape: list[int]
    data: bytes


class _TableFile(msgspec.Struct, forbid_unknown_fields=True):
    owner: str
    numbers: _Numbers


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rows: _Numbers
    columns: dict[str, list[int]]
    sensor_rows: _Numbers
    sensor_columns: dict[str, list[int]]
    before_frame: list[int]
    before: _Numbers
    memory: list[dict[str, _Numbers]]
    memory_before: list[dict[str, _Numbers]]
    ticks: list[int]
    names: dict[str, list[str]]
    tables: dict[str, _TableFile]


def write(path: str | os.PathLike[str], parts: Parts) -> None:
    """Write one file; a file that was there is replaced at once or not at all."""
    write_checked(path, _KIND, _encoded(parts))


def to_bytes(parts: Parts) -> bytes:
    """What `write` would write, as bytes."""
    return to_checked(_KIND, _encoded(parts))


def from_bytes(content: bytes) -> Parts:
    """The recording that `to_bytes` wrote."""
    where = "pickled recording"
    return _decoded(from_checked(content, _KIND, where), where)


def _encoded(parts: Parts) -> bytes:
    before = parts.continuations.before
    file = _File(
        rows=_pack(parts.rows),
        columns=parts.columns,
        sensor_rows=_pack(parts.sensors.rows),
        sensor_columns=parts.sensors.columns,
        before_frame=list(before),
        before=_pack(np.array(list(before.values())).reshape(-1, parts.rows.shape[1])),
        memory=[_pack_all(memory) for memory in parts.continuations.memory],
        memory_before=[_pack_all(parts.continuations.memory_before[at]) for at in before],
        ticks=sorted(parts.ticks),
        names=parts.layout.names,
        tables={name: _TableFile(kind, _pack(x)) for name, (kind, x) in parts.layout.tables.items()},
    )
    return msgspec.msgpack.encode(file)


def read(path: str | os.PathLike[str]) -> Parts:
    """Read a file that `write` wrote; anything else is refused with a `RecordingError`."""
    return _decoded(read_checked(path, _KIND), os.fspath(path))


def _decoded(payload: bytes, where: str) -> Parts:
    try:
        return _checked(msgspec.msgpack.decode(payload, type=_File))
    except (msgspec.MsgspecError, UnicodeError, RecursionError, RecordingError) as error:
        raise RecordingError(f"{where}: not a recording: {error}") from error


# ---- archives of NumPy


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a compressed archive of arrays whose comment is a checksum; it appears whole or not at all."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type] # names are the user's
    # an archive ends with the length of its comment, which NumPy leaves empty
    data = stream.getvalue()[:-2] + struct.pack("<H", len(_COMMENT) + 2 * _DIGEST)
    with atomic_file(path) as partial:
        partial.write_bytes(data + _COMMENT + hashlib.sha256(data).hexdigest().encode())


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of an archive that `write_npz` wrote."""
    where = path_text(path)
    try:
        with open(where, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise unreadable(where, error) from None
    size = len(_COMMENT) + 2 * _DIGEST
    data, comment = content[:-size], content[-size:]
    if comment != _COMMENT + hashlib.sha256(data).hexdigest().encode():
        raise RecordingError(f"{where}: not an archive of a recording, or a damaged one: wrong checksum")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _checked(file: _File) -> Parts:
    rows, before = _unpack(file.rows, "rows", 2), _unpack(file.before, "before", 2)
    sensed = _unpack(file.sensor_rows, "sensor readings", 2)
    count, width = rows.shape
    _require(count > 0 and width > STEPS_SINCE, f"a matrix of {count} by {width} is no motion")
    _require(before.shape == (len(file.before_frame), width), "states before steps do not fit the rows")
    _require(len(sensed) == count, "sensor readings do not fit the rows")
    _require(len(file.memory) == count, "contacts do not fit the rows")
    _require(len(file.memory_before) == len(before), "contacts before steps do not fit their states")
    for at in (*file.before_frame, *file.ticks):
        _require(0 < at < count, f"frame {at} is out of range, there are {count}")
    for columns, size in ((file.columns, width), (file.sensor_columns, sensed.shape[1])):
        for name, found in columns.items():
            _require(all(0 <= k < size for k in found), f"columns of '{name}' are out of range")
    for x in (rows, before):
        _require(bool(np.isfinite(x).all()), "numbers must be finite")
        wrong = bad_settings(x)
        _require(wrong is None, wrong or "")
    tables = {name: Table(t.owner, _unpack(t.numbers, name, None)) for name, t in file.tables.items()}
    for name, table in tables.items():
        _require(
            len(file.names.get(table.owner, ())) == len(table.numbers),
            f"table '{name}' does not have one row for each of the {table.owner}",
        )
    return Parts(
        rows,
        file.columns,
        Layout(file.names, tables),
        Continuations(
            dict(zip(file.before_frame, before, strict=True)),
            [_unpack_all(memory) for memory in file.memory],
            dict(zip(file.before_frame, map(_unpack_all, file.memory_before), strict=True)),
        ),
        frozenset(file.ticks),
        SensorReadings(file.sensor_columns, lambda: sensed),
    )


def _pack(x: Array) -> _Numbers:
    return _Numbers(list(x.shape), np.ascontiguousarray(x, "<f8").tobytes())


def _pack_all(arrays: Mapping[str, Array]) -> dict[str, _Numbers]:
    return {name: _pack(x) for name, x in arrays.items()}


def _unpack(given: _Numbers, what: str, ndim: int | None) -> Array:
    shape = given.shape
    _require(1 <= len(shape) <= 4 and all(0 <= n < 2**40 for n in shape), f"'{what}' has a bad shape {shape}")
    _require(ndim is None or len(shape) == ndim, f"'{what}' has {len(shape)} dimensions")
    _require(
        8 * math.prod(shape) == len(given.data), f"'{what}' has {len(given.data)} bytes for the shape {shape}"
    )
    return np.frombuffer(given.data, "<f8").reshape(shape).astype(np.float64)


def _unpack_all(arrays: dict[str, _Numbers]) -> dict[str, Array]:
    made = {name: _unpack(x, name, None) for name, x in arrays.items()}
    for name, x in made.items():
        _require(bool(np.isfinite(x).all()), f"numbers of '{name}' must be finite")
    return made


def _require(good: bool, what: str) -> None:
    if not good:
        raise RecordingError(what)
