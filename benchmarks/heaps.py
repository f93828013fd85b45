# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Heaps of free bodies: steps beside MuJoCo as they grow, and memory.

Asked: a heap of 500 bodies of mixed shapes as a file loads it (contacts of the impedance model, Newton's
method) 2.0 times as fast as MuJoCo; 1,000 boxes with hard contacts by sequential impulses in 3 ms a step
and 50 MB, which is what engines of games take whose contacts are solved in part. Heaps fall from a grid and
are measured while they settle, over the same span of time on both sides, in turns of a few steps. Hard
contacts are another model than MuJoCo's, so they have no peer here; the table says how many sweeps a step may
take (`World.contact_sweeps`) and how far contacts overlap then.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import AGAINST_MUJOCO, table_of
from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

COUNTS = (50, 100, 200, 500)
SETTLED, BLOCKS, BLOCK = 300, 12, 10
"""Steps before the measurement, then turns and steps of each."""
_KINDS = (
    'type="box" size=".05 .045 .04"',
    'type="sphere" size=".05"',
    'type="capsule" size=".035 .035"',
    'type="cylinder" size=".045 .04"',
    'type="ellipsoid" size=".055 .045 .04"',
)


def places(count: int, pitch: float) -> np.ndarray:
    """A grid twice as wide as high, each body moved a little aside."""
    rng = np.random.default_rng(7)
    side = max(2, round((2.0 * count) ** (1.0 / 3.0)))
    k = np.arange(count)
    grid = np.stack([k % side - side / 2, k // side % side - side / 2, k // side**2], axis=1)
    found = pitch * grid + (0.0, 0.0, pitch)
    found[:, :2] += rng.uniform(-0.1, 0.1, (count, 2)) * pitch
    return found


def mixed_heap(count: int) -> str:
    """Boxes, spheres, capsules, cylinders and ellipsoids on a plane, as MJCF."""
    friction = 'friction="0.6 0.005 0.0001"'
    text = f'<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1" {friction}/>'
    for k, place in enumerate(places(count, 0.14)):
        at = " ".join(f"{x:.4f}" for x in place)
        text += f'<body pos="{at}"><freejoint/><geom {_KINDS[k % 5]} density="1000" {friction}/></body>'
    return text + "</worldbody></mujoco>"


def hard_boxes(count: int, sweeps: int = 0) -> sx.World:
    """Boxes of 0.2 m with hard contacts and sequential impulses."""
    world = sx.World(time_step=0.002, contact_sweeps=sweeps)
    world.add_ground_plane()
    for k, place in enumerate(places(count, 0.22)):
        body = world.add_rigid_body(f"box_{k}", mass=1.0, position=place)
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.contact_solver_method = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
    return world


def _turns(jobs: list[Any]) -> np.ndarray:
    """Milliseconds a step of every turn, by job."""
    times = np.zeros((len(jobs), BLOCKS))
    for block in range(BLOCKS):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job(BLOCK)
            times[k, block] = (time.perf_counter() - start) / BLOCK * 1e3
    return times


def _megabytes(world: sx.World) -> str:
    return f"{sum(world.memory_diagnostics) / 1e6:.1f}"


def run(console: Console) -> None:
    """Print both tables."""
    table = Table(title="heaps of mixed bodies as loaded, milliseconds a step, one thread")
    for column in ("bodies", "contacts", *AGAINST_MUJOCO, "memory [MB]", "asked"):
        table.add_column(column, justify="right")
    if importlib.util.find_spec("mujoco") is None:
        console.print("MuJoCo is not installed")
    else:
        import mujoco

        for count in COUNTS:
            text = mixed_heap(count)
            model = mujoco.MjModel.from_xml_string(text)
            data = mujoco.MjData(model)
            world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
            world.step(SETTLED)
            mujoco.mj_step(model, data, SETTLED)
            ours, theirs = _turns([world.step, lambda n, m=model, d=data: mujoco.mj_step(m, d, n)])
            figures = (ours.min(), np.median(ours), theirs.min(), np.median(theirs))
            table.add_row(
                str(count),
                str(len(world.contacts)),
                *(f"{x:.2f}" for x in figures),
                f"{figures[2] / figures[0]:.2f}",
                f"{figures[3] / figures[1]:.2f}",
                _megabytes(world),
                "2.0" if count == 500 else "",
            )
        console.print(table)

    table = table_of(
        "heap of boxes with hard contacts by sequential impulses, milliseconds a step",
        "bodies | sweeps | contacts | depth [mm] | best | median | memory [MB] | asked",
    )
    for count in (100, 300, 1000):
        # a solution of every step takes a second each in the largest heap
        for sweeps in (4, 8, 0) if count < 1000 else (4, 8):
            world = hard_boxes(count, sweeps)
            world.step(SETTLED)
            (ours,) = _turns([world.step])
            depth = max(contact.depth for contact in world.contacts)
            asked = "3 ms, 50 MB" if count == 1000 else ""
            cells = (f"{ours.min():.2f}", f"{np.median(ours):.2f}", _megabytes(world), asked)
            bound = str(sweeps) if sweeps else "until solved"
            table.add_row(str(count), bound, str(len(world.contacts)), f"{1e3 * depth:.2f}", *cells)
    console.print(table)
