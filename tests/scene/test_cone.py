# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cones in every layer: mass properties, formats, contact, distances, rays, pictures, lanes."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import SceneError, collision, model, msd
from worldline import simulation as sx
from worldline._src.scene.mass_properties import primitive, shape_content

RADIUS, HALF = 0.3, 0.4
SIZE = [RADIUS, HALF, 0.0]


def points(count: int) -> np.ndarray:
    """Points spread evenly in the cone."""
    rng = np.random.default_rng(0)
    height = 2.0 * HALF * (1.0 - rng.random(count) ** (1.0 / 3.0))
    angle, r = rng.random(count) * 2.0 * np.pi, np.sqrt(rng.random(count))
    r *= RADIUS * (1.0 - height / (2.0 * HALF))
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), height - HALF])


def skin(count: int) -> np.ndarray:
    """Points spread evenly on its surface."""
    rng = np.random.default_rng(1)
    slope = np.hypot(RADIUS, 2.0 * HALF)
    angle, on_base = rng.random(count) * 2.0 * np.pi, rng.random(count) < RADIUS / (RADIUS + slope)
    share = np.sqrt(rng.random(count))
    height = np.where(on_base, -HALF, HALF - 2.0 * HALF * share)
    return np.column_stack([RADIUS * share * np.cos(angle), RADIUS * share * np.sin(angle), height])


@pytest.mark.parametrize("shell", [False, True])
def test_mass_properties_are_those_of_its_points(shell):
    found = skin(400_000) if shell else points(400_000)
    made = primitive(msd.ShapeType.Cone, SIZE, mass=2.0, shell=shell)
    np.testing.assert_allclose(made.com, found.mean(axis=0), atol=2e-3)
    around = found - found.mean(axis=0)
    inertia = 2.0 * (np.mean(np.sum(around**2, axis=1)) * np.eye(3) - around.T @ around / len(around))
    np.testing.assert_allclose(made.inertia, inertia, atol=2e-3 * inertia.max())
    # V = pi r^2 (2 h) / 3, A = pi r (r + s)
    content = np.pi * RADIUS * (RADIUS + np.hypot(RADIUS, 2 * HALF)) if shell else np.pi * 0.09 * 0.8 / 3.0
    assert shape_content(msd.ShapeType.Cone, SIZE, shell) == pytest.approx(content, rel=1e-14)


def test_a_placed_cone_is_the_cone_placed():
    place, turn = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.5, 0.5, 0.5])
    made = primitive(msd.ShapeType.Cone, SIZE, place, turn, mass=2.0)
    plain = primitive(msd.ShapeType.Cone, SIZE, mass=2.0)
    x, y, z, w = turn
    z_axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(made.com, place - 0.5 * HALF * z_axis, atol=1e-15)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(made.inertia), np.linalg.eigvalsh(plain.inertia), rtol=1e-13
    )


def scene() -> msd.World:
    geom = msd.Geometry(name="cone", shape="Cone", size=SIZE)
    body = msd.Body(
        link=msd.Link(name="body", geoms=[geom], local_translation=(0, 0, 1)), free=msd.FreeJoint()
    )
    world = msd.World(name="cones")
    world.hierarchy.bodies.append(body)
    return world


def test_scenes_have_cones_and_check_their_sizes():
    world = scene()
    assert msd.from_str(world.to_str(), format="msd") == world
    world.hierarchy.bodies[0].link.geoms[0].size = [0.1, 0.0, 0.0]
    with pytest.raises(SceneError, match="Cone"):
        world.validate()


def test_sdf_keeps_a_cone():
    text = scene().to_str(format="sdf")
    assert "<cone>" in text and "<length>0.8" in text
    again = msd.from_str(text, format="sdf")
    geom = next(iter(again.hierarchy.links())).geoms[-1]
    assert geom.shape is msd.ShapeType.Cone and geom.size == SIZE


def test_urdf_names_what_it_leaves_out():
    report = msd.Report()
    scene().to_str(format="urdf", report=report)
    assert any("no such shape as a Cone" in entry.message for entry in report.losses)


def test_mjcf_gets_a_mesh_of_the_same_mass():
    mujoco = pytest.importorskip("mujoco")
    report = msd.Report()
    text = scene().to_str(format="mjcf", report=report)
    noted = [entry for entry in report.losses if "mesh of 64 sides" in entry.message]
    assert [entry.path for entry in noted] == ["$.hierarchy.bodies[0].link.geoms[0].shape"]
    peer, built = mujoco.MjModel.from_xml_string(text), msd.build(scene())
    assert peer.body_mass[1] == pytest.approx(built.body_mass[0], rel=1e-12)
    np.testing.assert_allclose(peer.body_ipos[1], built.body_com[0], atol=1e-3)
    moments = np.sort(np.linalg.eigvalsh(built.body_inertia[0]))
    np.testing.assert_allclose(np.sort(peer.body_inertia[1]), moments, rtol=5e-3)


def standing(shape: collision.CollisionShape, **options) -> sx.World:
    world = sx.World(time_step=0.002, **options)
    world.add_ground_plane()
    body = world.add_rigid_body("body", mass=1.0, position=(0, 0, HALF + 0.01))
    body.add_collision_shape(shape)
    return world


def test_a_cone_stands_on_its_base():
    world = standing(collision.CollisionShape.cone(RADIUS, HALF))
    body = world.rigid_bodies["body"]
    # its shape gives inertia and centre of mass
    np.testing.assert_allclose(body.center_of_mass, [0, 0, -0.5 * HALF], atol=1e-15)
    assert body.inertia[2, 2] == pytest.approx(0.3 * RADIUS**2, rel=1e-12)
    world.step(n=1000)
    assert body.translation[2] == pytest.approx(HALF, abs=1e-3)
    np.testing.assert_allclose(body.transform[:3, 2], [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(body.linear_velocity, 0.0, atol=1e-6)


def test_a_cone_on_its_tip_falls_over():
    world = standing(collision.CollisionShape.cone(RADIUS, HALF))
    body = world.rigid_bodies["body"]
    body.quaternion = (1.0, 0.0, 0.0, 0.02)
    world.step(n=1500)
    # onto its mantle: the axis leans as far as the half opening angle
    assert abs(body.transform[2, 2]) == pytest.approx(np.sin(np.arctan(RADIUS / (2.0 * HALF))), abs=2e-2)


def test_distances_of_worlds_know_cones():
    world = standing(collision.CollisionShape.cone(RADIUS, HALF))
    ball = world.add_rigid_body("ball", position=(0, 0, 3.0))
    ball.add_collision_shape(collision.CollisionShape.sphere(0.1))
    apex = world.rigid_bodies["body"].translation[2] + HALF
    found = world.distance(world.rigid_bodies["body"], ball)
    assert found.distance == pytest.approx(3.0 - 0.1 - apex, abs=1e-9)


def test_rays_meet_the_mantle():
    world = standing(collision.CollisionShape.cone(RADIUS, HALF))
    height = world.rigid_bodies["body"].translation[2]
    hits = world.raycast((1.0, 0, height), (-1.0, 0, height))
    # half way up the radius is half of that of the base
    np.testing.assert_allclose(hits.points[0], [0.5 * RADIUS, 0, height], atol=1e-9)


def test_builders_add_cones_which_step_alone_and_in_lanes():
    builder = model.ModelBuilder()
    body = builder.add_body(label="body")
    builder.add_shape_cone(body, radius=RADIUS, half_height=HALF)
    builder.add_ground_plane()
    built = builder.finalize()
    assert built.body_mass[body] == pytest.approx(1000.0 * np.pi * 0.09 * 0.8 / 3.0, rel=1e-12)
    np.testing.assert_allclose(built.body_com[body], [0, 0, -0.5 * HALF], atol=1e-15)
    one = model.Simulation(built, 0.002)
    one.q = (0, 0, HALF, 0, 0, 0, 1)
    one.step(200)
    assert one.q[2] == pytest.approx(HALF, abs=0.02)
    many = model.LaneSimulation(built, 4, time_step=0.002)
    many.q = (0, 0, HALF, 0, 0, 0, 1)
    many.step(200)
    # lanes solve hard contacts once, so what pushes apart stays in the velocity
    assert many.q[3, 2] == pytest.approx(one.q[2], abs=1e-3) and np.array_equal(many.q[0], many.q[3])


def test_pictures_show_cones():
    world = standing(collision.CollisionShape.cone(RADIUS, HALF))
    look = sx.LookAt(position=(3, 0, 1), target=(0, 0, 0.4))
    with_cone = sx.render(world, look, width=64, height=48)
    world.remove(world.rigid_bodies["body"])
    without = sx.render(world, look, width=64, height=48)
    assert (with_cone.rgb != without.rgb).any()
