# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Solves of the mass matrix for many columns at once, and its inverse.

`mass_factor.py` solves for one column. For a matrix of columns most of the time goes into loads and stores
then, which blocks save [Goto & van de Geijn 2008]: a tile of TILE machine vectors of columns, and four rows
at a time where each is the parent of the one before, as along a limb. What four rows take off another is
summed in registers.

A vector holds neighbouring columns of one world, or one column of several worlds. Both do the same operations
on every number.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import sqrt

TILE = 4
"""Machine vectors in a row of a tile."""


class Columns(NamedTuple):
    """Columns of a matrix: its numbers, and the same memory as machine vectors, whole tiles in a row."""

    numbers: Any
    vectors: Any


class _Row(NamedTuple):
    """A row of a tile."""

    a: Any
    b: Any
    c: Any
    d: Any


@inline
def _load(X, i, j):
    return _Row(X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3])


@inline
def _store(X_out, i, j, x):
    X_out[i, j], X_out[i, j + 1], X_out[i, j + 2], X_out[i, j + 3] = x.a, x.b, x.c, x.d


@inline
def _scaled(s, x):
    return _Row(s * x.a, s * x.b, s * x.c, s * x.d)


@inline
def _less(x, s, y):
    """x - s y."""
    return _Row(x.a - s * y.a, x.b - s * y.b, x.c - s * y.c, x.d - s * y.d)


@inline
def _more(x, s, y):
    """x + s y."""
    return _Row(x.a + s * y.a, x.b + s * y.b, x.c + s * y.c, x.d + s * y.d)


@inline
def _is_limb(above, d):
    """Whether each of the rows d, d - 1, d - 2 is the child of the one before it."""
    return d >= 3 and above[d] == d - 1 and above[d - 1] == d - 2 and above[d - 2] == d - 3


@kernel
def factor_in_place(dof, L_io):
    """M = L^T L over M itself, four rows at a time: the numbers of `mass_factor.factor`. O(n depth^2).

    Only the lower triangle of the tree's pattern is read and written; the diagonal holds the inverse of the
    diagonal of L.
    """
    above = dof.dof_parent
    d = above.shape[0] - 1
    while d >= 0:
        if _is_limb(above, d):
            x, y, z = d - 1, d - 2, d - 3
            # the four rows among themselves: L_dd = sqrt(M_dd), L_de = M_de / L_dd, M_ef -= L_de L_df
            d_d = 1.0 / sqrt(L_io[d, d])
            d_x, d_y, d_z = d_d * L_io[d, x], d_d * L_io[d, y], d_d * L_io[d, z]
            x_x = 1.0 / sqrt(L_io[x, x] - d_x * d_x)
            x_y, x_z = x_x * (L_io[x, y] - d_x * d_y), x_x * (L_io[x, z] - d_x * d_z)
            y_y = 1.0 / sqrt(L_io[y, y] - d_y * d_y - x_y * x_y)
            y_z = y_y * (L_io[y, z] - d_y * d_z - x_y * x_z)
            z_z = 1.0 / sqrt(L_io[z, z] - d_z * d_z - x_z * x_z - y_z * y_z)
            L_io[d, d], L_io[d, x], L_io[d, y], L_io[d, z] = d_d, d_x, d_y, d_z
            L_io[x, x], L_io[x, y], L_io[x, z] = x_x, x_y, x_z
            L_io[y, y], L_io[y, z], L_io[z, z] = y_y, y_z, z_z
            e = above[z]
            while e >= 0:
                d_e = d_d * L_io[d, e]
                x_e = x_x * (L_io[x, e] - d_x * d_e)
                y_e = y_y * (L_io[y, e] - d_y * d_e - x_y * x_e)
                z_e = z_z * (L_io[z, e] - d_z * d_e - x_z * x_e - y_z * y_e)
                L_io[d, e], L_io[x, e], L_io[y, e], L_io[z, e] = d_e, x_e, y_e, z_e
                e = above[e]
            # what they take off their ancestors
            e = above[z]
            while e >= 0:
                d_e, x_e, y_e, z_e = L_io[d, e], L_io[x, e], L_io[y, e], L_io[z, e]
                f = e
                while f >= 0:
                    part = L_io[e, f] - d_e * L_io[d, f] - x_e * L_io[x, f]
                    L_io[e, f] = part - y_e * L_io[y, f] - z_e * L_io[z, f]
                    f = above[f]
                e = above[e]
            d -= 4
        else:
            d_d = 1.0 / sqrt(L_io[d, d])
            L_io[d, d] = d_d
            e = above[d]
            while e >= 0:
                L_io[d, e] = d_d * L_io[d, e]
                e = above[e]
            e = above[d]
            while e >= 0:
                d_e = L_io[d, e]
                f = e
                while f >= 0:
                    L_io[e, f] = L_io[e, f] - d_e * L_io[d, f]
                    f = above[f]
                e = above[e]
            d -= 1


@inline
def _half_solve(above, L, rows, j, X_io):
    """The first `rows` rows of L^-T X for the tile from vector `j` on, tip to base."""
    d = rows - 1
    while d >= 0:
        # X_d /= L_dd, then X_e -= L_de X_d for all ancestors e
        s = _scaled(L[d, d], _load(X_io, d, j))
        _store(X_io, d, j, s)
        if _is_limb(above, d):
            a, b, c = d - 1, d - 2, d - 3
            x = _scaled(L[a, a], _less(_load(X_io, a, j), L[d, a], s))
            y = _less(_less(_load(X_io, b, j), L[d, b], s), L[a, b], x)
            y = _scaled(L[b, b], y)
            z = _less(_less(_less(_load(X_io, c, j), L[d, c], s), L[a, c], x), L[b, c], y)
            z = _scaled(L[c, c], z)
            _store(X_io, a, j, x)
            _store(X_io, b, j, y)
            _store(X_io, c, j, z)
            e = above[c]
            while e >= 0:
                r = _less(_less(_load(X_io, e, j), L[d, e], s), L[a, e], x)
                _store(X_io, e, j, _less(_less(r, L[b, e], y), L[c, e], z))
                e = above[e]
            d -= 4
        else:
            e = above[d]
            while e >= 0:
                _store(X_io, e, j, _less(_load(X_io, e, j), L[d, e], s))
                e = above[e]
            d -= 1


@inline
def _other_half(above, L, rows, j, X_io):
    """The first `rows` rows of -L^-1 X for the tile from vector `j` on, base to tip."""
    d = 0
    while d < rows:
        # X_d = -(X_d + sum of L_de X_e over ancestors e) / L_dd, where X_e have their signs
        s = _load(X_io, d, j)
        e = above[d]
        # four rows may go beyond the last one, so that sums do not depend on where tiles end
        if d + 3 < above.shape[0] and _is_limb(above, d + 3):
            a, b, c = d + 1, d + 2, d + 3
            x, y, z = _load(X_io, a, j), _load(X_io, b, j), _load(X_io, c, j)
            while e >= 0:
                r = _load(X_io, e, j)
                s, x = _more(s, L[d, e], r), _more(x, L[a, e], r)
                y, z = _more(y, L[b, e], r), _more(z, L[c, e], r)
                e = above[e]
            s = _scaled(-L[d, d], s)
            x = _scaled(-L[a, a], _more(x, L[a, d], s))
            y = _scaled(-L[b, b], _more(_more(y, L[b, d], s), L[b, a], x))
            z = _scaled(-L[c, c], _more(_more(_more(z, L[c, d], s), L[c, a], x), L[c, b], y))
            _store(X_io, d, j, s)
            _store(X_io, a, j, x)
            _store(X_io, b, j, y)
            _store(X_io, c, j, z)
            d += 4
        else:
            while e >= 0:
                s = _more(s, L[d, e], _load(X_io, e, j))
                e = above[e]
            _store(X_io, d, j, _scaled(-L[d, d], s))
            d += 1


@kernel
def solve_columns(dof, L, count, X_io):
    """X = -M^-1 X by L^T, then L, for the tiles of the first `count` vectors. O(columns n depth)."""
    above = dof.dof_parent
    for j in range(0, count, TILE):
        _half_solve(above, L, above.shape[0], j, X_io)
        _other_half(above, L, above.shape[0], j, X_io)


@inline
def solve_pattern(L, entries, count, X_io):
    """X = H^-1 X by H = L^T L of any pattern, for the tiles of the first `count` vectors.

    entries: of every row of L the number of its entries left of the diagonal, then their columns. The
    diagonal holds inverses.
    """
    n = L.shape[0]
    for j in range(0, count, TILE):
        for k in range(n - 1, -1, -1):
            # X_k /= L_kk, then X_i -= L_ki X_k
            x = _scaled(L[k, k], _load(X_io, k, j))
            _store(X_io, k, j, x)
            for t in range(1, 1 + entries[k, 0]):
                i = entries[k, t]
                _store(X_io, i, j, _less(_load(X_io, i, j), L[k, i], x))
        for k in range(n):
            # X_k = (X_k - sum of L_ki X_i) / L_kk
            x = _load(X_io, k, j)
            for t in range(1, 1 + entries[k, 0]):
                i = entries[k, t]
                x = _less(x, L[k, i], _load(X_io, i, j))
            _store(X_io, k, j, _scaled(L[k, k], x))


@kernel
def invert_mass(dof, L, tile, inverse_out):
    """M^-1 from its factor. O(n^2 depth / 2).

    tile: room for one tile. Of each tile the rows down to the diagonal are solved for; those below follow
    from symmetry, and those above do not depend on them.
    """
    above, numbers = dof.dof_parent, tile.numbers
    n, width = above.shape[0], numbers.shape[1]
    for j in range(0, n, width):
        rows = min(j + width, n)
        for i in range(rows):
            for k in range(width):
                numbers[i, k] = 0.0
        for k in range(rows - j):
            numbers[j + k, k] = -1.0
        _half_solve(above, L, rows, 0, tile.vectors)
        _other_half(above, L, rows, 0, tile.vectors)
        for i in range(rows):
            for k in range(max(i - j, 0), rows - j):
                x = numbers[i, k]
                inverse_out[i, j + k], inverse_out[j + k, i] = x, x
