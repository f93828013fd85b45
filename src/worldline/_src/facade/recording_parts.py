# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of a recording beside its matrix: how its frames continue, and what its sensors read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array


class Continuations(NamedTuple):
    """What it takes to simulate on from frames, bit for bit."""

    before: Mapping[int, Array]
    """State before the step that made a frame, by frame, where it was not the state of the frame before."""
    memory: Sequence[Mapping[str, Array]]
    """Contacts of the step and sleeping islands, of every frame; see `step/contact_memory.py`."""
    memory_before: Mapping[int, Mapping[str, Array]]
    """The same of the states in `before`."""


class SensorReadings:
    """Readings of sensors in all frames, (frames, dim); read on first use, which may take long."""

    def __init__(self, columns: dict[str, list[int]], read: Callable[[], Array]) -> None:
        self.columns = columns
        """Columns of every sensor by name."""
        self._read = read
        self._rows: Array | None = None

    @classmethod
    def lazy(cls, sizes: Sequence[tuple[str, int]], read: Callable[[], Array]) -> SensorReadings:
        """Readings of sensors with these names and numbers, one after the other."""
        columns: dict[str, list[int]] = {}
        at = 0
        for name, size in sizes:
            columns[f"{name}.value"] = list(range(at, at + size))
            at += size
        return cls(columns, read)

    @property
    def rows(self) -> Array:
        """The readings, (frames, dim)."""
        if self._rows is None:
            self._rows = self._read()
        return self._rows

    def __getstate__(self) -> dict[str, object]:
        # a copy elsewhere cannot ask the World any more
        return {"columns": self.columns, "_rows": self.rows, "_read": _gone}


def _gone() -> Array:
    return np.zeros((0, 0))
