# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters for all contacts of a scene at once."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import G, ball, box

from worldline import msd
from worldline import simulation as sx


def overridden(**options):
    world = sx.World()
    world.add_ground_plane(friction=0.9)
    ball(world, mass=3.0, position=(0, 0, 0.1), friction=0.9)
    box(world, position=(1, 0, 0.1), friction=0.9, linear_velocity=(4, 0, 0))
    scene = world.to_scene()
    for name, value in options.items():
        setattr(scene.simulate_option, name, value)
    return sx.World.from_scene(scene)


@pytest.mark.parametrize(
    ("law", "depth"),
    [
        (msd.ForceOverride.force_spring(msd.StiffnessDamping(k=5000.0, d=300.0)), 3.0 * G / 5000.0),
        (msd.ForceOverride.acceleration_spring(msd.StiffnessDamping(k=1000.0, d=60.0)), G / 1000.0),
        (msd.ForceOverride.hard(bounciness=0.0, erp=0.1), 0.0),
    ],
    ids=["force spring", "acceleration spring", "hard"],
)
def test_one_law_for_all_contacts(law, depth):
    world = overridden(override_contact_force=law)
    world.step(n=2000)
    assert 0.1 - world.rigid_bodies["ball"].translation[2] == pytest.approx(depth, abs=1e-6)


def test_one_friction_for_all_contacts():
    world = overridden(override_friction=[0.25, 0.0, 0.0])
    world.step(n=500)
    assert world.rigid_bodies["box"].linear_velocity[0] == pytest.approx(4.0 - 0.5 * 0.25 * G, rel=1e-6)


@pytest.mark.parametrize("rule", ["Maximum", "Minimum", "Average", "GeometricMean", "Product"])
def test_one_friction_whatever_the_rules_of_shapes(rule):
    world = sx.World()
    world.add_ground_plane(friction=0.9)
    box(world, position=(1, 0, 0.1), friction=0.4, linear_velocity=(4, 0, 0))
    scene = world.to_scene()
    shapes = all_geoms(scene)
    assert len(shapes) == 2
    for geom in shapes:
        geom.physics_material.friction_rule = msd.CombineRule[rule]
    scene.simulate_option.override_friction = [0.25, 0.0, 0.0]
    world = sx.World.from_scene(scene)
    world.step(n=500)
    assert world.rigid_bodies["box"].linear_velocity[0] == pytest.approx(4.0 - 0.5 * 0.25 * G, rel=1e-6)


def all_geoms(scene):
    return [
        *scene.hierarchy.geoms,
        *(g for body in scene.hierarchy.bodies for link in body.link.walk() for g in link.geoms),
    ]


def test_one_margin_for_all_contacts():
    world = overridden(override_contact_margin=0.02)
    world.step(n=2000)
    # hard contact keeps bodies apart by the margin
    assert world.rigid_bodies["ball"].translation[2] == pytest.approx(0.12, abs=1e-5)


SCENE = """<mujoco><option timestep="0.002" cone="elliptic" o_solref="0.05 0.7" o_solimp="0.7 0.9 0.01 0.5 2"
  o_margin="0.005" o_friction="0.3 0.3 0.005 0.0001 0.0001"><flag override="enable"/></option>
<worldbody><geom type="plane" size="9 9 1" friction="1.5"/>
<body name="ball" pos="0 0 0.15"><freejoint/><geom type="sphere" size="0.1" mass="2" solref="0.01 1"/></body>
<body name="box" pos="1 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.9"/></body>
</worldbody></mujoco>"""
PAIRED = """<mujoco><option timestep="0.002" cone="elliptic" o_solref=".03 .8" o_solimp=".8 .9 .01" o_margin="{margin}">
  <flag override="enable"/></option>
<worldbody><geom name="floor" type="plane" size="9 9 1" gap=".01"/>
<body name="ball" pos="0 0 0.105"><freejoint/><geom name="ball" size="0.1" mass="2" gap=".02" margin=".01"/></body>
<body name="box" pos="1 0 0.1"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody><contact><pair geom1="floor" geom2="box" solimp=".5 .6 .1" solreffriction=".2 1" gap=".03"/></contact>
</mujoco>"""
SCENES = {"all": SCENE, "pairs": PAIRED.format(margin=0.0), "pairs and margin": PAIRED.format(margin=0.012)}


@pytest.mark.parametrize("text", SCENES.values(), ids=SCENES)
def test_overrides_of_a_file_are_those_of_mujoco(text):
    """Those of all contacts, also where there are gaps and pairs with friction of their own."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    data.qvel[6] = 2.0
    world.rigid_bodies["box"].linear_velocity = (2.0, 0.0, 0.0)
    for _ in range(20):
        world.step(n=25)
        mujoco.mj_step(model, data, 25)
        for k, name in enumerate(("ball", "box")):
            place = data.qpos[7 * k : 7 * k + 3]
            np.testing.assert_allclose(world.rigid_bodies[name].translation, place, rtol=0, atol=1e-6)
