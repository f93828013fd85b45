# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframes of a scene that gains coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.scene.actuators import Actuator, DynType
from worldline._src.scene.layout import Slot, layout
from worldline._src.scene.vectors import Array

if TYPE_CHECKING:
    from worldline._src.scene.world import World


class KeyframeGrowth:
    """Fits the keyframes of a scene to what is added to it.

    Made before the change, applied after it: what was there keeps its values wherever it moved to,
    what is new gets its reference configuration, at rest and without control.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        # without keyframes there is nothing to do, and no need for a sound tree
        self.slots = layout(world) if world.keyframes else []
        self.actuators = list(world.actuators)
        self.mocaps = [body for body in world.hierarchy.bodies if body.mocap]

    def apply(self) -> None:
        """Rewrites all keyframes; those that did not fit the scene before are left alone."""
        if not self.world.keyframes:
            return
        before = {id(slot.joint): slot for slot in self.slots}
        slots = layout(self.world)
        q_before = _total(self.slots)[0]
        v_before = _total(self.slots)[1]
        added = self.world.actuators[len(self.actuators) :]
        bodies = [b for b in self.world.hierarchy.bodies if b.mocap][len(self.mocaps) :]
        for keyframe in self.world.keyframes:
            if len(keyframe.dof_pos) == q_before and q_before:
                keyframe.dof_pos = self._positions(keyframe.dof_pos, slots, before)
            for name in ("dof_vel", "dof_force", "dof_command"):
                old = getattr(keyframe, name)
                if len(old) == v_before and v_before:
                    setattr(keyframe, name, self._velocities(old, slots, before))
            if len(keyframe.ctrl) == len(self.actuators) and self.actuators:
                keyframe.ctrl = np.append(keyframe.ctrl, np.zeros(len(added)))
            if len(keyframe.act):
                states = sum(map(has_activation, added))
                keyframe.act = np.append(keyframe.act, np.zeros(states))
            if len(keyframe.mocap_pos) and bodies:
                places = [body.link.local_translation for body in bodies]
                keyframe.mocap_pos = np.vstack((keyframe.mocap_pos, *places))
            if len(keyframe.mocap_quat) and bodies:
                turns = [body.link.local_rotation for body in bodies]
                keyframe.mocap_quat = np.vstack((keyframe.mocap_quat, *turns))

    def _positions(self, old: Array, slots: list[Slot], before: dict[int, Slot]) -> Array:
        parts = []
        for slot in slots:
            was = before.get(id(slot.joint))
            if was is None:
                parts.append(slot.reference())
            else:
                parts.append(old[was.q_start : was.q_start + was.q_count])
        return np.concatenate(parts)

    def _velocities(self, old: Array, slots: list[Slot], before: dict[int, Slot]) -> Array:
        parts = []
        for slot in slots:
            was = before.get(id(slot.joint))
            start = 0 if was is None else was.v_start
            parts.append(np.zeros(slot.v_count) if was is None else old[start : start + was.v_count])
        return np.concatenate(parts)


def _total(slots: list[Slot]) -> tuple[int, int]:
    return sum(slot.q_count for slot in slots), sum(slot.v_count for slot in slots)


def has_activation(actuator: Actuator) -> bool:
    """Whether an actuator has a state of its own."""
    kind = actuator.actuator_type
    if kind.variant == "general":
        return kind.value.dyntype is not DynType.None_
    return kind.variant == "position" and kind.value.timeconst > 0.0
