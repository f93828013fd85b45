# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A World in the fixed layout has the bits of its lane in a batch, contacts, sensors and forces included."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from batch_scenes import HOPPER, hard_world, robot
from test_convex_lanes import SOLIDS
from test_near_pairs import snake

import worldline._src.step.fixed_constraints as fixed
from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import CapabilityError, LayoutError, OperationError
from worldline._src.step.present_contacts import contacts_of

ASSETS = Path(gymnasium.__file__).parent / "envs/mujoco/assets"
COUNT, LANES = 11, (0, 5, 10)
"""Worlds of the batches, and those that a World is compared with: in full groups and at the end of one."""
MORE_SENSORS = '<accelerometer name="felt" site="s"/><force name="pull" site="s"/><touch name="t" site="s"/>'


def hard() -> sx.World:
    world = hard_world()
    world.rigid_bodies["ball"].translation = (0, 0, 0.12)
    arm = world.add_rigid_body("stone", mass=1.0, position=(0.05, 0, 0.35))
    arm.add_collision_shape(sx.CollisionShape.sphere(0.08))
    return world


def robot_with_sensors() -> sx.World:
    text = HOPPER.format(option="", more="", tie="").replace('<clock name="clock"/>', MORE_SENSORS)
    text = text.replace(
        '<body name="shin" pos="0 0 -.35">',
        '<body name="shin" pos="0 0 -.35"><site name="s" size=".1" pos="0 0 -.35"/>',
    )
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


SOURCES = {
    "hopper": lambda: sx.World.from_file(ASSETS / "hopper.xml"),
    "ant": lambda: sx.World.from_file(ASSETS / "ant.xml"),
    "humanoid": lambda: sx.World.from_file(ASSETS / "humanoid.xml"),
    "robot, Euler": robot_with_sensors,
    "robot, cones": lambda: sx.World.from_scene(robot('cone="elliptic"')),
    "robot, sweeps": lambda: sx.World.from_scene(robot('solver="PGS"')),
    "hard contacts that bounce": hard,
    "convex solids": lambda: sx.World.from_scene(msd.from_str(SOLIDS, format="mjcf")),
    "near pairs": lambda: sx.World.from_scene(msd.from_str(snake(), format="mjcf")),
}


def source(name: str) -> sx.World:
    world = SOURCES[name]()
    world.fixed_layout = True
    return world


def sim(world: sx.World):
    return world._live().sim


def start(batch: sx.WorldBatch, worlds: list[sx.World]) -> None:
    rng = np.random.default_rng(4)
    batch.joint_velocities[:] += 0.3 * rng.normal(size=batch.joint_velocities.shape)
    for world, i in zip(worlds, LANES, strict=True):
        sim(world).v = batch.joint_velocities[i]


@pytest.mark.parametrize("name", SOURCES)
def test_a_world_has_the_bits_of_its_lane(name):
    original = source(name)
    batch, worlds = sx.WorldBatch(original, COUNT), [original.clone() for _ in LANES]
    assert batch.layout == "lanes"
    start(batch, worlds)
    rng, touched = np.random.default_rng(1), 0
    for k in range(60):
        controls = rng.uniform(-1, 1, batch.controls.shape) if len(original.actuator_names) else None
        if controls is not None:
            batch.controls = controls
        before = batch.contacts
        readings = batch.sensor_values
        for world, i in zip(worlds, LANES, strict=True):
            if controls is not None:
                world.actuator_controls = controls[i]
            rows = np.flatnonzero(before.world == i)
            sim(world).controls_written()
            mine = contacts_of(sim(world), np.zeros((sim(world).model.body_count, 6)))
            for field in ("point", "normal", "depth", "force"):
                assert np.array_equal(getattr(mine, field), getattr(before, field)[rows]), (k, i, field)
            touched += len(rows)
            if world.sensors:
                values = np.concatenate([np.ravel(sensor.value) for sensor in world.sensors])
                assert np.array_equal(values, readings[i]), (k, i)
            world.step(3)
        batch.step(3, threads=2)
        for world, i in zip(worlds, LANES, strict=True):
            assert np.array_equal(sim(world).q, batch.joint_positions[i]), (k, i)
            assert np.array_equal(sim(world).v, batch.joint_velocities[i]), (k, i)
            assert np.array_equal(sim(world).activation, batch.activations[i]), (k, i)
    assert touched > 20, "hardly anything touches: the test would show little"


def test_the_last_step_is_that_of_the_lane():
    """Contacts and forces that the World reports of a step are those that its lane had before it."""
    original = source("robot, Euler")
    batch, worlds = sx.WorldBatch(original, COUNT), [original.clone() for _ in LANES]
    start(batch, worlds)
    batch.step(250)
    worlds[1].step(250)
    before = batch.contacts
    rows = np.flatnonzero(before.world == LANES[1])
    worlds[1].step()
    found = worlds[1].contacts
    assert len(found) == len(rows) > 0
    for contact, row in zip(found, rows, strict=True):
        assert np.array_equal(contact.point, before.point[row])
        assert np.array_equal(contact.force, before.force[row])
        assert contact.depth == before.depth[row]
    report = worlds[1].step_report()
    assert report.converged and report.contacts == len(rows) and report.methods == {"newton": 1}
    assert sum(pair.contacts for pair in report.pairs) == len(rows)
    assert [event.kind.value for event in worlds[1].contact_events] == ["persist"] * len(report.pairs)


def test_forces_of_rows_are_those_that_move_the_world():
    """Generalized forces of constraints agree with a World of islands, and balance the accelerations."""
    fixed_world, islands = source("robot, Euler"), robot_with_sensors()
    fixed_world.step(400)
    islands.step(400)
    assert np.allclose(sim(fixed_world).q, sim(islands).q, atol=1e-9)
    mine, theirs = fixed_world._live().constraint_forces(), islands._live().constraint_forces()
    assert np.abs(theirs).max() > 10.0
    assert np.allclose(mine, theirs, atol=1e-6)
    ledger = fixed_world.energy_ledger()
    assert abs(ledger.unexplained) < 1e-9


def test_copies_go_on_with_the_same_bits(tmp_path):
    world = source("robot, Euler")
    world.step(150)
    world.save_binary(tmp_path / "world.wlb")
    loaded = sx.World()
    loaded.load_binary(tmp_path / "world.wlb")
    copies = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world)), loaded]
    extracted = sx.WorldBatch(world, 3)
    world.step(40)
    extracted.step(20)
    copies.append(extracted.extract(2))
    for k, each in enumerate(copies):
        assert each.fixed_layout
        each.step(20 if k == 4 else 40)
        assert np.array_equal(sim(each).q, sim(world).q), k
        assert np.array_equal(sim(each).v, sim(world).v), k


def test_replays_and_resets_have_the_same_bits():
    world = source("robot, Euler")
    world.enter_simulation_mode()
    world.replay_recording_enabled = True
    world.step(120)
    end = sim(world).q.copy()
    assert world.verify_replay()
    world.restore_replay_frame(60)
    world.step(60)
    assert np.array_equal(sim(world).q, end)
    for _ in range(2):
        world.reset()
        world.step(120)
        assert np.array_equal(sim(world).q, end)


def test_frames_of_islands_are_not_those_of_the_fixed_layout():
    world = robot_with_sensors()
    world.enter_simulation_mode()
    world.replay_recording_enabled = True
    world.step(5)
    with world.edit():
        world.fixed_layout = True
    world.step(5)
    with pytest.raises(LayoutError, match=r"layout of rows changed \(new 'fixed_layout'\)"):
        world.restore_replay_frame(3)
    assert world.frame == 10


def test_a_diverged_world_goes_on_as_its_lane():
    original = source("robot, Euler")
    original.divergence_policy = "freeze"
    batch, world = sx.WorldBatch(original, COUNT), original.clone()
    batch.step(200)
    world.step(200)
    batch.joint_forces[:, 6], sim(world).force[6] = 1e300, 1e300
    batch.step(3)
    world.step(3)
    assert batch.frozen.all() and sim(world).frozen
    batch.joint_forces[:, 6], sim(world).force[6] = 0.0, 0.0
    speed = batch.joint_velocities[4, 0] + 0.1
    batch.joint_velocities[:, 0] = speed
    sim(world).v[0] = speed
    sim(world).velocities_written()
    batch.step(30)
    world.step(30)
    assert np.array_equal(sim(world).q, batch.joint_positions[4])


def test_scarce_room_grows_without_a_trace(monkeypatch):
    whole = source("near pairs")
    whole.step(300)
    monkeypatch.setattr(fixed, "MANY_ROWS", 8)
    monkeypatch.setattr(fixed, "_PAIR_ROOM", -27)
    scarce = source("near pairs")
    first = sim(scarce).constraints.room
    scarce.step(300)
    assert sim(scarce).constraints.room > first, "the room never grew: the test shows nothing"
    assert np.array_equal(sim(scarce).q, sim(whole).q)
    assert len(scarce.contacts) == len(whole.contacts) > 3


def test_functions_and_kernels_run_within_steps():
    """Functions of Python keep the World in the fixed layout; its batch then runs on threads."""
    worlds = [source("robot, Euler") for _ in range(2)]
    worlds[0].add_force_element("wind", lambda step: step.body_f.__setitem__((0, 3), 2.0))
    sim(worlds[1]).body_f[0, 3] = 2.0
    worlds[1]._live().persistent_wrench[0, 3] = 2.0
    worlds[1]._live().wrenches_written()
    for world in worlds:
        world.step(50)
    assert np.allclose(sim(worlds[0]).q, sim(worlds[1]).q, atol=1e-12)
    assert sx.WorldBatch(worlds[0], 2).layout == "threads"


def test_parameters_written_later_act():
    """A World whose parameters change has the bits of a lane with these parameters."""
    original = source("robot, Euler")
    batch = sx.WorldBatch(original, 9)
    trunk = next(name for name in batch.parameters if name.endswith("trunk.mass"))
    batch.parameters[trunk] = np.linspace(3.0, 6.0, 9)
    world = original.clone()
    world.step(1)
    world.reset()
    next(iter(world.multibodies)).links["trunk"].mass = float(batch.parameters[trunk][7])
    world.gravity = (0.0, 0.0, -9.81)
    batch.step(150)
    world.step(150)
    assert batch.layout == "lanes"
    assert np.array_equal(sim(world).q, batch.joint_positions[7])


REFUSED = {
    "noslip_iterations": lambda: robot('noslip_iterations="3"'),
    "closures": lambda: robot(
        more='<body name="b" pos="2 0 1"><freejoint/><geom size=".1"/></body>',
        tie='<equality><weld body1="b" body2="tail"/></equality>',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_lanes_do_not_have_is_refused_by_name(name):
    world = sx.World.from_scene(REFUSED[name]())
    world.fixed_layout = True
    before = sim(world).q.copy()
    with pytest.raises(CapabilityError, match=f"fixed_layout.*{name}"):
        world.step()
    assert np.array_equal(sim(world).q, before) and world.frame == 0
    assert any(row.option == "fixed_layout" and not row.resolved for row in world.resolved_configuration)
    world.fixed_layout = False
    world.step()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"differentiable": True}, "derivatives"),
        ({"multibody_options": sx.MultibodyOptions("variational")}, "variational"),
        ({"deactivation_options": sx.DeactivationOptions(enabled=True)}, "sleep"),
        ({"contact_solver_method": sx.ContactSolverMethod.BOXED_LCP}, "boxed"),
        ({"contact_sweeps": 3}, "contact_sweeps"),
    ],
)
def test_options_that_lanes_do_not_have_are_refused_by_name(options, what):
    world = sx.World(fixed_layout=True, **options)
    world.add_ground_plane()
    world.add_rigid_body("ball").add_collision_shape(sx.CollisionShape.sphere(0.1))
    with pytest.raises(CapabilityError, match=f"fixed_layout.*{what}"):
        world.step()
    assert world.frame == 0


def test_the_layout_is_chosen_in_design_mode_and_written_to_files():
    world = source("robot, Euler")
    scene = world.to_scene()
    assert scene.simulate_option.policy.fixed_layout and sx.World.from_scene(scene).fixed_layout
    world.step()
    with pytest.raises(OperationError, match="fixed_layout"):
        world.fixed_layout = False
    assert world.fixed_layout
    with pytest.raises((TypeError, ValueError), match="fixed_layout"):
        sx.World(fixed_layout="yes")  # type: ignore[arg-type]
