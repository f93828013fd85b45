# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics-only ticks and keyframes: time passes, nothing moves by itself."""

from __future__ import annotations

import numpy as np
import pytest

from facade_worlds import arm_and_box
from worldline import msd
from worldline import simulation as sx
from worldline._src.scene.keyframes import Keyframe
from worldline.collision import CollisionShape


def test_a_tick_advances_time_and_frame_only():
    world, arm = arm_and_box()
    arm.joints.velocity = [1.0, 2.0]
    world.rigid_bodies["box"].force = (1, 0, 0)
    before = world.state_vector, world.control_vector
    world.step_kinematics(n=3)
    assert (world.frame, world.time) == (3, 0.03)
    assert world.state_vector.tobytes() == before[0].tobytes()
    assert world.control_vector.tobytes() == before[1].tobytes()
    assert world.is_simulation_mode


def test_no_ticks_do_nothing():
    world, _ = arm_and_box()
    world.step_kinematics(n=0)
    assert not world.is_simulation_mode and world.frame == 0


def test_a_negative_number_of_ticks_is_refused():
    with pytest.raises(ValueError, match="non-negative step count"):
        sx.World().step_kinematics(n=-1)


def test_no_tick_within_an_edit():
    world, _ = arm_and_box()
    world.step()
    with world.edit(), pytest.raises(RuntimeError, match="edit"):
        world.step_kinematics()
    assert world.frame == 1


def test_what_a_tick_cannot_update_is_refused():
    text = (
        "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='.1'/></body></worldbody>"
        "<sensor><jointpos name='slow' joint='j' interval='.5'/></sensor></mujoco>"
    )
    world = sx.World.from_scene(msd.from_str(text))
    with pytest.raises(NotImplementedError, match="sensor 'slow'"):
        world.step_kinematics(update_sensors=True)
    assert world.frame == 0 and not world.is_simulation_mode


def test_a_tick_may_ask_for_everything():
    world, _ = arm_and_box()
    world.step_kinematics(n=10, update_collision=True, update_sensors=True)
    assert world.frame == 10


def test_a_tick_places_shapes_for_queries():
    world = sx.World()
    ball = world.add_rigid_body("ball")
    ball.add_collision_shape(CollisionShape.sphere(0.5))
    world.add_ground_plane()
    ball.translation = (0, 0, 2)
    world.step_kinematics(update_collision=True)
    scene = world._live().queries
    assert scene is not None and scene.group.poses[:, 2].tolist() == [0.0, 2.0]
    assert world.distance(ball, None).distance == pytest.approx(1.5) and world.frame == 1


def test_poses_are_up_to_date_after_a_tick(monkeypatch):
    world, arm = arm_and_box()
    world.step_kinematics()
    arm.joints.position = [0.3, 0.3]
    world.step_kinematics()
    sim = world._live().sim
    monkeypatch.setattr(sim, "_run", lambda program: pytest.fail("computed again"))
    _ = arm.links["lower"].transform, arm.links["lower"].linear_velocity


def test_a_force_for_one_step_waits_for_a_step():
    world, arm = arm_and_box()
    other, other_arm = arm_and_box()
    for a in (arm, other_arm):
        a.links["lower"].apply_force((0, 0, 40))
    world.step_kinematics()
    world.step()
    other.step()
    assert world.state_vector.tobytes() == other.state_vector.tobytes()


def test_scripted_motion_is_recorded_tick_by_tick():
    world, arm = arm_and_box()
    world.replay_recording_enabled = True
    path = np.linspace(0.0, 1.0, 5)
    for angle in path:
        arm.joints["elbow"].position = [angle]
        world.step_kinematics()
    recording = world.recording
    assert recording["arm.q"][1:, 1].tolist() == path.tolist()
    np.testing.assert_allclose(recording.times, 0.01 * np.arange(6))
    assert world.verify_replay()


def test_several_ticks_leave_a_frame_each():
    world, _ = arm_and_box()
    world.replay_recording_enabled = True
    world.step_kinematics(n=4)
    assert world.replay_frame_count == 5


# ---- keyframes


def with_keyframes():
    world, arm = arm_and_box()
    _ = world.state_vector
    box = [0, 0, 5, 0, 0, 0, 1]
    world._scene.keyframes.append(Keyframe(name="home", dof_pos=[*box, 0.5, 0.6], time=2.0))
    world._scene.keyframes.append(
        Keyframe(name="flying", dof_pos=[*box, 0.0, 0.1], dof_vel=[1, 0, 0, 0, 0, 0, 0.2, 0.3])
    )
    world._topology_changed()
    return world, arm


def test_keyframes_are_listed():
    assert with_keyframes()[0].keyframes == ["home", "flying"]
    assert sx.World().keyframes == []


def test_a_keyframe_is_applied_by_name():
    world, arm = with_keyframes()
    world.step(n=3)
    world.apply_keyframe("home")
    assert arm.joints.position.tolist() == [0.5, 0.6]
    assert world.rigid_bodies["box"].translation.tolist() == [0, 0, 5]
    assert world.time == 2.0


def test_a_keyframe_without_time_leaves_time():
    world, arm = with_keyframes()
    world.step(n=3)
    time = world.time
    world.apply_keyframe("flying")
    assert world.time == time
    assert arm.joints.velocity.tolist() == [0.2, 0.3]
    assert world.rigid_bodies["box"].linear_velocity.tolist() == [1, 0, 0]


def test_an_unknown_keyframe():
    with pytest.raises(KeyError, match="did you mean 'home'"):
        with_keyframes()[0].apply_keyframe("hoem")


def test_a_tick_reports_clearance_and_first_contacts():
    world = sx.World()
    world.add_ground_plane()
    ball = world.add_rigid_body("ball", position=(0, 0, 2))
    ball.add_collision_shape(CollisionShape.sphere(0.5))
    other = world.add_rigid_body("other", position=(3, 0, 4))
    other.add_collision_shape(CollisionShape.sphere(0.5))
    report = world.step_kinematics(update_collision=True)
    assert report.frame == 1 and report.time == world.time and report.contacts == ()
    assert report.clearance.distance == pytest.approx(1.5)
    assert {report.clearance.body_a, report.clearance.body_b} == {ball, None}
    ball.translation = (0, 0, 0.4)
    report = world.step_kinematics(update_collision=True)
    assert report.clearance.distance == pytest.approx(-0.1)
    assert len(report.contacts) == len(report.first_contacts) == 1
    # the same pair again is no first contact, another one is
    other.translation = (0.8, 0, 0.6)
    report = world.step_kinematics(n=2, update_collision=True)
    assert len(report.contacts) == 2 and len(report.first_contacts) == 1
    assert {report.first_contacts[0].body_a, report.first_contacts[0].body_b} == {ball, other}
    # it came apart and touches anew
    ball.translation = (0, 0, 3)
    assert world.step_kinematics(update_collision=True).contacts == ()
    ball.translation = (0, 0, 0.4)
    assert len(world.step_kinematics(update_collision=True).first_contacts) == 2
    plain = world.step_kinematics()
    assert not plain.collision and plain.clearance is None and plain.contacts == ()


def test_a_tick_reports_residuals_of_closures():
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(0, 0, 2))
    rod = world.add_loop_closure(
        "rod", frame_a=a, frame_b=b, family=sx.LoopClosureFamily.DISTANCE, distance=1.5
    )
    report = world.step_kinematics()
    assert report.closures == {"rod": pytest.approx(0.5)} and report.projection is None
    rod.kinematics = sx.ClosureKinematicsPolicy.PROJECT
    report = world.step_kinematics()
    assert report.closures["rod"] < 1e-9 and report.projection.converged
    rod.enabled = False
    assert world.step_kinematics().closures == {}


def test_a_tick_reports_the_clearance_of_every_pair_within_a_range():
    """Balls of 0.5 m in a row, the first at a wall of two boxes, against distances by hand."""
    world = sx.World()
    balls = []
    for k, x in enumerate((0.0, 1.25, 3.0)):
        ball = world.add_rigid_body(f"ball_{k}", position=(x, 0, 0))
        ball.add_collision_shape(CollisionShape.sphere(0.5))
        balls.append(ball)
    wall = world.add_rigid_body("wall", position=(-1.0, 0, 0))
    for y in (-0.3, 0.3):
        X = np.eye(4)
        X[1, 3] = y
        wall.add_collision_shape(CollisionShape.box((0.1, 0.3, 1.0), X))
    report = world.step_kinematics(update_collision=True, clearance_range=1.0)
    found = [({each.body_a, each.body_b}, each.distance) for each in report.clearances]
    assert [pair for pair, _ in found] == [{balls[0], balls[1]}, {wall, balls[0]}, {balls[1], balls[2]}]
    assert [distance for _, distance in found] == pytest.approx([0.25, 0.4, 0.75], abs=1e-9)
    assert report.clearance.distance == pytest.approx(0.25, abs=1e-12)
    first = report.clearances[0]
    point = {first.body_a: first.point_a, first.body_b: first.point_b}[balls[0]]
    assert np.allclose(point, (0.5, 0, 0), atol=1e-9)
    assert len(world.step_kinematics(update_collision=True, clearance_range=0.3).clearances) == 1
    assert world.step_kinematics(update_collision=True).clearances == ()
    balls[2].translation = (1.3, 0, 0)
    overlap = world.step_kinematics(0, update_collision=True, clearance_range=0.0).clearances
    assert len(overlap) == 1 and overlap[0].distance < -0.9
    frame = world.frame
    for reach, collision, words in (
        (1.0, False, "needs update_collision"),
        (-1.0, True, "non-negative"),
        (1e12, True, "below 1e.09 m"),
    ):
        with pytest.raises(ValueError, match=words):
            world.step_kinematics(update_collision=collision, clearance_range=reach)
    assert world.frame == frame
