# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass matrices tree by tree: what trees do not share need not be stored."""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import stages
from worldline._src.step.evaluate import require_articulations
from worldline._src.step.island_stages import mass_of_trees
from worldline._src.step.pack_anchors import measure
from worldline._src.step.pack_trees import tree_starts


def tree_masses(model: Model, q: Array) -> list[tuple[int, Array]]:
    """First degree of freedom and mass matrix of every tree at coordinates `q`.

    With [i, j] for the degrees of freedom i and j of a tree, counted from its first; [kg, kg m or kg m^2].
    """
    require_articulations(model, "mass_matrix")
    starts = tree_starts(model)
    squares = np.diff(starts) ** 2
    sizes = dict.fromkeys(t.TABLE.sizes, 0)
    sizes |= {"ntree": len(squares), "tree_ends": len(starts), "nmass": int(squares.sum())}
    block = t.TABLE.lay_out(sizes)
    block.column["tree_dof"][:] = starts
    block.column["tree_mass_at"][:] = np.cumsum(squares) - squares
    measure(model, block, q, (mass_of_trees,), (stages.composites,))
    parts = np.split(block.column["tree_mass"], np.cumsum(squares)[:-1]) if len(squares) else []
    return [
        (int(start), part.reshape(2 * (int(end - start),)))
        for start, end, part in zip(starts[:-1], starts[1:], parts, strict=True)
    ]
