# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of actuators: force = gain * (activation or control) + bias.

Lengths are linear in the coordinates, or come from `transmissions.py`; their rates are moments times
velocities. Activations follow their controls by a small differential equation of their own and are advanced
with the step. Generic over the scalar: kinds and parameters are the model's, so nothing branches on a number.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.muscles import muscle_bias, muscle_gain, muscle_rate
from worldline._src.kernels.transmissions import LINEAR
from worldline._src.scalar.ops import absolute, clamp, constant, where

# columns of act_number
GAIN, BIAS, _DYNAMICS, CONTROL, FORCE, ACTIVATION, LENGTH = 0, 10, 20, 30, 32, 34, 36

AFFINE, MUSCLE = 1, 2
_INTEGRATOR, _MUSCLE_DYNAMICS = 1, 4
_LEAST_TIME = 1e-15


@inline
def within(numbers, u, at, x):
    """`x` within the pair of bounds at a column."""
    return clamp(x, numbers[u, at], numbers[u, at + 1])


@inline
def _polynomial(numbers, u, at, length, rate):
    return numbers[u, at] + numbers[u, at + 1] * length + numbers[u, at + 2] * rate


@inline
def _activation_rate(kind, numbers, u, control, activation):
    """How fast an activation follows its control."""
    time = numbers[u, _DYNAMICS]
    if kind == _INTEGRATOR:
        return control
    if kind == _MUSCLE_DYNAMICS:
        return muscle_rate(control, activation, time, numbers[u, _DYNAMICS + 1], numbers[u, _DYNAMICS + 2])
    return (control - activation) * (1.0 / max(time, _LEAST_TIME))


@inline
def drive_of(act, u, control):
    """What a gain counts with: the control, or the activation, of the next step where it acts early."""
    drive, at = control, act.act_kind[u, 3]
    if at >= 0:
        drive = act.activation[at]
        if act.act_kind[u, 4] != 0:
            after = drive + act.activation_rate[at] * act.act_blend[u]
            drive = within(act.act_number, u, ACTIVATION, after)
    return drive


@kernel
def actuator_forces(q, v, act_io, tau_io):
    """tau grows by moment^T force; forces, lengths and rates of activations are kept."""
    act, numbers = act_io, act_io.act_number
    nv = v.shape[0]
    for u in range(act.act_kind.shape[0]):
        low, high = act.act_span[u, 0], act.act_span[u, 1]
        length, rate = constant(0.0, v[0]), constant(0.0, v[0])
        for d in range(low, high):
            rate = rate + act.act_moment[u, d] * v[d]
        if act.act_hold[u, 0] == LINEAR:
            for d in range(low, high):
                length = length + act.act_moment[u, d] * q[act.dof_q[d]]
        else:
            length = act.act_size[u, 0]
        control = within(numbers, u, CONTROL, act.control[u])
        at, kind = act.act_kind[u, 3], act.act_kind[u, 2]
        if at >= 0:
            act.activation_rate[at] = _activation_rate(kind, numbers, u, control, act.activation[at])
        drive = drive_of(act, u, control)
        gain = constant(numbers[u, GAIN], rate)
        if act.act_kind[u, 0] == AFFINE:
            gain = _polynomial(numbers, u, GAIN, length, rate)
        elif act.act_kind[u, 0] == MUSCLE:
            gain = muscle_gain(numbers, u, GAIN, LENGTH, length, rate)
        force = gain * drive
        if act.act_kind[u, 1] == AFFINE:
            force = force + _polynomial(numbers, u, BIAS, length, rate)
        elif act.act_kind[u, 1] == MUSCLE:
            force = force + muscle_bias(numbers, u, BIAS, LENGTH, length)
        force = within(numbers, u, FORCE, force)
        act.act_force[u], act.act_size[u, 0], act.act_size[u, 1] = force, length, rate

    # the sum on a tendon has bounds, which its actuators share
    for k in range(act.tendon_sum.shape[0]):
        act.tendon_sum[k] = 0.0
    for u in range(act.act_kind.shape[0]):
        if act.act_tendon[u] >= 0:
            k = act.act_tendon[u]
            act.tendon_sum[k] = act.tendon_sum[k] + act.act_force[u]
    for u in range(act.act_kind.shape[0]):
        k = act.act_tendon[u]
        if k >= 0:
            total = act.tendon_sum[k]
            allowed = clamp(total, act.tendon_force_range[k, 0], act.tendon_force_range[k, 1])
            pulls = absolute(total) > 0.0
            share = allowed / where(pulls, total, constant(1.0, total))
            act.act_force[u] = where(pulls, act.act_force[u] * share, act.act_force[u])

    # the sum on a degree of freedom has bounds of its own; gravity compensation that counts is in tau already
    for d in range(nv):
        act.act_sum[d] = act.act_relief[d]
    for u in range(act.act_kind.shape[0]):
        for d in range(act.act_span[u, 0], act.act_span[u, 1]):
            act.act_sum[d] = act.act_sum[d] + act.act_moment[u, d] * act.act_force[u]
    for d in range(nv):
        allowed = clamp(act.act_sum[d], act.dof_force_range[d, 0], act.dof_force_range[d, 1])
        act.act_sum[d] = allowed
        tau_io[d] = tau_io[d] + (allowed - act.act_relief[d])


@kernel
def advance_activations(act_io):
    """Activations one step later, within their ranges."""
    for u in range(act_io.act_kind.shape[0]):
        at = act_io.act_kind[u, 3]
        if at >= 0:
            after = act_io.activation[at] + act_io.activation_rate[at] * act_io.act_blend[u]
            act_io.activation[at] = within(act_io.act_number, u, ACTIVATION, after)
