# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays and handles of a batch: the numbers of the World of each row, fresh after every write."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import BOXES, hard_world, lane_batch, robot, scatter, thread_batch

from worldline import ArgumentError, CapabilityError, NotFoundError, OperationError, ShapeError, msd
from worldline import simulation as sx

BOTH = pytest.mark.parametrize("make", [lane_batch, thread_batch])


def started(make, count=4):
    batch = make(count)
    scatter(batch)
    batch.step(30)
    return batch


@BOTH
def test_every_array_leads_with_the_world(make):
    batch = make(3)
    model = batch.model
    shapes = {
        "joint_positions": (3, model.joint_coord_count),
        "joint_velocities": (3, model.joint_dof_count),
        "activations": (3, 1),
        "position_targets": (3, model.joint_coord_count),
        "velocity_targets": (3, model.joint_dof_count),
        "joint_forces": (3, model.joint_dof_count),
        "controls": (3, 2),
        "body_wrenches": (3, model.body_count, 6),
        "body_poses": (3, model.body_count, 7),
        "body_linear_velocities": (3, model.body_count, 3),
        "body_angular_velocities": (3, model.body_count, 3),
        "kinetic_energy": (3,),
        "potential_energy": (3,),
        "time": (3,),
        "frame": (3,),
        "frozen": (3,),
    }
    for name, shape in shapes.items():
        assert getattr(batch, name).shape == shape, name
        assert getattr(batch.select([2, 0]), name).shape == (2, *shape[1:]), name
        assert getattr(batch.worlds[1], name).shape == shape[1:], name


@BOTH
def test_what_is_read_is_that_of_the_world_alone(make):
    batch = started(make)
    for w in range(batch.num_worlds):
        world = batch.extract(w)
        one = batch.worlds[w]
        robot, mine = world.multibodies["trunk"], one.multibodies["trunk"]
        assert mine.joints.names == robot.joints.names and mine.links.names == robot.links.names
        assert np.array_equal(mine.joints.velocity, robot.joints.velocity)
        assert np.array_equal(mine.joints.position, robot.joints.position)
        assert np.array_equal(mine.links.transforms, robot.links.transforms)
        np.testing.assert_allclose(mine.links.linear_velocities, robot.links.linear_velocities, atol=1e-13)
        np.testing.assert_allclose(mine.links.angular_velocities, robot.links.angular_velocities, atol=1e-13)
        tail = mine.links["tail"]
        assert np.array_equal(tail.translation, robot.links["tail"].translation)
        assert np.array_equal(tail.quaternion, robot.links["tail"].quaternion)
        np.testing.assert_allclose(tail.linear_velocity, robot.links["tail"].linear_velocity, atol=1e-13)
        assert float(one.kinetic_energy) == pytest.approx(world.kinetic_energy, rel=1e-14)
        assert float(one.potential_energy) == pytest.approx(world.potential_energy, rel=1e-14)
        assert float(one.time) == pytest.approx(world.time) and int(one.frame) == world.frame == 30


@BOTH
def test_reads_are_fresh_after_writes_of_every_kind(make):
    batch = make(3)
    trunk = batch.multibodies["trunk"].links["trunk"]
    batch.joint_positions[1, 0] = 2.0
    assert trunk.translation[:, 0].tolist() == [0, 2, 0]
    batch.select([2]).joint_positions = np.r_[3.0, batch.joint_positions[2, 1:]]
    assert trunk.translation[:, 0].tolist() == [0, 2, 3]
    energy = batch.kinetic_energy
    batch.joint_velocities[0, 0] = 1.0
    assert trunk.linear_velocity[0].tolist() == [1, 0, 0]
    assert (batch.kinetic_energy > energy).tolist() == [True, False, False]
    hip = batch.worlds[1].multibodies["trunk"].joints["hip"]
    hip.position = [0.3]
    assert batch.joint_positions[1, 7] == 0.3 and hip.position.tolist() == [0.3]
    shin = batch.multibodies["trunk"].links["shin"].translation
    assert np.abs(shin[1] - shin[0] - [2, 0, 0]).max() > 0.05


@BOTH
def test_a_written_row_is_what_the_next_step_starts_from(make):
    """As if the World itself had been written to by its handles."""
    batch = make(3)
    world = batch.extract(0)
    part = batch.worlds[1].multibodies["trunk"]
    for each in (part, world.multibodies["trunk"]):
        each.joints["tail"].position = (0.1, -0.2, 0.3)
        each.joints["hip"].velocity = [1.5]
        each.joints["knee"].force = [0.7]
    batch.worlds[1].controls = [0.5, -0.5]
    world.actuator_controls = [0.5, -0.5]
    batch.step(40)
    world.step(n=40)
    assert part.joints.position == pytest.approx(world.multibodies["trunk"].joints.position, abs=1e-9)
    other = batch.worlds[2].multibodies["trunk"].joints.position
    assert np.abs(other - part.joints.position).max() > 0.01


def test_rigid_bodies_are_written_by_world_axes():
    world = sx.World(gravity=(0, 0, 0), time_step=0.001)
    world.add_rigid_body("box", mass=2.0, inertia=(0.1, 0.2, 0.3), position=(0, 0, 1))
    world.add_rigid_body("wall", fixed=True)
    batch = sx.WorldBatch(world, 3)
    assert batch.layout == "lanes"
    box = batch.rigid_bodies["box"]
    turn = np.array([0.1, 0.2, 0.3, 0.9]) / np.linalg.norm([0.1, 0.2, 0.3, 0.9])
    box.angular_velocity = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    box.quaternion = turn
    box.translation = [[1, 0, 0], [2, 0, 0], [3, 0, 0]]
    box.linear_velocity = (0, 1, 0)
    assert box.angular_velocity == pytest.approx(np.diag([1.0, 2.0, 3.0]), abs=1e-14)
    box.force, box.torque = (0, 0, 4.0), [[0.1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert batch.body_wrenches[0, 0].tolist() == [0.1, 0, 0, 0, 0, 4.0]
    for w in range(3):
        one = world.clone()
        body = one.rigid_bodies["box"]
        body.quaternion, body.translation, body.linear_velocity = turn, (w + 1, 0, 0), (0, 1, 0)
        body.angular_velocity = np.eye(3)[w] * (w + 1)
        body.force, body.torque = (0, 0, 4.0), (0.1 if w == 0 else 0, 0, 0)
        one.step(n=100)
        batch_one = batch.extract(w)
        batch_one.step(n=100)
        assert batch_one.rigid_bodies["box"].transform == pytest.approx(body.transform, abs=1e-13)
    batch.step(100)
    assert box.translation[0] == pytest.approx([1, 0.1, 0.5 * 2.0 * 0.1**2], abs=2e-4)
    with pytest.raises(OperationError, match="static"):
        batch.rigid_bodies["wall"].linear_velocity = (1, 0, 0)
    batch.joint_velocities[1, 6:] = 1.0
    with pytest.raises(ArgumentError, match="world 1 gives a static body a velocity"):
        batch.step()


@BOTH
def test_contacts_are_those_of_the_state_and_carry_the_weight(make):
    batch = make(3)
    batch.joint_velocities[1, 0] = 0.5
    batch.step(1500)
    found = batch.contacts
    assert found.counts(3).min() >= 2 and (np.diff(found.world) >= 0).all()
    net = found.net_forces(3, batch.model.body_count).sum(axis=1)
    weight = 9.81 * batch.model.body_mass.sum()
    assert net[:, 2] == pytest.approx(weight, rel=0.02)
    for w in range(3):
        mine, world = found.of_world(w), batch.extract(w)
        world.step()
        theirs = sorted(world.contacts, key=lambda c: tuple(c.point.tolist()))
        order = np.lexsort(mine.point.T[::-1])
        assert len(theirs) == mine.count
        np.testing.assert_allclose(mine.point[order], [c.point for c in theirs], atol=1e-12)
        np.testing.assert_allclose(mine.depth[order], [c.depth for c in theirs], atol=1e-12)
        np.testing.assert_allclose(mine.normal[order], [c.normal for c in theirs], atol=1e-12)
        np.testing.assert_allclose(mine.force[order], [c.force for c in theirs], atol=1e-5)
        names = [None if b < 0 else batch.body_names[b] for b in mine.body_b[order]]
        assert names == [None if c.body_b is None else c.body_b.name for c in theirs]
    # fresh: lifted robots touch nothing, and looking changed nothing
    batch.joint_positions[:, 2] += 1.0
    assert 0 not in batch.contacts.body_b.tolist()


def test_contacts_of_cones_have_friction():
    """A ball with velocity that rolls: friction acts against the slip, mu times the normal force."""
    text = """<mujoco><option cone="{}"/><worldbody><geom type="plane" size="5 5 .1" friction=".5"/>
      <body name="ball" pos="0 0 .0999"><freejoint/><geom size=".1" friction=".5"/></body></worldbody></mujoco>"""
    from worldline import msd

    for cone in ("elliptic", "pyramidal"):
        batch = sx.WorldBatch(msd.from_str(text.format(cone), format="mjcf"), 2)
        batch.step(200)
        batch.joint_velocities[:, 0] = [3.0, -3.0]
        force = batch.contacts.force
        assert force[:, 0] * [-1, 1] == pytest.approx(0.5 * force[:, 2], rel=1e-3), cone


@BOTH
def test_looking_changes_no_bit(make):
    batch, other = started(make), started(make)
    batch.step(300)
    other.step(300)
    assert batch.contacts.count and batch.body_poses.any() and batch.kinetic_energy.any()
    batch.step(20)
    other.step(20)
    assert np.array_equal(batch.joint_positions, other.joint_positions)


@BOTH
def test_writes_do_not_vanish(make):
    batch = make(2)
    with pytest.raises(ValueError, match="read-only"):
        batch.select([0]).joint_positions[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        batch.multibodies["trunk"].joints.position[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        batch.body_poses[0, 0] = 1.0
    with pytest.raises(AttributeError, match="joint_position"):
        batch.joint_postions = 0
    with pytest.raises(AttributeError, match="no attribute"):
        batch.multibodies["trunk"].joints["hip"].positon = [0.0]
    with pytest.raises(AttributeError):
        batch.multibodies["trunk"].joints.positon = [0.0]
    with pytest.raises(AttributeError):
        batch.multibodies["trunk"].links["trunk"].translation = (0, 0, 1)


@BOTH
def test_wrong_writes_are_refused_and_change_nothing(make):
    batch = make(3)
    before = batch.joint_positions.copy()
    with pytest.raises(ArgumentError, match="joint_positions"):
        setattr(batch, "joint_positions", np.full(4, 1.0))  # noqa: B010
    with pytest.raises(ArgumentError, match="finite"):
        setattr(batch, "joint_positions", np.nan)  # noqa: B010
    hip = batch.multibodies["trunk"].joints["hip"]
    with pytest.raises(ShapeError, match=r"\(3, 1\)"):
        hip.position = [[1.0], [2.0]]
    with pytest.raises(NotFoundError, match="'hip'"):
        batch.multibodies["trunk"].joints["hib"]
    with pytest.raises(ArgumentError, match="mask"):
        batch.select([True, False])
    with pytest.raises(ArgumentError, match="0 to 2"):
        batch.select([3])
    with pytest.raises(ArgumentError, match="once"):
        batch.select([1, 1])
    with pytest.raises(IndexError, match="3 is out of range"):
        batch.worlds[3]
    assert np.array_equal(batch.joint_positions, before)
    batch.joint_positions[1, 0] = np.nan
    with pytest.raises(ArgumentError, match="world 1 must be finite"):
        batch.step()
    with pytest.raises(CapabilityError, match="follows accelerations"):
        _ = batch.acceleration_targets
    with pytest.raises(CapabilityError, match="mocap"):
        _ = batch.mocap_poses


def test_mocap_bodies_are_placed_by_world():
    more = '<body name="hand" mocap="true" pos="1 0 1"><geom size=".05"/></body>'
    batch = sx.WorldBatch(robot("", more), 2)
    batch.mocap_poses[1, 0, :3] = (2, 0, 3)
    hand = batch.body_names.index("hand")
    assert batch.body_poses[:, hand, :3].tolist() == [[1, 0, 1], [2, 0, 3]]
    batch.step(2)
    assert batch.body_poses[:, hand, :3].tolist() == [[1, 0, 1], [2, 0, 3]]


def test_joints_between_bodies_are_commanded_by_world():
    world = sx.World(gravity=(0, 0, 0))
    bodies = [world.add_rigid_body(name, position=(x, 0, 0)) for name, x in (("a", 0.0), ("b", 1.0))]
    spec = sx.JointSpec("hinge", axis=(0, 0, 1))
    world.add_joint(bodies[0], bodies[1], spec)
    batch = sx.WorldBatch(world, 2)
    batch.world_joint_commands[1, 0, 0] = 0.5
    batch.step(100)
    spin = batch.rigid_bodies["b"].angular_velocity[:, 2]
    assert spin[0] == 0.0 and abs(spin[1]) > 1e-3


def test_masks_and_indices_select_the_same_worlds():
    batch = lane_batch(4)
    mask = np.array([False, True, False, True])
    batch.select(mask).controls = [[0.1, 0.2], [0.3, 0.4]]
    assert batch.controls.tolist() == [[0, 0], [0.1, 0.2], [0, 0], [0.3, 0.4]]
    assert batch.select([3, 1]).controls.tolist() == [[0.3, 0.4], [0.1, 0.2]]
    assert batch.select(mask).indices.tolist() == [1, 3] and len(batch.select(slice(1, 3))) == 2


def test_boxes_on_boxes_touch_in_threads():
    batch = sx.WorldBatch(robot("", BOXES), 2)
    batch.step(600)
    crate, lid = (batch.body_names.index(name) for name in ("crate", "lid"))
    pairs = {frozenset(pair) for pair in zip(batch.contacts.body_a, batch.contacts.body_b, strict=True)}
    assert frozenset((crate, lid)) in pairs


def test_hard_contacts_carry_the_weight_too():
    batch = sx.WorldBatch(hard_world(), 2)
    batch.step(3000)
    assert batch.contacts.force[:, 2] == pytest.approx(2 * 9.81, rel=1e-6)


def ball_scene():
    """A ball on a floor, with a keyframe high above it."""
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body name="ball" pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody>
      <keyframe><key name="high" qpos="0 0 2 1 0 0 0"/></keyframe></mujoco>"""
    return msd.from_str(text, format="mjcf")


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_contacts_of_some_worlds_are_those_of_the_batch(layout):
    batch = sx.WorldBatch(ball_scene(), 11, layout=layout)
    batch.joint_positions[:, 2] = np.where(np.arange(11) % 3, 0.095, 0.3)
    batch.step(2)
    whole, which = batch.contacts, [7, 2, 3, 10]
    part = batch.select(which).contacts
    assert part.count == 3 and whole.count == 7
    for row, world in enumerate(which):
        for a, b in zip(part.of_world(row)[1:], whole.of_world(world)[1:], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(batch.worlds[world].contacts[1:], whole.of_world(world)[1:], strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_keyframe_leads_worlds_on_threads_too():
    batch = sx.WorldBatch(ball_scene(), 3, layout="threads")
    batch.reset([1], keyframe="high")
    assert batch.joint_positions[:, 2].tolist() == [0.1, 2.0, 0.1]


@BOTH
def test_mass_and_centre_of_a_multibody_are_those_of_the_world_alone(make):
    batch = started(make)
    robots = batch.multibodies["trunk"]
    assert robots.mass.shape == (4,) and robots.center_of_mass.shape == (4, 3)
    for w in range(batch.num_worlds):
        alone, mine = batch.extract(w).multibodies["trunk"], batch.worlds[w].multibodies["trunk"]
        assert mine.mass == pytest.approx(alone.mass, rel=1e-14)
        np.testing.assert_allclose(mine.center_of_mass, alone.center_of_mass, rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            mine.center_of_mass_velocity, alone.center_of_mass_velocity, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            mine.links["shin"].rotation, alone.links["shin"].rotation, rtol=0, atol=1e-14
        )
        np.testing.assert_array_equal(robots.center_of_mass[w], mine.center_of_mass)


def test_masses_that_differ_between_worlds_move_the_centre():
    batch = thread_batch(2)
    batch.parameters["multibodies.trunk.links.shin.mass"] = [0.6, 2.6]
    robots = batch.multibodies["trunk"]
    assert np.ptp(robots.mass) == pytest.approx(2.0)
    assert robots.center_of_mass[1, 2] < robots.center_of_mass[0, 2]


@BOTH
def test_sensors_of_some_worlds(make):
    batch = started(make)
    np.testing.assert_array_equal(batch.select([3, 1]).sensor_values, batch.sensor_values[[3, 1]])
    np.testing.assert_array_equal(batch.worlds[2].sensor_values, batch.sensor_values[2])
