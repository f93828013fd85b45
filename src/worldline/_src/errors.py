# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The one small hierarchy of errors.

Every error is a `WorldlineError` and also the built-in kind a caller would expect: a bad argument is a
`ValueError`, a wrong mode or a dead handle a `RuntimeError`, a missing capability a
`NotImplementedError`. Messages say what was given, what is allowed, and where. A call that raises one
has changed nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple


class WorldlineError(Exception):
    """Base class of everything Worldline raises on purpose."""


class ArgumentError(WorldlineError, ValueError):
    """An argument has a wrong shape, type, range or reference."""


class OperationError(WorldlineError, RuntimeError):
    """The call is not possible now: wrong mode, dead or foreign handle."""


class CapabilityError(WorldlineError, NotImplementedError):
    """A named capability that this build does not have."""


class Problem(NamedTuple):
    """One thing that is wrong with a scene: where it is, and what was given against what is allowed.

    `path` leads into the scene (`$.hierarchy.bodies[0].link.name`) or into a file's elements; `file` and
    `line` are known when the scene came from a file that has lines.
    """

    path: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}"
        path = self.path
        if len(path) > 240:
            # a link at the end of a long chain; the attribute keeps all of it
            path = f"{path[:100]} ... {path[-100:]}"
        return ": ".join(part for part in (place, path, self.message) if part)


class SceneError(ArgumentError):
    """A scene or a scene file that cannot be used; carries every problem found, not just the first.

    Attributes:
        problems: All problems as a tuple of `Problem`; empty when the message says it all.
    """

    def __init__(self, message: str = "", problems: Iterable[Problem] = ()) -> None:
        self.message = message
        self.problems: tuple[Problem, ...] = tuple(problems)
        lines = [message] if message else []
        lines += [f"  {problem}" if message else str(problem) for problem in self.problems]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[SceneError], tuple[str, tuple[Problem, ...]]]:
        # the default would hand the joined text back as the message and lose the problems
        return type(self), (self.message, self.problems)


class NotFoundError(WorldlineError, KeyError):
    """A required lookup by name found nothing."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which hides the sentence in quotes
        return str(self.args[0]) if self.args else ""


def nearest_name(name: str, candidates: Iterable[str]) -> str:
    """A hint such as "; did you mean 'elbow'?", empty when nothing is close."""
    close = difflib.get_close_matches(name, list(candidates), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
