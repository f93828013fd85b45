# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the sensors of a scene to the sensor table of a Model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from worldline._src.model.scene_index import Names, SceneIndex, labels, pose, shared_when_empty
from worldline._src.model.sensor_tables import THE_WORLD, ContactReport, ObjectKind, SensorKind, Sensors
from worldline._src.scene import sensors as described
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.sensor_types import (
    ContactMatch,
    DistanceSensorType,
    FrameSensorType,
    JointSensorType,
    ObjectType,
    SiteSensorType,
)
from worldline._src.scene.world import World
from worldline._src.spatial.poses import IDENTITY, Array

_REPORT = {
    "found": (ContactReport.FOUND, 1),
    "force": (ContactReport.FORCE, 3),
    "torque": (ContactReport.TORQUE, 3),
    "dist": (ContactReport.DISTANCE, 1),
    "pos": (ContactReport.POSITION, 3),
    "normal": (ContactReport.NORMAL, 3),
    "tangent": (ContactReport.TANGENT, 3),
}
_OBJECTS = {
    "link_inertia": (ObjectKind.INERTIA, "body"),
    "link": (ObjectKind.BODY, "body"),
    "geom": (ObjectKind.SHAPE, "shape"),
    "site": (ObjectKind.SITE, "site"),
    "camera": (ObjectKind.CAMERA, "camera"),
    "frame": (ObjectKind.FRAME, "frame"),
}
_LONG_JOINT = {JointSensorType.BallQuat: 4, JointSensorType.BallAngVel: 3}
_LONG_SITE = {SiteSensorType.RangeFinder: 1}
_LONG_DISTANCE = {DistanceSensorType.Distance: 1, DistanceSensorType.Normal: 3, DistanceSensorType.FromTo: 6}
_SELECTED = ("geom_a", "link_a", "subtree_a", "geom_b", "link_b", "subtree_b", "site")
_ANYTHING = (-1,) * 7


class _Row(NamedTuple):
    kind: SensorKind
    length: int
    quantity: int = 0
    object_kind: ObjectKind = ObjectKind.NONE
    object: int = -1
    reference_kind: ObjectKind = ObjectKind.NONE
    reference: int = -1
    xform: Array = IDENTITY
    gyro_noise: float = 0.0
    match: tuple[int, ...] = _ANYTHING
    most: int = 0
    reduce: int = 3
    report: int = 0


def _place(word: SceneEnum) -> int:
    """The place of a word in its enumeration."""
    return list(type(word)).index(word)


def _object(index: SceneIndex, given: ObjectType) -> tuple[ObjectKind, int]:
    kind, table = _OBJECTS[given.variant]
    return kind, getattr(index, table)[given.value]


def _contact(index: SceneIndex, sensor: described.ContactSensor) -> _Row:
    told = [(bit, length) for name, (bit, length) in _REPORT.items() if getattr(sensor.report, name)]
    report = sum(int(bit) for bit, _ in told)
    length = sensor.max_num * sum(length for _, length in told)
    return _Row(
        SensorKind.CONTACT,
        length,
        match=_match(index, sensor.match_),
        most=sensor.max_num,
        reduce=_place(sensor.reduce),
        report=report,
    )


def _match(index: SceneIndex, match: ContactMatch) -> tuple[int, ...]:
    if match.variant == "selection":
        tables = (index.shape, index.body, index.body) * 2 + (index.site,)
        names = [match.value[name] for name in _SELECTED]
        return tuple(
            -1 if name is None else _of(table, name) for name, table in zip(names, tables, strict=True)
        )
    column, table = {
        "geom_pair": (0, index.shape),
        "link_pair": (1, index.body),
        "subtree_pair": (2, index.body),
    }[match.variant]
    row: list[int] = list(_ANYTHING)
    row[column], row[column + 3] = (_of(table, name) for name in match.value)
    return tuple(row)


def _of(table: Names, name: str) -> int:
    """Row of an object; the world is told apart from no object at all."""
    found = table[name]
    return THE_WORLD if found < 0 else found


def _frame(index: SceneIndex, sensor: described.FrameSensor) -> _Row:
    kind, found = _object(index, sensor.object_type)
    reference, other = ObjectKind.NONE, -1
    if sensor.ref_frame.variant == "local":
        reference = ObjectKind.LOCAL
    elif sensor.ref_frame.variant == "object":
        reference, other = _object(index, sensor.ref_frame.value)
    length = 4 if sensor.sensor_type is FrameSensorType.FrameQuat else 3
    return _Row(SensorKind.FRAME, length, _place(sensor.sensor_type), kind, found, reference, other)


def _row(index: SceneIndex, sensor: described.Sensor) -> _Row:
    """What a sensor is about; every class of sensors has its case."""
    if isinstance(sensor, described.ContactSensor):
        return _contact(index, sensor)
    if isinstance(sensor, described.FrameSensor):
        return _frame(index, sensor)
    if isinstance(sensor, described.JointSensor):
        length, word = _LONG_JOINT.get(sensor.type_, 1), _place(sensor.type_)
        return _Row(SensorKind.JOINT, length, word, ObjectKind.JOINT, index.joint[sensor.joint])
    if isinstance(sensor, described.SubtreeSensor):
        return _Row(SensorKind.SUBTREE, 3, _place(sensor.type_), ObjectKind.BODY, index.body[sensor.link])
    if isinstance(sensor, described.TouchSensor):
        return _Row(SensorKind.TOUCH, 1, 0, ObjectKind.SITE, index.site[sensor.site])
    if isinstance(sensor, described.ActuatorSensor):
        found = index.actuator[sensor.actuator]
        return _Row(SensorKind.ACTUATOR, 1, _place(sensor.type_), ObjectKind.ACTUATOR, found)
    if isinstance(sensor, described.TendonSensor):
        found = index.tendon[sensor.tendon]
        return _Row(SensorKind.TENDON, 1, _place(sensor.type_), ObjectKind.TENDON, found)
    if isinstance(sensor, described.SiteSensor):
        length, word = _LONG_SITE.get(sensor.type_, 3), _place(sensor.type_)
        return _Row(SensorKind.SITE, length, word, ObjectKind.SITE, index.site[sensor.site])
    if isinstance(sensor, described.DistanceSensor):
        a, b = _object(index, sensor.object_a), _object(index, sensor.object_b)
        return _Row(SensorKind.DISTANCE, _LONG_DISTANCE[sensor.type_], _place(sensor.type_), *a, *b)
    if isinstance(sensor, described.InsideSensor):
        inside = _object(index, sensor.object_type)
        return _Row(SensorKind.INSIDE, 1, 0, *inside, ObjectKind.SITE, index.site[sensor.site])
    if isinstance(sensor, described.CameraProjectionSensor):
        seen, camera = index.site[sensor.site], index.camera[sensor.camera]
        return _Row(SensorKind.PROJECTION, 2, 0, ObjectKind.SITE, seen, ObjectKind.CAMERA, camera)
    if isinstance(sensor, described.WorldSensor):
        return _Row(SensorKind.WORLD, 1, _place(sensor.type_))
    assert isinstance(sensor, described.ImuSensor)
    local = pose(sensor.position, sensor.orientation)
    return _Row(
        SensorKind.IMU,
        6,
        0,
        ObjectKind.BODY,
        index.body[sensor.link],
        ObjectKind.LOCAL,
        -1,
        local,
        sensor.gyro_noise,
    )


def ordered_sensors(found: described.SensorSet) -> list[described.Sensor]:
    """All sensors: those that the order names, then the others in the order of the lists."""
    lists = [getattr(found, name) for name in described.SensorSet._fields if name != "order"]
    everything: list[described.Sensor] = [sensor for sensors in lists for sensor in sensors]
    if not found.order:
        return everything
    place = {name: k for k, name in enumerate(found.order)}
    return sorted(everything, key=lambda sensor: place.get(sensor.name or "", len(place)))


def sensor_labels(found: described.SensorSet) -> list[str]:
    """Names of all sensors in the order of the reading, made-up ones for those that have none."""
    return labels([sensor.name for sensor in ordered_sensors(found)], "sensor")


@shared_when_empty(lambda world: ordered_sensors(world.sensors))
def sensor_table(world: World, index: SceneIndex) -> Sensors:
    """Columns of all sensors in the order of the reading."""
    sensors = ordered_sensors(world.sensors)
    rows = [_row(index, sensor) for sensor in sensors]

    def column(name: str, kind: Any = np.int64) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], kind)

    def common(name: str) -> Array:
        return np.array([getattr(sensor, name) for sensor in sensors], np.float64)

    return Sensors(
        label=sensor_labels(world.sensors),
        kind=column("kind"),
        quantity=column("quantity"),
        start=np.array([0, *np.cumsum([row.length for row in rows], dtype=np.int64)], np.int64),
        object_kind=column("object_kind"),
        object=column("object"),
        reference_kind=column("reference_kind"),
        reference=column("reference"),
        xform=column("xform", np.float64).reshape(-1, 7),
        noise=common("noise"),
        gyro_noise=column("gyro_noise", np.float64),
        cutoff=common("cutoff"),
        period=common("update_period"),
        delay=common("delay"),
        contact_match=column("match").reshape(-1, 7),
        contact_most=column("most"),
        contact_reduce=column("reduce"),
        contact_report=column("report"),
    )
