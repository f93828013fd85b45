# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""When arrays of a step grow, to the element, and what they hold afterwards."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.facade import runtime
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints as laid_out
from worldline._src.step.constraints import Constraints
from worldline._src.step.room import Room
from worldline.collision import CollisionShape

ROWS_A_CONTACT = 4
"""A contact with sliding friction has at most the four edges of a pyramid."""
WIDTH = 8
"""Six columns of a free body, filled up to packs of four."""


@pytest.fixture
def begin_with(monkeypatch):
    """Worlds begin with room for what is given and no more."""
    monkeypatch.setattr(laid_out, "_CONTACT_ROOM", -100000)
    monkeypatch.setattr(laid_out, "_JACOBIAN_ROOM", 0)
    monkeypatch.setattr(laid_out, "_SQUARE_ROOM", 0)

    def begin(**room):
        monkeypatch.setattr(runtime, "Constraints", partial(Constraints, room=Room(**room)))

    return begin


def boxes(count, kinematic=False):
    """Boxes that stand apart from each other, on the ground or each on a plate that is moved."""
    world = sx.World(time_step=0.002)
    if kinematic:
        plate = world.add_rigid_body("plate", position=(0, 0, -0.1), kinematic=True)
        plate.add_collision_shape(CollisionShape.box((9.0, 9.0, 0.1)))
    else:
        world.add_ground_plane()
    for k in range(count):
        body = world.add_rigid_body(f"box{k}", position=(k, 0, 0.0999), inertia=0.01 * np.eye(3))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return world


def sizes(world):
    return world._live().constraints.sizes


@pytest.mark.parametrize(("begun", "grown"), [(8, 8), (7, 14), (5, 10), (3, 8)])
def test_room_for_contacts_grows_where_one_has_none(begun, grown, begin_with):
    """Two boxes have eight contacts; room doubles at least."""
    begin_with(contacts=begun)
    world = boxes(2)
    assert sizes(world)["ncontact"] == begun
    world.step()
    assert sizes(world)["ncontact"] == grown
    assert world._live().constraints.hits.sizes["ncontact"] >= grown
    report = world.step_report()
    assert report.contacts == 8 and report.dropped_contacts == 0


@pytest.mark.parametrize(("short", "kinematic"), [(0, False), (1, False), (0, True), (1, True)])
def test_room_for_a_jacobian_grows_where_an_element_has_none(short, kinematic, begin_with):
    """Islands of one box with four contacts each; a plate that is moved brings its columns."""
    width = 12 if kinematic else WIDTH
    needed = 4 * ROWS_A_CONTACT * width
    begin_with(contacts=12, jacobian=needed - short, square=10**6)
    world = boxes(3, kinematic)
    assert sizes(world)["njacobian"] == needed - short
    world.step()
    assert world.step_report().islands == 3
    assert sizes(world)["njacobian"] == (needed if short == 0 else 2 * (needed - 1))


def test_a_jacobian_far_too_small_gets_what_it_needs(begin_with):
    begin_with(contacts=12, jacobian=5, square=10**6)
    world = boxes(3)
    world.step()
    assert sizes(world)["njacobian"] == 4 * ROWS_A_CONTACT * WIDTH


def test_the_largest_island_counts(begin_with):
    """A tall island first, then small ones."""
    begin_with(contacts=40, jacobian=5, square=5)
    world = boxes(2)
    high = world.add_rigid_body("high", position=(0, 0, 0.2997), inertia=0.01 * np.eye(3))
    high.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step()
    # boxes 0 and high: 12 columns, 8 contacts
    assert sizes(world)["njacobian"] == 8 * ROWS_A_CONTACT * 12
    assert sizes(world)["nsquare"] == 12 * 12
    assert world.step_report().dropped_contacts == 0


def test_contents_stay_and_what_was_short_is_so_no_more(begin_with):
    begin_with(contacts=8)
    world = boxes(2)
    world.step()
    constraints = world._live().constraints
    names = ("contact_force", "frame", "contact_row", "tree_slow", "option", "shape_friction", "row_note")
    before = {name: constraints.column[name].copy() for name in names}
    assert before["contact_force"][:8, 0].min() > 0.0
    constraints.column["link"][t.SHORT] = 1
    constraints.make_room(Room(contacts=9, jacobian=sizes(world)["njacobian"] + 1))
    assert constraints.sizes["ncontact"] == 16
    for name in names:
        assert np.array_equal(constraints.column[name][: len(before[name])], before[name]), name
    assert constraints.column["link"][t.SHORT] == 0
    assert constraints.sizes["nrow"] == constraints._other_rows + ROWS_A_CONTACT * 16


def test_rows_that_trees_may_have():
    """Two sides of a limit and of a velocity limit, one row of friction."""
    world = sx.World()
    world.add_ground_plane(-9.0)
    for name, spec in (
        ("limited", {"position_lower_limits": -1.0, "position_upper_limits": 1.0}),
        ("rubbing", {}),
        ("slow", {"velocity_limits": 2.0}),
        ("plain", {}),
    ):
        robot = world.add_multibody(name)
        robot.add_link(
            "rod", None, sx.JointSpec(name="j", axis=(0, 1, 0), **spec), mass=1.0, inertia=np.eye(3)
        )
    world.multibodies["rubbing"].joints["j"].coulomb_friction = [1.0]
    world.step()
    assert world._live().constraints._tree_rows().tolist() == [2, 1, 2, 0]
