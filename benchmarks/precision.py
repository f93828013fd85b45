# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What single precision costs in accuracy: batches in float32 against the same batches in float64.

Robots of gymnasium from states of single precision that have run for a while: errors of one step, how deep
contacts are once worlds have come to rest, and when a world is first a millimetre or a milliradian off. Then
energies of a pendulum and of a body in free flight over ten seconds.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

from benchmarks.batches import GYMNASIUM, gymnasium_robot
from benchmarks.timing import table_of
from worldline import msd
from worldline import simulation as sx

WORLDS, SETTLE, LONG = 128, 100, 1000
OFF = 1e-3
"""Difference of a coordinate from which on a world counts as another one [m or rad]."""
PENDULUM = """<mujoco><option timestep="0.001" integrator="RK4"/><worldbody><body name="bob" pos="0 0 1">
<joint name="j" axis="0 1 0"/><geom size="0.1" pos="0 0 -1" mass="1"/></body></worldbody></mujoco>"""
FLIGHT = """<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><body name="box"><freejoint/>
<geom type="box" size="0.1 0.2 0.3" mass="1"/></body></worldbody></mujoco>"""


def pair(text: str) -> tuple[sx.WorldBatch, sx.WorldBatch]:
    """Batches in single and in double precision in the same states, with controls of each world."""
    scene = msd.from_str(text, format="mjcf")
    single = sx.WorldBatch(scene, WORLDS, dtype=np.float32)
    double = sx.WorldBatch(scene, WORLDS, layout="lanes")
    rng = np.random.default_rng(0)
    for name, size in (("joint_velocities", 0.1), ("controls", 0.4)):
        if name != "controls" or single.actuator_names:
            array = getattr(single, name)
            array[:] = (size * rng.uniform(-1.0, 1.0, array.shape)).astype(np.float32)
            getattr(double, name)[:] = array
    return single, double


def copy_states(single: sx.WorldBatch, double: sx.WorldBatch) -> None:
    """Let worlds of double precision go on from those of single precision, and from their contact forces."""
    for name in ("q", "v", "activation", "kept"):
        getattr(double._worlds.sim, name)[:] = getattr(single._worlds.sim, name)


def depths(batch: sx.WorldBatch) -> np.ndarray:
    """Deepest overlap of every world [m], negative where contacts keep a gap."""
    found, deepest = batch.contacts, np.full(batch.num_worlds, -np.inf)
    np.maximum.at(deepest, found.world, found.depth)
    return deepest


def errors(text: str) -> list[str]:
    """Figures of a robot."""
    single, double = pair(text)
    single.step(SETTLE)
    # one step from one state
    copy_states(single, double)
    before = single.joint_velocities.copy()
    single.step()
    double.step()
    q_off = np.abs(single.joint_positions - double.joint_positions).max(axis=1)
    v_off = np.abs(single.joint_velocities - double.joint_velocities).max(axis=1)
    change = np.abs(double.joint_velocities - before).max(axis=1)
    # on and on from there
    copy_states(single, double)
    parted = np.full(WORLDS, np.inf)
    for k in range(LONG):
        single.step()
        double.step()
        off = np.abs(single.joint_positions - double.joint_positions).max(axis=1)
        parted[(off > OFF) & np.isinf(parted)] = (k + 1) * single.time_step
    # without controls, until worlds rest or nearly so
    for batch in (single, double):
        if batch.actuator_names:
            batch.controls[:] = 0.0
        batch.step(2 * LONG)
    deep = np.median(depths(single)), np.median(depths(double))
    late = float(np.median(parted))
    return [
        f"{np.median(q_off):.0e}",
        f"{np.median(v_off):.0e}",
        f"{np.median(v_off / np.maximum(change, 1e-9)):.0e}",
        f"{1e3 * deep[0]:.3f}",
        f"{1e3 * deep[1]:.3f}",
        f"{late:.2f}" if np.isfinite(late) else f"> {LONG * single.time_step:.1f}",
        f"{np.isinf(parted).mean():.0%}",
    ]


def drifts(text: str) -> list[str]:
    """Largest change of energy in ten seconds, as a share of what moves, in single and double precision."""
    made = []
    for batch in pair(text):
        if text == PENDULUM:
            batch.joint_positions[:, 0] = np.linspace(0.1, 2.5, WORLDS)
            scale = 9.81
        else:
            batch.joint_velocities[:, 3:] = (1.0, 2.0, 3.0)
            scale = batch.kinetic_energy
        before = batch.kinetic_energy + batch.potential_energy
        batch.step(10_000)
        after = batch.kinetic_energy + batch.potential_energy
        made.append(f"{np.max(np.abs(after - before) / scale):.1e}")
    return made


def run(console: Console) -> None:
    """Print the tables."""
    table = table_of(
        f"Float32 against float64, medians of {WORLDS} worlds",
        "robot | q, one step | v, one step | v, of its change | depth, float32 [mm] | depth, float64 [mm] "
        "| 1e-3 off after [s] | never",
    )
    for name in GYMNASIUM:
        path = gymnasium_robot(name)
        if path is not None and path.exists():
            table.add_row(name, *errors(path.read_text()))
    console.print(table)
    table = table_of("Energy gained or lost in 10 s", "motion | float32 | float64")
    table.add_row("pendulum, Runge-Kutta, of m g l", *drifts(PENDULUM))
    table.add_row("free body that tumbles, of its energy", *drifts(FLIGHT))
    console.print(table)
