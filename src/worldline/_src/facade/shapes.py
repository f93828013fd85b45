# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision shapes of rigid bodies and links, and the ground.

A shape becomes a geom of the description without mass: the mass of a body is its own and stays. An inertia
that nobody gave is that of the shapes, scaled to that mass. Contact is hard; two shapes touch with the
geometric mean of their friction and the larger restitution.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.collision.shapes import CollisionShape, CollisionShapeType
from worldline._src.errors import ArgumentError, CapabilityError, WorldlineError
from worldline._src.facade import values
from worldline._src.facade.body_options import ASSUMED_INERTIA, six_moments
from worldline._src.facade.body_state import MassiveFrame
from worldline._src.model.kinds import ShapeFlags
from worldline._src.model.model import Model
from worldline._src.scene.asset_specs import HFieldSource, HFieldSourceType, MeshData, MeshSource
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.contact import CombineRule, ConstraintForceModel, PhysicsMaterial
from worldline._src.scene.geometry import SHAPES, Geometry, ShapeType
from worldline._src.scene.validate import is_ground, movable_links
from worldline._src.scene.world import World as Scene
from worldline._src.step.collision_rows import collision_shape

if TYPE_CHECKING:
    from worldline._src.facade.link import Link
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.world_runtime import WorldRuntime

FRICTION, RESTITUTION = 1.0, 0.0
"""Of shapes that say nothing else."""
_ERP = 0.2
"""Share of an overlap that a step removes."""
_KINDS = {
    CollisionShapeType[facts.kind]: shape
    for shape, facts in SHAPES.items()
    if facts.kind in CollisionShapeType.__members__ and shape is not ShapeType.Plane
} | {CollisionShapeType.CONVEX: ShapeType.Mesh, CollisionShapeType.HEIGHT_FIELD: ShapeType.HField}
ON_BODIES = frozenset(_KINDS)
"""Kinds of shapes that a body may have."""


class CollisionBody(MassiveFrame):
    """A body that can touch others: a `RigidBody` or a `Link`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box: sx.CollisionBody = world.add_rigid_body("box")
        >>> box.is_rigid_body, box.as_rigid_body() is box, box.as_link()
        (True, True, None)
    """

    @property
    def is_rigid_body(self) -> bool:
        """Whether it is a `RigidBody`."""
        return self.as_rigid_body() is not None

    @property
    def is_link(self) -> bool:
        """Whether it is a `Link`."""
        return self.as_link() is not None

    def as_rigid_body(self) -> RigidBody | None:
        """The body itself when it is a `RigidBody`, None otherwise."""
        return None

    def as_link(self) -> Link | None:
        """The body itself when it is a `Link`, None otherwise."""
        return None

    def _own_material(self) -> tuple[float, float]:
        """Friction and restitution of shapes that are given none."""
        return FRICTION, RESTITUTION

    def add_collision_shape(
        self,
        shape: CollisionShape,
        *,
        name: str = "",
        friction: float | None = None,
        restitution: float | None = None,
    ) -> None:
        """Give the body one more shape, in design mode or within `World.edit()`.

        The mass of the body stays. An inertia that was given stays too; otherwise it becomes that of all
        shapes with uniform density, scaled to the mass, and the centre of mass, unless given, becomes theirs.

        Shapes of one body never touch each other. Planes, meshes (surfaces of triangles with two sides) and
        height fields are for bodies that stand still.

        Args:
            shape: the shape; its local transform is its pose in the body.
            name: unique among all shapes of the World; none when empty.
            friction: coefficient of dry friction, that of the body when None; pairs use the geometric mean.
            restitution: share of the closing speed that returns, 0 to 1, that of the body when None; pairs
                use the larger.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", position=(0, 0, 0.5))
            >>> box.add_collision_shape(CollisionShape.box((0.5, 0.5, 0.5)))
            >>> ground = world.add_ground_plane()
            >>> world.step(n=100)
            >>> round(float(box.translation[2]), 6), len(world.contacts)
            (0.5, 4)
        """
        self._require_design(f"adding a shape to '{self.name}'")
        own_friction, own_restitution = self._own_material()
        geom, source = _geometry(
            self._world._scene,
            shape,
            _checked_name(self._world._scene, name),
            _material(
                own_friction if friction is None else friction,
                own_restitution if restitution is None else restitution,
            ),
        )
        if is_ground(geom) and self._moves():
            raise ArgumentError(f"{shape!r} has no volume and '{self.name}' can move; give it a solid shape")
        assets = self._world._scene.assets
        if isinstance(source, MeshSource):
            assert geom.mesh is not None
            assets.meshes[geom.mesh] = source
        elif source is not None:
            assert geom.hfield is not None
            assets.hfields[geom.hfield] = source
        self._link.geoms.append(geom)
        try:
            self._derive_inertia()
        except WorldlineError:
            self._drop(geom)
            raise
        self._world._topology_changed()

    def _has_volume(self) -> bool:
        return any(_touches(geom) and not is_ground(geom) for geom in self._link.geoms)

    def _derive_inertia(self) -> None:
        """Default inertia and centre of mass, from the present shapes.

        Shapes have uniform density, overlaps count twice, and the whole is scaled to the mass of the body.
        """
        given = self._link.inertial
        if given.has_own_moments or given.mass is None:
            return
        shapes = AssetLibrary(self._world._scene).uniform_properties(self._link.geoms)
        moments, center = ASSUMED_INERTIA, np.zeros(3)
        if shapes.mass > 0.0:
            moments, center = shapes.inertia * (given.mass / shapes.mass), shapes.com
            values.inertia_of(moments, f"'{self.name}': the inertia of its shapes")
        given.full_inertia = six_moments(moments)
        if not given.has_own_pos:
            given.pos = center

    def set_collision_shape(
        self, shape: CollisionShape, *, friction: float | None = None, restitution: float | None = None
    ) -> None:
        """Have this shape and no other; see `add_collision_shape`."""
        before = self._touching()
        self.add_collision_shape(shape, friction=friction, restitution=restitution)
        for geom in before:
            self._drop(geom)

    def remove_collision_shape(self, which: int | str) -> None:
        """Take away a shape by its place in `collision_shapes` or its name; others move up."""
        self._require_design(f"removing a shape from '{self.name}'")
        geoms = self._touching()
        if isinstance(which, str):
            found = [geom for geom in geoms if geom.name == which]
            if not found:
                known = [geom.name for geom in geoms if geom.name]
                raise ArgumentError(f"'{self.name}' has no shape named '{which}'; it has {known}")
            self._drop(found[0])
            return
        index = values.count(which, "place of a shape")
        if not 0 <= index < len(geoms):
            raise ArgumentError(f"'{self.name}' has {len(geoms)} shapes, there is no shape {index}")
        self._drop(geoms[index])

    def _drop(self, geom: Geometry) -> None:
        scene = self._world._scene
        rows = self._link.geoms
        rows[:] = [row for row in rows if row is not geom]
        self._derive_inertia()
        left = [g for link in scene.hierarchy.links() for g in link.geoms] + list(scene.hierarchy.geoms)
        if geom.mesh is not None and geom.mesh.startswith(_OWN) and all(g.mesh != geom.mesh for g in left):
            del scene.assets.meshes[geom.mesh]
        if geom.hfield is not None and geom.hfield.startswith(_OWN):
            if all(g.hfield != geom.hfield for g in left):
                del scene.assets.hfields[geom.hfield]
        self._world._topology_changed()

    def _moves(self) -> bool:
        return next(moves for link, moves, _ in movable_links(self._world._scene) if link is self._link)

    def _touching(self) -> list[Geometry]:
        """The geoms that can touch something, in the order of `collision_shapes`."""
        self._require_alive()
        return [geom for geom in self._link.geoms if _touches(geom)]

    @property
    def collision_shapes(self) -> list[CollisionShape]:
        """All shapes that can touch something, those of a file included; a new list each time."""
        runtime, b = self._index()
        return [collision_shape(runtime.model, k) for k in _touching_rows(runtime.model, b).tolist()]

    @property
    def collision_shape(self) -> CollisionShape | None:
        """The first shape, None when there is none."""
        shapes = self.collision_shapes
        return shapes[0] if shapes else None

    @property
    def num_collision_shapes(self) -> int:
        """Number of shapes that can touch something."""
        return len(self._touching())

    @property
    def has_collision_shape(self) -> bool:
        """Whether there is any shape that can touch something."""
        return bool(self._touching())

    def _write_materials(self, *, friction: float | None = None, restitution: float | None = None) -> None:
        """Give all shapes of the body a new friction or restitution."""
        geoms = self._touching()
        for geom in geoms:
            material = geom.physics_material
            if friction is not None:
                material.friction = [friction, *material.friction[1:]]
            if restitution is not None:
                material.restitution = restitution
        if friction is not None and geoms and self._world._runtime is not None:
            runtime, b = self._index()
            runtime.set_friction(_touching_rows(runtime.model, b), friction)
        if restitution is not None and geoms:
            # which shapes bounce decides on the stages of a step
            self._world._topology_changed()
        self._world._configuration_changed()


def _touching_rows(model: Model, body: int) -> np.ndarray:
    """Rows of `Model.shapes` on a body that can touch something."""
    table = model.shapes
    if table is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero((table.body == body) & ((table.flags & ShapeFlags.COLLIDES) != 0))


def add_ground_plane(world: WorldRuntime, height: float, friction: float, restitution: float) -> str:
    """See `World.add_ground_plane`."""
    world._require_design("adding a ground plane")
    z = values.real(height, "height of a ground plane")
    material = _material(friction, restitution)
    plane = world._scene.add_ground_plane(z)
    plane.physics_material = material
    world._topology_changed()
    assert plane.name is not None
    return plane.name


def checked_restitution(value: Any, what: str) -> float:
    """A share of speed, 0 to 1."""
    number = values.non_negative(value, what)
    if number > 1.0:
        raise ArgumentError(f"{what} must be between 0 and 1, got {number}")
    return number


def _touches(geom: Geometry) -> bool:
    return bool(geom.collision_mask.collide_group or geom.collision_mask.collide_with)


def _material(friction: float, restitution: float) -> PhysicsMaterial:
    """What shapes of this side are made of."""
    mu = values.non_negative(friction, "friction of a shape")
    bounce = checked_restitution(restitution, "restitution of a shape")
    return PhysicsMaterial(
        friction=(mu, 0.005, 0.0001),
        restitution=bounce,
        contact_model=ConstraintForceModel.hard(bounce, _ERP),
        friction_rule=CombineRule.GeometricMean,
        restitution_rule=CombineRule.Maximum,
    )


_OWN = "worldline:"
"""How the names of assets begin that shapes bring along."""


def _geometry(
    scene: Scene, shape: CollisionShape, name: str | None, material: PhysicsMaterial
) -> tuple[Geometry, MeshSource | HFieldSource | None]:
    """A shape as a geom without mass, and the asset it needs."""
    if not isinstance(shape, CollisionShape):
        raise values.ShapeError(f"a CollisionShape is needed, got {shape!r}")
    kind = _KINDS.get(shape.type)
    if kind is None:
        raise CapabilityError(
            f"supported features: {shape!r} cannot be on a body; these shapes can: "
            f"{', '.join(kind.name for kind in _KINDS)}"
        )
    pose = shape.local_pose
    geom = Geometry(
        name=name, shape=kind, position=pose[:3], orientation=pose[3:], mass=0.0, physics_material=material
    )
    if kind is ShapeType.HField:
        geom.hfield = _free(scene.assets.hfields, "field")
        heights = shape.heights
        source = HFieldSourceType.buffer(heights.tolist(), geom.hfield)
        rows, columns = heights.shape
        return geom, HFieldSource(
            nrow=rows, ncol=columns, size=shape.field_size, source_type=source, base=shape.base
        )
    if kind is not ShapeType.Mesh:
        geom.size = shape._size.tolist()
        return geom, None
    geom.mesh_surface = shape.type == CollisionShapeType.MESH
    geom.mesh = _free(scene.assets.meshes, "mesh" if geom.mesh_surface else "convex")
    triangles = shape.triangles if geom.mesh_surface else _triangles(shape)
    return geom, MeshSource.buffer(MeshData(vertices=shape.vertices, triangles=triangles))


def _free(table: Mapping[str, object], stem: str) -> str:
    """A name no asset has yet."""
    return next(name for n in range(len(table) + 1) if (name := f"{_OWN}{stem}_{n}") not in table)


def _triangles(shape: CollisionShape) -> np.ndarray:
    """The faces of a hull as fans of triangles, (n, 3)."""
    hull = shape.geometry
    made: list[tuple[int, int, int]] = []
    for start, end in zip(hull.face_start[:-1].tolist(), hull.face_start[1:].tolist(), strict=True):
        corners = hull.face_corner[start:end].tolist()
        made += [(corners[0], p, q) for p, q in pairwise(corners[1:])]
    return np.array(made, np.int64).reshape(-1, 3)


def _checked_name(scene: Scene, name: str) -> str | None:
    given = values.text(name, "name of a shape")
    if not given:
        return None
    taken = {geom.name for geom in scene.hierarchy.geoms}
    taken |= {geom.name for link in scene.hierarchy.links() for geom in link.geoms}
    if given in taken:
        raise ArgumentError(f"a shape named '{given}' already exists")
    return given
