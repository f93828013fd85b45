# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of different descriptions that step together: other numbers of a robot, other props.

Worlds of equal models form groups, each a `WorldBatch` with lanes of its own. World i is the i-th that was
given, whatever group it is in, and draws, diverges and is saved under that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any

import msgspec
import numpy as np

from worldline._src import errors
from worldline._src.facade import values
from worldline._src.facade.batch import checkpoints
from worldline._src.facade.batch.contacts import BatchContacts
from worldline._src.facade.batch.flat_view import FlatArticulationView
from worldline._src.facade.batch.layout_choice import AUTOMATIC
from worldline._src.facade.batch.randomization import Randomization
from worldline._src.facade.batch.selecting import WhichWorlds, indices_of
from worldline._src.facade.batch.selection import BatchWorld
from worldline._src.facade.batch.template import BatchSource, Template
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.facade.checked_file import FileKind, read_checked, write_checked
from worldline._src.facade.executors import ComputeExecutor
from worldline._src.facade.fingerprint import digest, model_parts
from worldline._src.facade.world import World
from worldline._src.facade.world_kind import known_kind
from worldline._src.model.selection import Pattern
from worldline._src.scene.formats.atomic_write import path_text
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.interrupts import uninterrupted
from worldline._src.step.portions import portions

_KIND = FileKind(b"WORLDMIX", 1, "checkpoint of a MixedBatch", errors.SceneError)

MixedSource = BatchSource | tuple[BatchSource, int]
"""A World, scene or Model for one world, or one of them and how many worlds there are of it."""


class _Start:
    """One source: the worlds that start as it says."""

    def __init__(self, source: BatchSource, policy: DivergencePolicy | str | None) -> None:
        self.template = Template(source, policy)
        world = self.template.world
        options = "" if world is None else repr(world.options)
        self.key = digest([*model_parts(self.template.model), options, str(self.template.policy)])
        if world is not None and world.step_functions:
            # functions of the user are compared by identity
            self.key += str(id(source))

    def rows(self) -> dict[str, Array]:
        """The arrays of the world at its start, and its time."""
        made = {name: np.array(array) for name, array in self.template.start().items()}
        return made | {"time": np.array(self.template.time)}


@known_kind
class MixedBatch(errors.NotShared, errors.FixedAttributes):
    """Worlds that need not be alike, each with a state, commands and time of its own, that step together.

    Worlds of equal models are stepped as one `WorldBatch`; `groups` has these, `world_group` and `world_row`
    say where world i is. `articulations` gives arrays with a row for every robot of all worlds, and the world
    that it is in. World i has the bits of the same world alone in a WorldBatch.

    Args:
        sources: a World, scene or Model for every world, or pairs of one and a number of worlds of it. Worlds
            are cloned and start with their state and commands.
        layout: of every group; see `WorldBatch`.
        divergence_policy: what happens to worlds that diverge; as each World or scene says when None.

    Example:
        >>> from worldline import msd, simulation as sx
        >>> def scene(count):
        ...     robots = "".join(f'''<body name="{k}/bob"><joint axis="0 1 0" pos="0 0 1"/>
        ...       <geom size="0.1" contype="0"/></body>''' for k in range(count))
        ...     return msd.from_str(f"<mujoco><worldbody>{robots}</worldbody></mujoco>", format="mjcf")
        >>> batch = sx.MixedBatch([scene(1), scene(3), (scene(2), 2)])
        >>> robots = batch.articulations("*/bob")
        >>> robots.world.tolist(), robots.labels[:2]
        ([0, 1, 1, 1, 2, 2, 3, 3], ['0/bob', '0/bob'])
        >>> robots.set_dof_positions([[0.1 * k] for k in range(8)])
        >>> batch.step(10)
        >>> robots.get_dof_positions().shape
        (8, 1)
    """

    def __init__(
        self,
        sources: Sequence[MixedSource],
        *,
        layout: str = AUTOMATIC,
        divergence_policy: DivergencePolicy | str | None = None,
    ) -> None:
        starts = [start for start, count in _counted(sources, divergence_policy) for _ in range(count)]
        keys = list(dict.fromkeys(start.key for start in starts))
        group = np.array([keys.index(start.key) for start in starts])
        members = [np.flatnonzero(group == k) for k in range(len(keys))]
        row = np.zeros(len(starts), np.int64)
        for those in members:
            row[those] = np.arange(len(those))
        self.world_group = values.read_only(group)
        """Index in `groups` of every world, (worlds,)."""
        self.world_row = values.read_only(row)
        """Which world of its group every world is, (worlds,)."""
        self._members, self._failed = members, dict[int, errors.StepFailure]()
        self.groups: tuple[WorldBatch, ...] = tuple(
            self._group([starts[w] for w in those.tolist()], those, layout) for those in members
        )
        """The worlds of every model, in the order of their first world."""

    def _group(self, starts: list[_Start], worlds: np.ndarray, layout: str) -> WorldBatch:
        """One batch of worlds of equal models, each at its own start."""
        template = starts[0].template
        source = template.model if template.world is None else template.world
        made = WorldBatch(source, len(starts), layout=layout, divergence_policy=template.policy)
        made._number_worlds(worlds)
        rows = {id(start): start.rows() for start in starts}
        first = rows[id(starts[0])]
        for name in first:
            several = np.stack([rows[id(start)][name] for start in starts])
            if several.size and (name == "time" or made._has(name)) and (several != several[:1]).any():
                made._own_start[name] = several
        if made._own_start:
            made.reset()
        return made

    def __len__(self) -> int:
        return self.num_worlds

    def __repr__(self) -> str:
        return f"MixedBatch({self.num_worlds} worlds of {len(self.groups)} models)"

    @property
    def num_worlds(self) -> int:
        """How many worlds there are."""
        return len(self.world_group)

    # ---- worlds

    def _place(self, world: int) -> tuple[WorldBatch, int]:
        index = values.count(world, "index of a world")
        if not -self.num_worlds <= index < self.num_worlds:
            raise IndexError(f"world {index} is out of range: there are {self.num_worlds}")
        return self.groups[int(self.world_group[index])], int(self.world_row[index])

    def world(self, index: int) -> BatchWorld:
        """World `index`, to be read and written by the names of its objects; see `WorldBatch.worlds`."""
        group, row = self._place(index)
        return group.worlds[row]

    def extract(self, index: int) -> World:
        """A World that goes on from world `index`; see `WorldBatch.extract`."""
        group, row = self._place(index)
        return group.extract(row)

    def _parts(self, worlds: WhichWorlds) -> Iterator[tuple[WorldBatch, np.ndarray, np.ndarray]]:
        """Groups that have any of some worlds, with their rows and their positions in the request."""
        which = indices_of(worlds, self.num_worlds)
        for k, group in enumerate(self.groups):
            at = np.flatnonzero(self.world_group[which] == k)
            if at.size:
                yield group, self.world_row[which[at]], at

    def articulations(self, pattern: Pattern, **choice: Any) -> FlatArticulationView:
        """Equal articulations of all worlds, one row each: arrays (instances, ...) and the world of a row.

        Args:
            pattern: articulations by label, as `ArticulationView` takes it.
            choice: joints and links to have, as `ArticulationView` takes them.

        Raises:
            NotFoundError: no world has one.
            ArgumentError: those that match are not alike.
        """
        return FlatArticulationView(self.groups, self._members, pattern, choice)

    # ---- one number a world

    def _of_worlds(self, read: Callable[[WorldBatch], Array]) -> Any:
        parts = [read(group) for group in self.groups]
        made = np.empty(self.num_worlds, parts[0].dtype)
        for those, part in zip(self._members, parts, strict=True):
            made[those] = part
        return values.read_only(made)

    @property
    def time(self) -> Array:
        """Simulated time [s], (worlds,)."""
        return self._of_worlds(lambda group: group.time)

    @property
    def frame(self) -> np.ndarray:
        """Number of steps, (worlds,)."""
        return self._of_worlds(lambda group: group.frame)

    @property
    def frozen(self) -> np.ndarray:
        """Whether a world stays at its last good state after it diverged, (worlds,)."""
        return self._of_worlds(lambda group: group.frozen)

    @property
    def kinetic_energy(self) -> Array:
        """Of everything that moves [J], (worlds,)."""
        return self._of_worlds(lambda group: group.kinetic_energy)

    @property
    def potential_energy(self) -> Array:
        """In the gravity field, zero at the world's origin, and in joint springs [J], (worlds,)."""
        return self._of_worlds(lambda group: group.potential_energy)

    @property
    def contacts(self) -> BatchContacts:
        """Contacts of all worlds, by world; bodies and shapes are indices into the model of its group."""
        found = [group.contacts for group in self.groups]
        worlds = [those[part.world] for those, part in zip(self._members, found, strict=True)]
        order = np.argsort(np.concatenate(worlds), kind="stable")
        columns = [np.concatenate(column)[order] for column in zip(*found, strict=True)]
        columns[0] = np.concatenate(worlds)[order]
        return BatchContacts(*(values.read_only(column) for column in columns))

    @property
    def failures(self) -> tuple[errors.StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of steps, by index."""
        found = dict(self._failed)
        for those, group in zip(self._members, self.groups, strict=True):
            found |= _numbered(group.failures, those)
        return tuple(found[w] for w in sorted(found))

    # ---- stepping

    def step(self, n: int = 1, *, threads: int = 1, executor: ComputeExecutor | None = None) -> None:
        """Make `n` steps of every world; complete on return.

        Interrupting with Ctrl-C stops between two steps, the same of all worlds. Each world has the time step
        of its description.

        Args:
            n: how many.
            threads: processors to use, 0 for all.
            executor: who does the work in the place of `threads`.

        Raises:
            BatchFailure: worlds diverged whose policy is RAISE, after all steps of the others.
        """
        count = values.count(n, "n of step")
        if count < 0:
            raise errors.ArgumentError(f"step needs a non-negative step count, got {count}")
        self._failed, raised = {}, dict[int, errors.StepFailure]()

        def advance(many: int) -> None:
            for those, group in zip(self._members, self.groups, strict=True):
                try:
                    group.step(many, threads=threads, executor=executor)
                except errors.BatchFailure as error:
                    raised.update(_numbered(error.failures, those))
                self._failed = _numbered(group.failures, those) | self._failed

        if not count:
            advance(0)
        for many in portions(count):
            uninterrupted(lambda many=many: advance(many))
        if raised:
            raise errors.BatchFailure(raised[w] for w in sorted(raised))

    def reset(
        self, worlds: WhichWorlds = None, *, keyframe: str | None = None, sample: Randomization | None = None
    ) -> None:
        """Put worlds back to the state, commands and time in which they were given; they go on from there.

        Args:
            worlds: indices, or a mask of bools with one entry a world; all when None.
            keyframe: name of the keyframe of their scenes that they get instead.
            sample: draws for arrays by name that change these states; see `WorldBatch.reset`.
        """
        parts = list(self._parts(worlds))
        for group, _, _ in parts:
            if keyframe is not None and values.key(keyframe, "keyframe") not in group.keyframes:
                raise errors.NotFoundError(
                    f"no keyframe '{keyframe}' in every world; {group!r} has {group.keyframes}"
                )
            if sample is not None:
                group._drawn_lines(sample)
        for group, rows, _ in parts:
            group.reset(rows, keyframe=keyframe, sample=sample)
            for w in self._members[self.groups.index(group)][rows].tolist():
                self._failed.pop(w, None)

    def randomize(self, randomization: Randomization, worlds: WhichWorlds = None) -> None:
        """Draw parameters of worlds by name; see `WorldBatch.randomize`.

        World i draws by its index here. A line may name objects that some of the worlds do not have.
        """
        parts = list(self._parts(worlds))
        for line in randomization.lines if isinstance(randomization, Randomization) else ():
            if not any(group.parameters.matching(line.name) for group, _, _ in parts or self._parts(None)):
                self.groups[0].parameters._find(line.name)
        for group, rows, _ in parts:
            lines = randomization
            if isinstance(lines, Randomization):
                has = tuple(line for line in lines.lines if group.parameters.matching(line.name))
                lines = msgspec.structs.replace(lines, lines=has)
            group.randomize(lines, rows)

    def fingerprint(self, world: int | None = None) -> str:
        """Hash of one world, or of all when None, 64 hex digits; see `WorldBatch.fingerprint`."""
        if world is not None:
            group, row = self._place(world)
            return group.fingerprint(row)
        return digest([self.fingerprint(w) for w in range(self.num_worlds)])

    # ---- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that the next steps depend on; the file appears whole or not at all."""
        groups = [checkpoints.packed(group) for group in self.groups]
        write_checked(path, _KIND, msgspec.msgpack.encode((self.world_group.tolist(), groups)))

    def load(self, path: str | PathLike[str]) -> None:
        """Go on from a file that `save` wrote for the same worlds.

        Raises:
            SceneError: no file, a damaged one, or one of other worlds; the batch is as it was.
        """
        where = path_text(path)
        try:
            order, groups = msgspec.msgpack.decode(
                read_checked(where, _KIND), type=tuple[list[int], list[bytes]]
            )
        except msgspec.MsgspecError as error:
            raise errors.SceneError(f"{where}: not a checkpoint of a MixedBatch: {error}") from None
        if order != self.world_group.tolist() or len(groups) != len(self.groups):
            raise errors.SceneError(f"{where}: the checkpoint is of other worlds than those of this batch")
        before = [checkpoints.packed(group) for group in self.groups]
        try:
            for group, data in zip(self.groups, groups, strict=True):
                checkpoints.restore(group, data, where)
        except errors.SceneError:
            for group, data in zip(self.groups, before, strict=True):
                checkpoints.restore(group, data, where)
            raise
        self._failed = {}


_PAIR: tuple[type, ...] = (tuple,)
"""A source with the number of its worlds."""


def _counted(
    sources: Sequence[MixedSource], policy: DivergencePolicy | str | None
) -> Iterator[tuple[_Start, int]]:
    """What worlds start as, and how many of each."""
    listed, known = values.several(sources, "sources of a MixedBatch"), dict[int, _Start]()
    if not len(listed):
        raise errors.ArgumentError("a MixedBatch needs at least one world")
    for item in listed:
        source, count = item if isinstance(item, _PAIR) and len(item) == 2 else (item, 1)
        number = values.count(count, "number of worlds of a source")
        if number < 1:
            raise errors.ArgumentError(f"number of worlds of a source must be at least 1, got {number}")
        if id(source) not in known:
            known[id(source)] = _Start(source, policy)
        yield known[id(source)], number


def _numbered(failures: Sequence[errors.StepFailure], worlds: np.ndarray) -> dict[int, errors.StepFailure]:
    """Failures of a group by the numbers of all worlds; `worlds` has those of the group."""
    made: dict[int, errors.StepFailure] = {}
    for one in failures:
        assert one.world is not None
        world = int(worlds[one.world])
        made[world] = errors.StepFailure(
            one.body, one.quantity, one.frame, one.value, world=world, outcome=one.outcome
        )
    return made
