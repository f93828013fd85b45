# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of actuators, tendons and limits."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.limit.rows import limit_error
from worldline._src.kernels.constraints.tables import ALL_ROWS, NUMBER, OF_LIMIT
from worldline._src.kernels.sensors.tables import (
    ACTUATOR_FORCE,
    ACTUATOR_LENGTH,
    ACTUATOR_RATE,
    DOF_FORCE,
    LIMIT_DISTANCE,
    LIMIT_FORCE,
    TENDON_LENGTH,
    TENDON_RATE,
)
from worldline._src.scalar.ops import absolute, constant


@kernel
def read_efforts(actuator, tendon, rows, reading_out):
    """Forces, lengths and rates of actuators and tendons, as the forces of a step left them."""
    row = rows.effort_row
    for n in range(row.shape[0]):
        at, quantity, k = row[n, 0], row[n, 1], row[n, 2]
        if ACTUATOR_LENGTH <= quantity <= ACTUATOR_RATE:
            reading_out[at] = actuator.act_size[k, quantity - ACTUATOR_LENGTH]
        elif TENDON_LENGTH <= quantity <= TENDON_RATE:
            reading_out[at] = tendon.tendon_size[k, quantity - TENDON_LENGTH]
        elif quantity == ACTUATOR_FORCE:
            reading_out[at] = actuator.act_force[k]
        elif quantity == DOF_FORCE:
            reading_out[at] = actuator.act_sum[k]
        else:
            reading_out[at] = constant(0.0, reading_out[at])
    # actuators of one tendon add up
    for n in range(rows.effort_sum.shape[0]):
        at, u = rows.effort_sum[n, 0], rows.effort_sum[n, 1]
        reading_out[at] = reading_out[at] + actuator.act_force[u]


@inline
def _joint_rate(limit, k, r, q, v):
    """Rate of the distance r of limit `k`; the side is the one that r is of."""
    # dr/dt = n . v, with n the slope of r at the end of the range that is nearer
    low, high = limit_error(limit, k, 0, q), limit_error(limit, k, 1, q)
    error = low if absolute(low.r - r) <= absolute(high.r - r) else high
    d = limit.limit_dof[k]
    rate = error.x * v[d]
    if limit.limit_kind[k] != NUMBER:
        rate = rate + (error.y * v[d + 1] + error.z * v[d + 2])
    return rate


@inline
def _tendon_rate(tendon, k, r):
    """Rate of the distance r of a tendon from the bound that r is of."""
    length, bound = tendon.tendon_size[k, 0], tendon.tendon_bound
    # r = L - low - margin or high - L - margin;  dr/dt = +-dL/dt
    low = length - bound[k, 0] - bound[k, 2]
    high = bound[k, 1] - length - bound[k, 2]
    side = 1.0 if absolute(low - r) <= absolute(high - r) else -1.0
    return side * tendon.tendon_size[k, 1]


@kernel
def read_limits(limit, tendon, record, counter, state, rows, reading_out):
    """Distance, its rate and the force of the first row of a limit; zero while it has none. One world."""
    row = rows.limit_row
    for n in range(row.shape[0]):
        at, quantity, owner, k = row[n, 0], row[n, 1], row[n, 2], row[n, 3]
        reading_out[at] = 0.0
        for i in range(counter[ALL_ROWS]):
            if record.row_of[i, 0] == owner and record.row_of[i, 1] == k:
                r = record.residual[i]
                if quantity == LIMIT_FORCE:
                    reading_out[at] = record.force[i]
                elif quantity == LIMIT_DISTANCE:
                    reading_out[at] = r
                elif owner == OF_LIMIT:
                    reading_out[at] = _joint_rate(limit, k, r, state.q, state.v)
                else:
                    reading_out[at] = _tendon_rate(tendon, k, r)
                break
