# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of motors and speed limits.

A motor wants a velocity at the end of the step and has a largest force to reach it with: a servo that of its
command, a mimic motor that which brings its coordinate to multiplier * leader + offset. The leader feels
nothing of it: its own motion is taken as it would be without constraints. A speed limit is one-sided: it
takes whatever it needs when the step would end beyond it. Its rows stand ready wherever an island has others.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.bounded_rows import bound_row, constant_part
from worldline._src.kernels.constraints.laws import HARDNESS, LEAST_INVERSE, load_law, soft_row
from worldline._src.kernels.constraints.row_start import begin_row
from worldline._src.kernels.constraints.rows import UNILATERAL
from worldline._src.kernels.constraints.tables import (
    HARD,
    OF_MOTOR,
    OF_SPEED,
    ROWS,
    SAFE,
    STEP,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.scalar.ops import any_of, constant, maximum, shared, where

SERVO, MIMIC = 0, 1
UNLIMITED = 1e6
"""Speeds from which on a limit is none."""
_NEAR = 0.9
"""Share of a speed limit above which its row stands ready."""


@inline
def _begin(column, sign, rows_out, notes_out, note, k):
    """A row on one column; returns its number, -1 when there is no room."""
    n = begin_row(rows_out, notes_out, note, k)
    if n >= 0:
        rows_out.J[n, column] = sign
    return n


@inline
def _motor(motor, drive, command, weights, moving, column, k, rows_out, notes_out):
    """The row of motor `k`."""
    h, safe = weights.option[STEP], weights.option[SAFE] != 0.0
    q, v, a, d = moving.q, moving.v, moving.a, motor.motor_dof[k, 0]
    n = _begin(column[d], 1.0, rows_out, notes_out, OF_MOTOR, k)
    if n >= 0:
        # servo: v + h a = v_command, so aref = (v_command - v) / h
        A = maximum(weights.dof_invweight[d], LEAST_INVERSE)
        R, aref = HARDNESS * A, (command[d] - v[d]) * (1.0 / h)
        if motor.motor_kind[k] == MIMIC:
            e, ratio = motor.motor_dof[k, 1], motor.motor_number[k, 0]
            # mimic: r = q - ratio q_leader - offset, against the leader's velocity without constraints
            r = q[motor.motor_q[k, 0]] - ratio * q[motor.motor_q[k, 1]] - motor.motor_number[k, 1]
            speed = v[d] - ratio * (v[e] + h * a[e])
            notes_out.row_residual[n] = r
            law = load_law(motor.motor_law, k)
            if law.kind == HARD:
                # hard: dr/dt at the end of the step = -erp r / h
                aref = -((law.erp / h) * r + speed) * (1.0 / h)
            else:
                made = soft_row(law, r, speed, A, h, safe)
                aref, R = made.aref, made.R
        bound_row(drive.dof_effort_lower[d], drive.dof_effort_limit[d], aref, R, n, rows_out)


@kernel
def motor_rows(motor, drive, command, weights, moving, island, rows_out, notes_out):
    """Rows of the active motors of an island; `command` is the velocity servos follow."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(island.tree_motor[t], island.tree_motor[t + 1]):
            k = island.motor_order[j]
            if motor.motor_on[k] != 0:
                column = island.dof_column
                _motor(motor, drive, command, weights, moving, column, k, rows_out, notes_out)


@kernel
def motor_constants(motor, drive, tau_io):
    """tau grows by the constant parts of efforts whose limits are not alike; see `bounded_rows.py`."""
    for k in range(motor.motor_kind.shape[0]):
        d = motor.motor_dof[k, 0]
        if motor.motor_on[k] != 0:
            tau_io[d] = tau_io[d] + constant_part(drive.dof_effort_lower[d], drive.dof_effort_limit[d])


@inline
def _busy(notes, v):
    """1 in worlds that have rows already: their impulses may drive any joint of the island past its limit."""
    busy = constant(0.0, v)
    for r in range(notes.counter[ROWS]):
        busy = maximum(busy, notes.row_active[r])
    return busy


@inline
def _speed(speed_dof, limit, weights, moving, column, k, busy, rows_out, notes_out):
    """The rows of speed limit `k` where this step comes near it, or other rows may."""
    h, d = weights.option[STEP], speed_dof[k]
    v = moving.v[d]
    # velocity without constraints at the end of the step
    ahead = v + h * moving.a[d]
    for side in range(2):
        s = 1.0 if side == 0 else -1.0
        most = limit.dof_velocity_limit[d] if side == 0 else -limit.dof_velocity_lower[d]
        if shared(most) >= UNLIMITED:
            continue
        near = (maximum(s * ahead, s * v) > _NEAR * most) | (busy > 0.5)
        if any_of(near):
            n = _begin(column[d], -s, rows_out, notes_out, OF_SPEED, k)
            if n >= 0:
                A = maximum(weights.dof_invweight[d], LEAST_INVERSE)
                # -s (v + h a) >= -v_max:  J = -s, aref = (s v - v_max) / h
                rows_out.aref[n], rows_out.D[n] = (s * v - most) * (1.0 / h), 1.0 / (HARDNESS * A)
                rows_out.kind[n], notes_out.row_residual[n] = UNILATERAL, most - s * v
                notes_out.row_active[n] = where(near, 1.0, constant(0.0, v))


@kernel
def speed_rows(speed_dof, limit, weights, moving, island, rows_out, notes_out):
    """Rows of the speed limits of an island that this step may reach; made after all other rows."""
    if island.counter[TREE_FIRST] == island.counter[TREE_END]:
        return
    busy = _busy(notes_out, moving.v[0])
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(island.tree_speed[t], island.tree_speed[t + 1]):
            k = island.speed_order[j]
            _speed(speed_dof, limit, weights, moving, island.dof_column, k, busy, rows_out, notes_out)
