# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline capabilities`: what this build can do, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def capabilities(
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="As the page of the documentation.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; else printed.")
    ] = None,
) -> None:
    """Show what can be asked of a World, and what has a name but is not available."""
    from worldline._src.facade import capabilities as matrix

    if as_markdown:
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
        output.write_text(text, encoding="utf-8")
        typer.echo(f"capabilities written to {output}")
