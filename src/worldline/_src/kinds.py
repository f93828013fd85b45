# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The scalars that kernels are compiled for, by name; nothing here needs the compiler.

Kernels name them where they take the address of elements (`address_as(address, int64)`), and stages where
their machine code is asked for (`stage.address(LANES4)`). The compiler turns each into its own type when it
meets one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Kind:
    """A scalar: its name, the room it takes in doubles, and the module that tells the compiler of it."""

    resolve: Callable[[Kind], Any]
    """The compiler's type of a kind; set when the compiler is loaded."""

    def __init__(
        self,
        name: str,
        label: str,
        doubles: int,
        lowering: str = "worldline._src.scalar.lowering",
        *,
        worlds: int = 1,
        single: bool = False,
        own_constants: bool = False,
    ) -> None:
        self.name = name
        self.label = label
        self.doubles = doubles
        self.worlds = worlds
        """How many worlds have a number in one scalar."""
        self.single = single
        """Whether these numbers have single precision."""
        self.lowering = lowering
        self.own_constants = own_constants
        """Whether the constants of a model are of this scalar too: every world has its own."""

    def __repr__(self) -> str:
        return self.label

    @property
    def _numba_type_(self) -> Any:
        """What the compiler makes of a kind that a kernel names."""
        return Kind.resolve(self)


float64 = Kind("float64", "float64", 1)
"""One double: a number of one world."""
float32 = Kind("float32", "float32", 1, single=True)
"""A number of one world in single precision."""
int64 = Kind("int64", "int64", 1)
"""A whole number of a table."""
LANES4 = Kind("lanes4", "4 lanes", 4, worlds=4)
"""One double from each of 4 worlds, as one machine vector."""
LANES8 = Kind("lanes8", "8 lanes", 8, worlds=8)
"""One double from each of 8 worlds."""
LANES4_OWN = Kind("lanes4own", "4 lanes with parameters of their own", 4, worlds=4, own_constants=True)
"""4 worlds whose models have other numbers."""
LANES8_OWN = Kind("lanes8own", "8 lanes with parameters of their own", 8, worlds=8, own_constants=True)
"""8 worlds whose models have other numbers."""
SINGLE8 = Kind("single8", "8 lanes of single precision", 4, worlds=8, single=True)
"""One number of single precision from each of 8 worlds, as one machine vector."""
SINGLE16 = Kind("single16", "16 lanes of single precision", 8, worlds=16, single=True)
"""One number of single precision from each of 16 worlds."""
SINGLE8_OWN = Kind(
    "single8own",
    "8 lanes of single precision with parameters of their own",
    4,
    worlds=8,
    single=True,
    own_constants=True,
)
"""8 worlds in single precision whose models have other numbers."""
SINGLE16_OWN = Kind(
    "single16own",
    "16 lanes of single precision with parameters of their own",
    8,
    worlds=16,
    single=True,
    own_constants=True,
)
"""16 worlds in single precision whose models have other numbers."""
DUAL = Kind("dual", "dual", 2)
"""A value and its derivative along one direction."""

SCALARS = {
    kind.name: kind
    for kind in (
        *(float64, LANES4, LANES8, LANES4_OWN, LANES8_OWN),
        *(SINGLE8, SINGLE16, SINGLE8_OWN, SINGLE16_OWN, DUAL),
    )
}
"""What the data arena of a stage may hold; `duals` adds the scalar of derivatives of steps."""
