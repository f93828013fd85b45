# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinate frames: the world's, those of bodies and links, and named frames on any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.copying import Address
from worldline._src.facade.handle import Handle
from worldline._src.facade.known_names import returns_read_only
from worldline._src.facade.values import TransformLike
from worldline._src.scene.bodies import Frame as SceneFrame
from worldline._src.spatial.poses import Array, compose, inverse

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class Frame(Handle):
    """A place to measure from. Poses are 4x4 arrays, positions in metres, quaternions xyzw.

    Every read is up to date, whatever was written before, and returns a copy.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box", position=(0, 0, 1))
        >>> tool = world.add_fixed_frame("tool", box)
        >>> tool.translation.tolist()
        [0.0, 0.0, 1.0]
    """

    _is_body: ClassVar[bool] = False
    """Whether it is a rigid body or a link."""
    _is_end_effector: ClassVar[bool] = False

    @staticmethod
    def world() -> Frame:
        """The frame of every world: name "world", its own parent."""
        return _WORLD_FRAME

    def _pose(self) -> Array:
        """Position and xyzw in the world frame; may be a view."""
        raise NotImplementedError

    @property
    @returns_read_only
    def transform(self) -> Array:
        """Pose in the world frame, 4x4."""
        return values.read_only(values.matrix_of(self._pose().copy()))

    @property
    @returns_read_only
    def translation(self) -> Array:
        """Position of the origin in the world frame [m], (3,)."""
        return values.read_only(self._pose()[:3].copy())

    @property
    def rotation(self) -> Array:
        """Rotation from this frame to the world, (3, 3)."""
        return values.matrix_of(self._pose().copy())[:3, :3].copy()

    @property
    @returns_read_only
    def quaternion(self) -> Array:
        """Orientation in the world frame, xyzw, (4,)."""
        return values.read_only(self._pose()[3:].copy())

    @property
    def parent_frame(self) -> Frame:
        """The frame this one is described in; only named frames can be given another.

        Of a link it is the parent link, of a marker its body, of rigid bodies and roots the world.
        """
        return self._above()

    def _above(self) -> Frame:
        return _WORLD_FRAME

    @parent_frame.setter
    def parent_frame(self, parent: Frame) -> None:
        raise OperationError(f"'{self.name}' cannot be given another parent: it is not a free or fixed frame")

    @property
    def local_transform(self) -> Array:
        """Pose in the parent frame, 4x4; for links this includes the motion of the joint."""
        return values.matrix_of(compose(inverse(self.parent_frame._pose().copy()), self._pose().copy()))

    @property
    def is_world(self) -> bool:
        """True for the world's own frame."""
        return False

    def relative_transform(self, relative_to: Frame, expressed_in: Frame | None = None) -> Array:
        """Pose of this frame seen from another, 4x4.

        Args:
            relative_to: the frame to measure from.
            expressed_in: axes of the result; those of `relative_to` when None.
        """
        self._same_world(relative_to)
        pose = compose(inverse(relative_to._pose().copy()), self._pose().copy())
        if expressed_in is None:
            return values.matrix_of(pose)
        self._same_world(expressed_in)
        turn = compose(inverse(expressed_in._pose().copy()), relative_to._pose().copy())
        turn[:3] = 0.0
        return values.matrix_of(compose(turn, pose))

    # ---- motion

    def _motion(self) -> tuple[Array, Array]:
        """Velocity of the origin and angular velocity against the world, world axes."""
        return np.zeros(3), np.zeros(3)

    @property
    def linear_velocity(self) -> Array:
        """Velocity of the origin, world axes [m/s], (3,)."""
        return self._motion()[0]

    @property
    def angular_velocity(self) -> Array:
        """World axes [rad/s], (3,)."""
        return self._motion()[1]

    def relative_linear_velocity(self, relative_to: Frame, expressed_in: Frame | None = None) -> Array:
        """Velocity of this origin as an observer who moves and turns with `relative_to` sees it [m/s], (3,).

        Args:
            relative_to: the frame to measure from.
            expressed_in: axes of the result; those of `relative_to` when None.
        """
        self._same_world(relative_to)
        ours, theirs = self._motion(), relative_to._motion()
        lever = self._pose()[:3].copy() - relative_to._pose()[:3]
        velocity = ours[0] - theirs[0] - np.cross(theirs[1], lever)
        return self._expressed(velocity, relative_to if expressed_in is None else expressed_in)

    def relative_angular_velocity(self, relative_to: Frame, expressed_in: Frame | None = None) -> Array:
        """Angular velocity against another frame [rad/s], (3,); axes as in `relative_linear_velocity`."""
        self._same_world(relative_to)
        turning = self._motion()[1] - relative_to._motion()[1]
        return self._expressed(turning, relative_to if expressed_in is None else expressed_in)

    def _acceleration(self) -> tuple[Array, Array]:
        """Acceleration of the origin and angular acceleration against the world, world axes."""
        return np.zeros(3), np.zeros(3)

    @property
    def linear_acceleration(self) -> Array:
        """Acceleration of the origin, world axes [m/s^2], (3,).

        Positions and velocities of joints are the present ones, accelerations those of the last step. Gravity
        plays no part: what rests has none.
        """
        return self._acceleration()[0]

    @property
    def angular_acceleration(self) -> Array:
        """World axes [rad/s^2], (3,); see `linear_acceleration`."""
        return self._acceleration()[1]

    def relative_linear_acceleration(self, relative_to: Frame, expressed_in: Frame | None = None) -> Array:
        """Acceleration of this origin as an observer who moves with `relative_to` sees it [m/s^2], (3,).

        The observer turns with that frame.

        Args:
            relative_to: the frame to measure from.
            expressed_in: axes of the result; those of `relative_to` when None.
        """
        self._same_world(relative_to)
        (velocity, _), (their_velocity, turning) = self._motion(), relative_to._motion()
        (ours, _), (theirs, change) = self._acceleration(), relative_to._acceleration()
        lever = self._pose()[:3].copy() - relative_to._pose()[:3]
        seen = velocity - their_velocity - np.cross(turning, lever)
        # what a turning observer takes for forces: Euler's, the centrifugal and the Coriolis one
        own = np.cross(change, lever) + np.cross(turning, np.cross(turning, lever) + 2.0 * seen)
        return self._expressed(ours - theirs - own, relative_to if expressed_in is None else expressed_in)

    def relative_angular_acceleration(self, relative_to: Frame, expressed_in: Frame | None = None) -> Array:
        """Rate of `relative_angular_velocity` as an observer with `relative_to` sees it [rad/s^2], (3,)."""
        self._same_world(relative_to)
        spin, turning = self._motion()[1], relative_to._motion()[1]
        change = self._acceleration()[1] - relative_to._acceleration()[1] - np.cross(turning, spin)
        return self._expressed(change, relative_to if expressed_in is None else expressed_in)

    def _expressed(self, vector: Array, axes: Frame) -> Array:
        self._same_world(axes)
        return axes.rotation.T @ vector

    def _require_base(self) -> None:
        """Refuse where no frame can stand on this one."""

    def _same_world(self, other: object) -> None:
        if not isinstance(other, Frame):
            raise values.ShapeError(f"a frame, body or link is needed, got {other!r}")
        other._require_alive()
        if not (self.is_world or other.is_world) and other._world is not self._world:
            raise ArgumentError(f"frame '{other.name}' belongs to a different world")

    def __repr__(self) -> str:
        state = "" if self._alive else ", not valid"
        return f"{type(self).__name__}('{self.name}'{state})"


class _WorldFrame(Frame):
    """The one frame that belongs to every world."""

    def __init__(self) -> None:
        self._world, self._alive, self._gone = cast("WorldRuntime", None), True, ""

    @property
    def name(self) -> str:
        return "world"

    def __deepcopy__(self, memo: dict[int, Any]) -> Frame:
        return self

    def __reduce__(self) -> Any:
        return Frame.world, ()

    @property
    def is_world(self) -> bool:
        return True

    def _pose(self) -> Array:
        return _IDENTITY

    def _above(self) -> Frame:
        return self


_WORLD_FRAME = _WorldFrame()


class _PlacedFrame(Frame):
    """A named frame with a constant pose in another frame."""

    def __init__(self, world: WorldRuntime, description: SceneFrame, parent: Frame) -> None:
        super().__init__(world)
        self._frame = description
        self._parent = parent

    @property
    def name(self) -> str:
        return self._frame.name or ""

    def _path(self) -> Address:
        return "frames", self.name

    def _pose(self) -> Array:
        if not self._alive:
            self._refuse()
        # up the chain with a loop: a long chain of frames is no reason to run out of stack
        pose = self._local()
        above: Any = self._parent
        while isinstance(above, _PlacedFrame):
            above._require_alive()
            pose = compose(above._local(), pose)
            above = above._parent
        return pose if above.is_world else compose(above._pose().copy(), pose)

    def _motion(self) -> tuple[Array, Array]:
        # a frame moves with the body it stands on; what a user does to a free frame has no speed
        above: Any = self._parent
        while isinstance(above, _PlacedFrame):
            above = above._parent
        linear, angular = above._motion()
        return linear + np.cross(angular, self._pose()[:3].copy() - above._pose()[:3]), angular

    def _acceleration(self) -> tuple[Array, Array]:
        above: Any = self._parent
        while isinstance(above, _PlacedFrame):
            above = above._parent
        (linear, angular), turning = above._acceleration(), above._motion()[1]
        lever = self._pose()[:3].copy() - above._pose()[:3]
        return linear + np.cross(angular, lever) + np.cross(turning, np.cross(turning, lever)), angular

    def _local(self) -> Array:
        frame = self._frame
        return np.concatenate([frame.position, frame.orientation])

    @property
    def parent_frame(self) -> Frame:
        """The frame this one is fixed to; assigning another keeps the pose in the parent."""
        self._require_alive()
        return self._parent

    @parent_frame.setter
    def parent_frame(self, parent: Frame) -> None:
        self._require_alive()
        self._require_parent(parent)
        self._parent = parent
        self._world._frame_moved(self)

    def _require_parent(self, parent: Frame) -> None:
        """Refuse a frame that this one cannot be fixed to."""
        self._same_world(parent)
        parent._require_base()
        above: Any = parent
        while isinstance(above, _PlacedFrame):
            if above is self:
                raise OperationError(
                    f"frame '{self.name}' on '{parent.name}' would make a cyclic frame hierarchy"
                )
            above = above._parent

    @property
    def local_transform(self) -> Array:
        """Pose in the parent frame, 4x4; may be changed in any mode."""
        self._require_alive()
        return values.matrix_of(self._local())

    @local_transform.setter
    def local_transform(self, value: TransformLike) -> None:
        self._require_alive()
        self._move(values.pose_of(value, f"{type(self).__name__} '{self.name}' local_transform"))

    def _move(self, pose: Array) -> None:
        """Take another pose in the parent, and let the World know."""
        raise NotImplementedError

    def remove(self) -> None:
        """Take the frame, and the frames on it, out of the World, in design mode or within `World.edit()`."""
        self._world.remove(cast("FixedFrame | FreeFrame", self))

    def _place(self, pose: Array) -> None:
        self._frame.position, self._frame.orientation = pose[:3], pose[3:]


class FixedFrame(_PlacedFrame):
    """A named frame fixed to a body, a link or another frame."""

    def _move(self, pose: Array) -> None:
        self._world._require_idle()
        self._place(pose)
        # closures and sensors that stand on it are compiled with its pose
        self._world._topology_changed()


class FreeFrame(_PlacedFrame):
    """A named frame that may be placed anywhere at any time."""

    def _move(self, pose: Array) -> None:
        self._place(pose)
        self._world._follow_frame(self)

    @Frame.transform.setter
    def transform(self, value: TransformLike) -> None:
        self._require_alive()
        pose = values.pose_of(value, f"FreeFrame '{self.name}' transform")
        self._place(compose(inverse(self._parent._pose().copy()), pose))
        self._world._follow_frame(self)
