# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint rows: one form for contacts, limits, closures, tendons, friction and drives.

A row is a Jacobian row J, a reference acceleration aref, a regularizer R = 1/D and a kind. With the slack
r = J a - aref its potential s(r) is, by kind:

    EQUALITY     D r^2 / 2                                                force any sign
    FRICTION     the same inside |r| <= R bound, then bound |r| onward    |force| <= bound
    UNILATERAL   D r^2 / 2 for r < 0, nothing above                       force >= 0
    CONE         the first of 3, 4 or 6 rows of a contact with an elliptic cone, see `cone.py`

Limits and frictionless contacts are UNILATERAL; a pyramidal contact is 2 (dim - 1) UNILATERAL rows, one for
each edge normal +- mu tangent. How bias and regularizer follow from solref and solimp, from ERP and CFM or
from springs is the business of who fills the rows (`impedance.py` for the first).

Storage is large enough for the island at hand before its rows are made (`step/room_stages.py`). A stage cuts
these arrays from its data arena as it does every view, sets n = 0, and appends: write J (all `width` columns:
zeros outside the ancestors of the two bodies, and in the padding past nv), aref, D, kind, and for friction
rows bound, for cones mu and dim; then n += 1. A cone's
rows stand together, normal first, with its dimension in the first row's `dim` and zero in the others.
Because a row keeps its place from one step to the next, warm starts need no search.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple

EQUALITY, FRICTION, UNILATERAL, CONE = 0, 1, 2, 3

LARGEST_CONE = 6
"""Rows of a contact with sliding, spinning and rolling friction."""


class Rows(NamedTuple):
    """Arrays of `capacity` rows; `width` is nv padded to whole packs.

    J: (capacity, width) Jacobian rows.
    aref: (capacity,) reference acceleration.
    D: (capacity,) inverse of the regularizer.
    bound: (capacity,) EQUALITY: 1 for rigid ones, whose regularizer is taken off again. FRICTION: largest
        force. CONE: for the first row the friction coefficient after
        regularization, mu_1 sqrt(R_1 / R_0); for the others their friction coefficient.
    kind: (capacity,) integers, see above.
    dim: (capacity,) integers: rows of the cone that starts here, otherwise zero.
    """

    J: Any
    aref: Any
    D: Any
    bound: Any
    kind: Any
    dim: Any


@inline
def next_row(rows, k):
    """The row after the constraint that starts with row `k`."""
    if rows.kind[k] == CONE:
        return k + rows.dim[k]
    return k + 1
