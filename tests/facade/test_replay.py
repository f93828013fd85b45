# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Replay: frames, cursor, restore, branches, layouts, verification."""

from __future__ import annotations

import numpy as np
import pytest

from facade_worlds import arm_and_box, floating
from worldline import simulation as sx
from worldline.collision import CollisionShape


@pytest.fixture
def scene():
    world, arm = arm_and_box()
    floating(world)
    world.replay_recording_enabled = True
    return world, arm


def everything(world):
    """All that a step depends on or changes, as bytes."""
    sim, runtime = world._live().sim, world._live()
    arrays = (sim.q, sim.v, sim.a, sim.force, sim.q_target, sim.v_target, sim.a_target, sim.clock)
    return (
        b"".join(a.tobytes() for a in (*arrays, runtime.persistent_wrench, runtime.one_shot_wrench)),
        world.time,
        world.frame,
    )


# ---- recording


def test_recording_is_off_at_first():
    world, _ = arm_and_box()
    assert world.replay_recording_enabled is False
    assert world.replay_frame_count == 0
    assert world.replay_cursor is None
    world.step(n=3)
    assert world.replay_frame_count == 0


def test_enabling_records_the_present_state_as_frame_0():
    world, _ = arm_and_box()
    world.step(n=3)
    world.replay_recording_enabled = True
    assert (world.replay_frame_count, world.replay_cursor) == (1, 0)
    assert world.get_replay_simulation_frame(0) == 3


def test_every_step_leaves_a_frame(scene):
    world, _ = scene
    world.step()
    world.step(n=4)
    assert (world.replay_frame_count, world.replay_cursor) == (6, 5)
    assert [world.get_replay_simulation_frame(k) for k in range(6)] == list(range(6))
    assert world.get_replay_frame_time(5) == world.time


def test_no_steps_leave_no_frames(scene):
    world, _ = scene
    world.step(n=0)
    assert world.replay_frame_count == 1


def test_recording_changes_no_bit_of_the_motion(scene):
    world, _ = scene
    other, _ = arm_and_box()
    floating(other)
    world.step(n=30)
    other.step(n=30)
    assert everything(world) == everything(other)


def test_disabling_keeps_frames(scene):
    world, _ = scene
    world.step(n=2)
    world.replay_recording_enabled = False
    world.step(n=5)
    assert world.replay_frame_count == 3
    world.restore_replay_frame(1)
    assert world.frame == 1


def test_enabling_again_starts_anew(scene):
    world, _ = scene
    world.step(n=2)
    world.replay_recording_enabled = False
    world.replay_recording_enabled = True
    assert world.replay_frame_count == 1
    assert world.replay.branches == ["main"]


def test_enabling_twice_keeps_frames(scene):
    world, _ = scene
    world.step(n=2)
    world.replay_recording_enabled = True
    assert world.replay_frame_count == 3


def test_clearing_while_recording_records_frame_0_again(scene):
    world, _ = scene
    world.step(n=4)
    world.clear_replay_recording()
    assert (world.replay_frame_count, world.replay_cursor) == (1, 0)
    assert world.get_replay_simulation_frame(0) == 4
    assert world.replay_recording_enabled


def test_clearing_while_not_recording_leaves_nothing(scene):
    world, _ = scene
    world.replay_recording_enabled = False
    world.clear_replay_recording()
    assert (world.replay_frame_count, world.replay_cursor) == (0, None)


def test_clear_of_the_world_ends_recording(scene):
    world, _ = scene
    world.step()
    world.clear()
    assert (world.replay_recording_enabled, world.replay_frame_count) == (False, 0)


def test_only_flags_enable(scene):
    with pytest.raises(TypeError, match="True or False"):
        scene[0].replay_recording_enabled = 1


# ---- restoring


def test_restoring_brings_everything_back(scene):
    world, arm = scene
    arm.joints.force = [1.0, 2.0]
    arm.joints["elbow"].target_position = [0.3]
    arm.joints.target_velocity = [0.2, 0.1]
    arm.joints.command_acceleration = [0.4, 0.6]
    world.rigid_bodies["box"].force = (1, 2, 3)
    world.step(n=5)
    kept = everything(world)
    arm.joints.force = [0.0, 5.0]
    arm.joints.target_position = arm.joints.target_velocity = arm.joints.command_acceleration = [9.0, 9.0]
    world.rigid_bodies["box"].clear_force()
    world.step(n=5)
    assert everything(world) != kept
    world.restore_replay_frame(5)
    assert everything(world) == kept
    assert world.replay_cursor == 5


def repeats(world, n, start=0):
    """Steps from a restored frame end in the same bits."""
    world.step(n=n)
    expected = everything(world)
    world.restore_replay_frame(start)
    world.step(n=n - start)
    assert everything(world) == expected


def test_a_restored_world_continues_bit_for_bit(scene):
    world, _ = scene
    repeats(world, 40, start=13)


def test_reads_after_a_restore_are_fresh(scene):
    world, arm = scene
    box, link = world.rigid_bodies["box"], arm.links["lower"]
    before = box.translation.tolist(), link.transform.tolist(), link.linear_velocity.tolist()
    world.step(n=20)
    assert box.translation.tolist() != before[0]
    world.restore_replay_frame(0)
    assert (box.translation.tolist(), link.transform.tolist(), link.linear_velocity.tolist()) == before
    assert box.is_valid and link.is_valid


def test_a_force_for_one_step_is_part_of_the_frame():
    world, arm = arm_and_box()
    arm.links["lower"].apply_force((0, 0, 50))
    world.replay_recording_enabled = True
    repeats(world, 3)


def test_restoring_also_restores_time_step_and_gravity(scene):
    world, _ = scene
    world.step(n=2)
    world.gravity = (0, 0, 0)
    world.time_step = 0.5
    world.step(n=2)
    world.restore_replay_frame(1)
    assert world.time_step == 0.01
    assert world.gravity.tolist() == [0, 0, -9.81]
    assert world.time == 0.01
    assert world.verify_replay()


def test_free_frames_are_restored():
    world, _ = arm_and_box()
    frame = world.add_free_frame("marker")
    world.replay_recording_enabled = True
    world.step()
    moved = np.eye(4)
    moved[0, 3] = 5.0
    frame.transform = moved
    world.step()
    world.restore_replay_frame(0)
    assert frame.translation.tolist() == [0, 0, 0]


@pytest.mark.parametrize("index", [-1, 3, 100])
def test_an_index_out_of_range(scene, index):
    world, _ = scene
    world.step(n=2)
    before = everything(world)
    for call in (
        world.restore_replay_frame,
        world.get_replay_frame_time,
        world.get_replay_simulation_frame,
    ):
        with pytest.raises(IndexError, match="out of range"):
            call(index)
    assert everything(world) == before


def test_nothing_recorded_is_out_of_range():
    world, _ = arm_and_box()
    with pytest.raises(IndexError, match="replay frame 0 is out of range: there are 0"):
        world.restore_replay_frame(0)


def test_an_index_must_be_whole(scene):
    with pytest.raises(TypeError, match="whole number"):
        scene[0].restore_replay_frame(0.5)


# ---- branches


def test_stepping_after_a_restore_drops_later_frames_from_the_branch(scene):
    world, _ = scene
    world.step(n=10)
    world.restore_replay_frame(4)
    world.step()
    assert (world.replay_frame_count, world.replay_cursor) == (6, 5)


def test_the_branch_that_was_left_stays(scene):
    world, arm = scene
    world.step(n=10)
    expected = everything(world)
    world.restore_replay_frame(4)
    arm.joints.force = [3.0, 0.0]
    world.step(n=2)
    assert world.replay.branches == ["main", "branch_001"]
    assert world.replay.branch == "branch_001"
    world.replay.restore(("main", 10))
    assert everything(world) == expected
    assert (world.replay.branch, world.replay_frame_count) == ("main", 11)


def test_restoring_the_last_frame_makes_no_branch(scene):
    world, _ = scene
    world.step(n=3)
    world.restore_replay_frame(3)
    world.step()
    assert world.replay.branches == ["main"]


def test_a_branch_from_a_branch(scene):
    world, _ = scene
    world.step(n=5)
    for at in (3, 2):
        world.restore_replay_frame(at)
        world.step(n=2)
    assert world.replay.branches == ["main", "branch_001", "branch_002"]
    assert all(world.verify_replay(name) for name in world.replay.branches)


def test_an_unknown_branch(scene):
    with pytest.raises(KeyError, match="did you mean 'main'"):
        scene[0].replay.restore(("mian", 0))


def test_labels(scene):
    world, _ = scene
    world.step(n=4)
    world.replay.label("grasp", 2)
    world.replay.label("end")
    assert world.replay.labels == {"grasp": 2, "end": 4}
    world.replay.restore("grasp")
    assert world.frame == 2
    with pytest.raises(KeyError, match="labelled"):
        world.replay.restore("grsp")


def test_a_branch_keeps_the_labels_it_shares(scene):
    world, _ = scene
    world.step(n=4)
    world.replay.label("early", 1)
    world.replay.label("late", 4)
    world.replay.label("here", 2)
    world.restore_replay_frame(2)
    world.step()
    # a branch shares all frames up to the one it begins at
    assert world.replay.labels == {"early": 1, "here": 2}


def test_comparing_frames(scene):
    world, _ = scene
    world.step(n=4)
    assert world.replay.compare(2, 2).is_equal
    found = world.replay.compare(0, 4)
    assert not found.is_equal
    assert found.time == pytest.approx(0.04)
    np.testing.assert_allclose(found.difference["box.velocity"][2], -9.81 * 0.04)
    assert found.largest > 0.1
    assert found.difference["bird.q"].shape == (9,)


def test_comparing_leaves_the_world_alone(scene):
    world, _ = scene
    world.step(n=4)
    before = everything(world)
    world.replay.compare(0, 3)
    assert everything(world) == before


# ---- verification


def test_a_motion_is_verified_bit_for_bit(scene):
    world, _ = scene
    world.step(n=25)
    before = everything(world)
    check = world.verify_replay()
    assert check and check.frames == 25
    assert everything(world) == before


def test_writes_between_steps_are_verified_too(scene):
    world, arm = scene
    world.step(n=3)
    arm.joints.position = [0.0, 0.1]
    world.step(n=3)
    arm.joints.force = [1.0, 1.0]
    arm.links["lower"].apply_force((0, 5, 0))
    world.time = 7.0
    world.step(n=3)
    assert world.verify_replay()


def test_a_tampered_frame_is_found(scene):
    world, _ = scene
    world.step(n=6)
    row = world.replay._branches["main"].frames[4].row
    part = world.replay._rows.parts["v"]
    row[part.start] = np.nextafter(row[part.start], np.inf)
    check = world.verify_replay()
    assert not check
    assert (check.first_mismatch, check.quantity) == (4, "v")
    assert 0.0 < check.largest_error < 1e-12


def test_nothing_recorded_is_verified():
    world, _ = arm_and_box()
    assert world.verify_replay().frames == 0


# ---- layouts

CHANGES = {
    "damping coefficient": lambda w: setattr(
        w.multibodies["arm"].joints["elbow"], "damping_coefficient", 0.5
    ),
    "spring stiffness": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "spring_stiffness", 0.5),
    "rest position": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "rest_position", [0.5]),
    "armature": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "armature", 0.5),
    "Coulomb friction": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "coulomb_friction", 0.5),
    "target stiffness": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "target_stiffness", 0.5),
    "effort limit": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "effort_limits", 0.5),
    "velocity limit": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "velocity_limits", 0.5),
    "upper position limit": lambda w: w.multibodies["arm"].joints["elbow"].set_position_limits(-2.0, 0.5),
    "actuator type": lambda w: setattr(
        w.multibodies["arm"].joints["elbow"], "actuator_type", sx.ActuatorType.LOCKED
    ),
    "limit margin": lambda w: setattr(w.multibodies["arm"].joints["elbow"], "limit_margin", 0.01),
    "mass": lambda w: setattr(w.rigid_bodies["box"], "mass", 5.0),
    "inertia": lambda w: setattr(w.multibodies["arm"].links["lower"], "inertia", np.eye(3) * 2),
    "center of mass": lambda w: setattr(w.multibodies["arm"].links["lower"], "center_of_mass", (0, 0, 1)),
    "kind of body": lambda w: setattr(w.rigid_bodies["box"], "is_kinematic", True),
    "friction": lambda w: setattr(w.rigid_bodies["box"], "friction", 0.1),
    "restitution": lambda w: setattr(w.rigid_bodies["box"], "restitution", 0.1),
    "frames": lambda w: setattr(w.frames["marker"], "parent_frame", w.rigid_bodies["box"]),
    "closure settings": lambda w: setattr(
        w.loop_closures["rod"], "runtime_policy", sx.LoopClosureRuntimePolicy(enabled=False)
    ),
}


def layout_world():
    world, arm = arm_and_box()
    world.add_free_frame("marker")
    world.add_loop_closure(
        "rod",
        frame_a=arm.links["lower"],
        frame_b=world.rigid_bodies["box"],
        family=sx.LoopClosureFamily.DISTANCE,
        distance=1.0,
    )
    world.replay_recording_enabled = True
    world.step(n=3)
    return world


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_layout_is_refused_by_name(field):
    world = layout_world()
    CHANGES[field](world)
    before = everything(world)
    with pytest.raises(sx.LayoutError) as caught:
        world.restore_replay_frame(1)
    assert caught.value.field == field
    assert isinstance(caught.value, RuntimeError)
    assert everything(world) == before
    assert world.replay_cursor == 3


def test_the_refusal_names_the_object_and_both_values():
    world = layout_world()
    world.multibodies["arm"].joints["elbow"].damping_coefficient = 0.5
    with pytest.raises(sx.LayoutError, match=r"damping coefficient of joint '.*elbow' was 0.0, is 0.5"):
        world.restore_replay_frame(0)


def test_a_change_that_is_taken_back_is_no_change():
    world = layout_world()
    elbow = world.multibodies["arm"].joints["elbow"]
    elbow.damping_coefficient = 0.5
    elbow.damping_coefficient = 0.0
    world.restore_replay_frame(1)
    assert world.frame == 1


def test_frames_after_a_change_can_be_restored():
    world = layout_world()
    world.multibodies["arm"].joints["elbow"].damping_coefficient = 0.5
    world.step(n=2)
    world.restore_replay_frame(4)
    assert world.frame == 4
    with pytest.raises(sx.LayoutError):
        world.restore_replay_frame(3)


def test_a_recording_across_a_change_is_refused():
    world = layout_world()
    world.rigid_bodies["box"].mass = 7.0
    world.step()
    with pytest.raises(sx.LayoutError, match="mass"):
        _ = world.recording


def test_new_objects_are_named():
    world, _ = arm_and_box()
    world.replay_recording_enabled = True
    world.add_rigid_body("ball")
    with pytest.raises(sx.LayoutError, match="new 'ball'"):
        world.restore_replay_frame(0)


def test_recording_starts_in_design_mode_and_goes_on_in_simulation_mode():
    world, _ = arm_and_box()
    world.replay_recording_enabled = True
    assert not world.is_simulation_mode
    world.step(n=2)
    world.restore_replay_frame(0)
    assert (world.frame, world.is_simulation_mode) == (0, True)


def test_reset_while_recording_goes_on_with_a_frame(scene):
    world, _ = scene
    world.step(n=3)
    world.reset()
    world.step(n=2)
    assert world.replay_frame_count == 6
    assert world.get_replay_simulation_frame(5) == 2
    assert world.verify_replay()


def test_states_are_baked_without_a_step(tmp_path):
    world = sx.World()
    box = world.add_rigid_body("box")
    for height in (1.0, 2.0):
        box.translation = (0, 0, height)
        world.replay.bake()
    assert world.replay_frame_count == 2 and world.frame == 0 and not world.replay_recording_enabled
    assert world.verify_replay() and world.recording.num_frames == 2
    # between steps that are recorded, and through a file
    world.replay_recording_enabled = True
    world.step(n=2)
    box.linear_velocity = (1, 0, 0)
    assert world.replay.bake() == 3
    world.step_kinematics(n=2)
    world.step()
    assert world.replay_frame_count == 7 and world.verify_replay()
    world.recording.save(tmp_path / "run.wlr")
    world.replay.add(sx.Recording.load(tmp_path / "run.wlr"), "again")
    assert world.verify_replay("again")
    world.restore_replay_frame(3)
    assert box.linear_velocity[0] == 1.0 and world.frame == 2


def test_baking_after_a_restore_starts_a_branch():
    world = sx.World()
    box = world.add_rigid_body("box")
    world.replay_recording_enabled = True
    world.step(n=3)
    world.restore_replay_frame(1)
    box.translation = (5, 0, 0)
    assert world.replay.bake() == 2
    assert world.replay.branches == ["main", "branch_001"] and world.replay_frame_count == 3
    assert world.verify_replay() and world.verify_replay("main")


def test_contacts_of_a_frame_are_found_again_and_the_world_stays():
    world = sx.World(time_step=0.01)
    world.add_ground_plane()
    ball = world.add_rigid_body("ball", position=(0, 0, 0.2))
    ball.add_collision_shape(CollisionShape.sphere(0.1))
    world.replay_recording_enabled = True
    world.step(n=40)
    before = everything(world)
    assert world.replay.contacts(0) == []
    (contact,) = world.replay.contacts(40)
    assert {contact.body_a, contact.body_b} == {ball, None}
    assert everything(world) == before
    world.replay.restore(0)
    # of another frame than the one the world is in
    assert len(world.replay.contacts(40)) == 1
    assert world.collide() == []
    with pytest.raises(IndexError, match="41"):
        world.replay.contacts(41)


def test_another_size_of_a_shape_is_another_layout():
    world = sx.World()
    arm = world.add_multibody("arm")
    link = arm.add_link("upper", joint=sx.JointSpec(name="hinge"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    link.set_collision_shape(sx.CollisionShape.sphere(0.1))
    world.replay_recording_enabled = True
    world.step(n=3)
    with world.edit():
        link.set_collision_shape(sx.CollisionShape.sphere(0.2))
    with pytest.raises(sx.LayoutError) as caught:
        world.restore_replay_frame(1)
    assert caught.value.field == "shape size"
