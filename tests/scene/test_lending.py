# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parts that objects of a scene share until somebody asks for one: nobody can tell."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

from worldline import msd
from worldline._src.errors import SceneError
from worldline._src.scene.formats.mjcf.making import Fields, Template, defaults
from worldline._src.scene.lending import owned

TEXT = """<mujoco>
<asset><material name="red" rgba="1 0 0 1"/></asset>
<default><geom friction="0.7" material="red"/><joint damping="2" stiffness="3"/></default>
<worldbody><body name="a"><joint name="j"/><geom name="g" size="0.1"/><geom name="h" size="0.2"/>
<body name="b"><joint name="k"/><geom name="i" size="0.3"/></body></body></worldbody></mujoco>"""


@pytest.fixture
def world() -> msd.World:
    return msd.from_str(TEXT)


def geoms(world: msd.World) -> list[msd.Geometry]:
    return [geom for link in world.hierarchy.links() for geom in link.geoms]


def everything_owned(world: msd.World) -> msd.World:
    """The same scene after all of it was asked for."""
    for link in world.hierarchy.links():
        for part in (link, *link.geoms, *link.joints):
            owned(part)
    return world


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


def test_assignment_takes_the_place_of_what_is_lent(world: msd.World) -> None:
    first, second, _ = geoms(world)
    first.visual = msd.GeomVisualAttrs(group=5)
    assert (first.visual.group, second.visual.group) == (5, 0)
    joint = world.hierarchy.bodies[0].link.joints[0]
    joint.spring_damper = None
    assert joint.spring_damper is None
    with pytest.raises(AttributeError, match="no attribute 'visuals'"):
        first.visuals  # noqa: B018


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_say_the_same_and_share_nothing_that_changes(world: msd.World, make: object) -> None:
    twin = make(geoms(world)[0])  # type: ignore[operator]
    assert twin == geoms(world)[0]
    if make is copy.copy:
        assert twin.physics_material is geoms(world)[0].physics_material
        return
    twin.physics_material.friction[0] = 5.0
    assert geoms(world)[0].physics_material.friction[0] == 0.7


def test_names_in_what_is_lent_follow_an_attachment(world: msd.World) -> None:
    other = msd.from_str(TEXT)
    world.attach(other, other_prefix="two_")
    assert [geom.visual.material for geom in geoms(world)] == ["red"] * 3 + ["two_red"] * 3
    assert [geom.visual.material for geom in geoms(other)] == ["red"] * 3
    world.validate()


def test_what_is_lent_is_checked() -> None:
    heavy = Fields.of({"physics_material": msd.PhysicsMaterial(density=math.nan)})
    template = Template(msd.Geometry, [defaults(msd.Geometry, {"physics_material"}), heavy])
    world = msd.World()
    world.hierarchy.geoms += [template.make({"size": [0.1, 0.0, 0.0]}) for _ in range(3)]
    with pytest.raises(SceneError) as caught:
        world.validate()
    assert sum("density" in problem.path for problem in caught.value.problems) == 3


def test_references_in_what_is_lent_are_looked_up_in_each_scene(world: msd.World) -> None:
    for scene in (world, msd.from_str(TEXT)):
        scene.validate()
        scene.assets.materials.clear()
        with pytest.raises(SceneError, match="3 problems"):
            scene.validate()


def test_models_do_not_depend_on_what_was_asked_for(world: msd.World) -> None:
    lent, asked = msd.build(world), msd.build(everything_owned(msd.from_str(TEXT)))
    assert lent.shapes is not None and asked.shapes is not None
    assert (lent.shapes.friction == asked.shapes.friction).all()
    assert (lent.shapes.force.stiffness == asked.shapes.force.stiffness).all()
    assert (lent.joint_damping == asked.joint_damping).all()
