# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline run`: simulate a scene file, record it, and report the results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from worldline._src.cli import common
from worldline._src.errors import nearest_name

if TYPE_CHECKING:
    from worldline._src.facade.world import World

PORTIONS = 100
"""How often a run is looked at: for the progress bar and for the extremes of its report."""
WRITERS = (".wlr", ".npz", ".csv", ".html")
"""Suffixes of recordings."""


def run(
    file: common.SceneFile,
    duration: Annotated[
        float | None, typer.Option("-d", "--duration", min=0.0, help="Seconds to simulate; 5 unless --steps.")
    ] = None,
    steps: Annotated[int | None, typer.Option("-n", "--steps", min=0, help="Number of steps.")] = None,
    time_step: Annotated[
        float | None,
        typer.Option("--time-step", min=1e-9, help="Seconds of a step; the file's own by default."),
    ] = None,
    keyframe: Annotated[str | None, typer.Option(help="Start from this saved state of the file.")] = None,
    control: Annotated[
        list[str] | None, typer.Option(help="ACTUATOR=VALUE, constant during the run; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Recording to write: .wlr, .npz, .csv, or .html that replays."),
    ] = None,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Simulate a scene file, record it on request, and report energy, contacts and speed.

    Ends with 1 when a step failed; what was recorded until then is written all the same.

    \b
    Examples:
      worldline run robot.xml                       five seconds from the start
      worldline run robot.xml -d 2 -o fall.html     a page that replays it
      worldline run robot.xml --keyframe home --control elbow=0.5 -o run.wlr
      worldline run robot.urdf -n 1000 --json | jq .steps_per_second
    """
    if duration is not None and steps is not None:
        raise common.refuse("give --duration or --steps, not both")
    common.writable(output, WRITERS)
    world = common.load(file, assets, allow_outside=allow_outside)
    if time_step is not None:
        world.time_step = time_step
    common.start_from(world, keyframe)
    _hold_controls(world, control or [])
    count = steps if steps is not None else round((5.0 if duration is None else duration) / world.time_step)
    report = simulate(world, count, record=output is not None)
    report = {"file": str(file), **report, "losses": len(world.report.losses)}
    if output is not None:
        write_recording(world, output)
        report["output"] = str(output)
    if as_json:
        common.write_json(report)
    else:
        _show(report)
    if report["failure"] is not None:
        raise typer.Exit(1)


def _hold_controls(world: World, given: list[str]) -> None:
    """Set the controls that were given as NAME=VALUE."""
    if not given:
        return
    names, values = world.actuator_names, world.actuator_controls.copy()
    for text in given:
        name, equals, number = text.partition("=")
        if not equals:
            raise common.refuse(f"--control takes ACTUATOR=VALUE with a number, got '{text}'")
        if name not in names:
            hint = nearest_name(name, names)
            raise common.refuse(f"no actuator '{name}'{hint}; there are: {', '.join(names) or 'none'}")
        try:
            values[names.index(name)] = float(number)
        except ValueError:
            raise common.refuse(f"--control takes ACTUATOR=VALUE with a number, got '{text}'") from None
    world.actuator_controls = values


def simulate(world: World, count: int, *, record: bool = False) -> dict[str, Any]:
    """Make `count` steps with a progress bar; a report with what was met on the way."""
    from worldline._src.errors import StepFailure

    world.enter_simulation_mode()
    if record:
        world.replay_recording_enabled = True
    start = world.compute_step_metrics()
    energy = [start.total_energy]
    deepest, contacts, iterations, failure = 0.0, 0, 0, None
    spent = 0.0
    bar = common.progress("clock")
    first_frame, first_time = world.frame, world.time
    # the first steps may compile; they must not count as speed
    warm = min(count, 1)
    with bar:
        task = bar.add_task("simulating", total=count, clock="")
        while (left := count - (world.frame - first_frame)) > 0:
            many = warm if world.frame == first_frame else min(left, max(1, count // PORTIONS))
            begun = time.perf_counter()
            try:
                world.step(n=many)
            except StepFailure as error:
                failure = error
                break
            if world.frame - first_frame > warm:
                spent += time.perf_counter() - begun
            now = world.compute_step_metrics()
            energy.append(now.total_energy)
            deepest = max(deepest, now.max_penetration_depth)
            contacts = max(contacts, now.active_contact_count)
            iterations = max(iterations, now.last_step_iterations)
            bar.update(task, completed=world.frame - first_frame, clock=f"{world.time:.2f} s")
    made = world.frame - first_frame
    timed = made - warm
    end = world.compute_step_metrics()
    return {
        "steps": made,
        "time_step": world.time_step,
        "simulated_time": world.time - first_time,
        "end_time": world.time,
        "wall_time": spent,
        "steps_per_second": timed / spent if spent > 0.0 else 0.0,
        "real_time_factor": timed * world.time_step / spent if spent > 0.0 else 0.0,
        "energy_start": energy[0],
        "energy_end": end.total_energy,
        "energy_lowest": float(np.min(energy)),
        "energy_highest": float(np.max(energy)),
        "kinetic_energy_end": end.kinetic_energy,
        "center_of_mass_end": world.center_of_mass,
        "contacts_end": end.active_contact_count,
        "contacts_most": contacts,
        "penetration_most": deepest,
        "solver_iterations_most": iterations,
        "failure": None if failure is None else str(failure),
    }


def write_recording(world: World, path: Path) -> None:
    """Write what was recorded, in the form that the suffix names."""
    suffix = path.suffix.lower()
    if suffix == ".html":
        from worldline._src.facade.replay_page import write_page

        write_page(world, path)
        return
    recording = world.recording
    {".wlr": recording.save, ".npz": recording.to_npz, ".csv": recording.to_csv}[suffix](path)


def _show(report: dict[str, Any]) -> None:
    console = common.results()
    made = common.table(f"{report['file']}", "", "")
    made.columns[1].justify = "left"
    rows = (
        ("steps", f"{report['steps']} of {report['time_step']:g} s"),
        ("simulated time", f"{report['simulated_time']:g} s"),
        ("speed", f"{report['steps_per_second']:,.0f} steps/s, {report['real_time_factor']:.1f} x real time"),
        ("energy", f"{report['energy_start']:.6g} J at the start, {report['energy_end']:.6g} J at the end"),
        ("energy, range", f"{report['energy_lowest']:.6g} to {report['energy_highest']:.6g} J"),
        ("contacts", f"{report['contacts_end']} at the end, {report['contacts_most']} at most"),
        ("deepest overlap", f"{1e3 * report['penetration_most']:.3g} mm"),
        ("solver iterations", f"{report['solver_iterations_most']} at most"),
        ("centre of mass", f"{common.place(report['center_of_mass_end'])} at the end"),
    )
    for row in rows:
        made.add_row(*row)
    console.print(made)
    if report["losses"]:
        console.print(f"{report['losses']} parts were lost at loading; `worldline info` lists them")
    if "output" in report:
        console.print(f"recording written to {report['output']}", highlight=False, soft_wrap=True)
    if report["failure"] is not None:
        common.remarks().print(f"[bold]the run failed:[/bold] {report['failure']}", highlight=False)
