# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: scratch and problems of the solvers."""

from __future__ import annotations

from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Columns, Integers, Numbers, integers, numbers


class SolverColumns(Columns):
    """Scratch and problems of the solvers."""

    lcp_findex: Integers = integers("nlcp", doc="Normal row of a friction row; see boxed.py.")
    lcp_state: Integers = integers("nlcp", doc="Where a row stands.")
    pgs_a: Integers = integers("npgs", doc="First body.")
    pgs_b: Integers = integers("npgs", doc="Second body.")
    changed: Integers = integers("nrow", doc="Scratch of the solver.")
    M_first: Integers = integers("width", doc="Scratch of the solver.")
    M_end: Integers = integers("width", doc="Scratch of the solver.")
    H_first: Integers = integers("width", doc="Scratch of the solver.")
    L_first: Integers = integers("width", doc="Scratch of the solver.")
    bounce_force: Numbers = numbers("nrow", doc="Forces of rows with all restitution,")
    bounce_speed: Numbers = numbers("nrow", doc="twice the mean speeds of the impact,")
    bounce_a: Numbers = numbers("ncolumn", doc="and accelerations; see restitution.py.")
    M: Numbers = numbers("ncolumn", "width", doc="Mass matrix, padded.", capacity="nsquare")
    island_v: Numbers = numbers("ncolumn", doc="Velocities by columns.")
    island_smooth: Numbers = numbers("ncolumn", doc="Accelerations without rows.")
    island_a: Numbers = numbers("ncolumn", doc="The guess, then the solution.")
    a_last: Numbers = numbers("nv", doc="Accelerations of the step before.")
    H: Numbers = numbers("width", "width", doc="Scratch of the solver.", capacity="nsquare")
    L: Numbers = numbers("width", "width", doc="Scratch of the solver.", capacity="nsquare")
    vectors: Numbers = numbers(8, "width", doc="Scratch of the solver.", capacity="nvector")
    cone_J: Numbers = numbers(6, "width", doc="Scratch of the solver.")
    cone_C: Numbers = numbers(6, 6, doc="Scratch of the solver.")
    slack: Numbers = numbers(5, "nrow", doc="Scratch of the solver.")
    slip_B: Numbers = numbers("nrow", "width", doc="M^-1 J^T of sweeps against slip,", capacity="nslip")
    slip_L: Numbers = numbers("width", "width", doc="the factor of M,", capacity="nslip2")
    slip_work: Numbers = numbers(13, 5, doc="and scratch of a cone.")
    sweep_K: Numbers = numbers(
        "nrow", "width", doc="Accelerations by unit forces of rows; see row_pgs.py.", capacity="nsweep2"
    )
    sweep_dual: Numbers = numbers(3, "nsweep", doc="Regularizer, diagonal of the matrix, step.")
    sweep_block: Numbers = numbers("nsweep", 6, doc="Blocks of cones.")
    sweep_row: Integers = integers(
        3, "nsweep", doc="First and end column of a row, rows of a Coulomb contact."
    )
    lcp_A: Numbers = numbers("nlcp2", doc="Matrix of a boxed problem,")
    lcp_b: Numbers = numbers("nlcp", doc="its right side,")
    lcp_lo: Numbers = numbers("nlcp", doc="lower")
    lcp_hi: Numbers = numbers("nlcp", doc="and upper bounds.")
    lcp_work: Numbers = numbers("nlcp2", doc="Scratch of pivoting.")
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
    pgs_impulse: Numbers = numbers("npgs3", doc="Solution.")
    pgs_kept: Numbers = numbers("npgs3", doc="Impulses before a sweep,")
    pgs_direction: Numbers = numbers("npgs3", doc="and the conjugate direction; see body_ncg.py.")
    pgs_taken: Numbers = numbers(1, doc="Sweeps taken.")
    pgs_bounce: Numbers = numbers("npgs", doc="Wanted speed by restitution [m/s]; -1 if not hard.")
    pgs_before: Numbers = numbers("npgs3", doc="Speeds before the impact,")
    pgs_speed: Numbers = numbers("npgs3", doc="twice the mean speeds of it with all restitution,")
    pgs_first: Numbers = numbers("npgs3", doc="and the impulses; see body_restitution.py.")
    link_linear: Numbers = numbers("nlink", 3, doc="Velocities of centres of mass.")
    link_angular: Numbers = numbers("nlink", 3, doc="Angular velocities.")
    link_inverse_mass: Numbers = numbers("nlink", doc="Inverse masses.")
    link_inverse_inertia: Numbers = numbers("nlink", 6, doc="Inverse inertias.")


class PgsView(NamedTuple):
    """Contacts of free bodies in sequential impulses."""

    pgs_a: Integers
    pgs_b: Integers
    pgs_axes: Numbers
    pgs_arm_a: Numbers
    pgs_arm_b: Numbers
    pgs_spin_a: Numbers
    pgs_spin_b: Numbers
    pgs_block: Numbers
    pgs_target: Numbers
    pgs_R: Numbers
    pgs_mu: Numbers
    pgs_active: Numbers


class PgsBodyView(NamedTuple):
    """Velocities and inverse inertias of free bodies."""

    link_linear: Numbers
    link_angular: Numbers
    link_inverse_mass: Numbers
    link_inverse_inertia: Numbers


class PgsWorkView(NamedTuple):
    """Impulses and scratch of sequential impulses."""

    pgs_impulse: Numbers
    pgs_taken: Numbers
    pgs_kept: Numbers
    pgs_direction: Numbers
    tree_link: Integers


class PgsBounceView(NamedTuple):
    """Restitution in sequential impulses."""

    pgs_bounce: Numbers
    pgs_before: Numbers
    pgs_speed: Numbers
    pgs_first: Numbers
    tree_share: Numbers


class BoxedView(NamedTuple):
    """Boxed linear complementarity problem."""

    lcp_A: Numbers
    lcp_b: Numbers
    lcp_lo: Numbers
    lcp_hi: Numbers
    lcp_work: Numbers
    lcp_findex: Integers
    lcp_state: Integers


class SolveView(NamedTuple):
    """Problem and solution of the island at hand."""

    M: Numbers
    island_smooth: Numbers
    island_a: Numbers
    a_last: Numbers
    row_force: Numbers
    dof_column: Integers
    column_dof: Integers
    counter: Integers
    option: Numbers


class BounceView(NamedTuple):
    """The solution with all restitution."""

    bounce_force: Numbers
    bounce_speed: Numbers
    bounce_a: Numbers
    tree_share: Numbers


class SlipView(NamedTuple):
    """Sweeps against slip."""

    slip_B: Numbers
    slip_L: Numbers
    vectors: Numbers
    L_first: Integers
    slip_work: Numbers


class SweepView(NamedTuple):
    """Projected Gauss-Seidel over rows."""

    sweep_K: Numbers
    sweep_dual: Numbers
    sweep_block: Numbers
    sweep_row: Integers
    dual_local: Numbers


class MotionView(NamedTuple):
    """Velocities of the island at hand."""

    island_v: Numbers
    a_last: Numbers
    column_dof: Integers


class WorkView(NamedTuple):
    """Scratch of Newton's method."""

    H: Numbers
    L: Numbers
    vectors: Numbers
    cone_J: Numbers
    cone_C: Numbers
    slack: Numbers
    changed: Integers
    row_first: Integers
    row_end: Integers
    M_first: Integers
    M_end: Integers
    H_first: Integers
    L_first: Integers
