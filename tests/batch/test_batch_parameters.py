# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters by world: each world steps as a World with these parameters, whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import lane_batch, robot, scatter, thread_batch

from worldline import ArgumentError, CapabilityError, NotFoundError, ShapeError, msd
from worldline import simulation as sx
from worldline._src.scene.contact import CombineRule, ConstraintForceModel

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
    HIP + "position_upper_limits": [-0.5],
    HIP + "position_lower_limits": [0.1],
    "actuators.servo.gear": [3.0, 0, 0, 0, 0, 0],
    "actuators.servo.kp": 90.0,
    "actuators.servo.damping_value": 5.0,
    "shapes.floor.friction": 0.3,
    "shapes.foot.size": [0.06, 0.2],
}
OTHER_STEPS = {TRUNK + "gravity_compensation", HIP + "velocity_limits"}
"""Parameters that a step of the other worlds has no stage for."""


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


def set_in_scene(scene, name: str, value) -> None:
    """The same in a description."""
    geoms = [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]
    named = {geom.name: geom for geom in geoms}
    if name == "shapes.floor.friction":
        floor = named["floor"].physics_material
        floor.friction = [value, *floor.friction[1:]]
    elif name == "shapes.foot.size":
        named["foot"].size = [*value, 0.0]
    elif name == "actuators.servo.gear":
        scene.actuators[0].gear = value
    else:
        setattr(scene.actuators[0].actuator_type.value, name.rpartition(".")[2], value)


def alone(name: str, layout: str) -> sx.WorldBatch:
    """One world in a batch that is made with the parameter."""
    if name.startswith(("actuators", "shapes")):
        scene = robot()
        set_in_scene(scene, name, VALUES[name])
        return sx.WorldBatch(scene, 1, layout=layout)
    world = sx.World.from_scene(robot())
    set_in_world(world, name, VALUES[name])
    return sx.WorldBatch(world, 1, layout=layout)


def started(batch):
    scatter(batch)
    batch.joint_positions[:, 2] = 0.7
    return batch


@pytest.mark.parametrize("name", VALUES)
def test_one_world_has_the_parameter_and_the_others_do_not(name):
    layout = "threads" if name in OTHER_STEPS else "lanes"
    batch, plain = started(lane_batch(3)), started(lane_batch(3, layout=layout))
    first = batch.parameters[name]
    batch.worlds[1].parameters[name] = VALUES[name]
    assert batch.layout == layout
    assert layout == "lanes" or name in batch.resolved_configuration[0].reason
    now = batch.parameters[name]
    assert np.array_equal(now[[0, 2]], first[[0, 2]])
    assert now[1] == pytest.approx(np.array(VALUES[name], float), rel=1e-12)
    single = alone(name, layout)
    for field in ("joint_positions", "joint_velocities", "controls"):
        getattr(single, field)[0] = getattr(plain, field)[1]
    batch.step(150)
    plain.step(150)
    single.step(150)
    # neighbours are untouched, and the world has the bits it has alone
    assert np.array_equal(batch.joint_positions[[0, 2]], plain.joint_positions[[0, 2]])
    assert not np.array_equal(batch.joint_positions[1], plain.joint_positions[1])
    assert np.array_equal(batch.joint_positions[1], single.joint_positions[0])
    assert np.array_equal(batch.joint_velocities[1], single.joint_velocities[0])


def test_worlds_in_lanes_are_read_with_their_own_parameters():
    batch = started(lane_batch(3))
    batch.parameters[TRUNK + "mass"] = [3.0, 4.0, 6.0]
    batch.parameters["gravity"] = [(0, 0, -9.0), (0, 0, -9.81), (0, 0, -12.0)]
    batch.step(400)
    assert batch.layout == "lanes" and batch.contacts.count > 0
    for k in range(3):
        world = batch.extract(k)
        assert world.multibodies["trunk"].links["trunk"].mass == [3.0, 4.0, 6.0][k]
        assert batch.potential_energy[k] == pytest.approx(world.potential_energy, rel=1e-12)
        assert batch.kinetic_energy[k] == pytest.approx(world.kinetic_energy, rel=1e-12)
        force = batch.contacts.of_world(k).force.sum(axis=0)
        one = lane_batch(1)
        one.parameters[TRUNK + "mass"] = [3.0, 4.0, 6.0][k]
        one.parameters["gravity"] = batch.parameters["gravity"][k]
        one._worlds.sim._state[0], one._worlds.sim._inputs[0] = (
            batch._worlds.sim._state[k],
            batch._worlds.sim._inputs[k],
        )
        assert one.contacts.force.sum(axis=0) == pytest.approx(force, rel=1e-12)
        assert np.array_equal(one.sensor_values[0, :1], batch.sensor_values[k, :1])
    masses = batch.multibodies["trunk"].mass
    assert masses == pytest.approx(np.array([3.0, 4.0, 6.0]) + 2.1)


def test_gear_and_friction_are_those_of_a_scene_that_says_so():
    batch = sx.WorldBatch(robot(), 2, layout="threads")
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


LAWS = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
  <actuator><general name="affine" joint="j" gainprm="{gain}" biastype="affine" biasprm="0 {bias} -1"/>
  <velocity name="speed" joint="j" kv="{kv}"/></actuator></mujoco>"""


@pytest.mark.parametrize("layout", ["lanes", "threads"])
def test_gains_of_actuators_are_those_of_a_scene_that_says_so(layout):
    usual, other = {"gain": 3.0, "bias": -2.0, "kv": 0.3}, {"gain": 9.0, "bias": -4.0, "kv": 0.9}
    batch = sx.WorldBatch(msd.from_str(LAWS.format(**usual), format="mjcf"), 2, layout=layout)
    for name, element, key in (("gainprm", 0, "gain"), ("biasprm", 1, "bias")):
        rows = batch.parameters[f"actuators.affine.{name}"].copy()
        assert rows[:, element].tolist() == [usual[key]] * 2
        rows[1, element] = other[key]
        batch.parameters[f"actuators.affine.{name}"] = rows
    batch.parameters["actuators.speed.kv"] = [usual["kv"], other["kv"]]
    assert batch.parameters["actuators.speed.kv"].tolist() == [0.3, 0.9]
    alone = [sx.WorldBatch(msd.from_str(LAWS.format(**given), format="mjcf"), 1) for given in (usual, other)]
    for each in (batch, *alone):
        each.controls[:] = 0.5
        each.step(100)
    if layout == "lanes":
        assert batch.joint_positions[:, 0].tolist() == [float(one.joint_positions[0, 0]) for one in alone]
    else:
        np.testing.assert_allclose(
            batch.joint_positions, [one.joint_positions[0] for one in alone], rtol=1e-12
        )
    assert batch.layout == layout and abs(np.ptp(batch.joint_positions)) > 0.05
    with pytest.raises(ArgumentError, match="kv of actuator 'speed'"):
        batch.parameters["actuators.speed.kv"] = np.nan


def test_a_batch_that_moves_to_threads_goes_on():
    batch = started(lane_batch(3, divergence_policy="freeze"))
    batch.joint_velocities[2, 6] = 1e12
    batch.step(40)
    q, controls, arrays = batch.joint_positions.copy(), batch.controls.copy(), batch.controls
    assert batch.frozen.tolist() == [False, False, True]
    batch.select([0, 1]).parameters[TRUNK + "mass"] = [4.5, 5.0]
    batch.worlds[1].parameters[HIP + "velocity_limits"] = [20.0]
    assert batch.layout == "threads" and "speed limits" in batch.resolved_configuration[0].reason
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
    with pytest.raises(ArgumentError, match="size of shape 'foot' must be positive"):
        batch.parameters["shapes.foot.size"] = [0.1, 0.0]
    with pytest.raises(CapabilityError, match=r"shapes\.floor\.size"):
        batch.parameters["shapes.floor.size"] = 1.0
    assert batch.layout == "lanes"
    before = batch.parameters[TRUNK + "mass"]
    with pytest.raises(ArgumentError, match="mass"):
        batch.parameters[TRUNK + "mass"] = [3.0, -1.0]
    assert np.array_equal(batch.parameters[TRUNK + "mass"], before)
    asked = lane_batch(2, layout="lanes")
    asked.parameters[TRUNK + "mass"] = [5.0, 6.0]
    with pytest.raises(CapabilityError, match="gravity_compensation by world: world 0 has another step"):
        asked.parameters[TRUNK + "gravity_compensation"] = 0.5
    assert asked.parameters[TRUNK + "mass"].tolist() == [5.0, 6.0] and asked.layout == "lanes"
    names = batch.parameters.matching("multibodies.*.links.*.mass")
    assert (
        len(names) == 4
        and names[0] in batch.parameters
        and len(batch.parameters) == len(batch.parameters.names)
    )


@pytest.mark.parametrize("make", [lane_batch, thread_batch], ids=["lanes", "threads"])
def test_checkpoints_have_the_parameters(tmp_path, make):
    batch = make(2)
    batch.parameters[TRUNK + "mass"] = [4.0, 8.0]
    batch.parameters["shapes.floor.friction"] = [1.0, 0.1]
    batch.joint_velocities[:, 0] = 1.0
    batch.step(50)
    batch.save(tmp_path / "a")
    other = make(2)
    other.parameters["gravity"] = [(0, 0, -1.0), (0, 0, -2.0)]
    other.load(tmp_path / "a")
    assert other.parameters["gravity"].tolist() == [[0, 0, -9.81]] * 2
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


@pytest.mark.parametrize(("mode", "expected"), [("set", 0.15), ("scale", 0.3), ("add", 2.15)])
def test_modes_put_what_is_drawn_where_it_belongs(mode, expected):
    line = sx.Randomized("rigid_bodies.*.mass", sx.Uniform(0.1, 0.2), mode=mode)
    made = line.applied(np.array([2.0, 2.0]), np.array(0.15))
    np.testing.assert_allclose(made, [expected, expected], rtol=1e-15)


def test_threads_that_refuse_a_parameter_of_one_world_keep_those_of_all():
    batch = lane_batch(2, layout="threads")
    batch.parameters[TRUNK + "mass"] = [5.0, 6.0]
    with pytest.raises(ArgumentError, match="mass"):
        batch.parameters[TRUNK + "mass"] = [3.0, -1.0]
    assert batch.parameters[TRUNK + "mass"].tolist() == [5.0, 6.0]


def test_a_world_that_goes_on_after_it_diverged_does_so_in_threads_too():
    batch = lane_batch(2, divergence_policy="continue")
    batch.joint_velocities[1, 0] = 1e20
    batch.step(2)
    assert [failure.world for failure in batch.failures] == [1] and not batch.frozen.any()
    batch.parameters[TRUNK + "gravity_compensation"] = 0.5
    assert batch.layout == "threads" and not batch.frozen.any()
    batch.step(1)
    assert batch.frame.tolist() == [3, 3]


AXES = {"D6": {"linear_axes": [(1, 0, 0)], "angular_axes": [(0, 0, 1)]}}
"""What a type of joint cannot be made without."""


@pytest.mark.parametrize("kind", [kind for kind in sx.JointType if kind.name not in ("FIXED", "CUSTOM")])
def test_every_parameter_takes_its_own_value(kind):
    """What is listed can be written, so that patterns over all joints never meet one that refuses."""
    world = sx.World()
    spec = sx.JointSpec(type=kind, **AXES.get(kind.name, {}))
    world.add_multibody("arm").add_link("hand", joint=spec, mass=1.0)
    batch = sx.WorldBatch(world, 2)
    for name in batch.parameters:
        before = batch.parameters[name]
        batch.parameters[name] = before
        assert np.array_equal(batch.parameters[name], before), name
    assert batch.parameters.matching("multibodies.arm.joints.*.damping_coefficient")


def test_randomized_patterns_leave_out_floating_bases():
    """A floating base has springs and damping, but neither drives nor limits."""
    batch = lane_batch(2)
    for name in ("target_damping", "effort_limits", "position_lower_limits", "rest_position"):
        named = batch.parameters.matching(f"multibodies.trunk.joints.*.{name}")
        assert HIP + name in named and f"multibodies.trunk.joints.root.{name}" not in named
        batch.randomize(
            sx.Randomization((sx.Randomized(f"multibodies.*.joints.*.{name}", sx.Uniform(1, 2)),))
        )
    root = batch.extract(0).multibodies["trunk"].joints["root"]
    with pytest.raises(
        ArgumentError, match="no target damping; it has spring_stiffness, damping_coefficient"
    ):
        root.target_damping = 1.0
    with pytest.raises(ArgumentError, match="no position limits"):
        root.set_position_limits(-1.0, 1.0)


def test_shapes_and_actuators_without_names_have_those_of_the_model():
    batch = lane_batch(2)
    model, names = batch.model, set(batch.parameters)
    assert "shape_001" in model.shapes.label, "a shape without a name is what this is about"
    assert {f"shapes.{label}.friction" for label in model.shapes.label} <= names
    assert {f"actuators.{label}.gear" for label in batch.actuator_names} <= names
    scene = robot()
    scene.actuators[1].name = None
    unnamed = sx.WorldBatch(scene, 2)
    assert unnamed.actuator_names == ["servo", "actuator_001"]
    unnamed.parameters["actuators.actuator_001.gear"] = np.eye(6)[:2] * 0.5
    assert unnamed.extract(1).to_scene().actuators[1].gear == [0, 0.5, 0, 0, 0, 0]
    for k, label in enumerate(model.shapes.label):
        batch.parameters[f"shapes.{label}.friction"] = 0.1 * k + 0.05
    assert np.allclose(
        batch.extract(0).model().shapes.friction[:, 0], 0.05 + 0.1 * np.arange(len(model.shapes.label))
    )


def test_the_mass_of_a_world_does_not_depend_on_those_of_others():
    """An inertia that follows from mass is scaled from the start, not from what other worlds have."""
    masses = np.linspace(3.0, 6.0, 9)
    whole, one = sx.WorldBatch(robot(), 9), sx.WorldBatch(robot(), 1)
    name = next(name for name in whole.parameters if name.endswith("trunk.mass"))
    whole.parameters[name] = masses
    one.parameters[name] = masses[7]
    model = whole._worlds.models(np.array([7]))[0]
    assert np.array_equal(model.body_inertia, one._worlds.models(np.array([0]))[0].body_inertia)
    one.parameters[name] = 1.7
    one.parameters[name] = masses[7]
    for batch in (whole, one):
        batch.joint_velocities[:] = 0.3
        batch.step(150)
    assert len(one.contacts.world) and np.array_equal(one.joint_positions[0], whole.joint_positions[7])
    assert whole.layout == "lanes"


def hard_arm(fixed_layout=False) -> sx.World:
    """A link with hard contacts that falls on a floor."""
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
      <body name="post" pos="0 0 .5"><joint name="slide" type="slide" axis="0 0 1"/>
        <geom name="foot" size=".1"/></body></worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    for geom in (*scene.hierarchy.geoms, *(g for link in scene.hierarchy.links() for g in link.geoms)):
        geom.physics_material.contact_model = ConstraintForceModel.hard(0.0, 0.2)
        geom.physics_material.restitution_rule = CombineRule.Maximum
    world = sx.World.from_scene(scene)
    world.fixed_layout = fixed_layout
    return world


@pytest.mark.parametrize("fixed_layout", [False, True])
def test_links_bounce_with_the_restitution_of_their_world(fixed_layout):
    """v+ = -e v- at the first impact, for every world; and the bits of a World with that restitution."""
    batch = sx.WorldBatch(hard_arm(fixed_layout), 3)
    shares = np.array([0.2, 0.5, 0.8])
    batch.parameters["shapes.foot.restitution"] = shares
    assert batch.parameters["shapes.foot.restitution"].tolist() == shares.tolist()
    batch.joint_velocities[:] = -2.0
    before = batch.joint_velocities[:, 0].copy()
    bounced = np.zeros(3)
    for _ in range(400):
        batch.step()
        now = batch.joint_velocities[:, 0]
        hit = (before < 0.0) & (now > 0.0) & (bounced == 0.0)
        bounced[hit] = -now[hit] / before[hit]
        before = now.copy()
    # gravity acts in the step of the impact as well
    assert np.allclose(bounced, shares, atol=0.01)
    scene = hard_arm(fixed_layout).to_scene()
    next(g for link in scene.hierarchy.links() for g in link.geoms).physics_material.restitution = 0.5
    alone = sx.World.from_scene(scene)
    alone._live().sim.v = -2.0
    alone.step(400)
    assert np.array_equal(alone._live().sim.q, batch.joint_positions[1])
    with pytest.raises(ArgumentError, match=r"restitution of shape 'foot' must be between 0 and 1"):
        batch.parameters["shapes.foot.restitution"] = 1.5


def test_soft_contacts_have_no_restitution():
    batch = lane_batch(2)
    with pytest.raises(CapabilityError, match=r"shapes\.foot\.restitution.*soft"):
        batch.parameters["shapes.foot.restitution"] = 0.5
