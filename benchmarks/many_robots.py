# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Humanoids that fall side by side in one world, and what a world of 100 bodies keeps in memory.

Asked: time that grows with the number of robots, less than 50 MB for 100 bodies, and 1.7 times the speed on
two threads with equal bits. Each robot is an island of its own, so the time for one of them should not depend
on how many there are. Threads share the islands of a step and nothing else, so piles, of which islands are a
larger part of a step, gain more than robots; the table says what one thread spends on islands, and the ratio
that follows if two threads share them without loss.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

import worldline
from benchmarks.contact_scenes import free_bodies, pile, stack
from benchmarks.timing import best_of, table_of, turns_of
from worldline import msd
from worldline import simulation as sx

STEPS = 400
COUNTS = (1, 2, 4, 8, 16, 32)
SHARED_STEPS = 100


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


def piles(solver: sx.ContactSolverMethod, count: int = 60, bodies: int = 10) -> sx.World:
    """Stacks of boxes on a floor, each an island of its own."""
    each, grid = np.array(stack(bodies)[0]), np.arange(count)
    corners = np.stack([2.0 * (grid % 8), 2.0 * (grid // 8), np.zeros(count)], axis=-1)
    places = (corners[:, None] + each).reshape(-1, 3)
    world = sx.World.from_scene(msd.from_str(free_bodies(places, np.ones(len(places), bool), 0.1)))
    world.contact_solver_method = solver
    world.step(100)
    return world


def _island_share(world: sx.World) -> float:
    """Part of a step on one thread that is spent on islands, the median of 100 steps."""
    shares = []
    for _ in range(100):
        world.step(options=sx.StepOptions(profile=True))
        stages = world.last_step_profile.stages[:-1]
        islands = sum(one.duration_us for one in stages if one.name in ("solve_islands", "solve_velocities"))
        shares.append(islands / sum(one.duration_us for one in stages))
    return float(np.median(shares))


def _threads(console: Console, scenes: dict[str, sx.World]) -> None:
    """Steps of one world on this thread and with an executor of two workers."""
    table = table_of(
        "independent islands in one world, microseconds a step",
        "scene | one thread | median | two threads | median | ratio, best | ratio, median | asked"
        " | part in islands | ratio of that",
    )
    for name, world in scenes.items():
        start, ends = world.get_state(world.state_space()), []
        with sx.ParallelExecutor(2) as executor:

            def advance(by: sx.ComputeExecutor | None, world: sx.World, ends: list[np.ndarray]) -> None:
                world.step(SHARED_STEPS, executor=by)
                ends.append(world.state_vector)

            jobs: dict[str, Callable[[], object]] = {
                threads: functools.partial(advance, by, world, ends)
                for threads, by in (("one", None), ("two", executor))
            }
            times = turns_of(jobs, rounds=9, before=functools.partial(world.set_state, start))
        if not all(np.array_equal(end, ends[0]) for end in ends):
            raise RuntimeError("steps on two threads have other bits")
        one, two = (1e6 * times[key] / SHARED_STEPS for key in ("one", "two"))
        share = _island_share(world)
        figures = (one.min(), np.median(one), two.min(), np.median(two))
        ratios = (figures[0] / figures[2], figures[1] / figures[3])
        cells = (*(f"{x:.1f}" for x in figures), *(f"{ratio:.2f}" for ratio in ratios), "1.7")
        table.add_row(name, *cells, f"{share:.2f}", f"{1.0 / (1.0 - 0.5 * share):.2f}")
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
    scenes = {"humanoids": worlds[max(COUNTS)]}
    for method in (sx.ContactSolverMethod.NEWTON, sx.ContactSolverMethod.SEQUENTIAL_IMPULSE):
        scenes[f"60 stacks of 10 boxes, {method.value}"] = piles(method)
    _threads(console, scenes)

    table = table_of("memory of a pile of 100 bodies [MB], asked below 50", "solver | memory")
    for method in (sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, sx.ContactSolverMethod.NEWTON):
        world = sx.World.from_scene(msd.from_str(free_bodies(*pile())))
        world.contact_solver_method = method
        world.step(n=200)
        table.add_row(method.name.lower().replace("_", " "), f"{_megabytes(world):.1f}")
    console.print(table)
