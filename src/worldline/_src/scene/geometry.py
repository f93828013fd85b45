# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes attached to links: geoms, which have mass and touch, and sites, which only mark a place."""

from __future__ import annotations

from enum import auto
from typing import Final

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.contact import CollisionMask, PhysicsMaterial
from worldline._src.scene.containers import OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import INTEGER, NON_NEGATIVE, POSITIVE, Integer
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, Numbers

GROUP = Integer(minimum=0, maximum=7)


class ShapeType(SceneEnum):
    """The shape of a geom."""

    Box, Capsule, Cylinder, Ellipsoid, HField = auto(), auto(), auto(), auto(), auto()
    InfinitePlane, Mesh, Plane, Sphere = auto(), auto(), auto(), auto()
    Cone = auto()


class ShapeFacts(NamedTuple):
    """What layers and formats call a shape, and which of its sizes count."""

    kind: str
    """Name of its `ShapeKind` in a Model and of its `CollisionShapeType`."""
    lengths: int
    """Half sizes that a Model keeps."""
    sizes: str = ""
    """Words for the half sizes that must be positive; none for shapes that have no such."""
    mjcf: str | None = None
    sdf: str | None = None
    urdf: str | None = None
    """Its element or word in a format; None where the format has no such shape."""


SHAPES: Final[dict[ShapeType, ShapeFacts]] = {
    ShapeType.Box: ShapeFacts("BOX", 3, "three half sizes > 0", "box", "box", "box"),
    ShapeType.Capsule: ShapeFacts(
        "CAPSULE", 2, "a radius and a half length > 0", "capsule", "capsule", "capsule"
    ),
    ShapeType.Cone: ShapeFacts("CONE", 2, "a radius and a half length > 0", sdf="cone"),
    ShapeType.Cylinder: ShapeFacts(
        "CYLINDER", 2, "a radius and a half length > 0", "cylinder", "cylinder", "cylinder"
    ),
    ShapeType.Ellipsoid: ShapeFacts("ELLIPSOID", 3, "three semi-axes > 0", "ellipsoid", "ellipsoid"),
    ShapeType.HField: ShapeFacts("HFIELD", 0, "", "hfield", "heightmap"),
    ShapeType.InfinitePlane: ShapeFacts("PLANE", 0, "", "plane", "plane"),
    ShapeType.Mesh: ShapeFacts("MESH", 0, "", "mesh", "mesh", "mesh"),
    ShapeType.Plane: ShapeFacts("PLANE", 2, "", "plane", "plane"),
    ShapeType.Sphere: ShapeFacts("SPHERE", 1, "a radius > 0", "sphere", "sphere", "sphere"),
}
"""The one table of shapes: sizes, numbers in a Model, readers and writers follow from it."""


class SiteShape(SceneEnum):
    """The shape of a site."""

    Box, Capsule, Cylinder, Sphere, Ellipsoid = auto(), auto(), auto(), auto(), auto()


class MeshInertia(SceneEnum):
    """What the mass of a mesh geom fills.

    Auto is the enclosed volume where the mesh encloses one, else that of the convex hull, else the surface.
    Legacy counts the volume of overlapping parts twice, as old MJCF files expect.
    """

    Auto, Exact, Convex, Legacy, Shell = auto(), auto(), auto(), auto(), auto()


class GeomVisualAttrs(Struct):
    """How a geom looks."""

    color: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(4)), doc="RGBA, 0 to 1; None leaves the material's."
    )
    group: int = value(GROUP, 0, "Visibility group 0 to 7; 0, 1 and 2 are shown by default.")
    material: str | None = optional(Ref("material"), "Name of a material asset.")


class Geometry(Struct):
    """A shape on a link, or on the world, with mass, contact parameters and looks.

    `size` holds half sizes: sphere (radius, -, -); capsule and cylinder (radius, half length, -) along z;
    cone (radius, half length, -) with its apex at the upper end of z;
    box (half x, half y, half z); ellipsoid (semi-axes); plane (half x, half y, -). An infinite plane is drawn
    and seen by range finders up to (half x, half y, -), 0 for no end. Meshes and height fields ignore it, and
    so does a primitive that names a mesh: it is fitted to that mesh.

    Example:
        >>> Geometry(name="crate", shape="Box", size=(0.5, 0.5, 0.25), mass=12.0)
        Geometry(mass=12.0, name='crate', shape=ShapeType.Box, size=[0.5, 0.5, 0.25])
    """

    collision_mask: CollisionMask = part(CollisionMask, "What it may touch.")
    gap: float = field(default=0.0, doc="Contact is made below distance `margin` - `gap`, m.")
    hfield: str | None = optional(Ref("hfield"), "Height field, for shape HField.")
    margin: float = field(default=0.0, doc="Distance below which contact is looked for, m.")
    mass: float | None = optional(NON_NEGATIVE, "Mass, kg; None computes it from density and volume.")
    mesh: str | None = optional(Ref("mesh"), "Mesh asset shown or fitted to.")
    mesh_scale: Array | None = field(
        default=None, converter=OptionalOf(VECTOR3), doc="Scale of the mesh along its axes, (3,)."
    )
    name: str | None = optional(Name("geom"), "Name.")
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the link frame, xyzw, (4,)."
    )
    physics_material: PhysicsMaterial = part(PhysicsMaterial, "Material.")
    position: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the link frame, m, (3,)."
    )
    priority: int = value(
        INTEGER, 0, "The geom of higher priority decides the contact parameters; equal ones combine."
    )
    shape: Choice[ShapeType] = field(default=ShapeType.Sphere, doc="Shape.")
    size: list[float] = field(
        default=(0.0, 0.0, 0.0), converter=Numbers(3, minimum=0.0), doc="Half sizes, m; see above."
    )
    visual: GeomVisualAttrs = part(GeomVisualAttrs, "Looks.")
    shell_inertia: bool = field(default=False, doc="Mass sits on the surface instead of in the volume.")
    fluid_coefficients: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers(5)),
        doc="Ellipsoid fluid forces: blunt drag, slender drag, angular drag, Kutta lift, Magnus lift.",
    )
    mesh_inertia: Choice[MeshInertia] = field(
        default=MeshInertia.Auto, doc="What the mass of a mesh fills; also what a primitive is fitted to."
    )
    fit_scale: float = value(POSITIVE, 1.0, "Factor of the sizes of a primitive fitted to a mesh.")
    mesh_surface: bool = field(
        default=False,
        doc="A mesh touches by its triangles, both sides, instead of its hull; only where nothing moves it.",
    )


class Site(Struct):
    """A named pose on a link or on the world, with a shape for touch sensors and for show."""

    from_to: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers(6)),
        doc="Both ends of a long shape in the link frame, m; replaces pose and length when given.",
    )
    group: int = value(GROUP, 0, "Visibility group 0 to 7.")
    material: str | None = optional(Ref("material"), "Name of a material asset.")
    name: str | None = optional(Name("site"), "Name.")
    orientation: Array = field(
        default=(0.0, 0.0, 0.0, 1.0), converter=QUATERNION, doc="Rotation in the link frame, xyzw, (4,)."
    )
    position: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the link frame, m, (3,)."
    )
    rgba: list[float] = field(default=(0.5, 0.5, 0.5, 1.0), converter=Numbers(4), doc="RGBA.")
    shape: Choice[SiteShape] = field(default=SiteShape.Sphere, doc="Shape.")
    size: list[float] = field(
        default=(0.0, 0.0, 0.0), converter=Numbers(3, minimum=0.0), doc="Half sizes as for a `Geometry`, m."
    )
