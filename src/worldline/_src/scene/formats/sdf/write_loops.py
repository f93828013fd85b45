# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of SDF that are not part of a tree: closures, joints of the world, and what ties coordinates.

A closure becomes a joint that closes a loop and is marked to be cut there; `trees.py` turns it back. SDF
places such a joint by its frame in the child alone, so its ends have to meet where the scene is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.closures import (
    ClosureDynamicsPolicy,
    CouplerMode,
    FrameRef,
    JointCoupler,
    LoopClosureFamily,
)
from worldline._src.scene.formats.chains import dofs_of
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites, product, unit
from worldline._src.scene.formats.sdf import write_joints
from worldline._src.scene.formats.sdf.write_models import ModelWriter, PlacedLink, WrittenAxis
from worldline._src.scene.formats.sdf.write_names import Names, Place, Scope
from worldline._src.scene.formats.sdf.write_values import put
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.joints import Joint, JointType
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

_MEETING: Final = 1.0e-9
"""How far apart the ends of a closure may be, m and rad, to count as one place."""
_KINDS: Final = {
    LoopClosureFamily.Rigid: "fixed",
    LoopClosureFamily.Point: "ball",
    LoopClosureFamily.Axis: "continuous",
    LoopClosureFamily.Revolute: "continuous",
}
_CLOSURE_SAID: Final = ("name", "frame_a", "frame_b", "family", "enabled", "dynamics")
_COUPLER_SAID: Final = (
    *("name", "joint", "reference", "joint_dof", "reference_dof", "multiplier", "offset", "mode", "active"),
)


class End(NamedTuple):
    """A pose on a link, or on the world when there is no link."""

    link: PlacedLink | None
    pose: Pose

    @property
    def in_world(self) -> Pose:
        """The pose in the world with all coordinates at zero."""
        return self.pose if self.link is None else product(self.link.X_WL, self.pose)

    @property
    def place(self) -> Place | None:
        """Where the link stands in the file."""
        return None if self.link is None else self.link.place


class LoopWriter:
    """Writes everything that ties links or joints beside the trees.

    Args:
        world: The scene.
        top: The world of the file, or its root when it is one model.
        models: The models, already written.
        names: Gives places to joints.
        notes: What SDF cannot say.
    """

    def __init__(
        self, world: World, top: Scope, models: ModelWriter, names: Names, notes: WriteLosses
    ) -> None:
        self.world, self.top, self.models = world, top, models
        self.names, self.notes = names, notes
        self._frames = {frame.name: frame for frame in world.frames if frame.name is not None}
        self._joined: dict[str, str] = {}

    def write(self) -> None:
        """Everything of the scene."""
        for index in range(len(self.world.loop_closures)):
            self._closure(index)
        for index in range(len(self.world.joints)):
            self._world_joint(index)
        for index, coupler in enumerate(self.world.couplers):
            self._coupler(coupler, f"$.couplers[{index}]")
        self._equalities()

    # ends

    def end(self, ref: FrameRef) -> End:
        """What a reference to a link or a frame means."""
        return self.on(ref.link, ref.frame, unit(ref.position, ref.orientation))

    def on(self, link: str | None, frame: str | None, pose: Pose) -> End:
        """A pose on a link, on a frame, or on the world."""
        while link is None and frame is not None:
            above = self._frames[frame]
            pose = product(unit(above.position, above.orientation), pose)
            link, frame = above.parent_link, above.parent_frame
        # the name of the world is a link only if there is such a link
        return End(None if link is None else self.models.links.get(link), pose)

    def scope_of(self, ends: tuple[End, ...]) -> Scope:
        """The smallest scope that both ends are seen from."""
        roots = {end.place.scope.path[0] for end in ends if end.place is not None}
        return self.models.scopes[roots.pop()] if len(roots) == 1 else self.top

    def _joins(self, ends: tuple[End, End]) -> bool:
        """Whether two ends hang on different roots, which the joint then makes one."""

        def find(root: str) -> str:
            while root in self._joined:
                root = self._joined[root]
            return root

        a, b = (find("" if end.link is None else end.link.root) for end in ends)
        if a == b:
            return False
        self._joined[max(a, b)] = min(a, b)
        return True

    def _start(self, path: str, kind: str, name: str | None, ends: tuple[End, End]) -> XmlElement:
        """The joint between two ends."""
        parent, below = ends
        if below.place is None:
            parent, below = below, parent
            self.notes.kept(path, "parent and child are exchanged, since a child is never the world")
        assert below.place is not None
        if self._joins(ends):
            message = "nothing else holds the two together, so readers take it for a joint of their tree"
            self.notes.approximated(path, message)
        found = tuple(end.place for end in (parent, below) if end.place is not None)
        place = self.names.place(self.scope_of(ends), name, path, "joint", spare="closure", ends=found)
        return write_joints.new_joint(place, kind, parent.place, below.place, below.pose)

    def _check_meeting(self, path: str, ends: tuple[End, End], *, turned: bool, about_z: bool) -> None:
        """Notes ends that are apart where the scene is drawn."""
        a, b = (end.in_world for end in ends)
        apart = float(np.abs(a.position - b.position).max())
        z = np.array([0.0, 0.0, 1.0])
        if turned:
            apart = max(apart, *np.abs(a.turn(z) - b.turn(z)))
        if turned and not about_z:
            x = np.array([1.0, 0.0, 0.0])
            apart = max(apart, *np.abs(a.turn(x) - b.turn(x)))
        if apart > _MEETING:
            self.notes.approximated(
                path, "its ends are apart where the scene is drawn; SDF lets them meet there"
            )

    # closures and joints

    def _closure(self, index: int) -> None:
        closure = self.world.loop_closures[index]
        path = f"$.loop_closures[{index}]"
        kind = _KINDS.get(closure.family)
        if kind is None:
            self.notes.left_out(path, f"SDF has no joint for a closure of the family {closure.family.name}")
            return
        if not closure.enabled or closure.dynamics is not ClosureDynamicsPolicy.Solve:
            self.notes.left_out(path, "it is only measured; a joint would enforce it")
            return
        ends = (self.end(closure.frame_a), self.end(closure.frame_b))
        axis = kind == "continuous"
        self._check_meeting(path, ends, turned=kind != "ball", about_z=axis)
        made = self._start(path, kind, closure.name, ends)
        if axis:
            put(child(made, "axis"), "xyz", "0 0 1")
        write_joints.close_loop(made)
        self.notes.rest(closure, path, _CLOSURE_SAID)

    def _world_joint(self, index: int) -> None:
        owned = self.world.joints[index]
        joint, path = owned.joint, f"$.joints[{index}]"
        word = write_joints.WORDS.get(joint.type_)
        if word is None or joint.frozen is not None:
            self.notes.left_out(path, f"SDF has no such joint as a {joint.type_.name}")
            return
        frame = unit(joint.pos, joint.orientation)
        ends = tuple(
            End(end.link, product(end.pose, frame)) for end in map(self.end, (owned.parent, owned.child))
        )
        ends = (ends[0], ends[1])
        if ends[1].link is None:
            self.notes.left_out(path, "the child of a joint is never the world in SDF")
            return
        self._check_meeting(path, ends, turned=word != "ball", about_z=False)
        if joint.type_ in (JointType.Revolute, JointType.Fixed, JointType.Ball):
            self.notes.approximated(path, "a joint of this type that closes a loop is read as a closure")
        made = self._start(path, word, joint.name, ends)
        self._axes(made, joint, f"{path}.joint")
        write_joints.close_loop(made)
        self.notes.rest(owned, path, ("parent", "child", "joint"))

    def _axes(self, made: XmlElement, joint: Joint, path: str) -> None:
        axes = [joint.axis if joint.axis.any() else np.array([0.0, 0.0, 1.0]), joint.axis2]
        count = {JointType.Fixed: 0, JointType.Ball: 0, JointType.Universal: 2}.get(joint.type_, 1)
        dofs = dofs_of(joint, path, self.notes)
        if joint.type_ is JointType.Screw:
            put(made, "screw_thread_pitch", finite(2.0 * np.pi * joint.pitch))
        for tag, axis, dof in zip(("axis", "axis2")[:count], axes, dofs, strict=False):
            write_joints.write_axis(made, tag, axis.tolist(), dof)
        kept = ("name", "type_", "axis", "axis2", "pos", "orientation", "pitch", "dofs", "spring_damper")
        self.notes.rest(joint, path, (*kept, *write_joints.DOF_SAID) if count else kept)

    # tied coordinates

    def _coupler(self, coupler: JointCoupler, path: str) -> None:
        follower = self.models.joints.get((coupler.joint, coupler.joint_dof))
        leader = self.models.joints.get((coupler.reference, coupler.reference_dof))
        if not coupler.active:
            self.notes.left_out(path, "it is switched off, which SDF cannot say")
        elif follower is None or leader is None:
            self.notes.left_out(path, "SDF ties axes only")
        elif coupler.mode is CouplerMode.Coupler and self._gearbox(coupler, path, follower, leader):
            self.notes.rest(coupler, path, _COUPLER_SAID)
        elif self._mimic(follower, leader, coupler.multiplier, coupler.offset, path):
            if coupler.mode is CouplerMode.Coupler:
                self.notes.approximated(f"{path}.mode", "the leading joint of a <mimic> feels nothing of it")
            suffix = "_mimic" if follower.index == 0 else f"_mimic_{follower.index + 1}"
            if coupler.name != self.names.read_name(follower.joint) + suffix:
                self.notes.kept(f"{path}.name", "a <mimic> has no name of its own")
            self.notes.rest(coupler, path, _COUPLER_SAID)

    def _mimic(
        self, follower: WrittenAxis, leader: WrittenAxis, multiplier: float, offset: float, path: str
    ) -> bool:
        name = leader.joint.seen_from(follower.joint.scope)
        if name is None or leader.index > 0 or follower.element.find("mimic") is not None:
            self.notes.left_out(
                path, "SDF lets an axis follow one other, the first of a joint of its own model"
            )
            return False
        made = child(follower.element, "mimic", {"joint": name, "axis": "axis"})
        put(made, "multiplier", finite(multiplier))
        put(made, "offset", finite(offset))
        put(made, "reference", "0")
        return True

    def _gearbox(self, coupler: JointCoupler, path: str, follower: WrittenAxis, leader: WrittenAxis) -> bool:
        """A gearbox, where two hinges stand on one link; False where they do not."""
        hinges = all(axis.step.kind is JointType.Revolute for axis in (follower, leader))
        reference = leader.parent
        if not hinges or coupler.offset or reference is None or reference != follower.parent:
            return False
        scope = self.models.scopes[reference.scope.path[0]]
        ends = (leader.child, follower.child, reference)
        place = self.names.place(scope, coupler.name, path, "joint", spare="gearbox", ends=ends)
        made = write_joints.new_joint(place, "gearbox", leader.child, follower.child, IDENTITY)
        put(made, "gearbox_ratio", finite(-coupler.multiplier))
        put(made, "gearbox_reference_body", write_joints.seen(reference, place))
        for tag, axis in (("axis", leader), ("axis2", follower)):
            xyz = put(child(made, tag), "xyz", finites(axis.step.axes_L[0]))
            xyz.set("expressed_in", write_joints.seen(axis.child, place))
        return True

    def _equalities(self) -> None:
        made = self.world.equality_constraint_set
        for index, equality in enumerate(made.joints):
            path = f"$.equality_constraint_set.joints[{index}]"
            offset, multiplier, *higher = equality.polycoeff
            follower = self.models.joints.get((equality.joint_a, 0))
            leader = None if equality.joint_b is None else self.models.joints.get((equality.joint_b, 0))
            if not equality.active or follower is None or leader is None or any(higher):
                self.notes.left_out(path)
            elif self._mimic(follower, leader, multiplier, offset, path):
                self.notes.approximated(
                    path, "written as a <mimic>, which the leading joint feels nothing of"
                )
        self.notes.rest(made, "$.equality_constraint_set", ("joints",))
