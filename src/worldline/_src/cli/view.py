# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline view`: a scene on a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def view(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="An MJCF, URDF, SDF or MSD file; the robot of the demo when left out.", show_default=False
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Who can reach the page: this machine only, unless told otherwise.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port of the page; the next free one if taken.", min=1, max=65535)
    ] = 8080,
    fps: Annotated[float, typer.Option(help="Frames a second.", min=1.0, max=120.0)] = 30.0,
    keyframe: Annotated[str | None, typer.Option(help="Start from a keyframe of the scene.")] = None,
    play: Annotated[bool, typer.Option(help="Begin to play at once.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seconds: Annotated[
        float | None, typer.Option(help="End after this long; else with Ctrl-C.", min=0.0, hidden=True)
    ] = None,
) -> None:
    """Show a scene on a page in the browser: play it, pull at it, scrub through it, plot it.

    worldline view robot.xml

    On another machine, without a browser there: worldline view robot.xml --no-browser, and
    ssh -L 8080:localhost:8080 from here.
    """
    from worldline import simulation as sx
    from worldline._src.cli.demo import WALKER

    world = sx.World.from_file(WALKER if file is None else file)
    if keyframe is not None:
        world.apply_keyframe(keyframe)
    console = Console()
    with sx.view(world, host=host, port=port, fps=fps, play=play, open_browser=browser) as viewer:
        if len(world.report):
            console.print(f"{len(world.report)} notes on loading; worldline info tells them")
        console.print(f"[bold]{viewer.url}[/bold] shows {file or 'the robot of the demo'}; Ctrl-C ends it")
        viewer.wait(seconds)
