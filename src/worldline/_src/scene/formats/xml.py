# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""XML files, read safely and without losing anything on the way.

`parse` turns text into a tree of plain `Element` objects that remember their file and line. A document type
is refused, and with it every entity, external subset and expansion; nothing is fetched. Size and depth are
bounded.

A format reader makes a `Log`, which gathers all problems of a file and the notes for the scene's report,
and wraps each element in `Attributes`. Those read typed values, note what is malformed, and in `finish` tell
which attributes nobody asked for, so that nothing is dropped silently. At the end `Log.raise_any` raises
everything as one `SceneError`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import Problem, SceneError
from worldline._src.scene.kinds import hint
from worldline._src.scene.limits import LIMITS, Limits
from worldline._src.scene.report import Report

T = TypeVar("T")
Array = NDArray[np.float64]

SOURCE_CHARS: Final = 64 * 2**20
"""Longest XML text that is parsed; real robots stay below a megabyte, inline meshes below a few dozen."""

DEPTH: Final = 1100
"""Deepest nesting of elements: the deepest chain of links that a scene may have, and some around it."""

ELEMENTS: Final = 300_000
"""Most elements of one document."""

ATTRIBUTES: Final = 3_000_000
"""Most attributes of one document; a parsed one takes some fifty times the three bytes it needs in a file."""


class Element:
    """An element of an XML file.

    Attributes:
        tag: Its name; a namespace prefix is kept as `{uri}name`.
        attributes: Its attributes in the order of the file.
        children: Its child elements.
        text: The text before its first child, stripped.
        file: The file it stands in, None for text that came from no file.
        line: The line it starts at, counted from 1.
        parent: The element around it in the file it stands in.
        position: How many siblings of the same tag come before it.
    """

    __slots__ = ("attributes", "children", "file", "line", "parent", "position", "tag", "text")

    def __init__(
        self,
        tag: str,
        attributes: dict[str, str] | None = None,
        *,
        text: str = "",
        file: str | None = None,
        line: int | None = None,
        parent: Element | None = None,
        position: int = 0,
    ) -> None:
        self.tag = tag
        self.attributes: dict[str, str] = {} if attributes is None else attributes
        self.children: list[Element] = []
        self.text = text
        self.file = file
        self.line = line
        self.parent = parent
        self.position = position

    @property
    def path(self) -> str:
        """Where it stands, such as `mujoco/worldbody/body[0]/geom[2]`; the root has no number."""
        steps: list[str] = []
        here: Element | None = self
        while here is not None:
            steps.append(here.tag if here.parent is None else f"{here.tag}[{here.position}]")
            here = here.parent
        return "/".join(reversed(steps))

    def get(self, name: str) -> str | None:
        """The raw text of an attribute, None when it is not there."""
        return self.attributes.get(name)

    def find(self, tag: str) -> Element | None:
        """The first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        """The children of a tag."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def copy(self) -> Element:
        """A deep copy whose elements still tell where the originals stand."""
        twin = self._alone()
        stack = [(self, twin)]
        while stack:
            source, target = stack.pop()
            for child in source.children:
                made = child._alone()
                target.children.append(made)
                if child.children:
                    stack.append((child, made))
        return twin

    def _alone(self) -> Element:
        twin = Element.__new__(Element)
        twin.tag, twin.attributes, twin.text = self.tag, dict(self.attributes), self.text
        twin.file, twin.line, twin.parent, twin.position = self.file, self.line, self.parent, self.position
        twin.children = []
        return twin

    def problem(self, message: str) -> Problem:
        """A problem that stands here."""
        return Problem(self.path, message, self.file, self.line)

    def __repr__(self) -> str:
        return f"<{self.path} line {self.line}>"


def parse(source: str, *, file_path: Path | str | None = None) -> Element:
    """The root element of an XML text.

    Args:
        source: The text; a declared encoding is ignored, since the text is already decoded.
        file_path: The file it came from, for messages only.

    Raises:
        SceneError: It is not well-formed, has a document type, or is too large or too deep.
    """
    from lxml import etree

    file = None if file_path is None else str(file_path)
    if len(source) > SOURCE_CHARS:
        raise SceneError("", [Problem("", f"more than {SOURCE_CHARS} characters of XML", file)])
    if source.count("<") > 2 * ELEMENTS + 1000 or source.count("=") > ATTRIBUTES:
        # looked at before parsing, which takes memory many times the size of the text
        message = f"more than {ELEMENTS} elements or {ATTRIBUTES} attributes"
        raise SceneError("", [Problem("", message, file)])
    source = source.removeprefix("\ufeff")
    _refuse_document_type(source, file)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        # only needed for deep chains and long vertex lists; without a document type nothing can expand,
        # and size and depth are bounded here
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
        # prefixes that nobody declared are common in robot files and harmless; all else is raised below
        recover=True,
    )
    try:
        # fed from memory: the parser never opens a file by itself
        tree = etree.fromstring(source.encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:
        raise SceneError("", [_malformed(str(error.msg), file, error.lineno)]) from None
    except (UnicodeEncodeError, ValueError) as error:
        raise SceneError("", [Problem("", f"not text that XML can hold: {error}", file)]) from None
    for entry in parser.error_log:
        if entry.domain != etree.ErrorDomains.NAMESPACE and entry.level > etree.ErrorLevels.WARNING:
            raise SceneError("", [_malformed(entry.message, file, entry.line)])
    if tree is None:
        raise SceneError("", [Problem("", "no XML element", file)])
    return _convert(tree, file)


def _malformed(message: str, file: str | None, line: int | None) -> Problem:
    text = message.split(", line ", maxsplit=1)[0].strip()
    if text.startswith("Excessive depth"):
        # the parser's own advice is for programmers
        return Problem("", f"elements nested deeper than {DEPTH}", file, line)
    return Problem("", f"not well-formed XML: {text}", file, line)


def _refuse_document_type(source: str, file: str | None) -> None:
    """A document type may only stand before the root, after blanks, comments and instructions."""
    at = 0
    while True:
        while at < len(source) and source[at].isspace():
            at += 1
        if source.startswith("<!--", at):
            end, length = source.find("-->", at + 4), 3
        elif source.startswith("<?", at):
            end, length = source.find("?>", at + 2), 2
        elif source.startswith("<!", at):
            line = source.count("\n", 0, at) + 1
            message = "a document type (<!DOCTYPE ...>) is not allowed, nor are entities"
            raise SceneError("", [Problem("", message, file, line)])
        else:
            return
        if end < 0:
            # unclosed: the parser says so with its own words
            return
        at = end + length


def _convert(tree: Any, file: str | None) -> Element:
    """Plain elements of a parsed tree, without recursion."""
    root = _plain(tree, file, None, 0)
    level: list[tuple[Any, Element]] = [(tree, root)]
    total = depth = 1
    while level:
        depth += 1
        below: list[tuple[Any, Element]] = []
        for source, target in level:
            positions: dict[str, int] = {}
            for child in source:
                tag = child.tag
                if not isinstance(tag, str):
                    # an unresolved entity; there are none without a document type
                    raise SceneError("", [target.problem("an entity is not allowed")])
                position = positions.get(tag, 0)
                positions[tag] = position + 1
                made = _plain(child, file, target, position)
                target.children.append(made)
                if len(child):
                    below.append((child, made))
            total += len(target.children)
        if total > ELEMENTS:
            raise SceneError("", [root.problem(f"more than {ELEMENTS} elements")])
        if depth > DEPTH:
            deep = level[0][1]
            raise SceneError("", [Problem("", f"elements nested deeper than {DEPTH}", file, deep.line)])
        level = below
    return root


def _plain(source: Any, file: str | None, parent: Element | None, position: int) -> Element:
    text = source.text
    return Element(
        source.tag,
        dict(source.attrib),
        text=text.strip() if text else "",
        file=file,
        line=source.sourceline,
        parent=parent,
        position=position,
    )


class Log:
    """All problems of a file, and the notes for the report of its scene.

    Attributes:
        problems: The problems so far; the same one is kept once.
        report: What was kept, approximated or left out.
    """

    def __init__(self, headline: str = "cannot read the file", limits: Limits = LIMITS) -> None:
        self.headline = headline
        self.limits = limits
        self.problems: list[Problem] = []
        self.report = Report()
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
        if len(self.problems) >= self.limits.problems:
            self.raise_any()

    def kept(self, element: Element, message: str) -> None:
        """Notes something kept in full that a user may have doubts about."""
        if self._is_new("kept", element, message):
            self.report.kept(element.path, message, file=element.file, line=element.line)

    def approximated(self, element: Element, message: str) -> None:
        """Notes something kept with a changed meaning."""
        if self._is_new("approximated", element, message):
            self.report.approximated(element.path, message, file=element.file, line=element.line)

    def left_out(self, element: Element, message: str) -> None:
        """Notes something that has no place in a scene."""
        if self._is_new("left out", element, message):
            self.report.left_out(element.path, message, file=element.file, line=element.line)

    def unknown_child(self, child: Element, known: Iterable[str], *, strict: bool = True) -> None:
        """Notes an element that its parent cannot have: a problem, or left out when not strict."""
        message = f"<{child.tag}> cannot stand here{hint(child.tag, known)}"
        if strict:
            self.problem(child, message)
        else:
            self.left_out(child, message)

    def raise_any(self) -> None:
        """Raises all problems as one `SceneError`; nothing when there is none."""
        if self.problems:
            count = len(self.problems)
            number = "1 problem" if count == 1 else f"{count} problems"
            if count >= self.limits.problems:
                number = f"at least {number}"
            raise SceneError(f"{self.headline}: {number}", self.problems)

    def _is_new(self, fate: str, element: Element, message: str) -> bool:
        # an element copied many times has one note
        key = (fate, element.file, element.line, element.path, message)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


class Attributes:
    """Typed reading of an element's attributes, over those of elements that give its defaults.

    What is malformed is noted in the log, with the element that really holds it, and the default is returned
    in its place, so that reading goes on and finds the other problems too.

    Args:
        element: The element that is read.
        log: Where problems and notes go.
        layers: Elements whose attributes count where this one has none, the most general first. Arrays
            that are shorter than what they replace leave its rest in place.

    Example:
        >>> log = Log()
        >>> a = Attributes(Element("geom", {"size": "1 2", "colour": "red"}), log)
        >>> a.reals("size", 1, 3)
        [1.0, 2.0]
        >>> a.finish(also=["color"])
        >>> log.problems[0].message
        "unknown attribute 'colour'; did you mean 'color'?"
    """

    __slots__ = ("_layers", "_read", "element", "log")

    def __init__(self, element: Element, log: Log, layers: Sequence[Element] = ()) -> None:
        self.element = element
        self.log = log
        self._layers = layers
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Whether the element or one of its layers gives the attribute; does not count as reading it."""
        return name in self.element.attributes or any(name in layer.attributes for layer in self._layers)

    def is_own(self, name: str) -> bool:
        """Whether the element itself gives the attribute; does not count as reading it."""
        return name in self.element.attributes

    def mark(self, *names: str) -> None:
        """Counts attributes as read."""
        self._read.update(names)

    def holder(self, name: str) -> Element:
        """The element that gives the attribute in the end; this one when none does."""
        if name not in self.element.attributes:
            for layer in reversed(self._layers):
                if name in layer.attributes:
                    return layer
        return self.element

    def nearest(self, names: Iterable[str]) -> tuple[Element, list[str]]:
        """The most specific element that gives any of the attributes, and which of them it gives.

        They count as read; the list is empty when none is given.
        """
        names = tuple(names)
        self._read.update(names)
        for layer in (self.element, *reversed(self._layers)):
            given = [name for name in names if name in layer.attributes]
            if given:
                return layer, given
        return self.element, []

    def text(self, name: str) -> str | None:
        """The text of an attribute, None when it is missing."""
        self._read.add(name)
        found = self.element.attributes.get(name)
        if found is None and self._layers:
            return self.holder(name).attributes.get(name)
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
        word = found.strip()
        if word in options:
            return options[word]
        allowed = f"given {word[:60]!r}; allowed: {', '.join(options)}{hint(word, options)}"
        self.log.problem(self.holder(name), f"attribute '{name}': {allowed}")
        return default

    def integer(self, name: str, default: T = None) -> int | T:
        """A whole number within 32 bits."""
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
        value = number(found.strip(), infinite)
        if value is None:
            self._reject(name, "a number" if infinite else "a finite number")
            return default
        return value

    def reals(
        self,
        name: str,
        least: int,
        most: int | None = None,
        *,
        default: Sequence[float] | None = None,
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
        most = least if most is None else most
        self._read.add(name)
        out = None if default is None else list(default)
        for layer in (*self._layers, self.element) if self._layers else (self.element,):
            found = layer.attributes.get(name)
            if found is None:
                continue
            values = self._numbers(layer, name, found, least, most, infinite)
            if values is not None:
                out = values if out is None else values + out[len(values) :]
        return out

    def table(self, name: str, columns: int) -> Array | None:
        """A long list of finite numbers as rows, (N, columns); None when it is missing or malformed."""
        found = self.text(name)
        if found is None:
            return None
        values = numbers(found)
        if values is None or values.size % columns:
            self._reject(name, f"finite numbers, {columns} to a row")
            return None
        return values.reshape(-1, columns)

    def _numbers(
        self, layer: Element, name: str, found: str, least: int, most: int, infinite: bool
    ) -> list[float] | None:
        words = found.split()
        fits = len(words) >= least and (most < 0 or len(words) <= most)
        values = [number(word, infinite) for word in words] if fits else []
        if fits and None not in values:
            return values  # type: ignore[return-value]
        count = f"{least}" if least == most else f"at least {least}" if most < 0 else f"{least} to {most}"
        given = repr(found[:60]) if fits else f"{len(words)} values"
        kind = "numbers" if infinite else "finite numbers"
        self.log.problem(layer, f"attribute '{name}': given {given}; allowed: {count} {kind}")
        return None

    def _reject(self, name: str, allowed: str) -> None:
        holder = self.holder(name)
        given = repr((holder.get(name) or "")[:60])
        self.log.problem(holder, f"attribute '{name}': given {given}; allowed: {allowed}")

    def reject(self, name: str, message: str) -> None:
        """Notes a problem with the value of an attribute."""
        self.log.problem(self.holder(name), f"attribute '{name}': {message}")

    def unread(self) -> Iterator[tuple[Element, str]]:
        """Attributes that nobody read, of this element and of its layers, with the element that gives them."""
        for layer in (self.element, *self._layers):
            if not layer.attributes.keys() <= self._read:
                for name in layer.attributes:
                    if name not in self._read:
                        yield layer, name

    def finish(
        self,
        *,
        ignored: Mapping[str, str] | None = None,
        also: Collection[str] = (),
        strict: bool = True,
    ) -> None:
        """Notes the attributes of this element that nobody read.

        Args:
            ignored: Attributes of the format that a scene has no place for, and why; they are left out.
            also: Further valid names, which need not have been asked for this time.
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


_TRUTH: Final = {"true": True, "false": False}


def number(text: str, infinite: bool = False) -> float | None:
    """A number as XML formats write it, None for anything else; NaN is never one."""
    if len(text) > 400 or "_" in text:
        # Python would read 1_000, and long digits take long
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isfinite(value) or (infinite and value == value):
        return value
    return None


def numbers(text: str) -> Array | None:
    """Many finite numbers at once, None when there is anything else; leaner than a list of words."""
    with warnings.catch_warnings():
        # what stands behind the last number is otherwise dropped with a warning
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return values if np.isfinite(values).all() else None
