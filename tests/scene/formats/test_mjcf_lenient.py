# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What MuJoCo reads although it looks unfinished: empty numbers, cameras without a target, meshes of includes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import SceneError
from worldline._src.scene.assets.library import AssetLibrary

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("name", ["rgba", "pos", "quat", "friction", "mass", "solref", "contype", "margin"])
def test_empty_numbers_count_as_not_given(name: str) -> None:
    plain = '<mujoco><worldbody><body><geom size="1"{}/></body></worldbody></mujoco>'
    for blank in (f' {name}=""', f" {name}=' '"):
        mujoco.MjModel.from_xml_string(plain.format(blank))
        given = msd.from_str(plain.format(blank))
        assert given.to_msgpack() == msd.from_str(plain.format("")).to_msgpack()
        assert "counts as not given" in str(given.report)


@pytest.mark.parametrize("name", ["type", "fluidshape"])
def test_empty_words_are_refused(name: str) -> None:
    text = f'<mujoco><worldbody><geom size="1" {name}=""/></worldbody></mujoco>'
    with pytest.raises(ValueError, match="invalid keyword"):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(SceneError, match=f"attribute '{name}': given ''"):
        msd.from_str(text)


def test_a_camera_without_its_target_is_fixed() -> None:
    text = """<mujoco><worldbody><body name="b" pos="0 0 1" euler="10 20 30"><joint axis="1 2 3"/><geom size=".1"/>
      <camera name="c" mode="targetbody" pos=".1 .2 .3" euler="5 6 7"/><light mode="targetbodycom"/>
      <camera name="fixed" pos=".1 .2 .3" euler="5 6 7"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    assert np.array_equal(data.cam_xmat[0], data.cam_xmat[1])
    first, second = msd.from_str(text).hierarchy.bodies[0].link.cameras
    second.name = first.name
    assert first == second


@pytest.mark.parametrize("where", ["sub", "", "both"])
def test_meshes_of_an_included_file_may_lie_beside_it(tmp_path: Path, where: str) -> None:
    (tmp_path / "sub").mkdir()
    if where != "":
        (tmp_path / "sub" / "a.obj").write_text(TETRAHEDRON.format(2))
    if where != "sub":
        (tmp_path / "a.obj").write_text(TETRAHEDRON.format(3))
    included = '<mujoco><asset><mesh name="m" file="a.obj"/></asset></mujoco>'
    (tmp_path / "sub" / "inner.xml").write_text(included)
    main = '<mujoco><include file="sub/inner.xml"/><worldbody><body><geom type="mesh" mesh="m"/></body></worldbody>'
    main += "</mujoco>"
    (tmp_path / "main.xml").write_text(main)
    mass = mujoco.MjModel.from_xml_path(str(tmp_path / "main.xml")).body_mass[1]
    world = msd.from_file(tmp_path / "main.xml")
    assert not world.report.losses
    link = world.hierarchy.bodies[0].link
    assert AssetLibrary(world).link_properties(link).mass == pytest.approx(mass, rel=1e-6)


PID = """<mujoco><option integrator="Euler" timestep="0.002"><flag eulerdamp="disable"/></option><extension>
  <plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="40"/><config key="kd" value="3"/></instance>
  </plugin></extension><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0"/>
  <geom size=".1" pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body></worldbody>
  <actuator><plugin name="a" joint="j" plugin="mujoco.pid" instance="p" ctrlrange="-1 1" forcerange="-9 9"/>
  <plugin name="b" joint="j" plugin="mujoco.pid" gear="2"><config key="kp" value="7"/></plugin>{more}</actuator></mujoco>"""


def test_pid_plugins_without_memory_move_as_in_mujoco() -> None:
    text = PID.format(more="")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    scene = msd.from_str(text, strict="motion")
    assert [actuator.name for actuator in scene.actuators] == ["a", "b"]
    world = sx.World.from_scene(scene)
    data.qpos[:], data.qvel[:], data.ctrl[:] = 0.3, 0.7, (5.0, -0.2)
    joint = world.multibodies[0].joints[0]
    joint.position, joint.velocity = [0.3], [0.7]
    world.actuator_controls = [5.0, -0.2]
    mujoco.mj_forward(model, data)
    # one at its force range, and the other over twice the angle
    assert data.actuator_force == pytest.approx([9.0, 7.0 * (-0.2 - 0.6)])
    mujoco.mj_step(model, data, 200)
    world.step(n=200)
    assert joint.position[0] == pytest.approx(data.qpos[0], abs=1e-9)
