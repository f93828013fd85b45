# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""When arrays of a step grow, to the element, and what they hold afterwards."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.collision import arenas
from worldline._src.facade import runtime
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase import tables as narrowphase
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


def boxes(count, kinematic=False, lift=0.0):
    """Boxes that stand apart from each other, on the ground or each on a plate that is moved."""
    world = sx.World(time_step=0.002)
    if kinematic:
        plate = world.add_rigid_body("plate", position=(0, 0, -0.1), kinematic=True)
        plate.add_collision_shape(CollisionShape.box((9.0, 9.0, 0.1)))
    else:
        world.add_ground_plane()
    for k in range(count):
        body = world.add_rigid_body(f"box{k}", position=(k, 0, 0.0999 + lift), inertia=0.01 * np.eye(3))
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
    assert world._live().constraints.collision.sizes["ncontact"] >= grown
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


@pytest.mark.parametrize("jacobian", [5, 10**6])
def test_the_largest_island_counts(jacobian, begin_with):
    """A tall island first, then small ones; room for all rows is not room for all matrices."""
    begin_with(contacts=40, jacobian=jacobian, square=5)
    world = boxes(2)
    high = world.add_rigid_body("high", position=(0, 0, 0.2997), inertia=0.01 * np.eye(3))
    high.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step()
    # boxes 0 and high: 12 columns, 8 contacts
    needed = 8 * ROWS_A_CONTACT * 12
    assert (sizes(world)["njacobian"] == needed) == (jacobian < needed)
    assert sizes(world)["nsquare"] == 12 * 12
    assert world.step_report().dropped_contacts == 0


@pytest.mark.parametrize("short", [0, 1])
def test_rows_of_limits_count_beside_those_of_contacts(short, begin_with):
    """Robots of seven degrees of freedom with a limit of two sides, on four contacts each."""
    needed = (4 * ROWS_A_CONTACT + 2) * WIDTH
    begin_with(contacts=12, jacobian=needed - short, square=10**6)
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(3):
        robot = world.add_multibody(f"robot{k}")
        pose = np.eye(4)
        pose[:3, 3] = k, 0.0, 0.0999
        root = sx.JointSpec("root", sx.JointType.FLOATING, transform_to_parent=pose)
        base = robot.add_link("base", None, root, mass=1.0, inertia=0.01 * np.eye(3))
        base.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
        hinge = sx.JointSpec("hinge", axis=(0, 0, 1), position_lower_limits=-1.0, position_upper_limits=1.0)
        robot.add_link("wheel", base, hinge, mass=0.1, inertia=0.001 * np.eye(3))
    world.step()
    assert world.step_report().contacts == 12
    assert sizes(world)["njacobian"] == (needed if short == 0 else 2 * (needed - 1))


def test_room_for_pairs_grows_with_those_of_grown_bounds(begin_with, monkeypatch):
    """Boxes just above the ground touch nothing, but the pairs of their grown bounds are kept."""
    monkeypatch.setattr(arenas, "PAIRS_A_SHAPE", 0)
    begin_with(contacts=100, jacobian=10**6, square=10**6)
    world = boxes(20, lift=0.004)
    assert world._live().constraints.collision.sizes["npair"] == 16
    world.step()
    collision = world._live().constraints.collision
    assert collision.column["counter"][narrowphase.PAIRS] == 0
    assert 20 <= collision.column["counter"][narrowphase.FAT] <= collision.sizes["npair"]


def test_islands_of_free_bodies_need_no_jacobian(begin_with, monkeypatch):
    """Sequential impulses have no matrices."""
    monkeypatch.setattr(laid_out, "_FREE_COLUMNS", 0)
    begin_with(contacts=12, jacobian=5, square=10**6)
    world = boxes(3)
    world.contact_solver_method = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
    world.step()
    assert world.step_report().contacts == 12
    assert sizes(world)["njacobian"] == 5


def test_contents_stay_and_what_was_short_is_so_no_more(begin_with):
    begin_with(contacts=8)
    world = boxes(2)
    world.step()
    constraints = world._live().constraints
    names = ("contact_force", "frame", "contact_row", "tree_recovery", "option", "shape_friction", "row_note")
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


TENDON = """<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1"/></body>
  <body pos="5 0 0"><joint name="b" axis="0 1 0"/><geom size=".1"/></body>
</worldbody><tendon><fixed limited="true" range="-1 1" frictionloss="1"><joint joint="a" coef="1"/></fixed></tendon></mujoco>"""


def test_rows_that_a_tendon_may_have():
    """Its inertia, its friction, and two sides of its limit."""
    world = sx.World.from_scene(msd.from_str(TENDON, format="mjcf"))
    world.step()
    assert world._live().constraints._tree_rows().tolist() == [4, 0]
