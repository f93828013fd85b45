# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Random scenes that use every field of every class.

The generator reads the declared fields, so a new field is covered the day it is added. Names are fresh tokens
and references go to a small fixed skeleton, so every reference leads somewhere; otherwise the scenes need not
make physical sense.
"""

from __future__ import annotations

import enum
import math
import random
from typing import Any

import numpy as np

from worldline import msd
from worldline._src.scene import arrays, cameras, containers, kinds, texts, values, variant, vectors
from worldline._src.scene.base import Struct
from worldline._src.scene.bodies import Children

SKELETON = {
    "link": 3,
    "joint": 3,
    "geom": 3,
    "site": 3,
    "camera": 2,
    "tendon": 2,
    "actuator": 2,
    "sensor": 2,
    "frame": 2,
    "mesh": 2,
    "hfield": 2,
    "material": 2,
    "texture": 2,
}
ODD_NUMBERS = (0.0, -0.0, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -1e-300, 0.1, 1e22, 2.0**-30)
ODD_TEXTS = ("", "plain", 'quote " back \\ slash', "Grüße 机器人 🤖", "tab\tline\n", "null", "{}", "inf")


def skeleton(world: msd.World) -> None:
    """One or more named objects of every namespace that references can lead to."""

    def name(space: str, index: int) -> str:
        return f"<{space} {index}>"

    base = msd.Link(name=name("link", 0))
    tip = base
    for index in range(1, SKELETON["link"]):
        child = msd.Link(name=name("link", index), local_translation=(0.1, 0.0, 0.2))
        tip.children.append(child)
        tip = child
    world.hierarchy.bodies.append(msd.Body(link=base))
    for index in range(3):
        tip.joints.append(msd.Joint(name=name("joint", index), axis=(0, 0, 1)))
        base.geoms.append(msd.Geometry(name=name("geom", index), size=(1, 1, 1)))
        tip.sites.append(msd.Site(name=name("site", index)))
    for index in range(2):
        world.hierarchy.cameras.append(msd.Camera(name=name("camera", index)))
        nodes = [msd.JointTendonNode(joint_name=name("joint", index))]
        world.tendon_set.joint_tendons.append(msd.JointTendon(name=name("tendon", index), joints=nodes))
        target = msd.ActuatorTarget.joint(name("joint", index))
        world.actuators.append(msd.Actuator(name=name("actuator", index), target=target))
        world.sensors.joint.append(msd.JointSensor(name=name("sensor", index), joint=name("joint", index)))
        world.frames.append(msd.Frame(name=name("frame", index), parent_link=name("link", index)))
        triangle = [[0, 0, 0], [1, 0, 0], [0, 1, 1 / 3]]
        mesh = msd.MeshData(vertices=triangle, triangles=[[0, 1, 2]])
        world.assets.meshes[name("mesh", index)] = msd.MeshSource.buffer(mesh)
        heights = msd.HFieldSourceType.buffer([[0.0, 0.5], [1.0, 0.25]], "")
        world.assets.hfields[name("hfield", index)] = msd.HFieldSource(nrow=2, ncol=2, source_type=heights)
        world.assets.materials[name("material", index)] = msd.Material()
        world.assets.textures[name("texture", index)] = msd.Texture()


class Generator:
    """Makes random values of any kind.

    Args:
        seed: Decides everything.
        density: Share of the fields that are changed from their default.
        attachable: Leave out what cannot become a child of a link.
    """

    def __init__(self, seed: int, density: float = 0.3, *, attachable: bool = False) -> None:
        self.random = random.Random(seed)
        self.density = density
        self.attachable = attachable
        self.fresh = 0
        self.depth = 0

    def world(self) -> msd.World:
        """A scene with its skeleton and random additions everywhere."""
        world = self.struct(msd.World)
        world.source_path = None
        self.attachable and world.hierarchy.geoms.clear()
        skeleton(world)
        return world

    def struct(self, cls: type[Struct]) -> Any:
        made = cls()
        for name, known in cls._fields.items():
            if self.random.random() < self.density or cls is msd.World:
                made.__dict__[name] = self.value(known.kind)
        if isinstance(made, msd.Range) and made.lower > made.upper:
            made.lower, made.upper = made.upper, made.lower
        if isinstance(made, msd.Body) and self.attachable:
            made.free, made.mocap, made.kind = None, False, msd.BodyKind.Dynamic
        return made

    def number(self, kind: kinds.Real) -> float:
        pick = self.random.random()
        if kind.infinite and pick < 0.2:
            return math.inf if kind.minimum is not None or pick < 0.1 else -math.inf
        value = self.random.choice(ODD_NUMBERS) if pick < 0.4 else self.random.uniform(-100.0, 100.0)
        if kind.minimum is not None and value < kind.minimum:
            value = kind.minimum + abs(value)
        if kind.above is not None and value <= kind.above:
            value = kind.above + abs(value) + 0.5
        if kind.maximum is not None and value > kind.maximum:
            value = kind.maximum
        return value

    def token(self, space: str) -> str:
        self.fresh += 1
        return f"<{space} +{self.fresh}>"

    def numbers(self, length: int | None, item: kinds.Real = kinds.REAL) -> list[float]:
        count = self.random.randrange(4) if length is None else length
        return [self.number(item) for _ in range(count)]

    def value(self, kind: kinds.Kind[Any, Any]) -> Any:
        """A random stored value of a kind."""
        choose = self.random
        match kind:
            case kinds.Flag():
                return choose.random() < 0.5
            case kinds.Real():
                return self.number(kind)
            case kinds.Integer():
                return choose.randint(max(kind.minimum, -(2**40)), min(kind.maximum, 2**40))
            case texts.Enumeration():
                member: enum.Enum = choose.choice(list(kind.by_name.values()))
                return member
            case texts.Name():
                return self.token(kind.namespace)
            case texts.Ref():
                space = choose.choice(kind.namespaces)
                return f"<{space} {choose.randrange(SKELETON[space])}>"
            case texts.Label():
                return self.token("label")
            case texts.FilePath():
                return f"file {choose.randrange(100)}.bin"
            case texts.Text():
                return choose.choice(ODD_TEXTS)
            case vectors.Numbers():
                return self.numbers(kind.length, kind.item)
            case vectors.Vector():
                return np.array(self.numbers(kind.length), dtype=float)
            case cameras.OrDefault():
                return self.value(kind.inner)
            case values.RangeKind():
                return self.struct(msd.Range)
            case _:
                return self.nested(kind)

    def nested(self, kind: kinds.Kind[Any, Any]) -> Any:
        choose = self.random
        count = choose.randrange(3)
        match kind:
            case containers.OptionalOf():
                return None if choose.random() < 0.3 else self.value(kind.item)
            case containers.Nested():
                return self.struct(kind.struct)
            case containers.ListOf():
                length = count if kind.length is None else kind.length
                return [self.value(kind.item) for _ in range(length)]
            case containers.TableOf():
                keys = [self.token(kind.namespace or "key") for _ in range(count)]
                return {key: self.value(kind.item) for key in keys}
            case containers.TextSet():
                return set(choose.sample(ODD_TEXTS, count))
            case variant.VariantOf():
                return self.case(kind.cases)
            case arrays.Table():
                rows = [[self.number(kinds.REAL) for _ in range(kind.columns)] for _ in range(count)]
                single = choose.random() < 0.5
                with np.errstate(all="ignore"):
                    table = np.array(rows, float).reshape(-1, kind.columns)
                    small = np.clip(table, -1e30, 1e30).astype(np.float32)
                return small.astype(float) if single else table
            case arrays.Triangles():
                return np.array([[choose.randrange(2**31) for _ in range(3)]] * count, np.int32).reshape(
                    -1, 3
                )
            case arrays.Grid():
                flat = np.array(self.numbers(4), float)
                return flat if choose.random() < 0.5 else flat.reshape(2, 2)
            case Children():
                self.depth += 1
                made = [self.struct(msd.Link) for _ in range(count if self.depth < 4 else 0)]
                self.depth -= 1
                return made
        raise AssertionError(f"no random values for {type(kind).__name__}")

    def case(self, cases: type[variant.Variant]) -> Any:
        name = self.random.choice(list(cases._cases))
        payload = cases._cases[name]
        if payload is None:
            return cases._of(name, None)
        if isinstance(payload, variant.Pair):
            return cases._of(name, (self.value(payload.item), self.value(payload.item)))
        if isinstance(payload, variant.Named):
            data = {
                key: make()
                if (make := payload.defaults.get(key)) and self.random.random() < 0.4
                else self.value(kind)
                for key, kind in payload.items.items()
            }
            return cases._of(name, data)
        return cases._of(name, self.value(payload))
