# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What each sensor of the format is in a scene."""

from __future__ import annotations

from typing import Any, Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.sensor_types import (
    ActuatorSensorType,
    DistanceSensorType,
    FrameSensorType,
    JointSensorType,
    SiteSensorType,
    SubtreeSensorType,
    TendonSensorType,
    WorldSensorType,
)
from worldline._src.scene.sensors import (
    ActuatorSensor,
    CameraProjectionSensor,
    ContactSensor,
    DistanceSensor,
    FrameSensor,
    InsideSensor,
    JointSensor,
    Sensor,
    SiteSensor,
    SubtreeSensor,
    TendonSensor,
    TouchSensor,
    WorldSensor,
)


class Kind(NamedTuple):
    """A kind of sensor.

    Attributes:
        struct: What it becomes.
        list_name: The list of `SensorSet` it goes into.
        quantity: The quantity it measures, None where the struct measures only one.
        targets: Attributes that name what it looks at, and what they name.
        form: How it is read; plain ones have nothing but targets.
    """

    struct: type[Sensor]
    list_name: str
    quantity: Any
    targets: tuple[tuple[str, str], ...] = ()
    form: str = "plain"


_SITE: Final = (("site", "site"),)
_JOINT: Final = (("joint", "joint"),)
_TENDON: Final = (("tendon", "tendon"),)
_ACTUATOR: Final = (("actuator", "actuator"),)
_BODY: Final = (("body", "link"),)


def _joint(quantity: JointSensorType) -> Kind:
    return Kind(JointSensor, "joint", quantity, _JOINT)


def _tendon(quantity: TendonSensorType) -> Kind:
    return Kind(TendonSensor, "tendon", quantity, _TENDON)


def _actuator(quantity: ActuatorSensorType) -> Kind:
    return Kind(ActuatorSensor, "actuator", quantity, _ACTUATOR)


def _site(quantity: SiteSensorType) -> Kind:
    return Kind(SiteSensor, "site", quantity, _SITE)


def _frame(quantity: FrameSensorType) -> Kind:
    return Kind(FrameSensor, "frame", quantity, form="frame")


def _local(quantity: FrameSensorType) -> Kind:
    """What an inertial unit at a site measures, in the axes of the site."""
    return Kind(FrameSensor, "frame", quantity, _SITE, "local")


def _subtree(quantity: SubtreeSensorType) -> Kind:
    return Kind(SubtreeSensor, "subtree", quantity, _BODY)


def _distance(quantity: DistanceSensorType) -> Kind:
    return Kind(DistanceSensor, "distance", quantity, form="distance")


def _world(quantity: WorldSensorType) -> Kind:
    return Kind(WorldSensor, "world", quantity)


SENSORS: Final[dict[str, Kind]] = {
    "touch": Kind(TouchSensor, "touch", None, _SITE),
    "accelerometer": _local(FrameSensorType.FrameLinAcc),
    "velocimeter": _local(FrameSensorType.FrameLinVel),
    "gyro": _local(FrameSensorType.FrameAngVel),
    "force": _site(SiteSensorType.Force),
    "torque": _site(SiteSensorType.Torque),
    "magnetometer": _site(SiteSensorType.Magnetometer),
    "rangefinder": _site(SiteSensorType.RangeFinder),
    "camprojection": Kind(
        CameraProjectionSensor, "projection", None, (("site", "site"), ("camera", "camera")), "projection"
    ),
    "jointpos": _joint(JointSensorType.JointPos),
    "jointvel": _joint(JointSensorType.JointVel),
    "jointactuatorfrc": _joint(JointSensorType.ActuatorForce),
    "ballquat": _joint(JointSensorType.BallQuat),
    "ballangvel": _joint(JointSensorType.BallAngVel),
    "jointlimitpos": _joint(JointSensorType.LimitPos),
    "jointlimitvel": _joint(JointSensorType.LimitVel),
    "jointlimitfrc": _joint(JointSensorType.LimitForce),
    "tendonpos": _tendon(TendonSensorType.Pos),
    "tendonvel": _tendon(TendonSensorType.Vel),
    "tendonactuatorfrc": _tendon(TendonSensorType.ActuatorForce),
    "tendonlimitpos": _tendon(TendonSensorType.LimitPos),
    "tendonlimitvel": _tendon(TendonSensorType.LimitVel),
    "tendonlimitfrc": _tendon(TendonSensorType.LimitForce),
    "actuatorpos": _actuator(ActuatorSensorType.Pos),
    "actuatorvel": _actuator(ActuatorSensorType.Vel),
    "actuatorfrc": _actuator(ActuatorSensorType.Force),
    "framepos": _frame(FrameSensorType.FramePos),
    "framequat": _frame(FrameSensorType.FrameQuat),
    "framexaxis": _frame(FrameSensorType.XAxis),
    "frameyaxis": _frame(FrameSensorType.YAxis),
    "framezaxis": _frame(FrameSensorType.ZAxis),
    "framelinvel": _frame(FrameSensorType.FrameLinVel),
    "frameangvel": _frame(FrameSensorType.FrameAngVel),
    "framelinacc": _frame(FrameSensorType.FrameLinAcc),
    "frameangacc": _frame(FrameSensorType.FrameAngAcc),
    "subtreecom": _subtree(SubtreeSensorType.Com),
    "subtreelinvel": _subtree(SubtreeSensorType.LinVel),
    "subtreeangmom": _subtree(SubtreeSensorType.AngMom),
    "insidesite": Kind(InsideSensor, "inside", None, form="inside"),
    "distance": _distance(DistanceSensorType.Distance),
    "normal": _distance(DistanceSensorType.Normal),
    "fromto": _distance(DistanceSensorType.FromTo),
    "contact": Kind(ContactSensor, "contact", None, form="contact"),
    "clock": _world(WorldSensorType.Clock),
    "e_potential": _world(WorldSensorType.PotentialEnergy),
    "e_kinetic": _world(WorldSensorType.KineticEnergy),
}
"""The sensors that a scene has; those of plugins, of users and of skins are left out."""
