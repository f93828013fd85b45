# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of a `worldline.simulation` World that other file formats do not have."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.containers import OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import COUNT, NON_NEGATIVE, POSITIVE, Integer, Real
from worldline._src.scene.texts import Enumeration

_POSITIVE_COUNT = Integer(minimum=1)
LARGEST_SEED, LARGEST_WORLD = 2**53 - 1, 2**32 - 1
"""Largest seed and index of a world of sensor noise: states of replays hold the seed as a float64, and the
counter of the generator has a word of 32 bits for the index."""


class RigidBodySolver(SceneEnum):
    """The method for free rigid bodies."""

    SequentialImpulse, Barrier = auto(), auto()


class ContactSolverMethod(SceneEnum):
    """The method for contacts of `worldline.simulation`."""

    SequentialImpulse = auto()
    BoxedLcp = auto()
    Automatic = auto()
    """Newton's method, and sequential impulses for large islands of free bodies."""


class ContactGradientMode(SceneEnum):
    """How derivatives go through contact."""

    Analytic, ComplementarityAware, PreContactSurrogate = auto(), auto(), auto()


class AcceleratorPolicy(SceneEnum):
    """Where work may run."""

    CpuOnly, PreferAccelerated = auto(), auto()


class IntegrationFamily(SceneEnum):
    """How multibodies advance."""

    SemiImplicit, Variational = auto(), auto()


class MultibodyOptions(Struct):
    """How multibodies advance."""

    integration_family: Choice[IntegrationFamily] = field(
        default=IntegrationFamily.SemiImplicit, doc="Family of integrators."
    )
    variational_max_iterations: int = value(
        _POSITIVE_COUNT, 100, "Bound on iterations of a variational step."
    )
    variational_tolerance: float = value(POSITIVE, 1.0e-10, "Residual at which a variational step is done.")


class DeactivationOptions(Struct):
    """When bodies at rest fall asleep."""

    enabled: bool = field(default=False, doc="Whether they do.")
    linear_speed_threshold: float = value(NON_NEGATIVE, 1.0e-3, "m/s.")
    angular_speed_threshold: float = value(NON_NEGATIVE, 1.0e-3, "rad/s.")
    generalized_speed_threshold: float = value(NON_NEGATIVE, 1.0e-3, "Speed of a joint, m/s or rad/s.")
    time_until_sleep: float = value(NON_NEGATIVE, 0.5, "Quiet time, s.")
    wake_threshold_scale: float = value(
        Real(minimum=1.0), 2.0, "Factor on the thresholds that ends a quiet time."
    )
    disturbance_force_threshold: float = value(NON_NEGATIVE, 1.0e-9, "Applied force that wakes up, N.")


class DivergenceAction(SceneEnum):
    """What happens to a world whose state leaves the bounds of numbers that can be meant."""

    Raise, Freeze, Reset, Continue = auto(), auto(), auto(), auto()


class DivergenceOptions(Struct):
    """When a step counts as diverged, and what happens then."""

    action: Choice[DivergenceAction] = field(
        default=DivergenceAction.Raise, doc="Raise an error, freeze the world, reset it, or continue."
    )
    limit: float = value(
        Real(above=0.0, infinite=True),
        1.0e10,
        "Largest coordinate, velocity, acceleration and activation, SI units; infinite checks for "
        "finite numbers only.",
    )


class ContactOptions(Struct):
    """Constants of hard contact; None leaves the engine's own."""

    error_reduction: float | None = optional(
        Real(minimum=0.0, maximum=1.0), "Share of the penetration removed in a step."
    )
    penetration_allowance: float | None = optional(NON_NEGATIVE, "Penetration left alone, m.")
    max_correction_speed: float | None = optional(NON_NEGATIVE, "Bound on the correction, m/s.")
    restitution_threshold: float | None = optional(NON_NEGATIVE, "Closing speed that bounces, m/s.")
    regularization: float | None = optional(NON_NEGATIVE, "Added to the diagonal, 1/kg.")


class SimulationPolicy(Struct):
    """Choices of a `worldline.simulation` world that the file format has no place for."""

    rigid_body_solver: Choice[RigidBodySolver] = field(
        default=RigidBodySolver.SequentialImpulse, doc="Method for free rigid bodies."
    )
    contact_solver_method: ContactSolverMethod | None = field(
        default=None,
        converter=OptionalOf(Enumeration(ContactSolverMethod)),
        doc="Method for contacts; None goes by `solver_type`.",
    )
    contact_gradient_mode: Choice[ContactGradientMode] = field(
        default=ContactGradientMode.Analytic, doc="Derivatives through contact."
    )
    accelerator: Choice[AcceleratorPolicy] = field(
        default=AcceleratorPolicy.CpuOnly, doc="Where work may run."
    )
    differentiable: bool = field(default=False, doc="Whether steps can be derived.")
    free_spin_turn: float = value(
        NON_NEGATIVE,
        0.0,
        "Turn of a free body in a step from which on its momentum is kept, rad; below it the step takes "
        "the torque of the spin at its beginning.",
    )
    multibody: MultibodyOptions = part(MultibodyOptions, "Multibodies.")
    deactivation: DeactivationOptions = part(DeactivationOptions, "Sleeping.")
    divergence: DivergenceOptions = part(DivergenceOptions, "Diverging states.")
    contact: ContactOptions = part(ContactOptions, "Hard contact.")
    strict_solver_resolution: bool = field(default=False, doc="Refuse other methods than the requested ones.")
    fixed_layout: bool = field(
        default=False,
        doc="Whether rows have the layout of worlds in lanes, so that a step has their bits.",
    )
    contact_sweeps: int = value(
        COUNT, 0, "Sweeps of sequential impulses in a step at most; 0 goes on until contacts are solved."
    )
    sensor_noise_seed: int | None = optional(
        Integer(minimum=0, maximum=LARGEST_SEED),
        "Seed of the noise that sensors have when they are read; None reads them without noise.",
    )
    sensor_noise_world: int = value(
        Integer(minimum=0, maximum=LARGEST_WORLD),
        0,
        "Index of the world in the noise of its sensors; worlds of a batch count on from it.",
    )
