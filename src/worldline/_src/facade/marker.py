# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Markers: named frames on bodies with an optional shape. Sites of a file are markers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import construction, values
from worldline._src.facade.copying import Address
from worldline._src.facade.frame import Frame
from worldline._src.facade.kinds import member
from worldline._src.facade.link import Link
from worldline._src.facade.quantities import Reading, handle_attribute
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.scene.bodies import Hierarchy
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.scene.geometry import Site, SiteShape
from worldline._src.scene.pruning import prune
from worldline._src.spatial.poses import Array, compose

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


class Marker(Frame):
    """A named place on a rigid body, on a link or on the world; it has no mass and touches nothing.

    Sensors, tendons and actuators of a scene refer to markers by name.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box", position=(0, 0, 1))
        >>> corner = world.add_marker("corner", box, position=(0.1, 0.1, 0.1))
        >>> corner.translation.tolist(), world.markers.names
        ([0.1, 0.1, 1.1], ['corner'])
    """

    def __init__(self, world: WorldRuntime, site: Site) -> None:
        self._world = world
        self._site = site
        self._gone = "the marker was removed with what it stands on"

    @property
    def _alive(self) -> bool:  # type: ignore[override] # the description decides
        return any(site is self._site for _, site in described_sites(self._world))

    def _kill(self, why: str) -> None:
        self._gone = why

    @property
    def name(self) -> str:
        """Unique among the markers of the World."""
        return self._site.name or ""

    def _path(self) -> Address:
        return "markers", self.name

    def _row(self) -> tuple[int, Array]:
        """Body of the model, -1 for the world, and the pose in it."""
        table = self._live().model.sites
        assert table is not None
        k = table.label.index(self.name)
        return int(table.body[k]), table.xform[k]

    def _pose(self) -> Array:
        body, local = self._row()
        return local.copy() if body < 0 else compose(self._live().sim.fresh_poses()[body].copy(), local)

    def _above(self) -> Frame:
        """The rigid body, the link or the world that it stands on."""
        self._require_alive()
        for link, site in described_sites(self._world):
            if site is self._site and link is not None:
                return _handle(self._world, link)
        return Frame.world()

    @property
    def local_transform(self) -> Array:
        """Pose in the body, 4x4; changing it is for design mode or `World.edit()`."""
        self._require_alive()
        return values.matrix_of(self._row()[1])

    @local_transform.setter
    def local_transform(self, value: TransformLike) -> None:
        self._require_design(f"moving marker '{self.name}'")
        pose = values.pose_of(value, f"Marker '{self.name}' local_transform")
        if self._site.from_to is not None:
            raise OperationError(f"marker '{self.name}' is placed by its two ends, which do not move alone")
        self._site.position, self._site.orientation = pose[:3], pose[3:]
        self._world._topology_changed()
        self._world._follow_frame(self)

    shape: Reading[SiteShape] = handle_attribute(
        "_site.shape", "How it is shown, and what touch sensors feel with."
    )

    @property
    def size(self) -> Array:
        """Half sizes [m], (3,); those that the shape has no use for are zero."""
        self._require_alive()
        return np.array(self._site.size, np.float64)

    @property
    def rgba(self) -> Array:
        """Colour and opacity, 0 to 1, (4,); may be changed at any time."""
        self._require_alive()
        return np.array(self._site.rgba, np.float64)

    @rgba.setter
    def rgba(self, value: VectorLike) -> None:
        self._require_alive()
        self._site.rgba = _color(value)

    def _motion(self) -> tuple[Array, Array]:
        above = self.parent_frame
        linear, angular = above._motion()
        return linear + np.cross(angular, self._pose()[:3].copy() - above._pose()[:3]), angular

    def _acceleration(self) -> tuple[Array, Array]:
        above = self.parent_frame
        (linear, angular), turning = above._acceleration(), above._motion()[1]
        lever = self._pose()[:3].copy() - above._pose()[:3]
        return linear + np.cross(angular, lever) + np.cross(turning, np.cross(turning, lever)), angular

    def _require_base(self) -> None:
        raise ArgumentError(f"frames stand on bodies and frames; put it on that of marker '{self.name}'")

    def remove(self) -> None:
        """Take the marker, and what refers to it, out of the World, in design mode or within `edit()`."""
        self._world.remove(self)


def described_sites(world: WorldRuntime) -> Iterator[tuple[SceneLink | None, Site]]:
    """All sites with a name, and the links they are on."""
    for site in world._scene.hierarchy.sites:
        if site.name:
            yield None, site
    for link in world._scene.hierarchy.links():
        for site in link.sites:
            if site.name:
                yield link, site


def markers_by_name(world: WorldRuntime) -> dict[str, Marker]:
    """Handles of all markers, one for each for as long as it is there."""
    known = world._markers
    made: dict[str, Marker] = {}
    for _, site in described_sites(world):
        if id(site) not in known or known[id(site)]._site is not site:
            known[id(site)] = Marker(world, site)
        made[site.name or ""] = known[id(site)]
    return made


def add_marker(
    world: WorldRuntime,
    name: str,
    parent: Frame | None,
    position: VectorLike,
    orientation: VectorLike,
    shape: SiteShape,
    size: VectorLike,
    rgba: VectorLike,
) -> Marker:
    """See `World.add_marker`."""
    world._require_design("adding a marker")
    parent = Frame.world() if parent is None else parent
    world._own_frame(parent, "parent")
    if not (parent.is_world or isinstance(parent, (RigidBody, Link))):
        raise ArgumentError(f"a marker is fixed to a body, a link or the world, not to '{parent.name}'")
    taken = {site.name for _, site in described_sites(world)}
    chosen, _ = construction.free_name(name, "marker", taken, 0, "marker")
    half = values.vector3(size, "size of a marker")
    if (half < 0.0).any():
        raise ArgumentError(f"size of a marker must be non-negative, got {half.tolist()}")
    site = Site(
        name=chosen,
        position=values.vector3(position, "position of a marker"),
        orientation=values.quaternion_of(orientation, "orientation of a marker"),
        shape=member(SiteShape, shape, "shape of a marker"),
        size=half.tolist(),
        rgba=_color(rgba),
    )
    where: SceneLink | Hierarchy = world._scene.hierarchy
    if isinstance(parent, (RigidBody, Link)):
        where = parent._link
    where.sites.append(site)
    world._topology_changed()
    return markers_by_name(world)[chosen]


def remove_marker(marker: Marker) -> None:
    """Take a marker out, with closures at it and with what the description says of it."""
    world = marker._world
    marker._require_design(f"removing marker '{marker.name}'")
    for closure in [c for c in world._loop_closures.values() if c._touches(marker)]:
        world.remove(closure)
    link = next(link for link, site in described_sites(world) if site is marker._site)
    rows = world._scene.hierarchy.sites if link is None else link.sites
    del rows[next(k for k, site in enumerate(rows) if site is marker._site)]
    for path in prune(world._scene, {("site", marker.name)}):
        world._scene.report.left_out(path, "removed with what it refers to")
    marker._gone = f"marker '{marker.name}' was removed"
    world._topology_changed()


def _color(value: VectorLike) -> list[float]:
    made = values.array(value, "rgba of a marker")
    if made.shape != (4,) or not ((made >= 0.0) & (made <= 1.0)).all():
        raise ArgumentError(f"rgba of a marker must be four numbers from 0 to 1, got {value!r}")
    return made.tolist()


def _handle(world: WorldRuntime, link: SceneLink) -> Frame:
    for body in world._rigid_bodies.values():
        if body._link is link:
            return body
    return next(
        part for robot in world._multibodies.values() for part in robot._links.values() if part._link is link
    )
