# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframes: coordinates in the order of the file's tree, and quaternions with w first."""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.actuators import activation_count, has_start
from worldline._src.scene.bodies import BodyKind
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.writing import Column, Words, Writing, paths_of_links
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.layout import JointSpan, layout
from worldline._src.scene.poses import multiply
from worldline._src.scene.vectors import Array

_SAID: Final = frozenset(("name", "time", "dof_pos", "dof_vel", "ctrl", "act", "mocap_pos", "mocap_quat"))


class _Order(NamedTuple):
    """Joints of the file with the spans they show, and what of the scene is in no joint of the file."""

    columns: list[tuple[JointSpan, Column]]
    is_complete: bool


def write_keyframes(writing: Writing) -> None:
    """The `keyframe` section."""
    if not writing.world.keyframes:
        return
    order = _order(writing)
    for index, frame in enumerate(writing.world.keyframes):
        _write_frame(writing, frame, order, f"$.keyframes[{index}]")


def _order(writing: Writing) -> _Order:
    spans = {id(span.joint): span for span in layout(writing.world)}
    found: list[tuple[JointSpan, Column]] = []
    for link, parent, index, _ in paths_of_links(writing.world):
        body = writing.world.hierarchy.bodies[index]
        joints = [*([body.free] if parent is None and body.free is not None else []), *link.joints]
        for joint in joints:
            span = spans.get(id(joint))
            if span is not None:
                found += [(span, column) for column in writing.columns.get(id(joint), [])]
    shown = {id(span.joint) for span, _ in found}
    return _Order(found, all(id(span.joint) in shown for span in spans.values() if span.q_count))


def _write_frame(writing: Writing, frame: Keyframe, order: _Order, path: str) -> None:
    words = Words()
    words.text("name", frame.name)
    if frame.time is not None:
        words.real("time", frame.time)
    if len(frame.dof_pos):
        words.reals("qpos", _positions(frame.dof_pos, order, writing, path))
        if not order.is_complete:
            writing.lost(f"{path}.dof_pos", "coordinates of joints that are not in the file")
    if len(frame.dof_vel):
        words.reals("qvel", _velocities(frame.dof_vel, order))
        if not order.is_complete:
            writing.lost(f"{path}.dof_vel", "velocities of joints that are not in the file")
    _write_inputs(writing, words, frame, path)
    _write_mocap(writing, words, frame, path)
    writing.others(frame, path, _SAID)
    child(writing.section("keyframe"), "key", words)


def _positions(values: Array, order: _Order, writing: Writing, path: str) -> list[float]:
    out: list[float] = []
    for span, column in order.columns:
        start = span.q_start + column.q_index
        part = values[start : start + column.sizes[0]].tolist()
        if column.kind in ("ball", "free"):
            turn = part[-4:]
            if column.turn is not None:
                turn = multiply(
                    column.turn.rotation, multiply(np.array(turn), column.turn.inverse().rotation)
                )
            x, y, z, w = writing.unit(turn, f"{path}.dof_pos")
            part[-4:] = [w, x, y, z]
        elif column.factor != 1.0:
            part = [column.factor * part[0]]
        out += part
    return out


def _velocities(values: Array, order: _Order) -> list[float]:
    out: list[float] = []
    for span, column in order.columns:
        start = span.v_start + column.v_index
        part = values[start : start + column.sizes[1]].tolist()
        if column.turn is not None:
            part = column.turn.turn(np.array(part)).tolist()
        out += [column.factor * part[0]] if column.factor != 1.0 else part
    return out


def _write_inputs(writing: Writing, words: Words, frame: Keyframe, path: str) -> None:
    actuators = writing.world.actuators
    written = [id(actuator) not in writing.absent for actuator in actuators]
    if len(frame.ctrl):
        words.reals("ctrl", [x for x, there in zip(frame.ctrl, written, strict=True) if there])
        if not all(written):
            writing.lost(f"{path}.ctrl", "controls of actuators that are not in the file")
    if not len(frame.act):
        return
    # the file has no state for whether a controller has a setpoint already
    active: list[bool | None] = []
    for actuator, there in zip(actuators, written, strict=True):
        active += [there] * activation_count(actuator)
        if has_start(actuator):
            active[-1] = None
    if len(active) != len(frame.act):
        writing.lost(f"{path}.act", f"given {len(frame.act)} activations; the scene has {len(active)}")
        return
    words.reals("act", [x for x, there in zip(frame.act, active, strict=True) if there])
    if False in active:
        writing.lost(f"{path}.act", "activations of actuators that are not in the file")
    known = [k for k, there in enumerate(active) if there is None]
    if any(bool(frame.act[k] > 0.5) != bool((frame.time or 0.0) > 0.0) for k in known):
        writing.changed(f"{path}.act", "controllers have a setpoint in a file when time is above 0")


def _write_mocap(writing: Writing, words: Words, frame: Keyframe, path: str) -> None:
    """Poses of mocap bodies; kinematic ones, which the file has as such, stay where they are drawn."""
    bodies = writing.world.hierarchy.bodies
    placed = [body for body in bodies if body.mocap or body.kind is BodyKind.Kinematic]
    own = {id(body): k for k, body in enumerate(b for b in bodies if b.mocap)}
    if len(frame.mocap_pos):
        places: list[Array] = [
            frame.mocap_pos[own[id(b)]] if id(b) in own else b.link.local_translation for b in placed
        ]
        words.reals("mpos", np.array(places).ravel())
    if len(frame.mocap_quat):
        turns: list[float] = []
        for body in placed:
            given = frame.mocap_quat[own[id(body)]] if id(body) in own else body.link.local_rotation
            x, y, z, w = writing.unit(given.tolist(), f"{path}.mocap_quat")
            turns += [w, x, y, z]
        words.reals("mquat", turns)
