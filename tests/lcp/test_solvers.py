# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Properties of the solvers: random problems, friction, guesses, edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline._src.errors import ArgumentError, CapabilityError
from worldline.lcp import (
    Dantzig,
    LcpOptions,
    LcpProblem,
    LcpStatus,
    Lemke,
    Newton,
    Pgs,
    solve,
    validate,
)

SOLVERS = (Dantzig(), Lemke(), Pgs(), Newton())
BOXED_SOLVERS = (Dantzig(), Pgs(), Newton())
INF = np.inf


def by_name(solver):
    return solver.name


def spd(rng, n, floor=0.3):
    J = rng.normal(size=(n, n))
    return J @ J.T + floor * np.eye(n)


def enumerated(problem):
    """The solution of a small boxed problem with positive definite A, by trying all active sets."""
    n = len(problem)
    for sides in itertools.product((-1, 0, 1), repeat=n):
        side = np.array(sides)
        bound = np.where(side < 0, problem.lo, problem.hi)
        if not np.isfinite(bound[side != 0]).all():
            continue
        x = np.where(side == 0, 0.0, bound)
        free = side == 0
        if free.any():
            right = problem.b[free] - problem.A[np.ix_(free, ~free)] @ x[~free]
            x[free] = np.linalg.solve(problem.A[np.ix_(free, free)], right)
        w = problem.A @ x - problem.b
        inside = ((x >= problem.lo - 1e-12) & (x <= problem.hi + 1e-12))[free].all()
        if inside and (w[side < 0] >= -1e-12).all() and (w[side > 0] <= 1e-12).all():
            return x
    raise AssertionError("no active set fits")


def random_boxed(rng, n):
    lo = np.where(rng.random(n) < 0.3, -INF, rng.normal(size=n) - 0.5)
    hi = np.where(rng.random(n) < 0.3, INF, np.maximum(lo, rng.normal(size=n)) + rng.choice([0.0, 0.7], n))
    hi = np.where(np.isneginf(hi), 1.0, hi)
    return LcpProblem(spd(rng, n), 2.0 * rng.normal(size=n), lo, hi)


def random_contacts(rng, contacts, dofs, softness=1e-5):
    n = 3 * contacts
    J = rng.normal(size=(n, dofs))
    mu = np.repeat(rng.uniform(0.0, 0.8, contacts), 3)
    normal = np.arange(n) % 3 == 0
    findex = np.where(normal, -1, np.arange(n) // 3 * 3)
    A = J @ J.T + softness * np.eye(n)
    return LcpProblem(A, rng.normal(size=n), np.where(normal, 0, -mu), np.where(normal, INF, mu), findex)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6))
def test_boxed_solvers_find_the_enumerated_solution(seed, n):
    problem = random_boxed(np.random.default_rng(seed), n)
    expected = enumerated(problem)
    for solver in BOXED_SOLVERS:
        result = solver.solve(problem, options=LcpOptions(max_iterations=100_000))
        assert result.success, (solver, result)
        # x follows the residual with the inverse of A, at most 1 / 0.3
        assert np.abs(result.x - expected).max() < 1e-6


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 25))
def test_standard_solvers_agree(seed, n):
    rng = np.random.default_rng(seed)
    problem = LcpProblem(spd(rng, n), rng.normal(size=n))
    exact = Dantzig().solve(problem)
    for solver in (Lemke(), Newton()):
        result = solver.solve(problem)
        assert result.success
        assert np.abs(result.x - exact.x).max() < 1e-9


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_pivoting_needs_no_symmetry(seed, n):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, n))
    problem = LcpProblem(spd(rng, n) + 2.0 * (S - S.T), rng.normal(size=n))
    answers = [solver.solve(problem) for solver in (Dantzig(), Lemke(), Newton())]
    assert all(a.success for a in answers)
    assert np.ptp([a.x for a in answers], axis=0).max() < 1e-8


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), contacts=st.integers(1, 10), dofs=st.integers(3, 30))
def test_success_means_a_small_residual(seed, contacts, dofs):
    problem = random_contacts(np.random.default_rng(seed), contacts, dofs)
    for solver in BOXED_SOLVERS:
        result = solver.solve(problem, options=LcpOptions(max_iterations=500))
        assert result.success == validate(problem, result.x).valid
        assert np.isfinite(result.x).all()
        assert (result.message == "") == result.success


def test_most_random_contact_problems_are_solved():
    rng = np.random.default_rng(12)
    problems = [random_contacts(rng, int(rng.integers(1, 9)), int(rng.integers(6, 24))) for _ in range(100)]
    for solver, least in ((Dantzig(), 98), (Newton(), 90)):
        assert sum(solver.solve(p).success for p in problems) >= least, solver
    assert all(solve(p).success for p in problems)


@pytest.mark.parametrize("solver", BOXED_SOLVERS, ids=by_name)
def test_single_contact_opens_sticks_and_slides(solver):
    # closed forms of one contact with friction 0.5, sliding along one axis
    cases = (
        ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]),
        ([-1.0, 0.1, 0.0], [0.5, -0.1 / 3, 0.0]),
        ([-1.0, 3.0, 0.0], [0.5, -0.25, 0.0]),
        ([-1.0, 3.0, -4.0], [0.5, -0.25, 0.25]),
    )
    for velocity, expected in cases:
        problem = LcpProblem(
            np.diag([2.0, 3.0, 3.0]),
            -np.array(velocity),
            [0, -0.5, -0.5],
            [INF, 0.5, 0.5],
            [-1, 0, 0],
        )
        assert solver.solve(problem).x == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("solver", BOXED_SOLVERS, ids=by_name)
def test_box_on_the_ground_with_redundant_contacts(solver):
    # a unit cube at rest on four corners: 12 rows of rank 6, without any softening
    corners = [(x, y, -0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    J = []
    for r in corners:
        for axis in ((0, 0, 1), (1, 0, 0), (0, 1, 0)):
            J.append(np.r_[axis, np.cross(r, axis)])
    J = np.array(J)
    inverse = np.diag([1, 1, 1, 6, 6, 6])
    velocity = np.array([0.002, 0.001, -0.00981, 0, 0, 0])
    normal = np.arange(12) % 3 == 0
    problem = LcpProblem(
        J @ inverse @ J.T,
        -J @ velocity,
        np.where(normal, 0, -0.8),
        np.where(normal, INF, 0.8),
        np.where(normal, -1, np.arange(12) // 3 * 3),
    )
    result = solver.solve(problem)
    assert result.success
    # it sticks: all velocity is taken away, although the split over corners is not unique
    assert velocity + inverse @ J.T @ result.x == pytest.approx(np.zeros(6), abs=1e-7)


@pytest.mark.parametrize("solver", SOLVERS, ids=by_name)
def test_empty_problem_is_solved(solver):
    result = solver.solve(LcpProblem(np.zeros((0, 0)), []))
    assert result.status is LcpStatus.SUCCESS
    assert result.x.shape == (0,)
    assert result.residual == 0.0


@pytest.mark.parametrize("solver", SOLVERS, ids=by_name)
def test_guesses(solver):
    rng = np.random.default_rng(3)
    problem = LcpProblem(spd(rng, 8), rng.normal(size=8))
    cold = solver.solve(problem)
    # a bad guess is only a bad guess
    for guess in (np.full(8, np.nan), np.full(8, -np.inf), 1e6 * rng.normal(size=8)):
        assert solver.solve(problem, guess).x == pytest.approx(cold.x, abs=1e-6)
    with pytest.raises(ArgumentError, match=r"guess must have shape \(8,\)"):
        solver.solve(problem, np.zeros(7))
    with pytest.raises(ArgumentError, match="guess must be an array of real numbers"):
        solver.solve(problem, "near")
    guess = cold.x.copy()
    warm = solver.solve(problem, guess)
    assert (guess == cold.x).all()
    assert warm.iterations <= cold.iterations


def test_warm_start_saves_sweeps():
    rng = np.random.default_rng(5)
    problem = LcpProblem(spd(rng, 30), rng.normal(size=30))
    exact = Dantzig().solve(problem).x
    assert Pgs().solve(problem, exact).iterations == 1
    assert Pgs().solve(problem).iterations > 10


def test_relaxation_changes_the_number_of_sweeps():
    # chain of unit masses: over-relaxation is worth a factor here
    n = 30
    A = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    problem = LcpProblem(A, np.ones(n))
    sweeps = {r: Pgs().solve(problem, options=LcpOptions(relaxation=r)).iterations for r in (0.5, 1.0, 1.8)}
    assert sweeps[0.5] > sweeps[1.0] > 4 * sweeps[1.8]


def test_lemke_refuses_what_it_cannot_take():
    for arguments in ((0.0, 1.0), (-INF, INF)):
        problem = LcpProblem(np.eye(2), [1, 2], *arguments)
        assert not Lemke().supports(problem)
        with pytest.raises(CapabilityError, match="lower bounds only"):
            Lemke().solve(problem)
    # lower bounds other than zero are a shift
    shifted = LcpProblem([[2, 1], [1, 2]], [5, 6], lo=[1.5, -3.0])
    assert Lemke().solve(shifted).x == pytest.approx(Dantzig().solve(shifted).x)


def test_tolerance_and_iterations_are_honoured():
    rng = np.random.default_rng(8)
    problem = LcpProblem(spd(rng, 20, floor=0.05), rng.normal(size=20))
    loose = Pgs().solve(problem, options=LcpOptions(tolerance=1e-2))
    tight = Pgs().solve(problem, options=LcpOptions(tolerance=1e-10, max_iterations=100_000))
    assert tight.residual <= 1e-10 < loose.residual <= 1e-2
    assert loose.iterations < tight.iterations
    for solver in SOLVERS:
        result = solver.solve(problem, options=LcpOptions(max_iterations=1))
        assert result.iterations <= 1
        assert result.status is LcpStatus.MAX_ITERATIONS


def test_huge_numbers_never_give_nan():
    A = np.array([[1e200, 1e-200], [1e-200, 1e200]])
    for solver in SOLVERS:
        result = solver.solve(LcpProblem(A, [1e300, -1e300]))
        assert np.isfinite(result.x).all()


def test_solve_gives_the_best_failure():
    result = solve(LcpProblem.standard([[-1, 0], [0, -1]], [-1, -1]))
    assert not result.success
    worst = [s.solve(LcpProblem.standard([[-1, 0], [0, -1]], [-1, -1])).residual for s in SOLVERS]
    assert result.residual == min(worst)
    assert solve(LcpProblem([[1.0]], [1.0]), method=Newton()).method == "Newton"
