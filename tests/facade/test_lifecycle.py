# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of the life of a World: modes, steps, validity, ownership; one test each, named for the rule."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from facade.scenes import bits, pendulum, rich
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError, SceneError


def test_a_new_world_is_in_design_mode_at_time_zero():
    world = sx.World()
    assert (world.time, world.frame, world.is_simulation_mode) == (0.0, 0, False)
    assert world.time_step == 0.001 and world.gravity.tolist() == [0.0, 0.0, -9.81]


def test_nothing_is_added_unasked():
    world = sx.World()
    assert len(world.rigid_bodies) == len(world.multibodies) == len(world.frames) == 0


def test_transforms_and_residuals_can_be_read_in_design_mode():
    world = sx.World()
    rich(world)
    assert world.frames["eye"].transform.shape == (4, 4)
    assert np.isfinite(world.loop_closures["rod"].compute_residual().norm)
    assert not world.is_simulation_mode


def test_a_positive_count_enters_simulation_mode():
    world = sx.World()
    world.step(3)
    assert world.is_simulation_mode and world.frame == 3


def test_a_zero_count_does_nothing():
    world = sx.World()
    world.step(0)
    world.step_kinematics(0)
    assert not world.is_simulation_mode and world.time == 0.0


@pytest.mark.parametrize("step", ["step", "step_kinematics"])
def test_a_negative_count_is_refused(step):
    world = sx.World()
    with pytest.raises(ArgumentError, match="non-negative step count"):
        getattr(world, step)(-1)
    assert not world.is_simulation_mode


@pytest.mark.parametrize("count", [True, 1.0, "1", None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(TypeError):
        sx.World().step(count)


def test_entering_simulation_mode_twice_is_refused():
    world = sx.World()
    world.enter_simulation_mode()
    with pytest.raises(OperationError, match="already in simulation mode"):
        world.enter_simulation_mode()


def test_failed_validation_leaves_design_mode():
    world = sx.World()
    # a distance that only the DISTANCE family has, written past the checks of the handle
    closure = world.add_loop_closure(frame_a=world.add_rigid_body(), frame_b=world.add_rigid_body())
    closure._closure.distance = 0.5
    for call in (world.enter_simulation_mode, world.step, world.validate_topology):
        with pytest.raises(SceneError, match="distance"):
            call()
        assert not world.is_simulation_mode


def test_sync_needs_simulation_mode():
    world = sx.World()
    for call in (world.sync, world.update_kinematics):
        with pytest.raises(OperationError, match="simulation mode"):
            call()


def test_sync_moves_neither_time_nor_bodies():
    world = sx.World()
    box = world.add_rigid_body(linear_velocity=(1, 0, 0))
    world.enter_simulation_mode()
    before = bits(world)
    world.sync(sx.WorldSyncStage.KINEMATICS)
    assert bits(world) == before and box.translation[0] == 0.0 and world.frame == 0


def test_a_kinematics_tick_advances_time_and_moves_nothing():
    world = sx.World(time_step=0.01)
    box = world.add_rigid_body(linear_velocity=(1, 0, 0))
    world.step_kinematics(5)
    assert world.frame == 5 and world.time == pytest.approx(0.05)
    assert box.translation.tolist() == [0.0, 0.0, 0.0] and box.linear_velocity.tolist() == [1.0, 0.0, 0.0]


ADDITIONS = {
    "rigid body": lambda w, m: w.add_rigid_body(),
    "multibody": lambda w, m: w.add_multibody(),
    "link": lambda w, m: m.add_link(),
    "free frame": lambda w, m: w.add_free_frame(),
    "fixed frame": lambda w, m: w.add_fixed_frame("f", m.links[0]),
    "closure": lambda w, m: w.add_loop_closure(frame_a=m.links[0], frame_b=m.links[1]),
    "scene": lambda w, m: w.add_scene(w.to_scene(), prefix="x_"),
    "skeleton": lambda w, m: sx.add_skeleton(w, w.to_scene()),
    "axis": lambda w, m: setattr(m.joints[0], "axis", (1, 0, 0)),
    "removal": lambda w, m: m.remove(),
}


@pytest.mark.parametrize("what", ADDITIONS)
def test_topology_changes_only_in_design_mode(what):
    world = sx.World()
    arm = pendulum(world)
    world.step()
    before = (world.num_rigid_bodies, world.num_multibodies, arm.num_links, len(world.frames))
    with pytest.raises(OperationError, match="simulation mode"):
        ADDITIONS[what](world, arm)
    assert before == (world.num_rigid_bodies, world.num_multibodies, arm.num_links, len(world.frames))


def test_state_commands_and_parameters_may_change_in_simulation_mode():
    world = sx.World()
    arm = pendulum(world)
    box = world.add_rigid_body()
    world.step()
    world.gravity, world.time_step, world.time = (0, 0, 0), 0.01, 3.0
    arm.joints.position, arm.joints[0].armature = [0.3], 0.5
    box.mass, box.translation = 4.0, (1, 0, 0)
    world.multibody_options = sx.MultibodyOptions("implicit-damping")
    assert (world.time, box.mass, arm.joints.position.tolist()) == (3.0, 4.0, [0.3])


def test_clear_returns_to_an_empty_world_with_default_options():
    world = sx.World(time_step=0.5, gravity=(0, 0, 1))
    robot = rich(world)
    handles = [
        robot,
        robot.links[0],
        robot.joints[0],
        world.rigid_bodies[0],
        world.frames[0],
        world.loop_closures[0],
    ]
    world.step()
    world.clear()
    assert (world.time_step, world.gravity.tolist(), world.time, world.frame) == (
        0.001,
        [0, 0, -9.81],
        0.0,
        0,
    )
    assert not world.is_simulation_mode and world.num_multibodies == world.num_rigid_bodies == 0
    assert not any(handle.is_valid for handle in handles)
    assert world.add_rigid_body().name == "rigid_body_001"


def test_dead_handles_say_so():
    world = sx.World()
    robot = rich(world)
    joint, link, body, frame, closure = (
        robot.joints[0],
        robot.links[0],
        world.rigid_bodies[0],
        world.frames[0],
        world.loop_closures[0],
    )
    world.clear()
    reads = [
        lambda: joint.position,
        lambda: link.transform,
        lambda: body.mass,
        lambda: frame.transform,
        lambda: closure.compute_residual(),
        lambda: robot.links,
        lambda: robot.mass_matrix,
        lambda: link.parent_joint,
    ]
    for read in reads:
        with pytest.raises(OperationError, match=r"not valid any more.*cleared"):
            read()
    assert "not valid" in repr(joint) + repr(body)


def test_handles_keep_their_world_alive():
    world = sx.World()
    joints = list(pendulum(world).joints)
    del world
    gc.collect()
    joints[0].position = [0.5]
    assert joints[0].child_link.translation.shape == (3,)


def test_one_entity_has_one_handle():
    world = sx.World()
    arm = pendulum(world)
    assert world.multibodies["pendulum"] is arm and arm.links["bob"].parent_joint is arm.joints["hinge"]
    assert arm.is_same_instance_as(world.multibodies[0]) and arm == world.get_multibody("pendulum")
    assert not arm.is_same_instance_as(arm.links[0])


def test_reset_returns_to_where_simulation_mode_was_entered():
    world = sx.World()
    robot = rich(world)
    robot.joints.velocity = np.ones(robot.num_dofs)
    world.enter_simulation_mode()
    before = bits(world)
    world.step(20)
    robot.joints["h"].force = [9.0]
    world.reset()
    assert bits(world) == before and world.frame == 0 and robot.joints["h"].force.tolist() == [0.2]


def test_reset_needs_simulation_mode():
    with pytest.raises(OperationError, match="simulation mode"):
        sx.World().reset()


def test_several_worlds_live_side_by_side_without_setup():
    a, b = sx.World(gravity=(0, 0, -1)), sx.World(gravity=(0, 0, -2))
    for world in (a, b):
        world.add_rigid_body("x")
        world.step(10)
    assert b.rigid_bodies["x"].translation[2] == pytest.approx(2 * a.rigid_bodies["x"].translation[2])


def test_steps_are_deterministic_and_n_steps_are_n_times_one():
    results = []
    for portions in ((60,), (1,) * 60, (7, 53)):
        world = sx.World()
        rich(world)
        for n in portions:
            world.step(n)
        results.append(bits(world))
    assert results[0] == results[1] == results[2]


def test_reads_are_fresh_after_any_write_without_sync():
    world = sx.World()
    arm = pendulum(world)
    tool = world.add_fixed_frame("tool", arm.links["bob"])
    for enter in (False, True):
        if enter:
            world.enter_simulation_mode()
        for angle in (0.3, -1.2):
            arm.joints["hinge"].position = [angle]
            assert tool.rotation[0, 0] == pytest.approx(np.cos(angle), abs=1e-15)
            assert arm.center_of_mass == pytest.approx([0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)])


def test_returned_arrays_are_copies():
    world = sx.World()
    robot = rich(world)
    box = world.rigid_bodies["box"]
    for read in (
        lambda: box.transform,
        lambda: box.translation,
        lambda: box.quaternion,
        lambda: box.linear_velocity,
        lambda: box.inertia,
        lambda: robot.joints.position,
        lambda: robot.joints[0].velocity,
        lambda: world.gravity,
        lambda: robot.links.transforms,
        lambda: robot.links.masses,
        lambda: box.force,
        lambda: robot.mass_matrix,
    ):
        first = read()
        kept = first.copy()
        with pytest.raises(ValueError, match="read-only"):
            first[...] = 99.0
        assert (read() == kept).all()


def test_value_objects_are_copies_to_be_assigned_back():
    world = sx.World()
    options = world.multibody_options
    options.integration_family = "implicit-damping"
    assert world.multibody_options.integration_family is sx.MultibodyIntegrationFamily.SEMI_IMPLICIT
    world.multibody_options = options
    assert world.multibody_options.integration_family is sx.MultibodyIntegrationFamily.IMPLICIT_DAMPING
    told = sx.RigidBodyOptions()
    with pytest.raises(ValueError, match="read-only"):
        told.position[0] = 5.0
    assert told.position[0] == 0.0


def test_only_double_precision_is_offered_and_nothing_is_cast_silently():
    world = sx.World()
    assert world.dtype == sx.float64
    box = world.add_rigid_body()
    with pytest.raises(TypeError):
        box.translation = np.array([1j, 0, 0])
    with pytest.raises(NotImplementedError, match="float64"):
        sx.World(dtype=np.float32)


def test_a_failed_step_leaves_the_last_good_state():
    world = sx.World()
    box = world.add_rigid_body("box")
    world.step(3)
    before = box.translation, box.linear_velocity
    box.force = (1e308, 1e308, 0)
    world.time_step = 1e10
    with pytest.raises(sx.StepFailure, match="box") as caught:
        world.step(2)
    assert caught.value.body == "box" and caught.value.frame == 4 and world.frame == 3
    assert (box.translation == before[0]).all() and (box.linear_velocity == before[1]).all()
