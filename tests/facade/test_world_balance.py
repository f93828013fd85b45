# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Balance of everything in a World: where the ground pushes, and where it would have to."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import collision, msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError

FEET = [(-0.2, -0.1, 0), (0.2, -0.1, 0), (0.2, 0.1, 0), (-0.2, 0.1, 0)]


def test_a_box_stands_on_its_footprint():
    world = sx.World()
    ground = world.add_rigid_body("ground", fixed=True, mass=1e6, position=(5, 0, -0.5))
    ground.add_collision_shape(collision.CollisionShape.box((20, 20, 0.5)))
    box = world.add_rigid_body("box", position=(0, 0, 0.5))
    box.add_collision_shape(collision.CollisionShape.box((0.2, 0.3, 0.5)))
    assert world.get_support_polygon().shape == (0, 3) and world.get_balance_margin() == -np.inf
    world.step(n=200)
    polygon = world.get_support_polygon()
    np.testing.assert_allclose(sorted(map(tuple, np.abs(polygon[:, :2]))), [(0.2, 0.3)] * 4, atol=1e-6)
    # the heavy ground stands by itself and does not count
    assert world.get_balance_margin() == pytest.approx(0.2, abs=1e-6)
    assert world.get_balance_margin((1.0, 0, 0)) == pytest.approx(-0.8, abs=1e-6)


def test_things_that_lie_on_each_other_do_not_support_the_whole():
    world = sx.World()
    world.add_ground_plane()
    for k, half in enumerate((0.5, 0.2)):
        box = world.add_rigid_body(f"box{k}", position=(0.1 * k, 0, 0.5 + 0.7 * k))
        box.add_collision_shape(collision.CollisionShape.box((half, half, half)))
    world.step(n=50)
    np.testing.assert_allclose(world.get_support_polygon()[:, 2], 0.0, atol=1e-4)


def test_a_load_beyond_the_footprint_does_not_widen_it():
    """A cube of 2 kg carries a plank of 1 kg with a load of 0.5 kg beyond the edge: x = 0.5 * 0.8 / 3.5."""
    world = sx.World()
    world.add_ground_plane()
    parts = (
        ("cube", 2.0, (0.0, 0.0, 0.5), (0.5, 0.5, 0.5)),
        ("plank", 1.0, (0.0, 0.0, 1.05), (1.0, 0.3, 0.05)),
        ("load", 0.5, (0.8, 0.0, 1.2), (0.1, 0.1, 0.1)),
    )
    for name, mass, position, half in parts:
        body = world.add_rigid_body(name, mass=mass, position=position)
        body.add_collision_shape(collision.CollisionShape.box(half))
    world.step(n=50)
    loaded = [c.point[0] for c in world.contacts if c.force.any()]
    assert max(loaded) == pytest.approx(0.9, abs=1e-3)
    polygon = world.get_support_polygon()
    np.testing.assert_allclose(sorted(map(tuple, np.abs(polygon[:, :2]))), [(0.5, 0.5)] * 4, atol=1e-3)
    assert world.get_balance_margin() == pytest.approx(0.5 - 0.4 / 3.5, abs=1e-3)


def test_what_leaves_the_ground_does_not_stand_on_it():
    """A box that jumps off still touches, without force; the one at rest beside it stands on its footprint."""
    world = sx.World()
    world.add_ground_plane()
    for k in range(2):
        box = world.add_rigid_body(f"box{k}", position=(3.0 * k, 0, 0.5), linear_velocity=(0, 0, k))
        box.add_collision_shape(collision.CollisionShape.box((0.5, 0.5, 0.5)))
    world.step()
    assert sum(not c.force.any() and c.point[0] > 1.0 for c in world.contacts) == 4
    polygon = world.get_support_polygon()
    np.testing.assert_allclose(sorted(map(tuple, np.abs(polygon[:, :2]))), [(0.5, 0.5)] * 4, atol=1e-3)


def test_the_zero_moment_point_of_two_bodies_is_their_weighted_one():
    world = sx.World()
    world.add_rigid_body("a", mass=1.0, position=(0, 0, 1))
    world.add_rigid_body("b", mass=3.0, position=(1, 0, 2))
    world.add_rigid_body("post", mass=100.0, position=(9, 9, 9), fixed=True)
    still = np.zeros(18)
    np.testing.assert_allclose(world.get_zero_moment_point(still), [0.75, 0, 0], atol=1e-12)
    pushed = still.copy()
    pushed[6] = 2.0  # b goes along x
    # moments about the origin: (m g x - m a z) / total weight
    expected = (3.0 * 9.81 * 1.0 - 3.0 * 2.0 * 2.0) / (4.0 * 9.81)
    np.testing.assert_allclose(world.get_zero_moment_point(pushed), [expected, 0, 0], atol=1e-12)
    level = world.get_zero_moment_point(pushed, height=0.5)
    np.testing.assert_allclose(level, [expected + 0.5 * 6.0 / (4.0 * 9.81), 0, 0.5], atol=1e-12)


def test_the_world_and_its_only_robot_agree():
    world = sx.World()
    robot = world.add_multibody("robot")
    base = robot.add_link("base", joint=sx.JointSpec(type=sx.JointType.FLOATING), mass=5.0)
    robot.add_link("arm", parent=base, joint=sx.JointSpec(axis=(0, 1, 0)), center_of_mass=(0.4, 0, 0.2))
    robot.joints.velocity = np.linspace(-1.0, 1.0, 7)
    a = np.linspace(0.5, -0.5, 7)
    np.testing.assert_allclose(
        world.get_zero_moment_point(a), robot.get_zero_moment_point(a), rtol=0, atol=1e-13
    )
    assert world.get_balance_margin(points=FEET) == pytest.approx(robot.get_balance_margin(points=FEET))


def test_balance_needs_gravity_mass_and_numbers_that_fit():
    world = sx.World()
    with pytest.raises(ArgumentError, match="nothing that can move has mass"):
        world.get_balance_margin(points=FEET)
    world.add_rigid_body("box")
    with pytest.raises(ArgumentError, match="must match the 6"):
        world.get_zero_moment_point([0.0])
    with pytest.raises(ArgumentError, match=r"shape \(n, 3\)"):
        world.get_support_polygon([(0.0, 0.0)])
    world.gravity = (0, 0, 0)
    with pytest.raises(ArgumentError, match="without gravity"):
        world.get_balance_margin(points=FEET)


def test_the_margin_is_that_of_the_center_of_mass_and_not_of_the_origin():
    """A box turned by a quarter about z with its center of mass at (0.05, 0, 0) in its own axes: y = 0.05."""
    world = sx.World()
    world.add_ground_plane()
    turn = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]], float)
    box = world.add_rigid_body("box", mass=2.0)
    box.add_collision_shape(collision.CollisionShape.box((0.3, 0.2, 0.1)))
    box.center_of_mass, box.transform = (0.05, 0, 0), turn
    world.step(n=50)
    np.testing.assert_allclose(world.rigid_bodies["box"].translation, (0, 0, 0.1), atol=1e-3)
    # half sizes in the world are 0.2 along x and 0.3 along y
    assert world.get_balance_margin() == pytest.approx(0.2, abs=1e-3)
    edges = [(-0.3, 0.0, 0), (0.3, 0.0, 0), (0.3, 0.2, 0), (-0.3, 0.2, 0)]
    assert world.get_balance_margin(points=edges) == pytest.approx(0.05, abs=1e-3)


def test_the_center_of_mass_counts_what_has_mass():
    assert sx.World().center_of_mass.tolist() == [0.0, 0.0, 0.0]
    text = '<mujoco><worldbody><body name="plate" pos="1 1 1"/></worldbody></mujoco>'
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    assert world.center_of_mass.tolist() == [0.0, 0.0, 0.0]
    for mass, place in ((1.0, (1.0, 2.0, 3.0)), (3.0, (5.0, 2.0, -1.0))):
        world.add_rigid_body(f"box {mass}", mass=mass, position=place)
    assert world.center_of_mass == pytest.approx((4.0, 2.0, 0.0), abs=1e-12)
