# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts as a differentiable function of JAX; JAX is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.world import World
from worldline._src.optimize.functions import RolloutFunction


def jax_rollout(
    world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
) -> Callable[[Any, Any], Any]:
    """A function of arrays (state, actions) with a `jax.custom_vjp`, which works under `jit` and `vmap`.

    Arguments are those of `RolloutFunction`. The function takes a state ([rollouts,] state dimension) and
    actions ([rollouts,] steps, m) and gives states ([rollouts,] steps + 1, state dimension) of the same type,
    by a callback on the processor. Computation is in double precision.
    """
    try:
        import jax  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise CapabilityError("jax_rollout needs JAX: pip install jax") from error
    rollout = RolloutFunction(world, controls, steps_per_action=steps_per_action)

    def forward(state: Any, actions: Any) -> Any:
        return rollout(state, actions).astype(state.dtype)

    def backward(states: Any, actions: Any, by_states: Any) -> Any:
        by_first, by_actions = rollout.vjp(states, actions, by_states)
        return by_first.astype(states.dtype), by_actions.astype(actions.dtype)

    def shaped(shape: tuple[int, ...], like: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, like.dtype)

    @jax.custom_vjp
    def function(state: Any, actions: Any) -> Any:
        out = shaped((*actions.shape[:-2], actions.shape[-2] + 1, state.shape[-1]), state)
        return jax.pure_callback(
            lambda x, u: forward(np.asarray(x), np.asarray(u)), out, state, actions, vmap_method="sequential"
        )

    def keep(state: Any, actions: Any) -> Any:
        states = function(state, actions)
        return states, (states, actions)

    def apply(kept: Any, by_states: Any) -> Any:
        states, actions = kept
        first = (*states.shape[:-2], states.shape[-1])
        return jax.pure_callback(
            lambda x, u, g: backward(np.asarray(x), np.asarray(u), np.asarray(g)),
            (shaped(first, states), shaped(actions.shape, actions)),
            states,
            actions,
            by_states,
            vmap_method="sequential",
        )

    function.defvjp(keep, apply)
    return function
