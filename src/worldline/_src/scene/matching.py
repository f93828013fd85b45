# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Validation of references: the kinds of objects that each may name.

Sums of joint coordinates need joints with one coordinate, readings of a ball joint need a ball joint, and
tendons lie around spheres and cylinders. The whole scene has to be known for that, so `validate` calls
these functions once every name was found to be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from worldline._src.scene.constraints import EqualityConstraintSet, EqualityJoint
from worldline._src.scene.contexts import Probe
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.joints import FreeJoint, JointType
from worldline._src.scene.layout import active_joints
from worldline._src.scene.sensor_types import JointSensorType
from worldline._src.scene.sensors import JointSensor, SensorSet
from worldline._src.scene.tendons import JointTendon, SpatialTendon, TendonSet

if TYPE_CHECKING:
    from worldline._src.scene.world import World

_ROUND: Final = (ShapeType.Sphere, ShapeType.Cylinder)
_OF_BALLS: Final = (JointSensorType.BallQuat, JointSensorType.BallAngVel)
_OF_LIMITS: Final = (JointSensorType.LimitPos, JointSensorType.LimitVel, JointSensorType.LimitForce)
_NUMBER: Final = "a joint with one coordinate"
_PLAIN: Final = (JointType.Revolute, JointType.Slide)
_FREE: Final = (7, "free joint")
_BALL: Final = (4, f"{JointType.Ball.name} joint")
_HINGE: Final = (1, _NUMBER.removeprefix("a "))
_IDLE: Final = "joint that moves nothing"


def match_kinds(world: World, probe: Probe) -> None:
    """Notes references to objects of a kind that does not fit."""
    # parts that are only looked at are not taken
    tendons: TendonSet = world.tendon_set
    equalities: EqualityConstraintSet = world.equality_constraint_set
    sensors: SensorSet = world.sensors
    if tendons.joint_tendons or equalities.joints or sensors.joint:
        _match_joints(world, tendons.joint_tendons, equalities.joints, sensors.joint, probe)
    if tendons.spatial_tendons:
        geoms = {geom.name: geom for geom in _geoms(world) if geom.name}
        for index, tendon in enumerate(tendons.spatial_tendons):
            _match_path(tendon, geoms, probe, f"$.tendon_set.spatial_tendons[{index}].path")


def _geoms(world: World) -> Iterator[Geometry]:
    yield from world.hierarchy.geoms
    for link in world.hierarchy.links():
        yield from link.geoms


def _joint_kinds(world: World) -> dict[str, tuple[int, str]]:
    """Number of coordinates and a word for every joint by name, but for those with one coordinate."""
    found: dict[str, tuple[int, str]] = {}
    for body in world.hierarchy.bodies:
        free: FreeJoint | None = body.free
        if free is not None and free.name:
            found[free.name] = _FREE
        for link in body.link.walk():
            joints = link.joints
            ignored = link is body.link and free is not None
            if not ignored and all(joint.type_ in _PLAIN for joint in joints):
                continue
            acting = [] if ignored else active_joints(link, body)
            for joint in joints:
                count = joint.full_sizes[0] if any(joint is other for other in acting) else 0
                if joint.name and count != 1:
                    found[joint.name] = count, f"{joint.type_.name} joint" if count else _IDLE
    return found


def _match_joints(
    world: World,
    tendons: Sequence[JointTendon],
    equalities: Sequence[EqualityJoint],
    sensors: Sequence[JointSensor],
    probe: Probe,
) -> None:
    kinds = _joint_kinds(world)

    def number(name: str | None, path: str) -> None:
        if name in kinds:
            probe.reject(path, f"{name!r}, a {kinds[name][1]}", _NUMBER)

    for index, tendon in enumerate(tendons):
        for k, node in enumerate(tendon.joints):
            number(node.joint_name, f"$.tendon_set.joint_tendons[{index}].joints[{k}].joint_name")
    for index, equality in enumerate(equalities):
        for field in ("joint_a", "joint_b"):
            number(getattr(equality, field), f"$.equality_constraint_set.joints[{index}].{field}")
    for index, sensor in enumerate(sensors):
        path, kind = f"$.sensors.joint[{index}].joint", kinds.get(sensor.joint, _HINGE)
        if not kind[0] or (kind == _BALL and sensor.type_ in _OF_LIMITS):
            continue
        if sensor.type_ not in _OF_BALLS:
            number(sensor.joint, path)
        elif kind != _BALL:
            probe.reject(path, f"{sensor.joint!r}, a {kind[1]}", "a ball joint")


def _match_path(tendon: SpatialTendon, geoms: dict[str, Geometry], probe: Probe, path: str) -> None:
    """Shapes on the way of a tendon are round, with a site right before and right after each."""
    last = len(tendon.path) - 1
    for k, node in enumerate(tendon.path):
        if node.variant != "geom":
            continue
        geom = geoms.get(node.value["geom"])
        if geom is not None and (geom.shape not in _ROUND):
            given = f"{geom.name!r}, a {geom.shape.name}"
            probe.reject(f"{path}[{k}]", given, "a geom that is a sphere or a cylinder")
        if k in (0, last) or tendon.path[k - 1].variant != "site" or tendon.path[k + 1].variant != "site":
            probe.reject(f"{path}[{k}]", "a geom that is not between two sites", "site, geom, site")
