# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of arrays in four arenas: what they are called, how they are laid out, and the views of them.

A part of a step that has arrays of its own (constraint rows, say) lists them once as columns. The list
gives the layout in Python and the named tuples that kernels receive.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from worldline._src.jit import inline
from worldline._src.scalar.memory import aligned_zeros, matrix, shared_matrix, shared_vector, vector


class Column(NamedTuple):
    """One array: its arena (m, c, args or d), its shape by symbols, and what it holds.

    `own` marks constants that may differ from world to world; all others are the same in every world, so that
    kernels may branch on them. `capacity` names the size that says how many elements are laid out, for arrays
    whose view is cut anew for every problem and never needs as many elements as its largest shape has; by
    default all of the shape.
    """

    name: str
    space: str
    shape: tuple[str | int, ...]
    doc: str
    capacity: str | None = None
    own: bool = False


class Table:
    """Columns over four arenas; the m arena starts with the sizes, then the offset of every column."""

    def __init__(self, sizes: Sequence[str], columns: Sequence[Column]) -> None:
        self.sizes = tuple(sizes)
        self.columns = tuple(columns)
        self.by_name = {column.name: column for column in columns}
        names = (*sizes, *self.by_name)
        self.entry = {name: k for k, name in enumerate(names)}
        self.header = -(-len(names) // 8) * 8

    def view(self, name: str, *fields: str) -> Any:
        """A named tuple of columns, and the function of (m, c, args, d) that cuts it from the arenas.

        A field `own_x` is column `x` of the constants with the numbers of each world, where `x` has those
        that all worlds share: of columns that are partly the one and partly the other.
        """
        view = namedtuple(name, fields)  # type: ignore[misc] # the fields come from the table
        view.__doc__ = "\n".join(f"{f}: {self.by_name[_column(f)].doc}" for f in fields)
        cuts = []
        for field in fields:
            column = self.by_name[_column(field)]
            sizes = ", ".join(str(s) if isinstance(s, int) else f"m[{self.entry[s]}]" for s in column.shape)
            cut = "vector" if len(column.shape) == 1 else "matrix"
            if column.space == "c" and not column.own and field == column.name:
                cut = f"shared_{cut}"
            cuts.append(f"{cut}({column.space}, m[{self.entry[column.name]}], {sizes})")
        source = f"def build(m, c, args, d):\n    return {name}({', '.join(cuts)})\n"
        scope: dict[str, Any] = {"vector": vector, "matrix": matrix, name: view}
        scope |= {"shared_vector": shared_vector, "shared_matrix": shared_matrix}
        exec(compile(source, f"<view {name}>", "exec"), scope)
        return view, inline(scope["build"])

    def lay_out(self, sizes: dict[str, int]) -> Block:
        """Arenas for these sizes, all zero."""
        return Block(self, sizes)


def _column(field: str) -> str:
    """The column that a field of a view is."""
    return field.removeprefix("own_")


class ColumnViews(dict[str, Any]):
    """Columns of a block by name, each cut from its arena when first asked for."""

    def __init__(self, block: Block, table: Table, extents: dict[str, tuple[int, tuple[int, ...]]]) -> None:
        self._arenas = {"m": block.m, "c": block.c, "args": block.args, "d": block.d}
        self._table, self._extents = table, extents

    def __missing__(self, name: str) -> Any:
        at, shape = self._extents[name]
        arena = self._arenas[self._table.by_name[name].space]
        view = self[name] = arena[at : at + math.prod(shape)].reshape(shape)
        return view


class Block:
    """Four arenas and the columns in them as arrays; flat where the capacity is less than the shape."""

    def __init__(self, table: Table, sizes: dict[str, int]) -> None:
        ends = {"m": table.header, "c": 0, "args": 0, "d": 0}
        extents: dict[str, tuple[int, tuple[int, ...]]] = {}
        for column in table.columns:
            shape = tuple(s if isinstance(s, int) else sizes[s] for s in column.shape)
            if column.capacity is not None and math.prod(shape) > sizes[column.capacity]:
                shape = (sizes[column.capacity],)
            extents[column.name] = (ends[column.space], shape)
            # whole cache lines, so that rows of machine vectors do not straddle more than they must
            ends[column.space] += -(-math.prod(shape) // 8) * 8
        self.sizes = sizes
        self.names = tuple(table.by_name)
        self.m = np.zeros(max(ends["m"], 1), np.int64)
        self.c = aligned_zeros(max(ends["c"], 1))
        self.args = np.zeros(max(ends["args"], 1), np.int64)
        self.d = aligned_zeros(max(ends["d"], 1))
        offsets = [extents[column.name][0] for column in table.columns]
        header = [*(sizes[name] for name in table.sizes), *offsets]
        self.m[: len(header)] = header
        self.column: dict[str, Any] = ColumnViews(self, table, extents)

    @property
    def nbytes(self) -> int:
        """Bytes of all arenas."""
        return sum(arena.nbytes for arena in (self.m, self.c, self.args, self.d))

    def take(self, other: Block) -> None:
        """Copy what both have of every column of `other`, a block of the same table with other sizes."""
        for name in self.names:
            old, new = other.column[name], self.column[name]
            if new.ndim != old.ndim:
                new, old = new.reshape(-1), old.reshape(-1)
            common = tuple(slice(min(a, b)) for a, b in zip(new.shape, old.shape, strict=True))
            new[common] = old[common]
