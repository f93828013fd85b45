# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass properties that were written stay when the World is compiled again, whatever the file says of them."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

SCENE = """<mujoco><compiler {options}/><worldbody>
<body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
  <geom type="box" size=".1 .1 .1" pos=".1 0 0" mass="2"/></body>
<body name="box" pos="0 0 3"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/></body>
</worldbody></mujoco>"""
OPTIONS = (
    'inertiafromgeom="true"',
    'inertiafromgeom="auto"',
    'settotalmass="10"',
    'boundmass="4" boundinertia="0.2"',
    'balanceinertia="true"',
)


def world_of(options: str) -> sx.World:
    return sx.World.from_scene(msd.from_str(SCENE.format(options=options), format="mjcf"))


def properties(world: sx.World) -> list[np.ndarray]:
    bodies = [world.multibodies["arm"].links["arm"], world.rigid_bodies["box"]]
    return [np.concatenate([[b.mass], b.center_of_mass, b.inertia.ravel()]) for b in bodies]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_mass_that_was_written_stays(options):
    world = world_of(options)
    before = properties(world)
    arm = world.multibodies["arm"].links["arm"]
    arm.mass = 0.7
    arm.center_of_mass = (0.3, 0.0, 0.0)
    arm.inertia = np.diag([0.05, 0.06, 0.07])
    written = properties(world)
    assert written[0].tolist() == [0.7, 0.3, 0, 0, 0.05, 0, 0, 0, 0.06, 0, 0, 0, 0.07]
    # the other body has what the file led to
    assert np.array_equal(written[1], before[1])
    world.add_rigid_body("other")
    assert np.array_equal(properties(world), written)
    assert np.array_equal(properties(world.clone()), written)
    assert np.array_equal(properties(sx.World.from_scene(world.to_scene())), written)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["mass", "inertia", "center_of_mass"])
def test_each_of_them_stays_alone(options, name):
    world = world_of(options)
    box = world.rigid_bodies["box"]
    setattr(
        box, name, {"mass": 0.5, "inertia": np.diag([1.0, 1.0, 1.5]), "center_of_mass": (0, 0.1, 0)}[name]
    )
    written = properties(world)
    world.add_rigid_body("other")
    assert np.array_equal(properties(world), written)
