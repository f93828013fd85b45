# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which elements and attributes MJCF has.

The table holds those of MuJoCo 4, and those of older files that later versions dropped without a loss of
meaning. `check` goes through a file once and notes everything the format does not know, with the nearest
name that it does; readers may then leave attributes unread only on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.kinds import hint


@dataclass(slots=True)
class Rule:
    """What an element may have: attributes, and children with the names of their rules.

    Attributes:
        inside: The rules of the children themselves, None for those that are left out whole.
        filled: Attributes that must have a text. MuJoCo refuses empty keywords, references and class names
            and a few single integers; it reads other empty numbers as not given.
    """

    attributes: frozenset[str]
    children: dict[str, str]
    inside: dict[str, Rule | None]
    filled: frozenset[str]


Adder = Callable[..., None]

ORIENTATION: Final = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
_POSE: Final = "pos quat axisangle euler xyaxes zaxis"
_CONFIG: Final = "plugin instance"
_SENSOR: Final = "name noise cutoff user nsample interp delay interval"
_TENDON: Final = (
    "group limited range actuatorfrclimited actuatorfrcrange solreflimit solimplimit solreffriction "
    "solimpfriction margin frictionloss springlength springyield stiffness damping armature user"
)
_JOINT: Final = (
    "type group pos axis springdamper limited range actuatorfrclimited actuatorfrcrange actuatorgravcomp "
    "solreflimit solimplimit solreffriction solimpfriction stiffness margin ref springref springyield "
    "armature damping frictionloss user"
)
_GEOM: Final = (
    f"type {_POSE} contype conaffinity condim group priority size material friction mass density "
    "shellinertia solmix solref solimp margin gap fromto hfield mesh fitscale rgba fluidshape fluidcoef "
    "user adhesion surfacevel castshadow"
)
_SITE: Final = f"type group {_POSE} material size fromto rgba user mesh"
_CAMERA: Final = (
    f"{_POSE} mode fovy ipd resolution output projection focal focalpixel principal principalpixel "
    "sensorsize user orthographic"
)
_LIGHT: Final = (
    "pos dir bulbradius intensity range directional type castshadow active attenuation cutoff exponent "
    "softness ambient diffuse specular mode"
)
_MATERIAL: Final = (
    "texture emission specular shininess reflectance metallic roughness rgba texrepeat texuniform"
)
_TEXTURE: Final = (
    "type colorspace builtin rgb1 rgb2 mark markrgb random width height hflip vflip nchannel gridsize "
    "gridlayout embed"
)
_PAIR: Final = "condim friction solref solreffriction solimp margin gap adhesion"
_COMMON: Final = (
    "group ctrllimited forcelimited ctrlrange forcerange gear cranklength user nsample interp delay damping "
    "armature"
)
_GENERAL: Final = (
    "actlimited actrange actdim dyntype gaintype biastype dynprm gainprm biasprm actearly inheritrange input "
    "velrange ffrange"
)
ACTUATOR_DEFAULTS: Final[dict[str, str]] = {
    "general": f"{_COMMON} {_GENERAL}",
    "motor": _COMMON,
    "position": f"{_COMMON} kp kv dampratio timeconst inheritrange",
    "velocity": f"{_COMMON} kv",
    "intvelocity": f"{_COMMON} actlimited actrange kp kv dampratio inheritrange",
    "orientation": f"{_COMMON} kp kv dampratio input",
    "pid": f"{_COMMON} kp kv dampratio ki imax slewmax input posrange velrange ffrange inheritrange",
    "damper": f"{_COMMON} kv",
    "cylinder": f"{_COMMON} timeconst area diameter bias",
    "muscle": f"{_COMMON} timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    "adhesion": f"{_COMMON} gain",
    "dcmotor": (
        f"{_COMMON} motorconst resistance nominal saturation inductance cogging lugre thermal controller"
        " input"
    ),
}
TRANSMISSIONS: Final = (
    "joint",
    "jointinparent",
    "tendon",
    "cranksite",
    "slidersite",
    "site",
    "refsite",
    "body",
)
_ACTUATOR: Final = f"name class lengthrange {' '.join(TRANSMISSIONS)}"
_FRAME_OBJECT: Final = f"{_SENSOR} objtype objname"
SENSORS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer"),
        f"{_SENSOR} site",
    ),
    "rangefinder": f"{_SENSOR} site camera data",
    "camprojection": f"{_SENSOR} site camera",
    **dict.fromkeys(
        (
            "jointpos",
            "jointvel",
            "jointactuatorfrc",
            "ballquat",
            "ballangvel",
            "jointlimitpos",
            "jointlimitvel",
            "jointlimitfrc",
        ),
        f"{_SENSOR} joint",
    ),
    **dict.fromkeys(
        ("tendonpos", "tendonvel", "tendonactuatorfrc", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc"),
        f"{_SENSOR} tendon",
    ),
    **dict.fromkeys(("actuatorpos", "actuatorvel", "actuatorfrc"), f"{_SENSOR} actuator"),
    **dict.fromkeys(
        ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"),
        f"{_FRAME_OBJECT} reftype refname",
    ),
    **dict.fromkeys(("framelinacc", "frameangacc"), _FRAME_OBJECT),
    **dict.fromkeys(("subtreecom", "subtreelinvel", "subtreeangmom"), f"{_SENSOR} body"),
    "insidesite": f"{_FRAME_OBJECT} site enclosed",
    **dict.fromkeys(("distance", "normal", "fromto"), f"{_SENSOR} geom1 geom2 body1 body2"),
    "contact": f"{_SENSOR} geom1 geom2 body1 body2 subtree1 subtree2 site num data reduce",
    **dict.fromkeys(("e_potential", "e_kinetic", "clock"), _SENSOR),
    "tactile": f"{_SENSOR} geom mesh",
    "user": f"{_FRAME_OBJECT} datatype needstage dim",
    "plugin": f"{_FRAME_OBJECT} reftype refname {_CONFIG}",
}

_DEFAULTS: Final = {
    "mesh": "scale inertia maxhullvert",
    "texture": _TEXTURE,
    "material": _MATERIAL,
    "joint": _JOINT,
    "geom": _GEOM,
    "site": _SITE,
    "camera": _CAMERA,
    "light": _LIGHT,
    "pair": _PAIR,
    "equality": "active solref solimp",
    "tendon": f"{_TENDON} material width rgba",
    **ACTUATOR_DEFAULTS,
}
_TREE: Final = (
    "body joint freejoint inertial geom site camera light plugin frame replicate attach flexcomp composite"
)
_FLAGS: Final = (
    "constraint equality frictionloss limit contact spring damper passive gravity clampctrl warmstart "
    "filterparent actuation refsafe sensor midphase nativeccd island eulerdamp autoreset override energy "
    "fwdinv invdiscrete multiccd sleep diagexact ipc speculative sensornoise"
)
_EQUALITY: Final = "name class active solref solimp"

_KEYWORDS: Final = frozenset(
    "actearly active actlimited actuatorfrclimited actuatorgravcomp align alignfree angle autolimits "
    "balanceinertia biastype builtin castshadow childclass class collision colorspace cone conflict "
    "convexhull coordinate ctrllimited datatype directional discardvisual dyntype embed enclosed eulerseq "
    "exactmeshinertia fitaabb fluidshape forcelimited fuse fusestatic gaintype gridlayout hflip inertia "
    "inertiafromgeom integrator interp jacobian limited mark mocap mode needstage objtype passthrough "
    "projection reduce reftype role savecanonical savecompiled saveinertial scaling shellinertia simple "
    "sleep smoothnormal solver strippath texuniform type useexisting uselimit usethread vflip".split()
)
"""Attributes that take a keyword or the name of a class, outside of `visual` and `flag`."""

_TARGETS: Final = {
    "actuator": frozenset("jointinparent tendon cranksite slidersite site refsite".split()),
    "equality": frozenset("body1 site1 site2 joint1 tendon1".split()),
    "sensor": frozenset(
        "site camera joint tendon actuator body objname refname geom1 geom2 body1 body2 subtree1 "
        "subtree2".split()
    ),
}
"""References that must name something where they are given, by section."""

_SINGLE: Final = {
    "/visual/global": frozenset(("bvactive", "ellipsoidinertia", "orthographic")),
    "/visual/headlight": frozenset(("active",)),
    "/size": frozenset(("memory", "njmax", "nconmax", "nstack")),
    "/custom/numeric": frozenset(("size", "data")),
    "/custom/text": frozenset(("data",)),
    "/asset/hfield": frozenset(("file",)),
    "/asset/mesh": frozenset(("maxhullvert",)),
    "/default/mesh": frozenset(("maxhullvert",)),
    "/body/freejoint": frozenset(("group",)),
    "/sensor/contact": frozenset(("num",)),
    "/sensor/user": frozenset(("dim",)),
}
"""Further attributes that must have a text, by element."""


def _filled(key: str, attributes: frozenset[str]) -> frozenset[str]:
    """Attributes of an element that must have a text where they are given."""
    if key == "/option/flag":
        return attributes
    section = key.split("/")[1] if "/" in key else key
    words = _SINGLE.get(key, frozenset())
    if section != "visual" and key != "/default":
        # an empty class of a top default is that of the whole file
        words |= _KEYWORDS | _TARGETS.get(section, frozenset())
    return words & attributes


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}

    def add(key: str, attributes: str, children: str = "", prefix: str | None = None) -> None:
        """Adds a rule; a child `tag` follows the rule `prefix/tag` where there is one, else `tag`."""
        inside = key if prefix is None else prefix
        named = {tag: f"{inside}/{tag}" for tag in children.split()}
        known = frozenset(attributes.split())
        rules[key] = Rule(known, named, {}, _filled(key, known))

    add(
        "mujoco",
        "model",
        "compiler option size statistic visual default extension custom asset worldbody contact deformable "
        "tendon equality actuator sensor keyframe",
        "",
    )
    add(
        "/compiler",
        "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle fitaabb "
        "eulerseq meshdir texturedir assetdir discardvisual usethread fusestatic inertiafromgeom "
        "inertiagrouprange saveinertial alignfree savecompiled savecanonical conflict passthrough "
        "exactmeshinertia convexhull",
        "lengthrange",
    )
    add(
        "/compiler/lengthrange",
        "mode useexisting uselimit accel maxforce timeconst timestep inttotal interval tolrange",
    )
    add(
        "/option",
        "timestep apirate impratio tolerance ls_tolerance noslip_tolerance mpr_tolerance ccd_tolerance "
        "sleep_tolerance gravity wind magnetic density viscosity o_margin o_solref o_solimp o_friction "
        "integrator collision cone jacobian solver iterations ls_iterations noslip_iterations "
        "mpr_iterations ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable",
        "flag",
    )
    add("/option/flag", _FLAGS)
    add(
        "/size",
        "memory njmax nconmax nstack nuserdata nkey nuser_body nuser_jnt nuser_geom nuser_site nuser_cam "
        "nuser_tendon nuser_actuator nuser_sensor",
    )
    add("/statistic", "meaninertia meanmass meansize extent center")
    _add_visual(add)
    add("/default", "class", f"default {' '.join(_DEFAULTS)}")
    rules["/default"].children["default"] = "/default"
    for tag, attributes in _DEFAULTS.items():
        add(f"/default/{tag}", attributes, "layer" if tag == "material" else "")
    add("/default/material/layer", "texture role")
    add("/extension", "", "plugin")
    add("/extension/plugin", "plugin", "instance")
    add("/extension/plugin/instance", "name", "config")
    add("/extension/plugin/instance/config", "key value")
    add("/custom", "", "numeric text tuple")
    add("/custom/numeric", "name size data")
    add("/custom/text", "name data")
    add("/custom/tuple", "name", "element")
    add("/custom/tuple/element", "objtype objname prm")
    _add_assets(add)
    _add_tree(add)
    add("/contact", "", "pair exclude")
    add("/contact/pair", f"name class geom1 geom2 {_PAIR}")
    add("/contact/exclude", "name body1 body2")
    add("/deformable", "", "flex skin")
    add("/tendon", "", "spatial fixed")
    add("/tendon/spatial", f"name class material width rgba {_TENDON}", "site geom pulley")
    add("/tendon/spatial/site", "site")
    add("/tendon/spatial/geom", "geom sidesite")
    add("/tendon/spatial/pulley", "divisor")
    add("/tendon/fixed", f"name class {_TENDON}", "joint")
    add("/tendon/fixed/joint", "joint coef")
    add("/equality", "", "connect weld joint tendon flex flexvert flexstrain distance")
    add("/equality/connect", f"{_EQUALITY} body1 body2 anchor site1 site2")
    add("/equality/weld", f"{_EQUALITY} body1 body2 relpose anchor site1 site2 torquescale")
    add("/equality/joint", f"{_EQUALITY} joint1 joint2 polycoef")
    add("/equality/tendon", f"{_EQUALITY} tendon1 tendon2 polycoef")
    add("/actuator", "", f"{' '.join(ACTUATOR_DEFAULTS)} plugin")
    for tag, attributes in ACTUATOR_DEFAULTS.items():
        add(f"/actuator/{tag}", f"{_ACTUATOR} {attributes}")
    add("/actuator/plugin", f"{_ACTUATOR} {_COMMON} {_GENERAL} {_CONFIG}", "config")
    add("/actuator/plugin/config", "key value")
    add("/sensor", "", " ".join(SENSORS))
    for tag, attributes in SENSORS.items():
        add(f"/sensor/{tag}", attributes, "config" if tag == "plugin" else "")
    add("/sensor/plugin/config", "key value")
    add("/keyframe", "", "key")
    add("/keyframe/key", "name time qpos qvel act mpos mquat ctrl plastic")
    for rule in rules.values():
        rule.inside.update({tag: rules.get(key) for tag, key in rule.children.items()})
    return rules


def _add_visual(add: Adder) -> None:
    add("/visual", "", "global quality headlight map scale rgba")
    add(
        "/visual/global",
        "fovy ipd azimuth elevation linewidth glow offwidth offheight realtime ellipsoidinertia bvactive "
        "cameraid orthographic",
    )
    add("/visual/quality", "shadowsize offsamples numslices numstacks numquads")
    add("/visual/headlight", "ambient diffuse specular active")
    add(
        "/visual/map",
        "stiffness stiffnessrot force torque alpha fogstart fogend znear zfar haze shadowclip shadowscale "
        "actuatortendon",
    )
    add(
        "/visual/scale",
        "forcewidth contactwidth contactheight connect com camera light selectpoint jointlength jointwidth "
        "actuatorlength actuatorwidth framelength framewidth constraint slidercrank frustum",
    )
    add(
        "/visual/rgba",
        "fog haze force inertia joint actuator actuatornegative actuatorpositive com camera light "
        "selectpoint "
        "connect contactpoint contactforce contactfriction contacttorque contactgap rangefinder constraint "
        "slidercrank crankbroken frustum bv bvactive",
    )


def _add_assets(add: Adder) -> None:
    add("/asset", "", "mesh hfield skin texture material model")
    add(
        "/asset/mesh",
        "name class content_type file vertex normal texcoord face refpos refquat scale smoothnormal inertia "
        "maxhullvert builtin params material",
        "plugin",
    )
    add("/asset/mesh/plugin", _CONFIG, "config")
    add("/asset/mesh/plugin/config", "key value")
    add("/asset/hfield", "name content_type file nrow ncol size elevation")
    add(
        "/asset/texture",
        f"name class content_type file fileright fileleft fileup filedown filefront fileback {_TEXTURE}",
    )
    add("/asset/material", f"name class {_MATERIAL}", "layer")
    add("/asset/material/layer", "texture role")
    add("/asset/model", "name file content_type")


def _add_tree(add: Adder) -> None:
    add("/worldbody", "", _TREE, "/body")
    add("/body/body", f"name childclass {_POSE} mocap gravcomp sleep simple fuse user", _TREE, "/body")
    add("/body/frame", f"name childclass {_POSE} scale scaling massscale", _TREE, "/body")
    add("/body/replicate", "count sep offset euler childclass", _TREE, "/body")
    add("/body/inertial", f"{_POSE} mass diaginertia fullinertia")
    add("/body/joint", f"name class {_JOINT}")
    add("/body/freejoint", "name group align")
    add("/body/geom", f"name class {_GEOM}", "plugin")
    add("/body/geom/plugin", _CONFIG, "config")
    add("/body/geom/plugin/config", "key value")
    add("/body/site", f"name class {_SITE}")
    add("/body/camera", f"name class target {_CAMERA}")
    add("/body/light", f"name class target texture {_LIGHT}")
    add("/body/plugin", _CONFIG, "config")
    add("/body/plugin/config", "key value")
    add("/body/attach", "model body frame prefix")


RULES: Final = _rules()
"""What each element may have; those without a rule (deformables, mostly) are left out whole."""

WORDS: Final = frozenset(
    "class type material mesh hfield limited actuatorfrclimited actuatorgravcomp ctrllimited forcelimited "
    "actlimited dyntype gaintype biastype actearly input interp mode active castshadow "
    "directional texuniform "
    "texture builtin colorspace mark hflip vflip gridlayout embed inertia fluidshape shellinertia projection "
    "output role orthographic".split()
)
"""Attributes of default classes that hold no numbers."""

_SHORT: Final = ("name", "prefix", "sep", "class", "childclass")
MOST_LETTERS: Final = 500
"""Length of names and of what is put before and after them."""


def check(root: Element, log: Log) -> tuple[int, set[str]]:
    """Notes every element and attribute of a file that MJCF does not know.

    Names of absurd length end the reading at once: replicas would multiply them.

    Returns:
        How many elements MJCF knows, and their tags.
    """
    known = _known(root)
    if known is not None:
        return len(known), {element.tag for element, _ in known}
    stack: list[tuple[Element, Rule]] = [(root, RULES["mujoco"])]
    count = 0
    tags: set[str] = set()
    while stack:
        element, rule = stack.pop()
        count += 1
        tags.add(element.tag)
        attributes = element.attributes
        if not attributes.keys() <= rule.attributes:
            for name in _unknown(element, rule):
                near = hint(name, sorted(rule.attributes))
                log.problem(element, f"unknown attribute '{name[:60]}' of <{element.tag}>{near}")
        for name in _SHORT:
            if name in attributes and len(attributes[name]) > MOST_LETTERS:
                log.problem(element, f"attribute '{name}': more than {MOST_LETTERS} letters")
                log.raise_any()
        for child in element.children[::-1]:
            key = rule.children.get(child.tag)
            if key is None:
                log.unknown_child(child, rule.children)
                continue
            inside = RULES.get(key)
            if inside is not None:
                stack.append((child, inside))
    return count, tags


def _known(root: Element) -> list[tuple[Element, Rule]] | None:
    """All elements with their rules, level by level; None when `check` may have something to report."""
    found = [(root, RULES["mujoco"])]
    texts: list[str] = []
    for element, rule in found:
        if not rule.attributes.issuperset(element.attributes):
            return None
        texts += element.attributes.values()
        if element.children:
            inside = rule.inside
            for child in element.children:
                below = inside.get(child.tag)
                if below is not None:
                    found.append((child, below))
                elif child.tag not in inside:
                    return None
    return found if max(map(len, texts), default=0) <= MOST_LETTERS else None


def _unknown(element: Element, rule: Rule) -> Iterator[str]:
    for name in element.attributes:
        # names of another namespace, such as the place of a schema, are none of this format's
        if name not in rule.attributes and not name.startswith("{") and ":" not in name:
            yield name
