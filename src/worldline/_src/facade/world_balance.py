# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Balance of everything in a World: support polygon, zero moment point, margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array, rotations
from worldline._src.step import balance
from worldline._src.step.balance import PointsLike

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


class WorldBalance:
    """The World as one system that stands on something."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world

    def get_support_polygon(self, points: PointsLike | None = None) -> Array:
        """Hull of what everything stands on, seen along gravity, counterclockwise from above, (n, 3) [m].

        Args:
            points: world frame [m], (n, 3). When None, the contacts of the last step that push between what
                moves and what stands: the world itself, static bodies and fixed links.
        """
        places = self._ground_points() if points is None else values.array(points, "points")
        return balance.support_polygon(places, up=self._up())

    @exclusive
    def get_zero_moment_point(self, acceleration: VectorLike | None = None, *, height: float = 0.0) -> Array:
        """Where on a level plane one push would carry the motion of everything, world frame [m], (3,).

        What cannot move stands by itself and does not count.

        Args:
            acceleration: of all degrees of freedom, rigid bodies and multibodies in the order of
                `state_space()`, (6 num_rigid_bodies + num_dofs,); those of the last step when None.
            height: of the plane along the vertical through the world's origin [m].

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box", position=(0.25, 0, 1))
            >>> world.get_zero_moment_point([0] * 6).tolist()
            [0.25, 0.0, 0.0]
        """
        world = self._world
        runtime = world._live()
        level = values.real(height, "height")
        given = None if acceleration is None else values.array(acceleration, "acceleration")
        a = np.array(runtime.sim.a)
        if given is not None:
            rows = self._dof_rows()
            if given.shape != rows.shape:
                raise ArgumentError(
                    f"the length of the acceleration must match the {len(rows)} degrees of freedom of the "
                    f"World, got shape {given.shape}"
                )
            a[rows] = given
        return balance.zero_moment_point(
            runtime.model, runtime.sim.q, runtime.sim.v, a, height=level, up=self._up(), bodies=self._moving()
        )

    def get_balance_margin(
        self, point: VectorLike | None = None, *, points: PointsLike | None = None
    ) -> float:
        """How far a point is inside the support polygon, seen along gravity [m]; negative outside.

        Args:
            point: world frame [m], (3,); the centre of mass of what can move when None.
            points: what it stands on, as in `get_support_polygon`.

        Example:
            >>> from worldline import collision, simulation as sx
            >>> world = sx.World()
            >>> ground = world.add_ground_plane()
            >>> box = world.add_rigid_body("box", position=(0, 0, 0.5))
            >>> box.add_collision_shape(collision.CollisionShape.box((0.2, 0.3, 0.5)))
            >>> world.step(n=100)
            >>> round(world.get_balance_margin(), 6)
            0.2
        """
        place = self._moving_center() if point is None else values.vector3(point, "point")
        return balance.balance_margin(place, self.get_support_polygon(points), up=self._up())

    def _up(self) -> Array:
        gravity = np.asarray(self._world.gravity, np.float64)
        if not gravity.any():
            raise ArgumentError("without gravity nothing is up, and there is no balance")
        return -gravity

    def _dof_rows(self) -> np.ndarray:
        """Degrees of freedom of the model, rigid bodies first, then multibodies in construction order."""
        world = self._world
        runtime = world._live()
        rows: list[int] = []
        for body in world._rigid_bodies.values():
            assert body._body.free is not None
            part = runtime.v_slice(body._body.free)
            rows += range(part.start, part.stop)
        for robot in world._multibodies.values():
            for joint in robot._joints.values():
                part = runtime.v_slice(joint._joint)
                rows += range(part.start, part.stop)
        return np.array(rows, np.int64)

    def _moving(self) -> np.ndarray:
        """Which bodies of the model can move: static ones and links without a freedom above cannot."""
        world = self._world
        runtime = world._live()
        model = runtime.model
        moving = np.zeros(model.body_count, bool)
        for j in range(model.joint_count):
            # joints come parents first
            parent, child = int(model.joint_parent[j]), int(model.joint_child[j])
            free = model.joint_qd_start[j + 1] > model.joint_qd_start[j]
            moving[child] = free or (parent >= 0 and moving[parent])
        for body in world._rigid_bodies.values():
            if body.is_static:
                moving[runtime.body(body._link)] = False
        return moving

    @exclusive
    def _moving_center(self) -> Array:
        runtime, moving = self._world._live(), self._moving()
        mass, poses = runtime.model.body_mass[moving], runtime.sim.fresh_poses()[moving]
        if not mass.any():
            raise ArgumentError("nothing that can move has mass, and there is no balance")
        centers = poses[:, :3] + np.einsum("bij,bj->bi", rotations(poses), runtime.model.body_com[moving])
        return mass @ centers / mass.sum()

    @exclusive
    def _ground_points(self) -> Array:
        runtime, moving = self._world._live(), self._moving()

        def moves(body: RigidBody | Link | None) -> bool:
            return body is not None and bool(moving[runtime.body(body._link)])

        places = [
            contact.point
            for contact in self._world.contacts
            if moves(contact.body_a) != moves(contact.body_b) and contact.force.any()
        ]
        return np.array(places).reshape(-1, 3)
