# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Volumes, areas and moments of meshes.

A mesh is integrated triangle by triangle: each spans a tetrahedron with a common apex, or is a thin plate.
The volume integrals are exact for a closed mesh whatever the apex. For one that is not closed the apex
matters; as in compiled MJCF models it is the centroid of the triangles at first, for the centre of mass,
and then that centre.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import weighted_sum
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.mesh import Mesh, topology
from worldline._src.scene.geometry import MeshInertia
from worldline._src.scene.vectors import Array

_TINY: Final = 1.0e-15
"""Content, m^3 or m^2, below which there is nothing to integrate."""


class MeshIntegrals(NamedTuple):
    """What a mesh encloses or covers, at unit density.

    Attributes:
        content: Volume, m^3, or area, m^2, for a shell.
        com: Centre of mass in the axes of the mesh, m, (3,).
        inertia: Inertia about it, (3, 3).
        mode: How it was integrated; never Auto.
    """

    content: float
    com: Array
    inertia: Array
    mode: MeshInertia


def mesh_integrals(mesh: Mesh, mode: MeshInertia = MeshInertia.Auto, where: str = "mesh") -> MeshIntegrals:
    """Volume or area of a mesh with its moments.

    Raises:
        SceneError: Exact is requested for a mesh whose triangles disagree or face inward, or there is nothing
            to integrate.
    """
    if mode is MeshInertia.Auto:
        return _automatic(mesh, where)
    if mode is MeshInertia.Convex:
        mesh = convex_hull(mesh.vertices, where=where)
    elif mode is MeshInertia.Exact and not topology(mesh).is_oriented:
        raise SceneError(
            f"{where}: triangles that share an edge disagree about the outside; "
            "use convex or shell inertia, or repair the mesh"
        )
    found = _integrals(mesh, mode)
    if found.content < -_TINY:
        raise SceneError(f"{where}: the triangles face inward, the volume is {found.content:g} m^3")
    if found.content < _TINY:
        what = "area" if mode is MeshInertia.Shell else "volume"
        raise SceneError(
            f"{where}: the {what} is too small: {found.content:g}; try another inertia, such as shell"
        )
    return found


def _automatic(mesh: Mesh, where: str) -> MeshIntegrals:
    if topology(mesh).is_closed:
        found = _integrals(mesh, MeshInertia.Exact)
        if abs(found.content) > _TINY:
            sign = math.copysign(1.0, found.content)
            return found._replace(content=sign * found.content, inertia=sign * found.inertia)
    hull = convex_hull(mesh.vertices, where=where)
    found = _integrals(hull, MeshInertia.Convex)
    if found.content > _TINY:
        return found
    return mesh_integrals(mesh, MeshInertia.Shell, where)


def _integrals(mesh: Mesh, mode: MeshInertia) -> MeshIntegrals:
    corners = mesh.corners
    normals = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    areas = 0.5 * np.sqrt(np.einsum("ij,ij->i", normals, normals))
    area = float(areas.sum())
    centres = (corners[0] + corners[1] + corners[2]) / 3.0
    if not area > 0.0:
        return MeshIntegrals(0.0, np.zeros(3), np.zeros((3, 3)), mode)
    centroid = weighted_sum(areas, centres) / area
    if mode is MeshInertia.Shell:
        return MeshIntegrals(area, centroid, _second_moments(corners, centroid, areas, 12.0), mode)
    volumes = _volumes(corners, centroid, mode)
    total = float(volumes.sum())
    if not abs(total) > 0.0:
        return MeshIntegrals(0.0, centroid, np.zeros((3, 3)), mode)
    # the apex of every tetrahedron is the centroid: its share is a quarter, the triangle's three quarters
    com = centroid + 0.75 * weighted_sum(volumes, centres - centroid) / total
    volumes = _volumes(corners, com, mode)
    return MeshIntegrals(float(volumes.sum()), com, _second_moments(corners, com, volumes, 20.0), mode)


def _volumes(corners: tuple[Array, Array, Array], apex: Array, mode: MeshInertia) -> Array:
    a, b, c = (corner - apex for corner in corners)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    return np.abs(volumes) if mode is MeshInertia.Legacy else volumes


def _second_moments(
    corners: tuple[Array, Array, Array], about: Array, weights: Array, divisor: float
) -> Array:
    """Inertia of weighted triangles (divisor 12), or of tetrahedra over them (divisor 20), about a point."""
    a, b, c = (corner - about for corner in corners)
    total = a + b + c
    products = sum(_products(weights, x) for x in (a, b, c, total)) / divisor
    return np.trace(products) * np.eye(3) - products


def _products(weights: Array, x: Array) -> Array:
    """The sum of w x x^T over rows x, (3, 3)."""
    return np.array([weighted_sum(weights * x[:, k], x) for k in range(3)])
