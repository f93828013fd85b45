# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sequential impulses between free bodies: closed forms, agreement with the LCP layer, lanes."""

from __future__ import annotations

import numpy as np
import pytest
from row_calls import LANES, Scene, solve_bodies, stacked

from worldline.lcp import Dantzig, LcpProblem


def frame(normal):
    """Normal and two tangents as rows."""
    n = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    t = np.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.7 else [0, 1.0, 0])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def symmetric(S):
    return S[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def random_scene(rng, layout, bodies=6, softness=1e-3, gone=0.1):
    """Random contacts between random bodies; `layout` fixes who touches whom."""
    pick = np.random.default_rng(layout)
    nc = 10
    a = pick.integers(0, bodies + 1, nc)
    b = (a + pick.integers(1, bodies + 1, nc)) % (bodies + 1)
    mass = np.r_[rng.uniform(0.5, 2.0, bodies), np.inf]
    spread = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(bodies)]
    inertia = [symmetric(Q @ np.diag(rng.uniform(2, 9, 3)) @ Q.T) for Q in spread] + [np.zeros(6)]
    velocity = rng.normal(size=(bodies + 1, 6))
    velocity[-1] = 0.0
    return Scene(
        a,
        b,
        np.concatenate([frame(rng.normal(size=3)) for _ in range(nc)]),
        rng.uniform(-0.5, 0.5, (2 * nc, 3)),
        velocity[:, :3],
        velocity[:, 3:],
        1.0 / mass,
        np.array(inertia),
        rng.uniform(0.0, 1.0, nc),
        np.zeros(3 * nc),
        np.full(3 * nc, softness),
        (rng.random(nc) > gone).astype(float),
    )


def dense(scene):
    """Jacobian (rows, 6 bodies), inverse mass matrix and velocity of a scene, built another way."""
    nb, nc = len(scene.inverse_mass), len(scene.a)
    J = np.zeros((3 * nc, 6 * nb))
    W = np.zeros((6 * nb, 6 * nb))
    for i in range(nb):
        S = scene.inverse_inertia[i]
        W[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = scene.inverse_mass[i] * np.eye(3)
        W[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = S[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
    for c in range(nc):
        for j in range(3):
            k, axis = 3 * c + j, scene.axes[3 * c + j]
            for body, sign, arm in (
                (scene.a[c], -1, scene.arms[2 * c]),
                (scene.b[c], 1, scene.arms[2 * c + 1]),
            ):
                J[k, 6 * body : 6 * body + 6] += sign * np.r_[axis, np.cross(arm, axis)]
    return J, W, np.hstack([scene.linear, scene.angular]).ravel()


def ball(velocity, mu=0.5, mass=2.0, spin=0.0, target=0.0, R=0.0):
    """A ball of radius 1 and inertia 0.8 on the ground; the contact is below its centre."""
    return Scene(
        np.array([1]),
        np.array([0]),
        frame([0, 0, 1]),
        np.array([[0.0, 0, 0], [0, 0, -1.0]]),
        np.array([velocity, [0, 0, 0]], dtype=float),
        np.array([[0, spin, 0], [0, 0, 0]], dtype=float),
        np.array([1 / mass, 0.0]),
        np.array([[1.25, 1.25, 1.25, 0, 0, 0], np.zeros(6)]),
        np.array([mu]),
        np.array([target, 0, 0]),
        np.array([R, 0, 0]),
        np.ones(1),
    )


def test_single_contact_opens_sticks_and_slides():
    # as a block without rotation: inverse mass 1/2 in all directions
    def block(velocity):
        return ball(velocity)._replace(inverse_inertia=np.zeros((2, 6)))

    impulse, *_ = solve_bodies(block([1.0, 0, 1.0]))
    assert np.abs(impulse).max() == 0.0
    _, linear, *_ = solve_bodies(block([0.3, -0.2, -1.0]))
    assert linear[0] == pytest.approx([0, 0, 0], abs=1e-14)
    # sliding: the friction impulse is mu times the normal one, against the velocity, in every direction
    for angle in np.linspace(0, 2 * np.pi, 13):
        direction = np.array([np.cos(angle), np.sin(angle), 0.0])
        impulse, linear, *_ = solve_bodies(block(5.0 * direction - [0, 0, 1.0]))
        assert impulse[0] == pytest.approx(2.0)
        assert np.hypot(*impulse[1:]) == pytest.approx(1.0)
        assert linear[0] == pytest.approx(4.5 * direction, abs=1e-12)


def test_sticking_ball_rolls():
    # it starts to roll at once where friction suffices: speed v I^-1 / (I^-1 + m^-1) of a hollow-like ball
    impulse, linear, angular, _ = solve_bodies(ball([0.3, 0, -1.0]))
    assert linear[0, 0] - angular[0, 1] == pytest.approx(0.0, abs=1e-13)
    assert linear[0, 0] == pytest.approx(0.3 * 1.25 / (1.25 + 0.5))
    assert impulse[0] == pytest.approx(2.0)


def test_restitution_and_softness_enter_by_target_and_regularizer():
    _, linear, *_ = solve_bodies(ball([0, 0, -1.0], target=0.6))
    assert linear[0, 2] == pytest.approx(0.6)
    impulse, linear, *_ = solve_bodies(ball([0, 0, -1.0], R=0.5))
    # twice as soft as the body is heavy: half the impulse
    assert impulse[0] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_frictionless_contacts_solve_the_lcp(seed):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng, seed)._replace(mu=np.zeros(10))
    J, W, v = dense(scene)
    rows = np.flatnonzero(np.repeat(scene.active, 3) * (np.arange(30) % 3 == 0))
    A = (J @ W @ J.T)[np.ix_(rows, rows)] + 1e-3 * np.eye(len(rows))
    exact = Dantzig().solve(LcpProblem(A, -(J @ v)[rows])).x
    impulse, *_ = solve_bodies(scene)
    assert impulse[rows] == pytest.approx(exact, abs=1e-9)
    others = np.setdiff1d(np.arange(30), rows)
    assert np.abs(impulse[others]).max() == 0.0


def test_velocities_belong_to_the_impulses_and_momentum_stays():
    rng = np.random.default_rng(7)
    scene = random_scene(rng, 3)
    J, W, v = dense(scene)
    impulse, linear, angular, taken = solve_bodies(scene)
    after = np.hstack([linear, angular]).ravel()
    assert after == pytest.approx(v + W @ J.T @ impulse, abs=1e-11)
    assert taken < 20_000
    # Coulomb: bounded by the normal impulse, and full and opposed where it slides
    slip = (J @ after).reshape(-1, 3)
    f = impulse.reshape(-1, 3)
    for c in np.flatnonzero(scene.active):
        bound = scene.mu[c] * f[c, 0]
        reach = np.hypot(*f[c, 1:])
        assert reach <= bound + 1e-12
        if reach < bound - 1e-9:
            assert slip[c, 1:] + 1e-3 * f[c, 1:] == pytest.approx([0, 0], abs=1e-9)
        elif bound > 1e-6:
            sliding = slip[c, 1:] + 1e-3 * f[c, 1:]
            cosine = sliding @ f[c, 1:] / (np.linalg.norm(sliding) * bound)
            assert cosine == pytest.approx(-1.0, abs=1e-6)

    # without the world, momentum is untouched
    free = (scene.a != 6) & (scene.b != 6)
    apart = scene._replace(active=scene.active * free)
    _, linear, angular, _ = solve_bodies(apart)
    before = scene.linear[:6] / scene.inverse_mass[:6, None]
    assert (linear[:6] / scene.inverse_mass[:6, None]).sum(0) == pytest.approx(before.sum(0), abs=1e-13)


def test_warm_start_ends_at_once():
    scene = random_scene(np.random.default_rng(1), 1)
    impulse, linear, _, cold = solve_bodies(scene)
    again, linear_again, _, warm = solve_bodies(scene, guess=impulse)
    assert cold > 10
    assert warm == 1
    assert again == pytest.approx(impulse, abs=1e-11)
    assert linear_again == pytest.approx(linear, abs=1e-11)


@pytest.mark.parametrize("sweeps", [1, 12, 20_000])
def test_four_lanes_equal_one_world_bit_for_bit(sweeps):
    rng = np.random.default_rng(5)
    scenes = [random_scene(rng, 11, gone=0.3) for _ in range(LANES)]
    together = solve_bodies(stacked(scenes), sweeps=sweeps)
    counts = set()
    for lane, scene in enumerate(scenes):
        alone = solve_bodies(scene, sweeps=sweeps)
        counts.add(float(alone[-1]))
        for x, y in zip(together, alone, strict=True):
            assert np.array_equal(x[..., lane], y)
    # the worlds end after different numbers of sweeps, so freezing is tested too
    assert len(counts) > 1 or sweeps < 1000
