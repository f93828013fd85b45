# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps with all sensors read after each, beside MuJoCo.

Asked: at least as fast as MuJoCo's step with its sensors. MuJoCo's readings belong to the state that a step
began with; those of Worldline to the state it led to, so accelerations and forces take another evaluation,
which the next step takes over unless a command was written in between. Hence two loops: steps and readings
alone, and one with commands that differ from step to step. Models are those of dm_control and, with the
folder of a Menagerie in WORLDLINE_MENAGERIE, Unitree's G1.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from worldline import simulation as sx

STEPS, ROUNDS = 400, 15


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


def _theirs(mujoco: Any, path: Path, commands: np.ndarray | None) -> Callable[[], object]:
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        for k in range(STEPS):
            if commands is not None:
                data.ctrl[:] = commands[k]
            mujoco.mj_step(model, data)
            data.sensordata.copy()

    return run


def _ours(path: Path, commands: np.ndarray | None, read: bool = True) -> Callable[[], object]:
    world = sx.World.from_file(str(path))
    sensors = world.sensors
    world.step()

    def run() -> None:
        world.reset()
        for k in range(STEPS):
            if commands is not None:
                world.actuator_controls = commands[k]
            world.step()
            if read:
                sensors.values  # noqa: B018

    return run


def turns(jobs: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Times of all jobs, in turns, microseconds a step."""
    for job in jobs.values():
        job()
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append((time.perf_counter() - start) / STEPS * 1e6)
    return times


def run(console: Console) -> None:
    """Print the table."""
    try:
        import mujoco
    except ImportError:
        console.print("MuJoCo is not installed")
        return
    table = Table(title="microseconds a step with all sensors read, 400 steps from the start, one thread")
    for column in (
        "model",
        "loop",
        "Worldline",
        "without sensors",
        "MuJoCo",
        "ratio, best",
        "median",
        "asked",
    ):
        table.add_column(column, justify="right")
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
            ours, theirs = times["ours"], times["theirs"]
            table.add_row(
                name,
                loop,
                f"{min(ours):.1f}",
                f"{min(times['bare']):.1f}",
                f"{min(theirs):.1f}",
                f"{min(theirs) / min(ours):.2f}",
                f"{statistics.median(theirs) / statistics.median(ours):.2f}",
                "1.0",
            )
    console.print(table)
