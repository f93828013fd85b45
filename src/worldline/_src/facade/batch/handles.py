# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Handles of the objects of many worlds: the names and units of a World, with a leading world dimension.

Reading gives a read-only copy; assignment writes into the batch. A value of the shape of one world serves
all worlds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.array_property import ArrayProperty
from worldline._src.facade.batch.objects import JointRows, MultibodyRows, RigidBodyRows
from worldline._src.facade.collections import NamedCollection
from worldline._src.facade.copying import VIEW_OF_A_BATCH, NotCopied
from worldline._src.facade.known_names import KnownNames, returns_read_only
from worldline._src.facade.quantities import Quantity, Reading, quantity, reading
from worldline._src.spatial.poses import Array, rotations

if TYPE_CHECKING:
    from worldline._src.facade.batch.selection import BatchPart


class _Handle(NotCopied, KnownNames):
    """An object of the worlds of a batch, or of some of them."""

    _instead = VIEW_OF_A_BATCH

    def __init__(self, part: BatchPart, name: str) -> None:
        self._part, self._name = part, name

    @property
    def name(self) -> str:
        """Unique among its kind within its owner."""
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self._name}', {len(self._part._which)} worlds)"


class _Dofs(ArrayProperty):
    """A quantity with one number a degree of freedom."""

    def __init__(self, array: str, doc: str) -> None:
        self._array, self._label = array, array
        self.__doc__ = f"{doc}, ([worlds,] num_dofs)."

    def __set_name__(self, owner: type, name: str) -> None:
        self._label = name

    def _value(self, instance: Any) -> Array:
        rows = instance._part._read(self._array)[:, instance._v]
        return values.read_only(instance._part._leading(rows))

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: _Joints, value: Any) -> None:
        given = instance._part._given(value, (instance.num_dofs,), f"{self._label} of {instance!r}")
        rows = instance._part._read(self._array)
        rows[:, instance._v] = given
        instance._part._write(self._array, rows)


class _Coordinates(_Dofs):
    """Coordinates, shown with rotation vectors in the place of quaternions."""

    def _value(self, instance: Any) -> Array:
        q = instance._part._read(self._array)
        parts = [_shown(q[:, rows.q]) if rows.turning else q[:, rows.q] for rows in instance._rows]
        made = np.concatenate([np.zeros((len(q), 0)), *parts], axis=1)
        return values.read_only(instance._part._leading(made))

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: _Joints, value: Any) -> None:
        given = instance._part._given(value, (instance.num_dofs,), f"{self._label} of {instance!r}")
        rows, at = instance._part._read(self._array), 0
        for joint in instance._rows:
            size = joint.v.stop - joint.v.start
            numbers = given[:, at : at + size]
            rows[:, joint.q] = _stored(numbers) if joint.turning else numbers
            at += size
        instance._part._write(self._array, rows)


def _shown(q: Array) -> Array:
    """[translation,] xyzw as [translation,] rotation vector, by rows."""
    turns = [values.rotation_vector(row[-4:]) for row in q]
    return np.concatenate([q[:, :-4], np.array(turns).reshape(-1, 3)], axis=1)


def _stored(position: Array) -> Array:
    """[translation,] rotation vector as [translation,] xyzw, by rows."""
    turns = [values.quaternion_from_vector(row[-3:]) for row in position]
    return np.concatenate([position[:, :-3], np.array(turns).reshape(-1, 4)], axis=1)


class _Joints:
    """Quantities of one joint, or of all joints of a multibody."""

    _part: BatchPart
    _rows: list[JointRows]

    position = _Coordinates("joint_positions", "[m or rad]; rotation vectors of ball and free joints")
    velocity = _Dofs("joint_velocities", "[m/s or rad/s]")
    force = _Dofs("joint_forces", "Commanded effort [N or N m]")
    target_position = _Coordinates("position_targets", "Where drives lead to [m or rad]")
    target_velocity = _Dofs("velocity_targets", "Velocity that drives lead to [m/s or rad/s]")
    command_velocity = _Dofs("velocity_targets", "Velocity to follow [m/s or rad/s]")
    command_acceleration = _Dofs("acceleration_targets", "Acceleration to follow [m/s^2 or rad/s^2]")

    @property
    def _v(self) -> np.ndarray:
        return values.indices(joint.v for joint in self._rows)

    @property
    def num_dofs(self) -> int:
        """Number of degrees of freedom."""
        return len(self._v)


class BatchJoint(_Joints, _Handle):
    """A joint of all worlds of a batch, or of some.

    Example:
        >>> from worldline import msd, simulation as sx
        >>> scene = msd.from_str(
        ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0'/>"
        ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
        >>> batch = sx.WorldBatch(scene, 3)
        >>> hinge = batch.multibodies["bob"].joints["hinge"]
        >>> hinge.position = [[0.1], [0.2], [0.3]]
        >>> batch.joint_positions[:, 0].tolist()
        [0.1, 0.2, 0.3]
    """

    def __init__(self, part: BatchPart, name: str, rows: list[JointRows]) -> None:
        super().__init__(part, name)
        self._rows = rows


class BatchJoints(_Joints, NamedCollection[BatchJoint]):
    """Joints of a multibody by name; its own properties have the numbers of all of them."""

    def __init__(self, part: BatchPart, rows: dict[str, JointRows]) -> None:
        made = {joint: BatchJoint(part, joint, [own]) for joint, own in rows.items()}
        self._what, self._members = "joint", lambda: made
        self._part, self._rows = part, list(rows.values())


class _Bodies(_Handle):
    """Poses and velocities of bodies; `_bodies` are their indices in the model, `_one` when there is one."""

    _bodies: np.ndarray
    _one: bool

    def _of(self, rows: Array) -> Array:
        """Rows of all bodies, cut to those of the handle."""
        made = rows[:, self._bodies[0]] if self._one else rows[:, self._bodies]
        return values.read_only(np.array(self._part._leading(made)))

    def _poses(self) -> Array:
        return self._part._batch._worlds.poses(self._part._which)

    def _twists(self) -> Array:
        return self._part._batch._worlds.velocities(self._part._which)


def _matrices(poses: Array) -> Array:
    """Poses (..., 7) as matrices (..., 4, 4)."""
    flat = poses.reshape(-1, 7)
    made = np.zeros((len(flat), 4, 4))
    made[:, :3, :3], made[:, :3, 3], made[:, 3, 3] = rotations(flat), flat[:, :3], 1.0
    return made.reshape(*poses.shape[:-1], 4, 4)


def _of_bodies(read: Callable[[_Bodies], Array], doc: str) -> Reading[Array]:
    """Numbers of all bodies of the model, cut to those of the handle."""
    return reading(lambda bodies: bodies._of(read(bodies)), doc)


class BatchLink(_Bodies):
    """A link of all worlds of a batch, or of some."""

    def __init__(self, part: BatchPart, name: str, body: int) -> None:
        super().__init__(part, name)
        self._bodies, self._one = np.array([body]), True

    transform = _of_bodies(
        lambda bodies: _matrices(bodies._poses()), "Pose in the world frame, ([worlds,] 4, 4)."
    )
    translation = _of_bodies(
        lambda bodies: bodies._poses()[..., :3], "Position of the origin, world frame [m], ([worlds,] 3)."
    )
    quaternion = _of_bodies(lambda bodies: bodies._poses()[..., 3:], "Orientation xyzw, ([worlds,] 4).")
    rotation = _of_bodies(
        lambda bodies: _matrices(bodies._poses())[..., :3, :3], "Orientation as a matrix, ([worlds,] 3, 3)."
    )
    linear_velocity = _of_bodies(
        lambda bodies: bodies._twists()[..., 3:], "Velocity of the origin, world axes [m/s], ([worlds,] 3)."
    )
    angular_velocity = _of_bodies(
        lambda bodies: bodies._twists()[..., :3], "World axes [rad/s], ([worlds,] 3)."
    )


def _of_all(read: Callable[[_Bodies], Array], doc: str) -> Reading[Array]:
    """Numbers of all links of a multibody."""
    return reading(lambda links: links._all._of(read(links._all)), doc)


class BatchLinks(NamedCollection[BatchLink]):
    """Links of a multibody by name; its own properties have the numbers of all of them."""

    def __init__(self, part: BatchPart, name: str, links: dict[str, int]) -> None:
        made = {link: BatchLink(part, link, body) for link, body in links.items()}
        super().__init__("link", lambda: made)
        self._all = _Bodies(part, f"links of {name}")
        self._all._bodies, self._all._one = np.array(list(links.values()), np.int64), False

    transforms = _of_all(
        lambda bodies: _matrices(bodies._poses()), "Poses in the world frame, ([worlds,] links, 4, 4)."
    )
    translations = _of_all(
        lambda bodies: bodies._poses()[..., :3],
        "Positions of the origins, world frame [m], ([worlds,] links, 3).",
    )
    quaternions = _of_all(lambda bodies: bodies._poses()[..., 3:], "Orientations xyzw, ([worlds,] links, 4).")
    linear_velocities = _of_all(
        lambda bodies: bodies._twists()[..., 3:],
        "Velocities of the origins, world axes [m/s], ([worlds,] links, 3).",
    )
    angular_velocities = _of_all(
        lambda bodies: bodies._twists()[..., :3], "World axes [rad/s], ([worlds,] links, 3)."
    )


class BatchMultibody(_Handle):
    """A multibody of all worlds of a batch, or of some; see `WorldBatch.multibodies`.

    Example:
        >>> from worldline import msd, simulation as sx
        >>> scene = msd.from_str(
        ...     "<mujoco><worldbody><body name='bob'><joint name='hinge' axis='0 1 0'/>"
        ...     "<geom size='0.1' pos='0 0 -1'/></body></worldbody></mujoco>", format="mjcf")
        >>> batch = sx.WorldBatch(scene, 2)
        >>> bob = batch.multibodies["bob"]
        >>> bob.joints["hinge"].position = [[0.0], [1.0]]
        >>> bob.center_of_mass.round(3).tolist()
        [[0.0, 0.0, -1.0], [-0.841, 0.0, -0.54]]
    """

    def __init__(self, part: BatchPart, name: str, rows: MultibodyRows) -> None:
        super().__init__(part, name)
        self._rows = rows

    @property
    def joints(self) -> BatchJoints:
        """Joints by name; `joints.position` and others have those of all joints."""
        return BatchJoints(self._part, self._rows.joints)

    @property
    def links(self) -> BatchLinks:
        """Links by name; `links.translations` and others have those of all links."""
        return BatchLinks(self._part, self._name, self._rows.links)

    @property
    def num_dofs(self) -> int:
        """Number of degrees of freedom."""
        return self.joints.num_dofs

    def _masses(self) -> tuple[np.ndarray, Array, Array]:
        """Bodies of the links, and their masses and centres of mass in every world."""
        bodies = np.array(list(self._rows.links.values()), np.int64)
        models = self._part._batch._worlds.models(self._part._which)
        mass = np.array([model.body_mass[bodies] for model in models])
        return bodies, mass, np.array([model.body_com[bodies] for model in models])

    @property
    @returns_read_only
    def mass(self) -> Array:
        """Of all links [kg], ([worlds])."""
        return values.read_only(np.array(self._part._leading(self._masses()[1].sum(axis=1))))

    @property
    @returns_read_only
    def center_of_mass(self) -> Array:
        """Of all links, world frame [m], ([worlds,] 3)."""
        bodies, mass, com = self._masses()
        poses = self._part._batch._worlds.poses(self._part._which)[:, bodies]
        at = poses[..., :3] + np.einsum("wbij,wbj->wbi", _matrices(poses)[..., :3, :3], com)
        made = np.einsum("wb,wbi->wi", mass, at) / mass.sum(axis=1)[:, None]
        return values.read_only(self._part._leading(made))

    @property
    @returns_read_only
    def center_of_mass_velocity(self) -> Array:
        """Velocity of the centre of mass of all links, world axes [m/s], ([worlds,] 3)."""
        bodies, mass, com = self._masses()
        poses = self._part._batch._worlds.poses(self._part._which)[:, bodies]
        twists = self._part._batch._worlds.velocities(self._part._which)[:, bodies]
        arm = np.einsum("wbij,wbj->wbi", _matrices(poses)[..., :3, :3], com)
        each = twists[..., 3:] + np.cross(twists[..., :3], arm)
        made = np.einsum("wb,wbi->wi", mass, each) / mass.sum(axis=1)[:, None]
        return values.read_only(self._part._leading(made))


def _wrench(what: str, where: slice, doc: str) -> Quantity[Array, Any]:
    """A part of the wrench that stays on a body."""
    return quantity(
        lambda body: body._of(body._part._read("body_wrenches")[..., where]),
        lambda body, value: body._push(value, what, where),
        doc,
    )


class BatchRigidBody(BatchLink):
    """A rigid body of all worlds of a batch, or of some; poses, velocities and forces can be written.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0))
        >>> box = world.add_rigid_body("box")
        >>> batch = sx.WorldBatch(world, 2)
        >>> batch.rigid_bodies["box"].linear_velocity = [[1, 0, 0], [2, 0, 0]]
        >>> batch.step(1000)
        >>> batch.rigid_bodies["box"].translation[:, 0].round(9).tolist()
        [1.0, 2.0]
    """

    def __init__(self, part: BatchPart, name: str, rows: RigidBodyRows) -> None:
        super().__init__(part, name, rows.body)
        self._rows = rows

    def _put(self, name: str, start: int, given: Array) -> None:
        """Write columns of an array of the batch, from `start` on."""
        rows = self._part._read(name)
        rows[:, start : start + given.shape[1]] = given
        self._part._write(name, rows)

    def _require_moving(self) -> None:
        if self._rows.is_static:
            raise OperationError(f"rigid body '{self._name}' is static: it has no velocity to write")

    @property
    @returns_read_only
    def translation(self) -> Array:
        """Position of the origin, world frame [m], ([worlds,] 3)."""
        return self._of(self._poses()[..., :3])

    @translation.setter
    def translation(self, value: Any) -> None:
        given = self._part._given(value, (3,), f"translation of rigid body '{self._name}'")
        self._put("joint_positions", self._rows.q.start, given)

    @property
    @returns_read_only
    def quaternion(self) -> Array:
        """Orientation xyzw, ([worlds,] 4); the angular velocity in world axes stays when it is written."""
        return self._of(self._poses()[..., 3:])

    @quaternion.setter
    def quaternion(self, value: Any) -> None:
        given = self._part._given(value, (4,), f"quaternion of rigid body '{self._name}'")
        length = np.linalg.norm(given, axis=1, keepdims=True)
        if (length < 1e-12).any():
            raise ArgumentError(f"quaternion of rigid body '{self._name}' must not be zero, got {value!r}")
        spin = self._twists()[:, self._bodies[0], :3]
        self._put("joint_positions", self._rows.q.start + 3, given / length)
        if not self._rows.is_static:
            self._spin(spin)

    def _spin(self, angular: Array) -> None:
        """Write angular velocities given in world axes, (worlds, 3)."""
        turns = rotations(self._part._read("joint_positions")[:, self._rows.q])
        self._put("joint_velocities", self._rows.v.start + 3, np.einsum("wji,wj->wi", turns, angular))

    @property
    @returns_read_only
    def linear_velocity(self) -> Array:
        """Velocity of the origin, world axes [m/s], ([worlds,] 3)."""
        return self._of(self._twists()[..., 3:])

    @linear_velocity.setter
    def linear_velocity(self, value: Any) -> None:
        self._require_moving()
        given = self._part._given(value, (3,), f"linear_velocity of rigid body '{self._name}'")
        self._put("joint_velocities", self._rows.v.start, given)

    @property
    @returns_read_only
    def angular_velocity(self) -> Array:
        """World axes [rad/s], ([worlds,] 3)."""
        return self._of(self._twists()[..., :3])

    @angular_velocity.setter
    def angular_velocity(self, value: Any) -> None:
        self._require_moving()
        self._spin(self._part._given(value, (3,), f"angular_velocity of rigid body '{self._name}'"))

    force = _wrench(
        "force", slice(3, 6), "Force at the centre of mass that stays, world axes [N], ([worlds,] 3)."
    )
    torque = _wrench("torque", slice(0, 3), "Torque that stays, world axes [N m], ([worlds,] 3).")

    def _push(self, value: Any, what: str, where: slice) -> None:
        given = self._part._given(value, (3,), f"{what} of rigid body '{self._name}'")
        rows = self._part._read("body_wrenches")
        rows[:, self._bodies[0], where] = given
        self._part._write("body_wrenches", rows)
