# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline rollout`: step many worlds of a scene file and report the speed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from worldline._src.cli import common

if TYPE_CHECKING:
    from worldline._src.facade.batch.world_batch import WorldBatch

PORTION = 0.2
"""Seconds between two looks at the progress."""


def rollout(
    file: common.SceneFile,
    worlds: Annotated[int, typer.Option("-w", "--worlds", min=1, help="Number of worlds.")] = 256,
    steps: Annotated[int, typer.Option("-n", "--steps", min=1, help="Number of steps.")] = 1000,
    threads: Annotated[int, typer.Option(min=0, help="Processors to use, 0 for all.")] = 0,
    keyframe: Annotated[str | None, typer.Option(help="Start from this saved state of the file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the controls and of the spread.")] = 0,
    spread: Annotated[
        float, typer.Option(min=0.0, help="Standard deviation of the velocities that worlds start with.")
    ] = 0.0,
    idle: Annotated[
        bool, typer.Option("--idle", help="Leave controls as they are; random and constant by default.")
    ] = False,
    layout: Annotated[str, typer.Option(help="auto, lanes or threads.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File for the final states, .npz.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="File for a picture of the final states of the first 64 worlds, .png.")
    ] = None,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Step many worlds of a scene file at once, and report speed and worlds that failed.

    Every world has controls of its own, drawn by its index. Ends with 1 when a world diverged; the others run
    on.

    \b
    Examples:
      worldline rollout robot.xml --worlds 4096 --steps 1000
      worldline rollout robot.xml -w 64 -n 200 --spread 0.1 -o final.npz
      worldline rollout robot.xml -w 64 -n 200 --picture worlds.png
      worldline rollout robot.xml --json | jq .world_steps_per_second
    """
    common.writable(output, (".npz",))
    common.writable(picture, (".png",), "--picture")
    from worldline._src.facade.batch.layout_choice import LAYOUTS
    from worldline._src.facade.batch.world_batch import WorldBatch
    from worldline._src.scene.formats.atomic_write import atomic_file

    if layout not in LAYOUTS:
        raise common.refuse(f"--layout must be one of {', '.join(LAYOUTS)}, got '{layout}'")
    world = common.load(file, assets, allow_outside=allow_outside)
    common.start_from(world, keyframe)
    batch = WorldBatch(world, worlds, layout=layout, divergence_policy="freeze")
    _scatter(batch, seed, spread, idle)
    report = {"file": str(file), **simulate(batch, steps, threads)}
    if output is not None:
        # a handle of its own: NumPy would add a suffix where it differs in case
        with atomic_file(output) as partial, partial.open("wb") as stream:
            np.savez(
                stream,
                joint_positions=batch.joint_positions,
                joint_velocities=batch.joint_velocities,
                controls=batch.controls,
                time=batch.time,
                frozen=batch.frozen,
            )
        report["output"] = str(output)
    if picture is not None:
        from worldline._src.render.batch_pictures import render_batch
        from worldline._src.render.files import write_picture

        write_picture(picture, render_batch(batch))
        report["picture"] = str(picture)
    if as_json:
        common.write_json(report)
    else:
        _show(report)
    if report["failures"]:
        raise typer.Exit(1)


def _scatter(batch: WorldBatch, seed: int, spread: float, idle: bool) -> None:
    """Controls and velocities of every world, drawn by itself: the same in a batch of any size."""
    table = batch.model.actuators
    for w in range(batch.num_worlds):
        rng = np.random.default_rng([seed, w])
        if table is not None and not idle:
            low, high = table.control_range.T
            low, high = np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)
            batch.controls[w] = rng.uniform(low, high)
        if spread:
            batch.joint_velocities[w] += spread * rng.normal(size=batch.joint_velocities.shape[1])


def simulate(batch: WorldBatch, count: int, threads: int) -> dict[str, Any]:
    """Make `count` steps with a progress bar; a report of speed and failures."""
    bar = common.progress("speed")
    done, spent, many = 0, 0.0, 1
    with bar:
        task = bar.add_task(f"{batch.num_worlds} worlds in {batch.layout}", total=count, speed="")
        while done < count:
            begun = time.perf_counter()
            batch.step(min(many, count - done), threads=threads)
            took = time.perf_counter() - begun
            # the first step may compile; it must not count as speed
            spent += took if done else 0.0
            done += min(many, count - done)
            many = max(1, min(2 * many, int(many * PORTION / max(took, 1e-9))))
            speed = batch.num_worlds * (done - 1) / spent if spent else 0.0
            bar.update(task, completed=done, speed=f"{speed:,.0f} world-steps/s")
    speed = batch.num_worlds * (done - 1) / spent if spent else 0.0
    return {
        "worlds": batch.num_worlds,
        "steps": done,
        "time_step": batch.time_step,
        "layout": batch.layout,
        "threads": threads,
        "reason": batch.resolved_configuration[0].reason,
        "wall_time": spent,
        "world_steps_per_second": speed,
        "real_time_factor": speed * batch.time_step,
        "fingerprint": batch.fingerprint(),
        "failures": [str(failure) for failure in batch.failures],
    }


def _show(report: dict[str, Any]) -> None:
    made = common.table(f"{report['file']}", "", "")
    made.columns[1].justify = "left"
    failures = report["failures"]
    rows = (
        ("worlds", f"{report['worlds']} in {report['layout']}: {report['reason']}"),
        ("steps", f"{report['steps']} of {report['time_step']:g} s"),
        ("speed", f"{report['world_steps_per_second']:,.0f} world-steps/s"),
        ("real time", f"{report['real_time_factor']:,.1f} x, all worlds together"),
        ("fingerprint", report["fingerprint"]),
        ("failed worlds", "none" if not failures else "\n".join([str(len(failures)), *failures[:5]])),
    )
    for row in rows:
        made.add_row(*row)
    common.results().print(made)
