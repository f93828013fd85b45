# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact: force models, physical materials, masks, and pairs with their own parameters."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.base import Choice, Struct, field, optional, value
from worldline._src.scene.containers import ListOf, Nested
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import NON_NEGATIVE, Integer, Real
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.values import Impedance, ImpedanceSpring, StiffnessDamping
from worldline._src.scene.variant import Named, Variant, case
from worldline._src.scene.vectors import Numbers

_ALL_BITS = 0xFFFF_FFFF
_MASK = Integer(minimum=-(2**31), maximum=_ALL_BITS)
_HARD = Named(bounciness=NON_NEGATIVE, erp=NON_NEGATIVE)


class ConstraintForceModel(Variant):
    """How a contact or a limit answers to being violated.

    Where two models meet, the one that comes first here wins: hard, force spring, acceleration spring,
    impedance.
    """

    @case(_HARD)
    @staticmethod
    def hard(bounciness: float, erp: float) -> ConstraintForceModel:
        """No give: a coefficient of restitution, and the share of the error removed in a step, 0 to 1."""
        return ConstraintForceModel._make("hard", **locals())

    force_spring = case(Nested(StiffnessDamping), "A spring of force, N/m: a heavier body sinks deeper.")
    acceleration_spring = case(
        Nested(StiffnessDamping), "A spring of acceleration, 1/s^2: bodies sink alike whatever their mass."
    )
    impedance = case(Nested(ImpedanceSpring), "A spring of acceleration scaled by an impedance profile.")


class ForceOverride(Variant):
    """A contact force model for the whole scene, in place of those of the geoms."""

    @case(_HARD)
    @staticmethod
    def hard(bounciness: float, erp: float) -> ForceOverride:
        """See `ConstraintForceModel.hard`."""
        return ForceOverride._make("hard", **locals())

    force_spring = case(Nested(StiffnessDamping), "See `ConstraintForceModel.force_spring`.")
    acceleration_spring = case(Nested(StiffnessDamping), "See `ConstraintForceModel.acceleration_spring`.")

    @case(Named(("spring", "impedance"), spring=Nested(StiffnessDamping), impedance=Nested(Impedance)))
    @staticmethod
    def impedance(
        spring: StiffnessDamping | None = None, impedance: Impedance | None = None
    ) -> ForceOverride:
        """See `ConstraintForceModel.impedance`; None keeps what the geom says."""
        return ForceOverride._make("impedance", **locals())


def default_force_model() -> ConstraintForceModel:
    """The model of contacts and limits unless one is given."""
    return ConstraintForceModel.acceleration_spring(StiffnessDamping())


class CombineRule(SceneEnum):
    """How a coefficient of two touching materials becomes one."""

    Maximum, GeometricMean, Average, Minimum, Product = auto(), auto(), auto(), auto(), auto()


class PhysicsMaterial(Struct):
    """What a geom is made of: contact force model, friction, density.

    The last three fields are Worldline's; they say how a material made of plain coefficients combines.
    """

    condim: int = value(
        Integer(minimum=1, maximum=6),
        3,
        "Directions of contact force: 1 normal, 3 with sliding, 4 with spin, 6 with rolling.",
    )
    contact_model: ConstraintForceModel = field(
        default_factory=default_force_model, doc="Contact force model."
    )
    density: float = value(NON_NEGATIVE, 1000.0, "Density, kg/m^3.")
    force_mix: float = value(NON_NEGATIVE, 1.0, "Weight when two force models are averaged.")
    friction: list[float] = field(
        default=(1.0, 0.005, 0.0001),
        converter=Numbers(3, minimum=0.0),
        doc="Coefficients of sliding (-), spin (m) and rolling (m).",
    )
    restitution: float | None = optional(
        Real(minimum=0.0, maximum=1.0), "Coefficient of restitution; None leaves it to the contact model."
    )
    friction_rule: Choice[CombineRule] = field(
        default=CombineRule.Maximum,
        doc="How friction combines with that of the other geom at equal priority.",
    )
    restitution_rule: Choice[CombineRule] = field(
        default=CombineRule.Maximum,
        doc="How restitution combines with that of the other geom at equal priority.",
    )


class CollisionMask(Struct):
    """Which geoms may touch: a pair does if either's group meets the other's `collide_with`."""

    collide_group: int = value(_MASK, 1, "Groups this geom is in, a bit mask.")
    collide_with: int = value(_MASK, 1, "Groups it touches, a bit mask.")

    @staticmethod
    def collide_with_all() -> CollisionMask:
        """A mask that touches everything that touches anything."""
        return CollisionMask(collide_group=_ALL_BITS, collide_with=_ALL_BITS)

    @staticmethod
    def non_collidable() -> CollisionMask:
        """A mask that touches nothing."""
        return CollisionMask(collide_group=0, collide_with=0)


class CollisionIgnores(Struct):
    """Pairs of links that never touch."""

    link_pairs: list[list[str]] = field(
        default_factory=list,
        converter=ListOf(ListOf(Ref("link"), length=2)),
        doc="Pairs of link names; `world` means everything fixed to the world.",
    )


class ContactPair(Struct):
    """Two geoms that always may touch, with parameters of their own.

    Masks and ignored pairs do not apply to them, and nothing is combined.
    """

    name: str | None = optional(Name("contact pair"), "Name.")
    geom_a: str = value(Ref("geom"), "", "First geom.")
    geom_b: str = value(Ref("geom"), "", "Second geom.")
    condim: int = value(Integer(minimum=1, maximum=6), 3, "See `PhysicsMaterial.condim`.")
    friction: list[float] = field(
        default=(1.0, 1.0, 0.005, 0.0001, 0.0001),
        converter=Numbers(5, minimum=0.0),
        doc="Sliding along two tangents (-), spin (m), rolling about two tangents (m).",
    )
    contact_model: ConstraintForceModel = field(
        default_factory=default_force_model, doc="Contact force model."
    )
    friction_model: ImpedanceSpring | None = optional(
        Nested(ImpedanceSpring), "Softness of the friction directions; None uses that of the normal one."
    )
    margin: float = field(default=0.0, doc="See `Geometry.margin`, m.")
    gap: float = field(default=0.0, doc="See `Geometry.gap`, m.")
