# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import link_inertia
from worldline._src.spatial.inertia import add_inertia, load_inertia, momentum, store_inertia
from worldline._src.spatial.motion import load_motion, power


@inline
def composite(tree, inertia, pos, i, crb_io):
    """Inertia of the subtree of link `i` about its tree's reference point, once its children have theirs."""
    # I_i^c = I_i + sum of I_j^c over children j
    I = link_inertia(inertia, pos, i)
    if inertia.link_leaf[i] == 0:
        I = add_inertia(I, load_inertia(crb_io, i))
        store_inertia(crb_io, i, I)
    else:
        store_inertia(crb_io, i, I)
    p = tree.link_parent[i]
    if p > 0:
        if inertia.link_first[i] == 1:
            store_inertia(crb_io, p, I)
        else:
            store_inertia(crb_io, p, add_inertia(load_inertia(crb_io, p), I))


@kernel
def composites(tree, inertia, pos, crb_out):
    """Inertia of every subtree about its tree's reference point, tip to base. O(n)."""
    for i in range(tree.link_parent.shape[0] - 1, 0, -1):
        composite(tree, inertia, pos, i, crb_out)


@inline
def _row(dof, F, S, d, M_out):
    """Work of the momentum F of column `d` on every column above it, into both triangles."""
    e = dof.dof_parent[d]
    while e >= 0:
        # M_de = S_e . I_c S_d
        x = power(F, load_motion(S, e))
        M_out[d, e] = x
        M_out[e, d] = x
        e = dof.dof_parent[e]


@inline
def _four_rows(dof, F, S, d, M_out):
    """The same for columns d to d + 3, each above the next: what is above all four is read once."""
    # the triangle among the four columns
    for i in range(1, 4):
        for j in range(i):
            x = power(F[i], load_motion(S, d + j))
            M_out[d + i, d + j] = x
            M_out[d + j, d + i] = x
    e = dof.dof_parent[d]
    while e >= 0:
        # entries of four columns with one above them
        S_e = load_motion(S, e)
        x, y, z, w = power(F[0], S_e), power(F[1], S_e), power(F[2], S_e), power(F[3], S_e)
        M_out[e, d], M_out[e, d + 1], M_out[e, d + 2], M_out[e, d + 3] = x, y, z, w
        M_out[d, e], M_out[d + 1, e], M_out[d + 2, e], M_out[d + 3, e] = x, y, z, w
        e = dof.dof_parent[e]


@kernel
def crba(dof, inertia, pos, crb, M_out):
    """Joint-space inertia M(q), both triangles [Featherstone 2008, ch. 6].

    Needs composite inertias current. Only the entries of the tree's pattern are written; the others
    are zero from the start. O(n depth).
    """
    link, above, armature, S = dof.dof_link, dof.dof_parent, inertia.dof_armature, pos.dof_S
    n = link.shape[0]
    d = 0
    while d < n:
        # momentum of the subtree moving along column d, then its work on every column above
        # M_dd = S_d . I_c S_d + armature
        F = momentum(load_inertia(crb, link[d]), load_motion(S, d))
        M_out[d, d] = power(F, load_motion(S, d)) + armature[d]
        if d + 3 < n and above[d + 1] == d and above[d + 2] == d + 1 and above[d + 3] == d + 2:
            G = momentum(load_inertia(crb, link[d + 1]), load_motion(S, d + 1))
            H = momentum(load_inertia(crb, link[d + 2]), load_motion(S, d + 2))
            K = momentum(load_inertia(crb, link[d + 3]), load_motion(S, d + 3))
            M_out[d + 1, d + 1] = power(G, load_motion(S, d + 1)) + armature[d + 1]
            M_out[d + 2, d + 2] = power(H, load_motion(S, d + 2)) + armature[d + 2]
            M_out[d + 3, d + 3] = power(K, load_motion(S, d + 3)) + armature[d + 3]
            _four_rows(dof, (F, G, H, K), S, d, M_out)
            d += 4
        else:
            _row(dof, F, S, d, M_out)
            d += 1
