# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of shapes, and of links made of several.

Primitives have closed forms, all from the mean squares <x^2>, <y^2>, <z^2> of their points: a moment of
inertia is the sum of two of them. Meshes are integrated in `assets.integrals`. Everything here is a pure
function; `assets.library` brings the meshes.

The conventions are those of compiled MJCF models, to the last digits that matter: a surface has its density
per area, the surface of an ellipsoid is Thomsen's approximation and its inertia that of a layer 1e-6 m
thick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import dot, matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.integrals import MeshIntegrals
from worldline._src.scene.assets.rotations import quaternion, rotation_matrix, rotation_rows, z_axis
from worldline._src.scene.bodies import Inertia, Link
from worldline._src.scene.geometry import ShapeType
from worldline._src.scene.options import CompileOptions, InertiaSource
from worldline._src.scene.vectors import Array

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_SPHERE, _BOX, _CYLINDER = ShapeType.Sphere, ShapeType.Box, ShapeType.Cylinder
_CAPSULE, _ELLIPSOID, _CONE = ShapeType.Capsule, ShapeType.Ellipsoid, ShapeType.Cone
_SHELL: Final = 1.0e-6
_THOMSEN: Final = 1.6075
_MASSLESS: Final = (ShapeType.Plane, ShapeType.InfinitePlane, ShapeType.HField)


class MassProperties(NamedTuple):
    """Mass properties in the axes of some frame.

    Attributes:
        mass: Mass, kg.
        com: Centre of mass, m, (3,).
        inertia: Inertia about the centre of mass, kg m^2, (3, 3).
    """

    mass: float
    com: Array
    inertia: Array


class PrincipalAxes(NamedTuple):
    """Principal moments, largest first, kg m^2, (3,), and the rotation of their axes, xyzw, (4,)."""

    moments: Array
    rotation: Array


NOTHING: Final = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))


# primitives


def shape_content(shape: ShapeType, size: Sequence[float], shell: bool = False) -> float:
    """Volume of a primitive, m^3, or its surface, m^2; zero for planes and height fields.

    Args:
        shape: A primitive.
        size: Half sizes as in `Geometry`.
        shell: The surface instead of the volume.
    """
    a, b, c = size
    if shape in _MASSLESS:
        return 0.0
    if shape is _SPHERE:
        return 4.0 * math.pi * a * a if shell else 4.0 / 3.0 * math.pi * a**3
    if shape is _BOX:
        return 8.0 * (a * b + b * c + c * a) if shell else 8.0 * a * b * c
    if shape is _CYLINDER:
        return 2.0 * math.pi * a * (2.0 * b + a) if shell else 2.0 * math.pi * a * a * b
    if shape is _CAPSULE:
        return 4.0 * math.pi * a * (b + a) if shell else math.pi * a * a * (2.0 * b + 4.0 / 3.0 * a)
    if shape is _CONE:
        return math.pi * a * (a + math.hypot(a, 2.0 * b)) if shell else 2.0 / 3.0 * math.pi * a * a * b
    if shape is _ELLIPSOID:
        if not shell:
            return 4.0 / 3.0 * math.pi * a * b * c
        mean = ((a * b) ** _THOMSEN + (b * c) ** _THOMSEN + (c * a) ** _THOMSEN) / 3.0
        return 4.0 * math.pi * mean ** (1.0 / _THOMSEN)
    raise SceneError(f"given a {shape.name}; allowed: a primitive shape")


def center_height(shape: ShapeType, size: Sequence[float], shell: bool = False) -> float:
    """Where the centre of mass of a primitive is on its axis z, m; see `shape_content`."""
    if shape is not _CONE:
        return 0.0
    a, b, _ = size
    if not shell:
        return -0.5 * b
    # the mantle, at a third of the height, and the base
    base = a / (a + math.hypot(a, 2.0 * b))
    return -(1.0 - base) * b / 3.0 - base * b


def _mean_squares(shape: ShapeType, size: Sequence[float], shell: bool) -> tuple[float, float, float]:
    """Of a primitive that has a volume."""
    a, b, c = size
    if shape is _SPHERE:
        mean = a * a / 3.0 if shell else a * a / 5.0
        return mean, mean, mean
    if shape is _BOX:
        if not shell:
            return a * a / 3.0, b * b / 3.0, c * c / 3.0
        # on two of the six faces a coordinate is constant, on the others it is spread evenly
        faces = b * c + c * a + a * b
        shares = (b * c / faces, c * a / faces, a * b / faces)
        xx, yy, zz = (
            s * s * (share + (1.0 - share) / 3.0) for s, share in zip((a, b, c), shares, strict=True)
        )
        return xx, yy, zz
    if shape is _CYLINDER:
        # share of the caps, which the solid does not have
        caps = a / (2.0 * b + a) if shell else 0.0
        across = (1.0 - caps) * a * a / 2.0 + caps * a * a / 4.0 if shell else a * a / 4.0
        along = (1.0 - caps) * b * b / 3.0 + caps * b * b
        return across, across, along
    if shape is _CAPSULE:
        if shell:
            ends = a / (b + a)
            across = (1.0 - ends) * a * a / 2.0 + ends * a * a / 3.0
            along = (1.0 - ends) * b * b / 3.0 + ends * (b * b + a * b + a * a / 3.0)
        else:
            ends = 4.0 / 3.0 * a / (2.0 * b + 4.0 / 3.0 * a)
            across = (1.0 - ends) * a * a / 4.0 + ends * a * a / 5.0
            along = (1.0 - ends) * b * b / 3.0 + ends * (b * b + 0.75 * a * b + a * a / 5.0)
        return across, across, along
    if shape is _CONE:
        if not shell:
            return 0.15 * a * a, 0.15 * a * a, 0.15 * b * b
        base, center = a / (a + math.hypot(a, 2.0 * b)), center_height(shape, size, shell)
        # on the mantle heights are spread with a variance of (2 b)^2 / 18
        along = (1.0 - base) * (2.0 / 9.0 * b * b + (b / 3.0 + center) ** 2) + base * (b + center) ** 2
        return a * a / 4.0, a * a / 4.0, along
    if not shell:
        return a * a / 5.0, b * b / 5.0, c * c / 5.0
    # the layer between two ellipsoids, written as sums so that nothing cancels
    e = _SHELL
    volume = a * b * c
    layer = e * (a * b + b * c + c * a) + e * e * (a + b + c) + e**3
    xx, yy, zz = ((s + e) ** 2 / 5.0 + volume * e * (2.0 * s + e) / (5.0 * layer) for s in (a, b, c))
    return xx, yy, zz


_ORIGIN: Final = np.zeros(3)
_NO_TURN: Final = np.array((0.0, 0.0, 0.0, 1.0))
_ORIGIN.setflags(write=False)


def primitive(
    shape: ShapeType,
    size: Sequence[float],
    position: Array = _ORIGIN,
    rotation: Array = _NO_TURN,
    *,
    density: float = 1000.0,
    mass: float | None = None,
    shell: bool = False,
) -> MassProperties:
    """Mass properties of a primitive in the frame where it has this pose; a mass replaces the density."""
    if shape in _MASSLESS:
        return NOTHING
    content = shape_content(shape, size, shell)
    total = density * content if mass is None else mass
    if height := center_height(shape, size, shell):
        position = position + height * np.array(z_axis(rotation))
    xx, yy, zz = _mean_squares(shape, size, shell) if content > 0.0 else (0.0, 0.0, 0.0)
    a, b, c = total * (yy + zz), total * (xx + zz), total * (xx + yy)
    if a == b == c:
        return MassProperties(total, position, np.array(((a, 0.0, 0.0), (0.0, a, 0.0), (0.0, 0.0, a))))
    if a == b:
        # round about its axis z: the same about all axes, and something more or less about that one
        x, y, z = z_axis(rotation)
        more = c - a
        d, e, f = more * x * y, more * x * z, more * y * z
        i, j, k = a + more * x * x, a + more * y * y, a + more * z * z
        return MassProperties(total, position, np.array(((i, d, e), (d, j, f), (e, f, k))))
    (p, q, r), (s, t, u), (v, w, x) = rotation_rows(rotation)
    d, e, f = (
        p * s * a + q * t * b + r * u * c,
        p * v * a + q * w * b + r * x * c,
        s * v * a + t * w * b + u * x * c,
    )
    i, j, k = (
        p * p * a + q * q * b + r * r * c,
        s * s * a + t * t * b + u * u * c,
        v * v * a + w * w * b + x * x * c,
    )
    return MassProperties(total, position, np.array(((i, d, e), (d, j, f), (e, f, k))))


# meshes


def mesh_properties(
    integrals: MeshIntegrals, *, density: float = 1000.0, mass: float | None = None
) -> MassProperties:
    """Mass properties of a mesh in its own axes; a given mass replaces the density."""
    scale = density if mass is None else mass / integrals.content
    return MassProperties(scale * integrals.content, integrals.com, scale * integrals.inertia)


# several shapes


def placed(part: MassProperties, position: Array, rotation: Array) -> MassProperties:
    """Mass properties seen from the frame in which their own frame has the given pose; rotation is xyzw."""
    turn = rotation_matrix(rotation)
    return MassProperties(part.mass, position + matmul(turn, part.com), matmul(turn, part.inertia, turn.T))


def combined(parts: Iterable[MassProperties]) -> MassProperties:
    """Mass properties of several parts in one frame."""
    # files have links with moments and no mass, which count all the same
    real = [part for part in parts if part.mass > 0.0 or part.inertia.any()]
    if len(real) <= 1:
        return real[0] if real else NOTHING
    # plain floats: on arrays this small NumPy's overhead is ten times the arithmetic
    mass = sum([part.mass for part in real])
    places = [part.com.tolist() for part in real]
    x, y, z = (
        sum([part.mass * place[i] for part, place in zip(real, places, strict=True)]) / (mass or 1.0)
        for i in range(3)
    )
    i = j = k = d = e = f = 0.0
    for part, (a, b, c) in zip(real, places, strict=True):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = part.inertia.tolist()
        a, b, c, m = a - x, b - y, c - z, part.mass
        i, j, k = i + xx + m * (b * b + c * c), j + yy + m * (a * a + c * c), k + zz + m * (a * a + b * b)
        d, e, f = d + xy - m * a * b, e + xz - m * a * c, f + yz - m * b * c
    return MassProperties(mass, np.array((x, y, z)), np.array(((i, d, e), (d, j, f), (e, f, k))))


def moved(part: MassProperties, point: Array) -> Array:
    """Inertia of a part about another point, (3, 3)."""
    arm = part.com - point
    return part.inertia + part.mass * (dot(arm, arm) * np.eye(3) - np.outer(arm, arm))


def principal_axes(inertia: Array) -> PrincipalAxes:
    """Principal moments and axes of an inertia, by Jacobi rotations [Golub and Van Loan 2013, 8.5].

    Axes that are principal already stay as they are, also when moments are equal; a general solver would
    turn those at will.
    """
    matrix = 0.5 * (inertia + inertia.T)
    axes = np.eye(3)
    scale = float(np.abs(matrix).max())
    for _ in range(60):
        p, q = max(((0, 1), (0, 2), (1, 2)), key=lambda entry: abs(matrix[entry]))
        if not abs(matrix[p, q]) > 1.0e-15 * scale:
            break
        tau = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
        tangent = math.copysign(1.0, tau) / (abs(tau) + math.hypot(1.0, tau))
        cosine = 1.0 / math.hypot(1.0, tangent)
        turn = np.eye(3)
        turn[p, p] = turn[q, q] = cosine
        turn[p, q], turn[q, p] = tangent * cosine, -tangent * cosine
        matrix, axes = matmul(turn.T, matrix, turn), matmul(axes, turn)
    order = np.argsort(-np.diag(matrix), kind="stable")
    axes = axes[:, order]
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] = -axes[:, 2]
    return PrincipalAxes(np.diag(matrix)[order].copy(), quaternion(axes))


# rules of a scene


def given_properties(inertial: Inertia, from_geoms: MassProperties) -> MassProperties:
    """Mass properties of a link: what its `Inertia` gives, and what it leaves open from its geoms.

    Moments that are left open are those of the geoms, scaled to the mass.
    """
    if inertial.mass is None and inertial.pos is None and from_geoms.mass > 0.0:
        if inertial.full_inertia is None and inertial.diag_inertia is None:
            return from_geoms
    mass = from_geoms.mass if inertial.mass is None else inertial.mass
    # the inertial frame of a body without mass is no centre of mass once its geoms have some
    is_open = not inertial.has_own_pos and inertial.mass is None and from_geoms.mass > 0.0
    com = from_geoms.com if inertial.pos is None or is_open else inertial.pos
    if inertial.full_inertia is not None:
        xx, yy, zz, xy, xz, yz = inertial.full_inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif inertial.diag_inertia is not None:
        inertia = np.diag(inertial.diag_inertia)
    else:
        scale = mass / from_geoms.mass if from_geoms.mass > 0.0 else 0.0
        return MassProperties(mass, com, scale * from_geoms.inertia)
    turn = np.eye(3) if inertial.orientation is None else rotation_matrix(inertial.orientation)
    return MassProperties(mass, com, matmul(turn, inertia, turn.T))


def bounded(part: MassProperties, least_mass: float = 0.0, least_moment: float = 0.0) -> MassProperties:
    """Mass and principal moments raised to a bound."""
    mass = max(part.mass, least_mass)
    if not least_moment > 0.0:
        # without a bound even impossible moments stay as they are
        return part if mass == part.mass else part._replace(mass=mass)
    moments, rotation = principal_axes(part.inertia)
    if moments[2] >= least_moment:
        return part._replace(mass=mass)
    turn = rotation_matrix(rotation)
    raised = np.maximum(moments, least_moment)
    return MassProperties(mass, part.com, matmul(turn, np.diag(raised), turn.T))


def is_physical(part: MassProperties, slack: float = 1.0e-9) -> bool:
    """Whether some body can have these.

    Nothing is negative, no moment exceeds the sum of the others, and there are none without mass.
    """
    moments = principal_axes(part.inertia).moments
    tolerance = slack * abs(moments[0])
    if part.mass < 0.0 or (part.mass == 0.0 and part.inertia.any()):
        return False
    return moments[2] >= -tolerance and moments[1] + moments[2] >= moments[0] - tolerance


def balanced(part: MassProperties) -> MassProperties:
    """The same, or with all three moments at their mean when one exceeds the sum of the others."""
    moments = principal_axes(part.inertia).moments
    # a thin plate is just at the bound, and rounding must not make a ball of it
    if moments[1] + moments[2] >= (1.0 - 1.0e-12) * moments[0]:
        return part
    return part._replace(inertia=float(moments.mean()) * np.eye(3))


def scaled_to_total(parts: Sequence[MassProperties], total: float) -> list[MassProperties]:
    """All parts with their density scaled so that the masses add up to `total`, kg."""
    mass = sum(part.mass for part in parts)
    if not mass > 0.0:
        raise SceneError("the total mass cannot be set: all masses are zero")
    scale = total / mass
    return [MassProperties(scale * p.mass, p.com, scale * p.inertia) for p in parts]


def in_groups(group: int, groups: Sequence[int] | None) -> bool:
    """Whether geoms of a visibility group count toward inertia."""
    return groups is None or groups[0] <= group <= groups[1]


def has_counted_mass(link: Link, options: CompileOptions) -> bool:
    """Whether geoms of a link give it mass under the compile options."""
    if options.inertia_source is InertiaSource.Given:
        return False
    counted = (geom for geom in link.geoms if in_groups(geom.visual.group, options.inertia_groups))
    return any(
        geom.shape not in _MASSLESS
        and (geom.mass or (geom.mass is None and geom.physics_material.density > 0.0))
        for geom in counted
    )
