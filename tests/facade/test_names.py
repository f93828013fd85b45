# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of names, lookup and collections; one test each, named for the rule."""

from __future__ import annotations

import pytest

from facade.scenes import pendulum, rich
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, NotFoundError

ADD = {
    "rigid body": (lambda w, n: w.add_rigid_body(n), "rigid_bodies", "rigid_body"),
    "multibody": (lambda w, n: w.add_multibody(n), "multibodies", "multibody"),
    "free frame": (lambda w, n: w.add_free_frame(n), "frames", "free_frame"),
    "closure": (
        lambda w, n: w.add_loop_closure(n, frame_a=w.get_rigid_body("a"), frame_b=w.get_rigid_body("b")),
        "loop_closures",
        "loop_closure",
    ),
}


@pytest.fixture
def world():
    made = sx.World()
    made.add_rigid_body("a")
    made.add_rigid_body("b")
    return made


@pytest.mark.parametrize("kind", ADD)
def test_names_are_unique_and_a_refused_add_changes_nothing(world, kind):
    add, table, _ = ADD[kind]
    add(world, "twin")
    count = len(getattr(world, table))
    with pytest.raises(ArgumentError, match="already exists"):
        add(world, "twin")
    assert len(getattr(world, table)) == count


@pytest.mark.parametrize("kind", ADD)
@pytest.mark.parametrize("empty", ["", None])
def test_made_up_names_count_and_skip_taken_ones(world, kind, empty):
    add, _table, prefix = ADD[kind]
    add(world, f"{prefix}_002")
    assert [add(world, empty).name for _ in range(2)] == [f"{prefix}_001", f"{prefix}_003"]


def test_made_up_names_of_links_and_joints_count_per_multibody():
    world = sx.World()
    for name in ("one", "two"):
        robot = world.add_multibody(name)
        root = robot.add_link()
        child = robot.add_link(parent=root, joint=sx.JointSpec())
        assert (root.name, child.name, child.parent_joint.name) == ("link_001", "link_002", "joint_001")


def test_two_multibodies_may_use_the_same_names_of_links_and_joints():
    world = sx.World()
    left, right = pendulum(world, "left"), pendulum(world, "right")
    assert left.links.names == right.links.names == ["base", "bob"]
    left.joints["hinge"].position = [0.5]
    assert right.joints["hinge"].position.tolist() == [0.0]


def test_a_rigid_body_and_a_link_may_have_one_name():
    world = sx.World()
    world.add_rigid_body("base")
    robot = pendulum(world, "base")
    assert world.rigid_bodies["base"] is not robot.links["base"]
    world.step()


@pytest.mark.parametrize("what", ["link", "joint"])
def test_a_multibody_owns_unique_names(what):
    world = sx.World()
    arm = pendulum(world)
    spec = sx.JointSpec(name="hinge" if what == "joint" else "other")
    with pytest.raises(ArgumentError, match="already exists"):
        arm.add_link("bob" if what == "link" else "third", arm.links["base"], spec)
    assert arm.num_links == 2 and arm.num_joints == 1


def test_renaming_a_multibody():
    world = sx.World()
    arm = pendulum(world)
    arm.joints.position = [0.25]
    arm.name = "lever"
    assert world.multibodies.names == ["lever"] and world.get_multibody("pendulum") is None
    assert arm.links.names == ["base", "bob"] and arm.joints["hinge"].position.tolist() == [0.25]


def test_renaming_to_nothing_is_refused():
    arm = pendulum(sx.World())
    with pytest.raises(ArgumentError, match="cannot be empty"):
        arm.name = ""
    assert arm.name == "pendulum"


def test_renaming_to_a_taken_name_is_refused():
    world = sx.World()
    arm = pendulum(world)
    world.add_multibody("other")
    with pytest.raises(ArgumentError, match="already exists"):
        arm.name = "other"


@pytest.mark.parametrize("kind", ["rigid_bodies", "frames"])
def test_other_names_are_read_only(kind):
    world = sx.World()
    rich(world)
    with pytest.raises(AttributeError):
        getattr(world, kind)[0].name = "x"


def test_optional_lookup_returns_none_and_presence_is_a_bool():
    world = sx.World()
    arm = pendulum(world)
    for get in (
        world.get_rigid_body,
        world.get_multibody,
        world.get_loop_closure,
        world.get_frame,
        arm.get_link,
        arm.get_joint,
    ):
        assert get("nobody") is None
    for has in (
        world.has_rigid_body,
        world.has_multibody,
        world.has_loop_closure,
        world.has_frame,
        arm.has_link,
        arm.has_joint,
    ):
        assert has("nobody") is False
    assert world.has_multibody("pendulum") is True and arm.has_link("bob") is True


def test_required_lookup_raises_a_key_error_with_the_nearest_name():
    arm = pendulum(sx.World())
    with pytest.raises(KeyError, match="did you mean 'hinge'"):
        arm.joints["hinges"]
    with pytest.raises(NotFoundError):
        arm.links["nobody"]


def test_collections_have_length_order_index_slice_and_membership():
    world = sx.World()
    robot = rich(world)
    assert len(robot.links) == robot.num_links == 4
    assert robot.links.names == [link.name for link in robot.links] == ["base", "left", "right", "hand"]
    assert robot.links[0] is robot.links["base"] and robot.links[-1].name == "hand"
    assert [link.name for link in robot.links[1:3]] == ["left", "right"]
    assert "left" in robot.links and robot.links[1] in robot.links and "nobody" not in robot.links
    assert robot.links.get("nobody", 7) == 7
    with pytest.raises(IndexError):
        robot.links[4]


def test_collections_are_views_of_their_owner():
    world = sx.World()
    bodies = world.rigid_bodies
    box = world.add_rigid_body("box")
    assert bodies.names == ["box"]
    box.remove()
    assert bodies.names == [] and len(bodies) == 0


def test_get_rigid_body_names_is_sorted():
    world = sx.World()
    for name in ("b", "a"):
        world.add_rigid_body(name)
    assert world.get_rigid_body_names() == ["a", "b"] and world.rigid_bodies.names == ["b", "a"]


def test_num_dofs_is_that_of_the_tree_whatever_the_closures():
    world = sx.World()
    arm = pendulum(world)
    before = arm.num_dofs, world.num_dofs
    arm.add_loop_closure(frame_a=arm.links["base"], frame_b=arm.links["bob"])
    assert (arm.num_dofs, world.num_dofs) == before == (1, 1) and world.num_loop_closures == 1
