# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A link of a multibody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.copying import Address
from worldline._src.facade.frame import Frame
from worldline._src.facade.shapes import CollisionBody
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.facade.world_kind import require_multibody
from worldline._src.linear_algebra import matmul
from worldline._src.scene.bodies import Body
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.multibody import Multibody


class Link(CollisionBody):
    """A body of a multibody's tree; its pose follows from the joints between it and the world.

    Example:
        >>> from worldline import simulation as sx
        >>> arm = sx.World().add_multibody("arm")
        >>> base = arm.add_link("base")
        >>> tip = arm.add_link("tip", parent=base, joint=sx.JointSpec(name="hinge"))
        >>> tip.parent_joint.name, tip.parent_link.name
        ('hinge', 'base')
    """

    _is_body = True

    def __init__(
        self, multibody: Multibody, body: Body, link: SceneLink, parent: Link | None, label: str
    ) -> None:
        require_multibody(multibody, type(self).__name__)
        super().__init__(multibody._world, link)
        self._label = label
        self._multibody = multibody
        self._body = body
        self._parent = parent

    def as_link(self) -> Link:
        """The link itself."""
        return self

    def _path(self) -> Address:
        return *self._multibody._path(), "links", self.name

    @property
    def multibody(self) -> Multibody:
        """The multibody the link belongs to."""
        self._require_alive()
        return self._multibody

    @property
    def parent_link(self) -> Link | None:
        """The link it hangs on, None at roots."""
        self._require_alive()
        return self._parent

    @property
    def child_links(self) -> list[Link]:
        """The links that hang on it, in construction order."""
        self._require_alive()
        return [link for link in self._multibody._links.values() if link._parent is self]

    def _above(self) -> Frame:
        """The parent link, or the world at roots."""
        self._require_alive()
        return Frame.world() if self._parent is None else self._parent

    @property
    def parent_joint(self) -> Joint:
        """The joint that moves the link against its parent; a handle that is not valid at fixed roots."""
        self._require_alive()
        return self._multibody._joint_above(self)

    @property
    def parent_joints(self) -> list[Joint]:
        """All joints between the link and its parent, outermost first; usually one."""
        self._require_alive()
        return [joint for joint in self._multibody._joints.values() if joint._child is self]

    @property
    def is_mocap(self) -> bool:
        """Whether it is the base of a mocap body, which stands in the world where it is put."""
        self._require_alive()
        return self._parent is None and self._body.mocap

    @property
    def mocap_transform(self) -> Array:
        """Where a mocap body stands in the world frame, 4x4.

        May be written in any mode; the body is there at once and has no velocity on the way.
        """
        self._require_mocap()
        return self.transform

    @mocap_transform.setter
    def mocap_transform(self, value: TransformLike) -> None:
        self._require_mocap()
        pose = values.pose_of(value, f"Link '{self.name}' mocap transform")
        runtime = self._live()
        bodies = [body for body in runtime.scene.hierarchy.bodies if body.mocap]
        runtime.mocap[next(k for k, body in enumerate(bodies) if body is self._body)] = pose
        runtime.apply_mocap_poses()

    def _require_mocap(self) -> None:
        if not self.is_mocap:
            raise ArgumentError(f"link '{self.name}' is not the base of a mocap body")

    def apply_force(
        self,
        force: VectorLike,
        point: VectorLike = (0.0, 0.0, 0.0),
        force_in_world_frame: bool = True,
        point_in_world_frame: bool = False,
    ) -> None:
        """A force at a point of the link, for the next step only.

        Args:
            force: [N], (3,).
            point: where it acts [m], (3,).
            force_in_world_frame: axes of the force: the world's, or the link's.
            point_in_world_frame: frame of the point: the world's, or the link's.
        """
        push = values.vector3(force, f"Link '{self.name}' force")
        place = values.vector3(point, f"Link '{self.name}' point")
        push_in_world = values.flag(force_in_world_frame, "force_in_world_frame")
        point_in_world = values.flag(point_in_world_frame, "point_in_world_frame")
        runtime, b = self._index()
        X = values.matrix_of(runtime.sim.fresh_poses()[b])
        if not push_in_world:
            push = matmul(X[:3, :3], push)
        if not point_in_world:
            place = matmul(X[:3, :3], place) + X[:3, 3]
        lever = place - (matmul(X[:3, :3], runtime.model.body_com[b]) + X[:3, 3])
        runtime.apply_one_shot(b, np.concatenate([np.cross(lever, push), push]))

    def apply_torque(self, torque: VectorLike, torque_in_world_frame: bool = True) -> None:
        """A torque on the link, for the next step only [N m], (3,)."""
        moment = values.vector3(torque, f"Link '{self.name}' torque")
        in_world = values.flag(torque_in_world_frame, "torque_in_world_frame")
        runtime, b = self._index()
        if not in_world:
            moment = matmul(self.rotation, moment)
        runtime.apply_one_shot(b, np.concatenate([moment, np.zeros(3)]))

    def remove(self) -> None:
        """Take the link and all that hangs on it out, in design mode or within `World.edit()`."""
        self._world.remove(self)
