# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of arrays in four arenas: annotated columns, the layout of the arenas, and typed views of them.

A part of a step that has arrays of its own (constraint rows, say) declares each once, as an annotated
attribute of a `Columns` class. All classes of a part are the bases of one, which gives the layout:
`Block.column` are the arrays in Python (`column.limit_dof`), and `Table.cut` makes the function that cuts a
view, the arrays of one of the classes, from the arenas in a stage. A class that also names arrays of another
one annotates them and assigns nothing.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np

from worldline._src.helpers import DISABLED, WrittenHelper
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import aligned_zeros, matrix, shared_matrix, shared_vector, vector

Integers: TypeAlias = np.ndarray[Any, Any]
"""An array of int64."""
Numbers: TypeAlias = np.ndarray[Any, Any]
"""An array of the scalar of a stage: doubles, lanes or dual numbers; doubles for constants."""

View = TypeVar("View")


class Column:
    """One array: its arena (m, c, args or d), its shape by symbols, and what it holds.

    `own` marks constants that may differ from world to world; all others are the same in every world, so that
    kernels may branch on them. `capacity` names the size that says how many elements are laid out, for arrays
    whose view is cut anew for every problem and never needs as many elements as its largest shape has; by
    default all of the shape.
    """

    name: str

    def __init__(
        self,
        space: str,
        shape: tuple[str | int, ...],
        doc: str,
        capacity: str | None = None,
        own: bool = False,
    ) -> None:
        self.space, self.shape, self.doc, self.capacity, self.own = space, shape, doc, capacity, own

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, columns: Columns | None, owner: type) -> Any:
        if columns is None:
            return self
        # found in the instance from now on
        view = columns.__dict__[self.name] = columns._cut(self)
        return view


def index(*shape: str | int, doc: str) -> Any:
    """Integers of the model."""
    return Column("m", shape, doc)


def constant(*shape: str | int, doc: str, own: bool = False) -> Any:
    """Constants of the model; `own` where they may differ from world to world."""
    return Column("c", shape, doc, own=own)


def integers(*shape: str | int, doc: str) -> Any:
    """Integers that a step writes."""
    return Column("args", shape, doc)


def numbers(*shape: str | int, doc: str, capacity: str | None = None) -> Any:
    """Numbers that a step writes."""
    return Column("d", shape, doc, capacity)


class Columns:
    """The arrays of a block, by attribute or by name, each cut from its arena when first asked for."""

    def __init__(self, arenas: dict[str, Any], extents: dict[str, tuple[int, tuple[int, ...]]]) -> None:
        self._arenas, self._extents = arenas, extents

    def _cut(self, column: Column) -> Any:
        at, shape = self._extents[column.name]
        return self._arenas[column.space][at : at + math.prod(shape)].reshape(shape)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


Arrays = TypeVar("Arrays", bound=Columns)


def _declared(columns: type) -> Iterator[Column]:
    """Columns of all bases in their order, then those of the class itself."""
    for base in columns.__bases__:
        yield from _declared(base)
    for value in vars(columns).values():
        if isinstance(value, Column):
            yield value


def cut_from(view: type[View], cuts: Callable[[str], str], parameters: str) -> Callable[..., View]:
    """The function of some arenas that makes a view; `cuts` gives the expression of a field.

    view: a named tuple, or a class of columns, whose view is a named tuple of its arrays.
    """
    name, names = view.__name__, tuple(view.__annotations__)

    def write() -> Callable[..., View]:
        made: Any = namedtuple(name, names) if issubclass(view, Columns) else view
        fields = ", ".join(map(cuts, names))
        source = f"def build({parameters}):\n    return {name}({fields})\n"
        scope: dict[str, Any] = {"vector": vector, "matrix": matrix, name: made}
        scope |= {"shared_vector": shared_vector, "shared_matrix": shared_matrix}
        exec(compile(source, f"<view {name}>", "exec"), scope)
        return scope["build"]

    # most processes have the code of stages from a file and need none of these functions
    return write() if DISABLED else cast("Callable[..., View]", WrittenHelper("build", parameters, write))


class Table(Generic[Arrays]):
    """Columns over four arenas; the m arena starts with the sizes, then the offset of every column.

    `moving` sizes are those of the problem at hand: they stand in `args`, at the indices given, and stages
    that open a problem write them there. The header in m is constant.
    """

    def __init__(self, arrays: type[Arrays], moving: Mapping[str, int] | None = None) -> None:
        self.arrays = arrays
        self.columns = tuple(_declared(arrays))
        self.moving = dict(moving or {})
        self.by_name = {column.name: column for column in self.columns}
        symbols = [s for c in self.columns for s in (*c.shape, c.capacity) if isinstance(s, str)]
        self.sizes = tuple(dict.fromkeys(symbols))
        names = (*self.sizes, *self.by_name)
        self.entry = {name: k for k, name in enumerate(names)}
        self.header = -(-len(names) // 8) * 8
        self._layout: Layout | None = None
        """The last one, which copies of what it was made for have too."""

    def _size(self, symbol: str | int) -> str:
        if isinstance(symbol, int):
            return str(symbol)
        return f"args[{self.moving[symbol]}]" if symbol in self.moving else f"m[{self.entry[symbol]}]"

    def cut(self, view: type[View]) -> Callable[..., View]:
        """The function of (m, c, args, d) that cuts a view from the arenas.

        A field `own_x` is column `x` of the constants with the numbers of each world, where `x` has those
        that all worlds share: of columns that are partly the one and partly the other.
        """
        return cut_from(view, self._expression, "m, c, args, d")

    def _expression(self, name: str) -> str:
        """How a field of a view is cut."""
        column = self.by_name[name.removeprefix("own_")]
        cut = "vector" if len(column.shape) == 1 else "matrix"
        if column.space == "c" and not column.own and name == column.name:
            cut = f"shared_{cut}"
        sizes = ", ".join(self._size(s) for s in column.shape)
        return f"{cut}({column.space}, m[{self.entry[column.name]}], {sizes})"

    def lay_out(
        self,
        sizes: dict[str, int],
        last: Collection[str] = (),
        model: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Block[Arrays]:
        """Arenas for these sizes, all zero.

        last: sizes whose columns come last in their arenas, so that no other column moves when they grow.
        model: the arenas m and c of a block of the same sizes, to be shared.
        """
        given, last = tuple(sizes[name] for name in self.sizes), tuple(last)
        layout = self._layout
        if layout is None or (layout.sizes, layout.last) != (given, last):
            layout = self._layout = self._laid_out(sizes, given, last)
        return Block(self, sizes, layout, model)

    def _laid_out(self, sizes: dict[str, int], given: tuple[int, ...], last: tuple[str, ...]) -> Layout:
        ends = {"m": self.header, "c": 0, "args": 0, "d": 0}
        extents: dict[str, tuple[int, tuple[int, ...]]] = {}
        for column in sorted(self.columns, key=lambda column: not set(last).isdisjoint(column.shape)):
            shape = tuple(s if isinstance(s, int) else sizes[s] for s in column.shape)
            if column.capacity is not None and math.prod(shape) > sizes[column.capacity]:
                shape = (sizes[column.capacity],)
            extents[column.name] = (ends[column.space], shape)
            # whole cache lines, so that rows of machine vectors do not straddle more than they must
            ends[column.space] += -(-math.prod(shape) // 8) * 8
        header = np.array([*given, *(extents[column.name][0] for column in self.columns)], np.int64)
        return Layout(given, last, ends, extents, header)


class Layout(NamedTuple):
    """Where the columns of a table are for some sizes."""

    sizes: tuple[int, ...]
    last: tuple[str, ...]
    ends: dict[str, int]
    extents: dict[str, tuple[int, tuple[int, ...]]]
    header: np.ndarray


class Block(Generic[Arrays]):
    """Four arenas and the columns in them as arrays; flat where the capacity is less than the shape."""

    def __init__(
        self,
        table: Table[Arrays],
        sizes: dict[str, int],
        layout: Layout,
        model: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        ends = layout.ends
        self.sizes = sizes
        self.names = tuple(table.by_name)
        if model is None:
            model = np.zeros(max(ends["m"], 1), np.int64), aligned_zeros(max(ends["c"], 1))
            model[0][: len(layout.header)] = layout.header
        self.m, self.c = model
        self.args = np.zeros(max(ends["args"], 1), np.int64)
        self.d = aligned_zeros(max(ends["d"], 1))
        for name, at in table.moving.items():
            self.args[at] = sizes[name]
        self.column = table.arrays({"m": self.m, "c": self.c, "args": self.args, "d": self.d}, layout.extents)

    @property
    def nbytes(self) -> int:
        """Bytes of all arenas."""
        return sum(arena.nbytes for arena in (self.m, self.c, self.args, self.d))

    def take(self, other: Block[Arrays]) -> None:
        """Copy what both have of every column of `other`, a block of the same table with other sizes."""
        for name in self.names:
            old, new = other.column[name], self.column[name]
            if new.ndim != old.ndim:
                new, old = new.reshape(-1), old.reshape(-1)
            common = tuple(slice(min(a, b)) for a, b in zip(new.shape, old.shape, strict=True))
            new[common] = old[common]
