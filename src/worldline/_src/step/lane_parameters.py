# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of worlds in lanes that differ from world to world.

A world keeps those numbers of its model that are not those of the others, one row a world. The loop over
steps copies them into arenas of constants that have a lane for every world, so that the stages that run there
(`LANES8_OWN`) read a number a lane where others read one for all. What decides which stages run and which
rows there are is the same in all worlds; a model that differs in it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.kernels.actuation import MUSCLE
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.rows import LEAST_FRICTION
from worldline._src.kernels.constraints.motor.rows import UNLIMITED
from worldline._src.kernels.narrowphase import tables as collision_tables
from worldline._src.model.fields import FIELDS
from worldline._src.model.model import Model
from worldline._src.model.tables import MOTOR_ACTIVATIONS
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.followed_model import FollowedModel
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import COLLISION, CONSTRAINT, MULTIBODY

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import LaneSimulation

_ADDRESSES = 8
"""Numbers at the front of the `args` of rows and of collision that are addresses."""
_CONSTANT, _DATA = 1, 3
"""Where constants and data are in a set of arenas."""
_LEAST_TOGETHER = 0.01
"""Friction from which on any combination of two is friction, whatever the rule."""


class _Space(NamedTuple):
    """An arena of numbers that steps read and never write."""

    place: int
    kind: int
    numbers: Array


class LaneParameters:
    """The numbers of models that are not the same in all worlds of a `LaneSimulation`."""

    def __init__(self, sim: LaneSimulation) -> None:
        self._sim = sim
        self._at = np.zeros(0, np.int64)
        self._parts: dict[int, np.ndarray] = {}
        self._may_differ: np.ndarray | None = None
        self._followed = FollowedModel()
        self._plans: list[StepPlan] = []
        self.numbers: Array = np.zeros((sim.worlds, 0))
        """Those numbers, a row a world."""

    @property
    def any(self) -> bool:
        """Whether any number differs."""
        return self._at.size > 0

    @property
    def count(self) -> int:
        """Sets of arenas that `sets` adds."""
        return 0 if not self.any else 2 if self._sim.constraints.collision is None else 3

    def sets(self, sets: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Sets whose data are the constants of `sets`, through which the loop over steps writes them."""
        return [(m, c, args, c) for m, c, args, _ in sets[: self.count]]

    def parts(self, first: int) -> np.ndarray:
        """Where runs of the numbers go, for the loop over steps; `first` is the first of `sets`."""
        if first not in self._parts:
            self._parts[first] = self._runs(first)
        return self._parts[first]

    def _runs(self, first: int) -> np.ndarray:
        if not self.any:
            return np.zeros((0, 4), np.int64)
        spaces = _spaces(self._sim)
        starts = np.cumsum([0, *(len(space.numbers) for space in spaces)])
        made: list[tuple[int, int, int, int]] = []
        for k, at in enumerate(self._at.tolist()):
            which = int(np.searchsorted(starts, at, side="right")) - 1
            space = spaces[which]
            place = space.place + (first if space.kind == _CONSTANT else 0)
            position = at - int(starts[which])
            if made and made[-1][0] == place and made[-1][1] + made[-1][2] == position:
                made[-1] = (place, made[-1][1], made[-1][2] + 1, made[-1][3])
            else:
                made.append((place, position, 1, k))
        return np.array(made, np.int64).reshape(-1, 4)

    def take(self, worlds: np.ndarray, model: Model, make: Callable[[Model], LaneSimulation]) -> bool:
        """Let worlds have the numbers of another model; returns whether new numbers differ now.

        `make` lays out one world of a model in lanes.
        """
        other = self._followed.simulation(model, make)
        other.take_room(self._sim.constraints.room)
        if not self._plans:
            self._plans = _plans(self._sim)
        _require_same_structure(self._sim, other, self._plans)
        _require_same_branches(self._sim, other)
        if self._may_differ is None:
            self._may_differ = _may_differ(self._sim)
        start, numbers = (np.concatenate([space.numbers for space in _spaces(s)]) for s in (self._sim, other))
        differs = np.flatnonzero(start != numbers)
        wrong = differs[~self._may_differ[differs]]
        if wrong.size:
            name = _name_at(self._sim, int(wrong[0]))
            raise CapabilityError(f"worlds in lanes share '{name}', which differs in the model given")
        every = np.union1d(self._at, differs)
        grown = every.size > self._at.size
        if grown:
            rows = np.repeat(start[every][None], self._sim.worlds, axis=0)
            rows[:, np.searchsorted(every, self._at)] = self.numbers
            self._at, self.numbers = every, np.ascontiguousarray(rows)
            self._parts.clear()
        self.numbers[worlds] = numbers[self._at]
        return grown

    def moved(self, by: int) -> None:
        """The arena of data of rows is that much longer at its end than before."""
        self._may_differ = None
        if self.any:
            constraints = self._sim.constraints
            end = sum(len(x) for x in (self._sim._constant, self._sim._data, constraints.block.c))
            self._at = self._at + np.where(self._at >= end + len(constraints.block.d) - by, by, 0)
            self._parts.clear()

    def saved(self) -> tuple[np.ndarray, Array]:
        """Positions and numbers, for a clone."""
        return self._at.copy(), self.numbers.copy()

    def restore(self, at: np.ndarray, numbers: Array) -> None:
        """Take over what `saved` gave."""
        self._at, self.numbers = at.copy(), numbers.copy()
        self._parts.clear()


def _spaces(sim: LaneSimulation) -> list[_Space]:
    """All numbers that steps of a simulation read and never write, in the order of positions."""
    block, collision = sim.constraints.block, sim.constraints.collision
    made = [
        _Space(MULTIBODY, _CONSTANT, sim._constant),
        _Space(MULTIBODY, _DATA, sim._data),
        _Space(CONSTRAINT, _CONSTANT, block.c),
        _Space(CONSTRAINT, _DATA, block.d),
    ]
    if collision is not None:
        made += [_Space(COLLISION, _CONSTANT, collision.c), _Space(COLLISION, _DATA, collision.d)]
    return made


def _may_differ(sim: LaneSimulation) -> np.ndarray:
    """Which of the numbers of all `_spaces` may differ from world to world."""
    constraints, collision = sim.constraints, sim.constraints.collision
    trees = np.zeros(len(sim._constant), bool)
    offsets, sizes = sim.model.arenas.offsets, sim.model.arenas.sizes
    for field in FIELDS:
        if field.space == "constant" and not field.shared:
            extent = int(np.prod([n if isinstance(n, int) else sizes[n] for n in field.shape]))
            trees[offsets[field.name] : offsets[field.name] + extent] = True
    rows = _own_columns(constraints.block, t.TABLE)
    _allow_parts(sim, rows)
    constants = {MULTIBODY: trees, CONSTRAINT: rows}
    if collision is not None:
        constants[COLLISION] = _own_columns(collision, collision_tables.TABLE)
    return np.concatenate(
        [
            constants[space.place] if space.kind == _CONSTANT else np.ones(len(space.numbers), bool)
            for space in _spaces(sim)
        ]
    )


def _own_columns(block: Any, table: Any) -> np.ndarray:
    """Which constants of a block are in columns that may differ."""
    made = np.zeros(len(block.c), bool)
    for column in table.columns:
        if column.space == "c" and column.own:
            at = int(block.m[table.entry[column.name]])
            made[at : at + block.column[column.name].size] = True
    return made


def _allow_parts(sim: LaneSimulation, may_differ_io: np.ndarray) -> None:
    """Mark numbers that may differ in columns of which others decide how a step goes on."""
    block = sim.constraints.block

    def column(name: str) -> np.ndarray:
        at, like = int(block.m[t.TABLE.entry[name]]), block.column[name]
        return may_differ_io[at : at + like.size].reshape(like.shape)

    column("friction_law")[:, 0] = True
    kind = block.column.act_kind
    plain = ~np.isin(kind[:, 2], MOTOR_ACTIVATIONS)
    column("act_gain")[plain & (kind[:, 0] != MUSCLE), :3] = True
    column("act_bias")[plain & (kind[:, 1] != MUSCLE), :3] = True
    if not block.column.shape_law[:, t.BOUNCINESS].any():
        # gravity is what impacts and changes of accelerations are measured by
        column("option")[[t.GRAVITY, t.SPEED_TOLERANCE]] = True


def _name_at(sim: LaneSimulation, position: int) -> str:
    """The column of a constant, by its position in all `_spaces`."""
    known: dict[int, str] = {}
    spaces = _spaces(sim)
    starts = np.cumsum([0, *(len(space.numbers) for space in spaces)])
    which = int(np.searchsorted(starts, position, side="right")) - 1
    space, position = spaces[which], position - int(starts[which])
    # of columns that begin at one position only the last has any numbers
    if space.place == MULTIBODY:
        known |= {sim.model.arenas.offsets[f.name]: f.name for f in FIELDS if f.space == "constant"}
    else:
        table = t.TABLE if space.place == CONSTRAINT else collision_tables.TABLE
        block: Any = sim.constraints.block if space.place == CONSTRAINT else sim.constraints.collision
        known |= {int(block.m[table.entry[c.name]]): c.name for c in table.columns if c.space == "c"}
    return known[max(at for at in known if at <= position)]


def _plans(sim: LaneSimulation) -> list[StepPlan]:
    """What steps have to do without forces on bodies, and with them."""
    return [sim.plan(wrenches=wrenches) for wrenches in (False, True)]


def _require_same_structure(sim: LaneSimulation, other: LaneSimulation, plans: list[StepPlan]) -> None:
    """Raise where two simulations differ in integers, which all worlds share; `plans` are those of `sim`."""
    mine, theirs = _integers(sim), _integers(other)
    for what, one in mine.items():
        if not np.array_equal(one, theirs[what]):
            raise CapabilityError(f"worlds in lanes share {what}; the given model has others")
    if plans != _plans(other):
        raise CapabilityError(
            "worlds in lanes share the stages of a step, and the model given needs others: a quantity is "
            "zero in one of the models alone"
        )


def _integers(sim: LaneSimulation) -> dict[str, np.ndarray]:
    """Integers that all worlds share, by what they say."""
    block, collision = sim.constraints.block, sim.constraints.collision
    made = {"bodies and joints": sim._index, "rows of constraints": block.m}
    made["what acts"] = block.args[_ADDRESSES:]
    if collision is not None:
        made |= {"shapes": collision.m, "pairs of shapes": collision.args[_ADDRESSES:]}
    return made


def _require_same_branches(sim: LaneSimulation, other: LaneSimulation) -> None:
    """Raise where kernels would go on differently because of numbers that may differ."""
    mine, theirs = sim.constraints.column, other.constraints.column
    for name in ("shape_friction", "pair_friction"):
        if ((mine[name] < LEAST_FRICTION) != (theirs[name] < LEAST_FRICTION)).any():
            raise CapabilityError("worlds in lanes share which shapes have friction at all")
    differs = (mine["shape_friction"] != theirs["shape_friction"]).any()
    mixed = ~np.isin(mine["shape_rule"][:, 0], (0, 3)).all()
    small = min(float(x["shape_friction"][:, 0].min(initial=1.0)) for x in (mine, theirs))
    if differs and mixed and small < _LEAST_TOGETHER:
        raise CapabilityError(
            f"worlds in lanes whose shapes combine friction have coefficients of {_LEAST_TOGETHER} or more"
        )
    single = sim.constraints.single
    if single is not None:
        shapes, (one, two) = np.unique(single.pairs), (s.constraints.collision for s in (sim, other))
        assert one is not None and two is not None
        for name in ("shape_size", "shape_X_BS"):
            if not np.array_equal(one.column[name][shapes], two.column[name][shapes]):
                raise CapabilityError(
                    "worlds in lanes share sizes of shapes that touch others than by closed forms"
                )
    for name in ("joint_velocity_limit", "joint_velocity_lower"):
        one, two = (np.abs(getattr(s.model, name, np.zeros(0))) >= UNLIMITED for s in (sim, other))
        if not np.array_equal(one, two):
            raise CapabilityError("worlds in lanes share which speeds are limited")
