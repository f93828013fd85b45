# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline check`: is a scene valid, complete, and stable with its time step?"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
from rich.markup import escape

from worldline._src.cli import checks, common
from worldline._src.errors import SceneError

_COLOURS = {checks.ERROR: "red", checks.WARNING: "yellow", checks.NOTE: "cyan"}


def check(
    file: common.SceneFile,
    duration: Annotated[
        float,
        typer.Option("-d", "--duration", min=0.0, help="Seconds of the trial run, simulated; 0 for none."),
    ] = 2.0,
    keyframe: Annotated[str | None, typer.Option(help="Start from this saved state of the file.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as problems too.")] = False,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Validate a scene and try it: losses, overlaps, stiff springs, growing energy, penetration, blow-ups.

    Ends with 0 when nothing is wrong, with 1 when there are errors (with --strict: or warnings).

    \b
    Examples:
      worldline check robot.xml
      worldline check robot.urdf --duration 10 --strict
      worldline check scene.json --duration 0 --json
    """
    findings: list[checks.Finding] = []
    trial: dict[str, Any] | None = None
    try:
        world = common.load(file, assets, allow_outside=allow_outside)
    except SceneError as error:
        texts = [str(problem) for problem in error.problems] or [str(error)]
        findings += [checks.Finding(checks.ERROR, "invalid", text) for text in texts]
    else:
        common.start_from(world, keyframe)
        findings += checks.before_a_step(world)
        if duration > 0.0 and common.obstacle(world) is None:
            with common.progress() as bar:
                task = bar.add_task("trial run", total=checks.PORTIONS)
                watch, found = checks.while_it_runs(world, duration, lambda: bar.advance(task))
            findings += found
            trial = {
                "simulated_time": world.time,
                "energy_start": watch.start,
                "energy_end": watch.energies[-1],
                "energy_growth": watch.growth,
                "kinetic_energy_most": watch.kinetic,
                "penetration_most": watch.depth,
                "speed_most": watch.speed,
            }
    counts = Counter(finding.level for finding in findings)
    bad = counts[checks.ERROR] + (counts[checks.WARNING] if strict else 0)
    if as_json:
        common.write_json(
            {
                "file": str(file),
                "good": bad == 0,
                "findings": [finding._asdict() for finding in findings],
                "trial": trial,
            }
        )
    else:
        _show(findings, trial, counts)
    if bad:
        raise typer.Exit(1)


def _show(findings: list[checks.Finding], trial: dict[str, Any] | None, counts: Counter[str]) -> None:
    console = common.results()
    for level, kind, message in findings:
        colour = _COLOURS[level]
        console.print(
            f"[{colour}]{level}[/{colour}] {kind}: {escape(message)}", highlight=False, soft_wrap=True
        )
    if trial is not None:
        console.print(
            f"ran for {trial['simulated_time']:g} s: energy {trial['energy_start']:.4g} to "
            f"{trial['energy_end']:.4g} J, deepest overlap {1e3 * trial['penetration_most']:.3g} mm, "
            f"top speed {trial['speed_most']:.3g} m/s",
            highlight=False,
        )
    parts = [f"{n} {level}{'s' * (n > 1)}" for level in _COLOURS if (n := counts[level])]
    console.print(", ".join(parts) if parts else "nothing found")
