# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of a WorldBatch, of its steps and of its handles acts or is refused by name, in both layouts."""

from __future__ import annotations

import numpy as np
from effects import Effect, Refused, arguments, check, complete, put, rows_of, settable

import worldline
from worldline import msd
from worldline import simulation as sx

TEXT = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  <body name="ball" pos="1 0 .5"><freejoint/><geom size=".1"/></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/>
    <general name="lag" joint="hinge" dyntype="filter" dynprm=".1" gainprm="2"/></actuator></mujoco>"""


def scene():
    return msd.from_str(TEXT, format="mjcf")


def batch(layout="lanes", count=3, **given):
    return sx.WorldBatch(scene(), count, layout=layout, **given)


def state(made):
    return np.concatenate([made.joint_positions.ravel(), made.joint_velocities.ravel(), made.time])


def after(n, made):
    made.step(n)
    return state(made)


def diverging(**given):
    made = sx.WorldBatch(scene(), 2, **given)
    made.joint_velocities[1, 0] = 1e12
    try:
        made.step(2)
    except sx.StepFailure:
        return "raised"
    return "went on"


MAKE = {
    "source": Effect(
        lambda: {"source": scene()},
        lambda g: g.update(source=_light(g["source"])),
        lambda g: after(5, sx.WorldBatch(g["source"], 1)),
    ),
    "num_worlds": Effect(lambda: {"n": 2}, lambda g: g.update(n=3), lambda g: batch(count=g["n"]).time),
    "layout": Effect(lambda: {"l": "lanes"}, lambda g: g.update(l="threads"), lambda g: batch(g["l"]).layout),
    "divergence_policy": Effect(
        dict, lambda g: g.update(divergence_policy="freeze"), lambda g: diverging(**g)
    ),
    "dtype": Effect(dict, lambda g: g.update(dtype=np.float32), lambda g: after(5, batch(**g))),
}


def _light(source):
    source.simulate_option.gravity = (0, 0, -1.0)
    return source


class Counting(sx.compute.ParallelExecutor):
    """Counts what it is given to do."""

    graphs = 0

    def run(self, graph):
        type(self).graphs += 1
        return super().run(graph)


def counted(g):
    Counting.graphs = 0
    batch().step(**g)
    return Counting.graphs > 0


STEP = {
    "n": Effect(
        lambda: {"n": 1}, lambda g: g.update(n=2), lambda g: (made := batch(), made.step(**g), made.frame)[2]
    ),
    "controls": Effect(
        dict,
        lambda g: g.update(controls=np.ones((1, 3, 2))),
        lambda g: (made := batch(), made.step(**g), state(made))[2],
    ),
    "threads": Refused(lambda: batch().step(threads=-1), "threads must be a whole number"),
    "executor": Effect(dict, lambda g: g.update(executor=Counting(2)), counted),
}


def reset(**given):
    made = batch()
    made.step(20)
    made.reset(**given)
    return state(made)


RESET = {
    "worlds": Effect(dict, lambda g: g.update(worlds=[1]), lambda g: reset(**g)),
    "state": Effect(dict, lambda g: g.update(state={"joint_velocities": np.ones(7)}), lambda g: reset(**g)),
    "sample": Effect(
        dict,
        lambda g: g.update(sample=sx.Randomization((sx.Randomized("controls", sx.Uniform(1, 2), "set"),))),
        lambda g: (made := batch(), made.reset(**g), made.controls.copy())[2],
    ),
    "keyframe": Refused(lambda: reset(keyframe="down"), "no keyframe 'down'"),
}


def randomized(seed=1, worlds=None, **given):
    line = {"name": "gravity", "distribution": sx.Uniform(0.5, 2.0)} | given
    made = sx.WorldBatch(scene(), 3)
    made.randomize(sx.Randomization((sx.Randomized(**line),), seed), worlds)
    return made.parameters["gravity"], made.parameters["rigid_bodies.ball.mass"]


def drawn(base=None, **field):
    return Effect(
        lambda: dict(base or {}),
        lambda g: g.update(field),
        lambda g: np.concatenate([x.ravel() for x in randomized(**g)]),
    )


def shares(kind, base, **field):
    """What a distribution gives for shares between 0 and 1."""
    return Effect(
        lambda: dict(base), lambda g: g.update(field), lambda g: kind(**g).at(np.linspace(0, 0.999, 9))
    )


RANDOMIZED = {
    "name": drawn(name="rigid_bodies.ball.mass"),
    "distribution": drawn(distribution=sx.Uniform(3.0, 4.0)),
    "mode": drawn(mode="add"),
    "group": drawn(group="load"),
    "elementwise": drawn({"mode": "add"}, elementwise=True),
}
RANDOMIZATION = {"lines": drawn(name="rigid_bodies.ball.mass"), "seed": drawn(seed=2)}
RANDOMIZE = {"randomization": drawn(seed=2), "worlds": drawn(worlds=[1])}
UNIFORM = {
    "low": shares(sx.Uniform, {"low": 1.0, "high": 2.0}, low=0.5),
    "high": shares(sx.Uniform, {"low": 1.0, "high": 2.0}, high=3.0),
}
LOG_UNIFORM = {
    "low": shares(sx.LogUniform, {"low": 1.0, "high": 2.0}, low=0.5),
    "high": shares(sx.LogUniform, {"low": 1.0, "high": 2.0}, high=3.0),
}
_NORMAL = {"mean": 0.0, "standard_deviation": 1.0}
NORMAL = {
    "mean": shares(sx.Normal, _NORMAL, mean=1.0),
    "standard_deviation": shares(sx.Normal, _NORMAL, standard_deviation=2.0),
    "low": shares(sx.Normal, _NORMAL, low=-0.5),
    "high": shares(sx.Normal, _NORMAL, high=0.5),
}
CHOICE = {
    "values": shares(sx.Choice, {"values": (1.0, 2.0)}, values=(1.0, 3.0)),
    "weights": shares(sx.Choice, {"values": (1.0, 2.0)}, weights=(1.0, 5.0)),
}


def sensed(**options):
    """A box with an inertial unit that has noise."""
    world = sx.World(**options)
    world.sensors.add_imu("unit", attach_to=world.add_rigid_body("box", fixed=True), noise=0.1)
    return world


def rolled(**given):
    run = sx.state.rollout(**({"model": scene(), "steps": 3} | given))
    seen = [run.joint_positions.ravel(), [run.sensor_values is not None, run.contacts is not None]]
    return np.concatenate([*seen, [given.get("out") is not None and run.time is given["out"].time]])


def rolling(**field):
    return Effect(dict, lambda g: g.update(field), lambda g: rolled(**g))


ROLLOUT = {
    "model": rolling(model=_light(scene())),
    "initial_state": rolling(initial_state={"joint_velocities": np.ones(7)}),
    "control": rolling(control=np.ones((3, 2))),
    "steps": rolling(steps=4),
    "out": rolling(out=sx.state.rollout(scene(), steps=3)),
    "threads": Refused(lambda: rolled(threads=-1), "threads must be a whole number"),
    "sensors": rolling(sensors=True, layout="threads"),
    "contacts": rolling(contacts=True),
    "layout": Refused(lambda: rolled(layout="rows"), "layout must be one of"),
    "first_world": Effect(
        dict,
        lambda given: given.update(first_world=1),
        lambda given: (
            sx.state.rollout(sensed(sensor_noise_seed=1), steps=1, sensors=True, **given).sensor_values
        ),
    ),
}
FEEDBACK = {
    name: Effect(
        lambda: sx.state.Feedback(np.ones((2, 14)), scene_start(), np.ones(7), np.zeros(2))._asdict(),
        lambda g, name=name: g.update({name: g[name] + (0.1 if name != "joint_positions" else np.eye(8)[0])}),
        lambda g: rolled(control=sx.state.Feedback(**g)),
    )
    for name in sx.state.Feedback._fields
}


def scene_start():
    return batch().joint_positions[0].copy()


def array(name, value, layout):
    return Effect(lambda: batch(layout), put(name, value), lambda made: after(3, made))


def arrays(layout):
    """Arrays that a step reads, by name."""
    wrench = [0, 0, 0, 0, 0, 5.0]
    return {
        "joint_positions": array("joint_positions", [0.4, 1, 0, 3, 0, 0, 0, 1], layout),
        "joint_velocities": array("joint_velocities", np.ones(7), layout),
        "activations": array("activations", 0.5, layout),
        "joint_forces": array("joint_forces", 0.5, layout),
        "controls": array("controls", 0.5, layout),
        "body_wrenches": array("body_wrenches", wrench, layout),
        "position_targets": _target("position_targets", [0.5], layout),
        "velocity_targets": _target("velocity_targets", [0.5], layout),
        "acceleration_targets": Refused(
            lambda: setattr(batch(layout), "acceleration_targets", 1.0), "no joint of this batch follows"
        ),
        "element_parameters": Effect(
            lambda: pushed(layout), put("element_parameters", [[0.5], [0.1]]), lambda made: after(3, made)
        ),
        "sensor_noise_seed": Effect(
            lambda: sx.WorldBatch(sensed(), 2, layout=layout),
            put("sensor_noise_seed", 1),
            lambda made: made.sensor_values,
        ),
        "mocap_poses": Refused(lambda: setattr(batch(layout), "mocap_poses", 0.0), "no mocap poses"),
        "world_joint_commands": Refused(
            lambda: setattr(batch(layout), "world_joint_commands", 0.0), "no world joint commands"
        ),
    }


def driven(layout):
    """A hinge whose drive leads to targets."""
    world = sx.World(time_step=0.005)
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    spec = sx.JointSpec("hinge", axis=(0, 1, 0))
    arm.add_link("bob", base, spec, mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.2, 0, 0))
    hinge = arm.joints["hinge"]
    hinge.target_stiffness, hinge.target_damping = 20.0, 2.0
    return sx.WorldBatch(world, 2, layout=layout)


def _target(name, value, layout):
    return Effect(lambda: driven(layout), put(name, value), lambda made: after(3, made))


@worldline.kernel
def push(step):
    step.force[step.dofs[0]] = step.parameters[0]


def pushed(layout):
    """A hinge with a kernel that pushes it."""
    world = sx.World.from_scene(scene())
    hinge = world.multibodies["arm"].joints["hinge"]
    world.add_controller("push", push, joints=(hinge,), parameters=(0.1,))
    return sx.WorldBatch(world, 2, layout=layout)


def part(name, value):
    """The same array through a selection and through one world."""

    def change(made):
        setattr(made.select([1]), name, value)
        setattr(made.worlds[2], name, value)

    return Effect(batch, change, lambda made: after(3, made))


JOINT = {
    "position": ([0.3], batch),
    "velocity": ([0.3], batch),
    "force": ([0.3], batch),
    "target_position": ([0.3], lambda: driven("lanes")),
    "target_velocity": ([0.3], lambda: driven("lanes")),
    "command_velocity": ([0.3], lambda: driven("lanes")),
}


def of_joint(name, value, make):
    def change(made):
        setattr(made.multibodies["arm"].joints["hinge"], name, value)

    return Effect(make, change, lambda made: after(3, made))


JOINTS = {name: of_joint(name, *entry) for name, entry in JOINT.items()}
JOINTS["command_acceleration"] = Refused(
    lambda: setattr(batch().multibodies["arm"].joints["hinge"], "command_acceleration", [1.0]),
    "no joint of this batch follows",
)


def of_body(name, value):
    def change(made):
        setattr(made.rigid_bodies["ball"], name, value)

    def make():
        made = batch()
        made.joint_velocities[:, 4:] = 1.0, 2.0, 3.0
        return made

    return Effect(make, change, lambda made: after(3, made))


BODIES = {
    "translation": of_body("translation", (3, 0, 1)),
    "quaternion": of_body("quaternion", (0, 0, 1, 1)),
    "linear_velocity": of_body("linear_velocity", (1, 0, 0)),
    "angular_velocity": of_body("angular_velocity", (1, 0, 0)),
    "force": of_body("force", (1, 0, 0)),
    "torque": of_body("torque", (0.01, 0, 0)),
}
PARTS = {
    "joint_positions": part("joint_positions", [0.4, 1, 0, 3, 0, 0, 0, 1]),
    "joint_velocities": part("joint_velocities", np.ones(7)),
    "activations": part("activations", [0.5]),
    "joint_forces": part("joint_forces", np.full(7, 0.5)),
    "controls": part("controls", [0.5, 0.1]),
}
"""Those that selections have of their own; they write into the arrays of the batch."""
LANE_ARRAYS, THREAD_ARRAYS = arrays("lanes"), arrays("threads")


def test_tables_of_batches_are_complete():
    complete(MAKE, arguments(sx.WorldBatch))
    complete(STEP, arguments(sx.WorldBatch.step))
    complete(RESET, arguments(sx.WorldBatch.reset))
    complete(LANE_ARRAYS, settable(sx.WorldBatch))
    complete(THREAD_ARRAYS, settable(sx.WorldBatch))
    assert settable(sx.BatchSelection) == settable(sx.WorldBatch) - {"sensor_noise_seed"}
    complete(JOINTS, settable(sx.BatchJoint))
    complete(BODIES, settable(sx.BatchRigidBody))
    complete({}, settable(sx.BatchLink))
    complete(ROLLOUT, arguments(sx.state.rollout))
    complete(FEEDBACK, sx.state.Feedback._fields)
    complete(RANDOMIZE, arguments(sx.WorldBatch.randomize))
    complete(RANDOMIZED, sx.Randomized.__struct_fields__)
    complete(RANDOMIZATION, sx.Randomization.__struct_fields__)
    complete(UNIFORM, sx.Uniform.__struct_fields__)
    complete(LOG_UNIFORM, sx.LogUniform.__struct_fields__)
    complete(NORMAL, sx.Normal.__struct_fields__)
    complete(CHOICE, sx.Choice.__struct_fields__)
    assert PARTS.keys() <= settable(sx.BatchWorld)


@rows_of(globals())
def test_a_parameter_of_batches_acts_or_is_refused(entry):
    check(entry)
