# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""End effectors: named frames on links, with the Jacobians of their origins."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import construction, values
from worldline._src.facade.frame import FixedFrame, Frame
from worldline._src.facade.link import Link
from worldline._src.facade.subsets import Chain
from worldline._src.facade.values import TransformLike
from worldline._src.scene.bodies import FrameKind
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.multibody import Multibody


class EndEffector(FixedFrame):
    """A tool on a link: a frame, so everything a frame has, and how the joints move it.

    `ik` is its own inverse kinematics. Jacobian rows are angular first, one column per degree of freedom of
    the multibody. It is also among `World.frames`, and its name is unique there. Its `parent_frame` is the
    link it is fixed to; another link of the multibody may be assigned.

    Example:
        >>> import numpy as np
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> link = arm.add_link("link", joint=sx.JointSpec(axis=(0, 0, 1)))
        >>> offset = np.eye(4)
        >>> offset[0, 3] = 2.0
        >>> tool = arm.add_end_effector("tool", link, offset)
        >>> tool.translation.tolist(), tool.world_jacobian[:, 0].tolist()
        ([2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 2.0, 0.0])
    """

    _is_end_effector = True
    _ik: Any = None

    @property
    def link(self) -> Link:
        """The link it is fixed to."""
        return cast("Link", self.parent_frame)

    @property
    def multibody(self) -> Multibody:
        """The multibody of that link."""
        return self.link.multibody

    @property
    def chain(self) -> Chain:
        """The links from the root to its own, and all joints that move it."""
        top = link = self.link
        while top._parent is not None:
            top = top._parent
        return Chain(link.multibody, top, link, include_parent_joint=True)

    def _require_parent(self, parent: Frame) -> None:
        if isinstance(parent, Frame):
            self._same_world(parent)
        if not isinstance(parent, Link) or parent._multibody is not self.link._multibody:
            raise ArgumentError(
                f"end effector '{self.name}' is fixed to a link of multibody '{self.link._multibody.name}', "
                f"got {parent!r}"
            )

    def _move(self, pose: Array) -> None:
        # tools may be exchanged at any time
        self._world._require_idle()
        self._place(pose)
        self._world._layout_edits += 1
        self._world._follow_frame(self)

    @property
    def ik(self) -> Any:
        """Its own inverse kinematics, made on first use: `worldline.kinematics.EndEffectorIk`."""
        self._require_alive()
        if self._ik is None:
            # kinematics stands on the facade and is loaded when it is used
            kinematics = import_module("worldline.kinematics")
            self._ik = kinematics.EndEffectorIk(self)
        return self._ik

    # ---- how the joints move it

    @property
    def world_jacobian(self) -> Array:
        """Angular, then linear velocity of its origin, world axes, per unit velocity, (6, num_dofs)."""
        return self.multibody.get_world_jacobian(self.link, self._frame.position)

    @property
    def jacobian(self) -> Array:
        """The same in its own axes, (6, num_dofs)."""
        J, R = self.world_jacobian, self.rotation
        return np.concatenate([R.T @ J[:3], R.T @ J[3:]])

    @property
    def linear_jacobian(self) -> Array:
        """Velocity of its origin, world axes, (3, num_dofs)."""
        return self.world_jacobian[3:]

    @property
    def angular_jacobian(self) -> Array:
        """Angular velocity, world axes, (3, num_dofs)."""
        return self.world_jacobian[:3]

    @property
    def jacobian_derivative(self) -> Array:
        """Rate of `world_jacobian` while the joints move as they do, (6, num_dofs)."""
        return self.multibody.get_jacobian_classic_derivative(self.link, self._frame.position)


def add_end_effector(owner: Multibody, name: str, link: Link, offset: TransformLike | None) -> EndEffector:
    """See `Multibody.add_end_effector`."""
    world = owner._world
    owner._require_design("adding an end effector")
    owner._own(link)
    chosen, _ = construction.free_name(name, "end_effector", world._frames, 0, "frame")
    pose = construction.IDENTITY if offset is None else values.pose_of(offset, f"offset of '{chosen}'")
    described = construction.SceneFrame(
        name=chosen, kind=FrameKind.EndEffector, position=pose[:3], orientation=pose[3:]
    )
    handle = EndEffector(world, described, link)
    world._scene.frames.append(described)
    world._frames[chosen] = handle
    world._frame_moved(handle)
    return handle
