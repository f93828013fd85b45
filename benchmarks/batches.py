# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of gymnasium in many worlds: `WorldBatch` in double and in single precision, `LaneSimulation` and
MuJoCo's threaded rollout.

1,024 worlds from the same states, that have run for a while, with constant random controls; all take turns.
Then what a batch of ants holds in memory beyond state and controls, and what a call of `step` allocates.
"""

from __future__ import annotations

import importlib.util
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.lanes import mujoco_coordinates
from benchmarks.timing import best_of, microseconds_of, table_of
from worldline import msd
from worldline import simulation as sx
from worldline.model import LaneSimulation

WORLDS, STEPS, SETTLE = 1024, 20, 100
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ROBOTS = ("hopper", "half_cheetah", "walker2d", "ant", "humanoid")


def robots() -> dict[str, str]:
    """Texts by name."""
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return {}
    assets = Path(spec.origin).parent / "envs/mujoco/assets"
    return {name: (assets / f"{name}.xml").read_text() for name in ROBOTS}


def started(text: str) -> sx.WorldBatch:
    """Worlds with velocities and controls of their own, some time after they were let go."""
    batch = sx.WorldBatch(msd.from_str(text, format="mjcf"), WORLDS, layout="lanes")
    rng = np.random.default_rng(0)
    batch.joint_velocities[:] = 0.1 * rng.normal(size=batch.joint_velocities.shape)
    batch.controls[:] = 0.4 * rng.uniform(-1.0, 1.0, batch.controls.shape)
    batch.step(SETTLE, threads=THREADS)
    return batch


def mujoco_rollout(text: str, batch: sx.WorldBatch) -> Callable[[], object]:
    """A job that steps the same worlds on as many threads, without keeping the steps between."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_string(text)
    data = [mujoco.MjData(model) for _ in range(THREADS)]
    q, v, control = mujoco_coordinates(model, batch.joint_positions), batch.joint_velocities, batch.controls
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((WORLDS, mujoco.mj_stateSize(model, spec)))
    start[:, 1 : 1 + model.nq + model.nv] = np.concatenate([q, v], axis=1)
    controls = np.repeat(control[:, None], STEPS, axis=1)
    state = np.zeros((WORLDS, STEPS, start.shape[1]))
    sensors = np.zeros((WORLDS, STEPS, model.nsensordata))
    pool = rollout.Rollout(nthread=THREADS)
    return lambda: pool.rollout(model, data, start, controls, state=state, sensordata=sensors)


def measure(text: str) -> list[str]:
    """The figures of a robot."""
    batch = started(text)
    own = batch._worlds.sim
    alone = LaneSimulation(batch.model, WORLDS, time_step=batch.time_step)
    single = sx.WorldBatch(msd.from_str(text, format="mjcf"), WORLDS, layout="lanes", dtype=np.float32)
    half = single._worlds.sim
    first = {name: getattr(own, name).copy() for name in ("q", "v", "activation", "kept")}
    alone.control[:] = single.controls[:] = batch.controls
    job = mujoco_rollout(text, batch)

    def before() -> None:
        for name, numbers in first.items():
            for sim in (own, alone, half):
                getattr(sim, name)[:] = numbers

    each = microseconds_of(
        {
            "MuJoCo": job,
            "LaneSimulation": lambda: alone.step(STEPS, threads=THREADS),
            "WorldBatch": lambda: batch.step(STEPS, threads=THREADS),
            "float32": lambda: single.step(STEPS, threads=THREADS),
            "one thread": lambda: batch.step(STEPS),
        },
        WORLDS * STEPS,
        before,
    )
    return [
        *(f"{each[name]:.2f}" for name in ("MuJoCo", "LaneSimulation", "WorldBatch", "float32")),
        f"{each['MuJoCo'] / each['WorldBatch']:.2f}",
        f"{each['MuJoCo'] / each['float32']:.2f}",
        f"{each['WorldBatch'] / each['LaneSimulation']:.3f}",
        f"{each['one thread'] / each['WorldBatch']:.2f}",
    ]


def randomized(text: str) -> tuple[float, float]:
    """Time of a step with masses, damping and friction of every world's own over that with shared ones, and
    seconds that drawing them took."""
    shared, own = started(text), started(text)
    lines = (
        sx.Randomized("multibodies.*.links.*.mass", sx.Uniform(0.8, 1.2)),
        sx.Randomized("multibodies.*.joints.*.damping_coefficient", sx.Uniform(0.5, 1.5)),
        sx.Randomized("shapes.*.friction", sx.Uniform(0.7, 1.3)),
    )
    begun = time.perf_counter()
    own.randomize(sx.Randomization(lines, seed=1))
    drawn = time.perf_counter() - begun
    assert own.layout == "lanes"
    state = {name: getattr(shared, name).copy() for name in ("joint_positions", "joint_velocities")}

    def before() -> None:
        for batch in (shared, own):
            for name, numbers in state.items():
                getattr(batch, name)[:] = numbers

    times = best_of(
        {
            "shared": lambda: shared.step(STEPS, threads=THREADS),
            "own": lambda: own.step(STEPS, threads=THREADS),
        },
        before=before,
        rounds=6,
    )
    return times["own"] / times["shared"], drawn


def held_bytes(text: str) -> float:
    """Bytes that each world of a batch adds, beyond its state and its controls."""
    scene = msd.from_str(text, format="mjcf")
    sx.WorldBatch(scene, 8).step()
    sizes = {}
    for count in (256, 2048):
        tracemalloc.start()
        batch = sx.WorldBatch(scene, count)
        batch.step()
        sizes[count] = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    model = batch.model
    numbers = (
        model.joint_coord_count + model.joint_dof_count + model.activation_count + batch.controls.shape[1]
    )
    return (sizes[2048] - sizes[256]) / (2048 - 256) - 8 * numbers


def allocated_bytes(text: str, count: int) -> int:
    """The most that a call of `step` has allocated at a time."""
    batch = sx.WorldBatch(msd.from_str(text, format="mjcf"), count)
    batch.step(3)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    batch.step(10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def run(console: Console) -> None:
    """Print the tables."""
    found = robots()
    table = table_of(
        f"us a step of a world, {WORLDS} worlds, {THREADS} threads",
        "robot | MuJoCo | LaneSimulation | WorldBatch | float32 | over MuJoCo | float32 over MuJoCo "
        "| over lanes | 1 thread / all",
    )
    for name, text in found.items():
        table.add_row(name, *measure(text))
    console.print(table)
    for name in ("hopper", "ant"):
        if name in found:
            ratio, drawn = randomized(found[name])
            console.print(
                f"{name} with masses, damping and friction of every world's own: {ratio:.2f} times the step "
                f"of shared ones; drawing them for {WORLDS} worlds took {drawn:.1f} s"
            )
    if "ant" in found:
        console.print(f"bytes a world of the ant beyond state and controls: {held_bytes(found['ant']):.0f}")
        few, many = (allocated_bytes(found["ant"], count) for count in (64, 1024))
        console.print(f"bytes that a call of 10 steps allocates: {few} for 64 worlds, {many} for 1024")
