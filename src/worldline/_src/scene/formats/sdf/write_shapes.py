# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visuals, collisions and inertia of SDF links; `shapes.py` reads them back."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.errors import WorldlineError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.assets.hfields import HeightField
from worldline._src.scene.assets.references import MESH_SUFFIXES, free_name
from worldline._src.scene.formats import parts
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites, product, unit
from worldline._src.scene.formats.sdf.frames import SEPARATOR
from worldline._src.scene.formats.sdf.write_looks import LookWriter
from worldline._src.scene.formats.sdf.write_values import put, write_pose
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.formats.writing import file_beside
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

SUFFIXES: Final = tuple(suffix for suffix in MESH_SUFFIXES if suffix != ".msh")
_ORDER: Final = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WIDE: Final = "100 100"
"""Displayed size of an infinite plane [m]."""
_PLAIN_MASKS: Final = ((1, 1), (0, 0))
"""Masks with which all shapes collide, or none do."""


def write_inertial(link: XmlElement, inertial: parts.Inertial) -> None:
    """An <inertial>; a link without one would weigh a kilogram."""
    made = child(link, "inertial")
    write_pose(made, unit(*inertial.pose))
    put(made, "mass", finite(inertial.mass))
    moments = child(made, "inertia")
    found = dict(zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), inertial.moments, strict=True))
    for tag in _ORDER:
        put(moments, tag, finite(found[tag]))


class _Heights(NamedTuple):
    """A file of heights, the size along x, y and z that they are spread over, m, and the lowest height, m."""

    file: str
    size: list[float]
    lowest: float


class ShapeWriter(parts.ShapeFiles):
    """Writes the shapes of all links."""

    def __init__(self, world: World, meshes: parts.MeshFiles, notes: WriteLosses) -> None:
        super().__init__(world, meshes, notes)
        self.looks = LookWriter(world, notes)
        self._hfields: dict[str, _Heights | None] = {}
        # a shape without a mask has many bits in SDF, so where masks count all of them are written
        geoms = (*world.hierarchy.geoms, *(geom for link in world.hierarchy.links() for geom in link.geoms))
        self._has_masks = any(_bits(geom) not in _PLAIN_MASKS for geom in geoms)

    def note_unused(self) -> None:
        """Assets that nothing in the file refers to."""
        self.looks.note_unused()
        used = {"meshes": self.meshes.used, "hfields": self._hfields}
        self.leave_out_unused(used, "materials", "textures")

    def write_shapes(self, element: XmlElement, geoms: list[Geometry], path: str, owner: str) -> None:
        """The visuals, then the collisions of a link.

        Args:
            element: The link.
            geoms: Its geoms.
            path: Where they stand in the scene.
            owner: What the link is called when it is read; it comes before the names of its shapes.
        """
        found = parts.roles(geoms, path, self.notes, self._can_say)
        for tag in ("visual", "collision"):
            taken: set[str] = set()
            for role in found:
                if not (role.is_visual if tag == "visual" else role.is_collision):
                    continue
                made = child(element, tag, {"name": self._name(role, tag, owner, taken)})
                self._shape(made, role, tag == "visual")
                if tag == "visual":
                    self.looks.write(made, role.geom.visual, role.path)
                else:
                    self._surface(made, role)
        for role in found:
            if role.is_collision:
                self._rest(role)
            else:
                self.notes.rest(role.geom, role.path, parts.GEOM_SAID.union(parts.TOUCHING))

    def _name(self, role: parts.Role, tag: str, owner: str, taken: set[str]) -> str:
        given = role.geom.name
        local = (given or tag).removeprefix(owner + SEPARATOR).replace(SEPARATOR, "_")
        name = free_name(local or tag, taken)
        taken.add(name)
        if given is None:
            self.notes.kept(role.path, "SDF requires a name here, and a new one is made")
        elif f"{owner}{SEPARATOR}{name}" != given:
            self.notes.kept(
                f"{role.path}.name", "names of shapes carry that of their link when they are read"
            )
        return name

    # shapes

    def _can_say(self, geom: Geometry, path: str) -> bool:
        fine = True
        if SHAPES[geom.shape].sdf is None:
            self.notes.left_out(path, f"SDF has no such shape as a {geom.shape.name}")
            return False
        if geom.shape is ShapeType.Mesh:
            fine = self.meshes.reference(geom.mesh or "", parts=True) is not None
        elif geom.shape is ShapeType.HField:
            fine = self._hfield(geom.hfield or "") is not None
        if not fine:
            self.notes.left_out(path, f"there is no file for its {geom.shape.name}")
        return fine

    def _shape(self, element: XmlElement, role: parts.Role, is_visual: bool) -> None:
        geom = role.geom
        size, pose = parts.written_size(role, self.meshes, self.notes)
        if geom.shape is ShapeType.HField:
            pose = product(pose, Pose(np.array([0.0, 0.0, self._heights(geom).lowest]), IDENTITY.rotation))
        write_pose(element, pose)
        holder = child(element, "geometry")
        if geom.shape is ShapeType.HField:
            heights = self._heights(geom)
            made = child(holder, "heightmap")
            put(made, "uri", heights.file)
            put(made, "size", finites(heights.size))
        elif geom.shape is ShapeType.Mesh:
            self._mesh(holder, geom)
        elif geom.shape in (ShapeType.Plane, ShapeType.InfinitePlane):
            self._plane(holder, role, size, is_visual)
        else:
            made = child(holder, SHAPES[geom.shape].sdf or "")
            if geom.shape is ShapeType.Box:
                put(made, "size", finites(2.0 * half for half in size))
            elif geom.shape is ShapeType.Ellipsoid:
                put(made, "radii", finites(size))
            else:
                put(made, "radius", finite(size[0]))
                if geom.shape is not ShapeType.Sphere:
                    put(made, "length", finite(2.0 * size[1]))

    def _mesh(self, holder: XmlElement, geom: Geometry) -> None:
        reference = self.meshes.reference(geom.mesh or "", geom.mesh_scale, parts=True)
        assert reference is not None
        made = child(holder, "mesh")
        put(made, "uri", reference.file)
        if reference.part is not None:
            put(child(made, "submesh"), "name", reference.part)
        if reference.scale is not None:
            put(made, "scale", finites(reference.scale))

    def _plane(self, holder: XmlElement, role: parts.Role, size: list[float], is_visual: bool) -> None:
        made = child(holder, "plane")
        put(made, "normal", "0 0 1")
        infinite = role.geom.shape is ShapeType.InfinitePlane
        put(made, "size", _WIDE if infinite else finites(2.0 * half for half in size[:2]))
        if infinite and is_visual:
            self.notes.approximated(role.path, f"a plane without end is shown {_WIDE.split()[0]} m wide")
        elif not infinite and not is_visual:
            self.notes.approximated(role.path, "a plane that touches has no end")

    # height fields

    def _heights(self, geom: Geometry) -> _Heights:
        found = self._hfield(geom.hfield or "")
        assert found is not None
        return found

    def _hfield(self, name: str) -> _Heights | None:
        """The file of a height field; None after noting that there can be none."""
        if name not in self._hfields:
            self._hfields[name] = self._hfield_file(name)
        return self._hfields[name]

    def _hfield_file(self, name: str) -> _Heights | None:
        source = self.assets.hfields[name]
        path = f"$.assets.hfields[{name!r}]"
        self.notes.rest(source, path, ("size", "height_scale", "source_type", "nrow", "ncol"))
        data = source.source_type.value
        if source.source_type.variant == "path" and data["path"].lower().endswith(".png"):
            return _Heights(data["path"], [*source.size, source.height_scale], 0.0)
        if self.meshes.files is None or self.meshes.file_path is None:
            self.notes.left_out(path, "needs a file of its own, and only text is written")
            return None
        try:
            field = self.meshes.library.hfield(name)
        except WorldlineError as error:
            self.notes.left_out(path, str(error))
            return None
        low, high = float(field.heights.min()), float(field.heights.max())
        image = grey_png(field)
        reference = file_beside(self.meshes.files, self.meshes.file_path, name, ".png", image)
        step = (high - low) / 255.0
        self.notes.approximated(
            path, f"its heights are written as an image of 256 levels, {step:.3g} m apart"
        )
        return _Heights(reference, [*field.size.tolist(), high - low], low)

    # contact

    def _surface(self, element: XmlElement, role: parts.Role) -> None:
        material = role.geom.physics_material
        if material.density != 1000.0:
            put(element, "density", finite(material.density))
        bits = _bits(role.geom)
        slides = material.friction[0] != 1.0
        if not slides and material.restitution is None and not self._has_masks:
            return
        made = child(element, "surface")
        if slides:
            ode = child(child(made, "friction"), "ode")
            put(ode, "mu", finite(material.friction[0]))
            put(ode, "mu2", finite(material.friction[0]))
        if material.restitution is not None:
            put(child(made, "bounce"), "restitution_coefficient", finite(material.restitution))
        if self._has_masks:
            put(child(made, "contact"), "collide_bitmask", str(bits[0] | bits[1]))
            if bits[0] != bits[1]:
                self.notes.approximated(
                    f"{role.path}.collision_mask", "groups and what they touch are one in SDF"
                )

    def _rest(self, role: parts.Role) -> None:
        """What a collision cannot say."""
        geom, path, notes = role.geom, role.path, self.notes
        notes.rest(geom, path, parts.GEOM_SAID)
        material = geom.physics_material
        notes.rest(material, f"{path}.physics_material", ("density", "friction", "restitution"))
        if material.friction[1:] != [0.005, 0.0001]:
            notes.left_out(f"{path}.physics_material.friction", "only sliding friction is written")
        if not role.is_visual:
            notes.rest(geom.visual, f"{path}.visual", ("group",))


def _bits(geom: Geometry) -> tuple[int, int]:
    """Groups of a geom and those that it touches, as far as SDF can say them."""
    mask = geom.collision_mask
    return mask.collide_group & 0xFFFFFFFF, mask.collide_with & 0xFFFFFFFF


def grey_png(field: HeightField) -> bytes:
    """The heights of a field as a grey image of 8 bits, the lowest black and the highest white."""
    heights = field.heights
    low, high = float(heights.min()), float(heights.max())
    levels = np.rint((heights - low) * (255.0 / (high - low) if high > low else 0.0)).astype(np.uint8)
    # an image begins at the top, and every row with the number of its filter
    rows = np.hstack((np.zeros((len(levels), 1), np.uint8), levels[::-1])).tobytes()
    head = struct.pack(">2I5B", levels.shape[1], levels.shape[0], 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
