# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a scene requests of a step, for World, Simulation, LaneSimulation and model.step.

Integration family, solver of constraints, sleep and divergence come from the options of the scene a Model was
built from. A Model that was built by code has none and steps like a World that was built by code.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.model.kinds import JointDrive
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene import policies
from worldline._src.scene.options import IntegratorMethod, SimulateOption, SolverType
from worldline._src.step.constraints import Constraints
from worldline._src.step.divergence import ACTIONS, DIVERGENCE_LIMIT, DivergencePolicy
from worldline._src.step.island_options import Rest, SolverMethod
from worldline._src.step.stepping import MultibodyIntegrationFamily as Family
from worldline._src.step.stepping import VariationalOptions

IMPLICIT_METHODS = (
    IntegratorMethod.Implicit,
    IntegratorMethod.ImplicitVelocity,
    IntegratorMethod.ImplicitFast,
)
"""Methods of a scene that damp at the velocity of the end of a step, those of actuators and tendons too."""


def family_of(option: SimulateOption | None) -> Family:
    """The integration family that options of a scene ask for; semi-implicit Euler without a scene.

    The semi-implicit integrator of a scene damps implicitly unless `disable_implicit_damping` is set.
    """
    if option is None:
        return Family.SEMI_IMPLICIT
    method = option.integrator
    if method is IntegratorMethod.RungeKutta4:
        return Family.RUNGE_KUTTA_4
    variational = option.policy.multibody.integration_family is policies.IntegrationFamily.Variational
    if method is IntegratorMethod.Variational or (method is None and variational):
        return Family.VARIATIONAL
    if method is IntegratorMethod.Explicit:
        return Family.SEMI_IMPLICIT
    if method in IMPLICIT_METHODS:
        return Family.IMPLICIT_VELOCITY
    return Family.SEMI_IMPLICIT if option.disable_implicit_damping else Family.IMPLICIT_DAMPING


class Semantics(NamedTuple):
    """What every stepper of a model does unless its caller says otherwise."""

    family: Family
    variational: VariationalOptions
    divergence: DivergencePolicy
    limit: float


def semantics_of(model: Model) -> Semantics:
    """The integration and the divergence policy that the scene of a model requests."""
    option = model.option
    if option is None:
        return Semantics(Family.SEMI_IMPLICIT, VariationalOptions(), DivergencePolicy.RAISE, DIVERGENCE_LIMIT)
    multibody, divergence = option.policy.multibody, option.policy.divergence
    variational = VariationalOptions(multibody.variational_max_iterations, multibody.variational_tolerance)
    return Semantics(family_of(option), variational, ACTIONS[divergence.action], divergence.limit)


_BY_POLICY = {
    policies.ContactSolverMethod.SequentialImpulse: SolverMethod.SEQUENTIAL_IMPULSE,
    policies.ContactSolverMethod.BoxedLcp: SolverMethod.BOXED,
    policies.ContactSolverMethod.Automatic: SolverMethod.AUTOMATIC,
}
_BY_TYPE = {
    SolverType.PGS: SolverMethod.AUTOMATIC,
    SolverType.PGSIMPR: SolverMethod.AUTOMATIC,
    SolverType.Newton: SolverMethod.NEWTON,
    SolverType.CG: SolverMethod.NEWTON,
    SolverType.Dantzig: SolverMethod.BOXED,
    SolverType.Lemke: SolverMethod.BOXED,
}


def solver_of(option: SimulateOption) -> SolverMethod:
    """The method that options of a scene ask for: that of its policy, else by `solver_type`."""
    method = option.policy.contact_solver_method
    return _BY_TYPE[option.solver_type] if method is None else _BY_POLICY[method]


def constraints_of(model: Model) -> Constraints:
    """Constraints of a model, solved and put to sleep as its scene requests; refuses what no stage does."""
    require_available(model)
    made = Constraints(model, servos_of(model))
    if made.missing:
        raise CapabilityError(f"a step does not have {', '.join(made.missing)}")
    option = model.option
    if option is not None:
        policy = option.policy
        made.choose(solver_of(option), policy.strict_solver_resolution, sweeps=policy.contact_sweeps)
        rest = policy.deactivation
        if rest.enabled:
            made.sleep(
                Rest(
                    rest.linear_speed_threshold,
                    rest.angular_speed_threshold,
                    rest.generalized_speed_threshold,
                    rest.time_until_sleep,
                    rest.disturbance_force_threshold,
                    rest.wake_threshold_scale,
                )
            )
    else:
        made.choose(SolverMethod.AUTOMATIC)
    return made


def require_available(model: Model, derivatives: bool = False) -> None:
    """Refuse methods that a scene may name and no build has, by name; derivatives where there are none."""
    option = model.option
    if option is None:
        return
    if option.policy.rigid_body_solver is policies.RigidBodySolver.Barrier:
        raise CapabilityError("a step does not have rigid_body_solver Barrier")
    if option.policy.differentiable and not derivatives:
        raise CapabilityError(
            "steps of arrays do not have derivatives, which policy.differentiable requests; a World has"
        )


def servos_of(model: Model) -> np.ndarray:
    """Degrees of freedom that motors with a largest force move to a commanded speed."""
    if model.joint_drive is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero(model.joint_drive == JointDrive.SERVO)


def drives_of(model: Model) -> np.ndarray:
    """What every degree of freedom makes of its command, as `kernels/drives.py` numbers it."""
    if model.joint_drive is None:
        return np.zeros(model.joint_dof_count, np.int64)
    # servos and mimics are moved by rows and take no force from their commands
    rows = np.isin(model.joint_drive, [JointDrive.SERVO, JointDrive.MIMIC])
    return np.where(rows, JointDrive.PASSIVE, model.joint_drive).astype(np.int64)
