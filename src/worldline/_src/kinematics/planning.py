# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Paths around obstacles: trees from both ends that grow towards each other, and shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, CapabilityError, FixedAttributes, OperationError
from worldline._src.facade import values
from worldline._src.kinematics.clearance import Clearance
from worldline._src.kinematics.paths import JointPath, interpolate_joints
from worldline._src.kinematics.problems import bounds_of
from worldline._src.kinematics.subjects import WorldSubject
from worldline._src.math.arrays import operand
from worldline._src.spatial.poses import Array, numbers
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import plain_coordinates, sliding_dofs

Check = Callable[[Array], bool]


class PlanResult(FixedAttributes):
    """What planning found.

    Attributes:
        success: whether there is a path.
        waypoints: coordinates of the whole model from the start to a goal, (points, joint_coord_count);
            straight lines between them are free. Empty without success.
        goal: which of the goals was reached; -1 without success.
        iterations: how often trees were grown.
        checks: how many poses were checked for collisions.
        message: the outcome in a sentence.
    """

    def __init__(
        self, world: Any, waypoints: Array, goal: int, iterations: int, checks: int, message: str
    ) -> None:
        self._world = world
        self.success = len(waypoints) > 0
        self.waypoints, self.goal, self.iterations, self.checks = waypoints, goal, iterations, checks
        self.message = message

    def path(self, blend: float = 0.0) -> JointPath:
        """The lines between the waypoints as a path; see `interpolate_joints`.

        A blend cuts corners and is not checked for collisions: keep it below the margin of the plan over the
        reach of the arm, or check the path with `find_collision`.
        """
        if not self.success:
            raise OperationError(f"there is no path: {self.message}")
        return interpolate_joints(self._world, self.waypoints, blend=blend)

    def __repr__(self) -> str:
        return f"PlanResult({self.message})"


class _Collisions:
    """Whether the bodies that some joints move touch anything, at coordinates of these joints."""

    def __init__(
        self, subject: WorldSubject, coordinates: np.ndarray, dofs: np.ndarray, margin: float
    ) -> None:
        model = subject.model
        self.coordinates, self.margin, self.checks = coordinates, margin, 0
        self._clearance = Clearance(subject)
        moved = np.zeros(model.body_count + 1, bool)
        below = {int(c): j for j, c in enumerate(model.joint_child)}
        for body in range(model.body_count):
            at = body
            while at >= 0 and at in below and not moved[body]:
                j = below[at]
                moved[body] = bool(
                    ((dofs >= model.joint_qd_start[j]) & (dofs < model.joint_qd_start[j + 1])).any()
                )
                at = int(model.joint_parent[j])
        self._moved, self._all = moved, np.ones(model.body_count + 1, bool)
        self._names = [*model.body_label, "the world"]

    def first(self, q: Array) -> tuple[str, str, float] | None:
        """The pair that is closest at whole coordinates, where it is closer than the margin."""
        self.checks += 1
        self._clearance.place(q)
        near = self._clearance.near(self.margin, self._moved, self._all)
        if not len(near.distance) or near.distance.min() >= self.margin:
            return None
        k = int(np.argmin(near.distance))
        return self._names[near.body_a[k]], self._names[near.body_b[k]], float(near.distance[k])


def _moving_joints(subject: WorldSubject, joints: Any, points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and degrees of freedom that may move: those of joints, or all in which points differ."""
    model = subject.model
    coordinate = plain_coordinates(model)
    if joints is None:
        changed = np.flatnonzero(np.ptp(points, axis=0) > 0.0)
        dofs = np.flatnonzero(np.isin(coordinate, changed))
        if len(dofs) != len(changed):
            raise ArgumentError("planning moves joints that turn or slide; a goal changes an orientation")
    else:
        found: list[int] = []
        for j in subject.joints(joints):
            found += range(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1]))
        dofs = np.array(sorted(set(found)), np.int64)
        if (coordinate[dofs] < 0).any():
            raise ArgumentError("planning moves joints that turn or slide; one of joints has an orientation")
        others = np.setdiff1d(np.arange(points.shape[1]), coordinate[dofs])
        if np.ptp(points[:, others], axis=0).any():
            raise ArgumentError("a goal of planning differs from the start in a joint that may not move")
    if not len(dofs):
        raise ArgumentError("the start of planning is its goal")
    return coordinate[dofs], dofs


def plan_path(
    world: Any,
    goals: ArrayLike,
    *,
    joints: Any = None,
    start: ArrayLike | None = None,
    margin: float = 0.0,
    resolution: float = 0.02,
    stride: float = 0.3,
    max_iterations: int = 2000,
    shortcuts: int = 100,
    seed: int = 0,
) -> PlanResult:
    """A path of joints to a goal along which nothing touches, by RRT-Connect [Kuffner and LaValle 2000].

    Trees of free poses grow from the start and from the goals towards random poses, and then towards each
    other. The way found is made shorter by lines between random points of it. Shapes and filters of pairs are
    those of the World; nothing in it changes. Joints that loop closures tie are refused by name.

    Args:
        world: a World.
        goals: coordinates of the whole model, (joint_coord_count,) or several, of which any will do:
            the branches of `AnalyticIk`, say.
        joints: what may move, as in `solve_ik`; by default the joints in which a goal differs from the start.
        start: coordinates; the present ones by default.
        margin: distance that is kept from everything [m].
        resolution: largest change of a joint between two poses that are checked [rad or m].
        stride: length of the branches of the trees [rad or m].
        max_iterations: how often trees are grown.
        shortcuts: how many lines are tried to make the path shorter.
        seed: of random poses; equal seeds give equal paths.

    Example:
        >>> import numpy as np
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> from worldline.collision import CollisionShape
        >>> world = sx.World()
        >>> robot = world.add_multibody("robot")
        >>> link = robot.add_link("root")
        >>> for k in range(2):
        ...     spec = sx.JointSpec(f"slide_{k}", sx.JointType.PRISMATIC, axis=np.eye(3)[k])
        ...     link = robot.add_link(f"link_{k}", link, spec)
        >>> link.add_collision_shape(CollisionShape.sphere(0.1))
        >>> for joint in robot.joints:
        ...     joint.set_position_limits([-2.0], [2.0])
        >>> post = world.add_rigid_body("post", position=(1, 0, 0))
        >>> post.is_static = True
        >>> post.add_collision_shape(CollisionShape.sphere(0.5))
        >>> goal = np.append([2.0, 0.0], np.array(world.model().joint_q)[2:])
        >>> wk.plan_path(world, goal, joints=robot, margin=0.01).success
        True
    """
    subject = _world_subject(world)
    nq = subject.model.joint_coord_count
    given = operand(goals, (nq,), "goals of planning").reshape(-1, nq)
    first = subject.coordinates()
    if start is not None:
        first = numbers(start, (nq,), "start of planning")
    if not len(given) or not np.isfinite(given).all():
        raise ArgumentError(f"goals of planning must be rows of {nq} finite numbers, got {goals!r}")
    resolution = values.positive(resolution, "resolution of planning")
    stride = values.positive(stride, "stride of planning")
    for name, value in (("max_iterations", max_iterations), ("shortcuts", shortcuts), ("seed", seed)):
        if not is_count(value) or value < 0:
            raise ArgumentError(f"{name} of planning must be a whole number from 0 on, got {value!r}")
    coordinates, dofs = _moving_joints(subject, joints, np.vstack([first, given]))
    for closure, tied in subject.closures().items():
        if tied & set(dofs.tolist()):
            raise CapabilityError(
                f"planning moves joints on their own, and loop closure '{closure.name}' ties some of them: "
                "disable it, or follow a line with interpolate_frame, which keeps closures"
            )
    kept = float(numbers(margin, (), "margin of planning"))
    collisions = _Collisions(subject, coordinates, dofs, kept)
    low, high = (bound[dofs] for bound in bounds_of(subject.model, True))
    whole = first.copy()

    def filled(x: Array) -> Array:
        whole[coordinates] = x
        return whole

    def is_free(x: Array) -> bool:
        return (
            bool((x >= low - 1e-12).all() and (x <= high + 1e-12).all())
            and collisions.first(filled(x)) is None
        )

    ends = [first[coordinates], *given[:, coordinates]]
    reasons = []
    for k, x in enumerate(ends):
        what = "the start" if k == 0 else f"goal {k - 1}"
        if (x < low - 1e-12).any() or (x > high + 1e-12).any():
            reasons.append((k, f"{what} is beyond limits of joints"))
        elif (pair := collisions.first(filled(x))) is not None:
            reasons.append((k, f"at {what} '{pair[0]}' and '{pair[1]}' are {pair[2]:.3g} m apart"))
    blocked = {k for k, _ in reasons}
    nothing = np.zeros((0, nq))
    if 0 in blocked or len(blocked) == len(ends) - (0 not in blocked):
        message = "no path: " + "; ".join(reason for _, reason in reasons)
        return PlanResult(world, nothing, -1, 0, collisions.checks, message)
    # where a joint has no limits random poses are within half a turn, or a metre, of the ends
    box = np.array([x for k, x in enumerate(ends) if k not in blocked])
    reach = np.where(sliding_dofs(subject.model)[dofs], 1.0, np.pi)
    least = np.where(np.isfinite(low), low, box.min(axis=0) - reach)
    most = np.where(np.isfinite(high), high, box.max(axis=0) + reach)
    rng = np.random.default_rng(seed)
    search = _Search(is_free, float(resolution), float(stride))
    allowed = {k - 1: x for k, x in enumerate(ends) if k > 0 and k not in blocked}
    found, iterations = search.connect(ends[0], allowed, least, most, rng, int(max_iterations))
    if found is None:
        message = f"no path: the trees did not meet in {iterations} iterations"
        return PlanResult(world, nothing, -1, iterations, collisions.checks, message)
    points, goal = found
    points = search.shortened(points, int(shortcuts), rng)
    made = np.tile(first, (len(points), 1))
    made[:, coordinates] = points
    message = f"a path of {len(points)} points to goal {goal}, {collisions.checks} poses checked"
    return PlanResult(world, made, goal, iterations, collisions.checks, message)


def find_collision(
    world: Any, path: JointPath, *, margin: float = 0.0, resolution: float = 0.01
) -> tuple[float, str, str] | None:
    """The first pose of a path at which the bodies it moves touch something, or None.

    Args:
        world: the World the path is of.
        path: the path.
        margin: distance that counts as touching [m].
        resolution: distance of poses that are checked, in the parameter of the path.

    Returns:
        Parameter of the path, and the labels of the two bodies.
    """
    subject = _world_subject(world)
    if not isinstance(path, JointPath):
        raise ArgumentError(f"find_collision takes a JointPath, got {path!r}")
    resolution = float(numbers(resolution, (), "resolution"))
    if not resolution > 0.0:
        raise ArgumentError(f"resolution must be positive, got {resolution!r}")
    if path.waypoints.shape[1] != subject.model.joint_coord_count:
        raise ArgumentError("the path is of another World")
    kept = float(numbers(margin, (), "margin"))
    collisions = _Collisions(subject, path._coordinates, path.dofs, kept)
    for s in np.linspace(0.0, path.length, max(2, int(np.ceil(path.length / resolution)) + 1)):
        pair = collisions.first(path.coordinates(s))
        if pair is not None:
            return float(s), pair[0], pair[1]
    return None


def _world_subject(world: Any) -> WorldSubject:
    from worldline._src.kinematics.subjects import subject_of

    subject = subject_of(world)
    if not isinstance(subject, WorldSubject):
        raise ArgumentError(f"planning needs a World with its shapes, got {world!r}")
    return subject


class _Tree:
    """Poses that are connected to roots by free lines."""

    def __init__(self, roots: list[Array]) -> None:
        self.points = np.array(roots)
        self.parents = [-1] * len(roots)

    def nearest(self, x: Array) -> int:
        return int(np.argmin(np.sum((self.points - x) ** 2, axis=1)))

    def add(self, x: Array, parent: int) -> int:
        self.points = np.vstack([self.points, x])
        self.parents.append(parent)
        return len(self.parents) - 1

    def to_root(self, k: int) -> list[int]:
        """From a node to its root."""
        found = [k]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return found


class _Search:
    """Lines, trees and shortcuts over a check of poses."""

    def __init__(self, is_free: Check, resolution: float, stride: float) -> None:
        self._is_free, self._resolution, self._stride = is_free, resolution, stride

    def is_line_free(self, a: Array, b: Array) -> bool:
        """Whether all poses on a line are free, its first, which is known to be, left out."""
        count = max(1, int(np.ceil(np.abs(b - a).max() / self._resolution)))
        # the end first, then the middle: what is in the way is found early
        order = sorted(range(1, count + 1), key=lambda k: (k != count, abs(k - 0.5 * count)))
        return all(self._is_free(a + (b - a) * (k / count)) for k in order)

    def _last_free(self, a: Array, b: Array) -> float:
        """Share of a line up to which its poses are free."""
        count = max(1, int(np.ceil(np.abs(b - a).max() / self._resolution)))
        for k in range(1, count + 1):
            if not self._is_free(a + (b - a) * (k / count)):
                return (k - 1) / count
        return 1.0

    def _extend(self, tree: _Tree, x: Array) -> tuple[int, bool]:
        """Grow a tree towards a pose by lines of a stride until something is in the way; the last node, and
        whether it is the pose."""
        k = tree.nearest(x)
        while True:
            here = tree.points[k]
            gap = x - here
            length = float(np.linalg.norm(gap))
            if length < 1e-12:
                return k, True
            there = x if length <= self._stride else here + gap * (self._stride / length)
            last = self._last_free(here, there)
            if last > 0.0:
                k = tree.add(there if last == 1.0 else here + last * (there - here), k)
            if last < 1.0:
                return k, False

    def connect(
        self,
        start: Array,
        goals: dict[int, Array],
        low: Array,
        high: Array,
        rng: np.random.Generator,
        iterations: int,
    ) -> tuple[tuple[list[Array], int] | None, int]:
        """Points from the start to a goal and which it is, and how often trees were grown."""
        names = list(goals)
        for name in names:
            if self.is_line_free(start, goals[name]):
                return ([start, goals[name]], name), 0
        forth, back = _Tree([start]), _Tree([goals[name] for name in names])
        one, other = forth, back
        for count in range(iterations):
            k, _ = self._extend(one, rng.uniform(low, high))
            j, met = self._extend(other, one.points[k])
            if met:
                a, b = (k, j) if one is forth else (j, k)
                out, home = forth.to_root(a)[::-1], back.to_root(b)
                points = [forth.points[i] for i in out] + [back.points[i] for i in home]
                return (points, names[home[-1]]), count + 1
            one, other = other, one
        return None, iterations

    def shortened(self, points: list[Array], tries: int, rng: np.random.Generator) -> list[Array]:
        """Points with detours replaced by free lines between random points of the way."""
        made = [points[0], *(b for a, b in pairwise(points) if np.abs(b - a).max() > 1e-12)]
        for _ in range(tries):
            if len(made) < 3:
                break
            ends = np.concatenate([[0.0], np.cumsum([np.linalg.norm(b - a) for a, b in pairwise(made)])])
            low, high = np.sort(rng.uniform(0.0, ends[-1], 2))
            i, j = (int(np.searchsorted(ends, x, side="right")) - 1 for x in (low, high))
            j = min(j, len(made) - 2)
            if i >= j:
                continue
            a = made[i] + (made[i + 1] - made[i]) * ((low - ends[i]) / (ends[i + 1] - ends[i]))
            b = made[j] + (made[j + 1] - made[j]) * ((high - ends[j]) / (ends[j + 1] - ends[j]))
            if self.is_line_free(a, b):
                made = [*made[: i + 1], a, b, *made[j + 1 :]]
        return self._without_detours(made)

    def _without_detours(self, points: list[Array]) -> list[Array]:
        """Points that a free line between their neighbours makes needless are left out."""
        k = 1
        while k < len(points) - 1:
            if self.is_line_free(points[k - 1], points[k + 1]):
                del points[k]
            else:
                k += 1
        return points
