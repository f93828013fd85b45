# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Projected Gauss-Seidel in dual form: the same answers as the LCP layer and as MuJoCo, and lanes."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import LANES, dual_pgs
from scenes import EVERY_ROW

from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, UNILATERAL
from worldline.lcp import Dantzig, LcpProblem


def random_rows(rng, kinds, dofs=9, R=0.2):
    n = len(kinds)
    return rng.normal(size=(n, dofs)), R, rng.normal(size=n), rng.uniform(0.2, 0.9, n)


def matrix_of(J, R):
    """The matrix of the dual problem of unit masses."""
    return J @ J.T + R * np.eye(len(J))


PLAIN = np.array([EQUALITY, FRICTION, UNILATERAL, UNILATERAL, FRICTION, UNILATERAL])
MIXED = np.array([EQUALITY, UNILATERAL, *[CONE] * 3, FRICTION, *[CONE] * 4, *[CONE] * 6])
DIMS = np.array([0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("seed", range(6))
def test_plain_rows_solve_the_boxed_lcp(seed):
    J, R, c, bound = random_rows(np.random.default_rng(seed), PLAIN)
    force, taken, a = dual_pgs(J, J, R, c, bound, 1.0, PLAIN, 0 * PLAIN)
    A = matrix_of(J, R)
    assert a == pytest.approx(J.T @ force, abs=1e-12)
    lo = np.select([PLAIN == EQUALITY, PLAIN == FRICTION], [-np.inf, -bound], 0.0)
    hi = np.select([PLAIN == FRICTION], [bound], np.inf)
    assert force == pytest.approx(Dantzig().solve(LcpProblem(A, -c, lo, hi)).x, abs=1e-9)
    assert taken < 5000


@pytest.mark.parametrize("seed", range(6))
def test_cones_meet_their_optimality_conditions(seed):
    J, R, c, bound = random_rows(np.random.default_rng(seed), MIXED, dofs=20)
    force, taken, _ = dual_pgs(J, J, R, c, bound, 1.0, MIXED, DIMS, sweeps=50_000)
    assert taken < 50_000
    slack = matrix_of(J, R) @ force + c
    for k in np.flatnonzero(DIMS):
        rows = np.arange(k + 1, k + DIMS[k])
        f, s = force[rows] / bound[rows], slack[rows] * bound[rows]
        # the force is in the cone, the slack in its dual, and they are orthogonal
        assert np.linalg.norm(f) <= force[k] + 1e-9
        assert np.linalg.norm(s) <= slack[k] + 1e-8
        assert force[k] * slack[k] + f @ s == pytest.approx(0.0, abs=1e-8)


def test_inactive_rows_have_no_force():
    J, R, c, bound = random_rows(np.random.default_rng(3), MIXED, dofs=20)
    active = np.ones(len(MIXED))
    active[[1, 5, *range(6, 10)]] = 0.0
    kept = np.flatnonzero(active)
    force, _, _ = dual_pgs(J, J, R, c, bound, active, MIXED, DIMS, guess=np.ones(len(MIXED)))
    assert np.abs(force[active == 0]).max() == 0.0
    small, _, _ = dual_pgs(J[kept], J[kept], R, c[kept], bound[kept], 1.0, MIXED[kept], DIMS[kept])
    assert force[kept] == pytest.approx(small, abs=1e-9)


def test_warm_start_ends_at_once():
    J, R, c, bound = random_rows(np.random.default_rng(4), MIXED, dofs=20)
    force, cold, _ = dual_pgs(J, J, R, c, bound, 1.0, MIXED, DIMS)
    again, warm, _ = dual_pgs(J, J, R, c, bound, 1.0, MIXED, DIMS, tolerance=1e-10, guess=force)
    assert cold > 10
    assert warm == 1
    assert again == pytest.approx(force, abs=1e-9)


@pytest.mark.parametrize("sweeps", [1, 7, 5000])
def test_four_lanes_equal_one_world_bit_for_bit(sweeps):
    rng = np.random.default_rng(9)
    worlds = [random_rows(rng, MIXED, dofs=20) for _ in range(LANES)]
    active = (rng.random((len(MIXED), LANES)) > 0.2).astype(float)
    lifted = np.array([0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, *[0] * 5])
    J, _, c, bound = (np.stack(x, axis=-1) for x in zip(*worlds, strict=True))
    together, taken, _ = dual_pgs(J, J, 0.2, c, bound, active, MIXED, DIMS, sweeps=sweeps, lifted=lifted)
    counts = set()
    for lane, (J, R, c, bound) in enumerate(worlds):
        alone, alone_taken, _ = dual_pgs(
            J, J, R, c, bound, active[:, lane], MIXED, DIMS, sweeps=sweeps, lifted=lifted
        )
        assert np.array_equal(together[:, lane], alone)
        assert taken[lane] == alone_taken
        counts.add(float(alone_taken))
    assert len(counts) > 1 or sweeps < 1000


@pytest.mark.parametrize("elliptic", [False, True], ids=["pyramid", "elliptic"])
def test_same_answer_as_mujoco(elliptic):
    mujoco = pytest.importorskip("mujoco", reason="constraint problems are recorded from MuJoCo")
    from mujoco_rows import record, with_options

    model = with_options(mujoco.MjModel.from_xml_string(EVERY_ROW), elliptic=elliptic)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 30)
    mujoco.mj_forward(model, data)
    problem = record(model, data)
    rows, n, nv = problem.rows, problem.n, model.nv
    J = np.ascontiguousarray(rows.J[:n, :nv])
    K = np.ascontiguousarray(np.linalg.solve(problem.M[:, :nv], J.T).T)
    force, taken, a = dual_pgs(
        J,
        K,
        1.0 / rows.D[:n],
        J @ problem.a_smooth - rows.aref[:n],
        rows.bound[:n],
        1.0,
        rows.kind[:n],
        rows.dim[:n],
        sweeps=200_000,
        smooth=problem.a_smooth,
    )
    assert taken < 200_000
    assert np.abs(force - problem.force).max() < 1e-8 * np.abs(problem.force).max()
    assert a == pytest.approx(problem.qacc, abs=1e-7, rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_lifted_cones_obey_coulombs_law(seed):
    """Where a contact pushes its normal slack is zero; friction opposes the slip, at its bound if there is."""
    kinds, dims = np.array([CONE] * 9), np.array([3, 0, 0] * 3)
    J, _, c, bound = random_rows(np.random.default_rng(seed), kinds, dofs=20)
    bound[1::3], c[::3] = bound[2::3], -np.abs(c[::3])
    R = 1e-9
    force, taken, a = dual_pgs(J, J, R, c, bound, 1.0, kinds, dims, sweeps=100_000, lifted=dims > 0)
    assert taken < 100_000
    slack, pushing = J @ a + c, 0
    for k in (0, 3, 6):
        mu, f, u = bound[k + 1], force[k + 1 : k + 3], slack[k + 1 : k + 3]
        assert force[k] >= 0.0
        assert slack[k] > -1e-8
        assert force[k] * slack[k] == pytest.approx(0.0, abs=1e-7)
        assert np.linalg.norm(f) <= mu * force[k] + 1e-9
        if force[k] > 1e-6 and np.linalg.norm(u) > 1e-6:
            assert f == pytest.approx(-mu * force[k] * u / np.linalg.norm(u), abs=1e-7)
        pushing += force[k] > 1e-6
    assert pushing > 0
