# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Properties that differ in a name and a text only, declared in one line each.

A class that has several makes them with a function of its own, which says once how such a quantity is read
and written:

    def _passive(name: str, doc: str) -> Vector:
        return quantity(lambda joint: joint._passive(name), lambda joint, x: joint._set_passive(name, x), doc)

    class WorldJointPassive(WorldJointMotor):
        armature = _passive("armature", "Inertia of a rotor [kg or kg m^2], (num_dofs,).")
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from worldline._src.facade.known_names import returns_read_only
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array

Read = TypeVar("Read")
Given = TypeVar("Given")

if TYPE_CHECKING:
    from typing import Self

    class Quantity(Generic[Read, Given]):
        """A property that reads one type and takes another."""

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> Read: ...
        def __get__(self, instance: object, owner: type) -> Any: ...
        def __set__(self, instance: Any, value: Given) -> None: ...

    class Reading(Generic[Read]):
        """A property that is only read."""

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> Read: ...
        def __get__(self, instance: object, owner: type) -> Any: ...

else:
    Quantity = Reading = property

Vector: TypeAlias = "Quantity[Array, float | VectorLike]"
"""One number per degree of freedom; what is given may be one for all where `doc` says so."""


def quantity(read: Callable[[Any], Any], write: Callable[[Any, Any], None], doc: str) -> Any:
    """A property that is read and written; arrays that `read` returns are read-only copies already."""
    return property(returns_read_only(read), write, doc=doc)


def reading(read: Callable[[Any], Any], doc: str) -> Any:
    """A property that is only read; arrays that `read` returns are read-only copies already."""
    return property(returns_read_only(read), doc=doc)


def attribute(path: str, doc: str) -> Any:
    """A property that reads an attribute of a part, such as `"_replay.cursor"`."""
    get = attrgetter(path)
    return reading(lambda owner: get(owner), doc)


def length(path: str, doc: str) -> Any:
    """A property that reads the length of a collection, such as `"_rigid_bodies"`."""
    get = attrgetter(path)
    return reading(lambda owner: len(get(owner)), doc)


def handle_attribute(path: str, doc: str) -> Any:
    """A property of a handle that reads an attribute such as `"_site.shape"`; a dead handle refuses."""
    get = attrgetter(path)

    def read(handle: Any) -> Any:
        handle._require_alive()
        return get(handle)

    return reading(read, doc)
