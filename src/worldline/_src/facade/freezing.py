# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of Multibody that weld joints at their position or at given values, and release them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.handle import Handle
from worldline._src.facade.joint_coordinates import to_coordinates
from worldline._src.facade.values import VectorLike
from worldline._src.scene import freezing
from worldline._src.scene.freezing import TakenOut
from worldline._src.scene.joints import FreeJoint

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.multibody import Multibody


class Freezing(Handle):
    """The part of a multibody that has joints frozen."""

    _thawed: list[tuple[set[str], list[TakenOut]]]
    """Names of joints in the description, and what was taken out for them."""

    @exclusive
    def freeze(
        self, joints: Iterable[Joint | str] | None = None, positions: VectorLike | None = None
    ) -> None:
        """Weld joints, in design mode or within `World.edit()`: a reduced model of the same robot.

        Their degrees of freedom are gone from all vectors and matrices; links, frames and shapes stay. What
        refers to the coordinate of such a joint (actuators, sensors, tendons, couplers of the description)
        is taken out until it is let go. Handles of the joints stay alive and have no degrees of freedom.

        Args:
            joints: joints of this multibody or their names; all that can move when None.
            positions: where, one joint after the other, as `Joint.position` has it; where they are now when
                None.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> arm = world.add_multibody("arm")
            >>> upper = arm.add_link("upper", joint=sx.JointSpec(name="shoulder"))
            >>> lower = arm.add_link("lower", parent=upper, joint=sx.JointSpec(name="elbow"))
            >>> arm.freeze(["elbow"], [0.5])
            >>> arm.num_dofs, arm.joints["elbow"].frozen_position.tolist()
            (1, [0.5])
            >>> arm.unfreeze()
            >>> arm.num_dofs, arm.joints["elbow"].position.tolist()
            (2, [0.5])
        """
        owner = cast("Multibody", self)
        owner._require_design("freezing joints")
        chosen = self._moving_joints() if joints is None else self._chosen(joints)
        bases = [joint.name for joint in chosen if isinstance(joint._joint, FreeJoint)]
        if bases:
            raise ArgumentError(f"floating bases cannot be frozen: {', '.join(bases)}")
        chosen = [joint for joint in chosen if joint.num_dofs]
        runtime = owner._live()
        if positions is None:
            places = [runtime.sim.q[runtime.q_slice(joint._joint)] for joint in chosen]
        else:
            total = sum(joint.num_dofs for joint in chosen)
            numbers = values.dof_vector(positions, total, f"positions of frozen joints of '{owner.name}'")
            parts = np.split(numbers, np.cumsum([joint.num_dofs for joint in chosen])[:-1])
            places = [
                to_coordinates(part) if joint._turning else part
                for joint, part in zip(chosen, parts, strict=False)
            ]
        coordinates = {joint._joint.name: q.tolist() for joint, q in zip(chosen, places, strict=True)}
        if not coordinates:
            return
        taken = freezing.freeze(owner._world._scene, cast("dict[str, list[float]]", coordinates))
        self._thawed.append((set(cast("dict[str, list[float]]", coordinates)), taken))
        owner._known = None
        owner._world._topology_changed()

    @exclusive
    def unfreeze(self, joints: Iterable[Joint | str] | None = None) -> None:
        """Let frozen joints go, in design mode or within `World.edit()`; all of them when None.

        They start at rest where they were frozen. What was taken out for joints that were frozen together
        comes back when all of them are free.
        """
        owner = cast("Multibody", self)
        owner._require_design("letting joints go")
        every = [joint for joint in owner._joints.values() if joint.is_frozen]
        chosen = every if joints is None else [j for j in self._chosen(joints) if j.is_frozen]
        if not chosen:
            return
        places = [(joint, joint.frozen_position) for joint in chosen]
        names = {joint._joint.name or "" for joint in chosen}
        scene = owner._world._scene
        remaining = {j._joint.name or "" for j in every} - names
        back = [item for waiting, taken in self._thawed if not waiting & remaining for item in taken]
        self._thawed = [part for part in self._thawed if part[0] & remaining]
        freezing.unfreeze(scene, names, back)
        owner._known = None
        owner._world._topology_changed()
        for joint, place in places:
            assert place is not None
            joint.position = place
            joint.target_position = place

    def _moving_joints(self) -> list[Joint]:
        joints = cast("Multibody", self)._joints.values()
        return [j for j in joints if j.num_dofs and not isinstance(j._joint, FreeJoint)]

    def _chosen(self, joints: Iterable[Joint | str]) -> list[Joint]:
        """Joints of this multibody, each once."""
        owner = cast("Multibody", self)
        found: list[Joint] = []
        for item in values.several(joints, "joints, given as handles or names,"):
            joint = owner.joints[item] if isinstance(item, str) else item
            if getattr(joint, "_multibody", None) is not owner:
                name = getattr(joint, "name", joint)
                raise ArgumentError(f"joint {name!r} does not belong to multibody '{owner.name}'")
            joint._require_alive()
            found.append(joint)
        if len({id(joint) for joint in found}) != len(found):
            raise ArgumentError("every joint must be given once")
        return found
