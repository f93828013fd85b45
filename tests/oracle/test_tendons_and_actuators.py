# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tendons and transmissions of actuators against MuJoCo: lengths, moments, forces and trajectories."""

from __future__ import annotations

import numpy as np
import pytest

from scene_pairs import ScenePair
from worldline import msd

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

_ARM = """
    <site name="s0" pos="-.1 .02 1.2"/><site name="ref" pos=".1 .2 1.1" euler="10 40 20"/>
    <geom name="ball" type="sphere" size=".08" pos=".18 .01 1.08"/>
    <body name="u" pos="0 0 1"><joint name="j1" axis="0 1 0" ref="15" springref="30"/>
      <geom name="gu" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/>
      <site name="s1" pos=".2 0 .05" euler="5 15 25"/>
      <geom name="roll" type="cylinder" size=".05 .1" pos=".4 0 .02" euler="90 0 0"/>
      <site name="side" pos=".4 0 .2"/><site name="inside" pos=".41 0 .03"/>
      <body name="l" pos=".4 0 0"><joint name="j2" axis="0 1 0"/><joint name="j3" type="slide" axis="1 0 0"/>
        <geom name="gl" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/>
        <site name="s2" pos=".15 .03 .02" euler="30 0 10"/><site name="s3" pos=".4 0 -.1"/>
        <body name="w" pos=".4 0 0"><joint name="jb" type="ball"/>
          <geom name="gw" type="box" size=".1 .05 .03" mass=".5"/><site name="s4" pos=".1 .05 0"/></body>
      </body></body>
    <body name="f" pos="0 1 1" euler="10 20 30"><freejoint name="ff"/>
      <geom name="gf" type="box" size=".1 .2 .1" mass="1"/><site name="s5" pos=".1 0 .1" euler="20 0 0"/></body>
"""


def scene(tendon: str, actuator: str = "", option: str = "") -> str:
    return f"""<mujoco><option timestep="0.002" integrator="Euler" {option}/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody>{_ARM}</worldbody><tendon>{tendon}</tendon><actuator>{actuator}</actuator></mujoco>"""


_FIXED = '<joint joint="j1" coef=".3"/><joint joint="j2" coef="-.5"/><joint joint="j3" coef="1"/>'
_PATH = '<site site="s0"/><site site="s1"/><site site="s2"/>'
TENDONS = {
    "fixed_spring": f'<fixed name="t" stiffness="50" damping="2">{_FIXED}</fixed>',
    "dead_band": f'<fixed name="t" stiffness="90" springlength="-.05 .1">{_FIXED}</fixed>',
    "fixed_friction": f'<fixed name="t" frictionloss="3">{_FIXED}</fixed>',
    "fixed_limit": f'<fixed name="t" range="-.02 .05" margin=".01">{_FIXED}</fixed>',
    "fixed_armature": f'<fixed name="t" armature=".7" stiffness="20">{_FIXED}</fixed>',
    "spatial": f'<spatial name="t" stiffness="80" damping="3">{_PATH}<site site="s5"/></spatial>',
    "spatial_limit": f'<spatial name="t" range="0 .7" solreflimit=".03 1">{_PATH}</spatial>',
    "spatial_friction": f'<spatial name="t" frictionloss="2">{_PATH}<site site="s4"/></spatial>',
    "pulley": '<spatial name="t" stiffness="40"><site site="s0"/><site site="s1"/><pulley divisor="2"/>'
    '<site site="s1"/><site site="s2"/><pulley divisor="3"/><site site="s2"/><site site="s5"/></spatial>',
    "sphere": '<spatial name="t" stiffness="60"><site site="s0"/><geom geom="ball"/><site site="s2"/></spatial>',
    "sphere_side": '<spatial name="t" stiffness="60"><site site="s0"/><geom geom="ball" sidesite="s5"/>'
    '<site site="s2"/></spatial>',
    "cylinder": '<spatial name="t" stiffness="60"><site site="s1"/><geom geom="roll"/><site site="s3"/></spatial>',
    "cylinder_side": '<spatial name="t" stiffness="60"><site site="s1"/><geom geom="roll" sidesite="side"/>'
    '<site site="s3"/></spatial>',
    "inside": '<spatial name="t" stiffness="60"><site site="s1"/><geom geom="roll" sidesite="inside"/>'
    '<site site="s2"/></spatial>',
}


@pytest.mark.parametrize("name", TENDONS)
def test_tendons(name):
    pair = ScenePair(mujoco, scene(TENDONS[name]))
    pair.shake(np.random.default_rng(5))
    pair.step()
    assert abs(pair.column["tendon_size"][0, 0] - pair.d.ten_length[0]) < 1e-12
    assert abs(pair.column["tendon_size"][0, 1] - pair.d.ten_velocity[0]) < 1e-12
    assert pair.acceleration_gap() < 1e-9 * max(1.0, np.abs(pair.d.qacc).max())
    wrapped = 0
    for _ in range(150):
        pair.step()
        wrapped += int(pair.d.ten_wrapnum[0] == 4)
    assert pair.gap() < 1e-8
    assert wrapped or not name.startswith(("sphere", "cylinder", "inside"))


_S = f'<spatial name="t">{_PATH}</spatial>'
_MUSCLE = 'timeconst=".01 .04" lmin=".5" lmax="1.6" vmax="1.5" fpmax="1.3" fvmax="1.2"'
ACTUATORS = {
    "ball": '<motor joint="jb" gear="1 2 -.5"/><position joint="jb" kp="3" gear="0 1 1"/>',
    "ball_in_parent": '<motor jointinparent="jb" gear="1 2 -.5"/>',
    "free": '<motor joint="ff" gear="1 2 -.5 .3 .1 -.2"/><motor jointinparent="ff" gear="1 0 0 .3 .1 -.2"/>',
    "tendon": '<position tendon="t" kp="30" gear="2"/><motor tendon="t"/>',
    "site": '<motor site="s2" gear="1 2 -.5 .3 .1 -.2"/>',
    "site_reference": '<position site="s2" refsite="ref" kp="20" gear="1 0 .5 0 0 0"/>'
    '<position site="s4" refsite="s2" kp="2" gear="0 0 0 1 .5 0"/>',
    "slider_crank": '<position cranksite="s2" slidersite="ref" cranklength=".9" kp="20" gear="1.5"/>',
    # the axis of the slider turns with its link; a short rod cannot close the crank
    "slider_crank_on_links": '<position cranksite="s4" slidersite="s2" cranklength="1.9" kp="20" gear="1.5"/>'
    '<position cranksite="s1" slidersite="s4" cranklength=".01" kp="2" gear=".5"/>',
    "muscle": f'<muscle joint="j2" lengthrange="-1 1.5" force="20" {_MUSCLE}/>',
    "muscle_scaled": f'<muscle tendon="t" lengthrange=".2 1" scale="30" {_MUSCLE} tausmooth=".3"/>',
    "activation": '<intvelocity joint="j2" kp="5" actrange="-1 1"/><cylinder joint="j3" timeconst=".1" area=".5"/>',
}


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuators(name):
    pair = ScenePair(mujoco, scene(_S, ACTUATORS[name]))
    rng = np.random.default_rng(7)
    pair.shake(rng)
    controls = rng.uniform(0.2, 1.0, pair.m.nu)
    pair.step(controls)
    assert np.abs(pair.column["act_size"][:, 0] - pair.d.actuator_length).max() < 1e-12
    assert np.abs(pair.column["act_force"] - pair.d.actuator_force).max() < 1e-9
    assert pair.acceleration_gap() < 1e-9 * max(1.0, np.abs(pair.d.qacc).max())
    pair.step(controls, n=100)
    assert pair.gap() < 1e-8


def test_bounds_on_the_sum_of_forces_on_a_tendon():
    tendon = f'<fixed name="t" actuatorfrcrange="-3 2" actuatorfrclimited="true">{_FIXED}</fixed>'
    pair = ScenePair(mujoco, scene(tendon, '<motor tendon="t"/><motor tendon="t" gear="2"/>'))
    pair.step([3.0, 2.0], n=50)
    assert np.abs(pair.column["act_force"] - pair.d.actuator_force).max() < 1e-12
    assert pair.gap() < 1e-9


def test_a_medium_with_wind():
    option = 'density="40" viscosity=".3" wind="1 -2 .5"'
    pair = ScenePair(mujoco, scene("", "", option))
    pair.shake(np.random.default_rng(2), 3.0)
    pair.step()
    assert pair.acceleration_gap() < 1e-9
    pair.step(n=200)
    assert pair.gap() < 1e-8


RATIOS = {
    "joint_in_a_chain": 'joint="j1" gear="3"',
    "fixed_tendon": 'tendon="fixed"',
    "spatial_tendon": 'tendon="t" gear="2"',
    "ball_joint": 'joint="jb" gear="0 1 2"',
    "ball_joint_in_parent": 'jointinparent="jb" gear="0 1 2"',
    "free_joint": 'joint="ff" gear="1 2 3 4 5 6"',
    "site": 'site="s3" gear="1 2 0 0 0 3"',
    "site_to_site": 'site="s1" refsite="s5" gear="1 2 0 0 0 3"',
    "slider_crank": 'cranksite="s1" slidersite="s2" cranklength="1.2"',
}


@pytest.mark.parametrize("name", RATIOS)
def test_damping_ratios_are_of_the_inertia_that_is_felt(name):
    """Joints that the actuator does not hold give way, and tendons may have inertia."""
    tendons = f'{_S}<fixed name="fixed" armature=".7">{_FIXED}</fixed>'
    drive = f'<position name="a" {RATIOS[name]} kp="50" dampratio=".6"/>'
    xml = scene(tendons, drive)
    theirs = mujoco.MjModel.from_xml_string(xml).actuator_biasprm[0, :3]
    ours = msd.build(msd.from_str(xml)).actuators.bias[0, :3]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_ways_around_shapes_at_random_places():
    """Spheres and cylinders with side sites anywhere: opposite to the string, beside it, within the shape."""
    rng, world, tendons = np.random.default_rng(4), [], []
    for k in range(300):
        centre = np.array([10.0 * k, 0.0, 0.0])
        reach = 0.1 if k % 7 == 0 else 1.0
        places = {
            "p": centre + rng.uniform(-1.0, 1.0, 3),
            "q": centre + rng.uniform(-1.0, 1.0, 3),
            "s": centre + rng.uniform(-reach, reach, 3),
        }
        kind = ("sphere", "cylinder")[k % 2]
        turn = " ".join(map(str, rng.uniform(-90.0, 90.0, 3)))
        world.append(f'<geom name="g{k}" type="{kind}" size=".4 1" pos="{centre[0]} 0 0" euler="{turn}"/>')
        world += [f'<site name="{n}{k}" pos="{x[0]} {x[1]} {x[2]}"/>' for n, x in places.items()]
        side = f'sidesite="s{k}"' if k % 5 else ""
        path = f'<site site="p{k}"/><geom geom="g{k}" {side}/><site site="q{k}"/>'
        tendons.append(f'<spatial name="t{k}" stiffness="1">{path}</spatial>')
    body = '<body name="b"><joint name="j" type="slide"/><geom size=".01"/></body>'
    pair = ScenePair(
        mujoco,
        f"""<mujoco><default><geom contype="0" conaffinity="0"/></default>
        <worldbody>{"".join(world)}{body}</worldbody><tendon>{"".join(tendons)}</tendon></mujoco>""",
    )
    pair.step()
    assert (pair.d.ten_wrapnum == 4).sum() > 80
    np.testing.assert_allclose(pair.column["tendon_size"][:, 0], pair.d.ten_length, rtol=1e-9)
