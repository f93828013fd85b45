# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""JSON for people: objects on lines of their own, vectors and other small things on one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_MAX_LEVEL: Final = 120
"""Deeper parts are written on one line, which also keeps this recursion shallow."""


def pretty(value: Any, encode: Callable[[Any], bytes]) -> bytes:
    """Plain data as indented JSON; `encode` writes what goes on one line."""
    return b"".join(_lines(value, encode, 0)) + b"\n"


def _is_small(value: Any) -> bool:
    """Whether a value holds no object and no list of lists worth a line each."""
    given: Any = value
    if not isinstance(value, dict | list):
        return True
    entries: Iterable[Any] = given.values() if isinstance(value, dict) else given
    return not any(isinstance(entry, dict | list) for entry in entries)


def _lines(value: Any, encode: Callable[[Any], bytes], level: int) -> Iterator[bytes]:
    if _is_small(value) or level >= _MAX_LEVEL:
        yield encode(value)
        return
    pad = b"\n" + b" " * (level + 1)
    table: dict[Any, Any] = value
    rows: list[Any] = value
    is_object = isinstance(value, dict)
    yield b"{" if is_object else b"["
    entries = table.items() if is_object else enumerate(rows)
    for number, (key, entry) in enumerate(entries):
        yield b"," + pad if number else pad
        if is_object:
            yield encode(key) + b": "
        yield from _lines(entry, encode, level + 1)
    yield b"\n" + b" " * level + (b"}" if is_object else b"]")
