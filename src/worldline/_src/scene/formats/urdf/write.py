# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Writing URDF: one robot of links and joints.

What stands on the world, and every body but a single fixed one at the origin, hangs on a root link named
`world`, which the reader takes for the world itself; a free body hangs there by a floating joint. The frame
of a link is moved onto its joint, as the format requires it, and everything on the link with it. Several
joints of one link become a chain of links without mass. Actuators, sensors, constraints and options have no
place in a URDF file and are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.references import free_name
from worldline._src.scene.bodies import Body, BodyKind, Link
from worldline._src.scene.formats.chains import Step, note_rest, steps
from worldline._src.scene.formats.markup import child, document, root
from worldline._src.scene.formats.parts import INERTIA_OPTIONS, Inertias, MeshFiles
from worldline._src.scene.formats.rigid import is_identity, shifted
from worldline._src.scene.formats.robot_files import written
from worldline._src.scene.formats.urdf.write_joints import DOF_SAID, Mimic, is_known, mimics, write_joint
from worldline._src.scene.formats.urdf.write_shapes import SUFFIXES, ShapeWriter, write_inertial
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.joints import JointType
from worldline._src.scene.kinds import WORLD
from worldline._src.scene.poses import Pose
from worldline._src.scene.report import Report
from worldline._src.scene.vectors import Array
from worldline._src.scene.world import World

_LINK_SAID: Final = ("name", "children", "geoms", "inertial", "joints", "local_translation", "local_rotation")
_WORLD_SAID: Final = (
    *("name", "hierarchy", "assets", "couplers", "compile_options", "equality_constraint_set"),
    "source_path",
)


def write(world: World, *, file_path: Path | None, report: Report, files: dict[str, bytes] | None) -> str:
    """The text of a URDF file for a valid scene; for the arguments see `robot_files.written`."""
    return written(report, "URDF", lambda notes: _Robot(world, file_path, files, notes).text)


@dataclass
class _Placed:
    """A link of the scene on its way into the file."""

    link: Link
    path: str
    above: _Placed | None
    chain: list[Step]
    name: str
    joints: list[str] = field(default_factory=list[str])
    middles: list[str] = field(default_factory=list[str])

    @property
    def shift(self) -> Array:
        """Where the frame of the file's link is in that of the scene's."""
        return self.chain[-1].p_L


class _Robot:
    def __init__(
        self, world: World, file_path: Path | None, files: dict[str, bytes] | None, notes: WriteLosses
    ) -> None:
        self.world = world
        self.notes = notes
        library = AssetLibrary(world)
        self.inertias = Inertias(world, library, notes)
        meshes = MeshFiles(world, library, file_path, files, SUFFIXES, notes)
        self.shapes = ShapeWriter(world, meshes, notes)
        self.named: dict[tuple[str, int], tuple[Step, str]] = {}
        self.name = self._robot_name()
        self.root = root("robot", {"name": self.name})
        self.shapes.write_materials(self.root)
        placed = [
            entry for index, body in enumerate(world.hierarchy.bodies) for entry in self._place(body, index)
        ]
        self._give_names(placed)
        followed = mimics(world, self.named, notes)
        if self._needs_world(placed):
            element = child(self.root, "link", {"name": WORLD})
            self.shapes.write_shapes(element, world.hierarchy.geoms, "$.hierarchy.geoms", np.zeros(3))
        for entry in placed:
            self._write(entry, followed)
        self._rest()
        self.text = document(self.root)

    def _robot_name(self) -> str:
        world = self.world
        wanted = [body.multibody for body in world.hierarchy.bodies]
        if world.name:
            name = world.name
        else:
            name = next((label for label in wanted if label), "robot")
            self.notes.kept("$.name", "the scene has no name; a robot needs one, and gets a new one")
        for index, label in enumerate(wanted):
            if label != name:
                message = "all bodies of a robot belong to the multibody of its name"
                self.notes.kept(f"$.hierarchy.bodies[{index}].multibody", message)
        return name

    # what there is

    def _place(self, body: Body, index: int) -> list[_Placed]:
        """All links of a body, parents first, with the joints above them."""
        made: list[_Placed] = []
        stack: list[tuple[Link, str, _Placed | None]] = [
            (body.link, f"$.hierarchy.bodies[{index}].link", None)
        ]
        while stack:
            link, path, above = stack.pop()
            chain = steps(link, body, path, is_known, self.notes)
            note_rest(chain, DOF_SAID, self.notes)
            entry = _Placed(link, path, above, chain, link.name or "")
            made.append(entry)
            below = [(part, f"{path}.children[{i}]", entry) for i, part in enumerate(link.children)]
            stack.extend(reversed(below))
        place = f"$.hierarchy.bodies[{index}]"
        if body.kind is BodyKind.Static:
            self.notes.kept(f"{place}.kind", "a static body is fixed to the world")
        said = ("free", "link", "multibody", *(("kind",) if body.kind is BodyKind.Static else ()))
        self.notes.rest(body, place, said)
        return made

    def _give_names(self, placed: list[_Placed]) -> None:
        links = {entry.name for entry in placed if entry.name} | {WORLD}
        joints = {step.name for entry in placed for step in entry.chain if step.name}
        for number, entry in enumerate(placed):
            if entry.name == WORLD:
                entry.name = free_name("world_link", links)
                self.notes.approximated(
                    f"{entry.path}.name", f"'world' is the world itself; named {entry.name!r}"
                )
            elif not entry.name:
                entry.name = free_name(f"link_{number}", links)
                self.notes.kept(entry.path, "a link without a name gets one")
            links.add(entry.name)
        given: set[str] = set()
        for entry in placed:
            for index, step in enumerate(entry.chain):
                name = step.name
                if name is None or name in given:
                    name = free_name(name or f"{entry.name}_joint", joints)
                    if not self._is_root(entry):
                        self.notes.kept(step.path, "a joint without a name gets one")
                given.add(name)
                joints.add(name)
                entry.joints.append(name)
                if step.joint is not None and step.joint.name is not None and step.drives is None:
                    for dof in range(max(1, len(step.dofs))):
                        self.named.setdefault((step.joint.name, step.first_dof + dof), (step, name))
                if index + 1 < len(entry.chain):
                    middle = free_name(f"{entry.name}_{name}", links)
                    links.add(middle)
                    entry.middles.append(middle)
            if len(entry.link.joints) > 1 and len(entry.chain) > 1:
                message = "several joints of a link are written as a chain of joints and links without mass"
                self.notes.kept(f"{entry.path}.joints", message)

    def _is_root(self, entry: _Placed) -> bool:
        """Whether a link is the root of the robot: that of the only body, at the origin, with no joint."""
        if entry.above is not None or len(self.world.hierarchy.bodies) > 1 or self.world.hierarchy.geoms:
            return False
        step = entry.chain[0]
        return step.kind is JointType.Fixed and step.name is None and is_identity(step.X_PL)

    def _needs_world(self, placed: list[_Placed]) -> bool:
        return not placed or any(entry.above is None and not self._is_root(entry) for entry in placed)

    # the file

    def _write(self, entry: _Placed, followed: dict[str, Mimic]) -> None:
        above = WORLD if entry.above is None else entry.above.name
        shift = np.zeros(3) if entry.above is None else entry.above.shift
        last = len(entry.chain) - 1
        element = None
        pending: list[tuple[Step, str, tuple[str, str], Pose, Mimic | None]] = []
        for index, step in enumerate(entry.chain):
            name = entry.name if index == last else entry.middles[index]
            element = child(self.root, "link", {"name": name})
            place = step.X_PL.apply(step.p_L) if step.p_L.any() else step.X_PL.position
            origin = shifted(Pose(place, step.X_PL.rotation), shift)
            mimic = followed.get(entry.joints[index])
            if step.drives is not None:
                mimic = Mimic(entry.joints[index - 1], step.drives, 0.0)
            pending.append((step, entry.joints[index], (above, name), origin, mimic))
            above, shift = name, step.p_L
        assert element is not None
        inertial = self.inertias.of(entry.link, entry.path)
        if entry.link.inertial.full_inertia is not None or inertial.mass or any(inertial.moments):
            write_inertial(element, inertial, entry.shift)
        self.shapes.write_shapes(element, entry.link.geoms, f"{entry.path}.geoms", entry.shift)
        if not self._is_root(entry):
            for joint in pending:
                write_joint(self.root, *joint)
        if entry.shift.any():
            message = "the frame of the link is moved onto its joint, and everything on it with it"
            self.notes.kept(f"{entry.path}.joints", message)
        self.notes.rest(entry.link, entry.path, _LINK_SAID)

    def _rest(self) -> None:
        world, notes = self.world, self.notes
        self.shapes.note_unused()
        notes.rest(world.hierarchy, "$.hierarchy", ("bodies", "geoms"))
        notes.rest(world.compile_options, "$.compile_options", INERTIA_OPTIONS)
        notes.rest(world.equality_constraint_set, "$.equality_constraint_set", ("joints",))
        notes.rest(world, "$", _WORLD_SAID)
