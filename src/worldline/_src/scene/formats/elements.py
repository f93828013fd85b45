# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""XML text as plain elements, parsed safely.

`parse` turns text into a tree of `Element` objects that remember their file and line. A document type is
refused, and with it every entity, external subset and expansion; nothing is fetched. Size and depth are
bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from worldline._src.errors import Problem, SceneError
from worldline._src.scene.limits import Limits

SOURCE_CHARS: Final = 64 * 2**20
"""Longest XML text that is parsed; real robots stay below a megabyte, inline meshes below a few dozen."""

DEPTH: Final = 1100
"""Deepest nesting of elements: the deepest chain of links that a scene may have, and some around it."""

ELEMENTS: Final = 300_000
"""Most elements of one document."""

_SHORT_LINES: Final = 65_000
"""Lines that the parser counts at the elements themselves, up to 16 bits."""

ATTRIBUTES: Final = 3_000_000
"""Most attributes of one document; a parsed one takes some fifty times the three bytes it needs in a file."""

ELEMENT_ATTRIBUTES: Final = 500
"""Most attributes of one element; no format has a hundred."""

_VALUE: Final = re.compile(r"=\s*[\"']")
"""Where the value of an attribute begins."""

_CROWD: Final = 5_000
"""With fewer attributes in all a document need not be looked through for elements with very many."""


_new = object.__new__


class _Node(Protocol):
    @property
    def children(self) -> Sequence[Any]: ...


N = TypeVar("N", bound=_Node)


def walk(root: N) -> Iterator[N]:
    """A node and all below it, each before its children, in the order of the file."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


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
    """

    __slots__ = ("_position", "attributes", "children", "file", "line", "parent", "tag", "text")

    def __init__(
        self,
        tag: str,
        attributes: dict[str, str] | None = None,
        text: str = "",
        file: str | None = None,
        line: int | None = None,
        parent: Element | None = None,
    ) -> None:
        self.tag = tag
        self.attributes: dict[str, str] = {} if attributes is None else attributes
        self.children: list[Element] = []
        self.text = text
        self.file = file
        self.line = line
        self.parent = parent
        self._position: int | None = None

    @property
    def position(self) -> int:
        """How many siblings of the same tag come before it in its file."""
        if self._position is None and self.parent is not None:
            self.parent.number_children()
        return self._position or 0

    def number_children(self) -> None:
        """Notes the position of all children, which only messages need; before others take their places."""
        positions: dict[str, int] = {}
        for child in self.children:
            child._position = positions.get(child.tag, 0)
            positions[child.tag] = child._position + 1

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
        return walk(self)

    def dismantle(self) -> None:
        """Takes apart a tree that is no longer needed.

        Parents and children hold each other, so the tree would otherwise stay until the garbage collector
        finds it, which costs as much as parsing it.
        """
        stack = [self]
        for element in stack:
            if element.children:
                stack += element.children
                element.children = []

    def copy(self) -> Element:
        """A deep copy whose elements keep the lines of the originals."""
        copied = self._alone()
        stack: list[tuple[Element, Element]] = [(self, copied)]
        while stack:
            source, target = stack.pop()
            for child in source.children:
                made = child._alone()
                target.children.append(made)
                if child.children:
                    stack.append((child, made))
        return copied

    def _alone(self) -> Element:
        copied = Element.__new__(Element)
        copied.tag, copied.attributes, copied.text = self.tag, dict(self.attributes), self.text
        copied.file, copied.line, copied.parent, copied._position = (
            self.file,
            self.line,
            self.parent,
            self.position,
        )
        copied.children = []
        return copied

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
    import lxml.etree as etree

    file = None if file_path is None else str(file_path)
    if len(source) > SOURCE_CHARS:
        raise SceneError("", [Problem("", f"more than {SOURCE_CHARS} characters of XML", file)])
    # looked at before parsing, which takes memory many times the size of the text
    if _has_many(source):
        message = f"more than {ELEMENTS} elements or {ATTRIBUTES} attributes"
        raise SceneError("", [Problem("", message, file)])
    source = source.removeprefix("\ufeff")
    _refuse_document_type(source, file)
    if len(source) > 4 * _CROWD and source.count("=") > _CROWD:
        _refuse_crowds(source, file)
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
        # lines beyond 16 bits are kept with the blanks between elements
        remove_blank_text=source.count("\n") < _SHORT_LINES,
        encoding="utf-8",
        # undeclared prefixes are common in robot files and harmless; all else is raised below
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


def object_tags(*tags: str) -> re.Pattern[str]:
    """Finds the opening tags of elements that define objects of a scene."""
    return re.compile(rf"<(?:{'|'.join(tags)})[\s/>]")


def check_objects(
    source: str, tags: re.Pattern[str], limits: Limits, file: Path | str | None = None, before: int = 0
) -> int:
    """Objects of a scene that an XML text defines, counted before it is parsed.

    Args:
        source: The text.
        tags: See `object_tags`.
        limits: Bounds on the scene.
        file: The file of the text, for messages.
        before: Objects of the files read so far.

    Raises:
        SceneError: More objects than a scene may have.
    """
    if _has_many(source):
        # far too many in any case, which the parser says
        return before
    if before or source.count("<") > limits.elements:
        before += sum(1 for _ in tags.finditer(source))
    if before > limits.elements:
        message = f"more than {limits.elements} elements that define objects of a scene"
        raise SceneError("", [Problem("", message, None if file is None else str(file))])
    return before


def _has_many(source: str) -> bool:
    """Whether a text has too many elements or attributes, by a count of its signs."""
    if len(source) <= ELEMENTS:
        # an element and an attribute take a sign each, so most texts need no counting
        return False
    opened = source.count("<") - source.count("</") - source.count("<!") - source.count("<?")
    return opened > ELEMENTS or source.count("=") > ATTRIBUTES


def _refuse_crowds(source: str, file: str | None) -> None:
    """No element has very many attributes: a parser takes time that grows with their square."""
    line = 1
    for piece in source.split("<"):
        # a piece is a tag and the text behind it
        if piece.count("=") > ELEMENT_ATTRIBUTES and len(_VALUE.findall(piece)) > ELEMENT_ATTRIBUTES:
            message = f"an element with more than {ELEMENT_ATTRIBUTES} attributes"
            raise SceneError("", [Problem("", message, file, line)])
        line += piece.count("\n")


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
    root = _new(Element)
    root.parent = None
    level: list[tuple[Any, Element]] = [(tree, root)]
    total = depth = 0
    while level:
        depth += 1
        total += len(level)
        below: list[tuple[Any, Element]] = []
        for source, made in level:
            text = source.text
            made.tag = tag = source.tag
            if type(tag) is not str:
                # an unresolved entity; there are none without a document type
                raise SceneError("", [Problem("", "an entity is not allowed", file)])
            # not through `attrib`, which makes an object of its own: there may be very many of these
            made.attributes = dict(source.items())
            made.text = "" if text is None else text.strip()
            made.file = file
            made.line = source.sourceline
            made._position = None
            children: list[Element] = []
            made.children = children
            if len(source):
                for inner in source:
                    child = _new(Element)
                    child.parent = made
                    children.append(child)
                    below.append((inner, child))
        if total > ELEMENTS:
            raise SceneError("", [root.problem(f"more than {ELEMENTS} elements")])
        if depth > DEPTH:
            deep = level[0][1].parent or root
            raise SceneError("", [Problem("", f"elements nested deeper than {DEPTH}", file, deep.line)])
        level = below
    return root
