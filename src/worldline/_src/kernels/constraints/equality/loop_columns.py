# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: closed mechanisms, trees that hard equalities tie, which a step projects at its end."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, index, integers, numbers

(
    EQUALITY_FIRST,
    EQUALITY_END,
    TREES_FIRST,
    TREES_END,
    COLUMN_FIRST,
    COLUMN_END,
    ROW_FIRST,
    ROW_END,
    JACOBIAN_AT,
    SQUARE_AT,
) = range(10)
"""What `loop_span` has of a mechanism: ranges of its equalities, trees, columns and rows below, and
where its Jacobian and the matrix of its rows begin."""
FAR_START, FAR, ROUNDS = range(3)
"""What `loop_state` has of one: its largest distance from the goal of the step, in tolerances, before and
after, and the Newton steps taken."""


class LoopColumns(Columns):
    """Closed mechanisms, which a step projects at its end; see `equality/loops.py`."""

    loop_span: Integers = index("nloop", 10, doc="Ranges of a mechanism, see above.")
    loop_equality: Integers = index("nloop_equality", doc="Hard equalities, mechanism by mechanism.")
    loop_tree: Integers = index("nloop_tree", doc="Trees of mechanisms.")
    loop_dof: Integers = index("nloop_dof", doc="Degrees of freedom of mechanisms, in columns of each.")
    loop_parent: Integers = index("nloop_dof", doc="Column above each, -1 for the first of a tree.")
    loop_column: Integers = index("nv", doc="Column of a degree of freedom in its mechanism, -1 without.")
    loop_reach: Integers = index(
        "nloop_row", 3, doc="Columns that a row reaches, first and end; first row that shares one with it."
    )
    loop_mean: Integers = integers(
        "nloop", doc="1 where the step takes the mean of the accelerations at both of its ends."
    )
    loop_part: Integers = integers(16, doc="Trees of the mechanism at hand, where an island has them.")
    loop_J: Numbers = numbers("nloop_jacobian", doc="Jacobians of mechanisms, one after the other,")
    loop_Y: Numbers = numbers("nloop_jacobian", doc="what impulses of their rows do, M^-1 J^T,")
    loop_S: Numbers = numbers("nloop_square", doc="and factors of J M^-1 J^T.")
    loop_start: Numbers = numbers("nloop_jacobian", doc="Jacobians at the start of a variational step.")
    loop_M: Numbers = numbers("nloop_mass", doc="Mass matrix of the mechanism at hand, then its factor.")
    loop_r: Numbers = numbers("nloop_row", doc="Residuals of rows [m or rad],")
    loop_goal: Numbers = numbers("nloop_row", doc="what they shall be at the end of the step,")
    loop_tolerance: Numbers = numbers("nloop_row", doc="and how exactly.")
    loop_force: Numbers = numbers("nloop_row", doc="Scratch: multipliers of rows.")
    loop_axes: Numbers = numbers(6, 7, doc="Scratch: directions of the rows of an equality.")
    loop_motion: Numbers = numbers("nv", doc="Scratch: displacements.")
    loop_q: Numbers = numbers("nloop_q", doc="Coordinates before the projection.")
    loop_state: Numbers = numbers("nloop", 3, doc="How far a mechanism is from its goal, see above.")
