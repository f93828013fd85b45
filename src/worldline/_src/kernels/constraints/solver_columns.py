# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: scratch and problems of the solvers."""

from __future__ import annotations

from worldline._src.kernels.constraints.mixed_sweeps import HISTORY, MIXED
from worldline._src.scalar.columns import Columns, Integers, Numbers, integers, numbers


class PgsView(Columns):
    """Contacts of free bodies in sequential impulses."""

    pgs_a: Integers = integers("npgs", doc="First body.")
    pgs_b: Integers = integers("npgs", doc="Second body.")
    pgs_axes: Numbers = numbers("npgs3", 3, doc="Directions.")
    pgs_arm_a: Numbers = numbers("npgs3", 3, doc="Arms of the first body.")
    pgs_arm_b: Numbers = numbers("npgs3", 3, doc="Arms of the second.")
    pgs_spin_a: Numbers = numbers("npgs3", 3, doc="What a unit impulse does to its rotation,")
    pgs_spin_b: Numbers = numbers("npgs3", 3, doc="and to that of the second.")
    pgs_block: Numbers = numbers("npgs", 10, doc="Response of a contact to itself.")
    pgs_target: Numbers = numbers("npgs3", doc="Wanted velocities.")
    pgs_R: Numbers = numbers("npgs3", doc="Regularizers.")
    pgs_mu: Numbers = numbers("npgs", doc="Friction.")
    pgs_active: Numbers = numbers("npgs", doc="1 for contacts that count.")


class PgsBodyView(Columns):
    """Velocities and inverse inertias of free bodies."""

    link_linear: Numbers = numbers("nlink", 3, doc="Velocities of centres of mass.")
    link_angular: Numbers = numbers("nlink", 3, doc="Angular velocities.")
    link_inverse_mass: Numbers = numbers("nlink", doc="Inverse masses.")
    link_inverse_inertia: Numbers = numbers("nlink", 6, doc="Inverse inertias.")


class PgsWorkView(Columns):
    """Impulses and scratch of sequential impulses."""

    pgs_impulse: Numbers = numbers("npgs3", doc="Solution.")
    pgs_kept: Numbers = numbers("npgs3", doc="Impulses before a sweep,")
    pgs_direction: Numbers = numbers("npgs3", doc="and the conjugate direction; see body_ncg.py.")
    pgs_history: Numbers = numbers(HISTORY, "npgs3", doc="Sweeps that are mixed,")
    pgs_mix: Numbers = numbers(MIXED, MIXED + 1, doc="and the normal equations; see mixed_sweeps.py.")
    pgs_taken: Numbers = numbers(1, doc="Sweeps taken.")
    tree_link: Integers


class PgsBounceView(Columns):
    """Restitution in sequential impulses."""

    pgs_bounce: Numbers = numbers("npgs", doc="Wanted speed by restitution [m/s]; -1 if not hard.")
    pgs_before: Numbers = numbers("npgs3", doc="Speeds before the impact,")
    pgs_speed: Numbers = numbers("npgs3", doc="twice the mean speeds of it with all restitution,")
    pgs_first: Numbers = numbers("npgs3", doc="and the impulses; see body_restitution.py.")
    tree_share: Numbers


class BoxedView(Columns):
    """Boxed linear complementarity problem."""

    lcp_findex: Integers = integers("nlcp", doc="Normal row of a friction row; see boxed.py.")
    lcp_state: Integers = integers("nlcp", doc="Where a row stands.")
    lcp_A: Numbers = numbers("nlcp2", doc="Matrix of a boxed problem,")
    lcp_b: Numbers = numbers("nlcp", doc="its right side,")
    lcp_lo: Numbers = numbers("nlcp", doc="lower")
    lcp_hi: Numbers = numbers("nlcp", doc="and upper bounds.")
    lcp_work: Numbers = numbers("nlcp2", doc="Scratch of pivoting.")


class SolveView(Columns):
    """Problem and solution of the island at hand."""

    row_force: Numbers = numbers("nrow", doc="Solution.")
    M: Numbers = numbers("ncolumn", "width", doc="Mass matrix, padded.", capacity="nsquare")
    island_smooth: Numbers = numbers("ncolumn", doc="Accelerations without rows.")
    island_a: Numbers = numbers("ncolumn", doc="The guess, then the solution.")
    a_last: Numbers = numbers("nv", doc="Accelerations of the step before.")
    dof_column: Integers
    column_dof: Integers
    counter: Integers
    option: Numbers


class BounceView(Columns):
    """The solution with all restitution."""

    bounce_force: Numbers = numbers("nrow", doc="Forces of rows with all restitution,")
    bounce_speed: Numbers = numbers("nrow", doc="twice the mean speeds of the impact,")
    bounce_a: Numbers = numbers("ncolumn", doc="and accelerations; see restitution.py.")
    tree_share: Numbers


class SlipView(Columns):
    """Sweeps against slip."""

    slip_B: Numbers = numbers("nrow", "width", doc="M^-1 J^T of sweeps against slip,", capacity="nslip")
    slip_L: Numbers = numbers("width", "width", doc="the factor of M,", capacity="nslip2")
    slip_work: Numbers = numbers(13, 5, doc="and scratch of a cone.")
    vectors: Numbers
    L_first: Integers


class SweepView(Columns):
    """Projected Gauss-Seidel over rows."""

    sweep_K: Numbers = numbers(
        "nrow", "width", doc="Accelerations by unit forces of rows; see row_pgs.py.", capacity="nsweep2"
    )
    sweep_dual: Numbers = numbers(3, "nsweep", doc="Regularizer, diagonal of the matrix, step.")
    sweep_block: Numbers = numbers("nsweep", 6, doc="Blocks of cones.")
    sweep_row: Integers = integers(
        3, "nsweep", doc="First and end column of a row, rows of a Coulomb contact."
    )
    dual_local: Numbers


class MotionView(Columns):
    """Velocities of the island at hand."""

    island_v: Numbers = numbers("ncolumn", doc="Velocities by columns.")
    a_last: Numbers
    column_dof: Integers


class WorkView(Columns):
    """Scratch of Newton's method."""

    changed: Integers = integers("nrow", doc="Scratch of the solver.")
    M_first: Integers = integers("width", doc="Scratch of the solver.")
    M_end: Integers = integers("width", doc="Scratch of the solver.")
    H_first: Integers = integers("width", doc="Scratch of the solver.")
    L_first: Integers = integers("width", doc="Scratch of the solver.")
    H: Numbers = numbers("width", "width", doc="Scratch of the solver.", capacity="nsquare")
    L: Numbers = numbers("width", "width", doc="Scratch of the solver.", capacity="nsquare")
    vectors: Numbers = numbers(8, "width", doc="Scratch of the solver.", capacity="nvector")
    cone_J: Numbers = numbers(6, "width", doc="Scratch of the solver.")
    cone_C: Numbers = numbers(6, 6, doc="Scratch of the solver.")
    slack: Numbers = numbers(5, "nrow", doc="Scratch of the solver.")
    row_first: Integers
    row_end: Integers


class SolverColumns(
    PgsView,
    PgsBodyView,
    PgsWorkView,
    PgsBounceView,
    BoxedView,
    SolveView,
    BounceView,
    SlipView,
    SweepView,
    MotionView,
    WorkView,
):
    """Scratch and problems of the solvers."""
