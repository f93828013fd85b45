# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visuals, collisions, materials and inertia of URDF links; `urdf/shapes.py` reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from worldline._src.scene.formats import parts
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites, is_identity, roll_pitch_yaw, shifted, unit
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.geometry import SHAPES, Geometry, GeomVisualAttrs, ShapeType
from worldline._src.scene.poses import Pose
from worldline._src.scene.vectors import Array
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

SUFFIXES: Final = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".off")
_MOMENTS: Final = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def write_origin(element: XmlElement, pose: Pose) -> None:
    """An <origin>, where it is not the identity."""
    if not is_identity(pose):
        angles, _ = roll_pitch_yaw(pose.rotation)
        child(element, "origin", {"xyz": finites(pose.position), "rpy": finites(angles)})


def write_inertial(element: XmlElement, inertial: parts.Inertial, shift: Array) -> None:
    """An <inertial>.

    Args:
        element: The link.
        inertial: Its mass properties in the frame of the scene's link.
        shift: Where the frame of the file's link is in that one.
    """
    made = child(element, "inertial")
    write_origin(made, shifted(unit(*inertial.pose), shift))
    child(made, "mass", {"value": finite(inertial.mass)})
    numbers = zip(_MOMENTS, inertial.moments, strict=True)
    order = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    found = {name: finite(value) for name, value in numbers}
    child(made, "inertia", {name: found[name] for name in order})


class ShapeWriter(parts.ShapeFiles):
    """Writes the shapes of all links."""

    def __init__(self, world: World, meshes: parts.MeshFiles, notes: WriteLosses) -> None:
        super().__init__(world, meshes, notes)
        self._textures: set[str] = set()

    # materials

    def write_materials(self, root: XmlElement) -> None:
        """All materials, which visuals refer to by name."""
        for name, material in self.assets.materials.items():
            path = f"$.assets.materials[{name!r}]"
            made = child(root, "material", {"name": name})
            child(made, "color", {"rgba": finites(material.color)})
            if material.texture_name is not None:
                self._texture(made, material.texture_name)
            self.notes.rest(material, path, ("name", "color", "texture_name"))

    def _texture(self, element: XmlElement, name: str) -> None:
        texture = self.assets.textures[name]
        self._textures.add(name)
        path = f"$.assets.textures[{name!r}]"
        if texture.source.variant == "file":
            child(element, "texture", {"filename": texture.source.value})
            self.notes.rest(texture, path, ("name", "source"))
        else:
            self.notes.left_out(path, "URDF knows textures from image files only")

    def note_unused(self) -> None:
        """Assets that nothing in the file refers to."""
        used = {"meshes": self.meshes.used, "textures": self._textures, "hfields": ()}
        self.leave_out_unused(used, "materials")

    # geoms

    def write_shapes(self, element: XmlElement, geoms: list[Geometry], path: str, shift: Array) -> None:
        """The visuals, then the collisions of a link; for `shift` see `write_inertial`."""
        found = parts.roles(geoms, path, self.notes, self._can_say)
        for role in found:
            if role.is_visual:
                made = child(element, "visual", {"name": None if role.is_collision else role.geom.name})
                self._shape(made, role, shift)
                self._material(made, role.geom.visual)
        solid = [role for role in found if role.is_collision]
        for role in solid:
            made = child(element, "collision", {"name": role.geom.name})
            self._shape(made, role, shift)
        self._contact(element, solid)
        for role in found:
            self._rest(role)

    def _can_say(self, geom: Geometry, path: str) -> bool:
        if SHAPES[geom.shape].urdf is None:
            self.notes.left_out(path, f"URDF has no such shape as a {geom.shape.name}")
            return False
        if geom.shape is ShapeType.Mesh and self.meshes.reference(geom.mesh or "") is None:
            self.notes.left_out(path, f"there is no file for its mesh {geom.mesh!r}")
            return False
        return True

    def _shape(self, element: XmlElement, role: parts.Role, shift: Array) -> None:
        geom = role.geom
        size, pose = parts.written_size(role, self.meshes, self.notes)
        write_origin(element, shifted(pose, shift))
        holder = child(element, "geometry")
        if geom.shape is ShapeType.Mesh:
            reference = self.meshes.reference(geom.mesh or "", geom.mesh_scale)
            assert reference is not None
            scale = None if reference.scale is None else finites(reference.scale)
            child(holder, "mesh", {"filename": reference.file, "scale": scale})
        elif geom.shape is ShapeType.Box:
            child(holder, "box", {"size": finites(2.0 * half for half in size)})
        elif geom.shape is ShapeType.Sphere:
            child(holder, "sphere", {"radius": finite(size[0])})
        else:
            if geom.shape is ShapeType.Capsule:
                self.notes.kept(role.path, "a <capsule> is not known to every reader of URDF")
            sizes = {"radius": finite(size[0]), "length": finite(2.0 * size[1])}
            child(holder, SHAPES[geom.shape].urdf or "", sizes)

    def _material(self, element: XmlElement, look: GeomVisualAttrs) -> None:
        if look.material is None and look.color is None:
            return
        # other readers want the name to be there, even where it is empty
        made = child(element, "material", {"name": look.material or ""})
        if look.color is not None:
            child(made, "color", {"rgba": finites(look.color)})

    def _contact(self, element: XmlElement, solid: list[parts.Role]) -> None:
        """The <contact> extension, which holds for all collisions of a link."""
        materials = [role.geom.physics_material for role in solid]
        said = [(material.friction[0], material.restitution) for material in materials]
        if all(entry == (1.0, None) for entry in said):
            return
        if len(set(said)) > 1:
            for role, (friction, restitution) in zip(solid, said, strict=True):
                message = "URDF has one friction and restitution for all collisions of a link"
                if friction != 1.0:
                    self.notes.left_out(f"{role.path}.physics_material.friction", message)
                if restitution is not None:
                    self.notes.left_out(f"{role.path}.physics_material.restitution", message)
            return
        friction, restitution = said[0]
        made = child(element, "contact")
        if friction != 1.0:
            child(made, "lateral_friction", {"value": finite(friction)})
        if restitution is not None:
            child(made, "restitution", {"value": finite(restitution)})

    def _rest(self, role: parts.Role) -> None:
        """What neither a visual nor a collision can say."""
        geom, path, notes = role.geom, role.path, self.notes
        if not role.is_collision:
            notes.rest(geom, path, parts.GEOM_SAID.union(parts.TOUCHING))
            return
        notes.rest(geom, path, parts.GEOM_SAID)
        material = geom.physics_material
        notes.rest(material, f"{path}.physics_material", ("density", "friction", "restitution"))
        if material.friction[1:] != [0.005, 0.0001]:
            notes.left_out(f"{path}.physics_material.friction", "URDF knows sliding friction only")
        mask = geom.collision_mask
        if (mask.collide_group, mask.collide_with) != (1, 1):
            notes.left_out(f"{path}.collision_mask", "URDF does not choose what shapes may touch")
        if not role.is_visual:
            notes.rest(geom.visual, f"{path}.visual", ("group",))
