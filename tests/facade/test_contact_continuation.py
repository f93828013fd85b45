# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds with contacts continue bit for bit: after saving, after a replay, after a reset."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.step.contact_memory import recall, remembered
from worldline.collision import CollisionShape

SCENE = """
<mujoco>
  <option timestep="0.004"/>
  <default><geom friction="0.8"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="box" pos="0.1 0 0.35" euler="20 35 0">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.15 0.2" mass="3"/>
      <body name="arm" pos="0.1 0 0.2">
        <joint name="hinge" axis="0 1 0" range="-60 60" damping="0.1" frictionloss="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="hinge" kp="20" kv="1" timeconst="0.05" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


@pytest.fixture
def world() -> sx.World:
    made = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    made.enter_simulation_mode()
    made.actuator_controls = [0.7]
    made.step(150)
    assert made.compute_step_metrics().active_contact_count > 0
    return made


def bits(world: sx.World) -> np.ndarray:
    sim = world._live().sim
    return np.concatenate([sim.q, sim.v, sim.a, world._live().activation])


def test_a_saved_world_goes_on_bit_for_bit(world, tmp_path):
    world.save_binary(tmp_path / "world.bin")
    other = sx.World()
    other.load_binary(tmp_path / "world.bin")
    assert np.array_equal(bits(other), bits(world))
    world.step(100)
    other.step(100)
    assert np.array_equal(bits(other), bits(world))
    assert np.array_equal(other.actuator_controls, world.actuator_controls)


def test_a_replayed_frame_goes_on_bit_for_bit(world):
    world.replay_recording_enabled = True
    world.step(60)
    after = bits(world)
    world.restore_replay_frame(20)
    world.step(40)
    assert np.array_equal(bits(world), after)


def test_reset_and_the_same_controls_give_the_same_bits(world):
    first = bits(world)
    world.reset()
    world.actuator_controls = [0.7]
    world.step(150)
    assert np.array_equal(bits(world), first)


def test_many_steps_in_one_call_are_single_steps(world):
    other = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    other.actuator_controls = [0.7]
    for _ in range(150):
        other.step()
    assert np.array_equal(bits(other), bits(world))


def test_an_edit_elsewhere_changes_no_bit(world):
    """The same motion goes on when a body that touches nothing is added far away."""
    with world.edit():
        world.add_rigid_body("far", position=(100, 0, 100))
    twin = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    twin.actuator_controls = [0.7]
    twin.step(150)
    world.step(20)
    twin.step(20)
    n = len(twin._live().sim.q)
    assert np.allclose(world._live().sim.q[:n], twin._live().sim.q, atol=1e-9)


def resting() -> sx.World:
    """Two boxes that fell on each other, asleep."""
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.05)
    made = sx.World(time_step=0.005, deactivation_options=options)
    made.add_ground_plane()
    for name, height in (("low", 0.12), ("high", 0.4)):
        body = made.add_rigid_body(name, position=(0, 0, height), inertia=0.01 * np.eye(3))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    made.step(n=200)
    assert all(body.is_sleeping for body in made.rigid_bodies)
    return made


@pytest.mark.parametrize("way", ["file", "clone"])
def test_sleepers_stay_asleep_and_keep_their_contacts(way, tmp_path):
    world = resting()
    if way == "file":
        world.save_binary(tmp_path / "asleep.world")
        again = sx.World()
        again.load_binary(tmp_path / "asleep.world")
    else:
        again = world.clone()
    assert all(body.is_sleeping for body in again.rigid_bodies)
    for _ in range(2):
        assert len(again.contacts) == len(world.contacts) == 8
        for mine, theirs in zip(world.contacts, again.contacts, strict=True):
            np.testing.assert_array_equal(mine.force, theirs.force)
        world.step(n=20)
        again.step(n=20)
    np.testing.assert_array_equal(bits(world), bits(again))
    # and both wake alike
    for one in (world, again):
        one.rigid_bodies["high"].apply_force((20.0, 0.0, 0.0))
        one.step(n=30)
        assert not one.rigid_bodies["high"].is_sleeping
    np.testing.assert_array_equal(bits(world), bits(again))


def test_contacts_that_do_not_fit_are_refused():
    world = resting()
    memory = remembered(world._live().sim)
    wrong = {**memory, "contact_id": memory["contact_id"] + 7}
    assert recall(world._live().sim, wrong) == "contact_id"
    assert recall(world._live().sim, {"tree_quiet": np.zeros(5)}) == "tree_quiet"
    assert recall(world._live().sim, {"contact": memory["contact"]}) == "contact"
    assert len(world.contacts) == 8


def test_frames_keep_sleepers_and_impulses():
    """What sleeps in a frame sleeps after it is restored; large heaps go on from the impulses they had."""
    sleeping, heap = resting(), sx.World(time_step=0.005)
    heap.add_ground_plane()
    for k in range(30):
        place = (0.201 * (k % 6) + 0.1 * (k // 6 % 2), 0.0, 0.1 + 0.2 * (k // 6))
        body = heap.add_rigid_body(f"brick{k}", position=place, inertia=0.006 * np.eye(3))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    heap.step(n=40)
    for world in (sleeping, heap):
        world.replay_recording_enabled = True
        world.step(n=10)
        if world is sleeping:
            world.rigid_bodies["high"].apply_force((20.0, 0.0, 0.0))
        world.step(n=10)
        after = bits(world)
        assert world.verify_replay()
        np.testing.assert_array_equal(bits(world), after)
        world.restore_replay_frame(5)
        assert all(body.is_sleeping for body in world.rigid_bodies) == (world is sleeping)
        world.step(n=5)
        np.testing.assert_array_equal(world.replay_cursor, 10)
        if world is sleeping:
            world.rigid_bodies["high"].apply_force((20.0, 0.0, 0.0))
        world.step(n=10)
        np.testing.assert_array_equal(bits(world), after)


def test_contacts_after_a_restore_are_not_those_of_another_frame():
    world = sx.World(time_step=0.005)
    world.add_ground_plane()
    body = world.add_rigid_body("ball", position=(0, 0, 0.2), inertia=0.004 * np.eye(3))
    body.add_collision_shape(CollisionShape.sphere(0.1))
    world.replay_recording_enabled = True
    world.step(n=100)
    assert world.contacts
    world.restore_replay_frame(0)
    assert not world.contacts
