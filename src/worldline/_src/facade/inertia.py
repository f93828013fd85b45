# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass properties of a body as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.model.checks import check_body, check_least
from worldline._src.scene.geometry import ShapeType
from worldline._src.scene.mass_properties import MassProperties, combined, is_physical, placed, primitive
from worldline._src.spatial.poses import Array


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass, centre of mass and inertia of a rigid body; a value that does not change.

    Attributes:
        mass: [kg].
        center_of_mass: in the body frame [m], (3,).
        moment: about the centre of mass, body axes [kg m^2], (3, 3).

    Numbers that no body can have are refused: a negative mass or principal moment, moments without mass, and
    a principal moment that exceeds the sum of the other two.

    Example:
        >>> from worldline import simulation as sx
        >>> ball = sx.Inertia.from_sphere(0.5, mass=10.0)
        >>> ball.moment.diagonal().tolist(), ball.is_valid
        ([1.0, 1.0, 1.0], True)
        >>> sx.Inertia(1.0, (0, 0, 0), np.diag([1.0, 1.0, 3.0]))  # 3 > 1 + 1
        Traceback (most recent call last):
        ...
        worldline.ArgumentError: Inertia: no body has the principal moments [1.0, 1.0, 3.0]; ...
    """

    mass: float = 1.0
    center_of_mass: Array = field(default_factory=lambda: np.zeros(3))
    moment: Array = field(default_factory=lambda: np.eye(3))

    def __init__(
        self,
        mass: float = 1.0,
        center_of_mass: VectorLike = (0.0, 0.0, 0.0),
        moment: TransformLike | None = None,
    ) -> None:
        given = np.eye(3) if moment is None else values.array(moment, "moment")
        if given.shape != (3, 3) or not np.isfinite(given).all() or not np.array_equal(given, given.T):
            raise ArgumentError(f"moment must be finite, symmetric and of shape (3, 3), got {given.tolist()}")
        center = values.vector3(center_of_mass, "center of mass")
        weight = values.real(mass, "mass")
        check_body(weight, given, "Inertia")
        check_least(weight, given, "Inertia")
        self._set(weight, center, given)

    def _set(self, mass: float, center: Array, moment: Array) -> None:
        for name, value in (("center_of_mass", center), ("moment", moment)):
            value = value.copy()
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "mass", mass)

    @classmethod
    def _as_found(cls, mass: float, center: Array, moment: Array) -> Inertia:
        """What a body of a file has, be it possible or not."""
        made = object.__new__(cls)
        made._set(mass, center, moment)
        return made

    # ---- from shapes

    @staticmethod
    def from_box(half_extents: VectorLike, *, density: float = 1000.0, mass: float | None = None) -> Inertia:
        """A solid box of half sizes [m], (3,); a mass [kg] replaces the density [kg/m^3]."""
        return _of(ShapeType.Box, values.vector3(half_extents, "half extents").tolist(), density, mass)

    @staticmethod
    def from_sphere(radius: float, *, density: float = 1000.0, mass: float | None = None) -> Inertia:
        """A solid ball of a radius [m]."""
        return _of(ShapeType.Sphere, [values.real(radius, "radius"), 0.0, 0.0], density, mass)

    @staticmethod
    def from_cylinder(
        radius: float, half_height: float, *, density: float = 1000.0, mass: float | None = None
    ) -> Inertia:
        """A solid cylinder along z with a radius and half its height [m]."""
        return _of(ShapeType.Cylinder, _round(radius, half_height), density, mass)

    @staticmethod
    def from_capsule(
        radius: float, half_height: float, *, density: float = 1000.0, mass: float | None = None
    ) -> Inertia:
        """A solid capsule along z: a radius about a segment of half length `half_height` [m]."""
        return _of(ShapeType.Capsule, _round(radius, half_height), density, mass)

    @staticmethod
    def from_points(points: TransformLike, masses: VectorLike | float) -> Inertia:
        """Point masses that are rigidly connected.

        Args:
            points: where they are, body frame [m], (n, 3).
            masses: [kg], (n,), or one number for each of them.

        Example:
            >>> from worldline import simulation as sx
            >>> bar = sx.Inertia.from_points([(-1, 0, 0), (1, 0, 0)], 0.5)
            >>> bar.mass, bar.moment.diagonal().tolist()
            (1.0, [0.0, 1.0, 1.0])
        """
        places = values.array(points, "points")
        if places.ndim != 2 or places.shape[1] != 3 or not len(places) or not np.isfinite(places).all():
            raise ArgumentError(f"points must be finite and of shape (n, 3), got shape {places.shape}")
        given = values.array(masses, "masses")
        if given.shape not in ((), (len(places),)) or not (np.isfinite(given) & (given > 0.0)).all():
            raise ArgumentError(
                f"masses must be positive and finite, one or {len(places)} of them, got {given.tolist()}"
            )
        weight = np.broadcast_to(given, len(places))
        total = float(weight.sum())
        center = weight @ places / total
        arms = places - center
        spread = (weight[:, None] * arms).T @ arms
        spread = 0.5 * (spread + spread.T)
        return Inertia(total, center, np.trace(spread) * np.eye(3) - spread)

    @staticmethod
    def from_spatial_tensor(tensor: TransformLike) -> Inertia:
        """From what `spatial_tensor` gives; refuses matrices without that structure."""
        given = values.array(tensor, "spatial tensor")
        if given.shape != (6, 6) or not np.isfinite(given).all() or given[3, 3] <= 0.0:
            raise ArgumentError(
                "a spatial tensor is finite, of shape (6, 6), with the mass in its last three rows; got "
                f"shape {given.shape}"
            )
        mass = float(given[3, 3])
        center = np.array([given[2, 4], given[0, 5], given[1, 3]]) / mass
        about_origin = 0.5 * (given[:3, :3] + given[:3, :3].T)
        made = Inertia(mass, center, about_origin - mass * ((center @ center) * np.eye(3) - _outer(center)))
        if np.abs(made.spatial_tensor - given).max() > 1e-9 * np.abs(given).max():
            raise ArgumentError("the matrix is not the spatial tensor of a rigid body")
        return made

    # ---- properties

    @property
    def spatial_tensor(self) -> Array:
        """Momentum about the body's origin per unit of velocity there, angular rows first, (6, 6)."""
        c = self.center_of_mass
        x, y, z = c.tolist()
        lever = self.mass * np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        about_origin = self.moment + self.mass * ((c @ c) * np.eye(3) - _outer(c))
        return values.read_only(np.block([[about_origin, lever], [lever.T, self.mass * np.eye(3)]]))

    @property
    def principal_moments(self) -> Array:
        """About the centre of mass, smallest first [kg m^2], (3,)."""
        return values.read_only(np.asarray(np.linalg.eigvalsh(self.moment), np.float64))

    @property
    def is_valid(self) -> bool:
        """Whether some body can have these; only bodies of files have others, see `World.from_file`.

        The mass is not negative, nor is a principal moment, and none exceeds the sum of the others; the
        spatial tensor is positive semidefinite then.
        """
        return bool(is_physical(self._properties()))

    def transformed(self, pose: TransformLike) -> Inertia:
        """The same body seen from a frame in which its own frame has that pose, 4x4."""
        p = values.pose_of(pose, "pose")
        return _from(placed(self._properties(), p[:3], p[3:]))

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies as one, both in the same frame."""
        if not isinstance(other, Inertia):
            return NotImplemented
        return _from(combined([self._properties(), other._properties()]))

    def _properties(self) -> MassProperties:
        return MassProperties(self.mass, self.center_of_mass, self.moment)


def _outer(c: Array) -> Array:
    return c[:, None] * c[None, :]


def _from(part: MassProperties) -> Inertia:
    # turning leaves the two halves unequal in the last digit
    return Inertia(part.mass, part.com, 0.5 * (part.inertia + part.inertia.T))


def _round(radius: float, half_height: float) -> list[float]:
    return [values.real(radius, "radius"), values.real(half_height, "half height"), 0.0]


def _of(shape: ShapeType, size: Sequence[float], density: float, mass: float | None) -> Inertia:
    if min(size) < 0.0 or size[0] <= 0.0 or (shape is ShapeType.Box and min(size) <= 0.0):
        raise ArgumentError(f"sizes of a {shape.name.lower()} must be positive, got {list(size)}")
    if mass is None:
        return _from(primitive(shape, size, density=values.positive(density, "density")))
    return _from(primitive(shape, size, mass=values.mass_of(mass, "mass")))
