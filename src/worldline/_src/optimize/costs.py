# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory costs, with derivatives on the tangent space of the states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, ShapeError
from worldline._src.facade import values
from worldline._src.facade.world_state import WorldState
from worldline._src.named_tuple import NamedTuple
from worldline._src.optimize.dynamics import SteppedWorld, checked_weights
from worldline._src.spatial.poses import Array, VectorLike, float_array

Weights = float | VectorLike | Mapping[str, float]


class Expansion(NamedTuple):
    """A cost to second order: by a tangent of the state (n) and by an action (m)."""

    x: Array
    u: Array
    xx: Array
    uu: Array
    ux: Array


class Cost(FixedAttributes, ABC):
    """A cost of states and actions; subclasses may be of any form.

    `bind` is called once, with the system and the number of actions, before the others.
    """

    def bind(self, system: SteppedWorld, steps: int) -> None:
        """Take what is needed of the system."""

    @abstractmethod
    def value(self, t: int, x: Array, u: Array | None) -> float:
        """Cost of the state before action `t`, (state dimension,), and of the action; None at the end."""

    @abstractmethod
    def expand(self, t: int, x: Array, u: Array | None) -> Expansion:
        """Derivatives of `value`; matrices of second derivatives must be positive semidefinite."""


class TrackingCost(Cost):
    """Squares of what a state is away from a target, and of actions.

        sum_t 1/2 |x_t - target_t|^2_state + 1/2 |u_t - action|^2_control + 1/2 |x_T - target_T|^2_final

    Differences are tangents, so rotations are compared as rotations.

    Args:
        target: a state of `World.state_space()`, or one for every state of the trajectory,
            (steps + 1, state dimension).
        state: weights of tangents: a number for all, an array (n,), or numbers by name, as
            `StepDerivatives.state_names` has them, with or without index.
        control: weights of actions, likewise.
        final: weights of the last state, likewise.
        action: actions that cost nothing, (m,); zero when None.

    Example:
        >>> from worldline import optimize
        >>> optimize.TrackingCost([0.0, 1.0], state={"arm.q": 1.0}, control=0.1)
        TrackingCost(a target, weights of state, control)
    """

    def __init__(
        self,
        target: WorldState | VectorLike,
        *,
        state: Weights = 0.0,
        control: Weights = 0.0,
        final: Weights = 0.0,
        action: VectorLike | None = None,
    ) -> None:
        self._target = float_array(target.vector if isinstance(target, WorldState) else target, "target")
        given = {"state": state, "control": control, "final": final}
        self._given = {name: checked_weights(value, f"{name} weights") for name, value in given.items()}
        self._action = None if action is None else float_array(action, "action")

    def __repr__(self) -> str:
        used = [name for name, w in self._given.items() if isinstance(w, Mapping) or np.any(w)]
        what = "a target" if self._target.ndim == 1 else f"{len(self._target)} targets"
        return f"TrackingCost({what}, weights of {', '.join(used) or 'nothing'})"

    def bind(self, system: SteppedWorld, steps: int) -> None:
        """Take names, and check sizes."""
        self._system, self._steps = system, steps
        size = system.world.state_space().dimension
        if self._target.shape not in ((size,), (steps + 1, size)):
            raise ShapeError(
                f"target must have shape ({size},) or ({steps + 1}, {size}), got {self._target.shape}"
            )
        names = {"state": system.state_names, "control": system.action_names, "final": system.state_names}
        self._weights = {k: system.weights(w, names[k], f"{k} weights") for k, w in self._given.items()}
        m = len(system.action_names)
        self._free = np.zeros(m) if self._action is None else self._action
        if self._free.shape != (m,):
            raise ShapeError(f"action must have shape ({m},), got {self._free.shape}")

    def _error(self, t: int, x: Array) -> Array:
        if not 0 <= values.count(t, "t") <= self._steps:
            raise ArgumentError(f"t must be 0 to {self._steps}, got {t}")
        x = self._system.checked_state(x, "x")
        return self._system.difference(self._target if self._target.ndim == 1 else self._target[t], x)

    def _acted(self, u: Array) -> Array:
        """What an action is beyond the one that costs nothing."""
        given = float_array(u, "u")
        if given.shape != self._free.shape:
            raise ShapeError(f"u must have shape {self._free.shape}, got {given.shape}")
        return given - self._free

    def value(self, t: int, x: Array, u: Array | None) -> float:
        """See `Cost.value`."""
        e, w = self._error(t, x), self._weights["final" if u is None else "state"]
        total = 0.5 * float(w @ (e * e))
        if u is not None:
            d = self._acted(u)
            total += 0.5 * float(self._weights["control"] @ (d * d))
        return total

    def expand(self, t: int, x: Array, u: Array | None) -> Expansion:
        """See `Cost.expand`; second derivatives are those of Gauss and Newton."""
        e, w = self._error(t, x), self._weights["final" if u is None else "state"]
        J = self._system.difference_jacobian(e)
        m, r = len(self._free), self._weights["control"]
        d = np.zeros(m) if u is None else self._acted(u)
        return Expansion(J.T @ (w * e), r * d, J.T @ (w[:, None] * J), np.diag(r), np.zeros((m, len(e))))
