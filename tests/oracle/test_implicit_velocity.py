# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps that are implicit in speeds against MuJoCo's implicitfast: actuators, tendons, bounds, several trees."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

_ROD = '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>'
_COUPLED = """<joint joint="a" coef="1"/><joint joint="b" coef="-.7"/><joint joint="c" coef=".4"/>
  <joint joint="e" coef=".5"/><joint joint="f" coef=".3"/>"""


def scene(actuator: str = "", tendon: str = "", joint: str = "") -> str:
    """A chain that forks at its end, a second tree beside it, and a fixed tendon `t` over both."""
    return f"""<mujoco><option timestep="0.005" integrator="implicitfast"/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody><site name="w" pos=".1 .2 .5"/>
        <body name="A"><joint name="a" axis="0 1 0" {joint}/>{_ROD}
          <body name="B" pos=".3 0 0"><joint name="b" axis="0 1 .2"/>{_ROD}
            <body name="C" pos=".3 0 0"><joint name="c" axis="0 0 1" damping=".3"/>{_ROD}
              <site name="tip" pos=".3 .02 0"/></body>
            <body name="E" pos=".3 0 .1"><joint name="e" axis="0 1 0"/>{_ROD}</body></body></body>
        <body name="F" pos="0 1 0"><joint name="f" axis="0 1 0"/>{_ROD}<site name="s" pos=".2 0 .02"/></body>
      </worldbody>
      <tendon><fixed name="t" {tendon}>{_COUPLED}</fixed>
        <spatial name="p"><site site="w"/><site site="tip"/><site site="s"/></spatial></tendon>
      <actuator>{actuator}</actuator></mujoco>"""


_MUSCLE = '<muscle tendon="t" lengthrange="-1 1" force="30"/>'
SCENES = {
    "velocity": (scene('<velocity joint="a" kv="50"/><velocity joint="e" kv="3" gear="2"/>'), [1.0, 0.2]),
    "position": (
        scene('<position joint="a" kp="100" kv="7"/><position joint="c" kp="9" kv="1"/>'),
        [0.3, 0.2],
    ),
    "two_on_a_joint": (scene('<velocity joint="b" kv="5"/><position joint="b" kp="20" kv="2"/>'), [1.0, 0.2]),
    "fixed_tendon": (scene('<velocity tendon="t" kv="20"/>'), [0.4]),
    "spatial_tendon": (scene('<velocity tendon="p" kv="20"/>'), [0.1]),
    "site": (scene('<general site="tip" gear="1 2 0 .1 0 .3" biastype="affine" biasprm="0 0 -4"/>'), [0.1]),
    "damped_tendon": (scene(tendon='damping="3" stiffness="2"'), []),
    "damped_tendon_and_actuator": (scene('<velocity joint="b" kv="5"/>', 'damping="3"'), [0.4]),
    "force_limit": (
        scene('<velocity joint="a" kv="50" forcerange="-1 1"/><velocity joint="b" kv="5"/>'),
        [2, 0.2],
    ),
    "limit_of_a_tendon": (
        scene('<velocity tendon="t" kv="50"/><motor tendon="t"/>', 'actuatorfrcrange="-1 1"'),
        [1.0, 0.3],
    ),
    "limit_of_a_joint": (
        scene('<velocity joint="a" kv="5"/><motor joint="a"/>', joint='actuatorfrcrange="-2 2"'),
        [1.0, 50.0],
    ),
    "limit_of_one_joint_of_several": (
        scene('<velocity tendon="t" kv="20"/>', joint='actuatorfrcrange="-1 1"'),
        [1.0],
    ),
    "gain_by_speed": (
        scene('<general joint="a" gaintype="affine" gainprm="1 .5 -3" ctrlrange="-1 1"/>'),
        [5.0],
    ),
    "activation": (
        scene('<general joint="a" dyntype="filter" dynprm=".1" gaintype="affine" gainprm="1 0 -3"/>'),
        [2.0],
    ),
    "early_activation": (
        scene(
            '<general joint="a" dyntype="filter" dynprm=".1" actearly="true" gaintype="affine"'
            ' gainprm="1 0 -3" actrange="-.6 .6"/>'
        ),
        [2.0],
    ),
    "muscle": (scene(_MUSCLE), [0.6]),
    "joint_damping_alone": (scene(), []),
}


def speed_gap(pair: ScenePair) -> float:
    """Largest difference of velocities, relative to the largest of them."""
    return float(np.abs(pair.in_order(pair.runtime.sim.v) - pair.d.qvel).max() / np.abs(pair.d.qvel).max())


def start(name: str) -> tuple[ScenePair, list[float]]:
    xml, controls = SCENES[name]
    pair = ScenePair(mujoco, xml)
    pair.shake(np.random.default_rng(4))
    return pair, controls


@pytest.mark.parametrize("name", SCENES)
def test_steps_are_those_of_implicitfast(name):
    pair, controls = start(name)
    assert pair.world.multibody_options.integration_family is sx.MultibodyIntegrationFamily.IMPLICIT_VELOCITY
    pair.step(controls)
    assert speed_gap(pair) < 1e-9
    pair.step(controls, n=199)
    assert speed_gap(pair) < 1e-7
    assert pair.gap() < 1e-7


@pytest.mark.parametrize("name", ["force_limit", "limit_of_a_tendon", "limit_of_a_joint"])
def test_a_force_at_its_bound_answers_to_nothing(name):
    pair, controls = start(name)
    pair.step(controls)
    assert pair.column["act_damping"][0] == 0.0


def test_an_actuator_as_stiff_as_it_likes_is_stable():
    controls = [0.5, -0.5]
    xml = scene('<velocity joint="a" kv="5000"/><velocity joint="c" kv="5000"/>')
    pair = ScenePair(mujoco, xml)
    pair.shake(np.random.default_rng(4))
    pair.step(controls)
    assert speed_gap(pair) < 1e-9
    pair.step(controls, n=199)
    assert pair.gap() < 1e-7
    assert pair.in_order(pair.runtime.sim.v)[[0, 2]] == pytest.approx(controls, abs=0.01)
    # which is what this family is for
    other = ScenePair(mujoco, xml)
    other.world.multibody_options = sx.MultibodyOptions("implicit-damping")
    with pytest.raises(sx.StepFailure):
        for _ in range(200):
            other.world.actuator_controls = controls
            other.world.step()


def test_a_step_with_contact_too():
    xml = scene('<velocity joint="a" kv="50"/>', 'damping="3"').replace(
        "<worldbody>",
        '<worldbody><geom type="plane" size="2 2 .1" pos="0 0 -.1" contype="1" conaffinity="1"/>',
    )
    xml = xml.replace('contype="0" conaffinity="0"/></default>', 'contype="1" conaffinity="0"/></default>')
    pair = ScenePair(mujoco, xml)
    pair.shake(np.random.default_rng(4), 0.5)
    touched = 0
    for _ in range(100):
        pair.step([0.3])
        touched += int(pair.d.ncon > 0)
    assert touched > 20
    assert pair.gap() < 1e-7
