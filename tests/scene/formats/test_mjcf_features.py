# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One feature of MJCF at a time against what MuJoCo compiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mjcf_compare import compare, compare_file, mujoco

from worldline import msd


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # MuJoCo writes its warnings to a file in the working directory
    monkeypatch.chdir(tmp_path)


def body(inside: str, more: str = "", header: str = "") -> str:
    return (
        f"<mujoco>{header}<worldbody><body name='b'><geom name='g' size='0.1'/>"
        f"<site name='s'/><site name='t'/>{inside}</body></worldbody>{more}</mujoco>"
    )


@pytest.mark.parametrize("angle", ["degree", "radian"])
def test_angles_of_joints(angle: str) -> None:
    header = f"<compiler angle='{angle}'/>"
    compare(body("<joint range='-1 2' ref='0.3' springref='0.7' stiffness='2'/>", header=header))
    compare(body("<joint type='slide' range='-1 2' ref='0.3' springref='0.7'/>", header=header))
    compare(body("<joint type='ball' range='0 1' ref='0.3' springref='0.7' damping='2'/>", header=header))


@pytest.mark.parametrize("sequence", ["xyz", "XYZ", "zyx", "ZYX", "xYz", "zxz", "YxY"])
def test_sequences_of_euler_angles(sequence: str) -> None:
    header = f"<compiler eulerseq='{sequence}'/>"
    compare(body("<geom size='1' euler='10 20 30'/><site euler='-100 200 70'/>", header=header))


@pytest.mark.parametrize(
    "form",
    [
        "quat='1 2 3 4'",
        "axisangle='1 2 3 40'",
        "xyaxes='1 2 0 -1 1 3'",
        "zaxis='1 2 3'",
        "zaxis='0 0 -1'",
        "xyaxes='-1 0 0 0 -1 0'",
        "xyaxes='-1 0 0 0 1 0'",
        "xyaxes='1 0 0 0 -1 0'",
        "quat='-1 0 0 0'",
    ],
)
def test_forms_of_orientation(form: str) -> None:
    compare(body(f"<geom size='1' {form}/><camera {form}/><body {form}><geom size='1'/></body>"))


@pytest.mark.parametrize("shape", ["capsule", "cylinder", "box", "ellipsoid"])
@pytest.mark.parametrize("ends", ["0 0 0 1 2 3", "0 0 1 0 0 0", "0 0 0 0 0 1", "1 1 1 -1 1 1"])
def test_shapes_between_two_points(shape: str, ends: str) -> None:
    compare(body(f"<geom type='{shape}' size='0.1 0.2 0.3' fromto='{ends}'/>"))
    compare(body(f"<site type='{shape}' size='0.1 0.2 0.3' fromto='{ends}'/>"))


def test_default_classes_fill_in_number_by_number() -> None:
    text = """<mujoco><default><geom friction="2 0.3 0.4" solimp="0.5 0.6 0.7" euler="10 20 30" size="1 2 3"/>
      <default class="a"><geom quat="1 0 0 1" solref="0.1"/><default class="b"><geom zaxis="1 0 0"
      friction="5"/>
      </default></default></default><worldbody><geom size="0.5"/><geom class="a" type="box"/>
      <geom class="b" friction="7 8" euler="0 0 5"/><body childclass="b"><geom/><geom class="main"/>
      <frame childclass="a"><geom/><body><geom/></body></frame></body></worldbody></mujoco>"""
    compare(text)


def test_a_later_default_section_does_not_reach_older_classes() -> None:
    compare(
        "<mujoco><default><default class='a'/></default>"
        "<default><geom friction='3'/><default class='b'/></default>"
        "<worldbody><geom size='1'/><geom size='1' class='a'/><geom size='1' class='b'/></worldbody></mujoco>"
    )


def test_frames_move_what_they_hold() -> None:
    compare(
        body(
            "<frame pos='1 2 3' euler='10 20 30'><joint pos='1 1 0' axis='1 2 3'/>"
            "<inertial pos='1 2 3' mass='1'"
            " fullinertia='2 3 4 0.1 0.2 0.3'/><frame quat='1 1 0 0'><geom type='capsule' size='0.1'"
            " fromto='0 0 0 1 1 1'/><light pos='1 0 0' dir='1 2 3'/><camera pos='1 0 0'/>"
            "<site zaxis='1 2 3'/>"
            "<body pos='1 0 0' euler='1 2 3'><geom size='1'/></body></frame></frame>"
        ),
        losses=True,
    )


def test_principal_axes_in_a_frame() -> None:
    compare(
        body(
            "<joint/><frame pos='1 2 3' euler='10 20 30'><inertial pos='1 2 3' mass='1' diaginertia='2 3 4'"
            " euler='40 50 60'/></frame>"
        )
    )


def test_ranges_from_high_to_low_limit_nothing() -> None:
    world = compare(body("<joint range='1 -1'/>"), losses=True)
    assert not world.report.is_exact


def test_free_bodies_and_mocap_bodies() -> None:
    text = """<mujoco><default><joint damping="2" armature="1" stiffness="3" frictionloss="4"/></default>
      <worldbody><frame pos="0 0 1"><body name="a"><freejoint name="f"/><geom size="1"/></body></frame>
      <body name="b"><joint type="free"/><geom size="1"/></body><body name="c" mocap="true" pos="1 2 3"
      quat="1 1 0 0"><geom size="1"/><body><joint/><geom size="1"/></body></body></worldbody>
      <keyframe><key name="k" time="2" qpos="1 2 3 2 0 0 0 4 5 6 0 0 3 0 0.5" qvel="1 2 3 4 5 6 7 8 9 10 11
      12 13"
      mpos="7 8 9" mquat="0 0 0 2"/><key qpos="1 2"/><key/></keyframe></mujoco>"""
    compare(text)


def test_keyframes_follow_the_order_of_the_tree() -> None:
    # a free base in the second tree comes before the joints of the first in a scene
    text = """<mujoco><worldbody><body><geom size="1"/><joint type="ball" name="b"/><body><geom size="1"/>
      <joint name="h"/><joint type="slide" name="s" axis="1 0 0"/></body></body><body><freejoint name="f"/>
      <geom size="1"/></body></worldbody><actuator><motor joint="h"/><intvelocity joint="s"
      kp="1"/></actuator>
      <keyframe><key qpos="0 1 0 0 0.1 0.2 1 2 3 1 1 1 1" qvel="1 2 3 4 5 6 7 8 9 10 11" ctrl="3 4" act="5"/>
      </keyframe></mujoco>"""
    world = compare(text)
    assert world.keyframes[0].dof_pos.tolist() == [1, 2, 3, 0.5, 0.5, 0.5, 0.5, 1, 0, 0, 0, 0.1, 0.2]
    assert world.keyframes[0].dof_vel.tolist() == [6, 7, 8, 9, 10, 11, 1, 2, 3, 4, 5]


ACTUATORS = {
    "control of a servo is no angle": ("", "<position joint='j' kp='10' kv='2' ctrlrange='-90 90'/>"),
    "damping ratio and filter": ("", "<position joint='j' kp='10' dampratio='1' timeconst='0.5'/>"),
    "inherited range": (
        "",
        "<position joint='j' inheritrange='0.5'/><intvelocity joint='j' inheritrange='2'/>",
    ),
    "inherited range against a given one": (
        "<position kp='10' inheritrange='1'/>",
        "<general joint='j' ctrlrange='0 5' gainprm='1' biasprm='0 -1'/><position joint='j' ctrlrange='0 5'/>"
        "<position joint='j' inheritrange='0' ctrlrange='0 3'/><motor joint='j'/>"
        "<position joint='j' inheritrange='1' ctrllimited='false'/>",
    ),
    "general default": (
        "<general gainprm='400' biasprm='5 6 7' dynprm='3' dyntype='filter' biastype='affine'/>",
        "<position joint='j' kv='1'/><motor joint='j'/><velocity joint='j'/><general joint='j'/>"
        "<cylinder joint='j'/><intvelocity joint='j'/>",
    ),
    "servo default": (
        "<position kp='7' kv='3' timeconst='0.2' ctrlrange='-1 1' gear='3'/>",
        "<position joint='j'/><general joint='j'/><intvelocity joint='j'/><velocity joint='j'/>"
        "<motor joint='j'/>"
        "<position joint='j' kp='9'/><position joint='j' timeconst='0'/>",
    ),
    "ratio gives way to damping": (
        "<position kp='7' dampratio='3'/>",
        "<position joint='j' kv='1'/><position joint='j'/>",
    ),
    "damper": ("<damper kv='7' ctrlrange='0 1'/>", "<damper joint='j'/><damper joint='j' kv='3'/>"),
    "cylinder": ("", "<cylinder joint='j' diameter='2' bias='1 2 3' timeconst='4'/>"),
    "muscle": (
        "<muscle force='7' lmax='1.7'/>",
        "<muscle joint='j' lengthrange='0 1' range='0.8 0.9' timeconst='0.3 0.4' tausmooth='0.1'/>",
    ),
    "adhesion": ("<adhesion gain='7'/>", "<adhesion body='b' ctrlrange='0 1'/>"),
    "activation": (
        "",
        "<general joint='j' dyntype='integrator' actrange='0 1' gainprm='1 2 3' gaintype='affine'/>"
        "<general joint='j' dyntype='filterexact' dynprm='0.3' biastype='affine' biasprm='1 2 3'/>",
    ),
    "targets": (
        "",
        "<motor site='s' gear='1 2 3 4 5 6'/><motor site='s' refsite='t'/>"
        "<motor cranksite='s' slidersite='t' cranklength='2'/><motor jointinparent='j'/>",
    ),
    "limits": (
        "",
        "<motor joint='j' ctrlrange='0 0'/><motor joint='j' ctrlrange='-1 2' ctrllimited='false'/>"
        "<motor joint='j' forcerange='-3 4' group='3'/>",
    ),
}


@pytest.mark.parametrize("case", ACTUATORS)
def test_actuators(case: str) -> None:
    defaults, actuators = ACTUATORS[case]
    header = f"<compiler><lengthrange mode='none'/></compiler><default>{defaults}</default>"
    joint = "<joint name='j' range='-90 90'/>"
    compare(body(joint, f"<actuator>{actuators}</actuator>", header), losses=True)


def test_controller_of_position_and_speed_is_two_servos() -> None:
    text = body("<joint name='j'/>", "<actuator><pid name='p' joint='j' kp='3' kv='2'/></actuator>")
    world = msd.from_str(text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = 0.3, 0.7, (0.2, -0.4)
    mujoco.mj_forward(model, data)
    force = 0.0
    for control, actuator in zip(data.ctrl, world.actuators, strict=True):
        kind, value = actuator.actuator_type.variant, actuator.actuator_type.value
        if kind == "position":
            force += value.kp * (control - 0.3) - value.damping_value * 0.7
        else:
            force += value * (control - 0.7)
    assert force == pytest.approx(data.qfrc_actuator[0], rel=1e-12)


def test_motor_without_inductance_is_affine() -> None:
    text = body(
        "<joint name='j'/>", "<actuator><dcmotor joint='j' resistance='2' motorconst='3 5'/></actuator>"
    )
    value = msd.from_str(text).actuators[0].actuator_type.value
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = 0.7, 0.2
    mujoco.mj_forward(model, data)
    force = value.gainprm[0] * 0.2 + value.biasprm[2] * 0.7
    assert force == pytest.approx(data.qfrc_actuator[0], rel=1e-12)


def test_inertia_of_an_actuator_goes_to_its_joint() -> None:
    text = body(
        "<joint name='j' armature='1' damping='5'/>",
        "<actuator><motor joint='j' gear='3' armature='2' damping='4'/></actuator>",
    )
    joint = msd.from_str(text).hierarchy.bodies[0].link.joints[0]
    assert joint.armature == 1.0 + 9.0 * 2.0
    assert joint.spring_damper is not None
    assert joint.spring_damper.coeff.value.d == 5.0 + 9.0 * 4.0
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.7
    mujoco.mj_forward(model, data)
    assert data.qfrc_passive[0] == pytest.approx(-0.7 * 41.0)
    full = np.zeros((1, 1))
    mujoco.mj_fullM(model, full, data.qM) if hasattr(data, "qM") else full.fill(data.M[0])
    plain = mujoco.MjModel.from_xml_string(body("<joint/>"))
    other = mujoco.MjData(plain)
    mujoco.mj_forward(plain, other)
    alone = other.qM[0] if hasattr(other, "qM") else other.M[0]
    assert full[0, 0] - alone == pytest.approx(joint.armature)


def test_every_sensor() -> None:
    sensors = """<touch site="s"/><accelerometer site="s"/><velocimeter site="s"/><gyro site="s"/><force
      site="s"/>
      <torque site="s"/><magnetometer site="s"/><rangefinder site="s"/><camprojection site="s" camera="c"/>
      <jointpos joint="j"/><jointvel joint="j" noise="0.1" cutoff="2"/><jointactuatorfrc joint="j"/>
      <ballquat joint="k"/><ballangvel joint="k"/><jointlimitpos joint="j"/><jointlimitvel joint="j"/>
      <jointlimitfrc joint="j"/><tendonpos tendon="d"/><tendonvel tendon="d"/><tendonactuatorfrc tendon="d"/>
      <tendonlimitpos tendon="d"/><tendonlimitvel tendon="d"/><tendonlimitfrc tendon="d"/>
      <actuatorpos actuator="m"/><actuatorvel actuator="m"/><actuatorfrc actuator="m"/>
      <framepos objtype="body" objname="b"/><framequat objtype="xbody" objname="b"/>
      <framexaxis objtype="geom" objname="g" reftype="site" refname="s"/><frameyaxis objtype="site"
      objname="s"/>
      <framezaxis objtype="camera" objname="c"/><framelinvel objtype="site" objname="s" reftype="xbody"
      refname="b"/>
      <frameangvel objtype="site" objname="s"/><framelinacc objtype="site" objname="s"/>
      <frameangacc objtype="site" objname="s"/><subtreecom body="b"/><subtreelinvel body="b"/>
      <subtreeangmom body="b"/><insidesite site="s" objtype="site" objname="t"/>
      <distance geom1="g" geom2="h" cutoff="1"/><normal geom1="g" body2="b2" cutoff="1"/>
      <fromto body1="b" body2="b2" cutoff="1"/><contact geom1="g" geom2="h" num="2" data="found force pos"/>
      <contact subtree1="b" reduce="netforce" data="force"/><e_potential/><e_kinetic/><clock name="time"/>"""
    text = f"""<mujoco><worldbody><body name="b"><geom name="g" size="1"/><site name="s"/><site name="t"/>
      <camera name="c"/><joint name="j" range="0 1"/></body><body name="b2"><joint name="k" type="ball"/>
      <geom name="h" size="1"/></body></worldbody><tendon><fixed name="d" range="0 1"><joint joint="j"
      coef="1"/>
      </fixed></tendon><actuator><motor name="m" joint="j"/></actuator><sensor>{sensors}</sensor></mujoco>"""
    world = compare(text)
    assert len(world.sensors.order) == 47
    contact = world.sensors.contact[0]
    assert contact.match_ == msd.ContactMatch.geom_pair("g", "h")
    assert (contact.max_num, contact.report.force, contact.report.dist) == (2, True, False)
    assert world.sensors.contact[1].reduce is msd.ContactSensorReduce.NetForce


def test_equality_constraints_of_bodies_and_sites() -> None:
    text = """<mujoco><default><equality solref="0.1 0.5"/></default><worldbody><body name="a"><joint/>
      <geom size="1"/><site name="s"/></body><body name="b" pos="1 0 0" euler="10 20 30"><joint name="j"/>
      <geom size="1"/><site name="t"/></body></worldbody><equality><connect body1="a" anchor="1 2 3"/>
      <connect name="n" body1="a" body2="b" anchor="1 2 3" active="false" solimp="0.8"/><connect site1="s"
      site2="t"/>
      <weld body1="a" body2="b"/><weld body1="a" relpose="1 2 3 1 2 3 4" anchor="4 5 6" torquescale="0.3"/>
      <weld site1="s" site2="t" torquescale="2"/><joint joint1="j" polycoef="0 2"/></equality></mujoco>"""
    compare(text)


def test_replicas_bring_what_refers_to_them() -> None:
    text = """<mujoco><worldbody><geom name="g0" size=".1"/><body name="pre"><geom size=".1"/><joint
      name="pj"/></body>
      <replicate count="3" sep="-" offset="1 2 0" euler="10 0 90"><body name="A" pos="0 1 0"><joint name="j"/>
      <geom name="g" size=".1"/><site name="s"/></body><geom name="rg" size=".1" pos="0 1 0"/></replicate>
      <body name="post"><geom size=".1" name="pg"/><joint name="qj"/></body></worldbody>
      <actuator><motor name="m1" joint="pj"/><motor name="m2" joint="j"/><motor name="m3" joint="qj"/>
      <position name="m4" joint="j"/><motor joint="j-1"/></actuator><sensor><jointpos name="s1" joint="j"/>
      <jointpos name="s2" joint="pj"/><jointvel name="s3" joint="j"/></sensor><contact>
      <pair geom1="g" geom2="rg"/><exclude body1="A" body2="world"/></contact><equality><joint joint1="j"/>
      <weld body1="A"/></equality><tendon><fixed name="t"><joint joint="j"
      coef="1"/></fixed></tendon></mujoco>"""
    world = compare(text)
    assert [a.name for a in world.actuators[3:]] == ["m2-0", "m4-0", "m2-1", "m4-1", "m2-2", "m4-2"]


def test_replicas_within_replicas() -> None:
    text = """<mujoco><worldbody><replicate count="2" offset="0 1 0" euler="90 0 0">
      <replicate count="12" sep="-" offset="1 0 0" euler="0 30 0"><site name="Alice" size=".1"/></replicate>
      <site name="Carl"/></replicate></worldbody><sensor><accelerometer name="Bob" site="Alice"/>
      <gyro name="C" site="Carl"/></sensor></mujoco>"""
    compare(text)


CHILD = """<mujoco model="child"><compiler angle="radian" eulerseq="ZYX" autolimits="false"/>
  <default><geom rgba="1 0 0 1"/><joint damping="3"/><default class="c1"><geom
  friction="7"/></default></default>
  <asset><material name="mat" rgba="0 1 0 1"/></asset><worldbody><geom name="floor" type="plane" size="1 1
  1"/>
  <frame name="fr" pos="0 0 7" euler="0 0 0.5" childclass="c1"><body name="inf"><geom
  size=".1"/></body></frame>
  <body name="base" pos="1 2 3" euler="0.1 0.2 0.3"><joint name="j1" range="-1 1" limited="true"/>
  <geom name="g" size=".1" class="c1" material="mat"/><site name="s"/>
  <body name="tip" pos="0 0 1"><joint name="j2"/><geom size=".1"/></body></body>
  <body name="other"><joint name="j3" type="ball"/><geom size=".1"/></body></worldbody>
  <actuator><motor name="m1" joint="j1"/><motor name="m3" joint="j3"/></actuator>
  <sensor><jointpos name="sj1" joint="j1"/></sensor>
  <contact><exclude body1="base" body2="tip"/><exclude body1="base" body2="other"/></contact>
  <keyframe><key name="home" qpos="0.1 0.2 0 1 0 0" ctrl="1 2"/></keyframe></mujoco>"""
PARENTS = {
    "a body": "<body name='m' pos='5 0 0'><joint name='p'/><geom size='.1'/>"
    "<attach model='child' body='base' prefix='c_'/></body>",
    "all of it": "<body name='m'><joint name='p'/><geom size='.1'/></body>"
    "<attach model='child' prefix='c_'/>",
    "a frame": "<body><joint name='p'/><geom size='1'/></body><frame pos='0 0 1' euler='0 0 90'>"
    "<attach model='child' frame='fr' prefix='c_'/></frame>",
    "twice": "<body><joint name='p'/><geom size='1'/></body><frame pos='0 0 1'>"
    "<attach model='child' body='base' prefix='a_'/></frame><frame pos='0 0 2'>"
    "<attach model='child' body='base' prefix='b_'/></frame>",
    "in replicas": "<body><joint name='p'/><geom size='1'/></body><replicate count='2' offset='1 0 0'>"
    "<attach model='child' body='base' prefix='a_'/></replicate>",
    "a deep body": "<body><joint name='p'/><geom size='1'/>"
    "<attach model='child' body='tip' prefix='c_'/></body>",
}


@pytest.mark.parametrize("case", PARENTS)
def test_attached_models(case: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "child.xml").write_text(CHILD)
    parent = tmp_path / "parent.xml"
    parent.write_text(
        "<mujoco><default><geom friction='9'/><default class='pc'><geom rgba='0 0 1 1'/></default></default>"
        "<asset><model name='child' file='sub/child.xml'/></asset>"
        f"<worldbody><frame childclass='pc'>{PARENTS[case]}</frame></worldbody>"
        "<actuator><motor name='pm' joint='p'/></actuator>"
        "<keyframe><key name='pk' qpos='9'/></keyframe></mujoco>"
    )
    compare_file(parent)


def test_attaching_a_body_of_the_same_model() -> None:
    text = """<mujoco><worldbody><body name="x" pos="0 0 1"><joint name="xj"/><geom size=".1"/></body><body
      name="y">
      <geom size=".1"/><attach body="x" prefix="p_"/></body></worldbody><actuator><motor name="xm"
      joint="xj"/>
      </actuator></mujoco>"""
    compare(text)


def test_includes_anywhere_and_within_includes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.xml").write_text(
        "<mujoco><default><include file='sub/defaults.xml'/></default>"
        "<worldbody><body><include file='sub/body.xml'/>"
        "</body></worldbody><include file='sub/more.xml'/></mujoco>"
    )
    (tmp_path / "sub" / "defaults.xml").write_text("<x><geom friction='3'/></x>")
    (tmp_path / "sub" / "body.xml").write_text("<x><joint name='j'/><include file='geom.xml'/></x>")
    (tmp_path / "sub" / "geom.xml").write_text("<x><geom size='1'/><geom size='2'/></x>")
    (tmp_path / "sub" / "more.xml").write_text(
        "<mujoco><compiler angle='radian'/><actuator><include file='sub/motor.xml'/></actuator></mujoco>"
    )
    (tmp_path / "sub" / "motor.xml").write_text("<x><motor joint='j'/></x>")
    compare_file(tmp_path / "main.xml")


def test_options_and_flags() -> None:
    text = """<mujoco><option timestep="0.01" gravity="0 1 2" wind="1 2 3" magnetic="4 5 6" density="1.2"
      viscosity="0.1" impratio="10" integrator="implicit" cone="elliptic" solver="CG" iterations="7"
      tolerance="1e-5" ls_iterations="9" noslip_iterations="3"><flag gravity="disable" contact="disable"
      eulerdamp="disable" energy="enable" clampctrl="disable" refsafe="disable"/></option>
      <option timestep="0.005"><flag gravity="enable" limit="disable"/></option></mujoco>"""
    compare(text.replace('"implicit"', '"implicitfast"'))
    (loss,) = compare(text, losses=True).report.losses
    assert "velocity-product forces stay explicit" in str(loss)


def test_pairs_and_margins() -> None:
    text = """<mujoco><default><pair condim="4" friction="2 3"/></default><worldbody><geom name="a"
      size="1" margin="0.2"
      gap="0.1"/><body><joint/><geom name="b" size="1"/><geom name="c" size="1"/></body></worldbody><contact>
      <pair name="p" geom1="a" geom2="b" margin="0.3" gap="0.1" solref="-100 -10" friction="1 2 3 4 5"/>
      <pair geom1="a" geom2="c" solreffriction="0.05 1"/></contact></mujoco>"""
    compare(text)


def test_tendon_springs_and_paths() -> None:
    text = """<mujoco><default><tendon springlength="0.1 0.2" stiffness="3"/></default><worldbody><site
      name="w"/>
      <geom name="wg" type="cylinder" size="0.1 1"/><body pos="1 0 0"><joint name="j"/><geom size="0.1"/>
      <site name="s"/><site name="t"/></body></worldbody><tendon><spatial name="a" springlength="0.3"><site
      site="w"/>
      <geom geom="wg" sidesite="t"/><site site="s"/><pulley divisor="2"/><site site="w"/><site
      site="t"/></spatial>
      <spatial name="b" range="0 1" margin="0.1" width="0.2"><site site="w"/><site site="s"/></spatial>
      <fixed name="c" springlength="-1"><joint joint="j" coef="-2"/></fixed></tendon></mujoco>"""
    compare(text)


def test_inline_meshes_are_moved_turned_and_scaled(tmp_path: Path) -> None:
    text = """<mujoco><asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" refpos="1 2 3" refquat="0.9
      0.1 0.2 0.3"
      scale="2 3 4"/></asset><worldbody><geom type="mesh" mesh="t"/></worldbody></mujoco>"""
    mesh = msd.from_str(text).assets.meshes["t"].value["data"]
    model = mujoco.MjModel.from_xml_string(text)
    # a tetrahedron has its centre of mass at the mean of its corners
    assert mesh.vertices.mean(axis=0) == pytest.approx(model.mesh_pos[0], rel=1e-9)


def test_heights_are_spread_from_0_to_1_with_the_row_at_minus_y_first() -> None:
    text = """<mujoco><asset><hfield name="h" nrow="2" ncol="3" size="1 2 3 0.5" elevation="1 2 3 4 5
      9"/></asset>
      <worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""
    field = msd.from_str(text).assets.hfields["h"]
    model = mujoco.MjModel.from_xml_string(text)
    heights = np.asarray(field.source_type.value["hfield"]).reshape(-1)
    assert heights == pytest.approx(model.hfield_data, rel=1e-6)
    assert [*(0.5 * x for x in field.size), field.height_scale, field.base] == model.hfield_size[0].tolist()


def test_inertia_and_damping_of_an_actuator_are_kept_and_not_left_out() -> None:
    world = msd.from_str(
        "<mujoco><worldbody><body><joint name='j' damping='1'/><geom size='1'/></body></worldbody>"
        "<actuator><motor joint='j' gear='2' armature='0.1' damping='0.5'/></actuator></mujoco>"
    )
    joint = world.hierarchy.bodies[0].link.joints[0]
    assert joint.armature == pytest.approx(0.4)
    assert joint.spring_damper is not None
    assert joint.spring_damper.coeff.value.d == pytest.approx(3.0)
    assert [entry.fate.name for entry in world.report] == ["Kept"]


def test_no_replicas() -> None:
    compare(
        """<mujoco><worldbody><body name="a"><joint name="j"/><geom size="1"/></body>
        <replicate count="0" offset="1 0 0"><body name="b"><joint name="k"/><geom size="1"/></body></replicate>
        </worldbody></mujoco>"""
    )


def test_a_body_that_is_not_to_touch_itself() -> None:
    """Files that come out of programs say so, and MuJoCo takes it."""
    text = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size="1"/></body></worldbody>
        <contact><exclude body1="a" body2="a"/></contact></mujoco>"""
    mujoco.MjModel.from_xml_string(text)
    world = msd.from_str(text)
    assert world.collision_ignores.link_pairs == []
    assert "never touches itself" in str(list(world.report))


def test_a_muscle_without_a_range_of_lengths_is_noted() -> None:
    """MuJoCo searches for one in a simulation; here it comes from the limits."""
    text = """<mujoco><worldbody><body><joint name="j" range="-10 20"/><geom size="1"/></body></worldbody>
      <actuator><muscle joint="j" {}/></actuator></mujoco>"""
    assert "lengthrange" in str(msd.from_str(text.format("")).report.losses)
    assert msd.from_str(text.format('lengthrange="-1 2"')).report.is_exact
