# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A scene that was found sound is not checked again, unless anything in it has changed."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene import validate
from worldline._src.scene.formats.mjcf.making import maker
from worldline._src.scene.formats.recent import RECENT
from worldline._src.scene.lending import LENT, Loan
from worldline._src.scene.sealing import is_sealed

TEXT = """<mujoco>
<asset><material name="red"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a"><joint name="j" range="-10 10"/><geom name="g" size="0.1" material="red"/>
<body name="b"><joint name="k" damping="1"/><geom name="h" size="0.1"/></body></body></worldbody>
<contact><exclude body1="a" body2="b"/></contact>
<actuator><motor name="m" joint="j"/></actuator>
<keyframe><key name="start" qpos="0.1 0.2"/></keyframe></mujoco>"""


NUMBERS = '<custom><numeric name="n" data="1 2"/></custom></mujoco>'
"""Lists in a table, which no seal knows."""


@pytest.fixture
def world() -> msd.World:
    RECENT.clear()
    made = msd.from_str(TEXT)
    assert is_sealed(made)
    return made


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Scenes that were really looked at."""
    seen: list[str] = []
    examine = validate.examine

    def counted(scene: msd.World, *more: object) -> object:
        seen.append(scene.name)
        return examine(scene, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(validate, "examine", counted)
    return seen


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
    "a list in a list": lambda w: put(w.collision_ignores.link_pairs[0], 1, "c"),
    "a list in a lent part": lambda w: put(geom(w).physics_material.friction, 0, -1.0),
    "a field in a lent part": lambda w: setattr(joint(w).limit_force.value.spring, "k", -1.0),
    "a keyframe": lambda w: w.keyframes[0].dof_pos.__setitem__(0, math.inf),
    "a child": lambda w: link(w).children.append(link(w)),
    "a name": lambda w: setattr(link(w).children[0], "name", "a"),
}


def test_building_what_was_read_does_not_look_at_it_again(world: msd.World, walks: list[str]) -> None:
    msd.build(world)
    assert len(walks) == 0
    world.collision_ignores.link_pairs.clear()
    msd.build(world)
    assert len(walks) == 1
    msd.build(world)
    assert len(walks) == 1


def test_building_takes_nothing_that_is_lent() -> None:
    text = """<mujoco><asset><material name="red"/></asset><default><motor ctrlrange="-1 1"/></default>
    <worldbody><body name="a"><joint name="j"/>
    <geom size="0.1"/></body></worldbody><tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
    <actuator><motor joint="j"/></actuator></mujoco>"""
    world = msd.from_str(text)
    msd.build(world)
    assert is_sealed(world) and "ctrlrange" not in vars(world.actuators[0])


def test_a_loan_that_is_not_sound_never_counts_as_sound() -> None:
    loan = Loan(msd.Inertia(mass=1.0, pos=(0.0, 0.0, 0.0)), maker)
    loan.value.__dict__["pos"][0] = math.nan
    for _ in range(2):
        borrower = msd.World(hierarchy=msd.Hierarchy(bodies=[msd.Body(link=msd.Link(name="a"))]))
        fields = vars(link(borrower))
        del fields["inertial"]
        fields[LENT] = {"inertial": loan}
        with pytest.raises(SceneError):
            borrower.validate()


@pytest.mark.parametrize("what", BROKEN)
def test_any_change_is_found_when_a_model_is_built(world: msd.World, what: str) -> None:
    BROKEN[what](world)
    with pytest.raises(SceneError):
        msd.build(world)


def test_what_might_change_unnoticed_has_no_seal() -> None:
    world = msd.from_str(TEXT.replace("</mujoco>", NUMBERS))
    assert not is_sealed(world)
    put(world.custom.numeric["n"], 0, math.nan)
    with pytest.raises(SceneError):
        msd.build(world)


def test_looking_changes_nothing(world: msd.World) -> None:
    assert geom(world).size[0] == 0.1 and link(world).name == "a" and world == world.deepcopy()
    assert is_sealed(world)


def test_an_equal_entry_is_another_entry(world: msd.World) -> None:
    link(world).geoms[0] = copy.deepcopy(geom(world))
    assert not is_sealed(world)
    msd.build(world)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_are_looked_at_again(world: msd.World, make: Callable[[msd.World], msd.World]) -> None:
    twin = make(world)
    assert not is_sealed(twin)
    put(geom(twin).size, 0, math.nan)
    with pytest.raises(SceneError):
        msd.build(twin)
    msd.build(world)


def test_arrays_that_lie_in_pieces_are_sealed_too(world: msd.World) -> None:
    pieces = np.arange(6.0)
    # past assignment, which keeps a copy
    geom(world).__dict__["position"] = pieces[::2]
    validate.examine(world)
    assert is_sealed(world)
    pieces[1] = 7.0
    assert is_sealed(world)
    pieces[2] = 7.0
    assert not is_sealed(world)
