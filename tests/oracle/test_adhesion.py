# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Adhesive bodies against MuJoCo, and a ball that hangs from a ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

SCENE = """<mujoco><option timestep="0.002" cone="{cone}"/>
  <worldbody><geom name="wall" type="box" size=".1 1 1" pos="-.1 0 0"/>
    <body name="pad" pos=".099 0 0"><freejoint name="root"/><geom name="pad" type="box" size=".1 .1 .1" mass="1"/>
      <body name="arm" pos=".1 0 0"><joint name="hinge" axis="0 1 0"/>
        <geom name="arm" type="capsule" fromto=".05 0 0 .3 0 0" size=".02" mass=".1"/></body></body>
    <body name="other" pos="1 0 .5"><freejoint name="alone"/><geom type="sphere" size=".1" mass="1"/></body>
  </worldbody>
  <actuator><adhesion name="stick" body="pad" gain="40" ctrlrange="0 1"/></actuator></mujoco>"""


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_pad_sticks_to_a_wall(cone):
    pair = ScenePair(mujoco, SCENE.format(cone=cone))
    pair.step([1.0])
    assert pair.d.ncon >= 4
    assert np.abs(pair.column["act_force"] - pair.d.actuator_force).max() < 1e-12
    pair.step([1.0], n=150)
    assert pair.gap() < 1e-6
    assert abs(pair.q()[2]) < 0.02
    pair.step([0.0], n=100)
    assert pair.q()[2] < -0.05
    assert pair.gap() < 1e-6
