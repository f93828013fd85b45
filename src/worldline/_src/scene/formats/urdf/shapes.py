# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visuals, collisions and inertia of URDF links.

Full sizes become half sizes. A visual becomes a geom that has no mass and touches nothing, in group 2; a
collision becomes a geom that is not shown, in group 3, unless it is all there is to see.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.errors import CapabilityError, SceneError, UnreadableFileError
from worldline._src.scene.assets.references import AssetReferences, free_name
from worldline._src.scene.assets.rotations import from_rpy
from worldline._src.scene.bodies import Inertia, Link
from worldline._src.scene.contact import CollisionMask
from worldline._src.scene.formats.xml import Attributes, Element, Log
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType
from worldline._src.scene.kinds import hint
from worldline._src.scene.mass_properties import NOTHING, given_properties, is_physical
from worldline._src.scene.materials import Material
from worldline._src.scene.poses import IDENTITY, Pose
from worldline._src.scene.world import World

VISUAL_GROUP: Final = 2
COLLISION_GROUP: Final = 3
_SHAPES: Final = tuple(facts.urdf for facts in SHAPES.values() if facts.urdf is not None)
_INERTIA: Final = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_origin(parent: Element, log: Log) -> Pose:
    """The pose of an element's <origin>, the identity when there is none."""
    element = parent.find("origin")
    if element is None:
        return IDENTITY
    attributes = Attributes(element, log)
    place = attributes.reals("xyz", 3, default=(0.0, 0.0, 0.0))
    turn = attributes.reals("rpy", 3, default=(0.0, 0.0, 0.0))
    attributes.finish(strict=False)
    return Pose(np.array(place), from_rpy(*turn) if turn else IDENTITY.rotation)


def only_child(element: Element, tag: str, log: Log) -> Element | None:
    """The child of a tag that may stand once; further ones are left out."""
    found = element.all(tag)
    for extra in found[1:]:
        log.left_out(extra, f"only the first <{tag}> counts")
    return found[0] if found else None


def note_unknown(element: Element, known: tuple[str, ...], log: Log) -> None:
    """Notes children that mean nothing to a scene."""
    for child in element.children:
        if child.tag not in known:
            log.unknown_child(child, known, strict=False)


class ShapeReader:
    """Reads the shapes of all links of a robot.

    Args:
        world: The scene that gets materials and meshes.
        references: Where meshes and textures are found.
        log: Where problems and notes go.
    """

    def __init__(self, world: World, references: AssetReferences, log: Log) -> None:
        self.materials = world.assets.materials
        self.references = references
        self.log = log
        self._names: set[str] = set()

    # materials

    def global_material(self, element: Element) -> None:
        """A material of the robot, which visuals refer to by its name."""
        attributes = Attributes(element, self.log)
        name = attributes.required_text("name")
        attributes.finish(strict=False)
        if name in self.materials:
            self.log.left_out(element, f"a second material {name!r}; the first one counts")
        elif name:
            self.materials[name] = self._material(element, name)

    def _material(self, element: Element, name: str) -> Material:
        note_unknown(element, ("color", "texture"), self.log)
        made = Material(name=name)
        color = self._color(element)
        if color is not None:
            made.color = color
        texture = only_child(element, "texture", self.log)
        if texture is not None:
            attributes = Attributes(texture, self.log)
            # exporters write an empty name where there is no texture
            reference = attributes.text("filename")
            attributes.finish(strict=False)
            try:
                made.texture_name = self.references.texture(reference) if reference else None
            except UnreadableFileError as missing:
                self.log.left_out(texture, str(missing))
            except SceneError as refused:
                self.log.problem(texture, str(refused))
        return made

    def _color(self, element: Element) -> list[float] | None:
        color = only_child(element, "color", self.log)
        if color is None:
            return None
        attributes = Attributes(color, self.log)
        found = attributes.reals("rgba", 4)
        attributes.finish(strict=False)
        return found

    def _apply_material(self, visual: Element, geom: Geometry) -> None:
        element = only_child(visual, "material", self.log)
        if element is None:
            return
        attributes = Attributes(element, self.log)
        name = attributes.text("name") or ""
        attributes.finish(strict=False)
        known = self.materials.get(name)
        defines = bool(element.children)
        if known is None and not defines:
            if name:
                message = f"no material {name!r}{hint(name, self.materials)}; the default look is used"
                self.log.left_out(element, message)
        elif not name:
            geom.visual.color = self._color(element)
            note_unknown(element, ("color",), self.log)
        else:
            if known is None:
                known = self.materials[name] = self._material(element, name)
            geom.visual.material = name
            color = self._color(element) if defines else None
            if color is not None and color != known.color:
                # the same name with another colour elsewhere: this visual keeps its own
                geom.visual.color = color

    # geoms

    def read_shapes(self, element: Element, link: Link) -> None:
        """Adds the visuals and collisions of a link."""
        visuals = element.all("visual")
        for visual in visuals:
            geom = self._geom(visual)
            if geom is not None:
                geom.mass = 0.0
                geom.collision_mask = CollisionMask.non_collidable()
                geom.visual.group = VISUAL_GROUP
                self._apply_material(visual, geom)
                link.geoms.append(geom)
        contact = only_child(element, "contact", self.log)
        for collision in element.all("collision"):
            geom = self._geom(collision)
            if geom is not None:
                geom.visual.group = COLLISION_GROUP if visuals else 0
                if contact is not None:
                    self._apply_contact(contact, geom)
                link.geoms.append(geom)

    def _geom(self, element: Element) -> Geometry | None:
        attributes = Attributes(element, self.log)
        name = attributes.text("name")
        attributes.finish(ignored={"group": "groups of shapes are not used"}, strict=False)
        note_unknown(element, ("origin", "geometry", "material"), self.log)
        pose = read_origin(element, self.log)
        holder = only_child(element, "geometry", self.log)
        shape = None if holder is None else next((c for c in holder.children if c.tag in _SHAPES), None)
        if holder is None or shape is None:
            given = holder.children[0].tag if holder is not None and holder.children else None
            near = hint(given, _SHAPES)
            message = f"no shape; allowed: <geometry> with one of {', '.join(_SHAPES)}{near}"
            self.log.problem(element if holder is None else holder, message)
            return None
        note_unknown(holder, (shape.tag,), self.log)
        geom = self._shape(shape)
        if geom is None:
            return None
        geom.position, geom.orientation = pose
        if name:
            geom.name = free_name(name, self._names)
            self._names.add(geom.name)
            if geom.name != name:
                self.log.kept(element, f"the name {name!r} is taken; named {geom.name!r}")
        return geom

    def _shape(self, element: Element) -> Geometry | None:
        attributes = Attributes(element, self.log)
        geom: Geometry | None
        if element.tag == "mesh":
            geom = self._mesh(attributes)
        elif element.tag == "box":
            x, y, z = attributes.reals("size", 3) or self._missing(attributes, "size", 3)
            geom = Geometry(shape=ShapeType.Box, size=(x / 2, y / 2, z / 2))
        else:
            radius = self._number(attributes, "radius")
            length = 0.0 if element.tag == "sphere" else self._number(attributes, "length")
            shape = ShapeType[element.tag.capitalize()]
            geom = Geometry(shape=shape, size=(radius, length / 2, 0.0))
        attributes.finish(strict=False)
        if geom is not None and geom.mesh is None and min(geom.size) < 0.0:
            self.log.problem(element, "a size is negative; allowed: sizes > 0")
        return geom

    def _number(self, attributes: Attributes, name: str) -> float:
        found = attributes.real(name)
        return self._missing(attributes, name, 1)[0] if found is None else found

    def _missing(self, attributes: Attributes, name: str, count: int) -> list[float]:
        if name not in attributes:
            self.log.problem(attributes.element, f"attribute '{name}' is required")
        return [1.0] * count

    def _mesh(self, attributes: Attributes) -> Geometry | None:
        reference = attributes.required_text("filename")
        scale = attributes.reals("scale", 3)
        attributes.finish(strict=False)
        if not reference:
            return None
        element = attributes.element
        try:
            name = self.references.mesh(reference)
        except (UnreadableFileError, CapabilityError) as missing:
            self.log.left_out(element, str(missing))
            return None
        except SceneError as refused:
            self.log.problem(element, str(refused))
            return None
        if scale is not None and not all(scale):
            attributes.reject("scale", f"given {scale}; allowed: three numbers, none of them zero")
            return None
        unscaled = scale is None or scale == [1.0, 1.0, 1.0]
        return Geometry(shape=ShapeType.Mesh, mesh=name, mesh_scale=None if unscaled else scale)

    def _apply_contact(self, element: Element, geom: Geometry) -> None:
        """Friction and bounce of the <contact> extension."""
        for child in element.children:
            attributes = Attributes(child, self.log)
            value = attributes.real("value")
            material = geom.physics_material
            if child.tag == "lateral_friction" and value is not None:
                material.friction = [value, *material.friction[1:]]
            elif child.tag == "restitution" and value is not None:
                material.restitution = value
            else:
                self.log.left_out(child, "this contact parameter has no counterpart")
            attributes.finish(strict=False)

    # inertia

    def read_inertial(self, element: Element) -> Inertia:
        """The mass properties of a link; a link without <inertial> has none."""
        inertial = only_child(element, "inertial", self.log)
        nothing = Inertia(mass=0.0, pos=(0.0, 0.0, 0.0), diag_inertia=(0.0, 0.0, 0.0))
        if inertial is None:
            return nothing
        note_unknown(inertial, ("origin", "mass", "inertia"), self.log)
        pose = read_origin(inertial, self.log)
        mass, moments = (only_child(inertial, tag, self.log) for tag in ("mass", "inertia"))
        if mass is None:
            self.log.problem(inertial, "<mass> is required")
            return nothing
        attributes = Attributes(mass, self.log)
        value = self._number(attributes, "value")
        attributes.finish(strict=False)
        if value < 0.0:
            self.log.problem(mass, f"given a mass of {value}; allowed: 0 or more")
        made = Inertia(mass=value, pos=pose.position, orientation=pose.rotation)
        if moments is None:
            self.log.approximated(
                inertial,
                "no <inertia>; that of the collision shapes scaled to the mass, or a point mass without",
            )
            return made
        attributes = Attributes(moments, self.log)
        diagonal = [self._number(attributes, name) for name in _INERTIA[:3]]
        made.full_inertia = diagonal + [attributes.real(name, 0.0) for name in _INERTIA[3:]]
        attributes.finish(strict=False)
        if not is_physical(given_properties(made, NOTHING)):
            self.log.kept(moments, "no body can have these moments of inertia; taken as they are")
            made.is_checked = False
        return made
