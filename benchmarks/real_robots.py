# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of robots as they are published, in contact, beside MuJoCo.

Asked, peer over ours: 2.0 for robots with meshes of the Menagerie (its folder is in WORLDLINE_MENAGERIE),
3.0 for those of Gymnasium and dm_control, 1.5 for dm_control's dog, whose friction has sweeps against slip.
Both engines read the same file and take the same steps from its start, on one thread, in turns; integrator
and solver are those of the file.
"""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import against_mujoco
from worldline import simulation as sx

STEPS, TURNS = 400, 9


class Robot(NamedTuple):
    """A file and the ratio that is asked for."""

    name: str
    path: Path
    asked: float


_MENAGERIE = (
    ("Shadow hand", "shadow_hand/scene_right.xml"),
    ("Barkour vB", "google_barkour_vb/scene.xml"),
    ("Allegro hand", "wonik_allegro/scene_right.xml"),
    ("Unitree G1", "unitree_g1/scene.xml"),
    ("ALOHA", "aloha/scene.xml"),
)
_GYMNASIUM = ("humanoid", "ant", "half_cheetah", "hopper", "walker2d")
_DM_CONTROL = (("dog", 1.5), ("humanoid", 3.0), ("quadruped", 3.0), ("cheetah", 3.0))


def _folder(package: str, inside: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / inside


def robots() -> list[Robot]:
    """Those whose files are at hand."""
    found = []
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        found += [Robot(name, Path(menagerie) / path, 2.0) for name, path in _MENAGERIE]
    suite = _folder("dm_control", "suite")
    if suite is not None:
        found += [Robot(f"{name} of dm_control", suite / f"{name}.xml", asked) for name, asked in _DM_CONTROL]
    assets = _folder("gymnasium", "envs/mujoco/assets")
    if assets is not None:
        found += [Robot(f"{name} of Gymnasium", assets / f"{name}.xml", 3.0) for name in _GYMNASIUM]
    return [robot for robot in found if robot.path.exists()]


def turns(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Microseconds a step in every turn: ours, MuJoCo's."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    world = sx.World.from_file(str(path))
    world.enter_simulation_mode()
    times = np.zeros((2, TURNS + 1))
    for turn in range(TURNS + 1):
        world.reset()
        mujoco.mj_resetData(model, data)
        start = time.perf_counter()
        world.step(STEPS)
        middle = time.perf_counter()
        mujoco.mj_step(model, data, STEPS)
        times[:, turn] = middle - start, time.perf_counter() - middle
    if not np.isfinite(world.kinetic_energy):
        raise RuntimeError(f"{path}: the state is not finite")
    # the first turn compiles
    ours, theirs = times[:, 1:] / STEPS * 1e6
    return ours, theirs


def run(console: Console) -> None:
    """Print the table."""
    if importlib.util.find_spec("mujoco") is None:
        console.print("MuJoCo is not installed")
        return
    table = Table(title=f"robots in contact, microseconds a step, {STEPS} steps from the start, one thread")
    against_mujoco(table, "robot")
    for robot in robots():
        ours, theirs = turns(robot.path)
        best, middle = theirs.min() / ours.min(), np.median(theirs) / np.median(ours)
        table.add_row(
            robot.name,
            *(f"{x:.1f}" for x in (ours.min(), np.median(ours), theirs.min(), np.median(theirs))),
            f"{best:.2f}",
            f"{middle:.2f}",
            f"{robot.asked}",
        )
    console.print(table)
