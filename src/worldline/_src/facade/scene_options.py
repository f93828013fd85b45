# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion between options of a World and options of a description.

The semi-implicit integrator of a description damps implicitly unless the description says otherwise, so it
can express both families of semi-implicit Euler. A method that only a description can name becomes the
nearest one, and the report of the description says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    RigidBodySolver,
)
from worldline._src.facade.options import DeactivationOptions, MultibodyOptions, WorldOptions
from worldline._src.scene import policies
from worldline._src.scene.enums import counterparts
from worldline._src.scene.options import IntegratorMethod, SimulateOption, SolverType, made_by_code
from worldline._src.scene.world import World as Scene
from worldline._src.step.divergence import ACTIONS
from worldline._src.step.scene_semantics import IMPLICIT_METHODS, family_of
from worldline._src.step.stepping import MultibodyIntegrationFamily as Family

K = TypeVar("K")
V = TypeVar("V")
EARTH = (0.0, 0.0, -9.81)
_SOLVERS = counterparts(RigidBodySolver, policies.RigidBodySolver, IPC="Barrier")
_GRADIENTS = counterparts(ContactGradientMode, policies.ContactGradientMode)
_ACCELERATORS = counterparts(ComputeAcceleratorPolicy, policies.AcceleratorPolicy)
_METHODS = {
    ContactSolverMethod.SEQUENTIAL_IMPULSE: policies.ContactSolverMethod.SequentialImpulse,
    ContactSolverMethod.BOXED_LCP: policies.ContactSolverMethod.BoxedLcp,
    ContactSolverMethod.AUTOMATIC: policies.ContactSolverMethod.Automatic,
}
_BY_SOLVER_TYPE = {
    SolverType.PGS: ContactSolverMethod.AUTOMATIC,
    SolverType.PGSIMPR: ContactSolverMethod.AUTOMATIC,
    SolverType.Newton: ContactSolverMethod.NEWTON,
    SolverType.CG: ContactSolverMethod.NEWTON,
    SolverType.Dantzig: ContactSolverMethod.BOXED_LCP,
    SolverType.Lemke: ContactSolverMethod.BOXED_LCP,
}
_AUTOMATIC = (
    "becomes Newton's method, which solves the same problem to its end, and sequential impulses for islands "
    "of more than 22 free bodies; contact_solver_method SEQUENTIAL_IMPULSE has sweeps everywhere"
)
_REPLACED = {
    SolverType.PGSIMPR: f"PGSIMPR {_AUTOMATIC}",
    SolverType.CG: "CG becomes Newton's method, which minimizes the same cost",
    SolverType.Lemke: "Lemke becomes Dantzig's pivoting, which solves the same boxed problem",
}
"""Solvers of scenes that another one stands in for, and what the report says."""
_INTEGRATORS = {
    Family.SEMI_IMPLICIT: IntegratorMethod.SemiImplicit,
    Family.IMPLICIT_DAMPING: IntegratorMethod.SemiImplicit,
    Family.RUNGE_KUTTA_4: IntegratorMethod.RungeKutta4,
    Family.VARIATIONAL: IntegratorMethod.Variational,
    Family.IMPLICIT_VELOCITY: IntegratorMethod.ImplicitFast,
}
_DEACTIVATION = tuple(DeactivationOptions._fields)


def set_contact_defaults(scene: Scene) -> None:
    """How contacts of a World that came from no file are solved."""
    made_by_code(scene.simulate_option)


def from_description(scene: Scene) -> WorldOptions:
    """The options a description requests; switched-off gravity becomes zero gravity in both."""
    option, policy = scene.simulate_option, scene.simulate_option.policy
    _note_approximations(scene)
    if option.disable_gravity:
        option.disable_gravity, option.gravity = False, [0.0, 0.0, 0.0]
    method = next((name for name, word in _METHODS.items() if word is policy.contact_solver_method), None)
    return WorldOptions(
        time_step=option.timestep,
        gravity=EARTH if option.gravity is None else option.gravity,
        differentiable=policy.differentiable,
        rigid_body_solver=_back(_SOLVERS, policy.rigid_body_solver),
        multibody_options=MultibodyOptions(
            _family(scene),
            policy.multibody.variational_max_iterations,
            policy.multibody.variational_tolerance,
        ),
        contact_solver_method=method or _BY_SOLVER_TYPE[option.solver_type],
        contact_gradient_mode=_back(_GRADIENTS, policy.contact_gradient_mode),
        compute_accelerator_policy=_back(_ACCELERATORS, policy.accelerator),
        deactivation_options=DeactivationOptions(
            **{name: getattr(policy.deactivation, name) for name in _DEACTIVATION}
        ),
        strict_solver_resolution=policy.strict_solver_resolution,
        divergence_policy=ACTIONS[policy.divergence.action],
        divergence_limit=policy.divergence.limit,
        contact_sweeps=policy.contact_sweeps,
        fixed_layout=policy.fixed_layout,
        sensor_noise_seed=policy.sensor_noise_seed,
        sensor_noise_world=policy.sensor_noise_world,
    )


def _note_approximations(scene: Scene) -> None:
    """Report options whose values other engines act on and this one replaces."""
    option, plain = scene.simulate_option, SimulateOption()
    path = "$.simulate_option"
    if option.solver_type is SolverType.PGS:
        # what most formats start with: no loss, but who reads the report learns what runs
        scene.report.kept(f"{path}.solver_type", f"PGS {_AUTOMATIC}")
    if option.solver_type in _REPLACED:
        scene.report.approximated(f"{path}.solver_type", _REPLACED[option.solver_type])
    if (option.collision_iterations, option.collision_tolerance) != (
        plain.collision_iterations,
        plain.collision_tolerance,
    ):
        scene.report.approximated(
            f"{path}.collision_tolerance", "convex collision goes on to rounding, whatever is requested"
        )


def _back(table: Mapping[K, V], value: V) -> K:
    return next(name for name, described in table.items() if described is value)


def _family(scene: Scene) -> Family:
    """The family of every stepper, with a note in the report where it is not the method of the scene."""
    option = scene.simulate_option
    method, family = option.integrator, family_of(option)
    path = "$.simulate_option.integrator"
    if method is IntegratorMethod.Explicit:
        scene.report.approximated(path, f"{method.name} becomes the family '{family.value}'")
    if method is not None and method in IMPLICIT_METHODS:
        if method is not IntegratorMethod.ImplicitFast:
            message = f"{method.name} becomes the family '{family.value}'"
            scene.report.approximated(path, f"{message}, where velocity-product forces stay explicit")
        if option.density or option.viscosity:
            scene.report.approximated(path, "the drag of the fluid stays explicit")
    return family


def into_description(options: WorldOptions, scene: Scene) -> None:
    """Write the options of a World into a description, so that `from_description` gives them back."""
    option, policy = scene.simulate_option, scene.simulate_option.policy
    option.timestep = options.time_step
    option.gravity = options.gravity.tolist()
    chosen = options.multibody_options
    family = chosen.integration_family
    option.integrator = _INTEGRATORS[family]
    if family in (Family.SEMI_IMPLICIT, Family.IMPLICIT_DAMPING):
        option.disable_implicit_damping = family is Family.SEMI_IMPLICIT
    policy.multibody.integration_family = (
        policies.IntegrationFamily.Variational
        if family is Family.VARIATIONAL
        else policies.IntegrationFamily.SemiImplicit
    )
    policy.multibody.variational_max_iterations = chosen.variational_max_iterations
    policy.multibody.variational_tolerance = chosen.variational_tolerance
    policy.differentiable = options.differentiable
    policy.rigid_body_solver = _SOLVERS[options.rigid_body_solver]
    policy.contact_solver_method = _METHODS.get(options.contact_solver_method)
    if options.contact_solver_method is ContactSolverMethod.NEWTON:
        option.solver_type = SolverType.Newton
    policy.contact_gradient_mode = _GRADIENTS[options.contact_gradient_mode]
    policy.strict_solver_resolution = options.strict_solver_resolution
    policy.contact_sweeps = options.contact_sweeps
    policy.fixed_layout = options.fixed_layout
    policy.sensor_noise_seed = options.sensor_noise_seed
    policy.sensor_noise_world = options.sensor_noise_world
    policy.divergence.action = next(a for a, p in ACTIONS.items() if p is options.divergence_policy)
    policy.divergence.limit = options.divergence_limit
    policy.accelerator = _ACCELERATORS[options.compute_accelerator_policy]
    for name in _DEACTIVATION:
        setattr(policy.deactivation, name, getattr(options.deactivation_options, name))
