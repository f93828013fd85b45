# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded motion as arrays, in memory and in a file.

A recording is a matrix with one row a frame and names for its columns. The file is one msgpack map with a
format name and a version; it holds numbers and names only, is checked in full when it is read, and runs
nothing.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, RecordingError, nearest_name, unreadable
from worldline._src.facade.frame_rows import FAMILY, STEPS, STEPS_SINCE, TIME_STEP, times
from worldline._src.facade.replay_layout import Layout, Table
from worldline._src.spatial.poses import Array
from worldline._src.step.stepping import MultibodyIntegrationFamily

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_FORMAT = "worldline recording"
_VERSION = 1
_UNIT = 1e-6
"""How far from one the length of a recorded quaternion may be."""


class _Numbers(msgspec.Struct, forbid_unknown_fields=True):
    shape: list[int]
    data: bytes


class _TableFile(msgspec.Struct, forbid_unknown_fields=True):
    owner: str
    numbers: _Numbers


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    rows: _Numbers
    columns: dict[str, list[int]]
    before_frame: list[int]
    before: _Numbers
    ticks: list[int]
    names: dict[str, list[str]]
    tables: dict[str, _TableFile]


class Recording:
    """Recorded frames as arrays, by name: `recording["arm.q"]` has shape (frames, coordinates).

    Multibodies have q, dq, ddq, force, target_position, target_velocity and command_acceleration; rigid
    bodies pose, velocity, acceleration and wrench (held force, held torque). Positions of ball and floating
    joints are quaternions.

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
        before: dict[int, Array],
        ticks: frozenset[int],
        world: Callable[[], World | None] | None = None,
    ) -> None:
        self._world = world
        self._rows = rows
        self._columns = columns
        self._layout = layout
        self._before = before
        self._ticks = ticks

    @property
    def num_frames(self) -> int:
        """How many frames there are."""
        return len(self._rows)

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
        return list(self._columns)

    def __getitem__(self, name: str) -> Array:
        columns = self._columns.get(name)
        if columns is None:
            raise NotFoundError(f"nothing named '{name}' was recorded{nearest_name(name, self._columns)}")
        return self._rows[:, columns]

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def to_numpy(self) -> dict[str, np.ndarray]:
        """All arrays by name, with "time" and "frame"."""
        return {"time": self.times, "frame": self.frames, **{name: self[name] for name in self._columns}}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a line of names and a line a frame; numbers keep all their digits."""
        names = ["time", "frame"]
        names += [f"{name}[{k}]" for name, columns in self._columns.items() for k in range(len(columns))]
        rows = np.concatenate([self._rows[:, columns] for columns in self._columns.values()], axis=1)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for time, frame, row in zip(
                self.times.tolist(), self.frames.tolist(), rows.tolist(), strict=True
            ):
                writer.writerow([repr(time), frame, *map(repr, row)])

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays of `to_numpy` to one compressed file for `numpy.load`."""
        with open(path, "wb") as file:
            np.savez_compressed(file, **self.to_numpy())  # type: ignore[arg-type] # names are the user's

    def to_html(
        self,
        path: str | os.PathLike[str],
        world: World | None = None,
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
        """Write one file; a file that was there is replaced at once or not at all."""
        file = _File(
            _FORMAT,
            _VERSION,
            _pack(self._rows),
            self._columns,
            list(self._before),
            _pack(np.array(list(self._before.values())).reshape(-1, self._rows.shape[1])),
            sorted(self._ticks),
            self._layout.names,
            {name: _TableFile(kind, _pack(x)) for name, (kind, x) in self._layout.tables.items()},
        )
        target = Path(path)
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(msgspec.msgpack.encode(file))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a file that `save` wrote; anything else is refused with a `RecordingError`.

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
        try:
            file = msgspec.msgpack.decode(Path(path).read_bytes(), type=_File)
        except OSError as error:
            raise unreadable(path, error) from None
        except (msgspec.MsgspecError, RecursionError) as error:
            raise RecordingError(f"{os.fspath(path)} is no recording: {error}") from error
        try:
            return cls._checked(file)
        except RecordingError as error:
            raise RecordingError(f"{os.fspath(path)}: {error}") from error

    @classmethod
    def _checked(cls, file: _File) -> Recording:
        if file.format != _FORMAT or file.version != _VERSION:
            raise RecordingError(
                f"format is '{file.format}' version {file.version}, expected '{_FORMAT}' version {_VERSION}"
            )
        rows, before = _unpack(file.rows, "rows", 2), _unpack(file.before, "before", 2)
        count, width = rows.shape
        _require(count > 0 and width > STEPS_SINCE, f"a matrix of {count} by {width} is no motion")
        _require(before.shape == (len(file.before_frame), width), "states before steps do not fit the rows")
        for at in (*file.before_frame, *file.ticks):
            _require(0 < at < count, f"frame {at} is out of range, there are {count}")
        for name, columns in file.columns.items():
            _require(all(0 <= k < width for k in columns), f"columns of '{name}' are out of range")
        for x in (rows, before):
            _require(bool(np.isfinite(x).all()), "numbers must be finite")
            _require(bool((x[:, TIME_STEP] > 0.0).all()), "time steps must be positive")
            families = x[:, FAMILY]
            known = (families == np.floor(families)) & (families >= 0)
            _require(bool((known & (families < len(MultibodyIntegrationFamily))).all()), "unknown family")
            clock = x[:, STEPS : STEPS_SINCE + 1]
            _require(bool(((clock == np.floor(clock)) & (clock >= 0) & (clock < 2**53)).all()), "bad clock")
        tables = {name: Table(t.owner, _unpack(t.numbers, name, None)) for name, t in file.tables.items()}
        for name, table in tables.items():
            _require(
                len(file.names.get(table.owner, ())) == len(table.numbers),
                f"table '{name}' does not have one row for each of the {table.owner}",
            )
        layout = Layout(file.names, tables)
        return cls(
            rows,
            file.columns,
            layout,
            dict(zip(file.before_frame, before, strict=True)),
            frozenset(file.ticks),
        )

    def _frames(self, width: int, quaternions: np.ndarray) -> list[tuple[Array, Array | None, bool]]:
        """Rows, states before them and whether they are ticks, for a World with rows of this form.

        Args:
            width: numbers in a row.
            quaternions: columns that are quaternions, (n, 4).
        """
        if self._rows.shape[1] != width:
            raise RecordingError(f"rows have {self._rows.shape[1]} numbers, those of the World {width}")
        for rows in (self._rows, *self._before.values()):
            off = np.abs(np.linalg.norm(rows[..., quaternions], axis=-1) - 1.0)
            if off.size and off.max() > _UNIT:
                raise RecordingError(f"quaternions must be unit, the length of one is off by {off.max():g}")
        return [(row.copy(), self._before.get(at), at in self._ticks) for at, row in enumerate(self._rows)]

    def _repr_html_(self) -> str:
        from worldline._src.facade.notebook import recording_html

        return recording_html(self)

    def __getstate__(self) -> dict[str, Any]:
        # the World stays here; a copy elsewhere is like one from a file
        return vars(self) | {"_world": None}

    def __repr__(self) -> str:
        first, last = self.times[[0, -1]].tolist()
        return f"<Recording of {len(self)} frames, {first:g} s to {last:g} s: {', '.join(self.names)}>"


def _pack(x: Array) -> _Numbers:
    return _Numbers(list(x.shape), np.ascontiguousarray(x, "<f8").tobytes())


def _unpack(given: _Numbers, what: str, ndim: int | None) -> Array:
    shape = given.shape
    _require(1 <= len(shape) <= 4 and all(0 <= n < 2**40 for n in shape), f"'{what}' has a bad shape {shape}")
    _require(ndim is None or len(shape) == ndim, f"'{what}' has {len(shape)} dimensions")
    _require(
        8 * math.prod(shape) == len(given.data), f"'{what}' has {len(given.data)} bytes for the shape {shape}"
    )
    return np.frombuffer(given.data, "<f8").reshape(shape).astype(np.float64)


def _require(good: bool, what: str) -> None:
    if not good:
        raise RecordingError(what)
