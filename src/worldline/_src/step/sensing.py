# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of the sensors of one world, by the stages of `sensor_stages.py`.

Readings are those of the present state. They are made when they are asked for, from an evaluation on a copy
of the arenas of the step, so the next step has the same bits as if nobody had looked; a step that nobody
looks at costs nothing. The copy lasts: an evaluation takes over the state, the inputs and what the last step
left for the next, and nothing else. Readings stay until any of these change.

The next step would evaluate the same state once more. Where nothing was written in between and the step
begins with the stages of an evaluation, it takes over the results and goes on behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from worldline._src.collision.arenas import Arenas as CollisionArenas
from worldline._src.errors import CapabilityError, OperationError
from worldline._src.jit import Stage
from worldline._src.kernels.constraints import tables as rows
from worldline._src.kernels.constraints.equality.rows import ON
from worldline._src.kernels.narrowphase.tables import ENTRY as _COLLISION_ENTRY
from worldline._src.kernels.narrowphase.tables import PAIRS
from worldline._src.kernels.narrowphase.tables import TABLE as _COLLISION_TABLE
from worldline._src.scalar.memory import address_of, aligned_zeros
from worldline._src.spatial.poses import Array
from worldline._src.step import runner, step_table
from worldline._src.step.array_runs import CONTACT, ONCE, PAIR, ROW, Counts, Run, Runs, compile_runs
from worldline._src.step.forward import forward, forward_plan, forward_trees
from worldline._src.step.loop_operands import loop_operands
from worldline._src.step.pack_sensors import Group, SensorTables, connected
from worldline._src.step.simulation import Simulation
from worldline._src.step.unknown_forces import odd_equalities

_INPUTS = ("q", "v", "force", "q_target", "v_target", "a_target", "time_step")
"""Fields of the trees that readings depend on."""
_COLUMNS = ("control", "activation", "equality_command", "motor_on", "spring_on", "equality_on", "tree_group")
"""Columns of the rows that readings depend on,"""
_SLEEP = ("counter", "tree_quiet", "dof_kept")
"""and that a step leaves for the next;"""
_CONTACTS = ("contact_row", "contact_force", "frame")
"""the same for every contact, of the rows,"""
_COLLISION = ("contact", "contact_id")
"""and of the collision tables; see `contact_memory.py`."""
_NO_ROWS = np.zeros((0, 5), np.int64)
_NO_GROUPS: frozenset[Group] = frozenset()
_COUNTED = {"ncontact": CONTACT, "nrow": ROW}
_SCRATCH = (
    *("link", "program", "J", "aref", "D", "bound", "kind", "dim", "changed", "row_first", "row_end"),
    *("row_note", "row_residual", "row_active", "row_force", "row_impact", "bounce_force", "bounce_speed"),
    *("bounce_a", "M", "H", "L", "vectors", "cone_J", "cone_C", "slack", "base", "M_first", "M_end"),
    *(
        "tree_block",
        "contact_block",
        "factor_block",
        "factor_row",
        "row_block",
        "contact_pair",
        "pair_body",
        "body_near",
        "body_node",
        "body_degree",
        "H_first",
        "L_first",
        "last_id",
        "last_force",
        "last_point",
        "contact_match",
        "bucket",
    ),
)
"""Columns of rows that only the stages of an evaluation use, beside those of solvers,"""
_SOLVERS = ("lcp_", "pgs_", "slip_", "sweep_", "dual", "kept", "K", "sweeps", "row_coulomb", "link_")
"""whose names begin so."""
_FOUND = ("body_X_W", "shape_X_W", "box")
"""Columns of the collision tables that an evaluation leaves, beside contacts and pairs."""


class Copy:
    """The arenas of a step once more, for an evaluation that leaves those of the step alone."""

    def __init__(self, sim: Simulation, body_f: Array) -> None:
        self.plan = forward_plan(sim)
        trees = forward_trees(sim)
        data = aligned_zeros(len(sim.data))
        self.sets: list[tuple[Any, ...]] = [(*trees[:3], data)] * (step_table.SENSOR + 3)
        self.data = data
        at = sim.model.arenas.offsets["body_f"]
        forces = Run(body_f, data[at : at + body_f.size])
        data[:] = sim.data
        copies, inputs = [forces], [forces]
        guess = np.zeros_like(sim.a)
        self._untouched = [Run(sim.a, guess), Run(sim.body_f, forces.new)]
        copies.append(self._untouched[0])
        for name in _INPUTS:
            view = sim.field(name)
            begin = sim.model.arenas.offsets[name]
            inputs.append(Run(view, data[begin : begin + view.size]))
        begin = sim.model.arenas.offsets["a"]
        copies += [*inputs[1:], Run(sim.a, data[begin : begin + sim.a.size])]
        begin = sim.model.arenas.offsets["ground_dual"]
        copies.append(Run(sim.ground_dual, data[begin : begin + sim.ground_dual.size]))
        self.constraints = sim.constraints
        self.laws: list[Run] = []
        counts = None
        if sim.constraints is not None:
            more_copies, more_inputs = self._copy_constraints(sim)
            copies += more_copies
            inputs += more_inputs
            counts = Counts({CONTACT: _cell(sim.constraints.column.counter, rows.CONTACT_COUNT)})
        self.inputs, self._laws = Runs(inputs), Runs(self.laws)
        self.take = Runs(copies, counts).bound()
        """Takes over state, inputs, and what the last step left for the next."""
        self.untouched = Runs([*inputs[1:], *self._untouched])
        """What must be as it was for the next step to go on from an evaluation,"""
        self.goes_on = self._prefix(sim)
        """the stage it goes on with, 0 where steps have other stages than evaluations,"""
        self.results = Runs(self._results(sim), self._found_counts()) if self.goes_on else Runs([])
        """and what it takes over."""
        self._give = self.results.bound_copy(self.untouched)
        self._preparations, self._data = sim.preparations, sim.data
        collision = None if sim.constraints is None else sim.constraints.collision
        self._found = None if collision is None else collision.d
        self._block = None if sim.constraints is None else sim.constraints.block

    def _copy_constraints(self, sim: Simulation) -> tuple[list[Run], list[Run]]:
        constraints = sim.constraints
        assert constraints is not None
        block, collision = constraints.block, constraints.collision
        args, d = block.args.copy(), aligned_zeros(len(block.d))
        d[:] = block.d
        args[rows.TREE_D] = address_of(self.data)
        args[rows.TREE_M], args[rows.TREE_C] = (address_of(x) for x in self.sets[step_table.MULTIBODY][:2])
        self.sets[step_table.CONSTRAINT] = (block.m, block.c, args, d)

        def run(name: str, by: int = ONCE) -> Run:
            return Run(constraints.column[name], self._column(name), by)

        inputs = [run(name) for name in _COLUMNS]
        copies = [*inputs, *(run(name) for name in _SLEEP)]
        if constraints.is_fixed:
            copies.append(run(constraints.kept_column))
        if collision is not None:
            own, found = collision.args.copy(), aligned_zeros(len(collision.d))
            found[:] = collision.d
            args[rows.COLLISION_ARGS], args[rows.COLLISION_D] = address_of(own), address_of(found)
            self.sets[step_table.COLLISION] = (collision.m, collision.c, own, found)
            copies += [run(name, CONTACT) for name in _CONTACTS]
            copies += [
                Run(collision.column[name], self._collision(collision, name), CONTACT) for name in _COLLISION
            ]
        counter = np.zeros_like(constraints.column.counter)
        left = Run(constraints.column.counter, counter)
        self._untouched += [left, *(run(name) for name in _SLEEP[1:])]
        # an evaluation that was short of room may have been the last
        copies += [left, Run(np.zeros(1, np.int64), _cell(args, rows.SHORT))]
        # parameters; options are left out, as evaluations write to some
        first = int(block.m[rows.TABLE.entry["option"]])
        for part in (slice(0, first), slice(first + rows.OPTIONS, None)):
            self.laws.append(Run(block.c[part], block.c[part].copy()))
        inputs += self.laws
        return copies, inputs

    def _column(self, name: str) -> np.ndarray:
        """A column of the copy of the rows."""
        assert self.constraints is not None
        block, old = self.constraints.block, self.constraints.column[name]
        begin = int(block.m[rows.TABLE.entry[name]])
        arena = self.sets[step_table.CONSTRAINT][2 if rows.TABLE.by_name[name].space == "args" else 3]
        return arena[begin : begin + old.size].reshape(old.shape)

    def _collision(self, collision: CollisionArenas, name: str) -> np.ndarray:
        """A column of the copy of the collision tables."""
        begin, old = int(collision.m[_COLLISION_ENTRY[name]]), collision.column[name]
        arena = self.sets[step_table.COLLISION][2 if _COLLISION_TABLE.by_name[name].space == "args" else 3]
        return arena[begin : begin + old.size].reshape(old.shape)

    def _prefix(self, sim: Simulation) -> int:
        """How many stages of a step are those of an evaluation, if it begins with them and nobody looks."""
        evaluation = step_table.forward_stages(self.plan)
        # in the fixed layout an evaluation writes the forces that the step starts from
        own = self.plan.ground or self.plan.fixed
        same = list(sim.schedule[: len(evaluation)]) == evaluation and not own
        return len(evaluation) if same and self.constraints is not None and not len(sim.elements) else 0

    def _results(self, sim: Simulation) -> list[Run]:
        """What an evaluation leaves for the rest of the step and for its readers; first what a step keeps."""
        assert self.constraints is not None
        at, sets = sim.model.arenas.offsets, sim.sets
        made = []
        for s, begin, n, other, kept in sim._keep.tolist():
            made.append(Run(sets[s][3][begin : begin + n], sets[other][3][kept : kept + n]))
        for first, end in (("a", "wrench"), ("link_R", "q_start")):
            here = slice(at[first], at[end])
            made.append(Run(self.data[here], sim.data[here]))
        # by arena, where neighbours are copied at once
        for column in sorted(rows.TABLE.columns, key=lambda column: column.space):
            name = column.name
            if column.space in ("args", "d") and name not in _SCRATCH and not name.startswith(_SOLVERS):
                by = _COUNTED.get(str(column.shape[0]), ONCE)
                made.append(Run(self._column(name), self.constraints.column[name], by))
        collision = self.constraints.collision
        if collision is not None:
            made += [Run(self._collision(collision, name), collision.column[name]) for name in _FOUND]
            made += [
                Run(self._collision(collision, name), collision.column[name], CONTACT) for name in _COLLISION
            ]
            made.append(Run(self._collision(collision, "pair"), collision.column.pair, PAIR))
            count = slice(0, PAIRS + 1)
            made.append(Run(self._collision(collision, "counter")[count], collision.column.counter[count]))
        return made

    def _found_counts(self) -> Counts:
        """How many contacts, rows and pairs an evaluation found."""
        assert self.constraints is not None
        counter, collision = self._column("counter"), self.constraints.collision
        found = {CONTACT: _cell(counter, rows.CONTACT_COUNT), ROW: _cell(counter, rows.ALL_ROWS)}
        if collision is None:
            return Counts(found)
        found[PAIR] = _cell(self._collision(collision, "counter"), PAIRS)
        return Counts(found, most={PAIR: collision.sizes["npair"]})

    def give(self) -> bool:
        """Give the results of an evaluation to the step that goes on from it; False if something changed."""
        return self._give() != 0

    def know_laws(self) -> None:
        """Take over parameters that were written since the arenas were copied."""
        self._laws.copy()

    def is_of(self, sim: Simulation) -> bool:
        """Whether the arenas of the step are still those that were copied."""
        _ = sim.stages
        if self._preparations != sim.preparations or self._data is not sim.data:
            return False
        constraints = self.constraints
        if constraints is None:
            return True
        collision = constraints.collision
        return self._block is constraints.block and (collision is None or self._found is collision.d)


def _cell(counters: np.ndarray, k: int) -> np.ndarray:
    """One of several counters; a view."""
    return counters[k : k + 1]


class Sensing:
    """Readings of all sensors of a `Simulation`.

    Args:
        sim: the world; its model has a table of sensors.
        clips: whether readings are clipped to their cut-offs.
    """

    def __init__(self, sim: Simulation, clips: bool = True) -> None:
        compile_runs()
        self.sim = sim
        self.tables = SensorTables(sim.model, sim.constraints, clips)
        start = self.tables.table.start
        spans = [np.arange(start[k], start[k + 1]) for k in self.tables.refused]
        self._unreadable = np.concatenate([np.zeros(0, np.int64), *spans])
        self._present = self.tables.present
        self._alone = {group: self._present & {group} for group in Group}
        self._odd = odd_equalities(sim.constraints)
        self._all_readable = not len(self._unreadable) and not self._odd.size
        self._advance = runner.advancer()
        self.body_f = np.zeros((sim.model.body_count, 6))
        """Torques, then forces at centres of mass, that act now, world axes; written before a reading."""
        self.pushed = False
        """Whether any of them may not be zero."""
        self._copy: Copy | None = None
        self._fresh = _NO_GROUPS
        self._key: tuple[object, object] = (None, None)
        self._programs: dict[object, tuple[Callable[[], int], bool]] = {}
        """What reads groups, and whether the next step can go on from its evaluation."""
        self._clock, self._record, self._resume = np.zeros(2), np.zeros(5), np.zeros(1, np.int64)

    def _unknown(self) -> list[str]:
        """Active equalities beside which forces within bodies are not known."""
        constraints = self.sim.constraints
        if constraints is None or not (constraints.column.equality_on[self._odd] == ON).any():
            return []
        return ["joints and closures that hold some directions only"]

    def forget(self) -> None:
        """Something that readings depend on changed in a way that no input shows."""
        self._fresh = _NO_GROUPS

    def why_not(self, k: int) -> str:
        """Why sensor `k` cannot be read now; empty when it can."""
        known = self.tables.refused.get(k)
        if known is None and self.tables.table.word[k] in ("force", "torque"):
            unknown = self._unknown()
            if unknown:
                label, word = self.tables.table.label[k], self.tables.table.word[k]
                names = ", ".join(unknown)
                return f"sensor '{label}' ({word}): forces within a body are not available with {names}"
        return known or ""

    def one(self, k: int, time: float, key: object = None) -> Array:
        """The reading of sensor `k`; see `read`."""
        problem = self.why_not(k)
        if problem:
            raise CapabilityError(problem)
        self.read(self._alone[self.tables.groups[k]], time, key)
        start = self.tables.table.start
        return self.tables.reading[start[k] : start[k + 1]].copy()

    def all(self, time: float, key: object = None) -> Array:
        """All readings, one after the other; NaN where a sensor cannot be read."""
        self.read(self._present, time, key)
        made, table = self.tables.reading.copy(), self.tables.table
        if self._all_readable:
            return made
        made[self._unreadable] = np.nan
        if self._unknown():
            for k, word in enumerate(table.word):
                if word in ("force", "torque"):
                    made[table.start[k] : table.start[k + 1]] = np.nan
        return made

    def read(self, groups: frozenset[Group], time: float, key: object = None) -> None:
        """Bring the readings of some groups that are present up to date, with the forces in `body_f`.

        Args:
            groups: of which sensors.
            time: simulated time [s].
            key: anything else that readings depend on; they are made again when it is another.
        """
        sim, copy, known = self.sim, self._copy, self._key
        if copy is None or not copy.is_of(sim):
            copy = self._copy = Copy(sim, self.body_f)
            self._fresh, self._programs = _NO_GROUPS, {}
        if known[0] != time or known[1] != key:
            if known[1] != key:
                self.tables.refresh()
            self._fresh, self._key = _NO_GROUPS, (time, key)
        elif self._fresh and not copy.inputs.are_same():
            copy.know_laws()
            self._fresh = _NO_GROUPS
        fresh = self._fresh
        stale = groups - fresh if fresh else groups
        if not stale:
            return
        self.tables.time[0] = time
        if not fresh:
            # what the copy has of an evaluation is lost
            if sim.ahead is not None:
                sim.ahead = None
            copy.take()
        else:
            self._fresh = fresh - stale
        if copy.plan.user_poses and Group.DYNAMICS in stale:
            self._read_in_place(stale)
        else:
            self._read_copy(copy, stale)
        self._fresh = fresh | stale if fresh else stale

    def _read_copy(self, copy: Copy, stale: frozenset[Group]) -> None:
        """Evaluate the present state on a copy of the arenas."""
        while True:
            # forces act in the next step that no step had before
            pushed = self.pushed and not copy.plan.wrenches
            known = self._programs.get((stale, pushed))
            if known is None:
                plan = copy.plan._replace(wrenches=True) if pushed else copy.plan
                program = self._program(self.tables.plan(plan, stale), copy.sets)
                goes_on = copy.goes_on != 0 and not pushed and Group.DYNAMICS in stale
                known = self._programs[stale, pushed] = program, goes_on
            if known[0]():
                if known[1]:
                    self.sim.__dict__["ahead"] = self._go_on
                return
            short, self._resume[0] = self._resume[0] != 0, 0
            if self.sim.constraints is None or not short:
                raise OperationError("accelerations of the present state are not finite")
            # out of room: evaluate on the arenas of the step, which grow
            with forward(self.sim, self.body_f):
                pass
            copy = self._copy = Copy(self.sim, self.body_f)
            copy.take()
            self._programs = {}

    def _go_on(self) -> int:
        """Give the evaluation that was made last to a step; returns the stage it goes on with, 0 for none.

        Nothing may have changed that the evaluation depends on.
        """
        sim, copy = self.sim, self._copy
        if copy is None or sim.profiler is not None or not copy.is_of(sim):
            return 0
        if copy.give():
            return copy.goes_on
        copy.know_laws()
        return 0

    def _read_in_place(self, stale: frozenset[Group]) -> None:
        """Evaluate on the arenas of the step, as functions of the user look at these."""
        sim = self.sim
        with forward(sim, self.body_f):
            sets = [*sim.sets[:-1], *[sim.sets[step_table.MULTIBODY]] * 3]
            sets[step_table.MULTIBODY] = (*forward_trees(sim)[:3], sim.data)
            plan = self.tables.plan(forward_plan(sim), stale)
            self._program(plan, sets, evaluate=False)()
        # the stages of sensors are connected with the arenas of the step now
        self._programs = {}

    def _program(
        self, plan: step_table.StepPlan, sets: list[tuple[Any, ...]], evaluate: bool = True
    ) -> Callable[[], int]:
        """What runs the stages that read; it returns 0 when there was no room or a number is not finite.

        Where there was no room, `_resume` is not 0 afterwards.
        """
        program: list[tuple[Stage, int]] = step_table.sensor_stages(plan, evaluate=evaluate)
        if self.sim.constraints is not None:
            self.tables.grow(self.sim.constraints.sizes["ncontact"])
        sets = connected(sets, self.tables.arenas(), has_rows=self.sim.constraints is not None)
        checks = self.sim.checks[self.sim.checks[:, 0] == step_table.MULTIBODY]
        if not evaluate or not plan.read_dynamics:
            checks = checks[:0]
        limits = np.full((2, len(checks)), np.inf)
        limits[:] = np.finfo(float).max
        operands = (*loop_operands(program, sets), _NO_ROWS, checks, limits)
        return runner.once(self._advance, (*operands, self._clock, self._record, self._resume))
