# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Overlap that friction locks: closed forms of a ball in a groove, heaps of friction 2."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx
from worldline.collision import CollisionShape

Method = sx.ContactSolverMethod
H, RADIUS, DEPTH = 0.002, 0.1, 1e-3
SLOPE = np.deg2rad(30.0)
"""Between the walls of the groove and the vertical: friction above tan 30 = 0.58 holds a ball for good."""


def groove(method, friction, articulated=False):
    """A ball that overlaps both walls of a groove by DEPTH."""
    world = sx.World(time_step=H, contact_solver_method=method)
    for side in (-1.0, 1.0):
        # outward normals (-side cos, 0, sin) of planes through the origin
        wall = world.add_rigid_body(
            f"wall{side}",
            position=0.05 * np.array([side * np.cos(SLOPE), 0.0, -np.sin(SLOPE)]),
            orientation=(0.0, np.sin(0.5 * side * SLOPE), 0.0, np.cos(0.5 * side * SLOPE)),
            kinematic=True,
        )
        wall.add_collision_shape(CollisionShape.box((0.05, 1.0, 1.0)), friction=friction)
    height = (RADIUS - DEPTH) / np.sin(SLOPE)
    if articulated:
        pose = np.eye(4)
        pose[2, 3] = height
        robot = world.add_multibody("robot")
        ball = robot.add_link(
            "ball", None, sx.JointSpec("root", sx.JointType.FLOATING, transform_to_parent=pose), mass=1.0
        )
        pose = np.eye(4)
        pose[1, 3] = 0.3
        robot.add_link(
            "tail", ball, sx.JointSpec("hinge", axis=(0, 1, 0), transform_to_parent=pose), mass=0.1
        )
    else:
        ball = world.add_rigid_body("ball", mass=1.0, position=(0.0, 0.0, height))
    ball.add_collision_shape(CollisionShape.sphere(RADIUS), friction=friction)
    return world, ball


def depth_of(world):
    return max((contact.depth for contact in world.collide()), default=0.0)


@pytest.mark.parametrize("friction", [0.8, 1.0, 2.0])
@pytest.mark.parametrize("method", list(Method))
def test_a_ball_that_a_groove_locks_is_moved_out_without_speed(method, friction):
    """No force on a ball that slides up: 2 N (sin - mu cos) < 0. So it rests, and a displacement parts it.

    The displacement has no more than a quarter of the friction, with which walls do push the ball up: each
    step takes the same share off the overlap as it does without friction.
    """
    shares = []
    for mu in (0.0, friction):
        world, ball = groove(method, mu)
        before = depth_of(world)
        assert before == pytest.approx(DEPTH, rel=1e-9)
        for k in range(3):
            world.step()
            report = world.step_report()
            assert report.converged, report
            if mu > 0.0:
                assert report.locked_islands == 1 and report.weakened_islands == 0
                assert (
                    np.abs(ball.linear_velocity).max() < 1e-6 and np.abs(ball.angular_velocity).max() < 1e-5
                )
            elif k > 0:
                # the first step pushes the ball from rest to the speed of recovery
                continue
            after = depth_of(world)
            shares.append(after / before)
            before = after
    np.testing.assert_allclose(shares, shares[0], rtol=5e-3)
    assert 0.1 < shares[0] < 0.95


@pytest.mark.parametrize("method", list(Method))
def test_an_articulated_body_is_moved_out_of_a_groove_too(method):
    world, _ = groove(method, 1.0, articulated=True)
    depths, energies = [depth_of(world)], []
    for _ in range(20):
        world.step()
        report = world.step_report()
        assert report.converged, report
        depths.append(depth_of(world))
        energies.append(world.compute_step_metrics().kinetic_energy)
    assert depths[-1] < 0.2 * depths[0]
    assert max(energies) < 1e-4


def test_what_is_not_locked_has_no_jam():
    """Friction below tan 30 pushes out of the groove, and keeps its speed of recovery."""
    world, ball = groove(Method.AUTOMATIC, 0.3)
    world.step()
    report = world.step_report()
    assert report.converged and report.locked_islands == 0
    assert ball.linear_velocity[2] > 0.05
