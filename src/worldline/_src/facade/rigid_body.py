# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A single rigid body that moves freely, follows its velocity, or stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import OperationError
from worldline._src.facade import values
from worldline._src.facade.copying import Address
from worldline._src.facade.known_names import returns_read_only
from worldline._src.facade.quantities import Quantity, quantity
from worldline._src.facade.shapes import CollisionBody, checked_restitution
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.linear_algebra import matmul, solve
from worldline._src.scene.bodies import Body, BodyKind
from worldline._src.scene.validate import is_ground
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


def _of_kind(kind: BodyKind, doc: str) -> Any:
    """Whether a body is of a kind; setting it False makes the body dynamic."""

    def read(body: RigidBody) -> bool:
        body._require_alive()
        return body._body.kind is kind

    return quantity(read, lambda body, value: body._set_kind(value, kind), doc)


def _material(name: str, check: Callable[[Any, str], float], doc: str) -> Any:
    """A number of the material that all shapes of a body have."""

    def read(body: RigidBody) -> float:
        body._require_alive()
        return getattr(body._body, name)

    def write(body: RigidBody, value: float) -> None:
        body._require_alive()
        body._world._require_idle()
        number = check(value, f"RigidBody {name}")
        setattr(body._body, name, number)
        body._write_materials(**{name: number})

    return quantity(read, write, doc)


class RigidBody(CollisionBody):
    """A rigid body. Forces act at its centre of mass and stay until cleared; world axes throughout.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0))
        >>> puck = world.add_rigid_body("puck", mass=2.0)
        >>> puck.force = (4, 0, 0)
        >>> world.step(n=1000)
        >>> puck.linear_velocity.round(6).tolist()
        [2.0, 0.0, 0.0]
    """

    _is_body = True

    def __init__(self, world: WorldRuntime, body: Body, label: str) -> None:
        super().__init__(world, body.link)
        self._body = body
        self._label = label

    def as_rigid_body(self) -> RigidBody:
        """The body itself."""
        return self

    def _path(self) -> Address:
        return "rigid_bodies", self.name

    def _dofs(self) -> tuple[Any, slice, slice]:
        runtime = self._live()
        assert self._body.free is not None
        return runtime, runtime.q_slice(self._body.free), runtime.v_slice(self._body.free)

    # ---- place and motion

    @CollisionBody.transform.setter
    def transform(self, value: TransformLike) -> None:
        self._place(values.pose_of(value, f"RigidBody '{self.name}' transform"))

    @property
    @returns_read_only
    def translation(self) -> Array:
        """Position of the origin in the world frame [m], (3,)."""
        return values.read_only(self._pose()[:3].copy())

    @translation.setter
    def translation(self, value: VectorLike) -> None:
        position = values.vector3(value, f"RigidBody '{self.name}' translation")
        self._place(np.concatenate([position, self._pose()[3:]]))

    @property
    @returns_read_only
    def quaternion(self) -> Array:
        """Orientation in the world frame, xyzw, (4,)."""
        return values.read_only(self._pose()[3:].copy())

    @quaternion.setter
    def quaternion(self, value: VectorLike) -> None:
        xyzw = values.quaternion_of(value, f"RigidBody '{self.name}' quaternion")
        self._place(np.concatenate([self._pose()[:3], xyzw]))

    def _place(self, pose: Array) -> None:
        """Move the body; its angular velocity in world axes stays."""
        runtime, q, v = self._dofs()
        with runtime.guard:
            angular = self.angular_velocity
            runtime.sim.q[q] = pose
            runtime.sim.v[v][3:] = matmul(values.matrix_of(pose)[:3, :3].T, angular)
            if self.is_static:
                runtime.sim.v[v] = 0.0
            runtime.sim.written()

    @property
    def linear_velocity(self) -> Array:
        """Velocity of the origin, world axes [m/s], (3,); of a static body that after its release."""
        if self._body.kind is BodyKind.Static:
            self._require_alive()
            return self._body.linear_velocity.copy()
        runtime, _, v = self._dofs()
        return runtime.sim.v[v][:3].copy()

    @linear_velocity.setter
    def linear_velocity(self, value: VectorLike) -> None:
        velocity = values.vector3(value, "RigidBody linear velocity")
        runtime, _, v = self._dofs()
        if self._body.kind is BodyKind.Static:
            self._body.linear_velocity = velocity
            return
        runtime.sim.v[v][:3] = velocity
        runtime.sim.velocities_written()

    @property
    def angular_velocity(self) -> Array:
        """World axes [rad/s], (3,); of a static body what it will have when released."""
        if self._body.kind is BodyKind.Static:
            self._require_alive()
            return self._body.angular_velocity.copy()
        runtime, q, v = self._dofs()
        pose, spin = runtime.sim.q[q].copy(), runtime.sim.v[v][3:].copy()
        return _turned(pose, spin)

    @angular_velocity.setter
    def angular_velocity(self, value: VectorLike) -> None:
        velocity = values.vector3(value, "RigidBody angular velocity")
        runtime, q, v = self._dofs()
        if self._body.kind is BodyKind.Static:
            self._body.angular_velocity = velocity
            return
        with runtime.guard:
            runtime.sim.v[v][3:] = matmul(values.matrix_of(runtime.sim.q[q])[:3, :3].T, velocity)
        runtime.sim.velocities_written()

    # ---- how it moves

    is_static: Quantity[bool, bool] = _of_kind(
        BodyKind.Static, "Whether the body never moves; setting it ends being kinematic."
    )
    is_kinematic: Quantity[bool, bool] = _of_kind(
        BodyKind.Kinematic,
        "Whether the body follows its velocity and feels no forces; setting it ends being static.",
    )

    def _set_kind(self, value: bool, kind: BodyKind) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise values.ShapeError(f"RigidBody '{self.name}': True or False is needed, got {value!r}")
        runtime = self._live()
        wanted = kind if value else BodyKind.Dynamic
        if not value and self._body.kind is not kind:
            return
        if wanted is not BodyKind.Static and any(map(is_ground, self._link.geoms)):
            raise OperationError(
                f"RigidBody '{self.name}' has a plane, mesh or height field and cannot move; take it away"
            )
        linear, angular = self.linear_velocity, self.angular_velocity
        self._body.kind = wanted
        runtime.set_body_kind(self._body)
        self.linear_velocity, self.angular_velocity = linear, angular

    # ---- forces

    @property
    def force(self) -> Array:
        """Force at the centre of mass that stays until cleared, world axes [N], (3,)."""
        runtime, b = self._index()
        return runtime.persistent_wrench[b, 3:].copy()

    @force.setter
    def force(self, value: VectorLike) -> None:
        self._hold(values.vector3(value, "RigidBody force"), None)

    @property
    def torque(self) -> Array:
        """Torque that stays until cleared, world axes [N m], (3,)."""
        runtime, b = self._index()
        return runtime.persistent_wrench[b, :3].copy()

    @torque.setter
    def torque(self, value: VectorLike) -> None:
        self._hold(None, values.vector3(value, "RigidBody torque"))

    def _hold(self, force: Array | None, torque: Array | None) -> None:
        runtime, b = self._index()
        wrench = runtime.persistent_wrench[b].copy()
        if force is not None:
            wrench[3:] = force
        if torque is not None:
            wrench[:3] = torque
        runtime.hold(b, wrench)

    def apply_force(self, force: VectorLike) -> None:
        """Add to the persistent force, world axes [N]."""
        self._hold(self.force + values.vector3(force, "RigidBody force"), None)

    def apply_torque(self, torque: VectorLike) -> None:
        """Add to the persistent torque, world axes [N m]."""
        self._hold(None, self.torque + values.vector3(torque, "RigidBody torque"))

    def clear_force(self) -> None:
        """Set the persistent force to zero."""
        self._hold(np.zeros(3), None)

    def clear_torque(self) -> None:
        """Set the persistent torque to zero."""
        self._hold(None, np.zeros(3))

    def apply_linear_impulse(self, impulse: VectorLike) -> None:
        """Change the velocity at once by an impulse at the centre of mass, world axes [N s]."""
        push = values.vector3(impulse, "RigidBody linear impulse")
        if self._body.kind is BodyKind.Dynamic:
            self.linear_velocity = self.linear_velocity + push / self.mass

    def apply_angular_impulse(self, impulse: VectorLike) -> None:
        """Change the angular velocity at once, world axes [N m s]; the centre of mass keeps its velocity."""
        twist = values.vector3(impulse, "RigidBody angular impulse")
        if self._body.kind is not BodyKind.Dynamic:
            return
        R = self.rotation
        change = matmul(R, solve(self.inertia, matmul(R.T, twist)))
        lever = matmul(R, self.center_of_mass)
        self.linear_velocity = self.linear_velocity - np.cross(change, lever)
        self.angular_velocity = self.angular_velocity + change

    # ---- contact

    friction: Quantity[float, float] = _material(
        "friction",
        values.non_negative,
        "Coefficient of dry friction; two bodies use the geometric mean. Setting it gives it to all shapes.",
    )
    restitution: Quantity[float, float] = _material(
        "restitution",
        checked_restitution,
        """Share of the closing speed that returns, 0 to 1; two bodies use the larger.

        Setting it gives it to all shapes.
        """,
    )

    def _own_material(self) -> tuple[float, float]:
        return self._body.friction, self._body.restitution

    @property
    def is_sleeping(self) -> bool:
        """Whether the body's island has fallen asleep."""
        return self.deactivation_group_index >= 0

    @property
    def deactivation_group_index(self) -> int:
        """The island the body sleeps in, -1 when awake."""
        return self._live().sleep_group(self._link)

    def remove(self) -> None:
        """Take the body out of the World, in design mode or within `World.edit()`."""
        self._world.remove(self)


def _turned(pose: Array, vector: Array) -> Array:
    """A vector from the axes of a pose to those of the world."""
    return matmul(values.matrix_of(pose)[:3, :3], vector)
