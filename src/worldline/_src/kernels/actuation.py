# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of actuators on joints and fixed tendons: force = gain * (activation or control) + bias.

Length and its rate are linear in coordinates and velocities. Activations follow their controls by a small
differential equation of their own and are advanced with the step.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.ops import clamp

# columns of act_number
_GAIN, _BIAS, _DYNAMICS, _CONTROL, _FORCE, _ACTIVATION = 0, 10, 20, 30, 32, 34

_AFFINE = 1
_INTEGRATOR = 1
_LEAST_TIME = 1e-15


@inline
def _within(numbers, u, at, x):
    """`x` within the pair of bounds at a column."""
    return clamp(x, numbers[u, at], numbers[u, at + 1])


@inline
def _polynomial(numbers, u, at, length, rate):
    return numbers[u, at] + numbers[u, at + 1] * length + numbers[u, at + 2] * rate


@inline
def _activation_rate(kind, time, control, activation):
    """How fast an activation follows its control."""
    if kind == _INTEGRATOR:
        return control
    return (control - activation) / max(time, _LEAST_TIME)


@kernel
def actuator_forces(q, v, act_io, tau_io):
    """tau grows by moment^T force; forces, lengths and rates of activations are kept."""
    act, numbers = act_io, act_io.act_number
    nv = v.shape[0]
    for u in range(act.act_kind.shape[0]):
        low, high = act.act_span[u, 0], act.act_span[u, 1]
        length, rate = 0.0, 0.0
        for d in range(low, high):
            length += act.act_moment[u, d] * q[act.dof_q[d]]
            rate += act.act_moment[u, d] * v[d]
        control = _within(numbers, u, _CONTROL, act.control[u])
        drive, at, kind = control, act.act_kind[u, 3], act.act_kind[u, 2]
        if at >= 0:
            w = act.activation[at]
            change = _activation_rate(kind, numbers[u, _DYNAMICS], control, w)
            act.activation_rate[at] = change
            if act.act_kind[u, 4] != 0:
                w = _within(numbers, u, _ACTIVATION, w + change * act.act_blend[u])
            drive = w
        gain = numbers[u, _GAIN]
        if act.act_kind[u, 0] == _AFFINE:
            gain = _polynomial(numbers, u, _GAIN, length, rate)
        force = gain * drive
        if act.act_kind[u, 1] == _AFFINE:
            force += _polynomial(numbers, u, _BIAS, length, rate)
        force = _within(numbers, u, _FORCE, force)
        act.act_force[u], act.act_size[u, 0], act.act_size[u, 1] = force, length, rate

    # the sum on a degree of freedom has bounds of its own
    for d in range(nv):
        act.act_sum[d] = 0.0
    for u in range(act.act_kind.shape[0]):
        for d in range(act.act_span[u, 0], act.act_span[u, 1]):
            act.act_sum[d] += act.act_moment[u, d] * act.act_force[u]
    for d in range(nv):
        tau_io[d] += clamp(act.act_sum[d], act.dof_force_range[d, 0], act.dof_force_range[d, 1])


@kernel
def advance_activations(act_io):
    """Activations one step later, within their ranges."""
    for u in range(act_io.act_kind.shape[0]):
        at = act_io.act_kind[u, 3]
        if at >= 0:
            after = act_io.activation[at] + act_io.activation_rate[at] * act_io.act_blend[u]
            act_io.activation[at] = _within(act_io.act_number, u, _ACTIVATION, after)
