# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A World as a discrete-time system x' = f(x, u) with derivatives, for optimisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, ShapeError
from worldline._src.facade import derivatives, state_vectors, values
from worldline._src.facade import world_state as state
from worldline._src.facade.manifold import inverse_right_jacobian
from worldline._src.facade.physical_parameters import numbered, require_differentiable
from worldline._src.facade.world import World
from worldline._src.spatial.poses import Array, VectorLike, float_array

MOST_STEPS = 10**9
"""Most steps of an action, and actions of a trajectory; more would not end."""


class SteppedWorld:
    """A clone of a World, stepped from given states with given actions.

    States are vectors of `World.state_space()`; differences of states are tangents. Actions are the chosen
    numbers of `World.control_space()`, constant for `repeat` steps; the others stay as the World has them.

    Attributes:
        state_names: of tangents, (n,).
        action_names: of actions, (m,).
    """

    def __init__(self, world: World, actions: Sequence[str] | None = None, repeat: int = 1) -> None:
        if not isinstance(world, World):
            raise ArgumentError(f"world must be a World, got {world!r}")
        require_differentiable(world)
        if not 1 <= values.count(repeat, "steps of an action") <= MOST_STEPS:
            raise ArgumentError(f"steps of an action must be 1 to {MOST_STEPS}, got {repeat}")
        self.world, self.repeat = world.clone(), repeat
        if not self.world.is_simulation_mode:
            self.world.enter_simulation_mode()
        whole = self.world.get_state(self.world.state_space())
        self._whole, self._manifold = whole, whole._manifold
        self.tangents = whole.tangent_dimension
        self.state_names = tuple(
            name for owner, size in whole.tangent_sizes.items() for name in numbered(owner, size)
        )
        held = {body.name for body in self.world.rigid_bodies if body.is_static or body.is_kinematic}
        self.movable = np.array([name.partition(".")[0] not in held for name in self.state_names], bool)
        """Tangents that are not of static or kinematic bodies."""
        controls = self.world.control_space()
        names = [name for v in controls.variables for name in numbered(v.name, v.dimension)]
        self._columns = _chosen(names, actions)
        self.action_names = tuple(names[k] for k in self._columns)
        self._controls = state_vectors.get_vector(self.world, control=True).copy()
        self.time_step = repeat * self.world.time_step
        self._turns = list(self._manifold.rotations)
        self.neutral = state.neutral(whole).vector.copy()
        """The state of all zeros, without rotation."""

    @property
    def start(self) -> Array:
        """The state that the World was in, (state dimension,)."""
        return self.world.state_vector.copy()

    @property
    def action(self) -> Array:
        """The action that the World was given, (m,)."""
        return self._controls[self._columns].copy()

    def set(self, x: Array) -> None:
        """Put the World into a state; what the solver kept of steps before is forgotten."""
        self.world.set_state(self._whole)
        state_vectors.set_vector(self.world, x, "state")

    def _act(self, u: Array) -> None:
        self._controls[self._columns] = u
        state_vectors.set_vector(self.world, self._controls, "controls", control=True)

    def act_all(self, controls: Array) -> None:
        """Set all controls for the next step."""
        state_vectors.set_vector(self.world, controls, "controls", control=True)

    def advance(self, u: Array) -> Array:
        """The state after an action, from the state the World is in."""
        self._act(u)
        self.world.step(n=self.repeat)
        return state_vectors.get_vector(self.world).copy()

    def advance_and_differentiate(self, u: Array) -> tuple[Array, Array, Array]:
        """The state after an action, and its derivatives by state (n, n) and action (n, m)."""
        self._act(u)
        A, B = np.eye(self.tangents), np.zeros((self.tangents, len(self._columns)))
        for _ in range(self.repeat):
            self.world.step()
            by_state, by_control = derivatives.jacobians(self.world)
            A, B = by_state @ A, by_state @ B + by_control[:, self._columns]
        return state_vectors.get_vector(self.world).copy(), A, B

    def pull_back(self, u: Array, g: Array) -> tuple[Array, Array, Array]:
        """Gradients by state, action and parameters from `g`, that by the state after the action.

        The World is in the state before the action.
        """
        self._act(u)
        starts: list[dict[str, Array]] = []
        for _ in range(self.repeat):
            self.world.step()
            starts.append(derivatives.require_tangent(self.world).saved())
        by_action = np.zeros(len(self._columns))
        by_parameter = np.zeros(self.world.num_differentiable_parameters)
        tangent = derivatives.require_tangent(self.world)
        while starts:
            tangent.return_to(starts.pop())
            g, by_control, by_own = derivatives.apply_step_vjp(self.world, g)
            by_action += by_control[self._columns]
            by_parameter += by_own
        return g, by_action, by_parameter

    def difference(self, a: Array, b: Array) -> Array:
        """The tangent that leads from state a to state b."""
        return self._manifold.difference(a, b)

    def difference_jacobian(self, tangent: Array) -> Array:
        """Derivative of `difference(a, b)`, which is given, by b: inverse right Jacobians of rotations."""
        J = np.eye(self.tangents)
        for rows in self._turns:
            J[np.ix_(rows, rows)] = inverse_right_jacobian(tangent[rows])
        return J

    def basis(self, x: Array) -> Array:
        """Changes of a state vector by tangents, (state dimension, n)."""
        return self._manifold.basis(x)

    def integrate(self, x: Array, tangent: Array) -> Array:
        """The state that a tangent leads to."""
        return self._manifold.integrate(x, tangent)

    def checked_state(self, value: VectorLike, what: str) -> Array:
        """A state vector, checked."""
        x = float_array(value, what)
        if x.shape != self.neutral.shape:
            raise ShapeError(f"{what} must have shape {self.neutral.shape}, got {x.shape}")
        return x

    def actions(self, value: VectorLike, what: str) -> Array:
        """Actions of a trajectory, one a row, checked."""
        u = float_array(value, what)
        if u.ndim != 2 or u.shape[1] != len(self._columns) or not len(u):
            raise ShapeError(
                f"{what} must have shape (steps, {len(self._columns)}), a column for each of "
                f"{', '.join(self.action_names)}; got {u.shape}"
            )
        if not np.isfinite(u).all():
            raise ArgumentError(f"{what} must be finite")
        return u

    def weights(self, value: object, names: Sequence[str], what: str) -> Array:
        """A weight a name: a number for all, an array, or numbers by name or by name without index."""
        value = checked_weights(value, what)
        if isinstance(value, dict):
            made = np.zeros(len(names))
            for key, weight in value.items():
                found = [k for k, name in enumerate(names) if name == key or name.partition("[")[0] == key]
                if not found:
                    raise NotFoundError(f"{what}: there is no '{key}'; there are {', '.join(names)}")
                made[found] = weight
            return made
        if value.shape not in ((), (1,), (len(names),)):
            raise ShapeError(f"{what} must be a number or have shape ({len(names)},), got {value.shape}")
        return np.broadcast_to(value, (len(names),)).copy()


def checked_weights(value: Any, what: str) -> Array | dict[str, float]:
    """Weights that are finite and not negative: an array, or numbers by name."""
    if isinstance(value, Mapping):
        return {values.text(k, f"name of {what}"): values.non_negative(w, what) for k, w in value.items()}
    made = float_array(value, what)
    if made.ndim > 1 or not (np.isfinite(made).all() and (made >= 0.0).all()):
        raise ArgumentError(
            f"{what} must be a number or a row of them, finite and not negative, got {value!r}"
        )
    return made


def _chosen(names: list[str], actions: Sequence[str] | None) -> np.ndarray:
    """Columns of actions: those of actuators, or all where there are none, unless they are named."""
    if actions is None:
        acting = [k for k, name in enumerate(names) if name.endswith(".control")]
        return np.array(acting or range(len(names)), np.int64)
    if isinstance(actions, str):
        actions = [actions]
    found: list[int] = []
    for key in values.several(actions, "controls"):
        own = [k for k, name in enumerate(names) if name == key or name.partition("[")[0] == key]
        if not own:
            raise NotFoundError(f"there is no control '{key}'; there are {', '.join(names)}")
        found += own
    return np.array(found, np.int64)
