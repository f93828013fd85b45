# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts as a differentiable function of PyTorch; PyTorch is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worldline._src.errors import CapabilityError
from worldline._src.facade.world import World
from worldline._src.optimize.functions import RolloutFunction


def torch_rollout(
    world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
) -> Callable[[Any, Any], Any]:
    """A function of tensors (state, actions) that gives all states of a rollout and can be differentiated.

    Arguments are those of `RolloutFunction`. The function takes a state ([rollouts,] state dimension) and
    actions ([rollouts,] steps, m) on the processor and gives states ([rollouts,] steps + 1, state dimension)
    of the same type. Computation is in double precision.
    """
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise CapabilityError("torch_rollout needs PyTorch: pip install torch") from error
    rollout = RolloutFunction(world, controls, steps_per_action=steps_per_action)

    class Rollout(torch.autograd.Function):
        """See `RolloutFunction`."""

        @staticmethod
        def forward(ctx: Any, state: Any, actions: Any) -> Any:
            x, u = (given.detach().cpu().double().numpy() for given in (state, actions))
            states = torch.from_numpy(rollout(x, u))
            ctx.save_for_backward(states, torch.from_numpy(u))
            ctx.kinds = state.dtype, actions.dtype
            return states.to(state.dtype)

        @staticmethod
        def backward(ctx: Any, *by_states: Any) -> Any:
            states, actions = ctx.saved_tensors
            made = rollout.vjp(states.numpy(), actions.numpy(), by_states[0].detach().cpu().double().numpy())
            return tuple(torch.from_numpy(g).to(kind) for g, kind in zip(made, ctx.kinds, strict=True))

    return Rollout.apply
