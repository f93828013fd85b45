# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inertia, visuals and collisions of SDF links; see the URDF reader for groups of geoms."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from worldline._src.errors import CapabilityError, SceneError, UnreadableFileError
from worldline._src.linear_algebra import norm
from worldline._src.scene.asset_specs import HFieldSource, HFieldSourceType
from worldline._src.scene.assets.references import AssetReferences, free_name
from worldline._src.scene.assets.rotations import quaternion
from worldline._src.scene.bodies import Inertia, Link
from worldline._src.scene.contact import CollisionMask
from worldline._src.scene.formats.sdf.frames import SEPARATOR, Scope, pose_within
from worldline._src.scene.formats.sdf.materials import MaterialReader
from worldline._src.scene.formats.sdf.nodes import Node, read_pose
from worldline._src.scene.formats.urdf.joints import across
from worldline._src.scene.formats.urdf.shapes import COLLISION_GROUP, VISUAL_GROUP
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType
from worldline._src.scene.mass_properties import NOTHING, given_properties, is_physical
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.world import World

_TAGS: Final = {facts.sdf: shape for shape, facts in SHAPES.items() if facts.sdf is not None}
_SHAPES: Final = (*_TAGS, "empty")
_OTHER: Final = tuple(tag for tag in ("cone", "image", "polyline") if tag not in _TAGS)
_STATIC: Final = (ShapeType.Plane, ShapeType.InfinitePlane, ShapeType.HField)
_COMMON_MASK: Final = 0xFFFF
"""What shapes without a mask have, so they touch those with any of these bits."""
_MOST_BITS: Final = 0xFFFFFFFF
_VISUAL_IGNORED: Final = {
    "laser_retro": "reflection of rays is not simulated",
    "lidar_retro": "reflection of rays is not simulated",
    "visibility_flags": "visibility is set by groups here",
    "meta": "drawing layers are not used",
    "plugin": "plugins of a simulator",
}
_COLLISION_IGNORED: Final = {
    "laser_retro": "reflection of rays is not simulated",
    "lidar_retro": "reflection of rays is not simulated",
    "max_contacts": "the number of contacts is not bounded for each shape",
    "auto_inertia_params": "parameters of a simulator",
}


class ShapeReader:
    """Reads the shapes and the inertia of all links.

    Args:
        world: The scene that gets materials, meshes and height fields.
        references: Where files are found.
        log: Where problems and notes go.
    """

    def __init__(self, world: World, references: AssetReferences, log: Log) -> None:
        self.hfields = world.assets.hfields
        self.references = references
        self.log = log
        self.materials = MaterialReader(world, references, log)
        self._names: set[str] = set()
        self._unmasked: list[Geometry] = []
        self._has_masks = False

    # inertia

    def read_inertial(self, link: Node) -> tuple[Inertia, float | None]:
        """Mass properties, and the density of shapes that have none of their own.

        Without <inertial> they are those that the format gives every link: 1 kg, 1 kg m^2.
        """
        node = link.node("inertial")
        if node is None:
            self.log.kept(link.element, "no <inertial>; the format gives 1 kg and 1 kg m^2")
            return Inertia(mass=1.0, pos=(0.0, 0.0, 0.0), diag_inertia=(1.0, 1.0, 1.0)), None
        if (node.attribute("auto") or "false").lower() in ("true", "1"):
            mass, density = node.real("mass"), node.real("density")
            node.finish(ignored=dict.fromkeys(("pose", "inertia"), "computed from the shapes"))
            return Inertia(mass=mass), density
        raw = read_pose(node)
        mass = node.real("mass", 1.0)
        moments = node.node("inertia")
        node.finish(
            ignored={"fluid_added_mass": "added mass is not supported", "density": "the inertia is given"}
        )
        if mass < 0.0:
            self.log.problem(node.element, f"given a mass of {mass}; allowed: 0 or more")
        made = Inertia(mass=mass, pos=raw.pose.position, orientation=raw.pose.rotation)
        if moments is None:
            made.diag_inertia = (1.0, 1.0, 1.0)
            return made, None
        diagonal = [moments.real(tag, 1.0) for tag in ("ixx", "iyy", "izz")]
        made.full_inertia = diagonal + [moments.real(tag, 0.0) for tag in ("ixy", "ixz", "iyz")]
        moments.finish()
        if not is_physical(given_properties(made, NOTHING)):
            self.log.kept(moments.element, "no body can have these moments of inertia; taken as they are")
            made.is_checked = False
        return made, None

    # geoms

    def read_shapes(
        self, node: Node, link: Link, scope: Scope, name: str, *, moves: bool, density: float | None
    ) -> None:
        """Adds the visuals and collisions of a link; `density` is for those that give none, kg/m^3."""
        visuals = node.children("visual")
        for element in visuals:
            found = Node(element, self.log)
            geom = self._geom(found, scope, name, link.name or name, infinite=False, moves=moves)
            shadows = found.flag("cast_shadows", True)
            transparency = found.real("transparency", 0.0)
            material = found.child("material")
            found.finish(ignored=_VISUAL_IGNORED)
            if geom is not None:
                geom.mass = 0.0
                geom.collision_mask = CollisionMask.non_collidable()
                geom.visual.group = VISUAL_GROUP
                self.materials.apply(material, geom, transparency, shadows)
                link.geoms.append(geom)
        for element in node.children("collision"):
            found = Node(element, self.log)
            geom = self._geom(found, scope, name, link.name or name, infinite=True, moves=moves)
            own = found.real("density", density)
            surface = found.node("surface")
            found.finish(ignored=_COLLISION_IGNORED)
            if geom is not None:
                geom.visual.group = COLLISION_GROUP if visuals else 0
                if own is not None:
                    geom.physics_material.density = own
                self._unmasked.append(geom)
                if surface is not None:
                    self._surface(surface, geom)
                link.geoms.append(geom)

    def settle_masks(self) -> None:
        """Gives shapes without a mask the one of the format, once it is known that there are any masks."""
        for geom in self._unmasked if self._has_masks else ():
            geom.collision_mask = CollisionMask(collide_group=_COMMON_MASK, collide_with=_COMMON_MASK)

    def _geom(
        self, node: Node, scope: Scope, link: str, prefix: str, *, infinite: bool, moves: bool
    ) -> Geometry | None:
        name = node.required_attribute("name")
        pose = pose_within(node, scope, link)
        holder = node.node("geometry")
        if holder is None:
            self.log.problem(node.element, "<geometry> is required")
            return None
        made = self._shape(holder, infinite)
        if made is None:
            return None
        geom, inner = made
        if geom.shape in _STATIC and moves:
            self.log.left_out(holder.element, f"a {geom.shape.name} can only stand on what does not move")
            return None
        place = pose * inner
        geom.position, geom.orientation = place
        if name:
            geom.name = free_name(f"{prefix}{SEPARATOR}{name}", self._names)
            self._names.add(geom.name)
        return geom

    def _shape(self, holder: Node, infinite: bool) -> tuple[Geometry, Pose] | None:
        """A geom, and its pose in the frame of the shape."""
        found = next((child for child in holder.element.children if child.tag in (*_SHAPES, *_OTHER)), None)
        if found is None:
            holder.finish(also=_SHAPES)
            self.log.problem(holder.element, f"no shape; allowed: {', '.join(_SHAPES)}")
            return None
        holder.finish(also=(found.tag,))
        if found.tag in _OTHER:
            self.log.left_out(found, f"there is no such shape as a {found.tag}")
            return None
        if found.tag == "empty":
            return None
        node = Node(found, self.log)
        inner = IDENTITY
        if found.tag == "mesh":
            geom = self._mesh(node)
        elif found.tag == "heightmap":
            geom, inner = self._heightmap(node)
        elif found.tag == "plane":
            geom, inner = self._plane(node, infinite)
        else:
            geom = self._primitive(node)
        node.finish(ignored={"texture": "textures of terrain", "blend": "textures of terrain"})
        return None if geom is None else (geom, inner)

    def _primitive(self, node: Node) -> Geometry:
        tag = node.element.tag
        shape = _TAGS[tag]
        if tag == "box":
            size = [0.5 * side for side in node.reals("size", 3, (1.0, 1.0, 1.0)) or ()]
        elif tag == "ellipsoid":
            size = node.reals("radii", 3, (1.0, 1.0, 1.0)) or []
        else:
            length = 0.0 if tag == "sphere" else node.real("length", 1.0)
            size = [node.real("radius", 1.0 if tag == "sphere" else 0.5), 0.5 * length, 0.0]
        if min(size) < 0.0:
            self.log.problem(node.element, "a size is negative; allowed: sizes > 0")
        return Geometry(shape=shape, size=size)

    def _plane(self, node: Node, infinite: bool) -> tuple[Geometry, Pose]:
        normal = np.array(node.reals("normal", 3, (0.0, 0.0, 1.0)))
        width, depth = node.reals("size", 2, (1.0, 1.0)) or (1.0, 1.0)
        length = norm(normal)
        if not length > 0.0:
            self.log.problem(node.element, "given a zero normal; allowed: a direction")
            return Geometry(shape=ShapeType.InfinitePlane), IDENTITY
        z = normal / length
        turn = IDENTITY.rotation
        if z[2] < 1.0:
            x = across(z)
            turn = quaternion(np.stack((x, np.cross(z, x), z), axis=1))
        if infinite and node.child("size") is not None:
            self.log.kept(node.element, "<size>: a plane that bodies touch has no edge")
        if infinite:
            return Geometry(shape=ShapeType.InfinitePlane), Pose(np.zeros(3), turn)
        size = (abs(width) / 2.0, abs(depth) / 2.0, 0.0)
        return Geometry(shape=ShapeType.Plane, size=size), Pose(np.zeros(3), turn)

    def _mesh(self, node: Node) -> Geometry | None:
        uri = node.text("uri")
        scale = node.reals("scale", 3)
        submesh = node.node("submesh")
        parts: tuple[str, ...] = ()
        if submesh is not None:
            part = submesh.text("name")
            if submesh.flag("center", False):
                self.log.approximated(submesh.element, "the part is not centred")
            submesh.finish()
            parts = (part,) if part else ()
        node.finish(
            ignored={"convex_decomposition": "set for the whole scene here"}, attributes=("optimization",)
        )
        if uri is None:
            self.log.problem(node.element, "<uri> is required")
            return None
        try:
            name = self.references.mesh(uri, base=_directory(node.element), parts=parts)
        except (UnreadableFileError, CapabilityError) as missing:
            self.log.left_out(node.element, str(missing))
            return None
        except SceneError as refused:
            self.log.problem(node.element, str(refused))
            return None
        if scale is not None and not all(scale):
            self.log.problem(node.element, f"given the scale {scale}; allowed: numbers other than zero")
            return None
        unscaled = scale is None or scale == [1.0, 1.0, 1.0]
        return Geometry(shape=ShapeType.Mesh, mesh=name, mesh_scale=None if unscaled else scale)

    def _heightmap(self, node: Node) -> tuple[Geometry | None, Pose]:
        uri = node.text("uri")
        x, y, z = node.reals("size", 3, (1.0, 1.0, 1.0)) or (1.0, 1.0, 1.0)
        place = np.array(node.reals("pos", 3, (0.0, 0.0, 0.0)))
        for tag in ("use_terrain_paging", "sampling"):
            if tag in node:
                self.log.left_out(node.element.find(tag) or node.element, "a setting of rendering")
                node.child(tag)
        if uri is None:
            self.log.problem(node.element, "<uri> is required")
            return None, IDENTITY
        policy = self.references.policy
        try:
            path = policy.resolve(uri, base=_directory(node.element))
        except UnreadableFileError as missing:
            self.log.left_out(node.element, str(missing))
            return None, IDENTITY
        except SceneError as refused:
            self.log.problem(node.element, str(refused))
            return None, IDENTITY
        name = free_name(path.stem or "terrain", self.hfields)
        source = HFieldSourceType.path(policy.stored(path))
        self.hfields[name] = HFieldSource(size=(abs(x), abs(y)), height_scale=z, source_type=source)
        return Geometry(shape=ShapeType.HField, hfield=name), Pose(place, IDENTITY.rotation)

    # contact

    def _surface(self, surface: Node, geom: Geometry) -> None:
        material = geom.physics_material
        bounce = surface.node("bounce")
        if bounce is not None:
            restitution = bounce.real("restitution_coefficient", 0.0)
            material.restitution = min(max(restitution, 0.0), 1.0)
            if material.restitution != restitution:
                message = f"a restitution of {restitution} becomes {material.restitution:g}"
                self.log.approximated(bounce.element, message)
            bounce.finish(ignored={"threshold": "set for the whole scene here"})
        friction = surface.node("friction")
        if friction is not None:
            self._friction(friction, geom)
        contact = surface.node("contact")
        if contact is not None:
            mask = contact.child("collide_bitmask")
            if mask is not None:
                self._mask(mask, geom)
            ignored = dict.fromkeys(
                ("ode", "bullet", "poissons_ratio", "elastic_modulus"), "of one simulator"
            )
            ignored |= dict.fromkeys(
                ("collide_without_contact", "collide_without_contact_bitmask"), "of sensors"
            )
            contact.finish(ignored=ignored | {"category_bitmask": "groups and masks are one here"})
        surface.finish(ignored={"soft_contact": "soft bodies are not supported"})

    def _mask(self, element: Element, geom: Geometry) -> None:
        """A mask of bits, in decimal or with 0x in hexadecimal digits."""
        text = element.text.lower()
        try:
            bits = int(text[:40], 16 if text.startswith("0x") else 10)
        except ValueError:
            bits = -1
        if not 0 <= bits <= _MOST_BITS:
            self.log.problem(element, f"given {text[:60]!r}; allowed: a whole number from 0 to {_MOST_BITS}")
            return
        geom.collision_mask = CollisionMask(collide_group=bits, collide_with=bits)
        # the last one: its surface is being read
        self._unmasked.pop()
        self._has_masks = True

    def _friction(self, friction: Node, geom: Geometry) -> None:
        ode = friction.node("ode")
        if ode is not None:
            first, second = ode.real("mu", 1.0), ode.real("mu2")
            if min(first, second or 0.0) < 0.0:
                self.log.approximated(ode.element, "a negative coefficient of friction becomes 0")
            if second is not None and second != first:
                self.log.approximated(
                    ode.element, f"friction is the same in all directions: {max(first, second)}"
                )
            material = geom.physics_material
            material.friction = [max(first, second or 0.0, 0.0), *material.friction[1:]]
            ode.finish(ignored=dict.fromkeys(("fdir1", "slip1", "slip2"), "friction has no direction here"))
        ignored = {"bullet": "of one simulator", "torsional": "by the size of a patch, which is not modelled"}
        friction.finish(ignored=ignored)


def _directory(element: Element) -> Path | None:
    return None if element.file is None else Path(element.file).parent
