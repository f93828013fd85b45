# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Assets that scenes share by name: meshes, height fields, materials and textures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from worldline._src.scene.arrays import Grid, Table, Triangles
from worldline._src.scene.base import Struct, field, optional, value
from worldline._src.scene.containers import Nested, OptionalOf, TableOf, TextSet
from worldline._src.scene.kinds import COUNT, FLAG, NON_NEGATIVE
from worldline._src.scene.materials import Material, Texture
from worldline._src.scene.texts import FILE_PATH, LABEL, TEXT, Ref
from worldline._src.scene.variant import Named, Variant, VariantOf, case
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, IntArray, Numbers, TableLike, VectorLike


class MeshData(Struct):
    """Triangles in memory; all attributes have one entry for each vertex.

    Example:
        >>> mesh = MeshData(name="flake", vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> mesh.vertex_count, mesh.triangle_count
        (3, 1)
    """

    name: str = value(LABEL, "", "Name.")
    normal: Array | None = field(default=None, converter=OptionalOf(Table(3)), doc="Normals, (N, 3).")
    tangents: Array | None = field(
        default=None, converter=OptionalOf(Table(4)), doc="Tangents with handedness, (N, 4)."
    )
    texcoord: Array | None = field(
        default=None, converter=OptionalOf(Table(2)), doc="Texture coordinates, (N, 2)."
    )
    triangles: IntArray | None = field(
        default=None,
        converter=OptionalOf(Triangles()),
        doc="Vertex indices, (M, 3); None takes the vertices three by three.",
    )
    vertices: Array = field(
        default_factory=lambda: np.empty((0, 3)), converter=Table(3), doc="Vertices, m, (N, 3)."
    )

    @property
    def vertex_count(self) -> int:
        """How many vertices there are."""
        return len(self.vertices)

    @property
    def triangle_count(self) -> int:
        """How many triangles there are."""
        return len(self.vertices) // 3 if self.triangles is None else len(self.triangles)


class MeshTransform(Struct):
    """The pose and scale of a geom's frame in its mesh file."""

    position: Array | None = field(
        default=None, converter=OptionalOf(VECTOR3), doc="Origin, m, (3,); subtracted."
    )
    rotation: Array | None = field(
        default=None, converter=OptionalOf(QUATERNION), doc="Rotation, xyzw, (4,); undone."
    )
    scale: Array | None = field(
        default=None, converter=OptionalOf(VECTOR3), doc="Scale along the axes, (3,); applied last."
    )


class MeshSource(Variant):
    """Where a mesh comes from."""

    @case(
        Named(
            {"transform": MeshTransform, "using_meshes": set, "acd": bool},
            path=FILE_PATH,
            transform=Nested(MeshTransform),
            using_meshes=TextSet(),
            acd=FLAG,
        )
    )
    @staticmethod
    def path(
        path: str,
        transform: MeshTransform | None = None,
        using_meshes: Iterable[str] | None = None,
        acd: bool | None = None,
    ) -> MeshSource:
        """A file, all of it or the named parts; `acd` requests a convex decomposition."""
        return MeshSource._make("path", **locals())

    @case(Named({"acd": bool}, data=Nested(MeshData), acd=FLAG))
    @staticmethod
    def buffer(data: MeshData, acd: bool | None = None) -> MeshSource:
        """Triangles in memory; `acd` requests a convex decomposition."""
        return MeshSource._make("buffer", **locals())


class HFieldSourceType(Variant):
    """Where the heights of a height field come from."""

    @case(Named(("content_type",), path=FILE_PATH, content_type=TEXT))
    @staticmethod
    def path(path: str, content_type: str | None = None) -> HFieldSourceType:
        """A file: an image, or a table of heights."""
        return HFieldSourceType._make("path", **locals())

    @case(Named(hfield=Grid(), name=LABEL))
    @staticmethod
    def buffer(hfield: VectorLike | TableLike, name: str) -> HFieldSourceType:
        """Heights in memory, m before scaling: row by row, the first at -y, columns toward +x."""
        return HFieldSourceType._make("buffer", **locals())


class HFieldSource(Struct):
    """A height field: a grid of heights over a rectangle about the origin."""

    height_scale: float = field(default=1.0, doc="Factor of the heights.")
    ncol: int = value(COUNT, 0, "Columns, along x.")
    nrow: int = value(COUNT, 0, "Rows, along y.")
    size: list[float] = field(
        default=(1.0, 1.0), converter=Numbers(2, minimum=0.0), doc="Size along x and y, m."
    )
    source_type: HFieldSourceType = field(
        default_factory=lambda: HFieldSourceType.buffer((), ""), doc="Where the heights come from."
    )
    base: float = value(NON_NEGATIVE, 0.0, "Thickness of the ground below height 0, m.")


class AssetSpecs(Struct):
    """All assets of a scene by name."""

    hfields: dict[str, HFieldSource] = field(
        default_factory=dict, converter=TableOf("hfield", Nested(HFieldSource)), doc="Height fields."
    )
    materials: dict[str, Material] = field(
        default_factory=dict,
        converter=TableOf("material", Nested(Material)),
        doc="Materials; those that come with a mesh file are named path#material.",
    )
    meshes: dict[str, MeshSource] = field(
        default_factory=dict, converter=TableOf("mesh", VariantOf(MeshSource)), doc="Meshes."
    )
    skybox: str | None = optional(Ref("texture"), "Texture of the sky.")
    textures: dict[str, Texture] = field(
        default_factory=dict, converter=TableOf("texture", Nested(Texture)), doc="Textures."
    )
