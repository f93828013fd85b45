# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframes of a scene that gains or loses coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.scene.actuators import Actuator, DynType
from worldline._src.scene.layout import Slot, layout
from worldline._src.scene.vectors import Array

if TYPE_CHECKING:
    from worldline._src.scene.world import World


class KeyframeGrowth:
    """Fits the keyframes of a scene to what is added to it or taken away.

    Made before the change, applied after it: what was there keeps its values wherever it moved to,
    what is new gets its reference configuration, at rest and without control.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        # without keyframes there is nothing to do, and no need for a sound tree
        needed = bool(world.keyframes)
        self.slots = layout(world) if needed else []
        self.actuators = list(world.actuators) if needed else []
        self.mocaps = _mocaps(world) if needed else []
        self.links = list(world.hierarchy.links()) if needed else []

    def apply(self) -> None:
        """Rewrites all keyframes; those that did not fit the scene before are left alone."""
        world = self.world
        if not world.keyframes:
            return
        before = {id(slot.joint): slot for slot in self.slots}
        slots = layout(world)
        q_before, v_before = _total(self.slots)
        states = [a for a in self.actuators if has_activation(a)]
        for keyframe in world.keyframes:
            for name in ("dof_pos", "dof_target"):
                old = getattr(keyframe, name)
                if len(old) == q_before and q_before:
                    setattr(keyframe, name, self._positions(old, slots, before))
            for name in ("dof_vel", "dof_force", "dof_command", "dof_acceleration"):
                old = getattr(keyframe, name)
                if len(old) == v_before and v_before:
                    setattr(keyframe, name, self._velocities(old, slots, before))
            keyframe.ctrl = _rows(keyframe.ctrl, self.actuators, world.actuators)
            keyframe.act = _rows(keyframe.act, states, [a for a in world.actuators if has_activation(a)])
            drawn = _mocaps(world)
            keyframe.mocap_pos = _rows(
                keyframe.mocap_pos, self.mocaps, drawn, [b.link.local_translation for b in drawn]
            )
            keyframe.mocap_quat = _rows(
                keyframe.mocap_quat, self.mocaps, drawn, [b.link.local_rotation for b in drawn]
            )
            keyframe.link_force = _rows(keyframe.link_force, self.links, list(world.hierarchy.links()))

    def _positions(self, old: Array, slots: list[Slot], before: dict[int, Slot]) -> Array:
        parts = [np.zeros(0)]
        for slot in slots:
            was = before.get(id(slot.joint))
            if was is None or was.q_count != slot.q_count:
                parts.append(slot.reference())
            else:
                parts.append(old[was.q_start : was.q_start + was.q_count])
        return np.concatenate(parts)

    def _velocities(self, old: Array, slots: list[Slot], before: dict[int, Slot]) -> Array:
        parts = [np.zeros(0)]
        for slot in slots:
            was = before.get(id(slot.joint))
            if was is None or was.v_count != slot.v_count:
                parts.append(np.zeros(slot.v_count))
            else:
                parts.append(old[was.v_start : was.v_start + was.v_count])
        return np.concatenate(parts)


@contextmanager
def fitted_keyframes(world: World) -> Iterator[None]:
    """Whatever is added to a scene or taken away within, its keyframes fit afterwards."""
    growth = KeyframeGrowth(world)
    yield
    growth.apply()


def _rows(old: Array, before: list[Any], now: list[Any], fresh: list[Any] | None = None) -> Array:
    """Rows of the objects there are now: those of before keep theirs, others get `fresh`, or zeros."""
    if not len(old) or len(old) != len(before):
        return old
    place = {id(item): k for k, item in enumerate(before)}
    made = np.zeros((len(now), *old.shape[1:]))
    for k, item in enumerate(now):
        was = place.get(id(item))
        made[k] = old[was] if was is not None else (0.0 if fresh is None else fresh[k])
    return made


def _mocaps(world: World) -> list[Any]:
    return [body for body in world.hierarchy.bodies if body.mocap]


def _total(slots: list[Slot]) -> tuple[int, int]:
    return sum(slot.q_count for slot in slots), sum(slot.v_count for slot in slots)


def has_activation(actuator: Actuator) -> bool:
    """Whether an actuator has a state of its own."""
    kind = actuator.actuator_type
    if kind.variant == "general":
        return kind.value.dyntype is not DynType.None_
    return kind.variant == "position" and kind.value.timeconst > 0.0
