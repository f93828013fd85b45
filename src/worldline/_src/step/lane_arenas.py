# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arenas of a group of worlds in lanes: those of one world, with its numbers in every lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.packed_rows import LANES
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.scalar.memory import address_of
from worldline._src.step import evaluate
from worldline._src.step.lane_rows import spread_over

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import LaneSimulation


def group_arenas(sim: LaneSimulation, scalar: str) -> list[tuple[np.ndarray, ...]]:
    """New arenas for a group of worlds: of trees, of rows, and of collision where there are shapes."""
    width, block, collision = (
        evaluate.SCALARS[scalar][1],
        sim.constraints.block,
        sim.constraints.collision,
    )

    def spread(numbers: np.ndarray) -> np.ndarray:
        return spread_over(numbers, scalar)

    # constants that worlds do not have of their own are shared by all groups
    constants = spread if sim.has_own_parameters else lambda numbers: numbers
    trees, constant, args = spread(sim._data), constants(sim._constant), block.args.copy()
    rows = block.m, constants(block.c), args, spread(block.d)
    sets = [(sim._index, constant, evaluate.WITH_GRAVITY, trees), rows]
    args[t.TREE_C], args[t.TREE_D] = address_of(constant), address_of(trees)
    args[block.m[t.TABLE.entry["packed_end"]] + LANES] = width
    if collision is not None:
        own, found = collision.args.copy(), spread(collision.d)
        args[t.COLLISION_ARGS], args[t.COLLISION_D] = address_of(own), address_of(found)
        if sim.constraints.single is not None:
            pairs = sim.constraints.sizes["ncontact"] // PAIR_CONTACTS
            sim._alive.append(sim.constraints.single.connect(width, pairs, own))
        sets.append((collision.m, constants(collision.c), own, found))
    return sets if sim.elements is None else sim.elements.with_arenas(sets, scalar)
