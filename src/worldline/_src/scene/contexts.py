# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contexts of scene traversals: reading, writing, copying and validation.

Child links are the only part of a scene that nests without bound. The kinds never recurse into them: they
hand them to `later` of the context, and the caller that started the walk calls `finish`. So a chain of a
thousand links needs no deep Python stack, and a link that contains itself is noticed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from worldline._src.errors import ArgumentError, Problem, SceneError
from worldline._src.scene.hints import hint
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.report import Report

_NOTED_KEYS: Final = 1000


class Rejected(ArgumentError):
    """A value that does not fit a field; gains its path on the way up."""

    def __init__(self, given: str, allowed: str, path: str = "") -> None:
        self.given = given
        self.allowed = allowed
        self.path = path
        super().__init__(f"given {given}; allowed: {allowed}")

    def under(self, prefix: str) -> Rejected:
        """The same rejection seen from one level higher."""
        return Rejected(self.given, self.allowed, prefix + self.path)

    def __str__(self) -> str:
        text = f"given {self.given}; allowed: {self.allowed}"
        return f"{self.path}: {text}" if self.path else text

    def __reduce__(self) -> tuple[type[Rejected], tuple[str, str, str]]:
        return type(self), (self.given, self.allowed, self.path)


class Walk:
    """Common to all walks: the links still to be visited, and those already seen."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.depth = 1
        self._pending: deque[tuple[int, Callable[[], None]]] = deque()
        self._seen: dict[int, str] = {}

    def later(self, work: Callable[[], None]) -> None:
        """Puts off the children of the link that is being visited."""
        self._pending.append((self.depth + 1, work))

    def finish(self) -> None:
        """Visits every link that was put off."""
        while self._pending:
            self.depth, work = self._pending.popleft()
            work()
        self.depth = 1

    def fault(self, link: object, path: str) -> str | None:
        """What is wrong with visiting this child link, None when nothing is."""
        if self.depth > self.limits.link_depth:
            return f"given a link {self.depth} levels deep; allowed: {self.limits.link_depth}"
        before = self._seen.setdefault(id(link), path)
        if before is not path:
            return f"the same Link object is already at {before}; give every place its own copy"
        return None


class Gathering(Walk):
    """A walk that collects problems instead of stopping at the first one."""

    def __init__(self, limits: Limits = LIMITS, file: str | None = None) -> None:
        super().__init__(limits)
        self.problems: list[Problem] = []
        self.file = file

    def problem(self, path: str, message: str) -> None:
        """Notes a problem; too many of them end the walk at once."""
        self.problems.append(Problem(path, message, self.file))
        if len(self.problems) >= self.limits.problems:
            raise TooManyProblems

    def reject(self, path: str, given: str, allowed: str) -> None:
        """Notes a value that does not fit."""
        self.problem(path, f"given {given}; allowed: {allowed}")

    def raise_any(self, headline: str) -> None:
        """Raises all collected problems as one `SceneError`."""
        raise_problems(headline, self.problems, self.limits)


def raise_problems(headline: str, problems: list[Problem], limits: Limits) -> None:
    """Raises all problems as one `SceneError`; nothing when there is none."""
    if problems:
        count = len(problems)
        number = "1 problem" if count == 1 else f"{count} problems"
        if count >= limits.problems:
            number = f"at least {number}"
        raise SceneError(f"{headline}: {number}", problems)


class TooManyProblems(Exception):
    """Ends a walk early; never leaves this package."""


class Probe(Gathering):
    """A check of a scene: problems, and every name and reference that was met.

    Attributes:
        values: Also check ranges of values, not only types, shapes and NaN.
        names_only: Only look at names and references.
        rules: What else to check of an object, by its class, once its fields are sound.
        names: For each namespace the names defined in it and where.
        references: (namespaces, name, path) of every reference.
    """

    def __init__(
        self,
        limits: Limits = LIMITS,
        *,
        values: bool = True,
        names_only: bool = False,
        rules: Mapping[type, Callable[[Any, Probe, str], None]] | None = None,
    ) -> None:
        super().__init__(limits)
        self.values = values
        self.names_only = names_only
        self.rules = rules or {}
        self.elements = 0
        self.names: dict[str, dict[str, str]] = {}
        self.references: list[tuple[tuple[str, ...], str, str]] = []

    def name(self, namespace: str, name: str, path: str) -> None:
        """Registers a definition; a second one of the same name is a problem."""
        known = self.names.setdefault(namespace, {})
        if name in known:
            self.problem(path, f"given the {namespace} name {name!r}, already used at {known[name]}")
        else:
            known[name] = path

    def count(self, number: int, path: str) -> None:
        """Counts list entries against the limit."""
        self.elements += number
        if self.elements > self.limits.elements:
            self.problem(path, f"the scene has more than {self.limits.elements} elements")
            raise TooManyProblems


class Source(Gathering):
    """A scene file being read.

    Attributes:
        required: Keys that must not be missing, by class name; empty when not strict.
        report: Takes unknown keys.
    """

    def __init__(
        self,
        limits: Limits = LIMITS,
        *,
        file: str | None = None,
        required: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(limits, file)
        self.required = required or {}
        self.report = Report()
        self.elements = 0
        self.numbers = 0
        self.unknown_keys = 0

    def count(self, number: int, path: str) -> None:
        """Counts list entries against the limit, before anything is made of them."""
        self.elements += number
        if self.elements > self.limits.elements:
            self.problem(path, f"the scene has more than {self.limits.elements} elements")
            raise TooManyProblems

    def count_numbers(self, number: int, path: str) -> None:
        """Counts the numbers of a list against the limit, before anything is made of them."""
        self.numbers += number
        if self.numbers > self.limits.numbers:
            self.problem(path, f"the lists of the scene have more than {self.limits.numbers} numbers")
            raise TooManyProblems

    def require(self, owner: str, raw: dict[Any, Any], path: str) -> None:
        """Notes required keys that are missing."""
        for key in self.required.get(owner, ()):
            if key not in raw:
                self.problem(path, f"given no {key!r}; {owner} requires it")

    def unknown(self, path: str, key: object, owner: str, known: Iterable[str]) -> None:
        """Notes a key that means nothing to its owner."""
        self.unknown_keys += 1
        if self.unknown_keys <= _NOTED_KEYS:
            message = f"{owner} has no such key{hint(key, known)}"
            self.report.left_out(f"{path}.{key!s:.60}", message, file=self.file)

    def close(self) -> None:
        """Sums up the unknown keys that were too many to note one by one."""
        more = self.unknown_keys - _NOTED_KEYS
        if more > 0:
            self.report.left_out("$", f"{more} more unknown keys", file=self.file)


class Writer(Walk):
    """A scene being turned into maps, lists, numbers and text.

    Attributes:
        binary: The target can hold bytes and infinities (msgpack), else it cannot (JSON).
        defaults: Write fields that hold their default as well.
        required: Keys that are always written, by class name.
    """

    def __init__(
        self, *, binary: bool, defaults: bool = False, required: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        super().__init__()
        self.binary = binary
        self.defaults = defaults
        self.required = required or {}

    def visit(self, link: Any) -> None:
        """Refuses a child link that was met before or lies too deep."""
        fault = self.fault(link, f"a link named {link.name!r}")
        if fault:
            raise SceneError(f"the tree of links cannot be walked: {fault}")
