# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a viewer costs the simulation it shows: 100 bodies, 30 frames a second, one page that takes them all.

The page is a process of its own that reads the messages of the server and throws them away, as a browser on
another machine would. A program steps the World; the viewer looks on from its own thread. Turns with and
without a viewer follow each other and the best of both count, because other programs run here too.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from rich.console import Console

from benchmarks.timing import table_of
from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

BODIES, FPS, ROUNDS, SECONDS = 100, 30.0, 8, 0.8
TURN = 200
"""Steps after which a turn begins again."""

_PAGE = """
import asyncio, sys, websockets, viser
async def main():
    where = f"ws://127.0.0.1:{sys.argv[1]}"
    protocols = [f"viser-v{viser.__version__}"]
    async with websockets.connect(where, max_size=None, subprotocols=protocols) as socket:
        total = 0
        print("ready", flush=True)
        try:
            async for message in socket:
                total += len(message)
        finally:
            print(total, flush=True)
asyncio.run(main())
"""


def pile() -> sx.World:
    """Boxes, balls and capsules over a ground, in layers: most of the time goes into contact."""
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    shapes = (
        CollisionShape.box((0.1, 0.12, 0.08)),
        CollisionShape.sphere(0.11),
        CollisionShape.capsule(0.07, 0.1),
        CollisionShape.cylinder(0.09, 0.1),
    )
    for k in range(BODIES):
        place = (0.5 * (k % 5) - 1.0, 0.5 * (k // 5 % 5) - 1.0, 0.3 + 0.45 * (k // 25))
        body = world.add_rigid_body(f"body_{k}", mass=0.5, inertia=(0.003, 0.003, 0.003), position=place)
        body.add_collision_shape(shapes[k % 4])
    world.step(n=200)
    return world


def chains() -> sx.World:
    """Ten chains of ten links without contact: steps are short, and every wait of the program shows."""
    shape = '<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.03" contype="0" conaffinity="0"/>'
    links = "".join(
        f'<body name="{{c}}_{k}" pos="0 0 {-0.2 if k else 0}">'
        f'<joint axis="{k % 2} {1 - k % 2} 0" damping="0.01"/>{shape}'
        for k in range(10)
    )
    ends = "</body>" * 10
    bodies = "".join(
        f'<body pos="{0.4 * c} 0 2">{links.replace("{c}", f"chain_{c}")}{ends}</body>' for c in range(10)
    )
    scene = msd.from_str(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", format="mjcf")
    world = sx.World.from_scene(scene)
    for robot in world.multibodies:
        robot.joints.position = np.full(robot.num_dofs, 0.3)
    world.step(n=100)
    return world


def _steps_per_second(world: sx.World, seconds: float) -> tuple[float, float]:
    """Steps that a program makes, ten at a time, as a control loop would.

    Every turn goes through the same steps again: those of a pile take longer the more of it touches.

    Returns:
        Steps a second, and the share of one processor that other threads of the process take.
    """
    first = world.state_vector
    count, start = 0, time.perf_counter()
    process, own = time.process_time(), time.thread_time()
    while (spent := time.perf_counter() - start) < seconds:
        if count % TURN == 0:
            world.state_vector = first
        world.step(10)
        count += 10
    own = time.thread_time() - own
    world.state_vector = first
    return count / spent, (time.process_time() - process - own) / spent


def run(console: Console) -> None:
    """Print the table; the cost is asked to stay below 20 percent.

    On a machine with other things to do the cost in steps tells of those too; the last column, what the
    viewer takes of one processor, hardly does.
    """
    table = table_of(
        f"{BODIES} bodies, {FPS:g} frames a second asked for",
        " | steps per second | frames per second | cost | of a processor",
    )
    for name, world in (("chains", chains()), ("pile in contact", pile())):
        alone, shown, frames, beside = [_steps_per_second(world, SECONDS)[0]], [], [], []
        for _ in range(ROUNDS):
            rate, share, drawn = _with_viewer(world)
            shown.append(rate)
            frames.append(drawn)
            beside.append(share)
            alone.append(_steps_per_second(world, SECONDS)[0])
        cost = 1.0 - max(shown) / max(alone)
        table.add_row(f"{name}, without a viewer", f"{max(alone):.0f}", "", "", "")
        table.add_row(
            f"{name}, with a viewer and a page",
            f"{max(shown):.0f}",
            f"{np.median(frames):.1f}",
            f"{100.0 * cost:.1f} %",
            f"{100.0 * np.median(beside):.1f} %",
        )
    console.print(table)


def _with_viewer(world: sx.World) -> tuple[float, float, float]:
    """Steps a second, processor time of the viewer, and frames a second while it looks on."""
    with sx.view(world, port=8970, fps=FPS) as viewer:
        # a page that sends no camera is not counted as looking
        viewer._session.server.get_clients = lambda: {0: None}
        drawn = 0
        draw = viewer._session.stage.draw

        def counted(*given: object) -> bool:
            nonlocal drawn
            moved = draw(*given)
            drawn += moved
            return moved

        viewer._session.stage.draw = counted
        page = subprocess.Popen(
            [sys.executable, "-c", _PAGE, str(viewer.port)], stdout=subprocess.PIPE, text=True
        )
        assert page.stdout is not None and page.stdout.readline() == "ready\n"
        time.sleep(0.5)
        drawn, start = 0, time.perf_counter()
        rate, share = _steps_per_second(world, SECONDS)
        fps = drawn / (time.perf_counter() - start)
    sent = int(page.communicate(timeout=10)[0].split()[-1])
    assert sent > 1000 * SECONDS * FPS, f"the page received {sent} bytes"
    return rate, share, fps
