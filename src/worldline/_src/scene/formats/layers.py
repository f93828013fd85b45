# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Layered defaults of elements.

A default class of a format is a few elements, the most general first. Hundreds of elements are read over the
same ones, so what these say together is found out once; see `xml.Attributes` for how it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from worldline._src.scene.formats.elements import Element


class Layers(tuple[Element, ...]):
    """Elements that give defaults, the most general first.

    Attributes:
        holders: For every attribute that any of them gives, the last one that does.
        texts: For every attribute that any of them gives, all that they say of it, in their order.
        lists: Lists of numbers that were read before, by what was requested.
        reported: Known attributes for which the others have been reported; see `Attributes.others`.
    """

    holders: dict[str, Element]
    texts: dict[str, tuple[str, ...]]
    lists: dict[Any, list[float] | None]
    reported: set[frozenset[str]]

    def __new__(cls, elements: Iterable[Element] = ()) -> Layers:
        made = super().__new__(cls, elements)
        made.holders, made.texts = {}, {}
        made.lists, made.reported = {}, set()
        for element in made:
            made._take(element)
        return made

    def _take(self, element: Element) -> None:
        for name, text in element.attributes.items():
            self.holders[name] = element
            self.texts[name] = (*self.texts.get(name, ()), text)

    def and_one(self, element: Element) -> Layers:
        """These and a more specific one."""
        # without a call of __init__; type checkers do not know the entries of a bare tuple
        made = tuple.__new__(Layers, (*self, element))  # pyright: ignore[reportUnknownMemberType]
        made.holders, made.texts = self.holders.copy(), self.texts.copy()
        made.lists, made.reported = {}, set()
        made._take(element)
        return made


NO_LAYERS: Final = Layers()
