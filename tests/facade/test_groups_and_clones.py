# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of multibodies seen as one, and copies of multibodies and worlds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from facade_worlds import arm_and_box, floating
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError
from worldline._src.facade import physical_parameters as parameters
from worldline._src.facade import runtime
from worldline._src.model.compile import compile_arenas
from worldline._src.step import collision_rows
from worldline.collision import CollisionShape


@pytest.fixture
def tree():
    """Links a..f: b and e hang on a, c and d on b, f on e; a joint of the same letter above each but a."""
    world = sx.World()
    robot = world.add_multibody("tree")
    links = {"a": robot.add_link("a", mass=2.0)}
    for name, parent in ("b", "a"), ("c", "b"), ("d", "b"), ("e", "a"), ("f", "e"):
        spec = sx.JointSpec(name=name.upper(), axis=(0, 1, 0))
        links[name] = robot.add_link(name, parent=links[parent], joint=spec, center_of_mass=(0.1, 0, -0.2))
    robot.joints.position = [0.1, 0.2, 0.3, 0.4, 0.5]
    return world, robot, links


def names(parts):
    return [part.name for part in parts]


def test_chain(tree):
    _, robot, links = tree
    chain = robot.chain(links["a"], links["d"])
    assert isinstance(chain, sx.Chain) and isinstance(chain, sx.Group)
    assert (names(chain.links), names(chain.joints)) == (["a", "b", "d"], ["B", "D"])
    assert names(robot.chain(links["b"], links["d"]).links) == ["b", "d"]
    assert names(robot.chain(links["b"], links["d"]).joints) == ["D"]
    assert names(robot.chain(links["b"], links["d"], include_parent_joint=True).joints) == ["B", "D"]
    with pytest.raises(ArgumentError, match="'f' does not hang on link 'b'"):
        robot.chain(links["b"], links["f"])


def test_branch(tree):
    _, robot, links = tree
    assert names(robot.branch(links["b"]).links) == ["b", "c", "d"]
    assert names(robot.branch(links["b"]).joints) == ["C", "D"]
    assert names(robot.branch(links["b"], include_parent_joint=True).joints) == ["B", "C", "D"]


def test_linkage(tree):
    _, robot, links = tree
    linkage = robot.linkage(links["c"], [links["f"], links["d"]])
    assert names(linkage.links) == ["a", "b", "c", "d", "e", "f"]
    assert names(linkage.joints) == ["B", "C", "D", "E", "F"]
    assert names(robot.linkage(links["c"], [links["d"]]).links) == ["b", "c", "d"]
    assert names(robot.linkage(links["c"], [links["d"]]).joints) == ["C", "D"]


def test_group_shows_rows_and_columns_of_the_multibody(tree):
    _, robot, links = tree
    group = robot.group(links=[links["f"], links["c"]], joints=[robot.joints["F"], robot.joints["C"]])
    assert names(group.links) == ["c", "f"] and group.num_dofs == 2 and len(group.dofs) == 2
    assert group.dof_indices.tolist() == [1, 4]
    assert group.position.tolist() == [0.2, 0.5]
    group.position, group.velocity, group.force = [7, 8], [1, 2], [3, 4]
    assert robot.joints.position.tolist() == [0.1, 7, 0.3, 0.4, 8]
    assert robot.joints.velocity.tolist() == [0, 1, 0, 0, 2] and robot.joints["F"].force.tolist() == [4]
    rows = np.ix_([1, 4], [1, 4])
    np.testing.assert_array_equal(group.mass_matrix, robot.mass_matrix[rows])
    np.testing.assert_array_equal(
        group.coriolis_and_gravity_forces, robot.coriolis_and_gravity_forces[[1, 4]]
    )
    np.testing.assert_array_equal(
        group.get_world_jacobian(links["c"]), robot.get_world_jacobian(links["c"])[:, [1, 4]]
    )
    assert group.mass == links["c"].mass + links["f"].mass
    middle = sum(link.translation + link.rotation @ link.center_of_mass for link in group.links) / 2
    np.testing.assert_allclose(group.center_of_mass, middle)
    assert group.acceleration.tolist() == [0.0, 0.0]
    with pytest.raises(ArgumentError):
        group.position = [1.0]


def test_group_refuses_strangers_and_knows_when_it_is_gone(tree):
    world, robot, links = tree
    other = world.add_multibody("other").add_link("x")
    with pytest.raises(ArgumentError, match="'x' does not belong to multibody 'tree'"):
        robot.group(links=[other])
    group = robot.branch(links["e"])
    assert group.is_valid
    links["f"].remove()
    assert not group.is_valid


def test_clone_of_a_multibody():
    world, arm = arm_and_box()
    lower = arm.links["lower"]
    lower.add_collision_shape(CollisionShape.sphere(0.1))
    world.add_fixed_frame("tool", lower)
    arm.joints.velocity, arm.joints["elbow"].force = [0.5, -0.2], [3.0]
    copy = arm.clone("copy", translation=(0, 2, 0))
    assert world.multibodies.names == ["arm", "copy"] and copy.links.names == arm.links.names
    assert copy.joints.names == arm.joints.names
    np.testing.assert_array_equal(copy.joints.position, arm.joints.position)
    np.testing.assert_array_equal(copy.joints.velocity, arm.joints.velocity)
    assert copy.joints["elbow"].force.tolist() == [3.0]
    np.testing.assert_allclose(copy.links.translations, arm.links.translations + np.array([0, 2, 0]))
    assert len(copy.links["lower"].collision_shapes) == 1
    np.testing.assert_allclose(copy.mass_matrix, arm.mass_matrix)
    assert copy.joints["elbow"].position_upper_limits.tolist() == [2.5]
    assert arm.clone().name == "arm_002"
    arm.links["lower"].mass = 9.0
    assert copy.links["lower"].mass != 9.0
    world.step(n=20)
    np.testing.assert_allclose(copy.links["base"].translation, [0, 2, 0])


def test_clone_of_a_floating_robot_keeps_its_pose():
    world = sx.World()
    bird = floating(world)
    world.step(n=30)
    with world.edit():
        copy = bird.clone("second", translation=(0, 0, 5))
    np.testing.assert_allclose(
        copy.links.translations, bird.links.translations + np.array([0, 0, 5]), atol=1e-12
    )


def test_clone_is_refused_in_simulation_mode_and_for_names_that_are_taken():
    world, arm = arm_and_box()
    with pytest.raises(ArgumentError, match="'arm' already exists"):
        arm.clone("arm")
    world.step()
    with pytest.raises(OperationError):
        arm.clone("copy")
    assert world.multibodies.names == ["arm"]


def test_clone_of_a_world_steps_to_the_same_bits():
    world, arm = arm_and_box()
    arm.joints["elbow"].target_stiffness = 20.0
    arm.joints["elbow"].target_position = [1.0]
    world.step(n=17)
    twin = world.clone()
    assert (twin.time, twin.frame, twin.is_simulation_mode) == (world.time, world.frame, True)
    world.step(n=50)
    twin.step(n=50)
    np.testing.assert_array_equal(twin.state_vector, world.state_vector)
    twin.rigid_bodies["box"].translation = (9, 9, 9)
    assert world.rigid_bodies["box"].translation.tolist() != [9, 9, 9]
    twin.reset()
    world.reset()
    np.testing.assert_array_equal(twin.state_vector, world.state_vector)


@pytest.mark.parametrize("of_clone", [False, True])
def test_limits_written_to_a_world_or_its_clone_act_there_alone(of_clone) -> None:
    world = sx.World(gravity=(0, 0, 0))
    world.add_ground_plane()
    wheel = world.add_multibody("wheel")
    base = wheel.add_link("base")
    wheel.add_link("rim", parent=base, joint=sx.JointSpec(name="axle", axis=(0, 0, 1)))
    wheel.joints["axle"].velocity = [2.0]
    world.step()
    twin = world.clone()
    slow, fast = (twin, world) if of_clone else (world, twin)
    slow.multibodies["wheel"].joints["axle"].velocity_limits = [0.5]
    for each in (slow, fast):
        each.step(n=20)
    assert slow.multibodies["wheel"].joints["axle"].velocity[0] == pytest.approx(0.5, rel=1e-6)
    assert fast.multibodies["wheel"].joints["axle"].velocity[0] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("of_clone", [False, True])
def test_parameters_of_a_world_or_its_clone_are_its_own(of_clone) -> None:
    """Read-only arrays of the model are shared until a change puts others in their place."""
    world, arm = arm_and_box()
    world.step(n=3)
    same, twin = world.clone(), world.clone()
    changed, kept = (twin, world) if of_clone else (world, twin)
    changed.rigid_bodies["box"].mass = 7.0
    changed.gravity = (0.0, 1.0, -3.0)
    joint = changed.multibodies[arm.name].joints["elbow"]
    joint.damping_coefficient, joint.armature, joint.spring_stiffness = [0.7], [0.2], [5.0]
    joint.set_position_limits(-0.1, 0.1)
    for each in (changed, kept, same):
        each.step(n=40)
    np.testing.assert_array_equal(kept.state_vector, same.state_vector)
    assert np.abs(changed.state_vector - kept.state_vector).max() > 1e-3
    model = kept._live().model
    np.testing.assert_array_equal(compile_arenas(model).constant, model.arenas.constant)


def test_clones_copy_the_geometry_of_shapes_and_share_nothing_that_changes(monkeypatch) -> None:
    """Hulls are made once: a clone of a robot of meshes neither reads them again nor compiles its scene."""
    world = sx.World()
    corners = 0.2 * np.random.default_rng(0).normal(size=(30, 3))
    body = world.add_rigid_body("rock", position=(0, 0, 0.5))
    body.add_collision_shape(CollisionShape.convex(corners))
    world.add_ground_plane()
    world.step(n=5)
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "compile_scene", None)
        patch.setattr(collision_rows, "collision_shape", None)
        twin = world.clone()
    ours, theirs = world._live().constraints, twin._live().constraints
    assert ours is not None and theirs is not None
    assert theirs.collision is not None and ours.collision is not None
    np.testing.assert_array_equal(ours.collision.column.vertex, theirs.collision.column.vertex)
    assert not np.shares_memory(ours.block.c, theirs.block.c)
    for each in (world, twin):
        each.step(n=800)
    np.testing.assert_array_equal(world._live().sim.q, twin._live().sim.q)
    assert len(world.contacts) > 0
    before = world._live().sim.q.copy()
    with twin.edit():
        twin.rigid_bodies["rock"].set_collision_shape(CollisionShape.sphere(0.1))
    twin.step(n=100)
    world.step(n=1)
    np.testing.assert_allclose(world._live().sim.q, before, atol=1e-2)
    assert world._live().constraints is ours


@pytest.mark.parametrize("of_clone", [False, True])
def test_bodies_that_become_static_are_so_in_their_own_world_alone(of_clone) -> None:
    """A world and its clone share the tables of collision until one of them changes it."""
    world = sx.World()
    world.add_ground_plane()
    for k in range(3):
        box = world.add_rigid_body(f"box{k}", position=(0.0, 0.0, 0.3 + 0.6 * k))
        box.add_collision_shape(CollisionShape.box((0.25, 0.25, 0.25)))
    world.step(n=5)
    twin, other = world.clone(), world.clone()
    changed, kept = (other, world) if of_clone else (world, other)
    changed.rigid_bodies["box1"].is_static = True
    for each in (world, twin, other):
        each.step(n=60)
    for array in ("q", "v"):
        found, expected = (getattr(each._live().sim, array) for each in (kept, twin))
        np.testing.assert_array_equal(found, expected)
    fixed = [list(each._live().constraints.collision.column.body_fixed) for each in (changed, kept, twin)]
    assert fixed[1] == fixed[2] and fixed[0] != fixed[1]
    assert not np.array_equal(changed._live().sim.q, kept._live().sim.q)


def _bouncing_ball() -> sx.World:
    world = sx.World()
    world.add_ground_plane()
    ball = world.add_rigid_body("ball", position=(0.0, 0.0, 0.3), linear_velocity=(0.5, 0.0, -1.0))
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    ball.restitution = 0.7
    world.step(n=5)
    return world


def _change_time_step(world: sx.World) -> None:
    world.time_step = 5e-4


def _change_size(world: sx.World) -> None:
    ball = world.rigid_bodies["ball"]
    size = parameters.parameter_of(world, ball, sx.PhysicalParameter.SHAPE_SIZE, None, None)
    parameters.write(world._live(), parameters.numbers_of(world, size), np.array([0.2]))


@pytest.mark.parametrize("of_clone", [False, True])
@pytest.mark.parametrize("change", [_change_time_step, _change_size])
def test_numbers_of_collision_change_in_their_own_world_alone(
    change: Callable[[sx.World], None], of_clone: bool
) -> None:
    """The reach of what bounces follows the time step, sizes are parameters; clones share them until then."""
    world, alone = _bouncing_ball(), _bouncing_ball()
    twin, other = world.clone(), world.clone()
    changed, kept = (other, world) if of_clone else (world, other)
    for each in (changed, alone):
        change(each)
    for each in (changed, kept, twin, alone):
        each.step(n=300)
    for one, same in ((kept, twin), (changed, alone)):
        np.testing.assert_array_equal(one.state_vector, same.state_vector)
        ours, theirs = (each._live().constraints.collision.column for each in (one, same))
        for name in ("shape_margin", "shape_size"):
            np.testing.assert_array_equal(ours[name], theirs[name])
    assert not np.array_equal(changed.state_vector, kept.state_vector)
