# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: what a problem is made of, as the kernels see it.

A problem has columns, the degrees of freedom that may move, and tasks, each with one or more rows: a
residual that should vanish and its derivative by the columns. Numbers of a problem lie in the data arena of
the model, behind its own fields, so that they differ from lane to lane where targets and starts do; integers
lie in the arguments.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, vector

# kinds of tasks
POSE, POSITION, ORIENTATION, AXIS, DISTANCE, LOOK_AT, CENTER_OF_MASS, COUPLING, POSTURE, POLYGON = range(10)

# columns of the task table: kind, bodies (-1 the world), last velocities that move them, first row, whether
# it must be met, first index of its own (coordinates of a coupling), number of rows
TASK_WIDTH = 10
KIND, LINK_A, LAST_A, LINK_B, LAST_B, FIRST_ROW, REQUIRED, FIRST, SECOND, ROWS = range(TASK_WIDTH)

# numbers of a task: frame in the first body (position, xyzw), weights of rows, two of its own, and the
# inverse of its tolerance squared
NUMBER_WIDTH = 16
WEIGHT = 7
OWN = 13
SCALE = 15

# integers at the start of the arguments
BASE, NCOLUMN, NROW, NTASK, NEDGE, ITERATIONS, NEEDS_MASS, NREQUIRED = range(8)
HEADER = 8

# numbers of the options
RESTART_LIMIT, SLOW_LIMIT, LARGEST_STEP, SLOW_GAIN, GAIN, DAMPING, TIME_STEP = range(7)
NOPTION = 7

# what follows the coordinates in a result
COST, ERROR, STEPS, RESTARTS, SOLVED = range(5)
NREPORT = 5


class Mechanism(NamedTuple):
    """Views of the model that rows need."""

    tree: Any
    joint: Any
    dof: Any
    body: Any
    inertia: Any
    pos: Any
    crb: Any


class Problem(NamedTuple):
    """What is asked; nothing here changes while it is solved."""

    header: Any
    column: Any
    """Column of a velocity, -1 where it may not move, (nv,)."""
    velocity: Any
    """Velocity of a column, (ncolumn,)."""
    coordinate: Any
    """Coordinate of a column that is a plain number, -1 for those of orientations and free positions."""
    task: Any
    touch_start: Any
    """Where the columns that a task depends on begin in `touch`, (ntask + 1,)."""
    touch: Any
    number: Any
    target: Any
    """Goal frame in the second body, or a point, (ntask, 7)."""
    posture: Any
    """Coordinates of the posture task, (nq,)."""
    posture_weight: Any
    edge: Any
    """Edges of the support polygon: outward normal and offset in the world's x and y, (nedge, 3)."""
    low: Any
    high: Any
    span: Any
    """Range in which a column starts anew."""
    middle: Any
    stride: Any
    """Step of the additive recurrence that makes starts."""
    scale: Any
    """How willingly a column moves: the unit of its steps."""
    seed: Any
    start: Any
    option: Any


class Bounds(NamedTuple):
    """Bounds of velocities, for differential inverse kinematics; all but `before` by column."""

    before: Any
    """Velocities of the step before, (nv,)."""
    slowest: Any
    fastest: Any
    acceleration: Any
    """Largest acceleration, infinite where there is none."""
    least: Any
    """Scratch: the bounds that hold in this step, and which columns are at theirs."""
    most: Any
    fixed: Any


class Work(NamedTuple):
    """The coordinates at hand, rows, normal equations and scratch."""

    q: Any
    q_kept: Any
    r: Any
    J: Any
    A: Any
    g: Any
    L: Any
    step: Any
    move: Any
    u: Any
    scratch: Any


def layout(nq: int, nv: int, columns: int, rows: int, tasks: int, edges: int) -> dict[str, tuple[int, int]]:
    """Offset, from the base of the problem on, and size of every array of numbers; "" is the end."""
    sizes = {
        "start": nq,
        "target": 7 * tasks,
        "seed": columns,
        "posture": nq,
        "number": NUMBER_WIDTH * tasks,
        "posture_weight": columns,
        "edge": 3 * edges,
        "low": columns,
        "high": columns,
        "span": columns,
        "middle": columns,
        "stride": columns,
        "scale": columns,
        "option": NOPTION,
        "q_kept": nq,
        "r": rows,
        "J": rows * columns,
        "A": columns * columns,
        "g": columns,
        "L": columns * columns,
        "step": columns,
        "move": nv,
        "u": columns,
        "scratch": nq + NREPORT,
        "result": nq + NREPORT,
        "before": nv,
        "slowest": columns,
        "fastest": columns,
        "acceleration": columns,
        "least": columns,
        "most": columns,
        "fixed": columns,
        "": 0,
    }
    made, at = {}, 0
    for name, size in sizes.items():
        made[name] = (at, size)
        at += size
    return made


@inline
def _vector(d, at, n):
    """A vector of `n` numbers, and where the next array begins."""
    return vector(d, at, n), at + n


@inline
def _matrix(d, at, n, m):
    """A matrix of `n` rows, and where the next array begins."""
    return matrix(d, at, n, m), at + n * m


@inline
def problem_view(args, d, q, nv):
    """Problem, work, result and bounds of velocities, cut from the arenas in the order of `layout`.

    The coordinates `q` at hand are the model's own.
    """
    nq = q.shape[0]
    n, rows, tasks, edges = args[NCOLUMN], args[NROW], args[NTASK], args[NEDGE]
    header, at = _vector(args, 0, HEADER)
    column, at = _vector(args, at, nv)
    velocity, at = _vector(args, at, n)
    coordinate, at = _vector(args, at, n)
    task, at = _matrix(args, at, tasks, TASK_WIDTH)
    touch_start, at = _vector(args, at, tasks + 1)
    touch = vector(args, at, touch_start[tasks])

    start, at = _vector(d, args[BASE], nq)
    target, at = _matrix(d, at, tasks, 7)
    seed, at = _vector(d, at, n)
    posture, at = _vector(d, at, nq)
    number, at = _matrix(d, at, tasks, NUMBER_WIDTH)
    posture_weight, at = _vector(d, at, n)
    edge, at = _matrix(d, at, edges, 3)
    low, high, span = vector(d, at, n), vector(d, at + n, n), vector(d, at + 2 * n, n)
    middle, stride, scale = vector(d, at + 3 * n, n), vector(d, at + 4 * n, n), vector(d, at + 5 * n, n)
    option, at = _vector(d, at + 6 * n, NOPTION)
    q_kept, at = _vector(d, at, nq)
    r, at = _vector(d, at, rows)
    J, at = _matrix(d, at, rows, n)
    A, at = _matrix(d, at, n, n)
    g, at = _vector(d, at, n)
    L, at = _matrix(d, at, n, n)
    step, at = _vector(d, at, n)
    move, at = _vector(d, at, nv)
    u, at = _vector(d, at, n)
    scratch, at = _vector(d, at, nq + NREPORT)
    result, at = _vector(d, at, nq + NREPORT)
    before, at = _vector(d, at, nv)
    slowest, fastest, acceleration = vector(d, at, n), vector(d, at + n, n), vector(d, at + 2 * n, n)
    least, most, fixed = vector(d, at + 3 * n, n), vector(d, at + 4 * n, n), vector(d, at + 5 * n, n)
    bounds = Bounds(before, slowest, fastest, acceleration, least, most, fixed)
    problem = Problem(
        header,
        column,
        velocity,
        coordinate,
        task,
        touch_start,
        touch,
        number,
        target,
        posture,
        posture_weight,
        edge,
        low,
        high,
        span,
        middle,
        stride,
        scale,
        seed,
        start,
        option,
    )
    return problem, Work(q, q_kept, r, J, A, g, L, step, move, u, scratch), result, bounds
