# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Fusing: merges welded links into their parents.

Files made from drawings have many links without joints. With `CompileOptions.fuse_static` they are merged
before a model is made: geoms, sites, cameras and lights move to the parent at their composed poses, masses
add up, children take the place of their parent, and the name is gone. A link stays when anything refers to
it, when a force or torque sensor measures between it and its parent, when it is set from outside, when
another share of its weight is compensated than of its parent's, or when it says so itself. These are the
rules of MJCF, whose compiler does the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.base import clone
from worldline._src.scene.bodies import Body, BodyKind, BodyRole, Frame, Hierarchy, Inertia, Link
from worldline._src.scene.layout import active_joints
from worldline._src.scene.mass_properties import MassProperties, combined, placed
from worldline._src.scene.merging import look
from worldline._src.scene.options import InertiaSource
from worldline._src.scene.poses import Pose, normalized
from worldline._src.scene.sensor_types import SiteSensorType

if TYPE_CHECKING:
    from worldline._src.scene.world import World

_BETWEEN = (SiteSensorType.Force, SiteSensorType.Torque)


def fused(world: World) -> World:
    """A copy of a scene whose welded links are merged, for which `fuse_static` is then done.

    The scene itself is returned when it does not ask for it.

    Example:
        >>> from worldline import msd
        >>> scene = msd.from_str(
        ...     "<mujoco><compiler fusestatic='true'/><worldbody><body name='arm'><joint/><geom size='0.1'/>"
        ...     "<body name='cap'><geom size='0.1'/></body></body></worldbody></mujoco>")
        >>> [link.name for link in fused(scene).hierarchy.links()]
        ['arm']
    """
    if not world.compile_options.fuse_static:
        return world
    copy = clone(world)
    copy.compile_options.fuse_static = False
    _Fusion(copy).run()
    return copy


class _Fusion:
    """One scene whose links are being merged."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept = _referred(world)
        links = list(world.hierarchy.links())
        library = AssetLibrary(world)
        self.mass = {id(link): library.link_properties(link) for link in links}
        # what happens to be computed now is computed again later, unless something was added to it
        self.grown: set[int] = set()
        self.before = [id(link) for link in links]
        self.frames: dict[str, list[Frame]] = {}
        for frame in world.frames:
            if frame.parent_link is not None:
                self.frames.setdefault(frame.parent_link, []).append(frame)

    def run(self) -> None:
        """Merges from the roots outwards, so that every part moves once."""
        hierarchy = self.world.hierarchy
        bodies: list[Body] = []
        waiting = hierarchy.bodies[::-1]
        while waiting:
            body = waiting.pop()
            if self._stays(body.link, body, None):
                bodies.append(body)
                continue
            self._move(body.link, hierarchy)
            loose = [Body(link=child, multibody=body.multibody) for child in body.link.children]
            waiting.extend(reversed(loose))
        hierarchy.bodies[:] = bodies
        for body in bodies:
            stack = [body.link]
            while stack:
                parent = stack.pop()
                self._absorb(parent, body)
                stack.extend(parent.children)
        self._settle()

    def _absorb(self, parent: Link, body: Body) -> None:
        children: list[Link] = []
        waiting = parent.children[::-1]
        while waiting:
            child = waiting.pop()
            if self._stays(child, body, parent):
                children.append(child)
                continue
            part = placed(self.mass[id(child)], child.local_translation, normalized(child.local_rotation))
            self.mass[id(parent)] = combined([self.mass[id(parent)], part])
            self.grown.add(id(parent))
            parent.inertial.is_checked = parent.inertial.is_checked and child.inertial.is_checked
            self._move(child, parent)
            waiting.extend(reversed(child.children))
        parent.children[:] = children

    def _stays(self, link: Link, body: Body, parent: Link | None) -> bool:
        """Whether a link is not to be merged into its parent, None for the world."""
        if active_joints(link, body) or not link.may_fuse or link.disable_self_collision:
            return True
        base = parent is None
        if base and (body.free is not None or body.mocap or body.kind is not BodyKind.Dynamic):
            return True
        if base and body.role is not BodyRole.Auto:
            return True
        if link.gravcomp != (0.0 if parent is None else parent.gravcomp):
            return True
        if link.name in self.frames and parent is not None and parent.name is None:
            # its frames could not say what they move with
            return True
        return link.name in self.kept["link"] or any(site.name in self.kept["site"] for site in link.sites)

    def _move(self, link: Link, target: Link | Hierarchy) -> None:
        """Moves all that is fixed to a link, and its children to where they are seen from the target."""
        pose = Pose(link.local_translation, normalized(link.local_rotation))
        for moved in (*link.geoms, *link.sites, *link.cameras, *self.frames.get(link.name or "", ())):
            moved.position, moved.orientation = pose * Pose(moved.position, normalized(moved.orientation))
        for light in link.lights:
            light.position, light.direction = pose.apply(light.position), pose.turn(light.direction)
        for child in link.children:
            seen = pose * Pose(child.local_translation, normalized(child.local_rotation))
            child.local_translation, child.local_rotation = seen
        name = target.name if isinstance(target, Link) else None
        for frame in self.frames.pop(link.name or "", ()):
            frame.parent_link = name
            if name is not None:
                self.frames.setdefault(name, []).append(frame)
        target.geoms.extend(link.geoms)
        target.sites.extend(link.sites)
        target.cameras.extend(link.cameras)
        target.lights.extend(link.lights)

    def _settle(self) -> None:
        """Writes down the masses that were added up, and takes merged links out of saved forces."""
        options = self.world.compile_options
        links = list(self.world.hierarchy.links())
        if self.grown and options.inertia_source is InertiaSource.Geometry:
            # sums cannot be computed from geoms again, so what they give is given from here on
            options.inertia_source = InertiaSource.Auto
            self.grown = {id(link) for link in links}
        for link in links:
            if id(link) in self.grown:
                link.inertial = _given(self.mass[id(link)], link.inertial.is_checked)
        left = {id(link) for link in links}
        rows = np.array([index for index, key in enumerate(self.before) if key in left], np.int64)
        for keyframe in self.world.keyframes:
            if len(keyframe.link_force):
                keyframe.link_force = keyframe.link_force[rows]


def _given(part: MassProperties, is_checked: bool) -> Inertia:
    i = part.inertia
    moments = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
    return Inertia(mass=part.mass, pos=part.com, full_inertia=moments, is_checked=is_checked)


def _referred(world: World) -> dict[str, set[str]]:
    """Names of links that something refers to, and of sites between whose link and its parent is measured."""
    links = _names(
        name
        for spaces, name, path in look(world).references
        # frames come along, whatever they are fixed to
        if "link" in spaces and not path.startswith("$.frames[")
    )
    sites = _names(sensor.site for sensor in world.sensors.site if sensor.type_ in _BETWEEN)
    return {"link": links, "site": sites}


def _names(found: Iterable[str | None]) -> set[str]:
    return {name for name in found if name}
