# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Humanoids that fall side by side in one world, and what a world of 100 bodies keeps in memory.

Asked: time that grows with the number of robots, less than 50 MB for 100 bodies, and 1.7 times the speed on
two threads with equal bits. Each robot is an island of its own, so the time for one of them should not depend
on how many there are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

import worldline
from benchmarks.contact_scenes import free_bodies, pile
from benchmarks.timing import best_of, table_of, turns_of
from worldline import msd
from worldline import simulation as sx

STEPS = 400
COUNTS = (1, 2, 4, 8, 16, 32)


def robots(count: int) -> sx.World:
    """Copies of the humanoid, 2 m apart."""
    humanoid = Path(worldline.__file__).parent / "_src/cli/data/humanoid.xml"
    scene, other = msd.from_file(str(humanoid)), msd.from_file(str(humanoid))
    for k in range(1, count):
        place = (2.0 * (k % 6), 2.0 * (k // 6), 0.0)
        scene.attach(other, other_link_name="pelvis", other_translation=place, other_prefix=f"{k}_")
    world = sx.World.from_scene(scene)
    world.step()
    return world


def _megabytes(world: sx.World) -> float:
    return sum(world.memory_diagnostics) / 1e6


def _threads(console: Console, world: sx.World) -> None:
    """Steps of one world on this thread and with an executor of two workers."""
    with sx.ParallelExecutor(2) as executor:
        ends = []

        def advance(by: sx.ComputeExecutor | None) -> None:
            world.step(STEPS, executor=by)
            ends.append(np.concatenate([robot.links.transforms for robot in world.multibodies]))

        jobs = {"one": lambda: advance(None), "two": lambda: advance(executor)}
        times = turns_of(jobs, rounds=5, before=world.reset)
    if not all(np.array_equal(end, ends[0]) for end in ends):
        raise RuntimeError("steps on two threads have other bits")
    one, two = (1e6 * times[name] / STEPS for name in ("one", "two"))
    table = table_of(
        f"{max(COUNTS)} islands in one world, microseconds a step",
        "robots on two threads | one thread | median | two threads | median | ratio, best | ratio, median"
        " | asked",
    )
    figures = (one.min(), np.median(one), two.min(), np.median(two))
    ratios = (figures[0] / figures[2], figures[1] / figures[3])
    table.add_row("humanoids", *(f"{x:.1f}" for x in figures), *(f"{ratio:.2f}" for ratio in ratios), "1.7")
    console.print(table)


def run(console: Console) -> None:
    """Print both tables."""
    worlds = {count: robots(count) for count in COUNTS}
    times = {}
    for count, world in worlds.items():
        job = {"step": lambda world=world: world.step(n=STEPS)}
        times[count] = best_of(job, rounds=5, before=world.reset)["step"] / STEPS * 1e6
    table = table_of(
        "humanoids that fall side by side, microseconds a step",
        "robots | step | a robot | to one of four | memory [MB]",
    )
    for count, time in times.items():
        share = (time / count) / (times[4] / 4)
        table.add_row(
            str(count),
            f"{time:.1f}",
            f"{time / count:.1f}",
            f"{share:.2f}",
            f"{_megabytes(worlds[count]):.1f}",
        )
    console.print(table)
    _threads(console, worlds[max(COUNTS)])

    table = table_of("memory of a pile of 100 bodies [MB], asked below 50", "solver | memory")
    for method in (sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, sx.ContactSolverMethod.NEWTON):
        world = sx.World.from_scene(msd.from_str(free_bodies(*pile())))
        world.contact_solver_method = method
        world.step(n=200)
        table.add_row(method.name.lower().replace("_", " "), f"{_megabytes(world):.1f}")
    console.print(table)
