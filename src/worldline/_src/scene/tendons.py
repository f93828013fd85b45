# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tendons: lengths made of joint coordinates, or of a path through space."""

from __future__ import annotations

from worldline._src.scene.base import Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.containers import Nested, OptionalOf
from worldline._src.scene.geometry import GROUP
from worldline._src.scene.kinds import NON_NEGATIVE, POSITIVE
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.values import RANGE, ImpedanceDamping, ImpedanceSpring, Range, StiffnessDamping
from worldline._src.scene.variant import Named, Variant, case
from worldline._src.scene.vectors import Numbers


class SpringLengthType(Variant):
    """The length at which the spring of a tendon is at rest."""

    automatic = case(None, "The length in the reference pose.")
    fixed = case(NON_NEGATIVE, "A given length, m.")
    range = case(RANGE, "Anything in the range, m: no force inside it.")


class _Tendon(Struct):
    friction_damping: ImpedanceDamping = part(ImpedanceDamping, "Softness of the dry friction.")
    frictionloss: float = value(NON_NEGATIVE, 0.0, "Dry friction, N.")
    limit: Range | None = field(default=None, converter=OptionalOf(RANGE), doc="Limits of the length, m.")
    limit_force: ImpedanceSpring = part(ImpedanceSpring, "How the limits answer.")
    name: str | None = optional(Name("tendon"), "Name.")
    spring: StiffnessDamping | None = optional(Nested(StiffnessDamping), "Spring toward its rest.")
    spring_length: SpringLengthType = part(SpringLengthType.automatic, "Where the spring is at rest.")
    margin: float = field(default=0.0, doc="Distance from a limit at which it becomes active, m.")
    armature: float = value(NON_NEGATIVE, 0.0, "Inertia of its speed, kg.")
    actuator_force_limit: Range | None = field(
        default=None, converter=OptionalOf(RANGE), doc="Bounds on the sum of actuator forces, N."
    )
    group: int = value(GROUP, 0, "Visibility group 0 to 7.")


class JointTendonNode(Struct):
    """A joint that counts toward the length of a tendon."""

    joint_name: str = value(Ref("joint"), "", "Joint.")
    weight: float = field(default=1.0, doc="Factor of its coordinate, m/rad or 1.")


class JointTendon(_Tendon):
    """A tendon whose length is a weighted sum of joint coordinates."""

    joints: Parts[JointTendonNode] = parts(JointTendonNode, "Joints and weights.")


class TendonPathNode(Variant):
    """A stretch of the path of a spatial tendon."""

    site = case(Ref("site"), "Passes through a site.")

    @case(Named(("side_site",), geom=Ref("geom"), side_site=Ref("site")))
    @staticmethod
    def geom(geom: str, side_site: str | None = None) -> TendonPathNode:
        """Wraps around a sphere or a cylinder, on the side of the given site."""
        return TendonPathNode._make("geom", **locals())

    pulley = case(POSITIVE, "Splits: the length of what follows is divided by the value.")


class SpatialTendon(_Tendon):
    """A tendon along the shortest path through sites and around geoms."""

    path: Parts[TendonPathNode] = parts(TendonPathNode, "The path.")
    width: float = value(NON_NEGATIVE, 0.003, "Drawn radius, m.")
    material: str | None = optional(Ref("material"), "Name of a material asset.")
    rgba: list[float] = field(default=(0.5, 0.5, 0.5, 1.0), converter=Numbers(4), doc="RGBA.")


class TendonSet(Struct):
    """All tendons of a scene."""

    joint_tendons: Parts[JointTendon] = parts(JointTendon, "Sums of coordinates.")
    spatial_tendons: Parts[SpatialTendon] = parts(SpatialTendon, "Paths in space.")
