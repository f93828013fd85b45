# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A linear complementarity problem, checked once when it is made."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.kernels.lcp import problem as arrays
from worldline._src.masked import has_masked_entries


class LcpKind(enum.Enum):
    """What shape of problem it is, from the narrowest to the widest.

    LINEAR has no bounds at all; STANDARD has lo = 0 and hi = infinity in every row; LOWER has
    any finite lo and hi = infinity; BOXED has any bounds; BOXED_FRICTION has rows whose
    bounds depend on other rows.
    """

    LINEAR = "linear"
    STANDARD = "standard"
    LOWER = "bounded below"
    BOXED = "boxed"
    BOXED_FRICTION = "boxed with friction index"


class LcpProblem:
    """Find x and w = A x - b with lo <= x <= hi, where w >= 0 at lo, w <= 0 at hi, w = 0 between.

    Rows with findex[i] = f >= 0 have bounds lo[i] |x_f| and hi[i] |x_f|: a friction row with
    lo = -mu and hi = mu, limited by the normal row f. The arrays are copied and read-only.

    Args:
        A: Square matrix, (n, n). Units of w over x.
        b: Right-hand side, (n,). Units of w.
        lo: Lower bounds, (n,) or one number; -inf for none. Zero when not given.
        hi: Upper bounds, (n,) or one number; inf for none. Infinity when not given.
        findex: Row that scales the bounds of each row, (n,) whole numbers, -1 for none.

    Raises:
        ArgumentError: A shape, bound or index is wrong, or a number is not finite.

    Example:
        >>> from worldline.lcp import LcpProblem, solve
        >>> problem = LcpProblem([[2, 1], [1, 2]], [5, 6])
        >>> solve(problem).x.round(4)
        array([1.3333, 2.3333])
    """

    __slots__ = ("A", "_arrays", "_kind", "b", "findex", "hi", "lo")

    A: np.ndarray
    b: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    findex: np.ndarray
    _arrays: arrays.Problem
    _kind: LcpKind

    def __init__(self, A: Any, b: Any, lo: Any = None, hi: Any = None, findex: Any = None) -> None:
        matrix = numbers_of("A", A)
        if matrix.size == 0:
            matrix = matrix.reshape(0, 0)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ArgumentError(f"A must be a square matrix, got shape {matrix.shape}")
        n = matrix.shape[0]
        right = numbers_of("b", b)
        if right.shape != (n,):
            raise ArgumentError(f"b must have shape ({n},) to fit A, got shape {right.shape}")
        for name, array in (("A", matrix), ("b", right)):
            if not np.isfinite(array).all():
                at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
                raise ArgumentError(f"{name}{list(at)} is {array[at]}; every entry must be finite")
        low = _bound("lo", lo, 0.0, n)
        high = _bound("hi", hi, np.inf, n)
        index = _indices(findex, n)
        _check_bounds(low, high)
        _check_friction(low, high, index)
        for name, array in (("A", matrix), ("b", right), ("lo", low), ("hi", high), ("findex", index)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "_arrays", arrays.Problem(matrix, right, low, high, index))
        object.__setattr__(self, "_kind", _kind(low, high, index))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a problem is fixed once made; make a new LcpProblem to change '{name}'")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.A, self.b, self.lo, self.hi, self.findex)

    @classmethod
    def standard(cls, M: Any, q: Any) -> LcpProblem:
        """The textbook form: z >= 0, w = M z + q >= 0, z w = 0.

        >>> LcpProblem.standard([[1.0]], [-2.0]).b
        array([2.])
        """
        return cls(M, -numbers_of("q", q))

    def __len__(self) -> int:
        return self.b.shape[0]

    def __repr__(self) -> str:
        return f"LcpProblem({len(self)} rows, {self.kind.value})"

    @property
    def kind(self) -> LcpKind:
        """What shape of problem it is."""
        return self._kind

    def slack(self, x: Any) -> np.ndarray:
        """w = A x - b, (n,)."""
        return self.A @ self._point(x) - self.b

    def bounds(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds as they stand with `x`, each (n,).

        >>> problem = LcpProblem([[1, 0], [0, 1]], [1, 9], lo=[0, -0.5], hi=[np.inf, 0.5], findex=[-1, 0])
        >>> problem.bounds([2.0, 0.0])[1]
        array([inf,  1.])
        """
        x = self._point(x)
        reach = np.where(self.findex >= 0, np.abs(x[self.findex]) if len(self) else 1.0, 1.0)
        return self.lo * reach, self.hi * reach

    def _point(self, x: Any) -> np.ndarray:
        made = numbers_of("x", x)
        if made.shape != self.b.shape:
            raise ArgumentError(f"x must have shape {self.b.shape}, got shape {made.shape}")
        return made

    def arrays(self) -> arrays.Problem:
        """The problem as kernels take it."""
        return self._arrays


def _kind(low: np.ndarray, high: np.ndarray, index: np.ndarray) -> LcpKind:
    if (index >= 0).any():
        return LcpKind.BOXED_FRICTION
    if len(index) and np.isneginf(low).all() and np.isposinf(high).all():
        return LcpKind.LINEAR
    if np.isfinite(low).all() and np.isposinf(high).all():
        return LcpKind.STANDARD if (low == 0.0).all() else LcpKind.LOWER
    return LcpKind.BOXED


def numbers_of(name: str, given: Any) -> np.ndarray:
    """Real numbers as a new array."""
    if has_masked_entries(given):
        raise ArgumentError(f"{name} must not have masked entries; fill them first")
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers are none")
        array = np.array(given, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} must be an array of real numbers: {error}") from None
    return array


def _bound(name: str, given: Any, default: float, n: int) -> np.ndarray:
    array = numbers_of(name, default if given is None else given)
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.shape != (n,):
        raise ArgumentError(f"{name} must be one number or have shape ({n},), got shape {array.shape}")
    return array


def _indices(given: Sequence[int] | np.ndarray | None, n: int) -> np.ndarray:
    if given is None:
        return np.full(n, -1, dtype=np.int64)
    try:
        array = np.array(given)
    except ValueError:
        raise ArgumentError(f"findex must be {n} whole numbers, got {given!r}") from None
    if array.size == 0:
        array = array.astype(np.int64)
    if array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
        raise ArgumentError(
            f"findex must be {n} whole numbers, got shape {array.shape} of {array.dtype.name}"
        )
    return array.astype(np.int64)


def _check_bounds(low: np.ndarray, high: np.ndarray) -> None:
    wrong = np.flatnonzero(~(low <= high) | np.isposinf(low) | np.isneginf(high))
    if wrong.size:
        i = int(wrong[0])
        raise ArgumentError(
            f"row {i}: bounds lo = {low[i]}, hi = {high[i]}; lo <= hi, lo below inf and hi above -inf needed"
        )


def _check_friction(low: np.ndarray, high: np.ndarray, index: np.ndarray) -> None:
    n = index.shape[0]
    for i in np.flatnonzero(index != -1):
        f = int(index[i])
        if not 0 <= f < n:
            raise ArgumentError(f"findex[{i}] = {f}; -1 or a row from 0 to {n - 1} needed")
        if f == i:
            raise ArgumentError(f"findex[{i}] = {f}: a row cannot scale its own bounds")
        if index[f] != -1:
            raise ArgumentError(f"findex[{i}] = {f}, but row {f} has bounds that depend on row {index[f]}")
        if not (np.isfinite(low[i]) and np.isfinite(high[i]) and low[i] <= 0.0 <= high[i]):
            raise ArgumentError(
                f"row {i} depends on row {f} and has bounds {low[i]}, {high[i]}; finite lo <= 0 <= hi needed"
            )
