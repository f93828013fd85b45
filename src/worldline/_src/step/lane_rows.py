# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of state and inputs of many worlds, and where their parts go in the arenas of a group of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels.constraints.tables import TABLE
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import ACCELERATION, ACTIVATION, FORCE, POSITION, VELOCITY
from worldline._src.step.evaluate import SCALARS, number_type
from worldline._src.step.step_table import CONSTRAINT, MULTIBODY, USER

if TYPE_CHECKING:
    from worldline._src.step.fixed_constraints import FixedConstraints
    from worldline._src.step.lane_elements import LaneElements


class RowPart(NamedTuple):
    """Numbers of a row: how many, and where in the arenas they go."""

    name: str
    count: int
    place: int
    at: int
    runs: tuple[tuple[int, int, int], ...] | None = None
    """Where not all of them go to one place: first number, where it goes, how many, of every run."""


def some_of(name: str, count: int, place: int, at: int, used: Sequence[int]) -> RowPart:
    """A part of `count` numbers of which only those in `used` go to the arena, one after the other."""
    if len(used) == count:
        return RowPart(name, count, place, at)
    return RowPart(name, count, place, at, tuple((u, at + k, 1) for k, u in enumerate(used)))


def rows_of(parts: Sequence[RowPart], worlds: int) -> tuple[Array, np.ndarray, dict[str, Array]]:
    """An array with a row a world, the table of its parts for the loop over steps, and views by name."""
    starts = np.cumsum([0, *(part.count for part in parts)])
    rows = np.zeros((worlds, int(starts[-1])))
    spans = zip(parts, starts.tolist(), strict=False)
    views = {part.name: rows[:, start : start + part.count] for part, start in spans}
    table = [
        (p.place, at, count, start + first)
        for p, start in zip(parts, starts.tolist(), strict=False)
        for first, at, count in (((0, p.at, p.count),) if p.runs is None else p.runs)
    ]
    return rows, np.array(table, np.int64), views


def row_parts(
    model: Model, constraints: FixedConstraints, elements: LaneElements | None
) -> tuple[list[RowPart], list[RowPart], int]:
    """Parts of the rows of state and of inputs, and how many numbers of the state a step alone writes."""
    sizes, offsets = model.arenas.sizes, model.arenas.offsets
    rows, block, nbody = constraints.sizes, constraints.block, sizes["nbody"]

    def column(name: str) -> int:
        return int(block.m[TABLE.entry[name]])

    nq, nv, controls = sizes["nq"], sizes["nv"], 0 if model.actuators is None else len(model.actuators)
    kept = RowPart("kept", rows["nkept"], CONSTRAINT, column("kept"))
    if rows["nkept_list"]:
        kept = RowPart("kept", 2 * rows["nkept_list"], CONSTRAINT, column("kept_list"))
    state = [
        RowPart("q", nq, MULTIBODY, offsets["q"]),
        RowPart("v", nv, MULTIBODY, offsets["v"]),
        RowPart("activation", rows["na"], CONSTRAINT, column("activation")),
        kept,
        RowPart("sweeps", 2, CONSTRAINT, column("sweeps")),
    ]
    inputs = [
        RowPart("q_target", nq, MULTIBODY, offsets["q_target"]),
        RowPart("v_target", nv, MULTIBODY, offsets["v_target"]),
        RowPart("force", nv, MULTIBODY, offsets["force"]),
        some_of("control", controls, CONSTRAINT, column("control"), constraints.actuators.tolist()),
        RowPart("body_f", 6 * nbody, MULTIBODY, offsets["body_f"]),
    ]
    written = sum(part.count for part in state)
    if elements is not None:
        # commands and the clock, which elements write, go with the state
        state += [*inputs[:-1], RowPart("clock", 2, MULTIBODY, offsets["clock"])]
        inputs = [
            inputs[-1],
            RowPart("element_parameters", elements.parameter_count, USER, elements.parameters_at),
            RowPart("time_start", 1, USER, elements.start_at),
            RowPart("body_com", 3 * nbody, USER, elements.com_at),
        ]
    return state, inputs, written


def checked_parts(model: Model, constraints: FixedConstraints) -> np.ndarray:
    """Set of arenas, place, count and quantity of the numbers that must stay finite and within limits."""
    sizes, offsets, rows = model.arenas.sizes, model.arenas.offsets, constraints.sizes
    activation = int(constraints.block.m[TABLE.entry["activation"]])
    return np.array(
        [
            (MULTIBODY, offsets["tau"], sizes["nv"], FORCE),
            (MULTIBODY, offsets["a"], sizes["nv"], ACCELERATION),
            (MULTIBODY, offsets["v"], sizes["nv"], VELOCITY),
            (MULTIBODY, offsets["q"], sizes["nq"], POSITION),
            (CONSTRAINT, activation, rows["na"], ACTIVATION),
        ],
        np.int64,
    )


def spread_over(numbers: np.ndarray, scalar: str) -> np.ndarray:
    """An arena of one world as that of a group of lanes, the same numbers in every lane."""
    width, dtype = SCALARS[scalar][1], number_type(scalar)
    wide = aligned_zeros(len(numbers) * width, dtype)
    if dtype == np.float32:
        most = float(np.finfo(dtype).max)
        numbers = np.clip(numbers, -most, most)
    wide.reshape(-1, width)[:] = numbers[:, None]
    return wide
