# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The frames of an SDF file: where they are, and what they are attached to.

Every model, and the world, is a scope with frames of its own: its links, joints, <frame>s and nested
models. Each stands in another one, by default a link in the model frame, a joint in its child, a frame in
what it is attached to, a model in the frame around. `Scope.pose` follows these steps without recursion, so
that long chains are as good as short ones, and notices cycles. Names of nested frames are written
`inner::frame`; those of a model that is merged into another one are found there as if they were its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.sdf.nodes import Node, RawPose, read_pose
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.kinds import WORLD, hint
from worldline._src.scene.poses import IDENTITY, Pose

MODEL: Final = "__model__"
SEPARATOR: Final = "::"
Version = tuple[int, int]


class FrameEntry(NamedTuple):
    """A frame of a scope.

    Attributes:
        kind: link, joint, frame or model.
        element: Where it is defined.
        raw: Its pose as it stands in the file.
        base: The frame it stands in by default.
        attached_to: For a joint its child, for a frame what it is attached to.
    """

    kind: str
    element: Element
    raw: RawPose
    base: str
    attached_to: str | None = None


class Scope:
    """A model, or the world, as a set of frames.

    Attributes:
        name: Its name within the scope around it; empty for the world.
        element: Where it is defined.
        version: The version of the file it stands in.
        parent: The scope around it.
        frames: Its frames by name.
        models: The scopes of its nested models by name.
        merged: Those of them that are merged into it, by the name of every frame that they bring.
        canonical: The name of the link that the model frame is attached to.
        placement: The frame that the pose of the model places, instead of the model frame.
        is_static: Whether nothing in it moves.
        is_merged: Whether its frames count as frames of the scope around it.
    """

    def __init__(
        self, name: str, element: Element, version: Version, log: Log, parent: Scope | None = None
    ) -> None:
        self.name, self.element, self.version, self.log = name, element, version, log
        self.parent, self.is_world = parent, parent is None
        self.frames: dict[str, FrameEntry] = {}
        self.models: dict[str, Scope] = {}
        self.merged: dict[str, Scope] = {}
        self.canonical: str | None = None
        self.placement: str | None = None
        self.is_static = False
        self.is_merged = False
        self._poses: dict[str, Pose] = {}

    def add(self, name: str, entry: FrameEntry) -> bool:
        """Adds a frame; False after noting that the name is taken or not allowed."""
        if name.startswith("__") or name == WORLD or SEPARATOR in name:
            self.log.problem(entry.element, f"the name {name!r} is not allowed for a {entry.kind}")
            return False
        if name in self.frames:
            other = self.frames[name]
            message = f"the name {name!r} is taken by the {other.kind} in line {other.element.line}"
            self.log.problem(entry.element, message)
            return False
        merged = self.merged.get(name)
        if merged is not None:
            self.log.problem(entry.element, f"the name {name!r} is taken by the merged model {merged.name!r}")
            return False
        self.frames[name] = entry
        return True

    def merge(self, model: Scope, user: Element) -> None:
        """Makes the names of a nested model those of this scope, too."""
        model.is_merged = True
        for name in (*model.frames, *model.merged):
            if name in self.frames or name in self.merged:
                self.log.problem(user, f"both models have something of the name {name!r}")
            self.merged.setdefault(name, model)

    def walk(self) -> Iterator[Scope]:
        """This scope and all models in it."""
        stack: list[Scope] = [self]
        while stack:
            scope = stack.pop()
            yield scope
            stack.extend(reversed(scope.models.values()))

    # poses

    def pose(self, name: str, user: Element) -> Pose:
        """Where a frame of this scope is, in the frame of the scope.

        Args:
            name: The frame.
            user: The element that refers to it, for messages.
        """
        chain: list[tuple[str, Pose]] = []
        seen: set[str] = set()
        here = name
        while here not in self._poses:
            if here in (MODEL, WORLD if self.is_world else MODEL, ""):
                self._poses[here] = IDENTITY
                break
            if here in seen:
                self.log.problem(user, f"the frames {', '.join(sorted(seen)[:8])} stand in each other")
                self._poses[here] = IDENTITY
                break
            seen.add(here)
            step = self._step(here, user)
            if step is None:
                self._poses[here] = IDENTITY
                break
            chain.append((here, step[1]))
            user, here = step[2], step[0]
        pose = self._poses[here]
        for frame, inside in reversed(chain):
            pose = self._poses[frame] = pose * inside
        return pose

    def _step(self, name: str, user: Element) -> tuple[str, Pose, Element] | None:
        """The frame that a frame stands in, its pose there, and who says so."""
        entry = self.frames.get(name)
        if entry is not None:
            base = entry.raw.relative_to or entry.base
            inside = entry.raw.pose
            nested = self.models.get(name) if entry.kind == "model" else None
            if nested is not None and nested.placement is not None:
                inside = inside * nested.pose(nested.placement, nested.element).inverse()
            return base, inside, entry.raw.element or entry.element
        first, _, rest = name.partition(SEPARATOR)
        if rest and first in self.models:
            return first, self.models[first].pose(rest, user), user
        merged = self.merged.get(first)
        if merged is not None:
            return merged.name, merged.pose(name, user), user
        self.log.problem(user, f"no frame {name!r}{hint(name, self.frames)}")
        return None

    def root_pose(self) -> Pose:
        """Where the frame of this scope is in the world."""
        pose, scope = IDENTITY, self
        while scope.parent is not None:
            pose = scope.parent.pose(scope.name, scope.element) * pose
            scope = scope.parent
        return pose

    # attachment

    def link_of(self, name: str, user: Element) -> tuple[Scope, str] | None:
        """The link that a frame moves with; None for the world, or after noting a problem."""
        scope: Scope = self
        seen: set[tuple[int, str]] = set()
        while True:
            if name == WORLD and (scope.is_world or scope is self):
                return None
            if (id(scope), name) in seen:
                self.log.problem(user, f"the frame {name!r} is attached to itself")
                return None
            seen.add((id(scope), name))
            if name == MODEL:
                if scope.is_world:
                    return None
                if scope.canonical is None:
                    self.log.problem(user, f"the model {scope.name!r} has no link")
                    return None
                name = scope.canonical
                continue
            entry = scope.frames.get(name)
            first, _, rest = name.partition(SEPARATOR)
            if entry is None and rest and first in scope.models:
                scope, name = scope.models[first], rest
            elif entry is None and first in scope.merged:
                scope = scope.merged[first]
            elif entry is None:
                self.log.problem(user, f"no link or frame {name!r}{hint(name, scope.frames)}")
                return None
            elif entry.kind == "link":
                return scope, name
            elif entry.kind == "model":
                scope, name = scope.models[name], MODEL
            else:
                name = entry.attached_to or MODEL


def pose_within(node: Node, scope: Scope, link: str) -> Pose:
    """Pose of a part of a link, such as a shape or a sensor, in the frame of the link."""
    raw = read_pose(node)
    if raw.relative_to is None or raw.element is None:
        return raw.pose
    inside = scope.pose(link, node.element).inverse() * scope.pose(raw.relative_to, raw.element)
    return inside * raw.pose
