# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: constraint rows and the solution of all islands."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, integers, numbers


class RowView(Columns):
    """Constraint rows of the island at hand."""

    kind: Integers = integers("nrow", doc="Kind of row.")
    dim: Integers = integers("nrow", doc="Rows of the cone that starts here.")
    J: Numbers = numbers("nrow", "width", doc="Jacobian rows.", capacity="njacobian")
    aref: Numbers = numbers("nrow", doc="Reference accelerations.")
    D: Numbers = numbers("nrow", doc="Inverse regularizers.")
    bound: Numbers = numbers("nrow", doc="Largest friction force, or coefficients of a cone.")


class RowNoteView(Columns):
    """What the rows of the island at hand belong to."""

    row_first: Integers = integers("nrow", doc="Scratch of the solver.")
    row_end: Integers = integers("nrow", doc="Scratch of the solver.")
    row_note: Integers = integers("nrow", 2, doc="What a row belongs to, see numbering.py, and which.")
    row_residual: Numbers = numbers("nrow", doc="Distance or error of a row.")
    row_active: Numbers = numbers("nrow", doc="1 in worlds where the row counts; what lanes differ in.")
    row_impact: Numbers = numbers("nrow", doc="Speeds wanted and before the impact of hard contacts, added.")
    counter: Integers


class RecordView(Columns):
    """Solution of all islands."""

    row_of: Integers = integers("nrow", 2, doc="The same for rows of all islands.")
    residual: Numbers = numbers("nrow", doc="Distance or error of rows, all islands.")
    force: Numbers = numbers("nrow", doc="Forces of rows, all islands.")
    missed: Numbers = numbers(
        "nrow", doc="Acceleration that regularizers take off what rows want, all islands."
    )
    qfrc: Numbers = numbers("nv", doc="Generalized constraint force.")
    contact_force: Numbers


class RowColumns(RowView, RowNoteView, RecordView):
    """Constraint rows and the solution of all islands."""
