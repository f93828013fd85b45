# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Binary files with a checksum: magic, version, length and SHA-256 digest of the payload that follows.

The digest covers the version and the length too, so a flipped byte anywhere in the file is noticed.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from typing import BinaryIO

from worldline._src.errors import WorldlineError, unreadable
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.atomic_write import atomic_file, path_text

_HEADER = struct.Struct("<8sIQ32s")


class FileKind(NamedTuple):
    """What a file says of itself: eight bytes of magic, the version of its format, and its name in errors."""

    magic: bytes
    version: int
    name: str
    error: type[WorldlineError]


def _digest(kind: FileKind, payload: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<8sIQ", kind.magic, kind.version, len(payload)) + payload).digest()


def to_checked(kind: FileKind, payload: bytes) -> bytes:
    """What a file of a kind holds."""
    return _HEADER.pack(kind.magic, kind.version, len(payload), _digest(kind, payload)) + payload


def write_checked(path: str | os.PathLike[str], kind: FileKind, payload: bytes) -> None:
    """Write a file of a kind; it appears whole or not at all."""
    with atomic_file(path) as partial:
        partial.write_bytes(to_checked(kind, payload))


def read_checked(path: str | os.PathLike[str], kind: FileKind) -> bytes:
    """The payload of a file of a kind.

    Raises:
        WorldlineError: of the class of the kind: another file, another version, cut short, or damaged.
    """
    where = path_text(path)
    try:
        with open(where, "rb") as stream:
            return _read(stream, os.fstat(stream.fileno()).st_size, kind, where)
    except OSError as error:
        raise unreadable(where, error) from None


def from_checked(content: bytes, kind: FileKind, where: str) -> bytes:
    """The payload of what `to_checked` made; raises as `read_checked` does."""
    return _read(io.BytesIO(content), len(content), kind, where)


def _read(stream: BinaryIO, size: int, kind: FileKind, where: str) -> bytes:
    head = stream.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(kind.magic):
        raise kind.error(f"{where}: not a {kind.name}")
    _, version, length, digest = _HEADER.unpack(head)
    if version != kind.version:
        raise kind.error(f"{where}: version {version} of a {kind.name}; this build reads {kind.version}")
    there = size - _HEADER.size
    if there != length:
        raise kind.error(f"{where}: cut or overlong, {there} bytes where {length} were written")
    payload = stream.read(length)
    if _digest(kind, payload) != digest:
        raise kind.error(f"{where}: damaged, its checksum does not match")
    return payload
