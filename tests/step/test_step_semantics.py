# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""World, Simulation, LaneSimulation and model.step make the same step, or refuse it by name."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from worldline import model as wm
from worldline import msd
from worldline import simulation as sx

gymnasium = pytest.importorskip("gymnasium")
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ROBOTS = ("ant", "half_cheetah", "hopper", "humanoid")
METHODS = {
    "scene": None,
    "euler": msd.IntegratorMethod.SemiImplicit,
    "rk4": msd.IntegratorMethod.RungeKutta4,
    "implicitfast": msd.IntegratorMethod.ImplicitFast,
}
CLOSE = 1e-12


def robot(name, method="scene"):
    """The scene of a robot with another integrator."""
    scene = msd.from_file(ASSETS / f"{name}.xml")
    if METHODS[method] is not None:
        scene.simulate_option.integrator = METHODS[method]
    return scene


def start(model, seed=1):
    """Velocities and controls of a run."""
    rng = np.random.default_rng(seed)
    return 0.5 * rng.normal(size=model.joint_dof_count), rng.uniform(-0.4, 0.4, len(model.actuators))


def world_run(scene, v, control, steps):
    """Coordinates of a World after steps, which the others must have too."""
    world = sx.World.from_scene(scene)
    sim = world._live().sim
    sim.v[:] = v
    sim.velocities_written()
    if len(control):
        world.actuator_controls = control
    world.step(steps)
    assert world.step_report().rows > 0, "nothing touches and no limit acts"
    return world._live().sim.q.copy()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_every_path_makes_the_steps_of_a_world(name, method):
    scene = robot(name, method)
    model = msd.build(scene)
    v, control = start(model)
    wanted = world_run(scene, v, control, 50)
    assert np.abs(wanted - model.joint_q).max() > 0.05

    sim = wm.Simulation(model)
    sim.v, sim.control = v, control
    sim.step(50)
    assert sim.q == pytest.approx(wanted, abs=CLOSE)

    state, commands = model.state(), model.control()
    state.joint_qd[:], commands.actuator_control[:] = v, control
    one = state.copy()
    wm.step(model, state, commands, steps=50)
    assert state.joint_q == pytest.approx(wanted, abs=CLOSE)
    for _ in range(50):
        wm.step(model, one, commands)
    assert one.joint_q.tobytes() == state.joint_q.tobytes()
    assert one.joint_qdd.tobytes() == state.joint_qdd.tobytes() == sim.a.tobytes()

    lanes = wm.LaneSimulation(model, 3)
    lanes.v, lanes.control = v, control
    lanes.step(50)
    assert lanes.q == pytest.approx(np.tile(wanted, (3, 1)), abs=CLOSE)


@pytest.mark.parametrize(
    ("method", "family"),
    [
        (msd.IntegratorMethod.Explicit, "semi-implicit"),
        (msd.IntegratorMethod.SemiImplicit, "implicit-damping"),
        (msd.IntegratorMethod.Implicit, "implicit-velocity"),
        (msd.IntegratorMethod.ImplicitFast, "implicit-velocity"),
        (msd.IntegratorMethod.RungeKutta4, "runge-kutta-4"),
        (None, "implicit-damping"),
    ],
)
def test_the_family_is_that_of_the_scene(method, family):
    scene = msd.from_file(ASSETS / "hopper.xml")
    scene.simulate_option.integrator = method
    model = msd.build(scene)
    assert wm.Simulation(model).family.value == wm.LaneSimulation(model, 2).family.value == family
    scene.simulate_option.disable_implicit_damping = True
    if family == "implicit-damping":
        assert wm.Simulation(msd.build(scene)).family.value == "semi-implicit"


def test_the_integrator_of_the_scene_matters():
    runs = []
    for method in ("euler", "rk4"):
        model = msd.build(robot("ant", method))
        sim = wm.Simulation(model)
        sim.v, sim.control = start(model)
        sim.step(50)
        runs.append(sim.q.copy())
    assert np.abs(runs[0] - runs[1]).max() > 0.01
    assert runs[0][2] > 0.3, "the ground carries the ant"


def test_many_worlds_have_the_bits_of_one():
    model = msd.build(robot("ant"))
    v, control = start(model)
    speeds, controls = np.outer([0.5, 1.0, 1.5], v), np.outer([1.0, -1.0, 0.0], control)

    def batch(threads):
        state = wm.State(
            *(
                np.repeat(x[None], 3, axis=0)
                for x in (model.joint_q, model.joint_qd, model.body_q, model.body_qd)
            ),
            np.zeros((3, model.body_count, 6)),
        )
        state.joint_qd[:] = speeds
        commands = model.control()
        commands.actuator_control = controls
        wm.step(model, state, commands, steps=20, threads=threads)
        return state

    for threads in (1, 2):
        state = batch(threads)
        for w in range(3):
            sim = wm.Simulation(model)
            sim.v, sim.control = speeds[w], controls[w]
            sim.step(20)
            assert state.joint_q[w].tobytes() == sim.q.tobytes()
            assert state.joint_qd[w].tobytes() == sim.v.tobytes()
    with pytest.raises(NotImplementedError, match="lanes=4 for one with constraints"):
        wm.step(model, model.state(), lanes=4)


FILTERED = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos="0 0 -1"/></body>
</worldbody><actuator><general joint="j" dyntype="filter" dynprm=".1" gainprm="3"/></actuator></mujoco>"""


def test_activations_are_part_of_the_state():
    scene = msd.from_str(FILTERED, format="mjcf")
    model = msd.build(scene)
    world = sx.World.from_scene(scene)
    world.actuator_controls = [1.0]
    world.step(30)
    state, control = model.state(), model.control()
    control.actuator_control[:] = 1.0
    for _ in range(30):
        wm.step(model, state, control)
    assert state.actuator_activation == pytest.approx(1.0 - 0.98**30, abs=1e-12)
    assert state.joint_q[0] == pytest.approx(float(world.multibodies[0].joints["j"].position[0]), abs=CLOSE)


DAMPED = """<mujoco><option timestep="0.01"/><worldbody><body><joint axis="0 1 0" damping="{damping}"/>
<geom size=".05" pos="0 0 -.2"/></body></worldbody></mujoco>"""


def test_strong_damping_is_stable_in_every_path():
    """With explicit damping the speed is multiplied by 1 - h d / I, below -1 here, in every step."""
    model = msd.build(msd.from_str(DAMPED.format(damping=50.0), format="mjcf"))
    state = model.state()
    state.joint_qd[:] = 1.0
    wm.step(model, state, steps=500)
    sim, lanes = wm.Simulation(model), wm.LaneSimulation(model, 2)
    sim.v, lanes.v = 1.0, 1.0
    sim.step(500)
    lanes.step(500)
    assert np.abs(state.joint_qd).max() < 1e-2
    assert sim.v == pytest.approx(state.joint_qd, abs=CLOSE)
    assert lanes.v[1] == pytest.approx(sim.v, abs=CLOSE)
    with pytest.raises(wm.StepFailure):
        wm.step(model, state, steps=500, integration_family="semi-implicit")


@pytest.mark.parametrize("stiffness", [1e3, 1e4, np.inf])
def test_limits_of_a_builder_are_springs(stiffness):
    """A constant torque T presses a hinge against its limit: it rests T / limit_ke beyond it."""
    builder = wm.ModelBuilder(gravity=(0, 0, 0))
    arm = builder.add_link(mass=1.0, inertia=np.eye(3))
    joint = builder.add_joint_revolute(
        parent=-1,
        child=arm,
        axis=(0, 1, 0),
        limit_lower=-1.0,
        limit_upper=0.3,
        limit_ke=stiffness,
        limit_kd=80.0,
    )
    builder.add_articulation([joint])
    model = builder.finalize()
    wanted = 0.3 + 5.0 / stiffness
    sim, lanes, state, control = (
        wm.Simulation(model),
        wm.LaneSimulation(model, 2),
        model.state(),
        model.control(),
    )
    sim.force, lanes.force, control.joint_f[:] = 5.0, 5.0, 5.0
    sim.step(4000)
    lanes.step(4000)
    wm.step(model, state, control, steps=4000)
    assert sim.q[0] == pytest.approx(wanted, abs=2e-6)
    assert lanes.q[:, 0] == pytest.approx(wanted, abs=2e-6)
    assert state.joint_q[0] == sim.q[0]


def test_the_damping_of_a_limit_acts():
    """Without stiffness a limit of damping d brakes by exp(-d t / I) as long as it is violated."""
    builder = wm.ModelBuilder(gravity=(0, 0, 0))
    arm = builder.add_link(mass=1.0, inertia=np.eye(3))
    joint = builder.add_joint_revolute(
        parent=-1, child=arm, axis=(0, 1, 0), limit_upper=-1.0, target_pos=-1.0, limit_ke=0.0, limit_kd=3.0
    )
    builder.add_articulation([joint])
    model = builder.finalize()
    sim, lanes = wm.Simulation(model, 1e-4), wm.LaneSimulation(model, 2, time_step=1e-4)
    sim.v, lanes.v = 1.0, 1.0
    sim.step(5000)
    lanes.step(5000)
    assert sim.v[0] == pytest.approx(np.exp(-1.5), rel=1e-3)
    assert lanes.v[0, 0] == pytest.approx(sim.v[0], rel=1e-9)


def test_the_limit_stiffness_of_a_scene_acts():
    scene = msd.from_str(FILTERED, format="mjcf")
    joint = next(joint for link in scene.hierarchy.links() for joint in link.joints)
    joint.dofs = [
        msd.JointDof(pos_limit=msd.Range(lower=-0.1, upper=0.2), limit_stiffness=500.0, limit_damping=20.0)
    ]
    scene.simulate_option.gravity = [0.0, 0.0, 0.0]
    model = msd.build(scene)
    world = sx.World.from_scene(scene)
    world.actuator_controls = [1.0]
    world.step(8000)
    # the actuator presses with 3 N m
    assert float(world.multibodies[0].joints["j"].position[0]) == pytest.approx(0.2 + 3.0 / 500.0, abs=1e-6)
    assert model.joint_limit_ke.tolist() == [500.0]


def test_joint_friction_and_contact_act_in_model_step():
    builder = wm.ModelBuilder(gravity=(0, 0, 0))
    arm = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(parent=-1, child=arm, axis=(0, 0, 1), friction=0.5)])
    model = builder.finalize()
    state = model.state()
    state.joint_qd[:] = 1.0
    wm.step(model, state, steps=100, dt=0.01)
    assert state.joint_qd[0] == pytest.approx(0.5, abs=1e-6)


SLIDING = """<mujoco><option noslip_iterations="{sweeps}" gravity="4 0 -9.81"/><worldbody>
<geom type="plane" size="5 5 .1"/><body pos="0 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>"""


def test_sweeps_against_slip_act_or_are_refused():
    model = msd.build(msd.from_str(SLIDING.format(sweeps=20), format="mjcf"))
    state = model.state()
    wm.step(model, state, steps=200)
    loose = msd.build(msd.from_str(SLIDING.format(sweeps=0), format="mjcf"))
    slipping = loose.state()
    wm.step(loose, slipping, steps=200)
    assert abs(state.joint_qd[0]) < 0.1 * abs(slipping.joint_qd[0])
    with pytest.raises(NotImplementedError, match="noslip_iterations"):
        wm.LaneSimulation(model, 2)


def servo_scene(drive):
    scene = msd.from_str(FILTERED.split("<actuator>", maxsplit=1)[0] + "</mujoco>", format="mjcf")
    joint = next(joint for link in scene.hierarchy.links() for joint in link.joints)
    joint.drive = drive
    return scene


@pytest.mark.parametrize("drive", [msd.DriveType.Velocity, msd.DriveType.Locked, msd.DriveType.Servo])
def test_drives_of_a_scene_act_in_every_path(drive):
    scene = servo_scene(drive)
    model, world = msd.build(scene), sx.World.from_scene(scene)
    world.multibodies[0].joints["j"].command_velocity = [0.4]
    world.step(40)
    wanted = world._live().sim.q.copy()
    sim, state, control = wm.Simulation(model), model.state(), model.control()
    sim.v_target, control.joint_target_vel[:] = 0.4, 0.4
    sim.step(40)
    wm.step(model, state, control, steps=40)
    assert sim.q.tobytes() == state.joint_q.tobytes() == wanted.tobytes()
    if drive is not msd.DriveType.Servo:
        with pytest.raises(NotImplementedError, match="follow a velocity"):
            wm.LaneSimulation(model, 2)
        return
    lanes = wm.LaneSimulation(model, 2)
    lanes.v_target[:] = [[0.4], [-0.4]]
    lanes.step(40)
    np.testing.assert_allclose(lanes.q[0], wanted, rtol=0, atol=1e-12)
    assert np.abs(lanes.q[1] - wanted).max() > 1e-4, "each world follows its own command"


def test_targets_of_a_scene_act_in_every_path():
    scene = servo_scene(msd.DriveType.Force)
    joint = next(joint for link in scene.hierarchy.links() for joint in link.joints)
    joint.dofs = [
        msd.JointDof(
            target_mode=msd.TargetMode.Position,
            target_position=0.3,
            target_stiffness=500.0,
            target_damping=20.0,
        )
    ]
    model, world = msd.build(scene), sx.World.from_scene(scene)
    world.step(40)
    sim, lanes, state = wm.Simulation(model), wm.LaneSimulation(model, 2), model.state()
    sim.step(40)
    lanes.step(40)
    wm.step(model, state, steps=40)
    assert world._live().sim.q[0] > 0.01
    assert sim.q.tobytes() == state.joint_q.tobytes() == world._live().sim.q.tobytes()
    assert lanes.q[0] == pytest.approx(sim.q, abs=CLOSE)


REFUSED = {
    "sleep": (lambda option: setattr(option.policy.deactivation, "enabled", True), "sleeping islands"),
    "divergence": (
        lambda option: setattr(option.policy.divergence, "action", msd.DivergenceAction.Freeze),
        "divergence policy 'freeze'",
    ),
    "barrier": (
        lambda option: setattr(option.policy, "rigid_body_solver", msd.RigidBodySolver.Barrier),
        "rigid_body_solver Barrier",
    ),
    "derivatives": (lambda option: setattr(option.policy, "differentiable", True), "policy.differentiable"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_model_step_refuses_by_name_what_it_lacks(what):
    change, words = REFUSED[what]
    scene = robot("hopper")
    change(scene.simulate_option)
    model = msd.build(scene)
    state = model.state()
    with pytest.raises(NotImplementedError, match=words):
        wm.step(model, state, steps=5)
    assert state.joint_q.tobytes() == model.joint_q.tobytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (REFUSED["sleep"][0], "policy.deactivation"),
        (REFUSED["barrier"][0], "Barrier"),
        (lambda option: setattr(option, "solver_type", msd.SolverType.Dantzig), "boxed problem"),
        (lambda option: setattr(option, "integrator", msd.IntegratorMethod.Variational), "variational"),
    ],
)
def test_lanes_refuse_by_name_what_they_lack(change, words):
    scene = robot("hopper")
    change(scene.simulate_option)
    with pytest.raises(NotImplementedError, match=words):
        wm.LaneSimulation(msd.build(scene), 2)


# ---- copies and arrays


def started(kind):
    model = msd.build(robot("ant"))
    v, control = start(model)
    made = wm.Simulation(model) if kind == "one" else wm.LaneSimulation(model, 3)
    made.v, made.control = v, control
    made.step(30)
    return made


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("kind", ["one", "lanes"])
def test_clones_step_to_the_same_bits(kind, way):
    first = started(kind)
    second = way(first)
    assert second.frame == 30 and second.model is not first.model
    before = second.q.copy()
    first.step(40)
    assert second.q.tobytes() == before.tobytes(), "a clone shares no state"
    second.step(40)
    assert not np.array_equal(second.q, before)
    assert second.q.tobytes() == first.q.tobytes() and second.v.tobytes() == first.v.tobytes()
    assert second.time == first.time
    with pytest.raises(RuntimeError, match=r"copy\.deepcopy"):
        copy.copy(first)


def test_a_clone_sleeps_like_its_original():
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .1"><freejoint/>
    <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    scene = msd.from_str(text, format="mjcf")
    rest = scene.simulate_option.policy.deactivation
    rest.enabled, rest.time_until_sleep = True, 0.05
    sim = wm.Simulation(msd.build(scene))
    sim.step(1500)
    assert sim.constraints is not None and sim.constraints.column["tree_group"].max() >= 0, "it sleeps"
    twin = copy.deepcopy(sim)
    for _ in range(3):
        sim.step(5)
        twin.step(5)
        assert twin.q.tobytes() == sim.q.tobytes() and twin.a.tobytes() == sim.a.tobytes()
        for name in ("tree_group", "dof_kept"):
            assert np.array_equal(twin.constraints.column[name], sim.constraints.column[name])


@pytest.mark.parametrize("kind", ["one", "lanes"])
def test_assigned_arrays_write_through(kind):
    made = started(kind)
    array = made.q
    made.q = made.q + 0.01
    assert made.q is array
    made.v *= 0.5
    moved = made.q.copy()
    made.step(1)
    assert np.abs(made.q - moved).max() > 0.0
    with pytest.raises(ValueError, match="q must be numbers of shape"):
        made.q = np.zeros(3)
    with pytest.raises(ValueError, match="v must be finite"):
        made.v = np.nan
    with pytest.raises(ValueError, match="must be numbers"):
        made.force = "x"


def test_poses_are_fresh_after_an_assignment():
    sim = started("one")
    sim.fresh_poses()
    sim.q = sim.model.joint_q
    assert sim.fresh_poses()[:, 2].max() == pytest.approx(0.75, abs=1e-12)
