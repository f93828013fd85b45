# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Geoms and sites."""

from __future__ import annotations

from typing import Any, Final

from worldline._src.scene.contact import CollisionMask, ConstraintForceModel, PhysicsMaterial
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.orientation import Placement, between, read_placement
from worldline._src.scene.formats.mjcf.schema import ORIENTATION
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.mjcf.solver import read_spring
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.geometry import SHAPES as ALL_SHAPES
from worldline._src.scene.geometry import Geometry, GeomVisualAttrs, ShapeType, Site, SiteShape

SHAPES: Final = {
    facts.mjcf: shape
    for shape, facts in ALL_SHAPES.items()
    # planes that push have no end
    if facts.mjcf is not None and shape is not ShapeType.Plane
} | {"sdf": None}
_SITE_SHAPES: Final = {
    "sphere": SiteShape.Sphere,
    "capsule": SiteShape.Capsule,
    "ellipsoid": SiteShape.Ellipsoid,
    "cylinder": SiteShape.Cylinder,
    "box": SiteShape.Box,
    "mesh": None,
}
# looking up a member of an enumeration takes Python ten times as long as looking up a name
_SPHERE, _MESH, _HFIELD = ShapeType.Sphere, ShapeType.Mesh, ShapeType.HField
_BY_SEMI_AXES: Final = {ShapeType.Box, ShapeType.Ellipsoid, SiteShape.Box, SiteShape.Ellipsoid}
_LONG: Final = _BY_SEMI_AXES | {ShapeType.Capsule, ShapeType.Cylinder, SiteShape.Capsule, SiteShape.Cylinder}
_POSES: Final = frozenset(("pos", *ORIENTATION))
_GREY: Final = [0.5, 0.5, 0.5, 1.0]
_FLUID: Final = (0.5, 0.25, 1.5, 1.0, 1.0)
_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "adhesion": "sticking contacts are not modelled",
    "surfacevel": "moving surfaces are not modelled",
    "castshadow": "shadows are a matter of the material",
}
GROUPS: Final = 7


_PLACED: Final = frozenset(("name", "class", "type", "mesh", "size", "fromto", "pos", *ORIENTATION))


def read_group(a: Attributes) -> int:
    """A visibility group; those beyond the last one become the last."""
    group = a.integer("group", 0)
    if 0 <= group <= GROUPS:
        return group
    a.log.approximated(a.holder("group"), f"attribute 'group': given {group}, which becomes {GROUPS}")
    return GROUPS


def _read_frame(
    a: Attributes, scope: Scope, shape: ShapeType | SiteShape, size: list[float], frame: Placement
) -> Placement:
    """Where a geom or site stands; ends of a long shape also set its length in `size`."""
    ends = a.reals("fromto", 6) if "fromto" in a else None
    if ends is None:
        return frame.then(read_placement(a, scope.compiler))
    if a.gives_any(_POSES):
        for name in ("pos", *ORIENTATION):
            if a.is_own(name):
                message = f"attribute '{name}': the ends of 'fromto' already say where it is"
                a.log.left_out(a.element, message)
        a.mark("pos", *ORIENTATION)
    found = between(ends)
    if shape not in _LONG:
        kind = shape.name.lower()
        a.reject("fromto", f"given for a {kind}; allowed: capsule, cylinder, box, ellipsoid")
    elif found is None:
        a.reject("fromto", "given the same point twice; allowed: two different points")
    else:
        placement, half = found
        if shape in _BY_SEMI_AXES:
            size[1], size[2] = size[0], half
        else:
            size[1] = half
        return frame.then(placement)
    return frame


def read_geom(
    reading: Reading, element: Element, scope: Scope, childclass: str | None, frame: Placement
) -> Geometry | None:
    """A geom, its pose seen from its link; None when it is left out."""
    a = reading.attributes(element, scope, childclass)
    if element.children and element.find("plugin") is not None:
        reading.log.left_out(element, "a shape given by a plugin's signed distance field")
        return None
    shape = a.choice("type", SHAPES, _SPHERE)
    if shape is None:
        reading.log.left_out(element, "a shape given by a plugin's signed distance field")
        return None
    mesh = reading.asset(a, "mesh", "mesh", scope) if "mesh" in a else None
    if mesh is not None and not reading.meshes[mesh].available:
        reading.log.left_out(element, f"a geom of the mesh '{mesh}', which is left out")
        return None
    parts: dict[str, Any] = {}
    for read in _READERS:
        parts |= read(reading, a, scope, (shape, mesh))
    reading.note_others(a, _KNOWN, _IGNORED)
    size = a.reals("size", 1, 3, default=(0.0, 0.0, 0.0)) or [0.0, 0.0, 0.0]
    if min(size) < 0.0:
        a.reject("size", f"given {size}; allowed: sizes >= 0")
        size = [abs(x) for x in size]
    position, rotation = _read_frame(a, scope, shape, size, frame)
    own: dict[str, Any] = {
        "name": reading.names.own(scope, element, "geom"),
        "shape": shape,
        "mesh": mesh,
        "size": size,
        "position": position,
        "orientation": rotation,
    }
    if mesh is not None:
        own["mesh_inertia"] = reading.meshes[mesh].inertia
    geom = Geometry(**parts, **own)
    _check(a, geom)
    return geom


Facts = tuple[ShapeType, str | None]
"""Shape and mesh of a geom."""


def _read_numbers(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    gap, mass = a.real("gap", 0.0), a.real("mass", None)
    if mass is not None and mass < 0.0:
        a.reject("mass", f"given {mass:g}; allowed: a mass >= 0")
    return {
        # the scene counts from where contact is looked for, the file from where it pushes
        "margin": a.real("margin", 0.0) + gap,
        "gap": gap,
        "priority": a.integer("priority", 0),
        "mass": mass,
        "shell_inertia": a.flag("shellinertia", False),
        "fit_scale": a.real("fitscale", 1.0),
    }


def _read_hfield(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    return {"hfield": reading.asset(a, "hfield", "hfield", scope)}


def _read_mask(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    group, others = a.integer("contype", 1), a.integer("conaffinity", 1)
    return {"collision_mask": CollisionMask(collide_group=group, collide_with=others)}


def _read_fluid(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    coefficients = a.reals("fluidcoef", 1, 5, default=_FLUID)
    is_ellipsoid = a.choice("fluidshape", {"none": False, "ellipsoid": True}, False)
    return {"fluid_coefficients": coefficients if is_ellipsoid else None}


def _read_physics(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    condim = a.integer("condim", 3)
    if condim not in (1, 3, 4, 6):
        a.reject("condim", f"given {condim}; allowed: 1, 3, 4 or 6")
        condim = 3
    friction = a.reals("friction", 1, 3, default=(1.0, 0.005, 0.0001)) or [1.0, 0.005, 0.0001]
    if min(friction) < 0.0:
        a.reject("friction", f"given {friction}; allowed: coefficients >= 0")
    density = a.real("density", 1000.0)
    if density < 0.0:
        a.reject("density", f"given {density:g}; allowed: a density >= 0")
    material = PhysicsMaterial(
        condim=condim,
        contact_model=ConstraintForceModel._of("impedance", read_spring(a)),
        density=density,
        force_mix=max(0.0, a.real("solmix", 1.0)),
        friction=friction,
    )
    return {"physics_material": material}


def _read_visual(reading: Reading, a: Attributes, scope: Scope, facts: Facts) -> dict[str, Any]:
    color, material = a.reals("rgba", 4), reading.asset(a, "material", "material", scope)
    shape, mesh = facts
    if material is None and mesh is not None and shape is ShapeType.Mesh:
        material = reading.meshes[mesh].material
    visual = GeomVisualAttrs(
        # the format's own default colour gives way to the material
        color=None if color == _GREY else color,
        group=read_group(a),
        material=material,
    )
    return {"visual": visual}


_READERS: Final = (_read_numbers, _read_physics, _read_visual, _read_mask, _read_fluid, _read_hfield)
_KNOWN: Final = _PLACED.union(
    "margin gap priority mass shellinertia fitscale condim solref solimp density solmix friction".split(),
    "rgba group material contype conaffinity fluidcoef fluidshape hfield".split(),
)


_NEEDED: Final = {shape: facts.lengths for shape, facts in ALL_SHAPES.items() if facts.sizes}


def _check(a: Attributes, geom: Geometry) -> None:
    needed = _NEEDED.get(geom.shape, 0)
    if geom.mesh is None and not min(geom.size[:needed], default=1.0) > 0.0:
        kind = geom.shape.name.lower()
        given = (a.holder("size").get("size") or "nothing")[:60]
        a.log.problem(a.element, f"attribute 'size': given {given}; allowed: {needed} sizes > 0 for a {kind}")
    if geom.shape is _MESH and not ("mesh" in a and a.text("mesh")):
        a.log.problem(a.element, "attribute 'mesh' is required for type mesh")
    if (geom.shape is _HFIELD) != ("hfield" in a and bool(a.text("hfield"))):
        a.log.problem(a.element, "attribute 'hfield' is required for type hfield, and only for it")


def read_site(
    reading: Reading, element: Element, scope: Scope, childclass: str | None, frame: Placement
) -> Site:
    """A site, its pose seen from its link."""
    a = reading.attributes(element, scope, childclass)
    shape = a.choice("type", _SITE_SHAPES, SiteShape.Sphere)
    if shape is None:
        reading.log.approximated(
            element, "attributes 'type' and 'mesh': a site with the shape of a mesh becomes a sphere"
        )
        a.mark("mesh")
        shape = SiteShape.Sphere
    size = a.reals("size", 1, 3, default=(0.005, 0.005, 0.005)) or [0.005, 0.005, 0.005]
    if min(size) < 0.0:
        a.reject("size", f"given {size}; allowed: sizes >= 0")
        size = [abs(x) for x in size]
    placement = _read_frame(a, scope, shape, size, frame)
    position, rotation = placement
    site = Site(
        name=reading.names.own(scope, element, "site"),
        shape=shape,
        size=size,
        position=position,
        orientation=rotation,
        group=read_group(a),
        material=reading.asset(a, "material", "material", scope),
        rgba=a.reals("rgba", 4, default=_GREY),
    )
    reading.finish(a)
    return site
