# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The mass matrix of an island by the composite-rigid-body algorithm, in the columns of the island."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.tables import TREE_END, TREE_FIRST
from worldline._src.kernels.crba import composite
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.scalar.packed import PACK, load_row, pack_of, store_row
from worldline._src.spatial.inertia import load_inertia, momentum
from worldline._src.spatial.motion import load_motion, power


@inline
def _set_identity(M_out, begin, end):
    """Rows of the identity, padding zero: prescribed degrees of freedom stand alone with unit inertia."""
    for i in range(begin, end):
        for j in range(M_out.shape[1]):
            M_out[i, j] = 0.0
        M_out[i, i] = 1.0


@kernel
def island_mass(trees, island, crb_out, M_out):
    """M(q) of the trees of an island, both triangles [Featherstone 2008, ch. 6].

    M_out is (columns, width), its padding zero. Prescribed degrees of freedom stand alone with unit inertia.
    O(n depth) after clearing.
    """
    chain, S = trees.chain, trees.pos.dof_S
    mobile, above, column = chain.dof_mobile, chain.dof_parent, island.dof_column

    _set_identity(M_out, 0, M_out.shape[0])
    for k in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[k]
        for i in range(trees.tree_links[t + 1] - 1, trees.tree_links[t] - 1, -1):
            composite(trees.tree, trees.inertia, trees.pos, i, crb_out)

        # momentum of the subtree moving along column d, then its work on every column above
        for d in range(trees.tree_dof[t], trees.tree_dof[t + 1]):
            if mobile[d] != 0.0:
                i = column[d]
                F = momentum(load_inertia(crb_out, trees.dof.dof_link[d]), load_motion(S, d))
                M_out[i, i] = power(F, load_motion(S, d)) + trees.inertia.dof_armature[d]
                e = above[d]
                while e >= 0:
                    x = power(F, load_motion(S, e)) * mobile[e]
                    M_out[i, column[e]] = x
                    M_out[column[e], i] = x
                    e = above[e]


@inline
def _size(trees, t):
    """Degrees of freedom of tree `t`."""
    return trees.tree_dof[t + 1] - trees.tree_dof[t]


@kernel
def tree_masses(dof, inertia, pos, crb, trees_out):
    """M(q) of every tree, both triangles [Featherstone 2008, ch. 6].

    Needs composite inertias current. Only the entries of the tree's pattern are written; the others are zero
    from the start. O(n depth).
    """
    link, above, armature, S = dof.dof_link, dof.dof_parent, inertia.dof_armature, pos.dof_S
    for t in range(trees_out.tree_mass_at.shape[0]):
        at, first, n = trees_out.tree_mass_at[t], trees_out.tree_dof[t], _size(trees_out, t)
        M = matrix(pointer(trees_out.tree_mass), at, n, n)
        for d in range(first, trees_out.tree_dof[t + 1]):
            # momentum of the subtree moving along column d, then its work on every column above
            F = momentum(load_inertia(crb, link[d]), load_motion(S, d))
            M[d - first, d - first] = power(F, load_motion(S, d)) + armature[d]
            e = above[d]
            while e >= 0:
                x = power(F, load_motion(S, e))
                M[d - first, e - first] = x
                M[e - first, d - first] = x
                e = above[e]


@inline
def _is_mobile(mobile, first, n):
    """Whether no degree of freedom of a tree is prescribed."""
    for d in range(first, first + n):
        if mobile[d] == 0.0:
            return False
    return True


@inline
def _copy_tree(M, at, M_out):
    """The mass matrix of a tree in rows and columns from `at` on, zero beside it."""
    n, zero = M.shape[0], pack_of(0.0)
    whole, after = n - n % PACK, (at + n) - (at + n) % PACK
    for i in range(n):
        for j in range(0, at, PACK):
            store_row(M_out, at + i, j, zero)
        for j in range(after, M_out.shape[1], PACK):
            store_row(M_out, at + i, j, zero)
        for j in range(0, whole, PACK):
            store_row(M_out, at + i, at + j, load_row(M, i, j))
        for j in range(whole, n):
            M_out[at + i, at + j] = M[i, j]


@inline
def _copy_mobile(chain, M, first, at, M_out):
    """The same without what prescribed degrees of freedom have in common with others. O(n depth)."""
    mobile, above = chain.dof_mobile, chain.dof_parent
    _set_identity(M_out, at, at + M.shape[0])
    for d in range(first, first + M.shape[0]):
        if mobile[d] != 0.0:
            i = d - first
            M_out[at + i, at + i] = M[i, i]
            e = above[d]
            while e >= 0:
                x = M[i, e - first] * mobile[e]
                M_out[at + i, at + e - first] = x
                M_out[at + e - first, at + i] = x
                e = above[e]


@kernel
def gather_mass(chain, island, trees, M_out):
    """The same as `island_mass` from mass matrices of trees, whose columns stand together. O(columns^2)."""
    end = 0
    for k in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[k]
        first, n = trees.tree_dof[t], _size(trees, t)
        M, at = matrix(pointer(trees.tree_mass), trees.tree_mass_at[t], n, n), island.dof_column[first]
        if _is_mobile(chain.dof_mobile, first, n):
            _copy_tree(M, at, M_out)
        else:
            _copy_mobile(chain, M, first, at, M_out)
        end = at + n
    # trees with prescribed motion come last
    _set_identity(M_out, end, M_out.shape[0])
