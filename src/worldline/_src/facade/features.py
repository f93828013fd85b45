# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Features by kind, read from the enumerations and tables that decide about them.

A member of an enumeration that a World takes is available; one that is named and refused is not. There is no
list beside the code that could differ from it, and every member is tried by a test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from worldline._src.collision.shapes import CollisionShapeType
from worldline._src.facade.kinds import (
    SCENE_JOINTS,
    ActuatorType,
    ClosureDynamicsPolicy,
    ClosureKinematicsPolicy,
    JointType,
    LoopClosureFamily,
    ModelFormat,
)
from worldline._src.facade.runtime import DRIVES
from worldline._src.facade.shapes import ON_BODIES
from worldline._src.facade.world_joint import TYPES
from worldline._src.facade.world_joint_motor import DRIVEN
from worldline._src.scene import sensor_types as types
from worldline._src.scene.actuators import ActuatorTarget, BiasType, DynType, GainType
from worldline._src.scene.constraints import EqualityConstraintSet
from worldline._src.scene.formats.load import TEXT_FORMATS
from worldline._src.scene.formats.writing import FORMATS
from worldline._src.scene.geometry import ShapeType
from worldline._src.scene.options import IntegratorMethod, SolverType

SENSOR_TYPES: dict[str, type[Enum] | None] = {
    "contact": types.ContactSensorReduce,
    "frame": types.FrameSensorType,
    "joint": types.JointSensorType,
    "subtree": types.SubtreeSensorType,
    "touch": None,
    "actuator": types.ActuatorSensorType,
    "tendon": types.TendonSensorType,
    "site": types.SiteSensorType,
    "distance": types.DistanceSensorType,
    "inside": None,
    "projection": None,
    "world": types.WorldSensorType,
    "imu": None,
}
"""Lists of `SensorSet` and the quantities of their sensors."""
TARGETS = ("joint", "joint_in_parent", "floating_base", "tendon", "link", "site", "slider_crank")
"""What an actuator of a scene may act on: the variants of `ActuatorTarget`."""


@dataclass(frozen=True)
class FeatureGroup:
    """Features of one kind.

    Attributes:
        name: what they are.
        available: members that work.
        unavailable: members that have a name and are refused with it.
    """

    name: str
    available: tuple[str, ...]
    unavailable: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.available)}"


def _group(name: str, members: Iterable[Any], works: Collection[Any] | None = None) -> FeatureGroup:
    """A group of the members of an enumeration; all of them work when it is not said which do."""
    found = list(members)
    names = [member.name if isinstance(member, Enum) else str(member) for member in found]
    does = [works is None or member in works for member in found]
    return FeatureGroup(
        name,
        tuple(name.strip("_") for name, is_there in zip(names, does, strict=True) if is_there),
        tuple(name.strip("_") for name, is_there in zip(names, does, strict=True) if not is_there),
    )


def feature_groups() -> tuple[FeatureGroup, ...]:
    """Features by kind: joints, drives, shapes, actuators, sensors, closures, integrators, solvers, formats.

    Example:
        >>> from worldline._src.facade.features import feature_groups
        >>> next(str(group) for group in feature_groups() if group.name == "loop closures")
        'loop closures: RIGID, POINT, DISTANCE, AXIS, REVOLUTE, UNIVERSAL, PRISMATIC, PLANAR'
    """
    sensors = [
        name if kinds is None else f"{name} {kind.name.strip('_')}"
        for name, kinds in SENSOR_TYPES.items()
        for kind in (kinds if kinds is not None else (types.ContactSensorReduce.None_,))
    ]
    return (
        _group("joints of multibodies", JointType, SCENE_JOINTS),
        _group("world-owned joints that can break", JointType, TYPES),
        _group("drives of joints", ActuatorType, DRIVES),
        _group("motors of world-owned joints", TYPES, DRIVEN),
        _group("shapes of scenes", ShapeType),
        _group("shapes of bodies", CollisionShapeType, ON_BODIES),
        _group("dynamics of actuators", DynType),
        _group("gains of actuators", GainType),
        _group("biases of actuators", BiasType),
        _group("targets of actuators", TARGETS, ActuatorTarget._cases),
        _group("equality constraints", EqualityConstraintSet._fields),
        _group("sensors", sensors),
        _group("loop closures", LoopClosureFamily),
        _group("kinematics of loop closures", ClosureKinematicsPolicy, tuple(ClosureKinematicsPolicy)),
        _group("dynamics of loop closures", ClosureDynamicsPolicy),
        _group("integrators of scenes", IntegratorMethod),
        _group("solvers of scenes", SolverType),
        _group(
            "formats read", [form.value for form in ModelFormat if form is not ModelFormat.AUTO], TEXT_FORMATS
        ),
        _group("formats written", FORMATS),
    )
