# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Calls from Python beside MuJoCo's and Pinocchio's bindings: what a call costs, not what its kernel does.

Both sides of a row take turns in one process, on one thread; a row has the best and the median turn. Ratios
are time of the peer over ours. Asked: a written parameter within 50 us by the next step; a reset, a ray and a
bound call of the tree algorithms as fast as the peer's; 2,000 rays 1.5 times as fast; bulk reads in 3 us; a
clone of the G1 in 5 ms. The humanoid is Gymnasium's, the G1 that of the Menagerie in WORLDLINE_MENAGERIE.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from worldline import simulation as sx
from worldline._src.step.samples import chain

TURNS, LEAST, RAYS = 60, 2e-4, 2000


class Row(NamedTuple):
    """A call of ours, that of a peer or None, and what is asked: a ratio, or microseconds without a peer."""

    name: str
    ours: Callable[[], object]
    theirs: Callable[[], object] | None
    asked: str


def measured(jobs: list[Callable[[], object]], turns: int = TURNS) -> list[np.ndarray]:
    """Microseconds of a call in every turn, by job; short calls are repeated within a turn."""
    repeats = []
    for job in jobs:
        job()
        start = time.perf_counter()
        job()
        repeats.append(max(1, int(LEAST / max(time.perf_counter() - start, 1e-9))))
    times = np.zeros((len(jobs), turns))
    for turn in range(turns):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            for _ in range(repeats[k]):
                job()
            times[k, turn] = (time.perf_counter() - start) / repeats[k] * 1e6
    return list(times)


def _models() -> dict[str, str]:
    """Files at hand, by name."""
    found = {}
    package = importlib.util.find_spec("gymnasium")
    if package is not None and package.origin is not None:
        found["humanoid"] = Path(package.origin).parent / "envs/mujoco/assets/humanoid.xml"
    menagerie = os.environ.get("WORLDLINE_MENAGERIE")
    if menagerie:
        found["g1"] = Path(menagerie) / "unitree_g1" / "scene.xml"
    return {name: str(path) for name, path in found.items() if path.exists()}


def _writes(path: str) -> list[tuple[str, Callable[[], object]]]:
    """A write and the step after it, without the step itself."""
    world = sx.World.from_file(path)
    world.step()
    robot = next(iter(world.multibodies))
    link, joint, count = robot.links[-1], robot.joints[-1], [0]
    joint.coulomb_friction, joint.velocity_limits = 0.1, 50.0

    def number() -> float:
        count[0] += 1
        return 1.0 + 1e-6 * (count[0] % 1000)

    writes: dict[str, Callable[[], object]] = {
        "gravity": lambda: setattr(world, "gravity", (0.0, 0.0, -9.81 * number())),
        "time step": lambda: setattr(world, "time_step", 1e-3 * number()),
        "mass of a link": lambda: setattr(link, "mass", number()),
        "centre of mass of a link": lambda: setattr(link, "center_of_mass", (0.0, 0.0, 0.01 * number())),
        "inertia of a link": lambda: setattr(link, "inertia", np.diag([1e-3, 1e-3, 1e-3 * number()])),
        "damping of a joint": lambda: setattr(joint, "damping_coefficient", number()),
        "stiffness of a joint": lambda: setattr(joint, "spring_stiffness", number()),
        "armature of a joint": lambda: setattr(joint, "armature", 0.01 * number()),
        "friction of a joint": lambda: setattr(joint, "coulomb_friction", 0.1 * number()),
        "velocity limits of a joint": lambda: setattr(joint, "velocity_limits", 50.0 * number()),
        "effort limits of a joint": lambda: setattr(joint, "effort_limits", 50.0 * number()),
        "gains of a joint": lambda: setattr(joint, "target_stiffness", number()),
        "limits of a joint": lambda: joint.set_position_limits(-number(), number()),
    }
    sim = world._live().sim

    def prepared(write: Callable[[], object]) -> Callable[[], object]:
        def call() -> None:
            write()
            # what the next step does before its stages
            _ = sim.stages

        return call

    return [(name, prepared(write)) for name, write in writes.items()]


def _rows_of_world(mujoco: Any, path: str) -> list[Row]:
    world = sx.World.from_file(path)
    world.step(n=5)
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # a reset clears the poses that rays are cast against
    other = mujoco.MjData(model)
    world.reset()
    robot = next(iter(world.multibodies))
    joints, links = robot.joints, robot.links
    top, down = np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, -5.0])
    ways = np.random.default_rng(0).normal(size=(RAYS, 3))
    ways[:, 2] = -np.abs(ways[:, 2])
    ways *= 6.0
    start = np.tile(top, (RAYS, 1))
    end, flat = start + ways, ways.ravel().copy()
    geom, geoms, share = np.zeros(1, np.int32), np.zeros(RAYS, np.int32), np.zeros(RAYS)
    # collision geometries alone, as in a World
    groups = np.array([group in _touching(model) for group in range(6)], np.uint8)
    return [
        Row("world.reset()", world.reset, lambda: mujoco.mj_resetData(model, other), "1.0"),
        Row(
            "world.raycast, one ray",
            lambda: world.raycast((0.0, 0.0, 3.0), (0.0, 0.0, -2.0)),
            lambda: mujoco.mj_ray(model, data, top, down, groups, 1, -1, geom),
            "1.0",
        ),
        Row(
            f"world.raycast, {RAYS} rays",
            lambda: world.raycast(start, end),
            lambda: mujoco.mj_multiRay(
                model, data, top, flat, groups, 1, -1, geoms, share, None, RAYS, mujoco.mjMAXVAL
            ),
            "1.5",
        ),
        Row("joints.position", lambda: joints.position, None, "3 us"),
        Row("joints.velocity", lambda: joints.velocity, None, "3 us"),
        Row("links.transforms", lambda: links.transforms, None, "3 us"),
        Row("world.time", lambda: world.time, None, ""),
        Row("world.contacts", lambda: world.contacts, None, ""),
        Row("world.step_report()", world.step_report, None, ""),
        Row("world.clone()", world.clone, None, "5000 us"),
        *(Row(f"{name}, until the next step", call, None, "50 us") for name, call in _writes(path)),
    ]


def _touching(model: Any) -> set[int]:
    """Groups of the geometries that can touch something."""
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return set(model.geom_group[touches].tolist())


def _rows_of_arm() -> list[Row]:
    import pinocchio as pin

    from benchmarks.pinocchio_models import pinocchio_model

    model = chain(7)
    theirs = pinocchio_model(model)
    data, last = theirs.createData(), theirs.njoints - 1
    q, v, tau = np.random.default_rng(0).normal(size=(3, 7))
    kinematics = wm.bind(wm.forward_kinematics, model, q)
    jacobian = wm.bind(wm.jacobian, model, q, 6)
    dynamics = wm.bind(wm.forward_dynamics, model, q, v, tau)
    return [
        Row("forward kinematics, bound", kinematics, lambda: pin.forwardKinematics(theirs, data, q), "1.0"),
        Row("jacobian, bound", jacobian, lambda: pin.computeJointJacobian(theirs, data, q, last), "1.0"),
        Row("forward dynamics, bound", dynamics, lambda: pin.aba(theirs, data, q, v, tau), "1.0"),
        Row(
            "forward kinematics",
            lambda: wm.forward_kinematics(model, q),
            lambda: pin.forwardKinematics(theirs, data, q),
            "",
        ),
        Row(
            "jacobian",
            lambda: wm.jacobian(model, q, 6),
            lambda: pin.computeJointJacobian(theirs, data, q, last),
            "",
        ),
        Row(
            "forward dynamics",
            lambda: wm.forward_dynamics(model, q, v, tau),
            lambda: pin.aba(theirs, data, q, v, tau),
            "",
        ),
    ]


def _print(console: Console, title: str, peer: str, rows: list[Row]) -> None:
    table = Table(title=title)
    for column in ("call", "best", "median", f"{peer}, best", "median", "ratio, best", "median", "asked"):
        table.add_column(column, justify="left" if column == "call" else "right")
    for row in rows:
        jobs = [row.ours] if row.theirs is None else [row.ours, row.theirs]
        times = measured(jobs)
        cells = []
        for found in times:
            cells += [f"{found.min():.2f}", f"{statistics.median(found.tolist()):.2f}"]
        if row.theirs is None:
            cells += [""] * 4
        else:
            best, middle = (times[1].min() / times[0].min(), np.median(times[1]) / np.median(times[0]))
            cells += [f"{best:.2f}", f"{middle:.2f}"]
        table.add_row(row.name, *cells, row.asked)
    console.print(table)


def run(console: Console) -> None:
    """Print a table for every model at hand."""
    title = "calls from Python on a chain of 7 joints, microseconds"
    _print(console, title, "Pinocchio", _rows_of_arm())
    try:
        import mujoco
    except ImportError:
        console.print("MuJoCo is not installed")
        return
    for name, path in _models().items():
        title = f"calls from Python, {name}, microseconds"
        _print(console, title, "MuJoCo", _rows_of_world(mujoco, path))
