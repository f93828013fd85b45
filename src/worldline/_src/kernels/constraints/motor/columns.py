# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: servos, mimic motors and speed limits."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers


class MotorColumns(Columns):
    """Servos, mimic motors and speed limits."""

    tree_motor: Integers = index("tree_ends", doc="for motor_order,")
    tree_speed: Integers = index("tree_ends", doc="and for speed_order.")
    motor_order: Integers = index("nmotor", doc="motors,")
    speed_order: Integers = index("nspeed", doc="and speed limits.")
    motor_kind: Integers = index("nmotor", doc="0 servo, 1 mimic.")
    motor_dof: Integers = index("nmotor", 2, doc="Degree of freedom, and the one that leads.")
    motor_q: Integers = index("nmotor", 2, doc="Their coordinates.")
    motor_number: Numbers = constant("nmotor", 2, doc="Multiplier and offset of a mimic motor.")
    motor_law: Numbers = constant("nmotor", LAW, doc="Law of a mimic motor.")
    speed_dof: Integers = index("nspeed", doc="Degree of freedom with a speed limit.")
    motor_on: Integers = integers("nmotor", doc="1 when active.")


class MotorView(NamedTuple):
    """Servos and mimic motors."""

    motor_kind: Integers
    motor_on: Integers
    motor_dof: Integers
    motor_q: Integers
    motor_number: Numbers
    motor_law: Numbers


class SpeedView(NamedTuple):
    """Degrees of freedom with a speed limit."""

    speed_dof: Integers
