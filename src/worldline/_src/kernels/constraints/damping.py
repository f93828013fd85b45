# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Damping of joints at the end of a step in the place of its beginning, one tree at a time."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels import drives
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky, reverse_cholesky_solve
from worldline._src.kernels.constraints.row_packs import copy_row, row_times
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.packed import PACK


class Damped(NamedTuple):
    """What damps degrees of freedom."""

    chain: Any
    passive: Any
    drive: Any


@inline
def damping_of(damped, d):
    """Damping of a degree of freedom: of its joint, and of a drive that commands forces."""
    driven = 1.0 if damped.drive.dof_drive[d] == drives.FORCE else 0.0
    total = damped.passive.dof_damping[d] + driven * damped.drive.dof_target_kd[d]
    return total * damped.chain.dof_mobile[d]


@inline
def is_damped(damped, first, end):
    """Whether any degree of freedom from `first` to `end - 1` is damped."""
    found = False
    for d in range(first, end):
        if damping_of(damped, d) != 0.0:
            found = True
    return found


@inline
def _copy_tree(M, first, n, mobile, H_out):
    """The mass matrix M of a tree, (n, n); prescribed degrees of freedom stand alone with unit inertia."""
    whole = n - n % PACK
    for i in range(n):
        copy_row(M, i, whole, H_out)
        for j in range(whole, n):
            H_out[i, j] = M[i, j]
        for j in range(n, H_out.shape[1]):
            H_out[i, j] = 0.0
    for i in range(n):
        if mobile[first + i] == 0.0:
            for j in range(n):
                H_out[i, j] = 0.0
                H_out[j, i] = 0.0
            H_out[i, i] = 1.0


@inline
def gather_tree(damped, M, first, n, h, a, work_out):
    """Forces M a of a tree in the second vector of the work, and M + h D of joints and drives in its H."""
    H, vectors = work_out.H, work_out.vectors
    width = vectors.shape[1]
    x, y = vectors[0], vectors[1]
    _copy_tree(M, first, n, damped.chain.dof_mobile, H)
    for i in range(width):
        x[i] = 0.0
        y[i] = 0.0
    for i in range(n):
        x[i] = a[first + i]

    # forces that make these accelerations
    for i in range(n):
        y[i] = row_times(H, i, 0, width, x)

    for i in range(n):
        # M + h D
        H[i, i] += h * damping_of(damped, first + i)


@inline
def settle_tree(first, n, work_io, a_out):
    """Accelerations that the forces of `gather_tree` make on inertia that damping has grown."""
    H, y, inverse, begin = work_io.H, work_io.vectors[1], work_io.vectors[2], work_io.L_first
    for i in range(n):
        begin[i] = 0
    # (M + h D) a' = M a
    reverse_cholesky(n, begin, H, inverse)
    reverse_cholesky_solve(n, begin, H, inverse, y)
    for i in range(n):
        a_out[first + i] = y[i]


@kernel
def damp_tree(damped, M, first, n, h, work_out, a_io):
    """a = (M + h D)^-1 M a for `n` degrees of freedom from `first` on, those of a tree. O(n depth^2).

    M is the mass matrix of the tree, (n, n). The arrays of work_out are those of `NewtonWork`, cut for n.
    """
    gather_tree(damped, M, first, n, h, a_io, work_out)
    settle_tree(first, n, work_out, a_io)
