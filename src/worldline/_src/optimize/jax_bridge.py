# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts as a differentiable function of JAX; JAX is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.world import World
from worldline._src.optimize.functions import RolloutFunction


def jax_rollout(
    world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
) -> Callable[..., Any]:
    """A function of arrays (state, actions, parameters) with a `jax.custom_vjp`, for `jit` and `vmap` too.

    Arguments are those of `RolloutFunction`. The function takes a state ([rollouts,] state dimension),
    actions ([rollouts,] steps, m) and, if they are not those of the World, parameters ([rollouts,] p), and
    gives states ([rollouts,] steps + 1, state dimension) of the type of the state, by a callback on the
    processor. Computation is in double precision.
    """
    try:
        import jax  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise CapabilityError("jax_rollout needs JAX: pip install jax") from error
    rollout = RolloutFunction(world, controls, steps_per_action=steps_per_action)

    def forward(state: Any, actions: Any, parameters: Any) -> Any:
        return rollout(state, actions, parameters).astype(state.dtype)

    def backward(states: Any, by_states: Any, *given: Any) -> Any:
        made = rollout.vjp(states, given[0], by_states, given[1])
        return tuple(g.astype(one.dtype) for g, one in zip(made, (states, *given), strict=True))

    def called(function: Callable[..., Any], result: Any, *given: Any) -> Any:
        return jax.pure_callback(
            lambda *arrays: function(*map(np.asarray, arrays)), result, *given, vmap_method="sequential"
        )

    def shaped(shape: tuple[int, ...], like: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, like.dtype)

    @jax.custom_vjp
    def states_of(state: Any, actions: Any, parameters: Any) -> Any:
        out = shaped((*actions.shape[:-2], actions.shape[-2] + 1, state.shape[-1]), state)
        return called(forward, out, state, actions, parameters)

    def keep(state: Any, actions: Any, parameters: Any) -> Any:
        states = states_of(state, actions, parameters)
        return states, (states, actions, parameters)

    def apply(kept: Any, by_states: Any) -> Any:
        states, *given = kept
        first = shaped((*states.shape[:-2], states.shape[-1]), states)
        return called(
            backward, (first, *(shaped(one.shape, one) for one in given)), states, by_states, *given
        )

    states_of.defvjp(keep, apply)

    def function(state: Any, actions: Any, parameters: Any = None) -> Any:
        own = jax.numpy.asarray(rollout.parameters) if parameters is None else parameters
        return states_of(state, actions, own)

    return function
