# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline schema`: the JSON Schema of scene files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from worldline._src.cli import common


def schema(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; else printed.")
    ] = None,
) -> None:
    """Write the JSON Schema of scene files, for editors and validators.

    \b
    Examples:
      worldline schema -o scene.schema.json
      worldline schema | jq '."$defs" | keys'
    """
    from worldline._src.scene.formats.atomic_write import atomic_file
    from worldline._src.scene.schema import json_schema

    common.writable(output)
    text = json.dumps(json_schema(), indent=2)
    if output is None:
        typer.echo(text)
    else:
        with atomic_file(output) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
        typer.echo(f"schema written to {output}")
