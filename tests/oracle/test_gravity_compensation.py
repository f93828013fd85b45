# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation against MuJoCo, against plain gravity, and in a step."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from scene_pairs import ScenePair
from worldline import msd

ARM = """
<mujoco><option gravity="0.3 -0.2 -9.7"/><worldbody>
  <body name="base" pos="0 0 1" gravcomp="0.4"><freejoint/><geom size="0.1" mass="2" pos="0.05 0 0"/>
    <body name="upper" pos="0.2 0 0" gravcomp="1"><joint name="a" axis="0 1 0" stiffness="2" damping="0.3"/>
      <geom type="capsule" size="0.03 0.1" pos="0.1 0 0.02" mass="0.7"/>
      <body name="lower" pos="0.2 0 0"><joint name="b" type="ball"/><geom type="box" size="0.1 0.02 0.03"/>
        <body name="tip" pos="0.1 0.1 0" gravcomp="-0.5"><joint name="c" type="slide" axis="1 0 1"/>
          <geom type="ellipsoid" size="0.05 0.03 0.02" pos="0 0.02 0"/></body>
      </body>
    </body>
  </body>
</worldbody></mujoco>
"""


def _random_state(model: wm.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return wm.random_configuration(model, seed), rng.normal(size=model.joint_dof_count)


@pytest.mark.parametrize("seed", range(5))
def test_passive_forces_equal_mujoco(seed: int) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    model = msd.build(msd.from_str(ARM))
    q, v = _random_state(model, seed)
    theirs = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(theirs)
    # free and ball coordinates: quaternions are wxyz there
    data.qpos[:] = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7:8], q[[11, 8, 9, 10]], q[12:]])
    data.qvel[:] = v
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(wm.passive_forces(model, q, v), data.qfrc_passive, rtol=1e-9, atol=1e-10)
    qdd = wm.forward_dynamics(model, q, v, np.zeros_like(v))
    np.testing.assert_allclose(qdd, data.qacc_smooth, rtol=1e-7, atol=1e-8)


def test_inverse_dynamics_undoes_forward_dynamics() -> None:
    model = msd.build(msd.from_str(ARM))
    q, v = _random_state(model, 3)
    tau = np.linspace(-1.0, 1.0, model.joint_dof_count)
    wrenches = np.random.default_rng(1).normal(size=(model.body_count, 6))
    for given in (None, wrenches):
        qdd = wm.forward_dynamics(model, q, v, tau, wrenches=given)
        np.testing.assert_allclose(wm.inverse_dynamics(model, q, v, qdd, wrenches=given), tau, atol=1e-9)


def test_a_compensated_body_floats_in_a_step() -> None:
    builder = wm.ModelBuilder()
    link = builder.add_link((0, 0, 1, 0, 0, 0, 1), mass=2.0, com=(0.1, 0, 0), inertia=np.eye(3), gravcomp=1.0)
    joint = builder.add_joint_free(link)
    builder.add_articulation([joint])
    model = builder.finalize()
    assert np.abs(wm.forward_dynamics(model, model.joint_q, np.zeros(6), np.zeros(6))).max() < 1e-14
    model.update(body_gravcomp=[0.0])
    fall = wm.forward_dynamics(model, model.joint_q, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(fall[:3], [0, 0, -9.81], atol=1e-12)


def test_lanes_agree_with_one_world() -> None:
    model = msd.build(msd.from_str(ARM))
    states = [_random_state(model, seed) for seed in range(7)]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    many = wm.passive_forces(model, q, v)
    for k in range(7):
        assert (many[k] == wm.passive_forces(model, q[k], v[k])).all()


def _actuated(joint: str, motor: str, flag: str = "") -> str:
    return f"""<mujoco><option timestep="0.002" integrator="Euler"><flag {flag}/></option><worldbody>
      <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0" {joint}/><geom size="0.1" pos="0.2 0 0"/>
        <body name="b" pos="0.4 0 0" gravcomp="0.7">
          <joint name="jb" type="slide" axis="1 0 0.2" actuatorfrcrange="1 2"/>
          <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0"/></body></body></worldbody>
      <actuator>{motor}</actuator><sensor><jointactuatorfrc joint="ja"/></sensor></mujoco>"""


ACTUATED = {
    "within_bounds": (
        'actuatorgravcomp="true" actuatorfrcrange="-900 900"',
        '<motor joint="ja" gear="9"/>',
        "",
    ),
    "beyond_bounds": ('actuatorgravcomp="true" actuatorfrcrange="-3 2"', '<motor joint="ja" gear="9"/>', ""),
    "passive": ('actuatorgravcomp="false" actuatorfrcrange="-3 2"', '<motor joint="ja" gear="9"/>', ""),
    "actuation_off": ('actuatorgravcomp="true"', '<motor joint="ja" gear="9"/>', 'actuation="disable"'),
    "no_actuators": ('actuatorgravcomp="true"', "", ""),
}


@pytest.mark.parametrize("name", ACTUATED)
def test_compensation_that_is_an_actuator_force_has_its_bounds(name: str) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")
    pair = ScenePair(mujoco, _actuated(*ACTUATED[name]))
    pair.shake(np.random.default_rng(2))
    controls = [0.8] if pair.world.actuator_names else None
    pair.step(controls)
    # the reading is that of the state before the step
    if pair.runtime.constraints is not None:
        assert pair.runtime.constraints.column["act_sum"][0] == pytest.approx(
            pair.d.qfrc_actuator[0], rel=1e-9
        )
    pair.step(controls, n=100)
    assert pair.gap() < 1e-9
