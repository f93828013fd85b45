# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline bench`: steps per second of one file, beside MuJoCo where it is installed and reads the file.

Both engines run their own compiled loop on one thread, over the same simulated span from the start, with the
same time step; they take turns, and the best turn of each counts.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldline._src.cli import common

if TYPE_CHECKING:
    from worldline._src.facade.world import World

Turn = Callable[[], float]
"""Runs the span once from the start and returns the seconds it took."""


def bench(
    file: common.SceneFile,
    duration: Annotated[
        float, typer.Option("-d", "--duration", min=1e-6, help="Simulated span in seconds.")
    ] = 1.0,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="Turns; the best counts.")] = 5,
    peer: Annotated[bool, typer.Option("--peer/--no-peer", help="Also run MuJoCo when installed.")] = True,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Measure the steps per second of a scene file, and that of MuJoCo where it is installed.

    \b
    Examples:
      worldline bench humanoid.xml
      worldline bench robot.urdf --duration 5 --rounds 10
      worldline bench ant.xml --json
    """
    world = common.load(file, assets, allow_outside=allow_outside)
    world.enter_simulation_mode()
    count = max(1, round(duration / world.time_step))
    turns = {"worldline": _own_turn(world, count)}
    reason = None
    if peer:
        theirs, reason = _mujoco_turn(file, world.time_step, count)
        if theirs is not None:
            turns["mujoco"] = theirs
    best = dict.fromkeys(turns, float("inf"))
    for turn in turns.values():
        turn()  # the first compiles, and fills caches
    for _ in common.followed(range(rounds), "measuring", rounds):
        for name, turn in turns.items():
            best[name] = min(best[name], turn())
    metrics = world.compute_step_metrics()
    report: dict[str, Any] = {
        "file": str(file),
        "time_step": world.time_step,
        "steps": count,
        "rounds": rounds,
        "dofs": world._live().model.joint_dof_count,
        "contacts_at_the_end": metrics.active_contact_count,
        "engines": {
            name: {
                "steps_per_second": count / seconds,
                "microseconds_per_step": 1e6 * seconds / count,
                "real_time_factor": count * world.time_step / seconds,
            }
            for name, seconds in best.items()
        },
        "ratio_to_mujoco": best["mujoco"] / best["worldline"] if "mujoco" in best else None,
        "no_peer_because": reason,
    }
    if as_json:
        common.write_json(report)
        return
    console = common.results()
    made = common.table(
        f"{file.name}: {count} steps of {world.time_step:g} s, {report['dofs']} dofs, one thread",
        "engine",
        "steps/s",
        "us/step",
        "x real time",
    )
    for name, row in report["engines"].items():
        made.add_row(
            {"worldline": "Worldline", "mujoco": "MuJoCo"}[name],
            f"{row['steps_per_second']:,.0f}",
            f"{row['microseconds_per_step']:.2f}",
            f"{row['real_time_factor']:,.1f}",
        )
    console.print(made)
    if report["ratio_to_mujoco"] is not None:
        console.print(f"{report['ratio_to_mujoco']:.2f} x the steps per second of MuJoCo")
    elif reason:
        console.print(f"no comparison with MuJoCo: {reason}", highlight=False)


def _own_turn(world: World, count: int) -> Turn:
    def turn() -> float:
        world.reset()
        start = time.perf_counter()
        world.step(n=count)
        return time.perf_counter() - start

    return turn


def _mujoco_turn(file: Path, time_step: float, count: int) -> tuple[Turn | None, str | None]:
    """The same span in MuJoCo, or why there is none."""
    if importlib.util.find_spec("mujoco") is None:
        return None, "the package mujoco is not installed"
    if file.suffix.lower() not in (".xml", ".mjcf", ".urdf"):
        return None, f"it does not read {file.suffix} files"
    mujoco: Any = importlib.import_module("mujoco")
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        return None, f"it refuses the file: {str(error).splitlines()[0]}"
    model.opt.timestep = time_step
    data = mujoco.MjData(model)

    def turn() -> float:
        mujoco.mj_resetData(model, data)
        start = time.perf_counter()
        mujoco.mj_step(model, data, count)
        return time.perf_counter() - start

    return turn, None
