# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Balls and cylinders that slide, roll and spin, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import METHODS, G, ball, box, cylinder, tilted_gravity, with_law

from worldline import simulation as sx
from worldline.collision import CollisionShape

# speed, spin, radius, friction; time, speed and place when it rolls
SLIDES = [
    (7.0, 0.0, 0.1, 0.3, 0.6795786612300374, 5.0, 4.077471967380225),
    (7.0, -70.0, 0.1, 0.3, 1.3591573224600748, 3.0, 6.7957866123003745),
    (2.0, -100.0, 0.1, 0.3, 1.164991990680064, -1.4285714285714288, 0.33285485448001806),
    (2.0, -50.0, 0.1, 0.3, 0.6795786612300374, 0.0, 0.6795786612300374),
    (0.0, 50.0, 0.1, 0.2, 0.7281199941750399, 1.4285714285714284, 0.5200857101250285),
    (5.0, 0.0, 0.05, 0.1, 1.4562399883500798, 3.5714285714285716, 6.2410285215003425),
]


def rolling(case, h, method=sx.ContactSolverMethod.NEWTON):
    """Time, speed and place when the ball has come to roll."""
    v, w, r, mu, *_ = case
    world = sx.World(time_step=h, contact_solver_method=method)
    world.add_ground_plane(friction=mu)
    body = ball(
        world,
        radius=r,
        friction=mu,
        position=(0, 0, r),
        linear_velocity=(v, 0, 0),
        angular_velocity=(0, w, 0),
    )
    while abs(body.linear_velocity[0] - r * body.angular_velocity[1]) > 1e-5:
        world.step()
        assert world.time < 2.0
    return world.time, body.linear_velocity[0], body.translation[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", SLIDES)
def test_a_ball_that_slips_comes_to_roll(case, method):
    time, speed, place = rolling(case, 1e-3, method)
    assert time == pytest.approx(case[4], abs=1.1e-3)
    assert speed == pytest.approx(case[5], abs=1e-5)
    assert place == pytest.approx(case[6], rel=0.01)


@pytest.mark.parametrize("h", [4e-3, 1e-3, 2.5e-4])
def test_the_place_converges_with_the_step(h):
    # no further off than the way of a step
    assert abs(rolling(SLIDES[0], h)[2] - SLIDES[0][6]) < SLIDES[0][0] * h


@pytest.mark.parametrize("heading", [0.0, 0.6])
def test_the_speed_of_rolling_is_five_sevenths_whatever_the_direction(heading):
    world = sx.World()
    world.add_ground_plane(friction=0.3)
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    body = ball(world, friction=0.3, position=(0, 0, 0.1), linear_velocity=7.0 * along)
    world.step(n=1000)
    np.testing.assert_allclose(body.linear_velocity, 5.0 * along, atol=1e-6)


def test_a_cylinder_that_slips_comes_to_roll():
    world = sx.World()
    world.add_ground_plane(friction=0.3)
    body = cylinder(world, friction=0.3, position=(0, 0, 0.1), linear_velocity=(3, 0, 0))
    world.step(n=1000)
    # (2 v0 + r w0) / 3
    assert body.linear_velocity[0] == pytest.approx(2.0, abs=1e-4)
    assert body.angular_velocity[1] == pytest.approx(20.0, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "gyration", "wanted", "least"),
    [
        (ball, 0.4, 2.396584004303436, 0.10399149550462924),
        (cylinder, 0.5, 2.2368117373498735, 0.12132341142206744),
        (ball, 2 / 3, 2.0131305636148866, 0.14558809370648093),
        (cylinder, 1.0, 1.6776088030124052, 0.18198511713310117),
    ],
    ids=["solid ball", "solid cylinder", "hollow ball", "hoop"],
)
def test_rolling_down_a_slope(make, gyration, wanted, least):
    for share, rolls in ((1.05, True), (0.95, False)):
        world = sx.World()
        world.gravity = tilted_gravity(20.0)
        world.add_ground_plane(friction=share * least)
        body = make(world, gyration=gyration, friction=share * least, position=(0, 0, 0.1))
        world.step(n=1000)
        slip = body.linear_velocity[0] - 0.1 * body.angular_velocity[1]
        if rolls:
            assert body.linear_velocity[0] == pytest.approx(wanted, rel=1e-4)
            assert abs(slip) < 1e-5
        else:
            assert slip > 0.05


def test_a_ball_on_a_turntable_goes_in_circles():
    world = sx.World()
    table = world.add_rigid_body("table", position=(0, 0, -0.1), angular_velocity=(0, 0, 3.0), kinematic=True)
    table.add_collision_shape(CollisionShape.cylinder(5.0, 0.1), friction=1.0)
    body = ball(
        world,
        position=(1.0, 0.0, 0.1),
        linear_velocity=(0.5, 0.2, 0.0),
        # rolls without slip on a table that moves by (0, 3, 0) m/s here
        angular_velocity=(28.0, 5.0, 0.0),
    )
    wanted = {1000: (1.3603923118931562, 0.3778775463069982), 2000: (1.310639027237486, 0.8976839228941496),
              5000: (0.13906690242531827, 0.6123291631442964)}  # fmt: skip
    for n, place in wanted.items():
        world.step(n=n - world.frame)
        np.testing.assert_allclose(body.translation[:2], place, rtol=0, atol=0.01 * 0.6282692274990256)


def test_a_box_on_rolling_balls():
    """A box of 10 kg is pushed with 150 N over rough ground; 25 balls of 1 kg on it roll."""
    world = sx.World(time_step=1e-3)
    world.add_ground_plane(friction=1.0)
    slab = box(world, "slab", mass=10.0, half=(2.0, 2.0, 0.2), friction=0.16, position=(0, 0, 0.2))
    # pairs take the geometric mean: 0.4 on the ground, 0.8 with balls
    balls = [
        ball(world, f"ball{k}", friction=4.0, position=(0.7 * (k % 5 - 2), 0.7 * (k // 5 - 2), 0.5))
        for k in range(25)
    ]
    heading = np.array([np.cos(np.pi / 3), np.sin(np.pi / 3), 0.0])
    for _ in range(100):
        slab.force = 150.0 * heading
        world.step(n=10)
    # M a + n f = F - mu g (M + n m), f = 2/7 m a, balls at 2/7 of the box
    np.testing.assert_allclose(slab.linear_velocity, 0.7385 * heading, rtol=0, atol=1e-4)
    for body in balls:
        np.testing.assert_allclose(body.linear_velocity, 0.211 * heading, rtol=0, atol=1e-4)


def spinning(condim, friction, **motion):
    world = sx.World()
    world.add_ground_plane()
    ball(world, position=(0, 0, 0.1), **motion)
    world = with_law(world, condim=condim, friction=friction)
    return world, world.rigid_bodies["ball"]


def test_spin_slows_by_the_torque_of_spinning_friction():
    world, body = spinning(4, [1.0, 0.02, 0.0], angular_velocity=(0, 0, 40.0))
    world.step(n=200)
    # a torque of mu_spin N on an inertia of 2/5 m r^2
    slowing = 0.02 * G / (0.4 * 0.01)
    assert body.angular_velocity[2] == pytest.approx(40.0 - 0.2 * slowing, rel=1e-4)
    world.step(n=1000)
    assert np.abs(body.angular_velocity).max() < 1e-6
    # without it nothing slows the spin
    world, body = spinning(3, [1.0, 0.02, 0.0], angular_velocity=(0, 0, 40.0))
    world.step(n=200)
    assert body.angular_velocity[2] == pytest.approx(40.0, abs=1e-9)


def test_a_ball_slows_by_the_torque_of_rolling_friction():
    rolling = 0.002
    world, body = spinning(6, [1.0, 0.005, rolling], linear_velocity=(2, 0, 0), angular_velocity=(0, 20, 0))
    world.step(n=500)
    # the torque mu_roll N takes from the momentum about the point of contact, m r v + I w
    v, w = body.linear_velocity[0], body.angular_velocity[1]
    assert 0.1 * v + 0.004 * w == pytest.approx(0.28 - 0.5 * rolling * G, abs=2e-6)
    # all friction of a contact shares one cone: while rolling is at its bound, sliding gives as much as makes
    # its force, m a, in proportion to mu^2
    slowing = rolling * G / 0.1 / 1.4
    slip = slowing / (rolling * G) * rolling**2 * w
    assert v - 0.1 * w == pytest.approx(slip, rel=0.01)
    assert v == pytest.approx(2.0 - 0.5 * slowing, abs=slip)
    world, body = spinning(4, [1.0, 0.005, rolling], linear_velocity=(2, 0, 0), angular_velocity=(0, 20, 0))
    world.step(n=500)
    assert body.linear_velocity[0] == pytest.approx(2.0, abs=1e-6)


def test_a_ball_on_a_slope_holds_by_rolling_friction():
    for share, rolls in ((0.95, False), (1.05, True)):
        world = sx.World()
        a = np.arctan(0.02 / 0.1 * share)
        world.gravity = tilted_gravity(np.degrees(a))
        world.add_ground_plane()
        ball(world, position=(0, 0, 0.1))
        world = with_law(world, condim=6, friction=[1.0, 0.005, 0.02])
        world.step(n=1000)
        assert bool(world.rigid_bodies["ball"].linear_velocity[0] > 0.01) is rolls


def test_a_capsule_stops_and_stays():
    world = sx.World()
    world.add_ground_plane(friction=0.6)
    body = world.add_rigid_body(
        "capsule",
        mass=1.0,
        inertia=np.diag([0.01, 0.01, 0.002]),
        position=(0, 0, 0.35),
        orientation=(0.3, 0.2, 0.1, 0.9),
        linear_velocity=(1.0, 0.5, 0.0),
        angular_velocity=(1.0, 2.0, 3.0),
    )
    body.add_collision_shape(CollisionShape.capsule(0.05, 0.15), friction=0.6)
    world = with_law(world, condim=6, friction=[0.6, 0.01, 0.005])
    body = world.rigid_bodies["capsule"]
    world.step(n=4000)
    there = body.translation.copy()
    assert there[2] == pytest.approx(0.05, abs=1e-5)
    assert np.abs(body.linear_velocity).max() < 1e-6
    world.step(n=4000)
    assert np.linalg.norm(body.translation - there) < 1e-6
