# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random MJCF models that use every corner of the format which a scene can keep exactly."""

from __future__ import annotations

import random
from collections.abc import Callable

LAWS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle")


class Generator:
    """Writes one model.

    Args:
        seed: The same seed writes the same model.
    """

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.count = 0
        self.names: dict[str, list[str]] = {}
        self.classes: list[str] = []
        self.ranged: list[str] = []

    def maybe(self, chance: float = 0.5) -> bool:
        return self.r.random() < chance

    def new(self, kind: str) -> str:
        self.count += 1
        # no suffix of a replica makes another name of it
        name = f"{kind}{self.count}x"
        self.names.setdefault(kind, []).append(name)
        return name

    def any(self, kind: str) -> str | None:
        return self.r.choice(self.names[kind]) if self.names.get(kind) else None

    def number(self, low: float = -2.0, high: float = 2.0) -> str:
        return f"{self.r.uniform(low, high):.6g}"

    def numbers(self, least: int, most: int | None = None, low: float = -2.0, high: float = 2.0) -> str:
        count = self.r.randint(least, most or least)
        return " ".join(self.number(low, high) for _ in range(count))

    def attributes(self, chance: float, **choices: Callable[[], str]) -> str:
        """Some of the attributes, each with the given chance."""
        return "".join(f' {name}="{make()}"' for name, make in choices.items() if self.maybe(chance))

    def range(self, low: float = -1.0, high: float = 1.0) -> str:
        a, b = sorted((self.r.uniform(low, high), self.r.uniform(low, high)))
        return f"{a:.6g} {b + 0.1:.6g}"

    def pose(self) -> str:
        forms = [
            "",
            f' quat="{self.numbers(4)}"',
            f' axisangle="{self.numbers(4)}"',
            f' euler="{self.numbers(3, None, -90, 90)}"',
            f' xyaxes="{self.numbers(6)}"',
            f' zaxis="{self.numbers(3)}"',
        ]
        return self.attributes(0.7, pos=lambda: self.numbers(3)) + self.r.choice(forms)

    def solvers(self, *prefixes: str) -> str:
        return "".join(map(self.solver, prefixes))

    def solver(self, prefix: str = "") -> str:
        return self.attributes(
            0.3,
            **{
                f"solref{prefix}": lambda: self.r.choice(
                    [self.numbers(2, None, 0.01, 1), self.numbers(2, None, -900, -1)]
                ),
                f"solimp{prefix}": lambda: self.numbers(1, 3, 0.1, 0.9),
            },
        )

    def klass(self) -> str:
        return f' class="{self.r.choice(self.classes)}"' if self.classes and self.maybe(0.3) else ""

    # default classes

    def joint_attributes(self, slide: bool | None = None) -> str:
        return self.attributes(
            0.25,
            pos=lambda: self.numbers(3),
            axis=lambda: self.numbers(3),
            armature=lambda: self.number(0, 1),
            damping=lambda: self.number(0, 1),
            stiffness=lambda: self.number(0, 1),
            frictionloss=lambda: self.number(0, 1),
            margin=lambda: self.number(0, 1),
            ref=lambda: self.number(-40, 40),
            springref=lambda: self.number(-40, 40),
            range=lambda: self.range(-90, 90),
            actuatorfrcrange=lambda: self.range(-9, 9),
            actuatorgravcomp=lambda: self.r.choice(["true", "false"]),
            group=lambda: str(self.r.randint(0, 5)),
        ) + self.solvers("limit", "friction")

    def geom_attributes(self) -> str:
        return (
            self.attributes(
                0.25,
                friction=lambda: self.numbers(1, 3, 0, 1),
                condim=lambda: self.r.choice(["1", "3", "4", "6"]),
                contype=lambda: str(self.r.randint(0, 7)),
                conaffinity=lambda: str(self.r.randint(0, 7)),
                margin=lambda: self.number(0, 0.1),
                gap=lambda: self.number(0, 0.1),
                priority=lambda: str(self.r.randint(-1, 2)),
                solmix=lambda: self.number(0, 2),
                density=lambda: self.number(100, 2000),
                rgba=lambda: self.numbers(4, None, 0, 1),
                group=lambda: str(self.r.randint(0, 5)),
                fluidshape=lambda: self.r.choice(["none", "ellipsoid"]),
                fluidcoef=lambda: self.numbers(5, None, 0, 1),
            )
            + self.solver()
        )

    def law_attributes(self, tag: str) -> str:
        n = self.number
        if tag == "general":
            return self.attributes(
                0.4,
                gaintype=lambda: self.r.choice(["fixed", "affine"]),
                biastype=lambda: self.r.choice(["none", "affine"]),
                dyntype=lambda: self.r.choice(["none", "integrator", "filter", "filterexact"]),
                gainprm=lambda: self.numbers(1, 3, 1, 9),
                biasprm=lambda: self.numbers(1, 3, -9, -1),
                dynprm=lambda: self.numbers(1, 2, 0.1, 1),
                actearly=lambda: self.r.choice(["true", "false"]),
            )
        if tag in ("position", "intvelocity"):
            damping = self.attributes(0.5, **{self.r.choice(["kv", "dampratio"]): lambda: n(0, 2)})
            more = self.attributes(0.3, timeconst=lambda: n(0, 1)) if tag == "position" else ""
            return damping + more + self.attributes(0.5, kp=lambda: n(0, 99))
        if tag in ("velocity", "damper"):
            return self.attributes(0.5, kv=lambda: n(0, 9))
        if tag == "cylinder":
            return self.attributes(
                0.4,
                area=lambda: n(0.1, 2),
                diameter=lambda: n(0.1, 2),
                bias=lambda: self.numbers(3),
                timeconst=lambda: n(0.1, 2),
            )
        if tag == "muscle":
            return self.attributes(
                0.4,
                timeconst=lambda: self.numbers(2, None, 0.01, 0.1),
                range=lambda: self.range(0.5, 1.2),
                force=lambda: n(1, 100),
                scale=lambda: n(100, 300),
                lmin=lambda: n(0.3, 0.6),
                lmax=lambda: n(1.3, 1.8),
                vmax=lambda: n(1, 2),
                fpmax=lambda: n(1, 2),
                fvmax=lambda: n(1, 2),
            )
        return ""

    def actuator_common(self) -> str:
        return self.attributes(
            0.3,
            forcerange=lambda: self.range(-9, 9),
            gear=lambda: self.numbers(1, 6),
            group=lambda: str(self.r.randint(0, 5)),
        )

    def default(self, depth: int) -> str:
        parts = []
        if self.maybe(0.6):
            parts.append(f"<joint{self.joint_attributes()}/>")
        if self.maybe(0.6):
            parts.append(f"<geom{self.geom_attributes()}/>")
        if self.maybe(0.3):
            parts.append(
                f'<site size="{self.numbers(1, 3, 0.01, 0.1)}"'
                f"{self.attributes(0.4, rgba=lambda: self.numbers(4, None, 0, 1))}/>"
            )
        if self.maybe(0.3):
            parts.append(f"<equality{self.solver()}/>")
        if self.maybe(0.3):
            parts.append(f"<tendon{self.tendon_attributes()}/>")
        if self.maybe(0.3):
            parts.append(f"<pair{self.pair_attributes()}/>")
        for tag in self.r.sample(LAWS, self.r.randint(0, 2)):
            control = f' ctrlrange="{self.range(0, 1)}"' if tag == "damper" else ""
            parts.append(f"<{tag}{self.law_attributes(tag)}{self.actuator_common()}{control}/>")
        inner = []
        while depth and self.maybe(0.5) and len(inner) < 3:
            self.count += 1
            name = f"class{self.count}"
            self.classes.append(name)
            inner.append(f'<default class="{name}">{self.default(depth - 1)}</default>')
        both = parts + inner
        self.r.shuffle(both)
        return "".join(both)

    # the tree

    def geom(self, in_world: bool = False) -> str:
        kind = self.r.choice(["sphere", "capsule", "ellipsoid", "cylinder", "box"] + ["plane"] * in_world)
        name = self.new("geom")
        if kind in ("sphere", "cylinder") and "mesh" not in kind:
            self.names.setdefault("wrap", []).append(name)
        size = self.numbers(3, None, 0.05, 0.3)
        ends = kind not in ("sphere", "plane") and self.maybe(0.3)
        where = f' fromto="{self.numbers(6)}"' if ends else self.pose()
        mass = self.attributes(0.3, mass=lambda: self.number(0.1, 2))
        start = f'<geom name="{name}" type="{kind}" size="{size}"{where}{mass}'
        return f"{start}{self.klass()}{self.geom_attributes()}/>"

    def site(self) -> str:
        kind = self.r.choice(["sphere", "capsule", "ellipsoid", "cylinder", "box"])
        ends = kind != "sphere" and self.maybe(0.3)
        where = f' fromto="{self.numbers(6)}"' if ends else self.pose()
        size = self.attributes(0.6, size=lambda: self.numbers(1, 3, 0.01, 0.2))
        return f'<site name="{self.new("site")}" type="{kind}"{size}{where}{self.klass()}/>'

    def joints(self) -> str:
        kinds = self.r.choice(
            [["hinge"], ["slide"], ["ball"], ["hinge", "slide"], ["slide", "ball"], ["hinge"] * 3, []]
        )
        parts = []
        for kind in kinds:
            name = self.new("joint")
            attributes = self.joint_attributes()
            if kind == "ball":
                limit = f' range="0 {self.number(10, 90)}"' if self.maybe() else ' limited="false"'
                attributes = (
                    self.attributes(
                        0.4, armature=lambda: self.number(0, 1), damping=lambda: self.number(0, 1)
                    )
                    + limit
                )
                self.names.setdefault("ball", []).append(name)
            else:
                self.names.setdefault("scalar", []).append(name)
                if ' range="' in attributes:
                    self.ranged.append(name)
            klass = "" if kind == "ball" else self.klass()
            parts.append(f'<joint name="{name}" type="{kind}"{klass}{attributes}/>')
        return "".join(parts)

    def inertial(self) -> str:
        full = self.maybe()
        moments = 'fullinertia="2 3 4 0.1 0.2 0.3"' if full else 'diaginertia="2 3 4"'
        pose = self.attributes(1, pos=lambda: self.numbers(3)) if full else self.pose()
        if " pos=" not in pose:
            pose += ' pos="0.1 0.2 0.3"'
        return f'<inertial mass="{self.number(1, 3)}" {moments}{pose}/>'

    def contents(self) -> str:
        parts = [self.geom()]
        while self.maybe(0.5):
            parts.append(self.r.choice([self.geom, self.site, self.camera, self.light])())
        return "".join(parts)

    def camera(self) -> str:
        return f'<camera name="{self.new("camera")}"{self.pose()} fovy="{self.number(10, 90)}"/>'

    def light(self) -> str:
        more = self.attributes(0.5, pos=lambda: self.numbers(3), dir=lambda: self.numbers(3))
        return f'<light name="{self.new("light")}"{more} diffuse="{self.numbers(3, None, 0, 1)}"/>'

    def body(self, depth: int, top: bool = False) -> str:
        name = self.new("body")
        childclass = (
            f' childclass="{self.r.choice(self.classes)}"' if self.classes and self.maybe(0.3) else ""
        )
        gravity = self.attributes(0.2, gravcomp=lambda: self.number(0, 1))
        if top and self.maybe(0.25):
            free = self.new("free")
            inside = f'<freejoint name="{free}"/>' if self.maybe() else f'<joint type="free" name="{free}"/>'
        elif top and self.maybe(0.1):
            inside = ""
            gravity += ' mocap="true"'
            self.names.setdefault("mocap", []).append(name)
        else:
            inside = self.joints()
            if self.maybe(0.2) and inside:
                inside = f"<frame{self.pose()}>{inside}</frame>"
        # a free base has its own inertia, so that all of its parts have some
        inertial = self.inertial() if self.maybe(0.4) else ""
        parts = [inside, inertial, self.contents()]
        while depth and self.maybe(0.55):
            child = self.body(depth - 1)
            if self.maybe(0.25):
                child = f"<frame{self.pose()}>{self.site()}{child}</frame>"
            parts.append(child)
        return f'<body name="{name}"{self.pose()}{childclass}{gravity}>{"".join(parts)}</body>'

    def replicate(self) -> str:
        name, joint = self.new("twin"), self.new("twinjoint")
        body = f'<body name="{name}"><joint name="{joint}"/>{self.contents_unnamed()}</body>'
        count = self.r.randint(1, 3)
        more = self.attributes(
            0.6, offset=lambda: self.numbers(3), euler=lambda: self.numbers(3, None, -90, 90)
        )
        separator = self.attributes(0.5, sep=lambda: "-")
        return f'<replicate count="{count}"{more}{separator}>{body}</replicate>'

    def contents_unnamed(self) -> str:
        return f'<geom size="0.1"{self.pose()}/><site{self.pose()}/>'

    # beside the tree

    def tendon_attributes(self) -> str:
        return self.attributes(
            0.3,
            range=lambda: self.range(0, 3),
            margin=lambda: self.number(0, 1),
            stiffness=lambda: self.number(0, 1),
            damping=lambda: self.number(0, 1),
            frictionloss=lambda: self.number(0, 1),
            armature=lambda: self.number(0, 1),
            springlength=lambda: self.r.choice([self.number(0, 1), self.range(0, 1)]),
            actuatorfrcrange=lambda: f"{self.number(-9, 0)} {self.number(0, 9)}",
        ) + self.solvers("limit", "friction")

    def pair_attributes(self) -> str:
        return (
            self.attributes(
                0.4,
                condim=lambda: self.r.choice(["1", "3", "4", "6"]),
                friction=lambda: self.numbers(1, 5, 0, 1),
                margin=lambda: self.number(0, 1),
                gap=lambda: self.number(0, 1),
            )
            + self.solver()
        )

    def tendons(self) -> str:
        parts = []
        for _ in range(self.r.randint(0, 3)):
            scalars = self.names.get("scalar", [])
            if scalars and self.maybe():
                chosen = self.r.sample(scalars, min(len(scalars), self.r.randint(1, 3)))
                nodes = "".join(f'<joint joint="{name}" coef="{self.number()}"/>' for name in chosen)
                attributes = self.tendon_attributes()
                parts.append(f'<fixed name="{self.new("tendon")}"{self.klass()}{attributes}>{nodes}</fixed>')
            elif len(self.names.get("site", [])) >= 3:
                a, b, c = self.r.sample(self.names["site"], 3)
                wrap = self.any("wrap")
                middle = ""
                if wrap is not None and self.maybe():
                    side = f' sidesite="{c}"' if self.maybe() else ""
                    middle = f'<geom geom="{wrap}"{side}/>'
                nodes = f'<site site="{a}"/>{middle}<site site="{b}"/>'
                if self.maybe(0.3):
                    nodes += f'<pulley divisor="{self.number(1, 3)}"/><site site="{b}"/><site site="{c}"/>'
                attributes = self.tendon_attributes()
                parts.append(
                    f'<spatial name="{self.new("tendon")}"{self.klass()}{attributes}>{nodes}</spatial>'
                )
        return "".join(parts)

    def equalities(self) -> str:
        parts = []
        bodies, sites = self.names.get("body", []), self.names.get("site", [])
        scalars = self.names.get("scalar", [])
        for _ in range(self.r.randint(0, 4)):
            common = f"{self.klass()}{self.solver()}{self.attributes(0.3, active=lambda: 'false')}"
            kind = self.r.choice(["connect", "weld", "joint", "sites", "tendon"])
            if kind in ("connect", "weld") and len(bodies) >= 2:
                a, b = self.r.sample(bodies, 2)
                second = f' body2="{b}"' if self.maybe() else ""
                anchor = f' anchor="{self.numbers(3)}"' if kind == "connect" or self.maybe() else ""
                if kind == "weld":
                    anchor += self.attributes(
                        0.5, relpose=lambda: self.numbers(7), torquescale=lambda: self.number(0, 2)
                    )
                parts.append(f'<{kind} body1="{a}"{second}{anchor}{common}/>')
            elif kind == "joint" and len(scalars) >= 2:
                a, b = self.r.sample(scalars, 2)
                second = f' joint2="{b}"' if self.maybe() else ""
                curve = self.attributes(0.6, polycoef=lambda: self.numbers(1, 5))
                parts.append(f'<joint joint1="{a}"{second}{curve}{common}/>')
            elif kind == "sites" and len(sites) >= 2:
                a, b = self.r.sample(sites, 2)
                parts.append(f'<{self.r.choice(["connect", "weld"])} site1="{a}" site2="{b}"{common}/>')
            elif kind == "tendon" and self.any("tendon"):
                curve = self.attributes(0.6, polycoef=lambda: self.numbers(1, 5))
                parts.append(f'<tendon tendon1="{self.any("tendon")}"{curve}{common}/>')
        return "".join(parts)

    def contact(self) -> str:
        parts = []
        geoms, bodies = self.names.get("geom", []), self.names.get("body", [])
        used = set()
        for _ in range(self.r.randint(0, 2)):
            if len(geoms) >= 2:
                a, b = self.r.sample(geoms, 2)
                if frozenset((a, b)) not in used:
                    used.add(frozenset((a, b)))
                    parts.append(f'<pair geom1="{a}" geom2="{b}"{self.klass()}{self.pair_attributes()}/>')
        if len(bodies) >= 2:
            a, b = self.r.sample(bodies, 2)
            parts.append(f'<exclude body1="{a}" body2="{b}"/>')
        return "".join(parts)

    def actuators(self) -> str:
        parts = []
        for _ in range(self.r.randint(0, 6)):
            tag = self.r.choice([*LAWS, "general"])
            targets = []
            if self.any("scalar"):
                targets.append(f'joint="{self.any("scalar")}"')
            if self.any("ball"):
                targets.append(f'jointinparent="{self.any("ball")}"')
            if self.any("tendon"):
                targets.append(f'tendon="{self.any("tendon")}"')
            if self.any("free") and tag == "motor":
                targets.append(f'joint="{self.any("free")}"')
            if len(self.names.get("site", [])) >= 2 and tag == "motor":
                a, b = self.r.sample(self.names["site"], 2)
                targets.append(f'site="{a}"' + (f' refsite="{b}"' if self.maybe() else ""))
                targets.append(f'cranksite="{a}" slidersite="{b}" cranklength="{self.number(1, 2)}"')
            if not targets:
                continue
            control = f' ctrlrange="{self.range(0, 1)}"' if tag == "damper" or self.maybe() else ""
            if tag in ("position", "intvelocity") and self.ranged and self.maybe(0.3):
                targets = [f'joint="{self.r.choice(self.ranged)}" inheritrange="{self.number(0.5, 1.5)}"']
                control = ""
            length = ' lengthrange="0 1"' if tag == "muscle" else ""
            law = self.law_attributes(tag)
            parts.append(
                f'<{tag} name="{self.new("actuator")}" {self.r.choice(targets)}{self.klass()}{law}'
                f"{self.actuator_common()}{control}{length}/>"
            )
        return "".join(parts)

    def sensors(self) -> str:
        parts = []
        choices = {
            "site": [
                "accelerometer",
                "gyro",
                "velocimeter",
                "force",
                "torque",
                "touch",
                "magnetometer",
                "rangefinder",
            ],
            "scalar": ["jointpos", "jointvel", "jointactuatorfrc"],
            "ball": ["ballquat", "ballangvel"],
            "tendon": ["tendonpos", "tendonvel", "tendonactuatorfrc"],
            "actuator": ["actuatorpos", "actuatorvel", "actuatorfrc"],
            "body": ["subtreecom", "subtreelinvel", "subtreeangmom"],
        }
        attribute = {"scalar": "joint", "ball": "joint"}
        for _ in range(self.r.randint(0, 8)):
            kind = self.r.choice(list(choices))
            target = self.any(kind)
            if target is None:
                continue
            tag = self.r.choice(choices[kind])
            name = f' name="{self.new("sensor")}"' if self.maybe() else ""
            more = self.attributes(0.2, noise=lambda: self.number(0, 1))
            if tag != "ballquat":
                more += self.attributes(0.2, cutoff=lambda: self.number(0, 9))
            parts.append(f'<{tag}{name} {attribute.get(kind, kind)}="{target}"{more}/>')
        frames = ["framepos", "framequat", "framexaxis", "framezaxis", "framelinvel", "frameangvel"]
        for _ in range(self.r.randint(0, 3)):
            a, b = self.r.choice(["body", "site", "geom"]), self.r.choice(["body", "site", "geom"])
            if self.any(a) is None or self.any(b) is None:
                continue
            one = f'objtype="{"xbody" if a == "body" and self.maybe() else a}" objname="{self.any(a)}"'
            two = f' reftype="{b}" refname="{self.any(b)}"' if self.maybe() else ""
            parts.append(f"<{self.r.choice(frames)} {one}{two}/>")
        if self.maybe(0.3) and "twin" not in self.names:
            # MuJoCo also replicates sensors that look at nothing
            parts.append("<clock/>")
        return "".join(parts)

    def options(self) -> str:
        flags = self.attributes(
            0.2,
            **{
                name: lambda: self.r.choice(["enable", "disable"])
                for name in (
                    "gravity",
                    "contact",
                    "limit",
                    "spring",
                    "eulerdamp",
                    "warmstart",
                    "energy",
                    "filterparent",
                )
            },
        )
        values = self.attributes(
            0.3,
            timestep=lambda: self.number(0.001, 0.01),
            gravity=lambda: self.numbers(3),
            iterations=lambda: str(self.r.randint(1, 50)),
            tolerance=lambda: "1e-6",
            impratio=lambda: self.number(1, 9),
            wind=lambda: self.numbers(3),
            density=lambda: self.number(0, 2),
        )
        integrator = self.r.choice(["Euler", "RK4", "implicit", "implicitfast"])
        cone, solver = self.r.choice(["pyramidal", "elliptic"]), self.r.choice(["PGS", "CG", "Newton"])
        return (
            f'<option{values} integrator="{integrator}" cone="{cone}" solver="{solver}">'
            f"<flag{flags}/></option>"
        )

    def model(self) -> str:
        """The text of the model."""
        angle = self.r.choice(["degree", "radian"])
        sequence = "".join(self.r.choice("xyzXYZ") for _ in range(3))
        # radians of the size of degrees are valid too
        # the search for ranges of muscle lengths can take for ever
        compiler = f'<compiler angle="{angle}" eulerseq="{sequence}"><lengthrange mode="none"/></compiler>'
        default = f"<default>{self.default(3)}</default>"
        tree = [self.geom(True)]
        for _ in range(self.r.randint(1, 3)):
            tree.append(self.body(3, True))
        if self.maybe(0.4):
            tree.append(self.replicate())
        tree.append(self.contents())
        sections = [
            compiler,
            default,
            self.options(),
            f"<worldbody>{''.join(tree)}</worldbody>",
            f"<tendon>{self.tendons()}</tendon>",
            f"<equality>{self.equalities()}</equality>",
            f"<contact>{self.contact()}</contact>",
            f"<actuator>{self.actuators()}</actuator>",
            f"<sensor>{self.sensors()}</sensor>",
        ]
        return f"<mujoco>{''.join(sections)}</mujoco>"
