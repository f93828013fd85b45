# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline view`: a scene on a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldline._src.cli import common


def view(
    file: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            help="Scene file; the robot of the demo when left out.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; this machine only by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port of the page; the next free one if taken.", min=1, max=65535)
    ] = 8080,
    fps: Annotated[float, typer.Option(help="Frames a second.", min=1.0, max=120.0)] = 30.0,
    keyframe: Annotated[str | None, typer.Option(help="Start from this saved state of the file.")] = None,
    play: Annotated[bool, typer.Option(help="Begin to play at once.")] = False,
    shadows: Annotated[bool, typer.Option(help="Draw shadows; slow without a graphics card.")] = True,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seconds: Annotated[
        float | None, typer.Option(help="End after this long; else with Ctrl-C.", min=0.0)
    ] = None,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
) -> None:
    """Show a scene on a page in the browser: play it, pull at it, scrub through it, plot it.

    The page is reachable from this machine only, unless --host says otherwise. Ctrl-C ends it.

    \b
    Examples:
      worldline view                                the robot of the demo
      worldline view robot.xml --play
      worldline view robot.urdf --keyframe home --port 8090
      worldline view robot.xml --no-browser         on a machine without one
      ssh -L 8080:localhost:8080 that-machine       and then from your own
    """
    from worldline._src.cli.demo import WALKER
    from worldline._src.viewer.viewer import view as show

    world = common.load(WALKER if file is None else file, assets, allow_outside=allow_outside)
    common.start_from(world, keyframe)
    with show(
        world, host=host, port=port, fps=fps, shadows=shadows, play=play, open_browser=browser
    ) as viewer:
        console = common.results()
        if world.report.losses:
            console.print(f"{len(world.report.losses)} parts of the file were approximated or left out;")
            console.print(f"worldline info {file} lists them")
        console.print(
            f"[bold]{viewer.url}[/bold] shows {file or 'the robot of the demo'}; Ctrl-C ends it",
            soft_wrap=True,
        )
        viewer.wait(seconds)
