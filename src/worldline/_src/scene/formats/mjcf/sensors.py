# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors.

A file has one list of sensors, a scene one list for each kind. Where there are several kinds,
`SensorSet.order` keeps the order of the file, and sensors without a name get one for that.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from worldline._src.scene import sensors as kinds
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.scopes import Reference, Scope
from worldline._src.scene.formats.mjcf.sensor_table import FIELDS, SENSORS, Kind
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.sensor_types import (
    ActuatorSensorType,
    ContactMatch,
    ContactSensorReduce,
    FrameSensorRef,
    ObjectType,
)

OBJECTS: Final = {
    "body": ("link", ObjectType.link_inertia),
    "xbody": ("link", ObjectType.link),
    "geom": ("geom", ObjectType.geom),
    "site": ("site", ObjectType.site),
    "camera": ("camera", ObjectType.camera),
}
_PAIRS: Final = (("geom1", "geom"), ("body1", "link"), ("geom2", "geom"), ("body2", "link"))
_MATCHES: Final = (*_PAIRS, ("subtree1", "link"), ("subtree2", "link"), ("site", "site"))
REDUCTIONS: Final = {
    "none": ContactSensorReduce.None_,
    "mindist": ContactSensorReduce.MinDist,
    "maxforce": ContactSensorReduce.MaxForce,
    "netforce": ContactSensorReduce.NetForce,
}
DISTANCE_SIDES: Final = {"geom": "geom", "link": "body"}
REPORTED: Final = ("found", "force", "torque", "dist", "pos", "normal", "tangent")
_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "nsample": "a delayed sensor keeps as many readings as it needs",
    "interp": "delayed readings are those of the step they were taken in",
}


def references(element: Element) -> list[Reference]:
    """What a sensor refers to."""
    kind = SENSORS.get(element.tag)
    if kind is None:
        return []
    if element.tag == "rangefinder" and element.get("camera"):
        return [Reference(element, "camera", ("camera",), element.get("camera") or "")]
    if kind.form in ("frame", "inside"):
        found = [_object_reference(element, "objtype", "objname")]
        if element.get("refname"):
            found.append(_object_reference(element, "reftype", "refname"))
        if kind.form == "inside":
            found.append(Reference(element, "site", ("site",), element.get("site") or ""))
        return found
    if kind.form in ("distance", "contact"):
        wanted = _PAIRS if kind.form == "distance" else _MATCHES
        return [
            Reference(element, name, (space,), element.get(name) or "")
            for name, space in wanted
            if element.get(name)
        ]
    return [Reference(element, name, (space,), element.get(name) or "") for name, space in kind.targets]


def _object_reference(element: Element, type_name: str, name: str) -> Reference:
    space = OBJECTS.get(element.get(type_name) or "", ("link", None))[0]
    return Reference(element, name, (space,), element.get(name) or "")


def read_sensors(reading: Reading) -> None:
    """All `sensor` sections."""
    made: list[tuple[str, kinds.Sensor, Element, Scope]] = []
    actuators = _actuators(reading)
    for element, scope, _ in reading.members("sensor", references):
        kind = SENSORS.get(element.tag)
        if kind is None or (element.tag == "rangefinder" and element.get("camera")):
            target = "attribute 'camera': " if kind is not None else ""
            reading.log.left_out(element, f"{target}sensors of type {element.tag} with such a target")
            continue
        a = Attributes(element, reading.log)
        a.mark("name")
        sensor = _read_sensor(reading, a, scope, kind)
        if sensor is None:
            continue
        _read_common(a, sensor)
        reading.finish(a, _IGNORED)
        if isinstance(sensor, kinds.ActuatorSensor) and not _is_measured(a, sensor, actuators):
            continue
        sensor.name = reading.names.own(scope, element, "sensor")
        getattr(reading.world.sensors, kind.list_name).append(sensor)
        made.append((kind.list_name, sensor, element, scope))
    if made:
        _keep_order(reading, made)


def _actuators(reading: Reading) -> dict[str, int]:
    """How many actuators of the scene an actuator of the file became, by the name of the first."""
    found = [(id(entry.element), id(entry.scope)) for entry in reading.inputs if entry.actuator is not None]
    parts = Counter(found)
    return {
        entry.actuator.name: parts[id(entry.element), id(entry.scope)]
        for entry in reversed(reading.inputs)
        if entry.actuator is not None and entry.actuator.name is not None
    }


def _is_measured(a: Attributes, sensor: kinds.ActuatorSensor, actuators: dict[str, int]) -> bool:
    """Whether the scene has the actuator of a sensor; notes one that is left out or is a part."""
    parts = actuators.get(sensor.actuator, 0)
    if parts == 0:
        a.log.left_out(a.element, f"attribute 'actuator': '{sensor.actuator}' is left out")
    elif parts > 1 and sensor.type_ is ActuatorSensorType.Force:
        message = f"attribute 'actuator': the force of the first of the {parts} inputs of '{sensor.actuator}'"
        a.log.approximated(a.element, message)
    return parts > 0


def _keep_order(reading: Reading, made: list[tuple[str, kinds.Sensor, Element, Scope]]) -> None:
    """Writes down the order of the file where the lists of the scene would give another one."""
    lists = list(reading.world.sensors._fields)
    positions = [lists.index(name) for name, *_ in made]
    if positions == sorted(positions):
        return
    number = 0
    for _, sensor, element, scope in made:
        while sensor.name is None:
            number += 1
            name = f"sensor_{number}"
            if not reading.names.has(("sensor",), name):
                sensor.name = reading.names.define("sensor", name, element, scope)
    reading.world.sensors.order = [sensor.name or "" for _, sensor, *_ in made]


def _read_common(a: Attributes, sensor: kinds.Sensor) -> None:
    for name, field in (("noise", "noise"), ("cutoff", "cutoff"), ("delay", "delay")):
        value = a.real(name, 0.0)
        if value < 0.0:
            a.reject(name, f"given {value:g}; allowed: a number >= 0")
        setattr(sensor, field, value)
    # a period and, if there are two numbers, the phase of the first reading
    interval = a.reals("interval", 1, 2, default=(0.0, 0.0)) or [0.0, 0.0]
    sensor.update_period = interval[0]
    if interval[1]:
        a.log.left_out(a.element, "attribute 'interval': all sensors start at time 0")


def _read_sensor(reading: Reading, a: Attributes, scope: Scope, kind: Kind) -> kinds.Sensor | None:
    resolved: dict[str, str] = {}
    for reference in references(a.element):
        found = reading.names.resolve(scope, reference)
        if found is None:
            return None
        resolved[reference.attribute] = found
        a.mark(reference.attribute)
    if kind.form == "frame":
        return _read_frame(a, kind, resolved)
    if kind.form == "inside":
        objects = _read_object(a, "objtype", resolved["objname"])
        if a.flag("enclosed", False):
            a.log.approximated(
                a.element, "attribute 'enclosed': only whether the origin is inside is measured"
            )
        return None if objects is None else kinds.InsideSensor(site=resolved["site"], object_type=objects)
    if kind.form == "distance":
        return _read_distance(a, kind, resolved)
    if kind.form == "contact":
        return _read_contact(a, resolved)
    if kind.form == "local":
        return kinds.FrameSensor(
            object_type=ObjectType.site(resolved["site"]),
            ref_frame=FrameSensorRef.local(),
            sensor_type=kind.quantity,
        )
    if kind.form == "projection":
        return kinds.CameraProjectionSensor(site=resolved["site"], camera=resolved["camera"])
    values: dict[str, Any] = {FIELDS[name]: target for name, target in resolved.items()}
    if kind.quantity is not None:
        values["type_"] = kind.quantity
    if a.text("data") not in (None, "dist"):
        a.log.approximated(a.element, "attribute 'data': only the distance is measured")
    return kind.struct(**values)


def _read_object(a: Attributes, type_name: str, name: str) -> ObjectType | None:
    made = a.choice(type_name, {word: make for word, (_, make) in OBJECTS.items()}, None)
    if made is None:
        if a.text(type_name) is None:
            a.log.problem(a.element, f"attribute '{type_name}' is required: {', '.join(OBJECTS)}")
        return None
    return made(name)


def _read_frame(a: Attributes, kind: Kind, resolved: dict[str, str]) -> kinds.FrameSensor | None:
    target = _read_object(a, "objtype", resolved["objname"])
    relative = FrameSensorRef.world()
    if "refname" in resolved:
        other = _read_object(a, "reftype", resolved["refname"])
        relative = relative if other is None else FrameSensorRef.object(other)
    elif a.text("reftype") is not None:
        a.log.problem(a.element, "attribute 'refname' is required with 'reftype'")
    if target is None:
        return None
    return kinds.FrameSensor(object_type=target, ref_frame=relative, sensor_type=kind.quantity)


def _read_distance(a: Attributes, kind: Kind, resolved: dict[str, str]) -> kinds.DistanceSensor | None:
    ends: list[ObjectType] = []
    for number in (1, 2):
        given = [tag for tag in ("geom", "body") if f"{tag}{number}" in resolved]
        if len(given) != 1:
            a.log.problem(a.element, f"attribute 'geom{number}' or 'body{number}' is required, and not both")
            return None
        name = resolved[f"{given[0]}{number}"]
        ends.append(ObjectType.geom(name) if given[0] == "geom" else ObjectType.link(name))
    return kinds.DistanceSensor(object_a=ends[0], object_b=ends[1], type_=kind.quantity)


def _read_contact(a: Attributes, resolved: dict[str, str]) -> kinds.ContactSensor:
    names = {"geom": "geom", "body": "link", "subtree": "subtree"}
    sides = {
        f"{mine}_{letter}": resolved[f"{theirs}{number}"]
        for theirs, mine in names.items()
        for number, letter in ((1, "a"), (2, "b"))
        if f"{theirs}{number}" in resolved
    }
    match = None
    for mine, make in (
        ("geom", ContactMatch.geom_pair),
        ("link", ContactMatch.link_pair),
        ("subtree", ContactMatch.subtree_pair),
    ):
        if set(sides) == {f"{mine}_a", f"{mine}_b"} and "site" not in resolved:
            match = make(sides[f"{mine}_a"], sides[f"{mine}_b"])
    if match is None:
        match = ContactMatch.selection(site=resolved.get("site"), **sides)
    wanted = (a.text("data") or "found").split()
    for word in wanted:
        if word in ("linvel", "angvel"):
            a.log.left_out(a.element, f"attribute 'data': {word} of contacts is not measured")
        elif word not in REPORTED:
            a.reject("data", f"given {word[:40]!r}; allowed: {', '.join(REPORTED)}")
    number = a.integer("num", 1)
    if number < 1:
        a.reject("num", f"given {number}; allowed: 1 or more")
    return kinds.ContactSensor(
        match_=match,
        max_num=max(1, number),
        reduce=a.choice("reduce", REDUCTIONS, ContactSensorReduce.None_),
        report=kinds.ContactSensorReport(**{word: word in wanted for word in REPORTED}),
    )
