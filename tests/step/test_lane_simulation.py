# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds with contact in lanes: the bits of each world alone, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lane_scenes import HARD, TEXTS, scatter, scene_model

from worldline import msd
from worldline._src.jit import DISABLED
from worldline._src.scalar.lanes import native_width
from worldline._src.step import fixed_constraints
from worldline.model import LaneSimulation, ModelBuilder

SCENES = [*TEXTS, *HARD]
WORLDS = 7  # not a multiple of the lanes
STEPS = 300


def state(worlds):
    """Everything that makes the next step, a row a world."""
    return np.hstack([worlds.q, worlds.v, worlds.activation, worlds.kept])


def run(model, steps=STEPS, seed=3, count=WORLDS, family="semi-implicit", **options):
    worlds = LaneSimulation(model, count, integration_family=family, sweeps=30, tolerance=1e-7)
    scatter(worlds, seed)
    worlds.step(steps, **options)
    return worlds


def alone(model, steps=STEPS, seed=3, family="semi-implicit"):
    """Every world of `run` by itself, in plain numbers."""
    several = LaneSimulation(model, WORLDS)
    scatter(several, seed)
    rows, sweeps = [], []
    for w in range(WORLDS):
        one = LaneSimulation(model, 1, integration_family=family, sweeps=30, tolerance=1e-7)
        one.v[:], one.control[:] = several.v[w], several.control[w]
        one.step(steps)
        rows.append(state(one)[0])
        sweeps.append((one.sweeps[0], one.unconverged[0]))
    return np.stack(rows), np.array(sweeps)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("name", SCENES)
def test_a_world_has_the_same_bits_alone_in_lanes_and_in_threads(name):
    model = scene_model(name)
    expected, sweeps = alone(model)
    assert np.isfinite(expected).all()
    assert np.count_nonzero(expected[:, model.joint_coord_count + model.joint_dof_count :]) > 20
    for lanes in {1, 4, native_width()}:
        for threads in (1, 2, 3):
            worlds = run(model, lanes=lanes, threads=threads)
            assert state(worlds).tobytes() == expected.tobytes(), (lanes, threads)
            assert worlds.sweeps.tolist() == sweeps[:, 0].tolist()
            assert worlds.unconverged.tolist() == sweeps[:, 1].tolist()


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
@pytest.mark.parametrize("family", ["implicit-damping", "runge-kutta-4"])
def test_the_bits_are_the_same_for_every_integrator(family):
    model = scene_model("monopod, cone")
    expected, _ = alone(model, 150, family=family)
    assert state(run(model, 150, family=family)).tobytes() == expected.tobytes()


def test_steps_can_be_cut_anywhere():
    model = scene_model("monopod, pyramid")
    whole, parts = run(model, 120), run(model, 50)
    parts.step(69)
    parts.step()
    assert state(parts).tobytes() == state(whole).tobytes()
    assert parts.frame == 120
    assert parts.time == pytest.approx(0.24)


def test_a_saved_state_goes_on_bit_for_bit():
    model = scene_model("hard pile, cone")
    first = run(model, 150)
    second = run(model, 0)
    for name in ("q", "v", "activation", "kept"):
        getattr(second, name)[:] = getattr(first, name)
    first.step(100)
    second.step(100)
    assert state(second).tobytes() == state(first).tobytes()


CHILD = """
import numpy as np, sys
from lane_scenes import scatter, scene_model
from worldline.model import LaneSimulation
worlds = LaneSimulation(scene_model(sys.argv[1]), 2, sweeps=20, tolerance=1e-10)
scatter(worlds, 3)
worlds.step(int(sys.argv[2]))
np.save(sys.argv[3], np.hstack([worlds.q, worlds.v]))
"""


@pytest.mark.skipif(DISABLED, reason="there is nothing to compare with")
@pytest.mark.parametrize("name", ["monopod, cone", "hard pile, pyramid"])
def test_the_same_numbers_without_the_compiler(name, tmp_path):
    steps = 60
    worlds = LaneSimulation(scene_model(name), 2, sweeps=20, tolerance=1e-10)
    scatter(worlds, 3)
    worlds.step(steps)
    assert np.abs(worlds.kept).max() > 0.0
    here, saved = Path(__file__).parent, tmp_path / "rows.npy"
    path = os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    command = [sys.executable, "-c", CHILD, name, str(steps), str(saved)]
    subprocess.run(command, env=environment, check=True, timeout=300)
    # rounding differs where the compiler fuses products and sums
    assert np.load(saved) == pytest.approx(np.hstack([worlds.q, worlds.v]), abs=1e-9)


def test_forces_on_bodies_and_joints_act():
    builder = ModelBuilder()
    body = builder.add_body(mass=2.0, inertia=0.1 * np.eye(3))
    worlds = LaneSimulation(builder.finalize(), 5, time_step=0.01)
    worlds.body_f[:, body, 5] = 2.0 * 9.81 + np.arange(5)
    worlds.step(100)
    assert worlds.v[:, 2] == pytest.approx(0.5 * np.arange(5), abs=1e-12)
    worlds.body_f[:] = 0.0
    worlds.force[:, 2] = 2.0 * 9.81
    before = worlds.v.copy()
    worlds.step(10)
    assert worlds.v == pytest.approx(before, abs=1e-12)


def falling(option: str) -> str:
    """A ball over a plane."""
    return f"""<mujoco><option {option}/><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


REFUSED = {
    "a height field": (
        """<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/></asset>
        <worldbody><geom name="land" type="hfield" hfield="h"/>
        <body><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>""",
        "'land' and 'ball' may touch, and a surface of triangles",
    ),
    "a tendon": (
        """<mujoco><worldbody><body name="a"><joint name="j"/><geom name="post" size=".1"/><site name="s"/></body>
        <body pos="1 0 0"><freejoint/><geom size=".1"/><site name="t"/></body></worldbody>
        <tendon><spatial stiffness="3"><site site="s"/><geom geom="post"/><site site="t"/></spatial></tendon>
        </mujoco>""",
        "tendons that wrap around shapes",
    ),
    "an equality": (
        """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/></body></worldbody>
        <equality><weld body1="a"/></equality></mujoco>""",
        "closures, joints between bodies and equalities of anything but coordinates and tendons",
    ),
    "solves that end early": (
        falling('tolerance="0.1"'),
        "solves that end early .constraint_solver_tolerance above 0.01.",
    ),
    "solves of few iterations": (
        falling('iterations="9"'),
        "solves that end early .constraint_solver_iterations below 10.",
    ),
    "a line search of few steps": (
        falling('ls_iterations="2"'),
        "line searches that end early .line_search_iterations below 3",
    ),
    "a rough line search": (
        falling('ls_tolerance=".2"'),
        "line_search_tolerance above 0.1",
    ),
    "an actuator of a site": (
        """<mujoco><worldbody><body><freejoint/><geom size=".1"/><site name="s"/></body></worldbody>
        <actuator><general site="s" gear="0 0 1 0 0 0"/></actuator></mujoco>""",
        "actuators of anything but joints",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_fixed_layout_is_refused_by_name(what):
    text, words = REFUSED[what]
    model = msd.build(msd.from_str(text, format="mjcf"))
    with pytest.raises(NotImplementedError, match=words):
        LaneSimulation(model, 4)


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(fixed_constraints, "MOST_ROWS", 10)
    with pytest.raises(NotImplementedError, match="room for 10 rows"):
        LaneSimulation(scene_model("pile, cone"), 4)


def test_families_that_lanes_do_not_have_are_refused():
    with pytest.raises(NotImplementedError, match="variational"):
        LaneSimulation(scene_model("pile, cone"), 4, integration_family="variational")
    # without forces that answer to a rate it is implicit damping
    assert LaneSimulation(scene_model("pile, cone"), 4, integration_family="implicit-velocity").worlds == 4
    servo = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
    <actuator><velocity joint="j" kv="2"/></actuator></mujoco>"""
    with pytest.raises(NotImplementedError, match="'implicit-velocity' for actuators whose force depends"):
        LaneSimulation(
            msd.build(msd.from_str(servo, format="mjcf")), 4, integration_family="implicit-velocity"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"worlds": 0}, "worlds must be a positive count, got 0"),
        ({"worlds": 2, "sweeps": 0}, "sweeps must be a positive count"),
        ({"worlds": 2, "tolerance": -1.0}, "tolerance must be finite and not negative"),
        ({"worlds": 2, "time_step": 0.0}, "time_step must be positive and finite"),
    ],
)
def test_bad_arguments_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        LaneSimulation(scene_model("pile, cone"), **options)


def test_a_rejected_step_changes_nothing():
    worlds = run(scene_model("pile, cone"), 10, count=6)
    kept, frame = state(worlds), worlds.frame
    for bad in (-1, 1.5, True):
        with pytest.raises(ValueError, match="step count"):
            worlds.step(bad)
    with pytest.raises(ValueError, match="threads"):
        worlds.step(1, threads=-1)
    with pytest.raises(ValueError, match="lanes"):
        worlds.step(1, lanes=3)
    worlds.force[4, 0] = np.nan
    with pytest.raises(ValueError, match="inputs of world 4 must be finite"):
        worlds.step()
    assert state(worlds).tobytes() == kept.tobytes()
    assert worlds.frame == frame
