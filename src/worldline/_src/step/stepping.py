# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A physics step as a program of stages, and steps on arrays.

What runs, and in which order, stands in `step_table.py`; this file says what the multibodies of a model need.
A stage that has nothing to do for a model is left out, which changes no bit of the result.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, UnknownCapabilityError, nearest_name
from worldline._src.kernels import drives
from worldline._src.model.checks import positive_number
from worldline._src.model.compile import DEFAULT_SOLVER
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import step_stages as t
from worldline._src.step.dynamics import integrate, neutral
from worldline._src.step.evaluate import Program, is_count
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import stages_of


class MultibodyIntegrationFamily(Enum):
    """How velocities and coordinates advance within a step."""

    SEMI_IMPLICIT = "semi-implicit"
    """Semi-implicit Euler: first order, bounded energy error, one evaluation a step."""
    IMPLICIT_DAMPING = "implicit-damping"
    """Semi-implicit Euler with joint and drive damping implicit: stable for any damping."""
    RUNGE_KUTTA_4 = "runge-kutta-4"
    """Runge-Kutta of order four on the manifold: four evaluations a step, for smooth motion."""
    VARIATIONAL = "variational"
    """Discrete Euler-Lagrange equations: second order, energy error bounded over long times, momenta kept."""
    IMPLICIT_VELOCITY = "implicit-velocity"
    """Implicit damping, and implicit in the speeds that tendon dampers and forces of actuators answer to."""

    @classmethod
    def of(cls, value: MultibodyIntegrationFamily | str) -> MultibodyIntegrationFamily:
        """A member from itself, its name or its text, such as "semi-implicit"."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            key = value.strip().lower().replace("_", "-").replace(" ", "-")
            for member in cls:
                if member.value == key:
                    return member
        names = [member.value for member in cls]
        hint = nearest_name(str(value), names)
        raise UnknownCapabilityError(
            f"integration_family must be one of {', '.join(names)}, got {value!r}{hint}"
        )


IMPLICIT_FAMILIES = (
    MultibodyIntegrationFamily.IMPLICIT_DAMPING,
    MultibodyIntegrationFamily.IMPLICIT_VELOCITY,
)
"""Families that take the damping of joints and drives at the end of a step."""


class VariationalOptions(NamedTuple):
    """How the equations of a variational step are solved."""

    max_iterations: int = int(DEFAULT_SOLVER[1])
    """Most quasi-Newton steps; a time step that needs more fails."""
    tolerance: float = DEFAULT_SOLVER[0]
    """Largest correction of a velocity, relative to the largest velocity or to one [m/s or rad/s]."""

    def checked(self) -> VariationalOptions:
        """Itself; raises when a value makes no sense."""
        if not is_count(self.max_iterations) or self.max_iterations < 1:
            raise ArgumentError(f"max_iterations must be a positive count, got {self.max_iterations!r}")
        positive_number(self.tolerance, "tolerance")
        return self


ALL_NEEDS = StepPlan(
    drives=True, passive=True, prescribed=True, wrenches=True, gravity_compensation=True, free_spin=True
)
"""All that the step of a multibody may have to do."""


def of_family(plan: StepPlan, family: MultibodyIntegrationFamily) -> StepPlan:
    """The plan with the method of a family."""
    return plan._replace(
        runge_kutta=family is MultibodyIntegrationFamily.RUNGE_KUTTA_4,
        variational=family is MultibodyIntegrationFamily.VARIATIONAL,
    )


def available_families() -> tuple[MultibodyIntegrationFamily, ...]:
    """The families that this build can step with."""
    return tuple(MultibodyIntegrationFamily)


def model_plan(model: Model, *, wrenches: bool = True, prescribed: bool = False) -> StepPlan:
    """What a step of the multibodies of this model has to do."""
    return StepPlan(
        drives=True,
        passive=bool(model.joint_stiffness.any() or model.joint_damping.any()),
        prescribed=prescribed,
        wrenches=wrenches,
        gravity_compensation=model.compensates_gravity,
        ground=model.ground_points is not None and len(model.ground_points) > 0,
        free_spin=bool(model.constants["link_floating"].any()),
    )


def missing_ground(model: Model, family: MultibodyIntegrationFamily) -> str:
    """Why a family cannot step a model with points on the ground; empty when it can."""
    table = model.ground_points
    if table is None or not len(table) or family is MultibodyIntegrationFamily.VARIATIONAL:
        return ""
    names = ", ".join(dict.fromkeys(model.body_label[b] for b in table.body.tolist()))
    return (
        f"integration family '{family.value}' does not have ground contact points, which {names} has; only "
        f"'{MultibodyIntegrationFamily.VARIATIONAL.value}' does"
    )


def require_ground(model: Model, family: MultibodyIntegrationFamily) -> None:
    """Refuse points on the ground for families without their forces, by name."""
    if why := missing_ground(model, family):
        raise CapabilityError(why)


def adapt_constants(
    view: dict[str, np.ndarray], family: MultibodyIntegrationFamily, h: float, variational: VariationalOptions
) -> None:
    """Change a copy of a model's constants, given as views, to those a family steps with."""
    if family in IMPLICIT_FAMILIES:
        # M + h D in the place of M makes damping implicit; only drives that command forces damp
        driven = view["dof_drive"] == drives.FORCE
        added = h * (view["dof_damping"] + np.where(driven, view["dof_target_kd"], 0.0))
        view["dof_armature"][:] += added
        view["link_floating"][view["dof_link"][added != 0.0]] = 0.0
    view["solver_options"][:] = variational.tolerance, variational.max_iterations


@cache
def step_program(family: MultibodyIntegrationFamily, plan: StepPlan, steps: int) -> Program:
    """`steps` steps of state and controls, given in rows and returned in rows."""
    stages = [stage for stage, _ in stages_of(of_family(plan, family))]
    return Program(
        "step",
        (t.unpack_state, *stages * steps, t.pack_state),
        ("state", "controls", "body_f", "time_step"),
        ("state", "control", "body_f", "dt"),
        ("nqv",),
        result="state",
        needs_inertia="mobile",
    )


PROGRAMS = tuple(step_program(family, ALL_NEEDS, 1) for family in MultibodyIntegrationFamily)
"""A step of every family with all that may be needed, for warming the compile cache and for tests."""


def target_configuration(model: Model, target_pos: Array) -> Array:
    """Coordinates of position targets, which are given one number per degree of freedom.

    Ball and free joints take a rotation vector.
    """
    shape = target_pos.shape[:-1]
    start = np.broadcast_to(neutral(model), (*shape, model.joint_coord_count)).copy()
    return integrate(model, start, target_pos)


def start_targets(model: Model) -> tuple[Array, Array]:
    """Coordinates and velocities that drives lead to at first.

    Joints whose drives follow targets have those of the model; others the coordinates they start with.
    """
    driven = np.add.reduceat(np.append(model.joint_act_mode != 0, 0), model.joint_qd_start[:-1]) > 0
    driven &= np.diff(model.joint_qd_start) > 0
    if not driven.any():
        return model.joint_q, model.joint_target_vel
    targets = target_configuration(model, model.joint_target_pos)
    return np.where(
        np.repeat(driven, np.diff(model.joint_q_start)), targets, model.joint_q
    ), model.joint_target_vel
