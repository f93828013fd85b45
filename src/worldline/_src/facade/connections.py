# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Connections of bodies beside the trees: joints that a World owns, distance springs, equalities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, SceneError, nearest_name
from worldline._src.facade import values, world_joint
from worldline._src.facade.collections import WorldJointCollection
from worldline._src.facade.frame import Frame
from worldline._src.facade.joint_spec import JointSpec
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_joint import WorldJoint
from worldline._src.kernels.constraints.equality.rows import OFF, ON
from worldline._src.kernels.constraints.tables import JOINT, TENDON
from worldline._src.scene.base import clone
from worldline._src.scene.closures import DistanceSpring, FrameRef
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_equalities import Owner

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


def _joint_arguments(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Frame, Frame, JointSpec]:
    """Parent, child and spec of `add_joint(child, spec)` and `add_joint(parent, child, spec)`."""
    for names in (("parent", "child", "spec"), ("child", "spec")):
        every = dict(zip(names, given, strict=False))
        if len(given) + len(named) == len(names) and not every.keys() & named.keys():
            every |= named
            if every.keys() == set(names) and isinstance(every["spec"], JointSpec):
                return every.get("parent", Frame.world()), every["child"], every["spec"]
    raise values.ShapeError("add_joint takes (child, spec) or (parent, child, spec)")


class Connections:
    """Joints between bodies, springs between bodies, and switches of equality constraints."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world
        self.joint_handles: dict[int, WorldJoint] = {}
        """Handles of joints by the id of their description."""

    def add_joint(self, *given: Any, **named: Any) -> WorldJoint:
        """See `World.add_joint`."""
        world = self._world
        parent, child, spec = _joint_arguments(given, named)
        made, number = world_joint.add_joint(world, parent, child, spec)
        world._numbers["joint"] = number
        world._scene.joints.append(made)
        world._topology_changed()
        return self.joints[made.joint.name or ""]

    def _joints_by_name(self) -> dict[str, WorldJoint]:
        """Handles of all joints of the description beside its trees."""
        world, handles = self._world, self.joint_handles
        made: dict[str, WorldJoint] = {}
        for joint in world._scene.joints:
            if id(joint) not in handles or handles[id(joint)]._described is not joint:
                handles[id(joint)] = WorldJoint(world, joint)
            made[joint.joint.name or ""] = handles[id(joint)]
        return made

    @property
    def joints(self) -> WorldJointCollection:
        """See `World.joints`."""
        return WorldJointCollection("joint", self._joints_by_name)

    @property
    def num_joints(self) -> int:
        """See `World.num_joints`."""
        return len(self._world._scene.joints)

    def get_joint(self, name: str) -> WorldJoint | None:
        """The joint of a name, None when there is none."""
        return self._joints_by_name().get(values.key(name, "name of a joint"))

    def has_joint(self, name: str) -> bool:
        """Whether the World owns a joint of this name."""
        return isinstance(name, str) and name in self._joints_by_name()

    # ---- distance springs

    def add_rigid_body_distance_spring(
        self,
        name: str,
        parent: RigidBody,
        child: RigidBody,
        rest_length: float,
        stiffness: float,
        *,
        parent_anchor: VectorLike | None = None,
        child_anchor: VectorLike | None = None,
        damping: float = 0.0,
    ) -> None:
        """A spring along the line between two points of two bodies.

        Args:
            name: unique among the springs.
            parent: first body.
            child: second body.
            rest_length: where it pulls with nothing [m].
            stiffness: [N/m], positive.
            parent_anchor: point of the first body in its frame [m], (3,); its origin when None.
            child_anchor: the same for the second; both are given or none.
            damping: [N s/m].
        """
        world = self._world
        world._require_design("adding a distance spring")
        label = values.text(name, "name of a distance spring")
        if not label:
            raise ArgumentError("the name of a distance spring cannot be empty")
        if self.has_rigid_body_distance_spring(label):
            raise ArgumentError(f"a distance spring named '{label}' already exists")
        for which, body in (("parent", parent), ("child", child)):
            world._own_frame(body, which)
        if parent is child:
            raise ArgumentError(f"the ends of a distance spring must be distinct, both are '{parent.name}'")
        if (parent_anchor is None) != (child_anchor is None):
            raise ArgumentError("anchors of a distance spring must be given for both endpoints or for none")
        ends: list[FrameRef] = []
        for which, body, anchor in (("parent", parent, parent_anchor), ("child", child, child_anchor)):
            offset = np.eye(4)
            if anchor is not None:
                offset[:3, 3] = values.vector3(anchor, f"{which}_anchor")
            ends.append(world._frame_ref(body, offset))
        made = DistanceSpring(
            name=label,
            frame_a=ends[0],
            frame_b=ends[1],
            rest_length=values.non_negative(rest_length, "rest_length"),
            stiffness=values.positive(stiffness, "stiffness"),
            damping=values.non_negative(damping, "damping"),
        )
        world._scene.distance_springs.append(made)
        world._topology_changed()

    def _spring(self, name: str) -> tuple[int, DistanceSpring]:
        springs, name = self._world._scene.distance_springs, values.key(name, "name of a spring")
        for k, spring in enumerate(springs):
            if spring.name == name:
                return k, spring
        names = [spring.name or "" for spring in springs]
        raise NotFoundError(f"no distance spring '{name}'{nearest_name(str(name), names)}")

    def has_rigid_body_distance_spring(self, name: str) -> bool:
        """Whether there is a spring of this name."""
        return isinstance(name, str) and any(
            spring.name == name for spring in self._world._scene.distance_springs
        )

    def get_rigid_body_distance_spring_parameters(self, name: str) -> tuple[float, float]:
        """Length at rest [m] and stiffness [N/m] of a spring."""
        spring = self._spring(name)[1]
        return spring.rest_length, spring.stiffness

    def set_rigid_body_distance_spring_parameters(
        self, name: str, rest_length: float, stiffness: float
    ) -> None:
        """Change a spring, also between steps."""
        world = self._world
        k, spring = self._spring(name)
        rest = values.non_negative(rest_length, "rest_length")
        strong = values.positive(stiffness, "stiffness")
        world._require_idle()
        spring.rest_length, spring.stiffness = rest, strong
        if world._runtime is not None and world._runtime.constraints is not None:
            world._runtime.constraints.column.spring_number[k, :2] = rest, strong
        world._configuration_changed()

    def remove_rigid_body_distance_spring(self, name: str) -> None:
        """Take a spring out, in design mode or within `edit()`."""
        world = self._world
        k, _ = self._spring(name)
        world._require_design(f"removing distance spring '{name}'")
        del world._scene.distance_springs[k]
        world._topology_changed()

    # ---- equality constraints of a scene

    def add_equality(self, equality: Any) -> None:
        """Add an equality constraint of the description, such as `msd.EqualityConnect`, in design mode.

        It refers to links, joints, sites and tendons by their names in the description: that of a rigid body
        is its own, that of a link or joint has its multibody in front, such as "arm/tip". A copy is kept.
        Without a name it gets one; `is_equality_active`, `set_equality_active` and `get_equality_force` take
        names.

        Example:
            >>> from worldline import msd
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> a = world.add_rigid_body("a", position=(1, 0, 0))
            >>> hook = msd.ConnectConstraintType.link_anchor("a", (-1, 0, 0))
            >>> world.add_equality(msd.EqualityConnect(name="hook", connect_type=hook))
            >>> world.is_equality_active("hook")
            True
        """
        world = self._world
        world._require_design("adding an equality constraint")
        made = world._scene.equality_constraint_set
        fields: dict[type, str] = {field.kind.item.struct: name for name, field in made._fields.items()}  # type: ignore[attr-defined]
        if type(equality) not in fields:
            known = ", ".join(f"msd.{struct.__name__}" for struct in fields)
            raise values.ShapeError(f"add_equality takes one of {known}, got {equality!r}")
        taken = {entry.name for name in made._fields for entry in getattr(made, name)}
        kept = clone(equality)
        if kept.name in taken and kept.name is not None:
            raise ArgumentError(f"an equality constraint named '{kept.name}' already exists")
        if kept.name is None:
            number = len(taken) + 1
            while f"equality_{number:03d}" in taken:
                number += 1
            kept.name = f"equality_{number:03d}"
        rows = getattr(made, fields[type(equality)])
        rows.append(kept)
        try:
            world._scene.validate()
        except SceneError:
            rows.pop()
            raise
        world._topology_changed()

    def _equality(self, name: str) -> int:
        world = self._world
        runtime = world._live()
        table = runtime.model.equalities
        labels = [] if table is None else table.label
        if runtime.constraints is None or values.key(name, "name of an equality") not in labels:
            raise NotFoundError(f"no equality constraint '{name}'{nearest_name(str(name), labels)}")
        row = runtime.constraints.row_of(Owner.EQUALITY, labels.index(name))
        if row is None:
            raise NotFoundError(f"equality constraint '{name}' is switched off with all others")
        return row

    def is_equality_active(self, name: str) -> bool:
        """Whether an equality constraint of the scene acts."""
        row, world = self._equality(name), self._world
        return bool(world._live().switches[row] == ON)

    def set_equality_active(self, name: str, active: bool) -> None:
        """Switch an equality constraint of the scene on or off, also between steps."""
        if not isinstance(active, bool):
            raise values.ShapeError(f"active must be True or False, got {active!r}")
        row, world = self._equality(name), self._world
        world._require_idle()
        world._live().switches[row] = ON if active else OFF
        world._live().sim.wake()

    def get_equality_force(self, name: str) -> Array:
        """What the last step did by an equality constraint.

        Of points and poses: torque [N m] and force [N] on the first end, world axes, (6,); the second feels
        the opposite. Of joints and tendons: the generalized force that follows [N or N m], (1,).
        """
        row, world = self._equality(name), self._world
        constraints = world._live().constraints
        assert constraints is not None
        wrench = constraints.column.equality_wrench[row]
        if constraints.equalities[row].kind in (JOINT, TENDON):
            return wrench[:1].copy()
        return wrench[[3, 4, 5, 0, 1, 2]]
