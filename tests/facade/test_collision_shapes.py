# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of bodies and links: what goes in comes out, masses stay, refused calls change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline.collision import CollisionShape, CollisionShapeType

POSE = (0.1, -0.2, 0.3, 0.0, 0.0, np.sin(0.4), np.cos(0.4))
CUBE = np.array([[x, y, z] for x in (-0.1, 0.3) for y in (-0.1, 0.1) for z in (-0.2, 0.1)])


@pytest.fixture
def world():
    return sx.World()


@pytest.mark.parametrize(
    "shape",
    [
        CollisionShape.sphere(0.3, local_transform=POSE),
        CollisionShape.box((0.1, 0.2, 0.3), local_transform=POSE),
        CollisionShape.capsule(0.1, 0.4, local_transform=POSE),
        CollisionShape.cylinder(0.1, 0.4, local_transform=POSE),
        CollisionShape.ellipsoid((0.1, 0.2, 0.3), local_transform=POSE),
    ],
    ids=repr,
)
def test_what_goes_in_comes_out(world, shape):
    body = world.add_rigid_body("body", mass=2.5, inertia=np.diag([1.0, 2.0, 2.5]))
    assert not body.has_collision_shape and body.collision_shape is None and body.collision_shapes == []
    body.add_collision_shape(shape)
    (found,) = body.collision_shapes
    assert found.type is shape.type and repr(found) == repr(shape)
    np.testing.assert_allclose(found.local_pose, POSE, atol=1e-15)
    # a body's mass is its own
    assert body.mass == 2.5 and (body.inertia == np.diag([1.0, 2.0, 2.5])).all()


def test_convex_shapes_keep_their_points(world):
    body = world.add_rigid_body("body", mass=2.5)
    body.add_collision_shape(CollisionShape.convex(CUBE, local_transform=POSE))
    (found,) = body.collision_shapes
    assert found.type is CollisionShapeType.CONVEX and body.mass == 2.5
    order = np.lexsort(found.vertices.T)
    np.testing.assert_allclose(found.vertices[order], CUBE[np.lexsort(CUBE.T)], atol=1e-12)
    np.testing.assert_allclose(found.local_pose, POSE, atol=1e-12)
    body.remove_collision_shape(0)
    assert not world.to_scene().assets.meshes


def test_a_body_weighed_by_its_geoms_keeps_its_mass():
    text = "<mujoco><worldbody><body name='b'><freejoint/><geom size='0.1' mass='2'/></body></worldbody></mujoco>"
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    body = world.rigid_bodies["b"]
    inertia = body.inertia
    body.add_collision_shape(CollisionShape.box((1, 1, 1)))
    assert body.num_collision_shapes == 2 and body.mass == 2.0 and (body.inertia == inertia).all()


def test_shapes_of_links(world):
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    tip = arm.add_link("tip", base, sx.JointSpec("hinge"), mass=1.5)
    tip.add_collision_shape(CollisionShape.sphere(0.1))
    assert tip.num_collision_shapes == 1 and base.num_collision_shapes == 0 and tip.mass == 1.5


def test_shapes_are_replaced_and_removed(world):
    body = world.add_rigid_body("body")
    body.add_collision_shape(CollisionShape.sphere(0.1))
    body.add_collision_shape(CollisionShape.sphere(0.2), name="middle")
    body.add_collision_shape(CollisionShape.sphere(0.3))
    assert [shape.radius for shape in body.collision_shapes] == [0.1, 0.2, 0.3]
    body.remove_collision_shape("middle")
    assert [shape.radius for shape in body.collision_shapes] == [0.1, 0.3]
    body.remove_collision_shape(0)
    assert [shape.radius for shape in body.collision_shapes] == [0.3]
    body.set_collision_shape(CollisionShape.box((1, 1, 1)))
    assert [shape.type for shape in body.collision_shapes] == [CollisionShapeType.BOX]


def test_refused_calls_change_nothing(world):
    body = world.add_rigid_body("body")
    body.add_collision_shape(CollisionShape.sphere(0.1), name="ball")
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    corners = np.array([[0, 1, 2], [0, 2, 3]])
    with pytest.raises(ArgumentError, match="can move"):
        body.add_collision_shape(CollisionShape.mesh(square, corners))
    with pytest.raises(ArgumentError, match="already exists"):
        body.add_collision_shape(CollisionShape.sphere(0.1), name="ball")
    with pytest.raises(ArgumentError, match="friction"):
        body.add_collision_shape(CollisionShape.sphere(0.1), friction=-1.0)
    with pytest.raises(ArgumentError, match="restitution"):
        body.add_collision_shape(CollisionShape.sphere(0.1), restitution=1.5)
    with pytest.raises(ArgumentError, match="can move"):
        body.add_collision_shape(CollisionShape.plane())
    with pytest.raises(TypeError):
        body.add_collision_shape("sphere")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no shape 1"):
        body.remove_collision_shape(1)
    with pytest.raises(ArgumentError, match="no shape named 'box'"):
        body.remove_collision_shape("box")
    assert body.num_collision_shapes == 1
    world.step()
    with pytest.raises(OperationError, match="simulation mode"):
        body.add_collision_shape(CollisionShape.sphere(0.2))
    with world.edit():
        body.add_collision_shape(CollisionShape.sphere(0.2))
    assert body.num_collision_shapes == 2


def test_an_edit_that_fails_takes_the_shape_back(world):
    body = world.add_rigid_body("body")
    world.step()
    with pytest.raises(ZeroDivisionError), world.edit():
        body.add_collision_shape(CollisionShape.convex(CUBE))
        raise ZeroDivisionError
    assert body.num_collision_shapes == 0 and not world.to_scene().assets.meshes


def test_a_static_body_may_be_a_plane_but_then_stays(world):
    floor = world.add_rigid_body("floor", fixed=True)
    floor.add_collision_shape(CollisionShape.plane())
    with pytest.raises(OperationError, match="plane"):
        floor.is_static = False
    assert floor.is_static


def test_shapes_survive_a_description(world):
    body = world.add_rigid_body("body", mass=3.0)
    body.friction, body.restitution = 0.4, 0.3
    body.add_collision_shape(CollisionShape.convex(CUBE))
    body.add_collision_shape(CollisionShape.sphere(0.1), friction=0.2)
    world.add_ground_plane(-1.0, friction=0.5)
    again = sx.World.from_scene(world.to_scene()).rigid_bodies["body"]
    assert [s.type for s in again.collision_shapes] == [CollisionShapeType.CONVEX, CollisionShapeType.SPHERE]
    assert again.mass == 3.0 and again.friction == 0.4 and again.restitution == 0.3


def test_setting_friction_reaches_all_shapes():
    world = sx.World(gravity=(3.0, 0.0, -9.81))
    body = world.add_rigid_body("body", inertia=0.01 * np.eye(3), position=(0, 0, 0.1))
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)), friction=0.5)
    world.add_ground_plane(friction=1.0)
    # the geometric mean of 0.5 and 1 holds, that of 0 and 1 does not, that of 0.04 and 1 is 0.2
    for friction, acceleration in ((None, 0.0), (0.0, 3.0), (0.04, 3.0 - 0.2 * 9.81)):
        if friction is not None:
            body.friction = friction
        body.linear_velocity = (0, 0, 0)
        world.step(n=100)
        assert body.linear_velocity[0] == pytest.approx(0.1 * acceleration, abs=1e-4)
