# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What MuJoCo's flags and sensors are called in a scene."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldline import msd

DISABLE = {
    "CONSTRAINT": "disable_constraints",
    "EQUALITY": "disable_equality",
    "FRICTIONLOSS": "disable_frictionloss",
    "LIMIT": "disable_limit",
    "CONTACT": "disable_contacts",
    "SPRING": "disable_springs",
    "DAMPER": "disable_damping",
    "GRAVITY": "disable_gravity",
    "CLAMPCTRL": "disable_control_clamp",
    "WARMSTART": "disable_warm_start",
    "FILTERPARENT": "disable_parent_filter",
    "ACTUATION": "disable_actuators",
    "REFSAFE": "disable_reference_safety",
    "SENSOR": "disable_sensors",
    "EULERDAMP": "disable_implicit_damping",
}
SENSOR_KINDS = {
    "TOUCH": "Touch",
    "ACCELEROMETER": "local FrameLinAcc",
    "VELOCIMETER": "local FrameLinVel",
    "GYRO": "local FrameAngVel",
    "FORCE": "Site Force",
    "TORQUE": "Site Torque",
    "MAGNETOMETER": "Site Magnetometer",
    "RANGEFINDER": "Site RangeFinder",
    "CAMPROJECTION": "CameraProjection",
    "JOINTPOS": "Joint JointPos",
    "JOINTVEL": "Joint JointVel",
    "JOINTACTFRC": "Joint ActuatorForce",
    "BALLQUAT": "Joint BallQuat",
    "BALLANGVEL": "Joint BallAngVel",
    "JOINTLIMITPOS": "Joint LimitPos",
    "JOINTLIMITVEL": "Joint LimitVel",
    "JOINTLIMITFRC": "Joint LimitForce",
    "TENDONPOS": "Tendon Pos",
    "TENDONVEL": "Tendon Vel",
    "TENDONACTFRC": "Tendon ActuatorForce",
    "TENDONLIMITPOS": "Tendon LimitPos",
    "TENDONLIMITVEL": "Tendon LimitVel",
    "TENDONLIMITFRC": "Tendon LimitForce",
    "ACTUATORPOS": "Actuator Pos",
    "ACTUATORVEL": "Actuator Vel",
    "ACTUATORFRC": "Actuator Force",
    "FRAMEPOS": "frame FramePos",
    "FRAMEQUAT": "frame FrameQuat",
    "FRAMEXAXIS": "frame XAxis",
    "FRAMEYAXIS": "frame YAxis",
    "FRAMEZAXIS": "frame ZAxis",
    "FRAMELINVEL": "frame FrameLinVel",
    "FRAMEANGVEL": "frame FrameAngVel",
    "FRAMELINACC": "frame FrameLinAcc",
    "FRAMEANGACC": "frame FrameAngAcc",
    "SUBTREECOM": "Subtree Com",
    "SUBTREELINVEL": "Subtree LinVel",
    "SUBTREEANGMOM": "Subtree AngMom",
    "INSIDESITE": "Inside",
    "GEOMDIST": "Distance Distance",
    "GEOMNORMAL": "Distance Normal",
    "GEOMFROMTO": "Distance FromTo",
    "CONTACT": "Contact",
    "E_POTENTIAL": "World PotentialEnergy",
    "E_KINETIC": "World KineticEnergy",
    "CLOCK": "World Clock",
}


def sensor_kind(sensor: Any) -> str:
    kind = type(sensor).__name__.removesuffix("Sensor")
    if isinstance(sensor, msd.FrameSensor):
        where = "local" if sensor.ref_frame.variant == "local" else "frame"
        return f"{where} {sensor.sensor_type.name}"
    return f"{kind} {sensor.type_.name}" if hasattr(sensor, "type_") else kind


SPACES = {"link": "BODY", "link_inertia": "BODY", "geom": "GEOM", "site": "SITE", "camera": "CAMERA"}


def sensor_targets(sensor: Any) -> Iterator[tuple[str, str]]:
    if isinstance(sensor, msd.FrameSensor):
        yield sensor.object_type.value, SPACES[sensor.object_type.variant]
        if sensor.ref_frame.variant == "object":
            other = sensor.ref_frame.value
            yield other.value, SPACES[other.variant]
        return
    if isinstance(sensor, msd.InsideSensor):
        yield sensor.object_type.value, SPACES[sensor.object_type.variant]
        yield sensor.site, "SITE"
        return
    if isinstance(sensor, msd.DistanceSensor):
        for end in (sensor.object_a, sensor.object_b):
            yield end.value, SPACES[end.variant]
        return
    for field, space in (("site", "SITE"), ("joint", "JOINT"), ("tendon", "TENDON"), ("link", "BODY")):
        if hasattr(sensor, field):
            yield getattr(sensor, field), space
            return
    if hasattr(sensor, "actuator"):
        yield sensor.actuator, "ACTUATOR"
