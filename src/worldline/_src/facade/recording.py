# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded motion as arrays, in memory and in a file.

A recording is a matrix with one row a frame and names for its columns, what sensors read in every frame, and
what it takes to simulate on from a frame bit for bit. `recording_file.py` is its file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, RecordingError, nearest_name
from worldline._src.facade import recording_file, values
from worldline._src.facade.frame_rows import STEPS, times
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.quantities import Reading, length
from worldline._src.facade.recording_parts import Continuations, SensorReadings
from worldline._src.facade.replay_layout import Layout
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.formats.atomic_write import atomic_file
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

_UNIT = 1e-6
"""How far from one the length of a recorded quaternion may be."""


class RecordedFrame(NamedTuple):
    """One frame as a replay takes it over; see `replay.ReplayFrame`."""

    row: Array
    before: Array | None
    is_tick: bool
    memory: Mapping[str, Array]
    memory_before: Mapping[str, Array]


class Recording(KnownNames):
    """Recorded frames as arrays, by name: `recording["arm.q"]` has shape (frames, coordinates).

    Multibodies have q, dq, ddq, force, target_position, target_velocity and command_acceleration; rigid
    bodies pose, velocity, acceleration and wrench (persistent torque, then force). Positions of ball and
    floating joints are quaternions. Actuators have control and, where they have one, activation; sensors have
    value, the reading of that frame. Sensors are read on first use, or when the recording is
    written or copied; those that cannot be read in the scene are left out.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.replay_recording_enabled = True
        >>> world.step(n=5)
        >>> recording = world.recording
        >>> recording.frames.tolist(), recording["box.pose"].shape
        ([0, 1, 2, 3, 4, 5], (6, 7))
    """

    def __init__(
        self,
        rows: Array,
        columns: dict[str, list[int]],
        layout: Layout,
        continuations: Continuations,
        ticks: frozenset[int],
        sensors: SensorReadings,
        world: Callable[[], WorldRuntime | None] | None = None,
    ) -> None:
        self._world, self._sensors = world, sensors
        self._rows, self._columns, self._layout = rows, columns, layout
        self._continuations, self._ticks = continuations, ticks

    num_frames: Reading[int] = length("_rows", "How many frames there are.")

    @property
    def times(self) -> Array:
        """Simulated time of every frame [s], (frames,)."""
        return times(self._rows)

    @property
    def frames(self) -> np.ndarray:
        """`World.frame` of every frame, whole numbers, (frames,)."""
        return self._rows[:, STEPS].astype(np.int64)

    @property
    def names(self) -> list[str]:
        """What `recording[name]` knows."""
        return [*self._columns, *self._sensors.columns]

    def __getitem__(self, name: str) -> Array:
        columns = self._columns.get(values.key(name, "name of what was recorded"))
        if columns is not None:
            return self._rows[:, columns]
        columns = self._sensors.columns.get(name)
        if columns is None:
            raise NotFoundError(f"nothing named '{name}' was recorded{nearest_name(name, self.names)}")
        return self._sensors.rows[:, columns]

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._columns or name in self._sensors.columns)

    def to_numpy(self) -> dict[str, np.ndarray]:
        """All arrays by name, with "time" and "frame"."""
        return {"time": self.times, "frame": self.frames, **{name: self[name] for name in self.names}}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a line of names and a line a frame; numbers keep all their digits.

        The file appears whole or not at all.
        """
        arrays = {name: self[name] for name in self.names}
        names = ["time", "frame"]
        names += [f"{name}[{k}]" for name, x in arrays.items() for k in range(x.shape[1])]
        rows = np.concatenate([np.zeros((len(self), 0)), *arrays.values()], axis=1)
        with atomic_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
            import csv

            writer = csv.writer(file)
            writer.writerow(names)
            for time, frame, row in zip(
                self.times.tolist(), self.frames.tolist(), rows.tolist(), strict=True
            ):
                writer.writerow([repr(time), frame, *map(repr, row)])

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays of `to_numpy` to one compressed file for `numpy.load`, whole or not at all.

        The archive has a checksum in its comment, which NumPy does not look at; `load_npz` does.
        """
        recording_file.write_npz(path, self.to_numpy())

    @staticmethod
    def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
        """The arrays of a file that `to_npz` wrote, by name.

        Raises:
            RecordingError: not such a file, or one with a flipped or missing byte.
        """
        return recording_file.read_npz(path)

    def to_html(
        self,
        path: str | os.PathLike[str],
        world: WorldRuntime | None = None,
        *,
        frames_per_second: float = 60.0,
        title: str | None = None,
    ) -> None:
        """Write one page that replays the motion in a browser, with nothing installed and no network.

        Args:
            path: file to write, usually `.html`.
            world: the World it was recorded in, for shapes and colours; known unless it came from a file.
            frames_per_second: frames that the page keeps.
            title: of the page; the name of the scene when None.

        Raises:
            ArgumentError: the recording came from a file and no World is given.
            LayoutError: the World is not built as it was.
        """
        from worldline._src.facade.replay_page import write_page

        chosen = world if world is not None else (self._world() if self._world is not None else None)
        if chosen is None:
            raise ArgumentError(
                "to_html needs the World of the recording for its shapes: to_html(path, world)"
            )
        write_page(chosen, path, self, frames_per_second=frames_per_second, title=title)

    def plot(self, names: Iterable[str] | str | None = None, *, axes: Any = None) -> Any:
        """Plot recorded numbers over time; needs matplotlib (`pip install 'worldline[plot]'`).

        Args:
            names: what to plot, one picture each; coordinates and poses when None.
            axes: one matplotlib Axes a name to draw into; a new figure when None.

        Returns:
            The matplotlib Figure.
        """
        from worldline._src.facade.recording_plot import plot

        return plot(self, names, axes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file with a checksum; a file that was there is replaced at once or not at all."""
        recording_file.write(path, self._parts())

    def _parts(self) -> recording_file.Parts:
        parts = (self._rows, self._columns, self._layout, self._continuations, self._ticks, self._sensors)
        return recording_file.Parts(*parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # copies are what a file would bring back: they know no World
        return _restored, (recording_file.to_bytes(self._parts()),)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a file that `save` wrote; anything else, and a damaged file, is refused.

        Raises:
            RecordingError: no recording, one of another version, or one with a flipped or missing byte.

        Example:
            >>> import tempfile, pathlib
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> world.replay_recording_enabled = True
            >>> world.step(n=3)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     world.recording.save(pathlib.Path(folder) / "fall.wlr")
            ...     loaded = sx.Recording.load(pathlib.Path(folder) / "fall.wlr")
            >>> bool((loaded["box.pose"] == world.recording["box.pose"]).all())
            True
        """
        return cls(*recording_file.read(path))

    def _frames(self, width: int, quaternions: np.ndarray) -> list[RecordedFrame]:
        """All frames, for a World with rows of this form.

        Args:
            width: numbers in a row.
            quaternions: columns that are quaternions, (n, 4).
        """
        if self._rows.shape[1] != width:
            raise RecordingError(f"rows have {self._rows.shape[1]} numbers, those of the World {width}")
        before, memory, memory_before = self._continuations
        for rows in (self._rows, *before.values()):
            off = np.abs(np.linalg.norm(rows[..., quaternions], axis=-1) - 1.0)
            if off.size and off.max() > _UNIT:
                raise RecordingError(f"quaternions must be unit, the length of one is off by {off.max():g}")
        return [
            RecordedFrame(
                row.copy(), before.get(at), at in self._ticks, memory[at], memory_before.get(at, {})
            )
            for at, row in enumerate(self._rows)
        ]

    def _repr_html_(self) -> str:
        from worldline._src.facade.notebook import recording_html

        return recording_html(self)

    def __getstate__(self) -> dict[str, Any]:
        # the World stays here; a copy elsewhere is like one from a file
        return vars(self) | {"_world": None}

    def __repr__(self) -> str:
        first, last = self.times[[0, -1]].tolist()
        return f"<Recording of {len(self)} frames, {first:g} s to {last:g} s: {', '.join(self.names)}>"


def _restored(content: bytes) -> Recording:
    """The recording that pickle stored."""
    return Recording(*recording_file.from_bytes(content))
