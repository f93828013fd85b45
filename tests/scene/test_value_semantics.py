# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of a scene never share a mutable part, even where a default class gives it to all of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.base import Struct
from worldline._src.scene.variant import Variant

TEXT = """<mujoco>
<asset><material name="red" rgba="1 0 0 1"/></asset>
<default><geom friction="0.7" material="red" fluidshape="ellipsoid"/><joint damping="2" stiffness="3"/>
<site rgba="1 0 0 1"/><motor ctrlrange="-1 1" gear="2"/></default>
<worldbody><body name="a"><joint name="j"/><geom name="g" size="0.1"/><geom name="h" size="0.2"/><site/><site/>
<body name="b"><joint name="k"/><geom name="i" size="0.3"/></body></body></worldbody>
<tendon><fixed><joint joint="j" coef="1"/></fixed><fixed><joint joint="j" coef="1"/></fixed></tendon>
<actuator><motor joint="j"/><motor joint="k"/></actuator></mujoco>"""


@pytest.fixture
def world() -> msd.World:
    return msd.from_str(TEXT)


def geoms(world: msd.World) -> list[msd.Geometry]:
    return [geom for link in world.hierarchy.links() for geom in link.geoms]


def mutable_parts(value: Any, found: list[Any]) -> list[Any]:
    """Every object, list, dict and array of a scene, as often as it is reached."""
    if isinstance(value, Struct):
        found.append(value)
        for inner in vars(value).values():
            mutable_parts(inner, found)
    elif isinstance(value, Variant):
        # the variant itself is immutable, what it holds need not be
        mutable_parts(value._data, found)
    elif isinstance(value, list | dict):
        found.append(value)
        for inner in value.values() if isinstance(value, dict) else value:
            mutable_parts(inner, found)
    elif isinstance(value, tuple):
        for inner in value:
            mutable_parts(inner, found)
    elif isinstance(value, np.ndarray):
        found.append(value)
    return found


def test_no_part_is_reached_twice(world: msd.World) -> None:
    parts = mutable_parts([world, msd.from_str(TEXT)], [])
    assert len(parts) > 300
    assert len({id(part) for part in parts}) == len(parts)


def test_a_change_of_one_reaches_no_other(world: msd.World) -> None:
    first, second, third = geoms(world)
    first.physics_material.friction[0] = 9.0
    first.visual.group = 3
    first.physics_material.contact_model.value.spring.k = 1.0
    assert second.physics_material.friction == third.physics_material.friction == [0.7, 0.005, 0.0001]
    assert second.visual.group == 0
    assert second.physics_material.contact_model.value.spring.k != 1.0
    again = geoms(msd.from_str(TEXT))
    assert again[0].physics_material.friction[0] == 0.7


def test_assignment_replaces_a_part_of_one_object(world: msd.World) -> None:
    first, second, _ = geoms(world)
    first.visual = msd.GeomVisualAttrs(group=5)
    assert (first.visual.group, second.visual.group) == (5, 0)
    joint = world.hierarchy.bodies[0].link.joints[0]
    joint.spring_damper = None
    assert joint.spring_damper is None
    with pytest.raises(AttributeError, match="no attribute 'visuals'"):
        first.visuals  # noqa: B018


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_are_equal_and_deep_ones_share_nothing(world: msd.World, make: Callable[[Any], Any]) -> None:
    geom = geoms(world)[0]
    twin = make(geom)
    assert twin == geom
    if make is copy.copy:
        assert twin.physics_material is geom.physics_material
        return
    twin.physics_material.friction[0] = 5.0
    assert geom.physics_material.friction[0] == 0.7


def test_names_in_parts_follow_an_attachment(world: msd.World) -> None:
    other = msd.from_str(TEXT)
    world.attach(other, other_prefix="two_")
    assert [geom.visual.material for geom in geoms(world)] == ["red"] * 3 + ["two_red"] * 3
    assert [geom.visual.material for geom in geoms(other)] == ["red"] * 3
    world.validate()


def test_references_in_parts_are_resolved_in_each_scene(world: msd.World) -> None:
    for scene in (world, msd.from_str(TEXT)):
        scene.validate()
        scene.assets.materials.clear()
        with pytest.raises(SceneError, match="3 problems"):
            scene.validate()
