# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Humanoids that fall side by side in one world, and what a world of 100 bodies keeps in memory.

Asked: time that grows with the number of robots, and less than 50 MB for 100 bodies. Each robot is an island
of its own, so the time for one of them should not depend on how many there are.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

import worldline
from benchmarks.contact_scenes import free_bodies, pile
from benchmarks.timing import best_of, table_of
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

    table = table_of("memory of a pile of 100 bodies [MB], asked below 50", "solver | memory")
    for method in (sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, sx.ContactSolverMethod.NEWTON):
        world = sx.World.from_scene(msd.from_str(free_bodies(*pile())))
        world.contact_solver_method = method
        world.step(n=200)
        table.add_row(method.name.lower().replace("_", " "), f"{_megabytes(world):.1f}")
    console.print(table)
