# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Initial state and mass properties of bodies and links, as value objects."""

from __future__ import annotations

from typing import Any, TypedDict, TypeVar

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.inertia import Inertia
from worldline._src.facade.options import Options, Setting, flag
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.scene.bodies import Inertia as SceneInertia
from worldline._src.spatial.poses import Array

InertiaLike = VectorLike | TransformLike | Inertia
"""Three moments, (3,), a matrix, (3, 3), or mass, centre of mass and matrix as one value."""
ASSUMED_INERTIA = np.eye(3)
"""Of bodies that have neither inertia nor shapes [kg m^2]."""


def checked_inertia(value: Inertia, what: str) -> Inertia:
    """An Inertia that a body of a World can have."""
    if not isinstance(value, Inertia):
        raise values.ShapeError(f"{what} must be an Inertia, got {value!r}")
    values.mass_of(value.mass, f"{what}: mass")
    values.inertia_of(value.moment, f"{what}: the moment")
    return value


class _Massive(Options):
    """Options with mass, inertia and centre of mass; an Inertia assigned to `inertia` sets all three."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "inertia" and isinstance(value, Inertia):
            checked_inertia(value, f"{type(self).__name__} inertia")
            super().__setattr__("mass", value.mass)
            super().__setattr__("center_of_mass", value.center_of_mass)
            value = value.moment
        super().__setattr__(name, value)

    def _set_mass(
        self, mass: float | None, inertia: InertiaLike | None, center_of_mass: VectorLike | None
    ) -> None:
        if isinstance(inertia, Inertia) and (mass is not None or center_of_mass is not None):
            raise ArgumentError(
                f"{type(self).__name__}: an Inertia holds mass and centre of mass; leave them out"
            )
        self.mass = 1.0 if mass is None else mass
        self.center_of_mass = center_of_mass
        self.inertia = inertia


def described_inertia(options: _Massive) -> SceneInertia:
    """Mass properties of a body without shapes in the description, and which of them are its own.

    Given moments are about the given centre of mass, or about the origin. Without them both wait for shapes.
    """
    moments, center = options.inertia, options.center_of_mass
    return SceneInertia(
        mass=options.mass,
        pos=np.zeros(3) if center is None else center,
        full_inertia=six_moments(np.asarray(ASSUMED_INERTIA if moments is None else moments)),
        has_own_moments=moments is not None,
        has_own_pos=moments is not None or center is not None,
    )


def six_moments(inertia: Array) -> list[float]:
    """xx, yy, zz, xy, xz, yz of a matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    return [xx, yy, zz, xy, xz, yz]


M = TypeVar("M", bound=_Massive)


class MassKeywords(TypedDict, total=False):
    """Keywords of methods that add links, which override the options."""

    mass: float | None
    inertia: InertiaLike | None
    center_of_mass: VectorLike | None


def overridden(
    who: str,
    usual: M,
    given: M | None,
    mass: float | None = None,
    inertia: InertiaLike | None = None,
    center_of_mass: VectorLike | None = None,
) -> M:
    """A copy of the options that are given, or the usual ones, with what keywords say of mass.

    `who` names the body in errors.
    """
    if given is not None and type(given) is not type(usual):
        raise values.ShapeError(f"options must be a {type(usual).__name__}, got {given!r}")
    chosen = usual if given is None else given.copy()
    if isinstance(inertia, Inertia):
        if mass is not None or center_of_mass is not None:
            raise ArgumentError(f"{who}: an Inertia holds mass and centre of mass; leave those keywords out")
        checked_inertia(inertia, f"{who}: inertia")
    elif inertia is not None:
        inertia = values.inertia_of(inertia, f"{who}: inertia")
    if mass is not None:
        mass = values.mass_of(mass, f"{who}: mass")
    if center_of_mass is not None:
        center_of_mass = values.vector3(center_of_mass, f"{who}: center of mass")
    for field, value in (("mass", mass), ("inertia", inertia), ("center_of_mass", center_of_mass)):
        if value is not None:
            setattr(chosen, field, value)
    return chosen


class RigidBodyOptions(_Massive):
    """How a rigid body starts.

    Args:
        mass: [kg], positive; 1 when None.
        inertia: about the centre of mass, body axes [kg m^2], (3, 3), or an `Inertia` in the place of mass,
            inertia and centre of mass. When None, that of the collision shapes the body gets, with uniform
            density and scaled to the mass; 1 kg m^2 about every axis while it has none, which
            see `StepReport.notes`.
        position: of the body's origin, world frame [m], (3,).
        orientation: xyzw, (4,); made unit.
        linear_velocity: of the origin, world axes [m/s], (3,).
        angular_velocity: world axes [rad/s], (3,).
        is_static: the body never moves.
        center_of_mass: in the body frame [m], (3,). When None, the origin with a given inertia, and otherwise
            that of the collision shapes.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.RigidBodyOptions(mass=2.0).mass
        2.0
        >>> sx.RigidBodyOptions(inertia=sx.Inertia.from_sphere(0.5, mass=10.0)).inertia[0].tolist()
        [1.0, 0.0, 0.0]
    """

    mass: Setting[float, float] = Setting(lambda v: values.mass_of(v, "RigidBodyOptions mass: mass"))
    inertia: Setting[Array | None, InertiaLike | None] = Setting(
        lambda v: None if v is None else values.inertia_of(v, "RigidBodyOptions inertia: inertia")
    )
    position: Setting[Array, VectorLike] = Setting(lambda v: values.vector3(v, "RigidBodyOptions: position"))
    orientation: Setting[Array, VectorLike] = Setting(
        lambda v: values.quaternion_of(v, "RigidBodyOptions: orientation")
    )
    linear_velocity: Setting[Array, VectorLike] = Setting(
        lambda v: values.vector3(v, "RigidBodyOptions: linear velocity")
    )
    angular_velocity: Setting[Array, VectorLike] = Setting(
        lambda v: values.vector3(v, "RigidBodyOptions: angular velocity")
    )
    is_static: Setting[bool, bool] = Setting(flag("RigidBodyOptions is_static"))
    center_of_mass: Setting[Array | None, VectorLike | None] = Setting(
        lambda v: None if v is None else values.vector3(v, "RigidBodyOptions: center of mass")
    )

    def __init__(
        self,
        mass: float | None = None,
        inertia: InertiaLike | None = None,
        position: VectorLike = (0.0, 0.0, 0.0),
        orientation: VectorLike = (0.0, 0.0, 0.0, 1.0),
        linear_velocity: VectorLike = (0.0, 0.0, 0.0),
        angular_velocity: VectorLike = (0.0, 0.0, 0.0),
        is_static: bool = False,
        center_of_mass: VectorLike | None = None,
    ) -> None:
        self._set_mass(mass, inertia, center_of_mass)
        self.position, self.orientation = position, orientation
        self.linear_velocity, self.angular_velocity = linear_velocity, angular_velocity
        self.is_static = is_static


class LinkOptions(_Massive):
    """How a link of a multibody is made; its place follows from its joint.

    Args:
        mass: [kg], positive; 1 when None.
        inertia: about the centre of mass, link axes [kg m^2], (3, 3), or an `Inertia` in the place of mass,
            inertia and centre of mass. When None, that of the collision shapes the link gets; see
            `RigidBodyOptions`.
        center_of_mass: in the link frame [m], (3,). When None, the origin with a given inertia, and otherwise
            that of the collision shapes.
        gravity_compensation: share of its weight that is compensated; 1 makes it float.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> rod = sx.LinkOptions(inertia=sx.Inertia.from_capsule(0.05, 0.5, mass=2.0))
        >>> arm.add_link("rod", joint=sx.JointSpec(axis=(0, 1, 0)), options=rod).mass
        2.0
    """

    mass: Setting[float, float] = Setting(lambda v: values.mass_of(v, "Link mass: mass"))
    inertia: Setting[Array | None, InertiaLike | None] = Setting(
        lambda v: None if v is None else values.inertia_of(v, "LinkOptions inertia: inertia")
    )
    center_of_mass: Setting[Array | None, VectorLike | None] = Setting(
        lambda v: None if v is None else values.vector3(v, "LinkOptions center of mass")
    )
    gravity_compensation: Setting[float, float] = Setting(
        lambda v: values.real(v, "Link gravity compensation")
    )

    def __init__(
        self,
        mass: float | None = None,
        inertia: InertiaLike | None = None,
        center_of_mass: VectorLike | None = None,
        gravity_compensation: float = 0.0,
    ) -> None:
        self._set_mass(mass, inertia, center_of_mass)
        self.gravity_compensation = gravity_compensation
