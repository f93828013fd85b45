# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Packers: what each kind of constraint and force element brings to the columns of `kernels/constraints`.

A packer finds what a model has of its kind, says how large its columns are and how many rows they can make,
which trees these tie together, and fills the columns. `packing.py` lists the kinds; nothing else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from worldline._src.kernels.constraints.tables import ConstraintColumns
from worldline._src.model.model import Model
from worldline._src.scalar.columns import Block
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_anchors import Anchors
from worldline._src.step.pack_trees import tree_of_dofs

Touched = dict[str, list[list[int]]]
"""Trees of every constraint, by the name of its column `<name>_order`."""


class Trees:
    """The tree of a link or a degree of freedom."""

    def __init__(self, model: Model, starts: np.ndarray) -> None:
        self._of_dof = tree_of_dofs(starts)
        self._last = model.constants["link_last"]

    def dofs(self, dofs: Sequence[int]) -> list[int]:
        """Trees of degrees of freedom, ascending."""
        return sorted({int(self._of_dof[d]) for d in dofs if d >= 0})

    def links(self, links: Sequence[int]) -> list[int]:
        """Trees of kernel links, ascending."""
        return self.dofs([int(self._last[link]) for link in links if link > 0])


class Packer:
    """What a model has of one kind; made in the order of the kinds, so that later ones find earlier ones."""

    ROWS: ClassVar[dict[str, int]] = {}
    """Most rows that one of `n<name>` makes, by name."""

    def __init__(self, packing: Packing) -> None:
        self.packing, self.model, self.option = packing, packing.model, packing.option

    def sizes(self) -> dict[str, int]:
        """Sizes of its columns, once all kinds are made."""
        return {}

    def rows(self) -> int:
        """Most rows that all of this kind make in a step, beside those of contacts."""
        sizes = self.sizes() if self.ROWS else {}
        return sum(each * sizes[f"n{name}"] for name, each in self.ROWS.items())

    def touched(self, trees: Trees) -> Touched:
        """Trees of its constraints that are not those of one degree of freedom alone."""
        return {}

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill its columns."""

    def fill_inertias(self, block: Block[ConstraintColumns], dofs: Array) -> None:
        """Take over masses, at the start and when they change; `dofs` are inverse inertias (nv,)."""


P = TypeVar("P", bound=Packer)


class Packing:
    """All kinds of a model.

    Args:
        model: the model.
        option: options of its scene.
        servos: degrees of freedom that motors with a largest force move.
        kinds: the packers, see `packing.KINDS`.
        like: those of a model that this one is a copy of.
    """

    def __init__(
        self,
        model: Model,
        option: SimulateOption,
        servos: np.ndarray,
        kinds: Sequence[type[Packer]],
        like: Packing | None = None,
    ) -> None:
        self.model, self.option, self.servos, self.like = model, option, servos, like
        self.anchors = Anchors(model)
        """Frames on links that any of the kinds takes hold of."""
        self._made: dict[type[Packer], Packer] = {}
        for kind in kinds:
            self._made[kind] = kind(self)
        own = [
            packer for packer in self._made.values() if type(packer).fill_inertias is not Packer.fill_inertias
        ]
        self._inertial = own[::-1]

    def of(self, kind: type[P]) -> P:
        """The packer of a kind."""
        found = self._made[kind]
        assert isinstance(found, kind)
        return found

    def sizes(self) -> dict[str, int]:
        """Sizes of the columns of all kinds."""
        sizes = {"nanchor": len(self.anchors)}
        for packer in self._made.values():
            sizes |= packer.sizes()
        return sizes

    def rows(self) -> int:
        """Most rows of a step beside those of contacts."""
        return sum(packer.rows() for packer in self._made.values())

    def rows_of_trees(self, column: ConstraintColumns) -> np.ndarray:
        """Most rows that every tree brings to its island by counts of the kinds alone, (trees,)."""
        most = np.zeros(len(column.tree_dof) - 1, np.int64)
        for packer in self._made.values():
            for name, rows in packer.ROWS.items():
                most += rows * np.diff(column[f"tree_{name}"])
        return most

    def touched(self, starts: np.ndarray) -> Touched:
        """Trees of all constraints that are not those of one degree of freedom; `starts` of `tree_starts`."""
        trees, found = Trees(self.model, starts), Touched()
        for packer in self._made.values():
            found |= packer.touched(trees)
        return found

    def fill(self, block: Block[ConstraintColumns]) -> None:
        """Fill the columns of all kinds."""
        self.anchors.fill(block.column)
        for packer in self._made.values():
            packer.fill(block)

    def fill_inertias(self, block: Block[ConstraintColumns], dofs: Array) -> None:
        """Take over masses; equalities see the inertias of tendons, which come after them."""
        for packer in self._inertial:
            packer.fill_inertias(block, dofs)
