# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Name resolution in MJCF.

The same elements may come into a scene many times: `attach` brings in another model under a prefix,
`replicate` repeats a part under numbered suffixes. Nothing is copied for that. Elements are read again in
another `Scope`, which knows the file they come from (its compiler settings and default classes) and what
their names become.

Elements outside the tree (actuators, sensors, tendons ...) belong to every scope in which all they refer to
is there and at least one thing is the scope's own: an actuator of a replicated joint comes once for each
replica.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.elements import walk
from worldline._src.scene.formats.mjcf.compiler import Compiler
from worldline._src.scene.formats.mjcf.defaults import DefaultClass, Defaults
from worldline._src.scene.formats.mjcf.schema import check
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.kinds import WORLD, hint


class Source:
    """A model file with everything it includes.

    Attributes:
        root: Its `mujoco` element.
        file: The file, None for text that came from none.
        count: How many elements it has.
        tags: The tags of its elements.
        compiler: How it is to be understood.
        defaults: Its default classes.
    """

    def __init__(self, root: Element, file: Path | None, log: Log) -> None:
        self.root = root
        self.file = file
        self.count, self.tags = check(root, log)
        self.compiler = Compiler.of(root.all("compiler"), log)
        self.defaults = Defaults(root.all("default"), log)
        self._sections: dict[str, list[Element]] = {}
        for section in root.children:
            self._sections.setdefault(section.tag, []).extend(section.children)

    @property
    def directory(self) -> Path | None:
        """Where its relative paths start."""
        return None if self.file is None else self.file.parent

    def section(self, tag: str) -> list[Element]:
        """What stands in all sections of a tag."""
        return self._sections.get(tag, [])

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that anything in the file has, whatever it is."""
        return frozenset(filter(None, (element.get("name") for element in self.root.walk())))


class Scope:
    """An appearance of elements in the scene.

    Attributes:
        source: The file the elements come from.
        parent: The scope around it.
        children: Those within, in the order in which they come.
        prefix: Put before every name.
        suffix: Put after every name but those of assets, which replicas share.
        is_plain: Whether neither is put to a name.
        whole: Elements that refer to nothing belong here too.
    """

    def __init__(
        self, source: Source, parent: Scope | None = None, *, prefix: str = "", suffix: str = ""
    ) -> None:
        self.source = source
        self.parent = parent
        self.children: list[Scope] = []
        self.prefix: str = (parent.prefix if parent else "") + prefix
        self.suffix: str = suffix + (parent.suffix if parent else "")
        self.is_plain = not (self.prefix or self.suffix)
        self.whole = parent is None or source is not parent.source
        if parent is not None:
            parent.children.append(self)

    def name(self, raw: str) -> str:
        """What a name of the file becomes."""
        if self.is_plain or raw == WORLD:
            return raw
        return f"{self.prefix}{raw}{self.suffix}"

    def asset(self, raw: str) -> str:
        """What the name of an asset becomes."""
        return self.prefix + raw

    @property
    def compiler(self) -> Compiler:
        """How the file is to be understood."""
        return self.source.compiler

    def default_class(self, element: Element, childclass: str | None = None) -> DefaultClass:
        """The default class of an element: its own, else that of the bodies around it, else the top one."""
        defaults, name = self.source.defaults, element.attributes.get("class") or childclass
        if name is None:
            return defaults.main
        return defaults.classes.get(name) or defaults.find(name, element)

    def walk(self) -> Iterator[Scope]:
        """This scope and all within, each before those within it."""
        return walk(self)


class Reference(NamedTuple):
    """A name that an element refers to.

    Attributes:
        element: The element that holds it.
        attribute: The attribute that holds it.
        namespaces: What it may name.
        name: The name.
    """

    element: Element
    attribute: str
    namespaces: tuple[str, ...]
    name: str


class Names:
    """Every name of the scene, and who has it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._known: defaultdict[str, dict[str, tuple[Element, Scope]]] = defaultdict(dict)
        self._raw: dict[tuple[str, str], list[Scope]] | None = None

    def define(self, namespace: str, name: str, element: Element, scope: Scope) -> str | None:
        """Registers a name of the scene; notes a second owner, for whom there is no name then."""
        known = self._known[namespace]
        if name in known or (namespace == "link" and name == WORLD):
            before = f"; the other is in line {known[name][0].line}" if name in known else ""
            self.log.problem(element, f"the {namespace} name '{name[:80]}' is used twice{before}")
            return None
        known[name] = element, scope
        self._raw = None
        return name

    def definers(self, reference: Reference) -> list[Scope]:
        """The scopes in which something was defined under the name that a reference gives in its file."""
        if self._raw is None:
            # only few files ever ask, and those after all names are there
            self._raw = {}
            for space, known in self._known.items():
                for element, scope in known.values():
                    raw = element.attributes.get("name", "")
                    self._raw.setdefault((space, raw), []).append(scope)
        return [
            scope for space in reference.namespaces for scope in self._raw.get((space, reference.name), ())
        ]

    def own(self, scope: Scope, element: Element, namespace: str) -> str | None:
        """The scene's name of an element by its attribute `name`, registered."""
        raw = element.attributes.get("name")
        if not raw:
            return None
        return self.define(namespace, raw if scope.is_plain else scope.name(raw), element, scope)

    def has(self, namespaces: Sequence[str], name: str) -> bool:
        """Whether something of one of the namespaces has a name."""
        for namespace in namespaces:
            if name in self._known.get(namespace, ()):
                return True
        return name == WORLD and "link" in namespaces

    def has_within(self, scope: Scope, namespaces: Sequence[str], name: str) -> bool:
        """Whether something that came in a scope, or in one within it, has a name."""
        for namespace in namespaces:
            owner = self._known.get(namespace, {}).get(name)
            here = None if owner is None else owner[1]
            while here is not None:
                if here is scope:
                    return True
                here = here.parent
        return False

    def all(self, namespace: str) -> list[str]:
        """All names of a namespace."""
        return list(self._known.get(namespace, ()))

    def find(self, scope: Scope, namespaces: Sequence[str], raw: str) -> str | None:
        """What a name means in a scope: its own thing, else one of a scope around it."""
        here: Scope | None = scope
        while here is not None and here.source is scope.source:
            name = here.name(raw)
            if name in self._known[namespaces[0]] or self.has(namespaces, name):
                return name
            here = here.parent
        return None

    def resolve(self, scope: Scope, reference: Reference) -> str | None:
        """What a reference means in a scope; notes it when it means nothing."""
        found = self.find(scope, reference.namespaces, reference.name)
        if found is None:
            self.missing(reference)
        return found

    def missing(self, reference: Reference) -> None:
        """Notes a reference to nothing, with the nearest name."""
        known = [name for namespace in reference.namespaces for name in self.all(namespace)]
        wanted = " or ".join(reference.namespaces)
        message = f"attribute '{reference.attribute}': no {wanted} '{reference.name[:80]}'"
        if not known:
            message += f"; there is no {wanted} at all"
        elif len(known) <= 6:
            message += f"; there are {', '.join(map(repr, known))}"
        self.log.problem(reference.element, message + hint(reference.name, known))

    def belongs(self, scope: Scope, references: Sequence[Reference]) -> bool:
        """Whether an element with these references comes in a scope."""
        if not references:
            return scope.whole
        own = scope.parent is None
        for reference in references:
            # a suffix can make a name of the file into another one, so look who has it
            if self.has_within(scope, reference.namespaces, scope.name(reference.name)):
                own = True
            elif self.find(scope, reference.namespaces, reference.name) is None:
                return False
        return own
