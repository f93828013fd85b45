# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coulomb's law by turns of convex sweeps and De Saxce corrections: laws from dense matrices, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import conjugate_solve, prepare_and_warm, solve_bodies
from test_body_pgs import ball, dense, random_scene
from test_jams import squeezed

from worldline._src.jit import entry
from worldline._src.kernels.constraints.body_turns import solve_by_turns

TOLERANCE = 1e-7


@entry
def turn_warm(contacts, arms, bodies, limits, conjugate, taken, impulse):
    count = contacts.mu.shape[0]
    # sweeps of another solver before, which are none of the turns
    taken[0] += 1e6
    prepare_and_warm(contacts, contacts.axes, arms, bodies, count, impulse)
    return solve_by_turns(contacts, count, limits, conjugate, taken, bodies, impulse)


def solve(scene, sweeps=1000, start=0.0):
    """Impulses, velocities and what the last turn left."""
    _, bodies, impulse, _, left = conjugate_solve(turn_warm, scene, sweeps, TOLERANCE, start)
    return impulse, np.hstack([bodies.linear, bodies.angular]).ravel(), left


def check_laws(scene, impulse, after, atol):
    """Momentum, unilateral contact and Coulomb friction, from dense matrices."""
    J, W, v = dense(scene)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-9)
    slack = (J @ after - scene.target + scene.R * impulse).reshape(-1, 3)
    normal, friction = impulse[::3], impulse.reshape(-1, 3)[:, 1:]
    assert (normal >= 0.0).all() and (slack[:, 0] > -atol).all()
    assert np.abs(np.minimum(normal, slack[:, 0])).max() < atol
    assert (np.hypot(*friction.T) <= scene.mu * normal + 1e-12).all()
    for f, w, n, mu in zip(friction, slack[:, 1:], normal, scene.mu, strict=True):
        # friction opposes what slides, and nothing sticks and slides
        if np.linalg.norm(w) > 100 * atol:
            np.testing.assert_allclose(f, -mu * n * w / np.linalg.norm(w), atol=0.02 * mu * max(n, atol))


@pytest.mark.parametrize("seed", range(8))
def test_random_contacts_obey_their_laws(seed):
    scene = random_scene(np.random.default_rng(seed), layout=seed, gone=0.0)
    impulse, after, left = solve(scene)
    assert left <= TOLERANCE
    check_laws(scene, impulse, after, 1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_contacts_reach_targets_along_all_of_their_rows(seed):
    """Surfaces that move along themselves: friction opposes the velocity beyond theirs."""
    rng = np.random.default_rng(seed)
    scene = random_scene(rng, layout=seed, gone=0.0)
    scene = scene._replace(target=rng.uniform(-0.5, 0.5, len(scene.target)))
    impulse, after, left = solve(scene)
    assert left <= TOLERANCE
    check_laws(scene, impulse, after, 1e-5)


@pytest.mark.parametrize("row", [1, 2])
def test_contacts_that_yield_most_along_a_tangent_are_solved(row):
    """A body that turns about the normal alone, touched at the other tangent: r x t = +-n, and J W J^T is
    1/m along all rows with r^2 / I more along one.

    m = 2, r = 1, 1 / I = 100, velocities -1 along the normal and 0.3 along the row: p_n = 2, and sticking takes
    p_t = -0.3 / (1/2 + 100).
    """
    scene = ball((0.0, 0.0, -1.0))
    n = scene.axes[0]
    scene = scene._replace(
        arms=np.array([(0.0, 0.0, 0.0), scene.axes[3 - row]]),
        linear=np.array([-n + 0.3 * scene.axes[row], np.zeros(3)]),
        inverse_inertia=np.array([100.0 * np.r_[n * n, 0.0, 0.0, 0.0], np.zeros(6)]),
    )
    impulse, after, left = solve(scene)
    assert left <= TOLERANCE
    expected = np.zeros(3)
    expected[0], expected[row] = 2.0, -0.3 / 100.5
    np.testing.assert_allclose(impulse, expected, atol=1e-6)
    check_laws(scene, impulse, after, 1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_turns_go_on_until_their_sweeps_are_done(seed):
    """With mu = 1e-9 corrections are right at once; sweeps are not, of which a turn has no more than 10."""
    scene = random_scene(np.random.default_rng(seed), layout=seed, gone=0.0)
    scene = scene._replace(mu=np.full(len(scene.mu), 1e-9))
    impulse, after, left = solve(scene, sweeps=1)
    assert left <= TOLERANCE
    check_laws(scene, impulse, after, 1e-5)


@pytest.mark.parametrize("seed", [88, 127, 212])
def test_turns_end_where_sweeps_go_round(seed):
    scene = random_scene(np.random.default_rng(seed), layout=seed, gone=0.0, softness=1e-5)
    scene = scene._replace(mu=np.ones(len(scene.mu)))
    assert solve_bodies(scene, tolerance=TOLERANCE, sweeps=3000)[-1] == 3000
    impulse, after, left = solve(scene)
    assert left <= TOLERANCE
    check_laws(scene, impulse, after, 1e-5)


def test_a_ball_that_slides_does_not_lift():
    """m = 2, v = (3, 0, -1), mu = 0.5: p_n = 2, p_t = -1 along the slip. A convex cone would lift the ball."""
    impulse, after, left = solve(ball((3.0, 0.0, -1.0)))
    assert left <= TOLERANCE
    assert impulse[0] == pytest.approx(2.0, abs=1e-5)
    assert np.hypot(*impulse[1:3]) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(after[:3], [2.5, 0.0, 0.0], atol=1e-5)


def test_what_has_no_solution_stays_as_it_was():
    """Walls that push a ball apart from both sides: impulses would grow forever."""
    scene = squeezed(0.3)
    impulse, after, left = solve(scene, sweeps=2, start=0.25)
    assert left > TOLERANCE
    np.testing.assert_allclose(impulse, 0.25, rtol=1e-12)
    J, W, v = dense(scene)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-9)


@pytest.mark.parametrize("seed", [88, 212])
def test_turns_that_do_not_end_take_friction_back(seed):
    """Impulses and velocities are those of the start along all rows."""
    scene = random_scene(np.random.default_rng(seed), layout=seed, gone=0.0, softness=1e-5)
    scene = scene._replace(mu=np.ones(len(scene.mu)))
    impulse, after, left = solve(scene, sweeps=1, start=0.25)
    assert left > 1e3 * TOLERANCE
    np.testing.assert_array_equal(impulse, 0.25)
    J, W, v = dense(scene)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-9)
