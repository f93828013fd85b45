# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every solver on problems with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from literature import BOXED, IMPOSSIBLE, SEGMENT, STANDARD

from worldline.lcp import Dantzig, LcpOptions, LcpProblem, LcpStatus, Lemke, Newton, Pgs, solve, validate

SOLVERS = (Dantzig(), Lemke(), Pgs(), Newton())

# what these methods cannot do, known from theory: pivots and Gauss-Seidel need a positive diagonal, and
# Lemke's path from the vector of ones ends on a ray for the bimatrix game
UNABLE = {
    ("Dantzig", "cps_4_4_7"),
    ("Pgs", "cps_4_4_7"),
    ("Dantzig", "cps_bimatrix_4_4_23"),
    ("Lemke", "cps_bimatrix_4_4_23"),
    ("Pgs", "cps_bimatrix_4_4_23"),
}


def distance(x, solutions):
    return min(np.abs(x - np.asarray(z, dtype=float)).max() for z in solutions)


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_standard_problem(solver, name):
    M, q, solutions = STANDARD[name]
    result = solver.solve(LcpProblem.standard(M, q))
    if (solver.name, name) in UNABLE:
        assert not result.success
        assert result.message
        assert np.isfinite(result.x).all()
        return
    assert result.status is LcpStatus.SUCCESS
    assert result.residual <= 1e-8
    # Gauss-Seidel stops at the tolerance; the others end at rounding
    assert distance(result.x, solutions) < (1e-7 if solver.name == "Pgs" else 1e-12)


@pytest.mark.parametrize("name", STANDARD)
def test_first_method_that_succeeds(name):
    M, q, solutions = STANDARD[name]
    result = solve(LcpProblem.standard(M, q))
    assert result.success
    assert distance(result.x, solutions) < 1e-10


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_segment_of_solutions(solver):
    problem = LcpProblem.standard(*SEGMENT)
    x = solver.solve(problem).x
    assert validate(problem, x).valid
    assert x.sum() == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_problem_without_solution_is_a_failure_with_finite_numbers(solver):
    result = solver.solve(LcpProblem.standard(*IMPOSSIBLE))
    assert not result.success
    assert result.residual > 0.1
    assert result.message
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.residual)


@pytest.mark.parametrize("name", BOXED)
@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.supports_boxed], ids=lambda s: s.name)
def test_boxed_problem(solver, name):
    M, q, lo, hi, solution = BOXED[name]
    result = solver.solve(LcpProblem(M, -np.array(q), lo, hi))
    assert result.success
    assert np.abs(result.x - solution).max() < 1e-8


@pytest.mark.parametrize(
    ("solver", "name"), [(Lemke(), "fathi_10"), (Lemke(), "murty_lower_10"), (Dantzig(), "murty_upper_10")]
)
def test_exponential_path_ends_at_the_limit_and_says_so(solver, name):
    M, q, _ = STANDARD[name]
    problem = LcpProblem.standard(M, q)
    short = solver.solve(problem, options=LcpOptions(max_iterations=100))
    assert short.status is LcpStatus.MAX_ITERATIONS
    assert short.iterations == 100
    assert short.residual > 1e-8
    # n = 10: the path visits 2^10 bases, give or take one
    assert 1000 < solver.solve(problem).iterations < 1100
