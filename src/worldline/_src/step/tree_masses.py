# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass matrices tree by tree: what trees do not share need not be stored."""

from __future__ import annotations

from functools import partial

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.program import caller
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import stages
from worldline._src.step.evaluate import WITH_GRAVITY, new_arena, require_articulations, stage_addresses
from worldline._src.step.island_stages import mass_of_trees
from worldline._src.step.pack_anchors import link_trees
from worldline._src.step.pack_trees import tree_starts


class TreeMasses:
    """Arenas in which mass matrices of the trees of a model are measured, as often as its parameters change.

    The matrices of all trees stand in `mass` one after the other. Entry (i, j) of degrees of freedom of one
    tree, counted over all trees, is at `row[i] + j`.
    """

    def __init__(self, model: Model) -> None:
        require_articulations(model, "mass_matrix")
        arenas, starts, run = model.arenas, tree_starts(model), caller()
        counts = np.diff(starts)
        begins = np.cumsum(counts**2) - counts**2
        self.trees = np.column_stack([starts[:-1], counts, begins])
        first, count, begin = np.repeat(self.trees, counts, axis=0).T
        self.row = begin + (np.arange(starts[-1]) - first) * count - first
        trees = arenas.index, arenas.constant, WITH_GRAVITY
        if len(counts) == 1:
            # the mass matrix of a single tree is that of the model
            self.data = new_arena(model, "float")
            self.mass = self.data[arenas.offsets["M"] :][: counts[0] ** 2]
            program = (stages.positions, stages.composites, stages.mass_matrix)
            self._calls = [partial(run, stage_addresses(program), *trees, self.data)]
        else:
            self.data = new_arena(model, "float", arenas.step_size)
            sizes = dict.fromkeys(t.TABLE.sizes, 0)
            sizes |= {"ntree": len(counts), "tree_ends": len(starts), "nmass": int((counts**2).sum())}
            block = t.TABLE.lay_out(sizes)
            block.column.tree_dof[:], block.column.tree_mass_at[:] = starts, begins
            link_trees(block, arenas.index, arenas.constant, self.data)
            self.mass = block.column.tree_mass
            rows = block.m, block.c, block.args, block.d
            self._calls = [
                partial(run, stage_addresses((stages.positions, stages.composites)), *trees, self.data),
                partial(run, stage_addresses((mass_of_trees,)), *rows),
            ]
        at = arenas.offsets["q"]
        self.q = self.data[at : at + arenas.sizes["nq"]]
        """Where they are measured."""

    def measure(self) -> None:
        """Link poses at `q` into `data`, mass matrices into `mass`."""
        for call in self._calls:
            call()

    def matrices(self) -> list[tuple[int, Array]]:
        """First degree of freedom and mass matrix of every tree; views."""
        return [
            (first, self.mass[at : at + count * count].reshape(count, count))
            for first, count, at in self.trees.tolist()
        ]


def tree_masses(model: Model, q: Array) -> list[tuple[int, Array]]:
    """First degree of freedom and mass matrix of every tree at coordinates `q`.

    With [i, j] for the degrees of freedom i and j of a tree, counted from its first; [kg, kg m or kg m^2].
    """
    measured = TreeMasses(model)
    measured.q[:] = q
    measured.measure()
    return measured.matrices()
