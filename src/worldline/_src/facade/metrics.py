# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Energy and momentum of a whole World, as it stands now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from worldline._src.kernels.constraints.tables import CONTACT_COUNT, ITERATIONS
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world import World

DEPTH = 6
"""Column of the depth in the collision tables' contacts; kernels/narrowphase/tables.py."""


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


def compute_step_metrics(world: World) -> StepMetrics:
    """See `World.compute_step_metrics`."""
    runtime = world._live()
    model, sim = runtime.model, runtime.sim
    if model.body_count == 0:
        return StepMetrics(0.0, 0.0, np.zeros(3), np.zeros(3), 0, 0.0, 0, 0.0)
    q, v = sim.q.copy(), sim.v.copy()
    momentum = dynamics.momentum(model, q, v, about="origin")
    touching, deepest, iterations = _solved(runtime)
    return StepMetrics(
        kinetic_energy=float(dynamics.kinetic_energy(model, q, v)),
        potential_energy=float(dynamics.potential_energy(model, q)),
        linear_momentum=momentum[3:],
        angular_momentum=momentum[:3],
        active_contact_count=touching,
        max_penetration_depth=deepest,
        last_step_iterations=iterations,
        last_step_residual=float(sim.solver_report[2]),
    )


def _solved(runtime: Runtime) -> tuple[int, float, int]:
    """Contacts of the last step, the depth of the deepest, and the iterations of its solver."""
    constraints = runtime.constraints
    if constraints is None:
        return 0, 0.0, int(runtime.sim.solver_report[0])
    counter, first_row = constraints.column["counter"], constraints.column["contact_row"][:, 0]
    iterations = int(counter[ITERATIONS]) if constraints.constrains else 0
    if constraints.hits is None:
        return 0, 0.0, iterations
    # what the narrow phase finds within margins but does not push has no row
    pushing = np.flatnonzero(first_row[: counter[CONTACT_COUNT]] >= 0)
    depths = constraints.hits.column["contact"][pushing, DEPTH]
    return pushing.size, float(max(depths.max(initial=0.0), 0.0)), iterations


def center_of_mass(world: World) -> Array:
    """Of everything with mass; the origin when there is none."""
    model = world._live().model
    if model.body_count == 0 or not model.body_mass.any():
        return np.zeros(3)
    return dynamics.center_of_mass(model, world._live().sim.q.copy())
