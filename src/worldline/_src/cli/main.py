# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: `worldline COMMAND`, one file per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from worldline import __version__
from worldline._src.cli.capabilities import capabilities
from worldline._src.cli.demo import demo
from worldline._src.cli.schema import schema
from worldline._src.cli.warmup import warmup
from worldline._src.errors import WorldlineError

app = typer.Typer(
    help="Worldline: multibody physics for robotics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(capabilities)
app.command()(demo)
app.command()(schema)
app.command()(warmup)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"worldline {__version__}")
        raise typer.Exit


@app.callback()
def _group(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Worldline: multibody physics for robotics."""


def main() -> None:
    """Run the command line; errors a user can mend are one line, not a trace."""
    try:
        app()
    except WorldlineError as error:
        print(f"worldline: {error}", file=sys.stderr)
        raise SystemExit(1) from None
