# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reading XML formats without losing anything on the way.

A format reader makes a `Log`, which gathers all problems of a file and the notes for the scene's report,
and wraps each element in `Attributes`. Those read typed values, note what is malformed, and in `finish`
report which attributes were not read, so that nothing is dropped silently. At the end `Log.raise_any`
raises everything as one `SceneError`. The elements themselves come from `parse`, see `elements`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import Problem
from worldline._src.scene.contexts import raise_problems
from worldline._src.scene.formats.elements import (
    ATTRIBUTES,
    DEPTH,
    ELEMENTS,
    SOURCE_CHARS,
    Element,
    check_objects,
    object_tags,
    parse,
)
from worldline._src.scene.formats.layers import NO_LAYERS, Layers
from worldline._src.scene.kinds import hint
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.report import Fate, Report

MOST_NOTES: Final = 3000
"""Notes kept of one file; the last one says that there would be more."""

T = TypeVar("T")
Array = NDArray[np.float64]

__all__ = [
    "ATTRIBUTES",
    "DEPTH",
    "ELEMENTS",
    "NO_LAYERS",
    "SOURCE_CHARS",
    "Array",
    "Attributes",
    "Element",
    "Layers",
    "Log",
    "are_plain",
    "check_objects",
    "number",
    "numbers",
    "object_tags",
    "parse",
    "plain_numbers",
    "too_long",
]


class Log:
    """All problems of a file, and the notes for the report of its scene.

    Attributes:
        problems: The problems so far; the same one is kept once.
        report: What was kept, approximated or left out.
        size: How many problems and notes there are.
    """

    def __init__(self, headline: str = "cannot read the file", limits: Limits = LIMITS) -> None:
        self.headline = headline
        self.limits = limits
        self.problems: list[Problem] = []
        self.report = Report()
        self.size = 0
        self._seen: set[Any] = set()

    def problem(self, element: Element, message: str) -> None:
        """Notes a problem; the reading ends at once when there are too many."""
        self.add(element.problem(message))

    def add(self, problem: Problem) -> None:
        """Notes a problem that is already made."""
        if problem in self._seen:
            return
        self._seen.add(problem)
        self.problems.append(problem)
        self.size += 1
        if len(self.problems) >= self.limits.problems:
            self.raise_any()

    def kept(self, element: Element, message: str) -> None:
        """Notes something kept in full that a user may have doubts about."""
        self._note(Fate.Kept, element, message)

    def approximated(self, element: Element, message: str) -> None:
        """Notes something kept with a changed meaning."""
        self._note(Fate.Approximated, element, message)

    def left_out(self, element: Element, message: str) -> None:
        """Notes something that has no place in a scene."""
        self._note(Fate.LeftOut, element, message)

    def unknown_child(self, child: Element, known: Iterable[str], *, strict: bool = True) -> None:
        """Notes an element that its parent cannot have: a problem, or left out when not strict."""
        message = f"<{child.tag}> cannot stand here{hint(child.tag, known)}"
        if strict:
            self.problem(child, message)
        else:
            self.left_out(child, message)

    def raise_any(self) -> None:
        """Raises all problems as one `SceneError`; nothing when there is none."""
        raise_problems(self.headline, self.problems, self.limits)

    def _note(self, fate: Fate, element: Element, message: str) -> None:
        # an element that is read many times has one note
        key = (fate, id(element), message)
        if key in self._seen or len(self.report) > MOST_NOTES:
            return
        self._seen.add(key)
        self.size += 1
        if len(self.report) == MOST_NOTES:
            fate, message = Fate.LeftOut, "there is more to note from here on"
        self.report.add(fate, element.path, message, element.file, element.line)


class Attributes:
    """Typed reading of an element's attributes, over those of elements that give its defaults.

    What is malformed is noted in the log, with the element that really holds it, and the default is returned
    in its place, so that reading goes on and finds the other problems too.

    Args:
        element: The element that is read.
        log: Where problems and notes go.
        layers: Elements whose attributes count where this one has none, the most general first. Arrays
            that are shorter than what they replace leave its rest in place.
        read: Attributes that count as read from the start.

    Example:
        >>> log = Log()
        >>> a = Attributes(Element("geom", {"size": "1 2", "colour": "red"}), log)
        >>> a.reals("size", 1, 3)
        [1.0, 2.0]
        >>> a.finish(also=["color"])
        >>> log.problems[0].message
        "unknown attribute 'colour'; did you mean 'color'?"
    """

    __slots__ = ("_given", "_layers", "_own", "_read", "element", "log")

    def __init__(
        self, element: Element, log: Log, layers: Sequence[Element] = NO_LAYERS, read: Iterable[str] = ()
    ) -> None:
        self.element = element
        self.log = log
        self._own = element.attributes
        self._layers = layers = layers if type(layers) is Layers else Layers(layers)
        # most attributes are given nowhere, which one look finds out
        self._given = layers.holders
        self._read = set(read)

    def __contains__(self, name: str) -> bool:
        """Whether the element or one of its layers gives the attribute; does not count as reading it."""
        return name in self._own or name in self._given

    def gives_any(self, names: frozenset[str]) -> bool:
        """Whether the element or one of its layers gives any of some attributes; does not read them."""
        return not (names.isdisjoint(self._own) and names.isdisjoint(self._given))

    def is_own(self, name: str) -> bool:
        """Whether the element itself gives the attribute; does not count as reading it."""
        return name in self._own

    def all_texts(self, name: str) -> tuple[str, ...]:
        """What the layers and at last the element say of an attribute; does not count as reading it."""
        said = self._layers.texts.get(name, ())
        return (*said, self._own[name]) if name in self._own else said

    def mark(self, *names: str) -> None:
        """Counts attributes as read."""
        self._read.update(names)

    def holder(self, name: str) -> Element:
        """The element that gives the attribute in the end; this one when none does."""
        return self.element if name in self._own else self._given.get(name, self.element)

    def nearest(self, names: Iterable[str]) -> tuple[Element, list[str]]:
        """The most specific element that gives any of the attributes, and which of them it gives.

        They count as read; the list is empty when none is given.
        """
        names = tuple(names)
        self._read.update(names)
        given = [name for name in names if name in self._own]
        if given:
            return self.element, given
        for layer in reversed(self._layers):
            given = [name for name in names if name in layer.attributes]
            if given:
                return layer, given
        return self.element, []

    def text(self, name: str) -> str | None:
        """The text of an attribute, None when it is missing."""
        self._read.add(name)
        found = self._own.get(name)
        if found is None and name in self._given:
            return self._given[name].attributes[name]
        return found

    def required_text(self, name: str) -> str:
        """The text of an attribute that must be there; empty after noting that it is missing or empty."""
        found = self.text(name)
        if not found:
            self.log.problem(self.element, f"attribute '{name}' is required")
        return found or ""

    def flag(self, name: str, default: T = None) -> bool | T:
        """`true` or `false`."""
        return self.choice(name, _TRUTH, default)

    def choice(self, name: str, options: Mapping[str, Any], default: Any = None) -> Any:
        """What one of several words stands for."""
        found = self.text(name)
        if found is None:
            return default
        if found in options:
            return options[found]
        word = found.strip()
        if word in options:
            return options[word]
        allowed = f"given {word[:60]!r}; allowed: {', '.join(options)}{hint(word, options)}"
        self.log.problem(self.holder(name), f"attribute '{name}': {allowed}")
        return default

    def integer(self, name: str, default: T = None) -> int | T:
        """A whole number within 32 bits."""
        if name not in self._own and name not in self._given:
            self._read.add(name)
            return default
        value = self.real(name, None)
        if value is None:
            return default
        if value != math.floor(value) or abs(value) >= 2**32:
            self._reject(name, "a whole number within 32 bits")
            return default
        return int(value)

    def real(self, name: str, default: T = None, *, infinite: bool = False) -> float | T:
        """A finite number, or an infinite one where that is allowed."""
        found = self.text(name)
        if found is None:
            return default
        value = number(found, infinite)
        if value is None:
            self._reject(name, "a number" if infinite else "a finite number")
            return default
        return value

    @overload
    def reals(
        self,
        name: str,
        least: int,
        most: int | None = None,
        *,
        default: Sequence[float] | NDArray[Any],
        infinite: bool = False,
    ) -> list[float]: ...

    @overload
    def reals(
        self, name: str, least: int, most: int | None = None, *, default: None = None, infinite: bool = False
    ) -> list[float] | None: ...

    def reals(
        self,
        name: str,
        least: int,
        most: int | None = None,
        *,
        default: Sequence[float] | NDArray[Any] | None = None,
        infinite: bool = False,
    ) -> list[float] | None:
        """A list of numbers over the default; None when there is neither.

        Args:
            name: The attribute.
            least: How many numbers there must be.
            most: How many there may be; as many as `least` when None, any number when negative.
            default: What stands where nothing is given.
            infinite: Whether infinite numbers are allowed; NaN never is.
        """
        self._read.add(name)
        below = default
        if name in self._given:
            key = (name, least, most, infinite)
            known = self._layers.lists
            values = known[key] if key in known else self._inherited(key)
            if values is not None:
                below = values if default is None else values + list(default[len(values) :])
        found = self._own.get(name)
        if found is not None:
            values = self._numbers(self.element, name, found, least, most, infinite)
            if values is not None:
                # a list that is shorter than what it replaces leaves the rest in place
                rest = () if below is None else below[len(values) :]
                return [*values, *rest] if len(rest) else values
        return None if below is None else list(below)

    def _inherited(self, key: tuple[str, int, int | None, bool]) -> list[float] | None:
        """What the layers make of a list together; read once for all elements of a class."""
        name, least, most, infinite = key
        before = self.log.size
        texts = self._layers.texts[name]
        if len(texts) == 1:
            out = self._numbers(self._given[name], name, texts[0], least, most, infinite)
        else:
            out = None
            givers = [layer for layer in self._layers if name in layer.attributes]
            for layer, found in zip(givers, texts, strict=True):
                values = self._numbers(layer, name, found, least, most, infinite)
                if values is not None:
                    out = values if out is None else values + out[len(values) :]
        if self.log.size == before:
            self._layers.lists[key] = out
        return out

    def table(self, name: str, columns: int, rows: int | None = None) -> Array | None:
        """A long list of finite numbers as rows, (N, columns); None when it is missing or malformed.

        With `rows`, a text too long for that many rows is refused unread.
        """
        found = self.text(name)
        if found is None:
            return None
        if rows is not None and too_long(found, columns * rows):
            self.reject(name, f"given {len(found)} characters; allowed: {rows} rows of {columns} numbers")
            return None
        values = numbers(found)
        if values is None or values.size % columns:
            self._reject(name, f"finite numbers, {columns} to a row")
            return None
        return values.reshape(-1, columns)

    def _numbers(
        self, layer: Element, name: str, found: str, least: int, most: int | None, infinite: bool
    ) -> list[float] | None:
        most = least if most is None else most
        if most >= 0 and too_long(found, most):
            message = f"attribute '{name}': given {len(found)} characters; allowed: up to {most} numbers"
            self.log.problem(layer, message)
            return None
        try:
            quick = list(map(float, found.split()))
            if least <= len(quick) and (len(quick) <= most or most < 0):
                # a sum is finite when its terms are, or nearly so: one that overflows is looked at closely
                if isfinite(sum(quick)) and "_" not in found:
                    return quick
        except ValueError:
            pass
        words = found.split()
        count = len(words)
        fits = least <= count and (count <= most or most < 0)
        if fits:
            values = [number(word, infinite) for word in words]
            if None not in values:
                return values  # type: ignore[return-value]
        allowed = f"{least}" if least == most else f"at least {least}" if most < 0 else f"{least} to {most}"
        given = repr(found[:60]) if fits else f"{count} values"
        kind = "numbers" if infinite else "finite numbers"
        self.log.problem(layer, f"attribute '{name}': given {given}; allowed: {allowed} {kind}")
        return None

    def _reject(self, name: str, allowed: str) -> None:
        holder = self.holder(name)
        given = repr((holder.get(name) or "")[:60])
        self.log.problem(holder, f"attribute '{name}': given {given}; allowed: {allowed}")

    def reject(self, name: str, message: str) -> None:
        """Notes a problem with the value of an attribute."""
        self.log.problem(self.holder(name), f"attribute '{name}': {message}")

    def others(self, known: frozenset[str]) -> list[tuple[Element, str]]:
        """Attributes besides some known ones, with who gives them; those of layers are noted once."""
        own, layers = self._own, self._layers
        found = [] if known.issuperset(own) else [(self.element, n) for n in own if n not in known]
        if known not in layers.reported:
            layers.reported.add(known)
            if not known.issuperset(layers.texts):
                found += [(layer, n) for layer in layers for n in layer.attributes if n not in known]
        return found

    def unread(self) -> Iterator[tuple[Element, str]]:
        """Attributes that were not read, with the element that has them: this one or one of its layers."""
        if not self._own.keys() <= self._read:
            yield from [(self.element, name) for name in self._own if name not in self._read]
        for layer in self._layers:
            if not layer.attributes.keys() <= self._read:
                yield from [(layer, name) for name in layer.attributes if name not in self._read]

    def finish(
        self, *, ignored: Mapping[str, str] | None = None, also: Collection[str] = (), strict: bool = True
    ) -> None:
        """Notes the attributes of this element that were not read.

        Args:
            ignored: Attributes of the format that a scene has no place for, and why; they are left out.
            also: Further valid names, which need not have been read this time.
            strict: An unknown attribute is a problem, else it is left out.
        """
        if self.element.attributes.keys() <= self._read:
            return
        ignored = ignored or {}
        for name in self.element.attributes:
            if name in self._read or name in also:
                continue
            if name in ignored:
                self.log.left_out(self.element, f"attribute '{name}': {ignored[name]}")
                continue
            valid = {*self._read, *also, *ignored}
            message = f"unknown attribute '{name[:60]}'{hint(name, sorted(valid))}"
            if strict:
                self.log.problem(self.element, message)
            else:
                self.log.left_out(self.element, message)


_SHORT: Final = 2000
_LONG_NUMBER: Final = 400
_TRUTH: Final = {"true": True, "false": False}


def too_long(text: str, count: int) -> bool:
    """Whether a text cannot be that many numbers or fewer; found out without reading it."""
    return len(text) > _LONG_NUMBER * (count + 1)


def number(text: str, infinite: bool = False) -> float | None:
    """A number as XML formats write it, None for anything else; NaN is never one."""
    # blanks around it are no matter to `float`
    if len(text) > _LONG_NUMBER or "_" in text:
        # Python would read 1_000, and long digits take long
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isfinite(value) or (infinite and value == value):
        return value
    return None


def plain_numbers(text: str) -> list[float] | None:
    """The numbers of a text that is certainly made of finite ones; None does not say that it is not."""
    if len(text) >= _SHORT or "_" in text:
        return None
    try:
        values = list(map(float, text.split()))
    except ValueError:
        return None
    # a sum is finite when its terms are, or nearly so
    return values if isfinite(sum(values)) else None


def are_plain(*texts: str) -> bool:
    """Whether texts are certainly made of finite numbers; False does not say that they are not."""
    if max(map(len, texts), default=0) >= _LONG_NUMBER:
        return False
    text = " ".join(texts)
    try:
        # a sum is finite when its terms are, or nearly so
        return isfinite(sum(map(float, text.split()))) and "_" not in text
    except ValueError:
        return False


def numbers(text: str) -> Array | None:
    """Many finite numbers at once, None when there is anything else; leaner than a list of words."""
    if len(text) < _SHORT and "_" not in text:
        # catching warnings takes longer than reading a few words
        try:
            values = np.array(list(map(float, text.split())))
        except ValueError:
            return None
        return values if np.isfinite(values).all() else None
    with warnings.catch_warnings():
        # what stands behind the last number is otherwise dropped with a warning
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return values if np.isfinite(values).all() else None
