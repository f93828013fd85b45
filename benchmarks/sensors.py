# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps with all sensors read after each, beside MuJoCo.

Asked: 1.5 times as fast as MuJoCo's step with its sensors, with readings and without. MuJoCo's readings
belong to the state that a step began with; those of Worldline to the state it led to, so accelerations and
forces take another evaluation, which the next step takes over unless a command was written in between. Hence
two loops: steps and readings alone, and one with commands that differ from step to step. Models are those of
dm_control and, with the folder of a Menagerie in WORLDLINE_MENAGERIE, Unitree's G1.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.timing import mujoco_of, table_of
from worldline import simulation as sx

STEPS, BLOCK, ROUNDS = 400, 4, 20


class Job(NamedTuple):
    """A run of steps in blocks: back to the start, and the steps from one to another."""

    reset: Callable[[], object]
    advance: Callable[[int, int], object]


def models() -> dict[str, Path]:
    """Files at hand, by name."""
    found = {}
    spec = importlib.util.find_spec("dm_control")
    if spec is not None and spec.submodule_search_locations:
        suite = Path(spec.submodule_search_locations[0]) / "suite"
        found = {name: suite / f"{name}.xml" for name in ("quadruped", "humanoid")}
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        found["g1"] = Path(menagerie) / "unitree_g1" / "scene.xml"
    return {name: path for name, path in found.items() if path.exists()}


def _theirs(mujoco: Any, path: Path, commands: np.ndarray | None) -> Job:
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)

    def advance(first: int, end: int) -> None:
        for k in range(first, end):
            if commands is not None:
                data.ctrl[:] = commands[k]
            mujoco.mj_step(model, data)
            data.sensordata.copy()

    return Job(lambda: mujoco.mj_resetData(model, data), advance)


def _ours(path: Path, commands: np.ndarray | None, read: bool = True) -> Job:
    world = sx.World.from_file(str(path))
    sensors = world.sensors
    world.step()

    def advance(first: int, end: int) -> None:
        for k in range(first, end):
            if commands is not None:
                world.actuator_controls = commands[k]
            world.step()
            if read:
                sensors.values  # noqa: B018

    return Job(world.reset, advance)


def turns(jobs: dict[str, Job]) -> dict[str, np.ndarray]:
    """Times of the blocks of all jobs, in turns, microseconds a step, (rounds, blocks)."""
    times = {name: np.zeros((ROUNDS + 1, STEPS // BLOCK)) for name in jobs}
    for turn in range(ROUNDS + 1):
        for job in jobs.values():
            job.reset()
        for b in range(STEPS // BLOCK):
            for name, job in jobs.items():
                start = time.perf_counter()
                job.advance(b * BLOCK, (b + 1) * BLOCK)
                times[name][turn, b] = (time.perf_counter() - start) / BLOCK * 1e6
    # the first turn compiles
    return {name: found[1:] for name, found in times.items()}


def run(console: Console) -> None:
    """Print the table."""
    if (mujoco := mujoco_of(console)) is None:
        return
    table = table_of(
        "microseconds a step with all sensors read, 400 steps from the start, one thread",
        "model | loop | Worldline | without sensors | MuJoCo | ratio, best | ratio, median"
        " | ratio without sensors | asked",
    )
    for name, path in models().items():
        count = mujoco.MjModel.from_xml_path(str(path)).nu
        random = np.random.default_rng(1).uniform(-0.3, 0.3, (STEPS, count))
        for loop, commands in (("step, sensors", None), ("command, step, sensors", random)):
            times = turns(
                {
                    "ours": _ours(path, commands),
                    "bare": _ours(path, commands, read=False),
                    "theirs": _theirs(mujoco, path, commands),
                }
            )
            # every run is the same: the best of a block is that of any of them
            best = {job: float(found.min(axis=0).mean()) for job, found in times.items()}
            middle = {job: float(np.median(found, axis=0).mean()) for job, found in times.items()}
            table.add_row(
                name,
                loop,
                *(f"{best[job]:.1f}" for job in ("ours", "bare", "theirs")),
                f"{best['theirs'] / best['ours']:.2f}",
                f"{middle['theirs'] / middle['ours']:.2f}",
                f"{best['theirs'] / best['bare']:.2f}",
                "1.5",
            )
    console.print(table)
