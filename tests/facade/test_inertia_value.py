# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The value of mass, centre of mass and inertia."""

from __future__ import annotations

import numpy as np
import pytest

from trees import random_inertia
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline.model import ModelBuilder

NOT_DEFINITE = np.array([[1.0, 1.5, 0], [1.5, 1.0, 0], [0, 0, 1.0]])
"""In order on the diagonal only."""


def random_value(rng):
    mass = rng.uniform(0.5, 2.0)
    moment = random_inertia(rng, mass)
    return sx.Inertia(mass, rng.uniform(-0.3, 0.3, 3), 0.5 * (moment + moment.T))


def test_shapes_have_their_closed_forms():
    box = sx.Inertia.from_box((1, 2, 3), density=10.0)
    assert box.mass == pytest.approx(480.0)
    np.testing.assert_allclose(box.moment, np.diag([13.0, 10.0, 5.0]) * 480.0 / 3.0)
    cylinder = sx.Inertia.from_cylinder(0.5, 1.0, mass=12.0)
    np.testing.assert_allclose(cylinder.principal_moments, [1.5, 4.75, 4.75])
    # a capsule without a cylinder is a ball
    ball, round_ = sx.Inertia.from_sphere(0.3), sx.Inertia.from_capsule(0.3, 0.0)
    np.testing.assert_allclose(round_.moment, ball.moment)
    assert ball.mass == pytest.approx(4000.0 / 3.0 * np.pi * 0.027)


def test_tensors_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(2)
    ours, other = random_value(rng), random_value(rng)
    theirs = pin.Inertia(ours.mass, ours.center_of_mass, ours.moment)
    swap = [3, 4, 5, 0, 1, 2]  # linear rows are first there
    np.testing.assert_allclose(ours.spatial_tensor, theirs.matrix()[np.ix_(swap, swap)], atol=1e-14)
    both = theirs + pin.Inertia(other.mass, other.center_of_mass, other.moment)
    np.testing.assert_allclose((ours + other).spatial_tensor, both.matrix()[np.ix_(swap, swap)], atol=1e-14)
    X = pin.SE3.Random()
    moved = ours.transformed(X.homogeneous).spatial_tensor
    np.testing.assert_allclose(moved, X.act(theirs).matrix()[np.ix_(swap, swap)], atol=1e-12)
    back = sx.Inertia.from_spatial_tensor(ours.spatial_tensor)
    np.testing.assert_allclose(back.moment, ours.moment, atol=1e-14)
    np.testing.assert_allclose(back.center_of_mass, ours.center_of_mass, atol=1e-14)


def test_validity():
    assert random_value(np.random.default_rng(0)).is_valid
    assert sx.Inertia(1.0, (1, 0, 0), np.diag([1.0, 2.0, 3.0])).is_valid  # flat bodies are at the bound
    assert sx.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))).is_valid


@pytest.mark.parametrize("moment", [np.diag([1.0, 2.0, 3.1]), np.diag([-1.0, 2.0, 2.0]), NOT_DEFINITE])
def test_moments_that_no_body_has_are_refused_everywhere(moment):
    """One rule for values, options, bodies, links, builders and arrays, and every refusal changes nothing."""
    with pytest.raises(ArgumentError, match="no body has the principal moments"):
        sx.Inertia(1.0, (0, 0, 0), moment)
    for options in (sx.RigidBodyOptions, sx.LinkOptions):
        with pytest.raises(ArgumentError, match=r"no body has|positive definite"):
            options(inertia=moment)
    world = sx.World()
    arm = world.add_multibody("arm")
    with pytest.raises(ArgumentError, match=r"rigid body 'box': inertia"):
        world.add_rigid_body("box", inertia=moment)
    with pytest.raises(ArgumentError, match=r"link 'tip' of multibody 'arm': inertia"):
        arm.add_link("tip", inertia=moment)
    assert world.num_rigid_bodies == 0 and arm.num_links == 0
    box = world.add_rigid_body("box", inertia=np.diag([1.0, 2.0, 2.5]))
    tip = arm.add_link("tip", joint=sx.JointSpec(), inertia=np.diag([1.0, 2.0, 2.5]))
    for body in (box, tip):
        with pytest.raises(ArgumentError, match=f"'{body.name}'"):
            body.inertia = moment
        np.testing.assert_array_equal(body.inertia, np.diag([1.0, 2.0, 2.5]))
    builder = ModelBuilder()
    with pytest.raises(ArgumentError, match=r"link 'tip'.*no body has"):
        builder.add_link(mass=1.0, inertia=moment, label="tip")
    builder.add_body(mass=1.0, inertia=np.eye(3), label="box")
    model = builder.finalize()
    with pytest.raises(ArgumentError, match=r"body 'box'.*no body has"):
        model.update(body_inertia=moment[None])


def test_mass_that_no_body_has_is_refused():
    for mass in (-1.0, 0.0):
        with pytest.raises(ArgumentError, match="mass"):
            sx.Inertia(mass)


def test_impossible_moments_of_a_file_stay_and_leave_other_bodies_alone():
    scene = msd.from_str(
        """<robot name="r"><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>""",
        format="urdf",
    )
    robot = sx.World.from_scene(scene).multibodies[0]
    assert not robot.links["a"].mass_properties.is_valid and robot.links["b"].mass_properties.is_valid
    robot.links["b"].mass = 2.0
    robot.links["a"].mass = 3.0
    assert robot.links["b"].mass == 2.0 and robot.links["a"].mass == 3.0
    robot.links["a"].inertia = np.eye(3)
    assert robot.links["a"].mass_properties.is_valid


def test_what_makes_no_value_is_told():
    with pytest.raises(ArgumentError, match="symmetric"):
        sx.Inertia(1.0, (0, 0, 0), [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    with pytest.raises(ArgumentError, match="not the spatial tensor"):
        sx.Inertia.from_spatial_tensor(np.diag([1.0, 1, 1, 1, 2, 1]))
    with pytest.raises(ArgumentError, match="positive"):
        sx.Inertia.from_box((1, 0, 1))
    with pytest.raises(ValueError, match="read-only"):
        sx.Inertia().moment[0, 0] = 2.0


def test_point_masses_are_the_sum_of_small_balls():
    rng = np.random.default_rng(3)
    points, masses = rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5)
    ours = sx.Inertia.from_points(points, masses)
    assert ours.mass == pytest.approx(masses.sum(), rel=1e-15)
    np.testing.assert_allclose(ours.center_of_mass, masses @ points / masses.sum(), rtol=0, atol=1e-14)
    # momentum about the origin of a body that turns: sum of m p x (w x p)
    w = np.array([0.3, -0.7, 1.1])
    spin = sum(m * np.cross(p, np.cross(w, p)) for m, p in zip(masses, points, strict=True))
    np.testing.assert_allclose(ours.spatial_tensor[:3, :3] @ w, spin, rtol=0, atol=1e-13)
    assert ours.is_valid
    # a body may carry them
    box = sx.Inertia.from_box((0.1, 0.2, 0.3), mass=1.0) + sx.Inertia.from_points([(1, 0, 0)], 2.0)
    world = sx.World()
    assert world.add_rigid_body("a", inertia=box).mass == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("points", "masses"),
    [([], 1.0), ([(0, 0)], 1.0), ([(0, 0, np.nan)], 1.0), ([(0, 0, 0)], 0.0), ([(0, 0, 0)], [1.0, 2.0])],
)
def test_point_masses_that_are_none_are_refused(points, masses):
    with pytest.raises(ArgumentError, match=r"points|masses"):
        sx.Inertia.from_points(points, masses)
