# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Energy balance of the last step: changes of kinetic energy by source.

A semi-implicit step changes velocities by h a with M a = sum of forces, so the work of each force is h times
its product with the mean of both velocities, exactly. What is left is what the integrator itself did: the
motion of the mass matrix, less the work of velocity-product forces that stands for it. Every part is computed
on its own; `EnergyLedger.unexplained` is what they fail to explain, rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import CapabilityError, OperationError
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.force_shares import force_shares, generalized, gravity_compensation, late_forces
from worldline._src.kernels import drives
from worldline._src.kernels.constraints import tables as t
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.stepping import IMPLICIT_FAMILIES, MultibodyIntegrationFamily

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime
    from worldline._src.step.simulation import Simulation

_FAMILIES = (MultibodyIntegrationFamily.SEMI_IMPLICIT, *IMPLICIT_FAMILIES)


@dataclass(frozen=True)
class EnergyLedger:
    """Change of kinetic energy in the last step by cause, all in joules; see `World.energy_ledger`.

    Attributes:
        gravity: work of gravity, minus the change of potential energy up to the integrator's error.
        actuators: commanded forces, drives, servo and mimic motors, and actuators of the scene.
        external: forces and torques on bodies, gravity compensation among them.
        springs: springs of joints, of tendons and between bodies.
        damping: their damping, and the drag of a fluid.
        joint_friction: dry friction of joints and tendons.
        contact: contacts, without the part below.
        position_correction: contacts where hard ones push overlap apart.
        limits: limits of position and velocity, tendons and other constraints.
        prescribed: whatever drives prescribed motion.
        integrator_error: what a step of this size does by itself.
        kinetic_change: kinetic energy after the step less that before.
        potential_change: the same of potential energy, springs included.
        unexplained: kinetic_change less the sum of all causes; rounding.
    """

    gravity: float
    actuators: float
    external: float
    springs: float
    damping: float
    joint_friction: float
    contact: float
    position_correction: float
    limits: float
    prescribed: float
    integrator_error: float
    kinetic_change: float
    potential_change: float

    @property
    def unexplained(self) -> float:
        """Rounding [J]."""
        return self.kinetic_change - sum(self.causes().values())

    def causes(self) -> dict[str, float]:
        """Work by cause [J]; they add up to the change of kinetic energy."""
        named = [field.name for field in fields(self)]
        return {name: getattr(self, name) for name in named if not name.endswith("_change")}

    def __str__(self) -> str:
        rows = {**self.causes(), "kinetic energy": self.kinetic_change}
        return "\n".join(f"{name.replace('_', ' '):<20} {value: .6e} J" for name, value in rows.items())


@exclusive
def energy_ledger(world: WorldRuntime) -> EnergyLedger:
    """See `World.energy_ledger`."""
    runtime = world._live()
    sim = runtime.sim
    if not sim.stepped:
        raise OperationError("energy_ledger is about the last step, and the state was written since")
    if sim.family not in _FAMILIES:
        raise CapabilityError(f"energy_ledger is for steps of one acceleration, not for '{sim.family.value}'")
    model, h = runtime.model, sim.time_step
    q0, v0, a = sim.start_q.copy(), sim.start_v.copy(), sim.a.copy()
    q1, v1, v = sim.q.copy(), sim.v.copy(), sim.start_v + h * sim.a
    mean = 0.5 * (v0 + v)
    M = dynamics.mass_matrix(model, q0)

    def work(force: Array) -> float:
        return float(h * mean @ force)

    gravity = -dynamics.gravity_forces(model, q0)
    bias = _bias(sim, q0, v0)
    share = force_shares(runtime, q0)
    lifted = gravity_compensation(model, q0)
    at_rest = dynamics.passive_forces(model, q0, np.zeros_like(v0))
    springs = at_rest - lifted + share.tendon_springs
    damping = dynamics.passive_forces(model, q0, v0) - at_rest + share.tendon_damping
    motors = sim.tau - springs - damping + share.motors
    if sim.implicit:
        # of the end of the step; what it adds to the beginning
        late = -h * a * (sim.drive < drives.VELOCITY)
        damping = damping + model.joint_damping * late
        motors = motors + model.joint_target_kd * late * (sim.drive == drives.FORCE)
        if sim.family is MultibodyIntegrationFamily.IMPLICIT_VELOCITY:
            of_actuators, of_tendons = late_forces(runtime, late)
            motors, damping = motors + of_actuators, damping + of_tendons
    external = lifted
    if runtime.acted().any():
        external = external + generalized(model, q0, runtime.acted())
    springs, damping = springs + share.springs, damping + share.damping
    rows, contact, correction = _rows(runtime, q0, mean)
    prescribed = M @ a + bias - gravity - external - rows - sim.tau - share.springs - share.damping
    prescribed -= share.efforts
    prescribed[sim.drive < drives.VELOCITY] = 0.0

    def kinetic(velocity: Array) -> float:
        return float(0.5 * velocity @ M @ velocity)

    change = float(dynamics.kinetic_energy(model, q1, v1) - dynamics.kinetic_energy(model, q0, v0))
    return EnergyLedger(
        gravity=work(gravity),
        actuators=work(motors + share.efforts),
        external=work(external),
        springs=work(springs),
        damping=work(damping + share.row_damping),
        joint_friction=work(share.friction),
        contact=contact - correction,
        position_correction=correction,
        limits=work(rows - share.friction - share.motors - share.row_damping) - contact,
        prescribed=work(prescribed),
        integrator_error=float(dynamics.kinetic_energy(model, q1, v1)) - kinetic(v) - work(bias),
        kinetic_change=change,
        potential_change=float(dynamics.potential_energy(model, q1) - dynamics.potential_energy(model, q0)),
    )


def _bias(sim: Simulation, q: Array, v: Array) -> Array:
    """Velocity-product forces of a step; those of free bodies on their own are what their turn takes."""
    bias = dynamics.coriolis_forces(sim.model, q, v)
    for i, d in sim.floating:
        if sim.spin[i, 3]:
            bias[d : d + 3], bias[d + 3 : d + 6] = 0.0, sim.spin[i, :3] / sim.time_step
    return bias


def _rows(runtime: Runtime, q: Array, mean: Array) -> tuple[Array, float, float]:
    """Generalized forces of all rows, work of contacts, and what of it pushes apart."""
    constraints = runtime.constraints
    if constraints is None or not constraints.constrains:
        return np.zeros(runtime.model.joint_dof_count), 0.0, 0.0
    column, h = constraints.column, runtime.sim.time_step
    contact = correction = 0.0
    touching = int(column.counter[t.CONTACT_COUNT])
    if touching:
        assert constraints.collision is not None
        twists = _body_motion(runtime, q, mean)
        for k in np.flatnonzero(column.contact_row[:touching, 0] >= 0).tolist():
            axes = column.frame[k].reshape(3, 3)
            force, torque = column.contact_force[k, :3] @ axes, column.contact_force[k, 3:] @ axes
            point = constraints.collision.column.contact[k, :3]
            bodies: list[int] = constraints.collision.column.contact_id[k, 2:4].tolist()
            for body, sign in zip(bodies, (-1.0, 1.0), strict=True):
                if body > 0:
                    w, u, center = twists[body - 1]
                    contact += sign * h * float(force @ (u + np.cross(w, point - center)) + torque @ w)
            correction += 0.5 * h * column.contact_force[k, 0] * column.mu[k, 5]
    return column.qfrc.copy(), contact, correction


def _body_motion(runtime: Runtime, q: Array, v: Array) -> list[tuple[Array, Array, Array]]:
    """Angular velocity, velocity of the origin and its place, of every body, world axes."""
    model = runtime.model
    poses = dynamics.forward_kinematics(model, q)
    twists = dynamics.link_velocities(model, q, v)
    return [(twists[b, :3], twists[b, 3:], poses[b, :3]) for b in range(model.body_count)]
