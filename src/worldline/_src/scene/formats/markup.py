# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What writers of XML share: numbers as text, indented documents, and texts that XML cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from worldline._src.errors import Problem, SceneError
from worldline._src.scene.formats import native
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_NOT_XML: Final = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def number(value: float) -> str:
    """The shortest text that reads back to the same double."""
    text = repr(float(value))
    return text.removesuffix(".0")


def numbers(values: Iterable[float]) -> str:
    """Numbers with a space between them."""
    return " ".join([number(value) for value in values])


def root(tag: str, attributes: Mapping[str, str | None] | None = None) -> Element:
    """The first element of a document; attributes that are None are left out."""
    # lxml is only loaded by those who write XML
    import lxml.etree as etree

    return etree.Element(tag, _given(attributes))


def child(parent: Element, tag: str, attributes: Mapping[str, str | None] | None = None) -> Element:
    """A new last element within another; attributes that are None are left out."""
    import lxml.etree as etree

    return etree.SubElement(parent, tag, _given(attributes))


def _given(attributes: Mapping[str, str | None] | None) -> dict[str, str]:
    return {} if attributes is None else {key: text for key, text in attributes.items() if text is not None}


def document(top: Element) -> str:
    """A whole document: a declaration, and elements on lines of their own."""
    import lxml.etree as etree

    etree.indent(top, space="  ")
    body = etree.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def check_texts(world: World, format: str) -> None:
    """Raises a `SceneError` when a name or another text has characters that XML does not allow."""
    problems: list[Problem] = []
    # a stack of our own: links nest deeper than calls may
    stack: list[tuple[str, Any]] = [("$", native.to_plain(world, binary=True, defaults=False))]
    while stack:
        path, value = stack.pop()
        table: dict[str, Any] = value
        entries: list[Any] = value
        if isinstance(value, dict):
            stack += [(f"{path}.{key}", key) for key in table if re.search(_NOT_XML, key)]
            stack += [(f"{path}.{key}", entry) for key, entry in table.items()]
        elif isinstance(value, list):
            stack += [(f"{path}[{i}]", entry) for i, entry in enumerate(entries)]
        elif isinstance(value, str) and re.search(_NOT_XML, value):
            problems.append(Problem(path, f"given {value!r}; allowed: text of characters that XML knows"))
    if problems:
        raise SceneError(f"the scene cannot be written as {format.upper()}", sorted(problems))
