# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the last step of every world of a batch, and over many steps.

Steps in lanes are differentiated in lanes (`lane_gradients.py`). Worlds of a batch on threads are
differentiable Worlds; each is differentiated by itself, and the results are stacked with the world as their
first dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, ShapeError, require_kind
from worldline._src.facade import derivatives, differentiable_rollout, values
from worldline._src.facade.batch.lane_gradients import LaneRollout
from worldline._src.facade.batch.lane_worlds import LaneWorlds
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


def _require_differentiable(batch: WorldBatch, which: np.ndarray) -> LaneWorlds | ThreadWorlds:
    """The worlds of a batch that takes derivatives; refuses frozen ones, whose last step was not made."""
    worlds = batch._worlds
    template = batch._template.world
    if template is None or not template.is_differentiable:
        raise OperationError(
            "this WorldBatch takes no derivatives; make it of a World(differentiable=True) or of a scene "
            "that requests them"
        )
    frozen = which[worlds.frozen[which]]
    if frozen.size:
        raise OperationError(f"world {int(frozen[0])} is frozen and has no last step to differentiate")
    return worlds


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
    layout = _require_differentiable(batch, chosen)
    if not len(chosen):
        raise ArgumentError("worlds of get_step_derivatives must name at least one world")
    if isinstance(layout, LaneWorlds):
        return layout.require_gradients().step_derivatives(chosen, workers)
    worlds = layout.single_worlds(chosen)
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
    workers, layout = workers_of(threads, None), _require_differentiable(batch, batch._which)
    if isinstance(layout, LaneWorlds):
        gradients = layout.require_gradients()
        shape = layout.count, len(gradients.state_names)
        g = values.shaped(loss_gradient, shape, "d_loss_d_next_state")
        return gradients.vjp(batch._which, g, workers)
    worlds = layout.single_worlds(batch._which)
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
    workers, layout = workers_of(threads, None), _require_differentiable(batch, batch._which)
    n = len(batch._which)
    if isinstance(layout, LaneWorlds):
        gradients = layout.require_gradients()
        x = values.shaped(state, (n, len(gradients.state_names)), "state tangents")
        shape = n, len(gradients.control_names)
        u = None if control is None else values.shaped(control, shape, "control tangents")
        _rows(parameter, (n, 0), "parameter tangents")
        return gradients.jvp(batch._which, x, u, workers)
    worlds = layout.single_worlds(batch._which)
    first = worlds[0]
    x = values.shaped(state, (n, first.get_state(first.state_space()).tangent_dimension), "state tangents")
    u = _rows(control, (n, first.control_space().dimension), "control tangents")
    p = _rows(parameter, (n, first.num_differentiable_parameters), "parameter tangents")
    made = _of_each(workers, lambda i: derivatives.apply_step_jvp(worlds[i], x[i], u[i], p[i]), n)
    return np.array(made)


def _rows(given: VectorLike | None, shape: tuple[int, ...], what: str) -> Sequence[Array | None]:
    """An array of a world each, checked; None for each world where there is none."""
    return [None] * shape[0] if given is None else [*values.shaped(given, shape, what)]


class _ThreadRollout(NamedTuple):
    """Derivatives over steps of worlds on threads, each by itself."""

    rollouts: Sequence[DifferentiableRollout]
    workers: Workers

    @property
    def num_parameters(self) -> int:
        """Numbers of all parameters of a world."""
        return self.rollouts[0].num_parameters

    def jvp(self, x: Array, u: Array | None, p: Array | None) -> Array:
        """See `BatchRollout.jvp`."""
        runs, none = self.rollouts, [None] * len(self.rollouts)
        controls, parameters = none if u is None else [*u], none if p is None else [*p]
        made = _of_each(
            self.workers, lambda i: runs[i].jvp(x[i], controls[i], parameters[i]), len(self.rollouts)
        )
        return np.array(made)

    def vjp(self, given: Array) -> RolloutGradient:
        """See `BatchRollout.vjp`."""
        made = _of_each(self.workers, lambda i: self.rollouts[i].vjp(given[i]), len(self.rollouts))
        return RolloutGradient(*(np.array(part) for part in zip(*made, strict=True)))


class BatchRollout(NamedTuple):
    """Steps of many worlds, and derivatives over them; see `rollout`.

    Attributes:
        states: state vectors before the first step and after each, (worlds, steps + 1, state dimension).
        controls: controls of the steps, (worlds, steps, control dimension).
    """

    states: Array
    controls: Array
    products: _ThreadRollout | LaneRollout
    """Derivatives in the layout of the batch."""
    tangent_dimension: int
    """Numbers of a tangent of a state."""

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
        worlds, products = len(self.controls), self.products
        x = values.shaped(states, (worlds, self.tangent_dimension), "state tangents")
        u, p = controls, parameters
        if u is not None:
            u = values.shaped(u, self.controls.shape, "control tangents")
        if p is not None:
            p = values.shaped(p, (worlds, products.num_parameters), "parameter tangents")
        return products.jvp(x, u, p)

    def vjp(self, d_loss_d_states: VectorLike) -> RolloutGradient:
        """The gradient of a loss by the first states and the controls of all worlds.

        Args:
            d_loss_d_states: by all states, (worlds, steps + 1, tangent dimension), or by the last ones alone,
                (worlds, tangent dimension); on their tangents.

        Returns:
            `state` (worlds, tangent dimension), `controls` (worlds, steps, control dimension), `parameters`
            (worlds, their numbers).
        """
        worlds, steps = self.controls.shape[:2]
        given = values.array(d_loss_d_states, "d_loss_d_states")
        by_state = np.zeros((worlds, steps + 1, self.tangent_dimension))
        if given.ndim == 2:
            by_state[:, -1] = values.shaped(given, by_state[:, -1].shape, "d_loss_d_states")
        else:
            by_state = values.shaped(given, by_state.shape, "d_loss_d_states")
        return self.products.vjp(by_state)


def batch_rollout(batch: WorldBatch, controls: VectorLike, threads: int) -> BatchRollout:
    """Step the worlds of a differentiable batch with given controls, and keep what derivatives need."""
    workers, layout = workers_of(threads, None), _require_differentiable(batch, batch._which)
    template = batch._template.world
    assert template is not None
    count, size = len(batch._which), template.control_space().dimension
    tangent = template.get_state(template.state_space()).tangent_dimension
    rows = values.array(controls, "controls")
    if rows.ndim != 3 or len(rows) != count or rows.shape[2] != size:
        raise ShapeError(f"controls must have shape ({count}, steps, {size}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ArgumentError("controls must be finite")
    if isinstance(layout, LaneWorlds):
        return BatchRollout(*layout.rollout(rows, workers), tangent)
    worlds = layout.single_worlds(batch._which)
    try:
        made = _of_each(workers, lambda i: differentiable_rollout.rollout(worlds[i], rows[i]), len(worlds))
    finally:
        layout.pull_all()
    states = np.array([one.states for one in made])
    return BatchRollout(states, rows.copy(), _ThreadRollout(tuple(made), workers), tangent)


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
