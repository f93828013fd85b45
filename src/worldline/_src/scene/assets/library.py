# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The meshes and height fields of one scene, loaded on request, and what follows from them.

This is where a compiler gets from names to shapes: `mesh`, `hull` and `parts` for collision and display,
`resolved` for primitives that are fitted to a mesh, `link_properties` for inertia.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.later import deferred_modules
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene import mass_properties
from worldline._src.scene.asset_specs import MeshSource
from worldline._src.scene.assets.cache import AssetCache, content_key
from worldline._src.scene.assets.hfields import HeightField, load_hfield
from worldline._src.scene.assets.hulls import convex_hull
from worldline._src.scene.assets.integrals import MeshIntegrals, mesh_integrals
from worldline._src.scene.assets.mesh import Mesh, from_data, scaled, transformed
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.bodies import Inertia, Link
from worldline._src.scene.geometry import Geometry, MeshInertia, ShapeType
from worldline._src.scene.kinds import hint
from worldline._src.scene.options import CoACDConfig, CompileOptions, InertiaSource, ShapeFit
from worldline._src.scene.poses import Pose, multiply, normalized
from worldline._src.scene.vectors import Array
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from worldline._src.scene.assets import decomposition, fitting, mesh_files
else:
    decomposition, fitting, mesh_files = deferred_modules("scene.assets", "decomposition fitting mesh_files")

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_MESH = ShapeType.Mesh
_FROM_GEOMS, _AS_GIVEN = InertiaSource.Geometry, InertiaSource.Given


_SEARCHED: set[tuple[str, int, int]] = set()
"""Path, size and time of files that are known to hold finite numbers only."""
_MOST_SEARCHED: Final = 10_000


class ResolvedShape(NamedTuple):
    """What a geom is once its mesh is known.

    Attributes:
        shape: The shape; a primitive for a geom that was fitted.
        size: Half sizes of a primitive, m, (3,); half extents of a mesh about its own origin.
        position: Place in the link frame, m, (3,).
        rotation: Rotation in the link frame, xyzw, (4,).
        mesh: The mesh in the axes of the geom, for shape Mesh.
    """

    shape: ShapeType
    size: Array
    position: Array
    rotation: Array
    mesh: Mesh | None = None


def load_mesh(
    source: MeshSource, policy: PathPolicy, *, cache: AssetCache | None = None, where: str = "mesh"
) -> Mesh:
    """The mesh of a source, in the axes of its transform.

    Raises:
        SceneError: It is missing, may not be read, or is broken.
        CapabilityError: Nothing here reads such files.
    """
    data = source.value
    if source.variant == "buffer":
        return from_data(data["data"], where)
    path = policy.resolve(data["path"])
    content = policy.read(path)
    names = sorted(data["using_meshes"])
    suffix = PurePath(data["path"]).suffix

    def make() -> dict[str, np.ndarray]:
        mesh = mesh_files.read_mesh(content, suffix, str(path), names)
        extra = {"normals": mesh.normals, "texcoords": mesh.texcoords}
        found: dict[str, np.ndarray] = {"vertices": mesh.vertices, "triangles": mesh.triangles}
        return found | {name: table for name, table in extra.items() if table is not None}

    if cache is None:
        arrays = make()
    else:
        arrays = cache.fetch("mesh", content_key(content, suffix.lower(), names), make)
    mesh = Mesh(arrays["vertices"], arrays["triangles"], arrays.get("normals"), arrays.get("texcoords"))
    return transformed(mesh, data["transform"])


class AssetLibrary:
    """The assets of a scene.

    Args:
        world: The scene.
        policy: Which files it may reach. By default all: the readers of files have checked the paths in
            them, and those that code has put into a scene are meant.
        cache: Where slow results are kept; the user's cache folder unless given.
    """

    def __init__(
        self, world: World, policy: PathPolicy | None = None, cache: AssetCache | None = None
    ) -> None:
        base = None if world.source_path is None else Path(world.source_path).parent
        self.assets = world.assets
        self.options = world.compile_options
        self.policy = PathPolicy(base, allow_outside=True) if policy is None else policy
        self._cache = cache
        self._meshes: dict[str, Mesh] = {}
        self._hfields: dict[str, HeightField] = {}
        self._integrals: dict[tuple[str, tuple[float, ...], MeshInertia], MeshIntegrals] = {}

    @property
    def cache(self) -> AssetCache:
        """Where slow results are kept; only scenes with meshes ever ask where that is."""
        if self._cache is None:
            self._cache = AssetCache()
        return self._cache

    def mesh(self, name: str, scale: Array | None = None) -> Mesh:
        """A mesh by name, scaled along its axes."""
        if name not in self._meshes:
            source = self.assets.meshes.get(name)
            if source is None:
                raise SceneError(f"no mesh {name!r}{hint(name, self.assets.meshes)}")
            self._meshes[name] = load_mesh(source, self.policy, cache=self.cache, where=f"mesh {name!r}")
        found = self._meshes[name]
        return found if scale is None else scaled(found, scale)

    def check_drawn_meshes(self) -> None:
        """Refuses meshes whose vertices are not finite among those that nothing but drawing reads.

        They are not read for it: files are searched, see `may_hold_bad_numbers`, and once for every state
        of a file. A file that is missing or may not be read is noticed when it is drawn.

        Raises:
            SceneError: A mesh has a vertex that is not finite.
        """
        for name, source in self.assets.meshes.items():
            if source.variant != "path" or name in self._meshes:
                continue
            try:
                path = self.policy.resolve(source.value["path"])
                status = path.stat()
                state = (str(path), status.st_size, status.st_mtime_ns)
                if state in _SEARCHED:
                    continue
                content = self.policy.read(path)
            except (SceneError, OSError):
                continue
            if mesh_files.may_hold_bad_numbers(content, path.suffix):
                self.mesh(name)
            elif len(_SEARCHED) < _MOST_SEARCHED:
                _SEARCHED.add(state)

    def hull(self, name: str, scale: Array | None = None, max_vertices: int | None = None) -> Mesh:
        """The convex hull of a mesh; one hull serves every scale."""
        points = self.mesh(name).vertices
        found = convex_hull(points, max_vertices=max_vertices, cache=self.cache, where=f"mesh {name!r}")
        return found if scale is None else scaled(found, scale)

    def parts(self, name: str, config: CoACDConfig, scale: Array | None = None) -> list[Mesh]:
        """Convex parts of a mesh at a scale."""
        return decomposition.decomposed(
            self.mesh(name, scale), config, cache=self.cache, where=f"mesh {name!r}"
        )

    def hfield(self, name: str) -> HeightField:
        """A height field by name."""
        if name not in self._hfields:
            source = self.assets.hfields.get(name)
            if source is None:
                raise SceneError(f"no height field {name!r}{hint(name, self.assets.hfields)}")
            self._hfields[name] = load_hfield(source, self.policy, f"height field {name!r}")
        return self._hfields[name]

    def integrals(self, geom: Geometry) -> MeshIntegrals:
        """Volume or surface of the mesh that a geom names, at its scale."""
        mode = MeshInertia.Shell if geom.shell_inertia else geom.mesh_inertia
        return self.integrals_of(geom.mesh or "", geom.mesh_scale, mode)

    def integrals_of(self, name: str, scale: Array | None, mode: MeshInertia) -> MeshIntegrals:
        """Volume or surface of a mesh by name, scaled along its axes."""
        key = (name, () if scale is None else tuple(scale.tolist()), mode)
        if key not in self._integrals:
            self._integrals[key] = self._integrated(name, scale, mode)
        return self._integrals[key]

    def _integrated(self, name: str, scale: Array | None, mode: MeshInertia) -> MeshIntegrals:
        mesh = self.mesh(name, scale)

        def make() -> dict[str, np.ndarray]:
            found = mesh_integrals(mesh, mode, f"mesh {name!r}")
            order = np.array([list(MeshInertia).index(found.mode)])
            return {
                "content": np.array([found.content]),
                "com": found.com,
                "inertia": found.inertia,
                "mode": order,
            }

        found = self.cache.fetch("integrals", content_key(mesh.key, mode.name), make)
        used = list(MeshInertia)[int(found["mode"][0])]
        return MeshIntegrals(float(found["content"][0]), found["com"], found["inertia"], used)

    def resolved(self, geom: Geometry, fit: ShapeFit | None = None) -> ResolvedShape:
        """The final shape and pose of a geom; primitives that name a mesh are fitted to it."""
        rotation = normalized(geom.orientation)
        if geom.mesh is None:
            return ResolvedShape(geom.shape, np.array(geom.size), geom.position, rotation)
        mesh = self.mesh(geom.mesh, geom.mesh_scale)
        if geom.shape is ShapeType.Mesh:
            reach = np.abs(mesh.vertices).max(axis=0)
            return ResolvedShape(geom.shape, reach, geom.position, rotation, mesh)
        fit = self.options.shape_fit if fit is None else fit
        found = fitting.fitted(geom.shape, mesh, self.integrals(geom), fit, geom.fit_scale)
        frame = Pose(geom.position, rotation)
        place, turn = frame.apply(found.position), multiply(rotation, found.rotation)
        return ResolvedShape(geom.shape, found.size, place, turn)

    def geom_properties(self, geom: Geometry) -> mass_properties.MassProperties:
        """Mass properties of a geom in the frame of its link."""
        density, mass = geom.physics_material.density, geom.mass
        if mass == 0.0 or (mass is None and density == 0.0):
            # nothing to look at a mesh for, which may even be missing
            return mass_properties.NOTHING
        if geom.shape is _MESH:
            own = mass_properties.mesh_properties(self.integrals(geom), density=density, mass=mass)
            return mass_properties.placed(own, geom.position, geom.orientation)
        shape, size, position, rotation = geom.shape, geom.size, geom.position, geom.orientation
        if geom.mesh is not None:
            fit = self.resolved(geom)
            size, position, rotation = fit.size.tolist(), fit.position, fit.rotation
        return mass_properties.primitive(
            shape, size, position, rotation, density=density, mass=mass, shell=geom.shell_inertia
        )

    def uniform_properties(self, geoms: Iterable[Geometry]) -> mass_properties.MassProperties:
        """Mass properties of geoms that can touch something, all of density 1 kg/m^3, in their link's frame.

        Geoms without a volume (planes, height fields, surfaces of triangles) do not count.
        """
        parts: list[mass_properties.MassProperties] = []
        for geom in geoms:
            mask = geom.collision_mask
            if geom.mesh_surface or not (mask.collide_group or mask.collide_with):
                continue
            if geom.shape is _MESH:
                own = mass_properties.mesh_properties(self.integrals(geom), density=1.0)
                parts.append(mass_properties.placed(own, geom.position, geom.orientation))
                continue
            shape, size, position, rotation, _ = self.resolved(geom)
            parts.append(mass_properties.primitive(shape, size.tolist(), position, rotation, density=1.0))
        return mass_properties.combined(parts)

    def link_properties(
        self, link: Link, options: CompileOptions | None = None
    ) -> mass_properties.MassProperties:
        """Mass properties of a link under the scene's compile options, but for its total mass."""
        options = self.options if options is None else options
        inertial: Inertia = link.inertial
        given = options.inertia_source is not _FROM_GEOMS
        has_moments = (inertial.full_inertia or inertial.diag_inertia) is not None
        if given and has_moments and inertial.mass is not None and inertial.pos is not None:
            found = mass_properties.given_properties(inertial, mass_properties.NOTHING)
        else:
            geoms, groups = link.geoms, options.inertia_groups
            if groups is not None:
                geoms = [geom for geom in geoms if mass_properties.in_groups(geom.visual.group, groups)]
            source = [] if options.inertia_source is _AS_GIVEN else geoms
            try:
                found = mass_properties.combined([self.geom_properties(geom) for geom in source])
            except OverflowError:
                raise SceneError(f"link {link.name!r}: its mass is too large for a number") from None
            if given and inertial.mass is not None and not has_moments and not found.mass > 0.0:
                # shapes without mass of their own still have a form, which is scaled to the given mass
                found = self.uniform_properties(source)
            # what is given also stands where there is no geom to take its place
            found = (
                mass_properties.given_properties(inertial, found) if given or not found.mass > 0.0 else found
            )
        found = mass_properties.bounded(found, options.bound_mass, options.bound_inertia)
        return mass_properties.balanced(found) if options.balance_inertia else found
