# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Advance velocities and coordinates by one step."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import AXES
from worldline._src.scalar.ops import clamp, constant, maximum, minimum, where


@inline
def within_velocity_limit(limit, d, v):
    """A velocity taken to the bound where it is beyond, as it may be after an impulse."""
    bound = limit.dof_velocity_limit[d]
    return clamp(v, constant(-bound, v), constant(bound, v))


@kernel
def accelerate(limit, a, h, v_io):
    """v grows by h a and stays within the velocity limits."""
    for d in range(a.shape[0]):
        v_io[d] = within_velocity_limit(limit, d, v_io[d] + h * a[d])


@kernel
def stop_at_limits(tree, limit, q_io, v_io):
    """Coordinates beyond a position limit are put back on it, and no longer move further out."""
    for i in range(1, tree.link_kind.shape[0]):
        if tree.link_kind[i] == AXES:
            shift = tree.link_q_start[i] - tree.link_v_start[i]
            for d in range(tree.link_v_start[i], tree.link_v_end[i]):
                x = q_io[d + shift]
                low = constant(limit.dof_lower[d], x)
                high = constant(limit.dof_upper[d], x)
                zero = constant(0.0, x)
                inward = where(x < low, maximum(v_io[d], zero), v_io[d])
                v_io[d] = where(x > high, minimum(inward, zero), inward)
                q_io[d + shift] = clamp(x, low, high)
