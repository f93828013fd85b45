# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of actuators and tendons that depend on velocities, at the end of a step, one tree at a time.

A force along a length with moments m that loses d for every unit of the rate of that length adds h d m^T m to
the inertia of a step. Pairs of degrees of freedom of which neither moves the other are left at the beginning
of the step, as they would fill the mass matrix of a tree with what it does not have; so are pairs in
different trees. An actuator whose force is at a bound answers to nothing.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.actuation import (
    AFFINE,
    CURRENT,
    MOTOR,
    MUSCLE,
    current_rate,
    drive_of,
    within,
)
from worldline._src.kernels.constraints.damping import gather_tree, is_damped, settle_tree
from worldline._src.kernels.motors import (
    CONSTANT,
    CURRENT_RATE,
    RESISTANCE,
    TIME,
    bristle_damping,
    motor_force,
    motor_slope,
)
from worldline._src.kernels.muscles import muscle_slope
from worldline._src.named_tuple import NamedTuple

_TENDON_DAMPING = 1


class VelocityGains(NamedTuple):
    """Force elements with forces by velocities, besides joints and drives."""

    act: Any
    tendon: Any


class _Moments(NamedTuple):
    """Moments of tendons or actuators: their ranges, degrees of freedom and values; scratch by dof, zero."""

    span: Any
    dof: Any
    value: Any
    scratch: Any


@inline
def _is_bounded(act, u, force):
    """Whether the force of an actuator or of all on its tendon is at a bound."""
    bounded = force <= act.act_force_range[u, 0] or force >= act.act_force_range[u, 1]
    k = act.act_tendon[u]
    if k >= 0:
        total = act.tendon_sum[k]
        if total <= act.tendon_force_range[k, 0] or total >= act.tendon_force_range[k, 1]:
            bounded = True
    return bounded


@inline
def _is_joint_bounded(act, u):
    """Whether the force of all actuators on the only joint of this one is at a bound."""
    bounded, i = False, act.act_span[u, 0]
    if act.act_span[u, 1] - i == 1:
        # of a force on several joints the others still feel the change
        d = act.act_dof[i]
        if act.act_sum[d] <= act.dof_force_range[d, 0] or act.act_sum[d] >= act.dof_force_range[d, 1]:
            bounded = True
    return bounded


@inline
def _current_slope(act, u):
    """Change by speed of a force that follows the current at the end of the step: -gain K / (R tau) blend."""
    dynamics, at = act.act_dynamics, act.act_kind[u, 3]
    control, speed = within(act.act_control_range, u, act.control[u]), act.act_size[u, 1]
    rate, most = current_rate(dynamics, u, control, speed, act.activation[at]), dynamics[u, CURRENT_RATE]
    slope = -act.act_gain[u, 0] * dynamics[u, CONSTANT] / (dynamics[u, RESISTANCE] * dynamics[u, TIME])
    is_limited = most > 0.0 and abs(rate) >= most
    return 0.0 if is_limited or act.act_kind[u, 4] == 0 else slope * act.act_blend[u, 0]


@kernel
def actuator_damping(act_io):
    """How much the force of every actuator falls by its rate, with the state that made the force."""
    act = act_io
    for u in range(act.act_kind.shape[0]):
        slope = 0.0
        if act.act_kind[u, 0] == AFFINE:
            slope = act.act_gain[u, 2]
        elif act.act_kind[u, 0] == MUSCLE:
            slope = muscle_slope(
                act.act_gain, act.act_length_range, u, act.act_size[u, 0], act.act_size[u, 1]
            )
        change = slope * drive_of(act, u, within(act.act_control_range, u, act.control[u]))
        if act.act_kind[u, 1] == AFFINE:
            change += act.act_bias[u, 2]
        force = act.act_force[u]
        if act.act_kind[u, 2] == CURRENT:
            change += _current_slope(act, u)
        elif act.act_kind[u, 2] == MOTOR:
            change += motor_slope(act, u)
            force = motor_force(act, u, within(act.act_control_range, u, act.control[u]), act.act_size[u, 1])
        if _is_bounded(act, u, force):
            change = 0.0
        if act.act_kind[u, 2] == MOTOR:
            # bounds of the electric force hold back no friction
            change -= bristle_damping(act, u)
        act.act_damping[u] = 0.0 if _is_joint_bounded(act, u) else -change


@inline
def _reaches(span, dofs, k, first, end):
    """Whether moments of `k` reach from below `end` to `first` or beyond."""
    low, high = span[k, 0], span[k, 1]
    return low < high and dofs[low] < end and dofs[high - 1] >= first


@inline
def needs_damping(damped, gains, first, end):
    """Whether any force depends on velocities of degrees of freedom from `first` to `end - 1`."""
    act, tendon = gains.act, gains.tendon
    found = is_damped(damped, first, end)
    for u in range(act.act_damping.shape[0]):
        if act.act_damping[u] != 0.0 and _reaches(act.act_span, act.act_dof, u, first, end):
            found = True
    for k in range(tendon.tendon_spring.shape[0]):
        if tendon.tendon_spring[k, _TENDON_DAMPING] != 0.0:
            if _reaches(tendon.tendon_span, tendon.tendon_dof, k, first, end):
                found = True
    return found


@inline
def _add_square(chain, moments, k, first, end, size, H_io):
    """H grows by size m^T m in its lower triangle, for pairs of which one moves the other."""
    low, high, m = moments.span[k, 0], moments.span[k, 1], moments.scratch
    for i in range(low, high):
        m[moments.dof[i]] = moments.value[i]
    for i in range(low, high):
        d = moments.dof[i]
        x = size * m[d] * chain.dof_mobile[d] if first <= d < end else 0.0
        j = d if x != 0.0 else -1
        while j >= first:
            H_io[d - first, j - first] += x * m[j] * chain.dof_mobile[j]
            j = chain.dof_parent[j]
    for i in range(low, high):
        m[moments.dof[i]] = 0.0


@kernel
def damp_tree_velocities(damped, gains, M, first, n, h, work_out, a_io):
    """a = (M - h Q)^-1 M a for `n` degrees of freedom from `first` on, Q the change of forces by velocities.

    M is the mass matrix of the tree, (n, n). The arrays of work_out are those of `NewtonWork`, cut for n.
    """
    act, tendon, H = gains.act, gains.tendon, work_out.H
    gather_tree(damped, M, first, n, h, a_io, work_out)
    of_actuators = _Moments(act.act_span, act.act_dof, act.act_moment, act.dof_moment)
    of_tendons = _Moments(tendon.tendon_span, tendon.tendon_dof, tendon.tendon_moment, tendon.dof_moment)
    for u in range(act.act_damping.shape[0]):
        size = h * act.act_damping[u]
        if size != 0.0:
            _add_square(damped.chain, of_actuators, u, first, first + n, size, H)
    for k in range(tendon.tendon_spring.shape[0]):
        size = h * tendon.tendon_spring[k, _TENDON_DAMPING]
        if size != 0.0:
            _add_square(damped.chain, of_tendons, k, first, first + n, size, H)
    settle_tree(first, n, work_out, a_io)
