# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A moment of a compiled world as sensors see it: where things are and how they move.

Arrays have a row for every body and the world as the last one, so that body -1 is the world. Each is computed
when first asked for. Accelerations are those of the present state within `step.forward.forward` only.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.model.scene_index import pose
from worldline._src.model.sensor_tables import ObjectKind
from worldline._src.scene.assets.inertial_axes import inertial_axes
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.cameras import Camera, PositionTrack, RotationTrack
from worldline._src.scene.kinds import WORLD
from worldline._src.spatial.poses import IDENTITY, Array, compose, rotation, rotations
from worldline._src.step import dynamics

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime


class Place(NamedTuple):
    """A frame fixed to a body."""

    body: int
    """Body of the model, -1 for the world."""
    p_W: Array
    R_W: Array


class Moment:
    """Poses, velocities and accelerations of all bodies, computed at most once."""

    def __init__(self, runtime: Runtime, lasting: dict[object, Any] | None = None) -> None:
        self.runtime = runtime
        self.known: dict[object, Any] = {}
        """What readers found out about this moment, for those after them."""
        self.lasting: dict[object, Any] = {} if lasting is None else lasting
        """What they found out about the model, for all moments."""
        self.model = runtime.model
        self.sim = runtime.sim

    @cached_property
    def poses(self) -> Array:
        """Position and xyzw, (bodies + 1, 7)."""
        return np.vstack([self.sim.fresh_poses().reshape(-1, 7), IDENTITY])

    @cached_property
    def R(self) -> Array:
        """Axes of the bodies, (bodies + 1, 3, 3)."""
        return rotations(self.poses)

    @cached_property
    def velocities(self) -> Array:
        """Angular velocity and velocity of the origin, world axes, (bodies + 1, 6)."""
        made = np.zeros((self.model.body_count + 1, 6))
        if self.model.joint_dof_count:
            made[:-1] = dynamics.link_velocities(self.model, self.sim.q.copy(), self.sim.v.copy())
        return made

    @cached_property
    def accelerations(self) -> Array:
        """Rates of `velocities`, (bodies + 1, 6)."""
        made = np.zeros((self.model.body_count + 1, 6))
        if self.model.joint_dof_count:
            now = self.sim.q.copy(), self.sim.v.copy(), self.sim.a.copy()
            made[:-1] = dynamics.link_accelerations(self.model, *now)
        return made

    def place(self, kind: int, index: int) -> Place:
        """The frame of an object now."""
        found = self.known.get((kind, index))
        if found is None:
            found = self.known[kind, index] = self.fixed(*self._local(ObjectKind(kind), index))
        return found

    def fixed(self, body: int, local: Array) -> Place:
        """A pose in a body now."""
        X_W = compose(self.poses[body], local)
        return Place(body, X_W[:3], rotation(X_W))

    def _local(self, kind: ObjectKind, index: int) -> tuple[int, Array]:
        """Body and pose in it of an object."""
        model = self.model
        if kind is ObjectKind.BODY:
            return index, IDENTITY
        if kind is ObjectKind.INERTIA:
            return index, np.concatenate([self._center(index), self._principal(index)])
        if kind is ObjectKind.CAMERA:
            _require_fixed(camera_of(self.runtime, index))
        if kind is ObjectKind.FRAME:
            return self._named_frame(index)
        table = {
            ObjectKind.SHAPE: model.shapes,
            ObjectKind.SITE: model.sites,
            ObjectKind.CAMERA: model.cameras,
        }[kind]
        assert table is not None
        return int(table.body[index]), table.xform[index]

    def _named_frame(self, index: int) -> tuple[int, Array]:
        """Body and pose of a named frame as its description has it now: free frames may be moved any time."""
        scene, runtime = self.runtime.scene, self.runtime
        assert self.model.frames is not None
        frames = {frame.name: frame for frame in scene.frames}
        here = frames[self.model.frames.label[index]]
        local = pose(here.position, here.orientation)
        while here.parent_frame is not None:
            here = frames[here.parent_frame]
            local = compose(pose(here.position, here.orientation), local)
        if here.parent_link in (None, WORLD):
            return -1, local
        link = next(link for link in scene.hierarchy.links() if link.name == here.parent_link)
        return runtime.link_body[id(link)], local

    def _center(self, body: int) -> Array:
        return self.model.body_com[body] if body >= 0 else np.zeros(3)

    def _principal(self, body: int) -> Array:
        """Principal axes of a body."""
        if body < 0:
            return IDENTITY[3:]
        found = self.lasting.get(("axes", body))
        if found is not None:
            return found
        for link in self.runtime.scene.hierarchy.links():
            if self.runtime.link_body.get(id(link)) == body:
                found = self.lasting["axes", body] = inertial_axes(link, AssetLibrary(self.runtime.scene))
                return found
        raise CapabilityError(f"principal axes of body '{self.model.body_label[body]}' are not known")

    def center(self, body: int) -> Place:
        """The centre of mass of a body, in the axes of the body."""
        return self.fixed(body, np.concatenate([self._center(body), IDENTITY[3:]]))

    def velocity(self, place: Place) -> tuple[Array, Array]:
        """Angular velocity and velocity of the origin of a frame, world axes."""
        spin, linear = self.velocities[place.body, :3], self.velocities[place.body, 3:]
        return spin, linear + across(spin, place.p_W - self.poses[place.body, :3])

    def acceleration(self, place: Place) -> tuple[Array, Array]:
        """Angular acceleration and acceleration of the origin of a frame, world axes."""
        turn, linear = self.accelerations[place.body, :3], self.accelerations[place.body, 3:]
        spin, arm = self.velocities[place.body, :3], place.p_W - self.poses[place.body, :3]
        return turn, linear + across(turn, arm) + across(spin, across(spin, arm))

    def subtree(self, body: int) -> np.ndarray:
        """A body and all that hangs on it; all bodies for the world."""
        found = self.lasting.get(("subtree", body))
        if found is None:
            found = self.lasting["subtree", body] = self._subtree(body)
        return found

    def _subtree(self, body: int) -> np.ndarray:
        model, inside = self.model, {body}
        # parents come before their children
        for j in range(model.joint_count):
            if int(model.joint_parent[j]) in inside:
                inside.add(int(model.joint_child[j]))
        return np.array(sorted(inside - {-1}), np.int64)


def across(a: Array, b: Array) -> Array:
    """Cross product of two vectors, (3,)."""
    x, y, z = a.tolist()
    u, v, w = b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def camera_of(runtime: Runtime, index: int) -> Camera:
    """The description of a camera of the model; sensors refer to cameras with a name."""
    table, hierarchy = runtime.model.cameras, runtime.scene.hierarchy
    assert table is not None
    every = [*hierarchy.cameras, *(camera for link in hierarchy.links() for camera in link.cameras)]
    return next(camera for camera in every if camera.name == table.label[index])


def _require_fixed(camera: Camera) -> None:
    turning = camera.rotation_track in (RotationTrack.FixedWorld, RotationTrack.LookAtLink)
    if turning or camera.position_track is PositionTrack.FixedWorld:
        raise CapabilityError(f"camera '{camera.name}' follows something; sensors know fixed cameras only")
