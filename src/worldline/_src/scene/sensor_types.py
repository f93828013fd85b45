# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensor types: the objects that sensors observe, and the measured quantities."""

from __future__ import annotations

from enum import auto
from typing import TYPE_CHECKING, TypedDict

from worldline._src.keywords import shared_keywords
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.texts import Ref
from worldline._src.scene.variant import Named, Pair, Variant, VariantOf, case

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ObjectType(Variant):
    """An object with a frame; cameras and named frames are Worldline's."""

    link_inertia = case(Ref("link"), "The principal frame of a link at its centre of mass.")
    link = case(Ref("link"), "The frame of a link.")
    geom = case(Ref("geom"), "The frame of a geom.")
    site = case(Ref("site"), "The frame of a site.")
    camera = case(Ref("camera"), "The frame of a camera.")
    frame = case(Ref("frame"), "A named frame.")


class FrameSensorRef(Variant):
    """The frame in which a sensor reports what it measured."""

    local = case(None, "The frame of the measured object itself, as an accelerometer or a gyro does.")
    world = case(None, "The world.")
    object = case(VariantOf(ObjectType), "Relative to another object and in its axes.")


class FrameSensorType(SceneEnum):
    """A quantity of a frame."""

    FrameAngVel, FrameLinAcc, FrameLinVel, FramePos, FrameQuat = auto(), auto(), auto(), auto(), auto()
    XAxis, YAxis, ZAxis, FrameAngAcc = auto(), auto(), auto(), auto()


class JointSensorType(SceneEnum):
    """A quantity of a joint."""

    JointPos, JointVel, ActuatorForce, BallQuat = auto(), auto(), auto(), auto()
    BallAngVel, LimitPos, LimitVel, LimitForce = auto(), auto(), auto(), auto()


class SubtreeSensorType(SceneEnum):
    """A quantity of a link and all below it."""

    AngMom, Com, LinVel = auto(), auto(), auto()


class ContactSensorReduce(SceneEnum):
    """Which of several contacts a contact sensor keeps."""

    MaxForce, MinDist, NetForce, None_ = auto(), auto(), auto(), auto()


class ActuatorSensorType(SceneEnum):
    """A quantity of an actuator."""

    Pos, Vel, Force = auto(), auto(), auto()


class TendonSensorType(SceneEnum):
    """A quantity of a tendon."""

    Pos, Vel, ActuatorForce, LimitPos, LimitVel, LimitForce = auto(), auto(), auto(), auto(), auto(), auto()


class SiteSensorType(SceneEnum):
    """A quantity at a site, in its axes."""

    Force, Torque, Magnetometer, RangeFinder = auto(), auto(), auto(), auto()


class DistanceSensorType(SceneEnum):
    """A quantity of the shortest connection between two objects."""

    Distance, Normal, FromTo = auto(), auto(), auto()


class WorldSensorType(SceneEnum):
    """A quantity of the whole world."""

    Clock, PotentialEnergy, KineticEnergy = auto(), auto(), auto()


class ContactSides(TypedDict, total=False):
    """What both sides of a contact are, by name."""

    geom_a: str | None
    link_a: str | None
    subtree_a: str | None
    geom_b: str | None
    link_b: str | None
    subtree_b: str | None
    site: str | None


_SIDES = tuple(ContactSides.__annotations__)
_SIDE_KINDS = {"geom": "geom", "link": "link", "subtree": "link", "site": "site"}


class ContactMatch(Variant):
    """Which contacts a contact sensor sees."""

    geom_pair = case(Pair(Ref("geom")), "Those between two geoms.")
    link_pair = case(Pair(Ref("link")), "Those between the geoms of two links.")
    subtree_pair = case(Pair(Ref("link")), "Those between two links or anything below them.")

    @case(Named(_SIDES, **{name: Ref(_SIDE_KINDS[name.split("_")[0]]) for name in _SIDES}))
    @staticmethod
    @shared_keywords(ContactSides, **dict.fromkeys(_SIDES))
    def selection(**sides: Unpack[ContactSides]) -> ContactMatch:
        """Those that match each side that is given; a site takes what lies within its volume."""
        return ContactMatch._make("selection", **sides)
