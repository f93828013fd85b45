# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A model in lanes that takes over replaced arrays has the numbers of one that is laid out anew."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.step.followed_model import FollowedModel
from worldline._src.step.lane_parameters import _spaces
from worldline.model import LaneSimulation

SCENE = """<mujoco>
  <option density="1.2" viscosity="1e-4"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" friction="0.8"/>
    <body name="thigh" pos="0 0 1">
      <joint name="hip" axis="0 1 0" range="-60 60" limited="true" damping="0.3" armature="0.02"
        stiffness="3" frictionloss="0.1"/>
      <geom name="upper" type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/>
      <body name="shank" pos="0 0 -.4">
        <joint name="knee" axis="0 1 0" range="-100 10" limited="true" damping="0.2"/>
        <geom name="lower" type="capsule" size=".04" fromto="0 0 0 0 0 -.4" friction="1.1"/>
      </body>
    </body>
    <body name="ball" pos="1 0 .1"><freejoint/><geom name="skin" size=".1"/></body>
  </worldbody>
  <actuator><motor name="push" joint="knee" gear="5"/></actuator>
</mujoco>"""
LEG = "multibodies.thigh."
CHANGES = {
    "gravity": (0.0, 1.0, -5.0),
    LEG + "links.shank.mass": 3.5,
    LEG + "links.shank.center_of_mass": (0.01, 0.02, -0.2),
    LEG + "links.shank.inertia": np.diag([0.3, 0.32, 0.02]),
    LEG + "joints.hip.damping_coefficient": [0.7],
    LEG + "joints.hip.spring_stiffness": [5.0],
    LEG + "joints.hip.rest_position": [0.2],
    LEG + "joints.hip.armature": [0.05],
    LEG + "joints.hip.coulomb_friction": [0.4],
    LEG + "joints.knee.position_lower_limits": [-1.0],
    "shapes.lower.friction": 0.4,
    "shapes.floor.friction": 0.9,
}
ANEW = {"actuators.push.gear": [7.0, 0, 0, 0, 0, 0], "shapes.lower.size": [0.05, 0.2]}


@pytest.fixture
def batch():
    return sx.WorldBatch(sx.World.from_scene(msd.from_str(SCENE, format="mjcf")), 3, layout="lanes")


def numbers(sim):
    return np.concatenate([space.numbers for space in _spaces(sim)])


def alone(model):
    return LaneSimulation(model, 1)


def test_replaced_arrays_are_taken_over(batch):
    followed, own = FollowedModel(), batch._worlds.own
    world = own.world(0)
    first = followed.simulation(world._live().sim.model, alone)
    for name, value in CHANGES.items():
        before = numbers(first).copy()
        own.parameter(name).write(world, value)
        model = world._live().sim.model
        found = followed.simulation(model, alone)
        assert found is first, name
        assert not np.array_equal(numbers(found), before), name
        assert np.array_equal(numbers(found), numbers(alone(model))), name


@pytest.mark.parametrize("name", ANEW)
def test_what_needs_a_layout_gets_one(batch, name):
    followed, own = FollowedModel(), batch._worlds.own
    world = own.world(0)
    first = followed.simulation(world._live().sim.model, alone)
    own.parameter(name).write(world, ANEW[name])
    model = world._live().sim.model
    found = followed.simulation(model, alone)
    assert found is not first and np.array_equal(numbers(found), numbers(alone(model)))


def test_worlds_step_as_those_that_have_the_numbers_from_the_start():
    # boxes of masses in a fluid are shared by worlds in lanes
    scene = msd.from_str(SCENE.replace('density="1.2" viscosity="1e-4"', ""), format="mjcf")
    worlds = [sx.World.from_scene(scene) for _ in range(3)]
    batch = sx.WorldBatch(sx.World.from_scene(scene), 3, layout="lanes")
    for k, name in enumerate(("shapes.lower.friction", LEG + "links.shank.mass", "gravity")):
        value = CHANGES[name]
        batch.parameters[name] = np.stack([np.multiply(value, 1.0 + 0.1 * w + 0.05 * k) for w in range(3)])
        for w, world in enumerate(worlds):
            batch._worlds.own.parameter(name).write(world, batch.parameters[name][w])
    assert batch.layout == "lanes"
    batch.step(150)
    for w, world in enumerate(worlds):
        alone_in_lanes = sx.WorldBatch(world, 1, layout="lanes")
        alone_in_lanes.step(150)
        assert np.array_equal(batch.joint_positions[w], alone_in_lanes.joint_positions[0])
