# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bodies without mass in MJCF: mounts, pads and targets of real robots, against MuJoCo's compilation."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline import msd
from worldline._src.step.inverse_weights import inverse_weights

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

MASSLESS = """<mujoco><compiler inertiagrouprange="0 1"/><worldbody>
  <body name="base" pos="1 0 0"><freejoint name="free"/><geom size=".1" density="800"/>
    <body name="empty" pos="0 1 0.2"/>
    <body name="weightless" pos="0 2 0"><geom size=".1" mass="0" pos=".1 .2 .3"/></body>
    <body name="two" pos=".1 3 0"><geom size=".1" mass="0" pos=".1 .2 .3"/><geom size=".1" density="0"/></body>
    <body name="other group" pos="0 .3 .1" euler="10 20 30"><geom size=".1" group="3"/></body>
    <body name="mount" pos="0 4 0"><body name="heavy" pos="0 0 .5"><geom size=".1"/></body></body>
    <frame pos="1 0 0" euler="0 0 90"><body name="framed" pos="0 .6 0"/></frame>
  </body></worldbody></mujoco>"""

WELDED = """<mujoco><compiler inertiagrouprange="4 5"/><worldbody>
  <body name="target" mocap="true" pos=".1 0 .6"/>
  <body name="arm"><inertial pos=".1 0 .1" mass="2" diaginertia=".02 .03 .04"/>
    <joint name="j0" axis="0 1 0"/><geom size=".05" contype="0" conaffinity="0"/>
    <body name="wrist" pos="0 0 .4"><inertial pos="0 .02 .05" mass=".5" diaginertia=".002 .003 .004"/>
      <joint name="j1" axis="1 0 0"/><joint name="j2" axis="0 0 1"/>
      <body name="hand" pos="0 .1 .12" quat="1 0 1 0"><geom type="box" size=".01 .05 .01" group="1"/></body></body></body>
  </worldbody><equality><weld body1="target" body2="hand" solref=".02 1"/></equality></mujoco>"""

MOUNT = """<mujoco><option gravity="0 0 0"/><worldbody><body name="trunk"><freejoint name="free"/>
  <geom type="box" size=".4 .15 .08"/>
  <body name="mount" pos=".1 0 0"><site/>
    <body name="inner mount" pos=".1 0 0">
      <body name="hip" pos=".1 0 0"><joint name="hip" axis="1 0 0"/><geom type="capsule" size=".07 .05"/>
        <body name="knee" pos="0 .01 -.1"><joint name="knee" axis="0 1 0"/><geom name="shin" size=".05"/></body>
      </body></body></body></body></worldbody></mujoco>"""


def test_inertial_frames_and_inverse_weights_are_those_of_mujoco():
    native, model = mujoco.MjModel.from_xml_string(MASSLESS), msd.build(msd.from_str(MASSLESS, format="mjcf"))
    weights = inverse_weights(model)[1]
    for b in range(1, native.nbody):
        i = model.body_index(native.body(b).name)
        assert np.abs(model.body_com[i] - native.body_ipos[b]).max() < 1e-15, native.body(b).name
        assert weights[i] == pytest.approx(native.body_invweight0[b], rel=1e-12), native.body(b).name


def test_a_weld_to_a_body_without_mass():
    pair = ScenePair(mujoco, WELDED)
    assert pair.m.body("hand").mass[0] == 0.0
    pair.shake(np.random.default_rng(0))
    pair.step(n=50)
    assert pair.gap() < 1e-12


def test_mass_given_later_lies_where_the_shapes_are():
    scene = msd.from_str(MASSLESS, format="mjcf")
    link = next(link for link in scene.hierarchy.links() if link.name == "weightless")
    link.geoms[0].mass = 2.0
    model = msd.build(scene)
    assert model.body_com[model.body_index("weightless")] == pytest.approx([0.1, 0.2, 0.3])


def test_files_written_from_such_scenes_say_the_same():
    scene = msd.from_str(MASSLESS, format="mjcf")
    native = mujoco.MjModel.from_xml_string(scene.to_str(format="mjcf"))
    for name in ("empty", "weightless", "two", "other group", "mount"):
        expected = mujoco.MjModel.from_xml_string(MASSLESS).body(name).ipos
        assert native.body(name).ipos == pytest.approx(expected, abs=1e-12), name


def test_mounts_welded_to_a_body_are_part_of_it():
    """The hip stands on a frame without mass or shape that is welded to the trunk: hip and trunk do not touch."""
    pair = ScenePair(mujoco, MOUNT)
    pair.step()
    touching = {frozenset((c.body_a.name, c.body_b.name)) for c in pair.world.contacts}
    assert pair.d.ncon == len(pair.world.contacts) == 1
    assert touching == {frozenset(("trunk", "knee"))}
    pair.step(n=20)
    assert pair.gap() < 1e-12


def test_negative_damping_is_left_out_by_name():
    text = """<mujoco><worldbody><body name="a"><joint name="j" damping="-0.0132"/><geom size=".1"/></body>
      </worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    assert any("-0.0132" in str(entry) and "damping" in str(entry) for entry in scene.report)
    assert float(msd.build(scene).joint_damping[0]) == 0.0
