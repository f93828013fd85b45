# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Regressors, derivatives and balance of a multibody in its world."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import random_tree
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline.collision import CollisionShape


def robot_of(world):
    """A tree whose links are not in the order of its model: the second branch begins at the root."""
    robot = world.add_multibody("robot")
    trunk = robot.add_link("trunk", joint=sx.JointSpec(name="free", type=sx.JointType.FLOATING), mass=3.0)
    left = robot.add_link("left", trunk, sx.JointSpec(name="l", axis=(0, 1, 0)), center_of_mass=(0.2, 0, 0))
    right = robot.add_link("right", trunk, sx.JointSpec(name="r", axis=(1, 0, 0)), mass=2.0)
    robot.add_link("hand", left, sx.JointSpec(name="h", axis=(0, 0, 1)), center_of_mass=(0, 0.3, 0.1))
    robot.add_link("foot", right, sx.JointSpec(name="f", type=sx.JointType.SPHERICAL), mass=0.5)
    return robot


def moved(robot, seed=0):
    rng = np.random.default_rng(seed)
    robot.joints.position = rng.uniform(-0.5, 0.5, robot.num_dofs)
    robot.joints.velocity = rng.normal(size=robot.num_dofs)
    return rng.normal(size=robot.num_dofs)


def test_regressors_times_parameters():
    world = sx.World()
    world.add_rigid_body("other")
    robot = robot_of(world)
    a = moved(robot)
    theta = robot.inertial_parameters
    assert theta.shape == (50,)
    np.testing.assert_allclose(theta[0::10], robot.links.masses)
    Y = robot.compute_joint_torque_regressor(a)
    np.testing.assert_allclose(Y @ theta, robot.compute_inverse_dynamics(a), atol=1e-10)
    assert robot.kinetic_energy_regressor @ theta == pytest.approx(robot.kinetic_energy, rel=1e-12)
    assert robot.potential_energy_regressor @ theta == pytest.approx(robot.potential_energy, rel=1e-12)


def test_derivatives_by_velocity_are_differences():
    world = sx.World()
    robot = robot_of(world)
    a = moved(robot, 1)
    there = robot.compute_inverse_dynamics_derivatives(a)
    back = robot.compute_forward_dynamics_derivatives(robot.compute_inverse_dynamics(a))
    momentum = robot.compute_centroidal_derivatives()
    np.testing.assert_allclose(there.dtau_dqdd, robot.mass_matrix, atol=1e-12)
    np.testing.assert_allclose(back.dqdd_dtau, robot.inverse_mass_matrix, atol=1e-9)
    np.testing.assert_allclose(momentum.momentum_dqd, robot.centroidal_momentum_matrix, atol=1e-12)
    np.testing.assert_allclose(robot.mass_matrix @ back.dqdd_dq, -there.dtau_dq, atol=1e-8)
    v, h = robot.joints.velocity, 1e-6
    for k, e in enumerate(np.eye(robot.num_dofs)):
        ends = []
        for sign in (1.0, -1.0):
            robot.joints.velocity = v + sign * h * e
            ends.append(robot.compute_inverse_dynamics(a))
        np.testing.assert_allclose(there.dtau_dqd[:, k], (ends[0] - ends[1]) / (2 * h), atol=1e-6)


def test_a_standing_box_is_supported_by_its_corners():
    world = sx.World()
    world.add_ground_plane()
    robot = world.add_multibody("robot")
    trunk = robot.add_link(
        "trunk", joint=sx.JointSpec(type=sx.JointType.FLOATING), center_of_mass=(0.05, 0, 0)
    )
    trunk.add_collision_shape(CollisionShape.box((0.2, 0.1, 0.5)))
    assert robot.get_support_polygon().shape == (0, 3) and robot.get_balance_margin() == -np.inf
    robot.joints.position = [0, 0, 0.5, 0, 0, 0]
    world.step(n=50)
    polygon = robot.get_support_polygon()
    corners = [(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)]
    np.testing.assert_allclose(polygon[:, :2], corners, atol=1e-3)
    # at rest the zero moment point is below the centre of mass; the nearer sides are 0.1 away
    np.testing.assert_allclose(robot.get_zero_moment_point()[:2], robot.center_of_mass[:2], atol=1e-2)
    assert robot.get_balance_margin() == pytest.approx(0.1, abs=1e-3)


def test_the_zero_moment_point_has_no_level_moment():
    """The whole of the forces of a random tree, as one wrench on its floating base."""
    rng = np.random.default_rng(5)
    model = random_tree(rng, 6, ("free", "revolute", "prismatic"), root="free")
    model.update(gravity=np.array([0.0, 0.0, -9.81]))
    q = wm.random_configuration(model, rng)
    v, a = rng.normal(size=(2, model.joint_dof_count))
    point = wm.zero_moment_point(model, q, v, a, height=0.3)
    assert point[2] == pytest.approx(0.3)
    # the rate of momentum, by differences along the motion, less the weight
    h, m = 1e-5, model.body_mass.sum()
    ends = []
    for t in (h, -h):
        later = wm.integrate(model, q, t * v + 0.5 * t * t * a)
        ends.append(wm.momentum(model, later, v + t * a, about="origin"))
    rate = (ends[0] - ends[1]) / (2 * h)
    force = rate[3:] + m * np.array([0.0, 0.0, 9.81])
    moment = rate[:3] + np.cross(wm.center_of_mass(model, q), m * np.array([0.0, 0.0, 9.81]))
    np.testing.assert_allclose((moment - np.cross(point, force))[:2], 0.0, atol=1e-5 * np.abs(moment).max())


@pytest.mark.parametrize("seed", range(5))
def test_polygons_are_hulls(seed):
    spatial = pytest.importorskip("scipy.spatial", reason="scipy has a convex hull to compare with")
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 3))
    ours = wm.support_polygon(np.concatenate([points, points]))
    theirs = points[spatial.ConvexHull(points[:, :2]).vertices]
    start = int(np.flatnonzero((theirs == ours[0]).all(axis=1))[0])
    assert np.array_equal(ours, np.roll(theirs, -start, axis=0))


def test_lines_and_points_have_no_inside():
    line = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 0, 5]]
    assert wm.support_polygon(line)[:, 0].tolist() == [0.0, 2.0]
    assert wm.balance_margin([1, 1, 0], line) == -1.0 and wm.balance_margin([1, 0, 0], line) == 0.0
    assert wm.support_polygon([[1, 2, 3], [1, 2, 3]]).tolist() == [[1.0, 2.0, 3.0]]
    assert wm.balance_margin([1, 3, 0], [[1, 2, 3]]) == -1.0
    # another up: the same square lies in the plane of y and z
    square = [[0, 0, 0], [0, 2, 0], [0, 2, 2], [0, 0, 2]]
    assert wm.balance_margin([7, 0.5, 1], square, up=(1, 0, 0)) == pytest.approx(0.5)


def test_no_gravity_no_balance():
    world = sx.World(gravity=(0, 0, 0))
    robot = robot_of(world)
    with pytest.raises(ArgumentError, match="nothing is up"):
        robot.get_balance_margin()
    with pytest.raises(ArgumentError, match=r"points.*\(n, 3\)"):
        wm.support_polygon([[0.0, 1.0]])
