# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What cameras see, constraint forces of joints, and operations on whole states."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import collision, msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError

CAMERA = """<mujoco><worldbody><camera name="eye" pos="0 0 5" fovy="90"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom size="1"/></body>
  <body name="side" pos="50 0 1"><freejoint/><geom size="1"/></body></worldbody></mujoco>"""


def test_a_ball_fills_its_share_of_the_picture():
    world = sx.World.from_scene(msd.from_str(CAMERA, format="mjcf"))
    (seen,) = world.visibility.query("eye", width=400, height=400)
    assert seen.body is world.rigid_bodies["ball"]
    # the cone that touches a ball of radius r at distance d cuts the picture in a disc of tan asin(r / d)
    radius = np.tan(np.arcsin(1.0 / 4.0))
    assert seen.share == pytest.approx(np.pi * radius**2 / 4.0, rel=2e-3)
    assert seen.distance == pytest.approx(3.0, abs=1e-3) and seen.point[2] == pytest.approx(2.0, abs=1e-3)


def test_what_is_behind_another_is_not_seen_and_writes_are():
    world = sx.World()
    balls = []
    for name, height in (("near", 2.0), ("far", 0.0)):
        ball = world.add_rigid_body(name, position=(0, 0, height))
        ball.add_collision_shape(collision.CollisionShape.sphere(0.5))
        balls.append(ball)
    camera = world.add_free_frame("camera")
    pose = np.eye(4)
    pose[2, 3] = 6.0
    camera.transform = pose
    near, far = balls
    assert [seen.body for seen in world.visibility.query(camera)] == [near]
    near.translation = (3, 0, 2)
    assert far in [seen.body for seen in world.visibility.query(pose)]
    assert world.visibility.query(camera, fovy=5.0, far=5.0) == []
    assert not world.is_simulation_mode and world.time == 0.0


def test_the_ground_is_the_worlds():
    world = sx.World()
    world.add_ground_plane()
    pose = np.eye(4)
    pose[2, 3] = 1.0
    (seen,) = world.visibility.query(pose)
    assert seen.body is None and seen.share == 1.0


def test_wrong_cameras_are_refused():
    world = sx.World.from_scene(msd.from_str(CAMERA, format="mjcf"))
    with pytest.raises(KeyError, match="eye"):
        world.visibility.query("eyes")
    with pytest.raises(ArgumentError, match="180"):
        world.visibility.query("eye", fovy=200.0)
    with pytest.raises(ArgumentError, match="at least 1"):
        world.visibility.query("eye", width=0)
    with pytest.raises(ArgumentError, match="different world"):
        world.visibility.query(sx.World().add_free_frame("x"))


# ---- constraint forces


def test_constraint_forces_hold_what_gravity_pulls():
    world = sx.World()
    robot = world.add_multibody("cart")
    spec = sx.JointSpec(type=sx.JointType.PRISMATIC, position_lower_limits=-0.1, limit_margin=0.01)
    robot.add_link("body", joint=spec, mass=3.0)
    joint = robot.joints[0]
    assert joint.constraint_force.tolist() == [0.0]
    world.step(n=500)
    assert joint.constraint_force[0] == pytest.approx(3.0 * 9.81, rel=1e-6)
    np.testing.assert_array_equal(robot.joints.constraint_force, joint.constraint_force)
    # M a + C v + g = tau + what constraints did
    left = robot.mass_matrix @ robot.joints.acceleration + robot.coriolis_and_gravity_forces
    np.testing.assert_allclose(left, robot.joints.constraint_force, atol=1e-6)

    # other states are not what the step led to
    world.reset()
    assert joint.constraint_force.tolist() == [0.0]
    world.replay_recording_enabled = True
    world.step(n=500)
    assert joint.constraint_force[0] > 29.0
    world.restore_replay_frame(0)
    assert joint.constraint_force.tolist() == [0.0]


# ---- configuration space


def state_of_a_world():
    world = sx.World()
    world.add_rigid_body("box", position=(1, 2, 3))
    arm = world.add_multibody("arm")
    base = arm.add_link("a", joint=sx.JointSpec(position_lower_limits=0.5, position_upper_limits=0.75))
    arm.add_link("b", parent=base, joint=sx.JointSpec(type=sx.JointType.SPHERICAL))
    return world, world.get_state(world.state_space())


def test_distance_neutral_and_normalize():
    world, state = state_of_a_world()
    zero = sx.state.neutral(state)
    assert zero["box.pose"].tolist() == [0, 0, 0, 0, 0, 0, 1] and zero["arm.q"].tolist() == [0, 0, 0, 0, 1]
    assert (
        sx.state.distance(zero, state) == pytest.approx(np.sqrt(14.0))
        and sx.state.distance(state, state) == 0
    )
    long = state.copy()
    long["box.pose"] = [1, 2, 3, 0, 0, 2, 0]
    assert sx.state.normalize(long)["box.pose"].tolist() == [1, 2, 3, 0, 0, 1, 0]
    world.set_state(zero)
    assert world.rigid_bodies["box"].translation.tolist() == [0, 0, 0]


def test_random_states_are_within_bounds_and_unit():
    _, state = state_of_a_world()
    rng = np.random.default_rng(0)
    many = [sx.state.random(state, rng, scale=2.0) for _ in range(200)]
    angles = np.array([made["arm.q"][0] for made in many])
    assert angles.min() >= 0.5 and angles.max() <= 0.75 and angles.std() > 0.05
    places = np.array([made["box.pose"] for made in many])
    np.testing.assert_allclose(np.linalg.norm(places[:, 3:], axis=1), 1.0, atol=1e-12)
    assert np.abs(places[:, :3]).max() <= 2.0 and np.abs(places[:, :3]).max() > 1.5
    # a uniform rotation turns as often one way as the other
    assert abs(places[:, 3:6].mean()) < 0.1
    np.testing.assert_allclose(np.linalg.norm([m["arm.q"][1:] for m in many], axis=1), 1.0, atol=1e-12)
    again = sx.state.random(state, np.random.default_rng(0), scale=2.0)
    np.testing.assert_array_equal(again.vector, many[0].vector)
    with pytest.raises(TypeError, match="Generator"):
        sx.state.random(state, 3)  # type: ignore[arg-type]


# ---- the step as something to look at


def test_intents_have_their_stages():
    world = sx.World()
    world.add_rigid_body("box")
    bundles = world.pipelines
    assert list(bundles) == ["step", "kinematics", "collision", "sensors", "rendering"]
    assert bundles["sensors"].names == bundles["step"].names[:-1]
    assert set(bundles["rendering"].names) < set(bundles["kinematics"].names)


def test_a_stage_has_a_graph_for_every_run():
    world = sx.World(multibody_options=sx.MultibodyOptions("runge-kutta-4"))
    world.add_rigid_body("box")
    world.step(options=sx.StepOptions(profile=True))
    stage = world.last_step_profile.get_stage("positions")
    assert stage.calls == len(stage.graph_profiles) == 4
    assert stage.total_graph_wall_time_us == pytest.approx(stage.duration_us)
    assert stage.max_graph_worker_count == stage.max_graph_parallelism == 1
    assert stage.graph_profiles[0].get_node("positions").worker_index == 0
