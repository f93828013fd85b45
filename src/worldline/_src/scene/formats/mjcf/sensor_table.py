# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What each sensor of the format is in a scene."""

from __future__ import annotations

from typing import Any, Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene import sensor_types as types
from worldline._src.scene import sensors as kinds


class Kind(NamedTuple):
    """A kind of sensor.

    Attributes:
        struct: What it becomes.
        list_name: The list of `SensorSet` it goes into.
        quantity: The quantity it measures, None where the struct measures only one.
        targets: Attributes that name what it looks at, and what they name.
        form: How it is read; plain ones have nothing but targets.
    """

    struct: type[kinds.Sensor]
    list_name: str
    quantity: Any
    targets: tuple[tuple[str, str], ...] = ()
    form: str = "plain"


_SITE: Final = (("site", "site"),)
_JOINT: Final = (("joint", "joint"),)
_TENDON: Final = (("tendon", "tendon"),)
_ACTUATOR: Final = (("actuator", "actuator"),)
_BODY: Final = (("body", "link"),)


def _joint(quantity: types.JointSensorType) -> Kind:
    return Kind(kinds.JointSensor, "joint", quantity, _JOINT)


def _tendon(quantity: types.TendonSensorType) -> Kind:
    return Kind(kinds.TendonSensor, "tendon", quantity, _TENDON)


def _actuator(quantity: types.ActuatorSensorType) -> Kind:
    return Kind(kinds.ActuatorSensor, "actuator", quantity, _ACTUATOR)


def _site(quantity: types.SiteSensorType) -> Kind:
    return Kind(kinds.SiteSensor, "site", quantity, _SITE)


def _frame(quantity: types.FrameSensorType) -> Kind:
    return Kind(kinds.FrameSensor, "frame", quantity, form="frame")


def _local(quantity: types.FrameSensorType) -> Kind:
    """What an inertial unit at a site measures, in the axes of the site."""
    return Kind(kinds.FrameSensor, "frame", quantity, _SITE, "local")


def _subtree(quantity: types.SubtreeSensorType) -> Kind:
    return Kind(kinds.SubtreeSensor, "subtree", quantity, _BODY)


def _distance(quantity: types.DistanceSensorType) -> Kind:
    return Kind(kinds.DistanceSensor, "distance", quantity, form="distance")


def _world(quantity: types.WorldSensorType) -> Kind:
    return Kind(kinds.WorldSensor, "world", quantity)


SENSORS: Final[dict[str, Kind]] = {
    "touch": Kind(kinds.TouchSensor, "touch", None, _SITE),
    "accelerometer": _local(types.FrameSensorType.FrameLinAcc),
    "velocimeter": _local(types.FrameSensorType.FrameLinVel),
    "gyro": _local(types.FrameSensorType.FrameAngVel),
    "force": _site(types.SiteSensorType.Force),
    "torque": _site(types.SiteSensorType.Torque),
    "magnetometer": _site(types.SiteSensorType.Magnetometer),
    "rangefinder": _site(types.SiteSensorType.RangeFinder),
    "camprojection": Kind(
        kinds.CameraProjectionSensor,
        "projection",
        None,
        (("site", "site"), ("camera", "camera")),
        "projection",
    ),
    "jointpos": _joint(types.JointSensorType.JointPos),
    "jointvel": _joint(types.JointSensorType.JointVel),
    "jointactuatorfrc": _joint(types.JointSensorType.ActuatorForce),
    "ballquat": _joint(types.JointSensorType.BallQuat),
    "ballangvel": _joint(types.JointSensorType.BallAngVel),
    "jointlimitpos": _joint(types.JointSensorType.LimitPos),
    "jointlimitvel": _joint(types.JointSensorType.LimitVel),
    "jointlimitfrc": _joint(types.JointSensorType.LimitForce),
    "tendonpos": _tendon(types.TendonSensorType.Pos),
    "tendonvel": _tendon(types.TendonSensorType.Vel),
    "tendonactuatorfrc": _tendon(types.TendonSensorType.ActuatorForce),
    "tendonlimitpos": _tendon(types.TendonSensorType.LimitPos),
    "tendonlimitvel": _tendon(types.TendonSensorType.LimitVel),
    "tendonlimitfrc": _tendon(types.TendonSensorType.LimitForce),
    "actuatorpos": _actuator(types.ActuatorSensorType.Pos),
    "actuatorvel": _actuator(types.ActuatorSensorType.Vel),
    "actuatorfrc": _actuator(types.ActuatorSensorType.Force),
    "framepos": _frame(types.FrameSensorType.FramePos),
    "framequat": _frame(types.FrameSensorType.FrameQuat),
    "framexaxis": _frame(types.FrameSensorType.XAxis),
    "frameyaxis": _frame(types.FrameSensorType.YAxis),
    "framezaxis": _frame(types.FrameSensorType.ZAxis),
    "framelinvel": _frame(types.FrameSensorType.FrameLinVel),
    "frameangvel": _frame(types.FrameSensorType.FrameAngVel),
    "framelinacc": _frame(types.FrameSensorType.FrameLinAcc),
    "frameangacc": _frame(types.FrameSensorType.FrameAngAcc),
    "subtreecom": _subtree(types.SubtreeSensorType.Com),
    "subtreelinvel": _subtree(types.SubtreeSensorType.LinVel),
    "subtreeangmom": _subtree(types.SubtreeSensorType.AngMom),
    "insidesite": Kind(kinds.InsideSensor, "inside", None, form="inside"),
    "distance": _distance(types.DistanceSensorType.Distance),
    "normal": _distance(types.DistanceSensorType.Normal),
    "fromto": _distance(types.DistanceSensorType.FromTo),
    "contact": Kind(kinds.ContactSensor, "contact", None, form="contact"),
    "clock": _world(types.WorldSensorType.Clock),
    "e_potential": _world(types.WorldSensorType.PotentialEnergy),
    "e_kinetic": _world(types.WorldSensorType.KineticEnergy),
}
"""The sensors that a scene has; those of plugins, of users and of skins are left out."""
FIELDS: Final = {"site": "site", "joint": "joint", "tendon": "tendon", "actuator": "actuator", "body": "link"}
"""Fields of scene sensors that hold what an attribute names."""
