# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of shapes with contact parameters of their own, against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline._src.kernels.constraints.tables import CONTACT_COUNT

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")


def scene(pair: str, cone: str) -> str:
    """A box and a ball that no mask lets touch anything, thrown along a plane."""
    return f"""<mujoco><option timestep="0.002" cone="{cone}"/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody><geom name="floor" type="plane" size="0 0 1"/>
        <body name="box" pos="0 0 .1"><freejoint name="fb"/>
          <geom name="box" type="box" size=".1 .2 .1" mass="2"/></body>
        <body name="ball" pos="1 0 .1"><freejoint name="fs"/>
          <geom name="ball" type="sphere" size=".1" mass="1"/></body></worldbody>
      <contact>{pair}</contact></mujoco>"""


PAIRS = {
    "plain": '<pair geom1="floor" geom2="box"/><pair geom1="ball" geom2="floor"/>',
    "anisotropic": '<pair geom1="floor" geom2="box" friction=".9 .1 .01 .001 .001"/>',
    "condim_1": '<pair geom1="floor" geom2="box" condim="1"/><pair geom1="floor" geom2="ball" condim="1"/>',
    "condim_6": '<pair geom1="ball" geom2="floor" condim="6" friction=".8 .8 .02 .01 .03"/>',
    "soft": '<pair geom1="box" geom2="floor" solref=".05 .6" solimp=".7 .9 .01" margin=".02" gap=".005"/>',
    "own_friction": '<pair geom1="box" geom2="floor" solref=".03 1" solreffriction=".1 1"/>',
}


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name, cone):
    pair = ScenePair(mujoco, scene(PAIRS[name], cone))
    pair.d.qvel[[0, 1, 6, 7]] = 0.4, 0.7, -0.5, 0.3
    sim = pair.runtime.sim
    v = {k: pair.d.qvel[pair.m.jnt_dofadr[j] :][:6] for j, k in pair.rows}
    for k, value in v.items():
        start = pair.runtime.model.joint_qd_start[k]
        sim.v[start : start + 6] = value
    sim.velocities_written()
    touched = 0
    for _ in range(100):
        pair.step()
        touched += pair.d.ncon
    assert touched > 50
    assert pair.gap() < 1e-7
    assert np.abs(pair.in_order(sim.v) - pair.d.qvel).max() < 1e-6


@pytest.mark.parametrize(("condim", "friction"), [(4, "0 .1 .01"), (6, "0 .1 .01"), (6, "0 0 .01")])
def test_what_slides_freely_may_still_not_spin_or_roll(condim, friction):
    """A ball on ice that sticks to its spin: friction of spinning and rolling needs none of sliding."""
    xml = f"""<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="0 0 1" friction="{friction}"/>
      <body name="ball" pos="0 0 .0995"><freejoint name="f"/>
        <geom size=".1" mass="1" condim="{condim}" friction="{friction}"/></body></worldbody></mujoco>"""
    pair, v = ScenePair(mujoco, xml), (1.0, 0.5, 0.0, 3.0, 2.0, 10.0)
    sim = pair.runtime.sim
    pair.d.qvel[:] = sim.v[:] = v
    sim.velocities_written()
    pair.step(n=100)
    assert abs(sim.v[3]) + abs(sim.v[5]) < 11.0
    assert np.abs(pair.in_order(sim.v) - pair.d.qvel).max() < 1e-6


ROUND = """<mujoco><option timestep="0.002" cone="{cone}"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <geom name="floor" type="plane" size="0 0 1"/><body name="a" pos="0 0 .3"><freejoint name="fa"/><geom name="a" {a}/></body>
  <body name="b" pos=".05 .03 .55"><freejoint name="fb"/><geom name="b" {b}/></body></worldbody>
  <contact><pair geom1="{first}" geom2="{second}" {pair}/><pair geom1="floor" geom2="a"/><pair geom1="floor" geom2="b"/>
  </contact></mujoco>"""
SHAPES = {"sphere": 'type="sphere" size=".1" mass="1"', "capsule": 'type="capsule" size=".08 .1" mass="1"'}


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize(
    "pair", ["", 'margin=".02"', 'condim="6" friction=".8 .8 .02 .01 .03"', 'friction=".9 .1 .01 .001 .001"']
)
@pytest.mark.parametrize("kinds", [("sphere", "sphere"), ("sphere", "capsule"), ("capsule", "capsule")])
def test_round_shapes_in_pairs_fall_on_each_other(kinds, pair, cone, order):
    shapes = {
        name: f'{SHAPES[kind]} euler="{tilt}"'
        for name, kind, tilt in zip("ab", kinds, ("0 9 0", "7 0 0"), strict=True)
    }
    text = ROUND.format(cone=cone, first=order[0], second=order[1], pair=pair, **shapes)
    both = ScenePair(mujoco, text)
    touched = 0
    for _ in range(200):
        both.step()
        touched += both.d.ncon
    assert touched > 100
    assert np.abs(both.in_order(both.runtime.sim.v) - both.d.qvel).max() < 1e-6


def test_parallel_capsules_end_to_end_touch_once():
    """MuJoCo lists the one point where they touch twice; here a point is one contact, with the whole force."""
    text = ROUND.format(
        cone="elliptic", first="a", second="b", pair="", a=SHAPES["capsule"], b=SHAPES["capsule"]
    )
    both = ScenePair(mujoco, text.replace(".05 .03 .55", ".05 .03 .62"))
    both.step()
    assert both.d.ncon == 2
    first, second = (both.d.contact[k] for k in range(2))
    assert np.array_equal(first.pos, second.pos) and np.array_equal(first.frame, second.frame)
    assert both.runtime.constraints.column["counter"][CONTACT_COUNT] == 1
