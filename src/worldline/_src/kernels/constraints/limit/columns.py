# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: limits of coordinates."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index


class LimitColumns(Columns):
    """Limits of coordinates."""

    limit_dof: Integers = index(
        "nlimit", doc="Degree of freedom, the first of three for angles and distances."
    )
    limit_q: Integers = index("nlimit", doc="Coordinate, the first of a quaternion or position.")
    limit_kind: Integers = index("nlimit", doc="NUMBER, ANGLE or LENGTH.")
    limit_bound: Numbers = constant("nlimit", 4, doc="Lower, upper, margin, speed of recovery.", own=True)
    limit_law: Numbers = constant("nlimit", LAW, doc="Law of the limit.")
