# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mimic joints: position = multiplier * reference + offset.

As a motor the follower is driven alone, within its effort limit; as a coupler, a gear, both joints feel equal
and opposite efforts. Which joint follows which is part of the description; it acts while the actuator type of
the follower is MIMIC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.handle import Handle
from worldline._src.scene.closures import CouplerMode, JointCoupler
from worldline._src.scene.joints import DriveType, FreeJoint

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.world_runtime import WorldRuntime

_TURNING = "a SPHERICAL, FLOATING or DISTANCE joint has no coordinate that could follow or lead"


def couplers_of(world: WorldRuntime, joint: Any) -> list[JointCoupler]:
    """What the description says a joint follows."""
    return [coupler for coupler in world._scene.couplers if coupler.joint == joint.name]


def follow(joint: Joint) -> None:
    """The actuator type of a joint changed: its couplers act while it is MIMIC."""
    described = joint._joint
    if not isinstance(described, FreeJoint):
        for coupler in couplers_of(joint._world, described):
            coupler.active = described.drive is DriveType.Mimic


class Follower(Handle):
    """The part of a joint that follows another."""

    _joint: Any
    _turning: bool
    if TYPE_CHECKING:

        @property
        def num_dofs(self) -> int: ...

    def set_mimic_joint(
        self,
        reference: Joint,
        multiplier: float = 1.0,
        offset: float = 0.0,
        *,
        dof: int = 0,
        reference_dof: int = 0,
    ) -> None:
        """Let a degree of freedom follow one of another joint of this World, once it is MIMIC.

        Args:
            reference: the joint that leads.
            multiplier: follower per leader [m or rad per m or rad].
            offset: follower where the leader is at zero [m or rad].
            dof: which degree of freedom follows.
            reference_dof: which one leads.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> hand = world.add_multibody("hand")
            >>> left = hand.add_link("left", joint=sx.JointSpec(name="l", axis=(0, 1, 0)))
            >>> right = hand.add_link("right", joint=sx.JointSpec(name="r", axis=(0, 1, 0)))
            >>> hand.joints["r"].set_mimic_joint(hand.joints["l"], multiplier=-1.0)
            >>> hand.joints["r"].actuator_type = sx.ActuatorType.MIMIC
        """
        self._require_alive()
        world, what = self._world, f"mimic joint of '{self.name}'"
        if not isinstance(reference, Follower) or reference._world is not world or not reference._alive:
            raise ArgumentError(f"{what}: reference must be a joint of this World, got {reference!r}")
        if reference is self:
            raise ArgumentError(f"{what}: a joint cannot follow itself")
        for joint, chosen, name in ((self, dof, "dof"), (reference, reference_dof, "reference_dof")):
            if joint._turning:
                raise ArgumentError(f"{what}: '{joint.name}': {_TURNING}")
            if not 0 <= values.count(chosen, f"{name} of the {what}") < joint.num_dofs:
                raise ArgumentError(f"{what}: {name} must be below {joint.num_dofs}, got {chosen!r}")
        factor = values.real(multiplier, f"multiplier of the {what}")
        shift = values.real(offset, f"offset of the {what}")
        world._require_idle()
        mode = CouplerMode.Mimic
        for old in couplers_of(world, self._joint):
            if old.joint_dof == dof:
                mode = old.mode
                world._scene.couplers.remove(old)
        world._scene.couplers.append(
            JointCoupler(
                joint=self._joint.name,
                reference=reference._joint.name,
                joint_dof=dof,
                reference_dof=reference_dof,
                multiplier=factor,
                offset=shift,
                mode=mode,
                active=self._joint.drive is DriveType.Mimic,
            )
        )
        world._topology_changed()

    @property
    def use_coupler_constraint(self) -> bool:
        """True when the joint that leads feels the opposite of what its follower is driven with.

        Raises:
            OperationError: the joint follows no other.
        """
        self._require_alive()
        return self._couplers()[0].mode is CouplerMode.Coupler

    @use_coupler_constraint.setter
    def use_coupler_constraint(self, value: bool) -> None:
        self._require_alive()
        if not isinstance(value, bool):
            raise values.ShapeError(f"use_coupler_constraint must be True or False, got {value!r}")
        couplers = self._couplers()
        self._world._require_idle()
        for coupler in couplers:
            coupler.mode = CouplerMode.Coupler if value else CouplerMode.Mimic
        self._world._topology_changed()

    def _couplers(self) -> list[JointCoupler]:
        found = couplers_of(self._world, self._joint)
        if not found:
            raise OperationError(f"joint '{self.name}' follows no other; set_mimic_joint comes first")
        return found
