# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Requirements of a World against its capabilities: checks before the first step, and resolved options.

A refusal names the row of the capability matrix and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldline._src.errors import CapabilityError, OperationError
from worldline._src.facade import capabilities
from worldline._src.facade.kinds import (
    ActuatorType,
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    RigidBodySolver,
)
from worldline._src.facade.mimic import couplers_of
from worldline._src.facade.runtime import DRIVES
from worldline._src.later import DeferredModule
from worldline._src.step.fixed_constraints import FixedConstraints
from worldline._src.step.island_options import SolverMethod
from worldline._src.step.stepping import available_families, missing_ground

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime
    from worldline._src.step import step_derivatives
else:
    step_derivatives = DeferredModule("step.step_derivatives")


@dataclass(frozen=True)
class ResolvedOption:
    """What became of one request.

    Attributes:
        row: row of the capability matrix.
        option: where it was requested.
        requested: what was requested.
        resolved: what runs; empty when it is refused.
        reason: why that is so.
        is_substituted: another method stands in for the requested one, at least for some bodies.
    """

    row: str
    option: str
    requested: str
    resolved: str
    reason: str
    is_substituted: bool = False


_GRADIENTS = {
    ContactGradientMode.ANALYTIC: "exact on the active set",
    ContactGradientMode.COMPLEMENTARITY_AWARE: "exact, with relaxed complementarity of one-sided rows",
    ContactGradientMode.PRE_CONTACT_SURROGATE: "exact, with springs between shapes that do not touch",
}
"""What derivatives are, by mode."""


def _refuse(row: int, what: str) -> None:
    raise CapabilityError(f"{capabilities.ROWS[row]}: {what}")


def require_step(world: WorldRuntime) -> None:
    """Everything that is requested of a step is available; otherwise an error that names the row."""
    options = world._options
    if options.rigid_body_solver is RigidBodySolver.IPC:
        _refuse(capabilities.CONSTRAINTS, "rigid_body_solver IPC (barrier method) is not available")
    family = options.multibody_options.integration_family
    if family not in available_families():
        _refuse(capabilities.INTEGRATION, f"integration family '{family.value}' is not available")
    _require_joints(world)
    _require_scene(world)
    if options.fixed_layout:
        _require_fixed_layout(world)
    if options.strict_solver_resolution:
        _require_no_substitution(world)
    if options.differentiable:
        _require_derivatives(world)


def _require_fixed_layout(world: WorldRuntime) -> None:
    """A step of this World has all of its stages in the layout of lanes."""
    runtime = world._live()
    if runtime.not_fixed:
        _refuse(capabilities.EXECUTION, f"fixed_layout: {runtime.not_fixed}")
    if world._options.differentiable:
        _refuse(capabilities.DERIVATIVES, "fixed_layout: steps in the fixed layout have no derivatives")
    try:
        runtime.sim.plan()
    except CapabilityError as error:
        _refuse(capabilities.EXECUTION, f"fixed_layout: {error}")


def _require_no_substitution(world: WorldRuntime) -> None:
    for row in resolved_configuration(world):
        if row.is_substituted:
            raise CapabilityError(
                f"{row.row}: {row.option} requests '{row.requested}', and strict_solver_resolution allows no "
                f"other: {row.reason}"
            )


def _require_derivatives(world: WorldRuntime) -> None:
    """What a step of this World does can be differentiated; from now on its steps are."""
    if described := world._scene.differentiable_parameters:
        what = f"{described[0].parameter.name} of link '{described[0].link}'"
        _refuse(
            capabilities.DERIVATIVES,
            f"differentiable_parameters of a scene ({what}): add_differentiable_parameter adds them",
        )
    runtime = world._live()
    if found := step_derivatives.refused(runtime.sim.plan()):
        _refuse(capabilities.DERIVATIVES, f"a differentiable World cannot have {', '.join(found)}")
    if runtime.tangent is None:
        runtime.tangent = step_derivatives.StepTangent(runtime.sim)


def _require_joints(world: WorldRuntime) -> None:
    for robot in world._multibodies.values():
        for joint in robot._joints.values():
            for kind in dict.fromkeys(joint._actuator_types()):
                if kind not in DRIVES:
                    _refuse(
                        capabilities.FEATURES,
                        f"actuator {kind.name} of joint '{joint.name}' is not available",
                    )
                if kind is ActuatorType.MIMIC and not couplers_of(world, joint._joint):
                    who = f"joint '{joint.name}'"
                    raise OperationError(f"{who} is MIMIC and follows no joint: set_mimic_joint")


def _require_scene(world: WorldRuntime) -> None:
    """What only a description can ask for."""
    for what in world._live().missing:
        _refuse(capabilities.FEATURES, f"{what}: not available")
    family = world._options.multibody_options.integration_family
    if why := missing_ground(world._live().model, family):
        _refuse(capabilities.INTEGRATION, why)


def resolved_configuration(world: WorldRuntime) -> tuple[ResolvedOption, ...]:
    """See `World.resolved_configuration`."""
    options = world._options
    quiet = "nothing in this World needs constraints solved"
    constraints = world._live().constraints
    constrained = constraints is not None
    solve, why, mixed = "none", quiet, False
    if isinstance(constraints, FixedConstraints):
        solve, why, mixed = _fixed_solver(constraints)
    elif constraints is not None:
        solve, why, mixed = _solver(world, constraints.gives_way)
    family = options.multibody_options.integration_family
    known = family in available_families()
    accelerated = options.compute_accelerator_policy is ComputeAcceleratorPolicy.PREFER_ACCELERATED
    barrier = options.rigid_body_solver is RigidBodySolver.IPC
    return (
        _option(
            capabilities.INTEGRATION,
            "multibody_options.integration_family",
            family.value,
            family.value if known else "",
            "as requested" if known else "not available",
        ),
        _option(
            capabilities.CONSTRAINTS,
            "rigid_body_solver",
            options.rigid_body_solver.value,
            "" if barrier else solve,
            "the barrier method is not available" if barrier else why,
        ),
        _option(
            capabilities.CONSTRAINTS,
            "contact_solver_method",
            options.contact_solver_method.value,
            solve,
            why,
            mixed,
        ),
        _option(
            capabilities.FEATURES,
            "deactivation_options.enabled",
            str(options.deactivation_options.enabled),
            str(options.deactivation_options.enabled and constrained),
            "as requested" if constrained or not options.deactivation_options.enabled else quiet,
        ),
        *_layout_option(world),
        _option(
            capabilities.EXECUTION,
            "compute_accelerator_policy",
            options.compute_accelerator_policy.value,
            ComputeAcceleratorPolicy.CPU_ONLY.value,
            "this build has no accelerator; the processor is the fallback" if accelerated else "as requested",
            accelerated,
        ),
        _option(
            capabilities.DERIVATIVES,
            "differentiable",
            str(options.differentiable),
            str(options.differentiable),
            "as requested",
        ),
        _option(
            capabilities.DERIVATIVES,
            "contact_gradient_mode",
            options.contact_gradient_mode.value,
            options.contact_gradient_mode.value if options.differentiable else "none",
            _GRADIENTS[options.contact_gradient_mode]
            if options.differentiable
            else "only a differentiable World takes them",
        ),
    )


def _layout_option(world: WorldRuntime) -> tuple[ResolvedOption, ...]:
    """The layout of rows, where it is not that of islands."""
    if not world._options.fixed_layout:
        return ()
    why = world._live().not_fixed
    return (
        _option(capabilities.EXECUTION, "fixed_layout", "True", "" if why else "True", why or "as requested"),
    )


def _fixed_solver(constraints: FixedConstraints) -> tuple[str, str, bool]:
    """The same for all rows of the fixed layout at once."""
    if constraints.solver is SolverMethod.NEWTON:
        method = ContactSolverMethod.NEWTON.value
        return method, "all rows of the fixed layout at once; sweeps where it does not converge", False
    method = ContactSolverMethod.SEQUENTIAL_IMPULSE.value
    asked = constraints.asked is SolverMethod.SEQUENTIAL_IMPULSE
    why = "as requested" if asked else "more columns than Newton's method of the fixed layout has"
    return method, f"sweeps over all rows of the fixed layout at once: {why}", not asked


def _solver(world: WorldRuntime, large: bool) -> tuple[str, str, bool]:
    """The method that solves islands, why, and whether another stands in for some of them."""
    options = world._options
    method = options.contact_solver_method
    if method is ContactSolverMethod.AUTOMATIC:
        newton = ContactSolverMethod.NEWTON.value
        if large:
            return newton, "islands of up to 22 free bodies and all others; sequential impulses beyond", False
        return newton, "no island can have more than 22 free bodies", False
    if options.strict_solver_resolution or method is ContactSolverMethod.SEQUENTIAL_IMPULSE:
        return method.value, "islands of any size", False
    if method is ContactSolverMethod.BOXED_LCP:
        return method.value, "islands of up to 240 rows; Newton's method for larger ones", True
    if large:
        return method.value, "islands of up to 256 free bodies; sequential impulses for larger ones", True
    return method.value, "islands of any size; sequential impulses where it does not converge", False


def _option(
    row: int, option: str, requested: str, resolved: str, reason: str, is_substituted: bool = False
) -> ResolvedOption:
    return ResolvedOption(capabilities.ROWS[row], option, requested, resolved, reason, is_substituted)
