# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation by iterated linear-quadratic problems, with bounds on actions.

The Gauss-Newton form of differential dynamic programming (iLQR): a trajectory is linearised, the quadratic
problem is solved backwards in time, and the actions it suggests are tried forwards with feedback. Bounds are
small quadratic programs in the backward pass [Tassa, Mansard, Todorov 2014: control-limited DDP]. In multiple
shooting states are unknowns too and need not continue each other at first: gaps enter the backward pass, and
a step of size alpha closes them to (1 - alpha) [Giftthaler et al. 2018; Mastalli et al. 2020, FDDP].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np

from worldline._src.errors import ArgumentError, ShapeError, StepFailure
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.world import World
from worldline._src.keywords import shared_keywords
from worldline._src.named_tuple import NamedTuple
from worldline._src.optimize.box_qp import solve_box_qp
from worldline._src.optimize.costs import Cost
from worldline._src.optimize.dynamics import SteppedWorld
from worldline._src.optimize.results import Iteration, Progress, TrajectoryResult, check_run, report_iteration
from worldline._src.spatial.poses import Array, VectorLike, float_array

_STEPS = 0.5 ** np.arange(12)
"""Sizes of steps that are tried."""
_GAIN = 1e-4
"""Share of the expected gain that a step must have."""
_NOTHING = 1e-3
"""Share of the tolerance below which an expected gain is none."""
_LEAST, _MOST, _FACTOR = 1e-8, 1e10, 4.0
"""Regularisation of the backward pass: bounds, and how it changes."""


class _Trajectory(NamedTuple):
    x: Array
    """States, (steps + 1, state dimension)."""
    u: Array
    gap: Array
    """From every state to what the one before it leads to, (steps + 1, n); the first is zero."""
    cost: float


class _Linear(NamedTuple):
    A: Array
    B: Array
    gap: Array


class _Suggestion(NamedTuple):
    """The solution of the quadratic problem."""

    k: Array
    K: Array
    slope: float
    """Change of the cost by the size of the step, to first order."""
    bend: float
    """And to second order."""
    multiplier: float
    """Largest derivative of the cost to go: what a unit of a gap may be worth."""


class _Solver:
    def __init__(self, system: SteppedWorld, cost: Cost, steps: int, lower: Array, upper: Array) -> None:
        self.system, self.cost, self.steps = system, cost, steps
        self.lower, self.upper = lower, upper
        if not isinstance(cost, Cost):
            raise ArgumentError(f"cost must be a Cost, such as TrackingCost, got {cost!r}")
        cost.bind(system, steps)

    def total(self, x: Array, u: Array) -> float:
        """Cost of a trajectory."""
        running = sum(self.cost.value(t, x[t], u[t]) for t in range(self.steps))
        return running + self.cost.value(self.steps, x[-1], None)

    def linearize(self, now: _Trajectory) -> _Linear:
        """Derivatives of all steps, and the gaps between them."""
        n, m = self.system.tangents, now.u.shape[1]
        A, B = np.empty((self.steps, n, n)), np.empty((self.steps, n, m))
        gap = np.zeros((self.steps + 1, n))
        for t in range(self.steps):
            self.system.set(now.x[t])
            after, A[t], B[t] = self.system.advance_and_differentiate(now.u[t])
            gap[t + 1] = self.system.difference(now.x[t + 1], after)
        return _Linear(A, B, gap)

    def backward(self, now: _Trajectory, linear: _Linear, mu: float) -> _Suggestion | None:
        """Solve the quadratic problem; None where it has no minimum without more regularisation."""
        m, n = now.u.shape[1], self.system.tangents
        k, K = np.zeros((self.steps, m)), np.zeros((self.steps, m, n))
        end = self.cost.expand(self.steps, now.x[-1], None)
        Vx, Vxx = end.x, end.xx
        slope = bend = multiplier = 0.0
        for t in range(self.steps - 1, -1, -1):
            A, B, gap = linear.A[t], linear.B[t], linear.gap[t + 1]
            multiplier = max(multiplier, float(np.abs(Vx).max(initial=0.0)))
            # the state that follows is moved by the gap: Vx' = Vx + Vxx gap
            slope += float(Vx @ gap)
            bend += float(gap @ Vxx @ gap)
            Vx = Vx + Vxx @ gap
            own = self.cost.expand(t, now.x[t], now.u[t])
            Qx, Qu = own.x + A.T @ Vx, own.u + B.T @ Vx
            Qxx, Quu, Qux = own.xx + A.T @ Vxx @ A, own.uu + B.T @ Vxx @ B, own.ux + B.T @ Vxx @ A
            H = Quu + mu * np.eye(m)
            try:
                np.linalg.cholesky(H)
            except np.linalg.LinAlgError:
                return None
            k[t], free = solve_box_qp(H, Qu, self.lower - now.u[t], self.upper - now.u[t], np.zeros(m))
            if free.any():
                K[t, free] = -np.linalg.solve(H[np.ix_(free, free)], Qux[free])
            slope += float(k[t] @ Qu)
            bend += float(k[t] @ Quu @ k[t])
            Vx = Qx + K[t].T @ (Quu @ k[t] + Qu) + Qux.T @ k[t]
            Vxx = Qxx + K[t].T @ Quu @ K[t] + K[t].T @ Qux + Qux.T @ K[t]
            Vxx = 0.5 * (Vxx + Vxx.T)
        return _Suggestion(k, K, slope, bend, multiplier)

    def forward(
        self, now: _Trajectory, linear: _Linear, made: _Suggestion, size: float
    ) -> _Trajectory | None:
        """The trajectory of a step of this size; None where a World cannot follow it."""
        system = self.system
        x, u = np.empty_like(now.x), np.empty_like(now.u)
        gap = np.zeros_like(linear.gap)
        x[0] = now.x[0]
        system.set(x[0])
        try:
            for t in range(self.steps):
                error = system.difference(now.x[t], x[t])
                u[t] = np.clip(now.u[t] + size * made.k[t] + made.K[t] @ error, self.lower, self.upper)
                x[t + 1] = system.advance(u[t])
                if linear.gap[t + 1].any():
                    gap[t + 1] = (1.0 - size) * linear.gap[t + 1]
                    x[t + 1] = system.integrate(x[t + 1], -gap[t + 1])
                    system.set(x[t + 1])
        except StepFailure:
            return None
        cost = self.total(x, u)
        return _Trajectory(x, u, gap, cost) if np.isfinite(cost) else None


def _bounds(value: VectorLike | float | None, m: int, none: float, what: str) -> Array:
    if value is None:
        return np.full(m, none)
    made = float_array(value, what)
    if made.shape not in ((), (m,)) or np.isnan(made).any():
        raise ShapeError(f"{what} must be a number or have shape ({m},), got {made.shape}")
    return np.broadcast_to(made, (m,)).copy()


class Shooting(TypedDict, total=False):
    """Keywords of `ilqr` and `multiple_shooting`."""

    controls: Sequence[str] | None
    steps_per_action: int
    lower: VectorLike | float | None
    upper: VectorLike | float | None
    iterations: int
    tolerance: float
    progress: Progress


_optimizes = shared_keywords(
    Shooting,
    controls=None,
    steps_per_action=1,
    lower=None,
    upper=None,
    iterations=100,
    tolerance=1e-6,
    progress=False,
)


@_optimizes
def ilqr(world: World, actions: VectorLike, cost: Cost, **keywords: Unpack[Shooting]) -> TrajectoryResult:
    """Optimise the actions of a World from the state it is in (iLQR with bounds, box-DDP).

    Args:
        world: made with `differentiable=True`; it stays as it is.
        actions: where to begin, one row an action, (steps, m).
        cost: what to minimise.
        controls: names of the controls that are actions, as in `StepDerivatives.control_names`, with or
            without index; those of actuators when None, and all where there are no actuators.
        steps_per_action: steps of the World for which an action is applied.
        lower, upper: bounds of actions, a number or (m,).
        iterations: the most to make.
        tolerance: ends when an iteration gains less than this share of the cost.
        progress: True for a line an iteration, or a function that is given an `Iteration`.

    Example:
        >>> import numpy as np
        >>> from worldline import optimize
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.05, gravity=(0, 0, 0), differentiable=True)
        >>> robot = world.add_multibody("cart")
        >>> spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
        >>> link = robot.add_link("link", joint=spec, mass=1.0)
        >>> cost = optimize.TrackingCost([1.0, 0.0], final=100.0, control=0.01)
        >>> found = optimize.ilqr(world, np.zeros((20, 1)), cost, lower=-6.0, upper=6.0)
        >>> found.converged, found.states[-1].round(1).tolist()
        (True, [1.0, 0.0])
    """
    return _optimize(world, actions, None, cost, **keywords)


@_optimizes
def multiple_shooting(
    world: World, actions: VectorLike, states: VectorLike, cost: Cost, **keywords: Unpack[Shooting]
) -> TrajectoryResult:
    """As `ilqr`, from a guess of the states too, which need not follow from the actions.

    Unstable systems and long horizons converge from guesses from which single shooting does not.

    Args:
        states: where to begin, (steps + 1, state dimension); the first is the state the World starts from.

    Other arguments are those of `ilqr`.
    """
    return _optimize(world, actions, states, cost, **keywords)


def _start(solver: _Solver, u: Array, states: VectorLike | None) -> _Trajectory:
    """The first trajectory: steps that are made, or states as they were given."""
    system, first = solver.system, solver.system.start
    x = np.empty((len(u) + 1, len(first)))
    x[0] = first
    if states is not None:
        given = float_array(states, "states")
        if given.shape != x.shape:
            raise ShapeError(f"states must have shape {x.shape}, got {given.shape}")
        x[:] = given
    else:
        for t in range(len(u)):
            x[t + 1] = system.advance(u[t])
    return _Trajectory(x, u, np.zeros((len(u) + 1, system.tangents)), solver.total(x, u))


class RecedingHorizon(KnownNames):
    """Model-predictive control: plan from the present state, act, move the horizon on, plan again.

    Every plan starts from the one before, an action later, so that few iterations of `ilqr` suffice. The
    World is cloned once: planning costs the derivatives and rollouts of the horizon alone.

    Args:
        world: made with `differentiable=True`; it stays as it is.
        actions: where the first plan begins, one row an action, (steps, m).
        cost: what to minimise over the horizon, from the present on.

    Other arguments are those of `ilqr`.

    Example:
        >>> import numpy as np
        >>> from worldline import optimize
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.05, gravity=(0, 0, 0), differentiable=True)
        >>> spec = sx.JointSpec(type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
        >>> slide = world.add_multibody("robot").add_link("cart", joint=spec, mass=1.0).parent_joint
        >>> cost = optimize.TrackingCost([1.0, 0.0], state=1.0, control=0.01)
        >>> control = optimize.RecedingHorizon(world, np.zeros((20, 1)), cost, lower=-6.0, upper=6.0)
        >>> for _ in range(60):
        ...     slide.force = control.plan(world.state_vector).actions[0]
        ...     world.step()
        >>> world.state_vector.round(2).tolist()
        [1.0, 0.0]
    """

    @_optimizes
    def __init__(self, world: World, actions: VectorLike, cost: Cost, **keywords: Unpack[Shooting]) -> None:
        self._solver, first, self._run = _prepare(world, actions, cost, **keywords)
        self._actions = first.copy()

    @property
    def actions(self) -> Array:
        """Where the next plan begins, (steps, m); read-only, assign another array to begin elsewhere."""
        return self._actions

    @actions.setter
    def actions(self, value: VectorLike) -> None:
        given = self._solver.system.actions(value, "actions")
        if len(given) != self._solver.steps:
            raise ShapeError(f"actions must have {self._solver.steps} rows, one an action, got {len(given)}")
        self._actions = given.copy()

    def plan(self, state: VectorLike, cost: Cost | None = None) -> TrajectoryResult:
        """The plan from a state, (state dimension,); the next one begins where its second action does.

        cost: in the place of the one before, from now on, for targets that move.
        """
        solver, system = self._solver, self._solver.system
        x = system.checked_state(state, "state")
        if cost is not None:
            self._solver = solver = _Solver(system, cost, solver.steps, solver.lower, solver.upper)
        system.set(x)
        found = _improve(solver, self._actions, None, self._run)
        self._actions = np.concatenate([found.actions[1:], found.actions[-1:]])
        return found


class _Run(NamedTuple):
    """When to stop, and where to report."""

    iterations: int
    tolerance: float
    progress: Progress


def _prepare(
    world: World,
    actions: VectorLike,
    cost: Cost,
    controls: Sequence[str] | None = None,
    steps_per_action: int = 1,
    lower: VectorLike | float | None = None,
    upper: VectorLike | float | None = None,
    iterations: int = 100,
    tolerance: float = 1e-6,
    progress: Progress = False,
) -> tuple[_Solver, Array, _Run]:
    """A solver on a clone of a World, the actions to begin with, and when to stop."""
    system = SteppedWorld(world, controls, steps_per_action)
    u = system.actions(actions, "actions")
    low = _bounds(lower, u.shape[1], -np.inf, "lower")
    high = _bounds(upper, u.shape[1], np.inf, "upper")
    if (low > high).any():
        raise ArgumentError(f"lower bounds {low} exceed upper bounds {high}")
    check_run(iterations, tolerance, progress)
    return _Solver(system, cost, len(u), low, high), u, _Run(iterations, tolerance, progress)


def _optimize(
    world: World, actions: VectorLike, states: VectorLike | None, cost: Cost, **keywords: Unpack[Shooting]
) -> TrajectoryResult:
    solver, u, run = _prepare(world, actions, cost, **keywords)
    return _improve(solver, u, states, run)


def _improve(solver: _Solver, u: Array, states: VectorLike | None, run: _Run) -> TrajectoryResult:
    """Iterate from the state that the system is in, or from given states."""
    system, low, high = solver.system, solver.lower, solver.upper
    iterations, tolerance, progress = run
    now = _start(solver, np.clip(u, low, high), states)
    mu, penalty, history = 0.0, 0.0, []
    made: _Suggestion | None = None
    message, converged = f"stopped after {iterations} iterations", False
    for number in range(1, iterations + 1):
        linear = solver.linearize(now)
        open_gap = float(np.abs(linear.gap).max(initial=0.0))
        taken, best = 0.0, None
        while mu <= _MOST:
            made = solver.backward(now, linear, mu)
            if made is not None:
                best = best or made
                expected = -(made.slope + 0.5 * made.bend)
                if open_gap < 1e-9 and expected <= _NOTHING * tolerance * abs(now.cost):
                    break
                # exact penalty of gaps, so that closing them is worth what it costs
                penalty = max(penalty, 2.0 * made.multiplier)
                found = _search(solver, now, linear, made, penalty)
                if found is not None:
                    after, taken = found
                    break
            mu = max(_LEAST, mu * _FACTOR)
        # feedback without more regularisation than the problem needs
        made = best or made
        if taken == 0.0:
            converged = mu <= _MOST
            message = "converged" if converged else "no step lowers the cost"
            break
        gain = now.cost - after.cost
        now = after
        mu = 0.0 if mu <= _LEAST else mu / _FACTOR
        history.append(Iteration(number, now.cost, float(np.abs(now.gap).max(initial=0.0)), taken, mu))
        report_iteration(progress, history[-1])
        if taken == 1.0 and open_gap < 1e-9 and abs(gain) <= tolerance * (1e-12 + abs(now.cost)):
            message, converged = "converged", True
            break
    gains = made.K if made is not None else np.zeros((len(u), u.shape[1], system.tangents))
    times = np.arange(len(u) + 1, dtype=np.float64) * system.time_step
    return TrajectoryResult(
        now.x,
        now.u,
        gains,
        now.cost,
        converged,
        message,
        tuple(history),
        times,
        system.state_names,
        system.action_names,
        system,
        (low, high),
    )


def _search(
    solver: _Solver, now: _Trajectory, linear: _Linear, made: _Suggestion, penalty: float
) -> tuple[_Trajectory, float] | None:
    """The first step that lowers cost and gaps as it should, and its size."""
    gaps = float(np.abs(linear.gap).sum())
    before = now.cost + penalty * gaps
    for size in _STEPS.tolist():
        after = solver.forward(now, linear, made, size)
        if after is None:
            continue
        expected = -(size * made.slope + 0.5 * size * size * made.bend) + penalty * size * gaps
        merit = after.cost + penalty * float(np.abs(after.gap).sum())
        if before - merit >= _GAIN * max(expected, 0.0) and before > merit:
            return after, size
    return None
