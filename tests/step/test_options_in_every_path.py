# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every option of a scene acts in every path of a step as it does in a World, or is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import ArgumentError, CapabilityError, SceneError, msd
from worldline import model as wm
from worldline import simulation as sx
from worldline._src.jit import DISABLED

pytestmark = pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
STEPS = 60
TEXT = """<mujoco><option timestep="0.004" solver="Newton" cone="elliptic"/><worldbody>
  <geom type="plane" size="9 9 .1" friction=".7 .01 .001"/>
  <body name="trunk" pos="0 0 .52"><freejoint/><geom type="sphere" size=".1" mass="3"/>
    <body name="leg" pos="0 0 -.05"><joint name="hip" axis="0 1 0" range="-20 20" damping=".2" frictionloss=".1"
        stiffness="2"/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".05" mass="1"/>
      <body name="foot" pos="0 0 -.2"><joint name="knee" axis="0 1 0" range="-40 5" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 .05 0 -.2" size=".05" mass=".5" friction=".7 .01 .001"/></body></body></body>
  </worldbody><actuator><motor joint="hip" gear="20" ctrlrange="-.5 .5" ctrllimited="true" group="1"/>
  <general joint="knee" dyntype="filter" dynprm=".03" gainprm="5"/></actuator></mujoco>"""


OPTIONS = {
    "constraint_solver_iterations": (3, 40),
    "constraint_solver_tolerance": (1e-9, 0.1),
    "disable_actuators": (True,),
    "disable_constraints": (True,),
    "disable_contacts": (True,),
    "disable_damping": (True,),
    "disable_equality": (True,),
    "disable_frictionloss": (True,),
    "disable_gravity": (True,),
    "disable_limit": (True,),
    "friction_model": (1, 2),
    "gravity": ([0.5, 0.0, -5.0],),
    "override_contact_force": (
        msd.ForceOverride.hard(erp=0.1, bounciness=0.0),
        msd.ForceOverride.impedance(),
    ),
    "override_contact_margin": (0.02,),
    "override_friction": ([0.2, 0.01, 0.001],),
    "safty_damping_clamp": (False,),
    "solver_type": tuple(msd.SolverType),
    "timestep": (0.002,),
    "integrator": tuple(msd.IntegratorMethod),
    "impedance_ratio": (4.0,),
    "noslip_iterations": (5,),
    "line_search_iterations": (2, 40),
    "line_search_tolerance": (0.5, 1e-4),
    "wind": ([3.0, 0.0, 0.0],),
    "density": (50.0,),
    "viscosity": (5.0,),
    "disabled_actuator_groups": ([1],),
    "disable_springs": (True,),
    "disable_control_clamp": (True,),
    "disable_warm_start": (True,),
    "disable_parent_filter": (True,),
    "disable_reference_safety": (True,),
    "disable_implicit_damping": (True,),
    "policy.contact_solver_method": tuple(msd.ContactSolverMethod),
    "policy.free_spin_turn": (1e-3,),
    "policy.deactivation.enabled": (True,),
    "policy.strict_solver_resolution": (True,),
    "policy.contact_sweeps": (4,),
    "policy.contact.error_reduction": (0.1,),
    "policy.contact.max_correction_speed": (0.5,),
    "policy.contact.restitution_threshold": (0.5,),
    "policy.contact.penetration_allowance": (0.01,),
    "policy.contact.regularization": (1e-3,),
    "policy.rigid_body_solver": (msd.RigidBodySolver.Barrier,),
    "policy.accelerator": tuple(type(msd.SimulationPolicy().accelerator)),
    "policy.fixed_layout": (True,),
}
"""Values of options; the names are those of `SimulateOption`."""
UNMOVED = {
    "coacd_strategy", "convex_strategy", "runtime_max_convex_hulls_per_mesh", "collision_iterations",
    "collision_tolerance", "magnetic", "disable_sensors", "compute_energy", "noslip_tolerance", "policy",
}  # fmt: skip
"""Options of meshes, sensors and of other options."""


def scene_with(name, value):
    scene = msd.from_str(TEXT, format="mjcf")
    owner = scene.simulate_option
    *parts, last = name.split(".")
    for part in parts:
        owner = getattr(owner, part)
    setattr(owner, last, value)
    return scene


def speeds(count):
    return 0.3 * np.random.default_rng(2).normal(size=count) - 0.5 * (np.arange(count) == 2)


CONTROLS = (0.8, -0.4)


def by_world(scene):
    world = sx.World.from_scene(scene)
    sim = world._live().sim
    sim.v[:] = speeds(len(sim.v))
    sim.velocities_written()
    if len(world.actuator_controls):
        world.actuator_controls = CONTROLS[: len(world.actuator_controls)]
    world.step(STEPS)
    return world._live().sim.q.copy()


def by_fixed_layout(scene):
    scene.simulate_option.policy.fixed_layout = True
    return by_world(scene)


def by_simulation(scene):
    sim = wm.Simulation(msd.build(scene))
    sim.v = speeds(len(sim.v))
    if sim.control.size:
        sim.control = CONTROLS
    sim.step(STEPS)
    return sim.q.copy()


def by_model(scene):
    model = msd.build(scene)
    state, control = model.state(), model.control()
    state.joint_qd[:] = speeds(len(state.joint_qd))
    if control.actuator_control.size:
        control.actuator_control[:] = CONTROLS
    wm.step(model, state, control, steps=STEPS)
    return state.joint_q.copy()


def by_lanes(scene):
    worlds = wm.LaneSimulation(msd.build(scene), 3)
    worlds.v = speeds(worlds.v.shape[1])
    if worlds.control.size:
        worlds.control = CONTROLS
    worlds.step(STEPS)
    return worlds.q[1].copy()


def by_batch(scene):
    batch = sx.WorldBatch(scene, 3)
    batch.joint_velocities[:] = speeds(batch.joint_velocities.shape[1])
    if batch.controls.size:
        batch.controls[:] = CONTROLS
    batch.step(STEPS)
    return batch.joint_positions[1].copy()


PATHS = (by_fixed_layout, by_simulation, by_model, by_lanes, by_batch)


def outcome(run, scene):
    """Coordinates, or the words of a refusal."""
    try:
        return run(scene), ""
    except (CapabilityError, ArgumentError, SceneError) as error:
        return None, str(error)


CASES = [(name, value) for name, values in OPTIONS.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value!s:.24}" for name, value in CASES])
def test_an_option_acts_alike_in_every_path_or_is_refused(name, value):
    wanted, refused = outcome(by_world, scene_with(name, value))
    for run in PATHS:
        found, words = outcome(run, scene_with(name, value))
        if found is None:
            assert words, run.__name__
            continue
        assert wanted is not None, f"a World refuses it ({refused}), {run.__name__} does not"
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6, err_msg=run.__name__)


def test_every_option_has_a_case():
    named = {name.split(".")[0] for name in OPTIONS} | UNMOVED
    assert named == set(msd.SimulateOption.__annotations__)
