# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Primitives fitted to meshes.

Both ways start from the frame of the mesh's principal axes at its centre of mass, ordered so that the mesh is
longest along z. `InertiaBox` takes the box of the same mass and inertia, `Aabb` the box that just holds all
vertices in that frame; the primitive is then fitted to this box.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.linear_algebra import matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.integrals import MeshIntegrals
from worldline._src.scene.assets.mesh import Mesh
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.geometry import ShapeType
from worldline._src.scene.mass_properties import principal_axes
from worldline._src.scene.options import ShapeFit
from worldline._src.scene.vectors import Array


class FittedShape(NamedTuple):
    """A primitive in the frame of a mesh.

    Attributes:
        size: Half sizes as in `Geometry`, m, (3,).
        position: Its centre in the axes of the mesh, m, (3,).
        rotation: Its axes in those of the mesh, xyzw, (4,).
    """

    size: Array
    position: Array
    rotation: Array


def inertia_box(integrals: MeshIntegrals) -> FittedShape:
    """The box with the mass and the inertia of a mesh."""
    moments, rotation = principal_axes(integrals.inertia)
    spread = moments.sum() - 2.0 * moments
    # a flat mesh may come out just below zero
    half = np.sqrt(1.5 * np.maximum(spread, 0.0) / integrals.content)
    return FittedShape(half, integrals.com, rotation)


def bounding_box(mesh: Mesh, integrals: MeshIntegrals) -> FittedShape:
    """The box along the principal axes of a mesh that just holds it."""
    rotation = principal_axes(integrals.inertia).rotation
    turn = rotation_matrix(rotation)
    inside = matmul(mesh.vertices - integrals.com, turn)
    low, high = inside.min(axis=0), inside.max(axis=0)
    return FittedShape(0.5 * (high - low), integrals.com + matmul(turn, 0.5 * (low + high)), rotation)


def fitted(
    shape: ShapeType, mesh: Mesh, integrals: MeshIntegrals, fit: ShapeFit, scale: float = 1.0
) -> FittedShape:
    """The primitive of a given shape that stands for a mesh.

    Args:
        shape: Sphere, Capsule, Cylinder, Ellipsoid or Box.
        mesh: The mesh.
        integrals: Its volume or surface, by the kind of inertia of the geom.
        fit: What to fit to.
        scale: Factor of the sizes.

    Raises:
        SceneError: The shape cannot be fitted.
    """
    inscribed = fit is ShapeFit.InertiaBox
    box = inertia_box(integrals) if inscribed else bounding_box(mesh, integrals)
    x, y, z = (float(half) for half in box.size)
    if shape is ShapeType.Sphere:
        size = ((x + y + z) / 3.0 if inscribed else max(x, y, z), 0.0, 0.0)
    elif shape in (ShapeType.Capsule, ShapeType.Cylinder):
        radius = 0.5 * (x + y) if inscribed else max(x, y)
        # the round ends of a capsule reach beyond its half length; of an equal inertia only by half
        ends = (0.5 * radius if inscribed else radius) if shape is ShapeType.Capsule else 0.0
        size = (radius, max(0.0, z - ends), 0.0)
    elif shape in (ShapeType.Box, ShapeType.Ellipsoid):
        size = (x, y, z)
    else:
        raise SceneError(
            f"given a {shape.name} to fit to a mesh; allowed: Sphere, Capsule, Cylinder, Ellipsoid, Box"
        )
    return FittedShape(scale * np.array(size), box.position, box.rotation)
