# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of a World, its options, its closures and its queries acts or is refused by name."""

from __future__ import annotations

import numpy as np
from effects import (
    Effect,
    Refused,
    after,
    arguments,
    check,
    complete,
    put,
    rows_of,
    settable,
    shift,
    stepped,
    world_of,
)

from facade_worlds import two_slides
from worldline import simulation as sx
from worldline.collision import CollisionDetector, CollisionShape

Method, Family = sx.ContactSolverMethod, sx.MultibodyIntegrationFamily


def tumbling(**options):
    """A pendulum and a free body that spins, without contacts."""
    world = sx.World(**options)
    body = world.add_rigid_body("a", inertia=np.diag([0.1, 0.2, 0.25]), angular_velocity=(1.0, 2.0, 3.0))
    body.force = (0.1, 0.0, 0.0)
    robot = world.add_multibody("robot")
    link = robot.add_link("rod", None, sx.JointSpec(name="hinge", axis=(0, 1, 0)))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0.3, 0, 0)
    return world


def resting(speed=0.0, **options):
    world = sx.World(time_step=0.005, **options)
    world.add_ground_plane()
    body = world.add_rigid_body("a", position=(0, 0, 0.1), linear_velocity=(speed, 0, 0))
    body.add_collision_shape(CollisionShape.sphere(0.1))
    return world


def sensed(**options):
    world = sx.World(**options)
    world.sensors.add_imu("unit", attach_to=world.add_rigid_body("a", fixed=True), noise=0.1)
    return world


def readings(world):
    return world.sensors.values.tolist()


def configured(name):
    def seen(world):
        return next(row.requested for row in world.resolved_configuration if row.option == name)

    return seen


def runaway(**options):
    """A body that leaves all bounds within a few steps."""
    world = sx.World(time_step=0.1, gravity=(0, 0, -1e4), **options)
    world.add_rigid_body("a", inertia=np.eye(3))
    return world


def outcome(world):
    try:
        world.step(n=20)
    except sx.StepFailure:
        return "raised"
    return f"frozen at {world.state_vector.tolist()}"


def constructed(make, observe, **field):
    return Effect(dict, lambda given: given.update(field), lambda given: observe(make(**given)))


SLEEP = {
    "enabled": True,
    "time_until_sleep": 0.05,
    "linear_speed_threshold": 0.02,
    "angular_speed_threshold": 0.3,
}


def sleeper(speed=0.0, **field):
    world = resting(speed, deactivation_options=sx.DeactivationOptions(**(SLEEP | field)))
    return world


def naps(world):
    """In which of the next steps the first body or multibody sleeps."""
    (sleeper,) = [*world.rigid_bodies, *world.multibodies]
    seen = []
    for _ in range(40):
        world.step()
        seen.append(sleeper.is_sleeping)
    return seen


def asleep(speed=0.0, start=None, **field):
    return Effect(dict, lambda given: given.update(field), lambda given: naps(sleeper(speed, **given)))


def hanging_sleeper(**field):
    world = sx.World(time_step=0.005, deactivation_options=sx.DeactivationOptions(**(SLEEP | field)))
    world.add_ground_plane(-9.0)
    robot = world.add_multibody("robot")
    link = robot.add_link("rod", None, sx.JointSpec(name="hinge", axis=(0, 1, 0), coulomb_friction=0.001))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.eye(3) * 0.01, (0, 0, -0.3)
    link.add_collision_shape(CollisionShape.sphere(0.05))
    robot.joints[0].velocity = [0.01]
    return world


def pushed(given):
    """Asleep, then pushed by a force of 1e-3 N."""
    world = sleeper(**given)
    world.step(n=40)
    world.rigid_bodies[0].force = (1e-3, 0, 0)
    world.step()
    return world.rigid_bodies[0].is_sleeping


def drowsing(given):
    """Quiet for a while, then pushed to more than the threshold and less than twice as much."""
    world = sleeper(0.015, **given)
    world.step(n=5)
    ball = world.rigid_bodies[0]
    ball.force = (5.0, 0, 0)
    world.step()
    ball.force = (0, 0, 0)
    return naps(world)


DEACTIVATION = {
    "enabled": asleep(enabled=False),
    "linear_speed_threshold": asleep(0.01, linear_speed_threshold=1e-5),
    "angular_speed_threshold": asleep(0.01, angular_speed_threshold=1e-5),
    "generalized_speed_threshold": constructed(hanging_sleeper, naps, generalized_speed_threshold=1.0),
    "time_until_sleep": asleep(time_until_sleep=0.1),
    "wake_threshold_scale": Effect(dict, lambda g: g.update(wake_threshold_scale=1.0), drowsing),
    "disturbance_force_threshold": Effect(dict, lambda g: g.update(disturbance_force_threshold=1.0), pushed),
}


def multibody(**field):
    given = {"integration_family": Family.VARIATIONAL} | field
    return tumbling(time_step=0.02, multibody_options=sx.MultibodyOptions(**given))


MULTIBODY = {
    "integration_family": constructed(multibody, stepped(), integration_family=Family.SEMI_IMPLICIT),
    "variational_max_iterations": constructed(multibody, lambda w: outcome(w), variational_max_iterations=1),
    "variational_tolerance": constructed(multibody, stepped(), variational_tolerance=0.5),
}


def tower(**field):
    """Three boxes that fall onto each other, by sequential impulses."""
    world = sx.World(time_step=0.005, contact_solver_method=Method.SEQUENTIAL_IMPULSE, **field)
    world.add_ground_plane()
    for k in range(3):
        box = world.add_rigid_body(f"box_{k}", position=(0.02 * k, 0, 0.1 + 0.21 * k))
        box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return world


def stages_of(world):
    world.step()
    return [stage.name for stage in world._live().sim.stages]


def sweeps_of(world):
    world.step(n=40)
    return world.step_report().iterations


def has_derivatives(world):
    world.step()
    try:
        return world.get_step_derivatives().state_jacobian.shape
    except RuntimeError:
        return None


OPTIONS = {
    "time_step": constructed(tumbling, stepped(), time_step=0.01),
    "gravity": constructed(tumbling, stepped(), gravity=(0, 1, 0)),
    "differentiable": constructed(tumbling, has_derivatives, differentiable=True),
    "rigid_body_solver": Refused(
        lambda: tumbling(rigid_body_solver=sx.RigidBodySolver.IPC).step(), "rigid_body_solver IPC"
    ),
    "multibody_options": constructed(
        tumbling, stepped(), multibody_options=sx.MultibodyOptions(Family.RUNGE_KUTTA_4)
    ),
    "contact_solver_method": constructed(
        resting, after(2, lambda w: w.step_report().methods), contact_solver_method=Method.BOXED_LCP
    ),
    "contact_gradient_mode": constructed(
        resting,
        configured("contact_gradient_mode"),
        contact_gradient_mode=sx.ContactGradientMode.COMPLEMENTARITY_AWARE,
    ),
    "compute_accelerator_policy": Refused(
        lambda: resting(
            compute_accelerator_policy=sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED,
            strict_solver_resolution=True,
        ).step(),
        "compute_accelerator_policy",
    ),
    "deactivation_options": constructed(resting, naps, deactivation_options=sx.DeactivationOptions(**SLEEP)),
    "strict_solver_resolution": constructed(
        lambda **g: resting(contact_solver_method=Method.BOXED_LCP, **g),
        lambda w: [row.is_substituted for row in w.resolved_configuration],
        strict_solver_resolution=True,
    ),
    "contact_sweeps": constructed(tower, sweeps_of, contact_sweeps=1),
    "fixed_layout": constructed(resting, stages_of, fixed_layout=True),
    "sensor_noise_seed": constructed(sensed, readings, sensor_noise_seed=1),
    "sensor_noise_world": constructed(
        lambda **g: sensed(sensor_noise_seed=1, **g), readings, sensor_noise_world=1
    ),
    "divergence_policy": constructed(
        lambda **g: runaway(divergence_limit=1e3, **g), outcome, divergence_policy=sx.DivergencePolicy.FREEZE
    ),
    "divergence_limit": constructed(runaway, outcome, divergence_limit=1e3),
    "dtype": Refused(lambda: sx.WorldOptions(dtype=np.float32), "float64"),
}


def arm():
    return tumbling(time_step=0.005)


def actuated():
    from worldline import msd

    text = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <actuator><general joint="j" dyntype="filter" gainprm="1" dynprm="0.1"/></actuator></mujoco>"""
    return sx.World.from_scene(msd.from_str(text, format="mjcf"))


def step_with(subject, **values):
    for name, value in values.items():
        setattr(subject, name, value)
    world_of(subject).step()


def scaled(name, index=0, by=0.5):
    def change(world):
        value = np.array(getattr(world, name), np.float64)
        value[index] += by
        setattr(world, name, value)

    return change


class Blind(CollisionDetector):
    """Finds no contacts."""

    name = "blind"

    def collide(self, group, other=None, option=None):
        apart = CollisionDetector.create("native").create_group()
        return CollisionDetector.create("native").collide(apart, None, option)

    def distances(self, group, pairs):
        raise NotImplementedError

    def distance(self, group, other=None, option=None):
        raise NotImplementedError


WORLD = {
    "collision_detector": Effect(resting, put("collision_detector", Blind()), stepped()),
    "time_step": Effect(arm, put("time_step", 0.01), stepped()),
    "gravity": Effect(arm, put("gravity", (0, 1, 0)), stepped()),
    "rigid_body_solver": Refused(lambda: step_with(arm(), rigid_body_solver=sx.RigidBodySolver.IPC), "IPC"),
    "multibody_options": Effect(
        arm, put("multibody_options", sx.MultibodyOptions(Family.RUNGE_KUTTA_4)), stepped()
    ),
    "contact_solver_method": Effect(
        resting, put("contact_solver_method", Method.BOXED_LCP), after(2, lambda w: w.step_report().methods)
    ),
    "contact_gradient_mode": Effect(
        resting,
        put("contact_gradient_mode", sx.ContactGradientMode.COMPLEMENTARITY_AWARE),
        configured("contact_gradient_mode"),
    ),
    "compute_accelerator_policy": Effect(
        resting,
        put("compute_accelerator_policy", sx.ComputeAcceleratorPolicy.PREFER_ACCELERATED),
        configured("compute_accelerator_policy"),
    ),
    "deactivation_options": Effect(
        resting, put("deactivation_options", sx.DeactivationOptions(**SLEEP)), naps
    ),
    "strict_solver_resolution": Effect(
        lambda: resting(contact_solver_method=Method.BOXED_LCP),
        put("strict_solver_resolution", True),
        lambda w: [row.is_substituted for row in w.resolved_configuration],
    ),
    "contact_sweeps": Effect(tower, put("contact_sweeps", 1), sweeps_of),
    "fixed_layout": Effect(resting, put("fixed_layout", True), stages_of),
    "sensor_noise_seed": Effect(sensed, put("sensor_noise_seed", 1), readings),
    "sensor_noise_world": Effect(lambda: sensed(sensor_noise_seed=1), put("sensor_noise_world", 1), readings),
    "divergence_policy": Effect(
        lambda: runaway(divergence_limit=1e3), put("divergence_policy", sx.DivergencePolicy.FREEZE), outcome
    ),
    "divergence_limit": Effect(runaway, put("divergence_limit", 1e3), outcome),
    "time": Effect(arm, put("time", 1.5), after(1, lambda w: w.time)),
    "state_vector": Effect(arm, scaled("state_vector"), stepped()),
    "control_vector": Effect(arm, scaled("control_vector"), stepped()),
    "rigid_body_state_vector": Effect(arm, scaled("rigid_body_state_vector"), stepped()),
    "rigid_body_control_vector": Effect(arm, scaled("rigid_body_control_vector"), stepped()),
    "actuator_controls": Effect(actuated, scaled("actuator_controls"), stepped()),
    "actuator_activations": Effect(actuated, scaled("actuator_activations"), stepped()),
    "replay_recording_enabled": Effect(
        arm,
        put("replay_recording_enabled", True),
        after(2, lambda w: w.replay.frame_count),
    ),
    "step_profiling_enabled": Effect(
        arm, put("step_profiling_enabled", True), after(2, lambda w: w.last_step_profile.frame)
    ),
}
STEP = {
    "n": Effect(arm, lambda w: w.step(options=sx.StepOptions(n=3)), lambda w: w.state_vector),
    "profile": Effect(
        arm, lambda w: w.step(options=sx.StepOptions(profile=True)), lambda w: w.last_step_profile.frame
    ),
}


# ---- closures


def closed(family=sx.LoopClosureFamily.POINT, **field):
    world = sx.World(time_step=0.005)
    ends = {}
    for k, x in (("frame_a", 0.0), ("frame_b", 0.15), ("other", 0.6)):
        body = world.add_rigid_body(
            k, inertia=np.diag([0.1, 0.2, 0.3]), position=(x, 0, 0), angular_velocity=(0.1, 0.2, x)
        )
        body.add_collision_shape(CollisionShape.sphere(0.1))
        ends[k] = body
    for key, value in field.items():
        field[key] = ends.get(value, value) if isinstance(value, str) else value
    return world.add_loop_closure(
        "c", **({"frame_a": ends["frame_a"], "frame_b": ends["frame_b"], "family": family} | field)
    )


def starts(c):
    """Whether the World of a closure starts."""
    try:
        c._world.enter_simulation_mode()
    except ValueError:
        return 0.0
    return 1.0


def closure(**field):
    base = {"offset_b": shift(x=-0.15)}
    return Effect(lambda: dict(base), lambda g: g.update(field), lambda g: stepped(5)(closed(**g)))


CLOSURE_SPEC = {
    "frame_a": closure(frame_a="other"),
    "frame_b": closure(frame_b="other"),
    "family": closure(family=sx.LoopClosureFamily.RIGID),
    "offset_a": closure(offset_a=shift(y=0.1)),
    "offset_b": closure(offset_b=shift(y=0.1)),
    "distance": Effect(
        lambda: {"family": sx.LoopClosureFamily.DISTANCE, "distance": 0.15},
        lambda g: g.update(distance=0.2),
        lambda g: stepped(5)(closed(**g)),
    ),
    "allow_collision": closure(allow_collision=True),
}
PROJECT = sx.ClosureKinematicsPolicy.PROJECT
RESIDUAL = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
POLICY = {
    "enabled": Effect(
        closed, lambda c: put("runtime_policy", sx.LoopClosureRuntimePolicy(enabled=False))(c), stepped(5)
    ),
    "dynamics": Effect(
        closed, lambda c: put("runtime_policy", sx.LoopClosureRuntimePolicy(dynamics=RESIDUAL))(c), stepped(5)
    ),
    "kinematics": Effect(
        closed,
        put("runtime_policy", sx.LoopClosureRuntimePolicy(kinematics=PROJECT)),
        lambda c: c.compute_residual().norm,
    ),
    "initial_tolerance": Effect(
        closed, put("runtime_policy", sx.LoopClosureRuntimePolicy(initial_tolerance=1e-6)), starts
    ),
}
CLOSURE = {
    "enabled": Effect(closed, put("enabled", False), stepped(5)),
    "dynamics": Effect(closed, put("dynamics", RESIDUAL), stepped(5)),
    "kinematics": Effect(closed, put("kinematics", PROJECT), lambda c: c.compute_residual().norm),
    "initial_tolerance": Effect(closed, put("initial_tolerance", 1e-6), starts),
    "runtime_policy": POLICY["enabled"],
}


def sliding():
    """Two slides a metre apart whose closure is projected."""
    world, ends = two_slides()
    added = world.add_loop_closure(frame_a=ends[0], frame_b=ends[1], family=sx.LoopClosureFamily.POINT)
    added.kinematics = PROJECT
    return world


def slid(world):
    return [world.multibodies[name].joints["slide"].position[0] for name in ("a", "b")]


def projection(**given):
    """A closure that is projected as the options say; joints are named by their multibody."""

    def change(world):
        def joint(name):
            return world.multibodies[name].joints["slide"]

        options = dict(given)
        if "driving" in options:
            options["driving"] = [joint(name) for name in options["driving"]]
        if "weights" in options:
            options["weights"] = {joint(name): weight for name, weight in options["weights"].items()}
        world.closure_projection = sx.ClosureProjectionOptions(**options)

    return Effect(sliding, change, slid)


PROJECTION = {
    "driving": projection(driving=["a"]),
    "weights": projection(weights={"a": 3.0}),
    "tolerance": projection(tolerance=2.0),
    "max_iterations": projection(max_iterations=1),
}
WORLD["closure_projection"] = PROJECTION["driving"]


def of_all(name, value, observe):
    """One for each of the closures, of which there is one."""
    return Effect(closed, lambda c: setattr(c._world.loop_closures, name, [value]), observe)


CLOSURES = {
    "enabled": of_all("enabled", False, stepped(5)),
    "dynamics": of_all("dynamics", RESIDUAL, stepped(5)),
    "kinematics": of_all("kinematics", PROJECT, lambda c: c.compute_residual().norm),
    "initial_tolerances": of_all("initial_tolerances", 1e-6, starts),
    "runtime_policies": of_all("runtime_policies", sx.LoopClosureRuntimePolicy(enabled=False), stepped(5)),
}


# ---- queries


def crowd():
    """Two bodies, and two robots of two links each, all of which overlap."""
    world = sx.World()
    for k in range(2):
        world.add_rigid_body(f"b{k}", position=(0.01 * k, 0, 0)).add_collision_shape(
            CollisionShape.sphere(0.1)
        )
        robot = world.add_multibody(f"r{k}")
        first = robot.add_link("first", None, sx.JointSpec(name="root", type=sx.JointType.FLOATING))
        second = robot.add_link("second", first, sx.JointSpec(name="a"))
        third = robot.add_link("third", second, sx.JointSpec(name="b"))
        for link in (first, third):
            link.add_collision_shape(CollisionShape.sphere(0.1))
    return world


def included(**field):
    return Effect(
        dict, lambda g: g.update(field), lambda g: len(crowd().collide(include=sx.CollisionQueryOptions(**g)))
    )


QUERY = {
    "include_same_multibody_link_pairs": included(include_same_multibody_link_pairs=False),
    "include_rigid_body_pairs": included(include_rigid_body_pairs=False),
    "include_rigid_body_link_pairs": included(include_rigid_body_link_pairs=False),
    "include_link_pairs": included(include_link_pairs=False),
}


def test_tables_of_worlds_are_complete():
    complete(OPTIONS, settable(sx.WorldOptions) | arguments(sx.WorldOptions))
    complete(OPTIONS | {"options": None}, arguments(sx.World))
    complete(MULTIBODY, settable(sx.MultibodyOptions) | arguments(sx.MultibodyOptions))
    complete(DEACTIVATION, settable(sx.DeactivationOptions) | arguments(sx.DeactivationOptions))
    complete(STEP, settable(sx.StepOptions) | arguments(sx.StepOptions))
    complete(WORLD, settable(sx.World))
    complete(PROJECTION, settable(sx.ClosureProjectionOptions) | arguments(sx.ClosureProjectionOptions))
    complete(CLOSURE_SPEC, settable(sx.LoopClosureSpec) | arguments(sx.LoopClosureSpec))
    complete(POLICY, settable(sx.LoopClosureRuntimePolicy) | arguments(sx.LoopClosureRuntimePolicy))
    complete(CLOSURE, settable(sx.LoopClosure))
    complete(CLOSURES, settable(sx.LoopClosureCollection))
    complete(QUERY, settable(sx.CollisionQueryOptions) | arguments(sx.CollisionQueryOptions))


@rows_of(globals())
def test_a_parameter_of_worlds_acts_or_is_refused(entry):
    check(entry)


def test_options_of_a_world_as_one_value():
    assert sx.World(options=sx.WorldOptions(time_step=0.004)).time_step == 0.004
