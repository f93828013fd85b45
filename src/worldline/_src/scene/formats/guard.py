# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A look at a file before it is decoded.

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


def check_size(data: bytes, language: str, limits: Limits, where: str = "") -> None:
    """Refuses a file that is too large, or would be in memory."""
    if len(data) > limits.file_bytes:
        allowed = f"allowed: {limits.file_bytes}"
        raise SceneError(f"{where}given {len(data)} bytes of {language}; {allowed}")
    if len(data) <= MAX_CONTAINERS:
        return
    if language == "JSON":
        many = data.count(b"[") + data.count(b"{") > MAX_CONTAINERS
    else:
        many = _many_msgpack_containers(data)
    if many:
        allowed = f"allowed: {MAX_CONTAINERS}"
        raise SceneError(f"{where}given too many lists and objects in {language}; {allowed}")


def _many_msgpack_containers(data: bytes) -> bool:
    codes = np.frombuffer(data, np.uint8)
    # bytes that could open a list or a map; meshes have such bytes too, so this is an upper bound
    suspects = np.count_nonzero((codes & 0xE0) == 0x80) + np.count_nonzero((codes & 0xFC) == 0xDC)
    return suspects > MAX_CONTAINERS and _count_containers(data) > MAX_CONTAINERS


# what follows a first byte: bytes of payload, or bytes of a length
_FIXED: Final = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4}
_FIXED_MORE: Final = {0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SKIP: Final = _FIXED | _FIXED_MORE
_LENGTH: Final = {0xC4: "B", 0xC5: ">H", 0xC6: ">I", 0xD9: "B", 0xDA: ">H", 0xDB: ">I"}
_EXTENSION: Final = {0xC7: "B", 0xC8: ">H", 0xC9: ">I"}


def _count_containers(data: bytes) -> int:
    """Lists and maps of a msgpack file, counted up to the limit; blobs are stepped over."""
    at, end, found = 0, len(data), 0
    while at < end and found <= MAX_CONTAINERS:
        code = data[at]
        at += 1
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
    return found
