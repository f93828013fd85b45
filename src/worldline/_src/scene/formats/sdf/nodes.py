# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Typed reading of SDF, which keeps its values in the text of child elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeVar, overload

import numpy as np

from worldline._src.linear_algebra import norm
from worldline._src.scene.assets.rotations import from_rpy
from worldline._src.scene.formats.xml import Attributes, Element, Log, number, too_long
from worldline._src.scene.poses import IDENTITY, Pose

T = TypeVar("T")
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}


class Node:
    """An element of an SDF file, with its children read by tag.

    What is malformed is noted and replaced by the default. `finish` notes what was not read.

    Args:
        element: The element.
        log: Where problems and notes go.
    """

    __slots__ = ("_attributes", "_first", "_read", "element", "log")

    def __init__(self, element: Element, log: Log) -> None:
        self.element = element
        self.log = log
        self._read: set[str] = set()
        self._attributes = Attributes(element, log)
        self._first: dict[str, Element] = {}
        for child in element.children:
            self._first.setdefault(child.tag, child)

    def __contains__(self, tag: str) -> bool:
        """Whether there is such a child; does not count as reading it."""
        return tag in self._first

    def attribute(self, name: str) -> str | None:
        """An attribute, None when it is missing or empty."""
        return self._attributes.text(name) or None

    def required_attribute(self, name: str) -> str:
        """An attribute that must be there; empty after noting that it is not."""
        return self._attributes.required_text(name)

    def child(self, tag: str) -> Element | None:
        """The first child of a tag."""
        self._read.add(tag)
        return self._first.get(tag)

    def node(self, tag: str) -> Node | None:
        """The first child of a tag, to be read in turn."""
        found = self.child(tag)
        return None if found is None else Node(found, self.log)

    def children(self, tag: str) -> list[Element]:
        """All children of a tag."""
        self._read.add(tag)
        return [] if tag not in self._first else self.element.all(tag)

    def text(self, tag: str) -> str | None:
        """The text of a child, None when it is missing or empty."""
        found = self.child(tag)
        return None if found is None else found.text or None

    def flag(self, tag: str, default: T) -> bool | T:
        """The truth in a child."""
        found = self.child(tag)
        if found is None:
            return default
        word = found.text.lower()
        if word not in _TRUTH:
            self.log.problem(found, f"given {found.text[:60]!r}; allowed: true, false, 1 or 0")
            return default
        return _TRUTH[word]

    def real(self, tag: str, default: T = None, *, infinite: bool = False) -> float | T:
        """The number in a child."""
        found = self.child(tag)
        if found is None:
            return default
        value = number(found.text, infinite)
        if value is None:
            self.log.problem(
                found, f"given {found.text[:60]!r}; allowed: a {'' if infinite else 'finite '}number"
            )
            return default
        return value

    @overload
    def reals(self, tag: str, count: int, default: Sequence[float]) -> list[float]: ...

    @overload
    def reals(self, tag: str, count: int, default: None = None) -> list[float] | None: ...

    def reals(self, tag: str, count: int, default: Sequence[float] | None = None) -> list[float] | None:
        """The numbers in a child."""
        found = self.child(tag)
        given = None if found is None else numbers_in(found, self.log, count)
        return given if given is not None else None if default is None else list(default)

    def finish(
        self,
        *,
        ignored: Mapping[str, str] | None = None,
        also: Collection[str] = (),
        attributes: Collection[str] = (),
    ) -> None:
        """Notes children and attributes that were not read.

        Args:
            ignored: Elements of the format that a scene has no place for, and why.
            also: Elements that are read elsewhere.
            attributes: Attributes that are read elsewhere.
        """
        ignored = ignored or {}
        for child in self.element.children:
            tag = child.tag
            if tag in ignored:
                self.log.left_out(child, called(child) + ignored[tag])
            elif tag in self._read or tag in also:
                if child is not self._first[tag] and tag not in also and tag not in _MANY:
                    self.log.left_out(child, f"only the first <{tag}> counts")
            else:
                self.log.unknown_child(child, {*self._read, *also, *ignored}, strict=False)
        self._attributes.finish(also=attributes, strict=False)


def called(element: Element) -> str:
    """Type and name of what has both, as sensors and lights have, before the reason why it is left out."""
    kind, name = element.get("type"), element.get("name")
    return f"{kind[:40]} {name[:60]!r}: " if kind and name else ""


_MANY: Final = {
    "link", "joint", "model", "frame", "include", "visual", "collision", "sensor", "plugin", "light", "world",
    "physics", "actor", "submesh", "texture", "point", "road", "population", "state", "parent", "mimic",
}  # fmt: skip


def numbers_in(element: Element, log: Log, count: int) -> list[float] | None:
    """A fixed number of finite numbers in the text of an element; None after noting a problem."""
    if too_long(element.text, count):
        log.problem(element, f"given {len(element.text)} characters; allowed: {count} finite numbers")
        return None
    values = [number(word) for word in element.text.split()]
    if len(values) == count and None not in values:
        return values  # type: ignore[return-value]
    given = f"{len(values)} values" if None not in values else repr(element.text[:60])
    log.problem(element, f"given {given}; allowed: {count} finite numbers")
    return None


class RawPose:
    """A <pose> as it stands in the file.

    Attributes:
        element: The element, None when there is none and the pose is the identity.
        pose: The pose in the frame it is relative to.
        relative_to: The name of that frame, None for the default of the element around.
    """

    __slots__ = ("element", "pose", "relative_to")

    def __init__(self, element: Element | None, pose: Pose, relative_to: str | None) -> None:
        self.element = element
        self.pose = pose
        self.relative_to = relative_to


def read_pose(owner: Node) -> RawPose:
    """The <pose> of an element."""
    element = owner.child("pose")
    if element is None:
        return RawPose(None, IDENTITY, None)
    log = owner.log
    attributes = Attributes(element, log)
    # before 1.7 the attribute was called frame
    relative_to = attributes.text("relative_to") or attributes.text("frame") or None
    degrees = attributes.choice("degrees", _TRUTH, False)
    kind: Any = attributes.choice("rotation_format", {"euler_rpy": 6, "quat_xyzw": 7}, 6)
    attributes.finish(strict=False)
    if not element.text:
        return RawPose(element, IDENTITY, relative_to)
    values = numbers_in(element, log, kind)
    if values is None:
        return RawPose(element, IDENTITY, relative_to)
    place = np.array(values[:3])
    if kind == 7:
        turn = np.array(values[3:])
        length = norm(turn)
        if not length > 0.0:
            log.problem(element, "given a zero quaternion; allowed: a rotation")
            return RawPose(element, IDENTITY, relative_to)
        return RawPose(element, Pose(place, turn / length), relative_to)
    angles = np.radians(values[3:]) if degrees else np.array(values[3:])
    return RawPose(element, Pose(place, from_rpy(*angles.tolist())), relative_to)
