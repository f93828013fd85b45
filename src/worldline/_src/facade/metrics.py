# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Energy and momentum of a whole World in its present state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade import values
from worldline._src.facade.contacts import contact_summary
from worldline._src.facade.exclusive import exclusive
from worldline._src.kernels.constraints.tables import ITERATIONS
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class StepMetrics(NamedTuple):
    """What a World amounts to between two steps; asking changes nothing."""

    kinetic_energy: float
    """Of everything that moves, armature included [J]."""
    potential_energy: float
    """In the gravity field, zero at the world's origin, and in joint springs [J]."""
    linear_momentum: Array
    """World axes [kg m/s], (3,)."""
    angular_momentum: Array
    """About the world's origin, world axes [kg m^2/s], (3,)."""
    active_contact_count: int
    """Points of contact that the last step had rows for."""
    max_penetration_depth: float
    """Deepest of them [m]; 0 when none overlaps."""
    last_step_iterations: int
    """Of the solver of the last step; 0 when nothing was solved."""
    last_step_residual: float
    """Of the solver of the last step; 0 when nothing was solved."""

    @property
    def total_energy(self) -> float:
        """Kinetic and potential energy [J]."""
        return self.kinetic_energy + self.potential_energy


@exclusive
def compute_step_metrics(world: WorldRuntime) -> StepMetrics:
    """See `World.compute_step_metrics`."""
    runtime = world._live()
    model, sim = runtime.model, runtime.sim
    if model.body_count == 0:
        return StepMetrics(0.0, 0.0, np.zeros(3), np.zeros(3), 0, 0.0, 0, 0.0)
    q, v = sim.q.copy(), sim.v.copy()
    momentum = dynamics.momentum(model, q, v, about="origin")
    touching, deepest = contact_summary(runtime)
    return StepMetrics(
        kinetic_energy=float(dynamics.kinetic_energy(model, q, v)),
        potential_energy=float(dynamics.potential_energy(model, q)),
        linear_momentum=values.read_only(momentum[3:].copy()),
        angular_momentum=values.read_only(momentum[:3].copy()),
        active_contact_count=touching,
        max_penetration_depth=deepest,
        last_step_iterations=_iterations(runtime),
        last_step_residual=float(sim.solver_report[2]),
    )


def _iterations(runtime: Runtime) -> int:
    """Iterations of the solver of the last step."""
    constraints = runtime.constraints
    if constraints is None:
        return int(runtime.sim.solver_report[0])
    return int(constraints.column.counter[ITERATIONS]) if constraints.constrains else 0


@exclusive
def center_of_mass(world: WorldRuntime) -> Array:
    """Of everything with mass; the origin when there is none."""
    model = world._live().model
    if not model.body_mass.any():
        return np.zeros(3)
    return dynamics.center_of_mass(model, world._live().sim.q.copy())
