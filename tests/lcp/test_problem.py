# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Problems: what is accepted, what is refused and why, and how they are classified."""

from __future__ import annotations

import numpy as np
import pytest
from literature import murty

from worldline._src.errors import ArgumentError
from worldline.lcp import LcpKind, LcpOptions, LcpProblem, classify, validate

INF = np.inf


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"A": [[1, 2]], "b": [1]}, r"square.*\(1, 2\)"),
        ({"A": [1, 2], "b": [1, 2]}, "square"),
        ({"A": np.zeros((2, 2, 2)), "b": [1, 2]}, "square"),
        ({"A": [[1, 2], [3]], "b": [1, 2]}, "A must be an array"),
        ({"A": [["x"]], "b": [1]}, "A must be an array"),
        ({"A": np.eye(2), "b": [1, 2, 3]}, r"b must have shape \(2,\)"),
        ({"A": np.eye(2), "b": [1, np.nan]}, r"b\[1\] is nan"),
        ({"A": [[1, 0], [INF, 1]], "b": [1, 1]}, r"A\[1, 0\] is inf"),
        ({"A": np.eye(2), "b": [1, 2], "lo": [0, 0, 0]}, r"lo must be one number or have shape \(2,\)"),
        ({"A": np.eye(2), "b": [1, 2], "lo": [0, 2], "hi": [1, 1]}, "row 1: bounds lo = 2.0, hi = 1.0"),
        ({"A": np.eye(2), "b": [1, 2], "hi": [np.nan, 1]}, "row 0: bounds"),
        ({"A": np.eye(2), "b": [1, 2], "lo": INF}, "row 0: bounds"),
        ({"A": np.eye(2), "b": [1, 2], "lo": -INF, "hi": -INF}, "row 0: bounds"),
        ({"A": np.eye(2), "b": [1, 2], "findex": [-1]}, "findex must be 2 whole numbers"),
        ({"A": np.eye(2), "b": [1, 2], "findex": [-1.0, 0.0]}, "findex must be 2 whole numbers"),
        ({"A": np.eye(2), "b": [1, 2], "lo": -1, "hi": 1, "findex": [-1, 2]}, r"findex\[1\] = 2"),
        ({"A": np.eye(2), "b": [1, 2], "lo": -1, "hi": 1, "findex": [-1, -2]}, r"findex\[1\] = -2"),
        ({"A": np.eye(2), "b": [1, 2], "lo": -1, "hi": 1, "findex": [-1, 1]}, "its own bounds"),
        ({"A": np.eye(3), "b": [1, 2, 3], "lo": -1, "hi": 1, "findex": [-1, 0, 1]}, "depend on row 0"),
        (
            {"A": np.eye(2), "b": [1, 2], "lo": [0, -1], "hi": [INF, INF], "findex": [-1, 0]},
            "finite lo <= 0 <= hi",
        ),
        (
            {"A": np.eye(2), "b": [1, 2], "lo": [0, 0.1], "hi": [INF, 1], "findex": [-1, 0]},
            "finite lo <= 0 <= hi",
        ),
    ],
)
def test_malformed_problem_is_refused(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        LcpProblem(**arguments)


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": 0.0},
        {"tolerance": np.nan},
        {"max_iterations": 0},
        {"max_iterations": 2.5},
        {"max_iterations": True},
        {"relaxation": 0.0},
        {"relaxation": 2.0},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ArgumentError, match=next(iter(options))):
        LcpOptions(**options)


def test_problem_keeps_copies_that_cannot_change():
    A = np.eye(2)
    problem = LcpProblem(A, [1, 2])
    A[0, 0] = 7.0
    assert problem.A[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.A[0, 0] = 3.0
    with pytest.raises(AttributeError, match="new LcpProblem"):
        problem.b = np.zeros(2)


def test_kinds():
    def friction(**kw):
        return LcpProblem(np.eye(2), [1, 2], [0, -0.5], [INF, 0.5], [-1, 0], **kw)

    assert LcpProblem(np.eye(2), [1, 2]).kind is LcpKind.STANDARD
    assert LcpProblem(np.eye(2), [1, 2], -INF).kind is LcpKind.LINEAR
    assert LcpProblem(np.eye(2), [1, 2], 0, 1).kind is LcpKind.BOXED
    assert LcpProblem(np.eye(2), [1, 2], [0, -7]).kind is LcpKind.LOWER
    assert LcpProblem(np.eye(2), [1, 2], [0, -INF]).kind is LcpKind.BOXED
    assert friction().kind is LcpKind.BOXED_FRICTION
    assert LcpProblem(np.zeros((0, 0)), []).kind is LcpKind.STANDARD


def test_classes_of_matrices():
    def of(M, **kw):
        return classify(LcpProblem(M, np.ones(len(M)), **kw))

    spd = of([[2, 1], [1, 2]])
    assert spd.symmetric and spd.positive_definite and spd.p_matrix and spd.rank == 2
    psd = of([[1, 1], [1, 1]])
    assert psd.positive_semidefinite and not psd.positive_definite and psd.p_matrix is False and psd.rank == 1
    # positive definite although not symmetric
    skewed = of([[1, 5], [-5, 1]])
    assert not skewed.symmetric and skewed.positive_definite and skewed.p_matrix
    # a P-matrix that is not positive semidefinite
    sheared = of([[1, -3], [0, 1]])
    assert not sheared.positive_semidefinite and sheared.p_matrix is True
    assert of([[1, 2], [2, 1]]).p_matrix is False
    assert of(murty(10)).p_matrix is True
    assert of(np.eye(14) - 3.0 * np.eye(14, k=1)).p_matrix is None
    assert of([[0, 1], [1, 0]]).p_matrix is False
    mixed = of(np.eye(4), lo=[0, -INF, 1, -0.5], hi=[INF, INF, 1, 0.5], findex=[-1, -1, -1, 0])
    assert (mixed.equality_rows, mixed.fixed_rows, mixed.friction_rows, mixed.size) == (1, 1, 1, 4)


def test_minors_agree_with_determinants():
    rng = np.random.default_rng(4)
    for _ in range(200):
        n = int(rng.integers(1, 5))
        M = np.eye(n) + rng.normal(size=(n, n))
        minors = [
            np.linalg.det(M[np.ix_(rows, rows)])
            for mask in range(1, 2**n)
            if (rows := [k for k in range(n) if mask >> k & 1])
        ]
        if min(np.abs(minors)) > 1e-6:
            assert classify(LcpProblem(M, np.ones(n))).p_matrix == (min(minors) > 0.0)


def test_validate_measures():
    problem = LcpProblem([[2, 0], [0, 2]], [2, 2], lo=0, hi=[INF, 0.5])
    good = validate(problem, [1.0, 0.5])
    assert good.valid and good.residual == 0.0 and good.complementarity == 0.0 and good.message == ""
    assert good.w == pytest.approx([0.0, -1.0])
    inside = validate(problem, [1.0, 0.25])
    # w = -1.5 pushes to the upper bound, a quarter away
    assert inside.complementarity == pytest.approx(1.5 * 0.25)
    assert inside.residual == pytest.approx(0.25)
    outside = validate(problem, [1.0, 0.75])
    assert outside.bound_violation == pytest.approx(0.25)
    assert "outside its bounds" in outside.message
    # pushes to a bound at infinity: the slack itself must vanish
    assert validate(problem, [0.5, 0.5]).complementarity == pytest.approx(1.0)
    assert not validate(problem, [np.nan, 0.5]).valid
    with pytest.raises(ArgumentError, match="x must have shape"):
        validate(problem, [1.0])
    with pytest.raises(ArgumentError, match="tolerance"):
        validate(problem, [1.0, 0.5], tolerance=0.0)


def test_friction_bounds_follow_the_normal_row():
    problem = LcpProblem(np.eye(2), [2, 9], lo=[0, -0.5], hi=[INF, 0.5], findex=[-1, 0])
    assert validate(problem, [2.0, 1.0]).valid
    assert not validate(problem, [2.0, 1.1]).valid
    low, high = problem.bounds([-4.0, 0.0])
    assert low[1] == -2.0
    assert high[1] == 2.0
