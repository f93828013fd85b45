# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reads are up to date after any write, the work is done once, and a step that fails leaves the last good state."""

from __future__ import annotations

import numpy as np
import pytest

from facade_worlds import arm_and_box
from worldline import simulation as sx


def counted(world, monkeypatch):
    """Count the programs that bring poses and velocities up to date."""
    sim, calls = world._live().sim, []
    run = sim._run
    monkeypatch.setattr(sim, "_run", lambda program: (calls.append(program.name), run(program))[1])
    return calls


@pytest.mark.parametrize("mode", ["design", "simulation"])
def test_a_thousand_reads_after_one_write_do_the_work_once(monkeypatch, mode):
    world, arm = arm_and_box()
    if mode == "simulation":
        world.enter_simulation_mode()
    calls = counted(world, monkeypatch)
    arm.joints.position = [0.1, 0.2]
    calls.clear()
    for _ in range(1000):
        _ = arm.links["lower"].transform
    assert calls == ["poses"]
    for _ in range(1000):
        _ = arm.links["lower"].linear_velocity
    assert calls == ["poses", "velocities"]


def test_writing_velocities_leaves_poses_alone(monkeypatch):
    world, arm = arm_and_box()
    _ = arm.links["lower"].transform
    calls = counted(world, monkeypatch)
    arm.joints.velocity = [1.0, 1.0]
    _ = arm.links["lower"].transform
    assert calls == []


def write_state(world):
    state = world.get_state(world.state_space())
    state["arm.q"] = [1.0, 1.0]
    world.set_state(state)


def write_vector(world):
    vector = world.state_vector.copy()
    vector[7:9] = 1.0
    world.state_vector = vector


WRITES = {
    "joints": lambda w: setattr(w.multibodies["arm"].joints, "position", [1.0, 1.0]),
    "joint": lambda w: setattr(w.multibodies["arm"].joints["shoulder"], "position", [1.0]),
    "state": write_state,
    "vector": write_vector,
}


@pytest.mark.parametrize("mode", ["design", "simulation", "after a step"])
@pytest.mark.parametrize("write", WRITES)
def test_reads_after_a_write_are_fresh(write, mode):
    world, arm = arm_and_box(gravity=(0, 0, 0))
    if mode == "simulation":
        world.enter_simulation_mode()
    elif mode == "after a step":
        world.step()
    before = arm.links["lower"].translation, arm.center_of_mass
    WRITES[write](world)
    assert np.abs(arm.links["lower"].translation - before[0]).max() > 0.01
    assert np.abs(arm.center_of_mass - before[1]).max() > 0.01


# ---- steps that fail


def test_a_step_that_is_not_finite_names_body_and_quantity_and_keeps_the_last_good_state():
    world = sx.World(time_step=1.0, gravity=(0, 0, 0))
    world.add_rigid_body("quiet")
    box = world.add_rigid_body("box", linear_velocity=(1, 0, 0))
    world.step(n=3)
    good = world.state_vector, world.time, world.frame
    box.force = (1e308, 0, 0)
    box.mass = 1e-10
    with pytest.raises(sx.StepFailure) as caught:
        world.step(n=5)
    assert caught.value.body == "box"
    assert caught.value.quantity in ("acceleration", "velocity")
    assert caught.value.frame == 4
    assert "box" in str(caught.value) and "last" not in str(caught.value)
    assert world.state_vector.tobytes() == good[0].tobytes()
    assert (world.time, world.frame) == good[1:]
    np.testing.assert_array_equal(box.translation, [3, 0, 0])


def test_a_limit_on_velocity_hides_no_failure():
    world = sx.World(time_step=1.0)
    arm = world.add_multibody("arm")
    arm.add_link("tip", joint=sx.JointSpec(name="hinge"), mass=1e-10, inertia=(1e-10, 1e-10, 1e-10))
    hinge = arm.joints["hinge"]
    hinge.velocity_limits = 2.0
    hinge.force = [1e300]
    with pytest.raises(sx.StepFailure, match="acceleration"):
        world.step()
    assert hinge.velocity.tolist() == [0.0]
    assert hinge.acceleration.tolist() == [0.0]


def test_a_position_that_overflows_is_named():
    world = sx.World(time_step=10.0, gravity=(0, 0, 0), divergence_limit=np.inf)
    world.add_rigid_body("quiet")
    world.add_rigid_body("box", linear_velocity=(9e149, 0, 0))
    with pytest.raises(sx.StepFailure, match="position of 'box'"):
        world.step()


def test_nothing_limits_the_speed_of_a_free_body():
    world = sx.World(gravity=(0, 0, 0))
    box = world.add_rigid_body("box", linear_velocity=(3e8, 0, 0))
    world.step()
    assert box.linear_velocity.tolist() == [3e8, 0, 0]


def test_the_good_steps_before_a_failure_stay_and_are_recorded():
    world = sx.World(time_step=1.0, gravity=(0, 0, 0), divergence_limit=np.inf)
    box = world.add_rigid_body("box")
    box.force = (3e149, 0, 0)
    world.replay_recording_enabled = True
    with pytest.raises(sx.StepFailure) as caught:
        world.step(n=10)
    assert 0 < world.frame == caught.value.frame - 1
    assert world.replay_frame_count == world.frame + 1
    assert np.isfinite(world.state_vector).all()
    assert world.verify_replay()


def test_a_failed_world_can_be_repaired_and_goes_on():
    world = sx.World(time_step=1.0, gravity=(0, 0, 0))
    box = world.add_rigid_body("box")
    box.force = (1e308, 0, 0)
    with pytest.raises(sx.StepFailure):
        world.step(n=10)
    box.clear_force()
    box.linear_velocity = (0, 0, 0)
    world.step(n=2)
    assert np.isfinite(world.state_vector).all()
