# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of actuators: force = gain * (activation or control) + bias.

Lengths are linear in the coordinates, or come from `transmissions.py`; their rates are moments times
velocities. Activations follow their controls by a small differential equation of their own and are advanced
with the step. Generic over the scalar: kinds and parameters are the model's, so nothing branches on a number.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.motors import (
    CONSTANT,
    CURRENT_RATE,
    RESISTANCE,
    TIME,
    advance_motor,
    mechanical_force,
    motor_force,
)
from worldline._src.kernels.muscles import muscle_bias, muscle_gain, muscle_rate
from worldline._src.kernels.transmissions import LINEAR
from worldline._src.scalar.ops import absolute, clamp, constant, maximum, minimum, where

AFFINE, MUSCLE = 1, 2
_INTEGRATOR, _MUSCLE_DYNAMICS, CURRENT, PID, PID_DISCRETE, MOTOR = 1, 4, 5, 6, 7, 8
# act_dynamics of controllers of position; those of a current are in motors.py
_KP, _KI, _KD, _SLEWMAX, _IMAX = range(5)
# columns of act_kind
_FIRST, _SIZE, _HAS_INTEGRAL, _HAS_SETPOINT = 3, 5, 6, 7
_LEAST_TIME = 1e-15
_KNOWN = 0.1
"""An activation beyond it says that a discrete controller has a last setpoint: 1 after a step, and from 0.25
within the first one of Runge-Kutta."""


@inline
def within(bounds, u, x):
    """`x` within the bounds of actuator `u`."""
    return clamp(x, bounds[u, 0], bounds[u, 1])


@inline
def _affine(parameters, u, length, rate):
    """p_0 + p_1 length + p_2 rate."""
    return parameters[u, 0] + parameters[u, 1] * length + parameters[u, 2] * rate


@inline
def current_rate(dynamics, u, control, speed, current):
    """di/dt = ((V - K speed) / R - i) / tau of a motor with inductance, before its limit."""
    # i_steady = (V - K w) / R
    steady = (control - speed * dynamics[u, CONSTANT]) * (1.0 / dynamics[u, RESISTANCE])
    return (steady - current) * (1.0 / max(dynamics[u, TIME], _LEAST_TIME))


@inline
def _activation_rate(kind, dynamics, u, control, speed, activation):
    """How fast an activation follows its control."""
    time = dynamics[u, TIME]
    if kind == _INTEGRATOR:
        return control
    if kind == CURRENT:
        rate, most = current_rate(dynamics, u, control, speed, activation), dynamics[u, CURRENT_RATE]
        return clamp(rate, -most, most) if most > 0.0 else rate
    if kind == _MUSCLE_DYNAMICS:
        return muscle_rate(control, activation, time, dynamics[u, 1], dynamics[u, 2])
    # a' = (u - a) / time
    return (control - activation) * (1.0 / max(time, _LEAST_TIME))


@inline
def drive_of(act, u, control):
    """What a gain counts with: the control, or the activation, of the next step where it acts early."""
    drive, at = control, act.act_kind[u, 3]
    if at >= 0:
        drive = act.activation[at]
        if act.act_kind[u, 4] != 0:
            # a(t + h) = a + h a'
            after = drive + act.activation_rate[at] * act.act_blend[u, 0]
            drive = within(act.act_activation_range, u, after)
    return drive


@inline
def _setpoint(act, u, at, control):
    """The setpoint at the end of the step, at most slewmax h from the last one, where `at` holds that one."""
    h = act.act_blend[u, 0]
    before, reach = act.activation[at], act.act_dynamics[u, _SLEWMAX] * h
    return clamp(control, before - reach, before + reach)


@inline
def _pid_force(act, u, control, length):
    """kp s + ki I of a controller of position; rates of its activations are kept.

    s: setpoint, at most slewmax h from the last one. I: integral of s - length, which stops beyond imax.
    """
    kind, dynamics, at = act.act_kind, act.act_dynamics, act.act_kind[u, _FIRST]
    per_step = 1.0 / act.act_blend[u, 0]
    setpoint = control
    if kind[u, _HAS_SETPOINT] != 0:
        setpoint = _setpoint(act, u, at, control)
        act.activation_rate[at] = (setpoint - act.activation[at]) * per_step
        at += 1
    force = setpoint * dynamics[u, _KP]
    if kind[u, _HAS_INTEGRAL] != 0:
        integral, error, most = act.activation[at], setpoint - length, dynamics[u, _IMAX]
        rate = error
        if most >= 0.0:
            still = constant(0.0, error)
            rate = where(integral >= most, minimum(error, still), rate)
            rate = where(integral <= -most, maximum(error, still), rate)
        act.activation_rate[at] = rate
        force = force + integral * dynamics[u, _KI]
    return force


@inline
def _pid_discrete_force(act, u, control, length, speed):
    """kp e + ki I' - kd speed of a discrete controller of position; rates of its activations are kept.

    e = s - length. s: setpoint, at most slewmax h from the last one, of which the first step has none.
    I' = I + h e within -imax to imax: the integral at the end of the step.
    """
    kind, dynamics, at = act.act_kind, act.act_dynamics, act.act_kind[u, _FIRST]
    h = act.act_blend[u, 0]
    per_step = 1.0 / h
    setpoint, place = control, at + kind[u, _HAS_INTEGRAL]
    if kind[u, _HAS_SETPOINT] != 0:
        known = act.activation[place + 1]
        setpoint = where(known > _KNOWN, _setpoint(act, u, place, control), control)
        act.activation_rate[place] = (setpoint - act.activation[place]) * per_step
        act.activation_rate[place + 1] = (1.0 - known) * per_step
    error = setpoint - length
    force = error * dynamics[u, _KP] - speed * dynamics[u, _KD]
    if kind[u, _HAS_INTEGRAL] != 0:
        after, most = act.activation[at] + error * h, dynamics[u, _IMAX]
        if most >= 0.0:
            after = clamp(after, -most, most)
        act.activation_rate[at] = (after - act.activation[at]) * per_step
        force = force + after * dynamics[u, _KI]
    return force


@kernel
def actuator_forces(q, v, act_io, tau_io):
    """tau grows by moment^T force; forces, lengths and rates of activations are kept."""
    act, nv = act_io, v.shape[0]
    for u in range(act.act_kind.shape[0]):
        low, high = act.act_span[u, 0], act.act_span[u, 1]
        length, rate = constant(0.0, v[0]), constant(0.0, v[0])
        for i in range(low, high):
            # L' = m . v
            rate = rate + act.act_moment[i] * v[act.act_dof[i]]
        if act.act_hold[u, 0] == LINEAR:
            for i in range(low, high):
                # L = m . q
                length = length + act.act_moment[i] * q[act.dof_q[act.act_dof[i]]]
        else:
            length = act.act_size[u, 0]
        control = within(act.act_control_range, u, act.control[u])
        at, kind = act.act_kind[u, _FIRST], act.act_kind[u, 2]
        if kind == PID:
            force = _pid_force(act, u, control, length)
        elif kind == PID_DISCRETE:
            force = _pid_discrete_force(act, u, control, length, rate)
        elif kind == MOTOR:
            force = motor_force(act, u, control, rate)
        else:
            if at >= 0:
                act.activation_rate[at] = _activation_rate(
                    kind, act.act_dynamics, u, control, rate, act.activation[at]
                )
            # f = gain(L, L') a + bias(L, L'), with a the control or the activation
            drive = drive_of(act, u, control)
            gain = constant(act.own_act_gain[u, 0], rate)
            if act.act_kind[u, 0] == AFFINE:
                gain = _affine(act.own_act_gain, u, length, rate)
            elif act.act_kind[u, 0] == MUSCLE:
                gain = muscle_gain(act.act_gain, act.act_length_range, u, length, rate)
            force = gain * drive
        if act.act_kind[u, 1] == AFFINE:
            force = force + _affine(act.own_act_bias, u, length, rate)
        elif act.act_kind[u, 1] == MUSCLE:
            force = force + muscle_bias(act.act_bias, act.act_length_range, u, length)
        force = within(act.act_force_range, u, force)
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
            # f_u <- f_u clamp(sum f) / sum f
            total = act.tendon_sum[k]
            allowed = clamp(total, act.tendon_force_range[k, 0], act.tendon_force_range[k, 1])
            pulls = absolute(total) > 0.0
            share = allowed / where(pulls, total, constant(1.0, total))
            act.act_force[u] = where(pulls, act.act_force[u] * share, act.act_force[u])

    # cogging and friction of motors are no part of what bounds of an actuator or tendon hold back
    for u in range(act.act_kind.shape[0]):
        if act.act_kind[u, 2] == MOTOR:
            act.act_force[u] = act.act_force[u] + mechanical_force(act, u)

    # the sum on a degree of freedom has bounds of its own; gravity compensation that counts is in tau already
    for d in range(nv):
        act.act_sum[d] = act.act_gravcomp[d]
    for u in range(act.act_kind.shape[0]):
        for i in range(act.act_span[u, 0], act.act_span[u, 1]):
            d = act.act_dof[i]
            # tau_d += m_ud f_u
            act.act_sum[d] = act.act_sum[d] + act.act_moment[i] * act.act_force[u]
    for d in range(nv):
        allowed = clamp(act.act_sum[d], act.dof_force_range[d, 0], act.dof_force_range[d, 1])
        act.act_sum[d] = allowed
        tau_io[d] = tau_io[d] + (allowed - act.act_gravcomp[d])


@kernel
def advance_activations(act_io):
    """Activations one step later, within their ranges; those of motors have none."""
    for u in range(act_io.act_kind.shape[0]):
        if act_io.act_kind[u, 2] == MOTOR:
            advance_motor(act_io, u)
            continue
        first = act_io.act_kind[u, _FIRST]
        for at in range(first, first + act_io.act_kind[u, _SIZE]):
            after = act_io.activation[at] + act_io.activation_rate[at] * act_io.act_blend[u, 0]
            act_io.activation[at] = within(act_io.act_activation_range, u, after)


@kernel
def start_activation_parts(act_io):
    """Runge-Kutta: remember activations and rates of lengths of the start; no rates are summed up yet."""
    for u in range(act_io.act_size.shape[0]):
        act_io.act_size[u, 2] = act_io.act_size[u, 1]
    for at in range(act_io.activation.shape[0]):
        act_io.activation_start[at] = act_io.activation[at]
        act_io.activation_sum[at] = constant(0.0, act_io.activation[at])


@kernel
def next_activation_part(weight, reach, act_io):
    """Runge-Kutta: sum += weight rate; activation = start + reach rate, for the next part of the step.

    Ranges do not count within a step, as in MuJoCo.
    """
    for u in range(act_io.act_kind.shape[0]):
        first = act_io.act_kind[u, _FIRST]
        for at in range(first, first + act_io.act_kind[u, _SIZE]):
            rate = act_io.activation_rate[at]
            act_io.activation_sum[at] = act_io.activation_sum[at] + rate * weight
            act_io.activation[at] = act_io.activation_start[at] + rate * reach


@kernel
def join_activation_parts(act_io):
    """Runge-Kutta: activations of the start, with the mean rate (k1 + 2 k2 + 2 k3 + k4) / 6 to advance by."""
    for u in range(act_io.act_kind.shape[0]):
        first = act_io.act_kind[u, _FIRST]
        for at in range(first, first + act_io.act_kind[u, _SIZE]):
            total = act_io.activation_sum[at] + act_io.activation_rate[at]
            act_io.activation_rate[at] = total * (1.0 / 6.0)
            act_io.activation[at] = act_io.activation_start[at]
        if act_io.act_kind[u, 2] == MOTOR:
            # bristles advance by the speed at the start, as in MuJoCo
            act_io.act_size[u, 1] = act_io.act_size[u, 2]
