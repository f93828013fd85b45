# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Write losses: what a writer cannot express in its format.

A writer names the fields of a scene object that it has written; `WriteLosses.rest` notes every other field
that is not at its default, with its path. So a field that is added to the scene later is reported from its
first day, and nothing is dropped silently. Notes on things that are kept, but look different when they are
read back, come once for the whole file with a count.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from worldline._src.scene.base import Part, Struct, fields
from worldline._src.scene.report import Report


class WriteLosses:
    """The notes of a writer.

    Args:
        report: Where the notes go.
        language: The name of the format, for messages.
    """

    def __init__(self, report: Report, language: str) -> None:
        self.report = report
        self.language = language
        self._common: dict[str, list[str]] = {}
        self._seen: set[str] = set()

    def left_out(self, path: str, message: str = "") -> None:
        """Notes something that the format cannot say, once for each place."""
        if path not in self._seen:
            self._seen.add(path)
            self.report.left_out(path, message or f"{self.language} has no place for it")

    def approximated(self, path: str, message: str) -> None:
        """Notes something that is written with a changed meaning."""
        self.report.approximated(path, message)

    def kept(self, path: str, message: str) -> None:
        """Notes something that is written in full in another form; equal messages come as one in `finish`."""
        self._common.setdefault(message, []).append(path)

    def finish(self) -> None:
        """Hands over the notes that were gathered."""
        for message, paths in self._common.items():
            more = "" if len(paths) == 1 else f" (here and at {len(paths) - 1} more places)"
            self.report.kept(paths[0], message + more)
        self._common.clear()

    def rest(self, part: Struct, path: str, said: Collection[str], message: str = "") -> None:
        """Notes every field of an object that is neither written nor at its default.

        Args:
            part: The object of the scene.
            path: Where it stands.
            said: The fields that were written, or that mean nothing here.
            message: Why the others are not; a general sentence by default.
        """
        for name, known in fields(part).items():
            if name in said:
                continue
            value = getattr(part, name)
            if not known.compared or known.is_default(value):
                continue
            self._note(known.make(), value, f"{path}.{name}", message)

    def _note(self, default: Any, value: Any, path: str, message: str) -> None:
        entries: Collection[Any] = value
        if isinstance(value, Struct) and default is not None:
            self.rest(value, path, (), message)
        elif isinstance(value, list) and value and isinstance(value[0], Part | list):
            for index in range(len(entries)):
                self.left_out(f"{path}[{index}]", message)
        elif isinstance(value, dict):
            for key in entries:
                self.left_out(f"{path}[{key!r}]", message)
        else:
            self.left_out(path, message)
