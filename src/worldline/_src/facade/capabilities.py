# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What can be asked for, as data: seven rows per method family, and the checks that go by them.

`capabilities()` is the source of the documentation page and of the tests; a request that cannot be met
raises before the first step and names the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldline._src.errors import CapabilityError, OperationError
from worldline._src.facade.kinds import (
    ActuatorType,
    ClosureDynamicsPolicy,
    ClosureKinematicsPolicy,
    ComputeAcceleratorPolicy,
    RigidBodySolver,
)
from worldline._src.facade.runtime import DRIVES
from worldline._src.step.stepping import MultibodyIntegrationFamily, available_families

if TYPE_CHECKING:
    from worldline._src.facade.world import World

ROWS = (
    "integration family",
    "dynamics approach",
    "constraint solve",
    "coordinate support",
    "supported features",
    "execution shape",
    "differentiability",
)
"""The rows of the matrix, in order."""


@dataclass(frozen=True)
class Capability:
    """One row: what is available, and what has a name but is not."""

    row: str
    available: tuple[str, ...]
    unavailable: tuple[str, ...]
    note: str = ""


def capabilities() -> tuple[Capability, ...]:
    """The seven rows of what this build can do.

    Example:
        >>> from worldline import simulation as sx
        >>> [row.row for row in sx.capabilities()][:2]
        ['integration family', 'dynamics approach']
    """
    families = available_families()
    drives = tuple(kind.name for kind in DRIVES)
    missing = tuple(kind.name for kind in ActuatorType if kind not in DRIVES)
    return (
        Capability(
            ROWS[0],
            tuple(family.value for family in families),
            tuple(family.value for family in MultibodyIntegrationFamily if family not in families),
        ),
        Capability(ROWS[1], ("articulated-body method",), ("XPBD",), "forward dynamics in O(n)"),
        Capability(
            ROWS[2],
            ("position limits by projection",),
            ("sequential impulse", "boxed LCP", "newton", "barrier method"),
        ),
        Capability(ROWS[3], ("generalized coordinates",), ("maximal coordinates",)),
        Capability(
            ROWS[4],
            (
                "open trees of every joint type",
                "several roots",
                "kinematic and static bodies",
                "springs, dampers, armature, effort and velocity limits",
                "position and velocity drives",
                *(f"actuator {name}" for name in drives),
                "loop closures: residuals",
            ),
            (
                *(f"actuator {name}" for name in missing),
                "joint friction",
                "contacts",
                "loop closures: projection",
                "loop closures: solving",
                "equality constraints",
                "scene actuators",
                "tendons",
                "world-owned joints",
                "distance springs",
                "joint couplers",
                "sleeping",
            ),
        ),
        Capability(
            ROWS[5],
            ("single world", "kinematics-only", "homogeneous batch of arrays"),
            ("rollout", "accelerator"),
        ),
        Capability(ROWS[6], (), ("analytic", "autodiff", "finite-difference checked")),
    )


def _refuse(row: int, what: str) -> None:
    raise CapabilityError(f"{ROWS[row]}: {what}")


def require_topology(world: World) -> None:
    """Everything that entering simulation mode checks beyond the description itself."""
    require_kinematics(world)


def require_kinematics(world: World) -> None:
    """No enabled closure asks a kinematics update for what it cannot do."""
    for closure in world._loop_closures.values():
        policy = closure.runtime_policy
        if policy.enabled and policy.kinematics is ClosureKinematicsPolicy.PROJECT:
            raise OperationError(
                f"{ROWS[4]}: loop closure '{closure.name}' asks for PROJECT, there is no projection stage; "
                "disable it or use RESIDUAL_ONLY"
            )


def require_step(world: World) -> None:
    """Everything that is asked of a step is available; otherwise an error that names the row."""
    require_kinematics(world)
    options = world._options
    if options.rigid_body_solver is RigidBodySolver.IPC:
        _refuse(2, "rigid_body_solver IPC (barrier method) is not available")
    if options.differentiable:
        _refuse(6, "differentiable worlds are not available")
    if options.deactivation_options.enabled:
        _refuse(4, "sleeping (deactivation_options.enabled) is not available")
    if options.compute_accelerator_policy is not ComputeAcceleratorPolicy.CPU_ONLY:
        # preferring is not demanding: the processor is the documented fallback
        pass
    family = options.multibody_options.integration_family
    if family not in available_families():
        _refuse(0, f"integration family '{family.value}' is not available")
    for closure in world._loop_closures.values():
        policy = closure.runtime_policy
        if policy.enabled and policy.dynamics is ClosureDynamicsPolicy.SOLVE:
            raise OperationError(
                f"{ROWS[4]}: loop closure '{closure.name}' asks for SOLVE, but there is no solving stage; "
                "disable it or use RESIDUAL_ONLY"
            )
    for robot in world._multibodies.values():
        for joint in robot._joints.values():
            if joint.actuator_type not in DRIVES:
                _refuse(
                    4,
                    f"actuator {joint.actuator_type.name} of joint '{joint.name}' is not available",
                )
            if joint.coulomb_friction.any():
                _refuse(4, f"joint friction of joint '{joint.name}' is not available")
    _require_scene(world)


def _require_scene(world: World) -> None:
    """What only a description can ask for."""
    scene = world._scene
    option = scene.simulate_option
    held = option.disable_constraints
    equality = scene.equality_constraint_set
    if not (held or option.disable_equality) and (equality.connects or equality.welds or equality.joints):
        _refuse(4, "equality constraints are not available")
    if scene.actuators and not option.disable_actuators:
        _refuse(4, "scene actuators are not available")
    if scene.couplers:
        _refuse(4, "joint couplers are not available")
    if scene.distance_springs:
        _refuse(4, "distance springs are not available")
    if scene.joints:
        _refuse(4, "world-owned joints are not available")
    if not (held or option.disable_contacts) and _may_touch(world):
        _refuse(
            4, "contacts are not available; set simulate_option.disable_contacts in the scene to go without"
        )


def _may_touch(world: World) -> bool:
    """Whether any moving shape could collide with anything."""
    hierarchy = world._scene.hierarchy
    return any(link.geoms for link in hierarchy.links())
