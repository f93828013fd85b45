# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframe resize: keyframes follow a scene that gains or loses coordinates."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.scene.actuators import Actuator, activation_count
from worldline._src.scene.layout import JointSpan, layout
from worldline._src.scene.vectors import Array

if TYPE_CHECKING:
    from worldline._src.scene.world import World


class KeyframeResize:
    """Fits the keyframes of a scene to what is added to it or taken away.

    Made before the change, applied after it: what was there keeps its values wherever it moved to,
    what is new gets its reference configuration, at rest and without control.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        # without keyframes there is nothing to do, and no need for a sound tree
        needed = bool(world.keyframes)
        self.spans = layout(world) if needed else []
        self.actuators = list(world.actuators) if needed else []
        self.mocaps = _mocaps(world) if needed else []
        self.links = list(world.hierarchy.links()) if needed else []

    def apply(self) -> None:
        """Rewrites all keyframes; those that did not fit the scene before are left alone."""
        world = self.world
        if not world.keyframes:
            return
        before = {id(span.joint): span for span in self.spans}
        spans = layout(world)
        q_before, v_before = _total(self.spans)
        states = _states(self.actuators)
        for keyframe in world.keyframes:
            for name in ("dof_pos", "dof_target"):
                old = getattr(keyframe, name)
                if len(old) == q_before and q_before:
                    setattr(keyframe, name, self._positions(old, spans, before))
            for name in ("dof_vel", "dof_force", "dof_command", "dof_acceleration"):
                old = getattr(keyframe, name)
                if len(old) == v_before and v_before:
                    setattr(keyframe, name, self._velocities(old, spans, before))
            keyframe.ctrl = _rows(keyframe.ctrl, self.actuators, world.actuators)
            keyframe.act = _rows(keyframe.act, states, _states(world.actuators))
            drawn = _mocaps(world)
            keyframe.mocap_pos = _rows(
                keyframe.mocap_pos, self.mocaps, drawn, [b.link.local_translation for b in drawn]
            )
            keyframe.mocap_quat = _rows(
                keyframe.mocap_quat, self.mocaps, drawn, [b.link.local_rotation for b in drawn]
            )
            keyframe.link_force = _rows(keyframe.link_force, self.links, list(world.hierarchy.links()))

    def _positions(self, old: Array, spans: list[JointSpan], before: dict[int, JointSpan]) -> Array:
        parts = [np.zeros(0)]
        for span in spans:
            was = before.get(id(span.joint))
            if was is None or was.q_count != span.q_count:
                parts.append(span.reference())
            else:
                parts.append(old[was.q_start : was.q_start + was.q_count])
        return np.concatenate(parts)

    def _velocities(self, old: Array, spans: list[JointSpan], before: dict[int, JointSpan]) -> Array:
        parts = [np.zeros(0)]
        for span in spans:
            was = before.get(id(span.joint))
            if was is None or was.v_count != span.v_count:
                parts.append(np.zeros(span.v_count))
            else:
                parts.append(old[was.v_start : was.v_start + was.v_count])
        return np.concatenate(parts)


@contextmanager
def fitted_keyframes(world: World) -> Generator[None, None, None]:
    """Whatever is added to a scene or taken away within, its keyframes fit afterwards."""
    resize = KeyframeResize(world)
    yield
    resize.apply()


def _rows(old: Array, before: list[Any], now: list[Any], fresh: list[Any] | None = None) -> Array:
    """Rows of the objects there are now: those of before keep theirs, others get `fresh`, or zeros."""
    if not len(old) or len(old) != len(before):
        return old
    place = {key: k for k, key in enumerate(_keys(before))}
    made = np.zeros((len(now), *old.shape[1:]))
    for k, key in enumerate(_keys(now)):
        was = place.get(key)
        made[k] = old[was] if was is not None else (0.0 if fresh is None else fresh[k])
    return made


def _mocaps(world: World) -> list[Any]:
    return [body for body in world.hierarchy.bodies if body.mocap]


def _total(spans: list[JointSpan]) -> tuple[int, int]:
    return sum(span.q_count for span in spans), sum(span.v_count for span in spans)


def _keys(items: list[Any]) -> list[tuple[int, int]]:
    """Objects of a list, distinguished where one stands there several times in a row."""
    keys: list[tuple[int, int]] = []
    for item in items:
        again = keys[-1][1] + 1 if keys and keys[-1][0] == id(item) else 0
        keys.append((id(item), again))
    return keys


def _states(actuators: list[Actuator]) -> list[Actuator]:
    """The actuator of every activation."""
    return [actuator for actuator in actuators for _ in range(activation_count(actuator))]
