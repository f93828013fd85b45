# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Making many alike objects quickly.

Most geoms and joints of a robot take their contact and limit parameters from a default class and give none
of their own. Such parts are read once for a class and then copied, so that each owner has its own to edit.
A `Template` is all that a group of objects has alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from worldline._src.scene.base import Part, Struct
from worldline._src.scene.formats.xml import Log
from worldline._src.scene.values import Range
from worldline._src.scene.variant import Variant
from worldline._src.scene.vectors import Array

_new = object.__new__
S = TypeVar("S")
N = TypeVar("N", bound=Struct)


def maker(value: S) -> Callable[[], S] | None:
    """What makes independent copies of a small scene object; None for one that cannot change.

    What there is to copy is found out once, so a copy takes a tenth of what `base.clone` takes.
    """
    make: Any = None
    if isinstance(value, Struct):
        make = _object_maker(value, [name for name, _ in value._copied if name in value.__dict__])
    elif isinstance(value, Variant):
        make = _object_maker(value, ["_data"])
    elif isinstance(value, dict):
        shared, parts = _makers(value, list(value))
        make = shared.copy if not parts else lambda: shared | {name: part() for name, part in parts}
    elif isinstance(value, list) and any(map(maker, value)):
        items = [maker(entry) or (lambda entry=entry: entry) for entry in value]
        make = lambda: [item() for item in items]  # noqa: E731
    elif isinstance(value, list | set | np.ndarray):
        make = value.copy
    return make


def _makers(
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
    shared, parts = _makers(value.__dict__, changing)
    cls, new = type(value), object.__new__

    def make() -> Any:
        made = new(cls)
        fields = made.__dict__
        fields.update(shared)
        for name, part in parts:
            fields[name] = part()
        return made

    return make


class Fields(NamedTuple):
    """Values of some fields, which nobody may change any more.

    Attributes:
        shared: Those that cannot change, and so may stand in many objects.
        copied: What makes the parts, lists and arrays, of which each object needs a copy.
        empty: Names of those that are lists with nothing in them.
    """

    shared: dict[str, Any]
    copied: dict[str, Callable[[], Any]]
    empty: list[str]

    @staticmethod
    def of(values: dict[str, Any]) -> Fields:
        """The fields with these values."""
        made = Fields({}, {}, [])
        for name, value in values.items():
            if type(value) is list and not value:
                made.empty.append(name)
            elif isinstance(value, Part | list | dict | np.ndarray):
                make = maker(value)
                assert make is not None
                made.copied[name] = make
            else:
                made.shared[name] = value
        return made

    def names(self) -> set[str]:
        """Which fields they are."""
        return {*self.shared, *self.copied, *self.empty}


class Template:
    """What makes objects that are alike but for a few fields.

    Args:
        cls: Their class.
        parts: What they have alike, all fields in all, each in one part only.
    """

    __slots__ = ("_cls", "_copied", "_empty", "_shared")

    def __init__(self, cls: type[Struct], parts: Iterable[Fields]) -> None:
        self._cls = cls
        self._shared: dict[str, Any] = {}
        self._copied: dict[str, Callable[[], Any]] = {}
        self._empty: list[str] = []
        for shared, copied, empty in parts:
            self._shared.update(shared)
            self._empty += empty
            self._copied.update(copied)
        # room for all, so that the fields of an object need not be moved to a larger place
        self._shared.update(dict.fromkeys((*self._copied, *self._empty)))

    def make(self, own: dict[str, Any]) -> Any:
        """An object with some fields of its own.

        Values have to be as the fields store them, floats and double arrays and no tuples: the checks that
        assignment makes, which a reader has made already, take most of the time that making an object takes.
        """
        made = _new(self._cls)
        fields = made.__dict__
        fields.update(self._shared)
        for name in self._empty:
            fields[name] = []
        if self._copied:
            for name, make in self._copied.items():
                if name not in own:
                    fields[name] = make()
        fields.update(own)
        return made


_DOUBLE = np.dtype(np.float64)
_PLAIN: dict[type[Struct], Template] = {}


def defaults(cls: type[Struct], besides: Collection[str] = ()) -> Fields:
    """The defaults of a class, but for some fields."""
    return Fields.of({name: value for name, value in cls().__dict__.items() if name not in besides})


def plain(cls: type[Struct]) -> Template:
    """What makes objects whose fields have their defaults."""
    known = _PLAIN.get(cls)
    if known is None:
        known = _PLAIN[cls] = Template(cls, [defaults(cls)])
    return known


def fresh(cls: type[N], **values: Any) -> N:
    """An object of a scene with the given fields and defaults for the others; see `Template.make`."""
    known = _PLAIN.get(cls)
    return (plain(cls) if known is None else known).make(values)


def interval(lower: float, upper: float) -> Range:
    """A range of plain floats, the lower one first."""
    made = object.__new__(Range)
    fields = made.__dict__
    fields["lower"], fields["upper"] = lower, upper
    return made


def vector(values: Sequence[float]) -> Array:
    """Numbers as scene objects store them."""
    return np.array(values, _DOUBLE)


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
