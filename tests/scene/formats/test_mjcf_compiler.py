# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiler options of MJCF in random company: mass matrix and bias forces are those of the compiled model."""

from __future__ import annotations

import random

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")

MODEL = """<mujoco><compiler {options}/><worldbody><body name="a" pos="0 0 1"><joint name="j"/><geom size=".1"/>
  <geom group="3" type="box" size=".1 .2 .3" pos=".1 0 0" euler="10 20 30"/>
  <body name="b" pos="0 .3 0" euler="0 30 10"><inertial mass="0.001" pos="0 0 0" diaginertia="1e-7 1e-7 3e-7"/>
    <geom size=".1 .2" type="capsule"/>
    <body name="c" pos=".2 0 0"><joint name="k" axis="0 1 0"/>
      <geom type="cylinder" size=".1 .2" shellinertia="true"/><geom type="ellipsoid" size=".1 .2 .3"/></body>
  </body></body></worldbody></mujoco>"""
OPTIONS = {
    "settotalmass": ["3", "-1"],
    "boundmass": ["0.01", "2"],
    "boundinertia": ["0.001"],
    "balanceinertia": ["true"],
    "inertiafromgeom": ["true", "false", "auto"],
    "inertiagrouprange": ["0 2", "3 4"],
    "fusestatic": ["true"],
    "angle": ["radian"],
    "eulerseq": ["zyx", "XYZ", "zxZ"],
    "autolimits": ["false"],
}


@pytest.mark.parametrize("seed", range(60))
def test_options_mean_what_they_mean_to_mujoco(seed: int, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    names = rng.sample(list(OPTIONS), rng.randint(1, 5))
    text = MODEL.format(options=" ".join(f'{name}="{rng.choice(OPTIONS[name])}"' for name in names))
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"MuJoCo does not compile it: {str(error).splitlines()[0][:80]}")
    ours = msd.build(msd.from_str(text))
    data = mujoco.MjData(theirs)
    q, v = np.array([rng.uniform(-1, 1) for _ in range(2)]), np.array([0.3, -0.4])
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(theirs, data)
    mass = np.zeros((2, 2))
    mujoco.mj_fullM(theirs, data, mass)
    np.testing.assert_allclose(wm.mass_matrix(ours, q), mass, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wm.bias_forces(ours, q, v), data.qfrc_bias, rtol=1e-8, atol=1e-10)
