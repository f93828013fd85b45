# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts that contradict each other: larger regularizers, and the impulses that follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import Scene, conjugate_solve, prepare_and_warm
from test_body_ncg import tower
from test_body_pgs import dense, frame

from worldline._src.jit import entry
from worldline._src.kernels.constraints import jams


@entry
def solve_warm(contacts, arms, bodies, limits, conjugate, taken, impulse):
    count = contacts.mu.shape[0]
    prepare_and_warm(contacts, contacts.axes, arms, bodies, count, impulse)
    return jams.solve_contacts(contacts, count, limits, conjugate, taken, bodies, impulse)


def solve(scene, sweeps, tolerance, start=0.0):
    """Impulses, velocities, regularizers, sweeps taken and the largest change in the last one."""
    contacts, bodies, impulse, taken, moved = conjugate_solve(solve_warm, scene, sweeps, tolerance, start)
    return impulse, np.hstack([bodies.linear, bodies.angular]).ravel(), contacts.R, taken, moved


def squeezed(push, mass=2.0, mu=0.0):
    """A ball between two walls that both want it to leave with `push` [m/s]; the last body is the world."""
    return Scene(
        np.array([1, 1]),
        np.array([0, 0]),
        np.concatenate([frame((1, 0, 0)), frame((-1, 0, 0))]),
        np.array([(0, 0, 0), (-0.1, 0, 0), (0, 0, 0), (0.1, 0, 0)], dtype=float),
        np.array([(0.0, 0.0, -0.05), (0.0, 0.0, 0.0)]),
        np.zeros((2, 3)),
        np.array([1.0 / mass, 0.0]),
        np.array([[1 / (0.004 * mass)] * 3 + [0.0] * 3, [0.0] * 6]),
        np.full(2, mu),
        np.array([push, 0.0, 0.0, push, 0.0, 0.0]),
        np.full(6, 1e-7 / mass),
        np.ones(2),
    )


@pytest.mark.parametrize("start", [0.0, 40.0])
def test_walls_that_contradict_each_other_push_as_far_as_they_give(start):
    """The ball stays in the middle, so each wall misses all of its speed: R impulse = push, R = share / m."""
    impulse, after, R, taken, moved = solve(squeezed(0.3), sweeps=30, tolerance=1e-6, start=start)
    assert moved <= 1e-6 and taken > 30 * 50
    expected = jams.SOFTER / 2.0
    np.testing.assert_allclose(R, expected, rtol=1e-12)
    np.testing.assert_allclose(impulse[[0, 3]], 0.3 / expected, rtol=1e-4)
    np.testing.assert_allclose(after[:3], [0.0, 0.0, -0.05], atol=1e-5)


def test_the_smaller_regularizer_comes_first():
    """A tolerance that fewer sweeps reach."""
    impulse, _, R, taken, moved = solve(squeezed(0.3), sweeps=30, tolerance=2e-4)
    # mixed sweeps end early, with impulses that only the regularizers bound: no solution
    assert moved <= 2e-4 and 30 * 50 < taken <= 30 * (50 + jams.DAMPED_MORE + jams.SOFT_MORE)
    np.testing.assert_allclose(R, jams.SOFT / 2.0, rtol=1e-12)
    np.testing.assert_allclose(impulse[[0, 3]], 0.3 / (jams.SOFT / 2.0), rtol=0.05)


def test_friction_of_a_jam_is_that_of_the_softer_law():
    scene = squeezed(0.3, mu=0.5)
    impulse, after, R, _, moved = solve(scene, sweeps=30, tolerance=1e-7)
    assert moved <= 1e-7
    J, W, v = dense(scene)
    # impulses that grew for hundreds of sweeps were taken back, up to rounding
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-8)
    slack = (J @ after - scene.target + R * impulse).reshape(-1, 3)
    # the walls hold the ball: it sticks
    np.testing.assert_allclose(slack, 0.0, atol=1e-5)
    assert (np.hypot(*impulse.reshape(-1, 3)[:, 1:].T) < 0.5 * impulse[::3]).all()


def test_what_is_solved_keeps_its_regularizers():
    scene = squeezed(0.3)._replace(target=np.array([0.3, 0, 0, -0.3, 0, 0]))
    impulse, after, R, taken, moved = solve(scene, sweeps=30, tolerance=1e-9)
    assert moved <= 1e-9 and taken <= 30
    np.testing.assert_array_equal(R, scene.R)
    np.testing.assert_allclose(after[0], 0.3, rtol=1e-6)
    np.testing.assert_allclose(impulse, [2.0 * 0.3, 0, 0, 0, 0, 0], atol=1e-6)


def wedged(seed, mu=2.0):
    """A body with five contacts at random points and of random normals, thrown against them all at once."""
    rng = np.random.default_rng(seed)
    points, normals = rng.uniform(-0.1, 0.1, (5, 3)), rng.normal(size=(5, 3))
    arms = np.zeros((10, 3))
    arms[1::2] = points
    return Scene(
        np.ones(5, np.int64),
        np.zeros(5, np.int64),
        np.concatenate([frame(normal / np.linalg.norm(normal)) for normal in normals]),
        arms,
        np.array([rng.normal(size=3), np.zeros(3)]),
        np.array([10.0 * rng.normal(size=3), np.zeros(3)]),
        np.array([1.0, 0.0]),
        np.array([[300.0, 200.0, 400.0, 0.0, 0.0, 0.0], [0.0] * 6]),
        np.full(5, mu),
        np.zeros(15),
        np.full(15, 1e-8),
        np.ones(5),
    )


@pytest.mark.parametrize("seed", [6, 28, 35, 106, 116, 147, 153, 159, 115, 174, 272, 440, 505, 1124])
def test_damped_sweeps_end_where_plain_ones_go_round_in_a_cycle(seed):
    """Contacts stay hard, and obey Coulomb's law.

    In the last six scenes damped sweeps do not end in 400 either unless they are mixed.
    """
    scene, tolerance = wedged(seed), 1e-4
    impulse, after, R, taken, moved = solve(scene, sweeps=20, tolerance=tolerance)
    assert 20 * 50 < taken < 20 * (50 + 2 * jams.DAMPED_MORE) and moved <= tolerance
    np.testing.assert_array_equal(R, scene.R)
    J, W, v = dense(scene)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-9)
    slip, force = (J @ after).reshape(-1, 3), impulse.reshape(-1, 3)
    friction, speed = np.linalg.norm(force[:, 1:], axis=1), np.linalg.norm(slip[:, 1:], axis=1)
    # contacts visited later in a sweep move those before them a little
    near = 30.0 * tolerance
    assert (force[:, 0] >= 0.0).all() and (slip[:, 0] >= -near).all()
    assert (friction <= 2.0 * force[:, 0] * (1.0 + 1e-12)).all()
    assert np.abs(slip[:, 0][force[:, 0] > 0.0]).max() <= near
    slides = speed > near
    np.testing.assert_allclose(friction[slides], 2.0 * force[slides, 0], rtol=1e-9)
    # friction opposes the slip: f . u = -|f| |u|
    along = (force[:, 1:] * slip[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(along, -friction * speed, atol=near * impulse.max())


@pytest.mark.parametrize("count, near", [(15, 0.02), (25, 0.03)])
def test_hard_contacts_stay_where_softer_ones_would_give_way_by_more(count, near):
    """A hard impact on a tower: 50 sweeps leave 0.014 m/s to do, larger regularizers would take off 1.4 m/s.

    So hard contacts are swept on, and end where they should: by mixed sweeps, or after both regularizers.
    """
    scene = tower(count, mu=0.0)
    scene.linear[:count, 2] = -5.0
    J, W, v = dense(scene)
    impulse, after, R, taken, moved = solve(scene, sweeps=1, tolerance=0.001)
    assert moved <= 0.001
    if count == 15:
        assert 50 < taken < 50 + jams.DAMPED_MORE
    else:
        assert 50 + 2 * jams.DAMPED_MORE + 2 * jams.SOFT_MORE < taken < 300
    np.testing.assert_array_equal(R, scene.R)
    np.testing.assert_allclose(after, v + W @ J.T @ impulse, atol=1e-9)
    exact = 5.0 * np.arange(count, 0, -1)
    assert np.abs(impulse[::3] - exact).max() < near * exact[0]
