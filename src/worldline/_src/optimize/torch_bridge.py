# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rollouts as a differentiable function of PyTorch; PyTorch is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worldline._src.errors import CapabilityError
from worldline._src.facade.world import World
from worldline._src.optimize.functions import RolloutFunction


def torch_rollout(
    world: World, controls: Sequence[str] | None = None, *, steps_per_action: int = 1
) -> Callable[..., Any]:
    """A function of tensors (state, actions, parameters) that gives all states of a rollout, with gradients.

    Arguments are those of `RolloutFunction`. The function takes a state ([rollouts,] state dimension),
    actions ([rollouts,] steps, m) and, if they are not those of the World, parameters ([rollouts,] p), and
    gives states ([rollouts,] steps + 1, state dimension) of the type of the state. Computation is in double
    precision, on the processor.
    """
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise CapabilityError("torch_rollout needs PyTorch: pip install torch") from error
    rollout = RolloutFunction(world, controls, steps_per_action=steps_per_action)

    class Rollout(torch.autograd.Function):
        """See `RolloutFunction`."""

        @staticmethod
        def forward(ctx: Any, state: Any, actions: Any, parameters: Any) -> Any:
            x, u, p = (given.detach().cpu().double() for given in (state, actions, parameters))
            states = torch.from_numpy(rollout(x.numpy(), u.numpy(), p.numpy()))
            ctx.save_for_backward(states, u, p)
            ctx.kinds = state.dtype, actions.dtype, parameters.dtype
            return states.to(state.dtype)

        @staticmethod
        def backward(ctx: Any, *by_states: Any) -> Any:
            states, actions, parameters = (one.numpy() for one in ctx.saved_tensors)
            given = by_states[0].detach().cpu().double().numpy()
            made = rollout.vjp(states, actions, given, parameters)
            return tuple(torch.from_numpy(g).to(kind) for g, kind in zip(made, ctx.kinds, strict=True))

    def function(state: Any, actions: Any, parameters: Any = None) -> Any:
        own = torch.from_numpy(rollout.parameters.copy()) if parameters is None else parameters
        return Rollout.apply(state, actions, own)

    return function
