# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives over many steps of one World: forward along a direction, and in reverse with checkpoints.

Steps are made again on a clone when derivatives are requested. The reverse pass, g_t = A_t^T g_(t+1) + l_t
with the losses l_t by states, and B_t^T g_(t+1) by controls, needs what every step began with in reverse
order. The World's state is kept at about sqrt(T) checkpoints while it is stepped; the steps of one segment
between two of them are repeated at a time, and their starts kept. So memory beyond the returned states
grows with the square root of the number of steps, and time with their number: each is repeated once, and its
gradient taken once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, require_kind
from worldline._src.facade import derivatives, persistence, physical_parameters, state_vectors, values
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_kind import kind_named
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, read_only

if TYPE_CHECKING:
    from worldline._src.facade.world import World
    from worldline._src.facade.world_state import WorldState


class RolloutGradient(NamedTuple):
    """The gradient of a loss by what a rollout began with."""

    state: Array
    """By the first state, on its tangent, (tangent dimension,)."""
    controls: Array
    """By the controls of every step, (steps, control dimension)."""
    parameters: Array
    """By the parameters that the World had when it was stepped, (their numbers,)."""


class DifferentiableRollout(FixedAttributes):
    """Steps that were made, and derivatives over them; see `rollout`.

    Attributes:
        states: state vectors before the first step and after each, (steps + 1, state dimension). Read only.
        controls: controls of the steps, (steps, control dimension). Read only.
    """

    states: Array
    controls: Array

    def __init__(self, clone: World, states: Array, controls: Array, checkpoints: list[WorldState]) -> None:
        self._clone, self._checkpoints = clone, checkpoints
        self._start: WorldState = clone.get_state(clone.state_space())
        self.states, self.controls = read_only(states), read_only(controls)

    def __repr__(self) -> str:
        return f"DifferentiableRollout({len(self.controls)} steps)"

    @property
    def num_parameters(self) -> int:
        """Numbers of all parameters that the World had when it was stepped."""
        return self._clone.num_differentiable_parameters

    def _step(self, t: int) -> None:
        """Make step `t` once more."""
        state_vectors.set_vector(self._clone, self.controls[t], "controls", control=True)
        self._clone.step()

    def jvp(
        self, state: VectorLike, controls: VectorLike | None = None, parameters: VectorLike | None = None
    ) -> Array:
        """Changes of all states along a change of the first one, of the controls and of the parameters.

        Args:
            state: on the tangent of the first state, (tangent dimension,).
            controls: (steps, control dimension); zero when None.
            parameters: (their numbers,); zero when None.

        Returns:
            Tangents of the states, (steps + 1, tangent dimension).
        """
        size = self._start.tangent_dimension
        x = values.dof_vector(state, size, "state tangent")
        u = np.zeros(self.controls.shape)
        if controls is not None:
            u = values.shaped(controls, self.controls.shape, "control tangents")
        p = None
        if parameters is not None:
            p = values.dof_vector(parameters, self.num_parameters, "parameter tangent")
        self._clone.set_state(self._start)
        out = np.empty((len(self.controls) + 1, size))
        out[0] = x
        for t in range(len(self.controls)):
            self._step(t)
            out[t + 1] = derivatives.apply_step_jvp(self._clone, out[t], u[t], p)
        return out

    def vjp(self, d_loss_d_states: VectorLike) -> RolloutGradient:
        """The gradient of a loss by the first state, the controls and the parameters of the World.

        Args:
            d_loss_d_states: by all states, (steps + 1, tangent dimension), or by the last one alone,
                (tangent dimension,); on their tangents.
        """
        steps, size = len(self.controls), self._start.tangent_dimension
        given = values.array(d_loss_d_states, "d_loss_d_states")
        by_state = np.zeros((steps + 1, size))
        if given.ndim == 1:
            by_state[-1] = values.dof_vector(given, size, "d_loss_d_states")
        else:
            by_state = values.shaped(given, by_state.shape, "d_loss_d_states")
        stride, clone = _stride(steps), self._clone
        g, by_control = by_state[-1].copy(), np.zeros(self.controls.shape)
        by_parameter = np.zeros(self.num_parameters)
        for first in range((steps - 1) // stride * stride, -1, -stride):
            clone.set_state(self._checkpoints[first // stride])
            starts: list[dict[str, Array]] = []
            for t in range(first, min(first + stride, steps)):
                self._step(t)
                starts.append(derivatives.require_tangent(clone).saved())
            tangent = derivatives.require_tangent(clone)
            for t in range(first + len(starts) - 1, first - 1, -1):
                tangent.return_to(starts.pop())
                made = derivatives.apply_step_vjp(clone, g)
                by_control[t], g = made.control, made.state + by_state[t]
                by_parameter += made.parameter
        return RolloutGradient(g, by_control, by_parameter)


def _stride(steps: int) -> int:
    """Steps from one checkpoint to the next."""
    return max(1, math.isqrt(steps))


def rollout(world: World, controls: VectorLike) -> DifferentiableRollout:
    """Step a differentiable World with given controls, and keep what derivatives over these steps need.

    Args:
        world: made with `differentiable=True`; it is stepped.
        controls: one row a step, in the layout of `World.control_space()`, (steps, control dimension).
    """
    require_kind(world, kind_named("World"), "world", "diff.rollout")
    physical_parameters.require_differentiable(world)
    space = state_vectors.own_space(world, control=True, rigid_only=False)
    rows = values.array(controls, "controls")
    if rows.ndim != 2 or rows.shape[1] != space.dimension:
        raise values.ShapeError(f"controls must have shape (steps, {space.dimension}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ArgumentError("controls must contain only finite values")
    clone, states = persistence.clone_world(world), [state_vectors.get_vector(world)]
    stride, checkpoints = _stride(len(rows)), list["WorldState"]()
    for t, row in enumerate(rows):
        if t % stride == 0:
            checkpoints.append(world.get_state(world.state_space()))
        state_vectors.set_vector(world, row, "controls", control=True)
        world.step()
        states.append(state_vectors.get_vector(world))
    return DifferentiableRollout(clone, np.array(states), rows.copy(), checkpoints)
