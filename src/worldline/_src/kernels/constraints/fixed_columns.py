# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: rows of the fixed layout, for several worlds at once."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, index, integers, numbers

MOST_LANES = 16
"""Worlds that one instruction computes at most."""


class FixedBounceView(Columns):
    """Restitution of the fixed layout."""

    tree_label: Numbers = numbers("ntree", doc="Lowest tree of its island; see fixed_restitution.py.")
    bounce_force: Numbers
    bounce_speed: Numbers
    bounce_a: Numbers
    a_smooth: Numbers
    tree_share: Numbers
    tree_prescribed: Integers
    counter: Integers


class DualView(Columns):
    """Rows of the fixed layout in dual form."""

    contact_kept: Integers = index(
        "ncandidate", 4, doc="Where the forces of the contacts of a pair that may touch are kept."
    )
    row_coulomb: Integers = integers("nfixed", doc="1 for the first row of a cone that obeys Coulomb's law.")
    K: Numbers = numbers(
        "npack", "width", doc="Accelerations by unit forces of rows; weighted rows of Newton's method."
    )
    solving: Numbers = numbers(
        3, doc="1 where a step is solved; systems and sweeps so far; 1 where positions are solved apart."
    )
    dual: Numbers = numbers(4, "nfixed", doc="Regularizer, diagonal of the matrix, step, force.")
    dual_block: Numbers = numbers("nfixed", 6, doc="Blocks of cones.")
    dual_local: Numbers = numbers(24, doc="Scratch of one cone.")
    kept: Numbers = numbers("nkept", doc="Forces that the next step starts from, in a fixed layout.")
    kept_list: Numbers = numbers(
        "nkept_list", 2, doc="Those that are not zero, where most are: place from 1 on, and force."
    )
    sweeps: Numbers = numbers(2, doc="Sweeps of the last step; steps without convergence.")
    row_first: Integers
    row_end: Integers
    body_tree: Integers
    tree_dof: Integers


class PackedView(Columns):
    """Rows packed world by world; rows of `packed`: aref, D, bounds, force, three of scratch."""

    packed_J: Numbers = numbers("npack", "width", doc="Rows packed world by world; see packed_rows.py.")
    packed: Numbers = numbers(8, "npack", doc="Their numbers: see PackedView.")
    row_mask: Integers = integers("nfixed", doc="Columns of a row as bits.")
    packed_column: Integers = integers("npack", "width", doc="Columns of packed rows,")
    packed_count: Integers = integers("npack", doc="how many there are,")
    packed_source: Integers = integers("npack", MOST_LANES, doc="and the rows they come from, by world.")
    packed_mask: Integers = integers("npack", doc="their columns as bits,")
    packed_end: Integers = integers(8 + MOST_LANES, doc="Where kinds of packed rows end; lanes.")
    H_column: Integers = integers("nhessian", "nhessian", doc="Columns of the matrix of Newton's method,")
    H_count: Integers = integers("width", doc="how many there are in a row,")
    H_mask: Integers = integers("width", doc="and the same as bits.")


class FixedColumns(FixedBounceView, DualView, PackedView):
    """Rows of the fixed layout, for several worlds at once."""
