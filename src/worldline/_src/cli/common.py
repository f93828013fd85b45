# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the commands: arguments, loading with a progress line, tables, JSON, exit codes.

Results go to standard output, progress and remarks to standard error, so that `--json` can be piped. Commands
end with 0 when all is well, 1 when a problem was found, 2 when they were called wrongly.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from worldline._src.errors import WorldlineError, nearest_name

if TYPE_CHECKING:
    from worldline._src.facade.world import World
    from worldline._src.scene.report import Report

SceneFile = Annotated[
    Path,
    typer.Argument(
        exists=True,
        dir_okay=False,
        readable=True,
        help="Scene file: MJCF, URDF, SDF, MSD JSON or MSD msgpack.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the result as one JSON document.")]
AssetFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--assets",
        exists=True,
        file_okay=False,
        help="Folder to look for meshes and packages in; may be repeated.",
    ),
]
Outside = Annotated[
    bool, typer.Option("--allow-outside", help="Let includes and assets lie outside those folders.")
]


def remarks() -> Console:
    """Where progress goes: standard error."""
    return Console(stderr=True)


def progress(field: str | None = None) -> Progress:
    """A progress bar on standard error, removed when done; none where the output is not a terminal.

    field: of a task, shown behind its bar.
    """
    console = remarks()
    columns: list[ProgressColumn] = []
    if field is not None:
        shown = TextColumn(f"{{task.fields[{field}]}}")
        columns = [TextColumn("{task.description}"), BarColumn(), shown, TimeRemainingColumn()]
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def followed(items: Iterable[Any], what: str, count: int) -> Iterator[Any]:
    """The items, with a bar that shows how far they are."""
    with progress() as bar:
        yield from bar.track(items, total=count, description=what)


def results() -> Console:
    """Where results go: standard output."""
    return Console()


def refuse(message: str) -> typer.BadParameter:
    """An error of usage: exit code 2, with the usage line before it."""
    return typer.BadParameter(message)


def numbers_in_range(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with its numbers checked first: floats are finite, whole numbers have 64 bits."""

    @wraps(command)
    def checked(**given: Any) -> None:
        for name, value in given.items():
            option = f"--{name.replace('_', '-')}"
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not math.isfinite(number):
                    raise refuse(f"{option} must be finite, got {number}")
                if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
                    raise refuse(f"{option} must be within the range of a 64-bit integer")
        command(**given)

    return checked


def writable(output: Path | None, suffixes: Collection[str] = (), option: str = "--output") -> None:
    """Refuse an output file that cannot be written, before work is done for it."""
    if output is None:
        return
    if suffixes and output.suffix.lower() not in suffixes:
        raise refuse(f"{option} must end in {' or '.join(suffixes)}, got '{output.name}'")
    if output.is_dir():
        raise refuse(f"{option} must be a file, got the folder '{output}'")
    if not output.parent.is_dir():
        raise refuse(f"{option} must be in a folder that exists, got '{output}'")
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        raise refuse(f"{option} must be a file that can be written, got '{output}'")


def load(file: Path, assets: list[Path] | None = None, *, allow_outside: bool = False) -> World:
    """A World from a file."""
    from worldline._src.facade.loading import ReadOptions
    from worldline._src.facade.world import World

    options = ReadOptions(package_directories=assets or [], allow_outside=allow_outside)
    return World.from_file(file, read_options=options)


def start_from(world: World, keyframe: str | None) -> None:
    """Take a saved state of the file; a name that it does not have is wrong usage."""
    if keyframe is None:
        return
    known = world.keyframes
    if keyframe not in known:
        hint = nearest_name(keyframe, known)
        raise refuse(f"the file has no keyframe '{keyframe}'{hint}; it has: {', '.join(known) or 'none'}")
    world.apply_keyframe(keyframe)


def obstacle(world: World) -> str | None:
    """Why the World cannot step; None when it can."""
    from worldline._src.facade.requirements import require_step

    try:
        require_step(world)
    except WorldlineError as error:
        return str(error)
    return None


def write_json(data: Any) -> None:
    """One JSON document on standard output; infinities, which JSON does not have, become null."""
    typer.echo(json.dumps(plain(data), indent=2))


def plain(value: Any) -> Any:
    """Maps, lists and numbers that JSON can hold."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def losses(report: Report) -> list[dict[str, Any]]:
    """What was approximated or left out, as maps."""
    return [
        {
            "fate": entry.fate.value,
            "path": entry.path,
            "message": entry.message,
            "file": entry.file,
            "line": entry.line,
            "may_change_motion": entry.may_move,
        }
        for entry in report.losses
    ]


def show_losses(console: Console, report: Report, most: int = 20, *, done: str = "read") -> None:
    """Print what was approximated or left out, what may change motion first."""
    entries = sorted(report.losses, key=lambda entry: not entry.may_move)
    if not entries:
        console.print(f"{done} without loss")
        return
    moving = sum(entry.may_move for entry in entries)
    console.print(f"{done}: {len(entries)} parts approximated or left out, {moving} may change motion:")
    # the same note of many parts is said once, with the first of them
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for entry in entries:
        groups.setdefault((entry.fate, entry.message, entry.may_move), []).append(entry)
    for group in list(groups.values())[:most]:
        first, count = group[0], len(group)
        mark = "!" if first.may_move else "-"
        also = "" if count == 1 else f" ({count} parts, this is the first)"
        console.print(f"  {mark} {escape(str(first))}{also}", highlight=False)
    if len(groups) > most:
        console.print(f"  ... and {len(groups) - most} more kinds; --json lists all")


def place(point: Iterable[float]) -> str:
    """A point in metres for people; what is left of rounding is zero."""
    return "({}) m".format(", ".join(f"{0.0 if abs(x) < 1e-12 else x:.4g}" for x in point))


def table(title: str, *columns: str) -> Table:
    """A table of text, then numbers; without a head when the columns have no names."""
    made = Table(title=title, title_justify="left", show_header=any(columns))
    for k, column in enumerate(columns):
        made.add_column(column, justify="left" if k == 0 else "right")
    return made
