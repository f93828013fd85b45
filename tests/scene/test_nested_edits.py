# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every edit of a scene is validated when a model is built, however deep it is nested."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError

TEXT = """<mujoco>
<asset><material name="red"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a"><joint name="j" range="-10 10"/><geom name="g" size="0.1" material="red"/>
<body name="b"><joint name="k" damping="1"/><geom name="h" size="0.1"/></body></body></worldbody>
<contact><exclude body1="a" body2="b"/></contact>
<actuator><motor name="m" joint="j"/></actuator>
<custom><numeric name="n" data="1 2"/></custom>
<keyframe><key name="start" qpos="0.1 0.2"/></keyframe></mujoco>"""


@pytest.fixture
def world() -> msd.World:
    made = msd.from_str(TEXT)
    msd.build(made)
    return made


def link(world: msd.World) -> msd.Link:
    return world.hierarchy.bodies[0].link


def geom(world: msd.World) -> msd.Geometry:
    return link(world).geoms[0]


def joint(world: msd.World) -> msd.Joint:
    return link(world).joints[0]


def put(items: list, index: int, value: object) -> None:
    items[index] = value


BROKEN: dict[str, Callable[[msd.World], object]] = {
    "a field": lambda w: setattr(geom(w), "mass", -1.0),
    "a field of a field": lambda w: setattr(joint(w).pos_limit, "lower", 5.0),
    "a number in a list": lambda w: put(geom(w).size, 0, math.nan),
    "another type in a list": lambda w: put(geom(w).size, 0, True),
    "an entry of a list": lambda w: link(w).geoms.append(geom(w).name),
    "an entry of an empty list": lambda w: link(w).sites.append(msd.Site(name="s", rgba=[math.nan] * 4)),
    "one less in a list": lambda w: geom(w).size.pop(),
    "a number in an array": lambda w: joint(w).axis.__setitem__(slice(None), 0.0),
    "nothing in an array": lambda w: geom(w).position.__setitem__(0, math.nan),
    "a quaternion": lambda w: link(w).local_rotation.__setitem__(slice(None), 0.0),
    "the type of an array": lambda w: setattr(geom(w).position, "dtype", np.int64),
    "the shape of an array": lambda w: setattr(geom(w).position, "shape", (1, 3)),
    "the dimensions of an array": lambda w: setattr(geom(w).position, "shape", (3, 1)),
    "a name of a table": lambda w: w.assets.materials.pop("red"),
    "an entry of a table": lambda w: w.assets.materials.__setitem__("red", None),
    "a list in a table": lambda w: put(w.custom.numeric["n"], 0, math.nan),
    "a list in a list": lambda w: put(w.collision_ignores.link_pairs[0], 1, "c"),
    "a list in a part": lambda w: put(geom(w).physics_material.friction, 0, -1.0),
    "a field in a variant": lambda w: setattr(joint(w).limit_force.value.spring, "k", -1.0),
    "a keyframe": lambda w: w.keyframes[0].dof_pos.__setitem__(0, math.inf),
    "a child": lambda w: link(w).children.append(link(w)),
    "a name": lambda w: setattr(link(w).children[0], "name", "a"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_any_edit_is_found_when_a_model_is_built(world: msd.World, what: str) -> None:
    BROKEN[what](world)
    with pytest.raises(SceneError):
        msd.build(world)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_edits_of_a_copy_are_its_own(world: msd.World, make: Callable[[msd.World], msd.World]) -> None:
    twin = make(world)
    put(geom(twin).size, 0, math.nan)
    with pytest.raises(SceneError):
        msd.build(twin)
    msd.build(world)
