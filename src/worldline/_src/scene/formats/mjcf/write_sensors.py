# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors, in the order of their readings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from worldline._src.scene import sensors
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.sensor_table import FIELDS, SENSORS
from worldline._src.scene.formats.mjcf.sensors import DISTANCE_SIDES, REDUCTIONS, REPORTED
from worldline._src.scene.formats.mjcf.write_bodies import frame_pose
from worldline._src.scene.formats.mjcf.writing import Words, Writing
from worldline._src.scene.poses import IDENTITY, Pose, normalized
from worldline._src.scene.sensor_types import FrameSensorType, JointSensorType, ObjectType

_PLAIN: Final = {(k.struct, k.quantity): (tag, k.targets) for tag, k in SENSORS.items() if k.form == "plain"}
_LOCAL: Final = {k.quantity: tag for tag, k in SENSORS.items() if k.form == "local"}
_FRAME: Final = {k.quantity: tag for tag, k in SENSORS.items() if k.form == "frame"}
_DISTANCE: Final = {k.quantity: tag for tag, k in SENSORS.items() if k.form == "distance"}
_OBJECTS: Final = {
    "link_inertia": "body",
    "link": "xbody",
    "geom": "geom",
    "site": "site",
    "camera": "camera",
}
_REDUCED: Final = {member: word for word, member in REDUCTIONS.items()}
_DIRECTIONS: Final = {
    FrameSensorType.FrameQuat,
    FrameSensorType.XAxis,
    FrameSensorType.YAxis,
    FrameSensorType.ZAxis,
}
_LIMITS: Final = {
    "jointlimitpos",
    "jointlimitvel",
    "jointlimitfrc",
    "tendonlimitpos",
    "tendonlimitvel",
    "tendonlimitfrc",
}
_MEASURED: Final = {"ballquat": ("ball",), "ballangvel": ("ball",)}
_NO_REFERENCE: Final = {"framelinacc", "frameangacc"}


def write_sensors(writing: Writing) -> None:
    """The `sensor` section."""
    lists = [name for name in writing.world.sensors._fields if name != "order"]
    found: list[tuple[sensors.Sensor, str, str]] = [
        (sensor, name, f"$.sensors.{name}[{index}]")
        for name in lists
        for index, sensor in enumerate(getattr(writing.world.sensors, name))
    ]
    order = writing.world.sensors.order
    if order:
        places = {name: k for k, name in enumerate(order)}
        ordered = sorted(found, key=lambda entry: places.get(entry[0].name or "", len(order)))
        unsorted = [lists.index(name) for _, name, _ in ordered]
        if unsorted == sorted(unsorted) or any(entry[0].name not in places for entry in found):
            writing.reworded("$.sensors.order", "the order of the readings is that of the file")
        found = ordered
    for sensor, _, path in found:
        _write_sensor(writing, sensor, path)


def _common(writing: Writing, sensor: sensors.Sensor, path: str) -> Words:
    words = Words()
    words.text("name", sensor.name)
    words.real("noise", sensor.noise, 0.0)
    words.real("cutoff", sensor.cutoff, 0.0)
    step = writing.world.simulate_option.timestep
    if sensor.delay:
        # readings are kept until they are old enough
        words.real("delay", sensor.delay)
        kept = sensor.delay / max(sensor.update_period, step)
        words.whole("nsample", math.ceil(min(kept, 1e6)) + 1)
    words.real("interval", sensor.update_period, 0.0)
    return words


def _write_sensor(writing: Writing, sensor: sensors.Sensor, path: str) -> None:
    words = _common(writing, sensor, path)
    if sensor.cutoff and _is_direction(sensor):
        writing.lost(f"{path}.cutoff", "directions and rotations are not clipped")
        del words["cutoff"]
    if isinstance(sensor, sensors.FrameSensor):
        _write_frame(writing, words, sensor, path)
    elif isinstance(sensor, sensors.ImuSensor):
        _write_imu(writing, words, sensor, path)
    elif isinstance(sensor, sensors.ContactSensor):
        _write_contact(writing, words, sensor, path)
    elif isinstance(sensor, sensors.DistanceSensor):
        _write_distance(writing, words, sensor, path)
    elif isinstance(sensor, sensors.InsideSensor):
        words["site"] = sensor.site
        kind, name = _object(writing, sensor.object_type, f"{path}.object_type")
        words["objtype"], words["objname"] = kind, name
        child(writing.section("sensor"), "insidesite", words)
    elif isinstance(sensor, sensors.CameraProjectionSensor):
        words["site"], words["camera"] = sensor.site, sensor.camera
        child(writing.section("sensor"), "camprojection", words)
    else:
        _write_plain(writing, words, sensor, path)


def _is_direction(sensor: sensors.Sensor) -> bool:
    """Whether a reading is of unit length."""
    if isinstance(sensor, sensors.FrameSensor):
        return sensor.sensor_type in _DIRECTIONS
    return isinstance(sensor, sensors.JointSensor) and sensor.type_ is JointSensorType.BallQuat


def _write_plain(writing: Writing, words: Words, sensor: Any, path: str) -> None:
    tag, targets = _PLAIN[type(sensor), getattr(sensor, "type_", None)]
    for attribute, namespace in targets:
        name = getattr(sensor, FIELDS[attribute])
        if namespace == "joint":
            columns = writing.joints.get(name, [])
            if len(columns) != 1:
                writing.lost(path, f"the joint {name!r:.80} is not one joint of the file")
                return
            if tag not in _LIMITS and columns[0].kind not in _MEASURED.get(tag, ("hinge", "slide")):
                writing.lost(
                    path, f"a sensor of the kind {tag} does not fit a joint of the kind {columns[0].kind}"
                )
                return
            name = columns[0].name or ""
        elif (namespace, name) in writing.gone:
            writing.lost(path, f"the {namespace} {name!r:.80} is not in the file")
            return
        if tag in _LIMITS and name not in _limited(writing, namespace):
            writing.lost(path, f"the {namespace} {name!r:.80} has no limits")
            return
        words[attribute] = name or ""
    for name in _own_fields(sensor, [FIELDS[attribute] for attribute, _ in targets]):
        writing.lost(path, f"a file has no {name} of a sensor of the kind {tag}")
        return
    child(writing.section("sensor"), tag, words)


def _own_fields(sensor: Any, written: list[str]) -> list[str]:
    """Fields of a sensor that say something and that no attribute of the file has."""
    known, plain = {*sensors.Sensor._fields, "type_", *written}, type(sensor)()
    fields: Iterable[str] = sensor._fields
    return [name for name in fields if name not in known and getattr(sensor, name) != getattr(plain, name)]


def _limited(writing: Writing, namespace: str) -> set[str | None]:
    """The names of the joints or tendons of the file that have limits."""
    tags = ("joint",) if namespace == "joint" else ("fixed", "spatial")
    section = writing.section("worldbody" if namespace == "joint" else "tendon")
    return {element.get("name") for element in section.iter(*tags) if element.get("range") is not None}


def _object(writing: Writing, target: ObjectType, path: str) -> tuple[str, str]:
    """The words for an object with a frame; a named frame becomes a new site."""
    kind = _OBJECTS.get(target.variant)
    if kind is not None:
        return kind, target.value
    writing.reworded(path, "a named frame is written as a new site")
    return "site", _site_at_frame(writing, target.value)


def _site_at_frame(writing: Writing, name: str) -> str:
    frames = writing.world.frames
    link, pose = frame_pose(frames, next(frame for frame in frames if frame.name == name))
    owner = None if link == "world" else link
    return writing.add_site(owner, Pose(pose.position, normalized(pose.rotation)), name)


def _write_frame(writing: Writing, words: Words, sensor: sensors.FrameSensor, path: str) -> None:
    target, reference = sensor.object_type, sensor.ref_frame
    if reference.variant == "local":
        tag = _LOCAL.get(sensor.sensor_type)
        if tag is None:
            writing.lost(path, "the format has only velocity, rate and acceleration in axes of their own")
            return
        site = _own_site(writing, target)
        if site is None:
            writing.lost(path, f"no site can stand for a {target.variant.replace('_', ' ')}")
            return
        if target.variant != "site":
            writing.reworded(f"{path}.object_type", "it is written for a new site in its place")
        words["site"] = site
        child(writing.section("sensor"), tag, words)
        return
    tag = _FRAME[sensor.sensor_type]
    words["objtype"], words["objname"] = _object(writing, target, f"{path}.object_type")
    if reference.variant == "object":
        if tag in _NO_REFERENCE:
            writing.lost(path, "accelerations are written in world axes only")
            return
        words["reftype"], words["refname"] = _object(writing, reference.value, f"{path}.ref_frame")
    child(writing.section("sensor"), tag, words)


def _own_site(writing: Writing, target: ObjectType) -> str | None:
    """A site in the place of an object, None where its pose is unknown before the model is built."""
    name = target.value
    if target.variant == "site":
        return name
    if target.variant == "frame":
        return _site_at_frame(writing, name)
    if target.variant == "link":
        return writing.add_site(None if name == "world" else name, IDENTITY, name)
    return None


def _write_imu(writing: Writing, words: Words, sensor: sensors.ImuSensor, path: str) -> None:
    """An inertial unit: an accelerometer and a gyro at a new site."""
    pose = Pose(sensor.position, normalized(sensor.orientation))
    base = sensor.name or "imu"
    words["site"] = writing.add_site(None if sensor.link == "world" else sensor.link, pose, base)
    child(writing.section("sensor"), "accelerometer", words)
    gyro = Words(words)
    gyro.pop("noise", None)
    gyro["name"] = writing.fresh_name("sensor", f"{base}_gyro")
    gyro.real("noise", sensor.gyro_noise, 0.0)
    child(writing.section("sensor"), "gyro", gyro)
    writing.changed(path, "an inertial unit becomes an accelerometer and a gyro at a new site")


def _write_distance(writing: Writing, words: Words, sensor: sensors.DistanceSensor, path: str) -> None:
    for number, target in ((1, sensor.object_a), (2, sensor.object_b)):
        side = DISTANCE_SIDES.get(target.variant)
        if side is None:
            writing.lost(path, "distances are between geoms or the geoms of bodies")
            return
        words[f"{side}{number}"] = target.value
    child(writing.section("sensor"), _DISTANCE[sensor.type_], words)


def _write_contact(writing: Writing, words: Words, sensor: sensors.ContactSensor, path: str) -> None:
    names = {"geom": "geom", "link": "body", "subtree": "subtree"}
    kind, value = sensor.match_.variant, sensor.match_.value
    if kind == "selection":
        for mine, theirs in names.items():
            for letter, number in (("a", 1), ("b", 2)):
                words.text(f"{theirs}{number}", value[f"{mine}_{letter}"])
        words.text("site", value["site"])
        pairs = [{k for k in value if k.startswith(mine) and value[k]} for mine in names]
        given = {k for k in value if value[k] is not None}
        if len(given) == 2 and given in pairs:
            writing.reworded(f"{path}.match_", "a selection of both sides is a pair")
    else:
        side = names[kind.removesuffix("_pair")]
        words[f"{side}1"], words[f"{side}2"] = value
    wanted = [word for word in REPORTED if getattr(sensor.report, word)]
    if not wanted:
        writing.changed(
            f"{path}.report", "a contact sensor without a selection reports the number of contacts"
        )
    if wanted and wanted != ["found"]:
        words["data"] = " ".join(wanted)
    words.whole("num", sensor.max_num, 1)
    words.word("reduce", sensor.reduce, _REDUCED, REDUCTIONS["none"])
    child(writing.section("sensor"), "contact", words)
