# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact in whole steps, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline.collision import CollisionShape

G = 9.81


def cube(world, name="box", mass=1.0, half=0.1, **options):
    """A solid cube."""
    body = world.add_rigid_body(name, mass=mass, inertia=np.eye(3) * mass * half**2 * 2 / 3, **options)
    body.add_collision_shape(CollisionShape.box((half, half, half)))
    return body


def ball(world, name="ball", mass=1.0, radius=0.1, **options):
    """A solid ball."""
    body = world.add_rigid_body(name, mass=mass, inertia=np.eye(3) * 0.4 * mass * radius**2, **options)
    body.add_collision_shape(CollisionShape.sphere(radius))
    return body


def total_force(world):
    return sum((contact.force for contact in world.contacts), np.zeros(3))


def test_a_box_at_rest():
    world = sx.World()
    box = cube(world, mass=2.0, position=(0, 0, 0.15))
    world.add_ground_plane()
    assert world.contacts == []
    world.step(n=1000)
    for _ in range(20):
        world.step()
        contacts = world.contacts
        assert len(contacts) == 4
        np.testing.assert_allclose(total_force(world), (0, 0, 2.0 * G), atol=1e-6)
        for contact in contacts:
            assert contact.body_a is None and contact.body_b is box
            np.testing.assert_allclose(contact.normal, (0, 0, 1), atol=1e-12)
    assert box.translation[2] == pytest.approx(0.1, abs=1e-6)
    told = world.compute_step_metrics()
    assert told.active_contact_count == 4 and 0.0 <= told.max_penetration_depth < 1e-6
    forces = world.get_last_contact_forces()
    np.testing.assert_allclose(sum(f.impulse for f in forces), (0, 0, 2.0 * G * world.time_step), atol=1e-9)


def test_forces_of_a_pyramid_add_up_too():
    world = sx.World()
    cube(world, mass=2.0, position=(0, 0, 0.1))
    world.add_ground_plane()
    scene = world.to_scene()
    scene.simulate_option.friction_model = 2
    again = sx.World.from_scene(scene)
    again.gravity = (3.0, 1.0, -G)
    again.step(n=1000)
    # friction holds: the ground answers to all of gravity
    np.testing.assert_allclose(total_force(again), (-6.0, -2.0, 2.0 * G), atol=1e-3)


def test_contacts_belong_to_the_last_step():
    world = sx.World()
    box = cube(world, position=(0, 0, 0.1))
    world.add_ground_plane()
    world.step(n=10)
    assert world.contacts
    box.translation = (0, 0, 5)
    world.step()
    assert world.contacts == [] and world.compute_step_metrics().active_contact_count == 0
    world.reset()
    world.step()
    assert world.contacts
    world.reset()
    assert world.contacts == []


def test_a_ball_bounces():
    world = sx.World()
    body = ball(world, position=(0, 0, 1.1))
    body.restitution = 0.5
    world.add_ground_plane()
    heights = []
    for _ in range(1000):
        world.step()
        heights.append(body.translation[2] - 0.1)
    first = int(np.argmax(np.array(heights) < 0.005))
    assert max(heights[first + 2 :]) == pytest.approx(0.25, rel=0.03)


@pytest.mark.parametrize("heading", [0.0, 0.4, np.pi / 4])
@pytest.mark.parametrize(
    ("friction", "expected"), [(0.3, G * (np.sin(np.pi / 6) - 0.3 * np.cos(np.pi / 6))), (0.7, 0.0)]
)
def test_a_block_on_an_incline(friction, expected, heading):
    world = sx.World()
    slope = world.add_rigid_body("slope", fixed=True)
    a = np.pi / 6
    n = np.array([np.sin(a), 0, np.cos(a)])
    slope.add_collision_shape(CollisionShape.plane(n), friction=friction)
    half, turn = np.array([0, np.sin(a / 2), 0, np.cos(a / 2)]), heading / 2
    x, y, z, w = half
    s, c = np.sin(turn), np.cos(turn)
    # turned about the normal: sliding is the same in all directions of the block
    block = cube(
        world, position=0.1 * n, orientation=(x * c + y * s, y * c - x * s, z * c + w * s, w * c - z * s)
    )
    block.friction = friction
    world.step(n=500)
    before = block.linear_velocity
    world.step(n=500)
    along = np.array([np.cos(a), 0, -np.sin(a)])
    np.testing.assert_allclose((block.linear_velocity - before) / 0.5, expected * along, atol=1e-2)
    if friction == 0.7:
        assert np.linalg.norm(block.translation - 0.1 * n) < 1e-6


def test_a_sliding_ball_comes_to_roll():
    world = sx.World()
    body = ball(world, position=(0, 0, 0.1), linear_velocity=(1, 0, 0))
    world.add_ground_plane(friction=0.3)
    body.friction = 0.3
    world.step(n=1000)
    assert body.linear_velocity[0] == pytest.approx(5 / 7, rel=1e-3)
    assert body.angular_velocity[1] * 0.1 == pytest.approx(body.linear_velocity[0], rel=1e-6)


def test_a_kinematic_body_pushes_and_is_not_pushed():
    world = sx.World(gravity=(0, 0, 0))
    pusher = cube(world, "pusher", position=(-0.25, 0, 0), linear_velocity=(1, 0, 0), kinematic=True)
    box = cube(world)
    world.step(n=500)
    np.testing.assert_allclose(pusher.linear_velocity, (1, 0, 0), atol=1e-15)
    assert pusher.translation[0] == pytest.approx(0.25, abs=1e-12)
    np.testing.assert_allclose(box.linear_velocity, (1, 0, 0), atol=1e-6)
    assert box.translation[0] - pusher.translation[0] == pytest.approx(0.2, abs=1e-5)


def test_bodies_that_nothing_moves_do_not_touch_each_other():
    world = sx.World()
    cube(world, "a", fixed=True)
    cube(world, "b", kinematic=True)
    cube(world, "c", position=(5, 0, 0))
    world.step()
    assert world.contacts == []
    # released it does
    world.rigid_bodies["b"].is_kinematic = False
    world.step()
    assert world.contacts


def test_collisions_keep_momentum():
    world = sx.World(gravity=(0, 0, 0))
    a = ball(world, "a", position=(-0.3, 0.05, 0.02), linear_velocity=(2, 0, 0))
    b = ball(world, "b", mass=3.0)
    a.restitution, b.friction = 0.7, 0.5
    linear, angular = world.linear_momentum, world.angular_momentum
    world.step(n=300)
    assert np.linalg.norm(b.linear_velocity) > 0.1
    np.testing.assert_allclose(world.linear_momentum, linear, atol=1e-10)
    np.testing.assert_allclose(world.angular_momentum, angular, atol=1e-10)


def test_head_on_restitution_without_friction():
    world = sx.World(gravity=(0, 0, 0))
    a = ball(world, "a", position=(-0.3, 0, 0), linear_velocity=(2, 0, 0))
    b = ball(world, "b", mass=3.0)
    a.restitution = 0.7
    world.step(n=300)
    # v = v0 (1 - 3 e) / 4 and v0 (1 + e) / 4
    assert a.linear_velocity[0] == pytest.approx(2 * (1 - 3 * 0.7) / 4, abs=1e-5)
    assert b.linear_velocity[0] == pytest.approx(2 * (1 + 0.7) / 4, abs=1e-5)


def test_links_touch():
    world = sx.World()
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    tip = arm.add_link("tip", base, sx.JointSpec("hinge", axis=(0, 1, 0)), mass=2.0, center_of_mass=(1, 0, 0))
    tip.add_collision_shape(CollisionShape.sphere(0.1, local_transform=(1, 0, 0, 0, 0, 0, 1)))
    world.add_ground_plane(-0.2)
    world.step(n=2000)
    (contact,) = world.contacts
    assert contact.body_b is tip and contact.body_a is None
    # moments about the hinge: the ground bears the weight, both at the same lever
    assert contact.force[2] * 1.0 + contact.force[0] * 0.2 / np.cos(np.arcsin(0.1)) == pytest.approx(
        2.0 * G, rel=1e-2
    )


def test_a_box_thrown_onto_the_ground_stays_on_it():
    world = sx.World()
    box = cube(world, position=(0, 0, 0.1), linear_velocity=(5, 0, 0))
    box.friction = 0.5
    world.add_ground_plane(friction=0.5)
    world.step(n=100)
    assert box.translation[2] == pytest.approx(0.1, abs=1e-3)
    assert box.linear_velocity[0] == pytest.approx(5.0 - 0.5 * G * 0.1, abs=1e-2)


def test_a_contact_says_which_shapes_touch_and_where():
    """Of three balls of one body and two of another the last ones overlap, both bodies turned."""
    world = sx.World(time_step=0.001, gravity=(0, 0, 0))
    bodies = []
    for name, places, position, turn in (
        ("a", [(5, 0, 0), (0, 5, 0), (0, 0, 0.3)], (0, 0, 0), (0.5, 0.5, 0.5, 0.5)),
        ("b", [(0, 7, 0), (0.2, 0, 0)], (0.69, 0, 0.05), (0, 0, 1, 0)),
    ):
        body = world.add_rigid_body(name, mass=1.0, position=position, orientation=turn)
        for place in places:
            body.add_collision_shape(CollisionShape.sphere(0.1, [*place, 0, 0, 0, 1.0]))
        bodies.append(body)
    a, b = bodies
    # the balls are at (0.3, 0, 0) and (0.49, 0, 0.05) and overlap by 0.2 less their distance
    world.step()
    (contact,) = world.contacts
    first, second = (a, b) if contact.body_a is a else (b, a)
    assert (contact.body_a, contact.body_b) == (first, second)
    indices = {a: 2, b: 1}
    assert (contact.shape_index_a, contact.shape_index_b) == (indices[first], indices[second])
    line = np.array([0.19, 0.0, 0.05]) * (1.0 if first is a else -1.0)
    away = np.linalg.norm(line)
    assert contact.normal == pytest.approx(line / away, abs=1e-9) and contact.normal.shape == (3,)
    assert contact.depth == pytest.approx(0.2 - away, abs=1e-9)
    assert contact.point == pytest.approx([0.395, 0.0, 0.025], abs=1e-9)
    # frames of the shapes turn with their bodies: cyclic axes for a, half a turn about z for b
    turns = {a: np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]]), b: np.diag([-1.0, -1.0, 1.0])}
    assert contact.local_point_a == pytest.approx(0.1 * turns[first].T @ line / away, abs=1e-9)
    assert contact.local_point_b == pytest.approx(-0.1 * turns[second].T @ line / away, abs=1e-9)
    with pytest.raises(AttributeError):
        contact.depth = 1.0
    (force,) = world.get_last_contact_forces()
    assert force.impulse == pytest.approx(0.001 * contact.force, rel=1e-12) and contact.force @ line > 0.0
    with pytest.raises(AttributeError):
        force.point = np.zeros(3)
