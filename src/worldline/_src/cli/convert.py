# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline convert`: a scene file in another format, with everything that was lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldline._src.cli import common


def convert(
    file: common.SceneFile,
    output: Annotated[Path, typer.Argument(help="File to write; its suffix names the format.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if anything would be lost; ends with 1.")
    ] = False,
    defaults: Annotated[bool, typer.Option("--defaults", help="Write values that are defaults too.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", help="msd, msgpack, mjcf, urdf or sdf, whatever the suffix.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    assets: common.AssetFolders = None,
    allow_outside: common.Outside = False,
    as_json: common.AsJson = False,
) -> None:
    """Read a scene in one format and write it in another; reports what was approximated or left out.

    The suffix selects the format: .json and .msd are MSD JSON, .msgpack and .mpk MSD msgpack, .xml and .mjcf
    MJCF, .urdf URDF, .sdf and .world SDF. Two lists are shown: what the scene could not take over from the
    file that was read, and what the format that was written cannot say.

    \b
    Examples:
      worldline convert robot.urdf robot.json
      worldline convert scene.json scene.xml
      worldline convert scene.xml scene.msgpack --strict
      worldline convert world.sdf world.xml --json | jq .written_losses
    """
    from worldline._src.scene.formats.load import from_file

    if output.exists() and not force:
        raise common.refuse(f"{output} exists; add --force to replace it")
    if output.exists() and output.samefile(file):
        raise common.refuse("the output is the input")
    scene = from_file(file, strict=strict, asset_dirs=assets or (), allow_outside=allow_outside)
    written = scene.to_file(output, format=format, defaults=defaults, strict=strict)
    report = {
        "input": str(file),
        "output": str(output),
        "bytes": output.stat().st_size,
        "losses": common.losses(scene.report),
        "written_losses": common.losses(written),
    }
    if as_json:
        common.write_json(report)
        return
    console = common.results()
    console.print(f"{file} -> {output}, {report['bytes']:,} bytes", highlight=False, soft_wrap=True)
    common.show_losses(console, scene.report)
    common.show_losses(console, written, done="written")
