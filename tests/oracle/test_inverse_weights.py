# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How soft impedance rows are where bodies turn about their centre, only slide, or start turned."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline import msd
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

BOX = "<geom type='box' size='.1 .2 .3' mass='2'/>"

SEESAW = """<mujoco><worldbody>
  <body name="plank" pos="0 0 .1"><joint name="j" axis="0 1 0" stiffness="1"/>
    <geom type="box" size=".1 .1 .01" mass=".1"/></body>
  <body name="ball" pos="0 0 .16"><freejoint name="f"/><geom size=".05" mass="1"/></body>
</worldbody></mujoco>"""

DRAWER = """<mujoco><worldbody>
  <body name="drawer" pos=".2 .1 .2"><joint name="j" type="slide"/>
    <geom type="box" size=".1 .1 .1" pos=".02 0 0" mass="1.4" contype="0" conaffinity="0"/>
    <site name="s" pos="-.1 0 .1"/></body>
  <body name="free" pos="-.2 -.2 .1"><freejoint name="f"/>
    <geom type="box" size=".1 .05 .02" mass=".6" contype="0" conaffinity="0"/><site name="t" euler="10 0 0"/></body>
</worldbody><equality><weld site1="s" site2="t"/></equality></mujoco>"""

LEASH = """<mujoco><worldbody><site name="post" pos="0 0 .3"/>
  <body name="dog" pos=".5 .2 .3" euler="-29 -5 36"><freejoint name="f"/>
    <geom type="box" size=".1 .2 .05" pos=".05 .08 -.02" mass="2.5"/><site name="collar" pos=".1 .05 -.03"/></body>
</worldbody><tendon><spatial range="0 .3"><site site="post"/><site site="collar"/></spatial></tendon></mujoco>"""


def test_a_ball_on_a_seesaw_sees_a_ball():
    """The plank cannot move where its centre is; the ball does not sink in for that."""
    pair = ScenePair(mujoco, SEESAW)
    pair.step(n=300)
    assert pair.d.ncon == 1
    assert pair.gap() < 1e-9


def test_a_wheel_on_its_axle_has_a_scale():
    """Neither the wheel's centre nor the ground moves: rows take what the wheel has, and stay numbers."""
    xml = """<mujoco><worldbody><geom type="plane" size="0 0 1"/><body name="w" pos="0 0 .099">
      <joint name="j" axis="0 1 0"/><geom size=".1" mass="2"/></body></worldbody></mujoco>"""
    pair = ScenePair(mujoco, xml)
    pair.runtime.sim.v[:] = 5.0
    pair.runtime.sim.velocities_written()
    pair.world.step(n=200)
    assert 0.0 <= pair.runtime.sim.v[0] < 5.0
    assert np.abs(pair.column["D"][: pair.row_count]).max() < 1e3


@pytest.mark.parametrize(
    "xml", [DRAWER, LEASH], ids=["weld of what only slides", "tendon of what starts turned"]
)
def test_rows_are_as_soft_as_those_of_mujoco(xml):
    pair = ScenePair(mujoco, xml)
    pair.step()
    assert pair.d.nefc == pair.row_count > 0
    np.testing.assert_allclose(pair.column["D"][: pair.row_count], pair.d.efc_D, rtol=1e-9)
    assert pair.acceleration_gap() < 1e-7 * np.abs(pair.d.qacc).max()


SLIDERS = {
    "one": "<joint type='slide' axis='0 0 1'/>" + BOX,
    "three": "<joint type='slide' axis='0 0 1'/><joint type='slide' axis='-1 0 0'/><joint type='slide' axis='0 1 0'/>"
    + BOX,
    "with armature": "<joint type='slide' axis='0 0 1' armature='1'/>" + BOX,
    "skew": "<joint type='slide' axis='0 1 1'/>" + BOX,
    "off centre": "<joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .2 .3' pos='.1 0 0' mass='2'/>",
    "turned": "<joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .2 .3' euler='20 30 40' mass='2'/>",
    "turned ball": "<joint type='slide' axis='0 0 1'/><geom size='.1' euler='20 30 40' mass='2'/>",
    "two balls": "<joint type='slide' axis='0 0 1'/><geom size='.1' pos='.1 0 0'/><geom size='.1' pos='-.1 0 0'/>",
    "and a hinge": "<joint type='slide' axis='0 0 1'/><joint/>" + BOX,
    "carries": "<joint type='slide' axis='0 0 1'/>"
    + BOX
    + "<body pos='0 0 1'><joint/><geom size='.1'/></body>",
    "on a fixed body": "<geom size='.1'/><body pos='0 0 1' euler='10 0 0'><joint type='slide'/>"
    + BOX
    + "</body>",
}


@pytest.mark.parametrize("inside", SLIDERS.values(), ids=SLIDERS)
def test_scales_of_bodies_that_slide_are_those_of_mujoco(inside):
    xml = f"""<mujoco><worldbody><geom type="plane" size="1 1 1" pos="0 0 -9"/><body>{inside}</body>
      <body pos="3 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(xml).body_invweight0[1:]
    runtime = sx.World.from_scene(msd.from_str(xml, format="mjcf"))._live()
    # bodies without mass are those between several joints of one
    ours = runtime.constraints.column["body_invweight"][1:][runtime.model.body_mass > 0.0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_ball_on_a_slide_rests_where_mujoco_has_it():
    xml = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 .1">
      <joint name="j" type="slide" axis="0 0 1"/><geom size=".1" mass="3"/></body></worldbody></mujoco>"""
    pair = ScenePair(mujoco, xml)
    pair.step(n=500)
    assert pair.d.qpos[0] < -1e-5
    assert pair.gap() < 1e-9
