# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Replay frames and recordings hold contacts, solver options, controls, activations and sensors."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.facade import recording_file
from worldline._src.facade.checked_file import write_checked
from worldline.collision import CollisionShape

SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="base" pos="0 0 0.15"><freejoint name="root"/><geom size="0.1"/><site name="top"/>
    <body name="arm" pos="0.1 0 0"><joint name="j" axis="0 1 0"/>
      <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/></body></body></worldbody>
  <actuator><motor name="m" joint="j"/><general name="g" joint="j" dyntype="filter" dynprm="0.1"/></actuator>
  <sensor><accelerometer name="acc" site="top"/><jointpos name="angle" joint="j"/><clock name="t"/></sensor>
  </mujoco>"""


def robot() -> sx.World:
    return sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))


def seen(world: sx.World) -> list:
    """Contacts and their forces as plain numbers."""
    names = [(c.body_a and c.body_a.name, c.body_b and c.body_b.name, c.feature) for c in world.contacts]
    numbers = [np.concatenate([c.point, c.normal, [c.depth], c.force]).tobytes() for c in world.contacts]
    forces = [
        np.concatenate([f.point, f.force, f.impulse]).tobytes() for f in world.get_last_contact_forces()
    ]
    return [names, numbers, forces]


def boxes() -> sx.World:
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(3):
        box = world.add_rigid_body(f"box{k}", mass=1.0, position=(0.02 * k, 0, 0.1 + 0.2 * k))
        box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return world


def test_a_restored_frame_has_its_contacts_and_forces():
    world = boxes()
    world.replay_recording_enabled = True
    wanted = [seen(world)]
    for _ in range(60):
        world.step()
        wanted.append(seen(world))
    assert wanted[50][0] and wanted[50] != wanted[60]
    for frame in (50, 10, 60, 0):
        world.restore_replay_frame(frame)
        assert seen(world) == wanted[frame]
    world.restore_replay_frame(50)
    assert world.contact_events and {e.kind for e in world.contact_events} == {sx.ContactEventKind.PERSIST}
    world.step()
    assert {e.kind for e in world.contact_events} == {sx.ContactEventKind.PERSIST}
    assert seen(world) == wanted[51]


def test_a_recording_from_a_file_has_contacts_and_continues_bit_for_bit(tmp_path):
    world = boxes()
    world.deactivation_options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.02)
    world.replay_recording_enabled = True
    world.step(n=100)
    world.rigid_bodies["box2"].linear_velocity = (0.4, 0.0, 0.0)
    world.step(n=100)
    world.recording.save(tmp_path / "run.wlr")
    world.restore_replay_frame(100)
    contacts = seen(world)
    other = boxes()
    other.replay.add(sx.Recording.load(tmp_path / "run.wlr"))
    other.restore_replay_frame(100)
    assert contacts[0] and seen(other) == contacts
    assert bool(other.verify_replay())
    assert other.deactivation_options == world.deactivation_options


def test_memory_of_a_file_must_fit_the_world(tmp_path):
    world = boxes()
    world.replay_recording_enabled = True
    world.step(n=20)
    parts = recording_file.Parts(
        *(
            getattr(world.recording, name)
            for name in ("_rows", "_columns", "_layout", "_continuations", "_ticks", "_sensors")
        )
    )
    memory = [dict(each) for each in parts.continuations.memory]
    memory[-1]["contact_id"] = memory[-1]["contact_id"] + 1000.0
    continuations = parts.continuations._replace(memory=memory)
    recording_file.write(tmp_path / "bad.wlr", parts._replace(continuations=continuations))
    with pytest.raises(sx.RecordingError, match="'contact_id' does not fit"):
        world.replay.add(sx.Recording.load(tmp_path / "bad.wlr"))
    assert world.replay.branches == ["main"]


OPTIONS = {
    "contact_solver_method": sx.ContactSolverMethod.NEWTON,
    "rigid_body_solver": sx.RigidBodySolver.IPC,
    "strict_solver_resolution": True,
    "contact_sweeps": 3,
    "sensor_noise_seed": 4,
    "sensor_noise_world": 5,
    "deactivation_options": sx.DeactivationOptions(enabled=True, time_until_sleep=0.125),
    "multibody_options": sx.MultibodyOptions(variational_max_iterations=7, variational_tolerance=1e-4),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_frame_holds_the_solver_options(name):
    world = boxes()
    before = getattr(world, name)
    world.replay_recording_enabled = True
    world.step(n=3)
    setattr(world, name, OPTIONS[name])
    world.replay.bake()
    assert getattr(world, name) == OPTIONS[name] != before
    world.restore_replay_frame(2)
    assert getattr(world, name) == before
    world.restore_replay_frame(4)
    assert getattr(world, name) == OPTIONS[name]


def test_frames_go_on_with_the_solver_they_were_made_with():
    world = boxes()
    world.replay_recording_enabled = True
    world.step(n=40)
    wanted = world.state_vector
    world.contact_solver_method = sx.ContactSolverMethod.BOXED_LCP
    world.restore_replay_frame(20)
    world.step(n=20)
    assert world.contact_solver_method is sx.ContactSolverMethod.AUTOMATIC
    assert world.state_vector.tobytes() == wanted.tobytes()
    world.contact_solver_method = sx.ContactSolverMethod.BOXED_LCP
    world.step(n=20)
    assert bool(world.verify_replay())
    assert world.contact_solver_method is sx.ContactSolverMethod.BOXED_LCP


def test_a_recording_has_controls_activations_and_sensors(tmp_path):
    world = robot()
    world.replay_recording_enabled = True
    controls, activations, readings = [], [], []
    for k in range(40):
        controls.append(world.actuator_controls)
        activations.append(world.actuator_activations)
        readings.append(world.sensors.values)
        world.actuator_controls = [np.sin(k), 0.5]
        world.step()
    recording = world.recording
    assert {"m.control", "g.control", "g.activation", "acc.value", "angle.value", "t.value"} <= {
        *recording.names
    }
    state, frame, contacts = world.state_vector.tobytes(), world.frame, seen(world)
    # a frame has the controls its step was made with: those set before it
    given = np.column_stack([recording["m.control"], recording["g.control"]])
    np.testing.assert_array_equal(given[1:40, 0], np.sin(np.arange(39)))
    np.testing.assert_array_equal(given[:40], np.array(controls))
    np.testing.assert_array_equal(recording["g.activation"][:40], np.array(activations))
    found = np.column_stack([recording[f"{name}.value"] for name in ("acc", "angle", "t")])
    assert found[:, 4].tolist() == recording.times.tolist()
    np.testing.assert_array_equal(found[:40], np.array(readings))
    assert world.state_vector.tobytes() == state and world.frame == frame and seen(world) == contacts
    recording.save(tmp_path / "run.wlr")
    loaded = sx.Recording.load(tmp_path / "run.wlr")
    for name in recording.names:
        np.testing.assert_array_equal(loaded[name], recording[name])
    assert pickle.loads(pickle.dumps(recording))["acc.value"].tobytes() == found[:, :3].tobytes()


def test_sensors_of_a_world_that_is_gone():
    world = robot()
    world.replay_recording_enabled = True
    world.step(n=2)
    recording = world.recording
    del world
    gc.collect()
    assert len(recording["m.control"]) == 3
    with pytest.raises(sx.RecordingError, match="the World of the recording is gone"):
        _ = recording["acc.value"]


def test_a_file_of_another_kind_is_not_a_recording(tmp_path):
    world = boxes()
    world.save_binary(tmp_path / "world.bin")
    with pytest.raises(sx.RecordingError, match="not a recording"):
        sx.Recording.load(tmp_path / "world.bin")
    write_checked(tmp_path / "other.wlr", recording_file._KIND, b"\xc1")
    with pytest.raises(sx.RecordingError, match="not a recording"):
        sx.Recording.load(tmp_path / "other.wlr")


def test_a_motion_that_starts_in_contact_is_verified_from_its_own_warm_start():
    """Impulses of frame 0 warm-start its first step; those of the present have been forgotten meanwhile."""
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(6):
        box = world.add_rigid_body(f"box{k}", position=(0.03 * k, 0, 0.1 + 0.2 * k))
        box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.contact_solver_method = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
    world.step(n=20)
    world.replay_recording_enabled = True
    world.step(n=10)
    for k, body in enumerate(world.rigid_bodies):
        body.translation = np.add(body.translation, (0, 0, 1.0 + k))
    world.step()
    assert not world.contacts
    check = world.verify_replay()
    assert check and check.frames == 11
