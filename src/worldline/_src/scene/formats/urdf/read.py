# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""URDF, the robot format of ROS.

The tree of links becomes one body with a fixed base; give it `free` to let it float. A root link named
`world` is the world itself, as every simulator has it. Mimic joints become couplers. Transmissions,
controllers and simulator extensions have no place in a scene and are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.assets.references import AssetReferences, free_name
from worldline._src.scene.bodies import Body, Link
from worldline._src.scene.closures import CouplerMode, JointCoupler
from worldline._src.scene.formats.robot_files import read_file
from worldline._src.scene.formats.urdf.joints import UrdfJoint, read_joint
from worldline._src.scene.formats.urdf.shapes import ShapeReader
from worldline._src.scene.formats.xml import Attributes, Element, Log, object_tags
from worldline._src.scene.joints import FreeJoint, JointType
from worldline._src.scene.kinds import WORLD, hint
from worldline._src.scene.world import World

_OBJECTS: Final = object_tags("link", "visual", "collision", "joint", "material")
_KNOWN: Final = ("link", "joint", "material")
_LEFT_OUT: Final = {
    "transmission": "describes hardware between actuators and joints",
    "gazebo": "holds settings of one simulator",
    "mujoco": "holds settings of one simulator",
    "ros2_control": "belongs to a controller",
    "sensor": "sensors of URDF have no agreed meaning",
    "loop_joint": "closing a loop is not part of URDF",
}
_LINK_PARTS: Final = ("inertial", "visual", "collision", "contact")


def read(source: str, *, file_path: Path | None, options: Any) -> World:
    """The scene of a URDF text.

    Args:
        source: The text.
        file_path: The file it came from; relative meshes and packages are looked up around it.
        options: See `ReadOptions`.

    Raises:
        SceneError: Everything that is wrong with the file.
    """
    return read_file(
        source,
        file_path,
        options,
        "URDF",
        "robot",
        _OBJECTS,
        lambda root, policy, log: _Robot(root, policy, log).world,
    )


class _Robot:
    def __init__(self, root: Element, policy: PathPolicy, log: Log) -> None:
        self.log = log
        self.world = World()
        self.shapes = ShapeReader(self.world, AssetReferences(self.world.assets, policy), log)
        self.links: dict[str, Link] = {}
        self.elements: dict[str, Element] = {}
        attributes = Attributes(root, log)
        self.world.name = attributes.text("name") or ""
        attributes.finish(also=("version",), strict=False)
        for element in root.all("material"):
            self.shapes.global_material(element)
        for element in root.all("link"):
            self._read_link(element)
        joints = [read_joint(element, log) for element in root.all("joint")]
        for element in root.children:
            if element.tag not in _KNOWN:
                self._leave_out(element)
        if not self.links:
            log.problem(root, "a robot without links")
        parents = self._connect(joints)
        self._check_tree(parents)
        if not log.problems:
            # what follows relies on a sound tree
            self._bodies(parents)
            self._couplers(joints)

    def _leave_out(self, element: Element) -> None:
        if element.tag in _LEFT_OUT:
            self.log.left_out(element, _LEFT_OUT[element.tag])
        elif "xacro" in element.tag:
            self.log.left_out(element, "a macro of xacro; expand the file with xacro first")
        else:
            self.log.unknown_child(element, _KNOWN, strict=False)

    def _read_link(self, element: Element) -> None:
        attributes = Attributes(element, self.log)
        name = attributes.required_text("name")
        attributes.finish(also=("type",), strict=False)
        for child in element.children:
            if child.tag not in _LINK_PARTS:
                self.log.unknown_child(child, _LINK_PARTS, strict=False)
        if name in self.links:
            first = self.elements[name]
            self.log.problem(element, f"a second link {name!r}; the first one is in line {first.line}")
            return
        link = Link(name=name or None, inertial=self.shapes.read_inertial(element))
        self.shapes.read_shapes(element, link)
        if name:
            self.links[name] = link
            self.elements[name] = element

    def _connect(self, joints: Sequence[UrdfJoint]) -> dict[str, UrdfJoint]:
        """Puts every link below its parent, and returns the joint above each link that has one."""
        above: dict[str, UrdfJoint] = {}
        names: dict[str, UrdfJoint] = {}
        for entry in joints:
            name = entry.joint.name
            if name in names:
                first = names[name].element.line
                self.log.problem(entry.element, f"a second joint {name!r}; the first one is in line {first}")
            elif name:
                names[name] = entry
            missing = [link for link in (entry.parent, entry.child) if link and link not in self.links]
            for link in missing:
                self.log.problem(entry.element, f"no link {link!r}{hint(link, self.links)}")
            if missing or not entry.parent or not entry.child:
                continue
            if entry.child in above:
                other = above[entry.child].element
                message = f"link {entry.child!r} already has a parent, by the joint in line {other.line}"
                self.log.problem(entry.element, message)
                continue
            above[entry.child] = entry
            child = self.links[entry.child]
            child.local_translation, child.local_rotation = entry.pose
            child.joints = [entry.joint]
            if entry.parent != entry.child:
                self.links[entry.parent].children.append(child)
        return above

    def _check_tree(self, above: dict[str, UrdfJoint]) -> None:
        """Notes links in cycles, which no root reaches, and trees that are too deep."""
        level = [name for name in self.links if name not in above]
        reached: set[str] = set()
        depth = 0
        children: dict[str, list[str]] = {}
        for child, entry in above.items():
            children.setdefault(entry.parent, []).append(child)
        while level:
            depth += 1
            reached.update(level)
            level = [child for name in level for child in children.get(name, ())]
        if depth > self.log.limits.link_depth:
            deep = next(iter(self.elements.values()))
            self.log.problem(deep, f"links {depth} levels deep; allowed: {self.log.limits.link_depth}")
        lost = [name for name in self.links if name not in reached]
        if lost:
            names = ", ".join(repr(name) for name in lost[:10])
            self.log.problem(self.elements[lost[0]], f"the links {names} form a cycle; allowed: a tree")

    def _bodies(self, above: dict[str, UrdfJoint]) -> None:
        roots = [name for name in self.links if name not in above]
        if len(roots) > 1:
            names = ", ".join(repr(name) for name in roots[:10])
            self.log.kept(
                self.elements[roots[1]], f"{len(roots)} root links, each a body of its own: {names}"
            )
        bodies = self.world.hierarchy.bodies
        for name in roots:
            link = self.links[name]
            if name != WORLD:
                bodies.append(Body(link=link, multibody=self.world.name or None))
                continue
            self._dissolve_world(link)
            bodies.extend(Body(link=child, multibody=self.world.name or None) for child in link.children)
        for body in bodies:
            joints = body.link.joints
            if joints and joints[0].type_ is JointType.Free:
                body.free = FreeJoint(name=joints[0].name)
                body.link.joints = []
        inner = self.links.get(WORLD)
        if inner is not None and WORLD in above:
            inner.name = free_name(WORLD, self.links)
            message = f"the name 'world' means the world; this link is now {inner.name!r}"
            self.log.approximated(self.elements[WORLD], message)

    def _dissolve_world(self, link: Link) -> None:
        element = self.elements[WORLD]
        self.world.hierarchy.geoms.extend(link.geoms)
        self.log.kept(element, "the root link 'world' is the world itself")
        inertial = element.find("inertial")
        if inertial is not None:
            self.log.left_out(inertial, "the world has no mass")

    def _couplers(self, joints: Sequence[UrdfJoint]) -> None:
        names = {entry.joint.name for entry in joints if entry.joint.name}
        for entry in joints:
            mimic = entry.mimic
            if mimic is None:
                continue
            # real robots have such, and move without
            if mimic.joint == entry.joint.name:
                self.log.left_out(mimic.element, "a joint cannot follow itself")
                continue
            if mimic.joint not in names:
                self.log.left_out(mimic.element, f"no other joint {mimic.joint!r}{hint(mimic.joint, names)}")
                continue
            self.world.couplers.append(
                JointCoupler(
                    name=f"{entry.joint.name}_mimic",
                    joint=entry.joint.name or "",
                    reference=mimic.joint,
                    multiplier=mimic.multiplier,
                    offset=mimic.offset,
                    mode=CouplerMode.Mimic,
                )
            )
