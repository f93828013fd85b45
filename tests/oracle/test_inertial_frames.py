# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors in inertial frames whose moments come from geoms, meshes or a full matrix, against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco")

BODIES = {
    "one box": '<geom type="box" size=".1 .2 .3" pos=".1 0 0" euler="20 30 40"/>',
    "one capsule": '<geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .3"/>',
    "two boxes": '<geom type="box" size=".1 .2 .3" euler="20 30 40"/><geom size=".1" pos=".3 .1 0"/>',
    "three": '<geom size=".1"/><geom size=".12" pos=".3 .1 0"/><geom type="box" size=".1 .2 .1" pos="0 .4 .3"/>',
    "with a geom of no mass": '<geom type="box" size=".1 .2 .3" euler="9 8 7"/><geom size=".3" mass="0"/>',
    "full": '<inertial pos=".1 .2 .3" mass="2" fullinertia=".3 .2 .25 .01 .02 -.03"/><geom size=".1"/>',
    "diagonal": '<inertial pos="0 0 0" mass="2" diaginertia=".2 .3 .25" euler="5 6 7"/><geom size=".1"/>',
    "mesh": '<geom type="mesh" mesh="m" euler="20 30 40" pos=".1 .2 .3"/>',
    "mesh and ball": '<geom type="mesh" mesh="m" euler="20 30 40" pos=".1 .2 .3"/><geom size=".2"/>',
}
KINDS = ("framepos", "framequat", "framexaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc")


@pytest.mark.parametrize("name", BODIES)
def test_inertial_frames_are_those_of_compiled_models(name):
    sensors = "".join(f'<{kind} objtype="body" objname="b"/>' for kind in KINDS)
    text = f"""<mujoco><compiler eulerseq="xyz"/><asset>
      <mesh name="m" vertex="0 0 0  .5 0 0  0 .3 0  0 0 .2  .4 .2 .1"/></asset>
      <worldbody><body name="b" pos="0 0 2" euler="10 20 30"><freejoint/>{BODIES[name]}</body></worldbody>
      <sensor>{sensors}</sensor></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = (0.1, 0.2, 0.3, 1.0, -2.0, 0.5)
    mujoco.mj_forward(model, data)
    world = sx.World.from_scene(msd.from_str(text))
    body = world.rigid_bodies["b"] if "b" in world.rigid_bodies else world.multibodies["b"].links["b"]
    body.linear_velocity = data.qvel[:3]
    body.angular_velocity = data.xmat[1].reshape(3, 3) @ data.qvel[3:]
    theirs = data.sensordata.copy()
    # quaternions have the scalar first there
    theirs[3:7] = theirs[[4, 5, 6, 3]]
    ours = world.sensors.values
    if ours[3:7] @ theirs[3:7] < 0.0:
        theirs[3:7] *= -1.0
    # MuJoCo keeps vertices in single precision, which the moments of a mesh feel
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-7 if "mesh" in name else 1e-12)
    assert world.sensors.refused == {}
