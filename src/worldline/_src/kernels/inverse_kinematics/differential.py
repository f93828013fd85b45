# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: velocities that lead tasks to their goals, within bounds."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.inverse_kinematics.least_squares import add_normal_equations, box_least_squares
from worldline._src.kernels.inverse_kinematics.rows import evaluate
from worldline._src.kernels.inverse_kinematics.tables import DAMPING, GAIN, TIME_STEP
from worldline._src.scalar.ops import clamp, constant, maximum, minimum, nearest, sqrt, where

_FINITE = 1e300


@inline
def _braking_speed(room, unit, per_way, per_step):
    """Largest velocity of the next step from which a joint stops within `room` by changes of -unit a step.

    With n whole steps of braking after it and v = (n + f) unit the way is (n + 1) (n / 2 + f) unit h. Joints
    without bounds of acceleration, of unit 0, stop at once: v = room / h.
    """
    room = maximum(room, constant(0.0, room))
    brakes = (unit > 0.0) & (room < _FINITE)
    ways = where(brakes, room, constant(0.0, room)) * per_way
    # n = floor((sqrt(1 + 8 ways) - 1) / 2)
    x = 0.5 * (sqrt(1.0 + 8.0 * ways) - 1.0)
    n = nearest(x)
    n = where(n > x, n - 1.0, n)
    return where(brakes, (n + ways / (n + 1.0) - 0.5 * n) * unit, room * per_step)


@inline
def _velocity_bounds(problem, q, h, bounds_io):
    """Least and largest velocity of the columns; bounds of position come first, then velocity, then
    acceleration."""
    per_step = 1.0 / h
    for j in range(problem.velocity.shape[0]):
        before, limit = bounds_io.before[problem.velocity[j]], bounds_io.acceleration[j]
        # velocities in reach of the one before
        change = limit * h
        low = clamp(before - change, bounds_io.slowest[j], bounds_io.fastest[j])
        high = clamp(before + change, bounds_io.slowest[j], bounds_io.fastest[j])
        c = problem.coordinate[j]
        if c >= 0:
            # what can be braked within the room that is left
            unit = where(limit < _FINITE, change, constant(0.0, change))
            per_way = per_step / where(unit > 0.0, unit, constant(1.0, unit))
            up = _braking_speed(problem.high[j] - q[c], unit, per_way, per_step)
            down = _braking_speed(q[c] - problem.low[j], unit, per_way, per_step)
            low, high = maximum(minimum(low, up), -down), maximum(minimum(high, up), -down)
        bounds_io.least[j] = low
        bounds_io.most[j] = high


@kernel
def differential_velocity(mechanism, problem, bounds_io, work_io):
    """Velocities v of all columns that minimize |J v + gain r|^2 + damping |v|^2 within their bounds.

    r are the weighted residuals at the coordinates of the work, J their derivatives [Nakamura 1986, damped
    least squares; Kanoun 2011, bounds as a quadratic program]. The velocities of the whole model go to
    `move` of the work, zero where nothing may move.
    """
    gain, damping, h = problem.option[GAIN], problem.option[DAMPING], problem.option[TIME_STEP]
    A, g, r, v = work_io.A, work_io.g, work_io.r, work_io.u
    zero = constant(0.0, gain)
    evaluate(mechanism, problem, work_io)
    _velocity_bounds(problem, work_io.q, h, bounds_io)

    # A = J^T J, g = -gain J^T r
    for i in range(A.shape[0]):
        g[i] = zero
        for j in range(i, A.shape[0]):
            A[i, j] = zero
    for k in range(r.shape[0]):
        r[k] = -gain * r[k]
    add_normal_equations(problem, zero < 1.0, work_io)
    box_least_squares(damping, bounds_io, v, work_io)

    for d in range(work_io.move.shape[0]):
        work_io.move[d] = zero
    for j in range(v.shape[0]):
        work_io.move[problem.velocity[j]] = v[j]
