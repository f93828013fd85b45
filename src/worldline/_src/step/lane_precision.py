# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The precision of steps in lanes: which there are, what they can have, and when sweeps of rows end."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.jit import DISABLED
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array, numbers
from worldline._src.step.evaluate import is_count

if TYPE_CHECKING:
    from worldline._src.step.fixed_constraints import FixedConstraints
    from worldline._src.step.user_elements import UserElements

_TOLERANCE, _SINGLE_TOLERANCE = 1e-6, 1e-5
"""Change of accelerations that ends passes, as a share of gravity, in double and single precision."""


def precision_of(dtype: Any, what: str) -> np.dtype:
    """float64 or float32 as a type of NumPy's own."""
    # what else NumPy makes a type of has parts, and None stands for its usual type
    if isinstance(dtype, (np.dtype, type, str)):
        with contextlib.suppress(TypeError, ValueError, SyntaxError):
            found = np.dtype(dtype)
            for known in (np.dtype(np.float64), np.dtype(np.float32)):
                if found == known:
                    return known
    raise ArgumentError(f"dtype of {what} must be float64 or float32, got {dtype!r}")


def tolerance_of(tolerance: Any, dtype: np.dtype) -> float:
    """The change of accelerations that ends passes, as a share of gravity; None for the usual one."""
    single = dtype == np.float32
    if tolerance is None:
        return _SINGLE_TOLERANCE if single else _TOLERANCE
    found = float(numbers(tolerance, (), "tolerance"))
    if found < 0.0:
        raise ArgumentError(f"tolerance must be finite and not negative, got {found!r}")
    if single and found < _SINGLE_TOLERANCE:
        raise ArgumentError(
            f"tolerance of float32 must be at least {_SINGLE_TOLERANCE}, which rounding allows, got {found!r}"
        )
    return found


def require_range(rows: Array, name: str) -> None:
    """Raise for numbers of worlds, a row each, that single precision does not have."""
    most = float(np.finfo(np.float32).max)
    if rows.size and (rows.max() > most or rows.min() < -most):
        world = int(np.argmax(np.abs(rows).max(axis=1)))
        raise ArgumentError(f"{name} of world {world} must be within {most:.3g}, which float32 has at most")


def solver_bounds(
    model: Model, sweeps: int | None, tolerance: float | None, dtype: DTypeLike
) -> tuple[int, float]:
    """Most sweeps of Gauss-Seidel over rows, and their tolerance; as the scene says where they are None."""
    if sweeps is None:
        sweeps = 100 if model.option is None else max(model.option.constraint_solver_iterations, 1)
    if not is_count(sweeps) or sweeps < 1:
        raise ArgumentError(f"sweeps must be a positive count, got {sweeps!r}")
    return int(sweeps), tolerance_of(tolerance, np.dtype(dtype))


def require_precision(dtype: np.dtype, constraints: FixedConstraints, elements: UserElements) -> None:
    """Raise for what has no form in single precision."""
    if dtype != np.float32:
        return
    found = ["plain Python (NUMBA_DISABLE_JIT)"] if DISABLED else []
    if elements.kernels or elements.has_functions:
        found.append("kernels and functions of the user within steps")
    found += constraints.hard_parts
    if found:
        raise CapabilityError(f"steps in single precision do not have {', '.join(found)}")
