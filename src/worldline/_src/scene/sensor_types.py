# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What sensors look at, and which quantities they tell."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.texts import Ref
from worldline._src.scene.variant import Named, Pair, Variant, VariantOf


class ObjectType(
    Variant,
    cases={
        "link_inertia": Ref("link"),
        "link": Ref("link"),
        "geom": Ref("geom"),
        "site": Ref("site"),
        "camera": Ref("camera"),
        "frame": Ref("frame"),
    },
):
    """An object with a frame; cameras and named frames are Worldline's."""

    @staticmethod
    def link_inertia(value: str) -> ObjectType:
        """The principal frame of a link at its centre of mass."""
        return ObjectType._make("link_inertia", value)

    @staticmethod
    def link(value: str) -> ObjectType:
        """The frame of a link."""
        return ObjectType._make("link", value)

    @staticmethod
    def geom(value: str) -> ObjectType:
        """The frame of a geom."""
        return ObjectType._make("geom", value)

    @staticmethod
    def site(value: str) -> ObjectType:
        """The frame of a site."""
        return ObjectType._make("site", value)

    @staticmethod
    def camera(value: str) -> ObjectType:
        """The frame of a camera."""
        return ObjectType._make("camera", value)

    @staticmethod
    def frame(value: str) -> ObjectType:
        """A named frame."""
        return ObjectType._make("frame", value)


class FrameSensorRef(Variant, cases={"local": None, "world": None, "object": VariantOf(ObjectType)}):
    """The frame in which a sensor tells what it measured."""

    @staticmethod
    def local() -> FrameSensorRef:
        """The frame of the measured object itself, as an accelerometer or a gyro does."""
        return FrameSensorRef._make("local")

    @staticmethod
    def world() -> FrameSensorRef:
        """The world."""
        return FrameSensorRef._make("world")

    @staticmethod
    def object(value: ObjectType) -> FrameSensorRef:
        """Relative to another object and in its axes."""
        return FrameSensorRef._make("object", value)


class FrameSensorType(SceneEnum):
    """A quantity of a frame."""

    FrameAngVel = auto()
    FrameLinAcc = auto()
    FrameLinVel = auto()
    FramePos = auto()
    FrameQuat = auto()
    XAxis = auto()
    YAxis = auto()
    ZAxis = auto()
    FrameAngAcc = auto()


class JointSensorType(SceneEnum):
    """A quantity of a joint."""

    JointPos = auto()
    JointVel = auto()
    ActuatorForce = auto()
    BallQuat = auto()
    BallAngVel = auto()
    LimitPos = auto()
    LimitVel = auto()
    LimitForce = auto()


class SubtreeSensorType(SceneEnum):
    """A quantity of a link and all below it."""

    AngMom = auto()
    Com = auto()
    LinVel = auto()


class ContactSensorReduce(SceneEnum):
    """Which of several contacts a contact sensor keeps."""

    MaxForce = auto()
    MinDist = auto()
    NetForce = auto()
    None_ = auto()


class ActuatorSensorType(SceneEnum):
    """A quantity of an actuator."""

    Pos = auto()
    Vel = auto()
    Force = auto()


class TendonSensorType(SceneEnum):
    """A quantity of a tendon."""

    Pos = auto()
    Vel = auto()
    ActuatorForce = auto()
    LimitPos = auto()
    LimitVel = auto()
    LimitForce = auto()


class SiteSensorType(SceneEnum):
    """A quantity at a site, in its axes."""

    Force = auto()
    Torque = auto()
    Magnetometer = auto()
    RangeFinder = auto()


class DistanceSensorType(SceneEnum):
    """A quantity of the shortest connection between two objects."""

    Distance = auto()
    Normal = auto()
    FromTo = auto()


class WorldSensorType(SceneEnum):
    """A quantity of the whole world."""

    Clock = auto()
    PotentialEnergy = auto()
    KineticEnergy = auto()


class ContactMatch(
    Variant,
    cases={
        "geom_pair": Pair(Ref("geom")),
        "link_pair": Pair(Ref("link")),
        "subtree_pair": Pair(Ref("link")),
        "selection": Named(
            ("geom_a", "link_a", "subtree_a", "geom_b", "link_b", "subtree_b", "site"),
            geom_a=Ref("geom"),
            link_a=Ref("link"),
            subtree_a=Ref("link"),
            geom_b=Ref("geom"),
            link_b=Ref("link"),
            subtree_b=Ref("link"),
            site=Ref("site"),
        ),
    },
):
    """Which contacts a contact sensor sees."""

    @staticmethod
    def geom_pair(value_0: str, value_1: str) -> ContactMatch:
        """Those between two geoms."""
        return ContactMatch._make("geom_pair", value_0, value_1)

    @staticmethod
    def link_pair(value_0: str, value_1: str) -> ContactMatch:
        """Those between the geoms of two links."""
        return ContactMatch._make("link_pair", value_0, value_1)

    @staticmethod
    def subtree_pair(value_0: str, value_1: str) -> ContactMatch:
        """Those between two links or anything below them."""
        return ContactMatch._make("subtree_pair", value_0, value_1)

    @staticmethod
    def selection(
        *,
        geom_a: str | None = None,
        link_a: str | None = None,
        subtree_a: str | None = None,
        geom_b: str | None = None,
        link_b: str | None = None,
        subtree_b: str | None = None,
        site: str | None = None,
    ) -> ContactMatch:
        """Those that match each side that is given; a site takes what lies within its volume."""
        return ContactMatch._make(
            "selection",
            geom_a=geom_a,
            link_a=link_a,
            subtree_a=subtree_a,
            geom_b=geom_b,
            link_b=link_b,
            subtree_b=subtree_b,
            site=site,
        )
