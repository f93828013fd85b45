# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints against MuJoCo: rows, accelerations and trajectories of the same scenes."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

_BODIES = """
    <body name="a" pos="0 0 1"><freejoint name="fa"/><geom name="ga" type="box" size=".1 .2 .3" mass="2"/>
      <site name="sa" pos=".1 .1 .1" euler="10 20 30"/>
      <body name="a2" pos=".3 0 0"><joint name="ha" axis="0 1 0"/>
        <geom name="ga2" type="capsule" size=".05 .2" mass="1"/></body></body>
    <body name="b" pos=".5 0 1.2" euler="20 -10 40"><freejoint name="fb"/>
      <geom name="gb" type="box" size=".2 .1 .1" mass="1"/>
      <site name="sb" pos="-.2 .1 0" euler="40 20 -10"/></body>
"""
_ARM = """
    <body name="u" pos="0 0 1"><joint name="j1" axis="0 1 0" ref="15"/>
      <geom name="gu" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/>
      <body name="l" pos=".4 0 0"><joint name="j2" axis="0 1 0"/><joint name="j3" type="slide" axis="1 0 0"/>
        <geom name="gl" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/></body></body>
"""


def scene(bodies: str, equality: str, tendons: str = "") -> str:
    return f"""<mujoco><option timestep="0.002" integrator="Euler"/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody>{bodies}</worldbody>{tendons}<equality>{equality}</equality></mujoco>"""


CASES = {
    "connect": (_BODIES, '<connect body1="a" body2="b" anchor=".2 0 .1"/>', ""),
    "connect_world": (_BODIES, '<connect body1="a2" anchor=".2 0 .1" solref=".05 .7"/>', ""),
    "connect_sites": (_BODIES, '<connect site1="sa" site2="sb"/>', ""),
    "weld": (_BODIES, '<weld body1="a" body2="b" solimp=".8 .99 .02"/>', ""),
    "weld_scaled": (_BODIES, '<weld body1="b" body2="a2" anchor=".1 0 .1" torquescale="3"/>', ""),
    "weld_pose": (_BODIES, '<weld body1="a" body2="b" relpose=".4 .1 0 .8 .1 .5 .2"/>', ""),
    "weld_sites": (_BODIES, '<weld site1="sb" site2="sa" solref="-900 -40"/>', ""),
    "joint": (_ARM, '<joint joint1="j1" joint2="j2" polycoef=".1 .5 .3 -.2 .1"/>', ""),
    "joint_alone": (_ARM, '<joint joint1="j3" polycoef=".05 0 0 0 0"/>', ""),
    "tendon": (
        _ARM,
        '<tendon tendon1="t1" tendon2="t2" polycoef=".02 .5 .1 0 0"/>',
        '<tendon><fixed name="t1"><joint joint="j1" coef=".3"/><joint joint="j3" coef="1"/></fixed>'
        '<fixed name="t2"><joint joint="j2" coef="-.4"/></fixed></tendon>',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_and_motion(name):
    pair = ScenePair(mujoco, scene(*CASES[name]))
    pair.shake(np.random.default_rng(3))
    pair.step()
    rows = pair.d.nefc
    assert pair.row_count == rows > 0
    J = pair.jacobian()
    assert (J is None) == (name == "connect_world")
    assert J is None or np.abs(J - pair.d.efc_J.reshape(rows, -1)).max() < 1e-12
    assert np.abs(pair.column["residual"][:rows] - pair.d.efc_pos).max() < 1e-12
    assert pair.acceleration_gap() < 1e-7 * max(1.0, np.abs(pair.d.qacc).max())
    pair.step(n=200)
    assert pair.gap() < 1e-8


def test_switching_off_at_run_time():
    pair = ScenePair(mujoco, scene(*CASES["weld"]))
    pair.shake(np.random.default_rng(1))
    pair.step(n=20)
    pair.d.eq_active[0] = 0
    pair.column["equality_on"][0] = 0
    pair.step(n=50)
    assert pair.row_count == 0
    assert pair.gap() < 1e-8
