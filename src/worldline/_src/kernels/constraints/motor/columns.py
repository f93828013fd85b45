# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: servos, mimic motors and speed limits."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers


class MotorView(Columns):
    """Servos and mimic motors."""

    motor_kind: Integers = index("nmotor", doc="0 servo, 1 mimic.")
    motor_dof: Integers = index("nmotor", 2, doc="Degree of freedom, and the one that leads.")
    motor_q: Integers = index("nmotor", 2, doc="Their coordinates.")
    motor_number: Numbers = constant("nmotor", 2, doc="Multiplier and offset of a mimic motor.")
    motor_law: Numbers = constant("nmotor", LAW, doc="Law of a mimic motor.")
    motor_on: Integers = integers("nmotor", doc="1 when active.")


class SpeedView(Columns):
    """Degrees of freedom with a speed limit."""

    speed_dof: Integers = index("nspeed", doc="Degree of freedom with a speed limit.")


class MotorColumns(MotorView, SpeedView):
    """Servos, mimic motors and speed limits."""
