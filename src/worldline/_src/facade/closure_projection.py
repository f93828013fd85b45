# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematic projection of loop closures: given the driven joints, the others follow.

Coordinates that were written are projected when the World is next looked at: all closures whose policy is
PROJECT are closed together by moving the joints and bodies around them that do not drive. The search starts
where the mechanism is, and follows a large change of driving joints in steps from where it was closed before,
so that the branch is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError, UnavailableStage
from worldline._src.facade import values
from worldline._src.facade.copying import find
from worldline._src.facade.frame import Frame
from worldline._src.facade.joint import Joint
from worldline._src.facade.kinds import ActuatorType, ClosureKinematicsPolicy, LoopClosureFamily
from worldline._src.facade.link import Link
from worldline._src.facade.options import Options, Setting
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.model.model import Model
from worldline._src.model.topology import chain_dofs
from worldline._src.spatial.poses import IDENTITY, Array, compose, transform
from worldline._src.step import ik_problem as ik
from worldline._src.step.dynamics import difference, integrate
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import IkProblem, TaskRow

if TYPE_CHECKING:
    from worldline._src.facade.loop_closure import LoopClosure
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_ALL = (1.0,) * 6
_KINDS: dict[LoopClosureFamily, tuple[int, tuple[float, ...]]] = {
    LoopClosureFamily.RIGID: (ik.POSE, _ALL),
    LoopClosureFamily.POINT: (ik.POSITION, _ALL),
    LoopClosureFamily.DISTANCE: (ik.DISTANCE, _ALL),
    LoopClosureFamily.AXIS: (ik.AXIS, _ALL),
    LoopClosureFamily.REVOLUTE: (ik.AXIS, _ALL),
    LoopClosureFamily.UNIVERSAL: (ik.AXIS, (1.0, 1.0, 1.0, 1.0, 0.0, 1.0)),
    LoopClosureFamily.PRISMATIC: (ik.POSE, (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)),
    LoopClosureFamily.PLANAR: (ik.AXIS, (0.0, 0.0, 1.0, 1.0, 1.0, 1.0)),
}
"""Tasks of families. Poses have rows of rotation, then of translation in the axes of endpoint B; axes have
rows of translation, then of the tilt of z towards x and y of B. Rows without weight are free."""
_DRIVEN = (ActuatorType.SERVO, ActuatorType.VELOCITY, ActuatorType.ACCELERATION, ActuatorType.LOCKED)
_STRIDE = 0.1
"""Most that a driving joint moves between two projections on the way to where it was written [rad or m]."""
_NEAR = 0.5 * _STRIDE
"""Change of the coordinates of driving joints that one projection follows; a quaternion changes by half its
angle."""
_RANK = 1e-9
"""Singular values below this share of the largest do not count."""


def _driving(value: Any) -> tuple[Joint, ...] | None:
    if value is None:
        return None
    joints: tuple[Any, ...] = (value,)
    if values.is_iterable(value):
        joints = tuple(values.several(value, "driving of a closure projection"))
    for joint in joints:
        if not isinstance(joint, Joint):
            raise ArgumentError(f"driving of a closure projection must be joints, got {joint!r}")
    return joints


def _weights(value: Any) -> dict[Joint, float]:
    if not values.is_mapping(value):
        raise ArgumentError(f"weights of a closure projection must be numbers by joint, got {value!r}")
    made: dict[Joint, float] = {}
    for joint, weight in value.items():
        if not isinstance(joint, Joint):
            raise ArgumentError(f"weights of a closure projection must be by joint, got {joint!r}")
        made[joint] = values.positive(weight, f"weight of joint '{joint.name}'")
    return made


def _count(value: Any) -> int:
    if not is_count(value) or value < 1:
        raise ArgumentError(
            f"max_iterations of a closure projection must be a whole number from 1 on, got {value!r}"
        )
    return int(value)


class ClosureProjectionOptions(Options):
    """How closures are projected; a value that is assigned to `World.closure_projection` as a whole.

    Args:
        driving: joints that keep what is written to them. None for those whose actuator drives them: SERVO,
            VELOCITY, ACCELERATION and LOCKED. Where no joint drives all move, as little as they can.
        weights: how unwillingly joints move, by joint; 1 for those not named.
        tolerance: largest residual of a closure that is closed [m or rad].
        max_iterations: of one projection.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.ClosureProjectionOptions().tolerance
        1e-10
    """

    driving: Setting[tuple[Joint, ...] | None, Iterable[Joint] | Joint | None] = Setting(_driving)
    weights: Setting[dict[Joint, float], Mapping[Joint, float]] = Setting(_weights)
    tolerance: Setting[float, float] = Setting(
        lambda v: values.positive(v, "tolerance of a closure projection")
    )
    max_iterations: Setting[int, int] = Setting(_count)

    def __init__(
        self,
        driving: Iterable[Joint] | Joint | None = None,
        weights: Mapping[Joint, float] | None = None,
        tolerance: float = 1e-10,
        max_iterations: int = 200,
    ) -> None:
        self.driving = driving
        self.weights = {} if weights is None else weights
        self.tolerance = tolerance
        self.max_iterations = max_iterations


class ClosureProjectionReport(FixedAttributes):
    """What the last projection did.

    Attributes:
        converged: whether all closures were closed; if not the coordinates stayed as they were written.
        iterations: of all attempts together.
        tolerance: largest residual that was allowed [m or rad].
        residual: largest residual of a closure afterwards [m or rad].
        closures: names of the closures that were projected.
    """

    def __init__(
        self,
        converged: bool,
        iterations: int,
        tolerance: float,
        residual: float,
        closures: tuple[str, ...],
        q: Array,
        problem: IkProblem,
    ) -> None:
        self.converged, self.iterations = converged, iterations
        self.tolerance, self.residual = tolerance, residual
        self.closures = closures
        self._q, self._problem = q, problem
        self._rank: int | None = None

    @property
    def rows(self) -> int:
        """Number of scalar equations."""
        return self._problem.rows

    @property
    def rank(self) -> int:
        """Rank of the equations by the coordinates that may move; less than `rows` where some are redundant
        or the mechanism is in a singular pose."""
        if self._rank is None:
            J = self._problem.evaluate(self._q[None])[1][0]
            found = np.linalg.svd(J, compute_uv=False)
            self._rank = int(np.sum(found > _RANK * max(float(found.max(initial=0.0)), 1e-300)))
        return self._rank

    @property
    def message(self) -> str:
        """The outcome in a sentence."""
        if self.converged:
            return f"closed to {self.residual:.3g} in {self.iterations} iterations"
        return (
            f"not closed: {self.residual:.3g} is left of closures {', '.join(map(repr, self.closures))}, "
            f"{self.tolerance:g} is allowed; the coordinates stayed as they were written"
        )

    def __repr__(self) -> str:
        return f"ClosureProjectionReport({self.message})"


def frame_of(world: WorldRuntime, runtime: Runtime, given: Frame, what: str) -> tuple[int, Array]:
    """Body, -1 for the world, and the pose of a frame in it."""
    pose, base = IDENTITY.copy(), given
    while not (base.is_world or isinstance(base, (RigidBody, Link))):
        pose = compose(values.pose_of(base.local_transform, what), pose)
        base = base.parent_frame
    if base.is_world:
        return -1, pose
    if base._world is not world:
        raise ArgumentError(f"{what} is of another World: {base!r}")
    base._require_alive()
    return runtime.body(cast("Link | RigidBody", base)._link), pose


def closure_row(world: WorldRuntime, runtime: Runtime, closure: LoopClosure) -> TaskRow:
    """A closure as rows between its two ends."""
    spec = closure._spec
    a, X_a = frame_of(world, runtime, spec.frame_a, "frame_a")
    b, X_b = frame_of(world, runtime, spec.frame_b, "frame_b")
    X_a = compose(X_a, values.pose_of(spec.offset_a, "offset_a"))
    X_b = compose(X_b, values.pose_of(spec.offset_b, "offset_b"))
    own = (spec.distance, 0.0)
    kind, weight = _KINDS[spec.family]
    return TaskRow(kind, a, transform(X_a, "offset_a"), b, transform(X_b, "offset_b"), weight, own=own)


def projected_closures(world: WorldRuntime) -> list[LoopClosure]:
    """Closures that are enabled and request PROJECT."""
    chosen: list[LoopClosure] = []
    for closure in world._loop_closures.values():
        policy = closure.runtime_policy
        if policy.enabled and policy.kinematics is ClosureKinematicsPolicy.PROJECT:
            chosen.append(closure)
    return chosen


class ClosureProjection:
    """The projection of one runtime: what may move, what drives, the problems, where it was closed last."""

    def __init__(self, world: WorldRuntime, runtime: Runtime) -> None:
        options, model = world._closure_projection, runtime.model
        closures = projected_closures(world)
        self.names = tuple(closure.name for closure in closures)
        self.tolerance, self.max_iterations = options.tolerance, options.max_iterations
        rows = [
            closure_row(world, runtime, closure)._replace(tolerance=options.tolerance) for closure in closures
        ]
        chain: set[int] = set()
        for row in rows:
            chain |= chain_dofs(model, row.a) | chain_dofs(model, row.b)
        moved = ~np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
        driving: set[int] = set()
        for joint in _driving_joints(world, options):
            part = runtime.v_slice(joint._joint)
            driving |= set(range(part.start, part.stop))
        columns = sorted(d for d in chain if moved[d] and d not in driving)
        scale = np.ones(model.joint_dof_count)
        for joint, weight in options.weights.items():
            if not joint._alive:
                continue
            scale[runtime.v_slice(joint._joint)] = weight**-0.5
        self.movable = bool(columns)
        # the problem of nothing that can move still has the residual
        columns = columns or sorted(chain)
        low, high = np.array(model.joint_limit_lower), np.array(model.joint_limit_upper)
        none = np.full(model.joint_dof_count, np.inf)
        limited = IkProblem(model, columns, rows, low, high, scale)
        self.free = IkProblem(model, columns, rows, -none, none, scale)
        self.whole = IkProblem(model, sorted(chain), rows, -none, none)
        self.columns = np.array(columns)
        coordinates = limited.coordinate_of(self.columns)
        plain = coordinates >= 0
        self._plain = coordinates[plain]
        self._low, self._high = low[self.columns][plain], high[self.columns][plain]
        self._solve_free = self.free.prepare(self.max_iterations, slow_gain=1e-3)
        has_limits = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())
        self._limited = limited.prepare(self.max_iterations, slow_gain=1e-3) if has_limits else None
        self._followers = np.isin(np.arange(model.joint_dof_count), columns)
        self._driven = np.flatnonzero(~self._coordinates_that_follow(model))
        self._model = model
        self._closed: Array | None = None

    def settle(self, runtime: Runtime) -> ClosureProjectionReport:
        """Project the coordinates and velocities of a runtime, or leave them as they are."""
        sim = runtime.sim
        written = sim.q.copy()
        q, iterations, error = self._project(written)
        converged = bool(error <= self.tolerance)
        report = ClosureProjectionReport(
            converged, iterations, self.tolerance, error, self.names, q if converged else written, self.free
        )
        if converged:
            if not np.array_equal(q, written):
                sim.q[:] = q
                sim.written()
            self._settle_velocities(sim, q)
            self._closed = q
        return report

    def _project(self, q: Array) -> tuple[Array, int, float]:
        """Closed coordinates, iterations, and the residual; the given ones where nothing can move."""
        if not self.movable:
            return q, 0, self._residual(q)
        count = 0
        if self._closed is not None and np.abs((q - self._closed)[self._driven]).max(initial=0.0) > _NEAR:
            # followers are where they were: go after the driving joints in steps
            change = difference(self._model, self._closed, q)
            driven = np.where(self._followers, 0.0, change)
            strides = int(np.ceil(np.abs(driven).max(initial=0.0) / _STRIDE))
            if strides > 1 and not change[self._followers].any():
                at = self._closed
                for _ in range(strides - 1):
                    at, more, error = self._solve(integrate(self._model, at, driven / strides))
                    count += more
                    if error > self.tolerance:
                        break
                else:
                    last = integrate(self._model, at, driven / strides)
                    # driving joints end exactly where they were written
                    last = self._with_followers(q, last)
                    made, more, error = self._solve(last)
                    if error <= self.tolerance:
                        return made, count + more, error
        made, more, error = self._solve(q)
        return made, count + more, error

    def _with_followers(self, q: Array, other: Array) -> Array:
        """Coordinates q with those of joints that follow taken from another."""
        return np.where(self._coordinates_that_follow(self._model), other, q)

    def _coordinates_that_follow(self, model: Model) -> np.ndarray:
        """Which coordinates belong to joints that follow, (nq,)."""
        made = np.zeros(model.joint_coord_count, bool)
        for j in range(len(model.joint_label)):
            v = slice(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1]))
            part = slice(int(model.joint_q_start[j]), int(model.joint_q_start[j + 1]))
            made[part] = self._followers[v].any()
        return made

    def _solve(self, q: Array) -> tuple[Array, int, float]:
        solve = self._solve_free
        if self._limited is not None:
            # what is beyond a limit already, as a soft one allows, is not moved for that
            at = q[self._plain]
            if ((at >= self._low) & (at <= self._high)).all():
                solve = self._limited
        made, iterations, ratio = solve(q)
        return made, iterations, ratio * self.tolerance

    def _residual(self, q: Array) -> float:
        r = self.free.evaluate(q[None])[0][0]
        parts = np.split(r, np.cumsum(self.free.row_counts)[:-1])
        return float(max(np.linalg.norm(part) for part in parts))

    def _settle_velocities(self, sim: Any, q: Array) -> None:
        """Velocities of followers such that closures stay closed: J v = 0, by the least change."""
        if not sim.v.any():
            return
        J = self.whole.evaluate(q[None])[1][0]
        chain = self.whole.columns
        rate = J @ sim.v[chain]
        if not rate.any() or not self.movable:
            return
        scale = self.free.scale
        part: Array = J[:, np.isin(chain, self.columns)] * scale
        inverse: np.ndarray = np.linalg.pinv(part, rcond=_RANK)
        change = -scale * (inverse @ rate)
        if np.abs(change).max(initial=0.0) > 1e-15 * max(1.0, float(np.abs(sim.v).max())):
            sim.v[self.columns] += change
            sim.velocities_written()


def _driving_joints(world: WorldRuntime, options: ClosureProjectionOptions) -> list[Joint]:
    if options.driving is not None:
        return [joint for joint in options.driving if joint._alive]
    return [
        joint
        for robot in world._multibodies.values()
        for joint in robot._joints.values()
        if any(kind in _DRIVEN for kind in joint._actuator_types())
    ]


Kept = tuple[tuple[int, int, int], ClosureProjection]
"""A projection, and the runtime, version and layout that it is of."""


def watch(world: WorldRuntime, runtime: Runtime) -> None:
    """Let a runtime be projected after writes when a closure requests it, and after steps that leave it
    open."""
    closures = projected_closures(world)
    runtime.sim.projects = runtime.sim.unsettled = bool(closures)
    runtime.settle_closures = functools.partial(_settle, world, runtime) if closures else None
    runtime.follows_closures = not all(closure._is_solved for closure in closures)


def settle(world: WorldRuntime, runtime: Runtime) -> None:
    """Project what was written since the last look."""
    runtime.sim.unsettled = False
    with runtime.guard:
        _settle(world, runtime)


def _settle(world: WorldRuntime, runtime: Runtime) -> None:
    """The same within a call that has the runtime for itself."""
    key = (id(runtime), runtime.version, world._layout_edits)
    kept = world._projection
    if kept is None or kept[0] != key:
        made = ClosureProjection(world, runtime)
        if kept is not None and kept[0][0] == id(runtime):
            made._closed = kept[1]._closed
        kept = world._projection = (key, made)
    world._projection_report = kept[1].settle(runtime)
    runtime.sim.unsettled = False


def require_joints(world: WorldRuntime, options: ClosureProjectionOptions) -> None:
    """The joints of options must be alive and of this World."""
    for joint in [*(options.driving or ()), *options.weights]:
        joint._require_alive()
        if joint._world is not world:
            raise ArgumentError(f"joint '{joint.name}' of a closure projection is of another World")


def require_no_projection(world: WorldRuntime, what: str) -> None:
    """Refuse closures that are to be projected where nothing does so."""
    for closure in projected_closures(world):
        raise UnavailableStage(
            f"{what} does not project loop closures, and '{closure.name}' requests PROJECT; "
            "use RESIDUAL_ONLY, or a World"
        )


def require_default(world: WorldRuntime, what: str) -> None:
    """Refuse what would lose the options."""
    if world._closure_projection != ClosureProjectionOptions():
        raise OperationError(
            f"{what} cannot hold closure_projection: set it to ClosureProjectionOptions() first"
        )


def set_options(world: WorldRuntime, options: ClosureProjectionOptions) -> None:
    """See `World.closure_projection`."""
    if not isinstance(options, ClosureProjectionOptions):
        raise values.ShapeError(f"closure_projection must be ClosureProjectionOptions, got {options!r}")
    require_joints(world, options)
    world._require_idle()
    world._closure_projection, world._projection = options.copy(), None
    if world._runtime is not None:
        watch(world, world._runtime)


def take_over(world: WorldRuntime, other: WorldRuntime) -> None:
    """Have the options of another World, whose joints have the same names."""
    given = other._closure_projection
    driving = None if given.driving is None else [find(world, joint._path()) for joint in given.driving]
    weights = {find(world, joint._path()): weight for joint, weight in given.weights.items()}
    world.closure_projection = ClosureProjectionOptions(
        driving, weights, given.tolerance, given.max_iterations
    )
