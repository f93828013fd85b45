# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Geoms and sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.scene.contact import PhysicsMaterial
from worldline._src.scene.formats.markup import child, numbers
from worldline._src.scene.formats.mjcf.write_meshes import mesh_asset
from worldline._src.scene.formats.mjcf.write_softness import write_softness
from worldline._src.scene.formats.mjcf.writing import Words, Writing, preimage
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType, Site, SiteShape
from worldline._src.scene.poses import Pose, normalized

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_SHAPES: Final = {shape: facts.mjcf for shape, facts in SHAPES.items() if facts.mjcf is not None}
_SITE_SHAPES: Final = {
    SiteShape.Sphere: "sphere",
    SiteShape.Capsule: "capsule",
    SiteShape.Ellipsoid: "ellipsoid",
    SiteShape.Cylinder: "cylinder",
    SiteShape.Box: "box",
}
_NEEDED: Final = {facts.mjcf: facts.lengths for facts in SHAPES.values() if facts.sizes} | {"plane": 3}
_GREY: Final = (0.5, 0.5, 0.5, 1.0)
_SITE_SIZE: Final = 0.005
_FLUID: Final = (0.5, 0.25, 1.5, 1.0, 1.0)
_SAID: Final = frozenset(
    (
        *("name", "shape", "size", "mesh", "mesh_scale", "mesh_inertia", "fit_scale", "hfield", "position"),
        *("orientation", "mass", "shell_inertia", "physics_material", "collision_mask", "priority", "margin"),
        *("gap", "visual", "fluid_coefficients"),
    )
)
_MATERIAL_SAID: Final = frozenset(("condim", "contact_model", "density", "force_mix", "friction"))
_SITE_SAID: Final = frozenset(
    ("name", "shape", "size", "from_to", "position", "orientation", "group", "material", "rgba")
)


def _of_shape(name: str | None, shape: str) -> Words:
    """Name and type of a geom or a site; spheres are the default."""
    words = Words()
    words.text("name", name)
    if shape != "sphere":
        words["type"] = shape
    return words


def write_geom(writing: Writing, element: Element, geom: Geometry, path: str) -> None:
    """A geom."""
    shape = _SHAPES[geom.shape]
    words = _of_shape(geom.name, shape)
    if geom.shape is ShapeType.Plane:
        writing.changed(f"{path}.shape", "a plane pushes beyond its edges too")
    if geom.mesh is not None:
        words["mesh"] = mesh_asset(writing, geom, path)
        words.real("fitscale", geom.fit_scale, 1.0)
    else:
        writing.idle(geom, path, ("mesh_scale", "mesh_inertia", "fit_scale"))
    _write_size(writing, words, geom, shape, path)
    position = geom.position
    if geom.shape is ShapeType.HField and geom.hfield is not None:
        words["hfield"] = geom.hfield
        sunk = writing.sunk.get(geom.hfield, 0.0)
        if sunk:
            position = Pose(position, normalized(geom.orientation)).apply(np.array([0.0, 0.0, sunk]))
            writing.reworded(f"{path}.position", "it moves with the lowest point of its height field")
    else:
        writing.idle(geom, path, ("hfield",))
    writing.pose(words, position, geom.orientation.tolist(), f"{path}.orientation")
    if geom.mass is not None:
        words.real("mass", geom.mass)
    words.flag("shellinertia", geom.shell_inertia, False)
    _write_material(writing, words, geom.physics_material, f"{path}.physics_material")
    for name, value in (("contype", "collide_group"), ("conaffinity", "collide_with")):
        words.whole(name, _signed(writing, geom, value, path), 1)
    writing.whole(words, "priority", geom.priority, 0, f"{path}.priority")
    gap = geom.gap
    words.real("margin", preimage(lambda m: m + gap, geom.margin - gap, geom.margin), 0.0)
    words.real("gap", gap, 0.0)
    _write_looks(writing, words, geom, path)
    if geom.fluid_coefficients is not None:
        words["fluidshape"] = "ellipsoid"
        words.reals("fluidcoef", geom.fluid_coefficients, _FLUID, short=True)
    writing.others(geom, path, _SAID)
    child(element, "geom", words)


def _write_size(writing: Writing, words: Words, geom: Geometry, shape: str, path: str) -> None:
    size = geom.size
    if geom.mesh is not None or shape == "hfield":
        # it means nothing, but comes back as it was
        words.reals("size", size, (0.0, 0.0, 0.0))
        return
    if shape == "plane" and not size[2] > 0.0:
        # the distance of grid lines, without which the file is not taken
        size = [size[0], size[1], 1.0]
        writing.reworded(f"{path}.size", "grid lines are drawn at a distance of 1 m")
    if not all(x > 0.0 for x in size[: _NEEDED[shape]]) and shape != "plane":
        writing.changed(f"{path}.size", "MuJoCo refuses shapes without a size")
    count = 3 if any(size[_NEEDED[shape] :]) else _NEEDED[shape]
    words["size"] = numbers(size[:count])


def _signed(writing: Writing, geom: Geometry, field: str, path: str) -> int:
    """A mask as the whole number of 32 bits that the format has."""
    mask = getattr(geom.collision_mask, field)
    if mask < 2**31:
        return mask
    writing.reworded(f"{path}.collision_mask.{field}", "the same bits are written as a negative number")
    return mask - 2**32


def _write_material(writing: Writing, words: Words, material: PhysicsMaterial, path: str) -> None:
    words.real("density", material.density, 1000.0)
    words.whole("condim", material.condim, 3)
    words.reals("friction", material.friction, (1.0, 0.005, 0.0001), short=True)
    write_softness(writing, words, material.contact_model, f"{path}.contact_model")
    words.real("solmix", material.force_mix, 1.0)
    writing.others(material, path, _MATERIAL_SAID)


def _write_looks(writing: Writing, words: Words, geom: Geometry, path: str) -> None:
    visual = geom.visual
    words.whole("group", visual.group, 0)
    words.text("material", visual.material)
    if visual.color is None:
        return
    if tuple(visual.color) == _GREY:
        note = "the colour of the format's own default gives way to the material"
        if visual.material is None:
            writing.reworded(f"{path}.visual.color", note)
        else:
            writing.changed(f"{path}.visual.color", note)
        return
    words.reals("rgba", visual.color)


def write_site(writing: Writing, element: Element, site: Site, path: str) -> None:
    """A site."""
    shape = _SITE_SHAPES[site.shape]
    words = _of_shape(site.name, shape)
    size = list(site.size)
    ends = site.from_to
    if ends is not None:
        writing.reworded(f"{path}.from_to", "its ends are written, which decide on pose and length")
    needed = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(shape, 3) if ends is None else 1
    if not all(x > 0.0 for x in size[:needed]):
        writing.changed(f"{path}.size", f"MuJoCo refuses sites without a size, so it is {_SITE_SIZE} m")
        size[:needed] = [x if x > 0.0 else _SITE_SIZE for x in size[:needed]]
    words.reals("size", size, (_SITE_SIZE,) * 3, short=True)
    if ends is None or shape == "sphere":
        writing.pose(words, site.position, site.orientation.tolist(), f"{path}.orientation")
    else:
        words.reals("fromto", ends)
    words.whole("group", site.group, 0)
    words.text("material", site.material)
    words.reals("rgba", site.rgba, _GREY)
    writing.others(site, path, _SITE_SAID)
    child(element, "site", words)
