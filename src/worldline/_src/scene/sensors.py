# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors, by what they look at.

Frame sensors measure motion, joint, actuator and tendon sensors their quantities, site sensors
what happens at a place, contact sensors the touching of pairs. Noise, cut-off, period and delay
are Worldline's, as are all sensors after `TouchSensor`.
"""

from __future__ import annotations

from worldline._src.scene import sensor_types as types
from worldline._src.scene.base import Struct, field
from worldline._src.scene.containers import ListOf, Nested, OptionalOf
from worldline._src.scene.kinds import FLAG, NON_NEGATIVE, Integer
from worldline._src.scene.texts import Enumeration, Name, Ref
from worldline._src.scene.variant import VariantOf
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array


class Sensor(Struct):
    """What every sensor has."""

    name: str | None = field(default=None, converter=OptionalOf(Name("sensor")), doc="Name.")
    noise: float = field(
        default=0.0, converter=NON_NEGATIVE, doc="Standard deviation, in the unit of the reading."
    )
    cutoff: float = field(
        default=0.0, converter=NON_NEGATIVE, doc="Readings are clipped to this size; 0 is none."
    )
    update_period: float = field(
        default=0.0, converter=NON_NEGATIVE, doc="Time between readings, s; 0 is every step."
    )
    delay: float = field(default=0.0, converter=NON_NEGATIVE, doc="Age of a reading, s.")


class FrameSensor(Sensor):
    """Motion of a frame: m, xyzw, m/s, rad/s, m/s^2; acceleration includes that against gravity."""

    object_type: types.ObjectType = field(
        default_factory=lambda: types.ObjectType.link_inertia(""),
        converter=VariantOf(types.ObjectType),
        doc="Whose frame.",
    )
    ref_frame: types.FrameSensorRef = field(
        default_factory=types.FrameSensorRef.local,
        converter=VariantOf(types.FrameSensorRef),
        doc="Reference frame of the reading.",
    )
    sensor_type: types.FrameSensorType = field(
        default=types.FrameSensorType.FramePos, converter=Enumeration(types.FrameSensorType), doc="Quantity."
    )


class JointSensor(Sensor):
    """Coordinate, speed or force of a joint: m or rad, m/s or rad/s, N or N m."""

    joint: str = field(default="", converter=Ref("joint"), doc="Joint.")
    type_: types.JointSensorType = field(
        default=types.JointSensorType.JointPos, converter=Enumeration(types.JointSensorType), doc="Quantity."
    )


class SubtreeSensor(Sensor):
    """Centre of mass (m), its velocity (m/s) or angular momentum (kg m^2/s) of a subtree, world."""

    link: str = field(default="", converter=Ref("link"), doc="Link at the top of the subtree.")
    type_: types.SubtreeSensorType = field(
        default=types.SubtreeSensorType.Com, converter=Enumeration(types.SubtreeSensorType), doc="Quantity."
    )


class TouchSensor(Sensor):
    """Sum of normal contact forces within the volume of a site, N."""

    site: str = field(default="", converter=Ref("site"), doc="Site.")


class ContactSensorReport(Struct):
    """What a contact sensor tells, always in this order."""

    found: bool = field(default=True, converter=FLAG, doc="Number of matching contacts (1).")
    force: bool = field(default=False, converter=FLAG, doc="Force in the contact frame, normal first, N (3).")
    torque: bool = field(default=False, converter=FLAG, doc="Torque in the contact frame, N m (3).")
    dist: bool = field(default=False, converter=FLAG, doc="Distance, m; negative inside (1).")
    pos: bool = field(default=False, converter=FLAG, doc="Place in the world, m (3).")
    normal: bool = field(default=False, converter=FLAG, doc="Normal, first to second object (3).")
    tangent: bool = field(default=False, converter=FLAG, doc="First tangent (3).")


class ContactSensor(Sensor):
    """Contacts between chosen objects, in a block of fixed size filled up with zeros."""

    match_: types.ContactMatch = field(
        default_factory=lambda: types.ContactMatch.geom_pair("", ""),
        converter=VariantOf(types.ContactMatch),
        doc="Which contacts.",
    )
    max_num: int = field(
        default=1, converter=Integer(minimum=1, maximum=65_536), doc="Contacts reported at most."
    )
    reduce: types.ContactSensorReduce = field(
        default=types.ContactSensorReduce.None_,
        converter=Enumeration(types.ContactSensorReduce),
        doc="Which contacts are kept when there are more.",
    )
    report: ContactSensorReport = field(
        default_factory=ContactSensorReport, converter=Nested(ContactSensorReport), doc="What."
    )


class ActuatorSensor(Sensor):
    """Length, speed or force of an actuator: m or rad, m/s or rad/s, N or N m."""

    actuator: str = field(default="", converter=Ref("actuator"), doc="Actuator.")
    type_: types.ActuatorSensorType = field(
        default=types.ActuatorSensorType.Pos, converter=Enumeration(types.ActuatorSensorType), doc="Quantity."
    )


class TendonSensor(Sensor):
    """Length, speed or force of a tendon: m, m/s, N."""

    tendon: str = field(default="", converter=Ref("tendon"), doc="Tendon.")
    type_: types.TendonSensorType = field(
        default=types.TendonSensorType.Pos, converter=Enumeration(types.TendonSensorType), doc="Quantity."
    )


class SiteSensor(Sensor):
    """What acts at a site: force (N), torque (N m), magnetic field, or distance ahead or around it (m)."""

    site: str = field(default="", converter=Ref("site"), doc="Site.")
    type_: types.SiteSensorType = field(
        default=types.SiteSensorType.Force, converter=Enumeration(types.SiteSensorType), doc="Quantity."
    )
    ring: int = field(
        default=0,
        converter=Integer(minimum=0, maximum=4096),
        doc="Rays of a range finder, equally spaced in the x-y plane of the site from x on; 0: one along z.",
    )


class DistanceSensor(Sensor):
    """Shortest connection between two objects, m; `cutoff` is the distance looked at."""

    object_a: types.ObjectType = field(
        default_factory=lambda: types.ObjectType.geom(""), converter=VariantOf(types.ObjectType), doc="First."
    )
    object_b: types.ObjectType = field(
        default_factory=lambda: types.ObjectType.geom(""),
        converter=VariantOf(types.ObjectType),
        doc="Second.",
    )
    type_: types.DistanceSensorType = field(
        default=types.DistanceSensorType.Distance,
        converter=Enumeration(types.DistanceSensorType),
        doc="Quantity.",
    )


class InsideSensor(Sensor):
    """Whether an object lies within the volume of a site: 1 or 0."""

    site: str = field(default="", converter=Ref("site"), doc="Site.")
    object_type: types.ObjectType = field(
        default_factory=lambda: types.ObjectType.link(""),
        converter=VariantOf(types.ObjectType),
        doc="Object.",
    )


class CameraProjectionSensor(Sensor):
    """Where a site appears in the image of a camera, pixels."""

    site: str = field(default="", converter=Ref("site"), doc="Site.")
    camera: str = field(default="", converter=Ref("camera"), doc="Camera.")


class WorldSensor(Sensor):
    """Time (s) or energy (J) of the world."""

    type_: types.WorldSensorType = field(
        default=types.WorldSensorType.Clock, converter=Enumeration(types.WorldSensorType), doc="Quantity."
    )


class ImuSensor(Sensor):
    """Linear acceleration (m/s^2) and angular velocity (rad/s) in one, in its own axes."""

    link: str = field(default="", converter=Ref("link"), doc="Link it is mounted on.")
    position: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the link frame, m, (3,)."
    )
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the link, xyzw, (4,)."
    )
    gyro_noise: float = field(
        default=0.0, converter=NON_NEGATIVE, doc="Standard deviation of the rate, rad/s."
    )


class SensorSet(Struct):
    """All sensors of a scene."""

    contact: list[ContactSensor] = field(
        default_factory=list, converter=ListOf(Nested(ContactSensor)), doc="Contact sensors."
    )
    frame: list[FrameSensor] = field(
        default_factory=list, converter=ListOf(Nested(FrameSensor)), doc="Frame sensors."
    )
    joint: list[JointSensor] = field(
        default_factory=list, converter=ListOf(Nested(JointSensor)), doc="Joint sensors."
    )
    subtree: list[SubtreeSensor] = field(
        default_factory=list, converter=ListOf(Nested(SubtreeSensor)), doc="Subtree sensors."
    )
    touch: list[TouchSensor] = field(
        default_factory=list, converter=ListOf(Nested(TouchSensor)), doc="Touch sensors."
    )
    actuator: list[ActuatorSensor] = field(
        default_factory=list, converter=ListOf(Nested(ActuatorSensor)), doc="Actuator sensors."
    )
    tendon: list[TendonSensor] = field(
        default_factory=list, converter=ListOf(Nested(TendonSensor)), doc="Tendon sensors."
    )
    site: list[SiteSensor] = field(
        default_factory=list, converter=ListOf(Nested(SiteSensor)), doc="Site sensors."
    )
    distance: list[DistanceSensor] = field(
        default_factory=list, converter=ListOf(Nested(DistanceSensor)), doc="Distance sensors."
    )
    inside: list[InsideSensor] = field(
        default_factory=list, converter=ListOf(Nested(InsideSensor)), doc="Inside sensors."
    )
    projection: list[CameraProjectionSensor] = field(
        default_factory=list,
        converter=ListOf(Nested(CameraProjectionSensor)),
        doc="Camera projection sensors.",
    )
    world: list[WorldSensor] = field(
        default_factory=list, converter=ListOf(Nested(WorldSensor)), doc="World sensors."
    )
    imu: list[ImuSensor] = field(
        default_factory=list, converter=ListOf(Nested(ImuSensor)), doc="Inertial units."
    )
    order: list[str] = field(
        default_factory=list,
        converter=ListOf(Ref("sensor")),
        doc="Order of the readings by name; those not named follow in the order of the lists.",
    )
