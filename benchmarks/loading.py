# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a file to a model and to the end of its first step, side by side with MuJoCo: a humanoid, and a robot
with 30 MB of meshes. A model alone leaves work to the first step, so both are counted.

The first load of the meshes meets an empty asset cache, the second a full one. MuJoCo, too, keeps what it
made of a mesh, but only within a process, so its first load is that of a new process; imports do not count.
Further loads of both engines take turns in one process, so that whatever else the machine does slows both.
Medians count; the least of all times is printed too. WORLDLINE_BENCHMARK_SCENE names a further file to
load.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.timing import table_of

MESHES = 12
ROWS = 160
"""A mesh is a bumpy ball of 2 ROWS (ROWS - 1) triangles, 50 bytes each in an STL file."""

LOAD = {
    "worldline": (
        "from worldline import msd\nimport lxml.etree, trimesh\n"
        "hinge = '<body><joint/><geom size=\"1\"/></body>'\n"
        "msd.build(msd.from_str('<mujoco><worldbody>' + hinge + '</worldbody></mujoco>'))\n"
        "def ours(): msd.build(msd.from_file({file!r}))\n"
    ),
    "mujoco": "import mujoco\ndef theirs(): mujoco.MjModel.from_xml_path({file!r})\n",
}
STEP = (
    "from worldline import simulation as sx\n"
    "def ours():\n    sx.World.from_file({file!r}).step()\n"
    "def theirs():\n"
    "    model = mujoco.MjModel.from_xml_path({file!r}); mujoco.mj_step(model, mujoco.MjData(model))\n"
)
"""The same to the end of the first step."""
CLOCK = (
    "import time\n"
    "def clocked(load):\n"
    "    start = time.perf_counter(); load(); return time.perf_counter() - start\n"
)
FIRST = "print(clocked({load}))\n"
TURNS = (
    "clocked(ours), clocked(theirs)\n"
    "our, their = [], []\n"
    "for _ in range({repeats}):\n"
    "    their.append(clocked(theirs))\n"
    "    our.append(clocked(ours))\n"
    "for times in (our, their):\n"
    "    print(sorted(times)[len(times) // 2], min(times))\n"
)


HUMANOIDS = (
    ("humanoid of gymnasium", "gymnasium", "envs/mujoco/assets/humanoid.xml"),
    ("humanoid of dm_control", "dm_control", "suite/humanoid.xml"),
)


def humanoids() -> list[tuple[str, Path]]:
    """MuJoCo's humanoid as installed packages ship it, and the file that the environment names.

    That of dm_control has textures to make.
    """
    found = []
    for label, package, inside in HUMANOIDS:
        spec = importlib.util.find_spec(package)
        path = None if spec is None or spec.origin is None else Path(spec.origin).parent / inside
        if path is not None and path.exists():
            found.append((label, path))
    further = os.environ.get("WORLDLINE_BENCHMARK_SCENE")
    return [*found, (Path(further).name, Path(further))] if further else found


def write_ball(path: Path, seed: int) -> None:
    """A closed bumpy surface as a binary STL file."""
    rng = np.random.default_rng(seed)
    wave = rng.integers(2, 7, size=2)
    polar, around = np.meshgrid(
        np.linspace(0.0, np.pi, ROWS + 1), np.linspace(0.0, 2 * np.pi, ROWS + 1), indexing="ij"
    )
    radius = 0.05 * (1.0 + 0.1 * np.sin(wave[0] * polar) ** 2 * np.cos(wave[1] * around))
    grid = radius[..., None] * np.stack(
        [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1
    )
    # neighbours have to share their corners to the last bit
    grid[:, -1], grid[0], grid[-1] = grid[:, 0], grid[0, 0], grid[-1, 0]
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    triangles = np.concatenate([np.stack([a, b, c], axis=2)[1:-1], np.stack([a, c, d], axis=2)[1:-1]])
    caps = np.concatenate([np.stack([a, b, c], axis=2)[:1], np.stack([a, c, d], axis=2)[-1:]])
    faces = np.concatenate([triangles.reshape(-1, 3, 3), caps.reshape(-1, 3, 3)])
    record = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("flags", "<u2")])
    record["corners"] = faces
    path.write_bytes(b"\0" * 80 + np.uint32(len(faces)).tobytes() + record.tobytes())


def write_robot(folder: Path) -> Path:
    """A chain whose links are meshes."""
    assets, bodies, ends = [], [], []
    for k in range(MESHES):
        write_ball(folder / f"part{k}.stl", k)
        assets.append(f'<mesh name="part{k}" file="part{k}.stl"/>')
        bodies.append(f'<body name="link{k}" pos="0 0 0.1"><joint name="hinge{k}" axis="0 1 0"/>')
        bodies.append(f'<geom type="mesh" mesh="part{k}"/>')
        ends.append("</body>")
    text = f"<mujoco><asset>{''.join(assets)}</asset><worldbody>{''.join(bodies + ends)}</worldbody></mujoco>"
    robot = folder / "robot.xml"
    robot.write_text(text)
    return robot


def _measured(code: str, cache: Path | None) -> list[list[float]]:
    """The numbers that a new process prints, line by line; None is the cache of the user."""
    kept = {"WORLDLINE_QUIET": "1"} | ({} if cache is None else {"WORLDLINE_CACHE_DIR": str(cache)})
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **kept}
    )
    return [list(map(float, line.split())) for line in done.stdout.splitlines()]


def first_load(engine: str, file: Path, cache: Path) -> float:
    """Seconds of the first load in a new process."""
    load = {"worldline": "ours", "mujoco": "theirs"}[engine]
    return _measured(LOAD[engine].format(file=str(file)) + CLOCK + FIRST.format(load=load), cache)[0][0]


def further_loads(file: Path, cache: Path, repeats: int, step: bool = False) -> list[list[float]]:
    """Median and least seconds of loads in turn, to the end of the first step or not: ours, MuJoCo's."""
    both = "".join(text.format(file=str(file)) for text in (*LOAD.values(), *((STEP,) if step else ())))
    # steps need compiled kernels, which the cache of the user has
    return _measured(both + CLOCK + TURNS.format(repeats=repeats), None if step else cache)


def run(console: Console) -> None:
    """Print the table."""
    table = table_of("loading, milliseconds", "scene | load | Worldline | MuJoCo | ratio")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        robot = write_robot(folder)
        size = sum(path.stat().st_size for path in folder.glob("*.stl")) / 1e6
        scenes = [(label, file, 60) for label, file in humanoids()]
        scenes.append((f"{MESHES} meshes, {size:.0f} MB", robot, 3))
        for label, file, repeats in scenes:
            cache = folder / f"cache {label}"
            first, their_first = first_load("worldline", file, cache), first_load("mujoco", file, cache)
            cached = first_load("worldline", file, cache)
            ours, theirs = further_loads(file, cache, repeats)
            stepped, their_stepped = further_loads(file, cache, repeats, step=True)
            rows = (
                ("first, nothing cached", first, their_first),
                ("first of a process, assets cached", cached, their_first),
                ("again, median", ours[0], theirs[0]),
                ("again, least", ours[1], theirs[1]),
                ("again to the first step, median", stepped[0], their_stepped[0]),
                ("again to the first step, least", stepped[1], their_stepped[1]),
            )
            for what, our, their in rows:
                table.add_row(label, what, f"{our * 1e3:.1f}", f"{their * 1e3:.1f}", f"{our / their:.1f}")
    console.print(table)
