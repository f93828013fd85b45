# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the links and joints of SDF models, which may form loops, to bodies that are trees.

A spanning tree is grown from the world, and from one link of each part that is not joined to it: such a part
floats. Joints that close a loop become closures of the same name. Which ones do is chosen so that little is
lost: joints with limits, springs or friction stay in the tree before plain hinges, and those before balls,
which closures replace exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.rotations import quaternion
from worldline._src.scene.bodies import Body, BodyKind, Link
from worldline._src.scene.closures import (
    ClosureDynamicsPolicy,
    FrameRef,
    LoopClosure,
    LoopClosureFamily,
    WorldJoint,
)
from worldline._src.scene.formats.sdf.joints import LinkKey, SdfJoint, make_free_standing, make_joint
from worldline._src.scene.formats.urdf.joints import across
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.joints import FreeJoint
from worldline._src.scene.poses import Pose
from worldline._src.scene.world import World

_FAMILIES: Final = {
    "fixed": LoopClosureFamily.Rigid,
    "ball": LoopClosureFamily.Point,
    "revolute": LoopClosureFamily.Axis,
    "continuous": LoopClosureFamily.Axis,
}


class SdfLink(NamedTuple):
    """A link as the file has it.

    Attributes:
        key: Its scope and its name there.
        element: Where it stands.
        link: The link of the scene; its pose, joints and children are still to be set.
        pose: Where it is in the world.
        model: The name of the outermost model it belongs to.
        is_static: Whether it never moves.
        is_kinematic: Whether it follows its velocity only.
    """

    key: LinkKey
    element: Element
    link: Link
    pose: Pose
    model: str
    is_static: bool
    is_kinematic: bool


class Placed(NamedTuple):
    """What became of a joint in the tree: its name in the scene, and whether it was turned around."""

    name: str
    turned_around: bool


class TreeBuilder:
    """Builds the bodies of a scene.

    Args:
        world: The scene that gets bodies, closures and joints.
        links: All links, in the order of the file.
        joints: All joints but gearboxes, with their names in the scene.
        log: Where problems and notes go.

    Attributes:
        placed: What became of every joint that is part of a tree.
    """

    def __init__(
        self, world: World, links: Sequence[SdfLink], joints: Sequence[tuple[SdfJoint, str]], log: Log
    ) -> None:
        self.world = world
        self.log = log
        self.links = {entry.key: entry for entry in links}
        self.placed: dict[int, Placed] = {}
        self._statics(links)
        moving = [(joint, name) for joint, name in joints if self._moves(joint)]
        tree, cut = self._span(moving)
        self._grow(tree)
        for joint, name in cut:
            self._close(joint, name)

    # what does not move

    def _statics(self, links: Sequence[SdfLink]) -> None:
        bases: dict[str, SdfLink] = {}
        for entry in links:
            if not entry.is_static:
                continue
            base = bases.get(entry.model)
            if base is None:
                bases[entry.model] = entry
                _place(entry.link, entry.pose)
                body = Body(link=entry.link, kind=BodyKind.Static, multibody=entry.model or None)
                self.world.hierarchy.bodies.append(body)
            else:
                _place(entry.link, base.pose.inverse() * entry.pose)
                base.link.children.append(entry.link)

    def _node(self, key: LinkKey | None) -> LinkKey | None:
        """What a joint holds on to; everything that does not move is the world, None."""
        return None if key is None or self.links[key].is_static else key

    def _moves(self, joint: SdfJoint) -> bool:
        if self._node(joint.parent) is None and self._node(joint.child) is None:
            self.log.left_out(joint.element, "both ends never move")
            return False
        return True

    # the tree

    def _span(
        self, joints: Sequence[tuple[SdfJoint, str]]
    ) -> tuple[list[tuple[SdfJoint, str]], list[tuple[SdfJoint, str]]]:
        """The joints of a spanning tree, and those that close loops, both in the order of the file."""
        roots: dict[LinkKey | None, LinkKey | None] = {}

        def find(node: LinkKey | None) -> LinkKey | None:
            path: list[LinkKey | None] = []
            while node in roots:
                path.append(node)
                node = roots[node]
            for passed in path:
                roots[passed] = node
            return node

        kept: set[int] = set()
        for index in sorted(range(len(joints)), key=lambda i: (_rank(joints[i][0]), i)):
            joint = joints[index][0]
            a, b = find(self._node(joint.parent)), find(self._node(joint.child))
            if a != b:
                # the world stays at the top
                top, below = (b, a) if b is None else (a, b)
                roots[below] = top
                kept.add(index)
        tree = [entry for index, entry in enumerate(joints) if index in kept]
        return tree, [entry for index, entry in enumerate(joints) if index not in kept]

    def _grow(self, tree: Sequence[tuple[SdfJoint, str]]) -> None:
        joints_of: dict[LinkKey | None, list[tuple[SdfJoint, str]]] = {}
        children: set[LinkKey | None] = set()
        for entry in tree:
            ends = (self._node(entry[0].parent), self._node(entry[0].child))
            children.add(ends[1])
            for end in ends:
                joints_of.setdefault(end, []).append(entry)
        reached: set[LinkKey | None] = {None}
        self._below(None, joints_of, reached)
        free = [key for key, entry in self.links.items() if not entry.is_static]
        # a part floats on its first link without a parent, if there is one
        for key in [key for key in free if key not in children] + free:
            if key in reached:
                continue
            reached.add(key)
            base = self.links[key]
            _place(base.link, base.pose)
            kind = BodyKind.Kinematic if base.is_kinematic else BodyKind.Dynamic
            body = Body(link=base.link, free=FreeJoint(), kind=kind, multibody=base.model or None)
            self.world.hierarchy.bodies.append(body)
            self._below(key, joints_of, reached)

    def _below(
        self,
        root: LinkKey | None,
        joints_of: dict[LinkKey | None, list[tuple[SdfJoint, str]]],
        reached: set[LinkKey | None],
    ) -> None:
        """Hangs everything that the tree reaches from a root below it."""
        stack: list[tuple[LinkKey | None, int]] = [(root, 1)]
        while stack:
            key, depth = stack.pop()
            if depth > self.log.limits.link_depth:
                element = self.links[key].element if key is not None else None
                if element is not None:
                    self.log.problem(element, f"links deeper than {self.log.limits.link_depth}")
                return
            found: list[tuple[LinkKey | None, int]] = []
            for joint, name in joints_of.get(key, ()):
                ends = (self._node(joint.parent), self._node(joint.child))
                other = ends[0] if ends[1] == key else ends[1]
                if other is None or other in reached:
                    continue
                reached.add(other)
                self._hang(joint, name, key, other, turned_around=ends[1] == key)
                found.append((other, depth + 1))
            stack.extend(reversed(found))

    def _hang(
        self, joint: SdfJoint, name: str, above: LinkKey | None, key: LinkKey, *, turned_around: bool
    ) -> None:
        entry = self.links[key]
        if entry.is_kinematic:
            self.log.left_out(entry.element, "only a link that floats can be kinematic")
        link = entry.link
        link.joints = [make_joint(joint, name, entry.pose, turned_around=turned_around)]
        self.placed[id(joint)] = Placed(name, turned_around)
        if turned_around and joint.kind in ("ball", "universal", "revolute2"):
            message = "taken from child to parent; its coordinates are those of the inverse rotation"
            self.log.approximated(joint.element, message)
        if above is None:
            _place(link, entry.pose)
            self.world.hierarchy.bodies.append(Body(link=link, multibody=entry.model or None))
        else:
            _place(link, self.links[above].pose.inverse() * entry.pose)
            self.links[above].link.children.append(link)

    # loops

    def _close(self, joint: SdfJoint, name: str) -> None:
        family = _FAMILIES.get(joint.kind)
        if family is None:
            made = make_free_standing(joint, name)
            parent, child = (self._end(key, joint.frame) for key in (joint.parent, joint.child))
            self.world.joints.append(WorldJoint(parent=parent, child=child, joint=made))
            self.log.kept(
                joint.element, f"closes a loop; a joint of the world named {name!r} takes its place"
            )
            return
        frame = joint.frame
        if family is LoopClosureFamily.Axis:
            # the closure shares the direction of z
            z = joint.axes[0].direction
            x = across(z)
            frame = Pose(frame.position, quaternion(np.stack((x, np.cross(z, x), z), axis=1)))
        self.world.loop_closures.append(
            LoopClosure(
                name=name,
                family=family,
                frame_a=self._end(joint.parent, frame),
                frame_b=self._end(joint.child, frame),
                dynamics=ClosureDynamicsPolicy.Solve,
            )
        )
        note = f"closes a loop; the closure {name!r} takes its place"
        if joint.is_plain:
            self.log.kept(joint.element, note)
        else:
            self.log.approximated(joint.element, f"{note}, without its limits, spring, damping and friction")

    def _end(self, key: LinkKey | None, frame: Pose) -> FrameRef:
        if self._node(key) is None or key is None:
            return FrameRef(position=frame.position, orientation=frame.rotation)
        entry = self.links[key]
        place = entry.pose.inverse() * frame
        return FrameRef(link=entry.link.name, position=place.position, orientation=place.rotation)


def _rank(joint: SdfJoint) -> int:
    if joint.cuts:
        return 3
    if joint.kind == "ball":
        return 2
    return 1 if joint.kind in ("revolute", "continuous") and joint.is_plain else 0


def _place(link: Link, pose: Pose) -> None:
    link.local_translation, link.local_rotation = pose


def cross_pairs(bodies: Sequence[Body]) -> list[tuple[str, str]]:
    """Pairs of links of different bodies that both have something to touch with."""
    groups = [[link.name for link in body.link.walk() if link.name and _touches(link)] for body in bodies]
    pairs: list[tuple[str, str]] = []
    for index, first in enumerate(groups):
        for second in groups[index + 1 :]:
            pairs.extend((a, b) for a in first for b in second)
    return pairs


def _touches(link: Link) -> bool:
    return any(geom.collision_mask.collide_group or geom.collision_mask.collide_with for geom in link.geoms)
