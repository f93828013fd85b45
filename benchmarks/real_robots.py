# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of robots as they are published, in contact, beside MuJoCo.

Asked, peer over ours: 2.0 for robots with meshes of the Menagerie (its folder is in WORLDLINE_MENAGERIE),
3.0 for its simpler ones and for those of Gymnasium and dm_control, 1.5 for dm_control's dog, whose friction
has sweeps against slip. Both engines read the same file and take the same steps from its start, on one
thread, in turns; integrator and solver are those of the file. Talos and Panda are the URDF files of the
package example-robot-data as MJCF, without geometries that nothing touches, Talos on a free base above a
plane. Files that are not at hand are listed below the table.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import against_mujoco
from worldline import msd
from worldline import simulation as sx

STEPS, TURNS = 400, 9


class Robot(NamedTuple):
    """A file and the ratio that is asked for."""

    name: str
    path: Path
    asked: float


_MENAGERIE = (
    ("Shadow hand", "shadow_hand/scene_right.xml", 2.0),
    ("Barkour vB", "google_barkour_vb/scene.xml", 2.0),
    ("Allegro hand", "wonik_allegro/scene_right.xml", 2.0),
    ("Unitree G1", "unitree_g1/scene.xml", 2.0),
    ("ALOHA", "aloha/scene.xml", 2.0),
    ("Talos of the Menagerie", "pal_talos/scene_position.xml", 2.0),
    ("Unitree H1", "unitree_h1/scene.xml", 3.0),
    ("Cassie", "agility_cassie/scene.xml", 3.0),
    ("Panda of the Menagerie", "franka_emika_panda/scene.xml", 3.0),
)
_URDF = (
    ("Talos", "talos_data/robots/talos_full_v2.urdf", 1.1, 2.0),
    ("Panda", "panda_description/urdf/panda.urdf", None, 3.0),
)
"""Name, file, height of the free base above a plane or None for a fixed one, and the ratio asked for."""
_GYMNASIUM = ("humanoid", "ant", "half_cheetah", "hopper", "walker2d")
_DM_CONTROL = (("dog", 1.5), ("humanoid", 3.0), ("quadruped", 3.0), ("cheetah", 3.0))


def _folder(package: str, inside: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / inside


def urdf_file(path: str) -> Path | None:
    """A file of example-robot-data; None where that is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(one.locate())) for one in files if str(one).endswith(f"robots/{path}")), None)


@functools.cache
def _written() -> tempfile.TemporaryDirectory[str]:
    """Where robots are written as MJCF; removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="worldline_robots_")


def as_mjcf(source: Path, height: float | None) -> Path:
    """A robot of a URDF file as MJCF that both engines read."""
    path = Path(_written().name) / source.stem / "robot.xml"
    if path.exists():
        return path
    scene = msd.from_file(source)
    for link in scene.hierarchy.links():
        masks = [geom.collision_mask for geom in link.geoms]
        link.geoms = [
            geom
            for geom, mask in zip(link.geoms, masks, strict=True)
            if mask.collide_group or mask.collide_with
        ]
    used = {geom.mesh for link in scene.hierarchy.links() for geom in link.geoms}
    for name in scene.assets.meshes.keys() - used:
        del scene.assets.meshes[name]
    if height is not None:
        body = scene.hierarchy.bodies[0]
        body.free, body.link.local_translation = msd.FreeJoint(), (0.0, 0.0, height)
        scene.add_ground_plane(0.0)
    scene.simulate_option.timestep = 0.002
    path.parent.mkdir()
    scene.to_file(path)
    return path


def _known() -> list[Robot]:
    """All robots, at hand or not."""
    menagerie = os.environ.get("WORLDLINE_MENAGERIE", "")
    found = [Robot(name, Path(menagerie) / path, asked) for name, path, asked in _MENAGERIE]
    for name, path, height, asked in _URDF:
        source = urdf_file(path)
        found.append(Robot(name, Path(path) if source is None else as_mjcf(source, height), asked))
    suite = _folder("dm_control", "suite")
    if suite is not None:
        found += [Robot(f"{name} of dm_control", suite / f"{name}.xml", asked) for name, asked in _DM_CONTROL]
    assets = _folder("gymnasium", "envs/mujoco/assets")
    if assets is not None:
        found += [Robot(f"{name} of Gymnasium", assets / f"{name}.xml", 3.0) for name in _GYMNASIUM]
    return found


def robots() -> list[Robot]:
    """Those whose files are at hand."""
    return [robot for robot in _known() if robot.path.exists()]


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
    missing = [robot.name for robot in _known() if not robot.path.exists()]
    if missing:
        console.print(f"not at hand: {', '.join(missing)}")
