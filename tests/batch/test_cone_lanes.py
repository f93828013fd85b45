# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Elliptic cones of worlds in lanes: solved by Newton's method, as MuJoCo does, with the bits of a world alone."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline._src.jit import DISABLED
from worldline.model import LaneSimulation

mujoco = pytest.importorskip("mujoco")

SCENE = """<mujoco><option timestep="0.004" cone="elliptic" impratio="2" tolerance="1e-12"/>
<worldbody><geom type="plane" size="5 5 0.1" friction="0.7"/>
  <body pos="0 0 0.45"><freejoint/><geom type="capsule" size="0.1 0.2" euler="0 80 0"/>
    <body pos="0.3 0 0"><joint axis="0 1 0" range="-40 40" limited="true" frictionloss="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 -0.3" size="0.06" condim="4"/></body>
    <body pos="-0.3 0 0"><joint axis="0 1 0" damping="0.5"/>
      <geom type="capsule" fromto="0 0 0 -0.3 0 -0.3" size="0.06" condim="6" friction="0.9 0.02 0.01"/></body>
  </body>
  <body pos="1 0 0.2"><freejoint/><geom type="sphere" size="0.12" condim="1"/></body>
</worldbody></mujoco>"""
WORLDS = 11


def worlds(count=WORLDS):
    sim = LaneSimulation(msd.build(msd.from_str(SCENE, format="mjcf")), count)
    rng = np.random.default_rng(5)
    sim.v[:] = 0.6 * rng.normal(size=(WORLDS, sim.v.shape[1]))[:count]
    return sim


def test_newton_solves_cones_and_moves_as_mujoco():
    sim = worlds()
    assert sim.solver == "newton"
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    touching = 0
    for _ in range(12):
        sim.step(10)
        assert not sim.unconverged.any()
        q, v = sim.q.copy(), sim.v.copy()
        sim.step()
        for w in range(WORLDS):
            data.qpos[:], data.qvel[:] = q[w], v[w]
            data.qpos[3:7], data.qpos[12:16] = np.roll(q[w, 3:7], 1), np.roll(q[w, 12:16], 1)
            data.qacc_warmstart[:] = 0.0
            mujoco.mj_step(model, data)
            touching += data.ncon
            assert sim.v[w] == pytest.approx(data.qvel, abs=1e-6)
    assert touching > 100


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize(("count", "lanes"), [(1, 1), (5, 4), (11, 8)])
def test_a_world_has_the_same_bits_in_every_batch(count, lanes):
    reference = worlds()
    reference.step(120, lanes=1)
    some = worlds(count)
    some.step(120, lanes=lanes)
    for name in ("q", "v", "kept"):
        assert np.array_equal(getattr(some, name), getattr(reference, name)[:count])
