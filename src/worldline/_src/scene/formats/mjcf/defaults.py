# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Default classes.

A class is kept as the elements that make it up, the most general first, and an element is read through them
(see `xml.Attributes`): an attribute is taken from the element itself, else from its class, else from the
class around that. A class takes over what its parent holds when it is met, so a later section that adds to
the top class does not reach classes that already stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from worldline._src.scene.formats.mjcf.schema import ACTUATOR_DEFAULTS
from worldline._src.scene.formats.xml import NO_LAYERS, Element, Layers, Log
from worldline._src.scene.kinds import hint

MAIN: Final = "main"


class DefaultClass:
    """One class.

    Attributes:
        layers: For each tag the elements that give its defaults, the most general first. actuators: For
        each class from the top down to this one, its actuator elements; actuators share one set
            of defaults whatever their tag, so their order matters.
    """

    def __init__(self, parent: DefaultClass | None = None) -> None:
        self.layers: dict[str, Layers] = dict(parent.layers) if parent else {}
        self.actuators: list[tuple[Element, ...]] = list(parent.actuators) if parent else []
        self.actuators.append(())

    def add(self, element: Element) -> None:
        """Takes over one element of a `default` section."""
        if element.tag in ACTUATOR_DEFAULTS:
            self.actuators[-1] = (*self.actuators[-1], element)
        else:
            self.layers[element.tag] = self.layers.get(element.tag, NO_LAYERS).and_one(element)

    @cached_property
    def actuator_layers(self) -> Layers:
        """All actuator elements, the most general first, for what they have in common."""
        return Layers(element for elements in self.actuators for element in elements)


class Defaults:
    """All default classes of a file."""

    def __init__(self, sections: Iterable[Element], log: Log) -> None:
        self.log = log
        self.main = DefaultClass()
        self.classes: dict[str, DefaultClass] = {MAIN: self.main}
        for section in sections:
            # older files name the top class as they like
            name = section.get("class")
            if name:
                self.classes.setdefault(name, self.main)
            self._fill(section, self.classes.get(name or MAIN, self.main))

    def _fill(self, section: Element, into: DefaultClass) -> None:
        stack = [(section, into)]
        while stack:
            element, made = stack.pop()
            nested: list[Element] = []
            for child in element.children:
                if child.tag == "default":
                    nested.append(child)
                else:
                    made.add(child)
            # only now does the class hold all that those inside it inherit
            for child in reversed(nested):
                name = child.get("class")
                if not name:
                    self.log.problem(
                        child, "attribute 'class' is required: a class inside another needs a name"
                    )
                elif name in self.classes:
                    self.log.problem(child, f"default class '{name[:60]}' is defined twice")
                else:
                    self.classes[name] = inner = DefaultClass(made)
                    stack.append((child, inner))

    def find(self, name: str | None, element: Element, attribute: str = "class") -> DefaultClass:
        """A class by its name, the top one without a name; notes an undefined name."""
        if not name:
            return self.main
        found = self.classes.get(name)
        if found is None:
            near = hint(name, self.classes)
            self.log.problem(element, f"attribute '{attribute}': no default class '{name[:60]}'{near}")
            return self.main
        return found
