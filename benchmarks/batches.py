# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Robots in many worlds: `WorldBatch` in double and in single precision, MuJoCo's threaded rollout and
MotrixSim's batch.

1,024 worlds from the same states, that have run for a while, with constant random controls; all take turns.
Times are of processors, which other programs disturb least. MotrixSim has single precision and an integrator
of its own, starts from its own states of the same file and is measured where it is installed. Robots of the
Menagerie need its folder in WORLDLINE_MENAGERIE, MuJoCo's humanoid the folder with its humanoid.xml in
WORLDLINE_SCENES; what is not at hand is named below. `batch_costs` measures what worlds cost beside steps.
"""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.lanes import mujoco_coordinates
from benchmarks.timing import table_of, turns_of
from worldline import msd
from worldline import simulation as sx

WORLDS, ON_THREADS, STEPS, SETTLE, TURNS = 1024, 32, 20, 100, 7
GYMNASIUM = ("hopper", "half_cheetah", "walker2d", "ant", "humanoid")
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Robot(NamedTuple):
    """A file, and how many times as fast as MuJoCo steps in double precision shall be."""

    name: str
    path: Path | None
    asked: float
    elliptic: bool = False
    """Whether friction cones are elliptic, whatever the file says."""


def inside(package: str, path: str) -> Path | None:
    """A file of a package, None where that is not installed."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / path


def in_folder(variable: str, name: str) -> Path | None:
    """A file of the folder that a variable of the environment names, None without it."""
    folder = os.environ.get(variable)
    return Path(folder) / name if folder else None


def gymnasium_robot(name: str) -> Path | None:
    """The file of a robot of gymnasium, None where that is not installed."""
    return inside("gymnasium", f"envs/mujoco/assets/{name}.xml")


def robots() -> list[Robot]:
    """All robots, at hand or not."""
    found = [Robot(name, gymnasium_robot(name), 5.0 if name == "humanoid" else 8.0) for name in GYMNASIUM]
    found += [
        Robot("humanoid of MuJoCo", in_folder("WORLDLINE_SCENES", "humanoid.xml"), 5.0),
        Robot("humanoid of dm_control", inside("dm_control", "suite/humanoid.xml"), 5.0),
        Robot("humanoid, elliptic cones", gymnasium_robot("humanoid"), 4.0, True),
        Robot("ant, elliptic cones", gymnasium_robot("ant"), 4.0, True),
        Robot("Barkour vB", in_folder("WORLDLINE_MENAGERIE", "google_barkour_vb/scene.xml"), 3.0),
        Robot("Unitree G1", in_folder("WORLDLINE_MENAGERIE", "unitree_g1/scene.xml"), 3.0),
    ]
    return found


def _elliptic(path: Path, folder: str) -> Path:
    """A copy of a robot's file whose friction cones are elliptic."""
    text, count = re.subn(r"<option ", '<option cone="elliptic" ', path.read_text(), count=1)
    if not count:
        raise RuntimeError(f"{path} has no options")
    made = Path(folder) / path.name
    made.write_text(text)
    return made


def started(path: Path, worlds: int = WORLDS, **options: Any) -> sx.WorldBatch:
    """Worlds with velocities and controls of their own, some time after they were let go."""
    batch = sx.WorldBatch(msd.from_file(path), worlds, **options)
    rng = np.random.default_rng(0)
    batch.joint_velocities[:] = 0.1 * rng.normal(size=batch.joint_velocities.shape)
    batch.controls[:] = 0.4 * rng.uniform(-1.0, 1.0, batch.controls.shape)
    batch.step(SETTLE, threads=THREADS)
    return batch


def mujoco_rollout(path: Path, batch: sx.WorldBatch, threads: int = THREADS) -> Callable[[], object]:
    """A job that steps the same worlds on as many threads, without keeping the steps between."""
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_path(str(path))
    data = [mujoco.MjData(model) for _ in range(threads)]
    q, v, control = mujoco_coordinates(model, batch.joint_positions), batch.joint_velocities, batch.controls
    spec, worlds = mujoco.mjtState.mjSTATE_FULLPHYSICS, batch.num_worlds
    start = np.zeros((worlds, mujoco.mj_stateSize(model, spec)))
    start[:, 1 : 1 + model.nq + model.nv] = np.concatenate([q, v], axis=1)
    controls = np.repeat(control[:, None], STEPS, axis=1)
    state = np.zeros((worlds, STEPS, start.shape[1]))
    sensors = np.zeros((worlds, STEPS, model.nsensordata))
    pool = rollout.Rollout(nthread=threads)
    return lambda: pool.rollout(model, data, start, controls, state=state, sensordata=sensors)


def motrix_batch(path: Path, controls: np.ndarray) -> Callable[[], object] | None:
    """A job that steps as many worlds of the same file in MotrixSim; None where it is not installed."""
    if importlib.util.find_spec("motrixsim") is None:
        return None
    import motrixsim

    model = motrixsim.load_model(str(path))
    data = motrixsim.SceneData(model, batch=[len(controls)])
    data.actuator_ctrls = controls.astype(np.float32)
    model.step_n(data, SETTLE)
    return lambda: model.step_n(data, STEPS)


def measure(path: Path) -> tuple[dict[str, np.ndarray], str]:
    """Microseconds of a processor that a step of a world takes, by engine, in every turn, and the layout.

    Robots that lanes do not take step on threads, fewer worlds of them, and not in single precision.
    """
    layout = sx.WorldBatch(msd.from_file(path), 2).layout
    batch = started(path, WORLDS if layout == "lanes" else ON_THREADS)
    jobs = {
        "MuJoCo": mujoco_rollout(path, batch),
        "float64": lambda: batch.step(STEPS, threads=THREADS),
    }
    start = {
        name: getattr(batch, name).copy() for name in ("joint_positions", "joint_velocities", "activations")
    }
    sims, numbers = [], dict[str, np.ndarray]()
    if layout == "lanes":
        single = sx.WorldBatch(msd.from_file(path), WORLDS, layout="lanes", dtype=np.float32)
        single.controls[:] = batch.controls
        jobs["float32"] = lambda: single.step(STEPS, threads=THREADS)
        motrix = motrix_batch(path, batch.controls)
        if motrix is not None:
            jobs["MotrixSim"] = motrix
        sims = [batch._worlds.sim, single._worlds.sim]
        numbers = {name: getattr(sims[0], name).copy() for name in ("q", "v", "activation", "kept")}

    def before() -> None:
        if not sims:
            batch.reset(state=start)
        for sim in sims:
            for name, values in numbers.items():
                getattr(sim, name)[:] = values

    times = turns_of(jobs, rounds=TURNS, before=before, clock=time.process_time)
    return {name: 1e6 * seconds / (batch.num_worlds * STEPS) for name, seconds in times.items()}, layout


def run(console: Console) -> None:
    """Print the tables."""
    title = f"us of a processor, a step of a world, {WORLDS} worlds, {THREADS} threads"
    ratios = " | ratio, best | ratio, median | asked"
    double = table_of(f"double precision: {title}", f"robot | WorldBatch | MuJoCo{ratios}")
    single = table_of(
        f"single precision: {title}", "robot | WorldBatch | MotrixSim | MuJoCo | over MotrixSim | over MuJoCo"
    )
    missing = []
    with tempfile.TemporaryDirectory(prefix="worldline_robots_") as folder:
        for robot in robots():
            if robot.path is None or not robot.path.exists():
                missing.append(robot.name)
                continue
            times, layout = measure(_elliptic(robot.path, folder) if robot.elliptic else robot.path)
            best = {name: float(each.min()) for name, each in times.items()}
            middle = {name: float(np.median(each)) for name, each in times.items()}
            double.add_row(
                robot.name if layout == "lanes" else f"{robot.name}, on threads",
                *(f"{best[name]:.2f}" for name in ("float64", "MuJoCo")),
                *(f"{found['MuJoCo'] / found['float64']:.2f}" for found in (best, middle)),
                f"{robot.asked:g}",
            )
            if layout != "lanes":
                continue
            motrix = best.get("MotrixSim")
            single.add_row(
                robot.name,
                f"{best['float32']:.2f}",
                "" if motrix is None else f"{motrix:.2f}",
                f"{best['MuJoCo']:.2f}",
                "" if motrix is None else f"{motrix / best['float32']:.2f}",
                f"{best['MuJoCo'] / best['float32']:.2f}",
            )
    console.print(double)
    console.print(single)
    if missing:
        console.print(f"not at hand: {', '.join(missing)}")
