# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives over many steps of one World, with checkpoints.

Steps are made again on a clone when derivatives are asked for. Going back needs the Jacobians of all steps in
reverse order: states are kept at about sqrt(T) checkpoints, and Jacobians of one segment between two of them
at a time, so memory grows with the square root of the number of steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError, require_kind
from worldline._src.facade import derivatives, persistence, state_vectors, values
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


class DifferentiableRollout(FixedAttributes):
    """Steps that were made, and derivatives over them; see `rollout`.

    Attributes:
        states: state vectors before the first step and after each, (steps + 1, state dimension). Read only.
        controls: controls of the steps, (steps, control dimension). Read only.
    """

    states: Array
    controls: Array

    def __init__(self, clone: World, states: Array, controls: Array) -> None:
        self._clone = clone
        self._start: WorldState = clone.get_state(clone.state_space())
        self.states, self.controls = read_only(states), read_only(controls)

    def __repr__(self) -> str:
        return f"DifferentiableRollout({len(self.controls)} steps)"

    def _step(self, t: int) -> None:
        """Make step `t` once more."""
        state_vectors.set_vector(self._clone, self.controls[t], "controls", control=True)
        self._clone.step()

    def jvp(self, state: VectorLike, controls: VectorLike | None = None) -> Array:
        """Changes of all states along a change of the first one and of the controls.

        Args:
            state: on the tangent of the first state, (tangent dimension,).
            controls: (steps, control dimension); zero when None.

        Returns:
            Tangents of the states, (steps + 1, tangent dimension).
        """
        size = self._start.tangent_dimension
        x = values.dof_vector(state, size, "state tangent")
        u = np.zeros(self.controls.shape)
        if controls is not None:
            u = values.shaped(controls, self.controls.shape, "control tangents")
        self._clone.set_state(self._start)
        out = np.empty((len(self.controls) + 1, size))
        out[0] = x
        for t in range(len(self.controls)):
            self._step(t)
            out[t + 1] = derivatives.apply_step_jvp(self._clone, out[t], u[t])
        return out

    def vjp(self, d_loss_d_states: VectorLike) -> RolloutGradient:
        """The gradient of a loss by the first state and the controls.

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
        stride = max(1, math.isqrt(steps))
        kept = self._checkpoints(stride)
        g, by_control = by_state[-1].copy(), np.zeros(self.controls.shape)
        for first in range((steps - 1) // stride * stride, -1, -stride):
            self._clone.set_state(kept[first // stride])
            made: list[tuple[Array, Array]] = []
            for t in range(first, min(first + stride, steps)):
                self._step(t)
                made.append(derivatives.jacobians(self._clone))
            for t in range(first + len(made) - 1, first - 1, -1):
                A, B = made.pop()
                by_control[t] = g @ B
                g = g @ A + by_state[t]
        return RolloutGradient(g, by_control)

    def _checkpoints(self, stride: int) -> list[WorldState]:
        """States before every `stride`th step."""
        clone = self._clone
        kept: list[WorldState] = []
        clone.set_state(self._start)
        for t in range(len(self.controls)):
            if t % stride == 0:
                kept.append(clone.get_state(clone.state_space()))
            self._step(t)
        return kept


def rollout(world: World, controls: VectorLike) -> DifferentiableRollout:
    """Step a differentiable World with given controls, and keep what derivatives over these steps need.

    Args:
        world: made with `differentiable=True`; it is stepped.
        controls: one row a step, in the layout of `World.control_space()`, (steps, control dimension).
    """
    require_kind(world, kind_named("World"), "world", "diff.rollout")
    if not world.is_differentiable:
        raise OperationError("this World takes no derivatives; make it with World(differentiable=True)")
    space = state_vectors.own_space(world, control=True, rigid_only=False)
    rows = values.array(controls, "controls")
    if rows.ndim != 2 or rows.shape[1] != space.dimension:
        raise values.ShapeError(f"controls must have shape (steps, {space.dimension}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ArgumentError("controls must contain only finite values")
    clone, states = persistence.clone_world(world), [state_vectors.get_vector(world)]
    for row in rows:
        state_vectors.set_vector(world, row, "controls", control=True)
        world.step()
        states.append(state_vectors.get_vector(world))
    return DifferentiableRollout(clone, np.array(states), rows.copy())
