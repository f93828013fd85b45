# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A batch accepts what a World accepts, and says where it runs and why."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import BOXES, hard_world, lane_batch, robot, thread_batch

from worldline import ArgumentError, CapabilityError, ShapeError
from worldline import simulation as sx
from worldline.model import ModelBuilder, ShapeConfig


def reason(batch: sx.WorldBatch) -> str:
    row = batch.resolved_configuration[0]
    assert row.option == "layout" and row.resolved == batch.layout
    return row.reason


def test_lanes_where_the_step_is_the_same():
    batch = lane_batch(3)
    assert batch.layout == "lanes" and "lanes" in reason(batch)
    rows = {row.option: row for row in batch.resolved_configuration}
    assert rows["solver in lanes"].resolved == "newton" and not rows["solver in lanes"].is_substituted
    assert rows["multibody_options.integration_family"].resolved == "implicit-damping"


def test_cones_in_lanes_are_solved_by_newtons_method():
    rows = {row.option: row for row in lane_batch(2, 'cone="elliptic"').resolved_configuration}
    assert rows["solver in lanes"].resolved == "newton"
    assert not rows["solver in lanes"].is_substituted


@pytest.mark.parametrize(
    ("option", "more", "named"),
    [
        ("", BOXES, "equalities"),
        ('noslip_iterations="3"', "", "slip"),
        ('iterations="2"', "", "2 iterations"),
        ("", '<body name="hand" mocap="true" pos="1 0 1"><geom size=".05"/></body>', "mocap"),
    ],
)
def test_threads_for_what_lanes_do_not_have(option, more, named):
    import re

    scene = robot(option, more)
    batch = sx.WorldBatch(scene, 2)
    assert batch.layout == "threads" and re.search(named, reason(batch))
    with pytest.raises(CapabilityError, match=named):
        sx.WorldBatch(scene, 2, layout="lanes")


def test_hard_contacts_and_restitution_go_to_threads():
    """A World solves hard contacts for positions and velocities; a step in lanes would leave the push in."""
    batch = sx.WorldBatch(hard_world(), 2)
    assert batch.layout == "threads" and "split impulse" in reason(batch)
    batch.step(400)
    world = hard_world()
    world.step(n=400)
    assert np.array_equal(batch.joint_positions[1], world.state_vector[:7])


def test_functions_of_python_go_to_threads_and_act():
    world = sx.World.from_scene(robot())
    seen = []
    world.add_controller("push", lambda step: step.control.__setitem__(0, 0.7))
    world.add_observer("look", lambda step: seen.append(step.time))
    batch = sx.WorldBatch(world, 2)
    assert "controllers" in reason(batch) and "observers" in reason(batch)
    batch.step(3)
    assert batch.controls[:, 0].tolist() == [0.7, 0.7] and len(seen) == 6


def test_drives_that_were_changed_and_one_shot_forces_are_not_lost():
    world = sx.World.from_scene(robot())
    world.multibodies["trunk"].joints["hip"].actuator_type = sx.ActuatorType.LOCKED
    assert sx.WorldBatch(world, 1).layout == "threads"
    world = moving("")
    world.multibodies["trunk"].joints["hip"].force = [5.0]
    world.multibodies["trunk"].joints["hip"].actuator_type = sx.ActuatorType.PASSIVE
    batch = sx.WorldBatch(world, 2)
    assert batch.layout == "lanes"
    batch.step()
    world.step()
    np.testing.assert_allclose(batch.joint_velocities[1], world._live().sim.v, atol=1e-12)
    world = sx.World.from_scene(robot())
    world.multibodies["trunk"].links["trunk"].apply_force((0, 0, 50.0))
    batch = sx.WorldBatch(world, 2)
    assert "next step only" in reason(batch)
    batch.step()
    world.step()
    assert np.array_equal(batch.joint_velocities[1], world._live().sim.v)


def moving(option: str) -> sx.World:
    """The robot in the air, in motion, with its actuators on."""
    world = sx.World.from_scene(robot(option))
    sim = world._live().sim
    sim.v[:] = np.random.default_rng(3).normal(size=sim.v.shape)
    sim.velocities_written()
    world.actuator_controls = [0.8, -0.6]
    return world


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast", "RK4"])
def test_integrator_of_the_scene_is_that_of_the_batch(integrator):
    world = moving(f'integrator="{integrator}"')
    batch = sx.WorldBatch(world, 2)
    assert batch.layout == ("threads" if "implicit" in integrator else "lanes")
    batch.step(20)
    world.step(n=20)
    mine = batch.extract(0).state_vector
    np.testing.assert_allclose(mine, world.state_vector, atol=1e-9)
    other = moving('integrator="Euler"' if integrator != "Euler" else 'integrator="RK4"')
    other.step(n=20)
    assert np.abs(mine - other.state_vector).max() > 1e-5


def test_settings_of_the_world_are_those_of_the_batch():
    world = sx.World.from_scene(robot())
    world.time_step, world.gravity = 0.001, (0, 0, -3.0)
    world.divergence_policy, world.divergence_limit = "freeze", 1e6
    world.multibodies["trunk"].links["trunk"].mass = 9.0
    batch = sx.WorldBatch(world, 2)
    assert batch.layout == "lanes"
    assert batch.time_step == 0.001 and batch.divergence_policy is sx.DivergencePolicy.FREEZE
    batch.step(30)
    world.step(n=30)
    np.testing.assert_allclose(batch.joint_positions[1], world._live().sim.q, atol=1e-12)
    # the World is not the batch's: it may change without the batch
    world.gravity = (0, 0, 0)
    before = batch.joint_velocities.copy()
    batch.step(1)
    assert (batch.joint_velocities[:, 2] < before[:, 2]).all()


def test_a_world_goes_on_from_its_state_and_commands():
    world = sx.World.from_scene(robot())
    world.actuator_controls = [0.3, -0.5]
    world.step(n=50)
    for layout in ("lanes", "threads"):
        batch = sx.WorldBatch(world, 2, layout=layout)
        assert batch.frame.tolist() == [50, 50] and batch.time.tolist() == pytest.approx([0.1, 0.1])
        assert np.array_equal(batch.joint_positions[1], world._live().sim.q)
        assert batch.controls[1].tolist() == [0.3, -0.5]
        assert np.array_equal(batch.activations[1], world.actuator_activations)


def test_a_model_of_code_is_accepted_in_both_layouts():
    def model(hard: bool):
        builder = ModelBuilder()
        for k in range(2):
            body = builder.add_body(xform=(0, 0, 0.2 + 0.3 * k, 0, 0, 0, 1))
            if hard:
                builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=ShapeConfig(restitution=0.1))
            else:
                builder.add_shape_sphere(body, radius=0.1)
        builder.add_ground_plane()
        return builder.finalize()

    for hard in (False, True):
        batch = sx.WorldBatch(model(hard), 3, layout="auto")
        batch.joint_velocities[1, 0] = 1.0
        batch.step(20)
        assert np.array_equal(batch.joint_positions[0], batch.joint_positions[2])
        assert batch.joint_positions[1, 0] > 0.01
        batch.reset([1])
        assert batch.joint_positions[1, 0] == 0.0
    assert batch.layout == "threads"
    with pytest.raises(CapabilityError, match="extract"):
        batch.extract(0)


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(ShapeError, match="World, a scene or a Model"):
        sx.WorldBatch("robot.xml", 2)
    with pytest.raises(ArgumentError, match="num_worlds"):
        sx.WorldBatch(robot(), 0)
    with pytest.raises(ArgumentError, match="layout must be one of"):
        sx.WorldBatch(robot(), 1, layout="lane")
    with pytest.raises(CapabilityError, match=r"Barrier|IPC|barrier"):
        sx.WorldBatch(sx.World(rigid_body_solver=sx.RigidBodySolver.IPC), 1)


def test_a_scene_is_not_changed_and_threads_can_be_asked_for():
    scene = robot()
    before = scene.to_msgpack()
    batch = sx.WorldBatch(scene, 2, layout="threads")
    batch.step(5)
    assert scene.to_msgpack() == before and reason(batch) == "as requested"


@pytest.mark.parametrize("make", [lane_batch, thread_batch])
def test_sensors_are_those_of_the_world_of_each_row(make):
    batch = make(3)
    batch.joint_positions[1, 7] = 0.25
    angle, clock = batch.sensor_slices["angle"], batch.sensor_slices["clock"]
    assert batch.sensor_values[:, angle].ravel().tolist() == [0.0, 0.25, 0.0]
    batch.step(10)
    batch.reset([2])
    batch.step(5)
    assert batch.sensor_values[:, clock].ravel() == pytest.approx([0.03, 0.03, 0.01])
    for w in range(3):
        np.testing.assert_allclose(batch.sensor_values[w], batch.extract(w).sensors.values, atol=1e-15)
