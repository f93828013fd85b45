# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The LCP solvers behind one interface.

Every solver takes a problem, a guess and options, and gives an `LcpResult` whose residual is measured
afterwards by the same code for all of them. A result is a success exactly when that residual is within
the tolerance, whatever the method believes of itself.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, FixedAttributes, require_kind
from worldline._src.kernels.lcp.problem import BAD_DIAGONAL, LIMIT_REACHED, RAY, SINGULAR
from worldline._src.lcp import entries
from worldline._src.lcp.problem import LcpKind, LcpProblem, numbers_of
from worldline._src.lcp.validate import measure
from worldline._src.named_tuple import NamedTuple


class LcpStatus(enum.Enum):
    """How a solve ended.

    SUCCESS: the residual is within the tolerance. MAX_ITERATIONS: it is not, and the iterations are used
    up. FAILED: the method cannot go on, as when a problem has no solution. DEGENERATE: a matrix the
    method must invert is singular. NUMERICAL_ERROR: numbers became infinite or undefined.
    """

    SUCCESS = "success"
    MAX_ITERATIONS = "iterations used up"
    FAILED = "failed"
    DEGENERATE = "degenerate"
    NUMERICAL_ERROR = "numerical error"


@dataclass(frozen=True, slots=True)
class LcpOptions:
    """Options all solvers share.

    Attributes:
        tolerance: Largest residual that counts as solved, absolute, in the units of x and w.
        max_iterations: Most pivots, sweeps or Newton steps; None for the method's own limit.
        relaxation: Factor of each Gauss-Seidel change, between 0 and 2; other methods ignore it.
    """

    tolerance: float = 1e-8
    max_iterations: int | None = None
    relaxation: float = 1.0

    def __post_init__(self) -> None:
        tolerance, relaxation = (
            numbers_of(name, getattr(self, name)) for name in ("tolerance", "relaxation")
        )
        if tolerance.ndim or not (tolerance > 0.0 and np.isfinite(tolerance)):
            raise ArgumentError(f"tolerance must be a finite number above zero, got {self.tolerance}")
        limit = self.max_iterations
        whole = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool)
        if limit is not None and not (whole and 1 <= limit < 2**63):
            raise ArgumentError(f"max_iterations must be None or a whole number from 1, got {limit}")
        if relaxation.ndim or not 0.0 < relaxation < 2.0:
            raise ArgumentError(f"relaxation must be between 0 and 2, got {self.relaxation}")


class LcpResult(NamedTuple):
    """A solution or the best a method found.

    Attributes:
        x: Solution, (n,); always finite.
        w: Slack A x - b, (n,).
        status: How the solve ended.
        iterations: Pivots, sweeps or Newton steps taken.
        residual: Largest |x_i - clamp(x_i - w_i, lo_i, hi_i)|, measured after the solve.
        complementarity: Largest |w_i| times the distance of x_i to the bound w_i pushes to.
        message: Why it is no success, empty when it is.
        method: Name of the solver.
    """

    x: np.ndarray
    w: np.ndarray
    status: LcpStatus
    iterations: int
    residual: float
    complementarity: float
    message: str
    method: str

    @property
    def success(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status is LcpStatus.SUCCESS


_FAULTS = {
    LIMIT_REACHED: (LcpStatus.MAX_ITERATIONS, "the iterations are used up"),
    RAY: (LcpStatus.FAILED, "the path ends on a ray: the method finds no solution, and there may be none"),
    SINGULAR: (LcpStatus.DEGENERATE, "a matrix that must be inverted is singular"),
    BAD_DIAGONAL: (LcpStatus.FAILED, "every diagonal entry of A must be positive for this method"),
}


class LcpSolver(FixedAttributes):
    """What all solvers have in common; use `Dantzig`, `Lemke`, `Pgs` or `Newton`.

    Attributes:
        name: Name of the method.
        category: "pivoting", "projection" or "newton".
        supports_boxed: Whether it takes upper bounds and rows without bounds.
        supports_friction_index: Whether it takes rows whose bounds depend on other rows.
    """

    name: ClassVar[str]
    category: ClassVar[str]
    supports_boxed: ClassVar[bool] = True
    supports_friction_index: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def supports(self, problem: LcpProblem) -> bool:
        """Whether this method can be given the problem at all."""
        require_kind(problem, LcpProblem, "problem", self.name)
        if problem.kind is LcpKind.BOXED_FRICTION:
            return self.supports_friction_index
        return self.supports_boxed or problem.kind in (LcpKind.STANDARD, LcpKind.LOWER)

    def solve(self, problem: LcpProblem, guess: Any = None, options: LcpOptions | None = None) -> LcpResult:
        """Solve a problem.

        Args:
            problem: The problem.
            guess: Where to start, (n,); moved into the bounds, entries that are not finite count as
                zero. Methods that cannot use it ignore it.
            options: Tolerance and limits; the defaults of `LcpOptions` when not given.

        Returns:
            The result; look at its status.

        Raises:
            ArgumentError: The guess has the wrong shape.
            CapabilityError: The method does not take this kind of problem.
        """
        options = LcpOptions() if options is None else options
        require_kind(options, LcpOptions, "options", self.name)
        if not self.supports(problem):
            raise CapabilityError(
                f"{self.name} takes problems with lower bounds only; this one is {problem.kind.value}. "
                "Dantzig, Pgs and Newton take it"
            )
        x = _start(problem, guess)
        code, iterations = 0, 0
        if len(problem):
            code, iterations = self._run(problem, x, options)
        return self._finish(problem, x, int(code), int(iterations), options.tolerance)

    def _run(self, problem: LcpProblem, x_io: np.ndarray, options: LcpOptions) -> tuple[int, int]:
        raise NotImplementedError

    def _finish(
        self, problem: LcpProblem, x: np.ndarray, code: int, iterations: int, tolerance: float
    ) -> LcpResult:
        status, message = LcpStatus.SUCCESS, ""
        if not np.isfinite(x).all():
            status, message = LcpStatus.NUMERICAL_ERROR, "numbers became infinite or undefined"
            x = np.clip(np.zeros(len(problem)), problem.lo, problem.hi)
        found, w = measure(problem, x)
        if message == "" and not found.residual <= tolerance:
            status, message = _FAULTS.get(
                code, (LcpStatus.FAILED, f"rounding leaves a residual of {found.residual:.3g}")
            )
        return LcpResult(x, w, status, iterations, found.residual, found.complementarity, message, self.name)


class Dantzig(LcpSolver):
    """Principal pivoting for boxed problems with friction index; exact, the usual choice for contact.

    Sure to end for P-matrices and for symmetric positive semidefinite ones.

    Example:
        >>> from worldline.lcp import Dantzig, LcpProblem
        >>> contact = LcpProblem([[2, 0], [0, 3]], [1, -3], lo=[0, -0.5], hi=[np.inf, 0.5], findex=[-1, 0])
        >>> Dantzig().solve(contact).x
        array([ 0.5 , -0.25])
    """

    name = "Dantzig"
    category = "pivoting"

    def _run(self, problem: LcpProblem, x_io: np.ndarray, options: LcpOptions) -> tuple[int, int]:
        n = len(problem)
        limit = options.max_iterations or max(10_000, 50 * n)
        work, state = np.empty((n + 5, n)), np.empty(n, dtype=np.int64)
        return entries.dantzig(problem.arrays(), options.tolerance, limit, work, state, x_io)


class Lemke(LcpSolver):
    """Lemke's complementary pivoting for problems with lower bounds only; it needs no symmetry.

    Ends with a solution for every monotone problem that has one and for every P-matrix. It starts from
    a ray of its own and ignores guesses.

    Example:
        >>> from worldline.lcp import LcpProblem, Lemke
        >>> problem = LcpProblem.standard([[0, -1, 2], [2, 0, -2], [-1, 1, 0]], [-3, 6, -1])
        >>> Lemke().solve(problem).x
        array([0., 1., 3.])
    """

    name = "Lemke"
    category = "pivoting"
    supports_boxed = False
    supports_friction_index = False

    def _run(self, problem: LcpProblem, x_io: np.ndarray, options: LcpOptions) -> tuple[int, int]:
        n = len(problem)
        limit = options.max_iterations or max(10_000, 50 * n)
        tableau, basis = np.empty((n, 2 * n + 2)), np.empty(n, dtype=np.int64)
        return entries.lemke(problem.arrays(), limit, tableau, basis, x_io)


class Pgs(LcpSolver):
    """Projected Gauss-Seidel: cheap sweeps, good from a warm start, linear convergence.

    Example:
        >>> from worldline.lcp import LcpOptions, LcpProblem, Pgs
        >>> problem = LcpProblem([[2, 1], [1, 2]], [5, 6])
        >>> Pgs().solve(problem, guess=[1, 2], options=LcpOptions(relaxation=1.2)).success
        True
    """

    name = "Pgs"
    category = "projection"

    def _run(self, problem: LcpProblem, x_io: np.ndarray, options: LcpOptions) -> tuple[int, int]:
        limit = options.max_iterations or 10_000
        w = np.empty(len(problem))
        return entries.pgs(problem.arrays(), options.relaxation, options.tolerance, limit, w, x_io)


class Newton(LcpSolver):
    """Semismooth Newton on the Fischer-Burmeister equations; few steps, one factorisation each.

    Example:
        >>> from worldline.lcp import LcpProblem, Newton
        >>> Newton().solve(LcpProblem([[2, 1], [1, 2]], [5, 6])).x.round(4)
        array([1.3333, 2.3333])
    """

    name = "Newton"
    category = "newton"

    def _run(self, problem: LcpProblem, x_io: np.ndarray, options: LcpOptions) -> tuple[int, int]:
        n = len(problem)
        limit = options.max_iterations or 200
        work, state = np.empty((n + 6, n)), np.empty(n, dtype=np.int64)
        return entries.newton(problem.arrays(), options.tolerance, limit, work, state, x_io)


def solve(
    problem: LcpProblem,
    guess: Any = None,
    options: LcpOptions | None = None,
    method: LcpSolver | None = None,
) -> LcpResult:
    """Solve a problem with a given method, or with the first of all methods that succeeds.

    Without a method, Dantzig, Lemke, Newton and Pgs are tried in this order, those that take the
    problem; when none succeeds the result with the smallest residual is given.

    Args:
        problem: The problem.
        guess: Where to start, (n,).
        options: Tolerance and limits.
        method: A solver, for instance `Pgs()`.

    Example:
        >>> from worldline.lcp import LcpProblem, solve
        >>> result = solve(LcpProblem([[2, 1], [1, 2]], [5, 6], hi=1.5))
        >>> result.x, result.status.name, result.method
        (array([1.5, 1.5]), 'SUCCESS', 'Dantzig')
    """
    if method is not None:
        require_kind(method, LcpSolver, "method", "solve")
        return method.solve(problem, guess, options)
    best: LcpResult | None = None
    for solver in (Dantzig(), Lemke(), Newton(), Pgs()):
        if solver.supports(problem):
            result = solver.solve(problem, guess, options)
            if result.success:
                return result
            if best is None or result.residual < best.residual:
                best = result
    assert best is not None  # Dantzig takes every problem
    return best


def _start(problem: LcpProblem, guess: Any) -> np.ndarray:
    """The guess as an array of its own; kernels move it into the bounds."""
    if guess is None:
        return np.zeros(len(problem))
    given = numbers_of("guess", guess)
    if given.shape != problem.b.shape:
        raise ArgumentError(f"guess must have shape {problem.b.shape}, got shape {given.shape}")
    return np.where(np.isfinite(given), given, 0.0)
