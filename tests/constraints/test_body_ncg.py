# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Conjugate directions over sequential impulses: the impulses of the LCP, in fewer sweeps than plain ones take."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import Scene, aligned, arrays_of, prepare_row, sweep_work
from test_body_pgs import dense, frame, random_scene

from worldline._src.jit import entry
from worldline._src.kernels.constraints import body_ncg
from worldline._src.kernels.constraints.body_pgs import warm_start
from worldline.lcp import Dantzig, LcpProblem

SPEED = 1e-10
"""Change of a velocity in a sweep that counts as solved [m/s]."""


@entry
def solve_cold(contacts, arms, bodies, limits, conjugate, taken, impulse):
    for c in range(contacts.mu.shape[0]):
        prepare_row(bodies, contacts.axes, arms, c, contacts)
    count = contacts.mu.shape[0]
    warm_start(contacts, count, bodies, impulse)
    return body_ncg.solve_impulses(contacts, count, limits, conjugate, taken, bodies, impulse)


def solve(scene, plain_sweeps, tolerance=SPEED):
    """Impulses, velocities, sweeps taken and the largest change in the last one."""
    nc = len(scene.a)
    contacts, bodies = arrays_of(scene)
    # what an earlier solve left must not matter
    conjugate = sweep_work(nc, 7.0)
    taken, impulse = aligned(np.zeros(1)), aligned(np.zeros(3 * nc))
    moved = solve_cold(
        contacts, aligned(scene.arms), bodies, (tolerance, plain_sweeps, tolerance), conjugate, taken, impulse
    )
    return impulse, np.hstack([bodies.linear, bodies.angular]).ravel(), taken[0], moved


def tower(count, drift=0.0, mu=0.5, softness=1e-4):
    """Unit balls on top of each other that a step of gravity pulls down by 0.05 m/s each; the last body is the world."""
    a = np.array([count, *range(count - 1)])
    b = np.arange(count)
    linear = np.zeros((count + 1, 3))
    linear[:count] = (drift, 0.3 * drift, -0.05)
    return Scene(
        a,
        b,
        np.concatenate([frame((0, 0, 1))] * count),
        np.array([row for c in range(count) for row in ((0, 0, 0.5 * (c > 0)), (0, 0, -0.5))], dtype=float),
        linear,
        np.zeros((count + 1, 3)),
        np.r_[np.ones(count), 0.0],
        np.r_[np.tile([10.0, 10.0, 10.0, 0, 0, 0], (count, 1)), np.zeros((1, 6))],
        np.full(count, mu),
        np.zeros(3 * count),
        np.full(3 * count, softness),
        np.ones(count),
    )


def test_a_tower_is_carried_by_the_impulses_of_the_lcp():
    scene = tower(12)._replace(mu=np.zeros(12))
    impulse, after, taken, moved = solve(scene, plain_sweeps=10)
    assert 10 < taken < 10 * body_ncg.MORE and moved <= SPEED
    J, W, v = dense(scene)
    rows = np.arange(0, 36, 3)
    A = (J @ W @ J.T + 1e-4 * np.eye(36))[np.ix_(rows, rows)]
    exact = Dantzig().solve(LcpProblem(A, -(J @ v)[rows])).x
    # each contact carries what is above it: 0.05 N s a ball
    assert exact == pytest.approx(0.05 * np.arange(12, 0, -1), rel=0.02)
    assert impulse[rows] == pytest.approx(exact, abs=1e-7)
    assert after == pytest.approx(v + W @ J.T @ impulse, abs=1e-12)


@pytest.mark.parametrize("drift", [0.004, 0.4])
def test_friction_of_a_tower_obeys_coulomb(drift):
    """Balls that roll off each other, and balls that slide."""
    scene = tower(8, drift)
    impulse, after, taken, moved = solve(scene, plain_sweeps=5)
    assert 5 < taken < 5 * body_ncg.MORE and moved <= SPEED
    J, W, v = dense(scene)
    assert after == pytest.approx(v + W @ J.T @ impulse, abs=1e-12)
    f, slack = impulse.reshape(-1, 3), (J @ after + 1e-4 * impulse).reshape(-1, 3)
    for c in range(8):
        bound = 0.5 * f[c, 0]
        reach = np.hypot(*f[c, 1:])
        assert slack[c, 0] == pytest.approx(0.0, abs=1e-7) and f[c, 0] > 0.0
        assert reach <= bound + 1e-12
        if reach < bound - 1e-6:
            assert slack[c, 1:] == pytest.approx([0, 0], abs=1e-7)
        else:
            assert slack[c, 1:] @ f[c, 1:] == pytest.approx(-np.linalg.norm(slack[c, 1:]) * bound, rel=1e-4)


def test_conjugate_directions_take_fewer_sweeps_than_plain_ones():
    scene = tower(12)
    plain, _, most, _ = solve(scene, plain_sweeps=100_000)
    impulse, _, taken, moved = solve(scene, plain_sweeps=10)
    assert moved <= SPEED
    assert impulse == pytest.approx(plain, abs=1e-6)
    assert taken < 0.5 * most


def test_what_plain_sweeps_solve_has_their_bits():
    """One ball needs two sweeps, and there is nothing left to do."""
    few, many = solve(tower(1), 10), solve(tower(1), 1000)
    assert few[2] == many[2] <= 10
    assert np.array_equal(few[0], many[0]) and np.array_equal(few[1], many[1])


def test_sweeps_are_counted_up_to_a_multiple_of_plain_ones():
    *_, taken, moved = solve(tower(12), plain_sweeps=2, tolerance=0.0)
    assert taken == 2 * body_ncg.MORE and moved > 0.0


def conjugate_sweeps(A, b, sweeps):
    """The method by dense matrices: projected Gauss-Seidel with the directions of Fletcher and Reeves.

    Returns impulses after the last sweep, those beyond it along the next direction, and how often a direction
    started anew because the residual grew. The first sweep is a plain one.
    """
    x, direction, last, anew = np.zeros(len(b)), np.zeros(len(b)), 0.0, 0
    for sweep in range(sweeps):
        before = x.copy()
        for i in range(len(b)):
            x[i] = max(x[i] - (A[i] @ x + b[i]) / A[i, i], 0.0)
        swept = x.copy()
        if sweep > 0:
            r = x - before
            anew += 0.0 < last <= r @ r
            beta = r @ r / last if r @ r < last else 0.0
            last, direction = r @ r, r + beta * direction
            x = x + direction - r
    return swept, x, anew


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_every_sweep_is_that_of_the_method(seed):
    """Solved or not after as many sweeps; directions start anew where residuals grow."""
    scene = random_scene(np.random.default_rng(seed), seed, softness=1e-5, gone=0.0)._replace(mu=np.zeros(10))
    J, W, v = dense(scene)
    rows = np.arange(0, 30, 3)
    A, b = (J @ W @ J.T + 1e-5 * np.eye(30))[np.ix_(rows, rows)], (J @ v)[rows]
    _, wanted, anew = conjugate_sweeps(A, b, body_ncg.MORE)
    # a sweep that changes nothing, as rounding may have it, is no end
    impulse, after, taken, _ = solve(scene, plain_sweeps=1, tolerance=-1.0)
    assert taken == body_ncg.MORE and anew > 0
    np.testing.assert_allclose(impulse[rows], wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, rtol=0, atol=1e-11)
    # what is solved ends with a sweep, so that no impulse pulls
    impulse, after, taken, moved = solve(scene, plain_sweeps=1, tolerance=1e-2)
    assert 2 < taken < body_ncg.MORE and moved <= 1e-2
    np.testing.assert_allclose(impulse[rows], conjugate_sweeps(A, b, int(taken))[0], rtol=0, atol=1e-12)
    assert impulse.min() >= 0.0
