# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Two falling scenes of the demo: a humanoid without actuation, and a pile."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

if TYPE_CHECKING:
    from worldline.simulation import World

HUMANOID = Path(__file__).with_name("data") / "humanoid.xml"
"""The bundled person; see the note at the top of the file."""
PORTIONS = 25


def drop_humanoid() -> World:
    """The person 30 cm above the floor, leaning a little, every joint without power."""
    from worldline import simulation as sx

    world = sx.World.from_file(HUMANOID)
    person = world.multibodies["pelvis"]
    root = person.joints["root"]
    root.position = [*root.position[:3], 0.05, 0.12, 0.0]
    person.joints["left_elbow"].position = [-0.4]
    return world


def drop_pile(count: int) -> World:
    """Boxes and capsules that fall one after the other onto the same spot."""
    from worldline import simulation as sx
    from worldline.collision import CollisionShape

    world = sx.World(time_step=0.002)
    world.add_ground_plane(friction=0.8)
    rng = np.random.default_rng(7)
    for k in range(count):
        x, y = rng.uniform(-0.12, 0.12, 2)
        turn = rng.normal(size=4)
        body = world.add_rigid_body(
            f"piece_{k}",
            mass=0.5,
            inertia=np.diag([0.0012, 0.0012, 0.0012]),
            position=(x, y, 0.25 + 0.28 * k),
            orientation=turn / np.linalg.norm(turn),
        )
        round_one = k % 3 == 2
        shape = CollisionShape.capsule(0.05, 0.06) if round_one else CollisionShape.box((0.08, 0.06, 0.05))
        body.add_collision_shape(shape, friction=0.8)
    return world


def fall(console: Console, name: str, world: World, seconds: float, folder: Path | None) -> None:
    """Let a World fall, report what happened, and write the page that replays it on request."""
    world.enter_simulation_mode()
    if folder is not None:
        world.replay_recording_enabled = True
    start, total, spent = world.compute_step_metrics(), round(seconds / world.time_step), 0.0
    contacts, deepest, warm = 0, 0.0, 0
    lowest = float(world.center_of_mass[2])
    for part in track(range(1, PORTIONS + 1), f"dropping {name}", console=console):
        before = time.perf_counter()
        world.step(n=max(round(total * part / PORTIONS) - world.frame, 0))
        if part == 1:
            warm = world.frame  # the first portion may compile
        else:
            spent += time.perf_counter() - before
        now = world.compute_step_metrics()
        contacts, deepest = (max(contacts, now.active_contact_count), max(deepest, now.max_penetration_depth))
        lowest = min(lowest, float(world.center_of_mass[2]))
    end = world.compute_step_metrics()
    speed = (world.frame - warm) * world.time_step / spent if spent > 0.0 else 0.0
    console.print(
        f"  {name} after {world.time:g} s: {start.total_energy - end.total_energy:.1f} J lost of "
        f"{start.total_energy:.1f} J, centre of mass down to {lowest:.2f} m, {contacts} contacts at most, "
        f"deepest overlap {1e3 * deepest:.2f} mm, {speed:.0f} x real time"
    )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{name.replace(' ', '_')}.html"
        world.recording.to_html(page, title=name)
        console.print(f"  replay: {page}", highlight=False, soft_wrap=True)
    console.print()


def falls(console: Console, seconds: float, pieces: int, folder: Path | None) -> None:
    """Both scenes."""
    fall(console, "a humanoid", drop_humanoid(), seconds, folder)
    if pieces:
        fall(console, f"a pile of {pieces}", drop_pile(pieces), seconds, folder)
