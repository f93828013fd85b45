# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One attribute of an MJCF element at a time, on a small model that uses it: the cases and what they start from.

Each element has a model with the element marked by `mark="x"`. A `Case` has the value of one attribute and what
both models need beside it: further attributes of the element (None takes one away), replacements in the text
of the model, a start. `NotTried` says why an attribute has no case.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as xml

from mjcf_cases import DEFAULTS, GROUP, NAMED, POSE, RGBA, SAME, USER, Case, NotTried, case, kept
from mjcf_member_cases import ACTUATOR_TEXT, COMMON, ONLY, OWN, SENSOR_TEXT, sensor_base, sensor_cases

from worldline._src.scene.formats.mjcf.schema import ACTUATOR_DEFAULTS, RULES, SENSORS

# ---- joints

HINGE = """<mujoco><option timestep=".004"/><worldbody><body pos="0 0 1"{more}>
  <joint name="j" mark="x" axis="0 1 0"/><geom pos=".3 0 0" size=".1" mass="1"/>
  <body pos=".5 0 0"><joint name="k" axis="0 1 0"/><geom pos=".1 0 0" size=".05" mass=".3"/></body></body></worldbody>
  {actuator}<sensor><jointpos joint="j"/><jointvel joint="j"/></sensor></mujoco>"""
MOTOR = '<actuator><motor joint="j" gear="20"/></actuator>'
PLAIN = HINGE.format(more="", actuator="")
DRIVEN = HINGE.format(more="", actuator=MOTOR)
COMPENSATED = HINGE.format(more=' gravcomp="1"', actuator='<actuator><motor joint="k"/></actuator>')
JOINT = {
    **NAMED,
    "group": GROUP,
    "type": case("slide"),
    "pos": case(".05 .1 .02"),
    "axis": case(".3 1 .2"),
    "springdamper": case(".1 .5"),
    "limited": case("false", range="-5 3"),
    "range": case("-5 3"),
    "actuatorfrclimited": case("false", DRIVEN, actuatorfrcrange="-1 1"),
    "actuatorfrcrange": case("-1 1", DRIVEN),
    "actuatorgravcomp": case("true", COMPENSATED, actuatorfrcrange="-1 1"),
    "solreflimit": case(".05 .7", range="-5 1"),
    "solimplimit": case(".5 .8 .01 .4 3", range="-5 1"),
    "solreffriction": case(".05 .7", frictionloss="9"),
    "solimpfriction": case(".5 .8 .01 .4 3", frictionloss="9"),
    "stiffness": case("5", springref="20"),
    "margin": case(".05", range="-5 3"),
    "ref": case("15", stiffness="5"),
    "springref": case("20", stiffness="5"),
    "springyield": case(".05", stiffness="50", springref="20"),
    "armature": case(".1"),
    "damping": case(".5"),
    "frictionloss": case(".3"),
    "user": USER,
}
# time constants shorter than two steps are taken as two
SHORT = ".003 1"
JOINT_MORE = {
    "solreflimit short": ("solreflimit", case(SHORT, range="-5 1")),
    "solreffriction short": ("solreffriction", case(SHORT, frictionloss="9")),
    "stiffness polynomial": ("stiffness", case("5 3 2", springref="20")),
    "damping polynomial": ("damping", case(".5 .3 .2")),
}
FREE = """<mujoco><option timestep=".004"/><worldbody><body pos="0 0 1">
  <freejoint mark="x"/><geom type="box" size=".1 .2 .3" pos=".1 .05 0" euler="20 30 40" mass="1"/><site name="s"/></body></worldbody>
  <sensor><framepos objtype="site" objname="s"/><framelinvel objtype="site" objname="s"/></sensor></mujoco>"""
FREEJOINT = {"name": kept("other"), "group": GROUP, "align": case("true")}

# ---- bodies

BODY_TEXT = """<mujoco><option timestep=".004"/><worldbody><body name="b" mark="x" pos="0 0 1">
  <joint name="j" axis="0 1 0"/><geom pos=".3 0 0" size=".1" mass="1"/><site name="s" pos=".2 .1 0"/>
  <body name="in" pos=".2 0 .1"><geom type="box" size=".1 .05 .05"/></body></body></worldbody>
  <sensor><framepos objtype="site" objname="s"/></sensor></mujoco>"""
MOCAP = BODY_TEXT.replace('<joint name="j" axis="0 1 0"/>', "")
BODY = {
    "name": kept("other"),
    "childclass": kept("d"),
    **POSE,
    "pos": case("0 .1 .7"),
    "mocap": kept("true", MOCAP),
    "gravcomp": case(".6"),
    "sleep": kept("never"),
    "simple": SAME,
    "fuse": kept("false", BODY_TEXT.replace("<option", '<compiler fusestatic="true"/><option')),
    "user": USER,
}
FRAME_TEXT = BODY_TEXT.replace(' mark="x"', "").replace(
    '<geom pos=".3 0 0" size=".1" mass="1"/>',
    '<frame mark="x"><geom type="box" pos=".3 0 0" size=".1 .05 .07"/></frame>',
)
FRAME = {
    "name": NotTried("frames are poses of what is in them, not objects of a scene"),
    "childclass": kept("d"),
    **POSE,
    "scale": case("1.5"),
    "scaling": case("geometry", scale="1.5"),
    "massscale": case("2", scale="1.5"),
}
INERTIAL_TEXT = """<mujoco><option timestep=".004"/><worldbody><body pos="0 0 1"><joint type="ball"/>
  <inertial mark="x" pos=".2 0 0" mass="1" diaginertia=".02 .03 .04"/></body></worldbody></mujoco>"""
INERTIAL = {
    **POSE,
    "pos": case(".3 .1 0"),
    "mass": case("2"),
    "diaginertia": case(".02 .035 .04"),
    "fullinertia": case(".02 .03 .04 .001 .002 .003", diaginertia=None),
}
REPLICATE_TEXT = """<mujoco><option timestep=".004"/><worldbody><body pos="0 0 1"><joint axis="0 1 0"/><geom size=".1"/>
  <replicate mark="x" count="2" offset=".1 0 0"><geom name="part" size=".05" pos=".1 0 0"/></replicate></body></worldbody></mujoco>"""
REPLICATE = {
    "childclass": kept("d"),
    "sep": kept("_"),
    "count": case("3"),
    "offset": case(".2 0 .1"),
    "euler": case("0 20 0"),
}

# ---- geoms

GEOM_TEXT = """<mujoco><option timestep=".004" {option}/>
  <asset><mesh name="m" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4"/><material name="red" rgba="1 0 0 1"/>
  <hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 1 .5 .2"/></asset>
  <worldbody><geom name="floor" type="plane" size="5 5 .1" friction=".3" solref=".03 1"/>
  <body pos="0 0 .098"><freejoint/><geom name="g" mark="x" type="sphere" size=".1"/></body></worldbody>
  <keyframe><key name="start" qpos="0 0 .098 1 0 0 0" qvel="1 .5 0 1 2 3"/></keyframe></mujoco>"""
GEOM_PLAIN = GEOM_TEXT.format(option="")
FLUID = GEOM_TEXT.format(option='density="200" viscosity=".5"')
GROUND = (
    GEOM_PLAIN.replace('type="plane" size="5 5 .1"', 'type="plane" size="5 5 .1" pos="0 0 -.3"')
    .replace("<body pos", '<geom mark="x" name="ground"/><body pos')
    .replace('name="g" mark="x"', 'name="g"')
)
GEOM = {
    **NAMED,
    "group": GROUP,
    "rgba": RGBA,
    "material": kept("red"),
    "castshadow": kept("false"),
    "user": USER,
    **{name: case(c.value, type="box", size=".1 .12 .15") for name, c in POSE.items()},
    "pos": case(".02 .01 .001"),
    "type": case("ellipsoid", size=".1 .12 .15"),
    "contype": case("2", conaffinity="0"),
    "conaffinity": case("2", contype="0"),
    "condim": case("6", friction="1 .1 .1"),
    "priority": case("1", friction=".1"),
    "size": case(".11"),
    "friction": case(".8"),
    "mass": case("3", density="500"),
    "density": case("300", FLUID),
    "shellinertia": case("true", mass="1"),
    "solmix": case("3", solref=".06 .7"),
    "solref": case(".06 .7"),
    "solimp": case(".5 .8 .01 .4 3"),
    "margin": case(".02"),
    # found and without a force
    "gap": kept(".05"),
    "fromto": case("0 0 0 .1 .1 .1", type="capsule", size=".09"),
    # contacts with height fields are found by other means
    "hfield": kept("h", GROUND, type="hfield", size=None),
    "mesh": case("m", type="box", size=".1 .1 .1"),
    "fitscale": case("1.3", type="box", mesh="m", size=None),
    "fluidshape": case("ellipsoid", FLUID, type="ellipsoid", size=".1 .15 .2"),
    "fluidcoef": case("1 1 1 1 1", FLUID, type="ellipsoid", size=".1 .15 .2", fluidshape="ellipsoid"),
    "adhesion": case("5"),
    "surfacevel": case("1 0 0 0 0 0"),
}
AIR = GEOM_PLAIN.replace('qpos="0 0 .098', 'qpos="0 0 2')
GEOM_MORE = {
    "solref short": ("solref", case(SHORT)),
    "type box": ("type", case("box", size=".1 .12 .15")),
    "type capsule": ("type", case("capsule", size=".1 .12 .15")),
    # the points in which a cylinder touches are others
    "type cylinder": ("type", case("cylinder", AIR, size=".1 .12 .15")),
}
SITE_TEXT = """<mujoco><option timestep=".004"/><asset><material name="red" rgba="1 0 0 1"/>
  <mesh name="m" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4"/></asset><worldbody><body pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
  <site name="s" mark="x"/><site name="in" pos=".06 0 0"/></body></worldbody><sensor><framepos objtype="site" objname="s"/>
  <framequat objtype="site" objname="s"/><insidesite site="s" objtype="site" objname="in"/></sensor></mujoco>"""
SITE = {
    **NAMED,
    "name": kept(
        "other",
        SITE_TEXT.replace("</body>", '<site mark="x"/></body>').replace('name="s" mark="x"', 'name="s"'),
    ),
    "group": GROUP,
    "rgba": RGBA,
    "material": kept("red"),
    "user": USER,
    **POSE,
    "type": case("box", size=".07 .07 .07", pos=".0 .04 .04"),
    "size": case(".1"),
    "fromto": case("0 0 0 .1 0 0", type="capsule", size=".02"),
    "mesh": kept("m", type="mesh"),
}

# ---- pairs and exclusions

PAIR_TEXT = """<mujoco><option timestep=".004" cone="{cone}"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="b" pos="0 0 .098"><freejoint/><geom name="g" size=".1"/></body>
  <body name="c" pos="0 0 .29"><freejoint/><geom name="h" size=".1"/></body></worldbody>
  <contact>{inside}</contact>
  <keyframe><key name="start" qpos="0 0 .098 1 0 0 0 0 0 .29 1 0 0 0" qvel="1 .5 0 1 2 3 0 0 0 0 0 0"/></keyframe></mujoco>"""
PAIRED = PAIR_TEXT.format(cone="pyramidal", inside='<pair mark="x" geom1="floor" geom2="g"/>')
CONE = PAIR_TEXT.format(cone="elliptic", inside='<pair mark="x" geom1="floor" geom2="g"/>')
EXCLUDED = PAIR_TEXT.format(cone="pyramidal", inside='<exclude mark="x" body1="b" body2="c"/>')
PAIR = {
    **NAMED,
    "geom1": case("h", friction=".05"),
    "geom2": case("h", friction=".05"),
    "condim": case("4"),
    "friction": case(".3 .2 .1 .01 .02"),
    "solref": case(".06 .7"),
    "solreffriction": case(".06 .7", CONE),
    "solimp": case(".5 .8 .01 .4 3"),
    "margin": case(".02"),
    "gap": kept(".05"),
    "adhesion": case("5"),
}
EXCLUDE = {"name": NotTried("nothing refers to it"), "body1": case("world"), "body2": case("world")}

# ---- tendons

FIXED_TEXT = """<mujoco><option timestep=".004"/><asset><material name="red" rgba="1 0 0 1"/></asset><worldbody>
  <body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom name="first" pos=".3 0 0" size=".1" mass="1"/><site name="a" pos=".3 0 .1"/><body pos=".5 0 0"><joint name="k" axis="0 1 0"/>
  <geom name="round" pos=".1 0 0" size=".05" mass=".3"/><site name="b" pos=".1 .02 .1"/><site name="c" pos=".1 .01 -.2"/></body></body>
  <site name="w" pos="0 0 1.4"/><site name="side" pos=".4 0 .8"/></worldbody>
  <tendon>{tendon}</tendon><actuator><motor tendon="t" gear="20"/></actuator>
  <sensor><tendonpos tendon="t"/><tendonvel tendon="t"/><tendonactuatorfrc tendon="t"/></sensor></mujoco>"""
FIXED = FIXED_TEXT.format(
    tendon='<fixed name="t" mark="x"><joint joint="j" coef="1"/><joint joint="k" coef="-.5"/></fixed>'
)
SPATIAL = FIXED_TEXT.format(
    tendon='<spatial name="t" mark="x"><site site="w"/><site site="a"/><site site="b"/></spatial>'
)
TENDON = {
    "class": kept("d"),
    "name": NotTried("the actuator and the sensors name it"),
    "group": GROUP,
    "user": USER,
    "limited": case("false", range="-.01 .01"),
    "range": case("-.01 .01"),
    "actuatorfrclimited": case("false", actuatorfrcrange="-.1 .1"),
    "actuatorfrcrange": case("-.1 .1"),
    "solreflimit": case(".05 .7", range="-.01 .01"),
    "solimplimit": case(".5 .8 .01 .4 3", range="-.01 .01"),
    "solreffriction": case(".05 .7", frictionloss="50"),
    "solimpfriction": case(".5 .8 .01 .4 3", frictionloss="50"),
    "margin": case(".5", range="-.1 .1"),
    "frictionloss": case(".3"),
    "springlength": case(".1 .2", stiffness="30"),
    "springyield": case(".01", stiffness="300", springlength=".1 .2"),
    "stiffness": case("30", springlength=".1"),
    "damping": case(".5"),
    "armature": case(".1"),
}
TENDON_MORE = {
    "solreflimit short": ("solreflimit", case(SHORT, range="-.01 .01")),
    "solreffriction short": ("solreffriction", case(SHORT, frictionloss="50")),
    "stiffness polynomial": ("stiffness", case("5 3 2", springlength=".1")),
    "damping polynomial": ("damping", case(".05 .03 .02")),
}
SPATIAL_TENDON = {
    **TENDON,
    "material": kept("red"),
    "width": kept(".02"),
    "rgba": RGBA,
    **{name: case(TENDON[name].value, range=".3 .41") for name in ("solreflimit", "solimplimit")},
    "limited": case("false", range=".3 .41"),
    "range": case(".3 .41"),
    "margin": case(".3", range=".3 .8"),
}
PULLEY = FIXED_TEXT.format(
    tendon='<spatial name="t" stiffness="9"><site site="w"/><site site="a"/><pulley divisor="2" mark="x"/>'
    '<site site="a"/><site site="b"/></spatial>'
)
WRAP = FIXED_TEXT.format(
    tendon='<spatial name="t" stiffness="9"><site site="w"/><geom geom="round" mark="x"/><site site="c"/></spatial>'
)

# ---- equalities

EQUALITY_TEXT = """<mujoco><option timestep=".004"/><worldbody><body name="p" pos="0 0 1"><joint name="j" axis="0 1 0"/>
  <geom pos=".3 0 0" size=".1" mass="1"/><site name="a" pos=".3 0 .1"/></body>
  <body name="q" pos=".1 1 1"><joint name="k" axis="0 1 0"/><joint name="kx" axis="1 0 0"/><geom pos=".3 0 .1" size=".1" mass=".7"/>
  <site name="b" pos=".3 0 .1" euler="10 0 0"/></body>
  <body name="r" pos="1 1 1"><joint name="l" axis="0 1 0"/><geom pos=".3 0 0" size=".1" mass=".4"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="u"><joint joint="k" coef="1"/></fixed>
  <fixed name="v"><joint joint="l" coef="1"/></fixed></tendon>
  <equality>{equality}</equality>
  <keyframe><key name="start" qpos="0 .1 0 .2" qvel="1 0 2 -1"/></keyframe></mujoco>"""
CONNECT = EQUALITY_TEXT.format(equality='<connect mark="x" body1="p" body2="q" anchor=".3 0 .1"/>')
WELD = EQUALITY_TEXT.format(equality='<weld mark="x" body1="p" body2="q"/>')
SITES = {"body1": None, "body2": None, "anchor": None, "site1": "a", "site2": "b"}
EQUAL = {
    **NAMED,
    "active": case("false"),
    "solref": case(".05 .7"),
    "solimp": case(".5 .8 .01 .4 3"),
}
CONNECTED = EQUAL | {
    "body1": case("r"),
    "body2": case("r"),
    "anchor": case(".2 .1 0"),
}
WELDED = EQUAL | {
    "body1": case("r"),
    "body2": case("r"),
    "anchor": case(".2 .1 0", relpose="0 .5 .1 1 .1 0 0"),
    "relpose": case("0 .5 .1 1 .1 0 0"),
    "torquescale": case(".3"),
}
for _name in ("site1", "site2"):
    # sites are far apart at the start
    _beside = SITES | {_name: "b" if _name == "site1" else "a"}
    CONNECTED[_name] = WELDED[_name] = case("a" if _name == "site1" else "b", steps=5, **_beside)
JOINTS = EQUALITY_TEXT.format(equality='<joint mark="x" joint1="j" joint2="k"/>')
TENDONS = EQUALITY_TEXT.format(equality='<tendon mark="x" tendon1="t" tendon2="u"/>')

# ---- options

OPTION_TEXT = """<mujoco><option mark="x" timestep=".004"><flag {flags}/></option><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" {floor}/>
  <body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0" range="-10 3" damping=".5" frictionloss=".1" stiffness="2"/>
  <geom pos=".3 0 0" size=".1" mass="1"/><site name="s" pos=".1 0 0"/><body name="fore" pos=".4 0 0"><joint name="k" axis="0 1 0"/>
  <geom pos=".05 0 0" size=".1" mass=".2"/></body></body>
  <body name="b" pos="2 0 .098"><freejoint/><geom name="g" size=".1"/></body>
  <body name="c" pos="2 0 .295"><freejoint/><geom name="h" size=".1"/></body></worldbody>
  <equality><joint joint1="j" joint2="k" polycoef="0 .5 0 0 0"/></equality>
  <actuator><motor joint="j" ctrlrange="-.5 .5" group="1"/></actuator>
  <sensor><jointpos joint="j"/><magnetometer site="s"/><e_kinetic/><e_potential/></sensor>
  <keyframe><key name="start" qpos="0 .1 2 0 .098 1 0 0 0 2 0 .295 1 0 0 0" qvel="1 1 1 .5 0 1 2 3 0 0 0 0 0 0"/></keyframe>
  </mujoco>"""
SCENE = OPTION_TEXT.format(flags="", floor="")
ASLEEP = OPTION_TEXT.format(flags='sleep="enable"', floor="")
OVERRIDE = OPTION_TEXT.format(flags='override="enable"', floor="")
OPTION = {
    "timestep": case(".005"),
    "apirate": SAME,
    "impratio": case("5", cone="elliptic"),
    **{
        name: kept("1e-3")
        for name in "tolerance ls_tolerance noslip_tolerance mpr_tolerance ccd_tolerance sleep_tolerance".split()
    },
    "sleep_tolerance": kept("5e-3", ASLEEP),
    "gravity": case("1 2 -5"),
    "wind": case("5 3 1", density="20"),
    "magnetic": case("0 .3 .1"),
    "density": case("20"),
    "viscosity": case(".5"),
    "o_margin": case(".02", OVERRIDE),
    "o_solref": case(".06 .7", OVERRIDE),
    "o_solimp": case(".5 .8 .01 .4 3", OVERRIDE),
    "o_friction": case(".1 .1 .1 .1 .1", OVERRIDE),
    "integrator": case("implicitfast", OPTION_TEXT.format(flags='eulerdamp="disable"', floor="")),
    "collision": kept("predefined"),
    "cone": case("elliptic"),
    "jacobian": SAME,
    "solver": kept("PGS"),
    **{
        name: kept("7")
        for name in "iterations ls_iterations mpr_iterations ccd_iterations sdf_iterations sdf_initpoints".split()
    },
    "noslip_iterations": case("20", cone="elliptic", noslip_tolerance="1e-13"),
    "actuatorgroupdisable": case("1"),
}
FLAG_TEXT = SCENE.replace("<flag />", '<flag mark="x"/>').replace('<option mark="x"', "<option")
FLAG = {
    **{
        name: case("disable", FLAG_TEXT)
        for name in (
            "constraint equality frictionloss limit contact spring damper passive gravity actuation "
            "filterparent eulerdamp clampctrl sensor"
        ).split()
    },
    "passive": kept("disable", FLAG_TEXT),
    "refsafe": case(
        "disable", FLAG_TEXT.replace('frictionloss=".1"', 'frictionloss=".1" solreflimit=".003 1"')
    ),
    "warmstart": kept("disable", FLAG_TEXT),
    **dict.fromkeys("midphase nativeccd island autoreset fwdinv".split(), SAME),
    "multiccd": kept("disable", FLAG_TEXT),
    "override": case("enable", FLAG_TEXT.replace("<option", '<option o_margin=".02"')),
    **{
        name: kept("enable", FLAG_TEXT)
        for name in "energy invdiscrete sleep diagexact ipc speculative sensornoise".split()
    },
}

# ---- the tables by element

KEYFRAME_TEXT = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body mocap="true" pos="1 1 1"><geom name="m" size=".1"/></body>
  <body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <actuator><general joint="j" dyntype="filter" dynprm=".1"/></actuator>
  <keyframe><key name="start" mark="x"/></keyframe></mujoco>"""
KEYFRAME = {
    "name": NotTried("the name by which it is applied"),
    "time": kept("3"),
    "qpos": case(".3"),
    "qvel": case(".4"),
    "act": case(".5"),
    "mpos": kept("0 0 2"),
    "mquat": kept("1 1 0 0"),
    "ctrl": case(".9", control=math.nan),
    "plastic": kept("1"),
}

COMPILER_TEXT = """<mujoco><compiler mark="x"/><option timestep=".004"/>
  <asset><mesh name="m" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4" inertia="shell"/></asset><worldbody>
  <body pos="0 0 1" euler="10 20 30"><joint axis="0 1 0" range="-.05 .05"/><inertial pos=".3 0 0" mass="1" diaginertia=".01 .02 .03"/>
  <geom size=".1" pos=".2 0 0" group="1"/>
  <body pos=".3 .1 0"><geom type="box" size=".1 .1 .1"/></body></body>
  <body pos="0 1 1"><freejoint/><geom type="box" size=".1 .1 .2" pos=".1 .1 0" euler="0 20 30"/></body>
  <body pos="0 2 1"><joint axis="0 1 0"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
OBJECTS = NotTried("folders of files, which tests of assets try")
COMPILER = {
    "autolimits": case("false"),
    "boundmass": case("2"),
    "boundinertia": case("1"),
    "settotalmass": case("30"),
    "balanceinertia": case("true", COMPILER_TEXT.replace(".01 .02 .03", ".01 .02 .05")),
    "coordinate": NotTried("one value is left"),
    "angle": case("radian"),
    "fitaabb": case("true", COMPILER_TEXT.replace('type="mesh" mesh="m"', 'type="box" mesh="m"')),
    "eulerseq": case("zyx"),
    **dict.fromkeys(("meshdir", "texturedir", "assetdir", "strippath"), OBJECTS),
    "discardvisual": NotTried("takes away what nobody collides with; kept for drawing here"),
    "usethread": SAME,
    "fusestatic": kept("true"),
    "inertiafromgeom": case("true"),
    "inertiagrouprange": case("0 0", inertiafromgeom="true"),
    "saveinertial": NotTried("of writing"),
    "alignfree": case("true"),
    **dict.fromkeys(("savecompiled", "savecanonical", "passthrough"), NotTried("of writing")),
    "conflict": NotTried("of models that are attached"),
    "exactmeshinertia": SAME,
    "convexhull": SAME,
}

ELEMENTS: dict[str, tuple[str, dict[str, Case | NotTried], dict[str, tuple[str, Case]]]] = {
    "/body/joint": (PLAIN, JOINT, JOINT_MORE),
    "/body/freejoint": (FREE, FREEJOINT, {}),
    "/body/body": (BODY_TEXT, BODY, {}),
    "/body/frame": (FRAME_TEXT, FRAME, {}),
    "/body/replicate": (REPLICATE_TEXT, REPLICATE, {}),
    "/body/inertial": (INERTIAL_TEXT, INERTIAL, {}),
    "/body/geom": (GEOM_PLAIN, GEOM, GEOM_MORE),
    "/body/site": (SITE_TEXT, SITE, {}),
    "/contact/pair": (PAIRED, PAIR, {}),
    "/contact/exclude": (EXCLUDED, EXCLUDE, {}),
    "/tendon/fixed": (FIXED, TENDON, TENDON_MORE),
    "/tendon/fixed/joint": (
        FIXED.replace('name="t" mark="x"', 'name="t" stiffness="9" springlength=".3"')
        .replace('coef="1"', 'coef="1" mark="x"')
        .replace('<joint joint="k" coef="-.5"/>', ""),
        {"joint": case("k"), "coef": case("2")},
        {},
    ),
    "/tendon/spatial": (SPATIAL, SPATIAL_TENDON, {}),
    "/tendon/spatial/site": (
        SPATIAL.replace(' mark="x"', ' stiffness="9"').replace(
            '<site site="a"/><site site="b"/>', '<site site="a" mark="x"/>'
        ),
        {"site": case("b")},
        {},
    ),
    "/tendon/spatial/geom": (WRAP, {"geom": case("first"), "sidesite": case("side")}, {}),
    "/tendon/spatial/pulley": (PULLEY, {"divisor": case("3")}, {}),
    "/equality/connect": (CONNECT, CONNECTED, {"solref short": ("solref", case(SHORT))}),
    "/equality/weld": (WELD, WELDED, {"solref short": ("solref", case(SHORT))}),
    "/equality/joint": (
        JOINTS,
        EQUAL | {"joint1": case("l"), "joint2": case("l"), "polycoef": case(".1 .5 .2 .3 .1")},
        {},
    ),
    "/equality/tendon": (
        TENDONS,
        EQUAL | {"tendon1": case("v"), "tendon2": case("v"), "polycoef": case(".1 .5 .2 .3 .1")},
        {},
    ),
    "/option": (SCENE, OPTION, {}),
    "/option/flag": (FLAG_TEXT, FLAG, {}),
    "/compiler": (COMPILER_TEXT, COMPILER, {}),
    "/keyframe/key": (KEYFRAME_TEXT, KEYFRAME, {}),
    **{
        f"/actuator/{kind}": (
            # the force of a pid is that of its inputs together, which no sensor has
            ACTUATOR_TEXT.format(kind=kind, what=OWN[kind]).replace(
                '<actuatorfrc actuator="a"/>', "" if kind == "pid" else '<actuatorfrc actuator="a"/>'
            ),
            {
                name: entry
                for name, entry in (COMMON | ONLY.get(kind, {})).items()
                if name in RULES[f"/actuator/{kind}"].attributes
            },
            {},
        )
        for kind in ACTUATOR_DEFAULTS
    },
    **{
        f"/sensor/{tag}": (
            SENSOR_TEXT.format(
                kind=tag, what=" ".join(f'{key}="{value}"' for key, value in sensor_base(tag).items())
            ),
            sensor_cases(tag),
            {},
        )
        for tag in SENSORS
        if tag not in ("tactile", "user", "plugin")
    },
}
"""Model, cases by attribute and further cases of each element."""


def models(key: str, attribute: str, given: Case) -> tuple[str, str]:
    """The model of a case without its attribute and with it."""
    texts = []
    for value in (None, given.value):
        root = xml.fromstring(given.text or ELEMENTS[key][0])
        root.insert(0, xml.fromstring(DEFAULTS))
        element = next(one for one in root.iter() if one.get("mark") == "x")
        del element.attrib["mark"]
        for name, other in given.beside.items():
            element.attrib.pop(name, None)
            if other is not None:
                element.set(name, other)
        if value is not None:
            element.set(attribute, value)
        texts.append(xml.tostring(root, encoding="unicode"))
    return texts[0], texts[1]
