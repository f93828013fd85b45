# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: actuators: transmissions, controls, activations, forces."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, numbers


class ActuatorColumns(Columns):
    """Actuators: transmissions, controls, activations, forces."""

    act_kind: Integers = index(
        "nu",
        8,
        doc="Gain, bias, activation, its first index or -1, early, activations, integral, setpoint.",
    )
    act_span: Integers = index("nu", 2, doc="First of its moments, and one past the last; empty when off.")
    act_dof: Integers = index("nactuated", doc="Degree of freedom of a moment, ascending in an actuator.")
    act_hold: Integers = index("nu", 4, doc="Transmission; what it holds (2); 1 for axes of the parent.")
    act_tendon: Integers = index("nu", doc="Tendon whose bounds of force count, or -1.")
    act_gear: Numbers = constant("nu", 7, doc="Gear (6), length of the rod of a slider-crank.", own=True)
    dof_q: Integers = index("nv", doc="Coordinate of a degree of freedom that is a number, else -1.")
    act_gain: Numbers = constant("nu", 10, doc="Parameters of the gain.")
    act_bias: Numbers = constant("nu", 10, doc="Parameters of the bias.")
    act_dynamics: Numbers = constant("nu", 10, doc="Parameters of the activation dynamics.")
    act_control_range: Numbers = constant("nu", 2, doc="Bounds of the control,", own=True)
    act_force_range: Numbers = constant("nu", 2, doc="of the force,", own=True)
    act_activation_range: Numbers = constant("nu", 2, doc="of the activation,", own=True)
    act_length_range: Numbers = constant("nu", 2, doc="and of the length of a muscle.")
    dof_force_range: Numbers = constant("nv", 2, doc="Bounds of the sum of actuator forces.", own=True)
    dof_gravcomp: Integers = index("nv", doc="1 where gravity compensation is an actuator force.")
    control: Numbers = numbers("nu", doc="Controls.")
    activation: Numbers = numbers("na", doc="Activation states.")
    activation_rate: Numbers = numbers("na", doc="Their rates.")
    activation_start: Numbers = numbers("na", doc="Activation states at the start of a Runge-Kutta step,")
    activation_sum: Numbers = numbers("na", doc="and the weighted sum of their rates in it.")
    act_moment: Numbers = numbers("nactuated", doc="Change of length by a degree of freedom.")
    dof_moment: Numbers = numbers("nv", doc="Scratch: moments of one tendon or actuator; zero between uses.")
    act_force: Numbers = numbers("nu", doc="Forces of the actuators.")
    act_size: Numbers = numbers("nu", 3, doc="Length, its rate, and that of the start of a Runge-Kutta step.")
    act_damping: Numbers = numbers(
        "nu", doc="What a force loses by its rate, where steps take that at their end."
    )
    act_blend: Numbers = numbers(
        "nu", 2, doc="How much of its rate an activation takes in a step; the step [s]."
    )
    act_sum: Numbers = numbers("nv", doc="Sum of actuator forces on a degree of freedom, within its bounds.")
    act_gravcomp: Numbers = numbers("nv", doc="Gravity compensation where it is an actuator force.")
    tendon_force_range: Numbers = constant(
        "ntendon", 2, doc="Bounds of the sum of actuator forces on a tendon,"
    )
    tendon_sum: Numbers = numbers("ntendon", doc="and that sum.")
    own_act_gain: Numbers
    own_act_bias: Numbers
