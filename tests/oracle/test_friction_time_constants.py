# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Time constants of dry friction: at least two steps unless reference safety is off, as in MuJoCo."""

from __future__ import annotations

import pytest

from worldline import msd
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco><option timestep="0.01"><flag refsafe="{safe}" eulerdamp="disable"/></option><worldbody><body>
  <joint name="j" axis="0 1 0" frictionloss="{loss}" solreffriction="{time} 1"/><geom size=".1" pos=".3 0 0" mass="1"/>
  </body></worldbody>{tendon}</mujoco>"""
TENDON = """<tendon><fixed name="t" frictionloss="4" solreffriction="{time} 1"><joint joint="j" coef="1"/></fixed></tendon>"""


@pytest.mark.parametrize("safe", ["enable", "disable"])
@pytest.mark.parametrize("time", [0.001, 0.012, 0.02, 0.05])
@pytest.mark.parametrize("of", ["joint", "tendon"])
def test_dry_friction_with_a_time_constant_moves_as_in_mujoco(of, time, safe):
    tendon = TENDON.format(time=time) if of == "tendon" else ""
    text = TEXT.format(safe=safe, time=time, loss=4 if of == "joint" else 0, tendon=tendon)
    native = mujoco.MjModel.from_xml_string(text)
    native.opt.tolerance = 1e-14
    data = mujoco.MjData(native)
    scene = msd.from_str(text)
    scene.simulate_option.constraint_solver_tolerance = 1e-14
    world = sx.World.from_scene(scene)
    joint = world.multibodies[0].joints[0]
    data.qvel[:], joint.velocity = 0.02, [0.02]
    for _ in range(40):
        mujoco.mj_step(native, data)
        world.step()
        assert joint.velocity[0] == pytest.approx(data.qvel[0], abs=1e-11)
