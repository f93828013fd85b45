# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A physics step as a program of stages, and steps on arrays.

Drives and passive forces, articulated-body dynamics, integration on the manifold. A stage that has
nothing to do for a model is left out, which changes no bit of the result.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import NamedTuple

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, UnknownCapabilityError, nearest_name
from worldline._src.jit import Stage
from worldline._src.kernels import drives
from worldline._src.model.compile import DEFAULT_SOLVER, constant_views
from worldline._src.model.model import Control, Model, State
from worldline._src.spatial.poses import Array
from worldline._src.step import integrator_stages as g
from worldline._src.step import stages as s
from worldline._src.step import step_stages as t
from worldline._src.step.dynamics import integrate, neutral
from worldline._src.step.evaluate import WITH_GRAVITY, Program, evaluate, is_count


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
        if not (np.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise ArgumentError(f"tolerance must be positive and finite, got {self.tolerance!r}")
        return self


class Needs(NamedTuple):
    """What a model needs from a step beyond what every step does."""

    drives: bool = False
    """Commands and drives."""
    passive: bool = False
    """Springs and dampers."""
    prescribed: bool = False
    """Degrees of freedom with prescribed accelerations."""
    wrenches: bool = False
    """Forces on bodies."""
    gravcomp: bool = False
    """Gravity compensation."""
    spins: bool = False
    """Free bodies on their own whose spin changes in their axes; for semi-implicit steps."""


_NO_SPEED_LIMIT = 1e6
"""Speeds from here on are no limit; it is what a degree of freedom of a builder starts with."""

RUNGE_KUTTA_PARTS = (g.runge_kutta_first, g.runge_kutta_second, g.runge_kutta_third, g.runge_kutta_last)
"""What follows each of the four evaluations of a Runge-Kutta step."""

ALL_NEEDS = Needs(True, True, True, True, True, True)


def dynamics_stages(needs: Needs) -> tuple[Stage, ...]:
    """From coordinates and velocities to accelerations."""
    chosen: list[Stage] = [s.positions, s.link_velocities]
    chosen.append(t.center_forces if needs.wrenches else s.no_wrenches)
    if needs.gravcomp:
        chosen.append(s.compensate_gravity)
    chosen.append(t.drive_forces if needs.drives else t.no_drive_forces)
    if needs.passive:
        chosen += [s.spring_displacements, s.add_passive_forces]
    if needs.prescribed:
        chosen.append(t.prescribe)
    chosen.append(t.accelerations)
    if needs.prescribed:
        chosen.append(t.keep_prescribed)
    return tuple(chosen)


def semi_implicit_stages(needs: Needs) -> tuple[tuple[Stage, ...], Stage]:
    """From coordinates and velocities to the accelerations of a semi-implicit step, and its integration."""
    if needs.spins:
        return (*dynamics_stages(needs), t.hold_spin), t.semi_implicit_turn
    return dynamics_stages(needs), t.semi_implicit_euler


@cache
def step_stages(family: MultibodyIntegrationFamily, needs: Needs = ALL_NEEDS) -> tuple[Stage, ...]:
    """The stages of one step, in the order they run."""
    chosen: list[Stage] = []
    if needs.prescribed:
        chosen.append(t.prescribed_speeds)
    if family is MultibodyIntegrationFamily.VARIATIONAL:
        chosen += [s.positions, s.link_velocities, g.variational_start, g.variational_solve]
        chosen += [g.variational_finish, s.positions, s.link_velocities, g.variational_velocities]
    elif family is MultibodyIntegrationFamily.RUNGE_KUTTA_4:
        for part in RUNGE_KUTTA_PARTS:
            chosen += [*dynamics_stages(needs), part]
    else:
        dynamics, last = semi_implicit_stages(needs)
        chosen += [*dynamics, last]
    return tuple(chosen)


def available_families() -> tuple[MultibodyIntegrationFamily, ...]:
    """The families that this build can step with."""
    return tuple(MultibodyIntegrationFamily)


def model_needs(model: Model, *, wrenches: bool = True, prescribed: bool = False) -> Needs:
    """What a step of this model has to do."""
    return Needs(
        drives=True,
        passive=bool(model.joint_stiffness.any() or model.joint_damping.any()),
        prescribed=prescribed,
        wrenches=wrenches,
        gravcomp=model.is_relieved,
        spins=bool(constant_views(model.arenas)["link_lone"].any()),
    )


def adapt_constants(
    view: dict[str, np.ndarray],
    family: MultibodyIntegrationFamily,
    h: float,
    variational: VariationalOptions,
) -> None:
    """Change a copy of a model's constants, given as views, to those a family steps with."""
    if family in IMPLICIT_FAMILIES:
        # M + h D in the place of M makes damping implicit; only drives that command forces damp
        driven = view["dof_drive"] == drives.FORCE
        added = h * (view["dof_damping"] + np.where(driven, view["dof_target_kd"], 0.0))
        view["dof_armature"][:] += added
        view["link_lone"][view["dof_link"][added != 0.0]] = 0.0
    view["solver_options"][:] = variational.tolerance, variational.max_iterations


def _step_constants(
    model: Model, family: MultibodyIntegrationFamily, h: float, variational: VariationalOptions
) -> np.ndarray | None:
    """A copy of the model's constants for steps of a family; None when the model's own will do."""
    if family not in IMPLICIT_FAMILIES and variational == VariationalOptions():
        return None
    arenas = model.arenas._replace(constant=model.arenas.constant.copy())
    adapt_constants(constant_views(arenas), family, h, variational)
    return arenas.constant


@cache
def step_program(family: MultibodyIntegrationFamily, needs: Needs, steps: int) -> Program:
    """`steps` steps of state and controls, given in rows and returned in rows."""
    return Program(
        "step",
        (t.unpack_state, *step_stages(family, needs) * steps, t.pack_state),
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


def step(
    model: Model,
    state: State,
    control: Control | None = None,
    *,
    steps: int = 1,
    dt: float | None = None,
    integration_family: MultibodyIntegrationFamily | str = MultibodyIntegrationFamily.SEMI_IMPLICIT,
    max_iterations: int = VariationalOptions().max_iterations,
    tolerance: float = VariationalOptions().tolerance,
    threads: int = 1,
    lanes: int | None = None,
) -> None:
    """Advance the generalized coordinates of a state, one world or many, in place.

    Commanded forces and drives of `control` and the forces `state.body_f` are held over all steps; contact
    and closures are not part of it. `state.body_q` and `state.body_qd` are left alone: `eval_fk` when you
    want them. On error nothing changes.

    Args:
        model: the model.
        state: joint_q and joint_qd are advanced.
        control: forces and targets; those of the model when None.
        steps: how many steps to make.
        dt: time step [s]; the model's own when None.
        integration_family: how to integrate; docs/integrators.md tells which to choose.
        max_iterations: most iterations of a variational step; a step that needs more fails.
        tolerance: largest last correction of a velocity of a variational step, relative to the largest
            velocity or to one [m/s or rad/s].
        threads: processors to use for many worlds, 0 for all.
        lanes: worlds per instruction; chosen when None.

    Example:
        >>> from worldline.model import ModelBuilder, step
        >>> builder = ModelBuilder()
        >>> ball = builder.add_body(mass=1.0, inertia=((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
        >>> model = builder.finalize()
        >>> state = model.state()
        >>> step(model, state, steps=10, dt=0.01)
        >>> state.joint_qd.round(3).tolist()
        [0.0, 0.0, -0.981, 0.0, 0.0, 0.0]
    """
    if not is_count(steps) or steps < 0:
        raise ArgumentError(f"steps must be a non-negative step count, got {steps!r}")
    if steps == 0:
        return
    h = float(model.time_step if dt is None else dt)
    if not (np.isfinite(h) and h > 0.0):
        raise ArgumentError(f"dt must be positive and finite, got {dt!r}")
    family = MultibodyIntegrationFamily.of(integration_family)
    _require_no_limits(model)
    constants = _step_constants(model, family, h, VariationalOptions(max_iterations, tolerance).checked())
    control = model.control() if control is None else control
    nq = model.joint_coord_count
    targets = target_configuration(model, control.joint_target_pos)
    rows = np.concatenate([state.joint_q, state.joint_qd], axis=-1)
    controls = np.concatenate([targets, control.joint_target_vel, control.joint_f], axis=-1)
    # a long program would only be a long list of addresses; cut it so that lists stay short
    needs = model_needs(model)
    left = int(steps)
    while left:
        many = min(left, 256)
        program = step_program(family, needs, many)
        rows = evaluate(
            model,
            program,
            (rows, controls, state.body_f, np.array([h])),
            (rows.shape[-1],),
            threads=threads,
            lanes=lanes,
            args=WITH_GRAVITY,
            constant=constants,
        )
        if not np.isfinite(rows).all():
            _refuse(rows, family, max_iterations)
        left -= many
    state.joint_q[...], state.joint_qd[...] = rows[..., :nq], rows[..., nq:]


def _require_no_limits(model: Model) -> None:
    """Limits are rows, which a step of the trees alone does not have."""
    off = model.option is not None and (model.option.disable_limit or model.option.disable_constraints)
    limited = np.isfinite(model.joint_limit_lower) | np.isfinite(model.joint_limit_upper)
    limited |= model.joint_velocity_limit < _NO_SPEED_LIMIT
    distance = (model.joint_distance[:, 0] > 0.0).any() or (model.joint_distance[:, 1] >= 0.0).any()
    if not off and (limited.any() or distance):
        raise CapabilityError(
            "step does not have limits of position, velocity and distance, which the model asks for: use a "
            "World or LaneSimulation"
        )


def _refuse(rows: Array, family: MultibodyIntegrationFamily, max_iterations: int) -> None:
    """Say which world has no state after a step."""
    bad = ~np.isfinite(rows).all(axis=-1)
    where = f" in world {int(np.flatnonzero(bad)[0])}" if rows.ndim > 1 else ""
    what = "the state is no longer finite"
    if family is MultibodyIntegrationFamily.VARIATIONAL:
        what += f" or a step was not solved in {max_iterations} iterations"
    raise ArgumentError(f"{what}{where}; nothing was changed")
