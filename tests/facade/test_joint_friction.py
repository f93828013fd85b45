# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dry friction of joints, and limits where a world solves for constraints."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx


def slider(**keywords) -> tuple[sx.World, sx.Joint]:
    """A body of 2 kg on a horizontal rail with dry friction of 3 N."""
    world = sx.World(time_step=0.01, **keywords)
    robot = world.add_multibody("cart")
    robot.add_link("body", joint=sx.JointSpec("rail", sx.JointType.PRISMATIC, axis=(1, 0, 0)), mass=2.0)
    rail = robot.joints["rail"]
    rail.coulomb_friction = 3.0
    return world, rail


@pytest.mark.parametrize("force", [2.9, -2.9, 0.0])
def test_a_drive_below_the_bound_moves_nothing(force):
    world, rail = slider()
    rail.force = [force]
    world.step(200)
    assert abs(rail.velocity[0]) < 1e-8
    assert abs(rail.position[0]) < 1e-8


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_drive_above_the_bound_accelerates_by_what_is_left(sign):
    world, rail = slider()
    rail.force = [sign * 5.0]
    world.step(100)
    # (5 N - 3 N) / 2 kg for one second
    assert rail.velocity[0] == pytest.approx(sign * 1.0, rel=1e-6)


def test_a_sliding_body_stops_and_stays():
    world, rail = slider()
    rail.velocity = [1.5]
    world.step(100)
    # it brakes with 1.5 m/s^2
    assert abs(rail.velocity[0]) < 1e-8
    assert rail.position[0] == pytest.approx(0.75, abs=0.01)


def test_friction_can_be_taken_away_again():
    world, rail = slider()
    rail.force = [2.0]
    world.step(10)
    rail.coulomb_friction = 0.0
    world.step(100)
    assert rail.velocity[0] == pytest.approx(1.0, rel=1e-6)


def test_hard_limits_hold_beside_friction():
    world, rail = slider()
    rail.set_position_limits(-0.1, 0.2)
    rail.force = [50.0]
    world.step(300)
    assert rail.position[0] == pytest.approx(0.2, abs=1e-6)
    assert abs(rail.velocity[0]) < 1e-6


def test_state_survives_the_change_of_what_is_solved():
    world, rail = slider()
    rail.velocity, rail.force = [0.3], [1.0]
    before = rail.position.copy(), rail.velocity.copy(), rail.force.copy(), world.time
    rail.coulomb_friction = 1.0
    after = rail.position, rail.velocity, rail.force, world.time
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
