# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of steps of one evaluation, from the inverse form and by kinds of columns.

At the accelerations a that the step found, r = RNEA(q, v, a) - tau - J^T f vanishes. Its derivatives at
constant a need the recursive Newton-Euler algorithm in dual numbers and no mass matrix; M and the Hessian
of the active set are plain numbers, factored once for all columns (`derivative_stages.py`).

Columns run in groups of seven of one kind. Those by coordinates run every stage. Those by velocities and by
generalized forces skip what depends on neither: after one pass without derivatives the arenas of dual numbers
hold it as constants. The step table says what a stage reads and writes, and so which stages a kind needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.duals.kind import DIRECTIONS, DOUBLES
from worldline._src.jit import Stage, entry, inline
from worldline._src.kernels.narrowphase.dispatch import narrow_sort
from worldline._src.kinds import float64
from worldline._src.model.compile import constant_views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, address_of, vector
from worldline._src.spatial.poses import Array
from worldline._src.step import derivative_stages as d
from worldline._src.step import dual_step, step_table
from worldline._src.step.derivative_table import INSTEAD, Form, selection
from worldline._src.step.island_stages import solve_islands
from worldline._src.step.simulation import Simulation

_SOURCES = {
    "displacement": "q",
    "velocity": "v",
    "activation": "activations",
    "control": "controls",
    "force": "commands",
    "q_target": "commands",
    "v_target": "commands",
    "a_target": "commands",
    "body_f": "forces on bodies",
}
"""What directions change, in the words of the step table."""
_FIELD = {"displacement": "q", "velocity": "v"}
"""Fields of the trees by the names of directions, where they are others."""
_KINDS: tuple[frozenset[str], ...] = (
    frozenset(("controls", "commands", "activations")),
    frozenset(("controls", "commands", "activations", "v", "forces on bodies")),
    frozenset(_SOURCES.values()),
)
"""Kinds of columns by what they may change: generalized forces, velocities, all."""
BY_FORCES, BY_VELOCITIES, BY_COORDINATES = range(3)

_MOTION = frozenset(("link poses", "link velocities", "link forces"))
_PLANS = 2
"""Plans that are kept, for the seeds used last."""
_PLAIN, _TURN = range(2)
"""Kinds of coordinates: a number, a quaternion."""


class _Plan(NamedTuple):
    """How columns along given seeds are made; see `_run_columns`."""

    given: Any
    inputs: np.ndarray
    order: np.ndarray
    groups: np.ndarray
    seeds: Array


class _Part(NamedTuple):
    """Operations with what they read and write."""

    operations: list[dual_step.Operation]
    reads: frozenset[str]
    writes: frozenset[str]
    stage: Stage | None = None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", ")) if text else frozenset()


_NOTES = {
    row.stage.name: (_words(row.reads), _words(row.writes))
    for row in step_table.TABLE
    if row.caller is None
    and row.phase in (step_table.Phase.BEGIN, step_table.Phase.EVALUATION, step_table.Phase.END)
}


_OWN_NOTES = {
    d.residual_of_dynamics: (_MOTION | {"tau"}, frozenset(("link forces", "spring lengths"))),
    d.linearize_accelerations: (frozenset[str](), frozenset(("a",))),
    d.damp_linearized: (frozenset(("a",)), frozenset(("a",))),
}
"""What stages of the inverse form read and write, other than those of the step in whose place they run."""


def has_inverse_form(sim: Simulation) -> bool:
    """Whether a step is one evaluation of accelerations that all its degrees of freedom follow."""
    plan = sim.plan()
    mobile = constant_views(sim.model.arenas)["dof_mobile"]
    others = plan.runge_kutta or plan.mean_acceleration or plan.free_spin or plan.prescribed
    return not others and bool((mobile == 1.0).all())


@inline
def _put_seeds(seeds, order, first, count, at, coordinates, values, duals_out):
    """Derivatives of coordinates along `count` seeds, displacements of the configuration."""
    for k in range(count):
        row = order[first + k]
        for j in range(coordinates.shape[0]):
            i, e = coordinates[j, 1], at + coordinates[j, 2]
            if coordinates[j, 0] == _PLAIN:
                duals_out[DOUBLES * i + 1 + k] = seeds[row, e]
            else:
                # dq = q (r, 0) / 2 for a rotation vector r in the axes of the body
                x, y, z, w = 0.5 * values[i], 0.5 * values[i + 1], 0.5 * values[i + 2], 0.5 * values[i + 3]
                r, s, t = seeds[row, e], seeds[row, e + 1], seeds[row, e + 2]
                duals_out[DOUBLES * i + 1 + k] = w * r - z * s + y * t
                duals_out[DOUBLES * (i + 1) + 1 + k] = z * r + w * s - x * t
                duals_out[DOUBLES * (i + 2) + 1 + k] = -y * r + x * s + w * t
                duals_out[DOUBLES * (i + 3) + 1 + k] = -x * r - y * s - z * t


@inline
def _take_displacements(duals, coordinates, order, first, count, start, out):
    """Displacements of the configuration from derivatives of coordinates, into rows of `out` from `start`."""
    for j in range(coordinates.shape[0]):
        i, e = coordinates[j, 1], start + coordinates[j, 2]
        if coordinates[j, 0] == _PLAIN:
            for k in range(count):
                out[e, order[first + k]] = duals[DOUBLES * i + 1 + k]
        else:
            # (r, 0) = 2 conj(q) dq
            x, y, z, w = (
                2.0 * duals[DOUBLES * i],
                2.0 * duals[DOUBLES * (i + 1)],
                2.0 * duals[DOUBLES * (i + 2)],
                2.0 * duals[DOUBLES * (i + 3)],
            )
            for k in range(count):
                a, b, c, f = (
                    duals[DOUBLES * i + 1 + k],
                    duals[DOUBLES * (i + 1) + 1 + k],
                    duals[DOUBLES * (i + 2) + 1 + k],
                    duals[DOUBLES * (i + 3) + 1 + k],
                )
                column = order[first + k]
                out[e, column] = w * a + z * b - y * c - x * f
                out[e + 1, column] = -z * a + w * b + x * c - y * f
                out[e + 2, column] = y * a - x * b + w * c - z * f


@entry(
    signature="int64[:,::1] int64[:,::1] int64[::1] int64[:,::1] int64[::1] int64[:,::1] int64[:,::1] "
    "int64[:,::1] float64[:,::1] float64[:,::1] float64[::1]",
    label="columns of the derivatives of a step",
)
def _run_columns(operations, sets, header, groups, order, inputs, outputs, coordinates, seeds, out, ends):
    """Derivatives along rows of `seeds`, into columns of `out`; `ends` gets the values of the first group.

    groups: first and end of its operations, mode, whether coordinates change, first and number of its columns
    in `order`. inputs: address of duals, how many there are, address of values, where their seeds start (-1:
    none), whether they are coordinates. outputs: address, how many, where they start in `out` and in
    `ends`, whether they are coordinates. coordinates: kind, first coordinate, first degree of freedom.
    """
    for g in range(groups.shape[0]):
        header[d.MODE], header[d.MOVES] = groups[g, 2], groups[g, 3]
        first, count = groups[g, 4], groups[g, 5]

        # inputs: values, and the seeds of this group as derivatives
        for p in range(inputs.shape[0]):
            n, at = inputs[p, 1], inputs[p, 3]
            values = vector(address_as(inputs[p, 2], float64), 0, n)
            duals = vector(address_as(inputs[p, 0], float64), 0, DOUBLES * n)
            for i in range(n):
                duals[DOUBLES * i] = values[i]
                for k in range(1, DOUBLES):
                    duals[DOUBLES * i + k] = 0.0
            if at >= 0 and inputs[p, 4] == 0:
                for k in range(count):
                    row = order[first + k]
                    for i in range(n):
                        duals[DOUBLES * i + 1 + k] = seeds[row, at + i]
            elif at >= 0:
                _put_seeds(seeds, order, first, count, at, coordinates, values, duals)

        dual_step.operate(operations, groups[g, 0], groups[g, 1], sets)

        # outputs: derivatives into columns, and values once
        for p in range(outputs.shape[0]):
            n, start = outputs[p, 1], outputs[p, 2]
            duals = vector(address_as(outputs[p, 0], float64), 0, DOUBLES * n)
            if g == 0:
                for i in range(n):
                    ends[outputs[p, 3] + i] = duals[DOUBLES * i]
            if outputs[p, 4] == 0:
                for i in range(n):
                    for k in range(count):
                        out[start + i, order[first + k]] = duals[DOUBLES * i + 1 + k]
            else:
                _take_displacements(duals, coordinates, order, first, count, start, out)


class ColumnStep(dual_step.DualStep):
    """A step in the inverse form."""

    def __init__(self, sim: Simulation, relaxed: bool, kept: dict[str, Array]) -> None:
        nv = sim.model.joint_dof_count
        self._relaxed = relaxed
        self._header = np.zeros(d.HEADER, np.int64)
        self._factors = np.zeros(d.factor_numbers(nv))
        self._solved = np.zeros(nv)
        self._plans: list[_Plan] = []
        self._input_tables: dict[tuple[str, ...], np.ndarray] = {}
        super().__init__(sim, relaxed, kept)
        turns = dual_step.quaternions(sim.model)
        coordinates = [
            (_PLAIN, *pair) for pair in zip(*dual_step.plain_coordinates(sim.model, turns), strict=True)
        ]
        coordinates += [(_TURN, *pair) for pair in turns.tolist()]
        self._coordinates = np.array(coordinates, np.int64).reshape(-1, 3)
        ends, row, at = [], 0, 0
        for name in dual_step.ENDS:
            if name in self._sizes:
                n = self._sizes[name]
                ends.append((self._place(name), n, row, at, int(name == "q")))
                row, at = row + (nv if name == "q" else n), at + n
        self._out_rows, self._end_size, self._out_places = row, at, np.array(ends, np.int64)

    # ---- operations

    def _make_operations(self, sim: Simulation) -> None:
        """Operations in plain numbers, and for every kind of columns those in dual numbers."""
        index, constant, arguments, _ = sim.sets[step_table.MULTIBODY]
        h = self._header
        h[d.RELAXED], h[d.TREE_M], h[d.TREE_C] = self._relaxed, address_of(index), address_of(constant)
        h[d.FACTORS] = address_of(self._factors)
        if self._block is not None:
            h[d.ROW_M], h[d.ROW_C] = address_of(self._m), address_of(self._block.c)
            h[d.ROW_ARGS], h[d.ROW_D] = address_of(self._args), address_of(self._rows)
        linear = np.array([[address_of(x) for x in (h, constant, arguments, self._trees)]], np.int64)
        self._sets = np.concatenate([self._sets, linear])
        linear[0, 3] = address_of(sim.data)
        self._plain_sets = np.concatenate([self._plain_sets, linear])

        plain: list[dual_step.Operation] = []
        parts: list[_Part] = []
        """In the order of the step; parts that read nothing and write nothing run in the first pass alone."""
        for one in selection(sim.schedule, Form.INVERSE):
            if one.stage is solve_islands:
                self._hand_over_rows(plain, parts)
                self.solves.append(dual_step.solve_of(sim))
            plain += dual_step.repeated(one, self.solves)
            if one.stage is narrow_sort:
                once: list[dual_step.Operation] = []
                again: list[dual_step.Operation] = []
                self._pass_on(sim.sets[step_table.COLLISION][2], self._collision_args, plain, once)
                self._reset_counters(sim, once[-1][1], again)
                parts.append(_Part(once + self._redirect_links, frozenset(), frozenset()))
                parts.append(_Part(again, frozenset(), frozenset(("contacts",))))
            reads, writes = _NOTES[one.stage.name]
            for stage, place in one.calls:
                reads, writes = _OWN_NOTES.get(stage, (reads, writes))
                if stage is d.linearize_accelerations:
                    # doubles are copied as integers are
                    plain.append(
                        (dual_step.INTEGERS, address_of(sim.a), address_of(self._solved), len(self._solved))
                    )
                parts.append(_Part(dual_step.dual_calls(((stage, place),)), reads, writes, stage))
        self._plain = _table(plain)
        self._make_kinds(sim, parts)

    def _hand_over_rows(self, plain: list[dual_step.Operation], parts: list[_Part]) -> None:
        """Integers of the rows of the repeated step, addresses of stages and arenas, the solution."""
        assert self._block is not None
        once: list[dual_step.Operation] = []
        self._pass_on(self._block.m, self._m, plain, once)
        self._pass_on(self._block.args, self._args, plain, once)
        once += self._redirect
        once.append((dual_step.NUMBERS, address_of(self._solved), self._place("a_last"), len(self._solved)))
        parts.append(_Part(once, frozenset(), frozenset()))

    def _reset_counters(self, sim: Simulation, copy: int, dual: list[dual_step.Operation]) -> None:
        """Counters of contacts as they were before any was found; `copy` is the address of kept integers."""
        source = sim.sets[step_table.COLLISION][2]
        assert sim.constraints is not None and sim.constraints.collision is not None
        counter = sim.constraints.collision.column.counter
        offset = address_of(counter) - address_of(source)
        dual.append(
            (dual_step.INTEGERS, copy + offset, address_of(self._collision_args) + offset, counter.size)
        )

    def _make_kinds(self, sim: Simulation, parts: Sequence[_Part]) -> None:
        """Operations of the first pass and of every kind, one after the other, with modes."""
        row_reads: frozenset[str] = frozenset()
        if sim.constraints is not None:
            called = [row for row in step_table.called_stages(sim.constraints.step_plan) if row.link is None]
            row_reads = row_reads.union(*(_words(row.reads) for row in called))
        whole: list[dual_step.Operation] = []
        spans = []
        for kind in (BY_COORDINATES, BY_FORCES, BY_VELOCITIES, BY_COORDINATES):
            first, changed = len(whole), set(_KINDS[kind])
            needed = _needed(parts, changed)
            mode = d.AGAIN if row_reads & changed or kind == BY_COORDINATES else d.FORCES
            if not spans:
                mode, needed = d.MAKE, set(range(len(parts)))
            for k in sorted(needed):
                part = parts[k]
                if part.stage is d.residual_of_dynamics and not _MOTION & changed:
                    whole += dual_step.dual_calls(((INSTEAD[d.residual_of_dynamics], step_table.MULTIBODY),))
                else:
                    whole += part.operations
            spans.append((first, len(whole), mode, int(kind == BY_COORDINATES)))
        self._dual, self._spans = _table(whole), spans

    # ---- columns

    def columns(self, seeds: Any) -> tuple[Array, Array]:
        """Derivatives by columns of the displacement, velocity and activation after the step; its values."""
        plan = next((one for one in self._plans if one.given is seeds), None)
        if plan is None:
            plan = self._plan(seeds)
            self._plans = [plan, *self._plans[: _PLANS - 1]]
        out, ends = np.empty((self._out_rows, len(plan.seeds))), np.empty(self._end_size)
        _run_columns(
            self._dual,
            self._sets,
            self._header,
            plan.groups,
            plan.order,
            plan.inputs,
            self._out_places,
            self._coordinates,
            plan.seeds,
            out,
            ends,
        )
        return out, ends

    def _inputs_of(self, given: dict[str, Array]) -> np.ndarray:
        """What a group begins with, where directions are `given`."""
        names = tuple(given)
        found = self._input_tables.get(names)
        if found is None:
            widths = [rows.shape[1] for rows in given.values()]
            starts = dict(zip(names, np.cumsum([0, *widths]), strict=False))
            by_field = {_FIELD.get(name, name): int(start) for name, start in starts.items()}
            values = self.kept | {"a": self._solved}
            found = self._input_tables[names] = np.array(
                [
                    (
                        self._place(name),
                        size,
                        address_of(values[name]),
                        by_field.get(name, -1),
                        int(name in ("q", "q_target")),
                    )
                    for name, size in self._sizes.items()
                ],
                np.int64,
            )
        return found

    def _plan(self, seeds: Any) -> _Plan:
        """Inputs, groups, and all seeds in one array."""
        given = {
            name: rows for name, rows in seeds._asdict().items() if rows is not None and rows.shape[1] > 0
        }
        inputs = self._inputs_of(given)
        flat = np.concatenate(list(given.values()) or [np.zeros((0, 0))], axis=1)
        n, make = len(flat), self._spans[0]
        if n == 1:
            group = np.array([(*make[:3], 1, 0, 1)], np.int64)
            return _Plan(seeds, inputs, np.zeros(1, np.int64), group, flat)
        # the kind of a column is the least that changes all it changes
        kinds = np.zeros(n, np.int64)
        for name, rows in given.items():
            kind = next(k for k, sources in enumerate(_KINDS) if _SOURCES[name] in sources)
            kinds[rows.any(axis=1)] = np.maximum(kinds[rows.any(axis=1)], kind)
        order = np.argsort(kinds, kind="stable")
        counts = np.bincount(kinds, minlength=len(_KINDS)).tolist()
        groups, first = [], 0
        if counts[BY_COORDINATES] < n or n == 0:
            groups.append((*make[:3], 0, 0, 0))
        for kind in range(len(_KINDS)):
            # columns that do not fill a group join those of the next kind
            rest = counts[kind] % DIRECTIONS if kind < BY_COORDINATES else 0
            if rest:
                counts[kind + 1] += rest
            end = first + counts[kind] - rest
            for start in range(first, end, DIRECTIONS):
                span = self._spans[1 + kind] if groups else make
                groups.append((*span, start, min(DIRECTIONS, end - start)))
            first = end
        return _Plan(seeds, inputs, order, np.array(groups, np.int64).reshape(-1, 6), flat)


def _needed(parts: Sequence[_Part], changed: set[str]) -> set[int]:
    """Parts that a kind of columns runs; `changed` grows by all that they change up to accelerations.

    A part runs when something it reads has changed. Where several parts write one quantity, each adds to what
    the ones before it left, so all of them run or none.
    """
    needed, later = set(), set(changed)
    for k, part in enumerate(parts):
        solves = part.stage is d.linearize_accelerations
        is_residual = part.stage is d.residual_of_dynamics
        if part.reads & later or solves or is_residual:
            needed.add(k)
            if not is_residual:
                later |= part.writes
        if solves:
            changed |= later - {"a"}
    while True:
        written = frozenset().union(*(parts[k].writes for k in needed))
        more = {k for k, part in enumerate(parts) if part.writes & written} - needed
        if not more:
            return needed
        needed |= more


def _table(operations: Sequence[dual_step.Operation]) -> np.ndarray:
    return np.array(operations, np.int64).reshape(-1, dual_step.OPERATION)
