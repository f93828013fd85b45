# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Names in an SDF file.

A scope is the world, a model, or a model in a model. No two links, joints, frames or models of a scope have
one name, and `a::b` is the b of the model a. A scene distinguishes names of different kinds, and any text
is a name. So a name that says its model, as the reader makes it, goes into the scope it names; the others
go into their model as they are, and what cannot stand there is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.references import free_name
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.sdf.frames import SEPARATOR
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.kinds import WORLD

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement


class Scope:
    """A world, a model, or a model in a model.

    Attributes:
        element: Its element.
        path: The names of the models it stands in, its own included; empty for the world.
    """

    def __init__(self, element: XmlElement, path: tuple[str, ...] = ()) -> None:
        self.element = element
        self.path = path
        self._taken: set[str] = set()
        self._models: dict[str, Scope] = {}

    def claim(self, wanted: str, kind: str = "") -> str:
        """A name that nothing else here has, the wanted one where that is possible, or with its kind."""
        name = wanted.replace(SEPARATOR, "_")
        if name.startswith("__"):
            name = name.lstrip("_") or "unnamed"
        if name == WORLD:
            name = "world_1"
        if kind and name in self._taken:
            name = f"{name}_{kind}"
        name = free_name(name, self._taken)
        self._taken.add(name)
        return name

    def model(self, name: str) -> Scope:
        """A new model within this scope."""
        local = self.claim(name)
        made = Scope(child(self.element, "model", {"name": local}), (*self.path, local))
        self._models[local] = made
        return made

    def inner(self, names: list[str], *, make: bool) -> Scope | None:
        """The scope that names lead to from here; None where they cannot, or where there is none yet."""
        here = self
        for name in names:
            found = here._models.get(name)
            if found is None:
                fine = name and not name.startswith("__") and name != WORLD and name not in here._taken
                if not make or not fine:
                    return None
                found = here.model(name)
            here = found
        return here

    def settle(self) -> None:
        """Puts models in a model behind what stands in it directly: its first link is to be its own."""
        for inner in self._models.values():
            self.element.append(inner.element)
            inner.settle()

    def sees(self, other: Scope, name: str) -> str | None:
        """What an object of another scope is called from here; None when it cannot be."""
        count = len(self.path)
        if other.path[:count] != self.path:
            return None
        return SEPARATOR.join((*other.path[count:], name))


class Place(NamedTuple):
    """Where an object stands in the file, and its name there."""

    scope: Scope
    name: str

    def seen_from(self, scope: Scope) -> str | None:
        """Its name from another scope, None when it has none there."""
        return scope.sees(self.scope, self.name)


class Names:
    """Gives the objects of a scene their places.

    Args:
        notes: What is called something else afterwards.
        in_world: Whether the file is a world, whose reader puts the names of models before all others.
        given: All names of the scene, which new ones leave alone.
    """

    def __init__(self, notes: WriteLosses, in_world: bool, given: Iterable[str]) -> None:
        self.notes = notes
        self.in_world = in_world
        self._given = {name.rsplit(SEPARATOR, 1)[-1] for name in given}

    def prefix(self, model: Scope) -> str:
        """What stands before the names of a model when it is read."""
        steps = model.path if self.in_world else model.path[1:]
        return "".join(step + SEPARATOR for step in steps)

    def read_name(self, place: Place) -> str:
        """What an object is called when it is read."""
        return self.prefix(place.scope) + place.name

    def place(
        self,
        model: Scope,
        name: str | None,
        path: str,
        kind: str,
        *,
        spare: str = "",
        ends: tuple[Place, ...] | None = None,
    ) -> Place:
        """A place for an object of a model.

        Args:
            model: The model.
            name: The name of the object in the scene.
            path: Where it stands in the scene.
            kind: What it is: link, joint or frame.
            spare: A name for it if it has none; else that of its kind.
            ends: Links that must be seen from there; None for a link, for which models are opened.
        """
        inside = (name or free_name(spare or kind, self._given)).removeprefix(self.prefix(model))
        *outer, last = inside.split(SEPARATOR)
        scope = model.inner(outer, make=ends is None) if all((*outer, last)) else None
        if scope is None or any(end.seen_from(scope) is None for end in ends or ()):
            scope, last = model, inside
        made = Place(scope, scope.claim(last, kind))
        found = self.read_name(made)
        if name is None:
            self.notes.kept(path, "SDF requires a name here, and a new one is made")
        elif found == self.prefix(model) + name != name:
            self.notes.kept(f"{path}.name", "names carry the name of their model when they are read")
        elif found != name:
            message = f"the name is taken or not allowed here; it becomes {found!r}"
            self.notes.approximated(f"{path}.name", message)
        return made
