# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: `worldline COMMAND`, one file per command."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from worldline import __version__
from worldline._src.cli.bench import bench
from worldline._src.cli.capabilities import capabilities
from worldline._src.cli.check import check
from worldline._src.cli.common import numbers_in_range
from worldline._src.cli.convert import convert
from worldline._src.cli.demo import demo
from worldline._src.cli.doctor import doctor
from worldline._src.cli.info import info
from worldline._src.cli.render import render
from worldline._src.cli.rollout import rollout
from worldline._src.cli.run import run
from worldline._src.cli.schema import schema
from worldline._src.cli.view import view
from worldline._src.cli.warmup import warmup
from worldline._src.errors import WorldlineError


class _Commands(TyperGroup):
    """Commands in the order a person meets them; errors that a user can mend are text, not a trace."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # who reads has seen enough, as `| head` does; what is still held back must not be written either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (WorldlineError, OSError) as error:
            print(f"worldline: {_text(error)}", file=sys.stderr)
            raise typer.Exit(1) from None


def _text(error: Exception) -> str:
    """What went wrong, with the file where the system knows it."""
    if isinstance(error, OSError) and not isinstance(error, WorldlineError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _flowing(text: str | None) -> str:
    """A docstring whose paragraphs are filled by the terminal; examples, after \\b, keep their lines."""
    parts = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(part if part.startswith("\b") else " ".join(part.split()) for part in parts)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _command in (
    demo,
    view,
    render,
    run,
    rollout,
    info,
    check,
    convert,
    bench,
    doctor,
    warmup,
    capabilities,
    schema,
):
    app.command(help=_flowing(_command.__doc__))(numbers_in_range(_command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"worldline {__version__}")
        raise typer.Exit


def _group(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Worldline: multibody physics for robotics.

    Start with `worldline demo`. With a file of your own: `worldline info FILE` shows what is in it,
    `worldline check FILE` whether it is sound, `worldline view FILE` plays it on a page, `worldline run FILE`
    reports what it does, `worldline render FILE -o film.mp4` makes a film of it.

    Commands end with 0 when all is well, 1 when a problem was found, 2 when called wrongly. Results go to
    standard output, progress to standard error. Every command has `--help` with examples.
    """


app.callback(help=_flowing(_group.__doc__))(_group)


def main() -> None:
    """Run the command line; errors a user can mend are one line, not a trace."""
    # the first run on a machine compiles for a minute; every process that does takes some hundred megabytes
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("WORLDLINE_COMPILE_JOBS", str(min(able, 4)))
    try:
        app()
    except WorldlineError as error:
        print(f"worldline: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        # taking apart what the compiler left takes seconds, and the process ends anyway
        gc.freeze()
