# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: dry friction of joints."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index


class FrictionColumns(Columns):
    """Dry friction of degrees of freedom."""

    friction_dof: Integers = index("nfriction", doc="Degree of freedom.")
    friction_law: Numbers = constant("nfriction", 4, doc="Largest force, damping, impedance, dmax.")
    own_friction_law: Numbers
