# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics in closed form: geometry found from the model, all branches returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, FixedAttributes
from worldline._src.kinematics import subproblems
from worldline._src.kinematics.problems import bounds_of, columns_of, row_of
from worldline._src.kinematics.screw_chain import ScrewChain
from worldline._src.kinematics.subjects import subject_of
from worldline._src.kinematics.tasks import PoseTask, PositionTask, pose_of
from worldline._src.math.lie_groups import pose_to_transform, se3_inverse
from worldline._src.math.rotations import wrap_angle
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, compose, numbers
from worldline._src.step.dynamics import forward_kinematics
from worldline._src.step.ik_problem import IkProblem
from worldline._src.step.jacobians import jacobian

_ACCEPTED = 1e-10
"""Largest error of a branch, of the arm's length [m] and of a turn [rad]: what does not exist ends far from
it."""
_SAME = 1e-6
"""Branches closer than this are one [rad]."""


class AnalyticSolutions(NamedTuple):
    """All branches that reach a target."""

    q: Array
    """Coordinates of the whole model, (branches, joint_coord_count); the closest to the start first."""
    error: Array
    """Largest difference from the target, entry by entry of the pose [m or 1], (branches,)."""

    @property
    def success(self) -> bool:
        """Whether there is a branch."""
        return len(self.q) > 0


Branches = list[Array]
Rule = Callable[[ScrewChain, Array, Array], Branches]


def _wrist(chain: ScrewChain, G: Array, guess: Array) -> Branches:
    """Six axes, the last three through a point W: three turns of W, then three about it [Pieper 1968]."""
    W = chain.meeting_point(3, 6)
    assert W is not None
    found = []
    arm = subproblems.three_turns_of_point(
        chain.h[:3], chain.p[:3], W, G[:3, :3] @ W + G[:3, 3], guess[:3], chain.length
    )
    for first in arm:
        R: Array = chain.product(np.array(first))[:3, :3].T @ G[:3, :3]
        found += [np.array([*first, *last]) for last in subproblems.three_turns(chain.h[3:6], R, guess[3:6])]
    return found


def _parallel(chain: ScrewChain, G: Array, guess: Array) -> Branches:
    """Six axes, 2 to 4 parallel, 5 and 6 through a point Q: its height along axis 2 gives angle 1, the
    direction of axis 6 angle 5, then 6, and the three parallel axes move in a plane."""
    Q, n = chain.meeting_point(4, 6), chain.h[1]
    assert Q is not None
    goal = G[:3, :3] @ Q + G[:3, 3] - chain.p[0]
    h1 = chain.h[0]
    along = h1 * (h1 @ goal)
    across = goal - along
    # n E1^-1 goal = n Q
    d = n @ (Q - chain.p[0]) - n @ along
    first = subproblems.circle_angles(n @ across, -(n @ subproblems.cross(h1, across)), d, chain.length)
    found = []
    for a1 in [float(guess[0])] if first is None else first:
        R = subproblems.rotation_about(h1, a1).T @ G[:3, :3]
        h5, h6 = chain.h[4], chain.h[5]
        along = h5 * (h5 @ h6)
        fifth = subproblems.circle_angles(
            n @ (h6 - along), n @ subproblems.cross(h5, h6), n @ (R @ h6) - n @ along, 1.0
        )
        for a5 in [float(guess[4])] if fifth is None else fifth:
            seen, w = subproblems.rotation_about(h5, a5).T @ n, R.T @ n
            a6 = (
                subproblems.angle_about(h6, w, seen)
                if subproblems.is_across(h6, seen, 1e3)
                else float(guess[5])
            )
            T = np.linalg.inv(chain.turn(0, a1)) @ G @ np.linalg.inv(chain.product(np.array([a5, a6]), 4))
            flat = subproblems.planar_turns(chain.h[1:4], chain.p[1:4], T, guess[1:4], chain.length)
            found += [np.array([a1, *middle, a5, a6]) for middle in flat]
    return found


def _planar(chain: ScrewChain, G: Array, guess: Array) -> Branches:
    """Three parallel axes and a pose of their plane."""
    return [np.array(each) for each in subproblems.planar_turns(chain.h, chain.p, G, guess, chain.length)]


def _mirrored(rule: Rule) -> Rule:
    """The rule for a chain that is seen from its end."""

    def solve(chain: ScrewChain, G: Array, guess: Array) -> Branches:
        return [each[::-1] for each in rule(chain.reversed(), se3_inverse(G), guess[::-1])]

    return solve


def _family(chain: ScrewChain, point: Array | None) -> tuple[str, Rule | None] | None:
    """Name of the geometry of a chain, and its rule; None where there is no closed form here."""
    if point is not None:
        return ("3R point", None) if chain.count == 3 else None
    if chain.count == 3 and chain.are_parallel(0, 3):
        return "3R planar", _planar
    if chain.count == 7 and chain.meeting_point(0, 3) is not None and chain.meeting_point(4, 7) is not None:
        return "7R spherical shoulder and wrist", None
    if chain.count != 6:
        return None
    for name, rule, seen in (("", lambda r: r, chain), ("mirrored", _mirrored, chain.reversed())):
        if seen.meeting_point(3, 6) is not None:
            return ("6R spherical shoulder" if name else "6R spherical wrist"), rule(_wrist)
        if seen.are_parallel(1, 4) and seen.meeting_point(4, 6) is not None:
            return "6R parallel axes", rule(_parallel)
    return None


class AnalyticIk(FixedAttributes):
    """Inverse kinematics in closed form, for arms whose geometry has one.

    The geometry is found from the axes of the joints, in any pose of the base and of fixed joints:

    - "6R spherical wrist" and "6R spherical shoulder": three axes at one end meet in a point, the others are
      anyhow; 8 branches;
    - "6R parallel axes": axes 2 to 4 are parallel, 5 and 6 meet, or the same from the end; 8 branches;
    - "7R spherical shoulder and wrist": 8 branches for each elbow angle;
    - "3R planar": three parallel axes, for poses of their plane; 2 branches;
    - "3R point": three axes for the position of a point; 4 branches.

    Axes that nearly meet, by rounded numbers of a file, count as meeting; Newton's method finds the last
    digits with the axes as they are. An arm of seven joints without a spherical shoulder and wrist often has
    a closed form when one joint is fixed: name the others by `joints`.

    Args:
        subject: a World or a Model.
        task: a pose task, or a position task for three joints, without weights of zero; its target is the one
            that `solve` takes by default. A reference must not move with the joints.
        joints: joints that may move, as in `solve_ik`; by default all hinges between the world and the frame.

    Attributes:
        family: name of the geometry.

    Example:
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> a, b = builder.add_link(label="a"), builder.add_link(label="b")
        >>> c, at = builder.add_link(label="c"), [1, 0, 0, 0, 0, 0, 1]
        >>> joints = [builder.add_joint_revolute(-1, a, axis="z")]
        >>> joints += [builder.add_joint_revolute(a, b, axis="z", parent_xform=at)]
        >>> joints += [builder.add_joint_revolute(b, c, axis="z", parent_xform=at)]
        >>> _ = builder.add_articulation(joints)
        >>> arm = wk.AnalyticIk(builder.finalize(), wk.PoseTask("c", [1, 1, 0, 0, 0, 0, 1]))
        >>> arm.family
        '3R planar'
        >>> sorted(arm.solve().q[:, 1].round(3).tolist())
        [-1.571, 1.571]
    """

    def __init__(self, subject: Any, task: PoseTask | PositionTask, *, joints: Any = None) -> None:
        if not isinstance(task, (PoseTask, PositionTask)):
            raise ArgumentError(f"analytic inverse kinematics takes a pose or position task, got {task!r}")
        self._subject = subject_of(subject)
        model = self._subject.model
        self._task, self._row = task, row_of(self._subject, task, self._subject.coordinates())
        if (task.weight <= 0.0).any():
            raise ArgumentError("analytic inverse kinematics satisfies all axes: weights must be positive")
        columns = columns_of(self._subject, [self._row], joints)
        problem = IkProblem(model, columns, [self._row], *bounds_of(model, False))
        self._dofs, self._coordinates = np.array(columns), problem.coordinate_of(np.array(columns))
        if (self._coordinates < 0).any() or self._row.a < 0:
            raise ArgumentError(
                "analytic inverse kinematics needs a frame that hinges move, each with an angle of its own; "
                "name them by joints"
            )
        self._low, self._high = (bound[self._dofs] for bound in bounds_of(model, True))
        chain, point = self._chain(self._subject.coordinates())
        found = _family(chain, point)
        if found is None:
            what = "the position of a point" if point is not None else "a pose"
            raise ArgumentError(
                f"no closed form is known for {what} and {chain.count} joints with these axes; allowed: 6 "
                "with three axes that meet at one end or with axes 2 to 4 parallel, 7 with a spherical "
                "shoulder and wrist, 3 parallel ones, 3 for a point"
            )
        self.family, self._rule = found
        self._known: tuple[Array, ScrewChain, Array | None] | None = None

    def _chain(self, q: Array) -> tuple[ScrewChain, Array | None]:
        """The chain at the coordinates of all joints that are held, and the point of a position task."""
        model, row = self._subject.model, self._row
        zero = q.copy()
        zero[self._coordinates] = 0.0
        X = compose(forward_kinematics(model, zero)[row.a], row.X_a)
        J = jacobian(model, zero, row.a, row.X_a[:3])[:, self._dofs]
        h, v = J[:3].T, J[3:].T
        pitch = np.abs(np.sum(h * v, axis=1))
        if (np.abs(np.linalg.norm(h, axis=1) - 1.0) > 1e-9).any() or (pitch > 1e-9).any():
            raise ArgumentError(
                "analytic inverse kinematics needs revolute joints from root to frame; joints may name them"
            )
        # v = h x (x - p), so that x + h x v is on the axis
        chain = ScrewChain(h, X[:3] + np.cross(h, v), pose_to_transform(X))
        angles = np.linspace(0.3, 0.9, len(h))
        there = zero.copy()
        there[self._coordinates] = angles
        moved = pose_to_transform(compose(forward_kinematics(model, there)[row.a], row.X_a))
        if np.abs(chain.product(angles) @ chain.M - moved).max() > 1e-9 * max(1.0, chain.length):
            raise ArgumentError(
                "analytic inverse kinematics needs joints that turn about axes fixed to links"
            )
        return chain, (X[:3] if isinstance(self._task, PositionTask) else None)

    def _at(self, q: Array) -> tuple[ScrewChain, Array | None]:
        """The chain for the fixed coordinates of q, made anew only when they changed."""
        held = q.copy()
        held[self._coordinates] = 0.0
        if self._known is None or not np.array_equal(self._known[0], held):
            self._known = (held, *self._chain(q))
        return self._known[1], self._known[2]

    def _goal(self, target: Any, q: Array) -> Array:
        """A target in the world: 4x4, or (3,) of a position task."""
        task = self._task
        if isinstance(task, PositionTask):
            point = task.target if target is None else numbers(target, (3,), "target of a position task")
            pose = np.concatenate([point, [0.0, 0.0, 0.0, 1.0]])
        else:
            pose = task.target if target is None else pose_of(target, "target of a pose task")
        if task.reference is not None:
            body, X = self._subject.frame(task.reference, "reference of a task")
            if body >= 0:
                moves = jacobian(self._subject.model, q, body)[:, self._dofs]
                if moves.any():
                    raise ArgumentError(
                        "the reference of analytic inverse kinematics must not move with its joints"
                    )
                X = compose(forward_kinematics(self._subject.model, q)[body], X)
            pose = compose(X, pose)
        return pose[:3] if isinstance(task, PositionTask) else pose_to_transform(pose)

    def elbow_angle(self, q: ArrayLike) -> float:
        """Elbow angle of coordinates of the whole model [rad], for the family with seven joints.

        The angle about the line from the shoulder to the wrist, from the half plane on the side of the first
        axis to the half plane with the elbow, the point of axis 4 that is closest to the shoulder.
        """
        at = numbers(q, (self._subject.model.joint_coord_count,), "q")
        if not self.family.startswith("7R"):
            raise ArgumentError(f"arms of the family '{self.family}' have no elbow angle")
        chain, _ = self._at(at)
        angles = at[self._coordinates]
        S, W = chain.meeting_point(0, 3), chain.meeting_point(4, 7)
        assert S is not None and W is not None
        R = chain.product(angles[:3])[:3, :3]
        wrist = chain.turn(3, float(angles[3])) @ np.append(W, 1.0)
        n = R @ (wrist[:3] - S)
        n = n / np.linalg.norm(n)
        return subproblems.angle_about(n, _reference(chain.h[0], n), R @ _elbow(chain, S, R.T @ n))

    def _seven(self, chain: ScrewChain, G: Array, guess: Array, elbow: float) -> Branches:
        """A spherical shoulder S, axis 4 and a spherical wrist W: the distance of S and W gives angle 4, the
        elbow angle the turn of the shoulder, and the wrist the rest [Shimizu 2008]."""
        S, W = chain.meeting_point(0, 3), chain.meeting_point(4, 7)
        assert S is not None and W is not None
        goal = G[:3, :3] @ W + G[:3, 3] - S
        h4, arm = chain.h[3], W - chain.p[3]
        along = h4 * (h4 @ arm)
        u, v, c0 = arm - along, subproblems.cross(h4, arm), chain.p[3] + along - S
        d = (goal @ goal - c0 @ c0 - u @ u) / chain.length
        fourth = subproblems.circle_angles(
            2.0 * c0 @ u / chain.length, 2.0 * c0 @ v / chain.length, d, chain.length
        )
        distance = float(np.linalg.norm(goal))
        if distance < 1e-9 * chain.length:
            return []
        n = goal / distance
        found = []
        for a4 in [float(guess[3])] if fourth is None else fourth:
            w = c0 + np.cos(a4) * u + np.sin(a4) * v
            w = w / np.linalg.norm(w)
            e = _elbow(chain, S, w)
            # the turn of the shoulder that takes w to n, and the elbow to its angle from the reference
            side = subproblems.rotation_about(n, elbow) @ _reference(chain.h[0], n)
            here, there = _frame(w, e), _frame(n, side)
            R = there @ here.T
            for first in subproblems.three_turns(chain.h[:3], R, guess[:3]):
                known = chain.product(np.array([*first, a4]))[:3, :3]
                last = subproblems.three_turns(chain.h[4:7], known.T @ G[:3, :3], guess[4:7])
                found += [np.array([*first, a4, *each]) for each in last]
        return found

    def solve(
        self,
        target: Any = None,
        *,
        start: ArrayLike | None = None,
        elbow_angle: float | None = None,
        limits: bool = True,
    ) -> AnalyticSolutions:
        """All branches that reach a target, the one closest to the start first.

        Args:
            target: pose, 4x4 or 7 numbers, or position (3,), in the reference of the task; that of the task
                when None.
            start: coordinates of the whole model: fixed joints stay there, and angles that do not
                matter in a singular pose; the present ones by default.
            elbow_angle: see the method of that name [rad]; that of the start when None. For seven joints
                only.
            limits: whether branches beyond limits of joints are left out. Whole turns are added where that
                brings an angle within its limits, or closer to the start.
        """
        subject = self._subject
        q = subject.coordinates()
        if start is not None:
            q = numbers(start, (subject.model.joint_coord_count,), "start of inverse kinematics")
        chain, point = self._at(q)
        goal, guess = self._goal(target, q), q[self._coordinates]
        if elbow_angle is not None and not self.family.startswith("7R"):
            raise ArgumentError(
                f"arms of the family '{self.family}' have no elbow angle, got {elbow_angle!r}"
            )
        found: Branches
        if point is not None:
            found = [
                np.array(each)
                for each in subproblems.three_turns_of_point(
                    chain.h, chain.p, point, goal, guess, chain.length
                )
            ]
        else:
            G = goal @ np.linalg.inv(chain.M)
            if self._rule is not None:
                found = self._rule(chain, G, guess)
            else:
                elbow = self.elbow_angle(q) if elbow_angle is None else float(elbow_angle)
                found = self._seven(chain, G, guess, elbow)
        kept: Branches = []
        for angles in found:
            made, error = chain.polished(angles, goal, point)
            if error > _ACCEPTED * max(1.0, chain.length):
                continue
            made = self._in_range(made, guess)
            if limits and ((made < self._low) | (made > self._high)).any():
                continue
            if all(np.abs(wrap_angle(made - other)).max() > _SAME for other in kept):
                kept.append(made)
        return self._solutions(q, goal, kept)

    def _in_range(self, angles: Array, start: Array) -> Array:
        """Angles moved by whole turns close to the start, but into their limits where that can be."""
        turn = 2.0 * np.pi
        made = start + wrap_angle(angles - start)
        edge = 1e-12
        made = np.where(made < self._low, made + turn * np.ceil((self._low - made - edge) / turn), made)
        made = np.where(made > self._high, made - turn * np.ceil((made - self._high - edge) / turn), made)
        # an angle at its limit, but for the last digits
        near = np.clip(made, self._low, self._high)
        return np.where(np.abs(near - made) < edge, near, made)

    def _solutions(self, q: Array, goal: Array, kept: Branches) -> AnalyticSolutions:
        model = self._subject.model
        if not kept:
            return AnalyticSolutions(np.zeros((0, model.joint_coord_count)), np.zeros(0))
        angles = np.array(kept)
        order = np.argsort(np.linalg.norm(angles - q[self._coordinates], axis=1), kind="stable")
        made = np.tile(q, (len(kept), 1))
        made[:, self._coordinates] = angles[order]
        error = []
        for pose in forward_kinematics(model, made)[:, self._row.a]:
            T = pose_to_transform(compose(pose, self._row.X_a))
            error.append(np.abs((T[:3, 3] if goal.ndim == 1 else T) - goal).max())
        return AnalyticSolutions(made, np.array(error))


def _elbow(chain: ScrewChain, S: Array, w: Array) -> Array:
    """From the shoulder to the elbow at zero angles of the shoulder; across axis 4 where it is on the line
    to the wrist, along w, as for a stretched arm."""
    foot = chain.p[3] + chain.h[3] * (chain.h[3] @ (S - chain.p[3])) - S
    return foot if subproblems.is_across(w, foot, 1e3 * chain.length) else subproblems.cross(chain.h[3], w)


def _reference(axis: Array, n: Array) -> Array:
    """The direction from which the elbow angle is measured: the first axis, or one across it near n."""
    return (
        axis
        if subproblems.is_across(n, axis, 1e3)
        else subproblems.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    )


def _frame(n: Array, side: Array) -> Array:
    """Axes along n and across it towards a side, 3x3."""
    y = side - n * (n @ side)
    y = y / np.linalg.norm(y)
    return np.column_stack([n, y, subproblems.cross(n, y)])
