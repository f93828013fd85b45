# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframes.

A file gives coordinates in the order of its tree and quaternions with w first; a scene has free bases first
and quaternions with w last. Vectors that are too short go on with the values of the drawn pose. The
keyframes of an attached model speak of that model alone, and leave the rest of the scene as drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from worldline._src.scene.actuators import activation_count, has_start
from worldline._src.scene.formats.mjcf.actuators import references as actuator_references
from worldline._src.scene.formats.mjcf.context import Coordinates, Input, Reading
from worldline._src.scene.formats.mjcf.joints import joint_type
from worldline._src.scene.formats.mjcf.orientation import UNIT_SLACK
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.xml import Array, Attributes, Element, plain_numbers, too_long
from worldline._src.scene.joints import JOINT_SIZES, JointType
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.layout import layout

_SIZES: Final = {**JOINT_SIZES, JointType.Free: (7, 6)}


def read_keyframes(reading: Reading) -> None:
    """All keyframes, first those of the main file, then those of the models attached to it."""
    done: set[tuple[int, str]] = set()
    frames: _Frames | None = None
    for scope in reading.root.walk():
        key = (id(scope.source), scope.prefix)
        if not scope.whole or key in done:
            # replicas share the keyframes of their model, which speak of the first one
            continue
        done.add(key)
        elements = scope.source.section("keyframe")
        if elements and frames is None:
            frames = _Frames(reading)
        for element in elements:
            if frames is not None:
                frames.read(element, scope)


class _Frames:
    """What all keyframes of a scene need."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        spans = layout(reading.world)
        self.spans = {id(span.joint): span for span in spans}
        self.start = [x for span in spans for x in span.reference_values()]
        self.velocities = sum(span.v_count for span in spans)
        self._own: list[Coordinates | int] = list(reading.joints)
        self._own_places: list[tuple[int, int, int]] = []
        # whether numbers of the file stand where the scene has them, but for these, whose quaternions differ
        self._is_in_order = False
        self._long_places: list[tuple[int, int, int]] = []
        self._inputs: list[Input | None] = list(reading.inputs)
        self.mocaps = [body for body in reading.world.hierarchy.bodies if body.mocap]

    def read(self, element: Element, scope: Scope) -> None:
        """Adds a keyframe to the scene."""
        a = Attributes(element, self.reading.log)
        a.mark("name")
        if scope.parent is None:
            joints, inputs = self._own, self._inputs
        else:
            joints, inputs = self._attached(scope)
        name = element.get("name")
        frame = Keyframe(
            name=self.reading.names.define("keyframe", scope.prefix + name, element, scope) if name else None,
            time=a.real("time", None),
            dof_pos=self._positions(a, joints),
            dof_vel=self._velocities(a, joints),
            ctrl=self._controls(a, inputs),
            act=self._activations(a, inputs),
        )
        self._read_mocap(a, scope, frame)
        self.reading.finish(a, {"plastic": "springs that give way for good are not modelled"})
        self.reading.world.keyframes.append(frame)

    def _vector(self, a: Attributes, name: str, count: int) -> list[float] | None:
        """The numbers of a vector, None when there are none or too many."""
        if name not in a:
            return None
        text = a.text(name) or ""
        if too_long(text, count):
            a.reject(name, f"given {len(text)} characters; allowed: up to {count} numbers")
            return None
        values = plain_numbers(text)
        if values is None:
            table = a.table(name, 1)
            column: list[float] = [] if table is None else table[:, 0].tolist()
            values = column
        if len(values) > count:
            a.reject(name, f"given {len(values)} numbers; allowed: up to {count}")
            return None
        return values or None

    def _positions(self, a: Attributes, joints: list[Coordinates | int]) -> Array:
        places = self._places(joints)
        total = places[-1][0] + places[-1][1] if places else 0
        values = self._vector(a, "qpos", total)
        if values is None:
            return np.zeros(0)
        drawn = self.start
        if places is self._own_places and self._is_in_order:
            out = values + drawn[len(values) :]
            places = self._long_places
        else:
            out = drawn.copy()
        for at, count, start in places:
            if at >= len(values):
                break
            if start >= 0:
                part = values[at : at + count]
                out[start : start + count] = _filled(drawn[start : start + count], part)
        return np.array(out, np.float64)

    def _places(self, joints: list[Coordinates | int]) -> list[tuple[int, int, int]]:
        """For each joint its first coordinate in the file, how many it has, and the first one in the scene.

        The last is negative for one that did not come along.
        """
        if joints is self._own and self._own_places:
            return self._own_places
        places: list[tuple[int, int, int]] = []
        at = 0
        for joint in joints:
            if isinstance(joint, int):
                count, start = joint, -1
            else:
                count, start = joint.q_count, self.spans[id(joint.joint)].q_start
            places.append((at, count, start))
            at += count
        if joints is self._own:
            self._own_places = places
            self._long_places = [place for place in places if place[1] > 1]
            self._is_in_order = all(at == start for at, _, start in places)
        return places

    def _velocities(self, a: Attributes, joints: list[Coordinates | int]) -> Array:
        if "qvel" not in a:
            return np.zeros(0)
        counts = [_velocity_count(j) for j in joints]
        values = self._vector(a, "qvel", sum(counts))
        if values is None:
            return np.zeros(0)
        out = [0.0] * self.velocities
        at = 0
        for joint, count in zip(joints, counts, strict=True):
            part = values[at : at + count]
            at += count
            if not isinstance(joint, int):
                start = self.spans[id(joint.joint)].v_start
                out[start : start + len(part)] = part
        return np.array(out, np.float64)

    def _controls(self, a: Attributes, inputs: list[Input | None]) -> Array:
        values = self._vector(a, "ctrl", len(inputs))
        if values is None:
            return np.zeros(0)
        return self._spread(values, [(entry, 1) for entry in inputs], lambda entry: 1)

    def _activations(self, a: Attributes, inputs: list[Input | None]) -> Array:
        if "act" not in a:
            return np.zeros(0)
        counted = [(entry, entry.activations if entry else 0) for entry in inputs]
        values = self._vector(a, "act", sum(count for _, count in counted))
        if values is None:
            return np.zeros(0)
        out = self._spread(values, counted, _activations_of)
        if a.real("time", 0.0) > 0.0:
            # controllers of a running file have a setpoint
            at = 0
            for entry in self.reading.inputs:
                at += _activations_of(entry)
                if entry.actuator is not None and has_start(entry.actuator):
                    out[at - 1] = 1.0
        return out

    def _spread(
        self, values: list[float], entries: list[tuple[Input | None, int]], size: Callable[[Input], int]
    ) -> Array:
        """Puts numbers of the file where the scene has them; those of what was left out are dropped."""
        places: dict[int, int] = {}
        total = 0
        for entry in self.reading.inputs:
            if entry.actuator is not None:
                places[id(entry.actuator)] = total
                total += size(entry)
        out = [0.0] * total
        at = 0
        for entry, count in entries:
            part = values[at : at + count]
            at += count
            if entry is not None and entry.actuator is not None:
                start, room = places[id(entry.actuator)], size(entry)
                out[start : start + len(part[:room])] = part[:room]
        return np.array(out, np.float64)

    def _read_mocap(self, a: Attributes, scope: Scope, frame: Keyframe) -> None:
        if scope.parent is not None:
            for name in ("mpos", "mquat"):
                if a.text(name) is not None:
                    a.log.left_out(
                        a.element, f"attribute '{name}': poses of mocap bodies of an attached model"
                    )
            return
        count = len(self.mocaps)
        positions = self._vector(a, "mpos", 3 * count)
        rotations = self._vector(a, "mquat", 4 * count)
        if positions is not None:
            table = np.array([body.link.local_translation for body in self.mocaps]).reshape(-1)
            table[: len(positions)] = positions
            frame.mocap_pos = table.reshape(-1, 3)
        if rotations is not None:
            table = np.array([body.link.local_rotation for body in self.mocaps])[:, [3, 0, 1, 2]].reshape(-1)
            table[: len(rotations)] = rotations
            quaternions = table.reshape(-1, 4)
            lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
            if not lengths.all():
                a.reject("mquat", "given a zero quaternion")
                return
            lengths[abs(lengths - 1.0) <= UNIT_SLACK] = 1.0
            frame.mocap_quat = (quaternions / lengths)[:, [1, 2, 3, 0]]

    def _attached(self, scope: Scope) -> tuple[list[Coordinates | int], list[Input | None]]:
        """Coordinates and inputs of a whole attached model; those that did not come along only count."""
        reading = self.reading
        here = _first(scope)
        known = {id(entry.element): entry for entry in reversed(reading.joints) if entry.scope in here}
        joints: list[Coordinates | int] = []
        for element, childclass in _joint_elements(scope.source.root.all("worldbody")):
            entry = known.get(id(element))
            if entry is not None:
                joints.append(entry)
            else:
                joints.append(_SIZES[joint_type(reading.attributes(element, scope, childclass))][0])
        actuators: dict[int, list[Input]] = {}
        for entry in reading.inputs:
            if entry.scope in here:
                actuators.setdefault(id(entry.element), []).append(entry)
        inputs: list[Input | None] = []
        for element in scope.source.section("actuator"):
            if actuator_references(element):
                inputs.extend(actuators.get(id(element)) or [None])
        return joints, inputs


def _first(scope: Scope) -> set[Scope]:
    """A scope and the first of each replica around and in it."""
    return set(scope.walk())


def _joint_elements(sections: list[Element]) -> list[tuple[Element, str | None]]:
    """The joints of a model in the order of the file, with the default class around them."""
    found: list[tuple[Element, str | None]] = []
    stack: list[tuple[Element, str | None]] = [(section, None) for section in reversed(sections)]
    while stack:
        element, childclass = stack.pop()
        if element.tag in ("joint", "freejoint"):
            found.append((element, childclass))
        elif element.tag in ("worldbody", "body", "frame", "replicate"):
            inner = element.get("childclass") or childclass
            stack.extend((child, inner) for child in reversed(element.children))
    return found


def _velocity_count(joint: Coordinates | int) -> int:
    if not isinstance(joint, int):
        return joint.v_count
    return {7: 6, 4: 3}.get(joint, 1)


def _filled(values: list[float], part: list[float]) -> list[float]:
    """Coordinates of one joint, the first of which a file gives."""
    if len(values) not in (4, 7):
        return [*part, *values[len(part) :]]
    whole = _to_file(values)
    whole[: len(part)] = part
    return _to_scene(whole)


def _to_file(values: list[float]) -> list[float]:
    """Coordinates of one joint that end with a quaternion, as files have it."""
    return [*values[:-4], values[-1], *values[-4:-1]]


def _to_scene(values: list[float]) -> list[float]:
    """The same with the quaternion as scenes have it, at unit length."""
    w, x, y, z = values[-4:]
    length = (w * w + x * x + y * y + z * z) ** 0.5
    if length < 1e-12:
        # as good as none
        return [*values[:-4], 0.0, 0.0, 0.0, 1.0]
    if abs(length - 1.0) <= UNIT_SLACK:
        return [*values[:-4], x, y, z, w]
    return [*values[:-4], x / length, y / length, z / length, w / length]


def _activations_of(entry: Input) -> int:
    """Activations of the scene, which has none for what is approximated."""
    return 0 if entry.actuator is None else activation_count(entry.actuator)
