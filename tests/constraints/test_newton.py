# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The primal Newton method on problems recorded from MuJoCo, and on problems solved by hand."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", reason="constraint problems are recorded from MuJoCo")

from mujoco_rows import (  # noqa: E402 - needs MuJoCo
    EXACT,
    Recorded,
    block,
    fallen,
    gymnasium_model,
    record,
    solve_newton,
    with_options,
)
from scenes import EVERY_ROW  # noqa: E402

from worldline._src.kernels.constraints.newton import NewtonOptions  # noqa: E402
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, UNILATERAL, Rows  # noqa: E402

GYMNASIUM = ("ant", "humanoid", "humanoidstandup", "hopper", "half_cheetah", "walker2d_v5")


def error(x, expected):
    return np.abs(x - expected).max() / max(1.0, np.abs(expected).max())


def check(problem: Recorded, guess=None):
    a, force, stats = solve_newton(problem, guess)
    assert stats.converged
    assert error(a, problem.qacc) < 1e-9
    assert error(force, problem.force) < 1e-9


@pytest.mark.parametrize("elliptic", [False, True], ids=["pyramid", "elliptic"])
@pytest.mark.parametrize("name", GYMNASIUM)
def test_gymnasium_models(name, elliptic):
    pytest.importorskip("gymnasium", reason="its model files are the test data")
    model = gymnasium_model(name, elliptic=elliptic)
    rows = 0
    for seed in range(8):
        problem = record(model, fallen(model, seed, 200))
        rows += problem.n
        if problem.n == 0:
            continue
        check(problem)
        # a guess far off and no guess lead to the same minimum
        rng = np.random.default_rng(seed)
        check(problem, 1e3 * rng.normal(size=model.nv))
        check(problem, problem.a_smooth)
    assert rows > 10


@pytest.mark.parametrize("elliptic", [False, True], ids=["pyramid", "elliptic"])
@pytest.mark.parametrize("dim", [1, 3, 4, 6])
def test_contact_dimensions(dim, elliptic):
    pytest.importorskip("gymnasium", reason="its model files are the test data")
    model = gymnasium_model("humanoidstandup", elliptic=elliptic, dim=dim)
    cones = 0
    for seed in range(5):
        problem = record(model, fallen(model, seed, 200))
        cones += int((problem.rows.dim == dim).sum())
        if problem.n:
            check(problem)
    assert (cones > 2) == (elliptic and dim > 1)


@pytest.mark.parametrize("elliptic", [False, True], ids=["pyramid", "elliptic"])
def test_every_kind_of_row_at_once(elliptic):
    model = with_options(mujoco.MjModel.from_xml_string(EVERY_ROW), elliptic=elliptic)
    data = mujoco.MjData(model)
    for _ in range(60):
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        problem = record(model, data)
        check(problem)
    kinds = set(problem.rows.kind[: problem.n].tolist())
    assert kinds == {EQUALITY, FRICTION, UNILATERAL} | ({CONE} if elliptic else set())


def one_mass(kind, aref, D, bound=0.0, a_smooth=0.0):
    """A mass of 2 with one row on its only coordinate."""
    M = block(1, 4)
    M[0, 0] = 2.0
    J = block(1, 4)
    J[0, 0] = 1.0
    vector = [np.array([x], dtype=float) for x in (aref, D, bound)]
    rows = Rows(J, *vector, np.array([kind]), np.array([0]))
    return Recorded(M, np.array([a_smooth]), np.zeros(1), rows, 1, np.zeros(1), np.zeros(1))


def test_closed_forms_of_one_row():
    # 2 (a - a0) + D (a - aref) = 0
    a, force, _ = solve_newton(one_mass(EQUALITY, aref=3.0, D=4.0, a_smooth=-1.0))
    assert a[0] == pytest.approx((4 * 3.0 - 2 * 1.0) / 6)
    assert force[0] == pytest.approx(2.0 * (a[0] + 1.0))
    # a limit pushes, and does not pull
    a, force, _ = solve_newton(one_mass(UNILATERAL, aref=3.0, D=4.0, a_smooth=-1.0))
    assert a[0] == pytest.approx(10 / 6)
    a, force, _ = solve_newton(one_mass(UNILATERAL, aref=-3.0, D=4.0, a_smooth=-1.0))
    assert a[0] == -1.0
    assert force[0] == 0.0
    # friction holds up to its bound
    a, force, _ = solve_newton(one_mass(FRICTION, aref=0.0, D=1e9, bound=1.0, a_smooth=0.4))
    assert a[0] == pytest.approx(0.0, abs=1e-8)
    assert force[0] == pytest.approx(-0.8)
    a, force, _ = solve_newton(one_mass(FRICTION, aref=0.0, D=1e9, bound=1.0, a_smooth=3.0))
    assert force[0] == pytest.approx(-1.0)
    assert a[0] == pytest.approx(2.5)


def test_no_rows_is_free_motion():
    problem = one_mass(EQUALITY, 0.0, 1.0, a_smooth=0.7)._replace(n=0)
    a, _, stats = solve_newton(problem, guess=[5.0])
    assert a[0] == 0.7
    assert stats.converged
    # without rows the cost is a parabola: one step from any guess
    assert stats.iterations == 1


def test_iterations_and_tolerance_are_honoured():
    model = with_options(mujoco.MjModel.from_xml_string(EVERY_ROW), elliptic=True)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 40)
    mujoco.mj_forward(model, data)
    problem = record(model, data)
    far = 1e4 * np.random.default_rng(0).normal(size=model.nv)
    costs = []
    for most in (0, 1, 50):
        _, _, stats = solve_newton(problem, far, NewtonOptions(1e-15, most, 1e-8, 50, 10**9))
        assert stats.iterations <= most
        assert stats.converged == (most == 50)
        costs.append(stats.cost)
    assert costs[0] > costs[1] > costs[2]
    # a tolerance that the gradient after one step meets ends there
    once = solve_newton(problem, far, NewtonOptions(1e-15, 1, 1e-8, 50, 10**9))[2]
    loose = solve_newton(problem, far, NewtonOptions(2.0 * once.gradient, 50, 1e-8, 50, 10**9))[2]
    assert loose.converged
    assert loose.iterations == 1 < solve_newton(problem, far, EXACT)[2].iterations
    # from the answer there is nothing to do
    answer = solve_newton(problem)[0]
    assert solve_newton(problem, answer, NewtonOptions(1e-10, 50, 1e-2, 50, 10**9))[2].iterations == 0


def test_rows_beyond_the_count_are_not_touched():
    model = with_options(mujoco.MjModel.from_xml_string(EVERY_ROW), elliptic=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    problem = record(model, data, capacity=200)
    for array in problem.rows[:4]:
        array[problem.n :] = np.nan
    check(problem)


def rolling_cones(seed: int, nv: int = 8, count: int = 3) -> Recorded:
    """Contacts with rolling friction: cones that are three hundred times narrower one way than another."""
    rng, n = np.random.default_rng(seed), 6 * count
    half = rng.normal(size=(nv, nv))
    M, J = block(nv, nv), block(n, nv)
    M[:] = half @ half.T + np.eye(nv)
    J[:] = rng.normal(size=(n, nv))
    aref, D, bound, dim = block(n), block(n), block(n), np.zeros(n, np.int64)
    aref[:] = 100.0 * rng.normal(size=n) * np.tile([3, 1, 1, 1, 1, 1], count)
    mu = np.array([0.6, 0.6, 0.01, 0.002, 0.002])
    for k in range(0, n, 6):
        ratio = rng.uniform(0.5, 10.0)
        D[k] = 10 ** rng.uniform(0, 4)
        D[k + 1 : k + 6] = ratio * D[k] * (mu / mu[0]) ** 2
        bound[k], bound[k + 1 : k + 6], dim[k] = mu[0] / np.sqrt(ratio), mu, 6
    rows = Rows(J, aref, D, bound, np.full(n, CONE), dim)
    smooth, guess = 10.0 * rng.normal(size=nv), 100.0 * rng.normal(size=nv)
    return Recorded(M, smooth, guess, rows, n, np.zeros(nv), np.zeros(n))


def test_converged_is_the_minimum():
    """Also where the slope of the cost jumps along the line that is searched."""
    for seed in [388, *range(100)]:
        problem = rolling_cones(seed)
        a, force, stats = solve_newton(problem, options=NewtonOptions(1e-10, 100, 1e-2, 50, 10**9))
        pull = problem.rows.J.T @ force
        assert stats.converged
        assert np.abs(problem.M @ (a - problem.a_smooth) - pull).max() < 1e-6 * max(
            1.0, np.abs(pull).max()
        ), seed
