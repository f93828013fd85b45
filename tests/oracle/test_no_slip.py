# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sweeps against slip, against MuJoCo: cones, pyramids, rolling friction and dry friction of joints."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")


def scene(cone: str, condim: int, sweeps: int) -> str:
    """A box and a pendulum with a rough joint on a tilted plane."""
    return f"""<mujoco><option timestep="0.002" cone="{cone}" gravity="2.5 1.0 -9.5" noslip_iterations="{sweeps}"
        noslip_tolerance="0"/>
      <default><geom condim="{condim}" friction="0.7 0.02 0.01"/></default>
      <worldbody><geom name="floor" type="plane" size="0 0 1"/>
        <body name="box" pos="0 0 .1"><freejoint name="free"/><geom type="box" size=".1 .2 .1" mass="2"/>
          <body pos="0 0 .2"><joint name="arm" type="hinge" axis="0 1 0" frictionloss="0.3"/>
            <geom type="capsule" size=".03" fromto="0 0 0 0 0 .3" mass=".5"/></body></body>
        <body name="ball" pos="1 0 .1"><freejoint name="roll"/><geom type="sphere" size=".1" mass="1"/></body>
      </worldbody></mujoco>"""


@pytest.mark.parametrize("condim", [3, 4, 6])
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_no_slip(cone, condim):
    pair = ScenePair(mujoco, scene(cone, condim, 5))
    for _ in range(40):
        pair.step()
    assert pair.d.ncon > 3
    sim = pair.runtime.sim
    assert np.abs(pair.in_order(sim.v) - pair.d.qvel).max() < 1e-6
    assert pair.gap() < 1e-7


def test_what_sticks_creeps_less():
    """Soft friction lets a box on a slope creep; with sweeps it stays."""
    speed = []
    for sweeps in (0, 20):
        pair = ScenePair(mujoco, scene("elliptic", 3, sweeps))
        for _ in range(300):
            pair.step()
        speed.append(float(np.linalg.norm(pair.world.multibodies[0].links[0].linear_velocity)))
    assert speed[0] > 1e-5 and speed[1] < 0.3 * speed[0]


def test_fast_slip_stays_within_the_cone():
    """What would stop the slip within a step is fifty thousand times what friction can do."""
    xml = """<mujoco><option timestep="0.002" cone="elliptic" noslip_iterations="3" noslip_tolerance="0"/>
      <worldbody><geom type="plane" size="0 0 1" friction=".05 .002 .001"/>
        <body name="ball" pos="0 0 .0995"><freejoint name="f"/>
          <geom size=".1" mass="1" condim="6" friction=".05 .002 .001"/></body></worldbody></mujoco>"""
    pair = ScenePair(mujoco, xml)
    sim = pair.runtime.sim
    pair.d.qvel[:2] = sim.v[:2] = 50.0, 30.0
    sim.velocities_written()
    pair.step()
    force = pair.world.contacts[0].force
    assert 0.0 < np.linalg.norm(force[:2]) <= (1.0 + 1e-9) * 0.05 * force[2]
    pair.step(n=20)
    assert np.abs(pair.in_order(sim.v) - pair.d.qvel).max() < 1e-6
