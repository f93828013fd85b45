# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Names for the parts of a flat vector: variables, their sizes and bounds.

A StateSpace is a value of its own: it knows no World and holds no numbers of state. `World.get_state` binds
one to a World by the names of its variables.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import values
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.values import VectorLike
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array


class StateVariable(NamedTuple):
    """One variable of a StateSpace: its place in the flat vector and its bounds.

    Example:
        >>> from worldline import simulation as sx
        >>> space = sx.StateSpace().add_variable("arm.q", dimension=2, lower=-1.0, upper=1.0)
        >>> variable = space.get_variable("arm.q")
        >>> variable.start_index, variable.dimension, variable.lower_bound.tolist()
        (0, 2, [-1.0, -1.0])
    """

    name: str
    start_index: int
    dimension: int
    lower_bound: Array
    """(dimension,), minus infinity for none."""
    upper_bound: Array
    """(dimension,), infinity for none."""

    @property
    def slice(self) -> slice:
        """Its part of the flat vector."""
        return slice(self.start_index, self.start_index + self.dimension)


class StateSpace(KnownNames):
    """Named variables that share one flat vector, in the order they were added.

    Example:
        >>> from worldline import simulation as sx
        >>> space = sx.StateSpace()
        >>> _ = space.add_variable("arm.q", 6).add_variable("arm.dq", dimension=6).finalize()
        >>> space.dimension, space.variable_names, space.get_variable_index("arm.dq")
        (12, ['arm.q', 'arm.dq'], 1)
    """

    def __init__(self) -> None:
        self._variables: dict[str, StateVariable] = {}
        self._dimension = 0
        self._finalized = False

    def add_variable(
        self,
        name: str,
        dimension: int = 1,
        *,
        lower: float | VectorLike = -np.inf,
        upper: float | VectorLike = np.inf,
    ) -> StateSpace:
        """Add a variable at the end.

        Args:
            name: unique in the space, not empty.
            dimension: how many numbers it has, at least 1.
            lower: bound of all numbers, or one for each, (dimension,).
            upper: the same, not below `lower`.

        Returns:
            The space itself, so that calls can be chained.
        """
        self._require_open(f"adding variable '{name}'")
        key = values.text(name, "name of a state variable")
        if not key:
            raise ArgumentError("the name of a state variable cannot be empty")
        if key in self._variables:
            raise ArgumentError(f"a state variable named '{key}' already exists")
        size = values.count(dimension, f"dimension of state variable '{key}'")
        if size < 1:
            raise ArgumentError(f"dimension of state variable '{key}' must be at least 1, got {size}")
        low, high = _bound(lower, size, key, "lower"), _bound(upper, size, key, "upper")
        if (low > high).any():
            raise ArgumentError(
                f"lower bound {low.tolist()} of state variable '{key}' must not exceed "
                f"its upper bound {high.tolist()}"
            )
        self._variables[key] = StateVariable(key, self._dimension, size, low, high)
        self._dimension += size
        return self

    def add_variables(
        self, names: Iterable[str], *, lower: float | VectorLike = -np.inf, upper: float | VectorLike = np.inf
    ) -> StateSpace:
        """Add variables of one number each; all of them, or none when one is refused.

        Args:
            names: unique in the space, not empty.
            lower: bound of all of them, or one for each, (len(names),).
            upper: the same, not below `lower`.

        Example:
            >>> from worldline import simulation as sx
            >>> space = sx.StateSpace().add_variables(["x", "y"], lower=-1.0, upper=[1.0, 2.0])
            >>> space.lower_bounds.tolist(), space.upper_bounds.tolist()
            ([-1.0, -1.0], [1.0, 2.0])
        """
        self._require_open("adding variables")
        every = values.several(names, "names of state variables")
        low, high = (
            values.spread(x, len(every), f"{w} bounds") for x, w in ((lower, "lower"), (upper, "upper"))
        )
        before, dimension = dict(self._variables), self._dimension
        try:
            for name, least, most in zip(every, low.tolist(), high.tolist(), strict=True):
                self.add_variable(name, lower=least, upper=most)
        except Exception:
            self._variables, self._dimension = before, dimension
            raise
        return self

    def _require_open(self, what: str) -> None:
        if self._finalized:
            raise OperationError(f"{what} is not possible: the state space is finalized")

    def finalize(self) -> StateSpace:
        """No more variables from here on; may be called again."""
        self._finalized = True
        return self

    def has_variable(self, name: str) -> bool:
        """Whether there is a variable of that name."""
        return isinstance(name, str) and name in self._variables

    def get_variable(self, name: str) -> StateVariable | None:
        """The variable of that name, or None."""
        return self._variables.get(values.key(name, "name of a state variable"))

    def get_variable_index(self, name: str) -> int | None:
        """The place of the variable in `variables`, or None."""
        return list(self._variables).index(name) if self.has_variable(name) else None

    @property
    def dimension(self) -> int:
        """Length of the flat vector."""
        return self._dimension

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self._variables)

    @property
    def is_finalized(self) -> bool:
        """Whether variables can no longer be added."""
        return self._finalized

    @property
    def variables(self) -> list[StateVariable]:
        """All variables in order."""
        return list(self._variables.values())

    @property
    def variable_names(self) -> list[str]:
        """Their names in order."""
        return list(self._variables)

    @property
    def lower_bounds(self) -> Array:
        """Lower bounds of the flat vector, (dimension,)."""
        return _joined([variable.lower_bound for variable in self._variables.values()])

    @property
    def upper_bounds(self) -> Array:
        """Upper bounds of the flat vector, (dimension,)."""
        return _joined([variable.upper_bound for variable in self._variables.values()])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateSpace):
            return NotImplemented
        return [(v.name, v.dimension) for v in self.variables] == [
            (v.name, v.dimension) for v in other.variables
        ] and bool(
            np.array_equal(self.lower_bounds, other.lower_bounds)
            and np.array_equal(self.upper_bounds, other.upper_bounds)
        )

    def __getstate__(self) -> dict[str, object]:
        # the last binding to a World belongs to this process
        return {name: value for name, value in vars(self).items() if name != "_bound"}

    __hash__ = None  # type: ignore[assignment] # changes until finalized

    def __repr__(self) -> str:
        parts = ", ".join(f"{v.name}[{v.dimension}]" for v in self._variables.values())
        return f"StateSpace({parts}{', finalized' if self._finalized else ''})"


def _bound(value: float | VectorLike, size: int, name: str, which: str) -> Array:
    return values.read_only(values.spread(value, size, f"{which} bound of state variable '{name}'"))


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)
