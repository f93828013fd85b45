# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the last step of a World by its physical parameters.

Parameters act through constants of the model, which are dual numbers here (`step/parameter_step.py`). Gravity
acts as forces at all centres of mass. A parameter that decides which stages a step has, such as the first
damping of a World without any, has differences of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from worldline._src.facade import persistence, physical_parameters
from worldline._src.facade.physical_parameters import Numbers
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.parameter_step import ConstantSlopes, constants_of, structure_of
from worldline._src.step.step_derivatives import Outcome, Seeds, StepTangent, replayed_from
from worldline._src.step.step_table import MULTIBODY

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_DIFFERENCE = 1e-5
"""Step of differences of steps by a parameter, relative to it; in its unit where it is zero."""
_SLOPE = 1e-3
"""The same for constants of a model, which are smooth and have no noise of a solver."""

_End = TypeVar("_End")


class _Kept(NamedTuple):
    """What does not depend on the state of a World, until its parameters change."""

    version: int
    parameters: list[Numbers]
    values: Array
    """Their numbers."""
    copy: WorldRuntime
    """A copy whose parameters are changed."""
    is_smooth: list[bool]
    """Whether each parameter changes numbers alone, and not the stages of a step."""
    slopes: ConstantSlopes
    """Derivatives of constants by all numbers of the smooth ones, without gravity."""


def in_duals(world: WorldRuntime, tangent: StepTangent, parameters: list[Numbers]) -> list[bool]:
    """Whether the columns of each parameter come from dual numbers; differences otherwise."""
    return _kept(world, tangent, parameters).is_smooth if parameters else []


def by_parameters(world: WorldRuntime, tangent: StepTangent, parameters: list[Numbers]) -> Array:
    """Derivatives of the last step by parameters, (2 joint_dof_count + activations, their numbers)."""
    size = 2 * world._live().model.joint_dof_count + len(world._live().sim.activation)
    columns, at, whole = [np.zeros((size, 0))], 0, np.zeros((size, 0))
    if not parameters:
        return columns[0]
    kept = _kept(world, tangent, parameters)
    if len(kept.slopes.slopes[MULTIBODY]):
        whole = tangent.by_constants(kept.slopes).rows
    for one, is_smooth in zip(parameters, kept.is_smooth, strict=True):
        if not is_smooth:
            columns.append(_differences(kept.copy._live(), tangent, one))
        elif _is_force(world, one):
            columns.append(_by_gravity(world, tangent))
        else:
            columns.append(whole[:, at : at + len(one.rows)])
            at += len(one.rows)
    return np.concatenate(columns, axis=1)


def steps_around(
    world: WorldRuntime, tangent: StepTangent, parameters: list[Numbers]
) -> Iterator[tuple[str, float, list[Outcome]]]:
    """Names of the numbers of parameters, and steps with each of them shifted, for differences.

    Yields the step of the differences and what steps lead to at -2, -1, 1 and 2 of it, or at 0, 1 and 2 where
    a number that must not be negative is zero.
    """
    if not parameters:
        return
    copy = _kept(world, tangent, parameters).copy._live()
    for one in parameters:
        for k, name in enumerate(one.names):
            yield name, *_around(copy, one, k, _DIFFERENCE, lambda: _stepped(copy, tangent))


def _is_force(world: WorldRuntime, one: Numbers) -> bool:
    """Whether a parameter is gravity that acts at centres of mass alone."""
    return one.array == "gravity" and not world._live().sim.plan().actuated_gravity_compensation


def _by_gravity(world: WorldRuntime, tangent: StepTangent) -> Array:
    """Derivatives by gravity: along forces m (1 - compensation) at all centres of mass, axis by axis."""
    model = world._live().model
    weight = np.asarray(model.body_mass) * (1.0 - np.asarray(model.body_gravcomp))
    forces = np.zeros((3, model.body_count, 6))
    for k in range(3):
        forces[k, :, 3 + k] = weight
    return tangent.differentiate(Seeds(body_f=forces.reshape(3, -1))).rows


def _around(
    copy: Runtime, one: Numbers, k: int, relative: float, value: Callable[[], _End]
) -> tuple[float, list[_End]]:
    """The step of differences by number `k` of a parameter, and values around it; see `steps_around`."""
    start = physical_parameters.read(copy, one)
    x = float(start[k])
    one_sided = x == 0.0 and not one.signed
    # of second order where it is of one side
    h = relative * (abs(x) if x != 0.0 else 0.1 if one_sided else 1.0)
    ends: list[_End] = []
    for multiple in (0.0, 1.0, 2.0) if one_sided else (-2.0, -1.0, 1.0, 2.0):
        change = np.zeros(len(start))
        change[k] = multiple * h
        physical_parameters.shift(copy, one, change)
        ends.append(value())
        physical_parameters.shift(copy, one, -change)
    return h, ends


def slope_of(h: float, ends: Sequence[_End], between: Callable[[_End, _End], Array]) -> Array:
    """The derivative from values at -2, -1, 1 and 2 steps, of fourth order; at 0, 1 and 2, of second."""
    if len(ends) == 4:
        # (8 (f(h) - f(-h)) - (f(2 h) - f(-2 h))) / 12 h
        return (8.0 * between(ends[1], ends[2]) - between(ends[0], ends[3])) / (12.0 * h)
    return (4.0 * between(ends[0], ends[1]) - between(ends[0], ends[2])) / (2.0 * h)


def _stepped(copy: Runtime, tangent: StepTangent) -> Outcome:
    """The last step once more, with the parameters of a copy."""
    return replayed_from(copy.sim, tangent.kept, grows=True)


def _differences(copy: Runtime, tangent: StepTangent, one: Numbers) -> Array:
    """Derivatives of the last step by a parameter: differences of steps, made on a copy of the World."""
    columns: list[Array] = []
    for k in range(len(one.rows)):
        h, ends = _around(copy, one, k, _DIFFERENCE, lambda: _stepped(copy, tangent))
        columns.append(slope_of(h, ends, tangent.difference))
    return np.stack(columns, axis=1)


def _kept(world: WorldRuntime, tangent: StepTangent, parameters: list[Numbers]) -> _Kept:
    """The copy of a World and its constants by parameters."""
    kept: _Kept | None = tangent.by_parameters
    runtime = world._live()
    values = np.concatenate([physical_parameters.read(runtime, one) for one in parameters])
    known = kept is not None and (kept.version, kept.parameters) == (runtime.version, parameters)
    # laws of contact and sizes may change and leave the version as it is
    if kept is None or not known or not np.array_equal(kept.values, values):
        copy = persistence.clone_world(world)
        for numbers in parameters:
            physical_parameters.take_over(copy._live(), runtime, numbers)
        kept = _Kept(
            runtime.version, parameters, values, copy, *_constant_slopes(world, copy._live(), parameters)
        )
        tangent.by_parameters = kept
    return kept


def _constant_slopes(
    world: WorldRuntime, copy: Runtime, parameters: list[Numbers]
) -> tuple[list[bool], ConstantSlopes]:
    """Which parameters change numbers alone, and how constants of the model follow those that do.

    Constants are closed forms of parameters, most of them linear: differences are exact to some 1e-12.
    """
    structure = structure_of(copy.sim)
    places = {place: len(numbers) for place, numbers in constants_of(copy.sim).items()}
    is_smooth: list[bool] = []
    rows: list[Array] = []
    for one in parameters:
        same: list[bool] = []

        def constants(same: list[bool] = same) -> Array:
            same.append(structure_of(copy.sim) == structure)
            return np.concatenate(list(constants_of(copy.sim).values()))

        if not _is_force(world, one):
            made: list[Array] = []
            for k in range(len(one.rows)):
                made.append(slope_of(*_around(copy, one, k, _SLOPE, constants), _change))
                if not all(same):
                    break
            rows += made if all(same) else []
        is_smooth.append(all(same))
    whole = np.array(rows).reshape(-1, sum(places.values()))
    parts = np.split(whole, np.cumsum(list(places.values()))[:-1], axis=1)
    return is_smooth, ConstantSlopes.of(dict(zip(places, parts, strict=True)))


def _change(first: Array, second: Array) -> Array:
    """The difference of constants; those that are infinite are no closed forms of anything."""
    made = np.zeros_like(first)
    if first.shape == second.shape:
        np.subtract(second, first, out=made, where=first != second)
    return made
