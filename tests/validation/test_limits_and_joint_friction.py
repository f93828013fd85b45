# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stops, dry friction in joints and tendons, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

G = 9.81


def loaded(text):
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


def test_dry_friction_stops_a_wheel():
    """I = 0.5 kg m^2 at 4 rad/s with 0.25 N m: 8 s and 16 rad."""
    world = loaded(
        """<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody><body><joint name="j" type="hinge"
        frictionloss="0.25" solimpfriction="0.9999 0.9999 0.001" solreffriction="0.002 1"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.5 0.5 0.5"/></body></worldbody></mujoco>"""
    )
    joint = next(iter(world.multibodies)).joints["j"]
    joint.velocity = [4.0]
    world.step(n=4000)
    assert joint.velocity[0] == pytest.approx(2.0, rel=1e-6)
    world.step(n=4200)
    assert abs(joint.velocity[0]) < 1e-3
    assert joint.position[0] == pytest.approx(16.0, rel=1e-3)


def test_two_masses_over_a_wheel():
    """Masses of 2 and 3 kg that share a tendon's length: 1.962 m/s^2, 23.544 N."""
    world = loaded(
        """<mujoco><option gravity="0 0 -9.81" timestep="0.001"/><worldbody>
        <body><joint name="a" type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="2" contype="0"/></body>
        <body pos="1 0 0"><joint name="b" type="slide" axis="0 0 1"/>
          <geom type="sphere" size="0.1" mass="3" contype="0"/></body></worldbody>
        <tendon><fixed name="rope"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon>
        <equality><tendon tendon1="rope" solimp="0.9999 0.9999 0.001" solref="0.004 1"/></equality></mujoco>"""
    )
    world.step(n=500)
    speeds = [body.joints[0].velocity[0] for body in world.multibodies]
    np.testing.assert_allclose(sorted(speeds), [-0.5 * 1.962, 0.5 * 1.962], rtol=1e-4)


@pytest.mark.parametrize("limit", [0.0, -0.3])
def test_a_falling_slider_stops_at_its_limit(limit):
    world = sx.World()
    body = world.add_multibody("lift")
    base = body.add_link("base")
    body.add_link("car", base, sx.JointSpec("rail", type=sx.JointType.PRISMATIC, axis=(0, 0, 1)), mass=3.0)
    joint = body.joints["rail"]
    joint.set_position_limits(limit, 1.0)
    joint.position = [0.5]
    lowest = 1.0
    for _ in range(600):
        world.step()
        lowest = min(lowest, float(joint.position[0]))
    assert joint.position[0] == pytest.approx(limit, abs=1e-6)
    assert lowest >= limit - 1e-6
    assert abs(joint.velocity[0]) < 1e-6


def test_a_soft_limit_gives_by_its_formula():
    """g (1 - d) (t z)^2 below the stop."""
    world = loaded(
        """<mujoco><option timestep="0.001"/><worldbody><body><joint name="j" type="slide" axis="0 0 1" limited="true"
        range="-0.1 1" solreflimit="0.05 0.8" solimplimit="0.9 0.9 0.001"/>
        <geom type="sphere" size="0.1" mass="4" contype="0"/></body></worldbody></mujoco>"""
    )
    world.step(n=4000)
    joint = next(iter(world.multibodies)).joints["j"]
    assert -0.1 - joint.position[0] == pytest.approx(G * 0.1 * (0.05 * 0.8) ** 2, rel=1e-6)


@pytest.mark.parametrize("switch", ["limit", "constraint"])
def test_limits_that_are_switched_off(switch):
    """Also where a limit is all that there is to be solved."""
    world = sx.World()
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    spec = sx.JointSpec("lift", sx.JointType.PRISMATIC, axis=(0, 0, 1))
    robot.add_link("load", parent=base, joint=spec, mass=1.0)
    robot.joints["lift"].set_position_limits([-0.1], [0.1])
    scene = world.to_scene()
    setattr(
        scene.simulate_option, {"limit": "disable_limit", "constraint": "disable_constraints"}[switch], True
    )
    world = sx.World.from_scene(scene)
    world.step(n=500)
    fall = world.multibodies["robot"].joints["lift"].position[0]
    assert fall == pytest.approx(-0.5 * G * 0.5**2, rel=3e-3)
    assert world.step_report().active_limits == ()
