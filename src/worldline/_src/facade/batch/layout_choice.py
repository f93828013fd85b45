# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the batch layout, lanes or single worlds on threads, with the reason.

Lanes run where a step in them does what a step of the World does. Everything else about a World goes to
threads, for a reason that is given by name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import ArgumentError, CapabilityError, nearest_name
from worldline._src.facade.batch.template import Template
from worldline._src.facade.capabilities import EXECUTION, ROWS
from worldline._src.facade.kinds import ContactGradientMode
from worldline._src.facade.requirements import ResolvedOption
from worldline._src.kernels.constraints.packed_rows import MOST_COLUMNS
from worldline._src.named_tuple import NamedTuple
from worldline._src.step import lane_derivatives
from worldline._src.step.fixed_constraints import ENOUGH
from worldline._src.step.lane_derivatives import DifferentiableLanes
from worldline._src.step.lane_precision import precision_of
from worldline._src.step.lane_simulation import LaneSimulation
from worldline._src.step.step_plan import StepPlan

AUTOMATIC, LANES, THREADS = "auto", "lanes", "threads"
LAYOUTS = (AUTOMATIC, LANES, THREADS)

_SHARED = {
    *("drives", "passive", "wrenches", "gravity_compensation", "free_spin", "runge_kutta", "actuators"),
    *("activations", "rows", "shapes", "friction", "limits", "hard_limits", "speed_limits", "warm_start"),
    *("implicit", "implicit_velocity", "anchors", "user_poses", "counted"),
    *("motors", "lopsided_motors", "fluid", "tendons", "equalities"),
    *("controller_kernels", "force_kernels", "acceleration_kernels", "end_kernels"),
}
"""What a step in lanes does as a step of one world does, or `LaneSimulation` refuses itself."""
_OTHERWISE = {
    *(
        "single_pairs",
        "round_pairs",
        "flat_pairs",
        "ball_pairs",
        "convex_pairs",
        "surface_pairs",
        "contact_log",
    ),
    *("impulses", "swept", "fixed"),
}
"""How one world finds and solves contacts; lanes have their own way to the same solution."""
_FIXED = {
    *("recorded", "near_pairs", "newton_rows", "newton_cones", "newton_coulomb", "hard_contacts"),
    "single_pairs",
}
"""What a World in the fixed layout does as lanes do."""
_WORDS = {
    "split": "hard contacts or limits of joints between bodies, which a World solves for positions and for "
    "velocities (split impulse)",
    "hard_contacts": "hard contacts, whose energy a World bounds in every island",
    "restitution": "contacts that bounce, whose energy a World bounds in every island",
    "controllers": "controllers, functions of Python within the step",
    "force_elements": "force elements, functions of Python within the step",
    "detector": "contacts of a collision detector, which is called between stages",
    "acceleration_stages": "stages at accelerations, functions of Python within the step",
    "end_stages": "stages at the end, functions of Python within the step",
    "observers": "observers, functions of Python within the step",
    "sleep": "islands that fall asleep",
    "boxed": "a boxed problem as the solver of contacts",
    "no_slip": "sweeps against slip (noslip_iterations)",
}
_SWEEPS = (
    f"Newton's method for more than {MOST_COLUMNS} degrees of freedom, in whose place lanes sweep over rows"
)
"""Why a model that lanes have does not run there."""


class LayoutChoice(NamedTuple):
    """The layout of a batch and the reasons for it."""

    kind: str
    reasons: tuple[str, ...]
    dtype: np.dtype = np.dtype(np.float64)

    def resolved(self) -> list[ResolvedOption]:
        """Layout and precision as rows of the resolved configuration."""
        row = ROWS[EXECUTION]
        made = [ResolvedOption(row, "layout", AUTOMATIC, self.kind, "; ".join(self.reasons))]
        if self.dtype == np.float32:
            why = "steps in single precision; readings of their states in double precision"
            made.append(ResolvedOption(row, "dtype", "float32", "float32", why))
        return made


def lane_simulation(template: Template, worlds: int, dtype: np.dtype) -> LaneSimulation:
    """Worlds in lanes that step as the World does, in double or single precision."""
    sim = template.sim
    differentiable = template.world is not None and template.world.is_differentiable
    kind = DifferentiableLanes if differentiable else LaneSimulation
    return kind(
        template.model,
        worlds,
        time_step=sim.time_step,
        integration_family=sim.family,
        divergence_policy=template.policy,
        divergence_limit=sim.divergence_limit,
        elements=sim.elements,
        dtype=dtype,
    )


def obstacles(template: Template) -> tuple[str, ...]:
    """What a World requests and lanes do not do, or do otherwise; empty when they do all of it."""
    found: list[str] = []
    sim, runtime, world = template.sim, template.runtime, template.world
    plan = sim.plan()
    known = _SHARED | _OTHERWISE
    if plan.fixed:
        known |= _FIXED | {"fixed"}
    elif sim.constraints is not None:
        # stages of a World that never have anything to do
        splits = plan.split and sim.constraints.may_split(sim.time_step)
        plan = plan._replace(split=splits, restitution=sim.constraints.may_bounce)
    for name in StepPlan._fields:
        if getattr(plan, name) and name not in known:
            found.append(_WORDS.get(name, name.replace("_", " ")))
    option = template.model.option
    if plan.rows and option is not None and option.constraint_solver_iterations < ENOUGH:
        count = option.constraint_solver_iterations
        found.append(f"at most {count} iterations of the solver, where a World may stop before it converges")
    if runtime is not None and world is not None:
        if world.is_differentiable and world.num_differentiable_parameters:
            found.append("derivatives by parameters")
        if world.is_differentiable and world.contact_gradient_mode is not ContactGradientMode.ANALYTIC:
            found.append(f"contact gradient mode '{world.contact_gradient_mode.value}'")
        if len(runtime.mocap):
            found.append("mocap bodies, which every world places by itself")
        if runtime.one_shot_wrench.any():
            found.append("forces for the next step only")
        if runtime.acceleration_limits is not None:
            found.append("acceleration limits of commands")
        if any(sensor._kernel is None for sensor in world._functions.sensors.values()):
            found.append("sensors that a function of Python makes")
    return tuple(dict.fromkeys(found))


def choose_layout(template: Template, layout: str, dtype: DTypeLike = np.float64) -> LayoutChoice:
    """Which layout a batch has; `layout` is one of LAYOUTS. Only lanes have single precision.

    Raises:
        CapabilityError: lanes are requested and do not do what the World does.
    """
    precision = precision_of(dtype, "WorldBatch")
    single = precision == np.float32
    if not isinstance(layout, str) or layout not in LAYOUTS:
        hint = nearest_name(str(layout), list(LAYOUTS))
        raise ArgumentError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}{hint}")
    if layout == THREADS:
        if single:
            raise CapabilityError("layout 'threads' has no dtype float32: single worlds step in float64")
        return LayoutChoice(THREADS, ("as requested",))
    found = obstacles(template)
    if not found:
        try:
            lanes = lane_simulation(template, 1, precision)
            if isinstance(lanes, DifferentiableLanes):
                found = lane_derivatives.obstacles(sim=template.sim, lanes=lanes)
        except (CapabilityError, ArgumentError) as error:
            found = (str(error),)
        else:
            if lanes.constraints.sweeps_instead and not template.sim.plan().fixed:
                found += (_SWEEPS,)
    if not found:
        return LayoutChoice(LANES, ("every part of the step runs in lanes",), precision)
    if single:
        raise CapabilityError(f"dtype float32 runs in lanes, which do not have: {'; '.join(found)}")
    if layout == LANES:
        raise CapabilityError(f"layout 'lanes' does not have: {'; '.join(found)}")
    return LayoutChoice(THREADS, found)
