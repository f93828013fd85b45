# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method over active sets: the answers of the boxed LCP, in lanes too, and worlds left alone."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from row_calls import active_sets, check_done_world_is_left_alone, check_lanes_equal_one_world

from worldline._src.jit import DISABLED
from worldline._src.kernels.constraints.rows import EQUALITY, FRICTION, UNILATERAL
from worldline.lcp import Dantzig, LcpProblem

KINDS = np.array([EQUALITY, FRICTION, UNILATERAL, UNILATERAL, FRICTION, UNILATERAL, UNILATERAL])
NV = 9


def problem(seed, n=7, nv=NV):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(nv, nv))
    M = root @ root.T + nv * np.eye(nv)
    return {
        "J": rng.normal(size=(n, nv)),
        "M": M,
        "D": 1.0 / rng.uniform(0.01, 0.3, n),
        "aref": rng.normal(size=n),
        "bound": rng.uniform(0.05, 0.3, n),
        "active": np.ones(n),
        "smooth": rng.normal(size=nv),
        "guess": np.zeros(n),
    }


def expected(p):
    """The same rows as a boxed complementarity problem."""
    A = p["J"] @ np.linalg.solve(p["M"], p["J"].T) + np.diag(1.0 / p["D"])
    c = p["J"] @ p["smooth"] - p["aref"]
    lo = np.select([KINDS == EQUALITY, KINDS == FRICTION], [-np.inf, -p["bound"]], 0.0)
    hi = np.select([KINDS == FRICTION], [p["bound"]], np.inf)
    return Dantzig().solve(LcpProblem(A, -c, lo, hi)).x


@pytest.mark.parametrize("seed", range(12))
def test_forces_and_accelerations_solve_the_boxed_lcp(seed):
    p = problem(seed)
    force, a, solved, tries = active_sets(KINDS, **p)
    assert solved == 1.0
    assert 1 <= tries <= 10
    assert force == pytest.approx(expected(p), abs=1e-9)
    assert a == pytest.approx(p["smooth"] + np.linalg.solve(p["M"], p["J"].T @ force), abs=1e-10)
    again = active_sets(KINDS, **{**p, "guess": force})
    assert again[3] == 1.0, "from its own answer it needs one system"
    assert again[0] == pytest.approx(force, abs=1e-12)


def test_rows_that_do_not_count_have_no_force():
    p = problem(3)
    p["active"][[1, 3]] = 0.0
    kept = p["active"] > 0.5
    force, _, solved, _ = active_sets(KINDS, **p)
    less = {k: (v[kept] if k in ("J", "D", "aref", "bound", "active", "guess") else v) for k, v in p.items()}
    small = active_sets(KINDS[kept], **less)[0]
    assert solved == 1.0
    assert not force[~kept].any()
    assert force[kept] == pytest.approx(small, abs=1e-12)


def test_a_world_that_is_done_is_left_alone():
    check_done_world_is_left_alone(partial(active_sets, KINDS), problem(4))


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
def test_four_lanes_equal_one_world_bit_for_bit():
    worlds = [problem(seed) for seed in (20, 21, 22, 23)]
    worlds[1]["active"][[0, 2]] = 0.0
    check_lanes_equal_one_world(partial(active_sets, KINDS), worlds)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("own", [3, 9])
def test_bits_do_not_depend_on_whether_rows_of_contacts_are_packed(own):
    # few rows of each world: they are packed in lanes; with more, and alone, they stay as they are
    kinds = np.array([FRICTION] + 14 * [UNILATERAL])
    worlds = [problem(seed, len(kinds), 15) for seed in (30, 31, 32, 33)]
    for w, world in enumerate(worlds):
        world["active"][1:] = (np.arange(14) - 3 * w) % 14 < own
    together = active_sets(kinds, **{name: np.stack([p[name] for p in worlds], -1) for name in worlds[0]})
    assert (together[2] == 1.0).all()
    for w, world in enumerate(worlds):
        kept = world["active"] > 0.5
        less = {
            k: v[kept] if len(v) == len(kinds) and k not in ("M", "smooth") else v for k, v in world.items()
        }
        force, a, _, tries = active_sets(kinds[kept], **less)
        assert np.array_equal(force, together[0][kept, w]) and force[1:].any(), w
        assert np.array_equal(a, together[1][:, w]), w
        assert tries == together[3][w]
