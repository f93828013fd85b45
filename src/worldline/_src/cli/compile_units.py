# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that is ever compiled: stages and loops of every scalar."""

from __future__ import annotations

from worldline._src.duals.kind import DUAL7, PLAIN
from worldline._src.duals.parameter_kind import DUAL7_OWN
from worldline._src.jit import Entry, Unit
from worldline._src.scalar.lanes import native_width

WIDTHS = {"x86-64-v3": (4,), "x86-64-v4": (4, 8)}
"""Lanes that levels of processors can use."""


def scalars(level: str | None = None) -> tuple[str, ...]:
    """Names of the scalars that run on a level of processors, or on this one."""
    widths = WIDTHS[level] if level else tuple(sorted({4, native_width()}))
    # twice as many worlds in single precision
    lanes = [*(f"lanes{width}" for width in widths), *(f"single{2 * width}" for width in widths)]
    duals = [f"dual{width}lanes" for width in widths]
    return ("float", *lanes, *(f"{name}own" for name in lanes), "dual", "dual7", "dual7own", *duals)


def units(scalar: str) -> list[Unit]:
    """What has to be compiled for a scalar, so that nothing else ever is."""
    from worldline._src.collision import scene  # noqa: F401 - has entries, as those below
    from worldline._src.kernels import (
        pose_matrices,  # noqa: F401
        tendon_touch,  # noqa: F401
    )
    from worldline._src.kernels.broadphase.every_pair import every_pair
    from worldline._src.kernels.sensors import noise  # noqa: F401
    from worldline._src.lcp import entries  # noqa: F401
    from worldline._src.step import (
        derivatives,
        fixed_constraints,
        ik_stages,
        lane_derivatives,
        lane_runner,
        programs,
        runner,
        sensing,  # noqa: F401
        sensor_noise,  # noqa: F401
        stepping,
    )
    from worldline._src.step.analytic_row_stages import displace_bodies
    from worldline._src.step.analytic_stages import finish_linear, linearize_dynamics
    from worldline._src.step.derivative_stages import factor_mass, settle_every_island, settle_islands
    from worldline._src.step.evaluate import SCALARS
    from worldline._src.step.stage_links import all_stages
    from worldline._src.step.step_derivatives import dual_stages, parameter_stages

    if scalar == "dual7":
        settled = (settle_islands.unit(PLAIN), settle_every_island.unit(PLAIN))
        return [*(stage.unit(DUAL7) for stage in dual_stages()), *settled]
    if scalar == "dual7own":
        return [stage.unit(DUAL7_OWN) for stage in parameter_stages()]
    for width, (_, dual) in lane_derivatives.WIDTHS.items():
        if scalar == f"dual{width}lanes":
            return [stage.unit(dual) for stage in lane_derivatives.DUAL_STAGES]
    if scalar.endswith("own"):
        return [stage.unit(SCALARS[scalar][0]) for stage in fixed_constraints.STAGES]
    if scalar.startswith("single"):
        # worlds that step; everything else is evaluated in double precision
        stepped = [stage.unit(SCALARS[scalar][0]) for stage in fixed_constraints.STAGES]
        return [lane_runner.RUNNERS[scalar].unit(), *stepped]
    wanted = [*programs.ALL, *stepping.PROGRAMS]
    wanted = [program for program in wanted if scalar in ("float", "dual") or not program.one_by_one]
    stages = [stage for program in wanted for stage in program.stages]
    loops = {*runner.RUNNERS.items(), *lane_runner.RUNNERS.items(), *lane_derivatives.LOOPS.items()}
    found = [loop for name, loop in loops if name == scalar]
    if scalar == "float":
        others = {loop for name, loop in loops if name != scalar}
        found = [one for one in Entry.registry if one not in others]
        stages += [*all_stages(), every_pair, factor_mass]
        stages += [linearize_dynamics, displace_bodies, finish_linear]
    if scalar != "dual":
        stages += [stage for program in derivatives.ANALYTIC_PROGRAMS for stage in program.stages]
        stages += [*fixed_constraints.STAGES, *fixed_constraints.SENSOR_STAGES]
        stages += [ik_stages.inverse_kinematics, ik_stages.inverse_kinematics_rows]
        stages += [ik_stages.differential_inverse_kinematics]
    if scalar.startswith("lanes"):
        stages += lane_derivatives.LANE_STAGES
    kind = SCALARS[scalar][0]
    made = [*(one.unit() for one in found), *(stage.unit(kind) for stage in stages)]
    # stages that hand over to Python share a function
    return list({(unit.function, unit.variant): unit for unit in made}.values())


def missing(scalar: str) -> list[Unit]:
    """What would still be compiled on this machine."""
    return [unit for unit in units(scalar) if not unit.is_ready()]
