# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes, sites and other things with a pose on a body, as columns, and what collision needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.model.force_tables import ForceModels
from worldline._src.model.tables import Table
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.scene.assets.cache import AssetCache
    from worldline._src.scene.assets.hfields import HeightField
    from worldline._src.scene.assets.library import AssetLibrary
    from worldline._src.scene.assets.mesh import Mesh
    from worldline._src.scene.options import CoACDConfig


class CombineKind(IntEnum):
    """How a coefficient of two touching shapes becomes one; where rules differ, the lower one wins."""

    MAXIMUM, GEOMETRIC_MEAN, AVERAGE, MINIMUM, PRODUCT = range(5)


@dataclass(eq=False)
class Shapes(Table):
    """Shapes of one world, those fixed to the world first, then body by body.

    Two shapes may touch when `group` of one meets `mask` of the other, either way round, unless they are on
    one body or on a body and its parent, or their bodies are excluded; see `ContactPairs` and
    `Model.excluded_bodies`.
    """

    label: list[str]
    kind: np.ndarray
    """`ShapeKind` of every shape, which also says what `size` means."""
    body: np.ndarray
    """Body of every shape, -1 for the world."""
    xform: Array
    """Pose in the body, position [m] and xyzw, shape (n, 7)."""
    size: Array
    """Half sizes [m], shape (n, 3)."""
    seen_size: Array
    """Half sizes [m] at which an infinite plane ends for range finders, shape (n, 2); 0 for no end."""
    source: np.ndarray
    """Mesh or height field of `Model.assets`, -1 for none."""
    scale: Array
    """Factors of the axes of a mesh, shape (n, 3)."""
    flags: np.ndarray
    """`ShapeFlags`."""
    group: np.ndarray
    """Collision groups it is in, a bit mask."""
    mask: np.ndarray
    """Collision groups it touches, a bit mask."""
    margin: Array
    """Distance below which contact is looked for [m]."""
    gap: Array
    """Contact pushes below the distance margin - gap [m]."""
    priority: np.ndarray
    """The shape of higher priority decides all below for both; equal ones combine."""
    condim: np.ndarray
    """Directions of contact force: 1 normal, 3 with sliding, 4 with spin, 6 with rolling."""
    friction: Array
    """Sliding [-], spin [m], rolling [m], shape (n, 3)."""
    friction_rule: np.ndarray
    """`CombineKind`."""
    restitution: Array
    """Coefficient of restitution, 0 to 1; not a number where the force law says it."""
    restitution_rule: np.ndarray
    """`CombineKind`."""
    force: ForceModels
    """How contact answers."""
    mix: Array
    """Weight where two laws are averaged."""
    fluid: Array
    """Blunt, slender and angular drag, Kutta and Magnus lift, shape (n, 5); not a number for none."""
    visual_group: np.ndarray
    """Visibility group, 0 to 7."""
    rgba: Array
    """Colour, shape (n, 4); not a number where the material says it."""
    material: np.ndarray
    """Index into `Model.material_label`, -1 for none."""

    def with_friction(self, friction: Array) -> Shapes:
        """The same shapes with other coefficients of friction, (shape_count, 3); all else is shared."""
        made = object.__new__(Shapes)
        vars(made).update(vars(self))
        friction.setflags(write=False)
        made.friction = friction
        return made


@dataclass(eq=False)
class Sites(Table):
    """Named poses on bodies, with a shape for touch sensors, for tendons and for show."""

    label: list[str]
    body: np.ndarray
    """Body of every site, -1 for the world."""
    xform: Array
    """Pose in the body, position [m] and xyzw, shape (n, 7)."""
    kind: np.ndarray
    """`ShapeKind`: sphere, capsule, box, cylinder or ellipsoid."""
    size: Array
    """Half sizes [m], shape (n, 3)."""


@dataclass(eq=False)
class Frames(Table):
    """Poses on bodies: cameras, lights or named frames."""

    label: list[str]
    body: np.ndarray
    """Body, -1 for the world."""
    xform: Array
    """Pose in the body, position [m] and xyzw, shape (n, 7)."""


@dataclass(eq=False)
class ContactPairs(Table):
    """Shapes that always may touch, with parameters of their own; masks do not apply and nothing combines."""

    label: list[str]
    shapes: np.ndarray
    """Shape (n, 2)."""
    condim: np.ndarray
    friction: Array
    """Two sliding [-], spin [m], two rolling [m], shape (n, 5)."""
    force: ForceModels
    """How contact answers along the normal."""
    friction_force: ForceModels
    """How it answers along the other directions; the same as `force` unless given."""
    margin: Array
    """[m]."""
    gap: Array
    """[m]."""


class Assets:
    """Meshes and height fields that shapes refer to by index, loaded on request.

    Attributes:
        mesh_label: Names of the meshes.
        hfield_label: Names of the height fields.
    """

    def __init__(self, library: AssetLibrary | None = None) -> None:
        self.mesh_label: list[str] = [] if library is None else list(library.assets.meshes)
        self.hfield_label: list[str] = [] if library is None else list(library.assets.hfields)
        self._library = library

    @property
    def cache(self) -> AssetCache:
        """Where results of slow work on these assets are kept."""
        return self._of_scene().cache

    def mesh(self, index: int) -> Mesh:
        """The mesh of an index, unscaled: vertices [m] (N, 3), triangles (M, 3)."""
        return self._of_scene().mesh(self.mesh_label[index])

    def hull(self, index: int) -> Mesh:
        """The convex hull of a mesh."""
        return self._of_scene().hull(self.mesh_label[index])

    def parts(self, index: int, config: CoACDConfig) -> list[Mesh]:
        """Convex parts whose union is close to a mesh."""
        return self._of_scene().parts(self.mesh_label[index], config)

    def hfield(self, index: int) -> HeightField:
        """The height field of an index."""
        return self._of_scene().hfield(self.hfield_label[index])

    def _of_scene(self) -> AssetLibrary:
        if self._library is None:
            raise IndexError("the model has no assets")
        return self._library
