# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a step leaves for the next one: every column is kept, put back, and checked against the model."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.facade import runtime
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints as laid_out
from worldline._src.step.constraints import Constraints
from worldline._src.step.contact_memory import recall, remembered
from worldline._src.step.room import Room
from worldline.collision import CollisionShape

ROWS = ("contact_row", "contact_force", "frame")
COLLISION = ("contact", "contact_id")
SLEEP = ("tree_group", "tree_quiet", "dof_kept")


def falling(sleeps=True, count=3):
    """Boxes a little over the ground, each of another height, so that they meet it one by one."""
    options = sx.DeactivationOptions(enabled=sleeps, time_until_sleep=0.02)
    world = sx.World(time_step=0.005, deactivation_options=options)
    world.add_ground_plane(friction=0.6)
    for k in range(count):
        body = world.add_rigid_body(f"box{k}", position=(k, 0, 0.1 + 0.02 * k), inertia=0.01 * np.eye(3))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
        body.linear_velocity = (0.3, 0.1 * k, 0.0)
    return world


def columns(world):
    """The columns that memory is of, read one by one."""
    constraints = world._live().constraints
    count = int(constraints.column["counter"][t.CONTACT_COUNT])
    made = {name: constraints.column[name][:count].copy() for name in ROWS}
    made |= {name: constraints.collision.column[name][:count].copy() for name in COLLISION}
    return made | {name: constraints.column[name].copy() for name in SLEEP}


def spoil(world):
    """Other numbers in every column."""
    constraints = world._live().constraints
    for name in (*ROWS, *SLEEP):
        constraints.column[name][:] = 77
    for name in COLLISION:
        constraints.collision.column[name][:] = 77
    constraints.column["counter"][t.CONTACT_COUNT] = 0


def test_every_column_is_kept_and_put_back():
    world = falling()
    world.step(n=14)
    before = columns(world)
    assert len(before["contact"]) == 8 and (before["contact_force"][:, 0] > 0.0).any()
    assert (before["tree_quiet"] != 0.0).any() or (before["tree_group"] >= 0).any()
    memory = remembered(world._live().sim)
    assert memory.keys() == {*ROWS, *COLLISION, *SLEEP}
    spoil(world)
    # copies: what was spoilt is not in them
    assert recall(world._live().sim, memory) is None
    after = columns(world)
    for name in before:
        assert np.array_equal(after[name], before[name]), name


def test_without_sleep_there_is_nothing_to_keep_of_it():
    world = falling(sleeps=False)
    assert remembered(world._live().sim) == {}
    world.step(n=14)
    memory = remembered(world._live().sim)
    assert memory.keys() == {*ROWS, *COLLISION}
    # memory of a World whose sleep was on: what is awake stays awake
    group = world._live().constraints.column["tree_group"]
    before = group.copy()
    assert recall(world._live().sim, memory | {"tree_group": np.zeros(len(group))}) is None
    assert np.array_equal(group, before)


def test_contacts_of_fewer_numbers_leave_no_others():
    """A frame without contacts, after one with some."""
    world = falling()
    empty = remembered(world._live().sim)
    assert empty.keys() == set(SLEEP)
    world.step(n=14)
    assert recall(world._live().sim, empty) is None
    assert world._live().constraints.column["counter"][t.CONTACT_COUNT] == 0


def refused(world, name, memory):
    before = columns(world)
    assert recall(world._live().sim, memory) == name
    after = columns(world)
    for key in before:
        assert np.array_equal(after[key], before[key]), key


@pytest.mark.parametrize("side", range(4))
def test_contacts_between_what_is_not_there_are_refused(side):
    """Shapes and bodies by their number: one past the last, and one below the first."""
    world = falling()
    world.step(n=14)
    constraints = world._live().constraints
    memory = remembered(world._live().sim)
    end = len(constraints.column["shape_condim"]) if side < 2 else len(constraints.column["body_link"])
    for wrong in (end, -1):
        ids = memory["contact_id"].copy()
        ids[-1, side] = wrong
        refused(world, "contact_id", memory | {"contact_id": ids})
    ids[-1, side] = end - 1
    assert recall(world._live().sim, memory | {"contact_id": ids}) is None


@pytest.mark.parametrize("name", [*ROWS, *COLLISION])
def test_columns_of_other_shapes_are_refused(name):
    world = falling()
    world.step(n=14)
    memory = remembered(world._live().sim)
    refused(world, name if name != "contact" else "contact_row", memory | {name: memory[name][:-1]})
    if memory[name].ndim > 1:
        refused(world, name, memory | {name: memory[name][:, :-1]})
    without = {key: value for key, value in memory.items() if key != name}
    assert recall(world._live().sim, without) is not None


@pytest.mark.parametrize("name", SLEEP)
def test_sleepers_of_another_model_are_refused(name):
    world = falling()
    memory = remembered(world._live().sim)
    refused(world, name, memory | {name: memory[name][:-1]})


def test_unknown_columns_are_refused():
    world = falling()
    refused(world, "colour", {"colour": np.zeros(3)})
    without = sx.World()
    without.add_rigid_body("ball", inertia=np.eye(3))
    sim = without._live().sim
    assert sim.constraints is None
    assert recall(sim, {}) is None
    assert recall(sim, {"tree_group": np.zeros(1)}) == "tree_group"


def test_room_grows_for_a_contact_more_than_it_has(monkeypatch):
    world = falling()
    world.step(n=14)
    memory, before = remembered(world._live().sim), columns(world)
    monkeypatch.setattr(laid_out, "_CONTACT_ROOM", -100000)
    monkeypatch.setattr(
        runtime, "Constraints", partial(Constraints, room=Room(contacts=len(memory["contact"]) - 1))
    )
    other = falling()
    assert other._live().constraints.sizes["ncontact"] == len(memory["contact"]) - 1
    assert recall(other._live().sim, memory) is None
    after = columns(other)
    for name in before:
        assert np.array_equal(after[name], before[name]), name


def test_duals_of_ground_points_are_kept_beside_contacts(tmp_path):
    world = sx.World(time_step=0.001, multibody_options=sx.MultibodyOptions("variational"))
    world.add_ground_plane()
    ball = world.add_rigid_body("ball", mass=1.0, inertia=0.004 * np.eye(3), position=(1.0, 0.0, 0.1))
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    robot = world.add_multibody("lift")
    rail = sx.JointSpec(name="rail", type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
    foot = robot.add_link("foot", joint=rail, mass=2.0)
    robot.set_ground_contact((0, 0, 1), (0, 0, 0), 1e4, dual_update_cadence=4)
    robot.add_ground_contact_point(foot, (0, 0, 0))
    world.step(n=30)
    assert world.contacts
    kept = remembered(world._live().sim)
    assert kept["ground_dual"].any() and len(kept["contact"])
    world.save_binary(tmp_path / "world")
    again = sx.World()
    again.load_binary(tmp_path / "world")
    world.step(n=30)
    again.step(n=30)
    assert again.state_vector.tobytes() == world.state_vector.tobytes()
