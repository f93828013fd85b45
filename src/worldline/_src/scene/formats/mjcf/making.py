# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Making many alike objects quickly.

Most geoms and joints of a robot take their contact and limit parameters from a default class and give none
of their own. Such parts are read once for a class and then copied, so that each owner has its own to edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from worldline._src.scene.base import Struct
from worldline._src.scene.formats.xml import Log
from worldline._src.scene.variant import Variant
from worldline._src.scene.vectors import Array

S = TypeVar("S")
N = TypeVar("N", bound=Struct)


def maker(value: S) -> Callable[[], S] | None:
    """What makes independent copies of a small scene object; None for one that cannot change.

    What there is to copy is found out once, so a copy takes a tenth of what `base.clone` takes.
    """
    make: Any = None
    if isinstance(value, Struct):
        make = _object_maker(value, [name for name, _ in value._copied])
    elif isinstance(value, Variant):
        make = _object_maker(value, ["_data"])
    elif isinstance(value, dict):
        shared, parts = makers(value, list(value))
        make = shared.copy if not parts else lambda: shared | {name: part() for name, part in parts}
    elif isinstance(value, list) and any(map(maker, value)):
        items = [maker(entry) or (lambda entry=entry: entry) for entry in value]
        make = lambda: [item() for item in items]  # noqa: E731
    elif isinstance(value, list | set | np.ndarray):
        make = value.copy
    return make


def makers(
    values: dict[str, Any], changing: Iterable[str]
) -> tuple[dict[str, Any], list[tuple[str, Callable[[], Any]]]]:
    """The values as copies share them, and makers of those that copies do not share."""
    parts = []
    for name in changing:
        make = maker(values[name])
        if make is not None:
            parts.append((name, make))
    return values.copy(), parts


def _object_maker(value: Struct | Variant, changing: Iterable[str]) -> Callable[[], Any]:
    shared, parts = makers(value.__dict__, changing)
    cls, new = type(value), object.__new__

    def make() -> Any:
        made = new(cls)
        fields = made.__dict__
        fields.update(shared)
        for name, part in parts:
            fields[name] = part()
        return made

    return make


_PLAIN: dict[type, tuple[dict[str, Any], list[tuple[str, Callable[[], Any]]]]] = {}


def fresh(cls: type[N], **values: Any) -> N:
    """An object of a scene with the given fields and defaults for the others.

    Values have to be as the fields store them, floats and double arrays and no tuples: the checks that
    assignment makes, which a reader has made already, take most of the time that making an object takes.
    """
    known = _PLAIN.get(cls)
    if known is None:
        known = _PLAIN[cls] = makers(cls().__dict__, [name for name, _ in cls._copied])
    shared, parts = known
    made = object.__new__(cls)
    fields = made.__dict__
    fields.update(shared)
    for name, make in parts:
        if name not in values:
            fields[name] = make()
    fields.update(values)
    return made


def vector(values: Sequence[float]) -> Array:
    """Numbers as scene objects store them."""
    return np.array(values, dtype=np.float64)


class Memo:
    """Objects that were read before, by what they were read from.

    What gave rise to a problem or a note is not kept, so that each place it stands at is told.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self._known: dict[Any, Callable[[], Any]] = {}

    def get(self, key: tuple[Any, ...], read: Callable[[], S]) -> S:
        """A copy of the object for a key, which is read if it is the first one."""
        make = self._known.get(key)
        if make is not None:
            return make()
        before = self.log.size
        found = read()
        if self.log.size == before:
            self._known[key] = maker(found) or (lambda: found)
            return self._known[key]()
        return found
