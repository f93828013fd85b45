# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors, by the kind of object that they observe.

Frame sensors measure motion, joint, actuator and tendon sensors their quantities, site sensors
what happens at a place, contact sensors the touching of pairs. Noise, cut-off, period and delay
are Worldline's, as are all sensors after `TouchSensor`.
"""

from __future__ import annotations

from worldline._src.scene import sensor_types as types
from worldline._src.scene.base import Choice, Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.containers import ListOf
from worldline._src.scene.kinds import NON_NEGATIVE, Integer
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array


class Sensor(Struct):
    """What every sensor has."""

    name: str | None = optional(Name("sensor"), "Name.")
    noise: float = value(NON_NEGATIVE, 0.0, "Standard deviation, in the unit of the reading.")
    cutoff: float = value(NON_NEGATIVE, 0.0, "Readings are clipped to this size; 0 is none.")
    update_period: float = value(NON_NEGATIVE, 0.0, "Time between readings, s; 0 is every step.")
    delay: float = value(NON_NEGATIVE, 0.0, "Age of a reading, s.")


class FrameSensor(Sensor):
    """Motion of a frame: m, xyzw, m/s, rad/s, m/s^2; acceleration includes that against gravity."""

    object_type: types.ObjectType = field(
        default_factory=lambda: types.ObjectType.link_inertia(""), doc="Whose frame."
    )
    ref_frame: types.FrameSensorRef = field(
        default_factory=types.FrameSensorRef.local, doc="Reference frame of the reading."
    )
    sensor_type: Choice[types.FrameSensorType] = field(
        default=types.FrameSensorType.FramePos, doc="Quantity."
    )


class JointSensor(Sensor):
    """Coordinate, speed or force of a joint: m or rad, m/s or rad/s, N or N m."""

    joint: str = value(Ref("joint"), "", "Joint.")
    type_: Choice[types.JointSensorType] = field(default=types.JointSensorType.JointPos, doc="Quantity.")


class SubtreeSensor(Sensor):
    """Centre of mass (m), its velocity (m/s) or angular momentum (kg m^2/s) of a subtree, world."""

    link: str = value(Ref("link"), "", "Link at the top of the subtree.")
    type_: Choice[types.SubtreeSensorType] = field(default=types.SubtreeSensorType.Com, doc="Quantity.")


class TouchSensor(Sensor):
    """Sum of normal contact forces within the volume of a site, N."""

    site: str = value(Ref("site"), "", "Site.")


class ContactSensorReport(Struct):
    """What a contact sensor reports, always in this order."""

    found: bool = field(default=True, doc="Number of matching contacts (1).")
    force: bool = field(default=False, doc="Force in the contact frame, normal first, N (3).")
    torque: bool = field(default=False, doc="Torque in the contact frame, N m (3).")
    dist: bool = field(default=False, doc="Distance, m; negative inside (1).")
    pos: bool = field(default=False, doc="Place in the world, m (3).")
    normal: bool = field(default=False, doc="Normal, first to second object (3).")
    tangent: bool = field(default=False, doc="First tangent (3).")


class ContactSensor(Sensor):
    """Contacts between chosen objects, in a block of fixed size filled up with zeros."""

    match_: types.ContactMatch = field(
        default_factory=lambda: types.ContactMatch.geom_pair("", ""), doc="Which contacts."
    )
    max_num: int = value(Integer(minimum=1, maximum=65_536), 1, "Contacts reported at most.")
    reduce: Choice[types.ContactSensorReduce] = field(
        default=types.ContactSensorReduce.None_, doc="Which contacts are kept when there are more."
    )
    report: ContactSensorReport = part(ContactSensorReport, "What.")


class ActuatorSensor(Sensor):
    """Length, speed or force of an actuator: m or rad, m/s or rad/s, N or N m."""

    actuator: str = value(Ref("actuator"), "", "Actuator.")
    type_: Choice[types.ActuatorSensorType] = field(default=types.ActuatorSensorType.Pos, doc="Quantity.")


class TendonSensor(Sensor):
    """Length, speed or force of a tendon: m, m/s, N."""

    tendon: str = value(Ref("tendon"), "", "Tendon.")
    type_: Choice[types.TendonSensorType] = field(default=types.TendonSensorType.Pos, doc="Quantity.")


class SiteSensor(Sensor):
    """What acts at a site: force (N), torque (N m), magnetic field, or distance ahead or around it (m)."""

    site: str = value(Ref("site"), "", "Site.")
    type_: Choice[types.SiteSensorType] = field(default=types.SiteSensorType.Force, doc="Quantity.")
    ring: int = value(
        Integer(minimum=0, maximum=4096),
        0,
        "Rays of a range finder, equally spaced in the x-y plane of the site from x on; 0: one along z.",
    )


class DistanceSensor(Sensor):
    """Shortest connection between two objects, m; `cutoff` is the distance looked at."""

    object_a: types.ObjectType = field(default_factory=lambda: types.ObjectType.geom(""), doc="First.")
    object_b: types.ObjectType = field(default_factory=lambda: types.ObjectType.geom(""), doc="Second.")
    type_: Choice[types.DistanceSensorType] = field(
        default=types.DistanceSensorType.Distance, doc="Quantity."
    )


class InsideSensor(Sensor):
    """Whether an object lies within the volume of a site: 1 or 0."""

    site: str = value(Ref("site"), "", "Site.")
    object_type: types.ObjectType = field(default_factory=lambda: types.ObjectType.link(""), doc="Object.")


class CameraProjectionSensor(Sensor):
    """Where a site appears in the image of a camera, pixels."""

    site: str = value(Ref("site"), "", "Site.")
    camera: str = value(Ref("camera"), "", "Camera.")


class WorldSensor(Sensor):
    """Time (s) or energy (J) of the world."""

    type_: Choice[types.WorldSensorType] = field(default=types.WorldSensorType.Clock, doc="Quantity.")


class ImuSensor(Sensor):
    """Linear acceleration (m/s^2) and angular velocity (rad/s) in one, in its own axes."""

    link: str = value(Ref("link"), "", "Link it is mounted on.")
    position: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the link frame, m, (3,)."
    )
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the link, xyzw, (4,)."
    )
    gyro_noise: float = value(NON_NEGATIVE, 0.0, "Standard deviation of the rate, rad/s.")


class SensorSet(Struct):
    """All sensors of a scene."""

    contact: Parts[ContactSensor] = parts(ContactSensor, "Contact sensors.")
    frame: Parts[FrameSensor] = parts(FrameSensor, "Frame sensors.")
    joint: Parts[JointSensor] = parts(JointSensor, "Joint sensors.")
    subtree: Parts[SubtreeSensor] = parts(SubtreeSensor, "Subtree sensors.")
    touch: Parts[TouchSensor] = parts(TouchSensor, "Touch sensors.")
    actuator: Parts[ActuatorSensor] = parts(ActuatorSensor, "Actuator sensors.")
    tendon: Parts[TendonSensor] = parts(TendonSensor, "Tendon sensors.")
    site: Parts[SiteSensor] = parts(SiteSensor, "Site sensors.")
    distance: Parts[DistanceSensor] = parts(DistanceSensor, "Distance sensors.")
    inside: Parts[InsideSensor] = parts(InsideSensor, "Inside sensors.")
    projection: Parts[CameraProjectionSensor] = parts(CameraProjectionSensor, "Camera projection sensors.")
    world: Parts[WorldSensor] = parts(WorldSensor, "World sensors.")
    imu: Parts[ImuSensor] = parts(ImuSensor, "Inertial units.")
    order: list[str] = field(
        default_factory=list,
        converter=ListOf(Ref("sensor")),
        doc="Order of the readings by name; those not named follow in the order of the lists.",
    )
