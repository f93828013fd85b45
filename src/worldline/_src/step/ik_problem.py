# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a Model: tasks as rows, packed for the kernels, solved for one start or for many."""

from __future__ import annotations

from collections.abc import Sequence
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
from worldline._src.spatial.poses import IDENTITY, Array
from worldline._src.step import ik_stages, runner
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


_OPERANDS = ("start", "target", "seed")


class _Job(NamedTuple):
    """A stage to run for many problems: its arguments and options, the array of its result, threads,
    lanes."""

    stage: Stage
    args: np.ndarray
    option: Array
    result: str
    threads: int
    lanes: int | None


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
        self._stock: dict[str, list[np.ndarray]] = {}

    def coordinate_of(self, dofs: np.ndarray) -> np.ndarray:
        """Coordinates of degrees of freedom that are plain numbers, -1 for the others."""
        return self._index.coordinate[dofs]

    def _pack_integers(self, sizes: tuple[int, int, int]) -> np.ndarray:
        model, index, n = self.model, self._index, len(self.columns)
        column = np.full(model.joint_dof_count, -1, np.int64)
        column[self.columns] = np.arange(n)
        tasks = np.zeros((len(self.tasks), TASK_WIDTH), np.int64)
        row = 0
        for k, task in enumerate(self.tasks):
            if task.kind == COUPLING:
                first = index.velocity_of(task.a)
                second = -1 if task.b < 0 else index.velocity_of(task.b)
                tasks[k] = task.kind, task.a, -1, task.b, -1, row, task.tolerance is not None, first, second
            else:
                a, b = index.link(task.a), index.link(task.b)
                last_a, last_b = index.link_last[a], index.link_last[b]
                tasks[k] = task.kind, a, last_a, b, last_b, row, task.tolerance is not None, -1, -1
            row += self.row_counts[k]
        needs_mass = any(task.kind in (CENTER_OF_MASS, POLYGON) for task in self.tasks)
        required = sum(task.tolerance is not None for task in self.tasks)
        header = [self._base, n, sizes[0], sizes[1], sizes[2], 0, int(needs_mass), required]
        assert len(header) == HEADER
        parts = [header, column, self.columns, index.coordinate[self.columns], tasks.ravel()]
        return np.concatenate([np.asarray(part, np.int64) for part in parts])

    def _pack_numbers(self, edges: Array, low: Array, high: Array) -> Array:
        """All numbers of the problem in the order of the layout, with the scratch at zero."""
        numbers = np.zeros(self._layout[""][0])
        n, columns = len(self.columns), self.columns

        def put(name: str, value: Array) -> None:
            at, size = self._layout[name]
            assert value.size == size, name
            numbers[at : at + size] = value.ravel()

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
        put("span", span)
        put("middle", np.clip(centre, low, high))
        put("stride", _strides(n))
        put("scale", self.scale)
        put("target", np.array([task.target for task in self.tasks]))
        return numbers

    def solve(
        self,
        starts: Array,
        targets: Array | None = None,
        seed: int = 0,
        iterations: int = 600,
        restarts: int = 1_000_000,
        threads: int = 1,
        lanes: int | None = 1,
        slow_gain: float = _SLOW_GAIN,
    ) -> IkSolutions:
        """Solve from starts (problems, nq), with targets (problems, tasks, 7) in place of those of the tasks.

        Starts from which the search goes on when it fails follow from `seed` alone, the same for every
        problem. A start is given up after some iterations that each lower the cost by less than the share
        `slow_gain`.
        """
        count, nq = len(starts), self.model.joint_coord_count
        first = np.random.default_rng(seed).uniform(-0.5, 0.5, len(self.columns))
        option = np.array([restarts, _SLOW_LIMIT, _LARGEST_STEP, slow_gain])
        assert len(option) == NOPTION
        args = self._args.copy()
        args[5] = iterations
        size = nq + NREPORT
        out = np.empty((count, size))
        job = _Job(ik_stages.inverse_kinematics, args, option, "result", threads, lanes)
        self._run(job, (starts, self._goals(targets), first), out)
        q, report = out[:, :nq].copy(), out[:, nq:]
        return IkSolutions(
            q,
            report[:, 0].copy(),
            np.sqrt(report[:, 1]),
            report[:, 2].astype(np.int64),
            report[:, 3].astype(np.int64),
            report[:, 4] > 0.5,
        )

    def evaluate(self, q: Array, targets: Array | None = None) -> tuple[Array, Array]:
        """Weighted residuals (problems, rows) and derivatives (problems, rows, columns) at q (problems,
        nq)."""
        n, rows = len(self.columns), self.rows
        size = rows * (1 + n)
        out = np.empty((len(q), size))
        job = _Job(ik_stages.inverse_kinematics_rows, self._args, np.zeros(NOPTION), "r", 1, 1)
        self._run(job, (q, self._goals(targets), np.zeros(n)), out)
        return out[:, :rows].copy(), out[:, rows:].reshape(len(q), rows, n) / self.scale

    def _goals(self, targets: Array | None) -> Array:
        return np.array([task.target for task in self.tasks]) if targets is None else targets

    def _run(self, job: _Job, operands: tuple[Array, Array, Array], out: Array) -> None:
        """Run a stage for every row of `out`; operands without that many rows serve all of them."""
        scalar = choose_scalar(job.lanes, len(out))
        width = SCALARS[scalar][1]
        program, run = stage_addresses((job.stage,), scalar), runner.runner(scalar)
        stock, arenas, base = self._stock.setdefault(scalar, []), self.model.arenas, self._base
        # offsets of operands and result, then how many numbers each has
        table = np.full(10, -1, np.int64)
        table[4], table[8], table[9] = base + self._layout[job.result][0], 0, out.shape[1]
        flat: list[Any] = []
        flags = 0
        for k, (name, value) in enumerate(zip(_OPERANDS, operands, strict=True)):
            offset, size = self._layout[name]
            table[k], table[5 + k] = base + offset, size
            array = np.ascontiguousarray(value, np.float64)
            if array.size == len(out) * size and array.ndim > 1 and array.shape[0] == len(out):
                flags |= 1 << k
            elif array.size != size:
                raise ArgumentError(
                    f"{name} of inverse kinematics must have {size} numbers a problem, got {array.shape}"
                )
            flat.append(array.reshape(-1))
        none, result = np.zeros(0), out.reshape(-1)

        def chunk(low: int, high: int, flags: int) -> int:
            try:
                data = stock.pop()
            except IndexError:
                data = new_arena(self.model, scalar, base + len(self._numbers))
                data[base * width :] = np.repeat(self._numbers, width)
            at = (base + self._layout["option"][0]) * width
            data[at : at + NOPTION * width] = np.repeat(job.option, width)
            index, constant = arenas.index, arenas.constant
            span = np.array((low, high, flags), np.int64)
            bad = run(program, index, constant, job.args, data, table, *flat, none, result, span)
            stock.append(data)
            return bad

        if job.threads == 1:
            bad = chunk(0, len(out), flags | runner.CHECK)
        else:
            first_bad: Any = runner.first_bad
            bad = first_bad(table, *flat, none)
            if bad < 0:
                in_threads(chunk, len(out), job.threads, width, flags)
        if bad >= 0:
            raise ArgumentError(
                f"{_OPERANDS[bad % 4]} of inverse kinematics must be finite; it is not in problem {bad // 4}"
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
        self.coordinate = np.full(nv, -1, np.int64)
        """Coordinate of a velocity whose joint has plain numbers, -1 elsewhere."""
        for d, i in enumerate(column("dof_link", nv)):
            if kind[i] in NUMBERS:
                self.coordinate[d] = q_start[i] + d - v_start[i]
        self.slides = dof_kind == SLIDE

    def link(self, body: int) -> int:
        return 0 if body < 0 else int(self._body_link[body])

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
