# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Size limits of a file, checked before it is decoded.

An empty list is one byte of msgpack or two of JSON, and more than fifty in memory. Counting the
containers first bounds the memory that decoding may take.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.scene.limits import Limits

MAX_CONTAINERS: Final = 4_000_000
"""Lists and objects; a table of a mesh has a list for each row."""
MAX_OBJECTS: Final = 1_000_000
"""Objects of JSON: ten for each element that a scene may have."""
MAX_ENTRIES: Final = 16_000_000
"""Entries of all lists and objects; a number takes 32 bytes once it is decoded."""


def check_size(data: bytes, language: str, limits: Limits, where: str = "") -> None:
    """Refuses a file that is too large, or would be in memory."""
    if len(data) > limits.file_bytes:
        allowed = f"allowed: {limits.file_bytes}"
        raise SceneError(f"{where}given {len(data)} bytes of {language}; {allowed}")
    if len(data) <= MAX_OBJECTS:
        return
    if language == "JSON":
        objects, lists = data.count(b"{"), data.count(b"[")
        many = objects > MAX_OBJECTS or objects + lists > MAX_CONTAINERS or data.count(b",") > MAX_ENTRIES
    else:
        many = _many_in_msgpack(data)
    if many:
        allowed = f"{MAX_CONTAINERS} lists and objects with {MAX_ENTRIES} entries"
        if language == "JSON":
            allowed += f", {MAX_OBJECTS} of them objects"
        raise SceneError(f"{where}given too many lists, objects or entries in {language}; allowed: {allowed}")


def _many_in_msgpack(data: bytes) -> bool:
    codes = np.frombuffer(data, np.uint8)
    # bytes that could open a list or a map; meshes have such bytes too, so this is an upper bound
    suspects = np.count_nonzero((codes & 0xE0) == 0x80) + np.count_nonzero((codes & 0xFC) == 0xDC)
    if suspects <= MAX_CONTAINERS and len(data) <= MAX_ENTRIES:
        return False
    containers, entries = _count(data)
    return containers > MAX_CONTAINERS or entries > MAX_ENTRIES


# what follows a first byte: bytes of payload, or bytes of a length
_FIXED: Final = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4}
_FIXED_MORE: Final = {0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SKIP: Final = _FIXED | _FIXED_MORE
_LENGTH: Final = {0xC4: "B", 0xC5: ">H", 0xC6: ">I", 0xD9: "B", 0xDA: ">H", 0xDB: ">I"}
_EXTENSION: Final = {0xC7: "B", 0xC8: ">H", 0xC9: ">I"}


def _count(data: bytes) -> tuple[int, int]:
    """Lists and maps of a msgpack file, and values of any kind; blobs are stepped over.

    Counting ends where either exceeds its limit.
    """
    at, end, found, entries = 0, len(data), 0, 0
    while at < end and found <= MAX_CONTAINERS and entries <= MAX_ENTRIES:
        code = data[at]
        at += 1
        entries += 1
        if code < 0x80 or code >= 0xE0:
            continue
        if code < 0xA0:
            found += 1
        elif code < 0xC0:
            at += code & 0x1F
        elif code in _SKIP:
            at += _SKIP[code]
        elif code >= 0xDC:
            found += 1
            at += 2 if code in (0xDC, 0xDE) else 4
        elif code in _LENGTH or code in _EXTENSION:
            form = _LENGTH.get(code) or _EXTENSION[code]
            size = struct.calcsize(form)
            if at + size > end:
                break
            at += size + struct.unpack_from(form, data, at)[0] + (code in _EXTENSION)
    return found, entries
