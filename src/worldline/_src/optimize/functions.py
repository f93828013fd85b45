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
from worldline._src.named_tuple import NamedTuple
from worldline._src.optimize.costs import Cost
from worldline._src.optimize.dynamics import MOST_STEPS, SteppedWorld
from worldline._src.optimize.parameters import ParameterVector
from worldline._src.spatial.poses import Array, VectorLike, float_array, read_only


class FunctionGradient(NamedTuple):
    """The gradient of a loss by what a `RolloutFunction` was given."""

    state: Array
    """By the first state, ([rollouts,] state dimension)."""
    actions: Array
    """By the actions, ([rollouts,] steps, m)."""
    parameters: Array
    """By the parameters, of their shape: summed over the rollouts that share them."""


class RolloutFunction(FixedAttributes):
    """States of a rollout as a function of first state, actions and parameters, with products by vectors.

    Args:
        world: made with `differentiable=True`; it stays as it is.
        controls, steps_per_action: see `ilqr`.

    States are vectors of `World.state_space()`, parameters those of `World.add_differentiable_parameter`.
    Leading dimensions are rollouts, made one after the other.

    Attributes:
        action_names: (m,).
        parameter_names: (p,).
        parameters: what the World has, (p,); frames of joints are given as displacements from there.

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
        >>> rollout.vjp(states, np.ones((5, 1)), loss).actions.round(9).ravel().tolist()
        [0.05, 0.05, 0.05, 0.05, 0.05]
        >>> world.add_differentiable_parameter(box, sx.PhysicalParameter.MASS)
        >>> rollout = optimize.RolloutFunction(world, ["box.wrench[3]"])
        >>> states = rollout(world.state_vector, np.ones((5, 1)), [4.0])  # half as fast with twice the mass
        >>> states[-1, 7].round(9).item()
        0.125
        >>> rollout.vjp(states, np.ones((5, 1)), loss, [4.0]).parameters.round(9).tolist()  # -v / m
        [-0.03125]
    """

    def __init__(
        self, world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
    ) -> None:
        self._system = SteppedWorld(world, controls, steps_per_action)
        self.state_dimension = self._system.world.state_space().dimension
        self.action_names = self._system.action_names
        self._vector = ParameterVector(self._system.world)
        self.parameter_names, self.parameters = self._vector.names, read_only(self._vector.start)

    def _checked(
        self, state: VectorLike, actions: VectorLike, parameters: VectorLike | None
    ) -> tuple[Array, Array, Array]:
        x, u = float_array(state, "state"), float_array(actions, "actions")
        m = len(self.action_names)
        if x.shape[-1:] != (self.state_dimension,) or u.ndim != x.ndim + 1 or u.shape[-1] != m:
            raise ShapeError(
                f"state must have shape ([rollouts,] {self.state_dimension}) and actions ([rollouts,] steps, "
                f"{m}), got {x.shape} and {u.shape}"
            )
        if x.shape[:-1] != u.shape[:-2]:
            raise ShapeError(f"state and actions must be of as many rollouts, got {x.shape} and {u.shape}")
        p = self.parameters if parameters is None else float_array(parameters, "parameters")
        count = len(self.parameters)
        if p.shape not in ((count,), (*x.shape[:-1], count)):
            raise ShapeError(f"parameters must have shape ([rollouts,] {count}), got {p.shape}")
        return x, u, p

    def __call__(self, state: VectorLike, actions: VectorLike, parameters: VectorLike | None = None) -> Array:
        """States before every action and after the last, ([rollouts,] steps + 1, state dimension).

        Args:
            state: the first state, ([rollouts,] state dimension).
            actions: ([rollouts,] steps, m).
            parameters: of each rollout, ([rollouts,] p), or of all of them, (p,); those that the World has
                when None.
        """
        x, u, p = self._checked(state, actions, parameters)
        out = np.empty((*u.shape[:-2], u.shape[-2] + 1, self.state_dimension))
        for k in np.ndindex(u.shape[:-2]):
            self._vector.put(p if p.ndim == 1 else p[k])
            out[(*k, 0)] = x[k]
            self._system.set(x[k])
            for t, action in enumerate(u[k]):
                out[(*k, t + 1)] = self._system.advance(action)
        return out

    def vjp(
        self,
        states: VectorLike,
        actions: VectorLike,
        by_states: VectorLike,
        parameters: VectorLike | None = None,
    ) -> FunctionGradient:
        """Gradients of a loss by first state, actions and parameters, from those by all states.

        Args:
            states: what the function gave, ([rollouts,] steps + 1, state dimension).
            actions: what it was given, ([rollouts,] steps, m).
            by_states: gradient by `states`, of their shape.
            parameters: what it was given.
        """
        x = float_array(states, "states")
        if x.ndim < 2 or not x.shape[-2]:
            raise ShapeError(f"states must have shape ([rollouts,] steps + 1, states), got {x.shape}")
        _, u, p = self._checked(x[..., 0, :], actions, parameters)
        g = float_array(by_states, "gradient by states")
        if g.shape != x.shape or x.shape[:-1] != (*u.shape[:-2], u.shape[-2] + 1):
            raise ShapeError(f"states {x.shape}, their gradient {g.shape} and actions {u.shape} do not match")
        by_first, by_actions = np.zeros((*u.shape[:-2], self.state_dimension)), np.zeros(u.shape)
        by_parameters = np.zeros(p.shape)
        for k in np.ndindex(u.shape[:-2]):
            own = () if p.ndim == 1 else k
            self._vector.put(p[own])
            h = self._basis(x[(*k, -1)]).T @ g[(*k, -1)]
            for t in range(u.shape[-2] - 1, -1, -1):
                self._system.set(x[(*k, t)])
                h, by_actions[(*k, t)], by_own = self._system.pull_back(u[(*k, t)], h)
                by_parameters[own] += by_own
                h = h + self._basis(x[(*k, t)]).T @ g[(*k, t)]
            by_first[k] = np.linalg.pinv(self._basis(x[(*k, 0)])).T @ h
        return FunctionGradient(by_first, by_actions, by_parameters)

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
