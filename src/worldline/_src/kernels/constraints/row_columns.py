# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: constraint rows and the solution of all islands."""

from __future__ import annotations

from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, integers, numbers


class RowColumns(Columns):
    """Constraint rows and the solution of all islands."""

    dof_invweight: Numbers = constant("nv", doc="Inverse inertia of a degree of freedom at rest.", own=True)
    kind: Integers = integers("nrow", doc="Kind of row.")
    dim: Integers = integers("nrow", doc="Rows of the cone that starts here.")
    row_first: Integers = integers("nrow", doc="Scratch of the solver.")
    row_end: Integers = integers("nrow", doc="Scratch of the solver.")
    row_note: Integers = integers("nrow", 2, doc="The same for the island at hand.")
    row_of: Integers = integers("nrow", 2, doc="What it belongs to, see above, and which. All islands.")
    J: Numbers = numbers("nrow", "width", doc="Jacobian rows.", capacity="njacobian")
    aref: Numbers = numbers("nrow", doc="Reference accelerations.")
    D: Numbers = numbers("nrow", doc="Inverse regularizers.")
    bound: Numbers = numbers("nrow", doc="Largest friction force, or coefficients of a cone.")
    row_residual: Numbers = numbers("nrow", doc="Distance or error of a row.")
    row_active: Numbers = numbers("nrow", doc="1 in worlds where the row counts; what lanes differ in.")
    row_force: Numbers = numbers("nrow", doc="Solution.")
    row_impact: Numbers = numbers("nrow", doc="Speeds wanted and before the impact of hard contacts, added.")
    residual: Numbers = numbers("nrow", doc="Distance or error of rows, all islands.")
    force: Numbers = numbers("nrow", doc="Forces of rows, all islands.")
    missed: Numbers = numbers(
        "nrow", doc="Acceleration that regularizers take off what rows want, all islands."
    )
    qfrc: Numbers = numbers("nv", doc="Generalized constraint force.")


class RowView(NamedTuple):
    """Constraint rows of the island at hand."""

    J: Numbers
    aref: Numbers
    D: Numbers
    bound: Numbers
    kind: Integers
    dim: Integers


class RowNoteView(NamedTuple):
    """What the rows of the island at hand belong to."""

    row_residual: Numbers
    row_active: Numbers
    row_impact: Numbers
    row_note: Integers
    row_first: Integers
    row_end: Integers
    counter: Integers


class RecordView(NamedTuple):
    """Solution of all islands."""

    residual: Numbers
    row_of: Integers
    force: Numbers
    missed: Numbers
    contact_force: Numbers
    qfrc: Numbers
