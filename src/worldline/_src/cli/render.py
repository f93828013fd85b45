# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline render`: a picture or a film of a scene, without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldline._src.cli import common

if TYPE_CHECKING:
    import numpy as np

    from worldline._src.facade.world import World
    from worldline._src.render.renderer import Renderer


def render(
    file: common.SceneFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="What to write: .png, .gif or .mp4.", show_default=False)
    ],
    camera: Annotated[
        str | None, typer.Option(help="A camera of the scene; else one that has everything in view.")
    ] = None,
    position: Annotated[
        tuple[float, float, float] | None, typer.Option(help="Where a free camera is, in metres.")
    ] = None,
    target: Annotated[
        tuple[float, float, float] | None,
        typer.Option(help="What a free camera looks at, in metres; the origin by default."),
    ] = None,
    fovy: Annotated[
        float | None, typer.Option(help="Vertical view of a free camera, in degrees; 45 by default.")
    ] = None,
    width: Annotated[int | None, typer.Option(help="Width in pixels.", min=1, max=8192)] = None,
    height: Annotated[int | None, typer.Option(help="Height in pixels.", min=1, max=8192)] = None,
    start: Annotated[
        float, typer.Option(help="Simulate so many seconds before the first picture.", min=0.0)
    ] = 0.0,
    duration: Annotated[
        float | None, typer.Option(help="Simulated seconds of a film; 3 by default.", min=0.0)
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Pictures a second of a film; 25 by default.", min=1.0, max=240.0)
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="Simulated seconds in a second of a film; 1 by default.", min=0.001)
    ] = None,
    keyframe: Annotated[str | None, typer.Option(help="Start from this saved state of the file.")] = None,
    shadows: Annotated[bool, typer.Option(help="Whether the sun casts shadows.")] = True,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
) -> None:
    """Draw a scene into a file: a PNG of how it starts, or a GIF or MP4 of how it moves.

    No screen is needed.

    \b
    Examples:
      worldline render robot.xml -o robot.png
      worldline render robot.xml -o later.png --start 1.5 --camera side
      worldline render robot.xml -o large.png --width 1280 --height 720
      worldline render robot.xml -o fall.mp4 --duration 2 --position 3 1 1.5
      worldline render robot.xml -o slow.gif --duration 0.5 --speed 0.2
    """
    from worldline._src.drawing.cameras import LookAt
    from worldline._src.render import files
    from worldline._src.render.renderer import Renderer

    common.writable(output, files.SUFFIXES)
    if camera is not None and position is not None:
        raise common.refuse("give --camera or --position, not both")
    if position is None:
        _unused("--position", target=target, fovy=fovy)
        chosen = camera
    else:
        target, fovy = target or (0.0, 0.0, 0.0), 45.0 if fovy is None else fovy
        chosen = LookAt(position, target, fovy)
    if output.suffix.lower() == ".png":
        _unused("a film", duration=duration, fps=fps, speed=speed)
    world = common.load(file, assets, allow_outside=allow_outside)
    common.start_from(world, keyframe)
    if start > 0.0:
        world.step(n=max(1, round(start / world.time_step)))
    console = common.results()
    with Renderer(world, width, height, shadows=shadows) as renderer:
        if output.suffix.lower() == ".png":
            rgb = renderer.render(chosen).rgb
            assert rgb is not None
            files.write_picture(output, rgb)
            console.print(f"{output}: {rgb.shape[1]} x {rgb.shape[0]} pixels, time {world.time:g} s")
            return
        duration, fps = 3.0 if duration is None else duration, fps or 25.0
        speed = speed or 1.0
        count = max(1, round(duration / speed * fps))
        frames = _frames(world, renderer, chosen, count, speed / fps)
        made = files.write_film(output, common.followed(frames, "drawing", count), fps)
    console.print(f"{output}: {made} pictures, {made / fps:g} s, up to time {world.time:g} s")


def _unused(needed: str, **given: Any) -> None:
    """Refuse options that would not act without what they need."""
    for name, value in given.items():
        if value is not None:
            raise common.refuse(f"--{name} acts only with {needed}")


def _frames(
    world: World, renderer: Renderer, camera: Any, count: int, interval: float
) -> Iterator[np.ndarray]:
    """Pictures of a World as it runs, one for every interval [s]."""
    first = world.time
    for k in range(count):
        due = round((first + k * interval - world.time) / world.time_step)
        if due > 0:
            world.step(n=due)
        rgb = renderer.render(camera).rgb
        assert rgb is not None
        yield rgb
