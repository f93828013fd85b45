# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inertia and centre of mass that nobody gave: those of the collision shapes, scaled to the mass."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape
from worldline.model import ModelBuilder, ShapeConfig


def placed(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


def bodies(world: sx.World, **options):
    """A rigid body and a link, made alike."""
    arm = world.add_multibody("arm")
    link = arm.add_link("link", joint=sx.JointSpec("hinge", axis=(0, 1, 0)), **options)
    return world.add_rigid_body("body", **options), link


def test_a_cube_of_a_tenth_of_a_kilogram():
    for body in bodies(sx.World(), mass=0.1):
        np.testing.assert_array_equal(body.inertia, np.eye(3))
        body.add_collision_shape(CollisionShape.box((0.05, 0.05, 0.05)))
        # m (a^2 + b^2) / 3 with half sizes a, b
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.1 * 2 * 0.05**2 / 3, rtol=1e-14)
        assert body.mass == 0.1 and not body.center_of_mass.any()


def test_shapes_off_centre_are_those_of_a_peer():
    text = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/>
        <geom type="box" size="0.1 0.2 0.3" pos="0.5 0 0" density="7"/>
        <geom type="sphere" size="0.2" pos="0 0.4 0" density="7"/>
        <geom type="capsule" size="0.05 0.3" pos="0 0 -0.2" euler="30 20 0" density="7"/>
        <geom type="cylinder" size="0.1 0.2" pos="-0.3 0 0" density="7"/>
        <geom type="ellipsoid" size="0.1 0.2 0.15" pos="0 -0.5 0.1" density="7"/>
    </body></worldbody></mujoco>"""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick of this test")
    theirs = mujoco.MjModel.from_xml_string(text)
    file = sx.World.from_scene(msd.from_str(text, format="mjcf")).rigid_bodies[0]
    shapes = file.collision_shapes
    for body in bodies(sx.World(), mass=float(theirs.body_mass[1])):
        for shape in shapes:
            body.add_collision_shape(shape)
        np.testing.assert_allclose(body.center_of_mass, theirs.body_ipos[1], atol=1e-14)
        moments = np.sort(np.linalg.eigvalsh(body.inertia))
        np.testing.assert_allclose(moments, np.sort(theirs.body_inertia[1]), rtol=1e-12)


def test_convex_shapes_count():
    corners = np.array([[x, y, z] for x in (0, 0.2) for y in (0, 0.4) for z in (0, 0.6)])
    for body in bodies(sx.World(), mass=3.0):
        body.add_collision_shape(CollisionShape.convex(corners))
        np.testing.assert_allclose(body.center_of_mass, [0.1, 0.2, 0.3], atol=1e-12)
        np.testing.assert_allclose(body.inertia, np.diag([0.13, 0.1, 0.05]), atol=1e-12)


def test_the_motion_is_that_of_the_inertia_of_the_shape():
    world = sx.World(gravity=(0, 0, 0), time_step=1e-3)
    cube = world.add_rigid_body("cube", mass=0.1)
    cube.add_collision_shape(CollisionShape.box((0.05, 0.05, 0.05)))
    cube.torque = (0, 0, 1e-4)
    world.step(1000)
    # I = m s^2 / 6 of a cube with sides s: 1/6000 kg m^2
    assert cube.angular_velocity[2] == pytest.approx(1e-4 * 6000, rel=1e-9)


@pytest.mark.parametrize("when", ["added", "assigned"])
def test_an_inertia_that_is_given_stays(when):
    given = np.diag([1.0, 2.0, 2.5])
    for body in bodies(sx.World(), mass=2.0, **({"inertia": given} if when == "added" else {})):
        if when == "assigned":
            body.inertia = given
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1), local_transform=[1, 0, 0, 0, 0, 0, 1]))
        np.testing.assert_array_equal(body.inertia, given)
        assert not body.center_of_mass.any()
        body.mass = 4.0
        np.testing.assert_array_equal(body.inertia, given)


@pytest.mark.parametrize("when", ["added", "assigned"])
def test_a_centre_of_mass_that_is_given_stays(when):
    center = [0.1, 0.2, 0.3]
    for body in bodies(sx.World(), mass=3.0, **({"center_of_mass": center} if when == "added" else {})):
        if when == "assigned":
            body.center_of_mass = center
        body.add_collision_shape(CollisionShape.sphere(1.0, local_transform=[1, 0, 0, 0, 0, 0, 1]))
        assert body.center_of_mass.tolist() == center
        # moments about the centre of the shape
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.4 * 3.0, rtol=1e-14)


def test_changed_shapes_and_masses_are_followed():
    for body in bodies(sx.World(), mass=3.0):
        body.add_collision_shape(CollisionShape.sphere(1.0))
        body.mass = 6.0
        np.testing.assert_allclose(body.inertia, np.eye(3) * 2.4, rtol=1e-14)
        body.set_collision_shape(CollisionShape.sphere(0.5))
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.6, rtol=1e-14)
        body.add_collision_shape(CollisionShape.sphere(0.5, local_transform=[1, 0, 0, 0, 0, 0, 1]))
        np.testing.assert_allclose(body.center_of_mass, [0.5, 0, 0], atol=1e-15)
        np.testing.assert_allclose(body.inertia, np.diag([0.6, 2.1, 2.1]), rtol=1e-14)
        body.remove_collision_shape(1)
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.6, rtol=1e-14)
        body.remove_collision_shape(0)
        np.testing.assert_array_equal(body.inertia, np.eye(3))
        assert not body.center_of_mass.any() and body.mass == 6.0


def test_a_clone_a_description_and_a_saved_world_still_follow(tmp_path):
    world = sx.World()
    world.add_rigid_body("body", mass=3.0).add_collision_shape(CollisionShape.sphere(1.0))
    world.save_binary(tmp_path / "world.bin")
    loaded = sx.World()
    loaded.load_binary(tmp_path / "world.bin")
    for made in (world.clone(), sx.World.from_scene(world.to_scene()), loaded):
        body = made.rigid_bodies["body"]
        np.testing.assert_allclose(body.inertia, np.eye(3) * 1.2, rtol=1e-14)
        with made.edit():
            body.set_collision_shape(CollisionShape.sphere(0.5))
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.3, rtol=1e-14)


def test_a_body_without_shapes_and_inertia_is_reported():
    world = sx.World()
    body, link = bodies(world)
    world.add_rigid_body("stone", fixed=True)
    world.add_rigid_body("belt", kinematic=True)
    world.add_multibody("stand").add_link("base")
    world.step()
    assert world.step_report().notes == tuple(
        f"{who}: it has neither an inertia nor collision shapes; 1 kg m^2 about every axis is assumed"
        for who in ("rigid body 'body'", "link 'link' of multibody 'arm'")
    )
    assert "note: rigid body 'body'" in str(world.step_report())
    with world.edit():
        body.add_collision_shape(CollisionShape.sphere(1.0))
        link.inertia = np.eye(3)
    world.step()
    assert world.step_report().notes == ()


def test_a_flat_convex_shape_is_a_plate():
    plate = np.array([[-1.0, -2, 0], [1, -2, 0], [1, 2, 0], [-1, 2, 0]])
    for body in bodies(sx.World(), mass=3.0):
        body.add_collision_shape(CollisionShape.convex(plate))
        np.testing.assert_allclose(body.inertia, np.diag([4.0, 1.0, 5.0]), atol=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_the_smallest_and_the_largest_shape_have_an_inertia(size):
    for body in bodies(sx.World(), mass=2.0):
        body.add_collision_shape(CollisionShape.sphere(size))
        np.testing.assert_allclose(body.inertia, np.eye(3) * 0.8 * size**2, rtol=1e-12)


def test_a_mass_set_on_a_link_of_a_file_scales_the_inertia_its_geoms_gave():
    text = """<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>
        <geom type="box" size="0.1 0.2 0.3"/></body></worldbody></mujoco>"""
    link = sx.World.from_scene(msd.from_str(text, format="mjcf")).multibodies[0].links[0]
    before, mass = link.inertia, link.mass
    for factor in (0.5, 2.0):
        link.mass = factor * mass
        np.testing.assert_allclose(link.inertia, factor * before, rtol=1e-14)


def test_files_with_mass_and_shapes_and_no_inertia():
    urdf = """<robot name="r"><link name="a"><inertial><mass value="3"/></inertial>
        <collision><origin xyz="0 0 1"/><geometry><sphere radius="0.5"/></geometry></collision></link></robot>"""
    made = msd.from_str(urdf, format="urdf")
    link = sx.World.from_scene(made).multibodies[0].links["a"]
    assert link.mass == 3.0
    np.testing.assert_allclose(link.inertia, np.eye(3) * 0.3, rtol=1e-14)
    scene = msd.World()
    ball = msd.Geometry(shape="Sphere", size=(0.5, 0, 0), mass=0.0)
    body = msd.Body(
        link=msd.Link(name="b", inertial=msd.Inertia(mass=3.0), geoms=[ball]), free=msd.FreeJoint()
    )
    scene.hierarchy.bodies.append(body)
    np.testing.assert_allclose(msd.build(scene).body_inertia[0], np.eye(3) * 0.3, rtol=1e-14)


def test_a_builder_gives_a_mass_the_form_of_its_shapes_without_density():
    builder = ModelBuilder()
    massless = ShapeConfig(density=0.0)
    ball = builder.add_body(mass=3.0, label="ball")
    builder.add_shape_sphere(ball, 0.5, cfg=massless)
    given = builder.add_body(mass=3.0, inertia=np.eye(3), label="given")
    builder.add_shape_sphere(given, 0.5, cfg=massless)
    dense = builder.add_body(mass=3.0, label="dense")
    builder.add_shape_sphere(dense, 0.5, cfg=ShapeConfig(density=6.0 / np.pi))
    model = builder.finalize()
    np.testing.assert_allclose(model.body_mass, [3.0, 3.0, 4.0], rtol=1e-14)
    expected = [0.3, 1.0, 0.1]
    for b, moment in enumerate(expected):
        np.testing.assert_allclose(model.body_inertia[b], np.eye(3) * moment, rtol=1e-14)
