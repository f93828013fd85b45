# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the sensors of a scene to the sensor table of a Model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.model.model import Model
from worldline._src.model.scene_index import Names, SceneIndex, labels, pose, shared_when_empty
from worldline._src.model.sensor_tables import THE_WORLD, ContactReport, ObjectKind, SensorKind, Sensors
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene import sensor_types as types
from worldline._src.scene import sensors as described
from worldline._src.scene.assets.inertial_axes import inertial_axes
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.cameras import Camera, PositionTrack, RotationTrack
from worldline._src.scene.enums import SceneEnum
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
CONTACT_PARTS = tuple(_REPORT.values())
"""What a contact sensor may report of a contact, with its count of numbers, in the order of the reading."""
_OBJECTS = {
    "link_inertia": (ObjectKind.INERTIA, "body"),
    "link": (ObjectKind.BODY, "body"),
    "geom": (ObjectKind.SHAPE, "shape"),
    "site": (ObjectKind.SITE, "site"),
    "camera": (ObjectKind.CAMERA, "camera"),
    "frame": (ObjectKind.FRAME, "frame"),
}
_LONG_JOINT = {types.JointSensorType.BallQuat: 4, types.JointSensorType.BallAngVel: 3}
_LONG_SITE = {types.SiteSensorType.RangeFinder: 1}
_LONG_DISTANCE = {
    types.DistanceSensorType.Distance: 1,
    types.DistanceSensorType.Normal: 3,
    types.DistanceSensorType.FromTo: 6,
}
_SELECTED = ("geom_a", "link_a", "subtree_a", "geom_b", "link_b", "subtree_b", "site")
_ANYTHING = (-1,) * 7
_Z = ((0.0, 0.0, 1.0),)
"""The ray of a range finder in the frame of its site."""
_WORDS: dict[SceneEnum, str] = {
    types.FrameSensorType.FrameAngVel: "frame_angular_velocity",
    types.FrameSensorType.FrameLinAcc: "frame_linear_acceleration",
    types.FrameSensorType.FrameLinVel: "frame_linear_velocity",
    types.FrameSensorType.FramePos: "frame_position",
    types.FrameSensorType.FrameQuat: "frame_quaternion",
    types.FrameSensorType.XAxis: "frame_x_axis",
    types.FrameSensorType.YAxis: "frame_y_axis",
    types.FrameSensorType.ZAxis: "frame_z_axis",
    types.FrameSensorType.FrameAngAcc: "frame_angular_acceleration",
    types.JointSensorType.JointPos: "joint_position",
    types.JointSensorType.JointVel: "joint_velocity",
    types.JointSensorType.ActuatorForce: "joint_actuator_force",
    types.JointSensorType.BallQuat: "ball_quaternion",
    types.JointSensorType.BallAngVel: "ball_angular_velocity",
    types.JointSensorType.LimitPos: "joint_limit_position",
    types.JointSensorType.LimitVel: "joint_limit_velocity",
    types.JointSensorType.LimitForce: "joint_limit_force",
    types.SubtreeSensorType.AngMom: "subtree_angular_momentum",
    types.SubtreeSensorType.Com: "subtree_center_of_mass",
    types.SubtreeSensorType.LinVel: "subtree_linear_velocity",
    types.ActuatorSensorType.Pos: "actuator_position",
    types.ActuatorSensorType.Vel: "actuator_velocity",
    types.ActuatorSensorType.Force: "actuator_force",
    types.TendonSensorType.Pos: "tendon_position",
    types.TendonSensorType.Vel: "tendon_velocity",
    types.TendonSensorType.ActuatorForce: "tendon_actuator_force",
    types.TendonSensorType.LimitPos: "tendon_limit_position",
    types.TendonSensorType.LimitVel: "tendon_limit_velocity",
    types.TendonSensorType.LimitForce: "tendon_limit_force",
    types.SiteSensorType.Force: "force",
    types.SiteSensorType.Torque: "torque",
    types.SiteSensorType.Magnetometer: "magnetometer",
    types.SiteSensorType.RangeFinder: "rangefinder",
    types.DistanceSensorType.Distance: "distance",
    types.DistanceSensorType.Normal: "distance_normal",
    types.DistanceSensorType.FromTo: "distance_from_to",
    types.WorldSensorType.Clock: "clock",
    types.WorldSensorType.PotentialEnergy: "potential_energy",
    types.WorldSensorType.KineticEnergy: "kinetic_energy",
}
_LOCAL = {
    types.FrameSensorType.FrameAngVel: "gyro",
    types.FrameSensorType.FrameLinAcc: "accelerometer",
    types.FrameSensorType.FrameLinVel: "velocimeter",
}
"""What a frame sensor that reads in its own axes is called."""
_AT_THE_CENTER = (types.FrameSensorType.FramePos, types.FrameSensorType.FrameLinVel)
"""Quantities of an inertial frame that do not depend on its axes."""


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
    word: str = ""
    problem: str = ""
    rays: Sequence[tuple[float, float, float]] = ()


def _place(word: SceneEnum) -> int:
    """The place of a word in its enumeration."""
    return list(type(word)).index(word)


def _object(index: SceneIndex, given: types.ObjectType) -> tuple[ObjectKind, int]:
    kind, table = _OBJECTS[given.variant]
    return kind, getattr(index, table)[given.value]


def _contact(index: SceneIndex, sensor: described.ContactSensor) -> _Row:
    reported = [(bit, length) for name, (bit, length) in _REPORT.items() if getattr(sensor.report, name)]
    report = sum(int(bit) for bit, _ in reported)
    length = sensor.max_num * sum(length for _, length in reported)
    return _Row(
        SensorKind.CONTACT,
        length,
        match=_match(index, sensor.match_),
        most=sensor.max_num,
        reduce=_place(sensor.reduce),
        report=report,
        word="contact",
    )


def _match(index: SceneIndex, match: types.ContactMatch) -> tuple[int, ...]:
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
    """Row of an object; the world and no object have different rows."""
    found = table[name]
    return THE_WORLD if found < 0 else found


def _frame(index: SceneIndex, sensor: described.FrameSensor) -> _Row:
    kind, found = _object(index, sensor.object_type)
    reference, other = ObjectKind.NONE, -1
    if sensor.ref_frame.variant == "local":
        reference = ObjectKind.LOCAL
    elif sensor.ref_frame.variant == "object":
        reference, other = _object(index, sensor.ref_frame.value)
    quantity = sensor.sensor_type
    length = 4 if quantity is types.FrameSensorType.FrameQuat else 3
    word = _WORDS[quantity]
    word = _LOCAL.get(quantity, word) if reference is ObjectKind.LOCAL else word
    return _Row(SensorKind.FRAME, length, _place(quantity), kind, found, reference, other, word=word)


def _row(index: SceneIndex, sensor: described.Sensor) -> _Row:
    """What a sensor is about; every class of sensors has its case."""
    if isinstance(sensor, described.ContactSensor):
        return _contact(index, sensor)
    if isinstance(sensor, described.FrameSensor):
        return _frame(index, sensor)
    if isinstance(sensor, described.JointSensor):
        length = _LONG_JOINT.get(sensor.type_, 1)
        return _quantity(SensorKind.JOINT, length, sensor.type_, ObjectKind.JOINT, index.joint[sensor.joint])
    if isinstance(sensor, described.SubtreeSensor):
        return _quantity(SensorKind.SUBTREE, 3, sensor.type_, ObjectKind.BODY, index.body[sensor.link])
    if isinstance(sensor, described.TouchSensor):
        return _Row(SensorKind.TOUCH, 1, 0, ObjectKind.SITE, index.site[sensor.site], word="touch")
    if isinstance(sensor, described.ActuatorSensor):
        found = index.actuator[sensor.actuator]
        return _quantity(SensorKind.ACTUATOR, 1, sensor.type_, ObjectKind.ACTUATOR, found)
    if isinstance(sensor, described.TendonSensor):
        found = index.tendon[sensor.tendon]
        return _quantity(SensorKind.TENDON, 1, sensor.type_, ObjectKind.TENDON, found)
    if isinstance(sensor, described.SiteSensor):
        length, site = _LONG_SITE.get(sensor.type_, 3), index.site[sensor.site]
        row = _quantity(SensorKind.SITE, length, sensor.type_, ObjectKind.SITE, site)
        if sensor.type_ is not types.SiteSensorType.RangeFinder:
            return row._replace(problem="a ring of rays is that of a range finder" if sensor.ring else "")
        if not sensor.ring:
            return row._replace(rays=_Z)
        angles = 2.0 * np.pi * np.arange(sensor.ring) / sensor.ring
        around = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        return row._replace(length=sensor.ring, rays=around.tolist(), word="rangefinder_ring")
    if isinstance(sensor, described.DistanceSensor):
        a, b = _object(index, sensor.object_a), _object(index, sensor.object_b)
        return _quantity(SensorKind.DISTANCE, _LONG_DISTANCE[sensor.type_], sensor.type_, *a, *b)
    if isinstance(sensor, described.InsideSensor):
        inside, site = _object(index, sensor.object_type), index.site[sensor.site]
        return _Row(SensorKind.INSIDE, 1, 0, *inside, ObjectKind.SITE, site, word="inside")
    if isinstance(sensor, described.CameraProjectionSensor):
        seen, camera = (ObjectKind.SITE, index.site[sensor.site]), index.camera[sensor.camera]
        word = "camera_projection"
        return _Row(SensorKind.PROJECTION, 2, 0, *seen, ObjectKind.CAMERA, camera, word=word)
    if isinstance(sensor, described.WorldSensor):
        return _quantity(SensorKind.WORLD, 1, sensor.type_)
    assert isinstance(sensor, described.ImuSensor)
    return _Row(
        SensorKind.IMU,
        6,
        0,
        ObjectKind.BODY,
        index.body[sensor.link],
        ObjectKind.LOCAL,
        -1,
        pose(sensor.position, sensor.orientation),
        sensor.gyro_noise,
        word="imu",
    )


def _quantity(kind: SensorKind, length: int, quantity: SceneEnum, *rest: Any) -> _Row:
    """A row of a family that has several quantities."""
    return _Row(kind, length, _place(quantity), *rest, word=_WORDS[quantity])


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


class _Looks(NamedTuple):
    """What sensors need of a scene beside its tables."""

    world: World
    scene_index: SceneIndex
    model: Model
    library: AssetLibrary

    def problem(self, row: _Row) -> str:
        """Why the description gives no reading, empty when it does."""
        if row.problem:
            return row.problem
        for kind, k in ((row.object_kind, row.object), (row.reference_kind, row.reference)):
            if kind is ObjectKind.CAMERA and (text := _follows(self.scene_index.cameras[k][1])):
                return text
        if row.kind is not SensorKind.PROJECTION:
            return ""
        camera = self.scene_index.cameras[row.reference][1]
        if camera.orthographic:
            return f"camera '{camera.name}' is orthographic; sensors project perspectives only"
        sized, lens = camera.sensor_size, camera.focal_length
        if sized is not None and all(sized) and (lens is None or not all(lens)):
            return f"camera '{camera.name}' has a sensor size and no focal length"
        return ""

    def inertial(self, row: _Row) -> Array:
        """Rotations of the inertial frames of object and reference, (2, 4)."""
        made = np.tile(IDENTITY[3:], (2, 1))
        turns = (
            row.kind is SensorKind.FRAME and tuple(types.FrameSensorType)[row.quantity] not in _AT_THE_CENTER
        )
        if turns and row.object_kind is ObjectKind.INERTIA:
            made[0] = self._axes(row.object)
        if row.kind is SensorKind.FRAME and row.reference_kind is ObjectKind.INERTIA:
            made[1] = self._axes(row.reference)
        return made

    def _axes(self, body: int) -> Array:
        links = (link for k, link in self.scene_index.links if k == body)
        link = next(links, None) if body >= 0 else None
        return IDENTITY[3:] if link is None else inertial_axes(link, self.library)

    def lens(self, row: _Row) -> Array:
        """Focal lengths and centre of the image of the camera of a row [pixels], (4,)."""
        if row.kind is not SensorKind.PROJECTION or self.problem(row):
            return np.zeros(4)
        camera = self.scene_index.cameras[row.reference][1]
        size, shift = np.array([camera.resolution_x, camera.resolution_y], float), np.zeros(2)
        if camera.sensor_size is not None and all(camera.sensor_size):
            pixel = np.asarray(camera.sensor_size) / size
            focal = np.asarray(camera.focal_length) / pixel
            if camera.principal_point is not None:
                # the sensor lies upside down behind the lens, as in pictures of this camera
                shift = -np.asarray(camera.principal_point) / pixel
        else:
            focal = np.full(2, 0.5 * size[1] / np.tan(0.5 * np.radians(camera.fovy)))
        return np.concatenate([focal, 0.5 * size + shift])

    def seen(self) -> list[int]:
        """Shapes that can be seen: those with a colour that is not wholly transparent."""
        shapes, materials = self.model.shapes, self.world.assets.materials
        assert shapes is not None
        alpha = shapes.rgba[:, 3].copy()
        for k in np.flatnonzero(np.isnan(alpha) & (shapes.material >= 0)).tolist():
            alpha[k] = materials[self.model.material_label[shapes.material[k]]].color[3]
        return np.flatnonzero(alpha != 0.0).tolist()


def _follows(camera: Camera) -> str:
    """Why a camera has no fixed pose in its body; empty when it has."""
    turning = camera.rotation_track in (RotationTrack.FixedWorld, RotationTrack.LookAtLink)
    if turning or camera.position_track is PositionTrack.FixedWorld:
        return f"camera '{camera.name}' follows something; sensors support fixed cameras only"
    return ""


@shared_when_empty(lambda world: ordered_sensors(world.sensors))
def sensor_table(world: World, index: SceneIndex, model: Model, library: AssetLibrary) -> Sensors:
    """Columns of all sensors in the order of the reading; `model` has the tables of shapes."""
    sensors = ordered_sensors(world.sensors)
    rows = [_row(index, sensor) for sensor in sensors]
    looks = _Looks(world, index, model, library)
    rays = [ray for row in rows for ray in row.rays]

    def column(name: str, kind: Any = np.int64) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], kind)

    def common(name: str) -> Array:
        return np.array([getattr(sensor, name) for sensor in sensors], np.float64)

    return Sensors(
        label=sensor_labels(world.sensors),
        word=[row.word for row in rows],
        problem=[looks.problem(row) for row in rows],
        kind=column("kind"),
        quantity=column("quantity"),
        start=np.array([0, *np.cumsum([row.length for row in rows], dtype=np.int64)], np.int64),
        object_kind=column("object_kind"),
        object=column("object"),
        reference_kind=column("reference_kind"),
        reference=column("reference"),
        xform=column("xform", np.float64).reshape(-1, 7),
        inertial=np.array([looks.inertial(row) for row in rows]).reshape(-1, 2, 4),
        lens=np.array([looks.lens(row) for row in rows]).reshape(-1, 4),
        ray_start=np.array([0, *np.cumsum([len(row.rays) for row in rows], dtype=np.int64)], np.int64),
        ray=np.array(rays, np.float64).reshape(-1, 3),
        seen=np.array(looks.seen() if rays else [], np.int64),
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
