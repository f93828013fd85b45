# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bounces and collisions: heights, times, speeds, and what they may not change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from contact_worlds import ball, every_method

from worldline import simulation as sx
from worldline.collision import CollisionShape

# height, restitution; impact times
BOUNCES = [
    (1.0, 0.5, [0.4515236409857309, 0.9030472819714618, 1.1288091024643272]),
    (1.0, 0.8, [0.4515236409857309, 1.1739614665629003, 1.7519117270246358, 2.2142719353940246]),
    (5.0, 1.0, [1.0096375546923044, 3.0289126640769135, 5.048187773461523, 7.067462882846131]),
    (2.0, 0.9, [0.638550856814101, 1.7879423990794825, 2.822394787118326, 3.7534019363532853]),
]


method = every_method(1e-9)


def dropped(height, restitution, seconds, h=1e-3, method=sx.ContactSolverMethod.NEWTON):
    """Impact times, peaks between them, and the ball at the end."""
    world = sx.World(time_step=h, contact_solver_method=method)
    world.add_ground_plane(restitution=restitution)
    body = ball(world, restitution=restitution, position=(0, 0, height + 0.1))
    z, v = [], []
    for _ in range(round(seconds / h)):
        world.step()
        z.append(body.translation[2] - 0.1)
        v.append(body.linear_velocity[2])
    z, v = np.array(z), np.array(v)
    turns = np.flatnonzero((v[:-1] < 0.0) & (v[1:] > 0.0)) + 1
    peaks = np.array([z[a:b].max() for a, b in pairwise(turns)])
    return h * (turns + 1.0), peaks, body


@pytest.mark.parametrize("h", [2e-3, 5e-4])
@pytest.mark.parametrize(("height", "e", "times"), BOUNCES)
def test_heights_and_times_of_bounces(height, e, times, h, method):
    n = len(times)
    told, peaks, _ = dropped(height, e, times[-1] + 0.02, h, method)
    # an impact is answered in the step it happens in, and the moment within the step is not lost
    assert (np.abs(told[:n] - times) <= h).all(), (told[:n] - times) / h
    # peaks are seen at steps: no further below the parabola than half a step falls
    wanted = height * e ** (2.0 * np.arange(1, n))
    np.testing.assert_allclose(peaks[: n - 1], wanted, rtol=0, atol=1e-5 * height + 0.5 * 9.81 * h * h)


def test_a_ball_comes_to_rest_when_it_should():
    _, _, body = dropped(1.0, 0.5, 1.3545709229571927 + 0.05)
    assert abs(body.linear_velocity[2]) < 1e-6
    assert body.translation[2] == pytest.approx(0.1, abs=1e-6)


def test_an_elastic_ball_bounces_for_ever():
    told, peaks, _ = dropped(5.0, 1.0, 20.5)
    assert len(told) == 10
    np.testing.assert_allclose(peaks, 5.0, rtol=1e-5)
    np.testing.assert_allclose(np.diff(told), 2.0192751094, atol=1e-3)


@pytest.mark.parametrize(
    ("masses", "before", "e", "after"),
    [
        ((1, 1), (1, 0), 1.0, (0.0, 1.0)),
        ((1, 1), (1, 0), 0.0, (0.5, 0.5)),
        ((2, 1), (3, -1), 0.5, (1.0, 3.0)),
        ((1, 1000), (1, 0), 0.7, (-0.6983016983016983, 0.0016983016983016983)),
    ],
)
def test_collinear_collisions(masses, before, e, after, method):
    world = sx.World(gravity=(0, 0, 0), contact_solver_method=method)
    bodies = [
        ball(world, name, mass=m, restitution=e, position=(x, 0, 0), linear_velocity=(v, 0, 0))
        for name, m, v, x in zip("ab", masses, before, (-0.15, 0.15), strict=True)
    ]
    world.step(n=300)
    np.testing.assert_allclose([body.linear_velocity[0] for body in bodies], after, rtol=0, atol=1e-6)
    for body in bodies:
        np.testing.assert_allclose([*body.linear_velocity[1:], *body.angular_velocity], 0.0, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_many_leave_the_cradle_as_come(count, method):
    """Balls with small gaps: impacts come one after the other."""
    world = sx.World(gravity=(0, 0, 0), time_step=1e-3, contact_solver_method=method)
    row = [
        ball(
            world,
            f"b{k}",
            restitution=1.0,
            friction=0.0,
            position=(0.21 * k - (0.1 if k < count else 0.0), 0, 0),
            linear_velocity=(1.0 if k < count else 0.0, 0, 0),
        )
        for k in range(5)
    ]
    world.step(n=1500)
    speeds = [body.linear_velocity[0] for body in row]
    np.testing.assert_allclose(speeds, [0.0] * (5 - count) + [1.0] * count, rtol=0, atol=1e-6)
    assert world.kinetic_energy == pytest.approx(0.5 * count, rel=1e-6)


def cloud(seed, method, restitution, friction, count=24):
    """Bodies of all kinds that fly at each other."""
    rng = np.random.default_rng(seed)
    world = sx.World(gravity=(0, 0, 0), time_step=1e-3, contact_solver_method=method)
    shapes = [
        lambda s: CollisionShape.sphere(s),
        lambda s: CollisionShape.box((s, 0.8 * s, 0.6 * s)),
        lambda s: CollisionShape.capsule(0.5 * s, s),
        lambda s: CollisionShape.cylinder(0.7 * s, 0.7 * s),
    ]
    for k in range(count):
        place = np.array([k % 3, k // 3 % 3, k // 9]) * 0.35 - 0.35
        turn = rng.normal(size=4)
        mass = 10.0 ** rng.uniform(-1, 1)
        body = world.add_rigid_body(
            f"b{k}",
            mass=mass,
            inertia=mass * 0.004 * np.diag([1.0, 1.2, 1.5]),
            position=place,
            orientation=turn / np.linalg.norm(turn),
            linear_velocity=-3.0 * place + rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )
        body.add_collision_shape(shapes[k % 4](0.1), friction=friction, restitution=restitution)
    return world


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_collisions_of_free_bodies_keep_momentum(method, restitution, friction):
    world = cloud(3, method, restitution, friction)
    linear, angular = world.linear_momentum.copy(), world.angular_momentum.copy()
    touched = 0
    for _ in range(300):
        world.step()
        touched += world.compute_step_metrics().active_contact_count
    assert touched > 0
    np.testing.assert_allclose(world.linear_momentum, linear, rtol=0, atol=1e-10)
    np.testing.assert_allclose(world.angular_momentum, angular, rtol=0, atol=1e-10)


@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_contact_impulses_have_no_moment(method, friction):
    """The torque of all contact forces of a step about any point is zero: 1e-10 of what each of them has."""
    world = cloud(4, method, 0.3, friction)
    seen = 0
    for _ in range(200):
        world.step()
        total, moment, largest = np.zeros(3), np.zeros(3), 0.0
        for body in world.rigid_bodies:
            force = np.zeros(3)
            for contact in world.contacts:
                sign = (contact.body_b is body) * 1.0 - (contact.body_a is body)
                if sign:
                    force += sign * contact.force
                    moment += sign * np.cross(contact.point, contact.force)
                    largest = max(largest, float(np.abs(contact.force).max()))
                    seen += 1
            total += force
        assert np.abs(total).max() <= 1e-10 * max(largest, 1.0)
        assert np.abs(moment).max() <= 1e-10 * max(largest, 1.0)
    assert seen > 100


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_contact_gives_no_energy(method, restitution):
    """Step by step: what contacts do, less what pushing overlap apart does, is never positive."""
    world = cloud(5, method, restitution, 0.5, count=12)
    gained = 0.0
    for _ in range(250):
        world.step()
        gained += max(world.energy_ledger().contact, 0.0)
    assert gained <= 1e-6 * world.kinetic_energy + 1e-9
