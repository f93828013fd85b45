# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts with spring laws: rest depth, sticking and sliding do not depend on how friction is written."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx

G, H = 9.81, 0.002
SPRING = msd.StiffnessDamping(k=2500.0, d=100.0)
Law = msd.ConstraintForceModel
LAWS = {
    "force": (Law.force_spring(SPRING), lambda mass: mass * G / 2500.0),
    "acceleration": (Law.acceleration_spring(SPRING), lambda mass: G / 2500.0),
}
TEXT = """<mujoco><option timestep="{h}" gravity="{gx} {gy} -9.81"/>
<default><geom friction="{mu} 0.005 0.0001" condim="{condim}"/></default>
<worldbody><geom name="floor" type="plane" size="50 50 1"/>
<body name="body" pos="0 0 0.1"><freejoint/><geom name="shape" type="{shape}" size="0.1 0.1 0.1" mass="{mass}"/></body>
</worldbody></mujoco>"""


def scene_of(law, friction_model, *, mu=0.5, condim=3, shape="sphere", mass=2.0, pull=(0.0, 0.0)):
    text = TEXT.format(h=H, gx=pull[0], gy=pull[1], mu=mu, condim=condim, shape=shape, mass=mass)
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.friction_model = friction_model
    for geom in (*scene.hierarchy.geoms, *scene.hierarchy.bodies[0].link.geoms):
        geom.physics_material.contact_model = law
    return scene


@pytest.mark.parametrize("friction_model", list(msd.FrictionModel))
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_the_rest_depth_is_that_of_the_spring(name, mu, condim, friction_model):
    law, depth = LAWS[name]
    world = sx.World.from_scene(scene_of(law, friction_model, mu=mu, condim=condim))
    world.step(n=1500)
    sunk = 0.1 - world.rigid_bodies["body"].translation[2]
    assert sunk == pytest.approx(depth(2.0), rel=1e-6)


@pytest.mark.parametrize("friction_model", list(msd.FrictionModel))
@pytest.mark.parametrize("mu", [0.3, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_the_rest_depth_in_lanes_is_the_same(name, mu, friction_model):
    law, depth = LAWS[name]
    batch = wm.LaneSimulation(msd.build(scene_of(law, friction_model, mu=mu)), 3)
    batch.step(1500)
    np.testing.assert_allclose(0.1 - batch.q[:, 2], depth(2.0), rtol=1e-5)


@pytest.mark.parametrize("friction_model", [msd.FrictionModel.Cone, msd.FrictionModel.Pyramid])
@pytest.mark.parametrize("name", LAWS)
def test_a_contact_that_sticks_does_not_creep(name, friction_model):
    """Pulled with 30 % of the friction there is; a damped friction row would creep at 2 mm/s."""
    law, _ = LAWS[name]
    world = sx.World.from_scene(scene_of(law, friction_model, shape="box", pull=(0.3 * 0.5 * G, 0.0)))
    world.step(n=1000)
    assert abs(world.rigid_bodies["body"].linear_velocity[0]) < 1e-6


@pytest.mark.parametrize("law", [*(law for law, _ in LAWS.values()), Law.hard(0.0, 0.2)])
@pytest.mark.parametrize("friction_model", [msd.FrictionModel.Cone, msd.FrictionModel.Pyramid])
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.25 * np.pi])
def test_sliding_has_the_friction_of_coulomb_in_every_direction(angle, friction_model, law):
    pull = 2.0 * 0.3 * G
    along = np.array([np.cos(angle), np.sin(angle)])
    world = sx.World.from_scene(scene_of(law, friction_model, mu=0.3, shape="box", pull=tuple(pull * along)))
    world.step(n=400)
    before = world.rigid_bodies["body"].linear_velocity[:2]
    world.step(n=100)
    gained = world.rigid_bodies["body"].linear_velocity[:2] - before
    np.testing.assert_allclose(gained, (pull - 0.3 * G) * 100 * H * along, atol=2e-5)


def test_pyramids_of_the_impedance_model_are_those_of_mjcf():
    """Diagonal sliding of a pyramid |f_1| + |f_2| <= mu N has 1/sqrt(2) of the friction along a tangent."""
    pull = 2.0 * 0.3 * G
    text = TEXT.format(
        h=H, gx=pull / np.sqrt(2.0), gy=pull / np.sqrt(2.0), mu=0.3, condim=3, shape="box", mass=2.0
    )
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.step(n=100)
    before = world.rigid_bodies["body"].linear_velocity
    world.step(n=100)
    gained = np.linalg.norm((world.rigid_bodies["body"].linear_velocity - before)[:2])
    assert gained == pytest.approx((pull - 0.3 * G / np.sqrt(2.0)) * 100 * H, rel=1e-2)


@pytest.mark.parametrize("number", [-1, 3, 4])
def test_numbers_that_name_no_friction_model_are_refused(number):
    scene = msd.World()
    scene.simulate_option.friction_model = number
    with pytest.raises(ValueError, match=r"friction_model: given -?\d .*>= 0 and <= 2"):
        msd.build(scene)
