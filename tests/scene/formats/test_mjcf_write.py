# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small scenes of every kind as MJCF: MuJoCo makes the same model of what is written as of the original."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mjcf_again import scene_differences
from mjcf_twins import model_differences, motion_differences, mujoco

from worldline import msd
from worldline._src.scene.formats.mjcf.sensor_table import SENSORS


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def there_and_back(text: str) -> msd.World:
    """The scene of a text, after it was written, read again, and compared on both ways."""
    before = mujoco.MjModel.from_xml_string(text)
    world = msd.from_str(text)
    report = msd.Report()
    written = world.to_str(format="mjcf", report=report)
    assert str(report) == "nothing to report"
    assert scene_differences(world, msd.from_str(written)) == []
    after = mujoco.MjModel.from_xml_string(written)
    assert model_differences(before, after) == []
    assert motion_differences(before, after, np.random.default_rng(3)) == []
    return world


BODIES = """<body name="cart" pos="0 0 1" quat="1 2 3 4" gravcomp="0.5"><joint name="slide" type="slide" axis="1 1 0"
    range="-1 2" margin="0.01" solreflimit="0.03 0.7" solimplimit="0.8 0.9 0.01" armature="0.1" ref="0.2"/>
  <inertial pos="0.1 0 0" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
  <geom name="box" type="box" size="0.1 0.2 0.3" mass="0.5" friction="0.5 0.1" margin="0.03" gap="0.01"/>
  <site name="s" pos="0 0 0.1" euler="10 20 30" type="box" size="0.1 0.2 0.3"/>
  <body name="arm" pos="0.3 0 0"><joint name="hinge" axis="0 1 0" stiffness="3" damping="0.2" springref="20"
      frictionloss="0.1" solreffriction="-0 -50" actuatorfrcrange="-3 4" actuatorgravcomp="true"/>
    <joint name="second" axis="0 0 1" pos="0.01 0 0" range="-40 50" springdamper="0.1 0.9"/>
    <inertial pos="0 0 0" quat="1 1 0 0" mass="1" diaginertia="0.1 0.2 0.25"/>
    <geom name="bar" type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.04" priority="1" condim="4" solmix="2"/>
    <site name="t" pos="0.3 0 0"/><camera name="eye" pos="0 0 0.1" xyaxes="1 0 0 0 0 1" fovy="60"/>
    <body name="hand" pos="0.3 0 0"><joint name="wrist" type="ball" range="0 60" damping="0.3"/>
      <geom name="palm" type="ellipsoid" size="0.05 0.06 0.07" fluidshape="ellipsoid" fluidcoef="0.4"/></body>
  </body></body>
 <body name="crate" pos="2 0 1"><joint name="free" type="free" armature="0.2" damping="0.1" stiffness="0.5"/>
   <geom name="cyl" type="cylinder" size="0.1 0.2" density="500" shellinertia="true" contype="2" conaffinity="5"/></body>
 <body name="ghost" mocap="true" pos="1 1 1"><geom name="halo" size="0.1" contype="0" conaffinity="0"/></body>
 <geom name="floor" type="plane" size="5 5 0.1" rgba="0.2 0.3 0.4 1"/><site name="u" pos="0 0 2"/>
 <light name="lamp" pos="0 0 3" dir="0 1 -1" type="point" intensity="30" range="7" bulbradius="0.1"/>
 <light name="sun" type="directional" castshadow="false" mode="targetbody" target="hand"/>
 <camera name="watch" mode="targetbody" target="arm" resolution="640 480" sensorsize="0.01 0.02" focal="0.03 0.04"/>
 <frame name="mark" pos="1 2 3" euler="0 0 90"/>"""


def model(*sections: str) -> str:
    return f"<mujoco model='small'><worldbody>{BODIES}</worldbody>{''.join(sections)}</mujoco>"


def test_bodies_joints_geoms_cameras_lights_and_frames() -> None:
    world = there_and_back(model())
    assert world.frames[0].name == "mark"


def test_contact_pairs_and_ignored_pairs() -> None:
    there_and_back(
        model(
            """<contact><pair name="p" geom1="box" geom2="floor" condim="6" friction="1 2 0.1 0.2 0.3" margin="0.02"
            gap="0.01" solref="0.05 0.8" solreffriction="-200 -30" solimp="0.7 0.8 0.02 0.4 3"/>
            <pair geom1="bar" geom2="floor"/><exclude body1="cart" body2="hand"/>
            <exclude body1="world" body2="arm"/></contact>"""
        )
    )


def test_equalities_of_every_kind() -> None:
    there_and_back(
        model(
            """<equality><connect name="c" body1="hand" body2="crate" anchor="0.1 0 0" solref="0.1 1"/>
            <connect site1="s" site2="u" active="false"/>
            <weld name="w" body1="crate" relpose="0.1 0.2 0.3 1 2 3 4" anchor="0.4 0.5 0.6" torquescale="0.7"/>
            <weld site1="t" site2="u"/><weld body1="arm" body2="crate"/>
            <joint name="j" joint1="hinge" joint2="second" polycoef="0.1 2 0.3 0.4 0.5"/><joint joint1="slide"/>
            <tendon tendon1="sum" tendon2="path" polycoef="0.5 0.6"/></equality>""",
            TENDONS,
        )
    )


TENDONS = """<tendon><fixed name="sum" range="-1 2" stiffness="4" damping="0.5" springlength="0.1 0.2" armature="0.1">
    <joint joint="hinge" coef="2"/><joint joint="slide" coef="-0.5"/></fixed>
  <spatial name="path" width="0.01" rgba="1 0 0 1" frictionloss="0.2" actuatorfrcrange="-5 6" springlength="0.3"
    stiffness="2" solreflimit="-100 -20"><site site="s"/><geom geom="cyl" sidesite="u"/><site site="t"/>
    <pulley divisor="2"/><site site="t"/><site site="u"/></spatial></tendon>"""


def test_tendons_of_both_kinds() -> None:
    there_and_back(model(TENDONS))


ACTUATORS = """<actuator><motor name="motor" joint="hinge" gear="3" ctrlrange="-1 1" forcerange="-2 3" group="2"/>
  <position name="servo" joint="hinge" kp="20" kv="2"/><position name="ratio" joint="slide" kp="30" dampratio="0.7"/>
  <position name="slow" joint="hinge" kp="5" timeconst="0.1" inheritrange="0"/>
  <velocity name="speed" joint="second" kv="4"/>
  <intvelocity name="int" joint="hinge" kp="10" kv="1" actrange="-1 1"/>
  <damper name="damper" joint="slide" kv="3" ctrlrange="0 1"/>
  <cylinder name="cylinder" joint="slide" area="2" bias="1 2 3" timeconst="0.3"/>
  <muscle name="muscle" tendon="sum" lengthrange="0.1 2" force="50" timeconst="0.02 0.05" tausmooth="0.1"/>
  <adhesion name="stick" body="hand" gain="5" ctrlrange="0 2"/>
  <general name="any" joint="second" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5 -6"
    dyntype="filter" dynprm="0.4" actrange="-3 3" actearly="true"/>
  <general name="servo_ratio" joint="hinge" gainprm="7" biastype="affine" biasprm="0 -7 0.8"/>
  <motor name="base" joint="free" gear="1 2 3 4 5 6"/><motor name="ball" joint="wrist" gear="0 1 2"/>
  <motor name="parent" jointinparent="wrist" gear="1 0 1"/>
  <motor name="at_site" site="t" refsite="s" gear="1 2 3 4 5 6"/><motor name="thrust" site="s"/>
  <motor name="crank" cranksite="t" slidersite="u" cranklength="0.5"/>
  <motor name="pull" tendon="path" gear="-2"/></actuator>"""


def test_actuators_of_every_law_and_target() -> None:
    world = there_and_back(model(TENDONS, ACTUATORS))
    assert {a.target.variant for a in world.actuators} == {
        *("joint", "floating_base", "tendon", "link", "joint_in_parent", "site", "slider_crank")
    }
    assert {a.actuator_type.variant for a in world.actuators} == {
        *("general", "motor", "position", "velocity", "adhesion")
    }


def sensor_text(tag: str) -> str:
    kind = SENSORS[tag]
    names = {
        "site": "t",
        "joint": "hinge",
        "tendon": "path",
        "actuator": "motor",
        "body": "arm",
        "camera": "eye",
    }
    if tag.startswith("ball"):
        names["joint"] = "wrist"
    if "limit" in tag:
        names |= {"joint": "second", "tendon": "sum"}
    if kind.form == "frame":
        reference = "" if tag.endswith("acc") else ' reftype="site" refname="s"'
        forms = [
            ("geom", "palm", reference),
            ("body", "arm", ""),
            ("xbody", "hand", reference),
            ("camera", "eye", ""),
        ]
        return "".join(f'<{tag} objtype="{t}" objname="{n}"{r}/>' for t, n, r in forms)
    if kind.form == "inside":
        return f'<{tag} site="s" objtype="geom" objname="palm"/>'
    if kind.form == "distance":
        return f'<{tag} name="{tag}" geom1="box" geom2="floor" cutoff="2"/><{tag} body1="crate" geom2="palm" cutoff="1"/>'
    if kind.form == "contact":
        return (
            f'<{tag} geom1="box" geom2="floor"/><{tag} body1="arm" body2="crate" data="found force pos" num="3"/>'
            f'<{tag} subtree1="cart" subtree2="crate" reduce="netforce" data="force"/><{tag} site="s" geom2="palm"/>'
        )
    targets = " ".join(f'{attribute}="{names[attribute]}"' for attribute, _ in kind.targets)
    cutoff = "" if tag == "ballquat" else 'cutoff="0.5"'
    return f'<{tag} name="{tag}" {targets} noise="0.1" {cutoff}/>'


@pytest.mark.parametrize("tag", sorted(SENSORS))
def test_sensor(tag: str) -> None:
    there_and_back(model(TENDONS, ACTUATORS, f"<sensor>{sensor_text(tag)}</sensor>"))


def test_order_period_and_delay_of_sensors() -> None:
    world = there_and_back(
        model(
            """<sensor><clock name="a"/><jointpos joint="hinge" interval="0.1"/><touch name="b" site="s"/>
            <jointvel name="c" joint="hinge" delay="0.02" nsample="11"/><gyro site="s"/></sensor>"""
        )
    )
    assert len(world.sensors.order) == 5


def test_keyframes_with_everything() -> None:
    text = model(TENDONS, ACTUATORS)
    m = mujoco.MjModel.from_xml_string(text)
    rng = np.random.default_rng(1)
    qpos = m.qpos0 + 0.1 * rng.normal(size=m.nq)
    numbers = {
        "qpos": qpos,
        "qvel": rng.normal(size=m.nv),
        "ctrl": rng.normal(size=m.nu),
        "act": rng.uniform(size=m.na),
    }
    numbers |= {"mpos": rng.normal(size=3), "mquat": np.array([0.5, 0.5, -0.5, 0.5])}
    words = " ".join(f'{key}="{" ".join(map(str, values))}"' for key, values in numbers.items())
    frames = f'<keyframe><key name="all" time="1.5" {words}/><key name="none"/><key name="some" ctrl="1 2"/></keyframe>'
    world = msd.from_str(text.replace("</mujoco>", f"{frames}</mujoco>"))
    written = world.to_str(format="mjcf", strict=True)
    assert scene_differences(world, msd.from_str(written)) == []
    after = mujoco.MjModel.from_xml_string(written)
    # the reader keeps quaternions at unit length
    unit = qpos.copy()
    for start in [
        int(m.jnt_qposadr[i]) + (3 if m.jnt_type[i] == 0 else 0) for i in range(m.njnt) if m.jnt_type[i] < 2
    ]:
        unit[start : start + 4] /= np.linalg.norm(unit[start : start + 4])
    np.testing.assert_allclose(after.key_qpos[0], unit, rtol=1e-14)
    for key in ("qvel", "ctrl", "act", "mpos", "mquat"):
        np.testing.assert_array_equal(getattr(after, f"key_{key}")[0], numbers[key])
    assert after.key_time[0] == 1.5 and after.key_ctrl[2][1] == 2.0


ASSETS = """<asset><mesh name="rock" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>
  <mesh name="cloud" vertex="0 0 0 0.5 0 0 0 0.5 0 0 0 0.25" face="0 2 1 0 1 3 0 3 2 1 2 3" inertia="convex"
    texcoord="0 0 1 0 0 1 1 1" normal="0 0 1 1 0 0 0 1 0 0 0 1"/>
  <hfield name="hill" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 1 0.5 0.25 0 1"/>
  <texture name="grid" type="2d" builtin="checker" width="64" height="32" rgb1="0.1 0.2 0.3" mark="edge"/>
  <texture name="sky" type="skybox" builtin="gradient" width="32" height="192"/>
  <material name="shiny" texture="grid" texrepeat="2 3" texuniform="true" reflectance="0.3" specular="0.2" rgba="1 0 0 0.5"/>
  <material name="layered"><layer role="rgb" texture="grid"/><layer role="normal" texture="grid"/></material></asset>
  <worldbody><geom name="ground" type="hfield" hfield="hill" pos="0 0 -1"/>
  <body><freejoint/><geom name="stone" type="mesh" mesh="rock" material="shiny"/></body>
  <body pos="1 0 0"><freejoint/><geom type="mesh" mesh="cloud" material="layered" rgba="0 1 0 1"/>
  <geom type="box" mesh="rock" fitscale="1.2" pos="0 1 0"/></body></worldbody>"""


def test_meshes_height_fields_textures_and_materials() -> None:
    there_and_back(f"<mujoco>{ASSETS}</mujoco>")


def test_options_flags_view_and_custom_data() -> None:
    world = there_and_back(
        """<mujoco><compiler boundmass="0.01" boundinertia="0.001" balanceinertia="true" inertiagrouprange="0 3"
        settotalmass="3"/><option timestep="0.005" integrator="implicitfast" solver="CG" cone="elliptic" iterations="7"
        tolerance="1e-5" gravity="0 1 -2" wind="1 2 3" density="1.2" viscosity="0.1" impratio="2" noslip_iterations="3"
        ls_iterations="9" ccd_iterations="12" actuatorgroupdisable="1 3" sleep_tolerance="0.01" magnetic="1 0 0"
        o_margin="0.1" o_solref="0.03 0.9" o_solimp="0.8 0.9" o_friction="1 2 3 4 5">
        <flag gravity="disable" contact="disable" energy="enable" sleep="enable" override="enable"/></option>
        <statistic extent="2" center="1 2 3" meansize="0.1"/>
        <visual><global azimuth="10" elevation="-20" fovy="30"/><map znear="0.05" zfar="30"/><rgba haze="1 0 0 1"/></visual>
        <custom><numeric name="n" data="1 2 3"/><text name="t" data="hello &amp; good bye"/></custom>
        <worldbody><body><joint/><geom size="0.1"/><geom size="0.2" group="4"/></body></worldbody></mujoco>"""
    )
    assert world.custom.text["t"] == "hello & good bye"


def test_mesh_files_are_found_from_the_new_place(tmp_path: Path) -> None:
    cube = Path(__file__).parents[2] / "data" / "cube.stl"
    (tmp_path / "in" / "meshes").mkdir(parents=True)
    (tmp_path / "in" / "meshes" / "cube.stl").write_bytes(cube.read_bytes())
    source = tmp_path / "in" / "a.xml"
    source.write_text(
        """<mujoco><compiler meshdir="meshes"/><asset><mesh name="c" file="cube.stl" scale="0.1 0.1 0.1" refpos="1 0 0"
        refquat="1 1 0 0" inertia="exact"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="c"/></body>
        </worldbody></mujoco>"""
    )
    world = msd.from_file(source)
    target = tmp_path / "b.xml"
    assert len(world.to_file(target)) == 0
    assert 'file="in/meshes/cube.stl"' in target.read_text()
    models = [mujoco.MjModel.from_xml_path(str(path)) for path in (source, target)]
    assert model_differences(*models) == []
    assert msd.from_file(target).assets.meshes["c"].value["path"] == "in/meshes/cube.stl"


def test_a_mesh_used_in_several_ways_becomes_several(tmp_path: Path) -> None:
    world = msd.from_str(f"<mujoco>{ASSETS}</mujoco>")
    geoms = [geom for link in world.hierarchy.links() for geom in link.geoms]
    geoms[0].mesh_scale = (2.0, 2.0, 2.0)
    geoms[2].mesh_inertia = "Exact"
    report = world.to_file(tmp_path / "a.xml", strict=True)
    assert [entry.fate.value for entry in report] == ["kept", "kept"]
    assert [entry.path for entry in report] == [
        "$.hierarchy.bodies[0].link.geoms[0].mesh",
        "$.hierarchy.bodies[1].link.geoms[1].mesh",
    ]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml"))
    assert model.nmesh == 3
    built = msd.build(world)
    np.testing.assert_allclose(sorted(built.body_mass), sorted(model.body_mass[1:]), rtol=1e-6)
