# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds that hold other kinds: optional values, lists, tables by name, and other scene objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from worldline._src.scene.contexts import Probe, Rejected, Source, Writer
from worldline._src.scene.kinds import FAILED, Kind, Rename, describe, is_list

if TYPE_CHECKING:
    from worldline._src.scene.base import Part, Struct

S = TypeVar("S")
T = TypeVar("T")
P = TypeVar("P", bound="Part")
N = TypeVar("N", bound="Struct")


class OptionalOf(Kind[S | None, T | None]):
    """A value or None."""

    def __init__(self, item: Kind[S, T]) -> None:
        self.item = item
        self.immutable = item.immutable
        self.allowed = f"{item.allowed}, or None"

    def __call__(self, value: S | None) -> T | None:
        if value is None:
            return None
        try:
            return self.item(value)
        except Rejected as rejected:
            allowed = rejected.allowed if rejected.path else f"{rejected.allowed}, or None"
            raise Rejected(rejected.given, allowed, rejected.path) from None

    def plain(self, value: T | None, writer: Writer) -> Any:
        return None if value is None else self.item.plain(value, writer)

    def read(self, raw: Any, source: Source, path: str) -> Any:
        return None if raw is None else self.item.read(raw, source, path)

    def copy(self, value: T | None, writer: Writer) -> T | None:
        return None if value is None else self.item.copy(value, writer)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if value is not None:
            self.item.check(value, probe, path)

    def sound(self) -> str:
        inner = self.item.sound().replace("{k}", "{k}.item")
        return f"v is None or {inner}" if inner else "v is None"

    def identical(self, a: T | None, b: T | None) -> bool:
        return a is b if a is None or b is None else self.item.identical(a, b)

    def has_names(self) -> bool:
        return self.item.has_names()

    def rename(self, value: T | None, new: Rename) -> T | None:
        return None if value is None else self.item.rename(value, new)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [self.item.schema(definitions), {"type": "null"}]}


class PartOf(Kind[P, P]):
    """A part of the given type, kept as it is and not copied."""

    def __init__(self, part: type[P], allowed: str) -> None:
        self._part: Any = part
        self.allowed = allowed

    def __call__(self, value: P) -> P:
        if not isinstance(value, self._part):
            raise self.reject(value)
        return value

    def plain(self, value: Any, writer: Writer) -> Any:
        return value._plain(writer)

    def read(self, raw: Any, source: Source, path: str) -> Any:
        return self._part._read(raw, source, path)

    def copy(self, value: Any, writer: Writer) -> Any:
        # what crept into a list in place is not judged here
        return value._copy(writer) if isinstance(value, self._part) else value

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if isinstance(value, self._part):
            value._check(probe, path)
        else:
            probe.reject(path, describe(value), self.allowed)


class Nested(PartOf[N]):
    """Another scene object, kept as it is and not copied."""

    def __init__(self, struct: type[N]) -> None:
        super().__init__(struct, f"a {struct.__name__}")
        self.struct = struct

    def identical(self, a: N, b: N) -> bool:
        return type(a) is type(b) and a._identical(b)

    def has_names(self) -> bool:
        return bool(self.struct._naming_fields())

    def rename(self, value: N, new: Rename) -> N:
        value._rename(new)
        return value

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return struct_schema(self.struct, definitions)


def struct_schema(struct: type[Struct], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of a struct, which is added to the definitions when it is new."""
    name = struct.__name__
    if name not in definitions:
        entry: dict[str, Any] = {"type": "object"}
        definitions[name] = entry
        entry["description"] = (struct.__doc__ or name).split("\n")[0]
        entry["properties"] = {
            key: known.kind.schema(definitions) | ({"description": known.doc} if known.doc else {})
            for key, known in struct._fields.items()
        }
    return {"$ref": f"#/$defs/{name}"}


class ListOf(Kind[Iterable[S], list[T]]):
    """An ordinary list; assignment stores a new list with the same entries."""

    def __init__(self, item: Kind[S, T], *, length: int | None = None) -> None:
        self.item = item
        self.length = length
        count = "a list" if length is None else f"a list of {length}"
        self.allowed = f"{count}, each {item.allowed}"

    def __call__(self, value: Iterable[S]) -> list[T]:
        if not is_list(value):
            raise self.reject(value)
        made: list[T] = []
        for index, entry in enumerate(value):
            try:
                made.append(self.item(entry))
            except Rejected as rejected:
                raise rejected.under(f"[{index}]") from None
        if self.length is not None and len(made) != self.length:
            raise self.reject(made)
        return made

    def plain(self, value: list[T], writer: Writer) -> Any:
        return [self.item.plain(entry, writer) for entry in value]

    def read(self, raw: Any, source: Source, path: str) -> Any:
        entries: list[Any] = raw
        if not isinstance(raw, list) or self.length not in (None, len(entries)):
            source.reject(path, describe(entries), self.allowed)
            return FAILED
        source.count(len(entries), path)
        made = [self.item.read(entry, source, f"{path}[{i}]") for i, entry in enumerate(entries)]
        # None keeps the places of what follows, for the messages to come
        return [None if entry is FAILED else entry for entry in made]

    def copy(self, value: list[T], writer: Writer) -> list[T]:
        # most lists of a scene are empty
        if not value:
            return []
        copy = self.item.copy
        return [copy(entry, writer) for entry in value]

    def check(self, value: Any, probe: Probe, path: str) -> None:
        entries: list[Any] = value
        if not isinstance(value, list) or self.length not in (None, len(entries)):
            probe.reject(path, describe(entries), self.allowed)
            return
        probe.count(len(entries), path)
        for index, entry in enumerate(entries):
            self.item.check(entry, probe, f"{path}[{index}]")

    def sound(self) -> str:
        return "" if self.length else "type(v) is list and not v"

    def identical(self, a: list[T], b: list[T]) -> bool:
        return len(a) == len(b) and all(map(self.item.identical, a, b))

    def has_names(self) -> bool:
        return self.item.has_names()

    def rename(self, value: list[T], new: Rename) -> list[T]:
        value[:] = [self.item.rename(entry, new) for entry in value]
        return value

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        array: dict[str, Any] = {"type": "array", "items": self.item.schema(definitions)}
        if self.length is not None:
            array |= {"minItems": self.length, "maxItems": self.length}
        return array


class TableOf(Kind[Mapping[str, S], dict[str, T]]):
    """A dict by name; with a namespace, the keys are scene names.

    Args:
        namespace: What the keys name, None when they name nothing.
        item: The kind of the values.
    """

    def __init__(self, namespace: str | None, item: Kind[S, T]) -> None:
        self.namespace = namespace
        self.item = item
        self.allowed = f"a dict from text to {item.allowed}"

    def __call__(self, value: Mapping[str, S]) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise self.reject(value)
        made: dict[str, T] = {}
        for key, entry in value.items():
            if not isinstance(key, str):
                raise Rejected(f"the key {describe(key)}", "text as keys")
            try:
                made[key] = self.item(entry)
            except Rejected as rejected:
                raise rejected.under(f"[{key!r}]") from None
        return made

    def plain(self, value: dict[str, T], writer: Writer) -> Any:
        return {key: self.item.plain(entry, writer) for key, entry in value.items()}

    def read(self, raw: Any, source: Source, path: str) -> Any:
        entries: dict[str, Any] = raw
        if not isinstance(raw, dict) or not all(isinstance(key, str) for key in entries):
            source.reject(path, describe(entries), self.allowed)
            return FAILED
        source.count(len(entries), path)
        made = {key: self.item.read(e, source, f"{path}[{key!r:.80}]") for key, e in entries.items()}
        return {key: None if entry is FAILED else entry for key, entry in made.items()}

    def copy(self, value: dict[str, T], writer: Writer) -> dict[str, T]:
        return {key: self.item.copy(entry, writer) for key, entry in value.items()}

    def check(self, value: Any, probe: Probe, path: str) -> None:
        entries: dict[Any, Any] = value
        if not isinstance(value, dict):
            probe.reject(path, describe(entries), self.allowed)
            return
        probe.count(len(entries), path)
        for key, entry in entries.items():
            if type(key) is not str:
                probe.reject(path, f"the key {describe(key)}", "text as keys")
            elif self.namespace is not None:
                probe.name(self.namespace, key, f"{path}[{key!r:.80}]")
            self.item.check(entry, probe, f"{path}[{key!r:.80}]")

    def sound(self) -> str:
        return "type(v) is dict and not v"

    def identical(self, a: dict[str, T], b: dict[str, T]) -> bool:
        # the order of a table is written, so it counts
        return list(a) == list(b) and all(map(self.item.identical, a.values(), b.values()))

    def has_names(self) -> bool:
        return self.namespace is not None or self.item.has_names()

    def rename(self, value: dict[str, T], new: Rename) -> dict[str, T]:
        naming = self.namespace is not None
        renamed = {new.name(key) if naming else key: self.item.rename(e, new) for key, e in value.items()}
        value.clear()
        value.update(renamed)
        return value

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.item.schema(definitions)}


class TextSet(Kind[Iterable[str], set[str]]):
    """A set of texts, written in sorted order."""

    allowed = "a set of texts"

    def __call__(self, value: Iterable[str]) -> set[str]:
        if not is_list(value):
            raise self.reject(value)
        made: set[str] = set()
        for entry in value:
            if not isinstance(entry, str):
                raise self.reject(value)
            made.add(str(entry))
        return made

    def plain(self, value: set[str], writer: Writer) -> Any:
        return sorted(value)

    def copy(self, value: set[str], writer: Writer) -> set[str]:
        return set(value)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
