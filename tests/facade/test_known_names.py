# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A misspelt property is an error and never a silent nothing."""

from __future__ import annotations

import pytest

from worldline import simulation as sx


def objects():
    world = sx.World()
    robot = world.add_multibody("arm")
    base = robot.add_link("base")
    arm = robot.add_link("link", parent=base, joint=sx.JointSpec(name="hinge", type=sx.JointType.REVOLUTE))
    return [
        world,
        world.add_rigid_body("box"),
        robot,
        arm,
        robot.joints["hinge"],
        world.add_free_frame("eye"),
    ]


@pytest.mark.parametrize("which", range(6))
def test_an_unknown_attribute_is_refused_and_not_kept(which):
    thing = objects()[which]
    with pytest.raises(AttributeError, match=f"{type(thing).__name__} has no attribute 'namee'"):
        thing.namee = 3
    assert not hasattr(thing, "namee")


def test_the_nearest_name_is_told():
    with pytest.raises(AttributeError, match="gravity"):
        sx.World().gravty = (0, 0, 0)


def test_a_subclass_may_have_attributes_of_its_own():
    class Counting(sx.World):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

    assert Counting().count == 0
