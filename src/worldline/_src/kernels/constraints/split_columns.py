# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: the position and the velocity pass of a step (split impulse)."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Numbers, numbers


class SplitColumns(Columns):
    """The position and the velocity pass of a step (split impulse)."""

    tree_share: Numbers = numbers("ntree", doc="Share of restitution that the speed of a tree has.")
    tree_recovery: Numbers = numbers(
        "ntree", doc="Penetration recovery that stays in the velocity of a tree [m/s]."
    )
    tree_grip: Numbers = numbers("ntree", doc="Share of friction that a tree has in the pass at hand.")
    a_smooth: Numbers = numbers("nv", doc="Accelerations without rows,")
    correction: Numbers = numbers(
        "nv", doc="and how the rate of displacement of a step differs from its velocity."
    )
