# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every attribute and text of a URDF or SDF file changes the scene, or the load report names it.

Two files hold every element of their formats that has to do with motion, shapes and looks. Each attribute and
each text is changed by itself: the scene changes, the report says what was left out by the name of the
attribute or element, or the file is refused.
"""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Iterator
from functools import cache

import pytest

from worldline import WorldlineError, msd

URDF = """<robot name="robot">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz=".1 0 0" rpy=".1 .2 .3"/><mass value="2"/>
      <inertia ixx=".2" iyy=".3" izz=".4" ixy=".01" ixz=".02" iyz=".03"/></inertial>
    <visual name="seen"><origin xyz="0 0 .1" rpy="0 .1 0"/><geometry><box size=".1 .2 .3"/></geometry>
      <material name="blue"/></visual>
    <visual><geometry><sphere radius=".1"/></geometry><material name="own"><color rgba="1 0 0 .5"/></material></visual>
    <collision name="felt"><origin xyz="0 .1 0" rpy=".1 0 0"/><geometry><cylinder radius=".1" length=".4"/></geometry></collision>
    <collision><geometry><sphere radius=".2"/></geometry></collision>
    <collision><geometry><box size=".1 .1 .1"/></geometry></collision>
    <collision><geometry><capsule radius=".1" length=".4"/></geometry></collision>
    <contact><lateral_friction value=".5"/><rolling_friction value=".1"/><spinning_friction value=".2"/>
      <stiffness value="100"/><damping value="3"/><restitution value=".3"/><contact_cfm value=".1"/>
      <contact_erp value=".2"/><inertia_scaling value="2"/></contact>
  </link>
  <link name="lower"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slider"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 1" rpy="0 0 .1"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping=".2" friction=".3"/><calibration rising=".1" falling=".2" reference_position=".3"/>
    <limit lower="-1" upper="2" effort="10" velocity="3" acceleration="5" deceleration="5" jerk="7"/>
    <safety_controller soft_lower_limit="-.9" soft_upper_limit="1.9" k_position="10" k_velocity="20"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <mimic joint="shoulder" multiplier="2" offset=".1"/></joint>
  <joint name="rail" type="prismatic"><parent link="upper"/><child link="slider"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
  <transmission name="t"><type>simple</type><joint name="shoulder"/></transmission>
  <gazebo reference="upper"><mu1>.3</mu1></gazebo>
</robot>"""

SDF = """<sdf version="1.9"><world name="hall">
  <gravity>0 0 -9.8</gravity><magnetic_field>1e-6 2e-5 -4e-5</magnetic_field><wind><linear_velocity>1 2 3</linear_velocity></wind>
  <physics name="p" type="ode" default="false"><max_step_size>.002</max_step_size><real_time_factor>1</real_time_factor>
    <real_time_update_rate>500</real_time_update_rate><max_contacts>10</max_contacts>
    <ode><solver><type>quick</type><iters>20</iters><sor>1.3</sor></solver>
    <constraints><cfm>.1</cfm><erp>.2</erp><contact_max_correcting_vel>5</contact_max_correcting_vel>
    <contact_surface_layer>.002</contact_surface_layer></constraints></ode></physics>
  <physics name="other" type="ode" default="true"><max_step_size>.003</max_step_size></physics>
  <scene><ambient>.4 .4 .4 1</ambient><background>.7 .7 .7 1</background><shadows>true</shadows></scene>
  <light name="sun" type="directional"><pose>0 0 10 0 0 0</pose><diffuse>.8 .8 .8 1</diffuse><specular>.2 .2 .2 1</specular>
    <direction>-.5 .1 -.9</direction><cast_shadows>true</cast_shadows><intensity>1.5</intensity>
    <attenuation><range>20</range><constant>.9</constant><linear>.01</linear><quadratic>.001</quadratic></attenuation></light>
  <model name="box" canonical_link="body"><pose>0 0 .5 0 0 .1</pose><static>false</static><self_collide>false</self_collide>
    <allow_auto_disable>true</allow_auto_disable><enable_wind>false</enable_wind>
    <frame name="f" attached_to="body"><pose relative_to="__model__">.1 0 0 0 0 0</pose></frame>
    <frame name="g"><pose>.2 0 0 0 0 0</pose></frame>
    <link name="body"><pose>0 0 .1 0 0 0</pose><gravity>true</gravity><kinematic>false</kinematic><self_collide>false</self_collide>
      <enable_wind>false</enable_wind><velocity_decay><linear>.1</linear><angular>.2</angular></velocity_decay>
      <inertial><pose>.1 0 0 0 .1 0</pose><mass>2</mass><inertia><ixx>.2</ixx><iyy>.3</iyy><izz>.4</izz><ixy>.01</ixy><ixz>.02</ixz>
        <iyz>.03</iyz></inertia></inertial>
      <collision name="c"><pose>0 0 .1 0 0 0</pose><max_contacts>4</max_contacts><laser_retro>2</laser_retro>
        <geometry><box><size>.2 .3 .4</size></box></geometry>
        <surface><friction><ode><mu>.5</mu><mu2>.6</mu2><fdir1>1 0 0</fdir1><slip1>.1</slip1><slip2>.2</slip2></ode>
          <torsional><coefficient>.3</coefficient><use_patch_radius>true</use_patch_radius><patch_radius>.1</patch_radius>
          <surface_radius>.2</surface_radius></torsional></friction>
          <bounce><restitution_coefficient>.4</restitution_coefficient><threshold>.1</threshold></bounce>
          <contact><collide_without_contact>false</collide_without_contact><collide_bitmask>3</collide_bitmask>
          <category_bitmask>1</category_bitmask>
          <ode><soft_cfm>.1</soft_cfm><soft_erp>.3</soft_erp><kp>1000</kp><kd>10</kd><max_vel>.1</max_vel><min_depth>.001</min_depth></ode>
          </contact></surface></collision>
      <collision name="s"><geometry><sphere><radius>.1</radius></sphere></geometry></collision>
      <collision name="y"><geometry><cylinder><radius>.1</radius><length>.3</length></cylinder></geometry></collision>
      <collision name="k"><geometry><capsule><radius>.1</radius><length>.3</length></capsule></geometry></collision>
      <collision name="e"><geometry><ellipsoid><radii>.1 .2 .3</radii></ellipsoid></geometry></collision>
      <visual name="v"><pose>0 0 .1 0 0 0</pose><cast_shadows>true</cast_shadows><transparency>.2</transparency>
        <visibility_flags>3</visibility_flags><laser_retro>1</laser_retro>
        <geometry><box><size>.2 .3 .4</size></box></geometry><material><ambient>.1 .1 .1 1</ambient><diffuse>.5 .5 .5 1</diffuse>
        <specular>.2 .2 .2 1</specular><emissive>.1 0 0 1</emissive><shininess>3</shininess></material></visual>
    </link>
    <link name="arm"><pose relative_to="body">.5 0 0 0 0 .3</pose><inertial><mass>1</mass></inertial></link>
    <link name="tool"><pose relative_to="arm">.5 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <link name="peg"><pose relative_to="body">-.5 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <joint name="hinge" type="revolute"><pose relative_to="arm">0 0 .1 0 0 0</pose><parent>body</parent><child>arm</child>
      <axis><xyz expressed_in="arm">0 1 0</xyz><dynamics><damping>.2</damping><friction>.3</friction><spring_reference>.1</spring_reference>
      <spring_stiffness>5</spring_stiffness></dynamics><limit><lower>-1</lower><upper>1</upper><effort>10</effort><velocity>3</velocity>
      <stiffness>1000</stiffness><dissipation>2</dissipation></limit></axis></joint>
    <joint name="thread" type="screw"><parent>arm</parent><child>tool</child><screw_thread_pitch>.1</screw_thread_pitch><axis><xyz>0 0 1</xyz></axis></joint>
    <link name="nut"><inertial><mass>1</mass></inertial></link>
    <joint name="old_thread" type="screw"><parent>tool</parent><child>nut</child><thread_pitch>.5</thread_pitch>
      <axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="cross" type="universal"><parent>body</parent><child>peg</child><axis><xyz>0 0 1</xyz></axis>
      <axis2><xyz>1 0 0</xyz><dynamics><damping>.4</damping></dynamics><limit><lower>-1</lower><upper>2</upper></limit></axis2></joint>
  </model>
  <model name="fixed"><static>true</static><pose>2 0 0 0 0 0</pose><link name="ground"><collision name="p"><geometry><plane>
    <normal>0 0 1</normal><size>4 5</size></plane></geometry></collision></link></model>
</world></sdf>"""

OTHER = {
    "true": "false",
    "false": "true",
    "revolute": "prismatic",
    "continuous": "fixed",
    "prismatic": "revolute",
    "directional": "point",
    "quick": "world",
    "ode": "bullet",
    "arm": "body",
    "body": "arm",
    "tool": "peg",
    "peg": "tool",
    "upper": "lower",
    "base": "slider",
    "__model__": "arm",
    "shoulder": "rail",
    "1.9": "1.8",
    "screw": "revolute",
    "universal": "revolute",
    "simple": "complex",
    "blue": "other",
}


def other(text: str) -> str:
    """Another value that a format may allow."""
    words = text.split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return OTHER.get(text.strip(), text.strip() + "_")
    if len(numbers) == 1 and numbers[0].is_integer() and abs(numbers[0]) > 1:
        return str(int(numbers[0]) + 1)
    return " ".join(f"{0.7 * x + 0.05 * (1 + k):.9g}" for k, x in enumerate(numbers))


def parts(element: xml.Element, path: str = "") -> Iterator[tuple[str, str | None]]:
    """Paths of all elements by tag and number, with each attribute and None for a text."""
    for name in element.attrib:
        yield path, name
    if (element.text or "").strip():
        yield path, None
    seen: dict[str, int] = {}
    for child in element:
        number = seen[child.tag] = seen.get(child.tag, -1) + 1
        yield from parts(child, f"{path}/{child.tag}[{number}]")


def find(root: xml.Element, path: str) -> xml.Element:
    """The element of a path."""
    for step in path.split("/")[1:]:
        tag, number = step[:-1].split("[")
        root = root.findall(tag)[int(number)]
    return root


TEXTS = {
    ("sdf", "", "version"): "which of several meanings old elements have; tests of frames and axes change it",
    ("sdf", "/world[0]/physics[0]", "name"): "nothing refers to it",
    ("sdf", "/world[0]/physics[1]", "name"): "nothing refers to it",
}
"""Attributes that are text for people, or change meaning only together with others."""
FILES = {"urdf": URDF, "sdf": SDF}
CASES = [
    pytest.param(form, path, name, id=f"{form}{path}" + (f"@{name}" if name else ""))
    for form, text in FILES.items()
    for path, name in parts(xml.fromstring(text))
    if (form, path, name) not in TEXTS
]


@cache
def unchanged(form: str) -> str:
    return msd.from_str(FILES[form], format=form).to_str(format="msd")


@pytest.mark.parametrize(("form", "path", "name"), CASES)
def test_an_attribute_changes_the_scene_or_is_named(form: str, path: str, name: str | None) -> None:
    root = xml.fromstring(FILES[form])
    part = find(root, path)
    if name is None:
        part.text = other(part.text or "")
    else:
        part.set(name, other(part.get(name) or ""))
    try:
        scene = msd.from_str(xml.tostring(root, encoding="unicode"), format=form)
    except WorldlineError:
        return
    assert scene.to_str(format="msd") != unchanged(form) or is_named(scene, root.tag + path, name), "ignored"


def is_named(scene: msd.World, path: str, name: str | None) -> bool:
    """Whether the report leaves out the element or one around it, or names its attribute or text."""
    word = f"<{tag_of(path)}>" if name is None else f"'{name}'"
    for entry in scene.report.entries:
        text = entry.message
        # a message without a name speaks of its whole element
        whole = "attribute '" not in text and ("<" not in text or f"<{tag_of(entry.path)}>" in text)
        if (path + "/").startswith(entry.path + "/") and (word in text or whole):
            return True
        if entry.path == path.rsplit("/", 1)[0] and word in text:
            return True
    return False


def tag_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].partition("[")[0]
