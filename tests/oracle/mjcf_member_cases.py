# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cases of the attributes of MJCF actuators and sensors; see `mjcf_attributes`."""

from __future__ import annotations

from mjcf_cases import USER, Case, NotTried, case, kept

from worldline._src.scene.formats.mjcf.schema import SENSORS

# ---- actuators

ACTUATOR_TEXT = """<mujoco><option timestep=".004"/><worldbody><body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0" range="-60 60"/>
  <geom pos=".3 0 0" size=".1" mass="1"/><site name="a" pos=".3 0 .1"/><body name="ball" pos=".5 0 0"><joint name="b" type="ball"/>
  <geom type="box" size=".1 .05 .02" pos=".1 .02 0" mass=".5"/><site name="s" pos=".1 .02 .1"/></body></body>
  <body name="other" pos="0 1 1"><joint name="k" axis="0 1 0"/><geom pos=".3 0 0" size=".1" mass="1"/></body>
  <body pos="0 2 1"><joint name="b2" type="ball"/><geom type="box" size=".1 .05 .02" pos=".1 .02 0" mass=".5"/></body>
  <site name="w" pos="0 0 1.4"/><geom name="wall" type="box" size=".1 1 1" pos=".72 0 1" solref=".005 1"/></worldbody>
  <tendon><fixed name="t"><joint joint="k" coef="1"/></fixed></tendon>
  <actuator><{kind} name="a" mark="x" {what}/></actuator>
  <sensor><actuatorfrc actuator="a"/><actuatorpos actuator="a"/><actuatorvel actuator="a"/></sensor>
  <keyframe><key name="start" qvel="1 .5 .3 .2 .5 1 1 1"/></keyframe></mujoco>"""
WALLED = ACTUATOR_TEXT.replace('pos=".72 0 1"', 'pos=".499 0 1"').format(
    kind="adhesion", what='body="ball" gain="20" ctrlrange="0 1"'
)
OWN = {
    "general": 'joint="j" gainprm="3"',
    "motor": 'joint="j" gear="3"',
    "position": 'joint="j" kp="20"',
    "velocity": 'joint="j" kv="2"',
    "intvelocity": 'joint="j" kp="20" actrange="-1 1"',
    "orientation": 'joint="b" kp="20"',
    "pid": 'joint="j" kp="20" kv="1"',
    "damper": 'joint="j" kv="2" ctrlrange="0 1"',
    "cylinder": 'joint="j" area="3" timeconst=".1"',
    "muscle": 'joint="j" force="30" lengthrange="-1 1"',
    "adhesion": 'body="ball" gain="20" ctrlrange="0 1"',
    "dcmotor": 'joint="j" motorconst="2" resistance="1"',
}
SERVO = {"gaintype": "pid", "biastype": "affine", "gainprm": "20 1", "biasprm": "0 -20 -1"}
LAGGED = {"dyntype": "filter", "dynprm": ".05"}
COMMON = {
    "name": NotTried("the sensors name it"),
    "class": kept("d"),
    "group": kept("2"),
    "ctrllimited": case("false", ctrlrange="-.3 .3"),
    "forcelimited": case("false", forcerange="-.5 .5"),
    "ctrlrange": case("-.3 .3"),
    "forcerange": case("-.5 .5"),
    "gear": case("2"),
    "cranklength": case(".6", joint=None, cranksite="a", slidersite="w"),
    "user": USER,
    "nsample": case("3"),
    "interp": case("linear", delay=".01", nsample="5"),
    "delay": case(".008", nsample="3"),
    "damping": case(".5"),
    "armature": case(".3"),
    "lengthrange": kept("-1 1"),
    "joint": case("k"),
    "jointinparent": case("b", joint=None, gear=".1 .2 .3", steps=4),
    "tendon": case("t", joint=None),
    "cranksite": case("a", joint=None, slidersite="w", cranklength=".6"),
    "slidersite": case("w", joint=None, cranksite="a", cranklength=".6"),
    "site": case("s", joint=None, gear="1 2 3 .1 .2 .3"),
    "refsite": case("w", joint=None, site="s", gear="1 2 3 .1 .2 .3"),
    "body": case("ball", joint=None, text=None),
}
ONLY = {
    "general": {
        "actlimited": case("false", actrange="-.01 .01", **LAGGED),
        "actrange": case("-.01 .01", **LAGGED),
        "actdim": NotTried("states that a user integrates"),
        "dyntype": case("filter", dynprm=".05"),
        "gaintype": case("affine", gainprm="3 1 .5"),
        "biastype": case("affine", biasprm="1 2 -.5"),
        "dynprm": case(".1", dyntype="filter"),
        "gainprm": case("5"),
        "biasprm": case("1 2 -.5", biastype="affine"),
        "actearly": case("true", **LAGGED),
        "inheritrange": case(".01", gainprm="20", biastype="affine", biasprm="0 -20"),
        "input": case("pos vel", **SERVO),
        "velrange": case("-.1 .1", input="pos vel", **SERVO),
        "ffrange": case("-.1 .1", input="pos vel ff", **SERVO),
    },
    "position": {
        "kp": case("30"),
        "kv": case("2"),
        "dampratio": case(".7"),
        "timeconst": case(".05"),
        "inheritrange": case(".01"),
    },
    "velocity": {"kv": case("3")},
    "intvelocity": {
        "actlimited": NotTried("always limited; see the test of its own"),
        "actrange": case("-.001 .001"),
        "kp": case("30"),
        "kv": case("2"),
        "dampratio": case(".7"),
        "inheritrange": case(".001", actrange=None),
    },
    "orientation": {
        "kp": case("30"),
        "kv": case("2"),
        "dampratio": case(".7"),
        "input": case("quat"),
        "forcerange": case("0 1"),
        "forcelimited": case("false", forcerange="0 1"),
        "joint": case("b2"),
        "site": case("s", joint=None, refsite="a"),
        "refsite": case("a", joint=None, site="s"),
    },
    "pid": {
        "kp": case("30"),
        "kv": case("2"),
        "dampratio": case(".7", kv=None),
        "ki": case("40", input="pos"),
        "imax": case(".005", ki="400", input="pos"),
        "slewmax": case("3", input="pos"),
        "input": case("pos"),
        "posrange": case("-.1 .1"),
        "velrange": case("-.1 .1"),
        "ffrange": case("-.1 .1", input="pos vel ff"),
        "inheritrange": case(".01"),
    },
    "damper": {"kv": case("3"), "ctrlrange": case("0 .3")},
    "cylinder": {
        "timeconst": case(".05"),
        "area": case("5"),
        "diameter": case("2", area=None),
        "bias": case("1 2 -.5"),
    },
    "muscle": {
        "timeconst": case(".03 .06"),
        "tausmooth": case(".3"),
        "range": case(".6 1.2"),
        "force": case("50"),
        "scale": case("400", force=None),
        "lmin": case(".6"),
        "lmax": case("1.3"),
        "vmax": case("1"),
        "fpmax": case("2", range=".7 1.6"),
        "fvmax": case("1.5"),
        "lengthrange": case("-2 2"),
    },
    "adhesion": {"gain": case("30"), "body": case("arm", WALLED), "ctrlrange": case("0 .3")},
    "dcmotor": {
        "motorconst": case("3"),
        "resistance": case("2"),
        "nominal": case("12 2 5", motorconst=None, resistance=None),
        "saturation": case(".1"),
        "inductance": case(".05"),
        "cogging": case(".3 6 .2"),
        "lugre": case("100 1 .1 .3 .5"),
        "thermal": case("2 5 0 .004 25 30"),
        "controller": case("5 1 .2 0 0 0", input="pos"),
        "input": case("none"),
    },
}

# ---- sensors

SENSOR_TEXT = """<mujoco><option timestep=".004"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <camera name="c" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/><camera name="c2" pos=".3 -2 1" xyaxes="1 0 0 0 0 1"/>
  <site name="w" pos="0 0 1.4"/><body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0" range="-.3 .3"/>
  <geom name="ga" pos=".3 0 0" size=".1" mass="1"/><site name="a" pos=".3 0 .1" euler="10 20 180"/><body name="fore" pos=".5 0 0">
  <joint name="b" type="ball"/><geom name="gb" type="box" size=".1 .05 .02" pos=".1 .02 0" mass=".5"/>
  <site name="s" pos=".1 .02 .1" size=".2" zaxis="0 0 -1"/></body></body>
  <body name="other" pos="0 1 1"><joint name="k" axis="0 1 0" range="-.1 .1"/><geom name="gc" pos=".3 0 0" size=".1" mass="1"/>
  <site name="d" pos=".3 0 .1" zaxis="0 .1 -1"/></body>
  <body name="free" pos="2 0 .098"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/><site name="t" size=".3"/></body>
  <body name="rolling" pos="3 0 .098"><freejoint/><geom name="round" size=".1"/></body>
  <body name="ballbody" pos="0 3 1"><joint name="b2" type="ball"/><geom name="gd" type="box" size=".1 .2 .05" pos=".2 0 0"/></body></worldbody>
  <tendon><fixed name="t" range="-.001 .001"><joint joint="k" coef="1"/></fixed>
  <fixed name="u" range="-.001 .001"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="m" joint="j" gear="3"/><general name="n" joint="k" gainprm="2"/><motor name="o" tendon="t" gear="4"/>
  <general name="p" tendon="u" gainprm="1.5"/></actuator>
  <sensor><{kind} name="x" mark="x" {what}/></sensor>
  <keyframe><key name="start" qvel="1 .5 .3 .2 -.5 1 .5 0 1 2 3 0 1 0 3 0 0 .3 .4 .5"/></keyframe></mujoco>"""
SENSED = {
    "site": {"site": "s"},
    "joint": {"joint": "j"},
    "tendon": {"tendon": "t"},
    "actuator": {"actuator": "m"},
    "body": {"body": "arm"},
    "camera": {"camera": "c"},
}
SENSOR_COMMON = {
    "name": kept("other"),
    "noise": kept(".1"),
    "user": USER,
    "cutoff": case(".003"),
    # readings of the past are refused when they are asked for, see tests of sensors
    "nsample": kept("4"),
    "interp": kept("linear", delay=".01", nsample="5"),
    "delay": kept(".008", nsample="4"),
    "interval": kept(".012", nsample="4"),
}
OTHERS = {"site": "d", "joint": "k", "tendon": "u", "actuator": "n", "body": "other", "camera": "c2"}


def sensor_base(tag: str) -> dict[str, str]:
    """What a sensor needs to be one."""
    known = SENSORS[tag].split()
    if tag in ("touch",):
        return {"site": "t"}
    if tag == "rangefinder":
        return {"site": "s"}
    if tag == "camprojection":
        return {"site": "s", "camera": "c"}
    if tag in ("ballquat", "ballangvel"):
        return {"joint": "b"}
    if tag in ("distance", "normal", "fromto"):
        return {"geom1": "ga", "geom2": "gc", "cutoff": "5"}
    if tag == "contact":
        return {"geom1": "box", "data": "found force pos"}
    if tag == "insidesite":
        return {"site": "s", "objtype": "body", "objname": "fore"}
    if "objtype" in known:
        return {"objtype": "site", "objname": "s"}
    return {key: value for word in known for key, value in SENSED.get(word, {}).items()}


def sensor_cases(tag: str) -> dict[str, Case | NotTried]:
    """Cases of the attributes of a sensor."""
    found: dict[str, Case | NotTried] = dict(SENSOR_COMMON)
    for word in SENSORS[tag].split():
        if word in found:
            continue
        if word in OTHERS:
            found[word] = case(OTHERS[word])
    if "limit" in tag:
        # pressed against the limit
        found = {name: one._replace(control=5.0) for name, one in found.items()}
        found["cutoff"] = found["cutoff"]._replace(value=".0001")
    if tag.startswith("tendon"):
        found["cutoff"] = found["cutoff"]._replace(value=".0001")
    if tag == "touch":
        found["site"] = case("s")
    if tag in ("ballquat", "ballangvel"):
        found["joint"] = case("b2")
    if tag == "rangefinder":
        found |= {"camera": case("c", site=None), "data": case("dist point")}
    if "objtype" in SENSORS[tag].split() and tag != "insidesite":
        found |= {"objtype": case("geom", objname="gb"), "objname": case("a")}
    if tag == "insidesite":
        found |= {"objtype": case("site", objname="d"), "objname": case("free"), "enclosed": case("true")}
    if "reftype" in SENSORS[tag].split():
        found |= {"reftype": case("body", refname="other"), "refname": case("d", reftype="site")}
    if tag in ("distance", "normal", "fromto"):
        found |= {
            "geom1": case("gb"),
            "geom2": case("box"),
            "body1": case("fore", geom1=None),
            "body2": case("free", geom2=None),
            "cutoff": case(".2"),
        }
    if tag == "contact":
        found |= {
            "geom1": case("round"),
            "geom2": case("round", geom1="floor"),
            "body1": case("rolling", geom1=None),
            "body2": case("rolling", geom1="floor"),
            "subtree1": case("rolling", geom1=None),
            "subtree2": case("rolling", geom1="floor"),
            "site": case("d"),
            "cutoff": kept(".003"),
            "num": case("3"),
            "data": case("found dist normal"),
            "reduce": case("netforce"),
        }
    return found
