# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the last step of worlds in lanes, and over many steps, with the names of a World."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from worldline._src.facade import derivatives, state_binding, state_vectors
from worldline._src.facade.batch.template import Template
from worldline._src.facade.batch.workers import Workers
from worldline._src.facade.derivatives import Provenance, StepDerivatives, StepGradient
from worldline._src.facade.differentiable_rollout import RolloutGradient
from worldline._src.spatial.poses import Array
from worldline._src.step.lane_derivatives import DifferentiableLanes, LaneColumns, LaneTangent


class LaneGradients:
    """Derivatives of steps in lanes by states and controls of the World that a batch was made of."""

    def __init__(self, template: Template, lanes: DifferentiableLanes) -> None:
        world, runtime = template.world, template.runtime
        assert world is not None and runtime is not None, "models that were built by code have no derivatives"
        layout = derivatives.new_layout(world, runtime)
        self.state_names, self.control_names = layout.state_names, layout.control_names
        columns = LaneColumns(layout.tangent, layout.changes[:, :2], len(layout.state_names))
        self._tangent, self._lanes = LaneTangent(lanes, runtime.sim, columns), lanes
        offsets, space = (
            runtime.model.arenas.offsets,
            state_vectors.own_space(world, control=False, rigid_only=False),
        )
        rows = state_binding.bind(world, space, control=False)[1].rows
        nq = lanes.q.shape[1]
        # a vector of the state is coordinates and velocities in another order
        self._order = np.where(rows < offsets["v"], rows - offsets["q"], rows - offsets["v"] + nq)
        space = state_vectors.own_space(world, control=True, rigid_only=False)
        binding = state_binding.bind(world, space, control=True)[1]
        self._controls = [("control", binding.in_actuators, binding.actuator_rows)]
        for name, count in (("force", lanes.v.shape[1]), ("body_f", 6 * runtime.model.body_count)):
            numbers = binding.rows - offsets[name]
            own = (numbers >= 0) & (numbers < count)
            self._controls.append((name, binding.in_arena[own], numbers[own]))
        self.provenance: Mapping[str, Provenance] = MappingProxyType(self._provenance())

    def _provenance(self) -> dict[str, Provenance]:
        constraints = self._lanes.constraints
        made = {
            "state_jacobian": Provenance.ANALYTIC,
            "control_jacobian": Provenance.ANALYTIC,
            "parameter_jacobian": Provenance.UNSUPPORTED,
            "joint forces": Provenance.DUAL,
        }
        if constraints.constrains:
            made["constraint solve"] = Provenance.ANALYTIC
            if constraints.collision is not None:
                made["contact geometry"] = Provenance.DUAL
        return made

    # ---- the last step

    def jacobians(self, which: np.ndarray, workers: Workers) -> tuple[Array, Array]:
        """Derivatives by states and by controls, (worlds, n, n) and (worlds, n, m)."""
        return self._tangent.jacobians(*self._lanes.began(which), workers.share)

    def step_derivatives(self, which: np.ndarray, workers: Workers) -> StepDerivatives:
        """See `WorldBatch.get_step_derivatives`."""
        A, B = self.jacobians(which, workers)
        none = np.zeros((len(which), len(self.state_names), 0))
        return StepDerivatives(A, B, none, self.state_names, self.control_names, (), self.provenance)

    def vjp(self, which: np.ndarray, g: Array, workers: Workers) -> StepGradient:
        """See `WorldBatch.apply_step_vjp`."""
        made = self.of_rows(self._lanes.began(which), g, workers)
        return StepGradient(*made, np.zeros((len(which), 0)))

    def jvp(self, which: np.ndarray, x: Array, u: Array | None, workers: Workers) -> Array:
        """See `WorldBatch.apply_step_jvp`."""
        A, B = self.jacobians(which, workers)
        made = np.einsum("wij,wj->wi", A, x)
        return made if u is None else made + np.einsum("wij,wj->wi", B, u)

    # ---- many steps

    def states(self) -> Array:
        """State vectors of all worlds, (worlds, state dimension)."""
        return np.concatenate([self._lanes.q, self._lanes.v], axis=1)[:, self._order]

    def set_controls(self, lanes: DifferentiableLanes, rows: Array) -> None:
        """Write controls of all worlds, (worlds, control dimension)."""
        for name, places, numbers in self._controls:
            array: Array = getattr(lanes, name)
            array.reshape(lanes.worlds, -1)[:, numbers] = rows[:, places]

    def of_rows(self, rows: tuple[Array, Array], g: Array, workers: Workers) -> tuple[Array, Array]:
        """Gradients by states and controls of steps that began with rows of state and inputs."""
        return self._tangent.gradient(*rows, np.ascontiguousarray(g), workers.share)

    def along_rows(self, rows: tuple[Array, Array], x: Array, u: Array, workers: Workers) -> Array:
        """Changes of states after steps that began with rows of state and inputs."""
        A, B = self._tangent.jacobians(*rows, workers.share)
        return np.einsum("wij,wj->wi", A, x) + np.einsum("wij,wj->wi", B, u)

    def saved(self) -> DifferentiableLanes:
        """A copy of the worlds as they are."""
        return copy.deepcopy(self._lanes)


class LaneRollout:
    """Derivatives over steps in lanes: forward, and in reverse with checkpoints at about sqrt(T) of T steps.

    Steps are made again on a copy of the worlds, as `differentiable_rollout.py` makes those of one World.
    """

    num_parameters = 0

    def __init__(self, gradients: LaneGradients, controls: Array, workers: Workers) -> None:
        self._gradients, self._controls, self._workers = gradients, controls, workers
        self._lanes = gradients.saved()
        self._stride = max(1, math.isqrt(controls.shape[1]))
        self._checkpoints: list[Array] = []

    def keep(self, t: int, state: Array) -> None:
        """Keep rows of state before step `t` where there is a checkpoint."""
        if t % self._stride == 0:
            self._checkpoints.append(state.copy())

    def _steps(self, first: int, count: int) -> Iterator[tuple[Array, Array]]:
        """Make steps from a checkpoint on once more: the rows that each begins with."""
        lanes, workers = self._lanes, self._workers
        lanes.put_state(self._checkpoints[first // self._stride])
        for t in range(first, min(first + count, self._controls.shape[1])):
            self._gradients.set_controls(lanes, self._controls[:, t])
            lanes.advance(1, None if workers.is_caller else workers.share)
            yield lanes.began(np.arange(lanes.worlds))

    def jvp(self, x: Array, u: Array | None, p: Array | None) -> Array:
        """See `BatchRollout.jvp`; there are no parameters."""
        steps = self._controls.shape[1]
        u = np.zeros(self._controls.shape) if u is None else u
        out = np.empty((len(x), steps + 1, x.shape[1]))
        out[:, 0] = x
        for t, rows in enumerate(self._steps(0, steps) if steps else ()):
            out[:, t + 1] = self._gradients.along_rows(rows, out[:, t], u[:, t], self._workers)
        return out

    def vjp(self, given: Array) -> RolloutGradient:
        """See `BatchRollout.vjp`; given: by all states, (worlds, steps + 1, tangent dimension)."""
        worlds, steps, size = self._controls.shape
        g, by_control = given[:, -1].copy(), np.zeros((worlds, steps, size))
        for first in range((steps - 1) // self._stride * self._stride, -1, -self._stride):
            starts = list(self._steps(first, self._stride))
            for t in range(first + len(starts) - 1, first - 1, -1):
                made, by_control[:, t] = self._gradients.of_rows(starts.pop(), g, self._workers)
                g = made + given[:, t]
        return RolloutGradient(g, by_control, np.zeros((worlds, 0)))
