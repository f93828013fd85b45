# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts of a World as functions of plain arrays, with their derivatives, for optimisers and frameworks.

State vectors hold unit quaternions; derivatives by them are those on the tangent, as vectors along the unit
sphere: with the basis E of tangents at x, gradients come in by E^T and leave by the transposed pseudo-inverse
of E.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, ShapeError
from worldline._src.facade import values
from worldline._src.facade.world import World
from worldline._src.optimize.costs import Cost
from worldline._src.optimize.dynamics import MOST_STEPS, SteppedWorld
from worldline._src.spatial.poses import Array, VectorLike, float_array


class RolloutFunction(FixedAttributes):
    """States of a rollout as a function of its first state and its actions, with products by vectors.

    Args:
        world: made with `differentiable=True`; it stays as it is.
        controls, steps_per_action: see `ilqr`.

    States are vectors of `World.state_space()`. Leading dimensions are rollouts side by side, one after the
    other.

    Example:
        >>> import numpy as np
        >>> from worldline import optimize
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.1, gravity=(0, 0, 0), differentiable=True)
        >>> box = world.add_rigid_body("box", mass=2.0)
        >>> rollout = optimize.RolloutFunction(world, ["box.wrench[3]"])
        >>> states = rollout(world.state_vector, np.ones((5, 1)))
        >>> states.shape
        (6, 13)
        >>> loss = np.zeros((6, 13))
        >>> loss[-1, 7] = 1.0  # the last velocity along x: h / m for each action
        >>> rollout.vjp(states, np.ones((5, 1)), loss)[1].round(9).ravel().tolist()
        [0.05, 0.05, 0.05, 0.05, 0.05]
    """

    def __init__(
        self, world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
    ) -> None:
        self._system = SteppedWorld(world, controls, steps_per_action)
        self.state_dimension = self._system.world.state_space().dimension
        self.action_names = self._system.action_names

    def _checked(self, state: VectorLike, actions: VectorLike) -> tuple[Array, Array]:
        x, u = float_array(state, "state"), float_array(actions, "actions")
        m = len(self.action_names)
        if x.shape[-1:] != (self.state_dimension,) or u.ndim != x.ndim + 1 or u.shape[-1] != m:
            raise ShapeError(
                f"state must have shape ([rollouts,] {self.state_dimension}) and actions ([rollouts,] steps, "
                f"{m}), got {x.shape} and {u.shape}"
            )
        if x.shape[:-1] != u.shape[:-2]:
            raise ShapeError(f"state and actions must be of as many rollouts, got {x.shape} and {u.shape}")
        return x, u

    def __call__(self, state: VectorLike, actions: VectorLike) -> Array:
        """States before every action and after the last, ([rollouts,] steps + 1, state dimension)."""
        x, u = self._checked(state, actions)
        out = np.empty((*u.shape[:-2], u.shape[-2] + 1, self.state_dimension))
        for k in np.ndindex(u.shape[:-2]):
            out[(*k, 0)] = x[k]
            self._system.set(x[k])
            for t, action in enumerate(u[k]):
                out[(*k, t + 1)] = self._system.advance(action)
        return out

    def vjp(self, states: VectorLike, actions: VectorLike, by_states: VectorLike) -> tuple[Array, Array]:
        """Gradients of a loss by the first state and by the actions, from those by all states.

        Args:
            states: what the function gave, ([rollouts,] steps + 1, state dimension).
            actions: what it was given, ([rollouts,] steps, m).
            by_states: gradient by `states`, of their shape.
        """
        x = float_array(states, "states")
        if x.ndim < 2 or not x.shape[-2]:
            raise ShapeError(f"states must have shape ([rollouts,] steps + 1, states), got {x.shape}")
        _, u = self._checked(x[..., 0, :], actions)
        g = float_array(by_states, "gradient by states")
        if g.shape != x.shape or x.shape[:-1] != (*u.shape[:-2], u.shape[-2] + 1):
            raise ShapeError(f"states {x.shape}, their gradient {g.shape} and actions {u.shape} do not match")
        by_first, by_actions = np.zeros((*u.shape[:-2], self.state_dimension)), np.zeros(u.shape)
        for k in np.ndindex(u.shape[:-2]):
            h = self._basis(x[(*k, -1)]).T @ g[(*k, -1)]
            for t in range(u.shape[-2] - 1, -1, -1):
                self._system.set(x[(*k, t)])
                _, A, B = self._system.advance_and_differentiate(u[(*k, t)])
                by_actions[(*k, t)] = h @ B
                h = h @ A + self._basis(x[(*k, t)]).T @ g[(*k, t)]
            by_first[k] = np.linalg.pinv(self._basis(x[(*k, 0)])).T @ h
        return by_first, by_actions

    def _basis(self, x: Array) -> Array:
        return self._system.basis(x)


class ShootingFunction(FixedAttributes):
    """The cost of a rollout and its last state as functions of all actions in one vector, with derivatives.

    For optimisers that ask for values and Jacobians of vectors, as callbacks of CasADi and IPOPT do, and
    `scipy.optimize.minimize(f.value_and_gradient, f.start, jac=True)`.

    Args:
        world: made with `differentiable=True`; it stays as it is, and rollouts begin with its state.
        steps: number of actions.
        cost: what to minimise.
        controls, steps_per_action: see `ilqr`.

    Example:
        >>> from worldline import optimize
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.1, gravity=(0, 0, 0), differentiable=True)
        >>> box = world.add_rigid_body("box", mass=1.0)
        >>> cost = optimize.TrackingCost(world.state_vector, control=2.0)
        >>> f = optimize.ShootingFunction(world, 3, cost, controls=["box.wrench[3]"])
        >>> value, gradient = f.value_and_gradient([1.0, 2.0, 0.0])
        >>> value, gradient.tolist()
        (5.0, [2.0, 4.0, 0.0])
    """

    def __init__(
        self,
        world: World,
        steps: int,
        cost: Cost,
        *,
        controls: Sequence[str] | None = None,
        steps_per_action: int = 1,
    ) -> None:
        if not 1 <= values.count(steps, "steps") <= MOST_STEPS:
            raise ArgumentError(f"steps must be 1 to {MOST_STEPS}, got {steps}")
        if not isinstance(cost, Cost):
            raise ArgumentError(f"cost must be a Cost, such as TrackingCost, got {cost!r}")
        self._system, self._cost, self._steps = SteppedWorld(world, controls, steps_per_action), cost, steps
        cost.bind(self._system, steps)
        self._first = self._system.start
        self.start = np.tile(self._system.action, steps)

    @property
    def dimension(self) -> int:
        """Numbers of the vector of actions."""
        return len(self.start)

    def _actions(self, z: VectorLike) -> Array:
        u = float_array(z, "actions")
        if u.shape != self.start.shape:
            raise ShapeError(f"actions must have shape {self.start.shape}, got {u.shape}")
        return u.reshape(self._steps, -1)

    def value(self, z: VectorLike) -> float:
        """Cost of the rollout."""
        u, total, x = self._actions(z), 0.0, self._first
        self._system.set(x)
        for t, action in enumerate(u):
            total += self._cost.value(t, x, action)
            x = self._system.advance(action)
        return total + self._cost.value(self._steps, x, None)

    def value_and_gradient(self, z: VectorLike) -> tuple[float, Array]:
        """Cost of the rollout, and its gradient by the actions, (dimension,)."""
        u, total, x, made = self._actions(z), 0.0, self._first, []
        self._system.set(x)
        for t, action in enumerate(u):
            total += self._cost.value(t, x, action)
            own = self._cost.expand(t, x, action)
            x, A, B = self._system.advance_and_differentiate(action)
            made.append((own, A, B))
        g = self._cost.expand(self._steps, x, None).x
        gradient = np.zeros(u.shape)
        for t in range(self._steps - 1, -1, -1):
            own, A, B = made[t]
            gradient[t] = own.u + g @ B
            g = own.x + g @ A
        return total + self._cost.value(self._steps, x, None), gradient.reshape(-1)

    def last_state(self, z: VectorLike) -> Array:
        """The last state of the rollout, (state dimension,)."""
        self._system.set(self._first)
        x = self._first
        for action in self._actions(z):
            x = self._system.advance(action)
        return x

    def last_state_jacobian(self, z: VectorLike) -> Array:
        """Derivatives of the last state, on its tangent, by the actions, (n, dimension)."""
        u = self._actions(z)
        m, columns = u.shape[1], np.zeros((self._system.tangents, u.size))
        self._system.set(self._first)
        for t, action in enumerate(u):
            _, A, B = self._system.advance_and_differentiate(action)
            columns = A @ columns
            columns[:, m * t : m * (t + 1)] += B
        return columns
