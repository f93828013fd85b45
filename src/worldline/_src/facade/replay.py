# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Replay: every completed step leaves a frame, frames can be restored, and no branch is lost.

Frames are rows of runtime state (`frame_rows.py`) that share the layout they were made in
(`replay_layout.py`). Stepping after a restore starts a new branch that shares the frames before it; the
branch that was left stays as it was. Where something was written between two steps, the state before the
second step is kept too, so that every frame can be simulated again and compared bit for bit.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import (
    ArgumentError,
    CapabilityError,
    NotFoundError,
    RecordingError,
    ReplayIndexError,
    nearest_name,
)
from worldline._src.facade import replay_layout, values
from worldline._src.facade.contacts import Contact
from worldline._src.facade.copying import Address, CopiedWithWorld
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame_rows import STEPS, FrameRows, same_bits, times
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.replay_layout import Layout
from worldline._src.facade.world_state import WorldState, difference
from worldline._src.later import deferred_modules
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade import queries, recording_parts, state_binding, state_vectors
    from worldline._src.facade import recording as recordings
    from worldline._src.facade.recording import Recording
    from worldline._src.facade.recording_parts import SensorReadings
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime
else:
    queries, recording_parts, recordings, state_binding, state_vectors = deferred_modules(
        "facade", "queries recording_parts recording state_binding state_vectors"
    )

FrameLike = int | tuple[str, int]
"""A frame: its index on the current branch, or the name of a branch and an index on it."""


class ReplayFrame(NamedTuple):
    """One frame: a row of state, the layout it belongs to, and how it came about."""

    row: Array
    layout: Layout
    before: Array | None
    """State before the step, when it was not that of the frame before."""
    is_tick: bool
    """Made by a kinematics-only tick or by `bake`, not by a step."""
    memory: Mapping[str, Array]
    """Contacts of the step with their forces, and sleeping islands; the next step starts from them."""
    memory_before: Mapping[str, Array]
    """The same for `before`."""
    sensed: list[Array]
    """Readings of the sensors from the first request on; empty until then."""


class ReplayCheck(NamedTuple):
    """What simulating a branch again gave; true when every frame came out bit for bit."""

    matches: bool
    frames: int
    """Frames that were simulated again."""
    first_mismatch: int | None = None
    quantity: str | None = None
    """First array that differs there: q, v, a ..."""
    largest_error: float = 0.0
    """Largest difference in that array."""

    def __bool__(self) -> bool:
        return self.matches


class ReplayDifference(NamedTuple):
    """How two frames differ: tangents from the first to the second, by state variable."""

    is_equal: bool
    """All runtime state is the same bit for bit."""
    time: float
    """[s]"""
    difference: dict[str, Array]

    @property
    def largest(self) -> float:
        """Largest number of all tangents."""
        return max((float(np.abs(part).max()) for part in self.difference.values() if part.size), default=0.0)


class _Branch:
    def __init__(self, name: str, frames: list[ReplayFrame], labels: dict[str, int]) -> None:
        self.name, self.frames, self.labels = name, frames, labels


class Replay(CopiedWithWorld, KnownNames):
    """Frames of a World, in branches; `World.replay`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.replay_recording_enabled = True
        >>> world.step(n=10)
        >>> world.restore_replay_frame(4)
        >>> box.linear_velocity = (1, 0, 0)
        >>> world.step(n=2)
        >>> world.replay_frame_count, world.replay.branches
        (7, ['main', 'branch_001'])
        >>> bool(world.verify_replay())
        True
    """

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world
        self._enabled = False
        self._branches: dict[str, _Branch] = {}
        self._current = ""
        self._cursor: int | None = None
        self._rows: FrameRows | None = None
        self._layout: tuple[Any, int, int, Layout] | None = None

    def __repr__(self) -> str:
        state = "recording" if self._enabled else "not recording"
        return f"Replay({self._frame_total()} frames in {len(self._branches)} branches, {state})"

    # ---- recording

    def _address(self) -> Address:
        return ("replay",)

    @property
    def enabled(self) -> bool:
        """Whether steps leave frames."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise values.ShapeError(f"replay_recording_enabled: True or False is needed, got {value!r}")
        if bool(value) == self._enabled:
            return
        if value:
            first = self._frame(self._world._live())
            self._restart(first)
        self._enabled = bool(value)
        self._world._recorder = self if self._enabled else None

    def clear(self) -> None:
        """Forget all frames and branches; when recording, the present state becomes frame 0."""
        self._restart(self._frame(self._world._live()) if self._enabled else None)

    def bake(self) -> int:
        """Keep the present state as a frame, without a step and whether or not steps leave frames.

        It follows the frame at the cursor, as a step would; the first frame of all starts the branch "main".

        Returns:
            The index of the frame on the current branch.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> box = world.add_rigid_body("box")
            >>> for height in (1.0, 2.0, 3.0):
            ...     box.translation = (0, 0, height)
            ...     index = world.replay.bake()
            >>> index, world.recording["box.pose"][:, 2].tolist()
            (2, [1.0, 2.0, 3.0])
        """
        self._world._require_idle()
        runtime = self._world._live()
        frame = self._frame(runtime)
        if not self._current:
            self._restart(frame)
        else:
            self._append(frame._replace(before=frame.row.copy(), is_tick=True))
        assert self._cursor is not None
        return self._cursor

    def _restart(self, first: ReplayFrame | None) -> None:
        self._branches = {} if first is None else {"main": _Branch("main", [first], {})}
        self._current = "" if first is None else "main"
        self._cursor = None if first is None else 0

    def _forget(self) -> None:
        """Record no longer, and keep nothing: the World becomes another one."""
        self._enabled, self._rows, self._layout = False, None, None
        self._restart(None)

    def _frame_total(self) -> int:
        """Frames that are kept, those that branches share counted once."""
        return len({id(frame) for branch in self._branches.values() for frame in branch.frames})

    def _frame_rows(self, runtime: Runtime) -> FrameRows:
        if self._rows is None or self._rows.runtime is not runtime:
            self._rows = FrameRows(runtime)
        return self._rows

    def _layout_now(self, runtime: Runtime) -> Layout:
        """The layout of the World; captured again only after something in it was written."""
        world, kept = self._world, self._layout
        if kept is not None and kept[0] is runtime and kept[1:3] == (runtime.version, world._layout_edits):
            return kept[3]
        made = replay_layout.capture(world, runtime)
        if kept is not None and made.change(kept[3]) is None:
            made = kept[3]
        self._layout = (runtime, runtime.version, world._layout_edits, made)
        return made

    def _frame(
        self,
        runtime: Runtime,
        before: Array | None = None,
        is_tick: bool = False,
        memory_before: Mapping[str, Array] = MappingProxyType({}),
    ) -> ReplayFrame:
        row = self._frame_rows(runtime).capture(self._world)
        layout = self._layout_now(runtime)
        return ReplayFrame(row, layout, before, is_tick, runtime.memory(), memory_before, [])

    def _step(self, runtime: Runtime, n: int) -> None:
        """Make `n` steps and a frame after each."""
        self._advance(runtime, n, is_tick=False)

    def _tick(self, runtime: Runtime, n: int) -> None:
        """Make `n` kinematics-only ticks and a frame after each."""
        self._advance(runtime, n, is_tick=True)

    def _advance(self, runtime: Runtime, n: int, is_tick: bool) -> None:
        before: Array | None = self._frame_rows(runtime).capture(self._world)
        memory = runtime.memory()
        if same_bits(before, self._here().row):
            before, memory = None, {}
        advance = runtime.tick if is_tick else runtime.step
        clock, recorded = runtime.sim.clock, float(runtime.sim.clock[0])
        try:
            for _ in range(n):
                advance(1)
                self._append(self._frame(runtime, before, is_tick, memory))
                before, memory = None, {}
                recorded += 1.0
        except BaseException:
            # an interrupt may fall between a step and its frame
            if float(clock[0]) > recorded:
                self._append(self._frame(runtime, before, is_tick, memory))
            raise

    def _here(self) -> ReplayFrame:
        assert self._cursor is not None
        return self._branches[self._current].frames[self._cursor]

    def _append(self, frame: ReplayFrame) -> None:
        branch, cursor = self._branches[self._current], self._cursor
        assert cursor is not None
        if cursor + 1 < len(branch.frames):
            branch = self._fork(branch, cursor)
        branch.frames.append(frame)
        self._cursor = cursor + 1

    def _fork(self, branch: _Branch, cursor: int) -> _Branch:
        labels = {label: k for label, k in branch.labels.items() if k <= cursor}
        made = _Branch(self._free_name(), branch.frames[: cursor + 1], labels)
        self._branches[made.name] = made
        self._current = made.name
        return made

    def _free_name(self) -> str:
        number = len(self._branches)
        while f"branch_{number:03d}" in self._branches:
            number += 1
        return f"branch_{number:03d}"

    # ---- looking

    @property
    def frame_count(self) -> int:
        """Frames on the current branch, with those it shares with others."""
        return len(self._branches[self._current].frames) if self._current else 0

    @property
    def cursor(self) -> int | None:
        """The frame last recorded or restored; None before recording."""
        return self._cursor

    @property
    def branches(self) -> list[str]:
        """Names of all branches, the first is "main"."""
        return list(self._branches)

    @property
    def branch(self) -> str | None:
        """Name of the current branch; None before recording."""
        return self._current or None

    @property
    def labels(self) -> dict[str, int]:
        """Labelled frames of the current branch."""
        return dict(self._branches[self._current].labels) if self._current else {}

    def label(self, name: str, frame: int | None = None) -> None:
        """Give a frame of the current branch a name; the frame at the cursor when None."""
        key = values.text(name, "label of a replay frame")
        if not key:
            raise ArgumentError("the label of a replay frame cannot be empty")
        at = self._cursor if frame is None else frame
        self._find(0 if at is None else at)
        assert at is not None
        self._branches[self._current].labels[key] = int(at)

    def _branch(self, name: str | None) -> _Branch:
        name = self._current if name is None else values.text(name, "name of a replay branch")
        found = self._branches.get(name)
        if found is None:
            raise NotFoundError(f"no replay branch '{name}'{nearest_name(name, self._branches)}")
        return found

    def _find(self, frame: FrameLike) -> tuple[_Branch, int]:
        name, index = frame if isinstance(frame, tuple) and len(frame) == 2 else (None, frame)
        at = values.count(index, "index of a replay frame")
        branch = None if name is None and not self._current else self._branch(name)
        if branch is None or not 0 <= at < len(branch.frames):
            have = 0 if branch is None else len(branch.frames)
            raise ReplayIndexError(f"replay frame {at} is out of range: there are {have}")
        return branch, at

    def frame_time(self, frame: FrameLike) -> float:
        """Simulated time of a frame [s]."""
        branch, at = self._find(frame)
        return float(times(branch.frames[at].row))

    def simulation_frame(self, frame: FrameLike) -> int:
        """`World.frame` of a frame."""
        branch, at = self._find(frame)
        return int(branch.frames[at].row[STEPS])

    @exclusive
    def state(self, frame: FrameLike) -> WorldState:
        """The state in a frame, with the World left as it is."""
        branch, at = self._find(frame)
        runtime, rows = self._fitting(branch.frames[at], f"replay frame {at}")
        data = runtime.sim.data.copy()
        row = branch.frames[at].row
        rows.spread(row, data)
        space = state_vectors.own_space(self._world, control=False, rigid_only=False)
        binding = state_binding.bind(self._world, space, control=False)[1]
        return WorldState(space, binding.read(data, row[rows.parts["activation"]]), binding.manifold)

    @exclusive
    def contacts(self, frame: FrameLike) -> list[Contact]:
        """Where bodies touch in a frame, with the World left as it is.

        Found again from the poses of the frame, as `World.collide` does for the present, without forces.
        `World.contacts` after `restore` are those of the step that made the frame, with their forces.
        """
        branch, at = self._find(frame)
        runtime, rows = self._fitting(branch.frames[at], f"replay frame {at}")
        with self._visiting(runtime, rows):
            rows.load(self._world, branch.frames[at].row)
            return queries.collide(self._world, None)

    @exclusive
    def compare(self, first: FrameLike, second: FrameLike) -> ReplayDifference:
        """How `second` differs from `first`, rotations as rotation vectors."""
        a, b = self.state(first), self.state(second)
        (branch_a, i), (branch_b, j) = self._find(first), self._find(second)
        rows = branch_a.frames[i].row, branch_b.frames[j].row
        tangent, at, parts = difference(a, b), 0, {}
        for name, size in a.tangent_sizes.items():
            parts[name] = tangent[at : at + size]
            at += size
        return ReplayDifference(same_bits(*rows), float(times(rows[1]) - times(rows[0])), parts)

    # ---- restoring

    def _fitting(self, frame: ReplayFrame, what: str) -> tuple[Runtime, FrameRows]:
        runtime = self._world._live()
        now = self._layout_now(runtime)
        if frame.layout is not now:
            frame.layout.require(now, what)
        return runtime, self._frame_rows(runtime)

    @exclusive
    def restore(self, frame: FrameLike | str) -> None:
        """Make the World what it was at a frame; handles stay, physics does not run again.

        Args:
            frame: an index on the current branch, (branch, index), or a label. A frame of another branch
                makes that branch the current one.
        """
        if isinstance(frame, str):
            known = self.labels
            if frame not in known:
                raise NotFoundError(f"no replay frame labelled '{frame}'{nearest_name(frame, known)}")
            frame = known[frame]
        branch, at = self._find(frame)
        runtime, rows = self._fitting(branch.frames[at], f"replay frame {at}")
        rows.load(self._world, branch.frames[at].row)
        runtime.recall(branch.frames[at].memory)
        self._current, self._cursor = branch.name, at

    @exclusive
    def verify(self, branch: str | None = None) -> ReplayCheck:
        """Simulate a branch again and compare every frame bit for bit; the World stays as it is."""
        if branch is None and not self._current:
            return ReplayCheck(True, 0)
        frames = self._branch(branch).frames
        for at, frame in enumerate(frames):
            self._fitting(frame, f"replay frame {at}")
        runtime = self._world._ready()
        rows = self._frame_rows(runtime)
        with self._visiting(runtime, rows):
            return self._simulate_again(runtime, rows, frames)

    @contextmanager
    def _visiting(self, runtime: Runtime, rows: FrameRows) -> Generator[None, None, None]:
        """A block that may load frames and step: afterwards the World is as it was."""
        kept, memory = rows.capture(self._world), runtime.memory()
        stepped, failure, log = runtime.sim.stepped, runtime.sim.failure, runtime.sim.contact_log
        events = None if log is None else log.copy()
        try:
            yield
        finally:
            rows.load(self._world, kept)
            runtime.recall(memory)
            runtime.sim.stepped, runtime.sim.failure = stepped, failure
            if log is not None and events is not None:
                log.put_back(events)

    def _simulate_again(self, runtime: Runtime, rows: FrameRows, frames: list[ReplayFrame]) -> ReplayCheck:
        rows.load(self._world, frames[0].row)
        runtime.recall(frames[0].memory)
        for at, frame in enumerate(frames[1:], 1):
            if frame.before is not None:
                rows.load(self._world, frame.before)
                runtime.recall(frame.memory_before)
            if frame.is_tick:
                # one for a tick, none for a frame that was baked
                runtime.tick(int(frame.row[STEPS] - rows.capture(self._world)[STEPS]))
            else:
                runtime.step(1)
            again = rows.capture(self._world)
            if not same_bits(again, frame.row):
                for name, part in rows.parts.items():
                    if not same_bits(again[part], frame.row[part]):
                        error = float(np.abs(again[part] - frame.row[part]).max())
                        return ReplayCheck(False, at, at, name, error)
                return ReplayCheck(False, at, at, "settings", float(np.abs(again - frame.row).max()))
        return ReplayCheck(True, len(frames) - 1)

    # ---- recordings

    @exclusive
    def recording(self, branch: str | None = None) -> Recording:
        """The frames of a branch as arrays; a copy."""
        frames = self._branch(branch).frames if branch is not None or self._current else []
        if not frames:
            raise NotFoundError("nothing was recorded; set replay_recording_enabled first")
        runtime, rows = self._fitting(frames[-1], f"replay frame {len(frames) - 1}")
        for at, frame in enumerate(frames):
            if frame.layout is not frames[-1].layout:
                frame.layout.require(frames[-1].layout, f"replay frame {at}")
        before = [(at, frame) for at, frame in enumerate(frames) if frame.before is not None]
        memory = [frame.memory for frame in frames]
        return recordings.Recording(
            np.array([frame.row for frame in frames]),
            state_binding.columns(self._world, runtime, rows),
            frames[-1].layout,
            recording_parts.Continuations(
                {at: frame.before for at, frame in before if frame.before is not None},
                memory,
                {at: frame.memory_before for at, frame in before},
            ),
            frozenset(at for at, frame in enumerate(frames) if frame.is_tick),
            self._sensor_readings(list(frames)),
            weakref.ref(self._world),
        )

    def _sensor_readings(self, frames: list[ReplayFrame]) -> SensorReadings:
        """Sensors of a recording: which there are, and how to read them in its frames."""
        readable: list[tuple[str, int]] = []
        for sensor in self._world.sensors:
            try:
                readable.append((sensor.name, len(sensor.value)))
            except CapabilityError:
                # `sensor.value` says why; there is nothing to record
                continue
        replay = weakref.ref(self)

        def read() -> Array:
            alive = replay()
            if not readable:
                return np.zeros((len(frames), 0))
            if alive is None:
                raise RecordingError(
                    "the World of the recording is gone, and its sensors were not read before"
                )
            return alive._read_sensors(frames, [name for name, _ in readable])

        return recording_parts.SensorReadings.lazy(readable, read)

    def _read_sensors(self, frames: list[ReplayFrame], names: list[str]) -> Array:
        """Readings of sensors in frames, (frames, dim); those of a frame are kept with it."""
        world = self._world
        runtime, rows = self._fitting(frames[-1], "the recording")
        with self._visiting(runtime, rows):
            for frame in frames:
                if not frame.sensed:
                    rows.load(world, frame.row)
                    runtime.recall(frame.memory)
                    frame.sensed.append(np.concatenate([world.sensors[name].value for name in names]))
        return np.array([frame.sensed[0] for frame in frames])

    def _quaternions(self, rows: FrameRows) -> np.ndarray:
        """Columns of a row that are quaternions, (n, 4)."""
        space = state_vectors.own_space(self._world, control=False, rigid_only=False)
        binding = state_binding.bind(self._world, space, control=False)[1]
        return np.array(rows.columns(binding.rows))[binding.manifold.quaternions]

    @exclusive
    def add(self, recording: Recording, name: str | None = None) -> str:
        """Take the frames of a recording over as a branch of their own, and make it the current one.

        The World must have the layout the recording was made in; its state stays until a frame is restored.

        Returns:
            The name of the branch.
        """
        if not isinstance(recording, recordings.Recording):
            raise values.ShapeError(f"a Recording is needed, got {recording!r}")
        chosen = values.text(name, "name of a replay branch") if name is not None else ""
        if chosen in self._branches:
            raise ArgumentError(f"a replay branch named '{chosen}' already exists")
        runtime = self._world._live()
        now = self._layout_now(runtime)
        recording._layout.require(now, "the recording")
        rows = self._frame_rows(runtime)
        frames = recording._frames(rows.capture(self._world).size, self._quaternions(rows))
        for frame in frames:
            wrong = runtime.unfit(frame.memory) or runtime.unfit(frame.memory_before)
            if wrong is not None:
                raise RecordingError(f"'{wrong}' does not fit the contacts and bodies of the World")
        chosen = chosen or ("main" if not self._branches else self._free_name())
        made = [ReplayFrame(f.row, now, f.before, f.is_tick, f.memory, f.memory_before, []) for f in frames]
        self._branches[chosen] = _Branch(chosen, made, {})
        self._current, self._cursor = chosen, len(made) - 1
        return chosen
