# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Binary files with a checksum: magic, version, length and SHA-256 digest of the payload that follows.

The digest covers the version and the length too, so a flipped byte anywhere in the file is noticed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import NamedTuple

from worldline._src.errors import WorldlineError, unreadable
from worldline._src.scene.formats.whole import whole_file

_HEADER = struct.Struct("<8sIQ32s")


class FileKind(NamedTuple):
    """What a file says of itself: eight bytes of magic, the version of its format, and its name in errors."""

    magic: bytes
    version: int
    name: str
    error: type[WorldlineError]


def _digest(kind: FileKind, payload: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<8sIQ", kind.magic, kind.version, len(payload)) + payload).digest()


def write_checked(path: str | os.PathLike[str], kind: FileKind, payload: bytes) -> None:
    """Write a file of a kind; it appears whole or not at all."""
    header = _HEADER.pack(kind.magic, kind.version, len(payload), _digest(kind, payload))
    with whole_file(path) as partial:
        partial.write_bytes(header + payload)


def read_checked(path: str | os.PathLike[str], kind: FileKind) -> bytes:
    """The payload of a file of a kind.

    Raises:
        WorldlineError: of the class of the kind: another file, another version, cut short, or damaged.
    """
    where = os.fspath(path)
    try:
        with open(where, "rb") as stream:
            head = stream.read(_HEADER.size)
            if len(head) < _HEADER.size or not head.startswith(kind.magic):
                raise kind.error(f"{where}: not a {kind.name}")
            _, version, length, digest = _HEADER.unpack(head)
            if version != kind.version:
                raise kind.error(
                    f"{where}: version {version} of a {kind.name}; this build reads {kind.version}"
                )
            there = os.fstat(stream.fileno()).st_size - _HEADER.size
            if there != length:
                raise kind.error(f"{where}: cut or overlong, {there} bytes where {length} were written")
            payload = stream.read(length)
    except OSError as error:
        raise unreadable(where, error) from None
    if _digest(kind, payload) != digest:
        raise kind.error(f"{where}: damaged, its checksum does not match")
    return payload
