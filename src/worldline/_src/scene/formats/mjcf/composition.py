# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`replicate` and `attach`: repeated parts, and parts of other models.

A few lines of a file can ask for any number of bodies, so what it all comes to is counted before any of it is
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from worldline._src.scene.formats.mjcf.assets import read_assets
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.orientation import HERE, Placement, from_euler
from worldline._src.scene.formats.mjcf.schema import MOST_LETTERS
from worldline._src.scene.formats.mjcf.scopes import Scope, Source
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.kinds import hint

_DEPTH: Final = 64
"""Models attached to models attached to models ..., at most."""


_MULTIPLIED: Final = frozenset(("replicate", "attach"))
"""Elements that come to more than what stands in the file."""


class Composition:
    """The parts of a scene that come more than once."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.log = reading.log
        self._cost: dict[int, int] = {}
        self._open: list[Element] = []

    def affordable(self, sections: Sequence[Element], source: Source) -> bool:
        """Whether all the elements that a tree comes to stay within the limits; notes it when they do not."""
        limit = self.reading.limits.elements
        if _MULTIPLIED.isdisjoint(source.tags) and source.count <= limit:
            return True
        total = sum(self._count(section, source) for section in sections)
        if total > limit:
            self.log.problem(sections[0], f"all replicas together have more than {limit} elements")
            return False
        return True

    def _count(self, top: Element, source: Source) -> int:
        """How many elements an element comes to with its replicas, counted up to just above the limit."""
        known = self._cost.get(id(top))
        if known is not None:
            return known
        if top in self._open or len(self._open) > _DEPTH:
            self.log.problem(top, "what is attached holds the place it is attached to, again and again")
            return self.reading.limits.elements + 1
        self._open.append(top)
        most = self.reading.limits.elements + 1
        costs: dict[int, int] = {}
        # children before parents, without recursion
        for element in reversed(list(top.walk())):
            cost = 1
            for child in element.children:
                cost += costs[id(child)]
            if element.tag == "replicate":
                cost *= max(0, Attributes(element, self.log).integer("count", 1))
            elif element.tag == "attach":
                found = self._target(element, source)
                cost += 0 if found is None else self._count(found[1], found[0])
            costs[id(element)] = min(cost, most)
        self._open.pop()
        self._cost[id(top)] = costs[id(top)]
        return costs[id(top)]

    def replicas(self, element: Element, scope: Scope) -> list[tuple[Scope, Placement]]:
        """The scope and the frame of each replica."""
        a = Attributes(element, self.log)
        count = a.integer("count", None)
        if count is None or count < 0:
            self.log.problem(element, "attribute 'count' is required: how many replicas, 0 or more")
            return []
        if any(child.tag in ("joint", "freejoint", "inertial") for child in element.children):
            self.log.problem(element, "joints and inertia cannot be replicated; put them in a <body>")
            return []
        separator = a.text("sep") or ""
        if len(scope.suffix) + len(separator) > MOST_LETTERS:
            self.log.problem(
                element, f"replicas of replicas have suffixes of more than {MOST_LETTERS} letters"
            )
            return []
        offset = a.reals("offset", 3, default=(0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
        angles = a.reals("euler", 3, default=(0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
        compiler = scope.compiler
        self.reading.finish(a)
        digits = len(str(max(count - 1, 0)))
        made: list[tuple[Scope, Placement]] = []
        frame = HERE
        for number in range(count):
            # each step is taken in the axes of the last replica; the angles grow, not the rotation
            turned = from_euler([x * compiler.angle * number for x in angles], compiler.eulerseq)
            frame = Placement(frame.position, turned) if number else HERE
            inner = Scope(scope.source, scope, suffix=f"{separator}{number:0{digits}d}")
            made.append((inner, frame))
            frame = Placement(frame.apply(offset), turned)
        return made

    def attached(self, element: Element, scope: Scope) -> tuple[Scope, Element, str | None] | None:
        """The scope of an attached model, what to read in it and under which default class."""
        a = Attributes(element, self.log)
        found = self._target(element, scope.source)
        prefix = a.text("prefix") or ""
        if not prefix:
            self.log.problem(element, "attribute 'prefix' is required")
        if len(scope.prefix) + len(prefix) > MOST_LETTERS:
            self.log.problem(element, f"the prefixes have more than {MOST_LETTERS} letters together")
            return None
        if found is None:
            return None
        source, target = found
        inner = Scope(source, scope, prefix=prefix)
        if source is not scope.source:
            self._compare(source, scope, element)
            read_assets(self.reading, inner)
        return inner, target, _childclass(target)

    def _target(self, element: Element, source: Source) -> tuple[Source, Element] | None:
        """The model and the element in it that an `attach` brings in; notes what is not there."""
        a = Attributes(element, self.log)
        model = a.text("model")
        child = source
        if model:
            known = self._models(source)
            if model not in known:
                self.log.problem(element, f"attribute 'model': no model '{model[:60]}'{hint(model, known)}")
                return None
            loaded = self.reading.model(known[model], source)
            if loaded is None:
                return None
            child = loaded
        body, frame = a.text("body"), a.text("frame")
        if body and frame:
            self.log.problem(element, "given both a body and a frame; allowed: one of both")
            return None
        if not body and not frame:
            if child is source:
                self.log.problem(element, "attribute 'model' or 'body' is required")
                return None
            return child, child.root
        return self._part(element, child, "body" if body else "frame", body or frame or "")

    def _part(self, element: Element, child: Source, tag: str, name: str) -> tuple[Source, Element] | None:
        """A body or a frame of a model by its name."""
        names: list[str] = []
        for section in child.root.all("worldbody"):
            for found in section.walk():
                if found.tag == tag and found.get("name"):
                    if found.get("name") == name:
                        return child, found
                    names.append(found.get("name") or "")
        self.log.problem(
            element, f"attribute '{tag}': no {tag} '{name[:60]}' in the model{hint(name, names)}"
        )
        return None

    def _models(self, source: Source) -> dict[str, Element]:
        """The models that a file may attach, by name."""
        known: dict[str, Element] = {}
        for element in source.section("asset"):
            if element.tag != "model":
                continue
            name = element.get("name")
            if not name:
                loaded = self.reading.model(element, source)
                name = None if loaded is None else loaded.root.get("model")
            if name:
                known[name] = element
        return known

    def _compare(self, source: Source, scope: Scope, element: Element) -> None:
        """Notes settings of an attached model that the scene has for itself."""
        ours, theirs = scope.compiler, source.compiler
        if ours.mass != theirs.mass:
            self.log.approximated(
                element, "settings on mass and inertia of the attached model give way to the scene's"
            )
        if source.root.all("option"):
            self.log.kept(
                element, "options of the attached model give way to the scene's, as the format has it"
            )


def _childclass(target: Element) -> str | None:
    """The default class of the bodies and frames around an element in its own file."""
    here = target.parent
    while here is not None:
        if here.tag in ("body", "frame") and here.get("childclass"):
            return here.get("childclass")
        here = here.parent
    return None
