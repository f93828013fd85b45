# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the last step of every world of a batch, and over many steps.

Worlds of a differentiable batch are differentiable Worlds on threads; each is differentiated by itself, and
the results are stacked with the world as their first dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, ShapeError, require_kind
from worldline._src.facade import derivatives, differentiable_rollout, values
from worldline._src.facade.batch.selecting import WhichWorlds, indices_of
from worldline._src.facade.batch.thread_worlds import ThreadWorlds
from worldline._src.facade.batch.workers import Workers, workers_of
from worldline._src.facade.derivatives import StepDerivatives, StepGradient
from worldline._src.facade.differentiable_rollout import DifferentiableRollout, RolloutGradient
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world import World
from worldline._src.facade.world_kind import kind_named
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.batch.world_batch import WorldBatch

_Made = TypeVar("_Made")


def _differentiable_worlds(batch: WorldBatch, which: np.ndarray) -> list[World]:
    """The Worlds of a batch that takes derivatives; refuses frozen ones, whose last step was not made."""
    worlds = batch._worlds
    template = batch._template.world
    if template is None or not template.is_differentiable:
        raise OperationError(
            "this WorldBatch takes no derivatives; make it of a World(differentiable=True) or of a scene "
            "that requests them"
        )
    assert isinstance(worlds, ThreadWorlds), "a differentiable World is an obstacle to lanes"
    frozen = which[worlds.frozen[which]]
    if frozen.size:
        raise OperationError(f"world {int(frozen[0])} is frozen and has no last step to differentiate")
    return worlds.single_worlds(which)


def _of_each(workers: Workers, function: Callable[[int], _Made], count: int) -> list[_Made]:
    """Results of a function of 0 ... count - 1, computed by workers; raises the first error in that order."""
    made: dict[int, _Made] = {}
    errors: dict[int, BaseException] = {}

    def chunk(low: int, high: int, _: int) -> None:
        for i in range(low, high):
            try:
                made[i] = function(i)
            except BaseException as error:
                errors[i] = error

    workers.share(chunk, count, 1, 1)
    if errors:
        raise errors[min(errors)]
    return [made[i] for i in range(count)]


def get_step_derivatives(batch: WorldBatch, which: WhichWorlds, threads: int) -> StepDerivatives:
    """See `WorldBatch.get_step_derivatives`."""
    workers, chosen = workers_of(threads, None), indices_of(which, batch.num_worlds)
    worlds = _differentiable_worlds(batch, chosen)
    if not worlds:
        raise ArgumentError("worlds of get_step_derivatives must name at least one world")
    made = _of_each(workers, lambda i: derivatives.get_step_derivatives(worlds[i]), len(worlds))
    first = made[0]
    return StepDerivatives(
        np.array([one.state_jacobian for one in made]),
        np.array([one.control_jacobian for one in made]),
        np.array([one.parameter_jacobian for one in made]),
        first.state_names,
        first.control_names,
        first.parameter_names,
        first.provenance,
    )


def apply_step_vjp(batch: WorldBatch, loss_gradient: VectorLike, threads: int) -> StepGradient:
    """See `WorldBatch.apply_step_vjp`."""
    workers, worlds = workers_of(threads, None), _differentiable_worlds(batch, batch._which)
    size = worlds[0].get_state(worlds[0].state_space()).tangent_dimension
    g = values.shaped(loss_gradient, (len(worlds), size), "d_loss_d_next_state")
    made = _of_each(workers, lambda i: derivatives.apply_step_vjp(worlds[i], g[i]), len(worlds))
    return StepGradient(*(np.array(part) for part in zip(*made, strict=True)))


def apply_step_jvp(
    batch: WorldBatch,
    state: VectorLike,
    control: VectorLike | None,
    parameter: VectorLike | None,
    threads: int,
) -> Array:
    """See `WorldBatch.apply_step_jvp`."""
    workers, worlds = workers_of(threads, None), _differentiable_worlds(batch, batch._which)
    first, n = worlds[0], len(worlds)
    x = values.shaped(state, (n, first.get_state(first.state_space()).tangent_dimension), "state tangents")
    u = _rows(control, (n, first.control_space().dimension), "control tangents")
    p = _rows(parameter, (n, first.num_differentiable_parameters), "parameter tangents")
    made = _of_each(workers, lambda i: derivatives.apply_step_jvp(worlds[i], x[i], u[i], p[i]), n)
    return np.array(made)


def _rows(given: VectorLike | None, shape: tuple[int, ...], what: str) -> Sequence[Array | None]:
    """An array of a world each, checked; None for each world where there is none."""
    return [None] * shape[0] if given is None else [*values.shaped(given, shape, what)]


class BatchRollout(NamedTuple):
    """Steps of many worlds, and derivatives over them; see `rollout`.

    Attributes:
        states: state vectors before the first step and after each, (worlds, steps + 1, state dimension).
        controls: controls of the steps, (worlds, steps, control dimension).
    """

    states: Array
    controls: Array
    rollouts: Sequence[DifferentiableRollout]
    """Those of the single worlds."""
    workers: Workers

    def jvp(
        self, states: VectorLike, controls: VectorLike | None = None, parameters: VectorLike | None = None
    ) -> Array:
        """Changes of all states along changes of the first ones, of the controls and of the parameters.

        Args:
            states: on the tangents of the first states, (worlds, tangent dimension).
            controls: (worlds, steps, control dimension); zero when None.
            parameters: (worlds, their numbers); zero when None.

        Returns:
            Tangents of the states, (worlds, steps + 1, tangent dimension).
        """
        runs = self.rollouts
        x = values.array(states, "state tangents")
        if x.ndim != 2 or len(x) != len(runs):
            raise ShapeError(
                f"state tangents must have shape ({len(runs)}, tangent dimension), got {x.shape}"
            )
        u = _rows(controls, self.controls.shape, "control tangents")
        p = _rows(parameters, (len(runs), runs[0].num_parameters), "parameter tangents")
        made = _of_each(self.workers, lambda i: runs[i].jvp(x[i], u[i], p[i]), len(runs))
        return np.array(made)

    def vjp(self, d_loss_d_states: VectorLike) -> RolloutGradient:
        """The gradient of a loss by the first states and the controls of all worlds.

        Args:
            d_loss_d_states: by all states, (worlds, steps + 1, tangent dimension), or by the last ones alone,
                (worlds, tangent dimension); on their tangents.

        Returns:
            `state` (worlds, tangent dimension), `controls` (worlds, steps, control dimension), `parameters`
            (worlds, their numbers).
        """
        runs = self.rollouts
        given = values.array(d_loss_d_states, "d_loss_d_states")
        if given.ndim not in (2, 3) or len(given) != len(runs):
            raise ShapeError(
                f"d_loss_d_states must have shape ({len(runs)}, [steps + 1,] tangent dimension), got "
                f"{given.shape}"
            )
        made = _of_each(self.workers, lambda i: runs[i].vjp(given[i]), len(runs))
        return RolloutGradient(*(np.array(part) for part in zip(*made, strict=True)))


def batch_rollout(batch: WorldBatch, controls: VectorLike, threads: int) -> BatchRollout:
    """Step the worlds of a differentiable batch with given controls, and keep what derivatives need."""
    workers, worlds = workers_of(threads, None), _differentiable_worlds(batch, batch._which)
    size = worlds[0].control_space().dimension
    rows = values.array(controls, "controls")
    if rows.ndim != 3 or len(rows) != len(worlds) or rows.shape[2] != size:
        raise ShapeError(f"controls must have shape ({len(worlds)}, steps, {size}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ArgumentError("controls must be finite")
    assert isinstance(batch._worlds, ThreadWorlds)
    try:
        made = _of_each(workers, lambda i: differentiable_rollout.rollout(worlds[i], rows[i]), len(worlds))
    finally:
        batch._worlds.pull_all()
    return BatchRollout(np.array([one.states for one in made]), rows.copy(), tuple(made), workers)


def rollout(
    world: World | WorldBatch, controls: VectorLike, *, threads: int = 1
) -> DifferentiableRollout | BatchRollout:
    """Step a differentiable World, or the worlds of a batch, and keep what derivatives over the steps need.

    Args:
        world: made with `differentiable=True`, or a batch of such a World; it is stepped.
        controls: one row a step, in the layout of `World.control_space()`, (steps, control dimension); of a
            batch (worlds, steps, control dimension).
        threads: processors that share the worlds of a batch, 0 for all; 1 for a World.

    Example:
        >>> import numpy as np
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.01, gravity=(0, 0, 0), differentiable=True)
        >>> box = world.add_rigid_body("box", mass=2.0)
        >>> push = np.zeros((20, 6))
        >>> push[:, 3] = 1.0
        >>> run = sx.diff.rollout(world, push)
        >>> run.states.shape, run.jvp(np.zeros(12), push)[-1, 6].round(9).item()
        ((21, 13), 0.1)
        >>> batch = sx.WorldBatch(world, 3)
        >>> runs = sx.diff.rollout(batch, np.stack([push, 2.0 * push, 3.0 * push]))
        >>> runs.states.shape, runs.vjp(np.tile(np.eye(12)[6], (3, 1))).controls[:, 0, 3].round(9).tolist()
        ((3, 21, 13), [0.005, 0.005, 0.005])
    """
    if isinstance(world, World):
        if workers_of(threads, None).threads != 1:
            raise ArgumentError(f"threads must be 1 for a single World, got {threads!r}")
        return differentiable_rollout.rollout(world, controls)
    require_kind(world, kind_named("WorldBatch"), "world", "diff.rollout takes a World or a WorldBatch")
    return batch_rollout(world, controls, threads)
