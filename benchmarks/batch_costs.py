# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What batches cost beside the step of a robot: worlds on threads, more threads, many worlds, parameters of
every world's own, memory, and the longest cold compile of a kernel.

Two threads, which are compared by the clock, mean nothing beside other work, and nor does the time of a
compile; all other times are of processors.
Robots that lanes do not take come from dm_control and from the folder of the Menagerie in
WORLDLINE_MENAGERIE.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.batches import (
    ON_THREADS,
    STEPS,
    THREADS,
    gymnasium_robot,
    in_folder,
    inside,
    mujoco_rollout,
    started,
)
from benchmarks.timing import table_of, turns_of
from worldline import msd
from worldline import simulation as sx

TURNS = 7
"""Turns of a measurement."""
COLD = """import sys
from worldline import simulation as sx
sx.WorldBatch(sx.World.from_file(sys.argv[1]), 16, layout="lanes").step()"""


def _on_threads() -> list[tuple[str, Path]]:
    """Robots that worlds in lanes do not take, and that are at hand."""
    known = (
        ("dog of dm_control, sweeps against slip", inside("dm_control", "suite/dog.xml")),
        ("manipulator of dm_control", inside("dm_control", "suite/manipulator.xml")),
        ("ALOHA", in_folder("WORLDLINE_MENAGERIE", "aloha/scene.xml")),
        ("Shadow hand", in_folder("WORLDLINE_MENAGERIE", "shadow_hand/scene_right.xml")),
    )
    return [(name, path) for name, path in known if path is not None and path.exists()]


def _turns(
    batches: dict[str, sx.WorldBatch], jobs: dict[str, Callable[[], object]], clock: Callable[[], float]
):
    """Times of jobs in turns, each from the present states of all batches."""
    names = ("joint_positions", "joint_velocities", "activations")
    states = {key: {n: getattr(b, n).copy() for n in names} for key, b in batches.items()}

    def before() -> None:
        for key, batch in batches.items():
            batch.reset(state=states[key])

    return turns_of(jobs, rounds=TURNS, before=before, clock=clock)


def threads_against_mujoco(path: Path) -> tuple[float, float, float, float]:
    """Microseconds of a processor for a step of a world on threads and in MuJoCo; ratios best and median."""
    batch = started(path, ON_THREADS, layout="threads")
    jobs = {"ours": lambda: batch.step(STEPS), "MuJoCo": mujoco_rollout(path, batch, 1)}
    times = _turns({"ours": batch}, jobs, time.process_time)
    best = {name: float(each.min()) / (ON_THREADS * STEPS) * 1e6 for name, each in times.items()}
    median = float(np.median(times["MuJoCo"]) / np.median(times["ours"]))
    return best["ours"], best["MuJoCo"], best["MuJoCo"] / best["ours"], median


def two_threads(path: Path) -> tuple[float, float]:
    """Throughput on all threads over that on one, best and median, by the clock."""
    batch = started(path)
    jobs = {"one": lambda: batch.step(STEPS), "all": lambda: batch.step(STEPS, threads=THREADS)}
    times = _turns({"ours": batch}, jobs, time.perf_counter)
    return float(times["one"].min() / times["all"].min()), float(np.median(times["one"] / times["all"]))


def many_over_few(path: Path) -> tuple[float, float]:
    """Cost of a world among 16,384 over that of one among 256, best and median."""
    batches = {str(count): started(path, count) for count in (256, 16384)}
    jobs = {
        "256": lambda: [batches["256"].step(1) for _ in range(64)],
        "16384": lambda: batches["16384"].step(1),
    }
    times = turns_of(jobs, rounds=TURNS, before=lambda: None, clock=time.process_time)
    ratio = times["16384"].min() / times["256"].min()
    return float(ratio), float(np.median(times["16384"]) / np.median(times["256"]))


def own_parameters(path: Path) -> tuple[float, float]:
    """Time of a step with masses, damping and friction of every world's own over that with shared ones."""
    batches = {"shared": started(path), "own": started(path)}
    lines = (
        sx.Randomized("multibodies.*.links.*.mass", sx.Uniform(0.8, 1.2)),
        sx.Randomized("multibodies.*.joints.*.damping_coefficient", sx.Uniform(0.5, 1.5)),
        sx.Randomized("shapes.*.friction", sx.Uniform(0.7, 1.3)),
    )
    batches["own"].randomize(sx.Randomization(lines, seed=1))
    jobs = {name: lambda batch=batch: batch.step(STEPS) for name, batch in batches.items()}
    times = _turns(batches, jobs, time.process_time)
    ratio = times["own"].min() / times["shared"].min()
    return float(ratio), float(np.median(times["own"]) / np.median(times["shared"]))


def bytes_of_a_world(path: Path) -> float:
    """Bytes that each world of a batch adds, beyond its state and its controls."""
    scene = msd.from_file(path)
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


def allocated_bytes(path: Path, count: int) -> int:
    """The most that a call of `step` has allocated at a time."""
    batch = sx.WorldBatch(msd.from_file(path), count)
    batch.step(3)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    batch.step(10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def longest_compile(path: Path) -> tuple[float, str]:
    """The kernel of a batch that takes longest to compile, alone and with an empty cache [s by the clock]."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"WORLDLINE_CACHE_DIR": folder, "WORLDLINE_COMPILE_JOBS": "1"}
        settings = {k: v for k, v in os.environ.items() if k != "WORLDLINE_QUIET"} | settings
        run = subprocess.run(
            [sys.executable, "-c", COLD, str(path)], capture_output=True, text=True, check=True, env=settings
        )
    found = re.findall(r"compiling (.+?) \(once per machine\) \.\.\. ([\d.]+) s", run.stderr)
    if not found:
        raise RuntimeError(f"no kernel was compiled: {run.stderr}")
    return max((float(seconds), name) for name, seconds in found)


def run(console: Console) -> None:
    """Print the tables."""
    table = table_of(
        f"us of a processor, a step of a world on threads, {ON_THREADS} worlds, one thread",
        "robot that lanes do not take | WorldBatch | MuJoCo | ratio, best | ratio, median | asked",
    )
    for name, path in _on_threads():
        reasons = sx.WorldBatch(sx.World.from_file(str(path)), 2)
        if reasons.layout == "lanes":
            console.print(f"{name} steps in lanes")
            continue
        ours, theirs, best, median = threads_against_mujoco(path)
        table.add_row(name, f"{ours:.1f}", f"{theirs:.1f}", f"{best:.2f}", f"{median:.2f}", "1.2")
    console.print(table)
    ant = gymnasium_robot("ant")
    if ant is None or not ant.exists():
        console.print("gymnasium is not installed: the other figures are those of its ant")
        return
    table = table_of(
        "the ant in many worlds", f"{THREADS} threads over one | ratio, best | ratio, median | asked"
    )
    table.add_row("throughput, by the clock", *(f"{x:.2f}" for x in two_threads(ant)), "1.9")
    console.print(table)
    table = table_of("the ant in many worlds", "what | best | median | asked")
    table.add_row("a world of 16,384 over one of 256", *(f"{x:.2f}" for x in many_over_few(ant)), "1.1")
    table.add_row(
        "parameters of every world's own over shared ones", *(f"{x:.2f}" for x in own_parameters(ant)), ""
    )
    table.add_row("bytes a world beyond state and controls", f"{bytes_of_a_world(ant):.0f}", "", "5000")
    for count in (64, 1024):
        table.add_row(
            f"bytes that a call of 10 steps allocates, {count} worlds",
            f"{allocated_bytes(ant, count)}",
            "",
            "",
        )
    seconds, name = longest_compile(ant)
    table.add_row(f"longest cold compile: {name} [s]", f"{seconds:.1f}", "", "20")
    console.print(table)
