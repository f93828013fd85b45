# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Residual and bound violations of a solution, by one measure for every solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, require_kind
from worldline._src.kernels.lcp.problem import Measure
from worldline._src.lcp import entries
from worldline._src.lcp.problem import LcpProblem, numbers_of
from worldline._src.named_tuple import NamedTuple


class LcpValidation(NamedTuple):
    """What `validate` found.

    Attributes:
        valid: Whether the residual is within the tolerance.
        residual: Largest |x_i - clamp(x_i - w_i, lo_i, hi_i)|; zero exactly at solutions.
        complementarity: Largest |w_i| times the distance of x_i to the bound w_i pushes to.
        bound_violation: How far x is outside its bounds.
        w: Slack A x - b, (n,).
        message: What is wrong first, empty when valid.
    """

    valid: bool
    residual: float
    complementarity: float
    bound_violation: float
    w: np.ndarray
    message: str


def measure(problem: LcpProblem, x: np.ndarray) -> tuple[Measure, np.ndarray]:
    """Residuals and slack of `x`."""
    w = np.empty(len(problem))
    return Measure(*entries.measure(problem.arrays(), x, w)), w


def validate(problem: LcpProblem, x: Any, tolerance: float = 1e-8) -> LcpValidation:
    """Check a candidate solution from any source.

    Args:
        problem: The problem.
        x: Candidate, (n,).
        tolerance: Largest residual that counts as solved, absolute.

    Raises:
        ArgumentError: `x` has the wrong shape, or the tolerance is not a number above zero.

    Example:
        >>> from worldline.lcp import LcpProblem, validate
        >>> problem = LcpProblem.standard([[2, 1], [1, 2]], [-5, -6])
        >>> validate(problem, [4 / 3, 7 / 3]).valid
        True
        >>> validate(problem, [1.0, 2.0]).message
        'row 0: x = 1 lies between its bounds 0 and inf but w = -1'
    """
    require_kind(problem, LcpProblem, "problem", "validate")
    x = numbers_of("x", x)
    if x.shape != problem.b.shape:
        raise ArgumentError(f"x must have shape {problem.b.shape}, got shape {x.shape}")
    bound = numbers_of("tolerance", tolerance)
    if bound.ndim or not bound > 0.0:
        raise ArgumentError(f"tolerance must be above zero, got {tolerance}")
    found, w = measure(problem, x)
    valid = bool(found.residual <= tolerance)
    return LcpValidation(valid, *found, w, "" if valid else _fault(problem, x, w))


def _fault(problem: LcpProblem, x: np.ndarray, w: np.ndarray) -> str:
    """The row that breaks its condition most, in words."""
    low, high = problem.bounds(x)
    error = np.abs(x - np.clip(x - w, low, high))
    i = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    if not np.isfinite(x[i]):
        return f"row {i}: x = {x[i]}"
    if x[i] < low[i] or x[i] > high[i]:
        return f"row {i}: x = {x[i]:.6g} is outside its bounds {low[i]:.6g} and {high[i]:.6g}"
    place = "lies between its bounds"
    if x[i] == low[i] or x[i] == high[i]:
        place = "is at one of its bounds"
    return f"row {i}: x = {x[i]:.6g} {place} {low[i]:.6g} and {high[i]:.6g} but w = {w[i]:.6g}"
