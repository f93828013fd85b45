# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of text: names, references to names, paths, and members of enumerations."""

from __future__ import annotations

import enum
from typing import Any, TypeVar

from worldline._src.scene.contexts import Probe, Rejected, Writer
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import WORLD, Kind, Rename, describe

E = TypeVar("E", bound=enum.Enum)


def unwritable(text: str) -> str:
    """What keeps a text out of files, empty when nothing does: NUL characters and unpaired surrogates."""
    if text.isprintable():
        return ""
    if "\x00" in text:
        return "NUL characters"
    return "unpaired surrogates" if any("\ud800" <= sign <= "\udfff" for sign in text) else ""


class Text(Kind[str, str]):
    """Text that names nothing in the scene."""

    immutable = True
    allowed = "text"

    def __call__(self, value: str) -> str:
        if not isinstance(value, str):
            raise self.reject(value)
        return str(value)

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if type(value) is not str:
            probe.reject(path, describe(value), self.allowed)
        elif not value.isprintable() and (fault := unwritable(value)):
            probe.reject(path, describe(value), f"text without {fault}")
        else:
            self.found(value, probe, path)

    def found(self, value: str, probe: Probe, path: str) -> None:
        """Tells the probe what the text means."""

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "string"}


class FilePath(Text):
    """The path of a file, taken from the directory of the scene's own file when relative."""

    allowed = "the path of a file"

    def has_names(self) -> bool:
        return True

    def rename(self, value: str, new: Rename) -> str:
        return new.file(value)


class Label(Text):
    """Text that follows the names when scenes are joined, but need not be unique."""

    def has_names(self) -> bool:
        return True

    def rename(self, value: str, new: Rename) -> str:
        return new.name(value) if value else value


class Name(Label):
    """The name of an object, unique among its namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.allowed = f"the name of a {namespace}"

    def found(self, value: str, probe: Probe, path: str) -> None:
        if value:
            probe.name(self.namespace, value, path)
        else:
            probe.reject(path, "an empty name", "a name, or None for no name")


class Ref(Text):
    """The name of an object that is defined elsewhere in the scene."""

    def __init__(self, *namespaces: str) -> None:
        self.namespaces = namespaces
        self.allowed = f"the name of a {' or '.join(namespaces)}"

    def found(self, value: str, probe: Probe, path: str) -> None:
        probe.references.append((self.namespaces, value, path))

    def has_names(self) -> bool:
        return True

    def rename(self, value: str, new: Rename) -> str:
        if value == WORLD and "link" in self.namespaces:
            return new.world
        return new.name(value) if value else value


class Enumeration(Kind[E | str, E]):
    """A member of an enumeration, or its name."""

    immutable = True

    def __init__(self, members: type[E]) -> None:
        self.members = members
        self.by_name: dict[str, E] = dict(members.__members__)
        self.allowed = f"{members.__name__}: {', '.join(self.by_name)}"

    def __call__(self, value: E | str) -> E:
        if isinstance(value, self.members):
            return value
        if isinstance(value, str):
            member = self.by_name.get(value)
            if member is not None:
                return member
            raise Rejected(describe(value), self.allowed + hint(value, self.by_name))
        raise self.reject(value)

    def sound(self) -> str:
        return "type(v) is {k}.members"

    def plain(self, value: E, writer: Writer) -> Any:
        return value.name

    def check(self, value: Any, probe: Probe, path: str) -> None:
        if not isinstance(value, self.members):
            probe.reject(path, describe(value), self.allowed)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        definitions.setdefault(self.members.__name__, {"enum": list(self.by_name)})
        return {"$ref": f"#/$defs/{self.members.__name__}"}


TEXT = Text()
LABEL = Label()
FILE_PATH = FilePath()
