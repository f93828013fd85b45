# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What URDF and SDF have in common: links of given inertia, with visuals and collisions.

Both distinguish shapes that are seen from shapes that touch, and both require the mass properties of a link
in numbers. A scene has one list of geoms, which may be either or both, and may leave the inertia to them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from worldline._src.errors import Problem, SceneError, WorldlineError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.mesh import Mesh
from worldline._src.scene.assets.mesh_files import STL_ROW
from worldline._src.scene.bodies import Link
from worldline._src.scene.formats.rigid import unit
from worldline._src.scene.formats.urdf.shapes import COLLISION_GROUP, VISUAL_GROUP
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.formats.writing import file_beside
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.mass_properties import MassProperties, scaled_to_total
from worldline._src.scene.options import CompileOptions, InertiaSource
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.vectors import Array
from worldline._src.scene.world import World

_SHOWN: Final = 2
"""The last of the groups that are shown by default."""
INERTIA_OPTIONS: Final = (
    *("inertia_source", "inertia_groups", "balance_inertia", "bound_mass", "bound_inertia", "total_mass"),
    "shape_fit",
)
"""Compile options that are spent once the mass properties of all links are written in numbers."""


# inertia


class Inertial(NamedTuple):
    """Mass properties as both formats write them.

    Attributes:
        mass: Mass, kg.
        pose: Centre of mass and axes of the moments in the link.
        moments: xx, yy, zz, xy, xz, yz about the centre of mass, kg m^2.
    """

    mass: float
    pose: Pose
    moments: list[float]


class Inertias:
    """The mass properties of all links of a scene."""

    def __init__(self, world: World, library: AssetLibrary, notes: WriteLosses) -> None:
        self.notes = notes
        self.library = library
        options = world.compile_options
        # with these alone the numbers of a link are taken as they are
        harmless = CompileOptions(
            fuse_static=options.fuse_static,
            shape_fit=options.shape_fit,
            inertia_groups=options.inertia_groups,
            inertia_source=options.inertia_source,
        )
        self._as_given = options == harmless and options.inertia_source is not InertiaSource.Geometry
        self._scaled: dict[int, MassProperties] | None = None
        if options.total_mass is not None:
            links = list(world.hierarchy.links())
            found = scaled_to_total([library.link_properties(link) for link in links], options.total_mass)
            self._scaled = {id(link): part for link, part in zip(links, found, strict=True)}

    def of(self, link: Link, path: str) -> Inertial:
        """The mass properties of a link: those it gives, or else those the compiler finds."""
        given = link.inertial
        moments = given.full_inertia
        if moments is None and given.diag_inertia is not None:
            moments = [*given.diag_inertia.tolist(), 0.0, 0.0, 0.0]
        if self._as_given and given.mass is not None and given.pos is not None and moments is not None:
            turn = IDENTITY.rotation if given.orientation is None else given.orientation
            if any(_weighs(geom) for geom in link.geoms):
                message = (
                    "masses of shapes, which mean nothing beside the inertia of their link, are not written"
                )
                self.notes.kept(f"{path}.geoms", message)
            return Inertial(given.mass, Pose(given.pos, turn), list(moments))
        self.notes.kept(
            f"{path}.inertial", "written as the mass properties that follow from the shapes and options"
        )
        try:
            found = self.library.link_properties(link) if self._scaled is None else self._scaled[id(link)]
        except SceneError as error:
            # such as a missing mesh: without it the mass of the link is unknown
            raise SceneError("", [Problem(f"{path}.inertial", str(error))]) from None
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = found.inertia.tolist()
        return Inertial(found.mass, Pose(found.com, IDENTITY.rotation), [xx, yy, zz, xy, xz, yz])


def _weighs(geom: Geometry) -> bool:
    """Whether a geom says more of its mass than one that a file describes."""
    if touches(geom):
        return geom.mass is not None
    return geom.mass != 0.0


# visuals and collisions


def touches(geom: Geometry) -> bool:
    """Whether a geom can touch anything."""
    mask = geom.collision_mask
    return bool(mask.collide_group or mask.collide_with)


class Role(NamedTuple):
    """What a geom is written as."""

    geom: Geometry
    path: str
    is_visual: bool
    is_collision: bool


def written_size(role: Role, meshes: MeshFiles, notes: WriteLosses) -> tuple[list[float], Pose]:
    """Sizes and pose of a shape in its link; what was found for one that is fitted to a mesh."""
    geom = role.geom
    if geom.mesh is None or geom.shape is ShapeType.Mesh:
        return geom.size, unit(geom.position, geom.orientation)
    found = meshes.library.resolved(geom)
    notes.kept(role.path, "a shape that is fitted to a mesh is written with the sizes found")
    meshes.used.add(geom.mesh)
    return found.size.tolist(), Pose(found.position, found.rotation)


def roles(
    geoms: list[Geometry], path: str, notes: WriteLosses, can_say: Callable[[Geometry, str], bool]
) -> list[Role]:
    """What becomes of the geoms of a link.

    A geom that touches nothing is a visual, the others are collisions. One that touches and is to be seen
    beside visuals, or has a look of its own, is both.

    Args:
        geoms: The geoms of a link, or of the world.
        path: Where the list stands in the scene.
        notes: Where losses go.
        can_say: Whether the format has such a shape; notes it when not.
    """
    places = [(geom, f"{path}[{index}]") for index, geom in enumerate(geoms)]
    places = [(geom, place) for geom, place in places if can_say(geom, place)]
    solid = [geom for geom, _ in places if touches(geom)]
    looks = any(geom.visual.color or geom.visual.material for geom in solid)
    has_visuals = len(solid) < len(places)
    twice = looks or (has_visuals and any(geom.visual.group <= _SHOWN for geom in solid))
    made: list[Role] = []
    for geom, place in places:
        group = geom.visual.group
        if not touches(geom):
            made.append(Role(geom, place, True, False))
            expected = VISUAL_GROUP
        else:
            both = twice and group <= _SHOWN
            made.append(Role(geom, place, both, True))
            expected = COLLISION_GROUP if twice or has_visuals else 0
            if both:
                notes.approximated(place, "seen and solid: written as a visual and a collision")
                continue
        if group != expected:
            notes.left_out(f"{place}.visual.group")
    order = [role.is_collision for role in made if not role.is_visual or not role.is_collision]
    if order != sorted(order):
        notes.kept(path, "visuals come before collisions")
    return made


GEOM_SAID: Final = frozenset(
    (
        *("name", "shape", "size", "position", "orientation", "mesh", "mesh_scale", "hfield", "visual"),
        *("mass", "shell_inertia", "mesh_inertia", "fit_scale", "collision_mask", "physics_material"),
    )
)
"""Fields of a geom that writers look after one by one."""
TOUCHING: Final = ("gap", "margin", "priority", "mesh_surface")
"""Fields that mean nothing for a geom that touches nothing."""


# meshes


class MeshReference(NamedTuple):
    """What a shape says of its mesh.

    Attributes:
        file: Its file.
        part: The part of the file that is meant, None for all of it.
        scale: Scale along the axes, (3,); None leaves it as it is.
    """

    file: str
    part: str | None
    scale: Array | None


class MeshFiles:
    """The files of meshes, made where a scene has none that the format can name.

    Args:
        world: The scene; its relative paths start at the file that is written.
        library: Its meshes.
        file_path: The file that is written.
        files: Files to be written beside it, by path; None when there can be none.
        suffixes: Mesh files that the format knows.
        notes: Where losses go.
    """

    def __init__(
        self,
        world: World,
        library: AssetLibrary,
        file_path: Path | None,
        files: dict[str, bytes] | None,
        suffixes: tuple[str, ...],
        notes: WriteLosses,
    ) -> None:
        self.meshes = world.assets.meshes
        self.library, self.file_path, self.files = library, file_path, files
        self.suffixes, self.notes = suffixes, notes
        self.used: set[str] = set()
        self._made: dict[str, str | None] = {}

    def reference(
        self, name: str, scale: Array | None = None, *, parts: bool = False
    ) -> MeshReference | None:
        """The file of a mesh; None after noting that there can be none.

        Args:
            name: The mesh.
            scale: The scale that a shape gives it.
            parts: Whether the format can name one part of a file.
        """
        self.used.add(name)
        source = self.meshes[name]
        path = f"$.assets.meshes[{name!r}]"
        if source.value["acd"]:
            self.notes.left_out(f"{path}.acd")
        if source.variant == "path":
            chosen = sorted(source.value["using_meshes"])
            transform = source.value["transform"]
            is_in_place = transform.position is None and transform.rotation is None
            known = os.path.splitext(source.value["path"])[1].lower() in self.suffixes
            if is_in_place and known and len(chosen) <= int(parts):
                if transform.scale is not None:
                    self.notes.kept(path, "the scale of a mesh is given by the shapes that use it")
                    scale = transform.scale if scale is None else scale * transform.scale
                return MeshReference(source.value["path"], chosen[0] if chosen else None, scale)
        if name not in self._made:
            self._made[name] = self._written(name, path)
        made = self._made[name]
        return None if made is None else MeshReference(made, None, scale)

    def _written(self, name: str, path: str) -> str | None:
        if self.files is None or self.file_path is None:
            self.notes.left_out(path, "needs a file of its own, and only text is written")
            return None
        try:
            mesh = self.library.mesh(name)
        except WorldlineError as error:
            self.notes.left_out(path, str(error))
            return None
        self.notes.kept(path, "its triangles are written to a file of their own")
        data, suffix = mesh_file(mesh)
        return file_beside(self.files, self.file_path, name, suffix, data)


def mesh_file(mesh: Mesh) -> tuple[bytes, str]:
    """The content of a mesh file, and its suffix.

    Bare triangles in single precision, which most meshes are, make a binary STL file: small, and made in no
    time. Whatever that would lose makes an OBJ file.
    """
    single = mesh.vertices.astype(np.float32)
    used = np.zeros(len(single), bool)
    used[mesh.triangles] = True
    if mesh.texcoords is not None or mesh.normals is not None or not used.all():
        return wavefront(mesh).encode(), ".obj"
    return (stl(mesh), ".stl") if (single == mesh.vertices).all() else (wavefront(mesh).encode(), ".obj")


def stl(mesh: Mesh) -> bytes:
    """A mesh as binary STL, with the normals of its triangles."""
    rows = np.zeros(len(mesh.triangles), STL_ROW)
    a, b, c = mesh.corners
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    rows["normal"] = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    rows["corners"] = np.stack((a, b, c), axis=1)
    return bytes(80) + struct.pack("<I", len(rows)) + rows.tobytes()


def wavefront(mesh: Mesh) -> str:
    """A mesh as OBJ text."""
    tables = (("v ", mesh.vertices), ("vt ", mesh.texcoords), ("vn ", mesh.normals))
    lines: list[str] = []
    for word, table in tables:
        # not one by one through `number`: there may be millions
        lines += [] if table is None else [word + " ".join(map(repr, row)) for row in table.tolist()]
    corner = "{0}"
    if mesh.normals is not None:
        corner = "{0}//{0}" if mesh.texcoords is None else "{0}/{0}/{0}"
    elif mesh.texcoords is not None:
        corner = "{0}/{0}"
    triangle = " ".join(("f", corner, corner.replace("0", "1"), corner.replace("0", "2")))
    lines += [triangle.format(*row) for row in (mesh.triangles + 1).tolist()]
    return "\n".join(lines) + "\n"


# shapes


class ShapeFiles:
    """What writers of the shapes of all links have in common.

    Args:
        world: The scene.
        meshes: The files of its meshes.
        notes: What the format cannot say.
    """

    def __init__(self, world: World, meshes: MeshFiles, notes: WriteLosses) -> None:
        self.assets, self.meshes, self.notes = world.assets, meshes, notes

    def leave_out_unused(self, used: Mapping[str, Collection[str]], *said: str) -> None:
        """Notes assets that nothing in the file refers to, by table; `said` are the tables written whole."""
        for table, names in used.items():
            for name in sorted(getattr(self.assets, table).keys() - names):
                self.notes.left_out(f"$.assets.{table}[{name!r}]", "nothing in the file uses it")
        self.notes.rest(self.assets, "$.assets", (*said, *used))
