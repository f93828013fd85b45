# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks that slide, stick, brake and tip: dry friction in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import G, box, every_method, ground_force, tilted_gravity

from worldline import simulation as sx
from worldline._src.step import constraints
from worldline.collision import CollisionShape

# angle, friction, acceleration down the slope
SLOPES = [
    (20.0, 0.5, 0.0),
    (30.0, 0.5, 0.6571453944373277),
    (30.0, 0.3, 2.3562872366623964),
    (45.0, 0.2, 5.549374018752024),
    (10.0, 0.0, 1.7034886229125867),
]
THRESHOLD = 26.565051177077994
"""Angle at which friction of 0.5 lets go."""


method = every_method(1e-7)


def on_slope(method, degrees, friction, heading=0.0, turn=0.0, **options):
    world = sx.World(contact_solver_method=method)
    world.gravity = tilted_gravity(degrees, heading)
    world.add_ground_plane(friction=friction)
    turned = (0.0, 0.0, np.sin(turn / 2), np.cos(turn / 2))
    block = box(world, friction=friction, position=(0, 0, 0.1), orientation=turned, **options)
    return world, block, np.array([np.cos(heading), np.sin(heading), 0.0])


@pytest.mark.parametrize("heading", [0.0, 0.4, np.pi / 4, 2.0])
@pytest.mark.parametrize(("degrees", "friction", "wanted"), SLOPES)
def test_a_block_accelerates_alike_in_every_direction(method, degrees, friction, wanted, heading):
    world, block, down = on_slope(method, degrees, friction, heading)
    world.step(n=1000)
    np.testing.assert_allclose(block.linear_velocity, wanted * down, rtol=0, atol=1e-6)
    # positions are those of a semi-implicit step: half a step ahead of the parabola
    way = 0.5 * wanted * (1.0 + world.time_step)
    np.testing.assert_allclose(block.translation, way * down + (0, 0, 0.1), rtol=0, atol=1e-6)
    n, f = G * np.cos(np.radians(degrees)), G * np.sin(np.radians(degrees)) - wanted
    np.testing.assert_allclose(ground_force(world), -f * down + (0, 0, n), rtol=0, atol=1e-4)


@pytest.mark.parametrize("turn", [np.pi / 8, np.pi / 4])
def test_a_block_turned_on_the_slope_slides_the_same(method, turn):
    world, block, down = on_slope(method, 30.0, 0.3, turn=turn)
    world.step(n=1000)
    np.testing.assert_allclose(block.linear_velocity, 2.3562872366623964 * down, rtol=0, atol=1e-6)


def test_a_slope_of_its_own_is_like_tilted_gravity(method):
    world = sx.World(contact_solver_method=method)
    a, heading = np.radians(30.0), 0.7
    axis = np.array([-np.sin(heading), np.cos(heading), 0.0])
    down = np.array([np.cos(a) * np.cos(heading), np.cos(a) * np.sin(heading), -np.sin(a)])
    normal = np.cross(down, axis)
    slope = world.add_rigid_body("slope", fixed=True)
    slope.add_collision_shape(CollisionShape.plane(normal), friction=0.3)
    block = box(
        world,
        friction=0.3,
        position=0.1 * normal,
        orientation=(*(np.sin(a / 2) * axis), np.cos(a / 2)),
    )
    world.step(n=1000)
    np.testing.assert_allclose(block.linear_velocity, 2.3562872366623964 * down, rtol=0, atol=1e-6)


@pytest.mark.parametrize("heading", [0.0, np.pi / 4])
def test_the_angle_of_friction_divides_sticking_from_sliding(method, heading):
    world, block, down = on_slope(method, THRESHOLD - 0.1, 0.5, heading)
    world.step(n=10_000)
    # 10 s: no drift worth the name
    assert np.linalg.norm(block.linear_velocity) < 1e-6
    assert np.linalg.norm(block.translation - (0, 0, 0.1)) < 1e-5
    world, block, down = on_slope(method, THRESHOLD + 0.1, 0.5, heading)
    world.step(n=1000)
    a = np.radians(THRESHOLD + 0.1)
    # of the little that gravity and friction leave; sweeps end a little short of it
    near = 2e-3 if constraints._FREE_COLUMNS == 0 else 1e-9
    assert block.linear_velocity @ down == pytest.approx(G * (np.sin(a) - 0.5 * np.cos(a)), rel=near)


def test_sent_up_it_stops_and_comes_back(method):
    world, block, down = on_slope(method, 30.0, 0.3, linear_velocity=(-3.0, 0.0, 0.0))
    # positions are half a step ahead: that is 1e-3 of the way at a quarter of a millisecond
    world.time_step = h = 2.5e-4
    highest, when = 0.0, 0.0
    for _ in range(2400):
        world.step()
        if -block.translation @ down > highest:
            highest, when = float(-block.translation @ down), world.time
    assert when == pytest.approx(0.402483982848927, abs=h)
    assert highest == pytest.approx(0.6037259742733906, rel=1e-3)
    while block.translation @ down < 0.0:
        world.step()
    assert block.linear_velocity @ down == pytest.approx(1.6867434942053048, rel=1e-3)


def test_the_way_a_block_brakes(method):
    world = sx.World(contact_solver_method=method)
    world.add_ground_plane(friction=0.4)
    heading = np.array([0.6, 0.8, 0.0])
    block = box(world, friction=0.4, position=(0, 0, 0.1), linear_velocity=4.0 * heading)
    world.step(n=1019)
    assert np.linalg.norm(block.linear_velocity) > 0.0
    assert np.linalg.norm(block.linear_velocity) < 0.4 * G * 1e-3
    world.step(n=200)
    assert np.linalg.norm(block.linear_velocity) < 1e-6
    # the end of the step counts for all of it: half a step short of 2.0387 m
    assert block.translation @ heading == pytest.approx(2.038735983690112 - 0.5 * 4.0 * 1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("half", "angle"),
    [((0.5, 0.5), 45.0), ((0.5, 1.0), 26.56505117707799), ((0.25, 1.0), 14.036243467926479)],
)
def test_a_box_tips_where_its_centre_leaves_its_base(method, half, angle):
    for off, tips in ((-0.2, False), (0.2, True)):
        world = sx.World(contact_solver_method=method, time_step=0.002)
        world.gravity = tilted_gravity(angle + off)
        world.add_ground_plane(friction=2.0)
        block = box(world, half=(half[0], 0.4, half[1]), friction=2.0, position=(0, 0, half[1]))
        world.step(n=2000)
        turned = 2.0 * np.arcsin(np.linalg.norm(block.quaternion[:3]))
        assert bool(turned > 0.05) is tips, (off, turned)
