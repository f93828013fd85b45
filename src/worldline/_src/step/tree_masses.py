# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass matrices tree by tree: what trees do not share need not be stored."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.program import caller
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import stages
from worldline._src.step.evaluate import WITH_GRAVITY, new_arena, require_articulations, stage_addresses
from worldline._src.step.island_stages import mass_of_trees
from worldline._src.step.pack_anchors import measure
from worldline._src.step.pack_trees import tree_starts


def tree_masses(model: Model, q: Array) -> list[tuple[int, Array]]:
    """First degree of freedom and mass matrix of every tree at coordinates `q`.

    With [i, j] for the degrees of freedom i and j of a tree, counted from its first; [kg, kg m or kg m^2].
    """
    return measure_trees(model, q)[0]


def measure_trees(model: Model, q: Array) -> tuple[list[tuple[int, Array]], Array]:
    """What `tree_masses` gives, and the data arena that has the link poses at `q`."""
    require_articulations(model, "mass_matrix")
    starts = tree_starts(model)
    if len(starts) == 2:
        return _measure_one(model, q)
    squares = np.diff(starts) ** 2
    sizes = dict.fromkeys(t.TABLE.sizes, 0)
    sizes |= {"ntree": len(squares), "tree_ends": len(starts), "nmass": int(squares.sum())}
    block = t.TABLE.lay_out(sizes)
    block.column.tree_dof[:] = starts
    block.column.tree_mass_at[:] = np.cumsum(squares) - squares
    data = measure(model, block, q, (mass_of_trees,), (stages.composites,))
    parts = np.split(block.column.tree_mass, np.cumsum(squares)[:-1]) if len(squares) else []
    masses = [
        (int(start), part.reshape(2 * (int(end - start),)))
        for start, end, part in zip(starts[:-1], starts[1:], parts, strict=True)
    ]
    return masses, data


def _measure_one(model: Model, q: Array) -> tuple[list[tuple[int, Array]], Array]:
    """The same of a single tree, whose mass matrix is that of the model."""
    arenas, data = model.arenas, new_arena(model, "float")
    data[arenas.offsets["q"] :][: len(q)] = q
    program = (stages.positions, stages.composites, stages.mass_matrix)
    caller()(stage_addresses(program), arenas.index, arenas.constant, WITH_GRAVITY, data)
    nv = model.joint_dof_count
    return [(0, data[arenas.offsets["M"] :][: nv * nv].reshape(nv, nv))], data
