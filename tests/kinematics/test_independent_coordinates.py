# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms in as many coordinates as they have freedoms, against closed forms and saddle points."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import worldline.model as wm
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade.world import World

R, LENGTH = 0.15, 0.35
MASS = {"crank": 1.5, "rod": 0.8, "slider": 2.0}
INERTIA = {"crank": 0.02, "rod": 0.01}


def shift(x=0.0, y=0.0, z=0.0):
    return wmath.make_transform(np.eye(3), [x, y, z])


def slider_crank(angle, family=sx.LoopClosureFamily.POINT, gravity=(0, 0, 0)):
    """Crank and rod in the plane of x and y with centres of mass at their middles, and a slider on the x
    axis."""
    world = sx.World(gravity=gravity)
    robot = world.add_multibody("mechanism")
    base = robot.add_link("base")
    crank = robot.add_link("crank", base, sx.JointSpec("crank", axis=(0, 0, 1)))
    spec = sx.JointSpec("rod", axis=(0, 0, 1), transform_to_parent=shift(R))
    rod = robot.add_link("rod", crank, spec)
    slider = robot.add_link("slider", base, sx.JointSpec("slide", sx.JointType.PRISMATIC, axis=(1, 0, 0)))
    for link, name, middle in ((crank, "crank", R / 2), (rod, "rod", LENGTH / 2)):
        link.mass = MASS[name]
        link.center_of_mass = (middle, 0, 0)
        link.inertia = INERTIA[name] * np.eye(3)
    slider.mass = MASS["slider"]
    closure = world.add_loop_closure(
        "pin", frame_a=rod, frame_b=slider, offset_a=shift(LENGTH), family=family
    )
    # the angle of the rod from the x axis, and where the slider is
    tilt = -np.arcsin(R * np.sin(angle) / LENGTH)
    robot.joints["crank"].position = [angle]
    robot.joints["rod"].position = [tilt - angle]
    robot.joints["slide"].position = [R * np.cos(angle) + LENGTH * np.cos(tilt)]
    return world, robot, closure


def inertia_of(angle):
    """Kinetic energy of the slider-crank at unit rate of the crank, times two."""
    tilt = -np.arcsin(R * np.sin(angle) / LENGTH)
    rate = -R * np.cos(angle) / (LENGTH * np.cos(tilt))
    x = -R * np.sin(angle) - LENGTH * np.sin(tilt) * rate
    rod = np.array(
        [
            -R * np.sin(angle) - 0.5 * LENGTH * np.sin(tilt) * rate,
            R * np.cos(angle) + 0.5 * LENGTH * np.cos(tilt) * rate,
        ]
    )
    crank = MASS["crank"] * (R / 2) ** 2 + INERTIA["crank"]
    return crank + MASS["rod"] * rod @ rod + INERTIA["rod"] * rate**2 + MASS["slider"] * x**2


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5, -0.8])
def test_a_slider_crank_has_the_inertia_of_its_closed_form(angle):
    world, robot, _ = slider_crank(angle)
    reduced = world.independent_coordinates(robot.joints["crank"])
    assert reduced.num_freedoms == 1 and reduced.rank == 2 and reduced.names == ("mechanism/crank",)
    assert reduced.mass_matrix[0, 0] == pytest.approx(inertia_of(angle), rel=1e-10)
    # energy without gravity is kept: M z' = -M' z^2 / 2 with a force on the crank
    h, z, torque = 1e-5, 3.0, 0.7
    slope = (inertia_of(angle + h) - inertia_of(angle - h)) / (2 * h)
    wanted = (torque - 0.5 * slope * z**2) / inertia_of(angle)
    assert reduced.forward_dynamics([torque], [z])[0] == pytest.approx(wanted, rel=1e-7)
    assert reduced.inverse_dynamics([wanted], [z])[0] == pytest.approx(torque, abs=1e-7)


@pytest.mark.parametrize("family", ["POINT", "AXIS"])
def test_accelerations_are_those_of_the_saddle_point(family):
    """M a - J^T f = tau - bias with J a = -J' v, with redundant rows for AXIS in a plane."""
    angle, z = 0.9, 2.0
    world, robot, _ = slider_crank(angle, sx.LoopClosureFamily[family], gravity=(0, -9.81, 0))
    model, nv = world.model(), 3
    reduced = world.independent_coordinates(robot.joints["crank"])
    q = np.concatenate([robot.joints[name].position for name in ("crank", "rod", "slide")])
    v = reduced.velocity_map @ [z]
    rod, slider = model.body_label.index("mechanism/rod"), model.body_label.index("mechanism/slider")
    J = wm.jacobian(model, q, rod, (LENGTH, 0, 0))[3:] - wm.jacobian(model, q, slider)[3:]
    np.testing.assert_allclose(J @ v, 0.0, atol=1e-12)
    drift = wm.jacobian_dot_times_v(model, q, v, rod, (LENGTH, 0, 0))[3:]
    tau = np.array([0.4, -0.2, 3.0])
    M, bias = wm.mass_matrix(model, q), wm.bias_forces(model, q, v)
    J, drift = J[:2], drift[:2]
    saddle = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    a = np.linalg.solve(saddle, np.concatenate([tau - bias, -drift]))[:nv]
    made = reduced.forward_dynamics(tau, [z])
    np.testing.assert_allclose(made, a[:1], rtol=1e-8)
    np.testing.assert_allclose(reduced.full_acceleration(made, [z]), a, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        reduced.bias_forces([z]), -reduced.mass_matrix @ reduced.forward_dynamics(None, [z])
    )


def test_other_coordinates_of_the_same_mechanism():
    world, robot, _ = slider_crank(1.0, gravity=(0, -9.81, 0))
    crank = world.independent_coordinates(robot.joints["crank"])
    slide = world.independent_coordinates(robot.joints["slide"].dofs[0])
    T = crank.velocity_map[2, 0]
    assert slide.names == ("mechanism/slide",)
    # T^T M T in other coordinates, and the same acceleration of everything
    assert slide.mass_matrix[0, 0] * T**2 == pytest.approx(crank.mass_matrix[0, 0], rel=1e-10)
    one, two = (each.full_acceleration(each.forward_dynamics()) for each in (crank, slide))
    np.testing.assert_allclose(one, two, atol=1e-9)
    best = world.independent_coordinates()
    assert best.num_freedoms == 1
    np.testing.assert_allclose(best.full_acceleration(best.forward_dynamics()), one, atol=1e-9)


def test_without_closures_it_is_the_tree_itself():
    world, robot, closure = slider_crank(1.0)
    tree = world.independent_coordinates(closures=[])
    assert tree.num_freedoms == 3 and tree.rank == 0
    q = np.concatenate([robot.joints[name].position for name in ("crank", "rod", "slide")])
    np.testing.assert_allclose(tree.mass_matrix, wm.mass_matrix(world.model(), q), atol=1e-12)
    closure.enabled = False
    assert world.independent_coordinates().num_freedoms == 3


def test_what_cannot_be_reduced_is_refused():
    world, robot, closure = slider_crank(1.0)
    with pytest.raises(ArgumentError, match="1 freedoms"):
        world.independent_coordinates(list(robot.joints)[-2:])
    with pytest.raises(ArgumentError, match="joints or degrees"):
        world.independent_coordinates("crank")
    other, foreign, theirs = slider_crank(1.0)
    with pytest.raises(ArgumentError, match="another World"):
        world.independent_coordinates(foreign.joints["crank"])
    with pytest.raises(ArgumentError, match="loop closures"):
        world.independent_coordinates(closures=theirs)
    del other
    # at a dead centre the slider does not determine the crank
    still, dead, _ = slider_crank(0.0)
    with pytest.raises(ArgumentError, match="do not determine"):
        still.independent_coordinates(dead.joints["slide"])
    reduced = world.independent_coordinates(closures=closure)
    robot.joints["crank"].position = [1.3]
    with pytest.raises(OperationError, match="open by"):
        world.independent_coordinates()
    with world.edit():
        world.add_rigid_body("late")
    with pytest.raises(OperationError, match="compiled anew"):
        reduced.mass_matrix  # noqa: B018


def test_examples_of_independent_coordinates():
    found = doctest.DocTestFinder().find(World.independent_coordinates)
    runner = doctest.DocTestRunner()
    for each in found:
        runner.run(each)
    assert runner.summarize().failed == 0 and runner.tries > 5
