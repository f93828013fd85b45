# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Electric motors with inner states: temperature of the winding, bristles of dry friction, current.

Voltage V, speed w, motor constant K. The resistance R = R0 (1 + alpha (T + Ta - T0)) grows with the
temperature T above the ambient one Ta, where dT/dt = (R i^2 - T / RT) / C. The current is i = (V - K w) / R,
or follows it with the electrical time constant. Cogging adds A sin(N length + phase), friction
-(s0 z + s1 z') with the deflection z of bristles, z' = w - s0 |w| / g(w) z, where
g(w) = Fc + (Fs - Fc) exp(-(w / vs)^2) [Canudas de Wit et al. 1995, LuGre]. Neither is subject to the bounds
of the electric force. Generic over the scalar.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.exponential import exp_of_negative
from worldline._src.scalar.ops import absolute, clamp, constant, maximum, where
from worldline._src.scalar.trigonometry import sincos

# act_gain of a motor
_COGGING, _PERIODS, _PHASE, _STIFFNESS, _DAMPING, _COULOMB, _STATIC, _STRIBECK = range(8)
# act_dynamics of a motor
TIME, CONSTANT, RESISTANCE, CURRENT_RATE, HEAT_RESISTANCE, _HEAT, _ALPHA, _AMBIENT, _REFERENCE = range(9)
# columns of act_kind
_FIRST, _EARLY, _SIZE = 3, 4, 5
_LEAST = 1e-15


@inline
def resistance(act, u):
    """R of motor `u` at its temperature."""
    dynamics, like = act.act_dynamics, act.control[u]
    # R = R0 (1 + alpha (T + Ta - T0))
    R = constant(dynamics[u, RESISTANCE], like)
    if dynamics[u, HEAT_RESISTANCE] > 0.0:
        above = act.activation[act.act_kind[u, _FIRST]] + (dynamics[u, _AMBIENT] - dynamics[u, _REFERENCE])
        R = R * (1.0 + above * dynamics[u, _ALPHA])
    return maximum(R, constant(_LEAST, like))


@inline
def _bristle(act, u):
    """Where the deflection of the bristles of motor `u` is among the activations."""
    return act.act_kind[u, _FIRST] + (1 if act.act_dynamics[u, HEAT_RESISTANCE] > 0.0 else 0)


@inline
def _bristle_decay(friction, u, speed):
    """s0 |w| / g(w): how fast bristles relax [1/s]."""
    ratio = speed * (1.0 / max(friction[u, _STRIBECK], _LEAST))
    rubs, sticks = friction[u, _COULOMB], friction[u, _STATIC]
    # g(w) = Fc + (Fs - Fc) exp(-(w / vs)^2)
    g = rubs + (sticks - rubs) * exp_of_negative(-(ratio * ratio))
    return friction[u, _STIFFNESS] * absolute(speed) / maximum(g, constant(_LEAST, g))


@inline
def motor_force(act, u, control, speed):
    """K i, the electric force of motor `u`; the rates of its states are kept."""
    dynamics, friction, first = act.act_dynamics, act.act_gain, act.act_kind[u, _FIRST]
    R, K = resistance(act, u), dynamics[u, CONSTANT]
    # i = (V - K w) / R
    steady = (control - speed * K) / R
    current, rate = steady, constant(0.0, speed)
    if dynamics[u, TIME] > 0.0:
        # di/dt = (steady - i) / time, within its limit
        at, most = first + act.act_kind[u, _SIZE] - 1, dynamics[u, CURRENT_RATE]
        current = act.activation[at]
        rate = (steady - current) * (1.0 / dynamics[u, TIME])
        if most > 0.0:
            rate = clamp(rate, -most, most)
        act.activation_rate[at] = rate
    if dynamics[u, HEAT_RESISTANCE] > 0.0:
        # dT/dt = (R i^2 - T / RT) / C
        loss = act.activation[first] * (1.0 / dynamics[u, HEAT_RESISTANCE])
        act.activation_rate[first] = (R * current * current - loss) * (1.0 / dynamics[u, _HEAT])
    if friction[u, _STIFFNESS] > 0.0:
        at = _bristle(act, u)
        # z' = w - s0 |w| / g(w) z
        act.activation_rate[at] = speed - _bristle_decay(friction, u, speed) * act.activation[at]
    if dynamics[u, TIME] > 0.0 and act.act_kind[u, _EARLY] != 0:
        current = current + rate * act.act_blend[u, 0]
    return K * current


@inline
def mechanical_force(act, u):
    """Cogging and friction of motor `u`, from its length and the rates that `motor_force` kept."""
    friction = act.act_gain
    force = constant(0.0, act.control[u])
    if friction[u, _COGGING] != 0.0:
        # A sin(N L + phase)
        phase = act.act_size[u, 0] * friction[u, _PERIODS] + friction[u, _PHASE]
        force = force + friction[u, _COGGING] * sincos(phase)[0]
    if friction[u, _STIFFNESS] > 0.0:
        at = _bristle(act, u)
        # -(s0 z + s1 z')
        pull = act.activation[at] * friction[u, _STIFFNESS] + act.activation_rate[at] * friction[u, _DAMPING]
        force = force - pull
    return force


@inline
def advance_motor(act, u):
    """States of motor `u` one step later; bristles in closed form for the speed at hand."""
    dynamics, friction, first = act.act_dynamics, act.act_gain, act.act_kind[u, _FIRST]
    h = act.act_blend[u, 1]
    if dynamics[u, HEAT_RESISTANCE] > 0.0:
        act.activation[first] = act.activation[first] + act.activation_rate[first] * h
    if friction[u, _STIFFNESS] > 0.0:
        # z' = w - d z: z(h) = e z + (1 - e) / d w with e = exp(-d h)
        at, speed = _bristle(act, u), act.act_size[u, 1]
        decay = _bristle_decay(friction, u, speed)
        left = exp_of_negative(-decay * h)
        fast = decay > _LEAST
        reach = where(fast, (1.0 - left) / where(fast, decay, constant(1.0, decay)), constant(1.0, decay) * h)
        act.activation[at] = left * act.activation[at] + reach * speed
    if dynamics[u, TIME] > 0.0:
        at = first + act.act_kind[u, _SIZE] - 1
        act.activation[at] = act.activation[at] + act.activation_rate[at] * act.act_blend[u, 0]


@inline
def motor_slope(act, u):
    """Change of the electric force of motor `u` by speed, at the end of a step."""
    dynamics, K = act.act_dynamics, act.act_dynamics[u, CONSTANT]
    # d(K i)/dw = -K^2 / R; with inductance only what the current follows within the step, h / time of it
    slope = -K * K / resistance(act, u)
    if dynamics[u, TIME] > 0.0:
        at, most = act.act_kind[u, _FIRST] + act.act_kind[u, _SIZE] - 1, dynamics[u, CURRENT_RATE]
        is_limited = most > 0.0 and abs(act.activation_rate[at]) >= most
        early = 0.0 if is_limited or act.act_kind[u, _EARLY] == 0 else act.act_blend[u, 0]
        slope = slope * early / dynamics[u, TIME]
    return slope


@inline
def bristle_damping(act, u):
    """s1 where motor `u` has bristles: what friction loses by speed beside their deflection."""
    return act.act_gain[u, _DAMPING] if act.act_gain[u, _STIFFNESS] > 0.0 else 0.0
