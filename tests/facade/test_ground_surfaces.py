# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bodies that move over meshes and height fields of triangles as over the surface they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.step.collision_rows import shape_rows
from worldline.collision import CollisionDetector, CollisionShape

CELLS, SIDE = 12, 6.0


def flat_mesh():
    x = np.linspace(-SIDE / 2, SIDE / 2, CELLS + 1)
    gx, gy = np.meshgrid(x, x)
    points = np.stack([gx, gy, 0.0 * gx], axis=-1).reshape(-1, 3)
    i = (np.arange(CELLS)[:, None] * (CELLS + 1) + np.arange(CELLS)).reshape(-1)
    first = np.stack([i, i + 1, i + CELLS + 1], axis=1)
    second = np.stack([i + 1, i + CELLS + 2, i + CELLS + 1], axis=1)
    return CollisionShape.mesh(points, np.concatenate([first, second]))


GROUNDS = {
    "mesh": flat_mesh(),
    "height field": CollisionShape.height_field(np.zeros((CELLS + 1, CELLS + 1)), (SIDE, SIDE), base=0.5),
}
SHAPES = {
    "sphere": (CollisionShape.sphere(0.1), 0.1),
    "box": (CollisionShape.box((0.15, 0.1, 0.1)), 0.1),
}


def on_ground(ground, shape, height, **more):
    world = sx.World(time_step=0.002)
    floor = world.add_rigid_body("floor")
    floor.is_static = True
    floor.add_collision_shape(ground, friction=0.0)
    body = world.add_rigid_body("body", mass=1.0, position=(-2.0, 0.13, height), **more)
    body.add_collision_shape(shape, friction=0.0)
    return world, body


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_slide_without_friction_keeps_its_speed(ground, kind):
    shape, height = SHAPES[kind]
    world, body = on_ground(GROUNDS[ground], shape, height)
    world.step(n=50)
    body.linear_velocity = (2.0, 0.11, 0.0)
    highest, touched = 0.0, 0
    for _ in range(100):
        world.step(n=10)
        velocity = body.linear_velocity
        highest = max(highest, abs(float(velocity[2])))
        np.testing.assert_allclose(velocity[:2], (2.0, 0.11), rtol=0, atol=1e-9)
        np.testing.assert_allclose(body.angular_velocity, 0.0, atol=1e-6)
        for contact in world.contacts:
            up = contact.normal if contact.body_b is body else -contact.normal
            np.testing.assert_allclose(up, (0.0, 0.0, 1.0), atol=1e-12)
            touched += 1
    assert highest < 1e-6
    assert touched > 50
    assert body.translation[0] > 1.9


def test_a_mesh_has_two_sides_and_a_hole():
    # a triangle with nothing beside it: a ball beside it falls
    mesh = CollisionShape.mesh([[-1, -1, 0], [1, -1, 0], [-1, 1, 0]], [[0, 1, 2]])
    world, body = on_ground(mesh, CollisionShape.sphere(0.1), 0.1)
    body.translation = (-0.5, -0.5, 0.1)
    world.step(n=200)
    assert body.translation[2] == pytest.approx(0.1, abs=1e-3)
    body.translation = (0.8, 0.8, 0.1)
    body.linear_velocity = (0.0, 0.0, 0.0)
    world.step(n=200)
    assert body.translation[2] < -0.1


def test_shapes_come_back_as_they_were_given():
    world, _ = on_ground(GROUNDS["height field"], *SHAPES["box"])
    shape = world.rigid_bodies["floor"].collision_shape
    assert shape.heights.shape == (CELLS + 1, CELLS + 1)
    assert (shape.field_size, shape.base) == ((SIDE, SIDE), 0.5)
    world, _ = on_ground(GROUNDS["mesh"], *SHAPES["box"])
    shape = world.rigid_bodies["floor"].collision_shape
    assert np.array_equal(shape.triangles, GROUNDS["mesh"].triangles)
    assert np.allclose(shape.vertices, GROUNDS["mesh"].vertices)
    with world.edit():
        world.rigid_bodies["floor"].remove_collision_shape(0)
    assert not world._scene.assets.meshes


def test_surfaces_are_for_what_stands_still():
    world = sx.World()
    body = world.add_rigid_body("body")
    for shape in GROUNDS.values():
        with pytest.raises(ValueError, match="can move"):
            body.add_collision_shape(shape)
    assert not body.has_collision_shape
    world, _ = on_ground(GROUNDS["mesh"], *SHAPES["box"])
    with pytest.raises(RuntimeError, match="cannot move"):
        world.rigid_bodies["floor"].is_static = False


def two_plates():
    """A bowl of two upright plates: its hull is full, its parts leave the middle free."""
    from worldline import msd

    low = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
         [1, 5, 7], [1, 7, 3]]
    )  # fmt: skip
    plates = [low * (0.1, 1.0, 1.0) + (x, -0.5, 0.0) for x in (-0.5, 0.4)]
    return msd.MeshData(vertices=np.vstack(plates), triangles=np.vstack([faces, faces + 8]))


def test_a_pair_reaches_every_convex_part():
    """Masks let nothing touch; the pair lets both plates stand on the floor, not one of them alone."""
    pytest.importorskip("coacd", reason="convex decomposition needs coacd")
    from worldline import msd

    text = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
        <geom name="floor" type="plane" size="0 0 1"/><body name="bowl"><freejoint/>
        <inertial pos="0 0 0.5" mass="2" diaginertia="0.3 0.3 0.3"/>
        <geom name="plates" type="box" size="1 1 1"/></body></worldbody>
        <contact><pair geom1="floor" geom2="plates" friction="0.5 0.5 0.01 0.001 0.001"/></contact></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    scene.assets.meshes["plates"] = msd.MeshSource.buffer(two_plates(), acd=True)
    geom = next(scene.hierarchy.links()).geoms[0]
    geom.shape, geom.mesh, geom.size = "Mesh", "plates", [0.0, 0.0, 0.0]
    scene.simulate_option.coacd_strategy = msd.CoACDConfig()
    world = sx.World.from_scene(scene)
    world.step(n=500)
    body = world.rigid_bodies["bowl"]
    assert np.abs(body.translation).max() < 2e-3
    assert np.abs(body.quaternion[:3]).max() < 2e-3
    sides = {float(np.sign(contact.point[0])) for contact in world.contacts}
    assert sides == {-1.0, 1.0}


def test_a_step_uses_the_convex_parts_a_scene_asks_for():
    pytest.importorskip("coacd", reason="convex decomposition needs coacd")
    from worldline import msd

    mesh = two_plates()
    overlaps = []
    for strategy in (None, msd.CoACDConfig()):
        scene = msd.World()
        scene.assets.meshes["plates"] = msd.MeshSource.buffer(mesh, acd=True)
        scene.hierarchy.geoms.append(msd.Geometry(name="plates", shape="Mesh", mesh="plates"))
        scene.simulate_option.coacd_strategy = strategy
        rows = shape_rows(msd.build(scene))
        assert {k for k, _ in rows} == {0}
        detector = CollisionDetector.create("native")
        group = detector.create_group()
        group.add([row.shape for _, row in rows])
        overlaps.append(len(detector.overlap(group, CollisionShape.sphere(0.1), (0, 0, 0.5, 0, 0, 0, 1))))
    assert overlaps == [1, 0]
