# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""System identification: parameters of a World from a recording of its states, by Gauss and Newton.

Unknown are the parameters p and the state x_w at the beginning of every window of the recording. With
measured states y_t and their standard deviations s, the sum of ((x_t(p, x_w) - y_t) / s)^2 is minimised.
Sensitivities follow the steps, dx' = A dx + P dp, with the derivatives of `World.get_step_derivatives`.
States of windows are eliminated from the normal equations, and steps are damped as by Levenberg and
Marquardt. States that start windows are unknowns because measured ones are noisy: taken as they are, they
would bias parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, ShapeError, StepFailure
from worldline._src.facade import derivatives
from worldline._src.facade.recording import Recording
from worldline._src.facade.world import World
from worldline._src.named_tuple import NamedTuple
from worldline._src.optimize.costs import Weights
from worldline._src.optimize.dynamics import SteppedWorld
from worldline._src.optimize.parameters import ParameterVector
from worldline._src.optimize.results import Iteration, Progress, axes_of, check_run, report_iteration
from worldline._src.spatial.poses import Array, VectorLike, float_array

_DAMPING, _MOST, _FACTOR = 1e-3, 1e9, 4.0
"""Damping relative to the diagonal of the normal equations: first, most, and how it changes."""
_EXHAUSTED = 1e-12
"""Share of the first cost below which nothing is left to explain."""


@dataclass(frozen=True)
class IdentificationResult:
    """Parameters that explain a recording.

    Attributes:
        names: of the parameters, as in `StepDerivatives.parameter_names`.
        values: found; frames of joints are displacements from where they were.
        start: before.
        standard_deviations: of the values, from the curvature of the sum of squares and what was left of it.
        cost: half the sum of squares that is left.
        converged: whether nothing was left to gain.
        history: a report an iteration.
        times: of the measured states [s].
        measured, fitted: tangents from the first measured state, (states, n).
        state_names: of tangents.
    """

    names: tuple[str, ...]
    values: Array
    start: Array
    standard_deviations: Array
    cost: float
    converged: bool
    history: tuple[Iteration, ...]
    times: Array
    measured: Array
    fitted: Array
    state_names: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def __repr__(self) -> str:
        found = ", ".join(
            f"{name} {x:.4g} +- {s:.1g}"
            for name, x, s in zip(self.names, self.values, self.standard_deviations, strict=True)
        )
        return f"IdentificationResult({found})"

    def plot(self, names: list[str] | None = None, *, axes: Any = None) -> Any:
        """Draw what was measured and what the found parameters give, and the cost by iteration.

        Args:
            names: tangents to draw, as in `state_names`; up to four when None.
            axes: matplotlib axes, one a name and one more; made when None.
        """
        chosen = list(self.state_names[:4] if names is None else names)
        figure, given = axes_of(len(chosen) + 1, axes)
        for axis, name in zip(given, chosen, strict=False):
            k = self.state_names.index(name)
            axis.plot(self.times, self.measured[:, k], ".", markersize=3.0, alpha=0.5, label="measured")
            axis.plot(self.times, self.fitted[:, k], label="fitted")
            axis.set_ylabel(name)
            axis.set_xlabel("time, s")
            axis.legend(fontsize="small", frameon=False)
        given[-1].semilogy([i.number for i in self.history], [i.cost for i in self.history], ".-")
        given[-1].set_ylabel("cost")
        given[-1].set_xlabel("iteration")
        for axis in given:
            axis.grid(True, alpha=0.3)
        return figure


class _Fit(NamedTuple):
    """States of all windows, and the normal equations at them."""

    states: Array
    cost: float
    by_parameter: Array
    """Left and right side of the reduced normal equations: (p, p) and (p,)."""
    right: Array
    windows: list[tuple[Array, Array, Array]]
    """By window: H_xx, H_xp and the gradient by its first state."""


class _Problem:
    def __init__(self, system: SteppedWorld, y: Array, controls: Array, scale: Array, window: int) -> None:
        self.system, self.y, self.controls, self.scale = system, y, controls, scale
        self.firsts = list(range(0, len(controls), window))
        self.window = window
        self.unknown = np.flatnonzero(np.isfinite(scale) & system.movable)
        """Tangents of first states that are searched for; the others are taken as measured."""
        self.vector = ParameterVector(system.world)

    def moved(self, x: Array, change: Array) -> Array:
        """A first state after a change of its unknown tangents."""
        tangent = np.zeros(self.system.tangents)
        tangent[self.unknown] = change
        return self.system.integrate(x, tangent)

    def bounds(self) -> tuple[Array, Array]:
        """Bounds of parameters; those that cannot be negative stay above a thousandth of what they were."""
        low, high = [], []
        for one, numbers, origin in zip(
            self.system.world._parameters, self.vector.numbers, self.vector.parts, strict=True
        ):
            least = np.full(len(origin), -np.inf) if numbers.signed else 1e-3 * origin
            low.append(least if one.lower is None else np.full(len(origin), one.lower))
            high.append(np.full(len(origin), np.inf if one.upper is None else one.upper))
        return np.concatenate(low), np.concatenate(high)

    def evaluate(self, first_states: Array, derive: bool) -> _Fit:
        """States from the beginnings of windows, and their equations on request."""
        system, n, p = self.system, self.system.tangents, len(self.vector.names)
        fitted = np.empty_like(self.y)
        cost, H, g, windows = 0.0, np.zeros((p, p)), np.zeros(p), []
        for x0, first in zip(first_states, self.firsts, strict=True):
            last = min(first + self.window, len(self.controls))
            S, P, m = np.eye(n)[:, self.unknown], np.zeros((n, p)), len(self.unknown)
            Hxx, Hxp, gx = np.zeros((m, m)), np.zeros((m, p)), np.zeros(m)
            system.set(x0)
            x = x0
            for t in range(first, last + 1):
                e = system.difference(self.y[t], x)
                r = e / self.scale
                cost += 0.5 * float(r @ r)
                fitted[t] = x
                if derive:
                    J = system.difference_jacobian(e) / self.scale[:, None]
                    JS, JP = J @ S, J @ P
                    Hxx += JS.T @ JS
                    Hxp += JS.T @ JP
                    gx += JS.T @ r
                    H += JP.T @ JP
                    g += JP.T @ r
                if t == last:
                    break
                system.act_all(self.controls[t])
                system.world.step()
                x = system.world.state_vector.copy()
                if derive:
                    A, _ = derivatives.jacobians(system.world)
                    S, P = A @ S, A @ P + derivatives.parameter_jacobian(system.world)
            windows.append((Hxx, Hxp, gx))
        return _Fit(fitted, cost, H, g, windows)


def identify(
    world: World,
    states: Recording | VectorLike,
    controls: VectorLike | None = None,
    *,
    deviations: Weights = 1.0,
    window: int | None = None,
    iterations: int = 30,
    tolerance: float = 1e-8,
    progress: Progress = False,
) -> IdentificationResult:
    """Find the differentiable parameters of a World that explain a recording of its states.

    Args:
        world: made with `differentiable=True`, with parameters of `add_differentiable_parameter`, whose
            present values are where the search begins and whose bounds are kept; it stays as it is.
        states: a `Recording` of a World with the same layout, or measured states, one after each step,
            (steps + 1, state dimension).
        controls: of every step, (steps, dimension of the control space); as the World has them when None.
        deviations: standard deviations of the noise: a number, an array (n,), or numbers by name, with or
            without index; states that are not named, or have zero, are not compared, and taken as measured
            where windows begin.
        window: steps that are followed from one unknown state; all when None. Shorter ones help where
            motion is chaotic.
        iterations, tolerance, progress: see `ilqr`.

    Example:
        >>> import numpy as np
        >>> from worldline import optimize
        >>> from worldline import simulation as sx
        >>> def slide(damping):
        ...     world = sx.World(time_step=0.02, gravity=(0, 0, 0), differentiable=True)
        ...     robot = world.add_multibody("cart")
        ...     spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
        ...     robot.add_link("link", joint=spec, mass=1.0)
        ...     robot.joints["slide"].damping_coefficient = [damping]
        ...     robot.joints["slide"].velocity = [1.0]
        ...     return world
        >>> real = slide(0.7)
        >>> measured = [real.state_vector.copy()]
        >>> for _ in range(30):
        ...     real.step()
        ...     measured.append(real.state_vector.copy())
        >>> guess = slide(0.2)
        >>> joint = guess.multibodies["cart"].joints["slide"]
        >>> guess.add_differentiable_parameter(joint, sx.PhysicalParameter.DAMPING)
        >>> round(optimize.identify(guess, measured)["cart.slide.damping"], 6)
        0.7
    """
    system = SteppedWorld(world, ())
    if not world._parameters:
        raise OperationError("there is nothing to identify: add_differentiable_parameter says what")
    y = _measured(system, states)
    u = _controls(system, controls, len(y) - 1)
    scale = system.weights(deviations, system.state_names, "deviations")
    scale = np.where(scale > 0.0, scale, np.inf)
    if window is not None and not (isinstance(window, int) and window >= 1):
        raise ArgumentError(f"window must be 1 or more steps, got {window!r}")
    check_run(iterations, tolerance, progress)
    problem = _Problem(system, y, u, scale, window or len(u))
    values, x0 = problem.vector.start, y[problem.firsts].copy()
    low, high = problem.bounds()
    damping, history, converged = _DAMPING, [], False
    fit = problem.evaluate(x0, True)
    first_cost = fit.cost
    for number in range(1, iterations + 1):
        gain, taken = 0.0, False
        while damping <= _MOST and not taken:
            step, moves = _solve(fit, damping)
            trial = np.clip(values + step, low, high)
            starts = np.array([problem.moved(x, d) for x, d in zip(x0, moves, strict=True)])
            problem.vector.put(trial)
            try:
                cost = problem.evaluate(starts, False).cost
            except StepFailure:
                cost = np.inf
            if cost < fit.cost:
                gain, taken = fit.cost - cost, True
                values, x0 = trial, starts
                damping /= _FACTOR
            else:
                damping = max(_DAMPING, damping * _FACTOR)
        if not taken:
            problem.vector.put(values)
            converged = True
            break
        fit = problem.evaluate(x0, True)
        history.append(Iteration(number, fit.cost, 0.0, 1.0, damping))
        report_iteration(progress, history[-1])
        if gain <= tolerance * fit.cost or fit.cost <= _EXHAUSTED * first_cost:
            converged = True
            break
    reduced, _ = _reduced(fit, 0.0)
    count = int(np.isfinite(scale).sum()) * len(y) - len(values) - len(problem.firsts) * len(problem.unknown)
    left = 2.0 * fit.cost / max(count, 1)
    deviation = np.sqrt(np.maximum(np.diag(np.linalg.pinv(reduced)) * left, 0.0))
    origin = y[0]
    return IdentificationResult(
        problem.vector.names,
        values,
        problem.vector.start,
        deviation,
        fit.cost,
        converged,
        tuple(history),
        np.arange(len(y), dtype=np.float64) * world.time_step,
        np.array([system.difference(origin, x) for x in y]),
        np.array([system.difference(origin, x) for x in fit.states]),
        system.state_names,
    )


def _reduced(fit: _Fit, damping: float) -> tuple[Array, Array]:
    """Normal equations of parameters alone: H_pp - sum H_px H_xx^-1 H_xp, and their right side."""
    H, g = fit.by_parameter.copy(), fit.right.copy()
    H[np.diag_indices_from(H)] *= 1.0 + damping
    for Hxx, Hxp, gx in fit.windows:
        inverse = np.linalg.pinv(Hxx + damping * np.diag(np.diag(Hxx)))
        H -= Hxp.T @ inverse @ Hxp
        g -= Hxp.T @ inverse @ gx
    return H, g


def _solve(fit: _Fit, damping: float) -> tuple[Array, list[Array]]:
    """The step of Levenberg and Marquardt: of parameters, and of the first state of every window."""
    H, g = _reduced(fit, damping)
    step = np.asarray(-np.linalg.lstsq(H, g, rcond=None)[0], np.float64)
    moves = []
    for Hxx, Hxp, gx in fit.windows:
        inverse = np.linalg.pinv(Hxx + damping * np.diag(np.diag(Hxx)))
        moves.append(-inverse @ (gx + Hxp @ step))
    return step, moves


def _measured(system: SteppedWorld, states: Recording | VectorLike) -> Array:
    space = system.world.state_space()
    if isinstance(states, Recording):
        missing = [v.name for v in space.variables if v.name not in states]
        if missing:
            raise ArgumentError(f"the recording has no {', '.join(missing)}")
        y = np.concatenate([states[v.name] for v in space.variables], axis=1)
    else:
        y = float_array(states, "states")
    if y.ndim != 2 or y.shape[1] != space.dimension or len(y) < 2:
        raise ShapeError(f"states must have shape (steps + 1, {space.dimension}), got {y.shape}")
    if not np.isfinite(y).all():
        raise ArgumentError("measured states must be finite")
    return y


def _controls(system: SteppedWorld, controls: VectorLike | None, steps: int) -> Array:
    present = system.world.control_vector
    if controls is None:
        return np.tile(present, (steps, 1))
    u = float_array(controls, "controls")
    if u.shape != (steps, len(present)):
        raise ShapeError(f"controls must have shape ({steps}, {len(present)}), got {u.shape}")
    return u
