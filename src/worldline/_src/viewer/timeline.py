# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The time line: recorded states to scrub through.

A World that records itself (`World.replay`) is scrubbed through its own recording, step by step. For any
other the viewer keeps the states it has shown, in its own memory; the World knows nothing of them. When they
take too much room, every second one of the older half is let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.errors import ArgumentError
from worldline._src.facade.frame_rows import FrameRows, times
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world import World

MOST_BYTES = 256_000_000
"""What states may take."""


class Timeline:
    """States of a World in the order of time, and which of them it is in."""

    def __init__(self, world: World, most_bytes: int = MOST_BYTES) -> None:
        self._world = world
        self._most = most_bytes
        self._rows: list[Array] = []
        self._layout: FrameRows | None = None
        self._cursor = -1

    @property
    def is_recording_of_world(self) -> bool:
        """Whether the World's own recording is scrubbed."""
        return self._world.replay.frame_count > 0

    @property
    def count(self) -> int:
        """How many states there are."""
        return self._world.replay.frame_count if self.is_recording_of_world else len(self._rows)

    @property
    def cursor(self) -> int:
        """The state last shown or gone to; -1 when there is none."""
        if self.is_recording_of_world:
            at = self._world.replay.cursor
            return -1 if at is None else at
        return self._cursor

    def time(self, index: int) -> float:
        """Simulated time of a state [s]."""
        if self.is_recording_of_world:
            return self._world.replay.frame_time(index)
        return float(times(self._rows[self._checked(index)]))

    def capture(self) -> None:
        """Keep the state of the World as it is now; states after the one gone back to are forgotten."""
        if self.is_recording_of_world:
            return
        runtime = self._world._live()
        if self._layout is None or self._layout.runtime is not runtime:
            # what was kept does not fit a World that was changed
            self.clear()
            self._layout = FrameRows(runtime)
        del self._rows[self._cursor + 1 :]
        self._rows.append(self._layout.capture(self._world))
        if len(self._rows) * self._rows[-1].nbytes > self._most:
            half = len(self._rows) // 2
            del self._rows[1:half:2]
        self._cursor = len(self._rows) - 1

    def restore(self, index: int) -> None:
        """Make the World what it was."""
        if self.is_recording_of_world:
            self._world.restore_replay_frame(index)
            return
        row = self._rows[self._checked(index)]
        runtime = self._world._live()
        if self._layout is None or self._layout.runtime is not runtime:
            self.clear()
            raise ArgumentError("the World was changed since; its time line starts again")
        self._layout.load(self._world, row)
        if runtime.constraints is not None:
            runtime.constraints.forget_contacts()
        self._cursor = index

    def clear(self) -> None:
        """Forget what the viewer has kept; the World's own recording stays."""
        self._rows.clear()
        self._cursor = -1
        self._layout = None

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self._rows):
            raise ArgumentError(f"there is no state {index} on the time line, it has {len(self._rows)}")
        return index
