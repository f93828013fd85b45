# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Empty attributes, of every element that MJCF knows: accepted or refused as MuJoCo does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.formats.mjcf.schema import RULES

mujoco = pytest.importorskip("mujoco")

MODEL = """
  <mujoco model="base"><compiler boundmass="0"><lengthrange mode="muscle"/></compiler>
  <option timestep="0.002"><flag gravity="enable"/></option><size nkey="2"/><statistic meansize="1"/>
  <visual><global fovy="45"/><quality shadowsize="1024"/><headlight active="1"/><map znear="0.01"/>
  <scale com="0.4"/><rgba fog="0 0 0 1"/></visual><default><default class="c"><geom rgba="1 0 0 1"/>
  <joint damping="0.1"/><site size="0.01"/><camera fovy="40"/><light active="true"/>
  <mesh scale="1 1 1"/><material specular="0.1"/><texture width="8"/><pair condim="3"/>
  <equality active="true"/><tendon width="0.01"/><general ctrlrange="-1 1"/></default>
  <default class="m"><motor gear="1"/></default><default class="p"><position kp="1"/></default>
  <default class="v"><velocity kv="1"/></default><default class="iv">
  <intvelocity kp="1" actrange="-1 1"/></default><default class="or"><orientation kp="1"/></default>
  <default class="pid"><pid kp="1"/></default><default class="da"><damper kv="1" ctrlrange="0 1"/>
  </default><default class="cy"><cylinder area="1"/></default><default class="mu"><muscle force="1"/>
  </default><default class="ad"><adhesion gain="1" ctrlrange="0 1"/></default><default class="dc">
  <dcmotor motorconst="1" resistance="1"/></default></default><custom><numeric name="n" data="1 2"/>
  <text name="t" data="x"/><tuple name="u"><element objtype="body" objname="b1"/></tuple></custom>
  <asset><mesh name="mesh" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>
  <hfield name="hf" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 0 1"/>
  <texture name="tex" type="2d" builtin="checker" width="8" height="8"/>
  <material name="mat" texture="tex"/><material name="mat2"><layer texture="tex" role="rgb"/>
  </material></asset><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <geom name="hill" type="hfield" hfield="hf" pos="0 0 -9"/><camera name="cam" pos="0 0 1"/>
  <light name="light" pos="0 0 1"/><frame name="fr" pos="0 0 1"><geom name="ing" size="0.1"/></frame>
  <replicate count="2" offset="1 0 0" sep="-"><site name="rs"/></replicate>
  <body name="b0" pos="0 0 1"><freejoint name="fj"/><geom name="g0" size="0.1"/><site name="s0"/>
  <body name="b1" pos="0 0 1"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <joint name="j1" axis="0 1 0" range="-1 1"/><geom name="g1" type="box" size="0.1 0.1 0.1"/>
  <site name="s1"/><body name="b2" pos="0 0 1"><joint name="j2" type="ball"/>
  <geom name="g2" type="mesh" mesh="mesh"/><site name="s2"/><body name="b3" pos="0 0 1">
  <joint name="j3" type="slide"/><geom name="g3" type="capsule" fromto="0 0 0 0 0 1" size="0.1"/>
  <site name="s3" type="box" size="1 1 1"/></body></body></body></body><body name="mo" mocap="true">
  <geom name="gm" size="0.1"/></body></worldbody><contact><pair name="pair" geom1="g0" geom2="floor"/>
  <exclude name="ex" body1="b1" body2="b3"/></contact><tendon><spatial name="t1"><site site="s0"/>
  <geom geom="g0" sidesite="s1"/><site site="s1"/><pulley divisor="2"/><site site="s1"/>
  <site site="s2"/></spatial><fixed name="t2"><joint joint="j1" coef="1"/><joint joint="j3" coef="1"/>
  </fixed></tendon><equality><connect name="e1" body1="b0" body2="mo" anchor="0 0 0"/>
  <weld name="e2" body1="b1" body2="b2"/><weld name="e2s" site1="s1" site2="s2"/>
  <joint name="e3" joint1="j1" joint2="j3"/><tendon name="e4" tendon1="t1" tendon2="t2"/></equality>
  <actuator><general name="a1" joint="j1"/><motor name="a2" joint="j1"/>
  <position name="a3" joint="j1"/><velocity name="a4" joint="j1"/>
  <intvelocity name="a5" joint="j1" actrange="-1 1"/><orientation name="a6" joint="j2"/>
  <pid name="a7" joint="j1"/><damper name="a8" joint="j1" ctrlrange="0 1"/>
  <cylinder name="a9" joint="j1"/><muscle name="a10" tendon="t2" lengthrange="0 1"/>
  <adhesion name="a11" body="b0" ctrlrange="0 1"/>
  <dcmotor name="a12" joint="j1" motorconst="1" resistance="1"/>
  <general name="a13" site="s1" refsite="s2"/>
  <general name="a14" cranksite="s1" slidersite="s2" cranklength="1"/></actuator><sensor>
  <touch name="q1" site="s3"/><rangefinder site="s0"/><camprojection site="s0" camera="cam"/>
  <jointpos joint="j1"/><framepos objtype="body" objname="b1"/>
  <insidesite objtype="body" objname="b1" site="s3"/><distance geom1="g1" geom2="g3" cutoff="1"/>
  <contact geom1="g1" geom2="g3"/><user name="us" dim="1"/></sensor><keyframe><key name="k" time="1"/>
  </keyframe></mujoco>
"""
SECTIONS = [child.tag for child in etree.fromstring(MODEL)]

OTHER_REASONS = {
    # what an element needs, rather than what an empty text is: the same models without the attribute differ too
    ("geom", "size"): "a plane needs no size here, which only draws it",
    ("inertial", "diaginertia"): "a body may turn without inertia as long as its joints have armature",
    ("joint", "range"): "a sensor of a limit that a joint does not have",
    ("dcmotor", "motorconst"): "MuJoCo wants whole motors in default classes",
    ("dcmotor", "resistance"): "MuJoCo wants whole motors in default classes",
    ("camera", "sensorsize"): "besides 'fovy', which the size of a sensor overrides",
    ("material", "texture"): "besides layers",
    ("connect", "anchor"): "MuJoCo ends with an unknown exception",
    # names are optional in different places
    ("numeric", "name"): "names of data are required",
    ("text", "name"): "names of data are required",
    ("element", "objname"): "lists of objects are left out whole",
    ("adhesion", "body"): "MuJoCo takes an adhesion of nothing",
}
TARGETS = {"joint", "jointinparent", "tendon", "cranksite", "slidersite", "site", "refsite", "body"}
"""Of several targets of an actuator MuJoCo takes one and forgets the others; here one is allowed."""


def rule_of(element: Any) -> Any:
    above = element.getparent()
    return RULES["mujoco"] if above is None else rule_of(above).inside[element.tag]


def empty_attributes(section: str) -> Iterator[tuple[str, str, str, str]]:
    """Tag, attribute, the model with it empty and without it; one element of each kind."""
    root = etree.fromstring(MODEL)
    seen = set()
    for element in root.find(section).iter():
        rule = rule_of(element)
        for name in sorted(rule.attributes):
            # shapes and joints of several types differ in what they need
            kind = (id(rule), name, element.get("type"), "site1" in element.attrib)
            if kind in seen or (element.tag, name) in OTHER_REASONS:
                continue
            if section == "actuator" and name in TARGETS:
                continue
            seen.add(kind)
            old = element.attrib.pop(name, None)
            without = etree.tostring(root).decode()
            element.set(name, "")
            yield element.tag, name, etree.tostring(root).decode(), without
            del element.attrib[name]
            if old is not None:
                element.set(name, old)


def refusal_of_mujoco(text: str) -> str:
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        return str(error)
    return ""


def refusal(text: str) -> str:
    try:
        msd.from_str(text)
    except SceneError as error:
        return str(error)
    return ""


def test_both_read_the_model_itself() -> None:
    assert refusal_of_mujoco(MODEL) == refusal(MODEL) == ""


@pytest.mark.parametrize("section", SECTIONS)
def test_empty_attributes_are_accepted_or_refused_as_mujoco_does(section: str) -> None:
    wrong, count = [], 0
    for tag, name, text, _ in empty_attributes(section):
        theirs = refusal_of_mujoco(text)
        if "unrecognized attribute" in theirs:
            # of older versions of the format
            continue
        count += 1
        ours = refusal(text)
        if bool(ours) != bool(theirs):
            wrong.append(f"<{tag} {name}=''>: MuJoCo {theirs or 'reads it'}; here {ours or 'it is read'}")
        if ours and name not in ("name", "objname"):
            assert f"attribute '{name}'" in ours or "required" in ours or "given" in ours
    assert not wrong, "\n".join(wrong)
    assert count > 0 or section in ("default",)


@pytest.mark.parametrize("section", ["option", "compiler", "statistic", "contact"])
def test_what_is_read_equals_the_model_without_the_attribute(section: str) -> None:
    for tag, name, text, without in empty_attributes(section):
        if refusal(text):
            continue
        assert msd.from_str(text).to_msgpack() == msd.from_str(without).to_msgpack(), (tag, name)
