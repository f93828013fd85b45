# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters by world: each world steps as a World with these parameters, whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import lane_batch, robot, scatter, thread_batch

from worldline import ArgumentError, CapabilityError, NotFoundError, ShapeError
from worldline import simulation as sx

HIP = "multibodies.trunk.joints.hip."
TRUNK = "multibodies.trunk.links.trunk."
VALUES = {
    "gravity": (0.1, 0.2, -3.0),
    TRUNK + "mass": 9.0,
    TRUNK + "center_of_mass": (0.05, 0.0, 0.02),
    TRUNK + "inertia": np.diag([0.2, 0.3, 0.4]),
    TRUNK + "gravity_compensation": 0.5,
    HIP + "damping_coefficient": [2.0],
    HIP + "armature": [0.5],
    HIP + "coulomb_friction": [3.0],
    HIP + "spring_stiffness": [40.0],
    HIP + "target_stiffness": [30.0],
    HIP + "target_damping": [4.0],
    HIP + "velocity_limits": [0.5],
    HIP + "position_upper_limits": [-0.1],
    HIP + "position_lower_limits": [0.1],
    "actuators.servo.gear": [3.0, 0, 0, 0, 0, 0],
    "shapes.floor.friction": 0.3,
}


def set_in_world(world: sx.World, name: str, value) -> None:
    """The same through the handles of a World."""
    if name == "gravity":
        world.gravity = value
    elif name.startswith(TRUNK):
        setattr(world.multibodies["trunk"].links["trunk"], name.removeprefix(TRUNK), value)
    elif name.endswith("upper_limits"):
        hip = world.multibodies["trunk"].joints["hip"]
        hip.set_position_limits(hip.position_lower_limits, value)
    elif name.endswith("lower_limits"):
        hip = world.multibodies["trunk"].joints["hip"]
        hip.set_position_limits(value, hip.position_upper_limits)
    elif name.startswith(HIP):
        setattr(world.multibodies["trunk"].joints["hip"], name.removeprefix(HIP), value)


def started(batch):
    scatter(batch)
    batch.joint_positions[:, 2] = 0.7
    return batch


@pytest.mark.parametrize("name", VALUES)
def test_one_world_has_the_parameter_and_the_others_do_not(name):
    batch, plain = started(lane_batch(3)), started(lane_batch(3, layout="threads"))
    first = batch.parameters[name]
    batch.worlds[1].parameters[name] = VALUES[name]
    assert batch.layout == "threads" and name in batch.resolved_configuration[0].reason
    now = batch.parameters[name]
    assert np.array_equal(now[[0, 2]], first[[0, 2]])
    assert now[1] == pytest.approx(np.array(VALUES[name], float), rel=1e-12)
    world = plain.extract(1)
    batch.step(150)
    plain.step(150)
    # neighbours are untouched, to the last bit
    assert np.array_equal(batch.joint_positions[[0, 2]], plain.joint_positions[[0, 2]])
    assert not np.array_equal(batch.joint_positions[1], plain.joint_positions[1])
    if name.startswith(("actuators", "shapes")):
        return
    set_in_world(world, name, VALUES[name])
    world.step(n=150)
    assert np.array_equal(batch.joint_positions[1], world._live().sim.q)


def test_gear_and_friction_are_those_of_a_scene_that_says_so():
    batch = sx.WorldBatch(robot(), 2)
    batch.parameters["actuators.servo.gear"] = [[1.0, 0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]]
    batch.parameters["shapes.floor.friction"] = [1.0, 0.1]
    scene = robot()
    scene.actuators[0].gear = [2.0, 0, 0, 0, 0, 0]
    (floor,) = [geom for geom in scene.hierarchy.geoms if geom.name == "floor"]
    floor.physics_material.friction = [0.1, *floor.physics_material.friction[1:]]
    other = sx.WorldBatch(scene, 1, layout="threads")
    for each in (batch, other):
        each.joint_positions[:, 2] = 0.7
        each.joint_velocities[:, 0] = 1.0
        each.controls[:] = [0.5, 0.2]
        each.step(300)
    assert np.array_equal(batch.joint_positions[1], other.joint_positions[0])
    assert abs(batch.joint_positions[0, 0] - batch.joint_positions[1, 0]) > 0.01


def test_a_batch_that_moves_to_threads_goes_on():
    batch = started(lane_batch(3, divergence_policy="freeze"))
    batch.joint_velocities[2, 6] = 1e12
    batch.step(40)
    q, controls, arrays = batch.joint_positions.copy(), batch.controls.copy(), batch.controls
    assert batch.frozen.tolist() == [False, False, True]
    batch.select([0, 1]).parameters[TRUNK + "mass"] = [4.5, 5.0]
    assert np.array_equal(batch.joint_positions, q) and np.array_equal(batch.controls, controls)
    assert batch.frame.tolist() == [40] * 3 and batch.time == pytest.approx([0.08] * 3)
    assert batch.frozen.tolist() == [False, False, True] and batch.failures[0].world == 2
    # an array that was taken before is still the array
    arrays[0] = [0.9, -0.9]
    assert batch.controls[0].tolist() == [0.9, -0.9]
    batch.step(10)
    assert batch.frame.tolist() == [50] * 3 and np.array_equal(batch.joint_positions[2], q[2])
    batch.reset()
    assert batch.frame.tolist() == [0] * 3 and batch.parameters[TRUNK + "mass"].tolist() == [4.5, 5, 4]
    assert batch.extract(1).multibodies["trunk"].links["trunk"].mass == 5.0


def test_wrong_parameters_are_refused_and_change_nothing():
    batch = lane_batch(2)
    with pytest.raises(NotFoundError, match="mass"):
        batch.parameters["multibodies.trunk.links.trunk.mas"] = 1.0
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        batch.parameters[TRUNK + "mass"] = [1.0, 2.0, 3.0]
    for name in ("sensors.angle.noise", "shapes.floor.size"):
        with pytest.raises(CapabilityError, match=name):
            batch.parameters[name] = 1.0
    assert batch.layout == "lanes"
    before = batch.parameters[TRUNK + "mass"]
    with pytest.raises(ArgumentError, match="mass"):
        batch.parameters[TRUNK + "mass"] = [3.0, -1.0]
    assert np.array_equal(batch.parameters[TRUNK + "mass"], before)
    with pytest.raises(CapabilityError, match="layout 'lanes' has no parameters by world"):
        lane_batch(2, layout="lanes").parameters["gravity"] = (0, 0, 0)
    names = batch.parameters.matching("multibodies.*.links.*.mass")
    assert (
        len(names) == 4
        and names[0] in batch.parameters
        and len(batch.parameters) == len(batch.parameters.names)
    )


def test_checkpoints_have_the_parameters(tmp_path):
    batch = thread_batch(2)
    batch.parameters[TRUNK + "mass"] = [4.0, 8.0]
    batch.parameters["shapes.floor.friction"] = [1.0, 0.1]
    batch.joint_velocities[:, 0] = 1.0
    batch.step(50)
    batch.save(tmp_path / "a")
    other = thread_batch(2)
    other.load(tmp_path / "a")
    assert other.parameters[TRUNK + "mass"].tolist() == [4.0, 8.0]
    assert other.parameters["shapes.floor.friction"].tolist() == [1.0, 0.1]
    batch.step(300)
    other.step(300)
    assert np.array_equal(batch.joint_positions, other.joint_positions)


# ---- randomization

LINES = (
    sx.Randomized(TRUNK + "mass", sx.Uniform(0.5, 1.5)),
    sx.Randomized("multibodies.*.joints.*.damping_coefficient", sx.LogUniform(0.5, 2.0)),
    sx.Randomized("gravity", sx.Normal(0.0, 0.1), mode="add", elementwise=True),
    sx.Randomized("shapes.floor.friction", sx.Choice((0.2, 0.9), (1.0, 3.0)), mode="set"),
)


def test_worlds_draw_the_same_in_a_batch_of_any_size():
    drawn = sx.Randomization(LINES, seed=11)
    large, small, part = lane_batch(6), lane_batch(2), lane_batch(6)
    large.randomize(drawn)
    small.randomize(drawn)
    part.randomize(drawn, [4, 1])
    for name in large.parameters:
        assert np.array_equal(large.parameters[name][:2], small.parameters[name]), name
        assert np.array_equal(large.parameters[name][[1, 4]], part.parameters[name][[1, 4]]), name
    assert large.worlds[1].parameters[TRUNK + "mass"] != large.worlds[0].parameters[TRUNK + "mass"]
    assert part.worlds[0].parameters[TRUNK + "mass"] == 4.0
    again = lane_batch(6)
    again.randomize(sx.Randomization.from_json(drawn.to_json()))
    assert again.fingerprint() == large.fingerprint() != lane_batch(6).fingerprint()
    other = lane_batch(6)
    other.randomize(sx.Randomization(LINES, seed=12))
    assert other.fingerprint() != large.fingerprint()


def test_draws_have_their_distributions():
    n = 4000

    def shares(distribution):
        line = sx.Randomized("x", distribution, mode="set")
        drawn = sx.Randomization((line,), seed=5)
        return np.array([float(drawn.draw(line, "x", (), w)) for w in range(n)])

    uniform, log = shares(sx.Uniform(2.0, 4.0)), shares(sx.LogUniform(0.1, 10.0))
    normal, choice = shares(sx.Normal(3.0, 0.5)), shares(sx.Choice((1.0, 2.0), (1.0, 3.0)))
    # five standard deviations of the mean of n draws
    assert (
        abs(uniform.mean() - 3.0) < 5 * 2.0 / np.sqrt(12 * n)
        and 2.0 <= uniform.min()
        and uniform.max() <= 4.0
    )
    assert abs(np.log10(log).mean()) < 5 * 2.0 / np.sqrt(12 * n) and log.min() >= 0.1 and log.max() <= 10.0
    assert abs(normal.mean() - 3.0) < 5 * 0.5 / np.sqrt(n) and abs(normal.std() - 0.5) < 0.03
    assert abs((choice == 2.0).mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / n)
    cut = shares(sx.Normal(0.0, 1.0, -0.5, 0.5))
    assert cut.min() == -0.5 and cut.max() == 0.5


def test_groups_rise_and_fall_together():
    lines = (
        sx.Randomized(TRUNK + "mass", sx.Uniform(0.5, 1.5), group="load"),
        sx.Randomized(HIP + "damping_coefficient", sx.Uniform(1.0, 3.0), group="load"),
        sx.Randomized(HIP + "armature", sx.Uniform(0.5, 1.5)),
    )
    batch = lane_batch(8)
    batch.randomize(sx.Randomization(lines, seed=2))
    mass = batch.parameters[TRUNK + "mass"] / 4.0
    damping = batch.parameters[HIP + "damping_coefficient"][:, 0] / 0.2
    armature = batch.parameters[HIP + "armature"][:, 0] / 0.01
    np.testing.assert_allclose(damping, 1.0 + 2.0 * (mass - 0.5), rtol=1e-12)
    assert np.ptp(mass) > 0.1 and abs(np.corrcoef(mass, armature)[0, 1]) < 0.99


def test_wrong_randomizations_are_refused():
    for call in (
        lambda: sx.Uniform(2.0, 1.0),
        lambda: sx.LogUniform(0.0, 1.0),
        lambda: sx.Normal(0.0, 0.0),
        lambda: sx.Choice(()),
        lambda: sx.Choice((1.0,), (1.0, 2.0)),
        lambda: sx.Randomized("x", sx.Uniform(0, 1), mode="multiply"),
        lambda: sx.Randomization((), seed=-1),
        lambda: sx.Randomization.from_json("{}"),
        lambda: lane_batch(1).randomize("mass"),
        lambda: lane_batch(1).reset(sample=sx.Randomization((sx.Randomized("masses", sx.Uniform(0, 1)),))),
    ):
        with pytest.raises(ArgumentError):
            call()
    batch = lane_batch(2)
    with pytest.raises(NotFoundError, match="no parameter"):
        batch.randomize(sx.Randomization((sx.Randomized("links.mass", sx.Uniform(0, 1)),)))
    with pytest.raises(ArgumentError, match="mass"):
        batch.randomize(
            sx.Randomization(
                (
                    sx.Randomized("gravity", sx.Uniform(0, 1)),
                    sx.Randomized(TRUNK + "mass", sx.Uniform(-2, -1)),
                )
            )
        )
    assert np.array_equal(batch.parameters["gravity"], lane_batch(2).parameters["gravity"])


def test_sampled_resets_are_new_each_time_and_the_same_in_any_batch():
    lines = (
        sx.Randomized("joint_velocities", sx.Normal(0.0, 0.1), mode="add", elementwise=True),
        sx.Randomized("controls", sx.Uniform(-1, 1), mode="set", elementwise=True),
    )
    sample = sx.Randomization(lines, seed=4)
    batch, small = lane_batch(5), lane_batch(2)
    batch.reset(sample=sample)
    small.reset(sample=sample)
    first = batch.joint_velocities.copy()
    assert np.array_equal(first[:2], small.joint_velocities) and np.ptp(first[:, 0]) > 0.0
    assert np.array_equal(batch.controls[:2], small.controls)
    batch.reset([1], sample=sample)
    small.reset([1], sample=sample)
    assert not np.array_equal(batch.joint_velocities[1], first[1])
    assert np.array_equal(batch.joint_velocities[1], small.joint_velocities[1])
    assert np.array_equal(batch.joint_velocities[0], first[0])


# ---- fingerprints


def test_fingerprints_tell_every_number():
    world = sx.World.from_scene(robot())
    first = world.fingerprint()
    assert (
        len(first) == 64
        and sx.World.from_scene(robot()).fingerprint() == first == world.clone().fingerprint()
    )
    for change in (
        lambda w: setattr(w, "gravity", (0, 0, -9.0)),
        lambda w: setattr(w, "time_step", 0.001),
        lambda w: setattr(w.multibodies["trunk"].links["trunk"], "mass", 5.0),
        lambda w: setattr(w.multibodies["trunk"].joints["hip"], "damping_coefficient", 5.0),
        lambda w: setattr(w.multibodies["trunk"].joints["hip"], "position", [1e-300]),
        lambda w: setattr(w, "actuator_controls", [0.0, 1e-300]),
        lambda w: setattr(w, "time", 1.0),
        lambda w: setattr(w, "divergence_limit", 1e5),
    ):
        other = world.clone()
        change(other)
        assert other.fingerprint() != first


def test_fingerprints_of_batches():
    lanes, threads = lane_batch(3), lane_batch(3, layout="threads")
    assert lanes.fingerprint() == threads.fingerprint()
    assert lanes.fingerprint(0) == lanes.fingerprint(2) != lanes.fingerprint()
    lanes.joint_velocities[1, 3] = 1e-300
    assert lanes.fingerprint(1) != lanes.fingerprint(0) and lanes.fingerprint() != threads.fingerprint()
