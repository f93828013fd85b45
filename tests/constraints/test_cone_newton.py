# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for elliptic cones of several worlds: the minimum of the cost, in lanes too."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from row_calls import check_done_world_is_left_alone, check_lanes_equal_one_world, cone_newton
from scipy.optimize import minimize

from worldline._src.jit import DISABLED
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION, UNILATERAL

DIMS = (3, 3, 4, 6)
KINDS = np.array([EQUALITY, FRICTION, UNILATERAL, *([CONE] * sum(DIMS))])
DIM = np.concatenate([[0, 0, 0], *[[d, *([0] * (d - 1))] for d in DIMS]]).astype(int)
STARTS = 3 + np.cumsum((0, *DIMS[:-1]))
NV = 10


def problem(seed):
    rng = np.random.default_rng(seed)
    n = len(KINDS)
    root = rng.normal(size=(NV, NV))
    bound = rng.uniform(0.2, 1.2, n)
    D = 1.0 / rng.uniform(0.01, 0.3, n)
    for start, dim in zip(STARTS, DIMS, strict=True):
        # D_j / mu_j^2 = D_0 / mu^2 for all directions, as `contact/rows.py` makes them: gradients do not jump
        D[start + 1 : start + dim] = D[start] * (bound[start + 1 : start + dim] / bound[start]) ** 2
    return {
        "J": rng.normal(size=(n, NV)),
        "M": root @ root.T + NV * np.eye(NV),
        "D": D,
        "aref": 3.0 * rng.normal(size=n),
        "bound": bound,
        "active": np.ones(n),
        "smooth": 3.0 * rng.normal(size=NV),
        "guess": np.zeros(n),
    }


def cost(p, a):
    """The cost of an acceleration by the definition of the rows, for a minimiser that knows no rows."""
    r = p["J"] @ a - p["aref"]
    delta = a - p["smooth"]
    total = 0.5 * delta @ p["M"] @ delta
    for k in range(3):
        if not p["active"][k]:
            continue
        D, b = p["D"][k], p["bound"][k]
        if KINDS[k] == EQUALITY or (KINDS[k] == UNILATERAL and r[k] < 0.0):
            total += 0.5 * D * r[k] ** 2
        elif KINDS[k] == FRICTION:
            edge = b / D
            total += 0.5 * D * r[k] ** 2 if abs(r[k]) <= edge else b * (abs(r[k]) - 0.5 * edge)
    for k, dim in zip(STARTS, DIMS, strict=True):
        if not p["active"][k]:
            continue
        mu, rest = p["bound"][k], slice(k + 1, k + dim)
        N, T = mu * r[k], np.linalg.norm(p["bound"][rest] * r[rest])
        if N >= mu * T:
            continue
        if mu * N + T <= 0.0:
            total += 0.5 * np.sum(p["D"][k : k + dim] * r[k : k + dim] ** 2)
        else:
            total += 0.5 * p["D"][k] / (mu**2 * (1.0 + mu**2)) * (N - mu * T) ** 2
    return total


def zones(p, a):
    r = p["J"] @ a - p["aref"]
    found = []
    for k, dim in zip(STARTS, DIMS, strict=True):
        mu, rest = p["bound"][k], slice(k + 1, k + dim)
        N, T = mu * r[k], np.linalg.norm(p["bound"][rest] * r[rest])
        found.append("open" if N >= mu * T else "sticks" if mu * N + T <= 0.0 else "slides")
    return found


@pytest.mark.parametrize("seed", range(12))
def test_accelerations_minimise_the_cost(seed):
    p = problem(seed)
    force, a, solved, tries = cone_newton(KINDS, DIM, **p)
    assert solved == 1.0
    assert 1 <= tries <= 20
    found = minimize(lambda x: cost(p, x), p["smooth"], method="BFGS", options={"gtol": 1e-8})
    assert cost(p, a) <= found.fun + 1e-9 * abs(found.fun)
    assert a == pytest.approx(found.x, abs=1e-4)
    assert a == pytest.approx(p["smooth"] + np.linalg.solve(p["M"], p["J"].T @ force), abs=1e-8)
    again = cone_newton(KINDS, DIM, **{**p, "guess": force})
    assert again[3] == 0.0, "from its own answer it needs no system"
    assert again[1] == pytest.approx(a, abs=1e-8)


def test_the_problems_have_every_zone():
    seen = set()
    for seed in range(12):
        p = problem(seed)
        seen |= set(zones(p, cone_newton(KINDS, DIM, **p)[1]))
    assert seen == {"open", "sticks", "slides"}


def test_a_world_that_is_done_is_left_alone():
    check_done_world_is_left_alone(partial(cone_newton, KINDS, DIM), problem(4))


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
def test_four_lanes_equal_one_world_bit_for_bit():
    worlds = [problem(seed) for seed in (20, 21, 22, 23)]
    worlds[1]["active"][[0, 2, 3, 4, 5]] = 0.0
    worlds[2]["active"][9:] = 0.0
    check_lanes_equal_one_world(partial(cone_newton, KINDS, DIM), worlds)
