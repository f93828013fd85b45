# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a Model: tasks as rows, packed for the kernels, solved for one start or for many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.jit import Stage
from worldline._src.kernels.inverse_kinematics.tables import (
    AXIS,
    CENTER_OF_MASS,
    COUPLING,
    DISTANCE,
    HEADER,
    LOOK_AT,
    NOPTION,
    NREPORT,
    NUMBER_WIDTH,
    ORIENTATION,
    POLYGON,
    POSE,
    POSITION,
    POSTURE,
    TASK_WIDTH,
    layout,
)
from worldline._src.kernels.joints import NUMBERS, SLIDE
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.lanes import native_width
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step import ik_stages, runner
from worldline._src.step.dynamics import integrate
from worldline._src.step.evaluate import (
    SCALARS,
    choose_scalar,
    in_threads,
    new_arena,
    require_articulations,
    stage_addresses,
)

__all__ = [
    "AXIS",
    "CENTER_OF_MASS",
    "COUPLING",
    "DISTANCE",
    "LOOK_AT",
    "ORIENTATION",
    "POLYGON",
    "POSE",
    "POSITION",
    "POSTURE",
    "IkProblem",
    "IkSolutions",
    "TaskRow",
    "VelocityBounds",
    "plain_coordinates",
    "row_count",
    "sliding_dofs",
]

_ROWS = {
    POSE: 6,
    POSITION: 3,
    ORIENTATION: 3,
    AXIS: 5,
    DISTANCE: 1,
    LOOK_AT: 2,
    CENTER_OF_MASS: 3,
    COUPLING: 1,
}
_SLOW_LIMIT = 6.0
"""Iterations in a row with little gain after which the search starts anew."""
_SLOW_GAIN = 0.05
_LARGEST_STEP = 1.0
"""Most that a column moves in an iteration [rad or m]."""
_NO_OPTION = np.zeros(NOPTION)
_SEARCH = ("start", "target", "seed")
"""Operands of a search."""


_Operands = tuple[Array, Array, Array]


class _Job(NamedTuple):
    """A stage to run for many problems: its options, arrays of its operands and of its result."""

    stage: Stage
    iterations: int
    option: Array
    operands: tuple[str, str, str]
    result: str


class _Single(NamedTuple):
    """A call of a stage for one problem, prepared: operands, options and result are written in place."""

    run: Any
    args: np.ndarray
    option: Array
    operands: list[Array]
    out: Array


class _Range(NamedTuple):
    """Where columns start anew: width and middle of their range, steps of the sequence; see `tables.py`."""

    span: Array
    middle: Array
    stride: Array


class VelocityBounds(NamedTuple):
    """Bounds of velocities by degree of freedom, each (nv,)."""

    slowest: Array
    fastest: Array
    acceleration: Array
    """Largest change of velocity in a second; infinite where there is no bound."""


class TaskRow(NamedTuple):
    """One task as the kernels know it."""

    kind: int
    a: int = -1
    """First body, -1 for the world; the first coordinate of a coupling."""
    X_a: Array = IDENTITY
    """Frame in the first body: position and xyzw."""
    b: int = -1
    """Second body; the second coordinate of a coupling, -1 for none."""
    target: Array = IDENTITY
    """Goal frame in the second body; its position is the goal of points."""
    weight: tuple[float, ...] = (1.0,) * 6
    own: tuple[float, float] = (0.0, 0.0)
    """Distance; ratio and offset of a coupling."""
    tolerance: float | None = 1e-8
    """Largest norm of the residual of a task that is met [m or rad]; None for one that need not be."""
    posture: Array | None = None
    """Coordinates (nq,) of a posture."""
    posture_weight: Array | None = None
    """Weights (nv,) of a posture."""
    edges: Array | None = None
    """Edges (n, 3) of a polygon: outward normal in x and y, offset."""


class IkSolutions(NamedTuple):
    """Solutions of many problems of one form."""

    q: Array
    """Best coordinates found, (problems, nq)."""
    cost: Array
    """Half the sum of squares of weighted residuals there."""
    error: Array
    """Largest ratio of error to tolerance of a task that must be met."""
    iterations: np.ndarray
    restarts: np.ndarray
    solved: np.ndarray
    """Whether all tasks that must be met are met."""


def row_count(task: TaskRow, columns: int) -> int:
    """Number of residuals of a task."""
    if task.kind == POSTURE:
        return columns
    if task.kind == POLYGON:
        return 0 if task.edges is None else len(task.edges)
    return _ROWS[task.kind]


class IkProblem:
    """Tasks on the bodies of a model and the degrees of freedom that may move for them.

    Args:
        model: the model; all its joints are in articulations.
        columns: degrees of freedom that may move.
        tasks: what is asked; at most one of them a posture and one a polygon.
        low: least coordinate of every degree of freedom, (nv,); used where a coordinate is a plain number.
        high: largest coordinate.
        scale: unit of the steps of every degree of freedom, (nv,); a larger one moves more, 1 by default.
    """

    def __init__(
        self,
        model: Model,
        columns: Sequence[int],
        tasks: Sequence[TaskRow],
        low: Array,
        high: Array,
        scale: Array | None = None,
    ) -> None:
        require_articulations(model, "inverse kinematics")
        self.model, self.tasks = model, tuple(tasks)
        self.columns = np.array(columns, np.int64)
        self._index = _index_of(model)
        self.scale = np.ones(len(self.columns)) if scale is None else scale[self.columns]
        for kind, what in ((POSTURE, "posture"), (POLYGON, "balance")):
            if sum(task.kind == kind for task in tasks) > 1:
                raise ArgumentError(f"inverse kinematics takes at most one {what} task")
        n = len(self.columns)
        self.row_counts = [row_count(task, n) for task in tasks]
        edges = [task.edges for task in tasks if task.edges is not None]
        sizes = (sum(self.row_counts), len(tasks), len(edges[0]) if edges else 0)
        self.rows = sizes[0]
        self._layout = layout(model.joint_coord_count, model.joint_dof_count, n, *sizes)
        self._base = model.arenas.data_size
        self._numbers = self._pack_numbers(edges[0] if edges else np.zeros((0, 3)), low, high)
        self._args = self._pack_integers(sizes)
        self._targets = np.array([task.target for task in self.tasks])
        self._seeded: tuple[int, Array] | None = None
        self._velocity_bounds: list[Array] | None = None
        self._forget_arenas()

    def _forget_arenas(self) -> None:
        """Arenas and prepared calls nobody uses, by scalar and by stage; they hold numbers of the problem."""
        self._stock: dict[str, list[np.ndarray]] = {}
        self._singles: dict[str, list[_Single]] = {}

    def coordinate_of(self, dofs: np.ndarray) -> np.ndarray:
        """Coordinates of degrees of freedom that are plain numbers, -1 for the others."""
        return self._index.coordinate[dofs]

    def _pack_integers(self, sizes: tuple[int, int, int]) -> np.ndarray:
        model, index, n = self.model, self._index, len(self.columns)
        column = np.full(model.joint_dof_count, -1, np.int64)
        column[self.columns] = np.arange(n)
        tasks = np.zeros((len(self.tasks), TASK_WIDTH), np.int64)
        row, touch = 0, []
        for k, (task, count) in enumerate(zip(self.tasks, self.row_counts, strict=True)):
            required = task.tolerance is not None
            if task.kind == COUPLING:
                first = index.velocity_of(task.a)
                second = -1 if task.b < 0 else index.velocity_of(task.b)
                tasks[k] = task.kind, task.a, -1, task.b, -1, row, required, first, second, count
                dofs = {first, second} - {-1}
            else:
                a, b = index.link(task.a), index.link(task.b)
                last_a, last_b = index.link_last[a], index.link_last[b]
                tasks[k] = task.kind, a, last_a, b, last_b, row, required, -1, -1, count
                dofs = index.dofs_up(last_a) | index.dofs_up(last_b)
            if task.kind in (CENTER_OF_MASS, POLYGON, POSTURE):
                dofs = set(self.columns.tolist())
            touch.append(sorted(int(column[d]) for d in dofs if column[d] >= 0))
            row += count
        needs_mass = any(task.kind in (CENTER_OF_MASS, POLYGON) for task in self.tasks)
        required = sum(task.tolerance is not None for task in self.tasks)
        header = [self._base, n, sizes[0], sizes[1], sizes[2], 0, int(needs_mass), required]
        assert len(header) == HEADER
        ends = np.cumsum([0, *map(len, touch)])
        parts = [
            header,
            column,
            self.columns,
            index.coordinate[self.columns],
            tasks.ravel(),
            ends,
            [j for each in touch for j in each],
        ]
        return np.concatenate([np.asarray(part, np.int64) for part in parts])

    def _pack_numbers(self, edges: Array, low: Array, high: Array) -> Array:
        """All numbers of the problem in the order of the layout, with the scratch at zero."""
        numbers = np.zeros(self._layout[""][0])
        n, columns = len(self.columns), self.columns

        def put(name: str, value: Array) -> None:
            self._put(name, value, numbers)

        own = np.zeros((len(self.tasks), NUMBER_WIDTH))
        posture, posture_weight = np.zeros(self.model.joint_coord_count), np.zeros(n)
        for k, task in enumerate(self.tasks):
            weight = np.zeros(6)
            weight[: len(task.weight)] = task.weight
            scale = 0.0 if task.tolerance is None else task.tolerance**-2
            own[k] = np.concatenate([task.X_a, weight, task.own, [scale]])
            if task.posture is not None and task.posture_weight is not None:
                posture, posture_weight = task.posture, task.posture_weight[columns]
        put("number", own)
        put("posture", np.array(posture))
        put("posture_weight", np.array(posture_weight))
        put("edge", edges)
        low, high = low[columns], high[columns]
        bounded = np.isfinite(low) & np.isfinite(high)
        # joints without limits start anew within a turn, or a metre, about zero
        whole = np.where(self._index.slides[columns], 2.0, 2.0 * np.pi)
        span = np.where(bounded, np.where(bounded, high, 0.0) - np.where(bounded, low, 0.0), whole)
        centre = np.where(bounded, 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)), 0.0)
        put("low", low)
        put("high", high)
        self._range = _Range(span, np.clip(centre, low, high), _strides(n))
        put("span", self._range.span)
        put("middle", self._range.middle)
        put("stride", self._range.stride)
        put("scale", self.scale)
        put("target", np.array([task.target for task in self.tasks]))
        return numbers

    def _put(self, name: str, value: Array, numbers_out: Array) -> None:
        at, size = self._layout[name]
        assert value.size == size, name
        numbers_out[at : at + size] = value.ravel()

    def solve(
        self,
        starts: Array,
        targets: Array | None = None,
        seed: int = 0,
        iterations: int = 600,
        restarts: int = 1_000_000,
        threads: int = 1,
        lanes: int | None = None,
        slow_gain: float = _SLOW_GAIN,
    ) -> IkSolutions:
        """Solve from starts (problems, nq), with targets (problems, tasks, 7) in place of those of the tasks.

        Starts from which the search goes on when it fails follow from `seed` alone, the same for every
        problem. A start is given up after some iterations that each lower the cost by less than the share
        `slow_gain`. Several problems run in lanes; their bits are those of each alone.
        """
        count, nq = len(starts), self.model.joint_coord_count
        option = np.array([restarts, _SLOW_LIMIT, _LARGEST_STEP, slow_gain, 0.0, 0.0, 0.0])
        out = np.empty((count, nq + NREPORT))
        job = _Job(ik_stages.inverse_kinematics, iterations, option, _SEARCH, "result")
        self._run(job, (starts, self._goals(targets), self._first_shift(seed)), out, threads, lanes)
        q, report = out[:, :nq].copy(), out[:, nq:]
        return IkSolutions(
            q,
            report[:, 0].copy(),
            np.sqrt(report[:, 1]),
            report[:, 2].astype(np.int64),
            report[:, 3].astype(np.int64),
            report[:, 4] > 0.5,
        )

    def search(self, start: Array, seed: int, iterations: int, restarts: int) -> IkSolutions:
        """Solve from one start (nq,), then from others of the sequence of `seed`, several in lanes.

        The first start that leads to a solution counts, as if one were tried after the other; without one
        the best end of all. Iterations are those of all starts up to it.
        """
        made = self.solve(start[None], None, seed, iterations, 0)
        used, tried, u = int(made.iterations[0]), 0, self._first_shift(seed)
        while not made.solved[0] and tried < restarts and used < iterations:
            starts = []
            for _ in range(min(native_width(), restarts - tried)):
                u = u + self._range.stride
                u = u - np.rint(u)
                starts.append(self._shifted(start, u))
            more = self.solve(np.array(starts), None, seed, iterations - used, 0)
            found = np.flatnonzero(more.solved)
            k = int(found[0]) if found.size else int(np.argmin(more.cost))
            count = k + 1 if found.size else len(starts)
            used, tried = used + int(more.iterations[:count].sum()), tried + count
            if found.size or more.cost[k] < made.cost[0]:
                made = IkSolutions(*(part[k : k + 1] for part in more))
        return made._replace(iterations=np.array([used]), restarts=np.array([tried]))

    def _shifted(self, start: Array, u: Array) -> Array:
        """Another start: plain coordinates at a share of their range, orientations turned from the given."""
        move, plain = np.zeros(self.model.joint_dof_count), self.coordinate_of(self.columns)
        move[self.columns] = u * self._range.span
        made, chosen = integrate(self.model, start, move), plain >= 0
        made[plain[chosen]] = (self._range.middle + u * self._range.span)[chosen]
        return made

    def prepare(self, iterations: int, slow_gain: float) -> Callable[[Array], tuple[Array, int, float]]:
        """A function that finds the nearest solution from one start, (nq,), without restarts.

        It returns coordinates, iterations and the largest ratio of error to tolerance; one thread at a time
        may call it.
        """
        nq = self.model.joint_coord_count
        job = _Job(ik_stages.inverse_kinematics, iterations, _NO_OPTION, _SEARCH, "result")
        made = self._single(job, nq + NREPORT)
        made.option[:4] = 0.0, _SLOW_LIMIT, _LARGEST_STEP, slow_gain
        made.args[5] = iterations
        made.operands[1][:], made.operands[2][:] = self._targets.reshape(-1), self._first_shift(0)

        def solve(start: Array) -> tuple[Array, int, float]:
            made.operands[0][:] = start
            self._require_finite(job, made.run())
            _, square, count, _, _ = made.out[nq:].tolist()
            return made.out[:nq].copy(), int(count), math.sqrt(square)

        return solve

    def _first_shift(self, seed: int) -> Array:
        """Where the sequence of starts begins, in the range of each column."""
        if self._seeded is None or self._seeded[0] != seed:
            self._seeded = seed, np.random.default_rng(seed).uniform(-0.5, 0.5, len(self.columns))
        return self._seeded[1]

    def evaluate(self, q: Array, targets: Array | None = None) -> tuple[Array, Array]:
        """Weighted residuals (problems, rows) and derivatives (problems, rows, columns) at q (problems,
        nq)."""
        n, rows = len(self.columns), self.rows
        out = np.empty((len(q), rows * (1 + n)))
        job = _Job(ik_stages.inverse_kinematics_rows, 0, _NO_OPTION, _SEARCH, "r")
        self._run(job, (q, self._goals(targets), np.zeros(n)), out, 1, 1)
        return out[:, :rows].copy(), out[:, rows:].reshape(len(q), rows, n) / self.scale

    def bound_velocities(self, bounds: VelocityBounds) -> None:
        """Bounds that `velocities` keep; none of them before this call."""
        parts = [part[self.columns] for part in bounds]
        if self._velocity_bounds is None or not all(map(np.array_equal, parts, self._velocity_bounds)):
            self._velocity_bounds = parts
            for name, part in zip(("slowest", "fastest", "acceleration"), parts, strict=True):
                self._put(name, part, self._numbers)
            self._forget_arenas()

    def velocities(
        self,
        q: Array,
        targets: Array | None,
        before: Array,
        gain: float,
        damping: float,
        time_step: float,
        threads: int = 1,
        lanes: int | None = None,
    ) -> Array:
        """Velocities (problems, nv) that lead the tasks to their targets from coordinates q (problems, nq).

        `before` are the velocities (problems, nv) or (nv,) of the step before.
        """
        option = np.array([0.0, 0.0, 0.0, 0.0, gain, damping, time_step])
        out = np.empty((len(q), self.model.joint_dof_count))
        stage = ik_stages.differential_inverse_kinematics
        job = _Job(stage, 0, option, ("start", "target", "before"), "move")
        self._run(job, (q, self._goals(targets), before), out, threads, lanes)
        return out

    def _goals(self, targets: Array | None) -> Array:
        return self._targets if targets is None else targets

    def _table(self, job: _Job, size: int) -> np.ndarray:
        """Offsets of operands and result, then how many numbers each has."""
        table, base = np.full(10, -1, np.int64), self._base
        table[4], table[8], table[9] = base + self._layout[job.result][0], 0, size
        for k, name in enumerate(job.operands):
            offset, numbers = self._layout[name]
            table[k], table[5 + k] = base + offset, numbers
        return table

    def _arena(self, scalar: str) -> np.ndarray:
        data = new_arena(self.model, scalar, self._base + len(self._numbers))
        width = SCALARS[scalar][1]
        data[self._base * width :] = np.repeat(self._numbers, width)
        return data

    def _run(self, job: _Job, operands: _Operands, out: Array, threads: int, lanes: int | None) -> None:
        """Run a stage for every row of `out`; operands without that many rows serve all of them."""
        if len(out) == 1 and threads == 1:
            bad = self._run_single(job, operands, out)
        else:
            bad = self._run_many(job, operands, out, threads, lanes)
        self._require_finite(job, bad)

    def _require_finite(self, job: _Job, bad: int) -> None:
        if bad >= 0:
            name = job.operands[bad % 4]
            raise ArgumentError(
                f"{name} of inverse kinematics must be finite; it is not in problem {bad // 4}"
            )

    def _run_single(self, job: _Job, operands: _Operands, out: Array) -> int:
        stock = self._singles.setdefault(job.stage.name, [])
        # calls nobody uses wait in a list; taking from it and adding to it are atomic
        try:
            made = stock.pop()
        except IndexError:
            made = self._single(job, out.shape[1])
        for name, into, value in zip(job.operands, made.operands, operands, strict=True):
            if value.size != into.size:
                raise _wrong_size(name, into.size, value)
            into[:] = value.reshape(-1)
        made.option[:] = job.option
        made.args[5] = job.iterations
        bad = made.run()
        out[0] = made.out
        stock.append(made)
        return bad

    def _single(self, job: _Job, size: int) -> _Single:
        arenas, data, args, base = self.model.arenas, self._arena("float"), self._args.copy(), self._base
        operands = [np.zeros(self._layout[name][1]) for name in job.operands]
        at, made = base + self._layout["option"][0], np.zeros(size)
        span = np.array((0, 1, runner.CHECK), np.int64)
        program = stage_addresses((job.stage,), "float")
        call = (program, arenas.index, arenas.constant, args, data, self._table(job, size))
        run = runner.bound((*call, *operands, np.zeros(0), made, span))
        return _Single(run, args, data[at : at + NOPTION], operands, made)

    def _run_many(self, job: _Job, operands: _Operands, out: Array, threads: int, lanes: int | None) -> int:
        scalar = choose_scalar(lanes, len(out))
        width = SCALARS[scalar][1]
        program, run = stage_addresses((job.stage,), scalar), runner.runner(scalar)
        stock, arenas, table = (
            self._stock.setdefault(scalar, []),
            self.model.arenas,
            self._table(job, out.shape[1]),
        )
        args = self._args.copy()
        args[5] = job.iterations
        flat: list[Any] = []
        flags = 0
        for k, (name, value) in enumerate(zip(job.operands, operands, strict=True)):
            size = int(table[5 + k])
            array = np.ascontiguousarray(value, np.float64)
            if array.size == len(out) * size and array.ndim > 1 and array.shape[0] == len(out):
                flags |= 1 << k
            elif array.size != size:
                raise _wrong_size(name, size, array)
            flat.append(array.reshape(-1))
        none, result = np.zeros(0), out.reshape(-1)

        def chunk(low: int, high: int, flags: int) -> int:
            try:
                data = stock.pop()
            except IndexError:
                data = self._arena(scalar)
            at = (self._base + self._layout["option"][0]) * width
            data[at : at + NOPTION * width] = np.repeat(job.option, width)
            span = np.array((low, high, flags), np.int64)
            bad = run(program, arenas.index, arenas.constant, args, data, table, *flat, none, result, span)
            stock.append(data)
            return bad

        if threads == 1:
            return chunk(0, len(out), flags | runner.CHECK)
        first_bad: Any = runner.first_bad
        bad = first_bad(table, *flat, none)
        if bad < 0:
            in_threads(chunk, len(out), threads, width, flags)
        return bad


def _wrong_size(name: str, size: int, value: Array) -> ArgumentError:
    return ArgumentError(
        f"{name} of inverse kinematics must have {size} numbers a problem, got {value.shape}"
    )


def _strides(n: int) -> Array:
    """Steps of an additive recurrence that fills a cube of n dimensions evenly [Roberts 2018]."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (n + 1.0))
    return np.array([(1.0 / root) ** (k + 1) % 1.0 for k in range(n)])


class _Index:
    """Where bodies, coordinates and velocities of a model are in its kernel arrays."""

    def __init__(self, model: Model) -> None:
        arenas, nv = model.arenas, model.joint_dof_count

        def column(name: str, count: int) -> np.ndarray:
            at = arenas.offsets[name]
            return arenas.index[at : at + count]

        links = arenas.sizes["nlink"]
        self.link_last = column("link_last", links)
        self._body_link = column("body_link", model.body_count)
        kind, dof_kind = column("link_kind", links), column("dof_kind", nv)
        q_start, v_start = column("link_q_start", links), column("link_v_start", links)
        self._dof_parent = column("dof_parent", nv)
        self.coordinate = np.full(nv, -1, np.int64)
        """Coordinate of a velocity whose joint has plain numbers, -1 elsewhere."""
        for d, i in enumerate(column("dof_link", nv)):
            if kind[i] in NUMBERS:
                self.coordinate[d] = q_start[i] + d - v_start[i]
        self.slides = dof_kind == SLIDE

    def link(self, body: int) -> int:
        return 0 if body < 0 else int(self._body_link[body])

    def dofs_up(self, last: int) -> set[int]:
        """Degrees of freedom that move a link, from the last of them up to the root."""
        made, d = set(), int(last)
        while d >= 0:
            made.add(d)
            d = int(self._dof_parent[d])
        return made

    def velocity_of(self, coordinate: int) -> int:
        found = np.flatnonzero(self.coordinate == coordinate)
        return int(found[0]) if found.size else -1


def plain_coordinates(model: Model) -> np.ndarray:
    """Coordinate of every degree of freedom whose joint has plain numbers, -1 for the others, (nv,)."""
    return _index_of(model).coordinate


def sliding_dofs(model: Model) -> np.ndarray:
    """Which degrees of freedom slide, (nv,)."""
    return _index_of(model).slides


def _index_of(model: Model) -> Any:
    found = model.scratch.get(_Index)
    if found is None:
        found = model.scratch[_Index] = _Index(model)
    return found
