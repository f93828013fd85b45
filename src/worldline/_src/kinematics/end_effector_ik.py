# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of an end effector: its goal, the joints that move, and its priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, FixedAttributes, listed
from worldline._src.facade.end_effector import EndEffector
from worldline._src.facade.frame import Frame
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.values import flag
from worldline._src.kinematics.analytic import AnalyticIk
from worldline._src.kinematics.results import IkResult
from worldline._src.kinematics.solve import solve_ik
from worldline._src.kinematics.tasks import PoseTask, Task, pose_of, tasks_in, weights_of
from worldline._src.spatial.poses import Array, float_array, read_only
from worldline._src.step.evaluate import is_count


class EndEffectorIk(FixedAttributes):
    """The inverse kinematics of one end effector, as `EndEffector.ik` returns it.

    It keeps a goal and solves for it with the joints of the chain from the root, or with all joints of the
    multibody. `WholeBodyIk` solves those of all end effectors of a multibody together.

    Example:
        >>> import numpy as np
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> upper = arm.add_link("upper", joint=sx.JointSpec("a", axis=(0, 0, 1)))
        >>> X = np.eye(4); X[0, 3] = 1.0
        >>> lower = arm.add_link("lower", upper, sx.JointSpec("b", axis=(0, 0, 1), transform_to_parent=X))
        >>> tool = arm.add_end_effector("tool", lower, X)
        >>> tool.ik.target = (1.0, 1.0, 0.0)
        >>> tool.ik.solve_and_apply().success
        True
        >>> tool.translation.round(6).tolist()
        [1.0, 1.0, 0.0]
    """

    def __init__(self, end_effector: EndEffector) -> None:
        if not isinstance(end_effector, EndEffector):
            raise ArgumentError(f"EndEffectorIk needs an end effector, got {end_effector!r}")
        self._end_effector = end_effector
        self._pose, self._reference = _present(end_effector), None
        self._weight = np.ones(6)
        self._joints: tuple[Any, ...] | None = None
        self._level, self._active = 0, True
        self._tolerance = 1e-8

    @property
    def end_effector(self) -> EndEffector:
        """Whose it is."""
        return self._end_effector

    @property
    def target(self) -> Array:
        """Goal of the end effector in `reference`: position [m] and xyzw, (7,); its present pose at first.

        Assign a 4x4 pose, position and xyzw, a position alone, which leaves the orientation free, or a Frame
        to go to, which becomes the reference.
        """
        return read_only(self._pose.copy())

    @target.setter
    def target(self, value: ArrayLike | Frame) -> None:
        if isinstance(value, Frame):
            self._pose, self._reference = pose_of(None, "target"), value
            return
        given = float_array(value, "target of an end effector")
        if given.shape == (3,):
            pose = pose_of(None, "target")
            pose[:3] = pose_of([*given, 0, 0, 0, 1], "target of an end effector")[:3]
            self._pose, self._reference = pose, None
            self._weight = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
            return
        self._pose, self._reference = pose_of(given, "target of an end effector"), None

    @property
    def reference(self) -> Frame | None:
        """The frame that the goal is given in; None for the world."""
        return self._reference

    @property
    def weight(self) -> Array:
        """Weights of rotation, then of translation, (6,); 0 leaves a direction of the goal's axes free."""
        return read_only(self._weight.copy())

    @weight.setter
    def weight(self, value: ArrayLike) -> None:
        self._weight = weights_of(value, 6, "weight of an end effector")

    @property
    def tolerance(self) -> float:
        """Largest error of a goal that is reached [m or rad]."""
        return self._tolerance

    @tolerance.setter
    def tolerance(self, value: float) -> None:
        PoseTask(self._end_effector, self._pose, tolerance=value)
        self._tolerance = float(value)

    @property
    def hierarchy_level(self) -> int:
        """Priority among the end effectors of a multibody: lower numbers come first."""
        return self._level

    @hierarchy_level.setter
    def hierarchy_level(self, value: int) -> None:
        if not is_count(value) or value < 0:
            raise ArgumentError(f"hierarchy_level must be a whole number from 0 on, got {value!r}")
        self._level = int(value)

    @property
    def active(self) -> bool:
        """Whether `WholeBodyIk` counts it."""
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = flag(value, "active of an end effector")

    def use_chain(self) -> None:
        """Move the joints between the root and the end effector: the way it starts."""
        self._joints = None

    def use_whole_body(self) -> None:
        """Move all joints of the multibody."""
        self._joints = tuple(self._end_effector.multibody.joints)

    @property
    def joints(self) -> tuple[Any, ...]:
        """Joints that may move; assign others."""
        if self._joints is not None:
            return self._joints
        return tuple(self._end_effector.chain.joints)

    @joints.setter
    def joints(self, value: Sequence[Any]) -> None:
        self._joints = tuple(listed(value, "joints of an end effector"))

    @property
    def task(self) -> PoseTask:
        """The goal as a task for `solve_ik`, differential IK and controllers."""
        return PoseTask(
            self._end_effector,
            self._pose,
            reference=self._reference,
            weight=self._weight,
            tolerance=self._tolerance,
            priority=self._level,
            name=self._end_effector.name,
        )

    def find_solution(self, start: ArrayLike | None = None, **options: Any) -> IkResult:
        """The answer of `solve_ik` for the goal; nothing moves. `options` are those of `solve_ik`."""
        world = self._end_effector._world
        return solve_ik(world, self.task, joints=self.joints, start=start, **options)

    def solve_and_apply(self, start: ArrayLike | None = None, **options: Any) -> IkResult:
        """`find_solution`, and its coordinates written into the World where the goal is reached."""
        found = self.find_solution(start, **options)
        if found.success:
            found.apply()
        return found

    def analytic(self) -> AnalyticIk:
        """All branches in closed form, where the geometry of the chain has them; else an error says why."""
        return AnalyticIk(self._end_effector._world, self.task, joints=self.joints)


class WholeBodyIk(FixedAttributes):
    """All active end effectors of a multibody together, by their hierarchy levels, and further tasks.

    Args:
        multibody: whose end effectors count.
        tasks: further tasks, such as `BalanceTask` or `PostureTask`, with priorities of their own.

    Example:
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> robot = world.add_multibody("robot")
        >>> links = [robot.add_link("torso", joint=sx.JointSpec("turn", axis=(0, 0, 1)))]
        >>> slide = sx.JointType.PRISMATIC
        >>> for side in ("left", "right"):
        ...     links.append(robot.add_link(side, links[0], sx.JointSpec(side, type=slide, axis=(1, 0, 0))))
        ...     tool = robot.add_end_effector(f"{side}_hand", links[-1])
        ...     tool.ik.weight = (0, 0, 0, 1, 0, 0)
        ...     tool.ik.target = (0.3 if side == "left" else -0.2, 0, 0, 0, 0, 0, 1)
        >>> wk.WholeBodyIk(robot).solve_and_apply().success
        True
        >>> [round(float(tool.translation[0]), 6) for tool in robot.end_effectors]
        [0.3, -0.2]
    """

    def __init__(self, multibody: Multibody, tasks: Sequence[Task] | Task = ()) -> None:
        if not isinstance(multibody, Multibody):
            raise ArgumentError(f"WholeBodyIk needs a multibody, got {multibody!r}")
        self._multibody = multibody
        self._tasks = tuple(tasks_in(tasks))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks of the active end effectors, then the further ones."""
        handles = [tool.ik for tool in self._multibody.end_effectors]
        return (*(handle.task for handle in handles if handle.active), *self._tasks)

    def find_solution(self, start: ArrayLike | None = None, **options: Any) -> IkResult:
        """The answer of `solve_ik` for all of them; nothing moves. `options` are those of `solve_ik`."""
        options.setdefault("joints", tuple(self._multibody.joints))
        return solve_ik(self._multibody._world, self.tasks, start=start, **options)

    def solve_and_apply(self, start: ArrayLike | None = None, **options: Any) -> IkResult:
        """`find_solution`, and its coordinates written into the World where all goals are reached."""
        found = self.find_solution(start, **options)
        if found.success:
            found.apply()
        return found


def _present(end_effector: EndEffector) -> Array:
    return pose_of(end_effector.transform, "pose of an end effector")
