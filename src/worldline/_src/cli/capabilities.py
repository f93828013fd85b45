# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline capabilities`: what this build can do, row by row."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from worldline._src.cli import common
from worldline._src.scene.formats.atomic_write import atomic_file


def capabilities(
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="As the page of the documentation.")
    ] = False,
    as_json: common.AsJson = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; else printed.")
    ] = None,
) -> None:
    """Show the supported features, and those that are named but not implemented.

    \b
    Examples:
      worldline capabilities
      worldline capabilities --json | jq '.[] | {row, unavailable}'
      worldline capabilities --markdown -o docs/capabilities.md
    """
    from worldline._src.facade import capabilities as matrix

    common.writable(output)
    if as_json:
        text = json.dumps([asdict(row) for row in matrix.capabilities()], indent=2) + "\n"
    elif as_markdown:
        text = matrix.markdown()
    else:
        blocks = []
        for row in matrix.capabilities():
            block = [row.row, *(f"  + {name}" for name in row.available)]
            blocks.append("\n".join([*block, *(f"  - {name}" for name in row.unavailable)]))
        text = "\n".join(blocks) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        with atomic_file(output) as partial:
            partial.write_text(text, encoding="utf-8")
        typer.echo(f"capabilities written to {output}")
