# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages that other stages of a step call by address, and what to compile before the first step."""

from __future__ import annotations

from worldline._src.compile_ahead import compile_ahead
from worldline._src.jit import Stage
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase.dispatch import FAMILY_STAGES, narrow_sort
from worldline._src.kernels.narrowphase.links import LINKED
from worldline._src.step import constraint_stages as s
from worldline._src.step import island_stages as i
from worldline._src.step.step_collision import family_links
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import TABLE, called_stages


def compile_soon(plan: StepPlan, families: list[int]) -> None:
    """Start to compile what steps will call, roughly in the order of how long it takes.

    Links of the narrow phase come last: they are what this process compiles first itself.
    """
    needed = [s.solve_rows]
    if families:
        needed += [broad, *(FAMILY_STAGES[family] for family in families)]
    needed += [row.stage for row in called_stages(plan) if row.link is None]
    needed.append(i.solve_next_island)
    needed += [i.solve_islands, i.mass_of_island, shape_poses, narrow_sort]
    compile_ahead([*needed, *(LINKED[link] for link in reversed(family_links(families)))])


def link_stages(column: t.ConstraintColumns, plan: StepPlan) -> None:
    """Write the addresses of the stages that others call."""
    program, called = column.program, called_stages(plan)
    program[:] = 0
    makers = [row.stage for row in called if row.link is None]
    program[t.FIRST_ROW_LINK : t.FIRST_ROW_LINK + len(makers)] = i.addresses(makers)
    for row in called:
        if row.link is not None:
            program[row.link] = i.addresses([row.stage])[0]
    if s.contact_rows in makers:
        program[t.CONTACT_LINK] = i.addresses([s.contact_rows])[0]
    column.counter[t.ROW_STAGES] = len(makers)


def all_stages() -> tuple[Stage, ...]:
    """Every stage of a step in one world, for warming the compile cache."""
    stages = dict.fromkeys(row.stage for row in TABLE if "and fixed" not in row.when)
    return (*stages, *LINKED.values())
