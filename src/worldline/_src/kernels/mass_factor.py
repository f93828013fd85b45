# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sparse factorisation of the mass matrix and solves with it."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.ops import sqrt


@kernel
def factor(dof, M, L_out):
    """M = L^T L without fill-in outside the tree's pattern [Featherstone 2008, ch. 6.4].

    Only the entries of the pattern are read and written; the diagonal of L_out holds the inverse of
    the diagonal of L. O(n depth^2).
    """
    above = dof.dof_parent
    n = above.shape[0]

    # copy the lower triangle along the tree
    for d in range(n):
        L_out[d, d] = M[d, d]
        e = above[d]
        while e >= 0:
            L_out[d, e] = M[d, e]
            e = above[e]

    # eliminate from the tips, so that every row only touches its ancestors
    for d in range(n - 1, -1, -1):
        # L_dd = sqrt(M_dd), L_de = M_de / L_dd
        inverse = 1.0 / sqrt(L_out[d, d])
        L_out[d, d] = inverse
        e = above[d]
        while e >= 0:
            L_out[d, e] = L_out[d, e] * inverse
            e = above[e]
        e = above[d]
        while e >= 0:
            # M_ef -= L_de L_df, for ancestors e, f of d
            x = L_out[d, e]
            f = e
            while f >= 0:
                L_out[e, f] = L_out[e, f] - x * L_out[d, f]
                f = above[f]
            e = above[e]


@inline
def solved_row(above, L, d, x_io):
    """Row `d` of x = L^-1 x, once those of its ancestors are solved."""
    # x_d = (x_d - sum of L_de x_e over ancestors e) / L_dd
    x = x_io[d]
    e = above[d]
    while e >= 0:
        x = x - L[d, e] * x_io[e]
        e = above[e]
    return x * L[d, d]


@kernel
def solve_factored(dof, L, x_io):
    """x = M^-1 x by L^T, then L. O(n depth)."""
    half_solve(dof, L, x_io)
    # base to tip: x = L^-1 x
    for d in range(dof.dof_parent.shape[0]):
        x_io[d] = solved_row(dof.dof_parent, L, d, x_io)


@inline
def span_half_solve(above, L, first, end, x_io):
    """x = L^-T x for degrees of freedom first ... end - 1 of whole trees, tip to base."""
    for d in range(end - 1, first - 1, -1):
        # x_d /= L_dd, then x_e -= L_de x_d for all ancestors e
        x = x_io[d] * L[d, d]
        x_io[d] = x
        e = above[d]
        while e >= 0:
            x_io[e] = x_io[e] - L[d, e] * x
            e = above[e]


@kernel
def half_solve(dof, L, x_io):
    """x = L^-T x, tip to base. O(n depth)."""
    span_half_solve(dof.dof_parent, L, 0, dof.dof_parent.shape[0], x_io)


@kernel
def respond(dof, L, x_io):
    """Velocity change from a generalized impulse; kinematic bodies do not respond. O(n depth)."""
    above, mobile = dof.dof_parent, dof.dof_mobile
    half_solve(dof, L, x_io)

    # a kinematic degree of freedom is held still, whatever pulls on it and however light it is
    for d in range(above.shape[0]):
        if mobile[d] == 0.0:
            x_io[d] = 0.0
        else:
            x_io[d] = solved_row(above, L, d, x_io)


@kernel
def invert(dof, L, inverse_out):
    """M^-1, dense and symmetric, column by column into a (n, n) array. O(n^2 depth)."""
    n = dof.dof_parent.shape[0]

    for d in range(n):
        # M x = e_d
        column = inverse_out[d]
        for e in range(n):
            column[e] = 0.0
        column[d] = 1.0
        solve_factored(dof, L, column)
